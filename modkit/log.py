"""``mx.log``: loggers in MXNet's form."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

CRITICAL = logging.CRITICAL
DEBUG = logging.DEBUG
ERROR = logging.ERROR
INFO = logging.INFO
NOTSET = logging.NOTSET
WARNING = logging.WARNING

_COLOURS = {DEBUG: "\x1b[32m", INFO: "\x1b[32m", WARNING: "\x1b[31m"}
_RESET = "\x1b[0m"


class _Formatter(logging.Formatter):
    """One letter for the level, the time, the process, and the place: ``W1120 17:58:29 61 ...``.

    Args:
        colour: whether the head of a line is coloured.
    """

    def __init__(self, colour: bool = False):
        super().__init__(datefmt="%m%d %H:%M:%S")
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """The line for a record."""
        head = (
            f"{record.levelname[0]}{self.formatTime(record, self.datefmt)} {record.process} "
            f"{record.pathname}:{record.funcName}:{record.lineno}]"
        )
        if self._colour:
            head = f"{_COLOURS.get(record.levelno, _COLOURS[WARNING])}{head}{_RESET}"
        text = f"{head} {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def get_logger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """A logger with a handler in MXNet's form; the same one for the same name.

    Args:
        name: of the logger; ``None`` for the root logger, which is left as it is.
        filename: a file to write to; default the error output.
        filemode: mode of the file; default ``"a"``.
        level: lowest level that is logged.
    """
    logger = logging.getLogger(name)
    if name is None or any(isinstance(h.formatter, _Formatter) for h in logger.handlers):
        return logger
    handler: logging.Handler
    if filename:
        handler = logging.FileHandler(filename, filemode or "a")
        handler.setFormatter(_Formatter())
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(_Formatter(colour=sys.stderr.isatty()))
    logger.addHandler(handler)
    logger.setLevel(level)
    return logger


def getLogger(*args: Any, **kwargs: Any) -> logging.Logger:
    """The old name of `get_logger`."""
    warnings.warn("getLogger is the old name of get_logger", DeprecationWarning, stacklevel=2)
    return get_logger(*args, **kwargs)
