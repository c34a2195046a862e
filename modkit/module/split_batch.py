"""Slices of a batch for the contexts of a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError, ShapeError, wrong
from modkit.io import DataDesc
from modkit.ndarray import NDArray
from modkit.ndarray.storage import HostCell
from modkit.ops.stype import CSR


def batch_slices(batch_size: int, work_load: Sequence[float]) -> list[slice]:
    """Slices of a batch in proportion to ``work_load``; ParameterError for too few samples."""
    total = sum(work_load) or float("inf")  # no shares: no samples
    counts = [round(batch_size * w / total) for w in work_load]
    counts[-1] += batch_size - sum(counts)
    if min(counts) <= 0:
        raise ParameterError(
            f"a batch of {batch_size} samples cannot be cut for {len(counts)} devices with the "
            f"work loads {list(work_load)}; use a larger batch or fewer devices"
        )
    ends = np.cumsum(counts).tolist()
    return [slice(end - n, end) for end, n in zip(ends, counts, strict=True)]


def groups_of(group2ctxs: Any, count: int) -> list[dict[str, Context]]:
    """The contexts of ``ctx_group`` attributes for each of a module's contexts.

    Args:
        group2ctxs: a dictionary of a context by group, or of a list of contexts, one for each of
            the module's; or a list of such dictionaries; or ``None``.

    Raises:
        ParameterError: something else, or of another length.
    """
    if group2ctxs is None or isinstance(group2ctxs, Mapping):
        each = group2ctxs or {}
        for group, given in each.items():
            if isinstance(given, list | tuple) and len(given) not in (1, count):
                raise ParameterError(
                    f"group2ctxs: group {group!r}: got {len(given)} contexts, expected one, or "
                    f"{count}: one for each context of the module"
                )
        group2ctxs = [
            {g: v[i % len(v)] if isinstance(v, list | tuple) else v for g, v in each.items()}
            for i in range(count)
        ]
    if not isinstance(group2ctxs, list | tuple) or len(group2ctxs) != count:
        raise ParameterError(
            f"group2ctxs: got {group2ctxs!r}, expected a dictionary such as {{'dev1': mx.gpu(0)}}, "
            f"or a list of {count} of them, one for each context of the module"
        )
    chosen = [dict(each or {}) for each in group2ctxs]
    for each in chosen:
        for group, ctx in each.items():
            if not isinstance(ctx, Context):
                raise wrong(f"group2ctxs: group {group!r}", ctx, "a Context such as mx.cpu()")
            ctx._check()  # an unknown device is an error here, not at the first batch
    return chosen


def batch_size_of(descs: Sequence[DataDesc]) -> int:
    """The one batch size of all data inputs and labels; ShapeError where they have several."""
    axes = batch_axes(descs)
    for desc in descs:
        if axes[desc.name] >= len(desc.shape):
            raise ShapeError(
                f"bind: {desc.name}: got shape {tuple(desc.shape)}, expected the batch on axis "
                f"{axes[desc.name]}, as in its layout {desc.layout!r}"
            )
    sizes = {d.name: d.shape[axes[d.name]] for d in descs if axes[d.name] >= 0}
    if len(set(sizes.values())) != 1:
        listing = ", ".join(f"{d.name} {tuple(d.shape)}" for d in descs)
        raise ShapeError(
            f"bind: got {listing}: batch sizes {sizes}, expected one batch size for all data "
            "and labels; DataDesc(..., layout=) says which axis it is, by an N"
        )
    return next(iter(sizes.values()))


def batch_axes(descs: Sequence[DataDesc]) -> dict[str, int]:
    """The batch axis of each input by name; -1 for none."""
    return {d.name: DataDesc.get_batch_axis(d.layout) for d in descs}


def local_shapes(descs: Sequence[DataDesc], part: slice) -> dict[str, tuple[int, ...]]:
    """The shapes of the inputs for one slice of the batch."""
    shapes = {}
    for desc in descs:
        shape, axis = list(desc.shape), DataDesc.get_batch_axis(desc.layout)
        if axis >= 0:
            shape[axis] = part.stop - part.start
        shapes[desc.name] = tuple(shape)
    return shapes


def cut(value: Any, part: slice, axis: int) -> Any:
    """A part of an array along an axis."""
    return value[(slice(None),) * axis + (part,)] if axis else value[part]


def value_of(array: Any) -> Any:
    """The value of a handle, or a NumPy array without aliases; a csr array itself."""
    if type(array) is NDArray and type(array._cell) is HostCell and array._cell.rows is not None:
        return array._cell.rows
    if isinstance(array, jax.Array):
        return array
    if isinstance(array, NDArray):
        return array if array.stype == CSR else array._as_dense()._cell.for_program()
    return np.array(array) if isinstance(array, np.ndarray) else jnp.asarray(array)


def names_of(shapes: Mapping[str, Any] | Sequence[Any]) -> list[str]:
    """Names of the given descriptions."""
    return [s.name if isinstance(s, DataDesc) else s[0] for s in shapes]
