"""Where an array's value is kept: the one place that a handle, its views and an executor share."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import Any, Protocol

import jax
import numpy as np

from modkit.errors import NotReadyError
from modkit.ops.registry import WIDE

_NO_SCOPE = contextlib.nullcontext()
_WIDE = WIDE | {np.dtype(name) for name in WIDE}


def wide(*dtypes: Any) -> Any:
    """A scope in which 64-bit types stay 64-bit, if any of these is one; else an empty scope."""
    return _Wide() if any(d in _WIDE for d in dtypes) else _NO_SCOPE


class _Wide:
    """JAX's 64-bit mode as a scope that may be entered again and again."""

    def __enter__(self) -> None:
        self._inner = jax.enable_x64(True)
        self._inner.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._inner.__exit__(*exc)


class Pending(Protocol):
    """Work that, once run, fills the cells that wait for it."""

    @property
    def settled(self) -> bool:
        """Whether it holds on to none of the arrays that it read."""
        ...

    def run(self) -> None:
        """Compute, ``set`` every waiting cell, and let go of what was read."""


under_way: weakref.WeakSet[Any] = weakref.WeakSet()
"""Work that may still have to run; `modkit.ndarray.waitall` runs it."""


class Cell:
    """A value, or the promise of one.

    A buffer that anyone outside may still hold is *lent*; such a buffer must be copied before
    it is donated to a compiled step. Reading with `get` lends; `peek` is for readers that do
    not keep the array; `snapshot` is for work that keeps it until it has run.
    """

    __slots__ = ("_pending", "_reader", "_value", "aval", "lent")
    waits = True

    def __init__(self, value: jax.Array, *, lent: bool = True):
        self._value: jax.Array | None = value
        self._pending: Pending | None = None
        self._reader: Pending | None = None
        self.aval: Any = value.aval
        self.lent = lent

    @classmethod
    def promised(cls, aval: Any) -> Cell:
        """A cell without a value yet; `wait_for` or `set` comes next."""
        cell = cls.__new__(cls)
        cell._value = cell._pending = cell._reader = None
        cell.aval, cell.lent = aval, False
        return cell

    def peek(self) -> jax.Array:
        """The value, computed now if it is pending. The caller must not keep it."""
        while self._pending is not None:
            pending = self._pending
            pending.run()
            if self._pending is pending:
                raise RuntimeError("a pending computation ended without a value")
        if self._value is None:
            raise NotReadyError("this array has no value yet: forward() comes first")
        return self._value

    def get(self) -> jax.Array:
        """The value, which the caller may keep."""
        value = self.peek()
        # Afterwards: a value that comes only now is nobody's at first.
        self.lent = True
        return value

    def snapshot(self, reader: Pending) -> jax.Array:
        """The value, which ``reader`` keeps until it has run."""
        value = self.peek()  # first: it may tell who reads
        if self._reader is not None and self._reader is not reader and not self._reader.settled:
            self.lent = True
        self._reader = reader
        return value

    def take(self, taker: Pending | None = None) -> jax.Array:
        """The value, to be donated: a copy where somebody other than ``taker`` may hold it."""
        value = self.peek()  # first: it may tell who reads
        reader = self._reader
        if reader is not None and reader is not taker and not reader.settled:
            reader.run()
            value = self.peek()
        # device_put compiles nothing, as jnp.copy would for each shape.
        return jax.device_put(value, value.sharding, may_alias=False) if self.lent else value

    def set(self, value: jax.Array, *, lent: bool = False) -> None:
        """Replace the value."""
        self._value, self._pending, self.lent = value, None, lent
        self.aval = value.aval

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Forget the value; ``pending`` will set the next one, of shape and dtype ``aval``."""
        self._value, self._pending, self.aval, self.lent = None, pending, aval, False

    def waits_on(self, pending: Pending) -> bool:
        """Whether it is this work that will set the value."""
        return self._pending is pending

    def holds(self, value: jax.Array) -> bool:
        """Whether this very buffer is the present value."""
        return self._value is value

    def forget(self, pending: Pending) -> None:
        """Stop waiting for work that failed; there is no value then."""
        if self._pending is pending:
            self._pending = None

    def fill(self, pending: Pending, value: jax.Array) -> None:
        """Take a computed value, if this cell still waits for it."""
        if self._pending is pending:
            self.set(value)


class View:
    """A window on another cell: reads and writes go through to it."""

    __slots__ = ("_parent", "_read", "_write", "aval")
    waits = False

    def __init__(
        self,
        parent: AnyCell,
        read: Callable[[jax.Array], jax.Array],
        write: Callable[[jax.Array, jax.Array], jax.Array],
        aval: Any = None,
    ):
        self._parent, self._read, self._write = parent, read, write
        if aval is None:
            with wide(parent.aval.dtype):
                aval = jax.eval_shape(read, parent.aval)
        self.aval = aval

    def peek(self) -> jax.Array:
        """The window's present value: a copy, but for a window on everything."""
        whole = self._parent.peek()
        value = self._read(whole)
        return self._parent.get() if value is whole else value

    def waits_on(self, pending: Pending) -> bool:
        """``False``: a window does not wait."""
        del pending
        return False

    def holds(self, value: jax.Array) -> bool:
        """``False``: what a window reads is a copy."""
        del value
        return False

    def get(self) -> jax.Array:
        """The same as `peek`: what a window reads is a copy."""
        return self.peek()

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Do nothing: a window cannot wait, so ``pending`` is run at once by who made it."""

    def forget(self, pending: Pending) -> None:
        """Do nothing: a window does not wait."""

    def fill(self, pending: Pending, value: jax.Array) -> None:
        """Write through to the parent."""
        del pending
        self.set(value)

    def snapshot(self, reader: Pending) -> jax.Array:
        """The same as `peek`."""
        del reader
        return self.peek()

    def take(self, taker: Pending | None = None) -> jax.Array:
        """The same as `peek`."""
        del taker
        return self.peek()

    def set(self, value: jax.Array, *, lent: bool = False) -> None:
        """Write through to the parent."""
        del lent
        self._parent.set(self._write(self._parent.get(), value))


AnyCell = Cell | View
