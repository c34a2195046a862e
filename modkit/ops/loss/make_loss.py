"""Any data as a loss, with a gradient of its own: MakeLoss, make_loss, a sparseness penalty."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.elementwise.arithmetic import is_whole
from modkit.ops.floating import require_floating
from modkit.ops.own_gradient import same, with_gradient
from modkit.ops.parameters import Fraction
from modkit.ops.registry import op
from modkit.ops.stype import KEPT


@op("MakeLoss", precision="float32", same_shape=True, gradient="loss")
def make_loss_output(
    data: jax.Array,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
) -> jax.Array:
    """Give the data; backward ``grad_scale`` for every element, whatever the head gradient.

    Args:
        grad_scale: the gradient.
        valid_thresh: with ``normalization="valid"``, an element above it counts.
        normalization: what the gradient is divided by: ``"null"`` nothing, ``"batch"`` the product
            of all sizes but the last, as in MXNet 1.9.1, ``"valid"`` the number of elements above
            ``valid_thresh``, at least 1.

    Shapes:
        data: any.
        returns: as ``data``.
    """
    require_floating(data, "MakeLoss")

    def gradient(data: jax.Array, *_: Any) -> jax.Array:
        divisor: Any = 1
        if normalization == "batch":
            divisor = math.prod(data.shape[:-1])
        elif normalization == "valid":
            count = jnp.sum(data > valid_thresh, dtype=jnp.int32)
            divisor = jnp.maximum(count, 1).astype(jnp.float32)
        return jnp.full(data.shape, grad_scale / divisor).astype(data.dtype)

    return with_gradient(same, gradient, data)


@op(
    "IdentityAttachKLSparseReg",
    precision="float32",
    params=lambda data, **_: {"moving_avg": tuple(data[1:2])},
    aux=("moving_avg",),
    input_init={"moving_avg": '["zero", {}]'},
    gradient="added",
)
def identity_attach_kl_sparse_reg(
    data: jax.Array,
    moving_avg: jax.Array,
    *,
    sparseness_target: Fraction = 0.1,
    penalty: float = 0.001,
    momentum: Fraction = 0.9,
    train: bool,
) -> Any:
    """Give the data; backward add the gradient of a penalty that keeps units seldom active.

    The penalty is the Kullback-Leibler divergence between ``sparseness_target`` and each unit's
    moving average; the data should be outputs of a sigmoid.

    Args:
        data: activations, from 0 to 1.
        moving_avg: moving average of each unit (auxiliary).
        sparseness_target: the average that a unit should have.
        penalty: factor of the added gradient.
        momentum: how much of the moving average is kept in a step.
        train: whether this is training, in which the average moves.

    Shapes:
        data: (N, C).
        moving_avg: (C,).
        returns: as ``data``.

    Differs: the average moves when a training step goes forward; MXNet's when it goes backward.
    """
    if data.ndim != 2:
        raise ShapeError(
            f"IdentityAttachKLSparseReg: got data of shape {data.shape}, expected (N, C)"
        )
    average = moving_avg
    if train:
        batch = jax.lax.stop_gradient(data).mean(0).astype(moving_avg.dtype)
        average = (momentum * moving_avg + (1 - momentum) * batch).astype(moving_avg.dtype)

    def gradient(_made: Any, average: jax.Array, cotangent: jax.Array) -> jax.Array:
        pull = penalty * ((1 - sparseness_target) / (1 - average) - sparseness_target / average)
        return (cotangent + pull.astype(cotangent.dtype)).astype(cotangent.dtype)

    return with_gradient(same, gradient, data, average), {"moving_avg": average}


@op(
    "make_loss",
    precision="float32",
    aliases=("_sparse_make_loss",),
    outputs=("loss",),
    same_shape=True,
    storage=KEPT,
    gradient="loss",
)
def make_loss(data: Any) -> Any:
    """``data`` as a loss to be minimised: its gradient is 1, whatever follows it."""
    if is_whole(data.dtype):
        return data
    return with_gradient(same, lambda data, *_: jnp.ones_like(data), data)
