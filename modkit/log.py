"""``mx.log``: loggers with MXNet's record format."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from modkit.errors import warn_caller
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

CRITICAL = logging.CRITICAL
DEBUG = logging.DEBUG
ERROR = logging.ERROR
INFO = logging.INFO
NOTSET = logging.NOTSET
WARNING = logging.WARNING

_COLOURS = {DEBUG: "\x1b[34m", INFO: "\x1b[32m", WARNING: "\x1b[31m"}
_RESET = "\x1b[0m"

_made: set[str] = set()


class _Formatter(logging.Formatter):
    """Level letter, date, time, process and source location: ``W1120 17:58:29 61 ...``."""

    def __init__(self, colour: bool = False):
        head = "%(levelname).1s%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]"
        super().__init__(head, "%m%d %H:%M:%S")
        self._colour = colour

    def formatMessage(self, record: logging.LogRecord) -> str:
        head = super().formatMessage(record)
        if self._colour:
            head = f"{_COLOURS.get(record.levelno, _COLOURS[WARNING])}{head}{_RESET}"
        return f"{head} {record.message}"


def hide_library_records() -> None:
    """Hide debug and info records of JAX and Pillow, which a root logger at DEBUG would show.

    The loggers ``jax`` and ``PIL`` get the level WARNING, unless they have one already;
    ``MODKIT_JAX_LOGS=on`` in the environment leaves ``jax`` as it is. ``import modkit`` calls this
    once; levels that are set later (``logging.getLogger("jax").setLevel(logging.DEBUG)``,
    ``jax_logging_level``) hold.
    """
    shown = {"jax"} if os.environ.get("MODKIT_JAX_LOGS", "off") == "on" else set()
    for name in {"jax", "PIL"} - shown:
        logger = logging.getLogger(name)
        if logger.level == NOTSET:
            logger.setLevel(WARNING)


def get_logger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """A logger with a handler of MXNet's; one logger for each name.

    Args:
        name: name of the logger; ``None`` for the root logger, which is not changed.
        filename: log file, which has the messages alone; default: standard error, where a prefix
            tells level, time and place.
        filemode: mode of the file; default ``"a"``.
    """
    logger = logging.getLogger(name)
    if name is None or name in _made:
        return logger
    _made.add(name)
    handler: logging.Handler
    if filename:
        handler = logging.FileHandler(filename, filemode or "a")
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(_Formatter(colour=sys.stderr.isatty()))
    logger.addHandler(handler)
    logger.setLevel(level)
    return logger


def getLogger(*args: Any, **kwargs: Any) -> logging.Logger:
    """The old name of `get_logger`."""
    warn_caller("getLogger is the old name of get_logger", DeprecationWarning)
    return get_logger(*args, **kwargs)
