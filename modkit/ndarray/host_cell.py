"""Cells whose value may still lie on the host: it goes to the device when somebody reads it."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from modkit.context import Context
from modkit.ndarray.cell import AnyCell, Cell, Pending, wide

ALIGNMENT = 64
"""Bytes. An array that begins at a multiple of it is what JAX on a CPU takes without a copy."""


_new_bytearray = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_char_p, ctypes.c_ssize_t)(
    ("PyByteArray_FromStringAndSize", ctypes.pythonapi)
)
"""Python's own way to a bytearray that is not filled."""


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array that is not filled, and that a program on a CPU reads without a copy.

    Its memory is not NumPy's own, which asks the system for large pages from 4 MiB on: finding and
    clearing those can take longer than to read a file into them. A first load of 1 GiB took 0.70 s
    with, 0.45 s without.
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
    with wide(dtype):
        return jax.typeof(np.broadcast_to(np.zeros((), dtype), shape))  # as that of a jax.Array


class LateCell(Cell):
    """A cell made from a NumPy array, which nobody writes any more: to be placed when it is read.

    Args:
        rows: the array; ``None`` once the value is on the device.
        ctx: where it belongs.
    """

    __slots__ = ("_ctx", "rows")

    def __init__(self, rows: np.ndarray, ctx: Context):
        self._ctx = ctx
        self._value = self._pending = self._reader = None
        self.rows: np.ndarray | None = rows
        self.aval = _aval(rows.shape, rows.dtype)
        self.lent = True

    def peek(self) -> jax.Array:
        """The value, on the device from now on."""
        rows = self.rows  # once: several threads may read a batch
        if rows is not None:
            # Also where a function is being traced: the value outlives that.
            with jax.ensure_compile_time_eval(), wide(rows.dtype):
                value = jax.device_put(rows, self._ctx.jax_device)
            if self.rows is rows:  # else somebody has written meanwhile
                self.set(value, lent=True)
        return super().peek()

    def set(self, value: jax.Array, *, lent: bool = False) -> None:
        """Replace the value."""
        super().set(value, lent=lent)
        self.rows = None  # last: a reader finds one or the other

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Forget the value; ``pending`` will set the next one."""
        super().wait_for(pending, aval)
        self.rows = None

    def holds(self, value: Any) -> bool:
        """Whether this very array is the present value."""
        rows = self.rows
        return value is (self._value if rows is None else rows)


class HostCell(LateCell):
    """One whose array programs take from the host; it stays there until somebody reads it."""

    __slots__ = ()


class InputCell(HostCell):
    """A cell for the input of programs for one device, which get a NumPy array as it is."""

    __slots__ = ()

    def feed(self, rows: np.ndarray) -> None:
        """Replace the value by a NumPy array that nobody writes any more."""
        self.rows, self._value, self._pending, self.lent = rows, None, None, True
        self.aval = _aval(rows.shape, rows.dtype)

    def snapshot(self, reader: Pending) -> Any:
        """The value for a program."""
        rows = self.rows
        return super().snapshot(reader) if rows is None else rows


def on_host(cell: AnyCell) -> Any:
    """The present value, not moved: a NumPy array where it has not been read yet."""
    rows = cell.rows if isinstance(cell, LateCell) else None
    return cell.get() if rows is None else rows


def present(cell: AnyCell) -> Any:
    """The present value, for a program or a cell that keeps it: an array of either kind."""
    rows = cell.rows if isinstance(cell, HostCell) else None
    return cell.get() if rows is None else rows


def cell_of(value: Any, ctx: Context) -> Cell:
    """A cell of its own for an array of either kind."""
    return HostCell(value, ctx) if isinstance(value, np.ndarray) else Cell(value)


def placed(values: Sequence[np.ndarray], contexts: Sequence[Context]) -> list[Cell]:
    """Cells for NumPy arrays that nobody writes any more.

    Those for a CPU wait until somebody reads them. So a script may make its arrays before it binds
    a network, and by then it is known what the allocator has to be told.
    """
    far = [at for at, ctx in enumerate(contexts) if not ctx._is_cpu]
    if not far:
        return list(map(LateCell, values, contexts))
    with wide(*{values[at].dtype for at in far}):
        sent = jax.device_put([values[at] for at in far], [contexts[at].jax_device for at in far])
    there = dict(zip(far, sent, strict=True))
    return [
        Cell(there[at]) if at in there else LateCell(value, contexts[at])
        for at, value in enumerate(values)
    ]
