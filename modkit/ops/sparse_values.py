"""Sparse values in compiled programs: their sizes are fixed, so they are padded on the host.

A csr matrix is held compactly: its elements refer to the columns that it stores, whose numbers are
listed once. A product with a weight reads these rows of the weight, and the weight's gradient is
row-sparse: the same numbers, and a row for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import NotSupportedError
from modkit.ops.array.indexing import within
from modkit.ops.array.reduce import reduced_axes
from modkit.ops.entry import Op
from modkit.ops.parameters import Attrs
from modkit.ops.stype import CSR, DENSE, ROWS


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Csr:
    """A csr matrix (N, M) with P places for elements and K for columns.

    Attributes:
        values: (P,), zeros at places that are not used.
        at: (P,), the position of each element's column in ``columns``.
        rows: (P,), the row of each element; N at places that are not used.
        columns: (K,), increasing column numbers, from M on at places that are not used.
        shape: (N, M).
    """

    values: Any
    at: Any
    rows: Any
    columns: Any
    shape: tuple[int, int] = field(metadata={"static": True})

    stype = CSR
    ndim = 2

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self.values.dtype

    def dense(self) -> Any:
        """The matrix as an array."""
        columns = self.columns[self.at]
        return (
            jnp.zeros(self.shape, self.dtype).at[self.rows, columns].add(self.values, mode="drop")
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rows:
    """Some rows of an array (N, ...); the others are zeros, or not read.

    Attributes:
        ids: (K,), increasing row numbers, from N on at places that are not used.
        rows: (K, ...).
        count: N.
    """

    ids: Any
    rows: Any
    count: int = field(metadata={"static": True})

    stype = ROWS

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self.rows.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the whole array."""
        return (self.count, *self.rows.shape[1:])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.rows.shape)

    def of(self, array: Any) -> Any:
        """These rows of another array; any values at places that are not used."""
        return jnp.take(array, self.ids, axis=0, mode="clip")

    def into(self, array: Any, rows: Any) -> Any:
        """Another array with these rows replaced."""
        places = array.at[self.ids]
        return places.set(rows, mode="drop", unique_indices=True, indices_are_sorted=True)

    def dense(self) -> Any:
        """The whole array."""
        return self.into(jnp.zeros(self.shape, self.dtype), self.rows)


def sum_over(axis: str, tree: Any) -> Any:
    """Traced: the sums of a tree over a mesh axis; row-sparse ones have the rows of all parts."""
    values, layout = jax.tree.flatten(tree, is_leaf=is_sparse)
    sums = iter(jax.lax.psum([x for x in values if not is_sparse(x)], axis))
    return layout.unflatten(
        _gathered(x, axis) if isinstance(x, Rows) else next(sums) for x in values
    )


def _gathered(part: Rows, axis: str) -> Rows:
    ids, rows = (jax.lax.all_gather(x, axis, tiled=True) for x in (part.ids, part.rows))
    return _union(ids, rows, part)


def plus(one: Any, other: Any) -> Any:
    """The sum of two values; row-sparse if both are."""
    if not (isinstance(one, Rows) and isinstance(other, Rows)):
        return plain(one) + plain(other).astype(one.dtype)
    ids = jnp.concatenate([one.ids, other.ids])
    return _union(ids, jnp.concatenate([one.rows, other.rows.astype(one.dtype)]), one)


def _union(ids: Any, rows: Any, like: Rows) -> Rows:
    """Rows by number, where equal numbers are added, of an array like another one."""
    order, count = jnp.argsort(ids), like.count
    ids, size = ids[order], len(ids)
    first = jnp.concatenate([jnp.ones(1, bool), ids[1:] != ids[:-1]])
    at = jnp.cumsum(first) - 1
    unused = count + jnp.arange(size, dtype=ids.dtype)
    own = unused.at[jnp.where(ids < count, at, size)].set(ids, mode="drop")
    return replace(like, ids=own, rows=_segment_sum(rows[order], at, size))


