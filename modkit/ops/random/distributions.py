"""Seven distributions: their samplers, and checks of their parameters."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError
from modkit.interpreter.tracing import is_for_numpy, where
from modkit.ops import loops
from modkit.ops.parameters import Shape

PLAIN_NUMBERS = frozenset((bool, int, float))
"""The types of numbers that are known before a program runs."""


def _uniform(key: Any, shape: Shape, dtype: Any, low: Any, high: Any) -> Any:
    return low + jax.random.uniform(key, shape, dtype) * (high - low)


def _normal(key: Any, shape: Shape, dtype: Any, loc: Any, scale: Any) -> Any:
    return loc + jax.random.normal(key, shape, dtype) * scale


_row = functools.partial(lax.index_in_dim, keepdims=False)  # quicker to trace than an index

_CANDIDATES = 4
"""Number of candidates a turn: one in twenty is rejected."""


def _gamma(key: Any, shape: Shape, dtype: Any, alpha: Any, beta: Any) -> Any:
    """Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.

    All elements draw together: `jax.random.gamma` has a key and a loop for each, which take
    seconds to compile.
    """
    wide = jnp.float64 if dtype == jnp.float64 else jnp.float32
    alpha = jnp.broadcast_to(jnp.asarray(alpha, wide), shape)
    few = alpha < 1  # a gamma variable of alpha is one of alpha + 1 times a power
    d = jnp.where(few, alpha + 1, alpha) - 1 / 3
    c = 1 / (3 * jnp.sqrt(d))
    smallest = jnp.nextafter(jnp.asarray(-1, wide), jnp.asarray(0, wide))

    def turn(carry: Any) -> Any:
        number, done, found = carry
        u = jax.random.uniform(jax.random.fold_in(key, number), (2 * _CANDIDATES + 1, *shape), wide)
        x, height = (lax.slice_in_dim(u, at, at + _CANDIDATES) for at in (0, _CANDIDATES))
        x = math.sqrt(2) * lax.erf_inv(jnp.maximum(2 * x - 1, smallest))
        root = 1 + c * x
        v = root * root * root
        bound = 0.5 * x * x + d - d * v + d * lax.log(where(v > 0, v, 1))
        taken = (v > 0) & (lax.log(1 - height) < bound)
        first = _row(v, _CANDIDATES - 1)
        for at in range(_CANDIDATES - 1)[::-1]:
            first = where(_row(taken, at), _row(v, at), first)
        power = where(few, (1 - _row(u, 2 * _CANDIDATES)) ** (1 / alpha), 1)
        any_taken = taken.any(0)
        found = where(~done & any_taken, d * first * power, found)
        return number + 1, done | any_taken, found

    # Zero, a parameter that is no number, and infinity are no parameters of a distribution.
    known = ~((alpha >= 0) & (alpha < jnp.inf))
    start = np.uint32(0), known, jnp.where(alpha == jnp.inf, alpha, jnp.nan)
    if is_for_numpy():  # the first turn, mostly the only one, draws from the key alone
        start = turn(start)
    found = loops.while_loop(lambda carry: ~carry[1].all(), turn, start)[2]
    return found.astype(dtype) * beta


def _exponential(key: Any, shape: Shape, dtype: Any, lam: Any) -> Any:
    return jax.random.exponential(key, shape, dtype) / lam


def _poisson(key: Any, shape: Shape, dtype: Any, lam: Any) -> Any:
    """The numbers of `jax.random.poisson`, without its loop for large rates where all are small.

    Products of uniform numbers serve rates below 10; Hörmann, "The transformed rejection method
    for generating Poisson random variables", 1993, the others.
    """
    lam = jnp.broadcast_to(jnp.asarray(lam, dtype).astype(jnp.float32), shape)
    few = jnp.isnan(lam) | (lam < 10)

    def multiplied(carry: Any) -> Any:
        count, key, total = carry
        key, own = jax.random.split(key)
        count = where(total > -lam, count + 1, count)
        return count, key, total + lax.log(jax.random.uniform(own, shape, jnp.float32))

    def goes_on(carry: Any) -> Any:
        return (few & (carry[2] > -lam)).any()

    start = jnp.zeros(shape, jnp.int32), key, jnp.zeros(shape, jnp.float32)
    product = loops.while_loop(goes_on, multiplied, start)[0] - 1
    rate = where(few, 1e5, lam)
    b = 0.931 + 2.53 * jnp.sqrt(rate)
    a = -0.059 + 0.02483 * b

    def tried(carry: Any) -> Any:
        found, done, key = carry
        key, first, second = jax.random.split(key, 3)
        u = jax.random.uniform(first, shape, jnp.float32) - 0.5
        v = jax.random.uniform(second, shape, jnp.float32)
        end = 0.5 - abs(u)
        k = lax.floor((2 * a / end + b) * u + rate + 0.43)
        left = lax.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (end * end) + b))
        inside = (end >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        outside = (k < 0) | ((end < 0.013) & (v > end))
        fits = left <= -rate + k * lax.log(rate) - lax.lgamma(k + 1)
        taken = inside | (~outside & fits)
        return where(taken, k, found), done | taken, key

    none = jnp.broadcast_to(few.all(), shape)  # else as many turns as for rates that are all large
    start = jnp.full(shape, -1.0, jnp.float32), none, key
    rejected = loops.while_loop(lambda carry: ~carry[1].all(), tried, start)[0]
    found = where(few, product, rejected.astype(jnp.int32))
    return where(lam == 0, 0, found).astype(dtype)


def _negative_binomial(key: Any, shape: Shape, dtype: Any, k: Any, p: Any) -> Any:
    first, second = jax.random.split(key)
    rate = _gamma(first, shape, dtype, k, (1 - jnp.asarray(p, dtype)) / p)
    return _poisson(second, shape, dtype, rate)


def _mixed_poisson(key: Any, shape: Shape, dtype: Any, mu: Any, alpha: Any) -> Any:
    """A Poisson distribution whose rate is spread with variance ``alpha * mu²``."""
    first, second = jax.random.split(key)
    spread = jnp.asarray(alpha, dtype)
    safe = jnp.where(spread == 0, 1, spread)
    rate = jnp.where(spread == 0, mu, _gamma(first, shape, dtype, 1 / safe, safe * mu))
    return _poisson(second, shape, dtype, rate)


@dataclass(frozen=True)
class Distribution:
    """A distribution, from which its three operators are made.

    Args:
        name: the middle of the operators' names.
        draw: ``draw(key, shape, dtype, *parameters) -> samples``.
        params: the parameters' names and defaults.
        tensors: their names where they are tensors.
        legal: whether numbers are legal parameters.
        rule: that in words.
        doc: what is drawn.
        aliases: more names of the operator with parameters.
    """

    name: str
    draw: Callable[..., Any]
    params: Mapping[str, float]
    tensors: Sequence[str]
    legal: Callable[..., bool]
    rule: str
    doc: str
    aliases: Sequence[str] = ()

    def check(self, *numbers: Any) -> None:
        """Raise ParameterError for illegal parameters; those known only at run time pass."""
        if PLAIN_NUMBERS.issuperset(map(type, numbers)) and not self.legal(*numbers):
            got = ", ".join(f"{n}={v}" for n, v in zip(self.params, numbers, strict=True))
            raise ParameterError(f"random {self.name}: got {got}, expected {self.rule}")

    def sample(self, key: Any, shape: Shape, dtype: Any, numbers: Sequence[Any]) -> Any:
        """Samples of ``dtype``, computed in float32 at least."""
        working = jnp.promote_types(dtype, jnp.float32)
        return self.draw(key, shape, working, *numbers).astype(dtype)


_ROWS = (
    Distribution(
        "uniform", _uniform, {"low": 0.0, "high": 1.0}, ("low", "high"),
        lambda low, high: low <= high, "low <= high",
        "Uniformly distributed numbers from ``low`` up to ``high``.", ("uniform",),
    ),
    Distribution(
        "normal", _normal, {"loc": 0.0, "scale": 1.0}, ("mu", "sigma"),
        lambda loc, scale: scale > 0, "scale > 0",
        "Normally distributed numbers, by mean and standard deviation.", ("normal",),
    ),
    Distribution(
        "gamma", _gamma, {"alpha": 1.0, "beta": 1.0}, ("alpha", "beta"),
        lambda alpha, beta: alpha > 0 and beta > 0, "alpha > 0 and beta > 0",
        "Gamma distributed numbers of shape ``alpha`` and scale ``beta``.",
    ),
    Distribution(
        "exponential", _exponential, {"lam": 1.0}, ("lam",), lambda lam: lam > 0, "lam > 0",
        "Exponentially distributed numbers of rate ``lam``.",
    ),
    Distribution(
        "poisson", _poisson, {"lam": 1.0}, ("lam",), lambda lam: lam >= 0, "lam >= 0",
        "Poisson distributed counts of mean ``lam``.",
    ),
    Distribution(
        "negative_binomial", _negative_binomial, {"k": 1, "p": 1.0}, ("k", "p"),
        lambda k, p: k >= 0 and 0 < p <= 1, "k >= 0 and 0 < p <= 1",
        "Counts of failures before ``k`` successes, each of probability ``p``.",
    ),
    Distribution(
        "generalized_negative_binomial", _mixed_poisson, {"mu": 1.0, "alpha": 1.0},
        ("mu", "alpha"), lambda mu, alpha: mu >= 0 and alpha >= 0, "mu >= 0 and alpha >= 0",
        "Negative binomial counts of mean ``mu`` and variance ``mu + alpha * mu²``.",
    ),
)  # fmt: skip

DISTRIBUTIONS = {row.name: row for row in _ROWS}
"""The distributions, by the middle of their operators' names."""
