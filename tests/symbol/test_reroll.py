"""Unrolled networks run as loops: the same numbers, from a program that is a fraction in size."""

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.symbol import evaluate
from modkit.symbol.lower import lower
from modkit.symbol.reroll import LEAST, Loop
from modkit.tuning.config import Tuning

T, B, H = 10, 3, 4
DATA = {"data": (B, T, 5)}


def unrolled(cell, steps=T, **options):
    outputs, _ = cell.unroll(steps, mx.sym.Variable("data"), merge_outputs=True, **options)
    return outputs


def stack(*cells):
    whole = mx.rnn.SequentialRNNCell()
    for cell in cells:
        whole.add(cell)
    return unrolled(whole)


def bidirectional():
    return unrolled(mx.rnn.BidirectionalCell(mx.rnn.GRUCell(H, "f_"), mx.rnn.LSTMCell(H, "b_")))


def old_style():
    """As programs of 2016: variables for each step's data and the first states, losses in steps."""
    weights = {n: mx.sym.Variable(n) for n in ("xw", "xb", "hw", "hb", "ow", "ob")}
    state, losses = mx.sym.Variable("h0"), []
    for t in range(T):
        x = mx.sym.FullyConnected(
            mx.sym.Variable(f"x{t}"), weights["xw"], weights["xb"], num_hidden=H, name=f"x_{t}"
        )
        h = mx.sym.FullyConnected(state, weights["hw"], weights["hb"], num_hidden=H, name=f"h_{t}")
        state = mx.sym.tanh(x + h)
        score = mx.sym.FullyConnected(
            state, weights["ow"], weights["ob"], num_hidden=2, name=f"o_{t}"
        )
        losses.append(mx.sym.SoftmaxOutput(score, mx.sym.Variable(f"y{t}"), name=f"loss{t}"))
    return mx.sym.Group([*losses, state])


def broadcast_state():
    """The first state has another shape than the later ones."""
    state = [mx.sym.Variable("h0")]
    x = mx.sym.SliceChannel(mx.sym.Variable("data"), num_outputs=T, axis=1, squeeze_axis=True)
    weight = mx.sym.Variable("u")
    outputs = []
    for t in range(T):
        state = [mx.sym.broadcast_add(state[0], mx.sym.dot(x[t], weight))]
        outputs.append(state[0])
    return mx.sym.stack(*outputs, axis=1)


def growing_state():
    """Every step makes another shape: the steps run one by one."""
    x = mx.sym.SliceChannel(mx.sym.Variable("data"), num_outputs=T, axis=1, squeeze_axis=True)
    state, weight = mx.sym.Variable("h0"), mx.sym.Variable("u")
    for t in range(T):
        state = mx.sym.concat(state, mx.sym.dot(x[t], weight), dim=0)
    return state


def last_only():
    """Only the last step is read, and the data backwards."""
    x = mx.sym.SliceChannel(mx.sym.Variable("data"), num_outputs=T, axis=1, squeeze_axis=True)
    cell, states = mx.rnn.GRUCell(H, prefix="g_"), None
    states = cell.begin_state()
    output = None
    for t in reversed(range(T)):
        output, states = cell(x[t], states)
    return output


def feedback():
    """A loss in every step, that the next step reads."""
    weight = mx.sym.Variable("w")
    state = mx.sym.Variable("h0")
    for t in range(T):
        state = mx.sym.softmax(mx.sym.FullyConnected(state, weight, no_bias=True, num_hidden=H))
        state = mx.sym.MakeLoss(state, name=f"loss{t}")
    return state


def skip_two():
    """A step reads the state of two steps before."""
    weight, states = mx.sym.Variable("w"), [mx.sym.Variable("h0"), mx.sym.Variable("h1")]
    for _ in range(T + 2):
        inner = mx.sym.FullyConnected(states[-1], weight, no_bias=True, num_hidden=H)
        states.append(mx.sym.tanh(inner + states[-2]))
    return mx.sym.Group(states[-3:])


