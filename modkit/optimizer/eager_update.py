"""The eager update of several parameters: one program, run by NumPy where it is small."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from modkit import stream
from modkit.compile.program import Program
from modkit.errors import wrong
from modkit.interpreter.costs import MOST_UPDATED
from modkit.ndarray import NDArray
from modkit.ndarray.host_programs import run_on_host
from modkit.ndarray.in_place import exchange, other_threads
from modkit.ndarray.invoke import Types, types_of
from modkit.ndarray.storage import needs_x64, placed_on, x64_scope
from modkit.ndarray.tape import modes

_MOST_IN_PROGRAM = 128
"""Parameters of one program: XLA's time for all in one grows faster than their number."""


@functools.lru_cache(maxsize=1024)
def _program(tree: Any, types: Types, sharding: Any) -> Callable[..., Any]:
    """The update of weights of these types: a `Program` is quickest with one signature.

    Args:
        sharding: that of all arrays, where gradients may lie on the host; else ``None``.
    """

    def updated(weights: Any, grads: Any, states: Any, hyper: Any, key_data: Any) -> Any:
        keys = [None] * len(weights)
        if key_data is not None:
            keys = jax.random.split(stream.as_key(key_data), len(weights))
        grads = tree.clipped(grads, hyper)
        made = [
            tree.update_one(w, g, s, hyper[i], keys[i])
            for i, (w, g, s) in enumerate(zip(weights, grads, states, strict=True))
        ]
        return [w for w, _ in made], [s for _, s in made]

    return Program(updated, (updated,), f"update by {type(tree.rule).__name__}", sharding)


class _Call:
    """An update of parameters of one device, with the numbers of this call."""

    def __init__(self, tree: Any, types: Types, hyper: Any):
        self._made, self._hyper = functools.partial(_program, tree, types), hyper
        self._key_data = stream.draw() if tree.rule.takes_key else None
        self._wide = needs_x64(*(dtype for _, dtype in types))

    def compiled(self, *arrays: Any, sharding: Any = None) -> Any:
        """The new values and states of these values, gradients and states, by XLA."""
        with x64_scope(self._wide):
            return self._made(sharding)(*arrays, self._hyper, self._key_data)

    def on_host(self, *arrays: Any) -> Any:
        """The same by NumPy, if it runs all calls of this signature; else ``None``."""
        args = *arrays, self._hyper, self._key_data
        return run_on_host(self._made(None), args, self._wide, always=True)


def _unmoved(grad: NDArray, device: Any) -> Any:
    """A gradient from where it lies, if that is the host or the device."""
    value = grad._cell.unmoved()
    return value if isinstance(value, np.ndarray) else placed_on(value, device)


def update_rows(tree: Any, weight: np.ndarray, grad: np.ndarray, state: Any, hyper: Any) -> Any:
    """The new rows of a parameter, and those of its state, as `update_arrays` computes them."""
    call, arrays = _Call(tree.by_rows(), types_of([weight]), hyper), ([weight], [grad], [state])
    (weight,), (state,) = call.on_host(*arrays) or call.compiled(*arrays)
    return weight, state


def _check_states(leaves: Sequence[Any]) -> None:
    for each in leaves:
        if not isinstance(each, NDArray):
            raise wrong("update: state", each, "that of create_state()")


def update_arrays(
    tree: Any,
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    states: Sequence[Any],
    hyper: Any,
) -> None:
    """Update parameters of one device and their states in place.

    No update by another thread is lost: see `modkit.ndarray.in_place`.
    """
    if len(weights) > _MOST_IN_PROGRAM and not tree.takes_key and tree.clip_norm is None:
        for at in range(0, len(weights), _MOST_IN_PROGRAM):
            part = slice(at, at + _MOST_IN_PROGRAM)
            update_arrays(tree, weights[part], grads[part], states[part], hyper[part])
        return
    leaves, layout = jax.tree.flatten(list(states))
    _check_states(leaves)
    arrays, count = [*weights, *leaves], len(weights)
    call = _Call(tree, types_of([w._cell.aval for w in weights]), hyper)

    def computed(_: Any = None) -> Any:
        """The new weights and states, the old values that a rule may return, and all old ones."""
        if count <= MOST_UPDATED and all(a._cell.is_on_host for a in arrays):
            values = [a._cell.host() for a in arrays]
            given = [g._cell.host() for g in grads]
            made = call.on_host(values[:count], given, layout.unflatten(values[count:]))
            if made is not None:
                return *made, (), values
        values, device = [a._cell.peek() for a in arrays], weights[0].ctx.jax_device
        sharding = SingleDeviceSharding(device)
        if all(x.sharding == sharding for x in values):
            given = [_unmoved(g, device) for g in grads]
        else:
            given, sharding = [placed_on(g._cell.peek(), device) for g in grads], None
        made = call.compiled(
            values[:count], given, layout.unflatten(values[count:]), sharding=sharding
        )
        return *made, values, values

    def write(results: Any) -> None:
        new, new_states, kept, _ = results
        unchanged = set(map(id, kept))
        for target, value in zip(arrays, [*new, *jax.tree.leaves(new_states)], strict=True):
            if modes.recording or id(value) in unchanged:
                target._set(value)
            else:
                target._take(value)

    if not other_threads():
        write(computed())
        return
    roots = {at: a._cell.root for at, a in enumerate(arrays)}
    own = {at: cell for at, cell in roots.items() if cell.lock is not None}
    exchange(own, own.values(), computed, write)
