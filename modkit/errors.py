"""The exception classes; each also subclasses the built-in exception that a caller would catch.

MXNet validates arguments with ``assert``, so errors about arguments, names and shapes are also
AssertionErrors.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Any


class MXNetError(RuntimeError):
    """Any error that modkit raises on purpose. ``ModkitError`` is the same class.

    Attributes:
        refusal: the refused call whose results raise this error when they are read.
    """

    refusal: Any = None


ModkitError = MXNetError


class ShapeError(ModkitError, ValueError, AssertionError):
    """Shapes do not match, or cannot be inferred."""


class DTypeError(ModkitError, TypeError):
    """Element types do not match, or are not supported."""


class ParameterError(ModkitError, ValueError, TypeError, AssertionError):
    """An unknown parameter of an operator, iterator or optimizer, or an invalid value."""


class NameNotFoundError(ModkitError, ValueError, KeyError, AssertionError):
    """An unknown name of an operator, metric, initializer, argument or key."""

    def __str__(self) -> str:
        return RuntimeError.__str__(self)


class NotReadyError(ModkitError, AssertionError):
    """A method was called before the methods that it depends on."""


class DistributedError(ModkitError, RuntimeError):
    """Workers of a distributed training that cannot be reached, have ended, or differ."""


class DeviceError(ModkitError):
    """A context without a device on this machine."""


class FileFormatError(ModkitError, ValueError):
    """A malformed file. The message contains file, offset and reason."""


class FileAccessError(ModkitError, OSError):
    """A file that cannot be read or written: the disk is full, or permission is missing."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MissingFileError(ModkitError, FileNotFoundError):
    """A file to be read does not exist."""

    __str__ = FileAccessError.__str__


class NotSupportedError(ModkitError, NotImplementedError):
    """A part of MXNet that modkit does not implement. The message names a replacement."""


class NotImplementedForSymbol(NotSupportedError):
    """A method of NDArray that is not available on a Symbol."""


def instance_hint(value: object) -> str:
    """The hint to call a class, or a function that has a name; else an empty string."""
    name = getattr(value, "__name__", "")
    return f"; call it: {name}(...)" if name.isidentifier() and callable(value) else ""


def typed(value: object) -> str:
    """``repr``, with the type of a text, as ``'0.1'`` is easily taken for a number."""
    return f"{value!r} of type str" if isinstance(value, str) else repr(value)


def wrong(what: str, got: object, expected: str) -> ParameterError:
    """The error of an argument; a class stands for a value of it, whose ``repr`` may be long."""
    shown = got.__name__ if isinstance(got, type) else repr(got)
    return ParameterError(f"{what}: got {shown}, expected {expected}")


def expect(holds: object, what: str, got: object, expected: str) -> None:
    """Raise the error of `wrong` unless a condition holds."""
    if not holds:
        raise wrong(what, got, expected)


def one_of(what: str, got: object, choices: Collection[object]) -> None:
    """Raise the error of `wrong` unless a value is one of some."""
    expect(got in choices, what, got, f"one of {', '.join(map(repr, choices))}")


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first names, and the number of further ones.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def some(names: Sequence[str], most: int = 5) -> str:
    """The same of names in quotes."""
    return listed(list(map(repr, names)), most)


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint `` Did you mean 'a', 'b'?``, or an empty string without close matches."""
    close = difflib.get_close_matches(str(name), [str(k) for k in known], n=3, cutoff=0.5)
    return f" Did you mean {', '.join(map(repr, close))}?" if close else ""


def unknown(what: str, name: str, known: Collection[str], label: str = "There are") -> str:
    """A message for an unknown name, with the nearest names and all known ones."""
    return f"{what} {name!r}.{nearest(name, known)} {label}: {', '.join(known) or 'none'}"


def check_known(what: str, name: str, known: Collection[str], label: str = "There are") -> None:
    """Raise NameNotFoundError, with the message of `unknown`, unless a name is known."""
    if name not in known:
        raise NameNotFoundError(unknown(what, name, known, label))


def not_taken(
    where: str, name: str, takes: Collection[str], what: str = "parameter", hint: str | None = None
) -> ParameterError:
    """The error of a call that is given a name which it does not take."""
    hint = nearest(name, takes) if hint is None else hint
    known = ", ".join(takes) or "none"
    return ParameterError(f"{where}: no {what} {name!r}.{hint} It takes: {known}")


def caller_level() -> int:
    """The ``stacklevel`` of a warning that names the nearest line outside of modkit."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "modkit":
        frame, level = frame.f_back, level + 1
    return level


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn, at the nearest line outside of modkit."""
    warnings.warn(message, category, stacklevel=caller_level())


def calling_line() -> str:
    """The nearest line outside of modkit, as ``file:line``."""
    frame = sys._getframe(caller_level() - 1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
