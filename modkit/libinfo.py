"""``mx.libinfo``: the version of MXNet's interface."""

from __future__ import annotations

from modkit.errors import NotSupportedError
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

__version__ = "1.9.1"


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """Raise: there is no C library."""
    raise NotSupportedError(f"{prefix}: modkit does without MXNet's C library; there is no path")


def find_include_path() -> str:
    """Raise: there are no C headers."""
    raise NotSupportedError("modkit does without MXNet's C library; there are no headers")
