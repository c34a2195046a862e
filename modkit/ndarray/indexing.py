"""Indexing: keys as starts and sizes, and compiled functions that take positions as arguments."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.compile.executables import Eager
from modkit.errors import ParameterError, ShapeError
from modkit.ndarray.storage import AnyCell, View, aval_at, x64_for
from modkit.util import is_np_shape

Shape = tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def window(sizes: Shape, shape: Shape) -> Callable[..., Any]:
    """A slice of these sizes, reshaped to ``shape``; its start indices are arguments."""

    def run(arrays: Any, key_data: Any, starts: Any) -> Any:
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

    def covers(self, parent: AnyCell, starts: Shape, sizes: Shape, shape: Shape) -> bool:
        """Whether it is this box of this cell."""
        return (
            self.parent is parent
            and (self._starts, self._sizes) == (starts, sizes)
            and self.aval.shape == shape
        )

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
        ParameterError: it is text that is no number; MXNet parses numbers.
    """
    value = np.asarray(value)
    if value.dtype.kind in "SU":
        try:
            value = value.astype(np.float64)
        except ValueError:
            raise ParameterError(
                f"the value to write: got {value.tolist()!r}, which is text, expected numbers, an "
                "NDArray or an array"
            ) from None
    if value.dtype == dtype:
        return value
    with np.errstate(invalid="ignore", over="ignore"):
        return value.astype(dtype)


def fitted(value: Any, shape: Shape) -> Any:
    """Broadcast to ``shape``; leading sizes of 1 may be dropped; ShapeError if impossible."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    if value.shape == shape:
        return value
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
        rest = iter(places)
        key = tuple(_part(part, rest) for part in form)
        return (jnp.atleast_1d(arrays[0][key]),), {}

    return Eager(run)


def is_everything(key: Any) -> bool:
    """Whether a key is ``...`` or ``:`` in every axis."""
    if isinstance(key, tuple):
        return key == () or all(is_everything(k) for k in key)
    return key is Ellipsis or (
        isinstance(key, slice) and key in (slice(None), slice(None, None, 1))
    )


def plain_key(key: Any, shape: Shape) -> Any:
    """The key with NDArrays, lists and NumPy numbers converted for JAX.

    Raises:
        IndexError: an integer outside the array, or a truth value for one axis.
    """
    if not shape and isinstance(key, slice) and is_everything(key):
        return ()  # `:` is all of an array without axes too, as in MXNet
    parts = key if isinstance(key, tuple) else (key,)
    if sum(p is Ellipsis for p in parts) > 1:
        raise IndexError(f"got more than one ellipsis (`...`) in the index {key}")
    named = sum(p is not None and p is not Ellipsis for p in parts)
    if named > len(shape):
        raise IndexError(f"too many indices: {named} for an array of shape {shape}")
    plain = tuple(_plain_part(p) for p in parts)
    axis = 0
    for at, part in enumerate(plain):
        if part is Ellipsis:
            axis = len(shape) - sum(p is not None for p in plain[at + 1 :])
            continue
        if part is None:
            continue
        if isinstance(part, int | np.ndarray):
            _check_index(part, axis, shape)
        axis += part.ndim if isinstance(part, np.ndarray) and part.dtype == bool else 1
    return plain if isinstance(key, tuple) else plain[0]


def without_new_axes(key: Any, value: Any, shape: Shape) -> Any:
    """The key for writing a value: new axes that the value lacks are dropped.

    MXNet broadcasts such a value to the elements as they lie in the array (``a[..., None] = row``).
    First axes of size 1 do not count where it fits so; those of an NDArray do if it fits with them.
    """
    if not (key is None or isinstance(key, tuple)):
        return key
    parts = key if isinstance(key, tuple) else (key,)
    if all(part is not None for part in parts):
        return key
    rest, array = tuple(p for p in parts if p is not None), np.broadcast_to(np.int8(0), shape)
    sizes, target = np.shape(value), array[rest].shape
    if len(sizes) <= len(target):
        return rest
    if hasattr(value, "asnumpy") and _fits(sizes, array[parts].shape):
        return key
    return rest if _fits(sizes, target) else key


def _fits(sizes: Shape, shape: Shape) -> bool:
    """Whether `fitted` accepts a value of these sizes."""
    try:
        fitted(np.broadcast_to(np.int8(0), sizes), shape)
    except ShapeError:
        return False
    return True


def _check_index(index: int | np.ndarray, axis: int, shape: Shape) -> None:
    """Raise IndexError for an integer, or one in an array, outside an axis."""
    size = shape[axis]
    if isinstance(index, np.ndarray):
        if (
            not index.size
            or index.dtype.kind not in "iu"
            or -size <= index.min() <= index.max() < size
        ):
            return
        index = index[(index < -size) | (index >= size)].flat[0]
    if not -size <= index < size:
        raise IndexError(f"index {index} is outside axis {axis} of an array of shape {shape}")


def _plain_part(part: Any) -> Any:
    if hasattr(part, "asnumpy"):
        part = part.asnumpy()
    if isinstance(part, list | tuple | range):
        part = np.asarray(part)
    if isinstance(part, bool) or (getattr(part, "ndim", 1) == 0 and part.dtype.kind == "b"):
        raise IndexKindError(
            f"got the truth value {part} in an index, which MXNet 1.9.1 takes for an integer or a "
            "new axis; write 0, 1, None, or an array of truth values for all elements of an axis"
        )
    if isinstance(part, np.ndarray):
        return part.astype(np.int32) if part.dtype.kind == "f" else part
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        ends = part.start, part.stop, part.step
        return slice(*(None if v is None else operator.index(v) for v in ends))
    try:
        return operator.index(part)
    except TypeError as error:
        raise IndexKindError(
            f"got index {part!r} of type {type(part).__name__}, expected an integer, a slice, "
            "None, an array, or a tuple of these"
        ) from error


class IndexKindError(ParameterError, IndexError):
    """The error of an invalid index."""


def _one_element() -> Shape:
    """The shape of one element that is selected: ``(1,)``, or ``()`` in NumPy's shapes."""
    return () if is_np_shape() else (1,)


