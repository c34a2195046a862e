"""Cells: the storage of an array's value, shared by its handle, its views and executors.

The value of a `LateCell` may lie on the host until the first read transfers it to the device.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import math
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from modkit import fork
from modkit.context import Context
from modkit.errors import ModkitError, NotReadyError, calling_line
from modkit.ops.dtypes import WIDE

T = TypeVar("T")
_NO_SCOPE = contextlib.nullcontext()
_WIDE = WIDE | {np.dtype(name) for name in WIDE}


def x64_for(*dtypes: Any) -> Any:
    """The enable_x64 scope if any of these types has 64 bits; else an empty scope."""
    return x64_scope(needs_x64(*dtypes))


def needs_x64(*dtypes: Any) -> bool:
    """Whether any of these types has 64 bits."""
    return any(d in _WIDE for d in dtypes)


def x64_scope(enabled: bool) -> Any:
    """The enable_x64 scope, to be entered once, or an empty one."""
    return jax.enable_x64(True) if enabled else _NO_SCOPE


def placed_on(value: Any, device: Any) -> jax.Array:
    """A value on a device; itself if it is already there."""
    if isinstance(value, jax.Array) and value.committed and value.devices() == {device}:
        return value
    with x64_for(value.dtype):
        return jax.device_put(value, device)


def copy_of(value: jax.Array) -> jax.Array:
    """A copy; `jax.numpy.copy` would compile a program for each shape."""
    return jax.device_put(value, value.sharding, may_alias=False)


class Pending(Protocol):
    """A deferred computation that fills the cells waiting for it."""

    @property
    def settled(self) -> bool:
        """True if it has released the arrays that it read."""
        ...

    def run(self) -> None:
        """Compute, fill every waiting cell, and release the inputs."""


under_way: weakref.WeakSet[Any] = weakref.WeakSet()
"""Deferred computations that may not have run; `modkit.ndarray.waitall` runs them."""


class Refusal:
    """A call whose values its operator has refused: cells of its results wait for it.

    Reading one raises the error, as in MXNet, whose threads find it after the call.

    Args:
        error: the error; its message names the line of the call, too.

    Attributes:
        times_raised: the number of reads that have raised it.
    """

    __slots__ = ("__weakref__", "_error", "times_raised")
    settled = True  # it has read no arrays

    def __init__(self, error: ModkitError):
        self._error = type(error)(f"{error} (in the call at {calling_line()})")
        self.times_raised = 0
        under_way.add(self)

    @property
    def unfinished(self) -> bool:
        """Whether `waitall` raises the error."""
        return not self.times_raised

    def run(self) -> None:
        """Raise the error: a copy, whose traceback keeps no arrays once it is handled."""
        self.times_raised += 1
        error = copy.copy(self._error)
        error.refusal = self
        raise error


class Refused:
    """A result of a refused call, in the place of an array; ``like`` has its shape and type."""

    __slots__ = ("dtype", "refusal", "shape")

    def __init__(self, refusal: Refusal, like: Any):
        self.refusal, self.shape, self.dtype = refusal, like.shape, np.dtype(like.dtype)


Change = Callable[[jax.Array], jax.Array]
"""A pure function from the value of a cell to its next value."""

replacing = fork.lock()
"""Held while the value of a `Cell` is compared and replaced, and while nothing else runs."""


class AnyCell:
    """The cell of a handle: a `Cell`, a `View`, a slot of a store, or that of a sparse array.

    Attributes:
        aval: shape and element type.
        waits: whether it can wait for a deferred computation of its value; if not, the caller
            runs that at once, and its results are written through.
        rows: the value, where it is a NumPy array that no device has read.
        may_lie_on_host: whether the value may be a NumPy array.
        keeps_rows: whether `set_rows` leaves a whole new value on the host.
        takes_rows: whether the value may be `modkit.ops.sparse_values.Rows`.
        lock: held while the value is compared and replaced; ``None`` where it cannot be.
    """

    __slots__ = ()
    aval: Any
    waits = False
    rows: Any = None
    may_lie_on_host: Any = False
    keeps_rows: Any = False
    takes_rows = False
    lock: Any = None

    @property
    def root(self) -> AnyCell:
        """The cell that holds the value, where this one reads from and writes to another."""
        return self

    def version(self) -> Any:
        """The object that holds the value, as a cache key; ``None`` while it is pending.

        A write replaces it if `get`, `lent` or `unmoved` has handed the value out; else the value
        may change in place.
        """
        return None

    @property
    def is_pending(self) -> bool:
        """Whether a pass will set the value of this `root`."""
        return False

    def settle(self) -> None:
        """Compute the value of this `root`, if it is pending."""

    def peek(self) -> jax.Array:
        """The value, which the caller must not keep."""
        raise NotImplementedError

    def seen(self, look: Callable[[jax.Array], T]) -> T:
        """``look(value)``; of a slot under the store's lock, so that no step donates the buffer.

        ``look`` must not keep the value.
        """
        return look(self.peek())

    def get(self) -> jax.Array:
        """The value, which the caller may keep."""
        return self.peek()

    def snapshot(self, reader: Pending) -> jax.Array:
        """The value, which ``reader`` keeps until it has run."""
        return self.peek()

    def take(self, taker: Pending | None = None) -> jax.Array:
        """The value, to be donated."""
        raise NotImplementedError

    def set(self, value: Any, *, aliased: bool = False) -> None:
        """Replace the value; ``aliased`` if the buffer may be aliased."""
        raise NotImplementedError

    def edit(self, change: Change, *, aliased: bool = False) -> None:
        """Replace the value by ``change`` of it; no write of another thread is lost meanwhile."""
        self.set(change(self.peek()), aliased=aliased)

    def holds(self, value: Any) -> bool:
        """Whether this very buffer is the present value; never of values made for each reader."""
        return False

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Wait for ``pending``, which will set the value."""

    def forget(self, pending: Pending) -> None:
        """Stop waiting for a computation that has failed."""

    def fill(self, pending: Pending, value: Any) -> None:
        """Store a computed value, if the cell waits for ``pending`` or cannot wait."""
        self.set(value)

    # ── Values on the host ──────────────────────────────────────────────────────────────────

    @property
    def is_on_host(self) -> bool:
        """Whether the present value lies on the host."""
        return False

    @property
    def reads_on_host(self) -> bool:
        """Whether NumPy reads a CPU's value: one on the host, or a part, which costs a program."""
        return self.is_on_host

    def host(self) -> Any:
        """The value as a NumPy array, which the caller does not keep and does not change."""
        return as_numpy(self.peek())

    def seen_on_host(self, look: Callable[[Any], T]) -> T:
        """`seen` of the value as a NumPy array."""
        return look(self.host())

    def set_rows(self, rows: np.ndarray, *, aliased: bool) -> None:
        """Replace the value by a NumPy array, which others hold too if it is aliased."""
        raise NotImplementedError

    def lent(self) -> Any:
        """The value as a NumPy array, which the caller may keep."""
        return as_numpy(self.get())

    def unmoved(self) -> Any:
        """The value without a transfer, which the caller may keep: an array of either kind."""
        return self.get() if self.rows is None else self.lent()

    def for_program(self) -> Any:
        """The value for a program, or a cell, that keeps it: an array of either kind."""
        return self.get()

    def host_snapshot(self, reader: Pending) -> Any:
        """The value for a deferred computation, from where it lies: an array of either kind."""
        return self.lent() if self.is_on_host else self.snapshot(reader)

    def write(self, fill: Callable[[np.ndarray], None]) -> bool:
        """Change elements by ``fill``, on the host; ``False`` where the cell has no rows."""
        return False


