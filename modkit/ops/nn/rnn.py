"""RNN: several layers of a recurrent network as one operator, by ``lax.scan``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import NotSupportedError, ParameterError
from modkit.ops import loops
from modkit.ops.floating import require_floating
from modkit.ops.nn.dropout import dropped
from modkit.ops.nn.rnn_parameters import Direction, unpack, vector_size, weight_shapes
from modkit.ops.parameters import Fraction, Inert, Shape
from modkit.ops.partial_shapes import check_shape
from modkit.ops.registry import op

_Mode = Literal["gru", "lstm", "rnn_relu", "rnn_tanh"]
_State = tuple[jax.Array, ...]


def _affine(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """``x Wᵀ + b`` in the type of ``x``; where that of the weights is wider, so is the sum of
    their gradients over the steps.
    """
    return (x @ weight.T.astype(x.dtype) + bias).astype(x.dtype)


def _plain_step(
    act: Callable[[Any], Any], weights: Direction, gates: jax.Array, state: _State
) -> _State:
    return (act(gates + _affine(state[0], weights.h2h_weight, weights.h2h_bias)),)


def _gru_step(weights: Direction, gates: jax.Array, state: _State) -> _State:
    (hidden,) = state
    recurrent = _affine(hidden, weights.h2h_weight, weights.h2h_bias)
    reset_x, update_x, new_x = jnp.split(gates, 3, -1)
    reset_h, update_h, new_h = jnp.split(recurrent, 3, -1)
    update = jax.nn.sigmoid(update_x + update_h)
    new = jnp.tanh(new_x + jax.nn.sigmoid(reset_x + reset_h) * new_h)
    return ((1 - update) * new + update * hidden,)


def _lstm_step(
    clip: Callable[[Any], Any], weights: Direction, gates: jax.Array, state: _State
) -> _State:
    hidden, cell = state
    total = gates + _affine(hidden, weights.h2h_weight, weights.h2h_bias)
    enter, forget, new, leave = jnp.split(total, 4, -1)
    cell = clip(jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(enter) * jnp.tanh(new))
    hidden = (jax.nn.sigmoid(leave) * jnp.tanh(cell)).astype(total.dtype)
    if weights.projection is not None:
        hidden = hidden @ weights.projection.T.astype(hidden.dtype)
    return hidden, cell


def _clip_rule(low: float | None, high: float | None, clip_nan: bool) -> Callable[[Any], Any]:
    """The clipping of an LSTM's cell state after every step."""
    if low is None and high is None:
        return lambda cell: cell
    if low is None or high is None:
        raise ParameterError(
            f"RNN: got lstm_state_clip_min {low} and lstm_state_clip_max {high}, "
            "expected both or neither"
        )

    def clip(cell: jax.Array) -> jax.Array:
        if clip_nan:
            cell = jnp.where(jnp.isnan(cell), low, cell)
        return jnp.clip(cell, low, high).astype(cell.dtype)

    return clip


def _scan(
    step: Callable[..., _State],
    weights: Direction,
    data: jax.Array,
    state: _State,
    alive: jax.Array | None,
    reverse: bool,
) -> tuple[jax.Array, _State]:
    """All steps of one direction.

    Args:
        step: ``step(weights, gates, state) -> state``, the hidden state first.
        weights: of this direction.
        data: (T, N, inputs).
        state: (N, H) each.
        alive: (T, N, 1), whether a step lies within its sequence; ``None`` if all do.
        reverse: from the last step to the first.

    Returns:
        The hidden states (T, N, H), zero outside the sequences, and the last state.
    """
    # The inputs' part does not wait for the state: one large product instead of T small ones.
    gates = _affine(data, weights.i2h_weight, weights.i2h_bias)

    def body(state: _State, now: Any) -> tuple[_State, jax.Array]:
        if alive is None:
            state = step(weights, now, state)
            return state, state[0]
        gates_now, alive_now = now
        after = step(weights, gates_now, state)
        kept = tuple(jnp.where(alive_now, a, b) for a, b in zip(after, state, strict=True))
        return kept, jnp.where(alive_now, after[0], 0)

    inputs = gates if alive is None else (gates, alive)
    last, hidden = loops.scan(body, state, inputs, reverse=reverse)
    return hidden, last


def _has_cell(attrs: Any) -> bool:
    return attrs["mode"] == "lstm"


def _outputs(attrs: Any) -> tuple[str, ...]:
    if not attrs["state_outputs"]:
        return ("output",)
    return ("output", "state_output", "statecell_output")[: 3 if _has_cell(attrs) else 2]


def _params(
    data: Shape,
    *,
    mode: str,
    state_size: int,
    num_layers: int,
    bidirectional: bool,
    projection_size: int | None,
    **_: Any,
) -> dict[str, Shape]:
    batch, channels = data[1:]
    directions = 2 if bidirectional else 1
    rows = num_layers * directions
    shapes = weight_shapes(channels, mode, state_size, directions, num_layers, projection_size)
    return {
        "parameters": (vector_size(shapes),),
        "state": (rows, batch, projection_size or state_size),
        "state_cell": (rows, batch, state_size),
        "sequence_length": (batch,),
    }


