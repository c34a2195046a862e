"""The cell of a sparse array: programs read csr arrays sparse, other readers a dense value."""

from __future__ import annotations

from typing import Any

import jax

from modkit.ndarray.storage import AnyCell, Pending, aval_at, x64_for
from modkit.ops.sparse_values import compact
from modkit.ops.stype import CSR


class SparseCell(AnyCell):
    """A cell that reads from a sparse array and writes through to it.

    It holds no value: the dense one is made for each reader. Programs get a csr array as a
    `modkit.ops.sparse_values.Csr`, which is made once for each content.
    """

    __slots__ = ("_made", "array")

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
        del reader
        array = self.array
        if array.stype != CSR:
            return self.peek()
        values, made = self._made
        if values is not array._values:
            array._check_parts()
            array._check_places()
            made = compact(array._values, array._places[0], array._places[1], array.shape)
            self._made = array._values, made
        return made

    def take(self, taker: Pending | None = None) -> jax.Array:
        """A value to be donated."""
        del taker
        return self.peek()

    def set(self, value: Any, *, aliased: bool = False) -> None:
        """Replace the value, by an array or a row-sparse value of a program."""
        del aliased
        self.array._set_program(value)
