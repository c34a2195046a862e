"""Python's operators that MXNet's arrays and symbols do not have: each error names a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from modkit.errors import DTypeError

_FUNCTIONS = {
    # method: notation, function
    "matmul": ("a @ b", "{0}.dot(a, b)"),
    "floordiv": ("a // b", "{0}.floor(a / b)"),
    "divmod": ("divmod(a, b)", "{0}.floor(a / b) and a % b"),
    "lshift": ("a << b", "a * 2**b"),
    "rshift": ("a >> b", "{0}.floor(a / 2**b)"),
    "and": ("a & b", "{0}.broadcast_logical_and(a, b)"),
    "or": ("a | b", "{0}.broadcast_logical_or(a, b)"),
    "xor": ("a ^ b", "{0}.broadcast_logical_xor(a, b)"),
}


class AbsentOperators:
    """Raises a TypeError for operators undefined in MXNet too. A base of NDArray and Symbol."""

    __slots__ = ()
    _functions: ClassVar[str]
    """The module of their functions, such as ``mx.nd``."""

    def __invert__(self) -> Any:
        raise self._undefined("~a", "{0}.logical_not(a)")

    def _undefined(self, notation: str, instead: str) -> DTypeError:
        kind, function = type(self).__name__, instead.format(self._functions)
        return DTypeError(f"{notation}: {kind} has no such operator, as in MXNet; use {function}")


def _method(
    notation: str, instead: str, *, reflected: bool
) -> Callable[[AbsentOperators, Any], Any]:
    def method(self: AbsentOperators, other: Any) -> Any:
        if reflected or isinstance(other, AbsentOperators | int | float):
            raise self._undefined(notation, instead)
        return NotImplemented  # the other operand may define it, as NumPy's arrays do

    return method


for _name, _texts in _FUNCTIONS.items():
    setattr(AbsentOperators, f"__{_name}__", _method(*_texts, reflected=False))
    setattr(AbsentOperators, f"__r{_name}__", _method(*_texts, reflected=True))