def as_numpy(value: Any) -> Any:
    """A value of JAX as a NumPy array, without a copy on CPUs; a tracer as it is."""
    if isinstance(value, Tracer):
        return value
    if fork.process.forked and hasattr(value, "is_ready") and not value.is_ready():
        raise fork.process.error()
    return np.asarray(value)


class Cell(AnyCell):
    """A value, or the promise of one.

    A buffer is *aliased* if other code may hold a reference to it; it must be copied before it is
    donated to a compiled step. `get` marks it as aliased; `peek` is for readers that keep no
    reference; `snapshot` is for a deferred computation, which keeps it until it has run.
    """

    __slots__ = ("_pending", "_reader", "_value", "aliased", "aval")
    waits = True
    lock = replacing

    def __init__(self, value: jax.Array, *, aliased: bool = True):
        self._value: jax.Array | None = value
        self._pending: Pending | None = None
        self._reader: Pending | None = None
        self.aval: Any = value.aval
        self.aliased = aliased

    @classmethod
    def promised(cls, aval: Any) -> Cell:
        """A cell without a value yet; `wait_for` or `set` comes next."""
        cell = cls.__new__(cls)
        cell._value = cell._pending = cell._reader = None
        cell.aval, cell.aliased = aval, False
        return cell

    def settle(self) -> None:
        """Compute the value, if it is pending."""
        while (pending := self._pending) is not None:
            pending.run()
            if self._pending is pending:
                raise RuntimeError("a pending computation ended without a value")

    def peek(self) -> jax.Array:
        """The value, computed now if it is pending. The caller must not keep it."""
        while True:  # another thread may begin the next pass meanwhile
            if self._pending is not None:
                self.settle()
            if (value := self._value) is not None:
                return value
            if self._pending is None:
                raise NotReadyError("this array has no value yet: forward() comes first")

    def get(self) -> jax.Array:
        value = self.peek()
        # After `peek`: a value computed there is not aliased yet.
        self.aliased = True
        return value

    def snapshot(self, reader: Pending) -> jax.Array:
        value = self.peek()  # first: it may change who holds the value
        if self._reader is not None and self._reader is not reader and not self._reader.settled:
            self.aliased = True
        self._reader = reader
        return value

    def take(self, taker: Pending | None = None) -> jax.Array:
        """The value, to be donated: a copy if it is aliased by other code than ``taker``."""
        value = self.peek()  # first: it may change who holds the value
        reader = self._reader
        if reader is not None and reader is not taker and not reader.settled:
            reader.run()
            value = self.peek()
        return copy_of(value) if self.aliased else value

    def set(self, value: jax.Array, *, aliased: bool = False) -> None:
        with replacing:
            self._value, self._pending, self.aliased = value, None, aliased
            self.aval = value.aval

    def edit(self, change: Change, *, aliased: bool = False) -> None:
        """Replace the value by ``change`` of it, computed again where another thread was faster."""
        while True:
            before = self.get()
            after = change(before)
            with replacing:
                if self._value is before:
                    self.set(after, aliased=aliased)
                    return

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Drop the value; ``pending`` will set the next one, of shape and dtype ``aval``."""
        self._pending = pending  # first: a reader in another thread finds one or the other
        self._value, self.aval, self.aliased = None, aval, False

    def version(self) -> Any:
        return self._value

    @property
    def is_pending(self) -> bool:
        """See `AnyCell.is_pending`; a refused result is not."""
        return self._pending is not None and not isinstance(self._pending, Refusal)

    def holds(self, value: Any) -> bool:
        return self._value is value

    def forget(self, pending: Pending) -> None:
        """Stop waiting for a computation that has failed, without a value."""
        if self._pending is pending:
            self._pending = None

    def fill(self, pending: Pending, value: Any) -> None:
        """Store a computed value, if this cell still waits for it."""
        if self._pending is pending:
            self._value, self._pending, self.aliased, self.aval = value, None, False, value.aval


class View(AnyCell):
    """A window on another cell: reads and writes go through to it.

    Args:
        read: the window's value, from the parent's.
        write: the parent's value after the window is written.
        aval: shape and element type of the window; default those of ``read``.
        window: for a parent on the host, the window of a contiguous NumPy array, without a copy.
    """

    __slots__ = ("_read", "_write", "aval", "parent", "window")

    def __init__(
        self,
        parent: AnyCell,
        read: Callable[[jax.Array], jax.Array],
        write: Callable[[jax.Array, jax.Array], jax.Array],
        aval: Any = None,
        window: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self.parent, self._read, self._write, self.window = parent, read, write, window
        if aval is None:
            with x64_for(parent.aval.dtype):
                aval = jax.eval_shape(read, parent.aval)
        self.aval = aval

    @property
    def root(self) -> AnyCell:
        return self.parent.root

    def version(self) -> Any:
        """See `AnyCell.version`: that of the parent."""
        return self.parent.version()

    def peek(self) -> jax.Array:
        """The window's present value: a copy, unless the window covers the whole parent."""

        def part(whole: jax.Array) -> jax.Array | None:
            value = self._read(whole)
            return None if value is whole else value

        value = self.parent.seen(part)
        return self.parent.get() if value is None else value

    def seen(self, look: Callable[[jax.Array], T]) -> T:
        return self.parent.seen(lambda whole: look(self._read(whole)))

    def fill(self, pending: Pending, value: Any) -> None:
        """Write through to the parent, on the host where both are there."""
        here = isinstance(value, np.ndarray)
        if not (here and self.write(lambda rows: np.copyto(rows, value))):
            self.set(value)

    def take(self, taker: Pending | None = None) -> jax.Array:
        """A copy, to be donated."""
        whole = self.parent.peek()
        value = self._read(whole)
        return copy_of(value) if value is whole else value

    def set(self, value: Any, *, aliased: bool = False) -> None:
        """Write through to the parent."""
        self.parent.edit(lambda whole: self._write(whole, value), aliased=aliased)

    def edit(self, change: Change, *, aliased: bool = False) -> None:
        """Write ``change`` of the window's value through to the parent."""
        self.parent.edit(
            lambda whole: self._write(whole, change(self._read(whole))), aliased=aliased
        )

    @property
    def may_lie_on_host(self) -> bool:
        """Whether the parent's value may."""
        return self.parent.may_lie_on_host

    @property
    def is_on_host(self) -> bool:
        """Whether the parent's value does, and has windows there."""
        return self.window is not None and self.parent.is_on_host

    @property
    def reads_on_host(self) -> bool:
        is_part = self.window is not None and self.aval.shape != self.parent.aval.shape
        return is_part or self.is_on_host

    def host(self) -> Any:
        """See `AnyCell.host`: a window on the parent's array."""
        whole = None if self.window is None else self.parent.host()
        if self.window is not None and isinstance(whole, np.ndarray):
            return self.window(whole)
        return super().host()

    def seen_on_host(self, look: Callable[[Any], T]) -> T:
        """See `AnyCell.seen_on_host`: a window on the parent's array, if that is possible."""
        window = self.window
        if window is None:
            return self.seen(lambda value: look(as_numpy(value)))
        return self.parent.seen_on_host(
            lambda whole: look(
                window(whole) if isinstance(whole, np.ndarray) else self._read(whole)
            )
        )

    def lent(self) -> Any:
        """See `AnyCell.lent`: a copy of the window."""
        return super().lent() if self.window is None else np.array(self.host())

    def unmoved(self) -> Any:
        """See `AnyCell.unmoved`: on the host a window on the parent's array."""
        whole = self.parent.unmoved() if self.is_on_host else None
        if self.window is not None and isinstance(whole, np.ndarray):
            return self.window(whole)
        return self.get()

    def write(self, fill: Callable[[np.ndarray], None]) -> bool:
        window = self.window
        return window is not None and self.parent.write(lambda rows: fill(window(rows)))


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


