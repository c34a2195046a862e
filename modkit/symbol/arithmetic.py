"""Python's operators on symbols: nodes for ``a + b`` and ``2 / a``."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, Self, TypeVar

import numpy as np

from modkit.errors import DTypeError, NotImplementedForSymbol, ParameterError
from modkit.ops.absent_operators import AbsentOperators
from modkit.ops.elementwise.pairs import PAIRS, camel

A = TypeVar("A", bound="Arithmetic")


def _operator(stem: str, *, flip: bool = False) -> Callable[[A, Any], A]:
    """The method of an operator on two symbols, or on a symbol and a number."""
    pair = PAIRS[stem]
    scalar = pair.after_number if flip else pair.with_number
    called = scalar if pair.compares or scalar == "_rpower_scalar" else camel(scalar)

    def method(self: A, other: Any) -> A:
        if isinstance(other, Arithmetic):
            operands = (other, self) if flip else (self, other)
            return self._call(pair.alike, pair.called, *operands)
        return self._scalar(other, scalar, called)

    return method


class Arithmetic(AbsentOperators):
    """Python's operators over MXNet's. A mixin of Symbol."""

    __slots__ = ()
    _functions = "mx.sym"

    def _call(self, op_name: str, called: str, *symbols: Any, **params: Any) -> Self:
        """Compose an operator under the name ``called``."""
        raise NotImplementedError

    def _scalar(self, other: Any, op_name: str, called: str) -> Self:
        if not isinstance(other, Number | np.number):
            shape = getattr(other, "shape", None)
            got = repr(other) if shape is None else f"shape {shape}"
            raise ParameterError(
                f"{op_name}: got {got} of type {type(other).__name__}, expected a Symbol or "
                "a number; pass arrays as Variables"
            )
        return self._call(op_name, called, self, scalar=other)

    __add__ = __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("sub"), _operator("sub", flip=True)
    __mul__ = __rmul__ = _operator("mul")
    __truediv__ = __div__ = _operator("div")
    __rtruediv__ = __rdiv__ = _operator("div", flip=True)
    __mod__, __rmod__ = _operator("mod"), _operator("mod", flip=True)
    __pow__, __rpow__ = _operator("power"), _operator("power", flip=True)
    __eq__: Any = _operator("equal")
    __ne__: Any = _operator("not_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")
    __lt__, __le__ = _operator("lesser"), _operator("lesser_equal")

    def __neg__(self) -> Self:
        return self._scalar(-1.0, "_mul_scalar", "_MulScalar")

    def __abs__(self) -> Self:
        return self._call("abs", "abs", self)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(
            "a Symbol has no truth value: its numbers are known only when it is bound and run. "
            "To ask whether there is one, write `is None` or `is not None`"
        )

    def _refuse_number(self, *_: Any, **__: Any) -> Any:
        raise DTypeError(
            f"{self!r} is no number or array: its values are known only when it is bound and run, "
            "as by eval(...)[0].asnumpy(); in the graph compute with functions of mx.sym, such as "
            "mx.sym.sqrt(a), and pass arrays as Variables"
        )

    __float__ = __int__ = __complex__ = __round__ = __array__ = _refuse_number

    def _refuse_inplace(self, other: Any) -> Self:
        raise NotImplementedForSymbol(
            "a Symbol cannot be changed in place (+=, -=, *=, /=); write a = a + b"
        )

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __idiv__ = _refuse_inplace
