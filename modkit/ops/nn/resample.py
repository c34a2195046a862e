"""Resampling of images: linear combinations of rows and of columns."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.floating import accumulator


def check_images(data: jax.Array, operator: str) -> None:
    """Raise unless the data has the four axes of images.

    Raises:
        ShapeError: it has others.
    """
    if data.ndim != 4:
        raise ShapeError(f"{operator}: got data of shape {data.shape}, expected (N, C, H, W)")


def resample(data: jax.Array, rows: np.ndarray, columns: np.ndarray) -> jax.Array:
    """Linear combinations of rows and of columns: ``rows @ image @ columns.T``."""
    wide = data.astype(accumulator(data))
    high, across = (jnp.asarray(m.astype(wide.dtype)) for m in (rows, columns))
    exact = lax.Precision.HIGHEST
    made = jnp.einsum("ph,nchw,qw->ncpq", high, wide, across, precision=exact)
    return made.astype(data.dtype)
