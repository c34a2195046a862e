"""Blocks of pixels as channels and back: ``depth_to_space``, ``space_to_depth``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from modkit.errors import ShapeError, expect
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import by_axes, link
from modkit.ops.registry import op


def _scaled(name: str, factors: Callable[[Mapping[str, Any]], Sequence[tuple[int, int]]]) -> Any:
    """The rule of an operator that multiplies four axes by ``up`` and divides by ``down``."""

    @by_axes(name, rank=lambda _: 4)
    def rule(xs: list[int], ys: list[int], attrs: Attrs) -> None:
        for i, (up, down) in enumerate(factors(attrs)):
            if xs[i] % down:
                raise ShapeError(
                    f"{name}: got size {xs[i]} at axis {i} of {tuple(xs)}, "
                    f"expected a multiple of {down} (block_size={attrs['block_size']})"
                )
            link(
                name, xs, i, ys, i,
                lambda size, up=up, down=down: size * up // down,
                lambda size, up=up, down=down: size * down // up,
            )  # fmt: skip

    return rule


def _deep_to_wide(attrs: Attrs) -> list[tuple[int, int]]:
    block = attrs["block_size"]
    return [(1, 1), (1, block * block), (block, 1), (block, 1)]


def _wide_to_deep(attrs: Attrs) -> list[tuple[int, int]]:
    return [(down, up) for up, down in _deep_to_wide(attrs)]


_depth_to_space_partial = _scaled("depth_to_space", _deep_to_wide)
_space_to_depth_partial = _scaled("space_to_depth", _wide_to_deep)


def _check_block(name: str, rule: Any, data: jax.Array, block_size: int) -> None:
    expect(block_size >= 1, f"{name}: block_size", block_size, "1 or more")
    if 0 in data.shape:
        raise ShapeError(f"{name}: got shape {data.shape}, expected sizes of 1 or more")
    rule([data.shape], [None], {"block_size": block_size})


@op("depth_to_space", precision="through", partial=_depth_to_space_partial)
def depth_to_space(data: jax.Array, *, block_size: int) -> jax.Array:
    """Spread channels over blocks of pixels; the inverse of ``space_to_depth``.

    Shapes:
        data: (N, B * B * C, H, W) with B = ``block_size``.
        returns: (N, C, H * B, W * B).
    """
    _check_block("depth_to_space", _depth_to_space_partial, data, block_size)
    n, c, h, w = data.shape
    b = block_size
    blocks = data.reshape(n, b, b, c // (b * b), h, w)
    return blocks.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


@op("space_to_depth", precision="through", partial=_space_to_depth_partial)
def space_to_depth(data: jax.Array, *, block_size: int) -> jax.Array:
    """Gather blocks of pixels into channels; the inverse of ``depth_to_space``.

    Shapes:
        data: (N, C, H * B, W * B) with B = ``block_size``.
        returns: (N, B * B * C, H, W).
    """
    _check_block("space_to_depth", _space_to_depth_partial, data, block_size)
    n, c, h, w = data.shape
    b = block_size
    blocks = data.reshape(n, c, h // b, b, w // b, b)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, b * b * c, h // b, w // b)
