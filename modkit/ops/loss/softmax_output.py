"""SoftmaxOutput: softmax whose gradient is that of the cross entropy with a label."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.dtype_inference import first_by_default
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.nn.softmax import softmax_along
from modkit.ops.own_gradient import with_gradient
from modkit.ops.parameters import Fraction, Shape
from modkit.ops.registry import op


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """Parameters of the operator."""

    grad_scale: float = 1.0
    ignore_label: float = -1.0
    multi_output: bool = False
    use_ignore: bool = False
    preserve_shape: bool = False
    normalization: Literal["batch", "null", "valid"] = "null"
    out_grad: bool = False
    smooth_alpha: Fraction = 0.0


def _layout(rule: _Settings, shape: Shape) -> Shape:
    """``shape`` as (rows, classes, positions): each row and position has its own softmax."""
    if rule.multi_output:
        return shape[0], shape[1], math.prod(shape[2:])
    if rule.preserve_shape:
        return math.prod(shape[:-1]), shape[-1], 1
    return shape[0], math.prod(shape[1:]), 1


def _probabilities(rule: _Settings, data: jax.Array) -> jax.Array:
    rows, classes, positions = _layout(rule, data.shape)
    # XLA for CPUs takes ten times as long over a last axis of 1.
    shape = (rows, classes) if positions == 1 else (rows, classes, positions)
    grouped = data.reshape(shape).astype(accumulator(data))
    return softmax_along(grouped, 1).reshape(data.shape).astype(data.dtype)


def _gradient(
    rule: _Settings, prob: jax.Array, label: jax.Array, cotangent: jax.Array
) -> jax.Array:
    wide = prob.astype(accumulator(prob))
    if label.shape == prob.shape:
        grad = (wide - label) * rule.grad_scale
    else:
        grad = _hard_label_gradient(rule, wide, label)
    if rule.out_grad:
        grad = grad * cotangent
    return grad.astype(prob.dtype)


def _whole(label: jax.Array) -> jax.Array:
    """Labels cut off to whole numbers. NaN is no class, as in MXNet; XLA's cast makes 0 of it."""
    cut = label.astype(jnp.int32)
    floats = jnp.issubdtype(label.dtype, jnp.floating)
    return jnp.where(label == label, cut, jnp.iinfo(jnp.int32).min) if floats else cut


def _hard_label_gradient(rule: _Settings, prob: jax.Array, label: jax.Array) -> jax.Array:
    rows, classes, positions = layout = _layout(rule, prob.shape)
    every = _whole(label.reshape(-1))
    chosen = every[: rows * positions].reshape(rows, 1, positions)
    target = jax.lax.broadcasted_iota(jnp.int32, layout, 1) == chosen
    grad = prob.reshape(layout) - target
    if rule.smooth_alpha and not rule.multi_output:
        # The target keeps 1 - alpha; the other classes share alpha.
        spread = rule.smooth_alpha / (classes - 1) if classes > 1 else 0.0
        grad = grad + jnp.where(target, rule.smooth_alpha, -spread)
    if rule.use_ignore:
        grad = jnp.where(chosen == int(rule.ignore_label), 0, grad)
    divisor: Any = 1 if rule.normalization == "valid" or not rule.multi_output else positions
    if rule.normalization == "batch":
        divisor *= max(label.shape[0] if rule.multi_output else label.size, 1)
    elif rule.normalization == "valid":
        counted = jnp.sum(every != int(rule.ignore_label), dtype=jnp.int32)
        divisor = jnp.maximum(counted, 1).astype(prob.dtype)
    return (grad * (rule.grad_scale / divisor)).reshape(prob.shape)


def _partial(ins: Any, outs: Any, attrs: Any) -> tuple[list[Any], list[Any]]:
    """The label's shape from the data's; where it is given, it must be one that fits."""
    data, label = ins
    if data is None or (len(data) < 2 and not attrs["preserve_shape"]):
        return list(ins), list(outs)
    fits = [tuple(data)]
    if len(data) > 1 and attrs["multi_output"]:
        positions = 0 if 0 in data[2:] else math.prod(data[2:])
        fits = [(data[0], positions), (data[0], *data[2:]), (data[0], 1, *data[2:]), *fits]
    elif len(data) > 1:
        fits = [tuple(data[:-1]), *fits]
    if label is None:
        return [data, fits[0]], [data]
    for fit in fits:
        if len(fit) == len(label) and all(
            0 in (a, b) or a == b for a, b in zip(fit, label, strict=True)
        ):
            return [data, tuple(a or b for a, b in zip(fit, label, strict=True))], [data]
    raise ShapeError(
        f"label: got shape {tuple(label)}, expected {' or '.join(map(str, fits))} "
        f"for data of shape {tuple(data)}"
    )


@op(
    "SoftmaxOutput",
    precision="float32",
    like=_Settings,
    aliases=("Softmax",),
    partial=_partial,
    dtypes=first_by_default,
    gradient="loss",
)
def softmax_output(data: jax.Array, label: jax.Array, **given: Any) -> jax.Array:
    """Softmax forward; backward the gradient of the cross entropy with ``label``, ``p - target``.

    The head gradient is ignored, unless ``out_grad=True``. The label gets no gradient.

    Args:
        label: class numbers, or with the shape of ``data`` a probability for each class.
        grad_scale: factor of the gradient.
        ignore_label: the class number that means no label.
        multi_output: classes are on axis 1, and every position after it has a label.
        use_ignore: positions with ``ignore_label`` get no gradient.
        preserve_shape: classes are on the last axis, and every position before it has a label.
        normalization: what the gradient is divided by: ``"null"`` nothing, ``"batch"`` the number
            of labels, ``"valid"`` the number of labels that are not ``ignore_label``. With
            ``multi_output``, ``"null"`` divides by the number of positions.
        out_grad: multiply by the head gradient.
        smooth_alpha: share of the target's probability that goes to the other classes; without
            effect with ``multi_output``, as in MXNet.

    Shapes:
        data: (N, C); (N, C, ...) with ``multi_output``; (..., C) with ``preserve_shape``. Without
            either all dimensions but the first are taken as one.
        label: (N,); (N, positions), (N, ...) or (N, 1, ...) with ``multi_output``; (...) with
            ``preserve_shape``; or as ``data``.
        returns: as ``data``.

    Differs: ``data`` with one axis, (C,), need ``preserve_shape`` and a probability for each class.
    Without ``preserve_shape`` they are an error here; MXNet 1.9.1 returns ones in training, and
    their softmax otherwise. The label may be of any type, MXNet requires that of ``data``. With
    ``out_grad=True`` the factor is the head gradient, as documented; MXNet 1.9.1 takes its own
    output for it.
    """
    require_floating(data, "SoftmaxOutput")
    rule = _Settings(**given)
    if data.ndim < (1 if rule.preserve_shape and not rule.multi_output else 2):
        raise ShapeError(
            f"SoftmaxOutput: got data of shape {data.shape}, expected at least two dimensions, or "
            "one with preserve_shape=True"
        )
    value, gradient = (functools.partial(f, rule) for f in (_probabilities, _gradient))
    return with_gradient(value, gradient, data, label)
