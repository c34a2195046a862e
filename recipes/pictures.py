"""PNG files for the recipes: curves, and rows of images."""

import logging
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

logging.getLogger("matplotlib").setLevel(logging.WARNING)


def save(figure, path):
    """Write a figure, and say where."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    print(f"picture: {path}")


def curves(path, lines, *, x="epoch", y, level=None):
    """Draw one curve for each name in ``lines``; ``level`` is a (name, value) to compare with."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, values in lines.items():
        axes.plot(
            range(1, len(values) + 1), values, marker="." if len(values) < 50 else "", label=name
        )
    if level is not None:
        axes.axhline(level[1], linestyle="--", color="gray", label=level[0])
    axes.set(xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, path)


def accuracies(path, reached):
    """Draw validation accuracies by epoch, and print the last ones; returns these, by name."""
    curves(path, reached, y="validation accuracy")
    last = {name: values[-1] for name, values in reached.items()}
    print("validation accuracy: " + ", ".join(f"{n} {value:.4f}" for n, value in last.items()))
    return last


def rows(path, images):
    """Draw a row of images for each name: arrays (count, height, width) in [0, 1]."""
    count = max(map(len, images.values()))
    figure, axes = plt.subplots(
        len(images), count, figsize=(0.7 * count, 0.85 * len(images)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for (name, row), line in zip(images.items(), axes, strict=True):
        line[0].set_title(name, loc="left", fontsize=9)
        for axis in line:
            axis.axis("off")
        for axis, image in zip(line, row, strict=False):
            axis.imshow(image, cmap="gray_r", vmin=0, vmax=1)
    save(figure, path)
