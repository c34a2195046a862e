"""The fused step: every order of calls agrees, nothing is compiled twice, no buffer is lost."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit import stream
from modkit.compile import program
from modkit.step import store as step_store
from modkit.step.fused import _with_constant
from modkit.step.replicas import SingleDevice
from modkit.tuning.xla_options import compile_program, options_for
from tests.barriers import need_kept_barriers
from tests.module.networks import assert_same, batches, convnet, mlp, ready, values


def fused(module, batch, metric):
    module.forward_backward(batch)
    module.update()
    module.update_metric(metric, batch.label)


def without_metric(module, batch, metric):
    module.forward_backward(batch)
    module.update()


def metric_first(module, batch, metric):
    module.forward(batch, is_train=True)
    module.update_metric(metric, batch.label)
    module.backward()
    module.update()


def outputs_read_first(module, batch, metric):
    module.forward(batch, is_train=True)
    module.get_outputs()[0].asnumpy()
    module.backward()
    module.update()


def gradients_read_first(module, batch, metric):
    module.forward_backward(batch)
    for each in module._exec_group.grad_arrays:
        each[0].asnumpy()
    module.update()
    module.update_metric(metric, batch.label)


def outputs_read_between(module, batch, metric):
    module.forward_backward(batch)
    module.get_outputs()[0].asnumpy()
    module.update()


def parameters_read_after(module, batch, metric):
    module.forward_backward(batch)
    module.update()
    module.get_params()[0]["fc1_weight" if "fc1_weight" in module._param_names else "fc_weight"]
    module.update_metric(metric, batch.label)


ORDERS = [
    without_metric, metric_first, outputs_read_first, gradients_read_first, outputs_read_between,
    parameters_read_after,
]  # fmt: skip
CONTEXTS = {
    "one": lambda: mx.cpu(),
    "vmap": lambda: [mx.cpu(0), mx.cpu(4)],
    "pmap": lambda: [mx.cpu(0), mx.cpu(1)],
}


@functools.cache
def reached(order, where, network, shape):
    """The parameters after a few batches, by an order of calls."""
    data = batches(shape=shape)
    module = ready(network(), data[0], context=CONTEXTS[where](), momentum=0.9, wd=1e-3)
    metric = mx.metric.create("acc")
    for batch in data:
        order(module, batch, metric)
    return values(module)


@pytest.mark.parametrize("where", CONTEXTS)
@pytest.mark.parametrize("order", ORDERS, ids=lambda f: f.__name__)
def test_every_order_of_calls_gives_the_same_parameters(order, where):
    for network, shape in ((mlp, (10,)), (convnet, (2, 6, 6))):
        assert_same(*(reached(each, where, network, shape) for each in (fused, order)))


def test_metric_in_the_step_equals_the_metric_alone():
    data = batches(12)
    reached = []
    for order in (fused, metric_first):
        module = ready(mlp(), data[0])
        metric = mx.metric.create(["acc", "ce", mx.metric.TopKAccuracy(2)])
        for batch in data:
            order(module, batch, metric)
        reached.append(metric.get_name_value())
    assert [n for n, _ in reached[0]] == [n for n, _ in reached[1]]
    np.testing.assert_allclose([v for _, v in reached[0]], [v for _, v in reached[1]], rtol=1e-6)


def test_metric_of_the_users_own_sees_each_batch():
    seen = []
    metric = mx.metric.CustomMetric(lambda label, pred: seen.append(pred.shape) or 1.0)
    data = batches(3)
    module = ready(mlp(), data[0])
    for batch in data:
        fused(module, batch, metric)
    assert seen == [(8, 4)] * 3
    assert metric.get()[1] == 1.0


@pytest.mark.parametrize("optimizer", ["sgd", "nag"])
def test_one_program_for_all_steps_and_none_for_a_new_rate_or_momentum(optimizer, compilations):
    data = batches(6, size=6, shape=(7,))
    module = ready(mlp(hidden=5), data[0], optimizer=optimizer, momentum=0.9)
    metric = mx.metric.create("acc")
    assert compilations.during(lambda: fused(module, data[0], metric)) == ["step"]

    def rest():
        for number, batch in enumerate(data[1:]):
            module._optimizer.set_learning_rate(0.1 / (number + 2))
            module._optimizer.rescale_grad = 1 / (number + 6)
            module._optimizer.momentum = 0.9 - 0.1 * number
            fused(module, batch, metric)

    assert compilations.during(rest) == []


def test_a_smaller_last_batch_compiles_once(compilations):
    data, last = batches(2, size=6, shape=(9,)), batches(1, size=4, shape=(9,))[0]
    module = ready(mlp(hidden=6), data[0])
    metric = mx.metric.create("acc")
    fused(module, data[0], metric)
    assert compilations.during(lambda: fused(module, last, metric)) == ["step"]

    def again():
        fused(module, data[1], metric)
        fused(module, last, metric)

    assert compilations.during(again) == []


def test_equal_modules_share_programs(compilations):
    data = batches(1, size=5, shape=(11,))
    fused(ready(mlp(hidden=7), data[0]), data[0], mx.metric.create("acc"))
    module = ready(mlp(hidden=7), data[0])
    assert compilations.during(lambda: fused(module, data[0], mx.metric.create("acc"))) == []


def lend_by_assignment(module):
    held = mx.nd.zeros((16, 10))
    held[:] = module._exec_group.param_arrays[0][0]
    return lambda: held.asnumpy()


def lend_raw(module):
    raw = module._exec_group.param_arrays[0][0].to_jax()
    return lambda: np.asarray(raw)


def lend_by_get_params(module):
    held = module.get_params()[0]["fc1_weight"]
    return lambda: held.asnumpy()


def lend_to_pending_forward(module):
    outputs = mx.mod.Module(mlp())
    outputs.bind([("data", (8, 10))], [("softmax_label", (8,))], for_training=False,
                 shared_module=module)  # fmt: skip
    outputs.forward(batches(1)[0], is_train=False)
    return lambda: outputs.get_outputs()[0].asnumpy()


def lend_to_executor(module):
    weight = module._exec_group.param_arrays[0][0]
    executor = (mx.sym.Variable("w") * 2).bind(mx.cpu(), {"w": weight})
    executor.forward()
    return lambda: executor.outputs[0].asnumpy() / 2


LENDERS = [
    lend_by_assignment, lend_raw, lend_by_get_params, lend_to_pending_forward, lend_to_executor,
]  # fmt: skip


@pytest.mark.parametrize("lend", LENDERS, ids=lambda f: f.__name__)
def test_a_buffer_that_somebody_holds_survives_the_next_steps(lend):
    data = batches()
    expected = None
    for wait in (True, False):
        module = ready(mlp(), data[0], momentum=0.9)
        metric = mx.metric.create("acc")
        fused(module, data[0], metric)
        read = lend(module)
        at_once = read() if wait else None
        for batch in data[1:]:
            fused(module, batch, metric)
        now = read()
        if wait:
            expected = at_once, values(module)
        np.testing.assert_allclose(now, expected[0], rtol=1e-6)
    assert_same(values(module), expected[1])


def test_writing_a_parameter_between_backward_and_update_is_seen():
    data = batches(1)
    module = ready(mlp(), data[0], learning_rate=0.5)
    module.forward_backward(data[0])
    weight = module._exec_group.param_arrays[1][0]
    weight[:] = 7
    module.update()
    gradient = module._exec_group.grad_arrays[1][0].asnumpy()
    np.testing.assert_allclose(
        module.get_params()[0]["fc1_bias"].asnumpy(), 7 - 0.5 / 8 * gradient, rtol=1e-5
    )


def test_gradients_can_be_read_after_the_update():
    data = batches(1)
    module = ready(mlp(), data[0])
    fused(module, data[0], mx.metric.create("acc"))
    got = [g[0].asnumpy() for g in module._exec_group.grad_arrays]
    other = ready(mlp(), data[0])
    other.forward_backward(data[0])
    for a, b in zip(got, other._exec_group.grad_arrays, strict=True):
        np.testing.assert_allclose(a, b[0].asnumpy(), rtol=1e-5, atol=1e-7)


def test_gradients_add_up():
    data = batches(2)
    module = mx.mod.Module(mlp())
    module.bind([("data", (8, 10))], [("softmax_label", (8,))], grad_req="add")
    module.init_params(mx.init.Xavier())
    parts = []
    for batch in data:
        module.forward_backward(batch)
        parts.append(module._exec_group.grad_arrays[0][0].asnumpy())
    alone = mx.mod.Module(mlp())
    alone.bind([("data", (8, 10))], [("softmax_label", (8,))])
    alone.init_params(arg_params=module.get_params()[0], aux_params={})
    alone.forward_backward(data[1])
    np.testing.assert_allclose(
        parts[1] - parts[0], alone._exec_group.grad_arrays[0][0].asnumpy(), rtol=1e-4, atol=1e-6
    )


class OwnSGD(mx.optimizer.Optimizer):
    """A user's optimizer, written with NDArrays."""

    def create_state(self, index, weight):
        return None

    def update(self, index, weight, grad, state):
        self._update_count(index)
        weight -= self._get_lr(index) * self.rescale_grad * grad


