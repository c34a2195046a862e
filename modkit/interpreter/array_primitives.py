"""NumPy forms of primitives that move, reduce, sort and multiply whole arrays."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modkit.interpreter.elementwise import total_order

Array = Any
Run = Callable[..., Any]
"""A primitive with its parameters: NumPy arrays to one, or to a tuple of several."""


def on_axis(at: int, rank: int, part: Any) -> tuple[Any, ...]:
    """An index that is ``part`` on one axis and everything on the others."""
    return (*(slice(None),) * at, part, *(slice(None),) * (rank - at - 1))


def broadcast_in_dim(out: Any, params: Any) -> Run:
    """Size-1 axes are inserted, then the array is repeated."""
    shape, kept = tuple(params["shape"]), set(params["broadcast_dimensions"])
    dtype, wide = out.dtype, len(shape)
    usual = tuple(shape[at] for at in sorted(kept))
    inserted = tuple(shape[at] if at in kept else 1 for at in range(wide))

    def run(x: Array, *_: Array) -> Array:
        if x.shape == usual:
            x = x.reshape(inserted)
        else:
            sizes = iter(x.shape)
            x = x.reshape([next(sizes) if at in kept else 1 for at in range(wide)])
        if x.shape == shape:
            return x
        made = np.empty(shape, dtype)
        made[...] = x
        return made

    return run


def reshape(out: Any, params: Any) -> Run:
    """Elements in row-major order, of axes that are permuted before."""
    order = params["dimensions"]
    if order is None:
        return axes_of_one(out, params)
    return lambda x: x.transpose(order).reshape(out.shape)


def zero(out: Any, params: Any) -> Run:
    """The number that the buffers of loops are filled with."""
    return lambda: np.zeros((), out.dtype)


def axes_of_one(out: Any, params: Any) -> Run:
    """Axes of size 1 inserted or removed."""
    return operator.methodcaller("reshape", out.shape)


def transpose(out: Any, params: Any) -> Run:
    """Axes in another order."""
    return operator.methodcaller("transpose", params["permutation"])


def rev(out: Any, params: Any) -> Run:
    """Axes in reverse."""
    axes = set(params["dimensions"])
    index = tuple(slice(None, None, -1 if at in axes else 1) for at in range(len(out.shape)))
    return lambda x: x[index]


def slice_(out: Any, params: Any) -> Run:
    """A slice with steps."""
    begins, ends = params["start_indices"], params["limit_indices"]
    steps = params["strides"] or (1,) * len(begins)
    index = (..., *map(slice, begins, ends, steps))  # of the last axes, if there are rows
    return lambda x: x[index]


def _starts(starts: Sequence[Array], shape: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Start indices moved so that the slice is inside."""
    return [min(max(int(s), 0), n - k) for s, n, k in zip(starts, shape, sizes, strict=True)]


def dynamic_slice(out: Any, params: Any) -> Run:
    """A slice at start indices that are arguments."""
    sizes = out.shape

    def run(x: Array, *starts: Array) -> Array:
        begins = _starts(starts, x.shape, sizes)
        return x[tuple(slice(b, b + n) for b, n in zip(begins, sizes, strict=True))]

    return run


def dynamic_update_slice(out: Any, params: Any) -> Run:
    """An array with a slice replaced."""

    def run(x: Array, part: Array, *starts: Array) -> Array:
        begins = _starts(starts, x.shape, part.shape)
        made = x.copy()
        made[tuple(slice(b, b + n) for b, n in zip(begins, part.shape, strict=True))] = part
        return made

    return run


def _joining(join: Callable[[Any, int], Array], name: str) -> Callable[[Any, Any], Run]:
    """Arrays joined along an axis, the parameter of this name."""

    def make(out: Any, params: Any) -> Run:
        axis = params[name]
        return lambda *parts: join(parts, axis)

    return make


def unstack(out: Any, params: Any) -> Run:
    """The parts along an axis, without it."""
    axis = params["axis"]
    return lambda x: list(np.moveaxis(x, axis, 0))


def tile(out: Any, params: Any) -> Run:
    """An array repeated."""
    times = params["reps"]
    return lambda x: np.tile(x, times)


def split(out: Any, params: Any) -> Run:
    """An array in pieces."""
    axis, ends = params["axis"], np.cumsum(params["sizes"])[:-1]
    return lambda x: tuple(np.split(x, ends, axis))


