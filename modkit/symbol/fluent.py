"""Operators as methods of a symbol, and the methods that only an NDArray has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Self

from modkit.errors import NotImplementedForSymbol, NotSupportedError, ParameterError
from modkit.ops.array.split import split_v2_attrs
from modkit.ops.frontend import FLUENT
from modkit.ops.methods import Methods
from modkit.symbol.arithmetic import Arithmetic


class Fluent(Arithmetic, Methods):
    """``a.relu()`` for ``relu(a)``. A mixin of Symbol."""

    __slots__ = ()

    def reshape(self, *shape: Any, **kwargs: Any) -> Self:
        """The same values in another shape: ``reshape((2, 3))`` or ``reshape(2, 3)``.

        Args:
            *shape: the sizes, or one tuple of them.
            **kwargs: parameters of ``mx.sym.reshape``, and ``name``.

        Raises:
            ParameterError: the shape is given by position and by name.

        Differs: MXNet takes the sizes only as one tuple.
        """
        if shape:
            if "shape" in kwargs:
                raise ParameterError("reshape: got shape twice, by position and by name")
            kwargs["shape"] = shape[0] if len(shape) == 1 else shape
        return self._call("Reshape", "reshape", self, **kwargs)

    def astype(self, dtype: Any, **kwargs: Any) -> Self:
        """The values cast to another type.

        Args:
            **kwargs: the node's ``name`` and attributes.
        """
        return self._call("Cast", "cast", self, dtype=dtype, **kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Self:
        """The values with a new axis of size 1.

        Args:
            axis: its position.
            inplace: not read; it is for arrays.
            **kwargs: the node's ``name`` and attributes.
        """
        return self._call("expand_dims", "expand_dims", self, axis=axis, **kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Self:
        """The values without axes of size 1.

        Args:
            axis: the axis or axes; default all of that size.
            inplace: not read; it is for arrays.
            **kwargs: the node's ``name`` and attributes.
        """
        return self._call("squeeze", "squeeze", self, axis=axis, **kwargs)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Self:
        """All axes but the first as one.

        Args:
            inplace: not read; it is for arrays.
            **kwargs: the node's ``name`` and attributes.
        """
        return self._call("Flatten", "flatten", self, **kwargs)

    def diag(  # pyright: ignore[reportIncompatibleMethodOverride] - the others are by name
        self, k: int = 0, **kwargs: Any
    ) -> Self:
        """The diagonal, or a matrix with that diagonal.

        Args:
            k: its distance from the main diagonal, to the upper right.
            **kwargs: the node's ``name`` and attributes.
        """
        return self._call("diag", "diag", self, k=k, **kwargs)

    def split_v2(self, *args: Any, **kwargs: Any) -> Self:
        """The same as ``mx.sym.split_v2(self, ...)``."""
        return self._call("_split_v2", "_split_v2", self, **split_v2_attrs(None, *args, **kwargs))

    def as_nd_ndarray(self) -> Self:
        """This symbol."""
        return self

    def as_np_ndarray(self) -> NoReturn:
        """Raise: ``mx.np`` is not part of modkit."""
        raise NotSupportedError("mx.np is not part of modkit; the functions of mx.sym are")


_ARRAY_ONLY = {
    "asnumpy": "eval(...)[0].asnumpy()",
    "asscalar": "eval(...)[0].asscalar()",
    "wait_to_read": "eval(...)[0].wait_to_read()",
    "copy": "copy.copy(symbol)",
    "as_in_context": "bind(ctx, ...) or AttrScope(ctx_group=...)",
    "detach": "BlockGrad(symbol)",
    "backward": "bind(...).backward()",
}


def _refusing(name: str, instead: str) -> Callable[..., NoReturn]:
    def method(self: Fluent, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedForSymbol(
            f"{self!r}.{name}(): only an NDArray has it, a Symbol holds no numbers. Use {instead}"
        )

    method.__name__ = name
    method.__doc__ = f"Raise: only an NDArray has it. Use ``{instead}``."
    return method


def _calling(name: str) -> Callable[..., Any]:
    def method(self: Fluent, *args: Any, **kwargs: Any) -> Any:
        return self._call(name, name, self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"The same as ``mx.sym.{name}(self, ...)``."
    return method


for _name, _instead in _ARRAY_ONLY.items():
    setattr(Fluent, _name, _refusing(_name, _instead))
for _name in FLUENT:
    if _name not in Fluent.__dict__:
        setattr(Fluent, _name, _calling(_name))
