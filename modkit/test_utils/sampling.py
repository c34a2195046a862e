"""Statistical checks of random generators. The chi-square tests need SciPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modkit.errors import ParameterError
from modkit.lazy import install, optional

Generator = Callable[[int], Any]
Bucket = Any


def _sample(generator: Generator, nsamples: int) -> np.ndarray:
    drawn = generator(nsamples)
    drawn = np.asarray(drawn).reshape(-1)
    if len(drawn) != nsamples:
        raise ParameterError(f"generator({nsamples}): got {len(drawn)} samples")
    return drawn


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the mean of the samples is within three standard errors of ``mu``."""
    mean = float(_sample(generator, nsamples).astype(np.float64).mean())
    return abs(mean - mu) < 3 * sigma / math.sqrt(nsamples)


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance is within three standard errors of that of a normal distribution."""
    variance = float(_sample(generator, nsamples).astype(np.float64).var(ddof=1))
    return abs(variance - sigma**2) < 3 * math.sqrt(2 * sigma**4 / (nsamples - 1))


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Buckets of equal probability, from a distribution's quantile function.

    >>> gen_buckets_probs_with_ppf(lambda q: 2 * q, 2)
    ([(0.0, 1.0), (1.0, 2.0)], [0.5, 0.5])
    """
    edges = [float(ppf(i / nbuckets)) for i in range(nbuckets + 1)]
    return list(itertools.pairwise(edges)), [1 / nbuckets] * nbuckets


def chi_square_check(
    generator: Generator, buckets: Sequence[Bucket], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, np.ndarray, np.ndarray]:
    """Chi-square test of samples against a distribution.

    Args:
        generator: ``generator(n)`` draws n samples.
        buckets: intervals ``(low, high)``, or single values.
        probs: probability of each bucket; their sum is 1.

    Returns:
        The p-value, and the observed and expected counts of the buckets.

    Raises:
        NotSupportedError: SciPy is not installed.
    """
    stats = optional(
        "scipy.stats",
        f"chi-square tests need SciPy: {install('scipy')}; mean_check and var_check do not",
    )
    if len(buckets) != len(probs) or not buckets:
        raise ParameterError(
            f"chi_square_check: got {len(buckets)} buckets and {len(probs)} probabilities, "
            "expected as many, and some"
        )
    drawn = _sample(generator, nsamples)
    if isinstance(buckets[0], list | tuple):
        edges = np.asarray([buckets[0][0], *(high for _, high in buckets)])
        observed, _ = np.histogram(drawn, edges)
    else:
        observed = np.array([(drawn == value).sum() for value in buckets])
    expected = (nsamples * np.asarray(probs)).astype(np.int32)
    scaled = expected * (observed.sum() / expected.sum())
    return float(stats.chisquare(observed, scaled)[1]), observed, expected


def verify_generator(
    generator: Generator,
    buckets: Sequence[Bucket],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Raise an AssertionError unless enough repetitions pass the chi-square test.

    Args:
        generator: ``generator(n)`` draws n samples.
        buckets, probs: as in `chi_square_check`.
        success_rate: fraction of the repetitions that must pass.
        alpha: a repetition passes with a p-value above it.

    Returns:
        The p-values.
    """
    results = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    values = [p for p, _, _ in results]
    if sum(p > alpha for p in values) < nrepeat * success_rate:
        raise AssertionError(
            f"Generator test fails, Chi-square p={values}, "
            f"obs_freq={[o.tolist() for _, o, _ in results]}, "
            f"expected_freq={results[0][2].tolist()}. buckets={buckets}, probs={probs}"
        )
    return values
