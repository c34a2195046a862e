"""Checks of the cotangents that a program gives to ``backward``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import jax
import numpy as np

from modkit.errors import ParameterError, ShapeError, wrong
from modkit.ndarray import NDArray
from modkit.symbol.lower import Lowered


class Cotangents:
    """The gradients of outputs that the backward pass of a graph to ``wrt`` needs.

    Attributes:
        only_losses: whether it needs none.
    """

    def __init__(self, lowered: Lowered, wrt: Collection[str]):
        self._lowered, self._needed = lowered, lowered.needed_heads(wrt)
        self.only_losses = not any(self._needed)

    def require(self, given: Sequence[Any]) -> None:
        """Raise ParameterError unless each output through which a gradient flows has one."""
        for i, name in enumerate(self._lowered.output_names):
            if self._needed[i] and (i >= len(given) or given[i] is None):
                raise ParameterError(
                    f"backward: output {name!r} is not a loss, so backward() needs its gradient: "
                    "pass out_grads, or end in a loss such as SoftmaxOutput or MakeLoss"
                )

    def fitting(self, given: Sequence[Any], shapes: Sequence[Sequence[int]]) -> list[Any]:
        """Those of outputs of these shapes, ``None`` for a loss that ignores its own.

        Raises:
            ParameterError: one is missing, or is no array.
            ShapeError: one has another shape than its output, which is not a loss.
        """
        self.require(given)
        names = self._lowered.output_names
        heads: list[Any] = [*given, *[None] * len(names)][: len(names)]
        for i, (name, got, shape) in enumerate(zip(names, heads, shapes, strict=True)):
            if not isinstance(got, NDArray | np.ndarray | jax.Array | None):
                expected = "an NDArray; make one with mx.nd.array"
                raise wrong(f"backward: the gradient of {name!r}", got, expected)
            if got is None or tuple(got.shape) == tuple(shape):
                continue
            if not self._lowered.ignores_head(i):
                raise ShapeError(
                    f"backward: the gradient of {name!r}: got shape {tuple(got.shape)}, "
                    f"expected {tuple(shape)}"
                )
            heads[i] = None
        return heads
