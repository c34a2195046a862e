"""Calls of operators that have a sparse input, result or gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.ndarray import sparse_graphs as sparse_graphs
from modkit.ndarray.invoke import check_count
from modkit.ndarray.ndarray import NDArray, apply_dense, cast_recorded, new
from modkit.ndarray.sparse_array import CSRNDArray, RowSparseNDArray
from modkit.ndarray.sparse_dot import columns_dot, dot
from modkit.ndarray.sparse_kernels import host, kernel_of, looked_up
from modkit.ndarray.sparse_updates import lazy_rows, write_rows
from modkit.ndarray.tape import Host, Leaf, depends, put, tracked, uses_of
from modkit.ndarray.tape_gradients import kept_value
from modkit.ops.entry import Op
from modkit.ops.stype import CSR, DENSE


def call_sparse(
    op: Op, inputs: Sequence[NDArray], attrs: Mapping[str, Any], out: Any, ctx: Any
) -> Any:
    """Run an operator; its result has the storage type of MXNet's.

    Returns:
        The result, or ``NotImplemented`` where neither inputs nor result are sparse.

    Raises:
        ParameterError: there are more inputs or fewer than the operator has.
    """
    if op.storage.kernel == "rows" and out is inputs[0] and (rows := lazy_rows(op, inputs, attrs)):
        write_rows(out, *rows)
        return out
    check_count(op, len(inputs), attrs)
    stypes = [x.stype for x in inputs]
    wanted = op.storage.result(stypes, attrs)
    made = _row_gradient(op, inputs, attrs) if tracked(inputs) else None
    if made is None and {wanted, *stypes} == {DENSE}:
        return NotImplemented
    targets = out if isinstance(out, list | tuple) else [] if out is None else [out]
    if made is None:
        # With an array of another storage type all zeros take part, as in MXNet.
        plain = wanted != DENSE and any(x.stype != wanted for x in targets)
        made = _computed(op, inputs, attrs, ctx, DENSE if plain else wanted)
    if out is None:
        return made
    results = made if isinstance(made, list) else [made]
    for target, each in zip(targets, results, strict=False):
        target._set(each if target.stype in (DENSE, each.stype) else each._as_dense())
    return out


def _computed(
    op: Op, inputs: Sequence[NDArray], attrs: Mapping[str, Any], ctx: Any, wanted: str
) -> Any:
    """The result in a storage type, by the operator's kernel or with dense arrays."""
    made = None
    kernel = kernel_of(op)
    by_kernel = op.storage.by_kernel or not tracked(inputs)
    if kernel and (wanted != DENSE or (kernel.makes_dense and by_kernel)):
        made = kernel.run(op, inputs, attrs)
    if made is None or not by_kernel:
        whole = _on_dense(op, inputs, attrs, ctx)
        made = whole if made is None else cast_recorded(whole, made)
    if isinstance(made, list) or made.stype == wanted or (wanted == CSR and made.ndim != 2):
        return made
    return made._as_dense().tostype(wanted)


def _on_dense(op: Op, inputs: Sequence[NDArray], attrs: Mapping[str, Any], ctx: Any) -> Any:
    """The result of dense copies; states that the operator has changed are written back."""
    dense = [x._as_dense() for x in inputs]
    before = [x._cell.host() for x in dense] if op.aux else []
    made = apply_dense(op, dense, attrs, None, ctx)
    for own, copy, value in zip(inputs, dense, before, strict=False):
        if copy is not own and copy._cell.host() is not value:
            own._set(copy)
    return made


NDArray._call_sparse = staticmethod(call_sparse)


# ── Gradients that are row-sparse ───────────────────────────────────────────────────────────


def _row_gradient(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> NDArray | None:
    """The recorded result of a product or embedding, whose gradient holds the rows it read."""
    if len(inputs) != 2 or depends(inputs[0]) or inputs[1].ndim != 2:
        return None
    if op.name == "dot":
        return _recorded_dot(op, inputs[0], inputs[1], attrs)
    if op.storage.picks_rows(attrs):
        return _recorded_embedding(op, inputs[0], inputs[1], attrs)
    return None


def _record(name: str, made: NDArray, inputs: Sequence[Any], gradient: Any) -> NDArray:
    """Put a result on the tape; ``gradient`` maps its cotangent to that of the second input."""
    to_rows = isinstance(inputs[1]._entry[0], Leaf)

    def pull(back: Sequence[Any]) -> Sequence[Any]:
        found = gradient(np.asarray(back[0]))
        return [None, found if to_rows else found._dense()]

    values = [np.zeros((), np.float32), kept_value(inputs[1])]
    put(Host(name, [kept_value(made)], pull, uses_of(inputs, values), made._ctx), [made])
    return made


def _recorded_dot(op: Op, a: Any, b: Any, attrs: Mapping[str, Any]) -> NDArray | None:
    left, right = attrs["transpose_a"], attrs["transpose_b"]
    if a.stype != CSR or right:
        return None
    made = _computed(
        op, [a, b.detach()], attrs, a._ctx, op.storage.result([a.stype, b.stype], attrs)
    )

    def gradient(back: np.ndarray) -> RowSparseNDArray:
        if not left:
            return columns_dot(a, back)
        whole = dot(op, [a, new(back, a._ctx)], {**attrs, "transpose_a": False})
        rows = np.flatnonzero(a._counts())
        return RowSparseNDArray(host(whole)[rows], (rows,), b.shape, a._ctx)

    return _record("dot", made, [a, b], gradient)


def _recorded_embedding(op: Op, data: Any, weight: Any, attrs: Mapping[str, Any]) -> NDArray:
    made = _computed(op, [data, weight.detach()], attrs, data._ctx, DENSE)
    count, width = weight.shape
    data = data.copy()

    def gradient(back: np.ndarray) -> RowSparseNDArray:
        rows = looked_up(op, data, weight)
        picks = CSRNDArray(
            np.ones(len(rows), weight.dtype), (np.arange(len(rows) + 1), rows), (len(rows), count),
            data._ctx,
        )  # fmt: skip
        return columns_dot(picks, back.reshape(-1, width))

    return _record(op.name, made, [data, weight], gradient)
