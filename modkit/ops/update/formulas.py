"""Formulas of the optimizers: new weight and state from weight, gradient and state.

Pure functions of arrays, shared by the update operators (``nd.sgd_update``) and by
`modkit.optimizer`. Numbers may be Python's or traced scalars. ``clip_gradient`` below zero, or
``None``, clips nothing. Letters: ``w`` weight, ``g`` gradient.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from modkit.ops.floating import accumulator

Array = Any


def clip(array, bound) -> Array:
    """``array`` between ``-bound`` and ``bound``; untouched by a bound of ``None`` or below 0."""
    if bound is None:
        return array
    if isinstance(bound, int | float):
        return jnp.clip(array, -bound, bound) if bound >= 0 else array
    bound = bound.astype(array.dtype)
    return jnp.where(bound >= 0, jnp.clip(array, -bound, bound), array)


def rescaled(g, rescale_grad, clip_gradient) -> Array:
    """``clip(rescale·g)``."""
    return clip(rescale_grad * g, clip_gradient)


def decayed(w, g, wd, rescale_grad, clip_gradient) -> Array:
    """``clip(rescale·g + wd·w)``: the decay is clipped too."""
    return clip(rescale_grad * g + wd * w, clip_gradient)


def sgd(w, g, *, lr, wd, rescale_grad, clip_gradient) -> Array:
    """``w ← w − lr·(clip(rescale·g) + wd·w)``."""
    return (1 - lr * wd) * w - lr * rescaled(g, rescale_grad, clip_gradient)


def sgd_mom(w, g, mom, *, lr, momentum, wd, rescale_grad, clip_gradient) -> tuple[Array, Array]:
    """``v ← μ·v − lr·(clip(rescale·g) + wd·w)``, ``w ← w + v``."""
    g = rescaled(g, rescale_grad, clip_gradient)
    mom = momentum * mom - lr * wd * w - lr * g
    return w + mom, mom


def dcasgd(w, g, state, *, lr, momentum, lamda, wd, rescale_grad, clip_gradient) -> Any:
    """SGD with a first-order correction of the gradient for its delay.

    The state is the velocity, ``None`` without momentum, and the weight before the last update.
    """
    mom, previous = state
    g = rescaled(g, rescale_grad, clip_gradient)
    step = -lr * (g + wd * w + lamda * g * g * (w - previous))
    if mom is not None:
        step = mom = momentum * mom + step
    return w + step, (mom, w)


def nag_mom(w, g, mom, *, lr, momentum, wd, rescale_grad, clip_gradient) -> tuple[Array, Array]:
    """Nesterov: ``w ← w + μ²·v − (1+μ)·lr·(G + wd·w)``, then ``v ← μ·v − lr·(G + wd·w)``.

    ``G`` is ``clip(rescale·g)``. As in MXNet, the velocity decays by the new weight.
    """
    g = rescaled(g, rescale_grad, clip_gradient)
    w = w + momentum * momentum * mom - (1 + momentum) * lr * (wd * w + g)
    return w, momentum * mom - lr * (wd * w + g)


def _direction(x: Array) -> Array:
    """The sign, which of NaN is 0, as in MXNet: what is not finite moves no weight."""
    return jnp.where(jnp.isnan(x), 0, jnp.sign(x))


def signsgd(w, g, *, lr, wd, rescale_grad, clip_gradient, wd_lh=0.0) -> Array:
    """``w ← (1 − lr·wd)·w − lr·sign(g) − lr·wd_lh·w``."""
    new = (1 - lr * wd) * w - lr * _direction(g)
    return new - lr * wd_lh * w if wd_lh else new


def signum(
    w, g, mom, *, lr, momentum, wd, rescale_grad, clip_gradient, wd_lh
) -> tuple[Array, Array]:
    """``v ← μ·v − (1−μ)·(clip(rescale·g) + wd·w)``, ``w ← (1 − lr·wd_lh)·w + lr·sign(v)``."""
    g = rescaled(g, rescale_grad, clip_gradient)
    mom = momentum * mom - (1 - momentum) * (wd * w) - (1 - momentum) * g
    return (1 - lr * wd_lh) * w + lr * _direction(mom), mom


def moments(g, mean, var, beta1, beta2) -> tuple[Array, Array]:
    """Adam's running means of the gradient and of its square."""
    return beta1 * mean + (1 - beta1) * g, beta2 * var + (1 - beta2) * jnp.square(g)


