"""Programs over trees of arrays, run by NumPy while their signatures are new.

What decides is the signature and a count of calls, as for eager calls: see `modkit.ndarray.invoke`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from modkit.compile.program import BY_JIT
from modkit.fork import process
from modkit.interpreter.costs import MOST_NODES
from modkit.interpreter.tracing import jaxpr_for_numpy
from modkit.ndarray.invoke import Call, host_form, types_of

_by_jit = operator.attrgetter(*BY_JIT)


def may_run(lowered: Any, placement: Any, cells: Iterable[Any]) -> bool:
    """Whether NumPy may run programs of a graph over these cells."""
    return (
        placement.contexts[0]._is_cpu
        and not placement.model_parallel
        and not lowered.on_host
        and len(lowered.steps) <= MOST_NODES
        and all(cell.may_lie_on_host for cell in cells)
    )


def placed_tree(tree: Any, device: Any) -> Any:
    """A tree whose NumPy arrays lie on the device."""
    return jax.tree.map(
        lambda leaf: jax.device_put(leaf, device) if isinstance(leaf, np.ndarray) else leaf, tree
    )


class _Flat:
    """A program as a function of flat leaves, for arguments of one tree structure."""

    elementwise = False

    def __init__(self, program: Callable[..., Any], layout: Any):
        self._program, self._layout = program, layout

    def traced(self, avals: Sequence[Any], key_data: Any, numbers: Sequence[Any]) -> Any:
        """The jaxpr for these shapes and types, and the structure of the results."""

        def run(leaves: Sequence[Any]) -> Any:
            return self._program(*jax.tree.unflatten(self._layout, leaves))

        return jaxpr_for_numpy(run, list(avals))


@functools.lru_cache(maxsize=2048)
def _flat(program: Callable[..., Any], layout: Any, needs_x64: bool) -> Call:
    return Call(_Flat(program, layout), None, [], needs_x64)


def run_on_host(
    program: Callable[..., Any], args: Sequence[Any], needs_x64: bool, *, always: bool = False
) -> Any:
    """The results of a compiled program as NumPy arrays; ``None`` if XLA is to run it.

    Args:
        program: the compiled function, which is traced here for NumPy.
        args: trees of arrays of NumPy or JAX.
        needs_x64: whether it is traced in an enable_x64 scope.
        always: run all calls of a signature so, or none: their numbers are then the same bits
            whenever they come, as where a training goes on in another process.
    """
    if process.forked or any(_by_jit(jax.config)):
        return None
    leaves, layout = jax.tree.flatten(args)
    call = _flat(program, layout, needs_x64)
    form = host_form(call, types_of(leaves))
    if form is None or (always and form.most < math.inf):
        return None
    return form.run([np.asarray(leaf) for leaf in leaves], call)
