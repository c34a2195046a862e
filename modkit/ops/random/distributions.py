"""Seven distributions: their samplers, and checks of their parameters.

Graphs draw by JAX's keys. Eager calls on CPUs draw by NumPy's generators, which take a tenth of the
time for few numbers: JAX's cipher alone is a hundred operations of NumPy.
"""

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
from modkit.interpreter.tracing import where
from modkit.ops import loops
from modkit.ops.parameters import Shape

PLAIN_NUMBERS = frozenset((bool, int, float))
"""The types of numbers that are known before a program runs."""

_MOST_RATE = 2.0**62
"""Rates of Poisson numbers that NumPy draws are lower: the numbers have 64 bits."""

_row = functools.partial(lax.index_in_dim, keepdims=False)  # quicker to trace than an index

_CANDIDATES = 4
"""Number of candidates a turn: one in twenty is rejected."""


class _Traced:
    """Draws of a traced program, by a JAX key."""

    xp = jnp

    def __init__(self, key: Any):
        self._key = key

    def split(self) -> tuple[_Traced, _Traced]:
        """Two independent sources."""
        first, second = jax.random.split(self._key)
        return _Traced(first), _Traced(second)

    def uniform(self, shape: Shape, dtype: Any) -> Any:
        """Uniform numbers of [0, 1)."""
        return jax.random.uniform(self._key, shape, dtype)

    def normal(self, shape: Shape, dtype: Any) -> Any:
        """Normal numbers of mean 0 and deviation 1."""
        return jax.random.normal(self._key, shape, dtype)

    def exponential(self, shape: Shape, dtype: Any) -> Any:
        """Exponential numbers of rate 1."""
        return jax.random.exponential(self._key, shape, dtype)

    def poisson(self, shape: Shape, dtype: Any, lam: Any) -> Any:
        """Poisson numbers; 0 where the rate is negative, as in MXNet."""
        rates = jnp.broadcast_to(jnp.asarray(lam, dtype), shape)
        return jnp.where(rates <= 0, 0, jax.random.poisson(self._key, rates)).astype(dtype)

    def gamma(self, shape: Shape, dtype: Any, alpha: Any) -> Any:
        """Gamma numbers of scale 1.

        Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. All elements
        draw together: `jax.random.gamma` has a key and a loop for each, which take seconds to
        compile.
        """
        wide = working(dtype)
        alpha = jnp.broadcast_to(jnp.asarray(alpha, wide), shape)
        few = alpha < 1  # a gamma variable of alpha is one of alpha + 1 times a power
        d = jnp.where(few, alpha + 1, alpha) - 1 / 3
        c = 1 / (3 * jnp.sqrt(d))
        smallest = jnp.nextafter(jnp.asarray(-1, wide), jnp.asarray(0, wide))

        def turn(carry: Any) -> Any:
            number, done, found = carry
            u = jax.random.uniform(
                jax.random.fold_in(self._key, number), (2 * _CANDIDATES + 1, *shape), wide
            )
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
        found = loops.while_loop(lambda carry: ~carry[1].all(), turn, start)[2]
        return found.astype(dtype)


class _Drawn:
    """Draws of an eager call, by a NumPy generator."""

    xp = np

    def __init__(self, generator: np.random.Generator):
        self._generator = generator

    def split(self) -> tuple[_Drawn, _Drawn]:
        """Two independent sources: one after the other."""
        return self, self

    def uniform(self, shape: Shape, dtype: Any) -> Any:
        """See `_Traced`, as the others."""
        return self._generator.random(shape, dtype)

    def normal(self, shape: Shape, dtype: Any) -> Any:
        return self._generator.standard_normal(shape, dtype)

    def exponential(self, shape: Shape, dtype: Any) -> Any:
        return self._generator.standard_exponential(shape, dtype)

    def poisson(self, shape: Shape, dtype: Any, lam: Any) -> Any:
        legal = (lam >= 0) & (lam < _MOST_RATE)
        if legal is True or np.all(legal):
            return self._generator.poisson(lam, shape).astype(dtype)
        made = self._generator.poisson(np.where(legal, lam, 0), shape)
        return np.where(legal | (lam < 0), made, np.where(lam > 0, lam, -1)).astype(dtype)

    def gamma(self, shape: Shape, dtype: Any, alpha: Any) -> Any:
        legal = (alpha >= 0) & (alpha < math.inf)
        if legal is True or np.all(legal):
            return self._generator.standard_gamma(alpha, shape, dtype)
        made = self._generator.standard_gamma(np.where(legal, alpha, 1), shape, dtype)
        return np.where(legal, made, np.where(alpha == math.inf, alpha, math.nan)).astype(dtype)


Source = _Traced | _Drawn


def working(dtype: Any) -> str:
    """The type in which numbers of a type are drawn."""
    return "float64" if np.dtype(dtype) == np.float64 else "float32"


def _uniform(source: Source, shape: Shape, dtype: Any, low: Any, high: Any) -> Any:
    return low + source.uniform(shape, dtype) * (high - low)


def _normal(source: Source, shape: Shape, dtype: Any, loc: Any, scale: Any) -> Any:
    return loc + source.normal(shape, dtype) * scale


def _gamma(source: Source, shape: Shape, dtype: Any, alpha: Any, beta: Any) -> Any:
    return source.gamma(shape, dtype, alpha) * beta


def _exponential(source: Source, shape: Shape, dtype: Any, lam: Any) -> Any:
    return source.exponential(shape, dtype) / lam


def _poisson(source: Source, shape: Shape, dtype: Any, lam: Any) -> Any:
    return source.poisson(shape, dtype, lam)


def _negative_binomial(source: Source, shape: Shape, dtype: Any, k: Any, p: Any) -> Any:
    first, second = source.split()
    return second.poisson(shape, dtype, _gamma(first, shape, dtype, k, (1 - p) / p))


def _mixed_poisson(source: Source, shape: Shape, dtype: Any, mu: Any, alpha: Any) -> Any:
    """A Poisson distribution whose rate is spread with variance ``alpha * mu²``."""
    (first, second), xp = source.split(), source.xp
    spread = xp.asarray(alpha, dtype)
    safe = xp.where(spread == 0, 1, spread)
    rate = xp.where(spread == 0, mu, _gamma(first, shape, dtype, 1 / safe, safe * mu))
    return second.poisson(shape, dtype, rate)


@dataclass(frozen=True)
class Distribution:
    """A distribution, from which its three operators are made.

    Args:
        name: the middle of the operators' names.
        draw: ``draw(source, shape, dtype, *parameters) -> samples``.
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
        """Samples of ``dtype``, computed in float32 at least.

        Args:
            key: a JAX key, or NumPy's generator.
        """
        if isinstance(key, np.random.Generator):
            source: Source = _Drawn(key)
        else:
            source, numbers = _Traced(key), lax.stop_gradient(list(numbers))
        return self.draw(source, shape, working(dtype), *numbers).astype(dtype)


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
