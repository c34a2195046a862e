"""Densities and probabilities of samples, row by row with the parameters of their distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln

from modkit.errors import ShapeError
from modkit.ops.registry import op
from modkit.ops.schema import with_schema


def _normal(sample: Any, mu: Any, sigma: Any) -> Any:
    return -0.5 * jnp.square((sample - mu) / sigma) - jnp.log(sigma) - 0.5 * jnp.log(2 * jnp.pi)


def _gamma(sample: Any, alpha: Any, beta: Any) -> Any:
    power = alpha * jnp.log(beta) + (alpha - 1) * jnp.log(sample)
    return power - beta * sample - gammaln(alpha)


def _poisson(sample: Any, lam: Any) -> Any:
    count = jax.lax.stop_gradient(sample)
    return count * jnp.log(lam) - gammaln(count + 1) - lam


def _negative_binomial(sample: Any, k: Any, p: Any) -> Any:
    count = jax.lax.stop_gradient(sample)
    ways = gammaln(count + k) - gammaln(count + 1) - gammaln(k)
    return ways + k * jnp.log(p) + count * jnp.log1p(-p)


def _mixed_poisson(sample: Any, mu: Any, alpha: Any) -> Any:
    return _negative_binomial(sample, 1 / alpha, 1 / (mu * alpha + 1))


def _dirichlet(sample: Any, alpha: Any) -> Any:
    norm = gammaln(alpha.sum(-1)) - gammaln(alpha).sum(-1)
    return ((alpha - 1) * jnp.log(sample)).sum(-1) + norm


_ROWS: list[tuple[str, Callable[..., Any], Sequence[str], str]] = [
    # name, logarithm of the density, parameters, of what
    ("uniform", lambda sample, low, high: jnp.broadcast_to(-jnp.log(high - low), sample.shape),
     ("low", "high"), "the uniform distribution from ``low`` to ``high``"),
    ("normal", _normal, ("mu", "sigma"), "the normal distribution of deviation ``sigma``"),
    ("gamma", _gamma, ("alpha", "beta"), "the gamma distribution of rate ``beta``"),
    ("exponential", lambda sample, lam: jnp.log(lam) - lam * sample, ("lam",),
     "the exponential distribution of rate ``lam``"),
    ("poisson", _poisson, ("lam",), "the Poisson distribution of mean ``lam``"),
    ("negative_binomial", _negative_binomial, ("k", "p"),
     "failures before ``k`` successes of probability ``p``"),
    ("generalized_negative_binomial", _mixed_poisson, ("mu", "alpha"),
     "counts of mean ``mu`` and variance ``mu + alpha * mu²``"),
    ("dirichlet", _dirichlet, ("alpha",), "the Dirichlet distribution; its last axis is a vector"),
]  # fmt: skip


def _align(name: str, sample: Any, params: Sequence[Any], vector: bool) -> list[Any]:
    """The parameters with dimensions of size 1 where ``sample`` has more of them."""
    shape = params[0].shape
    batch = shape[: len(shape) - vector]
    tail = shape[len(batch) :]
    fits = sample.shape[: len(batch)] == batch and sample.shape[sample.ndim - vector :] == tail
    if not fits or any(p.shape != shape for p in params):
        raise ShapeError(
            f"{name}: got a sample of shape {sample.shape} and parameters of shape "
            f"{', '.join(str(p.shape) for p in params)}, expected one shape for the parameters, "
            "with which that of the sample begins"
        )
    extra = sample.ndim - len(shape)
    return [p.reshape(batch + (1,) * extra + tail) for p in params]


def _register(dist: str, log_density: Callable[..., Any], params: Sequence[str], of: str) -> None:
    name = f"_random_pdf_{dist}"

    def run(*, sample: Any, is_log: bool, **given: Any) -> Any:
        tensors = _align(name, sample, [given[n] for n in params], dist == "dirichlet")
        value = jnp.atleast_1d(log_density(sample, *tensors))
        return value if is_log else jnp.exp(value)

    doc = (
        f"The density (or probability) of each sample under {of}; its logarithm with ``is_log``.\n"
        "\nShapes:\n    sample: that of the parameters, and more dimensions behind."
    )
    tensors = ("sample", *params)
    made = with_schema(run, name, doc, tensors, {"is_log": (bool, False)})
    op(name, precision="float32", aliases=(name.lstrip("_"),))(made)


for _row in _ROWS:
    _register(*_row)
