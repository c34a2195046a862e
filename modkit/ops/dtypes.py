"""Element types: their names, and MXNet's numbers for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from modkit.errors import DTypeError, nearest

DTYPE_CODES: dict[int, str] = {
    0: "float32", 1: "float64", 2: "float16", 3: "uint8", 4: "int32", 5: "int8", 6: "int64",
    7: "bool", 8: "int16", 9: "uint16", 10: "uint32", 11: "uint64", 12: "bfloat16",
}  # fmt: skip
"""The element type of each number of MXNet's."""

CODE_OF_DTYPE = {name: code for code, name in DTYPE_CODES.items()}
"""MXNet's number of each element type."""

WIDE = frozenset({"float64", "int64", "uint64"})
"""Element types that need JAX's 64-bit mode."""


def dtype_name(value: Any) -> str:
    """The name of an element type given as a name, NumPy dtype, Python type or MXNet's number.

    >>> import numpy as np
    >>> dtype_name(np.float32), dtype_name("int32"), dtype_name(float)
    ('float32', 'int32', 'float64')

    Raises:
        DTypeError: it is none.
    """
    if isinstance(value, str) and value in CODE_OF_DTYPE:
        return value
    if isinstance(value, int) and value in DTYPE_CODES and not isinstance(value, bool):
        return DTYPE_CODES[value]
    kind: Any = value
    try:
        name = np.dtype(kind).name
    except TypeError:
        name = getattr(value, "name", getattr(value, "__name__", str(value)))
    if name not in CODE_OF_DTYPE:
        raise DTypeError(
            f"got {value!r}, expected an element type.{nearest(name, CODE_OF_DTYPE)} "
            f"There are: {', '.join(CODE_OF_DTYPE)}"
        )
    return name
