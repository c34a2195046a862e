"""Python's operators on symbols: nodes for ``a + b`` and ``2 / a``."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, Self, TypeVar

import numpy as np

from modkit.errors import DTypeError, NotImplementedForSymbol, ParameterError
from modkit.ops.absent_operators import AbsentOperators

A = TypeVar("A", bound="Arithmetic")


def _binary(
    op_name: str, called: str, scalar: str, scalar_called: str, *, reverse: bool = False
) -> Callable[[A, Any], A]:
    """The method of an operator on two symbols, or on a symbol and a number."""

    def method(self: A, other: Any) -> A:
        if isinstance(other, Arithmetic):
            return self._call(op_name, called, *((other, self) if reverse else (self, other)))
        return self._scalar(other, scalar, scalar_called)

    return method


def _comparison(name: str) -> Callable[[A, Any], A]:
    return _binary(name, name, f"{name}_scalar", f"{name}_scalar")


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

    __add__ = __radd__ = _binary("elemwise_add", "_plus", "_plus_scalar", "_PlusScalar")
    __sub__ = _binary("elemwise_sub", "_minus", "_minus_scalar", "_MinusScalar")
    __rsub__ = _binary("elemwise_sub", "_minus", "_rminus_scalar", "_RMinusScalar", reverse=True)
    __mul__ = __rmul__ = _binary("elemwise_mul", "_mul", "_mul_scalar", "_MulScalar")
    __truediv__ = __div__ = _binary("elemwise_div", "_div", "_div_scalar", "_DivScalar")
    __rtruediv__ = __rdiv__ = _binary(
        "elemwise_div", "_div", "_rdiv_scalar", "_RDivScalar", reverse=True
    )
    __mod__ = _binary("_mod", "_mod", "_mod_scalar", "_ModScalar")
    __rmod__ = _binary("_mod", "_mod", "_rmod_scalar", "_RModScalar", reverse=True)
    __pow__ = _binary("_power", "_power", "_power_scalar", "_PowerScalar")
    __rpow__ = _binary("_power", "_power", "_rpower_scalar", "_rpower_scalar", reverse=True)
    __eq__: Any = _comparison("_equal")
    __ne__: Any = _comparison("_not_equal")
    __gt__ = _comparison("_greater")
    __ge__ = _comparison("_greater_equal")
    __lt__ = _comparison("_lesser")
    __le__ = _comparison("_lesser_equal")

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
