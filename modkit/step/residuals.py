"""Residuals that pass between two programs: arrays, and a key by which their pullback is found.

The structure of a pullback contains functions of JAX: it can neither be pickled nor compared with
that of another process. A program that returns one would be traced again in every process.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from modkit.errors import NotSupportedError
from modkit.interpreter.tracing import for_numpy, is_for_numpy, jaxpr_for_numpy

_MOST = 16
"""Structures that are kept for one function; others are found by another trace."""

_BY_NUMPY = "by NumPy"
"""The digest of a pullback that no program of another process has: text is half a trace's time."""

_ADDRESSES = re.compile(r" at 0x[0-9a-f]+")


class Key(NamedTuple):
    """Arguments of the function that made a pullback, and a digest of the pullback.

    Attributes:
        layout: tree structure of the arguments.
        avals: shape, element type and weak type of each array among them, of one replica.
        digest: of the text of the pullback's structure, which has the jaxpr of the derivative and
            the order of its residuals; a constant if NumPy ran the function.
    """

    layout: Any
    avals: tuple[tuple[tuple[int, ...], str, bool], ...]
    digest: str


@functools.partial(jax.tree_util.register_dataclass, data_fields=["arrays"], meta_fields=["key"])
@dataclass(frozen=True)
class Residuals:
    """The arrays of a pullback in its structure's order; ``key`` is the same in every process."""

    arrays: Sequence[Any]
    key: Key


class Pullbacks:
    """Structures of the pullbacks that one function has returned, by `Key`.

    Args:
        function: traced; from its arguments to a pullback. It is traced again for a structure
            that is not kept: its program came from the disk cache.
    """

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._structures: dict[Key, Any] = {}
        self._turn = threading.Lock()

    def residuals(self, pullback: Any, args: Sequence[Any]) -> Residuals:
        """Traced: a pullback as its arrays. ``args`` are those of the function."""
        arrays, structure = jax.tree.flatten(pullback)
        leaves, layout = jax.tree.flatten(tuple(args))
        types = map(jax.typeof, leaves)
        avals = tuple((a.shape, str(a.dtype), bool(a.weak_type)) for a in types)
        key = Key(layout, avals, _digest(structure, arrays))
        with self._turn:
            self._structures[key] = structure
            if len(self._structures) > _MOST:
                del self._structures[next(iter(self._structures))]
        return Residuals(arrays, key)

    def pullback(self, residuals: Residuals) -> Any:
        """Traced: the pullback of residuals; NotSupportedError where the derivative has changed."""
        key = residuals.key
        structure = self._structures.get(key)
        if structure is None:
            structure = self._traced_again(key)
        return jax.tree.unflatten(structure, residuals.arrays)

    def _traced_again(self, key: Key) -> Any:
        avals = [jax.ShapeDtypeStruct(s, d, weak_type=w) for s, d, w in key.avals]
        args = jax.tree.unflatten(key.layout, avals)

        def run(*args: Any) -> Any:
            return self.residuals(self._function(*args), args)

        if key.digest == _BY_NUMPY:
            jaxpr_for_numpy(run, *args)
        else:
            with for_numpy(False):
                jax.eval_shape(run, *args)
        structure = self._structures.get(key)
        if structure is None:
            raise NotSupportedError(
                "backward(): the graph now has another derivative than when forward() ran. A "
                "setting of JAX or modkit has changed between the two: run forward() again"
            )
        return structure


def _digest(structure: Any, arrays: Sequence[Any]) -> str:
    if is_for_numpy():
        return _BY_NUMPY
    kinds = (jax.typeof(array).str_short() for array in arrays)
    text = "\n".join([_ADDRESSES.sub("", str(structure)), *kinds])
    return hashlib.sha256(text.encode()).hexdigest()
