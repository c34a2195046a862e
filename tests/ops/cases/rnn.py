"""The fused RNN operator."""

from case import Case, Input

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
_STEPS, _BATCH, _INPUTS, _HIDDEN = 5, 3, 6, 4


def _inputs(mode, layers, directions, dtype="float32"):
    """Tensors of the right sizes, the parameters' counted on from the operator's documentation."""
    count = 0
    for layer in range(layers):
        inputs = _INPUTS if layer == 0 else _HIDDEN * directions
        count += directions * _GATES[mode] * _HIDDEN * (inputs + _HIDDEN + 2)
    state = Input((layers * directions, _BATCH, _HIDDEN), dtype=dtype)
    tensors = [Input((_STEPS, _BATCH, _INPUTS), dtype=dtype), Input((count,), dtype=dtype), state]
    return [*tensors, state] if mode == "lstm" else tensors


def _row(mode, layers=1, directions=1, outputs=True, dtype="float32", **more):
    attrs = {"mode": mode, "state_size": _HIDDEN, "num_layers": layers, "state_outputs": outputs}
    if directions == 2:
        attrs["bidirectional"] = True
    return Case("RNN", _inputs(mode, layers, directions, dtype), attrs, **more)


def _projected(layers, directions, size=2):
    count = 0
    for layer in range(layers):
        inputs = _INPUTS if layer == 0 else size * directions
        count += directions * (4 * _HIDDEN * (inputs + size + 2) + size * _HIDDEN)
    rows = layers * directions
    tensors = [(_STEPS, _BATCH, _INPUTS), (count,), (rows, _BATCH, size), (rows, _BATCH, _HIDDEN)]
    attrs = {
        "mode": "lstm",
        "state_size": _HIDDEN,
        "num_layers": layers,
        "bidirectional": directions == 2,
        "state_outputs": True,
        "projection_size": size,
    }
    return Case("RNN", tensors, attrs, grad=False)


CASES = [
    *[_row(m, n, d) for m in _GATES for n in (1, 2) for d in (1, 2)],
    *[_row(m, outputs=False) for m in _GATES],
    _row("lstm", 3, 2, outputs=False),
    *[_projected(n, d) for n in (1, 2) for d in (1, 2)],
    Case(
        "RNN",
        _inputs("gru", 2, 1),
        {"mode": "gru", "state_size": _HIDDEN, "num_layers": 2, "p": 0.4},
        train=True,
        random=True,
    ),
]
