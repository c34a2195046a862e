"""``interleaved_matmul_*``: products of multi-head attention on interleaved projections.

Queries, keys and values of a head lie beside each other in the last axis, head after head; the
formulas are those of Vaswani et al., "Attention Is All You Need" (2017), without the softmax.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.floating import require_floating
from modkit.ops.parameters import Size
from modkit.ops.registry import op


def _split(name: str, data: Any, heads: int, parts: int) -> list[Any]:
    """The parts of a projection (L, N, heads * parts * d), each as (N * heads, L, d)."""
    require_floating(data, name)
    if data.ndim != 3 or data.shape[2] % (heads * parts):
        raise ShapeError(
            f"{name}: got shape {data.shape}, expected (length, batch, features) with features a "
            f"multiple of {heads * parts}: {parts} for each of {heads} heads"
        )
    length, batch, features = data.shape
    depth = features // (heads * parts)
    each = data.reshape(length, batch * heads, parts, depth)
    return [each[:, :, i].transpose(1, 0, 2) for i in range(parts)]


def _scores(queries: Any, keys: Any) -> Any:
    scale = 1 / jnp.sqrt(jnp.asarray(queries.shape[-1], queries.dtype))
    return jnp.matmul(queries * scale, keys.transpose(0, 2, 1))


def _context(attention: Any, values: Any, heads: int) -> Any:
    """Weighted sums of values, heads side by side again."""
    rows, keys = len(values), values.shape[1]
    if attention.ndim != 3 or (attention.shape[0], attention.shape[2]) != (rows, keys):
        raise ShapeError(
            f"attention: got shape {attention.shape}, expected ({rows}, length of queries, {keys})"
        )
    product = jnp.matmul(attention, values).transpose(1, 0, 2)
    return product.reshape(product.shape[0], rows // heads, heads * product.shape[2])


@op("_contrib_interleaved_matmul_selfatt_qk", precision=("queries_keys_values",))
def interleaved_matmul_selfatt_qk(queries_keys_values: Any, *, heads: Size) -> Any:
    """Scores ``Q Kᵀ / sqrt(d)`` of self-attention.

    Shapes:
        queries_keys_values: (L, N, heads * 3 * d); a head's query, key and value in turn.
        returns: (N * heads, L, L).
    """
    queries, keys, _ = _split("queries_keys_values", queries_keys_values, heads, 3)
    return _scores(queries, keys)


@op("_contrib_interleaved_matmul_selfatt_valatt", precision=("queries_keys_values", "attention"))
def interleaved_matmul_selfatt_valatt(
    queries_keys_values: Any, attention: Any, *, heads: Size
) -> Any:
    """Sums of values weighted by ``attention``.

    Shapes:
        queries_keys_values: (L, N, heads * 3 * d).
        attention: (N * heads, L, L).
        returns: (L, N, heads * d).
    """
    values = _split("queries_keys_values", queries_keys_values, heads, 3)[2]
    return _context(attention, values, heads)


@op("_contrib_interleaved_matmul_encdec_qk", precision=("queries", "keys_values"))
def interleaved_matmul_encdec_qk(queries: Any, keys_values: Any, *, heads: Size) -> Any:
    """Scores ``Q Kᵀ / sqrt(d)`` of a decoder's queries and an encoder's keys.

    Shapes:
        queries: (L, N, heads * d).
        keys_values: (M, N, heads * 2 * d); a head's key and value in turn.
        returns: (N * heads, L, M).
    """
    own = _split("queries", queries, heads, 1)[0]
    keys = _split("keys_values", keys_values, heads, 2)[0]
    if (own.shape[0], own.shape[2]) != (keys.shape[0], keys.shape[2]):
        raise ShapeError(
            f"queries: got shape {queries.shape}, expected (length, {keys_values.shape[1]}, "
            f"{keys_values.shape[2] // 2}) for keys_values of shape {keys_values.shape}"
        )
    return _scores(own, keys)


@op("_contrib_interleaved_matmul_encdec_valatt", precision=("keys_values", "attention"))
def interleaved_matmul_encdec_valatt(keys_values: Any, attention: Any, *, heads: Size) -> Any:
    """Sums of an encoder's values weighted by ``attention``.

    Shapes:
        keys_values: (M, N, heads * 2 * d).
        attention: (N * heads, L, M).
        returns: (L, N, heads * d).
    """
    values = _split("keys_values", keys_values, heads, 2)[1]
    return _context(attention, values, heads)