def two_weights_twice():
    """A weight that is read twice in a step, and a state that several later nodes read."""
    weight, state, seen = mx.sym.Variable("w"), mx.sym.Variable("h0"), []
    for _ in range(T):
        inner = mx.sym.FullyConnected(state, weight, no_bias=True, num_hidden=H)
        state = mx.sym.tanh(mx.sym.FullyConnected(inner, weight, no_bias=True, num_hidden=H))
        seen.append(state * 2)
    return mx.sym.Group([mx.sym.add_n(*seen), mx.sym.concat(*seen[::-1], dim=0)])


def equal_layers():
    """Layers of one size with weights of their own: a loop would copy all weights in each step."""
    net = mx.sym.Variable("data")
    for at in range(T):
        net = mx.sym.tanh(mx.sym.FullyConnected(net, num_hidden=H, name=f"fc{at}"))
    return net


def residual():
    return stack(
        mx.rnn.LSTMCell(H, "a_"),
        mx.rnn.ResidualCell(mx.rnn.GRUCell(H, "b_")),
        mx.rnn.ZoneoutCell(mx.rnn.RNNCell(H, prefix="c_"), 0.3, 0.2),
        mx.rnn.DropoutCell(0.3, "d_"),
    )


OLD = {"h0": (B, H), **{f"x{t}": (B, 5) for t in range(T)}, **{f"y{t}": (B,) for t in range(T)}}
NETWORKS = {
    # Products of the data, the first layer, products of its outputs, the second layer, the rest.
    "lstm": (lambda: stack(mx.rnn.LSTMCell(H, "a_"), mx.rnn.LSTMCell(H, "b_")), DATA, [T] * 5),
    "bidirectional": (bidirectional, DATA, [T] * 6),
    "residual": (residual, DATA, [T - 1] * 9),
    "old": (old_style, OLD, [T] * 3),
    "broadcast": (broadcast_state, {**DATA, "h0": (1, H), "u": (5, H)}, [T] * 2),
    "growing": (growing_state, {**DATA, "h0": (1, H), "u": (5, H)}, [T] * 2),
    "last": (last_only, DATA, [T] * 2),
    "conv": (
        lambda: unrolled(mx.rnn.ConvLSTMCell((B, 2, 6, 6), 2, prefix="c_")),
        {"data": (B, T, 2, 6, 6)},
        [T] * 3,
    ),
    "feedback": (feedback, {"h0": (B, H), "w": (H, H)}, [T]),
    "skip": (skip_two, {"h0": (B, H), "h1": (B, H), "w": (H, H)}, []),
    "twice": (two_weights_twice, {"h0": (B, H), "w": (H, H)}, [T] * 2),
    "layers": (equal_layers, {"data": (B, H)}, []),
    "short": (lambda: unrolled(mx.rnn.LSTMCell(H), LEAST - 1), {"data": (B, LEAST - 1, 5)}, []),
}


def loops(symbol):
    whole = lower(symbol)
    items = [item for part in whole._parts for item in whole._order(part)]
    nodes = [i for x in items for i in ([x] if isinstance(x, int) else sum(x.segments, ()))]
    assert sorted(nodes) == [i for i, s in enumerate(whole.steps) if s.op]
    return [len(x.segments) for x in items if isinstance(x, Loop)]