def adam(
    w, g, mean, var, *, lr, beta1, beta2, epsilon, wd, rescale_grad, clip_gradient
) -> tuple[Array, Array, Array]:
    """``w ← w − lr·m / (√v + ε)``; the correction of the bias is part of ``lr``."""
    g = decayed(w, g, wd, rescale_grad, clip_gradient)
    mean, var = moments(g, mean, var, beta1, beta2)
    return w - lr * mean / (jnp.sqrt(var) + epsilon), mean, var


def adamw(
    w, g, mean, var, *, lr, eta, beta1, beta2, epsilon, wd, rescale_grad, clip_gradient
) -> tuple[Array, Array, Array]:
    """``w ← w − η·(lr·m / (√v + ε) + wd·w)``."""
    g = rescaled(g, rescale_grad, clip_gradient)
    mean, var = moments(g, mean, var, beta1, beta2)
    return w - eta * (lr * mean / (jnp.sqrt(var) + epsilon) + wd * w), mean, var


def adamax(
    w, g, mean, maximum, *, lr, beta1, beta2, wd, rescale_grad, clip_gradient
) -> tuple[Array, Array, Array]:
    """Adam with the decayed maximum ``u`` of ``|g|``: ``w ← w − lr·m / u``, the bias in ``lr``."""
    g = decayed(w, g, wd, rescale_grad, clip_gradient)
    mean = beta1 * mean + (1 - beta1) * g
    maximum = jnp.maximum(beta2 * maximum, jnp.abs(g))
    return w - lr * mean / maximum, mean, maximum


