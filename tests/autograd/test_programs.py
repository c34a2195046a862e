"""Whole imperative programs: they learn, compile once for each structure, and free their tapes."""

import gc
import re
import threading
import weakref

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.ndarray import node_by_node, replay

ROWS = np.random.RandomState(0).normal(size=(64, 8)).astype("float32")
CLASSES = (ROWS @ np.random.RandomState(1).normal(size=(8, 3))).argmax(1)


@pytest.fixture
def traced(monkeypatch):
    """A list: "program" for each gradient program that is traced, "node" for each derivative."""
    found = []
    run, make = replay._replay, node_by_node.Derivative.__init__
    monkeypatch.setattr(replay, "_replay", lambda *args: found.append("program") or run(*args))
    monkeypatch.setattr(
        node_by_node.Derivative, "__init__", lambda *args: found.append("node") or make(*args)
    )
    caches = replay.program, node_by_node._made, node_by_node.steps_of
    for cache in caches:
        cache.cache_clear()
    yield found
    for cache in caches:
        cache.cache_clear()


def variables(*shapes):
    random = np.random.RandomState(2)
    made = [mx.nd.array(random.normal(size=shape) * 0.3) for shape in shapes]
    for each in made:
        each.attach_grad()
    return made


def test_logistic_regression_by_hand(traced):
    weight, bias = variables((3, 8), (3,))
    labels = mx.nd.one_hot(mx.nd.array(CLASSES), 3)
    losses = []
    for _ in range(60):
        with mx.autograd.record():
            logits = mx.nd.dot(mx.nd.array(ROWS), weight.T) + bias
            loss = -(labels * mx.nd.log_softmax(logits)).sum(axis=1).mean()
        loss.backward()
        for each in (weight, bias):
            each -= 1.0 * each.grad
        losses.append(loss.asscalar())

    w, b, expected = *_same_start(), []
    for _ in range(60):
        logits = ROWS @ w.T + b
        odds = np.exp(logits - logits.max(1, keepdims=True))
        odds /= odds.sum(1, keepdims=True)
        expected.append(-np.log(odds[np.arange(64), CLASSES]).mean())
        slope = (odds - np.eye(3)[CLASSES]) / 64
        w, b = w - slope.T @ ROWS, b - slope.sum(0)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(weight.asnumpy(), w, rtol=1e-3, atol=1e-5)
    assert losses[-1] < 0.5 * losses[0]
    assert traced == ["node"] * 8


def _same_start():
    random = np.random.RandomState(2)
    return [(random.normal(size=shape) * 0.3).astype("float32") for shape in ((3, 8), (3,))]


def test_a_network_with_an_updater(traced):
    parameters = variables((16, 8), (16,), (16,), (16,), (3, 16), (3,))
    mean, var = mx.nd.zeros(16), mx.nd.ones(16)
    parameters[2][:] = 1
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))

    def forward(rows):
        w1, b1, gamma, beta, w2, b2 = parameters
        hidden = mx.nd.FullyConnected(rows, w1, b1, num_hidden=16)
        hidden = mx.nd.BatchNorm(hidden, gamma, beta, mean, var, fix_gamma=False)
        hidden = mx.nd.Dropout(mx.nd.relu(hidden), p=0.1)
        return mx.nd.FullyConnected(hidden, w2, b2, num_hidden=3)

    for _ in range(10):
        for at in range(0, 64, 16):
            rows, labels = mx.nd.array(ROWS[at : at + 16]), mx.nd.array(CLASSES[at : at + 16])
            with mx.autograd.record():
                loss = mx.nd.softmax_cross_entropy(forward(rows), labels)
            loss.backward()
            for index, each in enumerate(parameters):
                update(index, each.grad / 16, each)
    accuracy = (forward(mx.nd.array(ROWS)).asnumpy().argmax(1) == CLASSES).mean()
    assert accuracy > 0.9
    assert abs(mean.asnumpy()).max() > 0
    assert traced == ["node"] * 6