@functools.lru_cache(maxsize=4096)
def aval_at(shape: tuple[int, ...], dtype: Any) -> Any:
    """The shape and element type of a `jax.Array`."""
    with x64_for(dtype):
        return jax.typeof(np.broadcast_to(np.zeros((), dtype), shape))


def aval_of(value: Any) -> Any:
    """Shape and element type of an array of either kind."""
    return aval_at(value.shape, value.dtype) if isinstance(value, np.ndarray) else value.aval


class LateCell(Cell):
    """A cell whose value may be a NumPy array, transferred to the device when a program reads it.

    The array is immutable, unless it is not aliased: then the thread that made it writes into it.

    Args:
        rows: the array; ``None`` once the value is on the device.
        aliased: whether other code may hold a reference to ``rows``.
    """

    __slots__ = ("_ctx", "_owner", "_sent", "rows")
    may_lie_on_host = keeps_rows = True

    def __init__(self, rows: np.ndarray, ctx: Context, *, aliased: bool = True):
        self._ctx = ctx
        self._value = self._pending = self._reader = None
        self.rows: np.ndarray | None = rows
        self.aval = aval_at(rows.shape, rows.dtype)
        self.aliased = aliased
        self._owner = threading.get_ident()
        self._sent = 0  # identity of the rows that a program has read

    @classmethod
    def on_device(cls, value: jax.Array, ctx: Context, *, aliased: bool = True) -> LateCell:
        """A cell for a value on the device, which a NumPy array may replace."""
        cell = cls.__new__(cls)
        cell._ctx, cell.rows, cell._owner, cell._sent = ctx, None, 0, 0
        cell._value, cell._pending, cell._reader = value, None, None
        cell.aval, cell.aliased = value.aval, aliased
        return cell

    @classmethod
    def awaited(cls, aval: Any, ctx: Context) -> LateCell:
        """A cell without a value yet; `wait_for` comes next."""
        cell: Any = cls.promised(aval)
        cell._ctx, cell.rows, cell._owner, cell._sent = ctx, None, 0, 0
        return cell

    def peek(self) -> jax.Array:
        """The value, on the device from now on."""
        if self._pending is not None:
            self.settle()  # which may make rows
        while (rows := self.rows) is not None:  # several threads may read a batch
            with replacing:
                self.aliased = True  # no write into the rows while they are transferred
            # Also where a function is being traced: the value outlives that.
            with jax.ensure_compile_time_eval(), x64_for(rows.dtype):
                value = jax.device_put(rows, self._place())
            with replacing:
                if self.rows is rows:  # else another thread has written meanwhile
                    aval = self.aval
                    self.set(value, aliased=True)
                    self.aval = aval  # the same object, by which a module knows its inputs
        try:
            return super().peek()
        except NotReadyError:
            if self.rows is None:
                raise
        return self.peek()  # another thread has run the next pass meanwhile

    def _place(self) -> Any:
        """The device or sharding of the value."""
        return self._ctx.jax_device

    @property
    def is_on_host(self) -> bool:
        """Whether the value is a NumPy array."""
        return self.rows is not None

    def host(self) -> Any:
        rows = self.rows
        if rows is None:
            self.settle()
            rows = self.rows
        if rows is None:
            return as_numpy(self.peek())
        if self._owner != threading.get_ident():
            return self.lent()
        return rows

    def lent(self) -> Any:
        if self._pending is not None:
            self.settle()
        with replacing:
            self.aliased = True
            rows = self.rows
        return as_numpy(self.get()) if rows is None else rows

    def for_program(self) -> Any:
        """The value for a program: rows once, from where they lie; then it is on the device.

        A transfer of its own takes longer than a program's, but serves all that come.
        """
        rows, value = self.rows, self._value
        if rows is None and value is not None:
            self.aliased = True
            return value
        if rows is None or id(rows) == self._sent:
            return self.get()
        self._sent = id(rows)
        with replacing:
            if self.rows is rows:
                self.aliased = True
                return rows
        return self.get()

    def host_snapshot(self, reader: Pending) -> Any:
        self.settle()  # which may make rows
        return super().host_snapshot(reader)

    def set(self, value: Any, *, aliased: bool = False) -> None:
        """Replace the value by an array of either kind."""
        if isinstance(value, np.ndarray):
            self.set_rows(value, aliased=aliased)
            return
        with replacing:
            super().set(value, aliased=aliased)
            self.rows = None  # last: a reader finds one or the other

    def set_rows(self, rows: np.ndarray, *, aliased: bool) -> None:
        with replacing:
            self.rows, self._value, self._pending = rows, None, None
            self.aliased, self._owner = aliased, threading.get_ident()
            self.aval = aval_at(rows.shape, rows.dtype)

    def write(self, fill: Callable[[np.ndarray], None]) -> bool:
        """Change elements by ``fill``, in place where nothing else refers to them."""
        while True:
            before = self.peek() if self.rows is None else None
            with replacing:
                rows = self.rows
                if rows is None and self._value is not before:
                    continue  # another thread has written
                mine = not self.aliased and self._owner == threading.get_ident()
                if rows is None or not mine or not rows.flags.c_contiguous:
                    rows = np.array(before if rows is None else rows, order="C")
                fill(rows)  # before the cell is changed: it may raise
                self.set_rows(rows, aliased=False)
                return True

    def wait_for(self, pending: Pending, aval: Any) -> None:
        with replacing:
            super().wait_for(pending, aval)
            self.rows = None

    def fill(self, pending: Pending, value: Any) -> None:
        """Store a computed array of either kind, if this cell still waits for it."""
        if not isinstance(value, np.ndarray):
            super().fill(pending, value)
        elif self._pending is pending:
            self.set_rows(value, aliased=True)  # a state that has not changed is the old array

    def version(self) -> Any:
        rows = self.rows
        return self._value if rows is None else rows

    def holds(self, value: Any) -> bool:
        """Whether this very array is the present value."""
        return value is self.version()


