"""Clipping thresholds by least KL divergence, from a histogram of the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError, ShapeError
from modkit.ops import loops
from modkit.ops.parameters import Attrs, Size
from modkit.ops.partial_shapes import results
from modkit.ops.registry import op

_SMOOTHING = 1e-4
_MOST = 2.0**30


def _smooth(weights: jax.Array, inside: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Shares with a little weight moved to the empty bins, and whether the others can give it."""
    present, empty = inside & (weights != 0), inside & (weights == 0)
    each = _SMOOTHING * empty.sum() / jnp.maximum(present.sum(), 1)
    moved = jnp.where(empty, _SMOOTHING, jnp.where(present, weights - each, 0))
    return moved / moved.sum(), present.any() & (each < 1)


def _whole(hist: jax.Array) -> jax.Array:
    """Counts as int32, in proportion where their sum has more bits; nonzero counts stay nonzero."""
    counts = jnp.rint(hist.astype(jnp.float32))
    scaled = jnp.maximum(counts / jnp.maximum(counts.sum() / _MOST, 1), jnp.minimum(counts, 1))
    return jnp.where(counts.sum() > _MOST, scaled, counts).astype(jnp.int32)


def _prefix(counts: jax.Array) -> jax.Array:
    """Sums of what is before each bin, by a loop: XLA compiles a long ``cumsum`` for seconds."""
    total, sums = loops.scan(lambda sum_, n: (sum_ + n, sum_), jnp.int32(0), counts)
    return jnp.append(sums, total)


def _divergence(
    counts: jax.Array, sums: jax.Array, members: jax.Array, reach: jax.Array, bins: int
) -> jax.Array:
    """KL divergence of the clipped histogram from its quantized form; inf where it has none.

    The quantized form leaves the first bin out, as in MXNet 1.9.1.

    Args:
        counts: int32, an odd number of bins about 0.
        sums: how much the bins before each hold together.
        members: how many bins before each are not empty.
        reach: bins to keep on each side of the middle.
        bins: levels of the quantized form.
    """
    at = jnp.arange(counts.size, dtype=jnp.int32)
    first, last = counts.size // 2 - reach, counts.size // 2 + reach
    inside = (at >= first) & (at <= last)
    below, above = sums[first], sums[-1] - sums[last + 1]
    clipped = jnp.where(inside, counts, 0)
    clipped = clipped.at[first].add(below).at[last].add(above)
    merged = (2 * reach + 1) // bins
    level = jnp.clip((at - first) // merged, 0, bins - 1)
    start = first + level * merged
    end = jnp.where(level == bins - 1, last + 1, start + merged)
    start = jnp.maximum(start, first + 1)
    number = jnp.maximum(members[end] - members[start], 1)
    spread = (sums[end] - sums[start]).astype(jnp.float32) / number
    spread = jnp.where(clipped != 0, spread, 0)
    one, one_valid = _smooth(clipped.astype(jnp.float32), inside)
    other, other_valid = _smooth(spread, inside)
    both = (one > 0) & (other > 0)
    terms = jnp.where(both, one * jnp.log(jnp.where(both, one / other, 1)), 0)
    return jnp.where(one_valid & other_valid, terms.sum(), jnp.inf)


def _check_counts(arrays: Sequence[Any], _attrs: Attrs) -> None:
    hist = np.asarray(arrays[0])
    wrong = hist[~(np.isfinite(hist) & (hist >= 0))]
    if wrong.size:
        raise ParameterError(
            f"_contrib_calibrate_entropy: hist: got a count of {wrong[0]}, expected finite numbers "
            "of 0 or more"
        )


@op(
    "_contrib_calibrate_entropy",
    precision="float32",
    costly=True,
    outputs=("threshold", "divergence"),
    dtypes=lambda ins, _attrs: (list(ins), ["float32", "float32"]),
    partial=results((1,), (1,)),
    gradient="refused",
    check_values=_check_counts,
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
        ParameterError: there are fewer bins than levels; or, in eager calls, a count is negative
            or not finite.
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
    counts = _whole(hist)
    reaches = jnp.arange(num_quantized_bins // 2, bins // 2 + 1, dtype=jnp.int32)
    sums, members = _prefix(counts), _prefix((counts != 0).astype(jnp.int32))
    found = loops.map_rows(
        lambda reach: _divergence(counts, sums, members, reach, num_quantized_bins), reaches
    )
    best = jnp.argmin(found)
    threshold = hist_edges[bins // 2 + reaches[best] + 1]
    return threshold[None].astype(jnp.float32), found[best][None]