def test_policy_gradients_with_changing_batches(traced):
    """Two arms, of which the second pays: its probability grows."""
    (weight,) = variables((2, 1))
    random = np.random.RandomState(3)
    sizes = [3, 5, 4, 3, 5, 4] * 8
    for size in sizes:
        states = mx.nd.ones((size, 1))
        with mx.autograd.record():
            odds = mx.nd.log_softmax(mx.nd.dot(states, weight.T))
            chosen = (random.rand(size) < np.exp(odds.asnumpy()[:, 1])).astype("float32")
            picked = mx.nd.pick(odds, mx.nd.array(chosen))
            loss = -(picked * mx.nd.array(chosen * 2 - 1)).sum()
        loss.backward()
        weight -= 0.2 * weight.grad
    assert mx.nd.softmax(weight.reshape((1, 2))).asnumpy()[0, 1] > 0.9
    assert traced == ["node"] * (2 + 5 * len(set(sizes)))  # the transposition and `-` once


def test_a_structure_that_comes_often_is_one_program(traced):
    """With the same gradients to rounding."""
    (weight,) = variables((3, 8))
    found = []
    for _ in range(70):
        with mx.autograd.record():
            odds = mx.nd.softmax(mx.nd.dot(mx.nd.array(ROWS), weight.T))
            first, _ = mx.nd.split(odds * odds, 2, axis=0)
            loss = (first * 2).sum() + weight.sum() + odds[3, 1]
        loss.backward(mx.nd.array([0.5]))
        found.append(weight.grad.asnumpy())
    assert traced.count("program") == 1
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[-1], found[0], rtol=1e-5, atol=1e-6)


def test_episodes_of_other_lengths_trace_nothing_new(traced):
    """The derivative of each call is known; only the structure is another."""
    (weight,) = variables((2, 4))
    counts = []
    for length in (3, 9, 4, 60):
        with mx.autograd.record():
            logs = []
            for step in range(length):
                state = mx.nd.array(ROWS[step : step + 1, :4])
                odds = mx.nd.log_softmax(mx.nd.dot(state, weight.T))
                logs.append(odds[0, step % 2])
            loss = mx.nd.stack(*logs).sum()
        loss.backward()
        counts.append(len(traced))
        w = weight.asnumpy().astype("float64")
        rows = ROWS[:length, :4].astype("float64")
        odds = np.exp(rows @ w.T)
        odds /= odds.sum(1, keepdims=True)
        slope = np.eye(2)[np.arange(length) % 2] - odds
        np.testing.assert_allclose(weight.grad.asnumpy(), slope.T @ rows, rtol=1e-4, atol=1e-5)
    assert "program" not in traced
    assert np.diff(counts).tolist() == [2, 2, 2]  # `stack` of so many arrays, and its sum


class Clipped(mx.autograd.Function):
    """The identity, whose gradient is clipped."""

    def __init__(self, bound):
        super().__init__()
        self.bound = bound

    def forward(self, x):
        self.save_for_backward(x)
        return x * 1

    def backward(self, dy):
        (x,) = self.saved_tensors
        assert x.shape == dy.shape
        return mx.nd.clip(dy, -self.bound, self.bound)


def test_a_loop_with_a_function(traced):
    (x,) = variables((4,))
    for _ in range(5):
        before = x.asnumpy()
        with mx.autograd.record():
            y = Clipped(0.5)(x * 3)
            loss = (y * y).sum()
        loss.backward()
        expected = 3 * np.clip(2 * 3 * before, -0.5, 0.5)
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)
        x -= 0.1 * x.grad
    assert traced == ["node"] * 3  # of a product, a sum, and a product with a number


def test_a_function_gets_the_sum_of_its_cotangents_once():
    """One path from the head to it leads through a later function."""
    (x,) = variables((4,))
    with mx.autograd.record():
        first = Clipped(0.5)(x)
        head = Clipped(9)(first * 0.4) + first * 0.4
    head.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [0.5] * 4)  # not 0.4 + 0.4


def test_dropout_draws_once_for_both_directions():
    x = mx.nd.ones((1000,))
    x.attach_grad()
    masks = []
    for _ in range(2):
        with mx.autograd.record():
            y = mx.nd.Dropout(x, p=0.5)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), x.grad.asnumpy())
        masks.append(y.asnumpy())
    assert 0.3 < (masks[0] == 0).mean() < 0.7
    assert (masks[0] != masks[1]).any()