@pytest.mark.parametrize("where", CONTEXTS)
def test_an_optimizer_of_the_users_own_is_called(where):
    data = batches()
    reached = []
    for optimizer in (OwnSGD(learning_rate=0.1, rescale_grad=1 / 8), "sgd"):
        module = ready(mlp(), data[0], optimizer=optimizer, context=CONTEXTS[where]())
        for batch in data:
            fused(module, batch, mx.metric.create("acc"))
        reached.append(values(module))
    assert_same(*reached)


def test_a_start_compiles_the_step_and_nothing_else(compilations):
    """Not a program for each shape of a parameter, to make its state or to copy it."""
    first = batches(1, size=7, shape=(13,))[0]

    def work():
        module = ready(mlp(hidden=29, classes=11), first, momentum=0.9)
        fused(module, first, mx.metric.create("acc"))
        module.get_outputs()[0].asnumpy()

    assert compilations.during(work, primitives=True) == ["step"]


def test_numbers_that_stay_go_to_the_device_once(monkeypatch):
    data, reached = batches(), []
    place = SingleDevice.numbers
    rates = [0.1, 0.1, 0.1, 0.1, 0.2, 0.3, 0.3, 0.3, 0.1]
    for read in (False, True):
        placed = []
        monkeypatch.setattr(
            SingleDevice,
            "numbers",
            lambda home, table, to=placed: to.append(table) or place(home, table),
        )
        module = ready(mlp(), data[0], momentum=0.9)
        for number, rate in enumerate(rates):
            module._optimizer.set_learning_rate(rate)
            module.forward_backward(data[number % len(data)])
            module.update()
            if read:
                values(module)
        assert [table[0, 0] for table in placed] == np.float32([0.1, 0.3]).tolist()
        reached.append(values(module))
    assert_same(*reached)