def stored_rows(ids: Any, rows: Any, count: int, places: int | None = None) -> Rows:
    """Rows with increasing numbers, on the host, with unused places behind them."""
    places = len(ids) if places is None else places
    made = np.arange(places, dtype=np.int32) + np.int32(count)
    made[: len(ids)] = ids
    fill = [(0, places - len(ids))] + [(0, 0)] * (rows.ndim - 1)
    return Rows(made, np.pad(rows, fill), count)


def padded_size(count: int) -> int:
    """The number of places for ``count`` elements: one of four sizes an octave, by 32 at least.

    Batches of few elements thus share a program, which takes longer to compile than to run.
    """
    step = max(1 << max(count - 1, 0).bit_length() >> 3, 32)
    return max(-(-count // step), 1) * step


def compact(
    values: np.ndarray, starts: np.ndarray, columns: np.ndarray, shape: tuple[int, int]
) -> Csr:
    """A csr matrix for a program, from NumPy parts; NotSupportedError for sizes beyond 32 bits."""
    return _compact_each([(values, starts, columns)], shape)[0]


def compact_parts(
    values: np.ndarray, starts: np.ndarray, columns: np.ndarray, shape: tuple[int, int], count: int
) -> Csr:
    """As `compact`: as many equal parts of the rows, stacked along a new first axis."""
    size = shape[0] // count
    cuts = [starts[k * size : (k + 1) * size + 1] for k in range(count)]
    parts = [(values[cut[0] : cut[-1]], cut - cut[0], columns[cut[0] : cut[-1]]) for cut in cuts]
    return jax.tree.map(lambda *each: np.stack(each), *_compact_each(parts, (size, shape[1])))


def _compact_each(
    parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], shape: tuple[int, int]
) -> list[Csr]:
    """Csr matrices of one shape with as many places each."""
    found = [np.unique(columns, return_inverse=True) for _, _, columns in parts]
    places = padded_size(max(len(values) for values, _, _ in parts))
    width = padded_size(max(len(unique) for unique, _ in found))
    if max(shape) + width >= 2**31:
        raise NotSupportedError(
            f"a csr array of shape {shape} in a program: expected fewer than 2**31 rows and columns"
        )
    made = []
    for (values, starts, _), (unique, at) in zip(parts, found, strict=True):
        each = Csr(
            values=np.zeros(places, values.dtype),
            at=np.zeros(places, np.int32),
            rows=np.full(places, shape[0], np.int32),
            columns=np.arange(width, dtype=np.int32) + np.int32(shape[1] - len(unique)),
            shape=shape,
        )
        each.values[: len(values)] = values
        each.at[: len(values)] = at
        each.rows[: len(values)] = np.repeat(np.arange(shape[0], dtype=np.int32), np.diff(starts))
        each.columns[: len(unique)] = unique
        made.append(each)
    return made


def is_sparse(value: Any) -> bool:
    """Whether a value is a `Csr` or `Rows`."""
    return isinstance(value, Csr | Rows)


def plain(value: Any) -> Any:
    """The value as an array."""
    return value.dense() if is_sparse(value) else value


def plain_parts(value: Any, count: int) -> Any:
    """The value as an array; of several replicas, with a part for each."""
    return jax.vmap(plain)(value) if is_sparse(value) and count > 1 else plain(value)


def call(op: Op, arrays: Sequence[Any], attrs: Attrs) -> Any:
    """An operator's result with sparse inputs; ``None`` where it takes arrays only."""
    if keeps_zeros(op, getattr(arrays[0], "stype", DENSE), attrs):
        (x,) = arrays
        name = "values" if isinstance(x, Csr) else "rows"
        (made,), _ = op.call([getattr(x, name)], attrs)
        return replace(x, **{name: made})
    if op.name == "dot":
        return _dot(arrays[0], arrays[1], attrs)
    if op.name in ("sum", "_square_sum"):
        return _sum(op, arrays[0], attrs)
    if op.storage.picks_rows(attrs) and isinstance(arrays[1], Rows):
        data, weight = arrays
        return weight.rows[jnp.searchsorted(weight.ids, within(data, weight.count, "clip"))]
    return None


def named_rows(data: Any, count: int, factor: bool = False) -> Rows:
    """The numbers of the rows that are read of a weight; for the rows stand their numbers.

    Args:
        data: a csr factor of the weight, the same as an array, or an array of row numbers.
        count: the number of rows of the weight.
        factor: whether an array is a factor: it reads the rows of its columns that are not zero.
    """
    if isinstance(data, Csr):
        ids = data.columns
    elif factor:
        every = jnp.arange(count, dtype=np.int32)
        ids = jnp.sort(jnp.where((data != 0).any(0), every, every + count))
    else:
        numbers = jnp.sort(within(data, count, "clip").reshape(-1))
        first = jnp.concatenate([jnp.ones(1, bool), numbers[1:] != numbers[:-1]])
        unused = count + jnp.arange(len(numbers), dtype=numbers.dtype)
        ids = unused.at[jnp.cumsum(first) - 1].set(numbers)
    return Rows(ids, ids, count)


def keeps_zeros(op: Op, stype: str, attrs: Attrs) -> bool:
    """Whether the operator runs on the stored elements of an array alone: it maps 0 to 0."""
    on_values = op.storage.kernel == "values" and op.storage.keeps_zeros
    return on_values and op.storage.result([stype], attrs) != DENSE


def by_row(op: Op, ndim: int, attrs: Attrs) -> bool:
    """Whether the operator sums within each row, and keeps a row for it."""
    if op.name not in ("sum", "_square_sum") or not attrs["keepdims"]:
        return False
    axis = attrs["axis"] or ()
    if len({a % ndim for a in axis if -ndim <= a < ndim}) < len(axis):
        return False  # the array has more axes
    return 0 not in reduced_axes(op.name, ndim, attrs["axis"], attrs["exclude"])


def _sum(op: Op, x: Any, attrs: Attrs) -> Any:
    if isinstance(x, Rows):
        if not by_row(op, x.ndim, attrs):
            return None
        (made,), _ = op.call([x.rows], attrs)
        return replace(x, rows=made)
    if reduced_axes(op.name, 2, attrs["axis"], attrs["exclude"]) != (1,):
        return None
    terms = jnp.square(x.values) if op.name == "_square_sum" else x.values
    sums = _segment_sum(terms, x.rows, x.shape[0])
    return sums[:, None] if attrs["keepdims"] else sums


def _segment_sum(terms: Any, at: Any, count: int) -> Any:
    """Sums of the terms by their places; 16 bits are summed in 32."""
    wide = terms.dtype
    if jnp.issubdtype(wide, jnp.floating):
        wide = jnp.promote_types(wide, jnp.float32)
    return jax.ops.segment_sum(terms.astype(wide), at, count).astype(terms.dtype)


def _dot(x: Any, w: Any, attrs: Attrs) -> Any:
    """A csr matrix by a weight, of which it reads the rows of its columns."""
    if not isinstance(x, Csr) or isinstance(w, Csr) or w.ndim != 2 or attrs["transpose_b"]:
        return None
    if attrs["transpose_a"]:
        terms = x.values[:, None] * jnp.take(plain(w), x.rows, axis=0, mode="clip")
        sums = _segment_sum(terms, x.at, x.columns.shape[0])
        return Rows(x.columns, sums, x.shape[1])
    if isinstance(w, Rows) and w.ids is x.columns:
        rows = w.rows
    else:
        rows = jnp.take(plain(w), x.columns, axis=0, mode="clip")
    return _segment_sum(x.values[:, None] * rows[x.at], x.rows, x.shape[0])
