"""`compute_dtype`: products in 16 bits, everything that is kept or shown in float32."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.errors import ParameterError
from modkit.ops.registry import OPS, op
from modkit.step.programs import programs_for
from modkit.symbol import precision
from tests.module.networks import assert_same, batches, convnet, mlp, values

LOW = ["bfloat16", "float16"]


def made(symbol, batch, compute_dtype, *, optimizer="sgd", seed=11, **params):
    """`ready`, with a compute type."""
    module = mx.mod.Module(symbol, compute_dtype=compute_dtype)
    module.bind([("data", batch.data[0].shape)], [("softmax_label", batch.label[0].shape)])
    mx.random.seed(seed)
    module.init_params(mx.init.Xavier())
    module.init_optimizer("local", optimizer, {"learning_rate": 0.1, **params})
    return module


def step(module, batch, metric=None):
    module.forward_backward(batch)
    module.update()
    if metric is not None:
        module.update_metric(metric, batch.label)


def equations(jaxpr):
    """All equations of a program, those of its parts too."""
    for equation in jaxpr.eqns:
        yield equation
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=is_program):
            if is_program(value):
                yield from equations(getattr(value, "jaxpr", value))


def is_program(value):
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")


def training_equations(module):
    """The equations of forward and backward, as the fused step traces them."""
    bound = module._exec_group.bounds[0]
    programs = programs_for(bound.lowered, bound.arrays.wrt, True, bound.placement)

    def run(inputs, words):
        outputs, pullback, changed = programs.differentiate(inputs, words)
        return outputs, pullback([jnp.ones_like(y) for y in outputs]), changed

    cells = {**bound.arrays.shared, **bound.arrays.local, **bound.arrays.aux}
    inputs = {n: jax.ShapeDtypeStruct(c.aval.shape, c.aval.dtype) for n, c in cells.items()}
    words = jax.ShapeDtypeStruct((2,), np.uint32)
    return list(equations(jax.make_jaxpr(run)(inputs, words).jaxpr))


def types_of(found, names):
    return {str(v.aval.dtype) for e in found if e.primitive.name in names for v in e.invars}


def lstm():
    """An LSTM over 5 steps of 6 numbers, and a softmax loss on its last output."""
    data = mx.sym.transpose(mx.sym.Variable("data"), axes=(1, 0, 2))
    net = mx.sym.RNN(data, state_size=8, num_layers=1, mode="lstm", name="rnn",
                     parameters=mx.sym.Variable("rnn_weight", init=mx.init.Uniform(0.5)),
                     state=mx.sym.Variable("rnn_state", init=mx.init.Zero()),
                     state_cell=mx.sym.Variable("rnn_cell", init=mx.init.Zero()))  # fmt: skip
    net = mx.sym.FullyConnected(mx.sym.SequenceLast(net), num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


NETS = {"mlp": (mlp, (10,)), "convnet": (convnet, (2, 6, 6)), "lstm": (lstm, (5, 6))}


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("net", NETS)
def test_products_and_nothing_else_are_computed_in_the_type(net, low):
    symbol, shape = NETS[net]
    found = training_equations(made(symbol(), batches(1, shape=shape)[0], low))
    assert types_of(found, ("dot_general", "conv_general_dilated")) == {low}
    # Softmax and its sums, statistics, gradients of biases.
    assert low not in types_of(found, ("reduce_sum", "exp", "rsqrt"))


def test_without_it_nothing_is_cast():
    found = training_equations(made(convnet(), batches(1, shape=(2, 6, 6))[0], None))
    assert types_of(found, ("dot_general", "conv_general_dilated")) == {"float32"}
    assert "convert_element_type" not in {
        e.primitive.name for e in found if str(e.outvars[0].aval.dtype) in LOW
    }


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("net", NETS)
def test_what_is_kept_and_shown_is_float32(net, low):
    symbol, shape = NETS[net]
    (batch,) = batches(1, shape=shape)
    module = made(symbol(), batch, low, optimizer="adam")
    step(module, batch)
    group = module._exec_group
    shown = [*values(module).values(), *(o.asnumpy() for o in module.get_outputs())]
    shown += [g.asnumpy() for gs in group.grad_arrays for g in gs]
    shown += [s.asnumpy() for s in jax.tree.leaves(module._updater.states)]
    assert {a.dtype for a in shown} == {np.dtype("float32")}


@pytest.mark.parametrize("low", LOW)
@pytest.mark.parametrize("net", NETS)
def test_a_step_is_close_to_that_in_float32(net, low):
    symbol, shape = NETS[net]
    (batch,) = batches(1, shape=shape)
    modules = [made(symbol(), batch, dtype) for dtype in (None, low)]
    before = values(modules[0])
    for module in modules:
        step(module, batch)
    plain, mixed = map(values, modules)
    digits = {"bfloat16": 2**-8, "float16": 2**-11}[low]
    for name, reached in plain.items():
        moved = np.abs(reached - before[name]).max()
        assert np.abs(mixed[name] - reached).max() <= 16 * digits * (moved + 0.01), name
    assert any((mixed[n] != plain[n]).any() for n in plain)


def test_every_order_of_calls_agrees():
    (batch,) = batches(1, shape=(2, 6, 6))
    fused, apart = (made(convnet(), batch, "bfloat16") for _ in range(2))
    for _ in range(3):
        step(fused, batch, mx.metric.create("acc"))
        apart.forward(batch, is_train=True)
        apart.get_outputs()[0].asnumpy()
        apart.backward()
        apart.update()
    assert_same(values(fused), values(apart), rtol=2e-3, atol=2e-4)


def test_statistics_move_by_float32_sums():
    """In bfloat16, 300 samples around 100 would sum to something far off."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
    net = mx.sym.BatchNorm(net, momentum=0.0, name="bn")
    module = mx.mod.Module(net, label_names=None, compute_dtype="bfloat16")
    module.bind([("data", (300, 1))])
    module.init_params(mx.init.One())
    data = np.linspace(90, 110, 300, dtype=np.float32)[:, None]
    module.forward(mx.io.DataBatch([mx.nd.array(data)]), is_train=True)
    rounded = data.astype(jnp.bfloat16).astype(np.float64)
    aux = module.get_params()[1]
    np.testing.assert_allclose(aux["bn_moving_mean"].asnumpy(), rounded.mean(0), rtol=1e-5)
    np.testing.assert_allclose(aux["bn_moving_var"].asnumpy(), rounded.var(0), rtol=1e-4)