@op(
    "RNN",
    precision=("data", "state"),
    costly=True,
    params=_params,
    when={"state_cell": _has_cell, "sequence_length": lambda attrs: attrs["use_sequence_length"]},
    outputs=_outputs,
)
def rnn(
    data: jax.Array,
    parameters: jax.Array,
    state: jax.Array,
    state_cell: jax.Array | None = None,
    sequence_length: jax.Array | None = None,
    *,
    state_size: int,
    num_layers: int,
    bidirectional: bool = False,
    mode: _Mode,
    p: Fraction = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: Inert[bool] = False,
    key: Any,
    train: bool,
) -> Any:
    """Run a recurrent network of ``num_layers`` layers over a batch of sequences.

    ``rnn_relu`` and ``rnn_tanh``: h' = act(W x + b + R h + d). ``lstm``: gates i, f, g, o in this
    order; c' = f c + i g, h' = o tanh(c'). ``gru``: gates r, z, n in this order;
    n = tanh(W x + b + r (R h + d)), h' = (1 - z) n + z h.

    Args:
        parameters: all weights, then all biases. Weights of a layer and direction: input to
            hidden (G * H, inputs), hidden to hidden (G * H, H), projection (P, H) if there is
            one; layers in order, in each the forward direction before the backward one. Biases
            (G * H,): input to hidden, hidden to hidden, in the same order.
        state: hidden states before the first step.
        state_cell: cell states before the first step; ``lstm`` only.
        sequence_length: steps in each sequence; with ``use_sequence_length=True`` only. Outputs
            after it are 0, and the backward direction starts at it.
        state_size: H.
        bidirectional: a second direction in each layer, from the last step to the first.
        mode: the kind of network.
        p: fraction dropped between layers in training.
        state_outputs: whether the last states are outputs, too.
        projection_size: P, the size that an LSTM's hidden state is projected to.
        lstm_state_clip_min: smallest value of an LSTM's cell state; goes with the next.
        lstm_state_clip_max: largest value of an LSTM's cell state.
        lstm_state_clip_nan: whether clipping replaces NaN, by the smallest value.
        use_sequence_length: whether ``sequence_length`` is there.

    Shapes:
        data: (T, N, inputs).
        state: (layers * directions, N, H), or P for H where there is a projection.
        state_cell: (layers * directions, N, H).
        sequence_length: (N,).
        returns: (T, N, directions * H); with ``state_outputs`` also the last states.

    Raises:
        NotSupportedError: a projection in a mode other than ``lstm``.

    Differs: MXNet 1.9.1 on a CPU ignores ``sequence_length`` and the clip values, and cannot train
    with a projection; here they do what MXNet does on a GPU.
    """
    require_floating(data, "RNN")
    if projection_size and mode != "lstm":
        raise NotSupportedError(
            f"RNN: projection_size is for mode='lstm', got mode={mode!r}; "
            "use a FullyConnected layer behind the RNN"
        )
    directions = 2 if bidirectional else 1
    shapes = weight_shapes(data.shape[2], mode, state_size, directions, num_layers, projection_size)
    weights = unpack(parameters, shapes)
    step = _step(mode, _clip_rule(lstm_state_clip_min, lstm_state_clip_max, lstm_state_clip_nan))
    states = (state,) if state_cell is None else (state, state_cell)
    _check_states(states, data.shape[1], [shape.h2h_weight[1] for shape in shapes], state_size)
    alive = None
    if sequence_length is not None:
        position = jax.lax.broadcasted_iota(jnp.int32, (*data.shape[:2], 1), 0)
        alive = position < sequence_length.astype(jnp.int32)[:, None]
    run = functools.partial(_scan, step, alive=alive)
    output, last = _layers(run, weights, data, states, directions, p if train else 0, key)
    if not state_outputs:
        return output
    return (output, *(jnp.stack(each) for each in zip(*last, strict=True)))


def _layers(
    run: Callable[..., tuple[jax.Array, _State]],
    weights: list[Direction],
    data: jax.Array,
    states: _State,
    directions: int,
    p: float,
    key: Any,
) -> tuple[jax.Array, list[_State]]:
    """All layers; the last one's hidden states, and every layer's and direction's last state."""
    last: list[_State] = []
    for layer in range(len(weights) // directions):
        if layer and p:
            data = dropped(data, p, jax.random.fold_in(key, layer))
        hidden = []
        for backward in range(directions):
            at = layer * directions + backward
            first = tuple(s[at] for s in states)
            out, end = run(weights[at], data, first, reverse=bool(backward))
            hidden.append(out)
            last.append(end)
        data = hidden[0] if directions == 1 else jnp.concatenate(hidden, -1)
    return data, last


def _step(mode: str, clip: Callable[[Any], Any]) -> Callable[..., _State]:
    return {
        "rnn_relu": functools.partial(_plain_step, jax.nn.relu),
        "rnn_tanh": functools.partial(_plain_step, jnp.tanh),
        "gru": _gru_step,
        "lstm": functools.partial(_lstm_step, clip),
    }[mode]


def _check_states(states: _State, batch: int, seen: list[int], state_size: int) -> None:
    expected = [(len(seen), batch, seen[0]), (len(seen), batch, state_size)]
    for name, given, shape in zip(("state", "state_cell"), states, expected, strict=False):
        check_shape("RNN", name, given, shape)
