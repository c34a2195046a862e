"""RNN: what the reference's CPU build does not do, against NumPy in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modkit.errors import NotSupportedError, ParameterError, ShapeError
from modkit.ops.registry import get_op

RNN = get_op("RNN")
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 2


def _arrays(mode, layers=1, directions=1):
    attrs = RNN.parse(
        {
            "mode": mode,
            "state_size": HIDDEN,
            "num_layers": layers,
            "bidirectional": directions == 2,
        }
    )
    shapes = RNN.params((STEPS, BATCH, INPUTS), **attrs)
    stream = np.random.RandomState(6)
    names = ["parameters", "state", *(["state_cell"] if mode == "lstm" else [])]
    sizes = [(STEPS, BATCH, INPUTS), *(shapes[n] for n in names)]
    return [stream.uniform(-1, 1, s).astype(np.float32) for s in sizes]


def _run(arrays, train=False, **attrs):
    attrs = {"state_size": HIDDEN, "num_layers": 1, "state_outputs": True, **attrs}
    parsed = RNN.parse(attrs)

    def run(*arrays):
        return RNN.call(arrays, parsed, key=jax.random.key(1), train=train)[0]

    return jax.jit(run)(*arrays)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _lstm(data, parameters, hidden, cell, low=-np.inf, high=np.inf):
    """One layer, one direction, one sequence (T, inputs), in float64."""
    rows = 4 * HIDDEN
    cuts = np.cumsum([rows * INPUTS, rows * HIDDEN, rows])
    weight, recurrent, bias, more = np.split(parameters.astype(np.float64), cuts)
    outputs = []
    for x in data.astype(np.float64):
        total = weight.reshape(rows, INPUTS) @ x + bias + more
        total = total + recurrent.reshape(rows, HIDDEN) @ hidden
        i, f, g, o = np.split(total, 4)
        cell = np.clip(_sigmoid(f) * cell + _sigmoid(i) * np.tanh(g), low, high)
        hidden = _sigmoid(o) * np.tanh(cell)
        outputs.append(hidden)
    return np.array(outputs), hidden, cell


@pytest.mark.parametrize("clip", [{}, {"lstm_state_clip_min": -0.1, "lstm_state_clip_max": 0.2}])
def test_lstm_with_lengths_and_clipping(clip):
    data, parameters, state, cell = _arrays("lstm")
    lengths = np.array([2, 5, 1])
    output, last, last_cell = _run(
        [data, parameters, state, cell, lengths], mode="lstm", use_sequence_length=True, **clip
    )
    for n, length in enumerate(lengths):
        want, hidden, end = _lstm(
            data[:length, n], parameters, state[0, n], cell[0, n], *clip.values()
        )
        np.testing.assert_allclose(output[:length, n], want, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(output[length:, n], 0)
        np.testing.assert_allclose(last[0, n], hidden, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last_cell[0, n], end, rtol=1e-5, atol=1e-6)


def test_backward_direction_starts_at_the_length():
    data, parameters, state = _arrays("gru", layers=2, directions=2)
    attrs = {"mode": "gru", "bidirectional": True, "num_layers": 2}
    lengths = np.array([2, 5, 3])
    output, last = _run([data, parameters, state, lengths], use_sequence_length=True, **attrs)
    for n, length in enumerate(lengths):
        each = slice(n, n + 1)
        want, end = _run([data[:length, each], parameters, state[:, each]], **attrs)
        np.testing.assert_allclose(output[:length, each], want, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last[:, each], end, rtol=1e-5, atol=1e-6)


def test_clipping_can_stop_nan():
    data, parameters, state, cell = _arrays("lstm")
    cell[0, 0] = np.nan
    clip = {"lstm_state_clip_min": -0.1, "lstm_state_clip_max": 0.2}
    arrays = [data, parameters, state, cell]
    assert np.isnan(_run(arrays, mode="lstm", **clip)[0]).any()
    assert np.isfinite(_run(arrays, mode="lstm", lstm_state_clip_nan=True, **clip)[0]).all()


def test_dropout_between_layers_in_training_only():
    arrays = _arrays("rnn_tanh", layers=2)
    attrs = {"mode": "rnn_tanh", "num_layers": 2, "p": 0.5}
    plain, plain_last = _run(arrays, mode="rnn_tanh", num_layers=2, train=True)
    np.testing.assert_array_equal(_run(arrays, **attrs)[0], plain)
    output, last = _run(arrays, train=True, **attrs)
    assert np.abs(output - plain).max() > 0.01
    np.testing.assert_array_equal(last[0], plain_last[0])
    one = {"mode": "rnn_tanh", "p": 0.5}
    single = _arrays("rnn_tanh")
    np.testing.assert_array_equal(_run(single, train=True, **one)[0], _run(single, **one)[0])


def test_projection_trains():
    size = 4 * HIDDEN * (INPUTS + 1 + 2) + HIDDEN
    stream = np.random.RandomState(8)
    shapes = [(STEPS, BATCH, INPUTS), (size,), (1, BATCH, 1), (1, BATCH, HIDDEN)]
    arrays = [jnp.asarray(stream.uniform(-1, 1, s), jnp.float32) for s in shapes]
    grads = jax.jit(jax.grad(lambda a: _run(a, mode="lstm", projection_size=1)[0].sum()))(arrays)
    assert all(np.abs(g).max() > 0 for g in grads)


@pytest.mark.parametrize(
    ("attrs", "error"),
    [
        ({"mode": "gru", "projection_size": 2}, NotSupportedError),
        ({"mode": "gru", "p": 1.5}, ParameterError),
        ({"mode": "gru", "num_layers": 2}, ShapeError),
        ({"mode": "rnn_relu"}, ShapeError),
    ],
)
def test_refusals(attrs, error):
    with pytest.raises(error, match="RNN"):
        _run(_arrays("gru"), **attrs)


def test_clip_values_go_together():
    with pytest.raises(ParameterError, match="both or neither"):
        _run(_arrays("lstm"), mode="lstm", lstm_state_clip_min=0.1)


def test_wrong_state():
    data, parameters, state = _arrays("gru")
    with pytest.raises(ShapeError, match="state: got shape"):
        _run([data, parameters, state[:, :1]], mode="gru")
