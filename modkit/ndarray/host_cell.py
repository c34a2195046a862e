"""Cells whose value may be on the host until the first read transfers it to the device."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from modkit.context import Context
from modkit.ndarray.cell import AnyCell, Cell, Pending, replacing, x64_for

ALIGNMENT = 64
"""Alignment in bytes of arrays that JAX on a CPU uses without a copy."""


_new_bytearray = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_char_p, ctypes.c_ssize_t)(
    ("PyByteArray_FromStringAndSize", ctypes.pythonapi)
)
"""Python's own way to a bytearray that is not filled."""


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An uninitialized array that a program on a CPU reads without a copy.

    NumPy allocates huge pages from 4 MiB on, and finding and clearing those can take longer than
    reading a file into them; this memory has none. A first load of 1 GiB took 0.45 s, with huge
    pages 0.70 s.
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    try:
        memory = np.frombuffer(_new_bytearray(None, size + ALIGNMENT), np.uint8)
    except MemoryError as error:
        raise MemoryError(f"no room for {size} bytes, {dtype} of shape {shape}") from error
    begin = -memory.__array_interface__["data"][0] % ALIGNMENT
    return memory[begin : begin + size].view(dtype).reshape(shape)


@functools.lru_cache(maxsize=256)
def _aval(shape: tuple[int, ...], dtype: Any) -> Any:
    with x64_for(dtype):
        return jax.typeof(np.broadcast_to(np.zeros((), dtype), shape))  # as that of a jax.Array


def aval_of(value: Any) -> Any:
    """Shape and element type of an array of either kind."""
    return _aval(value.shape, value.dtype) if isinstance(value, np.ndarray) else value.aval


class LateCell(Cell):
    """A cell made from an immutable NumPy array, transferred to the device when it is read.

    Args:
        rows: the array; ``None`` once the value is on the device.
        ctx: the device.
    """

    __slots__ = ("_ctx", "rows")

    def __init__(self, rows: np.ndarray, ctx: Context):
        self._ctx = ctx
        self._value = self._pending = self._reader = None
        self.rows: np.ndarray | None = rows
        self.aval = _aval(rows.shape, rows.dtype)
        self.aliased = True

    def peek(self) -> jax.Array:
        """The value, on the device from now on."""
        rows = self.rows  # once: several threads may read a batch
        if rows is not None:
            # Also where a function is being traced: the value outlives that.
            with jax.ensure_compile_time_eval(), x64_for(rows.dtype):
                value = jax.device_put(rows, self._ctx.jax_device)
            with replacing:
                if self.rows is rows:  # else another thread has written meanwhile
                    self.set(value, aliased=True)
        return super().peek()

    def set(self, value: jax.Array, *, aliased: bool = False) -> None:
        """Replace the value."""
        with replacing:
            super().set(value, aliased=aliased)
            self.rows = None  # last: a reader finds one or the other

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Drop the value; ``pending`` will set the next one."""
        super().wait_for(pending, aval)
        self.rows = None

    def holds(self, value: Any) -> bool:
        """Whether this very array is the present value."""
        rows = self.rows
        return value is (self._value if rows is None else rows)


class HostCell(LateCell):
    """A host cell whose array is passed to programs from the host, and placed when it is read."""

    __slots__ = ()


class InputCell(HostCell):
    """A cell for inputs of single-device programs, which accept NumPy arrays."""

    __slots__ = ()

    def feed(self, rows: np.ndarray) -> None:
        """Replace the value by an immutable NumPy array."""
        self.rows, self._value, self._pending, self.aliased = rows, None, None, True
        self.aval = _aval(rows.shape, rows.dtype)

    def snapshot(self, reader: Pending) -> Any:
        """The value for a program."""
        rows = self.rows
        return super().snapshot(reader) if rows is None else rows


def on_host(cell: AnyCell) -> Any:
    """The present value without a transfer: a NumPy array if it has not been read yet."""
    rows = getattr(cell, "rows", None)
    return cell.get() if rows is None else rows


def present(cell: AnyCell) -> Any:
    """The present value, for a program or a cell that keeps it: an array of either kind."""
    rows = cell.rows if isinstance(cell, HostCell) else None
    return cell.get() if rows is None else rows


def cell_of(value: Any, ctx: Context) -> Cell:
    """A cell of its own for an array of either kind."""
    return HostCell(value, ctx) if isinstance(value, np.ndarray) else Cell(value)


def placed(values: Sequence[np.ndarray], contexts: Sequence[Context]) -> list[Cell]:
    """Cells for immutable NumPy arrays.

    On a CPU they are placed at the first read, so that a script may make arrays before it binds a
    module: JAX starts its threads after the allocator is set up.
    """
    far = [at for at, ctx in enumerate(contexts) if not ctx._is_cpu]
    if not far:
        return list(map(LateCell, values, contexts))
    with x64_for(*{values[at].dtype for at in far}):
        sent = jax.device_put([values[at] for at in far], [contexts[at].jax_device for at in far])
    there = dict(zip(far, sent, strict=True))
    return [
        Cell(there[at]) if at in there else LateCell(value, contexts[at])
        for at, value in enumerate(values)
    ]
