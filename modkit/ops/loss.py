"""Losses that give their data and make a gradient of their own: SVMOutput, MakeLoss, sparseness."""

from __future__ import annotations

import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.registry import op


def _label_dtypes(ins: Any, attrs: Any) -> tuple[list[Any], list[Any]]:
    """The output has the data's type; a label of unknown type takes it, too."""
    del attrs
    data, label = ins
    return [data or label, label or data], [data or label]


# ── Support vector machine ──────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _hinge(
    margin: float, coefficient: float, linear: bool, data: jax.Array, label: jax.Array
) -> jax.Array:
    del margin, coefficient, linear, label
    return data


def _hinge_forward(
    margin: float, coefficient: float, linear: bool, data: jax.Array, label: jax.Array
) -> Any:
    return data, (data, label)


def _hinge_backward(margin: float, coefficient: float, linear: bool, saved: Any, head: Any) -> Any:
    del head
    data, label = saved
    scores = data.reshape(-1, data.shape[-1])
    classes = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1)
    target = classes == label.reshape(-1, 1).astype(jnp.int32)
    side = jnp.where(target, -1, 1).astype(data.dtype)
    short = margin + side * scores
    slope = (short > 0).astype(data.dtype) if linear else 2 * jnp.maximum(short, 0)
    return (side * slope * coefficient).reshape(data.shape).astype(data.dtype), None


_hinge.defvjp(_hinge_forward, _hinge_backward)


@op(
    "SVMOutput",
    params=lambda data, **_: {"label": tuple(data[:-1])} if len(data) > 1 else {},
    dtypes=_label_dtypes,
    loss=True,
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
        data: scores.
        label: class numbers.
        margin: distance that a score must keep from 0 on its side.
        regularization_coefficient: factor of the gradient.
        use_linear: the loss is ``max(0, margin - s)`` instead of its square.

    Shapes:
        data: (N, C) or (..., C).
        label: (N,) or (...).
        returns: as ``data``.

    Differs:
        the label may be of any type; MXNet wants the type of ``data``.
    """
    if data.ndim < 2 or label.shape != data.shape[:-1]:
        raise ShapeError(
            f"SVMOutput: got data {data.shape} and label {label.shape}, expected (N, C) and (N,)"
        )
    return _hinge(margin, regularization_coefficient, use_linear, data, label)


# ── A loss of one's own ─────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _made_loss(grad_scale: float, valid_thresh: float, normalization: str, data: jax.Array) -> Any:
    del grad_scale, valid_thresh, normalization
    return data


def _made_loss_forward(
    grad_scale: float, valid_thresh: float, normalization: str, data: jax.Array
) -> Any:
    return data, data


def _made_loss_backward(
    grad_scale: float, valid_thresh: float, normalization: str, data: jax.Array, head: Any
) -> Any:
    del head
    divisor: Any = 1
    if normalization == "batch":
        divisor = data.shape[0]
    elif normalization == "valid":
        count = jnp.sum(data > valid_thresh, dtype=jnp.int32)
        divisor = jnp.maximum(count, 1).astype(jnp.float32)
    return (jnp.full(data.shape, grad_scale / divisor).astype(data.dtype),)


_made_loss.defvjp(_made_loss_forward, _made_loss_backward)


@op("MakeLoss", same_shape=True, loss=True)
def make_loss_output(
    data: jax.Array,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
) -> jax.Array:
    """Give the data; backward ``grad_scale`` for every element, whatever the head gradient.

    Args:
        data: a loss.
        grad_scale: the gradient.
        valid_thresh: with ``normalization="valid"``, an element above it counts.
        normalization: what the gradient is divided by: ``"null"`` nothing, ``"batch"`` the number
            of samples, ``"valid"`` the number of elements above ``valid_thresh``, at least 1.

    Shapes:
        data: any.
        returns: as ``data``.
    """
    return _made_loss(grad_scale, valid_thresh, normalization, data)


# ── Sparseness ──────────────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _sparse(target: float, penalty: float, data: jax.Array, average: jax.Array) -> jax.Array:
    del target, penalty, average
    return data


def _sparse_forward(target: float, penalty: float, data: jax.Array, average: jax.Array) -> Any:
    return data, average


def _sparse_backward(target: float, penalty: float, average: jax.Array, head: jax.Array) -> Any:
    pull = penalty * ((1 - target) / (1 - average) - target / average)
    return (head + pull.astype(head.dtype)).astype(head.dtype), None


_sparse.defvjp(_sparse_forward, _sparse_backward)


@op(
    "IdentityAttachKLSparseReg",
    params=lambda data, **_: {"moving_avg": tuple(data[1:2])},
    aux=("moving_avg",),
)
def identity_attach_kl_sparse_reg(
    data: jax.Array,
    moving_avg: jax.Array,
    *,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
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

    Differs:
        the average moves when a training step goes forward; MXNet's when it goes backward.
    """
    if data.ndim != 2:
        raise ShapeError(
            f"IdentityAttachKLSparseReg: got data of shape {data.shape}, expected (N, C)"
        )
    average = moving_avg
    if train:
        batch = jax.lax.stop_gradient(data).mean(0).astype(moving_avg.dtype)
        average = (momentum * moving_avg + (1 - momentum) * batch).astype(moving_avg.dtype)
    return _sparse(sparseness_target, penalty, data, average), {"moving_avg": average}