@pytest.fixture
def kernels_of_updates(monkeypatch):
    """A function from an optimizer to kernels that read a step's rates, and the step's HLO."""
    need_kept_barriers(options_for(lambda: "stablehlo.optimization_barrier", "cpu"))
    texts = []

    def compiled(lowered, options):
        made = compile_program(lowered, options)
        texts.append(made.as_text())
        return made

    def kernels(**optimizer):
        monkeypatch.setattr(program, "compile_program", compiled)
        net = mx.sym.Variable("data")
        for number in range(6):
            net = mx.sym.FullyConnected(net, num_hidden=9, name=f"fc{number}")
        first = batches(1, shape=(9,))[0]
        module = ready(mx.sym.SoftmaxOutput(net, name="softmax"), first, **optimizer)
        without_metric(module, first, None)
        module.get_outputs()[0].asnumpy()
        table = f"f32[12,{len(module._optimizer.rule().columns)}]"
        found = [k for k in re.split(r"\n(?=[%E])", texts[-1]) if table in k and k[0] == "%"]
        return found, texts[-1]

    return kernels


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_updates_of_equal_arrays_are_equal_kernels(kernels_of_updates, optimizer):
    """XLA compiles equal kernels once: the number of a parameter's row must not enter them."""
    kernels, _ = kernels_of_updates(optimizer=optimizer)
    anonymous = [re.sub(r"%[\w.-]+|param_[\w.]+|, metadata=\{[^}]*\}", "", k) for k in kernels]
    assert len(kernels) >= 12
    assert len({*anonymous}) <= len(kernels) / 5, sorted({*anonymous})


