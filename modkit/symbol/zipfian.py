"""``mx.sym.contrib.rand_zipfian``."""

from __future__ import annotations

from modkit.ops.random import zipfian
from modkit.symbol import random
from modkit.symbol.symbol import Symbol


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Classes drawn from an approximately log-uniform distribution, as candidates for a loss.

    ``P(class) = (log(class + 2) - log(class + 1)) / log(range_max + 1)``.

    Args:
        true_classes: class numbers.
        num_sampled: the number of draws, with replacement.
        range_max: the number of classes.

    Shapes:
        true_classes: (N,).
        returns: draws (num_sampled,) of int64; the expected number of occurrences of the true
            classes (N,) and of the drawn ones (num_sampled,), of float64.

    Raises:
        ParameterError: ``range_max`` or ``num_sampled`` is below 1.
    """
    return zipfian.rand_zipfian(random.uniform, true_classes, num_sampled, range_max)
