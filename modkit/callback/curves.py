"""Curves: the metrics of all epochs as a picture, drawn again after each epoch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from modkit.callback.base import Callback
from modkit.callback.run import Run
from modkit.files import atomic_write
from modkit.lazy import optional


def figure() -> Any:
    """A figure of Matplotlib's, without a display; NotSupportedError if it is not installed."""
    module = optional(
        "matplotlib.figure", "drawing curves needs Matplotlib: pip install matplotlib"
    )
    return module.Figure(figsize=(7, 4), layout="constrained")


class Curves(Callback):
    """Draws each metric over the epochs, training and validation in one plot.

    Args:
        path: of the picture: ``.png``, ``.svg`` or ``.pdf``; a missing folder is made.

    Raises:
        NotSupportedError: Matplotlib is not installed.
    """

    every_worker = False

    def __init__(self, path: str | os.PathLike[str]):
        figure()
        self.path = Path(path)

    def on_epoch_end(self, run: Run) -> None:
        names = [n for n in run.history[-1] if n != "epoch"]
        metrics = list(dict.fromkeys(n.partition("-")[2] for n in names))
        drawn = figure()
        axes = drawn.subplots(1, len(metrics), squeeze=False)[0]
        for axis, metric in zip(axes, metrics, strict=True):
            for part in ("train", "validation"):
                points = [(r["epoch"], r[f"{part}-{metric}"]) for r in run.history
                          if f"{part}-{metric}" in r]  # fmt: skip
                if points:
                    axis.plot(*zip(*points, strict=True), marker=".", label=part)
            axis.set(title=metric, xlabel="epoch")
            axis.grid(alpha=0.3)
            axis.legend()
        save_figure(drawn, self.path)


def save_figure(drawn: Any, path: Path) -> None:
    """Write a figure in the format of the path's ending, PNG without one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        drawn.savefig(file, format=path.suffix.lstrip(".") or "png")