def new_cell(value: Any, ctx: Context, *, aliased: bool = True) -> Cell:
    """A cell of an NDArray for an array of either kind, or for a `Refused` result."""
    if isinstance(value, np.ndarray):
        return LateCell(value, ctx, aliased=aliased)
    if isinstance(value, Refused):
        aval = aval_at(value.shape, value.dtype)
        cell = LateCell.awaited(aval, ctx) if ctx._is_cpu else Cell.promised(aval)
        cell.wait_for(value.refusal, aval)
        return cell
    if ctx._is_cpu:
        return LateCell.on_device(value, ctx, aliased=aliased)
    return Cell(value, aliased=aliased)


def refusal_of(cell: AnyCell) -> Refusal | None:
    """The refused call that a cell, or the cell behind a view, waits for."""
    while isinstance(cell, View):
        cell = cell.parent
    pending = cell._pending if isinstance(cell, Cell) else None
    return pending if isinstance(pending, Refusal) else None


class HostCell(LateCell):
    """A host cell whose array is passed to programs from the host, and placed when it is read."""

    __slots__ = ()

    def for_program(self) -> Any:
        return self.unmoved()


class InputCell(HostCell):
    """A cell for inputs of programs, which accept NumPy arrays."""

    __slots__ = ()

    def feed(self, rows: np.ndarray) -> None:
        """Replace the value by an immutable NumPy array."""
        self.rows, self._value, self._pending, self.aliased = rows, None, None, True
        self.aval = aval_at(rows.shape, rows.dtype)

    def snapshot(self, reader: Pending) -> Any:
        """The value for a program."""
        rows = self.rows
        if rows is None:
            value = self._value if self.aliased else None
            return super().snapshot(reader) if value is None else value
        self.aliased = True
        return rows


