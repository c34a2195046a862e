"""Where an array's value is kept: the one place that a handle, its views and an executor share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from modkit.ops.registry import WIDE


_NO_SCOPE = contextlib.nullcontext()


def wide(*dtypes: Any) -> Any:
    """A scope in which 64-bit types stay 64-bit, if any of these is one; else a scope of nothing."""
    return jax.enable_x64(True) if any(str(d) in WIDE for d in dtypes) else _NO_SCOPE


class Pending(Protocol):
    """Work that, once run, fills the cells that wait for it."""

    def run(self) -> None:
        """Compute, and ``set`` every waiting cell."""


class Cell:
    """A value, or the promise of one.

    A buffer that anyone outside may still hold is *lent*; such a buffer must be copied before
    it is donated to a compiled step. Reading with `get` lends; `peek` is for readers that do
    not keep the array.
    """

    __slots__ = ("_pending", "_value", "aval", "lent")

    def __init__(self, value: jax.Array, *, lent: bool = True):
        self._value: jax.Array | None = value
        self._pending: Pending | None = None
        self.aval: Any = value.aval
        self.lent = lent

    def peek(self) -> jax.Array:
        """The value, computed now if it is pending. The caller must not keep it."""
        if self._pending is not None:
            pending = self._pending
            pending.run()
            if self._pending is pending:
                raise RuntimeError("a pending computation ended without a value")
        assert self._value is not None  # noqa: S101 - an invariant, not a user's mistake
        return self._value

    def get(self) -> jax.Array:
        """The value, which the caller may keep."""
        self.lent = True
        return self.peek()

    def take(self) -> jax.Array:
        """The value, to be donated: a copy where somebody else may hold it."""
        value = self.peek()
        return jnp.copy(value) if self.lent else value

    def set(self, value: jax.Array, *, lent: bool = False) -> None:
        """Replace the value."""
        self._value, self._pending, self.lent = value, None, lent
        self.aval = value.aval

    def wait_for(self, pending: Pending, aval: Any) -> None:
        """Forget the value; ``pending`` will set the next one, of shape and dtype ``aval``."""
        self._value, self._pending, self.aval, self.lent = None, pending, aval, False

    @property
    def pending(self) -> Pending | None:
        """The work that this cell waits for, if any."""
        return self._pending


class View:
    """A window on another cell: reads and writes go through to it."""

    __slots__ = ("_parent", "_read", "_write", "aval")

    def __init__(
        self,
        parent: AnyCell,
        read: Callable[[jax.Array], jax.Array],
        write: Callable[[jax.Array, jax.Array], jax.Array],
    ):
        self._parent, self._read, self._write = parent, read, write
        self.aval = jax.eval_shape(read, parent.aval)

    def peek(self) -> jax.Array:
        """The window's present value."""
        return self._read(self._parent.get())

    get = take = peek

    def set(self, value: jax.Array, *, lent: bool = False) -> None:
        """Write through to the parent."""
        del lent
        self._parent.set(self._write(self._parent.get(), value))


AnyCell = Cell | View