def computed(symbol, shapes, monkeypatch, pieces, dtype=None):
    """Outputs and gradients, and the number of operations in the program."""
    monkeypatch.setattr(evaluate, "current", lambda: Tuning(frozenset(pieces)))
    whole = lower(symbol, dtype)
    stream = np.random.RandomState(3)
    all_shapes = zip(symbol.list_arguments(), symbol.infer_shape(**shapes)[0], strict=True)
    values = {n: stream.uniform(-1, 1, s).astype("float32") for n, s in all_shapes}

    def run(values):
        outputs, pull = jax.vjp(lambda v: whole.run(v, jax.random.key(5), True)[0], values)
        heads = [np.linspace(0, 1, y.size, dtype="float32").reshape(y.shape) for y in outputs]
        return outputs, pull([jax.numpy.asarray(h, y.dtype) for h, y in zip(heads, outputs)])[0]  # noqa: B905

    lowered = jax.jit(run).lower(values)
    size = lowered.as_text().count("stablehlo.")
    return jax.device_get(lowered.compile()(values)), size


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_numbers(name, monkeypatch):
    make, shapes, lengths = NETWORKS[name]
    with mx.name.NameManager():
        symbol = make()
    assert loops(symbol) == lengths
    (plain, wide), (looped, narrow) = (
        computed(symbol, shapes, monkeypatch, pieces) for pieces in ((), ("loops",))
    )
    assert narrow != wide if lengths else narrow == wide
    for got, want in zip(jax.tree.leaves(looped), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * np.abs(want).max(initial=1))


def test_16_bits(monkeypatch):
    """Initial states are float32, later ones of 16 bits: the first step runs apart."""
    make, shapes, _ = NETWORKS["lstm"]
    plain, looped = (
        computed(make(), shapes, monkeypatch, pieces, "bfloat16")[0] for pieces in ((), ("loops",))
    )
    for got, want in zip(jax.tree.leaves(looped), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(got, want, rtol=0.05, atol=0.05)


def test_a_longer_network_is_no_larger(monkeypatch):
    def size(steps):
        symbol = unrolled(mx.rnn.LSTMCell(H, "a_"), steps)
        return computed(symbol, {"data": (B, steps, 5)}, monkeypatch, ("loops",))[1]

    assert size(40) < size(20) * 1.5


def test_a_monitor_sees_every_step():
    symbol = unrolled(mx.rnn.RNNCell(H, prefix="r_"))
    executor = symbol.simple_bind(mx.cpu(), **DATA)
    seen = []
    executor.set_monitor_callback(lambda name, _: seen.append(name.decode()))
    executor.forward()
    assert {f"r_t{t}_out_output" for t in range(T)} <= {*seen}


def test_states_are_written_in_the_order_of_the_graph(monkeypatch):
    """A BatchNorm of the last step, then one of the data, with the same moving average."""
    weight, state, data = mx.sym.Variable("w"), mx.sym.Variable("h0"), mx.sym.Variable("data")
    for _ in range(T):
        state = mx.sym.tanh(mx.sym.FullyConnected(state, weight, no_bias=True, num_hidden=H) + data)
    shared = {n: mx.sym.Variable(n) for n in ("gamma", "beta", "moving_mean", "moving_var")}
    both = [mx.sym.BatchNorm(x, momentum=0.5, **shared) for x in (state, data)]
    symbol = mx.sym.Group(both)
    assert loops(symbol)
    found = []
    for pieces in ((), ("loops",)):
        monkeypatch.setattr(evaluate, "current", lambda pieces=pieces: Tuning(frozenset(pieces)))
        shapes = {"h0": (B, H), "w": (H, H), "data": (B, H)}
        names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
        arguments, _, states = symbol.infer_shape(**shapes)
        sizes = [*arguments, *states]
        stream = np.random.RandomState(1)
        values = {n: stream.rand(*z).astype("float32") for n, z in zip(names, sizes, strict=True)}
        found.append(lower(symbol).run(values, None, True)[1]["moving_mean"])
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_long_segments():
    """A step of 300 nodes, each of which reads the one before."""
    weight, state = mx.sym.Variable("w"), mx.sym.Variable("h0")
    for _ in range(LEAST):
        state = mx.sym.broadcast_add(state, weight)
        for _ in range(300):
            state = mx.sym.tanh(state)
    assert loops(state) == [LEAST]
