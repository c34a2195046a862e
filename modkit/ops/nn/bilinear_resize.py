"""BilinearResize2D: images of another size, interpolated between rows and columns."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops.dtype_inference import first_decides
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.registry import op

Mode = Literal[
    "size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
]

_TO_PARITY = {
    "to_even_down": lambda size: size - size % 2,
    "to_even_up": lambda size: size + size % 2,
    "to_odd_down": lambda size: size - 1 + size % 2,
    "to_odd_up": lambda size: size + 1 - size % 2,
}


def _new_size(size: int, mode: str, given: int, scale: float | None, like: int | None) -> int:
    if mode in _TO_PARITY:
        return _TO_PARITY[mode](size)
    if mode == "like":
        return size if like is None else like
    if scale is None:
        if mode == "odd_scale":
            raise ParameterError(
                "BilinearResize2D: mode 'odd_scale' needs scale_height and scale_width"
            )
        return given
    if mode == "odd_scale" and size % 2:
        return int((size - 1) * scale) + 1
    return int(size * scale)


def _interpolation(size: int, count: int, *, align_corners: bool) -> np.ndarray:
    """Weights of ``size`` points in ``count`` points interpolated between them."""
    at = np.arange(count if size else 0)
    if count == 1:
        positions = np.zeros(1)
    elif align_corners:
        positions = at * ((size - 1) / (count - 1))
    else:
        positions = np.maximum((at + 0.5) * (size / count) - 0.5, 0)
    first = np.minimum(positions.astype(int), size - 1)
    second = np.minimum(first + 1, size - 1)
    weights = np.zeros((count, size))
    np.add.at(weights, (at, first), 1 - (positions - first))
    np.add.at(weights, (at, second), positions - first)
    return weights


@op(
    "_contrib_BilinearResize2D",
    precision="float32",
    costly=True,
    dtypes=first_decides,
    when={"like": lambda attrs: attrs["mode"] == "like"},
)
def bilinear_resize(
    data: jax.Array,
    like: jax.Array | None = None,
    *,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Mode = "size",
    align_corners: bool = True,
) -> jax.Array:
    """Resize images by interpolating between rows and columns.

    Args:
        like: an array of the wanted height and width, in mode ``like``.
        height: rows wanted, in mode ``size`` without scales.
        width: columns wanted, in mode ``size`` without scales.
        scale_height: in place of ``height``, how much higher.
        scale_width: in place of ``width``, how much wider.
        mode: ``size`` as above; ``odd_scale`` scales an odd size to ``(size - 1) scale + 1``;
            ``like`` copies the sizes of another array; ``to_even_down`` and the like go to the
            nearest size of that parity.
        align_corners: whether the first and last pixels stay where they are.

    Shapes:
        data: (N, C, H, W).
        like: (M, D, height, width).
        returns: (N, C, height, width).

    Differs: a NaN or infinity makes all pixels of its channel not finite; in MXNet only those next
    to it. Images without pixels give zeros; MXNet 1.9.1 ends the process.
    """
    require_floating(data, "BilinearResize2D")
    check_images(data, "BilinearResize2D")
    if mode in ("size", "odd_scale") and (scale_height is None) != (scale_width is None):
        raise ParameterError("BilinearResize2D: give both scale_height and scale_width, or none")
    if min(height, width) < 1:
        raise ParameterError(
            f"BilinearResize2D: got height={height} and width={width}, expected 1 or more"
        )
    wanted = (None, None) if like is None else like.shape[2:]
    rows = _new_size(data.shape[2], mode, height, scale_height, wanted[0])
    columns = _new_size(data.shape[3], mode, width, scale_width, wanted[1])
    if min(rows, columns) < 1:
        raise ShapeError(f"BilinearResize2D: got size {rows} x {columns}, expected 1 x 1 or more")
    return resample(
        data,
        _interpolation(data.shape[2], rows, align_corners=align_corners),
        _interpolation(data.shape[3], columns, align_corners=align_corners),
    )


def check_images(data: jax.Array, operator: str) -> None:
    """Raise ShapeError unless the data has the four axes of images."""
    if data.ndim != 4:
        raise ShapeError(f"{operator}: got data of shape {data.shape}, expected (N, C, H, W)")


def resample(data: jax.Array, rows: np.ndarray, columns: np.ndarray) -> jax.Array:
    """Linear combinations of rows and of columns: ``rows @ image @ columns.T``."""
    wide = data.astype(accumulator(data))
    high, across = (jnp.asarray(m.astype(wide.dtype)) for m in (rows, columns))
    exact = lax.Precision.HIGHEST
    made = jnp.einsum("ph,nchw,qw->ncpq", high, wide, across, precision=exact)
    return made.astype(data.dtype)
