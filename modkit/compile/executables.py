"""Executables in the memory of this process: counted, bounded, and freed."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import sys
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

import jax

from modkit import fork
from modkit.fork import process
from modkit.signals import MAIN, DeferredReads

uses = itertools.count()
"""A logical clock: one tick a call, for least recently used."""


class CacheUse(NamedTuple):
    """The executables of one kind of programs.

    Attributes:
        programs: programs that have executables.
        executables: executables, one for each shapes and types of a program's arguments.
        limit: the number of executables from which the least recently used programs lose theirs.
    """

    programs: int
    executables: int
    limit: int


class Kept:
    """A program that counts its executables against a `Budget`.

    Attributes:
        used: the tick of the last call.
        executables: hashes of the signatures that are compiled.
        dropped: hashes of signatures whose executables are freed, the newest ``Budget._most``.
    """

    def __init__(self) -> None:
        self.used = 0
        self.executables: set[int] = set()
        self.dropped: dict[int, None] = {}

    def free(self) -> None:
        """Free the executables; the next call compiles again."""
        raise NotImplementedError


def _return_pages() -> None:
    """Return free pages to the system; of 240 MB of freed executables glibc keeps 230 otherwise."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)


class Budget:
    """The most executables that programs of one kind keep together.

    Beyond ``limit`` the least recently used programs lose their executables, until half are left.
    An executable that is compiled again was freed too early, so each doubles the limit, up to
    ``most``: shapes that never come again take bounded memory, and a loop over many shapes compiles
    them twice.
    """

    def __init__(self, limit: int, most: int):
        self.limit, self._most = limit, most
        self._programs: weakref.WeakSet[Kept] = weakref.WeakSet()
        self._lock = fork.lock()
        self._count = 0  # of executables; those of deleted programs are subtracted by `trim`

    def note(self, program: Kept, signature: int) -> None:
        """Count an executable that is compiled now."""
        with self._lock:
            if signature in program.executables:
                return
            if signature in program.dropped:
                del program.dropped[signature]
                self.limit = min(2 * self.limit, self._most)
            program.executables.add(signature)
            self._programs.add(program)
            self._count += 1

    def trim(self) -> None:
        """Free executables, least recently used first, if there are more than the limit."""
        if self._count <= self.limit:
            return
        with self._lock:
            self._count = sum(len(p.executables) for p in self._programs)
            if self._count > self.limit:
                self._free(self.limit // 2)

    def clear(self) -> None:
        """Free all executables."""
        with self._lock:
            self._count = sum(len(p.executables) for p in self._programs)
            self._free(0)
            for program in self._programs:
                program.dropped.clear()  # on request, not too early

    def _free(self, left: int) -> None:
        for program in sorted(self._programs, key=lambda p: p.used):
            if self._count <= left:
                break
            self._count -= len(program.executables)
            dropped = [*program.dropped, *program.executables]
            program.dropped = dict.fromkeys(dropped[-self._most :])
            program.executables.clear()
            program.free()
        _return_pages()

    def info(self) -> CacheUse:
        """The present numbers."""
        with self._lock:
            counts = [len(p.executables) for p in self._programs if p.executables]
            return CacheUse(len(counts), sum(counts), self.limit)


eager = Budget(limit=160, most=4096)
"""Programs of eager calls. An executable takes 1.5 MB on a CPU, so 160 take 240 MB."""

graphs = Budget(limit=1024, most=4096)
"""Programs of modules, executors and predictors."""


class Eager(Kept):
    """A pure function of arrays under `jax.jit`, called eagerly.

    Attributes:
        plain: the function itself, to be traced within another.
    """

    def __init__(self, fn: Callable[..., Any]):
        super().__init__()
        self.__name__, self.plain = fn.__name__, fn
        self._tracing: DeferredReads | None = None
        me = weakref.ref(self)

        def traced(*args: Any) -> Any:
            program = me()
            if program is not None:  # traced once for each signature
                eager.note(program, hash(_signature(args)))
                block = DeferredReads()  # here: calls that trace nothing should take no longer
                block.__enter__()
                if block.defers:
                    program._tracing = block
            return fn(*args)

        traced.__name__ = fn.__name__
        self._jitted: Any = jax.jit(traced)  # JAX's type omits clear_cache

    def __call__(self, *args: Any) -> Any:
        """The function's results; NotSupportedError in a child forked after JAX had started."""
        if process.forked:
            raise process.error()
        self.used = next(uses)
        eager.trim()
        around = self._tracing
        try:
            return self._jitted(*args)
        finally:  # here, as JAX is in the trace until then
            block = self._tracing
            if block is not around and block is not None and get_ident() == MAIN:
                self._tracing = None
                block.__exit__()

    def free(self) -> None:
        self._jitted.clear_cache()


def _signature(args: Any) -> Any:
    leaves, layout = jax.tree.flatten(args)
    return layout, tuple((a.shape, str(a.dtype), a.weak_type) for a in map(jax.typeof, leaves))


def cache_info() -> dict[str, CacheUse]:
    """The executables that this process keeps.

    Returns:
        ``"eager"``: those of eager calls (``mx.nd``, `autograd`); ``"graphs"``: those of modules,
        executors and predictors on one device. Programs over several devices, of metrics and of
        stores are not counted; JAX frees them with their objects.
    """
    return {"eager": eager.info(), "graphs": graphs.info()}


def cache_clear() -> None:
    """Free the executables that `cache_info` counts; the next calls compile again."""
    eager.clear()
    graphs.clear()
