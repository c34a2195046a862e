"""Regression losses: a prediction forward, the error backward."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.dtype_inference import label_like_data
from modkit.ops.own_gradient import same, with_gradient
from modkit.ops.registry import op


def _regression_partial(ins: Any, outs: Any, _attrs: Any) -> tuple[list[Any], list[Any]]:
    """The label is shaped as the data; (N,) goes with (N, 1) and the other way round."""
    data, label = ins
    if data is None or 0 in data:
        return list(ins), [data] if data is not None else list(outs)
    if label is None:
        return [data, tuple(data[:1]) if len(data) == 2 and data[1] == 1 else data], [data]
    if 0 not in label and not _same_samples(data, label):
        raise ShapeError(
            f"label: got shape {tuple(label)}, expected {tuple(data)}: as many samples and "
            "numbers as the data has"
        )
    return [data, label], [data]


def _same_samples(data: Any, label: Any) -> bool:
    return data[0] == label[0] and math.prod(data) == math.prod(label)


def _regression(name: str, link: Any, slope: Any, what: str) -> None:
    """Register one regression loss."""

    def run(data: jax.Array, label: jax.Array, *, grad_scale: float = 1.0) -> jax.Array:
        if not data.ndim or not label.ndim or not _same_samples(data.shape, label.shape):
            raise ShapeError(
                f"{name}: got data {data.shape} and label {label.shape}, expected one label for "
                "each output"
            )

        def gradient(output: jax.Array, label: jax.Array, _cotangent: Any) -> jax.Array:
            per_sample = math.prod(label.shape[1:])
            error = output - label.reshape(output.shape).astype(output.dtype)
            return (slope(error) * (grad_scale / max(per_sample, 1))).astype(output.dtype)

        return with_gradient(link, gradient, data, label)

    run.__name__ = name
    run.__doc__ = f"""{what}, divided by the number of outputs of a sample.

    The head gradient is ignored and the label gets no gradient.

    Args:
        data: predictions.
        label: what they should be.
        grad_scale: factor of the gradient.

    Shapes:
        data: (N, ...).
        label: as ``data``; for data (N, 1) also (N,), which is what inference gives it.
        returns: as ``data``.

    Differs: the label may be of any type; MXNet requires the type of ``data``.
    """
    sparse = (f"_sparse_{name}",)
    op(
        name,
        precision="float32",
        aliases=sparse,
        partial=_regression_partial,
        dtypes=label_like_data,
        gradient="loss",
        keeps_any=True,
    )(run)


def _sign(difference: jax.Array) -> jax.Array:
    """1 above 0, else -1, also at 0 and NaN."""
    return jnp.where(difference > 0, 1, -1).astype(difference.dtype)


_REGRESSIONS = (
    ("LinearRegressionOutput", same, same,
     "Give the data; backward ``(data - label) * grad_scale``"),
    ("MAERegressionOutput", same, _sign,
     "Give the data; backward ``±grad_scale``: plus where ``data > label``, else minus"),
    ("LogisticRegressionOutput", jax.nn.sigmoid, same,
     "Give ``p = sigmoid(data)``; backward ``(p - label) * grad_scale``"),
)  # fmt: skip

for _row in _REGRESSIONS:
    _regression(*_row)
