"""The best classes of each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from modkit.errors import ParameterError, ShapeError, expect


class Ranked(NamedTuple):
    """A class by its number, its score, and its label if labels were given."""

    class_id: int
    score: float
    label: str | None


def rank(
    scores: np.ndarray, k: int, labels: Sequence[str] | None = None, where: str = "scores"
) -> list[list[Ranked]]:
    """The ``k`` highest scores of each row, best first; all, where there are fewer.

    >>> rank(np.array([[1.0, 3.0, 2.0]]), 2, ["cat", "dog", "cow"])
    [[Ranked(class_id=1, score=3.0, label='dog'), Ranked(class_id=2, score=2.0, label='cow')]]

    Args:
        scores: of samples for classes.
        labels: names of the classes, in their order.
        where: name of the scores, for errors.

    Raises:
        ShapeError: the scores are not (samples, classes).
        ParameterError: ``k`` is less than 1, or there are not as many labels as classes.

    Shapes:
        scores: (N, C).
    """
    if scores.ndim != 2:
        raise ShapeError(f"top_k: {where} has shape {scores.shape}, expected (samples, classes)")
    expect(k >= 1, "top_k: k", k, "at least 1")
    if labels is not None and len(labels) != scores.shape[1]:
        raise ParameterError(
            f"top_k: got {len(labels)} labels for the {scores.shape[1]} classes of {where}"
        )
    # Stable: classes of equal score stay in order.
    order = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")[:, :k]
    named = dict(enumerate(labels or ()))
    return [
        [Ranked(int(i), float(row[i]), named.get(int(i))) for i in best]
        for row, best in zip(scores, order, strict=True)
    ]
