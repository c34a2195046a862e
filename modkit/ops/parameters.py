"""Kinds of parameters: the annotations that say how a value is read from MXNet's text."""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union

import numpy as np

from modkit.errors import ParameterError
from modkit.ops.dtypes import dtype_name

REQUIRED = inspect.Parameter.empty
"""The default of a parameter that has none."""

Attrs = Mapping[str, Any]
"""An operator's parsed parameters, by name."""

Params = tuple[tuple[str, Any], ...]
"""Parsed parameters as a hashable."""


@functools.lru_cache(maxsize=4096)
def as_mapping(params: Params) -> Attrs:
    """Parameters by name, for inference: the cache takes -0.0 for 0.0. Do not change the result."""
    return dict(params)


UNREADABLE = (ValueError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError)
"""Exceptions of reading a value from text; the last two come of text that is nested too deeply."""


def parse_value(value: Any, kind: Any, *, where: str) -> Any:
    """A typed parameter from a value or from MXNet's text for it.

    Args:
        value: ``3``, ``"3"``, ``(3, 3)``, ``"(3, 3)"``, ``"None"``, ``"True"``, ...
        where: operator and parameter, for the error.

    Raises:
        ParameterError: it cannot be read as ``kind``.
    """
    try:
        return _read(value, kind)
    except UNREADABLE as error:
        raise ParameterError(f"{where}: got {_shown(value)}, expected {spelled(kind)}") from error


def _shown(value: Any) -> str:
    """A value in an error message: of a number, which symbols keep as text, its digits alone."""
    try:
        float(value if isinstance(value, str) else "")
    except ValueError:
        return repr(value)
    return value


def is_traced(kind: Any) -> bool:
    """Whether a parameter is an argument of the compiled program."""
    return any(each.traced for each in getattr(kind, "__metadata__", ()))


@functools.cache
def spelled(kind: Any) -> str:
    """An annotation in words for an error message."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return parts[1].text
    if origin is Literal:
        return "one of " + ", ".join(repr(c) for c in parts)
    if origin in (Union, types.UnionType):
        return " or ".join(spelled(k) for k in parts)
    if origin is tuple:
        return f"a tuple of {spelled(parts[0])}"
    return "None" if kind is type(None) else getattr(kind, "__name__", str(kind))


# ── Reading ─────────────────────────────────────────────────────────────────────────────────


def _read(value: Any, kind: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(value, typing.get_args(kind))
    if origin is Literal:
        return _read_literal(value, typing.get_args(kind))
    if origin is tuple:
        return _read_tuple(value, typing.get_args(kind)[0])
    return kind.__metadata__[0].read(value) if origin is Annotated else _READERS[kind](value)


def _read_union(value: Any, kinds: tuple[Any, ...]) -> Any:
    if type(None) in kinds and (value is None or (isinstance(value, str) and value == "None")):
        return None
    failure: Exception = ValueError(value)
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return _read(value, kind)
        except (ValueError, TypeError, SyntaxError) as error:
            failure = error
    raise failure


def _read_literal(value: Any, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if value == choice or str(value) == str(choice):
            return choice
    if isinstance(value, type | np.dtype) and dtype_name(value) in choices:
        return dtype_name(value)
    raise ValueError(value)


def _read_tuple(value: Any, kind: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        text = value.strip().replace("L", "")
        value = ast.literal_eval(text) if text else ()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, tuple | list):
        value = (value,)
    return tuple(_read(v, kind) for v in value)


def _read_bool(value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": 1, "1": 1, "false": 0, "0": 0}.get(value.strip().lower())
    if isinstance(value, bool | int | np.bool_ | np.integer) and value in (0, 1):
        return bool(value)
    raise ValueError(value)


def _read_int(value: Any) -> int:
    if isinstance(value, str):
        return int(value.strip().removesuffix("L"))
    if isinstance(value, bool | np.bool_):
        raise ValueError(value)
    return operator.index(value)  # no 3.0, which MXNet refuses


def _read_float(value: Any) -> float:
    if isinstance(value, str) and value[-1:] == "f" and value[-3:] != "inf":
        value = value[:-1]  # MXNet reads C's "0.5f"
    return float(value)


def _between(least: float, most: float, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``read``, which raises ValueError for a number below ``least`` or above ``most``."""

    def run(value: Any) -> Any:
        number = read(value)
        if not least <= number <= most:
            raise ValueError(value)
        return number

    return run


_READERS: dict[Any, Callable[[Any], Any]] = {
    bool: _read_bool,
    int: _read_int,
    float: _read_float,
    str: str,
    Any: lambda value: value,
}

# ── Kinds ───────────────────────────────────────────────────────────────────────────────────


class _Kind(NamedTuple):
    """A kind of parameters that is narrower than its type.

    Attributes:
        text: the kind in words.
        read: a value of it from another value.
        traced: it is an argument of the compiled program.
    """

    text: str
    read: Callable[[Any], Any]
    traced: bool = False


_T = TypeVar("_T")
_INERT = "inert"

Inert = Annotated[_T, _INERT]
"""A parameter that the operator's function does not get: inference or storage types read it, or
nothing does.
"""

Device = Inert[str]
"""MXNet's parameter for the device. Where an array is made is decided outside the operator."""


def without_inert(kind: Any) -> tuple[Any, bool]:
    """An annotation without the mark `Inert`, and whether it had that."""
    *rest, last = getattr(kind, "__metadata__", (None,))
    if last is not _INERT:
        return kind, False
    return (Annotated[(kind.__origin__, *rest)] if rest else kind.__origin__), True


Shape = tuple[int, ...]
"""Sizes. In shape inference a 0 is a size that is not known yet, and ``None`` a whole shape."""

Axes = tuple[int, ...]
"""An axis or several."""

Size = Annotated[int, _Kind("an int of 1 or more", _between(1, math.inf, _read_int))]
"""A count: an integer of at least 1."""

Fraction = Annotated[float, _Kind("a fraction from 0 to 1", _between(0, 1, float))]
"""A share, such as a probability."""

DType = Annotated[str, _Kind("an element type", dtype_name)]
"""The name of an element type: ``"float32"``."""

Traced = Annotated[float, _Kind("float", float, traced=True)]
"""A number that is an argument of the compiled program, so that a new value compiles nothing."""

TracedTuple = Annotated[
    tuple[float, ...], _Kind("a tuple of float", lambda v: _read_tuple(v, float), traced=True)
]
"""Several such numbers."""

TracedInt = Annotated[int, _Kind("int", lambda v: float(_read_int(v)), traced=True)]
"""A number of updates: whole, and an argument of the compiled program."""

TracedInts = Annotated[
    tuple[int, ...],
    _Kind("a tuple of int", lambda v: tuple(map(float, _read_tuple(v, int))), traced=True),
]
"""Several of these."""