def test_no_kernel_of_an_update_only_adds(kernels_of_updates):
    """XLA of jaxlib 0.10.2 computes such kernels in small tiles, several times as slowly."""
    _, text = kernels_of_updates(momentum=0.9)
    kernels = text[text.index("\nENTRY") :]
    assert not re.search(r"wrapped_add|= f32\S* add\(", kernels)


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_a_weight_through_its_kernel_with_a_constant_is_the_same(dtype):
    weights = jnp.array([np.inf, -np.inf, np.nan, -0.0, 1.5], "float32").astype(dtype)
    got = jax.jit(_with_constant)(weights)
    assert got.dtype == weights.dtype
    np.testing.assert_array_equal(got.astype("float32"), weights.astype("float32"))
    assert jnp.signbit(got[3])


@pytest.mark.parametrize("at_once", [True, False], ids=["fit", "calls"])
@pytest.mark.parametrize(("optimizer", "draws"), [("sgd", 0), ("sgld", 3)])
def test_only_programs_that_draw_advance_the_random_stream(optimizer, draws, at_once):
    data = mx.io.NDArrayIter(np.ones((24, 10), "f"), np.zeros(24), 8)
    module = ready(mlp(), next(data), optimizer=optimizer)
    data.reset()
    before = stream.position()
    if at_once:
        module.fit(data, num_epoch=1)
    else:
        for batch in data:
            fused(module, batch, mx.metric.create("acc"))
    assert stream.position() == (before[0], before[1] + draws)
    module.score(data, "acc")
    assert stream.position() == (before[0], before[1] + draws)


def buckets_of_two_sizes():
    def network(key):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
        net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2") if key == "large" else net
        return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(network, "large")
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    mx.random.seed(4)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="adam")
    return module


@pytest.mark.slow
def test_buckets_with_a_part_of_the_parameters_take_turns_without_copies(monkeypatch):
    fused, apart = buckets_of_two_sizes(), buckets_of_two_sizes()
    copies, made = [], step_store.copy_of
    data, label = mx.nd.array([[1, 2, 3], [4, 5, 6]]), mx.nd.array([0, 2])
    for step, key in enumerate(("large", "small", "small", "large", "small", "large")):
        batch = mx.io.DataBatch(
            [data * (step + 1)], [label], bucket_key=key,
            provide_data=[("data", (2, 3))], provide_label=[("softmax_label", (2,))],
        )  # fmt: skip
        apart.forward(batch, is_train=True)
        apart.get_outputs()[0].asnumpy()
        apart.backward()
        apart.update()
        if step == 2:  # each parameter has its state in the store
            mx.nd.waitall()
            monkeypatch.setattr(step_store, "copy_of", lambda v: copies.append(1) or made(v))
        fused.forward_backward(batch)
        fused.update()
        fused._curr_module._exec_group.store.run()
    monkeypatch.undo()
    assert copies == []
    assert_same(values(fused), values(apart))
