"""The layout of the RNN operator's parameter vector."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax

from modkit.errors import ShapeError, expect
from modkit.ops.parameters import Shape

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
"""The number of gates of each kind of cell."""

_MOST_LAYERS = 256


class Direction(NamedTuple):
    """Parameters of one direction of a layer. H is the state's size, G the number of gates."""

    i2h_weight: Any
    """(G * H, inputs)."""
    h2h_weight: Any
    """(G * H, H), or (G * H, P) where the state is projected to P."""
    projection: Any
    """(P, H), or ``None``."""
    i2h_bias: Any
    """(G * H,)."""
    h2h_bias: Any
    """(G * H,)."""


def weight_shapes(
    channels: int, mode: str, state_size: int, directions: int, layers: int, projection: int | None
) -> list[Direction]:
    """Shapes for every layer and direction, in the vector's order.

    Raises:
        ParameterError: there are more layers than a program is compiled for.
    """
    expected = f"{_MOST_LAYERS} at most; chain several nodes"
    expect(layers <= _MOST_LAYERS, "RNN: num_layers", layers, expected)
    rows, seen = GATES[mode] * state_size, projection or state_size
    shapes = []
    for layer in range(layers):
        inputs = channels if layer == 0 else seen * directions
        projects = (projection, state_size) if projection else None
        shape = Direction((rows, inputs), (rows, seen), projects, (rows,), (rows,))
        shapes += [shape] * directions
    return shapes


def _blocks(shapes: list[Direction]) -> list[tuple[int, str, Shape]]:
    """The blocks of the vector: all weights, layer by layer, and after them all biases."""
    weights, biases = Direction._fields[:3], Direction._fields[3:]
    return [
        (at, name, getattr(shape, name))
        for names in (weights, biases)
        for at, shape in enumerate(shapes)
        for name in names
        if getattr(shape, name) is not None
    ]


def vector_size(shapes: list[Direction]) -> int:
    """The size of the parameter vector."""
    return sum(math.prod(shape) for _, _, shape in _blocks(shapes))


def unpack(parameters: jax.Array, shapes: list[Direction]) -> list[Direction]:
    """All weights, cut from the vector; ShapeError where it is not as long as ``shapes`` need."""
    expected = vector_size(shapes)
    if parameters.shape != (expected,):
        raise ShapeError(
            f"RNN: parameters: got shape {parameters.shape}, expected ({expected},) for "
            f"{len(shapes)} layers and directions with weights {shapes[0].i2h_weight} and "
            f"{shapes[0].h2h_weight} in the first"
        )
    cut: list[dict[str, Any]] = [dict.fromkeys(Direction._fields) for _ in shapes]
    offset = 0
    for at, name, shape in _blocks(shapes):
        size = math.prod(shape)
        cut[at][name] = parameters[offset : offset + size].reshape(shape)
        offset += size
    return [Direction(**each) for each in cut]
