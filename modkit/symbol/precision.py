"""Mixed precision: the element type that each operator computes in, of a graph in float32.

Under a 16-bit *compute type* an operator belongs to one of four classes. `PRODUCTS` read the named
inputs in the compute type. `THROUGH` read what comes, and `ALIKE` the widest type of what comes, so
that what lies between two products is in the compute type as well. All others (losses, softmax,
sums, a user's own) read float32. What has the compute type and leaves the graph is float32 again.
Parameters are inputs: they are cast where they are used, and their gradients come out as float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from modkit.errors import DTypeError, ParameterError
from modkit.ops.registry import Op, dtype_name

COMPUTE_TYPES = ("float32", "bfloat16", "float16")
"""What a graph may be computed in; float32 is plain."""

PRODUCTS: Mapping[str, tuple[str, ...]] = {
    "FullyConnected": ("data", "weight"),
    "Convolution": ("data", "weight"),
    "Deconvolution": ("data", "weight"),
    "dot": ("lhs", "rhs"),
    "batch_dot": ("lhs", "rhs"),
    "RNN": ("data", "state"),
}
"""Operators whose work is products, with the inputs that are cast.

A bias is not: it is added, and its gradient summed, in float32. `RNN` casts its weights itself, so
that their gradients are summed over the steps in float32.
"""

THROUGH = frozenset({
    # Norms and pooling, which sum in float32 whatever they read.
    "BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm", "LayerNorm", "GroupNorm",
    "InstanceNorm", "LRN", "L2Normalization", "Pooling", "Pooling_v1",
    # Element by element.
    "Activation", "LeakyReLU", "Dropout", "relu", "sigmoid", "tanh", "softsign", "hard_sigmoid",
    "negative", "abs", "clip", "_copy", "BlockGrad", "zeros_like", "ones_like", "where",
    "_plus_scalar", "_minus_scalar", "_rminus_scalar", "_mul_scalar", "_div_scalar",
    "_maximum_scalar", "_minimum_scalar", "_contrib_div_sqrt_dim",
    # Moved and cut.
    "Reshape", "reshape_like", "Flatten", "transpose", "SwapAxis", "expand_dims", "squeeze",
    "reverse", "slice", "slice_axis", "slice_like", "Crop", "SliceChannel", "_split_v2", "tile",
    "repeat", "Pad", "depth_to_space", "space_to_depth", "broadcast_to", "broadcast_axis",
    "broadcast_like", "SequenceMask", "SequenceLast", "SequenceReverse",
})  # fmt: skip
"""Operators that read what comes."""

ALIKE = frozenset({
    "elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "_maximum", "_minimum",
    "broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_maximum",
    "broadcast_minimum", "add_n", "Concat", "stack",
})  # fmt: skip
"""Operators that read the compute type where all that comes has it, else float32."""


def compute_type(given: Any) -> str | None:
    """The compute type that a user asks for; ``None`` for plain float32.

    Raises:
        ParameterError: it is none that a graph can be computed in.
    """
    if given is None:
        return None
    try:
        name = dtype_name(given)
    except DTypeError:
        name = None
    if name not in COMPUTE_TYPES:
        raise ParameterError(
            f"compute_dtype: got {given!r}, expected one of {', '.join(map(repr, COMPUTE_TYPES))}"
        )
    return None if name == "float32" else name


def read_as(
    op: Op, attrs: Mapping[str, Any], arrays: list[jax.Array], low: str | None
) -> list[jax.Array]:
    """The inputs of an operator as it reads them under the compute type ``low``."""
    if low is None or op.name in THROUGH:
        return arrays
    if op.name in PRODUCTS:
        cast = PRODUCTS[op.name]
        return [
            a.astype(low) if name in cast and a.dtype == "float32" else a
            for name, a in zip(op.input_names(attrs), arrays, strict=True)
        ]
    if op.name in ALIKE and all(a.dtype == low for a in arrays):
        return arrays
    return [widened(a, low) for a in arrays]


def widened(array: jax.Array, low: str | None) -> jax.Array:
    """float32 instead of the compute type."""
    return array.astype("float32") if low is not None and array.dtype == low else array