def rows_box(key: Any, shape: Shape) -> tuple[Shape, ...] | None:
    """`box_of` of an integer or a step-1 slice that selects some rows; ``None`` for other keys."""
    if not shape:
        return None
    kind, size = type(key), shape[0]
    if kind is int:
        if not -size <= key < size:
            return None
        at, rest = key % size, shape[1:]
        return (at,) + (0,) * len(rest), (1, *rest), rest or _one_element()
    if kind is slice and key.step is None:
        try:
            begin, end, _ = key.indices(size)
        except TypeError:
            return None
        if begin >= end or end - begin == size or 0 in shape:
            return None
        sizes = (end - begin, *shape[1:])
        return (begin,) + (0,) * (len(shape) - 1), sizes, sizes
    return None


def basic_key(key: Any, shape: Shape) -> tuple[Any, ...] | None:
    """The key as one integer or step-1 slice for each axis, with ``None`` between them.

    The result is ``None`` for a key that is not so simple.
    """
    parts = key if isinstance(key, tuple) else (key,)
    lacking = len(shape) - sum(part is not None and part is not Ellipsis for part in parts)
    fill = (slice(None),) * lacking
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts = (*parts[:at], *fill, *parts[at + 1 :])
    sizes = iter(shape)
    plain = [None if part is None else _basic_part(part, next(sizes)) for part in parts]
    simple = all((part is None) == (own is None) for part, own in zip(parts, plain, strict=True))
    return tuple(plain) if simple else None


def _basic_part(part: Any, size: int) -> int | slice | None:
    """An integer or a slice of step 1 that selects the same; ``None`` if there is none."""
    if isinstance(part, slice):
        found = range(*part.indices(size))
        if len(found) == 1:
            return slice(found[0], found[0] + 1)
        return part if part.step in (None, 1) else None
    return part % size if isinstance(part, int) else None


def is_contiguous(basic: tuple[Any, ...], shape: Shape) -> bool:
    """Whether the elements are contiguous in memory: MXNet returns a view then."""
    axes = [part for part in basic if part is not None]
    extents = [
        1 if isinstance(k, int) else len(range(*k.indices(n)))
        for k, n in zip(axes, shape, strict=True)
    ]
    if 0 in extents:
        return False
    partial = [i for i, (e, n) in enumerate(zip(extents, shape, strict=True)) if e != n]
    return not partial or all(e == 1 for e in extents[: partial[-1]])


def box_of(basic: tuple[Any, ...], shape: Shape) -> tuple[Shape, ...]:
    """Start indices, sizes and result shape of the slice that a key selects.

    An integer removes its axis, see `_one_element`; ``None`` is a new axis of size 1.
    """
    starts, sizes, kept, axes = [], [], [], iter(shape)
    for part in basic:
        if part is None:
            kept.append(1)
            continue
        size = next(axes)
        if isinstance(part, int):
            starts.append(part)
            sizes.append(1)
            continue
        begin, end, _ = part.indices(size)
        starts.append(begin)
        sizes.append(max(end - begin, 0))
        kept.append(sizes[-1])
    return tuple(starts), tuple(sizes), tuple(kept) or _one_element()


def ranges(begin: Any, end: Any, step: Any) -> tuple[slice, ...]:
    """The key of a range in each axis."""
    step = step or (None,) * len(begin)
    return tuple(slice(b, e, s or None) for b, e, s in zip(begin, end, step, strict=True))