def settle(arrays: Sequence[Any]) -> None:
    """Compute arrays that are pending: by another module's pass, which takes that module's lock.

    A thread that held a lock of its own meanwhile could wait for one that waits for it.
    """
    for array in arrays:
        cell = getattr(array, "_cell", None)
        if cell is not None and type(cell) is not HostCell:
            cell.root.settle()


def accepted(inputs: Sequence[InputCell], arrays: Sequence[Any]) -> list[Any] | None:
    """The values of arrays that need no conversion, for `take_over`; ``None`` if one does.

    One needs none if it has the shape and type of the input's cell, whose `aval` is then the same
    object, and is on the host or on the input's device.
    """
    if len(arrays) != len(inputs):
        return None
    values: list[Any] = []
    for own, array in zip(inputs, arrays, strict=True):
        cell = getattr(array, "_cell", None)
        if not isinstance(cell, LateCell) or cell.aval is not own.aval:
            return None
        value: Any = None
        if type(cell) is HostCell:
            with replacing:
                if (value := cell.rows) is not None:
                    cell.aliased = True
        if value is None:
            if cell._ctx is not own._ctx and cell._ctx != own._ctx:
                return None
            value = cell.for_program()
        values.append(value)
    return values


def take_over(inputs: Sequence[InputCell], values: Sequence[Any]) -> None:
    """Replace values of inputs by immutable arrays of either kind, of the same shape and type."""
    for cell, value in zip(inputs, values, strict=True):
        if isinstance(value, np.ndarray):
            cell.rows, cell._value = value, None
        else:
            cell._value, cell.rows = value, None
        cell._pending, cell.aliased = None, True


class ShardedInputCell(InputCell):
    """A cell for a NumPy batch of a data-parallel program, which divides it: a row a device."""

    __slots__ = ("_sharding",)

    def __init__(self, rows: np.ndarray, ctx: Context, sharding: Any):
        super().__init__(rows, ctx)
        self._sharding = sharding

    def _place(self) -> Any:
        return self._sharding


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
