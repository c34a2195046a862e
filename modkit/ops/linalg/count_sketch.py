"""``_contrib_count_sketch``: a random projection to fewer features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.parameters import Attrs, Inert, Size
from modkit.ops.partial_shapes import Rule, Sizes, merge
from modkit.ops.registry import op


def _partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    data, h, s = ins
    size = next((shape[-1] for shape in ins if shape), 0)
    h, s = merge("h", h, (1, size)), merge("s", s, (1, size))
    out = outs[0]
    if data is not None:
        if len(data) not in (2, 4):
            raise ShapeError(f"data: got shape {data}, expected 2 or 4 axes")
        data = merge("data", data, (*data[:-1], size))
        out = merge("output", out, (*data[:-1], attrs["out_dim"]) if data else None)
    elif out is not None:
        data = (*out[:-1], size)
    return [data, h, s], [out]


@op("_contrib_count_sketch", precision="float32", partial=_partial)
def count_sketch(
    data: Any, h: Any, s: Any, *, out_dim: Size, processing_batch_size: Inert[int] = 32
) -> Any:
    """The count sketch ``y_j = Σ_{i: h_i = j} s_i x_i`` (Charikar, Chen and Farach-Colton, 2002).

    Args:
        h: the output feature of each feature, in [0, out_dim).
        s: its sign, 1 or -1. Neither ``h`` nor ``s`` has a gradient.
        processing_batch_size: no effect.

    Shapes:
        data: (N, d) or (N, C, H, d).
        h, s: (1, d).
        returns: (..., out_dim).

    Differs: it runs on CPUs too, where MXNet refuses it. Elements whose ``h`` is outside are
    dropped.
    """
    signed = data * lax.stop_gradient(s.reshape(-1)).astype(data.dtype)
    to = h.reshape(-1).astype(jnp.int32)
    to = jnp.where(to < 0, out_dim, to)
    made = jnp.zeros((*data.shape[:-1], out_dim), data.dtype)
    return made.at[..., to].add(signed, mode="drop")
