"""Weights of 16 bits in the graph, as MXNet's float16 scripts have them, with float32 masters."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from tests.module.networks import assert_same, batches, values

LOW = ["float16", "bfloat16"]
OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.01},
    "lamb": {"learning_rate": 0.01},
}


def script(low):
    """The data cast to 16 bits, which the weights follow; the loss in float32 again."""
    net = mx.sym.Cast(mx.sym.Variable("data"), dtype=low)
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=4, no_bias=True, name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.Cast(net, dtype="float32"), name="softmax")


def trained(low, optimizer, stream, **params):
    """A module after these batches, from weights that 16 bits can hold."""
    module = mx.mod.Module(script(low))
    module.bind([("data", (8, 2, 6, 6))], [("softmax_label", (8,))])
    mx.random.seed(4)
    module.init_params(mx.init.Xavier())
    args, auxs = module.get_params()
    args = {n: a.astype("bfloat16").astype("float16").astype("float32") for n, a in args.items()}
    module.set_params(args, auxs)
    module.init_optimizer("local", optimizer, {**OPTIMIZERS[optimizer], **params})
    metric = mx.metric.create("acc")
    for batch in stream:
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
    return module


def types(arrays):
    return {n: str(a._cell.aval.dtype) for n, a in arrays.items()}


@pytest.mark.parametrize("low", LOW)
def test_types_follow_the_data(low):
    module = trained(low, "sgd", batches(1, shape=(2, 6, 6)), multi_precision=True)
    args, auxs = module.get_params()
    weights = dict.fromkeys(("conv_weight", "fc_weight", "fc_bias"), low)
    assert types(args) == {**weights, "bn_gamma": "float32", "bn_beta": "float32"}
    assert set(types(auxs).values()) == {"float32"}
    assert module.get_outputs()[0].dtype == np.float32
    executor = module._exec_group.execs[0]
    assert types({n: executor.grad_dict[n] for n in args}) == types(args)


@functools.cache
def in_float32(optimizer):
    return values(trained("float32", optimizer, batches(6, shape=(2, 6, 6))))


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_masters_train_as_float32_does(optimizer, low):
    stream = batches(6, shape=(2, 6, 6))
    mixed = trained(low, optimizer, stream, multi_precision=True)
    plain = in_float32(optimizer)
    tolerance = {"bfloat16": 6e-2, "float16": 3e-2}[low]
    reached = values(mixed)
    for name, wanted in plain.items():
        scale = np.abs(wanted).max() + 0.1
        assert np.abs(reached[name].astype(np.float32) - wanted).max() < tolerance * scale, name
    for index, name in enumerate(mixed._param_names):
        if reached[name].dtype != np.float32:
            leaves = jax.tree.leaves(mixed._updater.states[index])
            masters = [s.asnumpy() for s in leaves]
            assert {m.dtype for m in masters} == {np.dtype("float32")}
            assert any((m.astype(reached[name].dtype) == reached[name]).all() for m in masters)


@pytest.mark.filterwarnings("ignore:.*got a float16 weight")
@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("multi_precision", [True, False])
def test_small_steps_add_up_in_the_master_only(low, multi_precision):
    weight = mx.sym.Variable("w_weight", dtype=low, shape=(1,))
    net = mx.sym.MakeLoss(mx.sym.Cast(mx.sym.broadcast_mul(
        mx.sym.Cast(mx.sym.Variable("data"), dtype=low), weight), dtype="float32"))  # fmt: skip
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (1, 1))])
    module.init_params(mx.init.One())
    module.init_optimizer(
        optimizer_params={"learning_rate": 2.0**-12, "multi_precision": multi_precision}
    )
    for _ in range(64):
        module.forward_backward(mx.io.DataBatch([mx.nd.ones((1, 1))]))
        module.update()
    reached = float(module.get_params()[0]["w_weight"].asnumpy()[0])
    assert reached == (1 - 2.0**-6 if multi_precision else 1)


@pytest.mark.parametrize("low", LOW)
def test_checkpoint_and_states_go_on(low, tmp_path):
    prefix, stream = str(tmp_path / "half"), batches(4, shape=(2, 6, 6))
    module = trained(low, "sgd", stream[:2], multi_precision=True)
    module.save_checkpoint(prefix, 2, save_optimizer_states=True)
    again = mx.mod.Module.load(prefix, 2, load_optimizer_states=True)
    again.bind(module.data_shapes, module.label_shapes)
    again.init_optimizer(optimizer_params={**OPTIMIZERS["sgd"], "multi_precision": True})
    for batch in stream[2:]:
        for each in (module, again):
            each.forward_backward(batch)
            each.update()
    assert_same(
        {n: v.astype(np.float32) for n, v in values(module).items()},
        {n: v.astype(np.float32) for n, v in values(again).items()}, rtol=0, atol=0,
    )  # fmt: skip


@pytest.mark.parametrize("low", LOW)
def test_the_iterator_says_the_type(low):
    data = np.random.RandomState(1).rand(12, 5).astype(jnp.dtype(low))
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    train = mx.io.NDArrayIter(mx.nd.array(data, dtype=low), mx.nd.zeros((12,)), 4)
    assert jnp.dtype(train.provide_data[0].dtype) == jnp.dtype(low)
    module = mx.mod.Module(net)
    module.fit(train, num_epoch=4, optimizer_params={"learning_rate": 1, "multi_precision": True})
    assert set(types(module.get_params()[0]).values()) == {low}
    assert dict(module.score(train, "acc"))["accuracy"] == 1


@pytest.mark.parametrize("low", LOW)
def test_type_dict(low):
    net = mx.sym.broadcast_mul(mx.sym.Variable("data"), mx.sym.Variable("w"))
    for type_dict in ({"data": low}, {"w": jnp.dtype(low)}):
        bound = net.simple_bind(mx.cpu(), data=(2, 4), w=(1, 4), type_dict=type_dict)
        assert set(types(bound.arg_dict | bound.grad_dict).values()) == {low}
        bound.copy_params_from({"data": mx.nd.ones((2, 4)) * 3, "w": mx.nd.ones((1, 4)) * 2})
        assert str(bound.forward(is_train=True)[0]._cell.aval.dtype) == low
        bound.backward(mx.nd.ones((2, 4), dtype=low))
        assert bound.grad_dict["w"].asnumpy().astype(np.float32).tolist() == [[6] * 4]