def nadam(
    w, g, mean, var, *, lr, grad_scale, mean_scale, var_scale, beta1, beta2, epsilon, wd,
    rescale_grad, clip_gradient,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Adam with Nesterov momentum; the momentum schedule enters as three coefficients."""
    g = decayed(w, g, wd, rescale_grad, clip_gradient)
    mean = beta1 * mean + (1 - beta1) * g
    var = beta2 * var + (1 - beta2) * g * g
    direction = grad_scale * g + mean_scale * mean
    return w - lr * direction / (jnp.sqrt(var * var_scale) + epsilon), mean, var


def adadelta(
    w, g, of_grad, of_step, *, rho, epsilon, wd, rescale_grad, clip_gradient
) -> tuple[Array, Array, Array]:
    """Steps scaled by the ratio of two running means of squares: of the gradient, of the step."""
    g = rescaled(g, rescale_grad, clip_gradient)
    of_grad = rho * of_grad + (1 - rho) * g * g
    step = jnp.sqrt(of_step + epsilon) / jnp.sqrt(of_grad + epsilon) * g
    of_step = rho * of_step + (1 - rho) * step * step
    return w - step - wd * w, of_grad, of_step


def rmsprop(
    w, g, n, *, lr, gamma1, epsilon, wd, rescale_grad, clip_gradient, clip_weights
) -> tuple[Array, Array]:
    """Tieleman and Hinton: ``n ← γ·n + (1−γ)·g²``, ``w ← w − lr·g / √(n + ε)``."""
    g = decayed(w, g, wd, rescale_grad, clip_gradient)
    n = gamma1 * n + (1 - gamma1) * jnp.square(g)
    return clip(w - lr * g / jnp.sqrt(n + epsilon), clip_weights), n


def rmsprop_alex(
    w, g, n, mean, delta, *, lr, gamma1, gamma2, epsilon, wd, rescale_grad, clip_gradient,
    clip_weights,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Graves: ``Δ ← γ₂·Δ − lr·g / √(n − ḡ² + ε)``, ``w ← w + Δ``."""
    g = decayed(w, g, wd, rescale_grad, clip_gradient)
    n = gamma1 * n + (1 - gamma1) * jnp.square(g)
    mean = gamma1 * mean + (1 - gamma1) * g
    delta = gamma2 * delta - lr * g / jnp.sqrt(n - jnp.square(mean) + epsilon)
    return clip(w + delta, clip_weights), n, mean, delta


def ftrl(
    w, g, z, n, *, lr, lamda1, beta, wd, rescale_grad, clip_gradient
) -> tuple[Array, Array, Array]:
    """Follow the regularised leader, with L1 ``lamda1`` and L2 ``wd``."""
    lamda1 = jnp.asarray(lamda1, jnp.result_type(w, 1.0))
    g = rescaled(g, rescale_grad, clip_gradient)
    before, n = jnp.sqrt(n), n + jnp.square(g)
    root = jnp.sqrt(n)
    z = z + g - (root - before) * w / lr
    w = (jnp.sign(z) * lamda1 - z) / ((beta + root) / lr + wd)
    return jnp.where(jnp.abs(z) <= lamda1, jnp.zeros_like(w), w), z, n  # NaN stays NaN


def ftml(
    w, g, d, v, z, *, lr, t, beta1, beta2, epsilon, wd, rescale_grad, clip_gradient
) -> tuple[Array, Array, Array, Array]:
    """Follow the moving leader, at update number ``t`` (from 1)."""
    g = decayed(w, g, wd, rescale_grad, clip_gradient)
    v = beta2 * v + (1 - beta2) * jnp.square(g)
    d_new = (1 - beta1**t) / lr * (jnp.sqrt(v / (1 - beta2**t)) + epsilon)
    z = beta1 * z + (1 - beta1) * g - (d_new - beta1 * d) * w
    return -z / d_new, d_new, v, z


def squares(array, axes: tuple[str, ...] = ()) -> Array:
    """The sum of the squares of all elements; of those of all parts along mesh axes.

    That of float16 is added in float32, as it may be above 65504.
    """
    total = jnp.sum(jax.lax.square(array.astype(accumulator(array))))
    return jax.lax.psum(total, axes) if axes else total


def norm(array) -> Array:
    """The L2 norm over all elements, of the type of `squares`."""
    return jnp.sqrt(squares(array))


def lamb_phase1(
    w, g, mean, var, *, t, beta1, beta2, epsilon, bias_correction: bool, wd, rescale_grad,
    clip_gradient,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The direction ``m̂ / (√v̂ + ε) + wd·w`` of LAMB, and its new moments."""
    g = rescaled(g, rescale_grad, clip_gradient)
    mean, var = moments(g, mean, var, beta1, beta2)
    m, v = mean, var
    if bias_correction:
        m, v = mean / (1 - beta1**t), var / (1 - beta2**t)
    return m / (jnp.sqrt(v) + epsilon) + wd * w, mean, var


def lamb_phase2(w, direction, r1, r2, *, lr, lower_bound, upper_bound) -> Array:
    """``w ← w − lr·(r1/r2)·direction``; ``r1`` and ``r2`` are the norms of both, ``r1`` bounded.

    A bound below zero, or ``None``, bounds nothing.
    """
    if lower_bound is not None:
        r1 = jnp.where(lower_bound >= 0, jnp.maximum(r1, lower_bound), r1)
    if upper_bound is not None:
        r1 = jnp.where(upper_bound >= 0, jnp.minimum(r1, upper_bound), r1)
    neither = (r1 == 0) | (r2 == 0)
    trust = jnp.where(neither, jnp.ones_like(r1), r1 / jnp.where(neither, jnp.ones_like(r2), r2))
    return w - (lr * trust).astype(w.dtype) * direction


def lamb(
    w, g, mean, var, *, lr, lower_bound, upper_bound, stored=None, norm=norm, **numbers
) -> tuple[Array, Array, Array]:
    """Both phases of LAMB, at the norm of ``stored``, by default the weight itself."""
    direction, mean, var = lamb_phase1(w, g, mean, var, **numbers)
    r1, r2 = norm(w if stored is None else stored), norm(direction)
    bounds = {"lower_bound": lower_bound, "upper_bound": upper_bound}
    return lamb_phase2(w, direction, r1, r2, lr=lr, **bounds), mean, var


def adagrad(w, g, history, *, lr, wd, epsilon, rescale_grad, clip_gradient) -> tuple[Array, Array]:
    """``h ← h + g²``, ``w ← w − lr·(g/√(h + ε) + wd·w)``."""
    g = rescaled(g, rescale_grad, clip_gradient)
    history = history + jnp.square(g)
    return w - lr * (g / jnp.sqrt(history + epsilon) + wd * w), history


def group_adagrad(
    w, g, history, *, lr, epsilon, rescale_grad, clip_gradient
) -> tuple[Array, Array]:
    """AdaGrad with one rate a row: ``h ← h + mean(g²)``, ``w ← w − lr·g / √(h + ε)``."""
    g = rescaled(g, rescale_grad, clip_gradient)
    rest = tuple(range(1, w.ndim))
    history = history + jnp.mean(jnp.square(g), rest, keepdims=True)
    return w - lr * g / jnp.sqrt(history + epsilon), history
