"""The threshold beyond which numbers are clipped, from a histogram of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.ops.registry import Size, op

_SMOOTHING = 1e-4


def _smooth(weights: jax.Array, present: jax.Array, inside: jax.Array) -> tuple[Any, jax.Array]:
    """A little weight moved to the empty bins, and whether the others have it to give."""
    empty = inside & ~present
    share = _SMOOTHING * empty.sum() / jnp.maximum(present.sum(), 1)
    weights = weights / jnp.maximum(weights.sum(), 1)
    moved = jnp.where(empty, _SMOOTHING, jnp.where(present, weights - share, 0))
    return moved, present.any() & (share < 1)


def _divergence(hist: jax.Array, reach: jax.Array, bins: int) -> jax.Array:
    """KL divergence of the clipped histogram from its quantized form; inf where it has none.

    Args:
        hist: counts, an odd number of bins about 0.
        reach: bins to keep on each side of the middle.
        bins: levels of the quantized form.
    """
    at = jnp.arange(hist.size)
    first = hist.size // 2 - reach
    last = hist.size // 2 + reach
    inside = (at >= first) & (at <= last)
    kept = jnp.where(inside, hist, 0)
    below = jnp.where(at < first, hist, 0).sum()
    above = jnp.where(at > last, hist, 0).sum()
    clipped = kept + jnp.where(at == first, below, 0) + jnp.where(at == last, above, 0)
    present = clipped != 0
    merged = jnp.maximum((2 * reach + 1) // bins, 1)
    level = jnp.where(inside, jnp.minimum((at - first) // merged, bins - 1), bins)
    total = jnp.zeros(bins + 1).at[level].add(kept)
    members = jnp.zeros(bins + 1).at[level].add(present)
    spread = jnp.where(present, total[level] / jnp.maximum(members[level], 1), 0)
    one, one_valid = _smooth(clipped, present, inside)
    other, other_valid = _smooth(spread, spread != 0, inside)
    one, other = one / one.sum(), other / other.sum()
    terms = jnp.where(one > 0, one * jnp.log(one / jnp.where(other > 0, other, 1)), 0)
    valid = one_valid & other_valid & ~((one > 0) & (other <= 0)).any()
    return jnp.where(valid, terms.sum(), jnp.inf)


def _types(
    ins: Sequence[str | None], attrs: Mapping[str, Any]
) -> tuple[list[str | None], list[str | None]]:
    del attrs
    return list(ins), ["float32", "float32"]


@op(
    "_contrib_calibrate_entropy",
    precision="float32",
    costly=True,
    outputs=("threshold", "divergence"),
    dtypes=_types,
    hint="calibrate_entropy",
)
def calibrate_entropy(
    hist: jax.Array, hist_edges: jax.Array, *, num_quantized_bins: Size = 255
) -> tuple[jax.Array, jax.Array]:
    """The threshold whose clipped and quantized histogram is nearest to the histogram.

    Nearest in KL divergence (Migacz, 8-bit inference with TensorRT, 2017).

    Args:
        hist: counts of an odd number of equal bins about 0.
        hist_edges: ends of the bins.
        num_quantized_bins: levels.

    Shapes:
        hist: (K,).
        hist_edges: (K + 1,).
        returns: threshold (1,), divergence (1,).

    Raises:
        ShapeError: an array has another shape, or K is even.
        ParameterError: there are fewer bins than levels.
    """
    bins, name = hist.size, "_contrib_calibrate_entropy"
    if hist.ndim != 1 or hist_edges.shape != (bins + 1,) or not bins % 2:
        raise ShapeError(
            f"{name}: got hist {hist.shape} and hist_edges {hist_edges.shape}, expected (K,) and "
            "(K + 1,) with an odd K"
        )
    if bins < num_quantized_bins:
        raise ParameterError(
            f"{name}: got {bins} bins, expected num_quantized_bins={num_quantized_bins} or more"
        )
    counts = hist.astype(jnp.float32)
    reaches = jnp.arange(num_quantized_bins // 2, bins // 2 + 1)
    found = jax.lax.map(lambda reach: _divergence(counts, reach, num_quantized_bins), reaches)
    best = jnp.argmin(found)
    threshold = hist_edges[bins // 2 + reaches[best] + 1]
    return threshold[None].astype(jnp.float32), found[best][None]
