"""Inputs and outputs of nodes, and gradients of the inputs, recorded while a graph is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.symbol.lower import Lowered
from modkit.symbol.node_call import NodeCall

NodeInput = tuple[int, int]
"""Index of a node, and index of one of its inputs."""


class NodeWatch:
    """Records inputs and outputs of nodes while tracing, and adds ``taps`` to the inputs.

    Attributes:
        arrays: the inputs, by `NodeInput`.
        made: the outputs by node.
    """

    def __init__(self, lowered: Lowered, taps: Mapping[str, jax.Array] | None = None):
        self._taps = taps or {}
        self._places = {id(s): i for i, s in enumerate(lowered.steps)}
        self.arrays: dict[NodeInput, jax.Array] = {}
        self.made: dict[int, Sequence[jax.Array]] = {}

    def inputs(self, call: NodeCall, arrays: list[jax.Array]) -> list[jax.Array]:
        """Record the inputs, and add the taps."""
        node = self._places[id(call)]
        for at, array in enumerate(arrays):
            self.arrays[node, at] = array
        taps = [self._taps.get(tap_name(node, i)) for i in range(len(arrays))]
        return [a if t is None else a + t for a, t in zip(arrays, taps, strict=True)]

    def outputs(self, call: NodeCall, arrays: Sequence[jax.Array]) -> None:
        """Record the outputs."""
        self.made[self._places[id(call)]] = arrays


def take_taps(lowered: Lowered, grads: dict[str, Any]) -> dict[NodeInput, Any]:
    """Remove the gradients of taps from a pullback's gradients, and return them."""
    places = [(n, at) for n, step in enumerate(lowered.steps) for at in range(len(step.inputs))]
    return {p: grads.pop(tap_name(*p)) for p in places if tap_name(*p) in grads}


def tap_name(node: int, at: int) -> str:
    """The name of a tap among those of arguments, of which none has a null character."""
    return f"\0{node}.{at}"


def taps_for(
    lowered: Lowered, wrt: Sequence[str], run: Callable[[NodeWatch], Any]
) -> dict[str, jax.Array]:
    """Zeros to be added to the inputs of nodes, whose gradients are then those of the inputs.

    A node that calls Python has taps only where gradients flow without them: they are requests to
    its ``backward``.

    Args:
        lowered: the graph.
        run: runs the graph; it is traced for the shapes only, so that no Python is called.
    """

    def shapes() -> Any:
        watch = NodeWatch(lowered)
        run(watch)
        return watch.arrays

    reached = lowered.reached(wrt)
    taps = {}
    for (node, at), aval in jax.eval_shape(shapes).items():
        step = lowered.steps[node]
        flows = reached[step.inputs[at][0]] or not step.on_host
        if reached[node] and flows and jnp.issubdtype(aval.dtype, jnp.inexact):
            taps[tap_name(node, at)] = jnp.zeros(aval.shape, aval.dtype)
    return taps
