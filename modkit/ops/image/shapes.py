"""Checks of the shapes of images."""

from __future__ import annotations

from typing import Any

from modkit.errors import ShapeError

GREY_OR_COLOUR = (1, 3)


def check_image(
    data: Any, operator: str, *, batch: bool = False, any_channels: bool = False
) -> None:
    """Raise unless the data is an image, (H, W, C) with 1 or 3 channels.

    Args:
        data: what came.
        operator: the operator's name.
        batch: images (N, H, W, C) will do too.
        any_channels: so will any number of channels.

    Raises:
        ShapeError: it is none.
    """
    expected = "(H, W, C) or (N, H, W, C)" if batch else "(H, W, C)"
    channels = "" if any_channels else " with 1 or 3 channels"
    fits = data.ndim == 3 or (batch and data.ndim == 4)
    if not fits or not (any_channels or data.shape[-1] in GREY_OR_COLOUR):
        hint = "" if batch or data.ndim != 4 else "; call it for each image of a batch"
        raise ShapeError(
            f"{operator}: got data of shape {data.shape}, expected {expected}{channels}{hint}"
        )
