"""Settings of glibc's allocator: freed pages are kept for the next training step.

The arrays of a training step on a CPU are as large as those of the step before. By default glibc
returns large blocks to the kernel when they are freed, and the next step gets new pages, which the
kernel has to clear. `keep_pages` turns that off. For blocks larger than the arena of a thread it
also sets one arena for all threads, which adds contention: small networks are faster with an arena
for each thread. ``docs/performance.md`` has figures and costs.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import logging
import mmap
import os
import sys
import threading
from typing import Any

from modkit.errors import expect

VARIABLE = "MODKIT_ALLOCATOR"
"""``keep`` is the default; ``large`` expects large networks; ``system`` changes nothing."""

_log = logging.getLogger(__name__)

# From malloc.h, with the values that together keep freed pages.
_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD = -8, -4, -1
_KEEP = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1))
_ONE_ARENA = (_ARENA_MAX, 1)

SMALL = 16 << 20
"""Bytes of a graph's variables and results. A thread's own arena has 64 MiB, and a program may hold
each of them and its gradient at once."""


def keep_pages(made: int) -> bool:
    """Make glibc keep freed pages, once a process; returns whether it does.

    It has the largest effect before any thread allocates, so a module calls it before the first
    use of a JAX device; executors with gradients call it where their graph is large. Nothing is
    set with another C library, if the user has configured glibc (``MALLOC_...``,
    ``GLIBC_TUNABLES``), if a JAX plug-in for an accelerator is installed and ``JAX_PLATFORMS`` is
    not ``cpu``, or if the environment variable ``MODKIT_ALLOCATOR`` is ``system``.

    Args:
        made: bytes of all variables and results of the graph that is bound.

    Raises:
        ParameterError: the variable has an unknown value.
    """
    with _lock:
        if not _kept:
            _kept.append(_set_up(small=made <= SMALL))
        return _kept[0]


def give_back() -> None:
    """Return the pages of all free blocks to the system, where `keep_pages` keeps them."""
    if _kept == [True]:
        ctypes.CDLL(None).malloc_trim(0)


_SIZES = tuple(n << 10 for n in (512, 256, 160, 128, 96, 64, 40, 36, 32))
"""Bytes: all blocks of one of glibc's free lists are at least as large as one of these."""

_LARGE = 1 << 20
"""Bytes from which on a free block stays: the arrays of a step use it."""

_HEADER = 24
"""Bytes by which a block may exceed the requested size."""


class _Usage(ctypes.Structure):
    """The result of ``mallinfo2``, with its field names."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost",
    )]  # fmt: skip


class Heap:
    """glibc's main heap, which grows by ``sbrk``; needs glibc 2.33 or later.

    Raises:
        AttributeError: the C library lacks one of the functions.
    """

    def __init__(self) -> None:
        libc = ctypes.PyDLL(None)  # the calls are short: other Python threads wait for them
        address, size = ctypes.c_void_p, ctypes.c_size_t
        self._malloc = _function(libc.malloc, address, size)
        self._free = _function(libc.free, None, address)
        self._usable = _function(libc.malloc_usable_size, size, address)
        self._usage = _function(libc.mallinfo2, _Usage)
        self._sbrk = _function(libc.sbrk, address, ctypes.c_ssize_t)
        self._madvise = _function(libc.madvise, ctypes.c_int, address, size, ctypes.c_int)

    def fill_holes(self) -> None:
        """Allocate the free blocks from 32 KiB to 1 MiB for good, and return their pages.

        A long compilation leaves tens of thousands of them. glibc keeps those of similar size in
        one sorted list and searches it for each block that a matrix product allocates, which takes
        15 % of a step of ResNet-20. Their addresses stay reserved, their memory does not.
        Larger blocks are allocated meanwhile, so that none of them is split, and then freed. A
        block at or after ``end`` is new memory: no free block of that size is left. In a thread
        with an arena of its own that holds for the first block, and nothing is done.
        """
        usage = self._usage()
        left = usage.fordblks - usage.keepcost
        end = self._sbrk(0) - usage.keepcost - _HEADER
        whole: list[int] = []
        rests: set[int] = set()  # addresses of the remainders of large blocks
        powers = (1 << n for n in range(left.bit_length() - 1, _LARGE.bit_length() - 2, -1))
        try:
            for size in (*powers, *_SIZES):
                while left > 0:
                    block = self._malloc(size - _HEADER)
                    if block is None or block >= end:
                        self._free(block)
                        break
                    usable = self._usable(block)
                    left -= usable
                    if size >= _LARGE or block in rests:
                        whole.append(block)
                        rests.add(block + usable + ctypes.sizeof(ctypes.c_size_t))
                    else:
                        self._return_pages(block, usable)
        finally:
            for block in whole:
                self._free(block)

    def _return_pages(self, block: int, size: int) -> None:
        begin = -(-block // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (block + size) // mmap.PAGESIZE * mmap.PAGESIZE
        if begin < end:
            self._madvise(begin, end - begin, mmap.MADV_DONTNEED)


def _function(function: Any, result: Any, *arguments: Any) -> Any:
    """A C function with its result and argument types."""
    function.restype, function.argtypes = result, arguments
    return function


def fill_holes() -> None:
    """`Heap.fill_holes`, where all threads share the main heap because of `keep_pages`."""
    if _shared and _is_glibc_malloc():
        with _lock, contextlib.suppress(AttributeError):  # an older glibc
            Heap().fill_holes()


def _is_glibc_malloc() -> bool:
    """Whether ``malloc`` and ``free`` are glibc's, and not those of a preloaded allocator."""
    here, glibc = ctypes.CDLL(None), ctypes.CDLL("libc.so.6")
    return all(_address(here, name) == _address(glibc, name) for name in ("malloc", "free"))


def _address(library: ctypes.CDLL, name: str) -> int | None:
    return ctypes.cast(library[name], ctypes.c_void_p).value


_lock = threading.Lock()
_shared: list[bool] = []
"""True if `keep_pages` has set one arena for all threads."""

_kept: list[bool] = []
"""The result of the first `keep_pages`."""


def _set_up(small: bool) -> bool:
    wanted = os.environ.get(VARIABLE, "keep")
    known = ("keep", "large", "system")
    expect(wanted in known, VARIABLE, wanted, "'keep', 'large' or 'system'")
    if wanted == "system" or not _is_glibc() or _is_set_up() or _may_have_accelerator():
        return False
    libc = ctypes.CDLL(None)
    one_arena = wanted == "large" or not small
    settings = (_ONE_ARENA, *_KEEP) if one_arena else _KEEP
    if not all(libc.mallopt(name, value) == 1 for name, value in settings):
        return False
    if one_arena:
        _shared.append(True)
    _log.info(
        "training on a CPU: to be faster, the process keeps the memory that a step frees for the "
        "next step%s; %s=system turns that off",
        ", in one heap for all threads" if one_arena else "",
        VARIABLE,
    )
    return True


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