def test_an_index_that_changes_compiles_nothing(traced):
    x = mx.nd.array(ROWS)
    x.attach_grad(grad_req="add")
    for row in range(6):
        with mx.autograd.record():
            y = (x[row] * x[row + 1 : row + 3]).sum()
        y.backward()
    expected = np.zeros_like(ROWS)
    for row in range(6):
        expected[row] += ROWS[row + 1 : row + 3].sum(0)
        expected[row + 1 : row + 3] += ROWS[row]
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)
    assert traced == ["node"] * 4


def test_a_variable_written_between_two_uses():
    """Each use counts with the value that it read; MXNet would read the last value for both."""
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
        with mx.autograd.pause():
            x[:] = 10
        z = y + x * x
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [22, 24])


def test_concatenate_has_a_gradient():
    """MXNet refuses it while recording."""
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.concatenate([x, x * 3]) * mx.nd.array([1, 2, 3, 4])
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [1 + 9, 2 + 12])


def test_a_tape_dies_with_its_arrays():
    x = mx.nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        z = y * 3
    node = weakref.ref(z._entry[0].uses[0].source)
    del y, z
    gc.collect()
    assert node() is None


def test_a_constant_is_let_go_by_backward():
    x, big = mx.nd.ones(2), mx.nd.ones(2)
    x.attach_grad()
    with mx.autograd.record():
        y = x * big
    buffer = weakref.ref(big._cell.rows)
    del big
    y.backward(retain_graph=True)
    gc.collect()
    assert buffer() is not None
    y.backward()
    gc.collect()
    assert buffer() is None


def test_a_long_tape_needs_no_deep_stack():
    x = mx.nd.ones(1)
    x.attach_grad()
    with mx.autograd.record():
        y = x
        for _ in range(400):
            y = y * 1.01
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [1.01**400], rtol=1e-3)


def test_modes_are_of_a_thread():
    seen = []

    def look():
        seen.append((mx.autograd.is_recording(), mx.autograd.is_training()))
        with mx.autograd.record():
            seen.append((mx.autograd.is_recording(), mx.autograd.is_training()))

    with mx.autograd.pause():
        thread = threading.Thread(target=lambda: mx.autograd.record().__enter__())
        thread.start()
        thread.join()
        assert not mx.autograd.is_recording()
    with mx.autograd.record():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert mx.autograd.is_recording()
    assert seen == [(False, False), (True, True)]


def test_threads_differentiate_side_by_side():
    found = {}

    def work(number):
        x = mx.nd.array([float(number)])
        x.attach_grad()
        for _ in range(5):
            with mx.autograd.record():
                y = x * x * x
            y.backward()
        found[number] = x.grad.asscalar()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: 3.0 * n * n for n in range(4)}


def test_orders_up_to_the_fourth():
    x = mx.nd.array([0.3, 0.7])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.exp(x * 2)
        for _ in range(3):
            (y,) = mx.autograd.grad(y, [x], create_graph=True)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 16 * np.exp([0.6, 1.4]), rtol=1e-4)


def test_devices():
    """Heads and copies on two devices, of a host that has them."""
    if len(jax.devices("cpu")) < 2:
        pytest.skip("needs two devices")
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        here, there = x * 2, x.as_in_context(mx.cpu(1)) * 3
        there = there * there
    mx.autograd.backward([here, there])
    np.testing.assert_allclose(x.grad.asnumpy(), [2 + 18, 2 + 36])
    assert there.context == mx.cpu(1)


