"""SVMOutput: scores with the gradient of the hinge loss."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.dtype_inference import label_like_data
from modkit.ops.own_gradient import same, with_gradient
from modkit.ops.registry import op


def _hinge_gradient(
    margin: float, coefficient: float, linear: bool, data: jax.Array, label: jax.Array
) -> jax.Array:
    scores = data.reshape(label.size, data.shape[-1])
    classes = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1)
    label = label.reshape(-1, 1)
    target = (classes == label.astype(jnp.int32)) & (label == label)  # NaN is no class
    side = jnp.where(target, -1, 1).astype(data.dtype)
    short = margin + side * scores
    slope = jnp.where(short > 0, 1 if linear else 2 * short, 0)  # of NaN 0
    return (side * slope * coefficient).reshape(data.shape).astype(data.dtype)


@op(
    "SVMOutput",
    precision="float32",
    params=lambda data, **_: {"label": tuple(data[:-1])} if len(data) > 1 else {},
    dtypes=label_like_data,
    gradient="loss",
)
def svm_output(
    data: jax.Array,
    label: jax.Array,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> jax.Array:
    """Give the data; backward the gradient of the hinge loss, squared unless ``use_linear``.

    The head gradient is ignored and the label gets no gradient.

    Args:
        label: class numbers.
        margin: distance that a score must keep from 0 on its side.
        regularization_coefficient: factor of the gradient.
        use_linear: the loss is ``max(0, margin - s)`` instead of its square.

    Shapes:
        data: (N, C) or (..., C).
        label: (N,) or (...).
        returns: as ``data``.

    Differs: the label may be of any type; MXNet requires the type of ``data``.
    """
    if data.ndim < 2 or label.shape != data.shape[:-1]:
        raise ShapeError(
            f"SVMOutput: got data {data.shape} and label {label.shape}, expected (N, C) and (N,)"
        )

    def gradient(data: jax.Array, label: jax.Array, _cotangent: Any) -> jax.Array:
        return _hinge_gradient(margin, regularization_coefficient, use_linear, data, label)

    return with_gradient(same, gradient, data, label)
