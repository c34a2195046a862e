"""Optimizer states in parts, one on each device, have the numbers of whole ones."""

from types import SimpleNamespace

import jax
import numpy as np
import optax
import pytest

import modkit as mx
from modkit.errors import NotSupportedError
from modkit.step.across_devices import by_mesh
from modkit.step.replicas import DistinctDevices
from tests.module.networks import assert_same, batches, mlp, values
from tests.optimizer import runs

MX = SimpleNamespace(lr_scheduler=mx.lr_scheduler, optimizer=mx.optimizer, nd=mx.nd)
RULES = {
    r[0]: r  # the last row of each optimizer, which has momentum
    for r in runs.RUNS
    if "clip_gradient" in r[1] and "dtype" not in r[2] and r[1].get("batch_scale", 1) == 1
}


def cut(value, count):
    value = np.asarray(value)
    flat = np.zeros((count, -(-value.size // count)), value.dtype)
    flat.reshape(-1)[: value.size] = value.reshape(-1)
    return flat


@pytest.mark.parametrize("name", RULES)
def test_a_rule_for_parts_has_the_numbers_of_the_whole(name):
    """Three parts, by vmap of the rule of one device; sizes are 12, 4 and 4."""
    run, count = RULES[name], 3
    names = tuple(n for n, _ in runs.PARAMS)[: run[2].get("count", len(runs.PARAMS))]
    made = runs.make(MX, run)
    rule = made.tree_rule(names)
    over = rule.over(("parts",))
    if name == "groupadagrad":  # whose accumulators are of rows
        assert over is None
        return
    params = dict(zip(names, runs.start(), strict=False))
    grads = dict(zip(names, runs.gradients(0), strict=False))
    state, hyper = rule.init(params), made.hyper(range(len(names)))
    arguments = jax.tree.map(lambda x: cut(x, count), (grads, state, params))
    step = jax.vmap(over.update, in_axes=(0, 0, 0, None), axis_name="parts")
    found = jax.tree.leaves(jax.jit(step)(*arguments, hyper))
    wanted = jax.tree.leaves(jax.jit(rule.update)(grads, state, params, hyper))
    for one, other in zip(found, wanted, strict=True):
        joined = one.reshape(-1)[: other.size].reshape(other.shape)
        np.testing.assert_allclose(joined, other, rtol=2e-6, atol=2e-7)
        assert one.dtype == other.dtype


def train(count, data, symbol=None, *, sharded=True, optimizer="adam", state=None, **options):
    """A module that trained on batches over some devices."""
    symbol = mlp() if symbol is None else symbol
    module = mx.mod.Module(symbol, context=[mx.cpu(i) for i in range(count)])
    dtype = options.pop("dtype", "float32")
    shape = data[0].data[0].shape
    module.bind([mx.io.DataDesc("data", shape, dtype)], [("softmax_label", shape[:1])])
    mx.random.seed(11)
    module.init_params(mx.init.Xavier())
    clip = options.pop("clip_norm", None)
    options = {"learning_rate": 0.05, "wd": 0.01, **options}
    module.init_optimizer("local", optimizer, options, shard_optimizer_states=sharded)
    module._optimizer._clip_norm = clip
    if state is not None:
        module.load_state_dict(state)
    for batch in data:
        module.forward_backward(batch)
        module.update()
    return module


def states(module):
    module.get_params()
    updater = module._present_updater
    return {i: runs.flat(s) for i, s in updater.states.items()}


SAME_BITS = jax.__version_info__ < (0, 11)
"""Newer ones fuse the update of a part otherwise than that of a whole array."""
SAME = {"rtol": 0, "atol": 0} if SAME_BITS else {"rtol": 1e-5, "atol": 1e-7}

CASES = [
    ("sgd", {"momentum": 0.9}, 2, "pmap"),
    ("adam", {}, 2, "mesh"),
    ("adam", {"clip_norm": 0.05}, 4, "pmap"),
    ("lamb", {}, 4, "mesh"),
    ("lars", {"momentum": 0.9}, 2, "pmap"),
    ("sgd", {"momentum": 0.9, "multi_precision": True, "dtype": "float16"}, 2, "pmap"),
]


@pytest.mark.parametrize(("optimizer", "options", "count", "how"), CASES, ids=str)
def test_training_has_the_numbers_of_whole_states(optimizer, options, count, how, monkeypatch):
    if how == "mesh":
        monkeypatch.setattr(DistinctDevices, "by", by_mesh)
    data = batches(4)
    if "dtype" in options:
        for batch in data:
            batch.data = [a.astype(options["dtype"]) for a in batch.data]
    found, wanted = (
        train(count, data, sharded=sharded, optimizer=optimizer, **options)
        for sharded in (True, False)
    )
    assert found._module_optimizer.shards.count == count
    # a + b in both; others add parts of norms
    exact = optimizer in ("sgd", "adam") and count == 2 and SAME_BITS
    close = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-5, "atol": 1e-6}
    assert_same(values(found), values(wanted), **close)
    for one, other in zip(states(found).values(), states(wanted).values(), strict=True):
        for first, second in zip(one, other, strict=True):
            assert first.dtype == second.dtype
            np.testing.assert_allclose(first, second, **close)


def test_a_device_has_one_part():
    """mlp: weights of 10x16 and 16x4, biases of 16 and 4; two float32 arrays each for adam."""
    sizes, data = (160, 16, 64, 4), batches(1)
    whole = train(4, data, sharded=False).optimizer_state_bytes()
    parts = train(4, data).optimizer_state_bytes()
    assert whole == dict.fromkeys(map(mx.cpu, range(4)), 2 * 4 * sum(sizes))
    assert parts == dict.fromkeys(map(mx.cpu, range(4)), 2 * 4 * sum(sizes) // 4)
    three = train(3, batches(1, size=9)).optimizer_state_bytes()
    assert three[mx.cpu(0)] == 2 * 4 * sum(-(-size // 3) for size in sizes)


def test_one_device_has_nothing_to_divide():
    for context in (1, 2):
        module = mx.mod.Module(mlp(), context=[mx.cpu(0)] * context)
        module.bind([("data", (8, 10))], [("softmax_label", (8,))])
        module.init_params()
        module.init_optimizer(optimizer="adam", shard_optimizer_states=True)
        (batch,) = batches(1)
        module.forward_backward(batch)
        module.update()
        assert module.optimizer_state_bytes() == {mx.cpu(0): 2 * 4 * 244}


def test_files_are_those_of_whole_states(tmp_path):
    data = batches(4)
    first, whole = train(2, data[:2]), train(2, data[:2], sharded=False)
    name, other = str(tmp_path / "parts.states"), str(tmp_path / "whole.states")
    first.save_optimizer_states(name)
    whole.save_optimizer_states(other)
    parts, together = ((tmp_path / f"{n}.states").read_bytes() for n in ("parts", "whole"))
    assert len(parts) == len(together) and (parts == together or not SAME_BITS)
    ends = []
    for count, sharded in ((2, True), (4, True), (1, False)):
        module = train(count, data[:1], sharded=sharded)
        module.load_optimizer_states(name)
        module._present_updater.optimizer.begin_num_update = 2
        module.set_params(*first.get_params())
        ends.append((states(module), values(module)))
        for index, arrays in states(whole).items():
            for one, two in zip(states(module)[index], arrays, strict=True):
                np.testing.assert_allclose(one, two, **SAME)


def test_a_training_goes_on_exactly_and_on_other_devices():
    data = batches(6)
    wanted = values(train(2, data))
    state = train(2, data[:3]).state_dict()
    assert_same(values(train(2, data[3:], state=state)), wanted, rtol=0, atol=0)
    assert set(state["updater"].states) == set(state["params"])  # a store's keys
    for count, sharded in ((4, True), (2, False), (1, False)):
        module = train(count, data[3:], state=state, sharded=sharded)
        assert_same(values(module), wanted)


def test_a_state_is_that_of_its_step():
    """A checkpoint is written while training goes on."""
    data = batches(3)
    module = train(2, data[:2])
    kept = module.state_dict()["updater"]
    wanted = {i: runs.flat(s) for i, s in kept.states.items()}
    module.forward_backward(data[2])
    module.update()
    for index, arrays in wanted.items():
        for one, two in zip(runs.flat(kept.states[index]), arrays, strict=True):
            np.testing.assert_array_equal(one, two)
        assert any((a != b).any() for a, b in zip(states(module)[index], arrays, strict=True))


def test_several_steps_in_a_program_and_updates_apart():
    def fit(sharded, **options):
        mx.random.seed(5)
        x = np.random.RandomState(0).normal(size=(38, 10)).astype("float32")
        y = np.arange(38) % 4
        module = mx.mod.Module(mlp(), context=[mx.cpu(0), mx.cpu(1)])
        module.fit(
            mx.io.NDArrayIter(x, y, 8), num_epoch=2, optimizer="adam", initializer=mx.init.Xavier(),
            shard_optimizer_states=sharded, **options,
        )  # fmt: skip
        return values(module)

    wanted = fit(False)
    assert_same(fit(True, steps_per_call=2), wanted)
    module, data = train(2, batches(1)), batches(2, seed=8)
    whole = train(2, batches(1), sharded=False)
    for each in (module, whole):
        for batch in data:
            each.forward(batch)
            each.get_outputs()[0].asnumpy()
            each.backward()
            each.update()
        for batch in batches(1, size=7, seed=9):  # which two devices do not divide
            each.forward_backward(batch)
            each.update()
    assert_same(values(module), values(whole))
    assert module.optimizer_state_bytes()[mx.cpu(1)] * 2 == whole.optimizer_state_bytes()[mx.cpu(1)]


class Slow(mx.optimizer.Optimizer):
    """A user's own."""

    def create_state(self, index, weight):
        return None

    def update(self, index, weight, grad, state):
        weight[:] = weight - 0.1 * grad


@pytest.mark.parametrize(
    ("optimizer", "options", "match"),
    [
        (Slow(rescale_grad=1 / 8), {}, "Slow updates by Python code"),
        ("sgld", {}, "SGLDRule may read other elements"),
        ("groupadagrad", {}, "GroupAdaGradRule may read"),
        (optax.adam(0.1), {}, "OptaxTreeRule may read"),
        ("sgd", {"compression_params": {"type": "2bit"}}, "compression_params"),
        ("sgd", {"context": [mx.cpu(0), mx.cpu(0), mx.cpu(1), mx.cpu(1)]}, "equal replicas"),
    ],
)
def test_states_that_cannot_be_divided(optimizer, options, match):
    module = mx.mod.Module(mlp(), **{"context": [mx.cpu(0), mx.cpu(1)], **options})
    module.bind([("data", (8, 10))], [("softmax_label", (8,))])
    module.init_params()
    with pytest.raises(NotSupportedError, match=f"shard_optimizer_states: .*{match}"):
        module.init_optimizer("device", optimizer, shard_optimizer_states=True)
    assert not module.optimizer_initialized


@pytest.mark.parametrize("how", ["pmap", "mesh"])
def test_padding_is_left_out_of_norms(how, monkeypatch):
    """Without epsilon, LAMB's direction of a padded element is 0 / 0."""
    if how == "mesh":
        monkeypatch.setattr(DistinctDevices, "by", by_mesh)
    data = mx.sym.slice_axis(mx.sym.Variable("data"), axis=1, begin=0, end=9)
    net = mx.sym.FullyConnected(data, num_hidden=5, no_bias=True, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    found, wanted = (
        train(2, batches(4), net, sharded=sharded, optimizer="lamb", epsilon=0)
        for sharded in (True, False)
    )
    assert values(wanted)["fc_weight"].size == 45
    assert_same(values(found), values(wanted), rtol=1e-5, atol=1e-6)


def test_buckets_share_parts():
    def symbol(length):
        net = mx.sym.Embedding(mx.sym.var("data"), input_dim=9, output_dim=4, name="embed")
        net = mx.sym.FullyConnected(mx.sym.mean(net, axis=1), num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]

    def fit(sharded):
        module = mx.mod.BucketingModule(symbol, 6, context=[mx.cpu(0), mx.cpu(1)])
        module.bind([("data", (4, 6))], [("softmax_label", (4,))])
        mx.random.seed(2)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer="adam", shard_optimizer_states=sharded)
        for length in (6, 4, 6):
            module.forward_backward(
                mx.io.DataBatch(
                    [mx.nd.ones((4, length))], [mx.nd.array([0, 1, 2, 0])], bucket_key=length,
                    provide_data=[("data", (4, length))], provide_label=[("softmax_label", (4,))],
                )
            )  # fmt: skip
            module.update()
        return values(module)

    assert_same(fit(True), fit(False), rtol=0, atol=0)


def test_rows_that_no_replica_reads_stay():
    picked = mx.sym.Embedding(
        mx.sym.Variable("data"), input_dim=9, output_dim=5, sparse_grad=True, name="embed"
    )
    net = mx.sym.SoftmaxOutput(mx.sym.sum(picked, axis=1), name="softmax")
    found, wanted = (
        values(train(2, batches(3), net, sharded=sharded, wd=0.5)) for sharded in (True, False)
    )
    assert_same(found, wanted, rtol=1e-5, atol=1e-6)
    start = values(train(2, batches(3)[:1], net, sharded=False, learning_rate=0))
    still = (found["embed_weight"] == start["embed_weight"]).all(1)
    assert still[6:].all() and not still.all()
