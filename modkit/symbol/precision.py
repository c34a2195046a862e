"""Mixed precision: the element type that each operator computes in, of a graph in float32.

Under a 16-bit *compute type* an operator reads its inputs as its registry entry says
(`modkit.ops.entry.Precision`): products in the compute type, operators between two products in
the type that comes, all others in float32. An output of the graph that has the compute type is cast
to float32. Parameters are inputs: they are cast where they are used, and their gradients are
float32. A bias is not cast: it is added, and its gradient summed, in float32. `RNN` casts its
weights itself, so that their gradients are summed over the steps in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from modkit.errors import DTypeError, expect, some
from modkit.ops.dtypes import dtype_name
from modkit.ops.entry import Op

COMPUTE_TYPES = ("float32", "bfloat16", "float16")
"""Types that a graph can be computed in; float32 is the default."""


def compute_type(given: Any) -> str | None:
    """The compute type of a user's argument; ``None`` for float32; ParameterError for others."""
    if given is None:
        return None
    try:
        name = dtype_name(given)
    except DTypeError:
        name = None
    expect(name in COMPUTE_TYPES, "compute_dtype", given, f"one of {some(COMPUTE_TYPES)}")
    return None if name == "float32" else name


def read_as(
    op: Op, attrs: Mapping[str, Any], arrays: list[jax.Array], low: str | None
) -> list[jax.Array]:
    """The inputs of an operator as it reads them under the compute type ``low``."""
    if low is None or op.precision == "through":
        return arrays
    if isinstance(op.precision, tuple):
        return [
            a.astype(low) if name in op.precision and a.dtype == "float32" else a
            for name, a in zip(op.input_names(attrs), arrays, strict=True)
        ]
    if op.precision == "alike" and all(a.dtype == low for a in arrays):
        return arrays
    return [widened(a, low) for a in arrays]


def widened(array: jax.Array, low: str | None) -> jax.Array:
    """The array, in float32 if it has the compute type."""
    return array.astype("float32") if low is not None and array.dtype == low else array