@pytest.mark.parametrize(("net", "kernels"), [(mlp, 0), (convnet, 1)])
def test_bias_gradients_are_summed_in_float32(net, kernels):
    """4,096 equal addends: a bfloat16 sum stops growing at 256 of them."""
    size, shape = 4096, (2, 3, 3) if kernels else (10,)
    batch = mx.io.DataBatch([mx.nd.zeros((size, *shape))], [mx.nd.zeros((size,))])
    module = made(net(), batch, "bfloat16")
    module.forward_backward(batch)
    last = "fc_bias" if kernels else "fc2_bias"
    at = module._param_names.index(last)
    got = module._exec_group.grad_arrays[at][0].asnumpy()
    np.testing.assert_allclose(got, size * (np.full(4, 0.25) - [1, 0, 0, 0]), rtol=1e-2)


def digits(shape):
    from sklearn.datasets import load_digits  # seconds to import: not while tests are collected

    data = load_digits()
    order = np.random.RandomState(0).permutation(len(data.target))
    images = (data.images[order] / 16).astype(np.float32).reshape(-1, *shape)
    labels = data.target[order].astype(np.float32)
    train = mx.io.NDArrayIter(images[:1500], labels[:1500], 50)
    return train, mx.io.NDArrayIter(images[1500:], labels[1500:], 27)


