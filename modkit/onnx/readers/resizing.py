"""ONNX's resizing of images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from modkit import symbol as sym
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.readers.table import reads
from modkit.onnx.sizes import Size
from modkit.symbol import Symbol

_T = TypeVar("_T")


@reads("Upsample", "Resize")
def _resize(node: OnnxNode) -> Symbol:
    mode = node.attr("mode", "nearest")
    how = node.attr("coordinate_transformation_mode", "half_pixel")
    how = "asymmetric" if _is_old(node) else how
    scales, sizes = _scales(node)
    if mode == "nearest" and scales is not None and _repeats(node, how, scales):
        return sym.UpSampling(node.symbol(), scale=int(scales[-1]), sample_type="nearest")
    corners = how == "align_corners"
    half = how in ("half_pixel", "pytorch_half_pixel")
    usual = corners or half
    if mode == "linear" and sizes and usual and not node.attr("antialias", 0):
        height, width = sizes
        return sym.contrib.BilinearResize2D(
            node.symbol(), height=height, width=width, align_corners=corners
        )
    whole = len(scales or ()) == 4 and all(s == int(s) for s in scales or ())
    if mode == "linear" and half and scales is not None and whole and scales[:2] == [1, 1]:
        return sym.contrib.BilinearResize2D(  # sizes are open
            node.symbol(), scale_height=scales[2], scale_width=scales[3], align_corners=False
        )
    return _by_axes(node, mode, how, scales)


def _by_axes(node: OnnxNode, mode: str, how: str, scales: list[float] | None) -> Symbol:
    """Resizing of one axis after the other, by products with constant matrices."""
    shape = node.shape()
    rounding = _rounding(node)
    axes = [a for a, scale in enumerate(scales or ()) if scale != 1]
    if (
        scales is None or shape is None or any(shape[a] is None for a in axes)
        or how not in _COORDINATES or mode not in ("nearest", "linear")
        or rounding not in _ROUNDING or node.attr("antialias", 0)
    ):  # fmt: skip
        raise node.refuse(
            f"mode={mode!r} with coordinate_transformation_mode={how!r} and these sizes"
        )
    x, rank = node.symbol(), len(shape)
    for axis in axes:
        size, scale = shape[axis] or 0, scales[axis]
        length = math.floor(size * scale + 1e-4)
        at = _COORDINATES[how](np.arange(length, dtype="float32"), np.float32(scale), size, length)
        if mode == "nearest":
            near = np.clip(_ROUNDING[rounding](at), 0, size - 1)
            x = sym.take(x, node.parameter(f"rows{axis}", near.astype("float32")), axis=axis)
        else:
            weights = np.maximum(0, 1 - np.abs(np.clip(at, 0, size - 1) - np.arange(size)[:, None]))
            matrix = node.parameter(f"matrix{axis}", weights.astype(node.dtype()))
            order = [*(a for a in range(rank) if a != axis), axis]
            x = sym.dot(sym.transpose(x, axes=tuple(order)), matrix)
            x = sym.transpose(x, axes=tuple(order.index(a) for a in range(rank)))
    return x


_Coordinates = Callable[[np.ndarray, np.float32, int, int], np.ndarray]

_COORDINATES: dict[str, _Coordinates] = {
    "asymmetric": lambda i, scale, size, length: i / scale,
    "half_pixel": lambda i, scale, size, length: (i + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda i, scale, size, length: (
        (i + 0.5) / scale - 0.5 if length > 1 else i * 0.0
    ),
    "align_corners": lambda i, scale, size, length: i * (size - 1) / max(length - 1, 1),
}
"""Positions in the input of elements of the result, by the way of counting."""

_ROUNDING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "floor": np.floor, "ceil": np.ceil,
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
}  # fmt: skip


def _is_old(node: OnnxNode) -> bool:
    """Whether positions and their rounding cannot be chosen, as before ONNX 11."""
    return node.op_type == "Upsample" or node.opset < 11


def _rounding(node: OnnxNode) -> str:
    return "floor" if _is_old(node) else node.attr("nearest_mode", "round_prefer_floor")


def _repeats(node: OnnxNode, how: str, scales: list[float]) -> bool:
    """Whether the nearest element is a repetition of each row and column."""
    factor, rounding = scales[-1], _rounding(node)
    nearest = how in ("half_pixel", "pytorch_half_pixel") and rounding.startswith("round")
    return (
        scales == [1.0, 1.0, factor, factor]
        and factor == int(factor)
        and ((how == "asymmetric" and rounding == "floor") or nearest)
    )


def _scales(node: OnnxNode) -> tuple[list[float] | None, list[int] | None]:
    """Factors of all axes, and sizes of the last two of four; ``None`` where not known."""
    if node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise node.refuse(f"keep_aspect_ratio_policy={node.attr('keep_aspect_ratio_policy')!r}")
    dims: Sequence[Size] = node.dims() or ()
    scales = node.attr("scales")
    if scales is None:
        found = node.constant(1 if _is_old(node) else 2)
        scales = found.tolist() if found is not None and found.size else None
    if scales is not None:
        scales = _of_all_axes(node, scales, [1.0] * len(dims))
        known = [s for s in dims[2:] if isinstance(s, int)]
        sizes = [math.floor(s * f) for s, f in zip(known, scales[2:], strict=False)]
        # A scale that is cut off is no quotient of sizes, from which `BilinearResize2D` takes it.
        whole = sizes == [s * f for s, f in zip(known, scales[2:], strict=False)]
        return scales, sizes if len(sizes) == 2 and whole and scales[:2] == [1, 1] else None
    wanted = _of_all_axes(node, node.sizes(3) or [], dims)
    sizes = [s for s in wanted[2:] if isinstance(s, int)]
    if not wanted or len(sizes) < len(wanted) - 2:
        raise node.refuse("its sizes depend on data")
    factors: list[float | None] = []
    for axis, (size, dim) in enumerate(zip(wanted, dims or [""] * len(wanted), strict=True)):
        if size == dim or (axis < 2 and isinstance(dim, str)):
            factors.append(1.0)  # a batch of an open size stays as it is
        elif isinstance(size, str) or isinstance(dim, str):
            factors.append(None)
        else:
            factors.append(size / dim)
    images = len(wanted) == 4 and factors[:2] == [1, 1]
    decided = [f for f in factors if f is not None]
    return decided if len(decided) == len(factors) else None, sizes if images else None


def _of_all_axes(node: OnnxNode, given: Sequence[_T], others: Sequence[_T]) -> list[_T]:
    """Values for the axes of the node, all by default, with those of the others."""
    axes = node.attr("axes", range(len(given)))
    found = list(others) or list(given)
    for axis, value in zip(axes, given, strict=True):
        found[axis] = value
    return found
