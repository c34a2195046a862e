"""How glibc hands out the host's memory: freed pages are kept for the next step.

The arrays of a training step on a CPU are as large as those of the step before. glibc gives large
blocks back to the kernel as soon as they are free, and gets new pages, which the kernel has to
clear, for the next. `keep_pages` tells it not to. ``docs/performance.md`` has the figures and what
it costs.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
import sys

from modkit.errors import ParameterError

VARIABLE = "MODKIT_ALLOCATOR"
"""``keep`` is the default; ``system`` leaves the allocator alone."""

# From malloc.h, with the values that together keep freed pages. A block that is larger than a
# thread's own arena comes from the kernel whatever the other two say, so one arena it is.
_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD = -8, -4, -1
_SETTINGS = ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1))


@functools.cache
def keep_pages() -> bool:
    """Tell glibc to keep freed pages, once a process; returns whether it was told.

    It helps only before the threads are there that compute, so it is called before modkit first
    asks JAX for a device. Nothing is done where the C library is another one, where the user has
    set it up already (``MALLOC_...``, ``GLIBC_TUNABLES``), where a plug-in of JAX for an
    accelerator is installed and ``JAX_PLATFORMS`` does not say ``cpu``, or where the environment
    variable ``MODKIT_ALLOCATOR`` says ``system``.

    Raises:
        ParameterError: the variable says something else.
    """
    wanted = os.environ.get(VARIABLE, "keep")
    if wanted not in ("keep", "system"):
        raise ParameterError(f"{VARIABLE}: got {wanted!r}, expected 'keep' or 'system'")
    if wanted == "system" or not _is_glibc() or _is_set_up() or _may_have_accelerator():
        return False
    libc = ctypes.CDLL(None)
    return all(libc.mallopt(name, value) == 1 for name, value in _SETTINGS)


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
