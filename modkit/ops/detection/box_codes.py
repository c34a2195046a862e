"""Boxes as shifts and growths relative to anchors: training targets, and their decoding."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ShapeError
from modkit.ops.detection.box_shifts import centers, moved, shifts_of
from modkit.ops.floating import require_floating
from modkit.ops.registry import op


@op("_contrib_box_encode", precision="float32", outputs=("output0", "output1"))
def box_encode(
    samples: jax.Array,
    matches: jax.Array,
    anchors: jax.Array,
    refs: jax.Array,
    means: jax.Array,
    stds: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Training targets of anchors that are matched with reference boxes. No gradient.

    The target of a centre is its shift in units of the anchor's side, that of a side the logarithm
    of its growth; both less ``means`` and divided by ``stds``.

    Args:
        samples: above 0.5 for an anchor that has a target.
        matches: index of the reference box of each anchor.
        anchors, refs: corners.
        means: of the targets (x, y, width, height).
        stds: of the targets.

    Shapes:
        samples, matches: (B, N).
        anchors: (B, N, 4).
        refs: (B, M, 4).
        means, stds: (4,).
        returns: targets and their masks (0 or 1), each (B, N, 4); 0 where there is no target.

    Raises:
        ShapeError: an array has another shape.
    """
    require_floating(anchors, "_contrib_box_encode")
    batch = (*samples.shape, 4)
    if (
        samples.ndim != 2
        or matches.shape != samples.shape
        or anchors.shape != batch
        or refs.ndim != 3
        or refs.shape[::2] != batch[::2]
        or means.shape != (4,)
        or stds.shape != (4,)
    ):
        raise ShapeError(
            f"_contrib_box_encode: got samples {samples.shape}, matches {matches.shape}, anchors "
            f"{anchors.shape}, refs {refs.shape}, means {means.shape} and stds {stds.shape}, "
            "expected (B, N), (B, N), (B, N, 4), (B, M, 4), (4,) and (4,)"
        )
    index = jnp.clip(matches, 0, refs.shape[1] - 1).astype(jnp.int32)
    have = [anchors[..., i] for i in range(4)]
    index += jnp.arange(len(refs), dtype=jnp.int32)[:, None] * refs.shape[1]
    want = [jnp.take(refs[..., i].ravel(), index, mode="clip") for i in range(4)]
    chosen = samples > 0.5
    targets = [
        jnp.where(chosen, (x - means[i]) / stds[i], 0) for i, x in enumerate(shifts_of(have, want))
    ]
    found = jnp.stack(targets, -1).astype(anchors.dtype)
    masks = jnp.broadcast_to(chosen[..., None], anchors.shape)
    return jax.lax.stop_gradient(found), masks.astype(anchors.dtype)


@op("_contrib_box_decode", precision="float32")
def box_decode(
    data: jax.Array,
    anchors: jax.Array,
    *,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Literal["corner", "center"] = "center",
) -> jax.Array:
    """The boxes that predicted shifts and growths make of anchors, as corners. No gradient.

    Args:
        data: shifts of the centre in units of the anchor's side, and logarithms of the growth.
        anchors: boxes.
        std0: factor of the shift across.
        std1: factor of the shift down.
        std2: factor of the width's logarithm.
        std3: factor of the height's logarithm.
        clip: largest logarithm of a growth; 0 or less for none.
        format: of the anchors: ``"center"`` is (x, y, width, height), ``"corner"`` (left, top,
            right, bottom).

    Shapes:
        data: (B, N, 4).
        anchors: (1, N, 4).
        returns: (B, N, 4).

    Raises:
        ShapeError: an array has another shape.
    """
    require_floating(data, "_contrib_box_decode")
    if data.ndim != 3 or data.shape[2] != 4 or anchors.shape != (1, *data.shape[1:]):
        raise ShapeError(
            f"_contrib_box_decode: got data {data.shape} and anchors {anchors.shape}, expected "
            "(B, N, 4) and (1, N, 4)"
        )
    base = centers(anchors) if format == "corner" else anchors
    shifts = data * np.array([std0, std1, std2, std3], data.dtype)
    return jax.lax.stop_gradient(moved(base, shifts, clip if clip > 0 else None))
