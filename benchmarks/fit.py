"""The cost of ``fit`` itself, of its callbacks and of checkpoints, as paired ratios.

    python -m benchmarks.fit [--only loop,parts,checkpoints] [--rounds 7]

Three rows, each ``fit`` of the left beside the right, time by time:

- loop: ``fit`` on the MLP, batch 64, beside a loop of ``forward_backward``, ``update`` and
  ``update_metric`` over the same iterator;
- parts: ``fit`` with Progress (its bar drawn), CSVLogger and Checkpoint, the last two each 100
  batches, beside ``fit`` without;
- checkpoints: ``fit`` on a ResNet-50 with a checkpoint every 50 batches, beside none. Its images
  are 64x64, batch 8: the arrays of a checkpoint are those of ResNet-50, its steps are shorter, so
  that the share of the checkpoints is larger than with 224x224.

A round ends with the checkpoint of its epoch on the disk.
"""

from __future__ import annotations

import argparse
import io
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import modkit as mx
from benchmarks.measure import machine, pairs, save
from benchmarks.networks import MOMENTUM, NETWORKS, RATE
from benchmarks.symbols import SYMBOLS
from modkit.callback import progress
from recipes.symbols.resnet import resnet

Loop = Callable[[int], None]
PARAMS = {"learning_rate": RATE, "momentum": MOMENTUM}


def data(shape: tuple[int, ...], steps: int) -> mx.io.ResizeIter:
    """Batches that repeat eight."""
    stream = np.random.RandomState(0)
    count = 8 * shape[0]
    x = stream.rand(count, *shape[1:]).astype(np.float32)
    y = stream.randint(0, 10, count).astype(np.float32)
    return mx.io.ResizeIter(mx.io.NDArrayIter(x, y, shape[0]), steps)


def trained(symbol: Any, shape: tuple[int, ...], *callbacks: Any) -> Loop:
    """An epoch of ``fit`` of so many batches."""
    quiet = logging.getLogger("benchmarks.fit")
    quiet.setLevel(logging.ERROR)
    module = mx.mod.Module(symbol, logger=quiet)

    def run(steps: int) -> None:
        module.fit(
            data(shape, steps), num_epoch=1, optimizer_params=PARAMS, callbacks=list(callbacks),
            initializer=mx.init.Xavier(),
        )  # fmt: skip
        module.get_outputs()[0].wait_to_read()

    return run


def by_hand(symbol: Any, shape: tuple[int, ...]) -> Loop:
    """The loop of ``fit`` written out."""
    module = mx.mod.Module(symbol)
    batches = data(shape, 1)
    module.bind(batches.provide_data, batches.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params=PARAMS)
    metric = mx.metric.create("acc")

    def run(steps: int) -> None:
        metric.reset()
        for batch in data(shape, steps):
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        metric.get()
        module.get_outputs()[0].wait_to_read()

    return run


class DrawnProgress(mx.callback.Progress):
    """The bar, drawn into memory as on a terminal."""

    def on_fit_begin(self, run: Any) -> None:
        """Make the bar."""
        from rich.console import Console

        super().on_fit_begin(run)
        self._bar = progress.bar_on(Console(file=io.StringIO(), force_terminal=True, width=120))
        self._bar.start()


def loop(rounds: int, folder: Path) -> dict[str, Any]:
    """`fit` beside a loop."""
    del folder
    network = NETWORKS["mlp"]
    symbol = SYMBOLS["mlp"](network)
    return pairs(trained(symbol, network.data), by_hand(symbol, network.data), 2000, rounds)


def parts(rounds: int, folder: Path) -> dict[str, Any]:
    """`fit` with its usual parts beside `fit` without."""
    network = NETWORKS["mlp"]
    symbol = SYMBOLS["mlp"](network)
    used = [
        DrawnProgress(),
        mx.callback.CSVLogger(folder / "log.csv", every_n_batches=100),
        mx.callback.Checkpoint(folder / "parts", every_n_batches=100, overwrite=True),
    ]
    one, other = trained(symbol, network.data, *used), trained(symbol, network.data)
    return pairs(one, other, 5000, rounds)


def checkpoints(rounds: int, folder: Path) -> dict[str, Any]:
    """A checkpoint every 50 batches beside none."""
    shape, symbol = (8, 3, 64, 64), resnet(50, 10)
    write = mx.callback.Checkpoint(
        folder / "large", every_n_batches=50, every_n_epochs=10**9, overwrite=True
    )
    return pairs(trained(symbol, shape, write), trained(symbol, shape), 101, rounds)


MEASURES = {"loop": loop, "parts": parts, "checkpoints": checkpoints}


def main(arguments: list[str] | None = None) -> None:
    """Measure, print a table, and save the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default=",".join(MEASURES), help="some of " + ",".join(MEASURES))
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args(arguments)
    rows = []
    print(f"{'fit':<12}{'ms a step':>10}{'beside':>9}{'ratio':>8}   (range)")
    for name in args.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            row = {"fit": name, **MEASURES[name](args.rounds, Path(folder))}
        rows.append(row)
        low, high = row["ratio_range"]
        print(
            f"{name:<12}{row['ours_ms']:>10.3f}{row['peer_ms']:>9.3f}{row['ratio']:>8.3f}"
            f"   ({low:.3f} to {high:.3f})",
            flush=True,
        )
    print(machine())
    if args.only == parser.get_default("only"):
        save("fit", rows)


if __name__ == "__main__":
    main()
