"""``mx.nd.contrib.rand_zipfian``: candidate classes of a sampled softmax."""

from __future__ import annotations

import math

from modkit.context import Context
from modkit.errors import ParameterError
from modkit.ndarray import random
from modkit.ndarray.ndarray import NDArray


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw classes from an approximately log-uniform distribution, as candidates for a loss.

    ``P(class) = (log(class + 2) - log(class + 1)) / log(range_max + 1)``.

    Args:
        true_classes: class numbers.
        num_sampled: the number of draws, with replacement.
        range_max: the number of classes.
        ctx: where the draws are made; default the current context.

    Shapes:
        true_classes: (N,).
        returns: draws (num_sampled,) of int64; the expected number of occurrences of the true
            classes (N,) and of the drawn ones (num_sampled,), of float64.

    Raises:
        ParameterError: ``range_max`` or ``num_sampled`` is below 1.
    """
    if range_max < 1 or num_sampled < 1:
        raise ParameterError(
            f"rand_zipfian: got num_sampled={num_sampled}, range_max={range_max}, expected 1 or "
            "more of both"
        )
    scale = math.log(range_max + 1)
    drawn = random.uniform(0, scale, shape=(num_sampled,), dtype="float64", ctx=ctx)
    sampled = (drawn.exp() - 1).astype("int64") % range_max

    def expected(classes: NDArray) -> NDArray:
        number = classes.astype("float64")
        return ((number + 2) / (number + 1)).log() / scale * num_sampled

    return sampled, expected(true_classes.as_in_context(sampled.context)), expected(sampled)
