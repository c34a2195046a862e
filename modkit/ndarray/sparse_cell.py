"""The cell of a sparse array: programs read csr arrays sparse, other readers a dense value."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from modkit.ndarray.storage import AnyCell, Cell, Pending, aval_at, replacing, x64_for
from modkit.ops.sparse_values import Rows, compact, compact_parts, stored_rows
from modkit.ops.stype import CSR


class SparseCell(AnyCell):
    """A cell that reads from a sparse array and writes through to it.

    It holds no value: the dense one is made for each reader. Programs get a csr array as a
    `modkit.ops.sparse_values.Csr`, which is made once for each content.
    """

    __slots__ = ("_made", "array")
    takes_rows = True

    def __init__(self, array: Any):
        self.array, self._made = array, (None, None)

    @property
    def aval(self) -> Any:
        """Shape and type of the dense value."""
        return aval_at(self.array.shape, self.array._values.dtype)

    def peek(self) -> jax.Array:
        """The dense value."""
        with x64_for(self.array._values.dtype):
            return jax.device_put(self.array._dense(), self.array._ctx.jax_device)

    def feed(self, value: Any) -> None:
        """Replace the value: by a csr array itself, which must stay as it is, or by a copy."""
        if getattr(value, "stype", None) == CSR and value.dtype == self.array.dtype:
            self.array = value
        else:
            self.array._set(value)

    def snapshot(self, reader: Pending) -> Any:
        """The value for a program."""
        array = self.array
        if array.stype != CSR:
            return self.peek()
        values, made = self._made
        if values is not array._values:
            array._check_parts()
            array._check_places()
            made = self._compact(array._values, array._places[0], array._places[1], array.shape)
            self._made = array._values, made
        return made

    def _compact(self, values: Any, starts: Any, columns: Any, shape: Any) -> Any:
        return compact(values, starts, columns, shape)

    def take(self, taker: Pending | None = None) -> jax.Array:
        """A value to be donated."""
        return self.peek()

    def set(self, value: Any, *, aliased: bool = False) -> None:
        """Replace the value, by an array or a row-sparse value of a program."""
        self.array._set_program(value)


class SparseStateCell(SparseCell):
    """A sparse auxiliary state, which programs read and write as a dense value."""

    __slots__ = ()

    def snapshot(self, reader: Pending) -> jax.Array:
        """The dense value."""
        return self.peek()


class SparsePartsCell(SparseCell):
    """A whole csr batch for the replicas of ``home``, each of which reads as many rows."""

    __slots__ = ("_home",)

    def __init__(self, array: Any, home: Any):
        super().__init__(array)
        self._home = home

    @property
    def aval(self) -> Any:
        """Shape and type of the dense value, a part for each replica."""
        rows, columns = self.array.shape
        count = self._home.count
        return aval_at((count, rows // count, columns), self.array._values.dtype)

    def peek(self) -> jax.Array:
        """The dense value, in the storage of the placement."""
        return self._home.split(super().peek(), 0)

    def set(self, value: Any, *, aliased: bool = False) -> None:
        """Replace the value by an array with a part for each replica."""
        super().set(value.reshape(self.array.shape), aliased=aliased)

    def _compact(self, values: Any, starts: Any, columns: Any, shape: Any) -> Any:
        return compact_parts(values, starts, columns, shape, self._home.count)


class RowsCell(Cell):
    """The cell of a row-sparse gradient: zeros, or the rows that a program computed."""

    __slots__ = ("_device",)
    takes_rows = True

    def __init__(self, aval: Any, device: Any):
        none = stored_rows((), np.zeros((0, *aval.shape[1:]), aval.dtype), aval.shape[0])
        self._value: Any = none
        self._pending = self._reader = None
        self.aval, self.aliased, self._device = aval, True, device

    def peek(self) -> jax.Array:
        """The dense value."""
        value: Any = super().peek()
        if not isinstance(value, Rows):
            return value
        with x64_for(value.dtype):
            return jax.device_put(value.dense(), self._device)

    def row_sparse(self) -> Rows | None:
        """See `modkit.step.store.Slot.row_sparse`."""
        value: Any = super().peek()
        return value if isinstance(value, Rows) else None

    def set(self, value: Any, *, aliased: bool = False) -> None:
        """Replace the value by an array or by rows."""
        with replacing:
            self._value, self._pending, self.aliased = value, None, aliased

    def fill(self, pending: Pending, value: Any) -> None:
        if self._pending is pending:
            self.set(value)
