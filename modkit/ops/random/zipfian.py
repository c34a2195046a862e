"""``rand_zipfian`` of both worlds: candidate classes of a sampled softmax."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from modkit.errors import ParameterError


def rand_zipfian(
    uniform: Callable[..., Any], true_classes: Any, num_sampled: int, range_max: int
) -> tuple[Any, Any, Any]:
    """Draws, and expected numbers of occurrences; see `modkit.ndarray.zipfian.rand_zipfian`.

    Args:
        uniform: the world's function of that name.
        true_classes: an array or a symbol.
        num_sampled: the number of draws.
        range_max: the number of classes.

    Raises:
        ParameterError: ``range_max`` or ``num_sampled`` is below 1.
    """
    if range_max < 1 or num_sampled < 1:
        raise ParameterError(
            f"rand_zipfian: got num_sampled={num_sampled}, range_max={range_max}, expected 1 or "
            "more of both"
        )
    scale = math.log(range_max + 1)
    drawn = uniform(0, scale, shape=(num_sampled,), dtype="float64")
    sampled = (drawn.exp() - 1).astype("int64") % range_max

    def expected(classes: Any) -> Any:
        number = classes.astype("float64")
        return ((number + 2) / (number + 1)).log() / scale * num_sampled

    return sampled, expected(true_classes), expected(sampled)
