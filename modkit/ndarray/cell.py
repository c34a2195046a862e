"""Cells: the storage of an array's value, shared by its handle, its views and executors."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import jax
import numpy as np

from modkit.errors import NotReadyError
from modkit.ops.registry import WIDE

_NO_SCOPE = contextlib.nullcontext()
_WIDE = WIDE | {np.dtype(name) for name in WIDE}


def x64_for(*dtypes: Any) -> Any:
    """The enable_x64 scope if any of these types has 64 bits; else an empty scope."""
    return x64_scope(needs_x64(*dtypes))


def needs_x64(*dtypes: Any) -> bool:
    """Whether any of these types has 64 bits."""
    return any(d in _WIDE for d in dtypes)


def x64_scope(enabled: bool) -> Any:
    """The enable_x64 scope, or an empty one."""
    return _X64Scope() if enabled else _NO_SCOPE


class _X64Scope:
    """An enable_x64 scope that may be entered more than once."""

    def __enter__(self) -> None:
        self._inner = jax.enable_x64(True)
        self._inner.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._inner.__exit__(*exc)


def placed_on(value: Any, device: Any) -> jax.Array:
    """A value on a device; itself if it is already there."""
    if isinstance(value, jax.Array) and value.committed and value.devices() == {device}:
        return value
    with x64_for(value.dtype):
        return jax.device_put(value, device)


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


Change = Callable[[jax.Array], jax.Array]
"""A pure function from the value of a cell to its next value."""

replacing = threading.RLock()
"""Held while the value of a `Cell` is compared and replaced, and while nothing else runs."""


class AnyCell(Protocol):
    """The cell of a handle: a `Cell`, a `View`, or a slot of a module's store.

    Attributes:
        aval: shape and element type.
        waits: whether it can wait for a deferred computation of its value.
    """

    aval: Any
    waits: bool

    def peek(self) -> jax.Array:
        """The value, which the caller must not keep."""
        ...

    def get(self) -> jax.Array:
        """The value, which the caller may keep."""
        ...

    def snapshot(self, reader: Pending) -> jax.Array:
        """The value, which ``reader`` keeps until it has run."""
        ...

    def take(self, taker: Pending | None = None) -> jax.Array:
        """The value, to be donated."""
        ...

    def set(self, value: jax.Array, *, aliased: bool = False) -> None:
        """Replace the value; ``aliased`` if the buffer may be aliased."""
        ...

    def edit(self, change: Change, *, aliased: bool = False) -> None:
        """Replace the value by ``change`` of it; no write of another thread is lost meanwhile."""
        ...

    def holds(self, value: Any) -> bool:
        """Whether this very buffer is the present value."""
        ...

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Wait for ``pending``, which will set the value."""
        ...

    def forget(self, pending: Pending) -> None:
        """Stop waiting for a computation that has failed."""
        ...

    def fill(self, pending: Pending, value: Any) -> None:
        """Store a computed value, if the cell waits for ``pending``."""
        ...


class Cell:
    """A value, or the promise of one.

    A buffer is *aliased* if other code may hold a reference to it; it must be copied before it is
    donated to a compiled step. `get` marks it as aliased; `peek` is for readers that keep no
    reference; `snapshot` is for a deferred computation, which keeps it until it has run.
    """

    __slots__ = ("_pending", "_reader", "_value", "aliased", "aval")
    waits = True

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
        """The value, which the caller may keep."""
        value = self.peek()
        # After `peek`: a value computed there is not aliased yet.
        self.aliased = True
        return value

    def snapshot(self, reader: Pending) -> jax.Array:
        """The value, which ``reader`` keeps until it has run."""
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
        # device_put compiles nothing, as jnp.copy would for each shape.
        return jax.device_put(value, value.sharding, may_alias=False) if self.aliased else value

    def set(self, value: jax.Array, *, aliased: bool = False) -> None:
        """Replace the value."""
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

    def holds(self, value: Any) -> bool:
        """Whether this very buffer is the present value."""
        return self._value is value

    def forget(self, pending: Pending) -> None:
        """Stop waiting for a computation that has failed, without a value."""
        if self._pending is pending:
            self._pending = None

    def fill(self, pending: Pending, value: Any) -> None:
        """Store a computed value, if this cell still waits for it."""
        if self._pending is pending:
            self._value, self._pending, self.aliased, self.aval = value, None, False, value.aval


class View:
    """A window on another cell: reads and writes go through to it.

    Args:
        parent: the other cell.
        read: the window's value, from the parent's.
        write: the parent's value after the window is written.
        aval: shape and element type of the window; default those of ``read``.
        window: for a parent on the host, the window of a contiguous NumPy array, without a copy.
    """

    __slots__ = ("_read", "_write", "aval", "parent", "window")
    waits = False

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

    def peek(self) -> jax.Array:
        """The window's present value: a copy, unless the window covers the whole parent."""
        whole = self.parent.peek()
        value = self._read(whole)
        return self.parent.get() if value is whole else value

    def holds(self, value: Any) -> bool:
        """``False``: a window reads copies."""
        del value
        return False

    def get(self) -> jax.Array:
        """The same as `peek`: a window reads copies."""
        return self.peek()

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Do nothing: a window cannot wait, so the caller runs ``pending`` at once."""

    def forget(self, pending: Pending) -> None:
        """Do nothing: a window does not wait."""

    def fill(self, pending: Pending, value: Any) -> None:
        """Write through to the parent."""
        del pending
        self.set(value)

    def snapshot(self, reader: Pending) -> jax.Array:
        """The same as `peek`."""
        del reader
        return self.peek()

    def take(self, taker: Pending | None = None) -> jax.Array:
        """A copy, to be donated."""
        del taker
        whole = self.parent.peek()
        value = self._read(whole)
        return jax.device_put(value, value.sharding, may_alias=False) if value is whole else value

    def set(self, value: jax.Array, *, aliased: bool = False) -> None:
        """Write through to the parent."""
        self.parent.edit(lambda whole: self._write(whole, value), aliased=aliased)

    def edit(self, change: Change, *, aliased: bool = False) -> None:
        """Write ``change`` of the window's value through to the parent."""
        self.parent.edit(
            lambda whole: self._write(whole, change(self._read(whole))), aliased=aliased
        )
