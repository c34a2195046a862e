"""``text in ("1", "true", "yes")``: truth values of words."""

from __future__ import annotations

import sysconfig

_TRUE, _FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0")


def strtobool(val: str) -> int:
    """1 for yes, true, on and 1; 0 for no, false, off and 0.

    Raises:
        ValueError: another word.
    """
    word = val.lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(f"strtobool: got {val!r}, expected one of {', '.join(_TRUE + _FALSE)}")
    return int(word in _TRUE)


def get_platform() -> str:
    """The platform, such as ``linux-x86_64``."""
    return sysconfig.get_platform()
