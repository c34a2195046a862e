"""Indexing as compiled functions of arrays, which take positions as arguments."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError, ShapeError
from modkit.memory_cache import Eager
from modkit.ndarray.storage import AnyCell, View, aval_at, x64_for

Shape = tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def window(sizes: Shape, shape: Shape) -> Callable[..., Any]:
    """A slice of these sizes, reshaped to ``shape``; its start indices are arguments."""

    def run(arrays: Any, key_data: Any, starts: Any) -> Any:
        del key_data
        return (jax.lax.dynamic_slice(arrays[0], starts, sizes).reshape(shape),), {}

    return Eager(run)


@functools.lru_cache(maxsize=1024)
def written(sizes: Shape, shape: Shape) -> Callable[..., Any]:
    """An array with a slice of these sizes replaced by a value, broadcast to ``shape``.

    The start indices are arguments.
    """

    def run(array: Any, value: Any, starts: Any) -> Any:
        value = fitted(jnp.asarray(value).astype(array.dtype), shape)
        return jax.lax.dynamic_update_slice(array, value.reshape(sizes), starts)

    return Eager(run)


class Box(View):
    """A view of consecutive elements of another cell."""

    __slots__ = ("_sizes", "_starts")

    def __init__(self, parent: AnyCell, starts: Shape, sizes: Shape, shape: Shape):
        self.parent, self._starts, self._sizes = parent, starts, sizes
        self.aval = aval_at(shape, parent.aval.dtype)

    @property
    def program(self) -> Callable[..., Any]:
        """The compiled function that reads the box; its start indices are arguments."""
        return window(self._sizes, self.aval.shape)

    def window(self, rows: np.ndarray) -> np.ndarray:
        """The elements of a contiguous array on the host, without a copy."""
        ends = map(operator.add, self._starts, self._sizes)
        return rows[tuple(map(slice, self._starts, ends))].reshape(self.aval.shape)

    def _read(self, whole: jax.Array) -> jax.Array:
        if self.aval.shape == whole.shape:
            return whole
        with x64_for(whole.dtype):
            return self.program([whole], None, self._starts)[0][0]

    def _write(self, whole: jax.Array, value: jax.Array) -> jax.Array:
        with x64_for(whole.dtype):
            return written(self._sizes, self.aval.shape)(whole, value, self._starts)


def cast(value: Any, dtype: Any) -> np.ndarray:
    """A number or NumPy array as an array of a type; integers wrap around.

    Raises:
        ParameterError: it is text.
    """
    value = np.asarray(value)
    if value.dtype.kind in "SU":
        raise ParameterError(f"got the value {value!r}, expected numbers, an NDArray or an array")
    if value.dtype == dtype:
        return value
    with np.errstate(invalid="ignore", over="ignore"):
        return value.astype(dtype)


def fitted(value: Any, shape: Shape) -> Any:
    """Broadcast ``value`` to ``shape``; leading dimensions of size 1 may be dropped.

    Raises:
        ShapeError: the shapes do not fit.
    """
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    if math.prod(value.shape) == math.prod(shape) <= 1:
        return value.reshape(shape)
    try:
        return (np if isinstance(value, np.ndarray) else jnp).broadcast_to(value, shape)
    except ValueError as error:
        raise misfit(value, shape) from error


def misfit(value: Any, shape: Shape) -> ShapeError:
    """The error of a value that cannot be written into an array."""
    return ShapeError(
        f"cannot write a value of shape {tuple(value.shape)} into an array of shape {shape}; "
        "reshape it first"
    )


def split_key(key: Any) -> tuple[tuple[Any, ...], list[np.ndarray]]:
    """A key split into a hashable template without arrays, and the arrays.

    Masks become the indices where they are true. The template has the arrays' shapes and types,
    because programs are compiled for these.
    """
    form: list[Any] = []
    arrays: list[np.ndarray] = []
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, np.ndarray):
            places = np.nonzero(part) if part.dtype == bool else (part,)
            form += [("array", each.shape, each.dtype.str) for each in places]
            arrays += places
        elif isinstance(part, slice):
            form.append(("slice", part.start, part.stop, part.step))
        else:
            form.append(part)
    return tuple(form), arrays


def _part(part: Any, arrays: Iterator[Any]) -> Any:
    """A part of a key from one of the template."""
    if not isinstance(part, tuple):
        return part
    kind, *rest = part
    return next(arrays) if kind == "array" else slice(*rest)


@functools.lru_cache(maxsize=1024)
def gather(form: tuple[Any, ...]) -> Callable[..., Any]:
    """The elements at a key split by `split_key`, whose arrays are arguments."""

    def run(arrays: Any, places: Any, numbers: Any) -> Any:
        del numbers
        rest = iter(places)
        key = tuple(_part(part, rest) for part in form)
        out = arrays[0][key]
        return (out.reshape(1) if out.ndim == 0 else out,), {}

    return Eager(run)
