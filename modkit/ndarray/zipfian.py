"""``mx.nd.contrib.rand_zipfian``: candidate classes of a sampled softmax."""

from __future__ import annotations

from typing import Any

from modkit.context import Context, current_context
from modkit.ndarray import random
from modkit.ndarray.ndarray import NDArray
from modkit.ops.random import zipfian


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

    def uniform(*args: Any, **kwargs: Any) -> NDArray:
        return random.uniform(*args, ctx=ctx, **kwargs)

    near = true_classes.as_in_context(ctx or current_context())
    return zipfian.rand_zipfian(uniform, near, num_sampled, range_max)
