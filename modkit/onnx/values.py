"""The values of an ONNX graph that is read: symbols, constants, sizes of shapes."""

from __future__ import annotations

import numpy as np

from modkit import symbol
from modkit.errors import NotSupportedError
from modkit.onnx.sizes import Size
from modkit.symbol import Symbol


class Values:
    """The values of an ONNX graph of one opset by name, each as far as it is known.

    Attributes:
        symbols: values that are read, as symbols.
        constants: values that depend on no input.
        followed: vectors of sizes that are computed from shapes.
        shapes: shapes that ONNX infers, with names for the sizes that the model leaves open.
        dtypes: element types that ONNX infers.
        params: values of the parameters of the symbols.
    """

    def __init__(self, opset: int, constants: dict[str, np.ndarray]):
        self.opset, self.constants = opset, constants
        self.symbols: dict[str, Symbol] = {}
        self.followed: dict[str, list[Size]] = {}
        self.shapes: dict[str, tuple[Size, ...] | None] = {}
        self.dtypes: dict[str, str] = {}
        self.params: dict[str, np.ndarray] = {}

    def symbol(self, name: str) -> Symbol:
        """A value as a symbol; a constant becomes a parameter.

        Raises:
            NotSupportedError: it is a shape with sizes that only a batch decides, or an output
                that no symbol has.
        """
        if name not in self.symbols:
            value = self.constant(name)
            if value is not None:
                self.symbols[name] = self.parameter(name, value)
            elif name in self.followed:
                self.symbols[name] = self._as_symbol(self.followed[name])
            else:
                raise NotSupportedError(
                    f"import_model: {name!r} is an optional output of its node, or no value of the "
                    "model; symbols have no such arrays"
                )
        return self.symbols[name]

    def _as_symbol(self, sizes: list[Size]) -> Symbol:
        """Sizes as an array."""
        ones = symbol.ones((1,), dtype="int64")
        parts = [
            ones * size if isinstance(size, int) else symbol.size_array(self.length(size))
            for size in sizes
        ]
        return parts[0] if len(parts) == 1 else symbol.concat(*parts, dim=0)

    def length(self, size: Size) -> Symbol:
        """A vector of a length, which the model may leave open.

        Raises:
            NotSupportedError: no input, and no value that is computed from one, has this size.
        """
        if isinstance(size, int):
            return symbol.zeros((size,))
        for name, found in self.symbols.items():
            dims = self.shapes.get(name) or ()
            if size in dims:
                for axis in range(len(dims)):
                    if axis != dims.index(size):
                        found = symbol.slice_axis(found, axis=axis, begin=0, end=1)
                return symbol.Reshape(found, shape=(-1,))
        raise NotSupportedError(
            f"import_model: the size {size} is computed from sizes that the model leaves open, and "
            "no array has it; export the model with static shapes"
        )

    def parameter(self, name: str, value: np.ndarray) -> Symbol:
        """A variable of a shape, and its value; a scalar has the shape (1,), truth is a float."""
        value = value.astype("float32") if value.dtype == bool else value
        value = self.params[name] = value.reshape(value.shape or (1,))
        return symbol.var(name, shape=value.shape, dtype=value.dtype)

    def constant(self, name: str) -> np.ndarray | None:
        """The numbers of a value that depends on no input; else ``None``."""
        if name in self.followed and all(isinstance(s, int) for s in self.followed[name]):
            shape = () if self.shapes.get(name) == () else (-1,)
            return np.asarray(self.followed[name], np.int64).reshape(shape)
        return self.constants.get(name)