def fit(net, shape, compute_dtype, epochs=6, **params):
    train, held_out = digits(shape)
    mx.random.seed(5)
    module = mx.mod.Module(net, compute_dtype=compute_dtype)
    module.fit(
        train, num_epoch=epochs, optimizer="sgd", initializer=mx.init.Xavier(),
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9, **params},
    )  # fmt: skip
    return module, held_out


@pytest.mark.parametrize(
    ("net", "shape"), [(mlp(64, 10), (64,)), (convnet(10), (1, 8, 8))], ids=["mlp", "convnet"]
)
def test_digits_are_learned_as_well(net, shape):
    reached = {}
    for dtype in (None, *LOW):
        module, held_out = fit(net, shape, dtype)
        reached[dtype] = dict(module.score(held_out, "acc"))["accuracy"]
    assert reached[None] > 0.9
    assert all(abs(reached[low] - reached[None]) < 0.02 for low in LOW), reached


def test_checkpoints_are_float32_and_go_on(tmp_path):
    prefix = str(tmp_path / "net")
    stream = batches(4, shape=(2, 6, 6))
    module = made(convnet(), stream[0], "bfloat16", momentum=0.9)
    for batch in stream[:2]:
        step(module, batch)
    module.save_checkpoint(prefix, 2, save_optimizer_states=True)
    again = mx.mod.Module.load(prefix, 2, load_optimizer_states=True, compute_dtype="bfloat16")
    again.bind(module.data_shapes, module.label_shapes)
    again.init_optimizer("local", "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    for batch in stream[2:]:
        step(module, batch)
        step(again, batch)
    assert_same(values(module), values(again), rtol=0, atol=0)
    _, args, auxs = mx.model.load_checkpoint(prefix, 2)
    assert {a.dtype for a in (args | auxs).values()} == {np.float32}
    plain = mx.mod.Module.load(prefix, 2)  # the same file, without mixed precision
    plain.bind(module.data_shapes, module.label_shapes, for_training=False)
    plain.forward(stream[0], is_train=False)
    assert plain.get_outputs()[0].dtype == np.float32


def test_predict_score_and_reshape():
    module, held_out = fit(mlp(16, 10), (64,), "bfloat16", epochs=1)
    predicted = module.predict(held_out)
    assert (predicted.shape, predicted.dtype) == ((297, 10), np.float32)
    held_out.reset()
    labels = np.concatenate([b.label[0].asnumpy() for b in held_out])
    hits = (predicted.asnumpy().argmax(1) == labels).mean()
    assert dict(module.score(held_out, "acc"))["accuracy"] == pytest.approx(hits, abs=1e-6)
    module.reshape([("data", (7, 64))], [("softmax_label", (7,))])
    module.forward(mx.io.DataBatch([mx.nd.ones((7, 64))], [mx.nd.ones((7,))]), is_train=True)
    assert module.get_outputs()[0].shape == (7, 10)
    assert types_of(training_equations(module), ("dot_general",)) == {"bfloat16"}


def test_other_modules():
    (batch,) = batches(1)
    bucketing = mx.mod.BucketingModule(
        lambda _: (mlp(), ["data"], ["softmax_label"]), 10, compute_dtype="float16"
    )
    bucketing.bind([("data", (8, 10))], [("softmax_label", (8,))])
    assert types_of(training_equations(bucketing._curr_module), ("dot_general",)) == {"float16"}
    sequence = mx.mod.SequentialModule()
    features = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10, name="low")
    sequence.add(mx.mod.Module(features, label_names=None, compute_dtype="bfloat16"))
    sequence.add(mx.mod.Module(mlp()), take_labels=True, auto_wiring=True)
    sequence.bind([("data", (8, 10))], [("softmax_label", (8,))])
    sequence.init_params()
    sequence.init_optimizer()
    step(sequence, batch)
    assert sequence.get_outputs()[0].dtype == np.float32


