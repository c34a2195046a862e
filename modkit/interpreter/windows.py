"""NumPy forms of gathers, scatters, windows and convolutions."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modkit.interpreter.array_primitives import Array, Run, on_axis, padded


def _positions(
    starts: Array, shape: Sequence[int], sizes: Sequence[int], names: Any
) -> tuple[list[Array], Array]:
    """The index of each gathered element on each axis of the operand.

    Args:
        starts: (batch..., k), start indices.
        names: the axes of start indices, those without an axis in the window, and batching axes of
            the operand and of ``starts``.

    Returns:
        For each axis of the operand an array that broadcasts to (batch..., window...), and start
        indices, (operand axis, batch...).
    """
    start_map, absent, batching, start_batching = names
    batch = starts.shape[:-1]
    window = [at for at in range(len(shape)) if at not in absent and at not in batching]
    begins = np.zeros((len(shape), *batch), np.int64)
    for at, axis in enumerate(start_map):
        begins[axis] = starts[..., at]
    for axis, of_start in zip(batching, start_batching, strict=True):
        line = [1] * len(batch)
        line[of_start] = shape[axis]
        begins[axis] = np.arange(shape[axis]).reshape(line)
    index = []
    for axis in range(len(shape)):
        each = begins[axis].reshape(batch + (1,) * len(window))
        if axis in window:
            line = [1] * (len(batch) + len(window))
            line[len(batch) + window.index(axis)] = sizes[axis]
            each = each + np.arange(sizes[axis]).reshape(line)
        index.append(each)
    return index, begins


def _inside(begins: Array, shape: Sequence[int], sizes: Sequence[int]) -> Array:
    """Whether slices lie inside the operand, (batch...)."""
    line = (-1,) + (1,) * (begins.ndim - 1)
    most = (np.array(shape) - np.array(sizes)).reshape(line)
    return ((begins >= 0) & (begins <= most)).all(0)


def _clipped(starts: Array, start_map: Any, shape: Sequence[int], sizes: Sequence[int]) -> Array:
    most = np.array([shape[axis] - sizes[axis] for axis in start_map], np.int64)
    return np.clip(starts.astype(np.int64), 0, most)


def _mode(params: Any) -> str:
    return params["mode"].name


@functools.lru_cache(maxsize=1024)
def _whole_axes(names: Any, shape: tuple[int, ...], sizes: tuple[int, ...], rank: int) -> Any:
    """The axes with an index, these indices, and an order of all axes that has them first.

    ``None`` where slices are parts of axes; the order is ``None`` where it is that of the operand.

    The index of a batching axis is its positions; that of another its place in start indices.

    Args:
        names: see `_positions`.
        rank: the number of axes of start indices, without that of the index itself.
    """
    start_map, absent, batching, start_batching = names
    indices: dict[int, Any] = {axis: at for at, axis in enumerate(start_map)}
    for axis, of_start in zip(batching, start_batching, strict=True):
        line = [1] * rank
        line[of_start] = shape[axis]
        indices[axis] = np.arange(shape[axis]).reshape(line)
    rest = [at for at in range(len(shape)) if at not in indices]
    if set(absent) != set(start_map) or any(sizes[at] != shape[at] for at in rest):
        return None
    axes = sorted(indices)
    order = None if axes == list(range(len(axes))) else (*axes, *rest)
    return axes, [indices[axis] for axis in axes], order


def _usual(x: Array, starts: Array, names: Any, sizes: Sequence[int], clips: bool) -> Any:
    """A view of ``x`` and the index of whole slices at start indices in it.

    ``None`` where slices are parts of axes, or outside: `_positions` finds these.
    """
    whole = _whole_axes(names, x.shape, tuple(sizes), starts.ndim - 1)
    if whole is None or not starts.size or not x.size:
        return None
    axes, indices, order = whole
    index = []
    for axis, at in zip(axes, indices, strict=True):
        if isinstance(at, int):
            at, most = np.asarray(starts[..., at], order="C"), x.shape[axis] - 1
            if at.min() < 0 or at.max() > most:
                if not clips:
                    return None
                at = np.minimum(np.maximum(at, 0), most)
        index.append(at)
    return x if order is None else x.transpose(order), tuple(index)


def gather(out: Any, params: Any) -> Run:
    """Slices at start indices; those outside are filled, or moved inside, by the mode."""
    d, sizes, mode = params["dimension_numbers"], params["slice_sizes"], _mode(params)
    names = (
        d.start_index_map,
        d.collapsed_slice_dims,
        d.operand_batching_dims,
        d.start_indices_batching_dims,
    )
    offset, rank = d.offset_dims, len(out.shape)
    batch_axes = [at for at in range(rank) if at not in offset]
    order = tuple(np.argsort([*batch_axes, *offset]).tolist())
    fill, kind = params["fill_value"], out.dtype.kind
    if fill is None and kind in "iu":
        fill = np.iinfo(out.dtype).min if kind == "i" else np.iinfo(out.dtype).max
    elif fill is None:
        fill = np.nan if kind == "f" else True

    clips = mode != "FILL_OR_DROP"
    rows = names == ((0,), (0,), (), ()) and offset == tuple(range(rank - len(offset), rank))
    takes = clips and bool(out.size) and rows

    def run(x: Array, starts: Array) -> Array:
        # Whole rows; NumPy's positions are signed, so the largest of uint64 would be negative.
        if takes and starts.dtype.kind == "i" and x.shape[1:] == sizes[1:]:
            return x.take(starts[..., 0].astype(np.intp), 0, mode="clip")
        usual = _usual(x, starts, names, sizes, clips)
        if usual is not None:
            return np.asarray(usual[0][usual[1]].transpose(order), order="C")
        if clips:
            starts = _clipped(starts, d.start_index_map, x.shape, sizes)
        index, begins = _positions(starts.astype(np.int64), x.shape, sizes, names)
        inside = _inside(begins, x.shape, sizes)
        if not x.size:
            return np.full(out.shape, fill, out.dtype)
        found = x[tuple(np.clip(i, 0, n - 1) for i, n in zip(index, x.shape, strict=True))]
        inside = inside.reshape(inside.shape + (1,) * (found.ndim - inside.ndim))
        return np.where(inside, found, np.array(fill, x.dtype)).transpose(order)

    return run


_UPDATES = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _scatter(ufunc: np.ufunc | None) -> Callable[[Any, Any], Run]:
    """Slices written at start indices, one after the other; those outside are dropped or moved."""

    def make(out: Any, params: Any) -> Run:
        d, mode = params["dimension_numbers"], _mode(params)
        names = (
            d.scatter_dims_to_operand_dims,
            d.inserted_window_dims,
            d.operand_batching_dims,
            d.scatter_indices_batching_dims,
        )
        absent = {*d.inserted_window_dims, *d.operand_batching_dims}

        def run(x: Array, starts: Array, updates: Array) -> Array:
            clips = mode != "FILL_OR_DROP"
            window = iter(d.update_window_dims)
            sizes = [1 if at in absent else updates.shape[next(window)] for at in range(np.ndim(x))]
            free = [at for at in range(updates.ndim) if at not in d.update_window_dims]
            updates = updates.transpose([*free, *d.update_window_dims])
            made = np.array(x)
            view, where = _usual(made, starts, names, sizes, clips) or (made, None)
            if where is None:
                starts = starts.astype(np.int64)
                if clips:
                    starts = _clipped(starts, names[0], x.shape, sizes)
                index, begins = _positions(starts, x.shape, sizes, names)
                inside = _inside(begins, x.shape, sizes)
                where = tuple(np.broadcast_to(each, updates.shape)[inside] for each in index)
                updates = updates[inside]
            if ufunc is None:
                view[where] = updates
            else:
                ufunc.at(view, where, updates)
            return made

        return run

    return make


def _padded(x: Array, value: Any, params: Any) -> Array:
    """An array with its base dilation and padding."""
    base = params["base_dilation"] or (1,) * x.ndim
    widths = [(lo, hi, gap - 1) for (lo, hi), gap in zip(params["padding"], base, strict=True)]
    return padded(x, value, widths) if any(map(any, widths)) else x


def _real(out: Any) -> np.dtype[Any]:
    """The type of a result with windows of floating point; NotImplementedError for others."""
    if 0 in out.shape or out.dtype.kind != "f":
        raise NotImplementedError("windows of integers, or none")
    return out.dtype


def _reduce_window(ufunc: np.ufunc, sign: int) -> Callable[[Any, Any], Run]:
    """Reductions along one axis after the other, element by element of the windows."""

    def make(out: Any, params: Any) -> Run:
        rank, dtype = len(out.shape), _real(out)
        start = dtype.type(sign * np.inf if sign else 0)
        sizes, strides = params["window_dimensions"], params["window_strides"]
        spread = params["window_dilation"] or (1,) * len(sizes)
        taps = [
            [on_axis(axis, rank, slice(at * d, at * d + (n - 1) * s + 1, s)) for at in range(k)]
            for axis, (k, s, d, n) in enumerate(zip(sizes, strides, spread, out.shape, strict=True))
            if (k, s) != (1, 1)
        ]

        def run(x: Array) -> Array:
            x = _padded(x, start, params)
            for first, *others in taps:
                found = x[first].copy() if others else x[first]
                for tap in others:
                    ufunc(found, x[tap], out=found)
                x = found
            return x

        return run

    return make


def select_and_scatter_add(out: Any, params: Any) -> Run:
    """For each element, the sum over the windows that select it, by a comparison of neighbours."""
    _real(out)
    sizes, strides, pads = (params[n] for n in ("window_dimensions", "window_strides", "padding"))
    stays, fill = {"ge": (np.greater_equal, -np.inf), "le": (np.less_equal, np.inf)}[
        params["select_prim"].name
    ]
    inner = tuple(slice(low, low + n) for (low, _), n in zip(pads, out.shape, strict=True))

    def run(source: Array, x: Array) -> Array:
        x = padded(x, fill, [(low, high, 0) for low, high in pads])
        taps = [
            tuple(
                slice(at, at + (n - 1) * s + 1, s)
                for at, n, s in zip(start, source.shape, strides, strict=True)
            )
            for start in np.ndindex(sizes)
        ]
        best, chosen = x[taps[0]], np.zeros(source.shape, np.int32)
        for at, tap in enumerate(taps[1:], 1):
            kept = stays(best, x[tap])
            best, chosen = np.where(kept, best, x[tap]), np.where(kept, chosen, at)
        made = np.zeros(x.shape, source.dtype)
        for at, tap in enumerate(taps):
            made[tap] += np.where(chosen == at, source, 0)
        return made[inner]

    return run


def conv_general_dilated(out: Any, params: Any) -> Run:
    """Windows times the kernel: one product for each group."""
    d, parts = params["dimension_numbers"], params["batch_group_count"]
    groups = params["feature_group_count"] * parts
    if out.dtype.kind != "f" or 0 in out.shape:
        raise NotImplementedError("convolution")
    wide = np.dtype(np.float32) if out.dtype == np.float16 else out.dtype
    ends = zip(params["padding"], params["lhs_dilation"], strict=True)
    widths = [(0, 0, 0), (0, 0, 0), *((lo, hi, gap - 1) for (lo, hi), gap in ends)]
    pads, places = any(map(any, widths)), [out.shape[at] for at in d.out_spec[2:]]
    back = np.argsort(d.out_spec).tolist()

    def run(x: Array, kernel: Array) -> Array:
        x = x.transpose(d.lhs_spec).astype(wide, copy=False)
        kernel = kernel.transpose(d.rhs_spec).astype(wide, copy=False)
        if parts > 1:  # of the samples: one after the other in the channels
            x = (
                x.reshape(parts, -1, *x.shape[1:])
                .swapaxes(0, 1)
                .reshape(-1, parts * x.shape[1], *x.shape[2:])
            )
        x = np.ascontiguousarray(padded(x, 0, widths) if pads else x)
        steps = map(operator.mul, x.strides[2:], params["window_strides"])
        taps = map(operator.mul, x.strides[2:], params["rhs_dilation"])
        sizes, strides = (*kernel.shape[2:], *places), (*x.strides[:2], *taps, *steps)
        seen = np.ndarray((*x.shape[:2], *sizes), x.dtype, x, 0, strides)
        # (N, C, window..., places...) to (N, groups, C window, places)
        columns = seen.reshape(len(x), groups, -1, math.prod(places))
        weights = kernel.reshape(groups, kernel.shape[0] // groups, -1)
        made = np.matmul(weights, columns).reshape(len(x), kernel.shape[0], *places)
        return made.transpose(back)

    return run


MAKERS: dict[str, Callable[[Any, Any], Run]] = {
    "conv_general_dilated": conv_general_dilated,
    "gather": gather,
    "reduce_window_max": _reduce_window(np.maximum, -1),
    "reduce_window_min": _reduce_window(np.minimum, 1),
    "reduce_window_sum": _reduce_window(np.add, 0),
    "select_and_scatter_add": select_and_scatter_add,
    "scatter": _scatter(None),
    **{f"scatter{dash}{name}": _scatter(f) for name, f in _UPDATES.items() for dash in "-_"},
}
