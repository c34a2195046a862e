"""``_contrib_fft`` and ``_contrib_ifft``: Fourier transforms along the last axis.

A complex number is two floats beside each other, the real and the imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.parameters import Attrs, Inert
from modkit.ops.partial_shapes import Rule, by_axes, link
from modkit.ops.registry import op

_Batch = Inert[int]
"""The number of rows that MXNet transforms at a time."""


def _rule(last: Callable[[int], int], back: Callable[[int], int]) -> Callable[..., Rule]:
    """All axes but the last are common; ``last`` gives the output's size there."""

    @by_axes("data")
    def rule(data: list[int], made: list[int], _attrs: Attrs) -> None:
        if len(data) not in (2, 4):
            raise ShapeError(f"data: got {len(data)} axes, expected 2 or 4 axes")
        for axis in range(len(data) - 1):
            link("data", data, axis, made, axis)
        link("data", data, len(data) - 1, made, len(data) - 1, last, back)

    return rule


def _half(size: int) -> int:
    if size % 2:
        raise ShapeError(
            f"data: got {size} numbers along the last axis, expected an even count: the real and "
            "the imaginary part of each element"
        )
    return size // 2


@op("_contrib_fft", precision="float32", partial=_rule(lambda n: 2 * n, _half))
def fft(data: Any, *, compute_size: _Batch = 128) -> Any:
    """The discrete Fourier transform ``y_k = Σ_n x_n exp(-2πi kn/d)`` of real rows.

    Shapes:
        data: (N, d) or (N, C, H, d).
        returns: (..., 2 d), real and imaginary parts in turn.

    Differs: it runs on CPUs too, where MXNet refuses it.
    """
    require_floating(data, "fft")
    made = jnp.fft.fft(data.astype(accumulator(data)))
    parts = jnp.stack([made.real, made.imag], -1)
    return parts.reshape(*data.shape[:-1], 2 * data.shape[-1]).astype(data.dtype)


@op("_contrib_ifft", precision="float32", partial=_rule(_half, lambda n: 2 * n))
def ifft(data: Any, *, compute_size: _Batch = 128) -> Any:
    """The real part of ``x_n = Σ_k y_k exp(2πi kn/d)``, without the factor ``1/d``.

    ``ifft(fft(x)) = d·x``.

    Shapes:
        data: (N, 2 d) or (N, C, H, 2 d), real and imaginary parts in turn.
        returns: (..., d).

    Differs: it runs on CPUs too, where MXNet refuses it.
    """
    require_floating(data, "ifft")
    pairs = data.astype(accumulator(data)).reshape(*data.shape[:-1], _half(data.shape[-1]), 2)
    made = jnp.fft.ifft(lax.complex(pairs[..., 0], pairs[..., 1]), norm="forward")
    return made.real.astype(data.dtype)
