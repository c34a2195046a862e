"""How glibc hands out the host's memory: freed pages are kept for the next step.

The arrays of a training step on a CPU are as large as those of the step before. glibc gives large
blocks back to the kernel as soon as they are free, and gets new pages, which the kernel has to
clear, for the next. `keep_pages` tells it not to. For blocks that are larger than a thread's own
arena that takes one arena for all threads, which then wait for each other: small networks are
faster without. ``docs/performance.md`` has the figures and what it costs.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
import sys

from modkit.errors import ParameterError
from modkit.heap import Heap

VARIABLE = "MODKIT_ALLOCATOR"
"""``keep`` is the default; ``large`` expects large networks; ``system`` leaves it alone."""

# From malloc.h, with the values that together keep freed pages.
_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD = -8, -4, -1
_KEEP = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1))
_ONE_ARENA = (_ARENA_MAX, 1)

_SMALL = 16 << 20
"""Bytes of a graph's variables and results. A thread's own arena has 64 MiB, and a program may hold
each of them and its gradient at once."""


def keep_pages(made: int | None = None) -> bool:
    """Tell glibc to keep freed pages, once a process; returns whether it was told.

    It helps only before there are threads that allocate, so it is called before modkit first asks
    JAX for a device, and before it starts a thread of its own. Nothing is done where the C library
    is another one, where the user has set it up already (``MALLOC_...``, ``GLIBC_TUNABLES``), where
    a plug-in of JAX for an accelerator is installed and ``JAX_PLATFORMS`` does not say ``cpu``, or
    where the environment variable ``MODKIT_ALLOCATOR`` says ``system``.

    Args:
        made: bytes of all variables and results of the first graph, where it is one that asks.

    Raises:
        ParameterError: the variable says something unknown.
    """
    if not _told:
        _told.append(_tell(small=made is not None and made <= _SMALL))
    return _told[0]


_told: list[bool] = []
"""What `keep_pages` has returned."""

_one_arena: list[bool] = []
"""True, if that was done with one arena."""


def one_heap() -> Heap | None:
    """The heap that all threads share, where `keep_pages` has made it so.

    Threads that allocated before that, if there are any, have arenas of their own.
    """
    return _heap() if _one_arena else None


@functools.cache
def _heap() -> Heap | None:
    here, there = ctypes.CDLL(None), ctypes.CDLL("libc.so.6")
    if any(_address(here, name) != _address(there, name) for name in ("malloc", "free")):
        return None  # another allocator has been loaded before
    try:
        return Heap(ctypes.PyDLL(None), here)
    except AttributeError:  # an old glibc
        return None


def _address(library: ctypes.CDLL, name: str) -> int | None:
    return ctypes.cast(library[name], ctypes.c_void_p).value


def _tell(small: bool) -> bool:
    wanted = os.environ.get(VARIABLE, "keep")
    if wanted not in ("keep", "large", "system"):
        raise ParameterError(f"{VARIABLE}: got {wanted!r}, expected 'keep', 'large' or 'system'")
    if wanted == "system" or not _is_glibc() or _is_set_up() or _may_have_accelerator():
        return False
    libc = ctypes.CDLL(None)
    one_arena = wanted == "large" or not small
    settings = (_ONE_ARENA, *_KEEP) if one_arena else _KEEP
    told = all(libc.mallopt(name, value) == 1 for name, value in settings)
    if told and one_arena:
        _one_arena.append(True)
    return told


def _is_glibc() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (ValueError, OSError):
        return False


_VARIABLES = {
    "MALLOC_ARENA_MAX", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_TOP_PAD_",
}  # fmt: skip


def _is_set_up() -> bool:
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return "glibc.malloc" in tunables or not _VARIABLES.isdisjoint(os.environ)


def _may_have_accelerator() -> bool:
    if os.environ.get("JAX_PLATFORMS", "").lower() == "cpu":
        return False
    return bool(importlib.metadata.entry_points(group="jax_plugins"))
