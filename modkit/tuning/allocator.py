"""Settings of glibc's allocator: freed pages are kept for the next training step.

The arrays of a training step on a CPU are as large as those of the step before. By default glibc
returns large blocks to the kernel when they are freed, and the next step gets new pages, which the
kernel has to clear. `keep_pages` turns that off. For blocks larger than the arena of a thread it
also sets one arena for all threads, which adds contention: small networks are faster with an arena
for each thread. ``docs/performance.md`` has figures and costs.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import logging
import os
import sys
import threading

from modkit.errors import ParameterError

VARIABLE = "MODKIT_ALLOCATOR"
"""``keep`` is the default; ``large`` expects large networks; ``system`` changes nothing."""

_log = logging.getLogger(__name__)

# From malloc.h, with the values that together keep freed pages.
_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD = -8, -4, -1
_KEEP = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1))
_ONE_ARENA = (_ARENA_MAX, 1)

_SMALL = 16 << 20
"""Bytes of a graph's variables and results. A thread's own arena has 64 MiB, and a program may hold
each of them and its gradient at once."""


def keep_pages(made: int) -> bool:
    """Make glibc keep freed pages, once a process; returns whether it does.

    It has the largest effect before any thread allocates, so a module calls it before the first
    use of a JAX device. Nothing is set with another C library, if the user has configured glibc
    (``MALLOC_...``, ``GLIBC_TUNABLES``), if a JAX plug-in for an accelerator is installed and
    ``JAX_PLATFORMS`` is not ``cpu``, or if the environment variable ``MODKIT_ALLOCATOR`` is
    ``system``.

    Args:
        made: bytes of all variables and results of the graph that is bound.

    Raises:
        ParameterError: the variable has an unknown value.
    """
    with _lock:
        if not _kept:
            _kept.append(_set_up(small=made <= _SMALL))
        return _kept[0]


def give_back() -> None:
    """Return the pages of all free blocks to the system, where `keep_pages` keeps them."""
    if _kept == [True]:
        ctypes.CDLL(None).malloc_trim(0)


_lock = threading.Lock()
_kept: list[bool] = []
"""The result of the first `keep_pages`."""


def _set_up(small: bool) -> bool:
    wanted = os.environ.get(VARIABLE, "keep")
    if wanted not in ("keep", "large", "system"):
        raise ParameterError(f"{VARIABLE}: got {wanted!r}, expected 'keep', 'large' or 'system'")
    if wanted == "system" or not _is_glibc() or _is_set_up() or _may_have_accelerator():
        return False
    libc = ctypes.CDLL(None)
    one_arena = wanted == "large" or not small
    settings = (_ONE_ARENA, *_KEEP) if one_arena else _KEEP
    if not all(libc.mallopt(name, value) == 1 for name, value in settings):
        return False
    _log.info(
        "training on a CPU: glibc keeps freed memory for the next step in this process (mallopt%s);"
        " %s=system or MODKIT_TUNING=off leaves it alone",
        ", one arena" if one_arena else "",
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