def test_a_symbol_of_the_tape_computes_the_same():
    x, w = mx.nd.array(ROWS[:2]), mx.nd.array(ROWS[:3])
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.FullyConnected(x, w, num_hidden=3, no_bias=True)[1].reshape((3, 1)) * 2
    symbol = mx.autograd.get_symbol(y)
    names = symbol.list_arguments()
    assert len(names) == 2
    with mx.name.Prefix("other_"):
        again = mx.autograd.get_symbol(y)
    assert again.get_internals().list_outputs() == symbol.get_internals().list_outputs()
    nodes = [n for n in again.get_internals().list_outputs() if n not in names]
    assert all(re.fullmatch(r"node_\d+(_\d)?_output", n) for n in nodes)
    assert [n.rstrip("0123456789") for n in names] == ["null", "var"]
    executor = symbol.bind(mx.cpu(), dict(zip(names, [x, w], strict=True)))
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), y.asnumpy(), rtol=1e-6)
    with mx.autograd.record():
        y = mx.nd.slice_axis(w, axis=1, begin=1, end=None)
    # MXNet reads no file without it.
    assert '"end": "None"' in mx.autograd.get_symbol(y).tojson()
    with mx.autograd.record():
        y = w[mx.nd.array([0, 2])]
    with pytest.raises(mx.errors.NotSupportedError, match="indexing by arrays"):
        mx.autograd.get_symbol(y)


@mx.operator.register("autograd_cube")
class CubeProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Cube()


class Cube(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        assert is_train
        self.assign(out_data[0], req[0], in_data[0] ** 3)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 3 * in_data[0] ** 2 * out_grad[0])


def test_a_custom_operator():
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x * 2, op_type="autograd_cube") * 5
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), [40, 320])
    np.testing.assert_allclose(x.grad.asnumpy(), [2 * 5 * 12, 2 * 5 * 48])


class Wrong(mx.autograd.Function):
    """A function that returns what it is made with."""

    def __init__(self, forward=None, backward=None):
        super().__init__()
        self._forward, self._backward = forward, backward

    def forward(self, x):
        return x * 2 if self._forward is None else self._forward

    def backward(self, dy):
        if isinstance(self._backward, Exception):
            raise self._backward
        return self._backward


@pytest.mark.parametrize(("given", "kind", "words"), [
    ({"forward": 3}, TypeError, ["Wrong.forward: output 0", "got int", "NDArray"]),
    ({"backward": 3}, TypeError, ["Wrong.backward: gradient 0", "got int", "NDArray"]),
    ({"backward": []}, ValueError, ["Wrong.backward", "got 0 gradients, expected 1"]),
    ({"backward": mx.nd.ones(2)}, ValueError, ["gradient 0", "(2,)", "expected", "(3,)"]),
    ({"backward": OSError("mine")}, OSError, ["mine"]),
])  # fmt: skip
def test_mistakes_in_a_function(given, kind, words):
    x = mx.nd.ones(3)
    x.attach_grad()
    with pytest.raises(kind) as caught, mx.autograd.record():
        Wrong(**given)(x).backward()
    assert all(word in str(caught.value) for word in words)


def test_a_function_may_not_return_an_input():
    class Second(mx.autograd.Function):
        def forward(self, x, y):
            return y

    x, y = mx.nd.ones(3), mx.nd.ones(3)
    x.attach_grad()
    with pytest.raises(mx.MXNetError, match="output 0 is an input"), mx.autograd.record():
        Second()(x, y)


def test_a_function_that_is_not_recorded_leaves_its_inputs_where_they_are():
    x = mx.nd.array([1, 2])
    assert x._cell.is_on_host
    Clipped(1)(x)
    assert x._cell.is_on_host


@pytest.mark.parametrize(("act", "kind", "words"), [
    (lambda x, y: y.backward(mx.nd.ones(2)), ValueError, ["head_grads: 0", "(2,)", "(3,)"]),
    (lambda x, y: y.backward(np.ones(3)), TypeError, ["head_grads: 0", "ndarray", "NDArray"]),
    (lambda x, y: mx.nd.ones(3, dtype="bool").attach_grad(), TypeError, ["bool", "astype"]),
    (lambda x, y: x.attach_grad("all"), ValueError, ["grad_req", "'all'", "write, add, null"]),
    (lambda x, y: mx.autograd.backward([y, 3]), TypeError, ["heads: 1", "got int", "NDArray"]),
    (lambda x, y: mx.autograd.grad(y, [y]), ValueError, ["variable 0", "attach_grad()"]),
    (lambda x, y: x.detach().backward(), mx.MXNetError, ["head 0", "record()", "retain_graph"]),
])  # fmt: skip
def test_mistakes(act, kind, words):
    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
    with pytest.raises(kind) as caught:
        act(x, y)
    assert all(word in str(caught.value) for word in words), caught.value
