"""Python's operators on symbols: nodes for ``a + b`` and ``2 / a``."""

from __future__ import annotations

from numbers import Number
from typing import Any, Self

import numpy as np

from modkit.errors import NotImplementedForSymbol, ParameterError


class Arithmetic:
    """Python's operators over MXNet's. A mixin of Symbol."""

    __slots__ = ()

    def _call(self, op_name: str, called: str, *symbols: Any, **params: Any) -> Self:
        """Compose an operator under the name ``called``."""
        raise NotImplementedError

    def _binary(self, other: Any, op_name: str, called: str, scalar: tuple[str, str]) -> Self:
        if isinstance(other, Arithmetic):
            return self._call(op_name, called, self, other)
        return self._scalar(other, *scalar)

    def _compare(self, other: Any, name: str) -> Self:
        return self._binary(other, name, name, (f"{name}_scalar", f"{name}_scalar"))

    def _reversed(self, other: Any, op_name: str, called: str, scalar: tuple[str, str]) -> Self:
        if isinstance(other, Arithmetic):
            return self._call(op_name, called, other, self)
        return self._scalar(other, *scalar)

    def _scalar(self, other: Any, op_name: str, called: str) -> Self:
        if isinstance(other, bool) or not isinstance(other, Number | np.number):
            shape = getattr(other, "shape", None)
            got = repr(other) if shape is None else f"shape {shape}"
            raise ParameterError(
                f"{op_name}: got {got} of type {type(other).__name__}, expected a Symbol or "
                "a number; pass arrays as Variables"
            )
        return self._call(op_name, called, self, scalar=other)

    def __add__(self, other: Any) -> Self:
        return self._binary(other, "elemwise_add", "_plus", ("_plus_scalar", "_PlusScalar"))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        return self._binary(other, "elemwise_sub", "_minus", ("_minus_scalar", "_MinusScalar"))

    def __rsub__(self, other: Any) -> Self:
        return self._reversed(other, "elemwise_sub", "_minus", ("_rminus_scalar", "_RMinusScalar"))

    def __mul__(self, other: Any) -> Self:
        return self._binary(other, "elemwise_mul", "_mul", ("_mul_scalar", "_MulScalar"))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Self:
        return self._binary(other, "elemwise_div", "_div", ("_div_scalar", "_DivScalar"))

    def __rtruediv__(self, other: Any) -> Self:
        return self._reversed(other, "elemwise_div", "_div", ("_rdiv_scalar", "_RDivScalar"))

    __div__, __rdiv__ = __truediv__, __rtruediv__

    def __mod__(self, other: Any) -> Self:
        return self._binary(other, "_mod", "_mod", ("_mod_scalar", "_ModScalar"))

    def __rmod__(self, other: Any) -> Self:
        return self._reversed(other, "_mod", "_mod", ("_rmod_scalar", "_RModScalar"))

    def __pow__(self, other: Any) -> Self:
        return self._binary(other, "_power", "_power", ("_power_scalar", "_PowerScalar"))

    def __rpow__(self, other: Any) -> Self:
        return self._reversed(other, "_power", "_power", ("_rpower_scalar", "_rpower_scalar"))

    def __neg__(self) -> Self:
        return self._scalar(-1.0, "_mul_scalar", "_MulScalar")

    def __abs__(self) -> Self:
        return self._call("abs", "abs", self)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "_equal")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "_not_equal")

    def __gt__(self, other: Any) -> Self:
        return self._compare(other, "_greater")

    def __ge__(self, other: Any) -> Self:
        return self._compare(other, "_greater_equal")

    def __lt__(self, other: Any) -> Self:
        return self._compare(other, "_lesser")

    def __le__(self, other: Any) -> Self:
        return self._compare(other, "_lesser_equal")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(
            "a Symbol has no truth value: its numbers are known only when it is bound and run. "
            "To ask whether there is one, write `is None` or `is not None`"
        )

    def _refuse_inplace(self, other: Any) -> Self:
        del other
        raise NotImplementedForSymbol(
            "a Symbol cannot be changed in place (+=, -=, *=, /=); write a = a + b"
        )

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __idiv__ = _refuse_inplace