def test_two_devices_agree_with_one():
    (batch,) = batches(1)
    results = []
    for context in (mx.cpu(), [mx.cpu(0), mx.cpu(1)]):
        module = mx.mod.Module(mlp(), context=context, compute_dtype="bfloat16")
        module.bind([("data", (8, 10))], [("softmax_label", (8,))])
        mx.random.seed(2)
        module.init_params(mx.init.Xavier())
        module.init_optimizer()
        step(module, batch)
        results.append(values(module))
    assert_same(*results, rtol=2e-2, atol=1e-4)


def test_float16_with_a_scaled_loss():
    """``grad_scale`` in the loss and its inverse in ``rescale_grad`` keep small gradients."""

    def gradient(scale):
        data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
        net = mx.sym.FullyConnected(data, num_hidden=1, no_bias=True, name="fc")
        net = mx.sym.LinearRegressionOutput(net, label, grad_scale=1e-8 * scale, name="loss")
        module = mx.mod.Module(net, compute_dtype="float16")
        module.bind([("data", (4, 2))], [("softmax_label", (4, 1))])
        module.init_params(mx.init.Zero())
        module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 2))], [mx.nd.ones((4, 1))]))
        return module._exec_group.grad_arrays[0][0].asnumpy() / scale

    assert (gradient(1) == 0).all()  # below float16's smallest number
    np.testing.assert_allclose(gradient(2.0**20), np.full((1, 2), -4e-8), rtol=1e-3)


def test_labels_and_indices_are_not_rounded():
    """1,001 is no bfloat16 number."""
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    net = mx.sym.Embedding(data, input_dim=1100, output_dim=3, name="embed")
    net = mx.sym.FullyConnected(net, num_hidden=1100, name="fc", no_bias=True)
    net = mx.sym.SoftmaxOutput(net, label, name="softmax")
    module = mx.mod.Module(net, compute_dtype="bfloat16")
    module.bind([("data", (1,))], [("softmax_label", (1,))])
    module.init_params(mx.init.One())
    where = mx.nd.array([1001.0])
    module.forward_backward(mx.io.DataBatch([where], [where]))
    grads = dict(zip(module._param_names, module._exec_group.grad_arrays, strict=True))
    assert np.flatnonzero(grads["embed_weight"][0].asnumpy().any(1)).tolist() == [1001]
    assert grads["fc_weight"][0].asnumpy()[:, 0].argmin() == 1001


@pytest.mark.parametrize(
    ("given", "kept"),
    [(None, None), ("float32", None), (np.float32, None), (np.float16, "float16"),
     (jnp.bfloat16, "bfloat16"), ("bfloat16", "bfloat16")],
)  # fmt: skip
def test_names_of_the_type(given, kept):
    assert precision.compute_type(given) == kept


@pytest.mark.parametrize("given", ["int8", "float64", "bf16", "float", 3.5])
@pytest.mark.parametrize("module", ["Module", "BucketingModule"])
def test_another_type_is_refused(module, given):
    first = mlp() if module == "Module" else lambda _: (mlp(), ["data"], ["softmax_label"])
    options = {} if module == "Module" else {"default_bucket_key": 1}
    with pytest.raises(ParameterError, match=r"compute_dtype: got .*'float32', 'bfloat16', 'floa"):
        getattr(mx.mod, module)(first, compute_dtype=given, **options)


@pytest.mark.parametrize(
    "op", sorted(set(OPS.values()), key=lambda op: op.name), ids=lambda op: op.name
)
def test_every_operator_states_its_precision(op):
    if isinstance(op.precision, tuple):
        assert op.precision and set(op.precision) <= set(op.inputs)
    else:
        assert op.precision in ("through", "alike", "float32")


def test_a_registration_without_a_precision_fails():
    with pytest.raises(TypeError, match="precision"):
        op("new_operator")(lambda data: data)
    assert "new_operator" not in OPS