def padded(x: Array, value: Any, widths: Sequence[tuple[int, int, int]]) -> Array:
    """Padding before, after and between elements; negative widths cut."""
    sizes = [lo + max(n + (n - 1) * gap, 0) + hi
             for n, (lo, hi, gap) in zip(x.shape, widths, strict=True)]  # fmt: skip
    made = np.empty([max(n, 0) for n in sizes], x.dtype)
    made.fill(value)
    target, source = [], []
    for n, size, (lo, _, gap) in zip(x.shape, sizes, widths, strict=True):
        step = gap + 1
        first = max(0, -(lo // step)) if lo < 0 else 0
        last = max(min(n, (size - lo + step - 1) // step), first)
        source.append(slice(first, last))
        target.append(slice(lo + first * step, max(lo + last * step - gap, 0), step))
    if made.size and x.size:
        made[tuple(target)] = x[tuple(source)]
    return made


def pad(out: Any, params: Any) -> Run:
    """See `padded`."""
    widths = params["padding_config"]
    return lambda x, value: padded(x, value, widths)


def iota(out: Any, params: Any) -> Run:
    """Positions along an axis."""
    shape, axis, dtype = out.shape, params["dimension"], out.dtype
    line = [1] * len(shape)
    line[axis] = shape[axis]
    return lambda *_: np.broadcast_to(np.arange(shape[axis]).astype(dtype).reshape(line), shape)


def _identity(sign: int, dtype: Any) -> Any:
    """The largest value of a type with a sign of 1, the smallest with -1."""
    if dtype.kind == "f":
        return dtype.type(sign * np.inf)
    if dtype.kind == "b":
        return np.bool_(sign > 0)
    return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min


_SHORT_ROW, _MANY_ROWS = 32, 64
"""Maxima of rows are those of columns where rows are this short, and at least so many."""

_LONGEST = 256
"""Elements of a row that BLAS sums, at most; NumPy sums longer ones more exactly, by halves."""
_ON_ONE_THREAD = 1 << 13
"""Elements of a product that BLAS does not divide among threads."""


def _reduction(ufunc: np.ufunc, sign: int = 0) -> Callable[[Any, Any], Run]:
    def make(out: Any, params: Any) -> Run:
        axes, dtype = tuple(params["axes"]), out.dtype
        if sign:
            whole = functools.partial(ufunc.reduce, axis=axes, initial=_identity(sign, dtype))
            return _of_short_rows(whole, out.shape) if axes == (out.ndim,) else whole
        if ufunc not in (np.add, np.multiply):
            return functools.partial(ufunc.reduce, axis=axes)
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype
        whole = functools.partial(ufunc.reduce, axis=axes, dtype=wide)
        return _by_product(whole, axes, out) if ufunc is np.add and wide == dtype else whole

    return make


def _of_short_rows(whole: Run, shape: tuple[int, ...]) -> Run:
    """A reduction of the last axis; of many short rows as one of columns: fewer loops for NumPy."""

    def run(x: Array) -> Array:
        length = x.shape[-1]
        if not (0 < length <= _SHORT_ROW and x.size >= _MANY_ROWS * length):
            return whole(x)
        return whole(x.reshape(-1, length).T.copy(), axis=0).reshape(shape)

    return run


def _by_product(whole: Run, axes: tuple[int, ...], out: Any) -> Run:
    """Sums; of few and short rows or columns a product with ones, by BLAS."""
    of_columns = axes == (0,) and out.ndim == 1
    if out.dtype.kind != "f" or not (of_columns or axes == (out.ndim,)):
        return whole

    def run(x: Array) -> Array:
        length = x.shape[axes[0]]
        if not 0 < length <= _LONGEST or x.size > _ON_ONE_THREAD:
            return whole(x)
        ones = _ones(length, x.dtype)
        return ones.dot(x) if of_columns else x.dot(ones)

    return run


@functools.lru_cache(maxsize=512)
def _ones(length: int, dtype: Any) -> Array:
    return np.ones(length, dtype)


def _arg(name: str) -> Callable[[Any, Any], Run]:
    def make(out: Any, params: Any) -> Run:
        (axis,), dtype = params["axes"], np.dtype(params["index_dtype"])
        find = getattr(np, name)
        if math.prod(out.shape) == 0:
            raise NotImplementedError("no elements")
        return lambda x: find(x, axis).astype(dtype)

    return make


def _cumulative(ufunc: np.ufunc) -> Callable[[Any, Any], Run]:
    def make(out: Any, params: Any) -> Run:
        axis, dtype = params["axis"], out.dtype
        if dtype == np.float16 and ufunc in (np.add, np.multiply):
            dtype = np.dtype(np.float32)  # the result is cast
        back = on_axis(axis, len(out.shape), slice(None, None, -1))

        def run(x: Array) -> Array:
            if not params["reverse"]:
                return ufunc.accumulate(x, axis, dtype)
            return ufunc.accumulate(x[back], axis, dtype)[back]

        return run

    return make


def top_k(out: Any, params: Any) -> Run:
    """By bits, as XLA compares: NaN is the largest, and 0 is above -0."""
    k = params["k"]
    if out[0].dtype.kind not in "fi" or params.get("axis", -1) not in (-1, len(out[0].shape) - 1):
        raise NotImplementedError("top_k")

    def run(x: Array) -> Any:
        order = np.argsort(~total_order(x), -1, kind="stable")[..., :k]
        return np.take_along_axis(x, order, -1), order.astype(out[1].dtype)

    return run


def sort(out: Any, params: Any) -> Run:
    """Stable; NaN last; the first ``num_keys`` operands decide."""
    axis, keys = params["dimension"], params["num_keys"]

    def run(*arrays: Array) -> Any:
        if len(arrays) == 1:
            return (np.sort(arrays[0], axis, kind="stable"),)
        if keys == 1:
            order = np.argsort(arrays[0], axis, kind="stable")
        else:
            order = np.lexsort(arrays[keys - 1 :: -1], axis)
        return tuple(np.take_along_axis(a, order, axis) for a in arrays)

    return run if isinstance(out, tuple) else lambda *arrays: run(*arrays)[0]


def dot_general(out: Any, params: Any) -> Run:
    """Products with sums over contracted axes, for each batch index; halves add up in float32."""
    (left, right), (left_batch, right_batch) = params["dimension_numbers"]
    dtype, shape = out.dtype, out.shape
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype

    def matrices(x: Array, contracted: Any, batch: Any, last: bool) -> Array:
        free = [at for at in range(x.ndim) if at not in contracted and at not in batch]
        ends = (free, contracted) if last else (contracted, free)
        sizes = [x.shape[at] for at in batch]
        sizes += [math.prod(x.shape[at] for at in axes) for axes in ends]
        order = (*batch, *ends[0], *ends[1])
        x = x if order == tuple(range(x.ndim)) else x.transpose(order)
        return x.reshape(sizes).astype(wide, copy=False)

    flat = not left_batch and dtype == wide
    turned = tuple(left) == (0,), tuple(right) == (1,)

    def run(x: Array, y: Array) -> Array:
        if flat and x.ndim == y.ndim == 2 and len(left) == 1:
            return np.matmul(x.T if turned[0] else x, y.T if turned[1] else y)
        product = np.matmul(
            matrices(x, left, left_batch, last=True), matrices(y, right, right_batch, last=False)
        )
        return product.reshape(shape)

    return run


MAKERS: dict[str, Callable[[Any, Any], Run]] = {
    "empty2": zero,
    "argmax": _arg("argmax"), "argmin": _arg("argmin"), "broadcast_in_dim": broadcast_in_dim,
    "concatenate": _joining(np.concatenate, "dimension"), "cummax": _cumulative(np.maximum),
    "cummin": _cumulative(np.minimum), "cumprod": _cumulative(np.multiply),
    "cumsum": _cumulative(np.add), "dot_general": dot_general, "dynamic_slice": dynamic_slice,
    "dynamic_update_slice": dynamic_update_slice, "expand_dims": axes_of_one, "iota": iota,
    "pad": pad, "reduce_and": _reduction(np.bitwise_and), "reduce_max": _reduction(np.maximum, -1),
    "reduce_min": _reduction(np.minimum, 1), "reduce_or": _reduction(np.bitwise_or),
    "reduce_prod": _reduction(np.multiply), "reduce_sum": _reduction(np.add),
    "reduce_xor": _reduction(np.bitwise_xor), "reshape": reshape, "rev": rev, "slice": slice_,
    "sort": sort, "split": split, "squeeze": axes_of_one, "stack": _joining(np.stack, "axis"),
    "tile": tile,
    "top_k": top_k, "transpose": transpose, "unstack": unstack,
}  # fmt: skip
"""By name: ``(aval of the result, parameters) -> Run``; several results have a tuple of avals."""
