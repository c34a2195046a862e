"""The exceptions: few, each also the built-in that a caller would catch.

Where MXNet refuses an argument by ``assert``, a caller catches an AssertionError: so errors about
arguments, names and shapes are that, too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MXNetError(RuntimeError):
    """Any error that modkit raises on purpose. ``ModkitError`` is the same class."""


ModkitError = MXNetError


class ShapeError(ModkitError, ValueError, AssertionError):
    """Shapes do not fit, or cannot be inferred from what is known."""


class DTypeError(ModkitError, TypeError):
    """Element types do not fit, or are not known to modkit."""


class ParameterError(ModkitError, ValueError, TypeError, AssertionError):
    """An operator, iterator or optimizer got a parameter that it does not take, or a bad value."""


class NameNotFoundError(ModkitError, ValueError, KeyError, AssertionError):
    """A name (operator, metric, initializer, argument, key) that nothing is registered under."""

    def __str__(self) -> str:
        return RuntimeError.__str__(self)


class NotReadyError(ModkitError, AssertionError):
    """A method was called before the ones that it needs."""


class DeviceError(ModkitError):
    """A context that names no device of this machine."""


class FileFormatError(ModkitError, ValueError):
    """A file that is not what it should be: the message names file, offset and reason."""


class NotSupportedError(ModkitError, NotImplementedError):
    """A part of MXNet that modkit does not have. The message says what to use instead."""


class NotImplementedForSymbol(NotSupportedError):
    """A method that only an NDArray has, called on a Symbol."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> str:
    """A hint `` Did you mean 'a', 'b'?``, or an empty string where nothing is near."""
    close = difflib.get_close_matches(str(name), [str(k) for k in known], n=count, cutoff=0.5)
    return f" Did you mean {', '.join(map(repr, close))}?" if close else ""
