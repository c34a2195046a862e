"""glibc's heap where all threads share one arena: room for a step's large block, and few holes.

Two things there make steps slow or large, and both follow from how glibc looks for a free block:

- A compilation leaves tens of thousands of free blocks between others that stay. Those of
  like size stand in one list, sorted, and each block that a product asks for is looked for along
  it: an eighth of the work of a ResNet-50 step. `Heap.take_holes` takes these away.
- A program's scratch memory is one block. What it leaves is often a few bytes too small for the
  next one, as glibc 2.36 asks for more than it then uses and hands out the rest. The heap grows by
  the block, and the pages of the old one stay. `Room` gives them back first.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
from typing import Any

KiB, MiB = 1 << 10, 1 << 20

SLOW_S = 1.0
"""Compilations that take longer leave enough holes to look for them."""

_SIZES = tuple(n * KiB for n in (512, 256, 160, 128, 96, 64, 40, 36, 32))
"""Where lists of like sizes begin: all of a list's blocks are at least that large."""

_HEAD = 24
"""Bytes by which a block is larger than what was asked for, at most."""

_SIZE_FIELD = 8
"""Bytes between what can be used of a block and the next block."""

_ALIGNING = 64 + 32 + _HEAD
"""Bytes that glibc looks for beyond the size of an aligned block."""

_SPARE = 64 * MiB
"""Bytes, not touched as long as nobody asks for them, for what else is asked for before it."""

_PAUSES_S = (0.0002, 0.001, 0.002, 0.004, 0.008)
"""How long a block may take to come back after its run has ended, and when to look for it.

Not at once: the results of the run before are freed just after its scratch memory, and what they
leave must be there too, or the next results are cut from the room.
"""

_MOVES = 12
"""How often a block may move and have pages given back. Each time they have to be got anew."""


_DONT_NEED, _HUGE_PAGE = 4, 14
"""Advice, from sys/mman.h."""

_HUGE = 2 * MiB
_KEEP_TOP = 1 << 60
"""Bytes at the heap's end of which no page is given back: all of them."""


class _Info(ctypes.Structure):
    """What ``mallinfo2`` tells; its names."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost",
    )]  # fmt: skip


def _function(function: Any, result: Any, *arguments: Any) -> Any:
    """A function of a C library, with the types of what it returns and takes."""
    function.restype, function.argtypes = result, arguments
    return function


class Heap:
    """The heap of a process whose threads share one arena.

    Args:
        libc: glibc 2.33 or later, by `ctypes.PyDLL`: Python's lock is kept in calls this short.
        patient: the same by `ctypes.CDLL`, for calls that let other threads run meanwhile.
    """

    def __init__(self, libc: Any, patient: Any):
        address, size = ctypes.c_void_p, ctypes.c_size_t
        self._malloc = _function(libc.malloc, address, size)
        self._free = _function(libc.free, None, address)
        self._usable = _function(libc.malloc_usable_size, size, address)
        self._trim = _function(patient.malloc_trim, ctypes.c_int, size)
        self._info = _function(libc.mallinfo2, _Info)
        self._sbrk = _function(libc.sbrk, address, ctypes.c_ssize_t)
        self._madvise = _function(libc.madvise, ctypes.c_int, address, size, ctypes.c_int)
        self._turn = threading.Lock()

    def take_holes(self) -> None:
        """Take the free blocks of `_SIZES` out of the heap for good, and give their pages back.

        Larger ones are taken for that time, so that nothing is cut from them, and the heap's end
        is told by its address. That may move the end, to memory that nobody touches. Free blocks
        of other threads' arenas, if there are any, stay.
        """
        with self._turn:
            info = self._info()
            left = info.fordblks - info.keepcost
            top = self._sbrk(0) - info.keepcost - _HEAD
            large: list[int] = []
            rests: set[int] = set()  # where what is left of a large block begins
            try:
                for size in (*(1 << n for n in range(left.bit_length() - 1, 19, -1)), *_SIZES):
                    while left > 0:
                        block = self._malloc(size - _HEAD)
                        if block is None or block >= top:
                            self._free(block)
                            break
                        whole = self._usable(block)
                        left -= whole
                        if size >= MiB or block in rests:
                            large.append(block)
                            rests.add(block + whole + _SIZE_FIELD)
                        else:
                            self._advise(block, whole, mmap.PAGESIZE, _DONT_NEED)
            finally:
                for block in large:
                    self._free(block)

    def room(self, size: int, beside: int) -> Room:
        """Room for an aligned block, see `Room`."""
        return Room(self, size, beside)

    def place(self, size: int) -> int | None:
        """Where a block would lie, if it were asked for now."""
        block = self._malloc(size)
        self._free(block)
        return block

    def give_back(self) -> None:
        """Give the pages of all free blocks to the system, but for those at the heap's end."""
        self._trim(_KEEP_TOP)

    def make_huge(self, size: int) -> None:
        """Find a block, and have the system give it huge pages, if it does that when asked."""
        block = self._malloc(size)
        if block is not None:
            self._advise(block, size, _HUGE, _HUGE_PAGE)
            self._free(block)

    def _advise(self, block: int, size: int, page: int, advice: int) -> None:
        """Tell the system about the whole pages of a block."""
        begin, end = -(-block // page) * page, (block + size) // page * page
        if begin < end:
            self._madvise(begin, end - begin, advice)


class Room:
    """The place of a program's scratch memory: one block, asked for and freed by each run.

    Args:
        heap: the heap.
        size: bytes of the block.
        beside: bytes of what a run asks for before it.
    """

    def __init__(self, heap: Heap, size: int, beside: int):
        self._heap, self._size, self._beside = heap, size, beside
        self._place: int | None = None
        self._moves = 0

    def make(self) -> None:
        """See that the next block lies where the last one did.

        It is called when a run has ended, whose block may be freed a little later. Where the block
        has to lie elsewhere all the same, pages of free blocks are given back first. That takes
        them from others too, so it is done `_MOVES` times at most.
        """
        if self._moves >= _MOVES or (self._place and self._comes_back_to(self._place)):
            return
        self._moves += 1
        self._heap.give_back()
        self._heap.make_huge(self._size + self._beside + _SPARE)
        self._place = self._heap.place(self._size + _ALIGNING)

    def _comes_back_to(self, place: int) -> bool:
        for pause in _PAUSES_S:
            time.sleep(pause)
            found = self._heap.place(self._size + _ALIGNING)
            # What was asked for before it may have moved it a little.
            if found is None or abs(found - place) <= self._size // 4:
                return True
        return False
