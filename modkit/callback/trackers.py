"""TensorBoard, WandB and MLflow: the metrics of a training in trackers of experiments."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from modkit.callback.logs import Reporter
from modkit.callback.run import Run
from modkit.constructors import check_at_least
from modkit.errors import NotSupportedError
from modkit.lazy import install, optional

WRITERS = ("tensorboardX", "torch.utils.tensorboard", "mxboard")
"""Packages with a ``SummaryWriter``, the first that is installed is used."""


def summary_writer(folder: str, user: str) -> Any:
    """A writer of event files; NotSupportedError where no package that has one is installed."""
    for name in WRITERS:
        try:
            return importlib.import_module(name).SummaryWriter(folder)
        except ImportError:
            continue
    raise NotSupportedError(
        f"{user}: no package writes event files: install one of {', '.join(WRITERS)} "
        f"({install('tensorboard')})"
    )


class Tracker(Reporter):
    """Sends the learning rate and the metrics at the end of each epoch, and after batches."""

    def send(self, values: Mapping[str, float], step: int) -> None:
        """Send numbers by name, of the training after ``step`` batches."""
        raise NotImplementedError

    def _report(self, run: Run, values: dict[str, float], *, ended: bool) -> None:
        if ended:
            values = {"epoch": float(run.epoch), **values}
        else:
            values = {
                f"{n}-by-batch" if n.startswith("train-") else n: v for n, v in values.items()
            }
        self.send(values, run.step)


class TensorBoard(Tracker):
    """Writes event files for TensorBoard: scalars, the graph, and optionally histograms and images.

    They are written by tensorboardX, PyTorch or mxboard. A resumed training writes another file
    into the folder, from the step of its checkpoint on.

    Args:
        folder: of the event files.
        every_n_batches: also write the training metrics after so many batches.
        histograms: write each parameter at the end of each epoch, which copies it.
        images: number of images of the first batch to write, scaled to the range of their values;
            the first input has to be of shape (N, C, H, W) with one or three channels.

    Raises:
        NotSupportedError: no package that writes event files is installed.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        every_n_batches: int | None = None,
        histograms: bool = False,
        images: int = 0,
    ):
        super().__init__(every_n_batches)
        self.histograms = histograms
        self.images = check_at_least("TensorBoard", "images", images, 0)
        self.writer = summary_writer(os.fspath(folder), "TensorBoard")
        self._left = self.images

    def on_fit_begin(self, run: Run) -> None:
        self._left = self.images
        write_graph(self.writer, run.module.symbol)

    def on_batch_end(self, run: Run) -> None:
        """Write images of the first batch, and the training metrics if they are due."""
        if self._left:
            self._write_images(run)
        super().on_batch_end(run)

    def _write_images(self, run: Run) -> None:
        name, count, self._left = run.module.data_names[0], self._left, 0
        data = run.module._present_input(name)[:count]
        if data.ndim != 4 or data.shape[1] not in (1, 3):
            raise NotSupportedError(
                f"TensorBoard: images: the input {name!r} has shape {data.shape}, expected images "
                "(N, C, H, W) of one or three channels; use images=0"
            )
        low, high = data.min(), data.max()
        scaled = (data - low) / (high - low or 1)
        self.writer.add_images(name, scaled.astype(np.float32), run.step)

    def on_epoch_end(self, run: Run) -> None:
        """Write all metrics, and histograms."""
        super().on_epoch_end(run)
        if self.histograms:
            for name, value in run.module._param_values().items():
                self.writer.add_histogram(name, np.asarray(value), run.step)
        self.writer.flush()

    def send(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        self.writer.flush()


def write_graph(writer: Any, symbol: Any) -> None:
    """Write a network as TensorBoard's GraphDef; a text where the package has no such class."""
    package = type(writer).__module__.partition(".")[0]
    proto = {"tensorboardX": "tensorboardX.proto", "torch": "tensorboard.compat.proto"}
    try:
        made = importlib.import_module(f"{proto[package]}.graph_pb2").GraphDef()
        event = importlib.import_module(f"{proto[package]}.event_pb2").Event
    except (KeyError, ImportError):
        writer.add_text("network", symbol.tojson(), 0)
        return
    nodes = json.loads(symbol.tojson())["nodes"]
    for node in nodes:
        inputs = [nodes[at]["name"] for at, *_ in node["inputs"]]
        added = made.node.add(name=node["name"], op=node["op"], input=inputs)
        for name, value in node.get("attrs", {}).items():
            added.attr[name].s = str(value).encode()
    writer._get_file_writer().add_event(event(graph_def=made.SerializeToString()))


class WandB(Tracker):
    """Sends metrics to Weights & Biases, by the package wandb.

    Args:
        every_n_batches: also send the training metrics after so many batches.
        **options: for ``wandb.init``: ``project``, ``name``, ``config``, ... A run that is open
            already is used, and left open.

    Raises:
        NotSupportedError: wandb is not installed.
    """

    def __init__(self, every_n_batches: int | None = None, **options: Any):
        super().__init__(every_n_batches)
        self._wandb = optional("wandb", "WandB needs wandb: pip install wandb")
        self.options = options
        self._opened = False

    def on_fit_begin(self, run: Run) -> None:
        """Open a run of wandb's, if none is."""
        self._opened = self._wandb.run is None
        if self._opened:
            self._wandb.init(**self.options)

    def send(self, values: Mapping[str, float], step: int) -> None:
        self._wandb.log(dict(values), step=step)

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """Close the run, as failed after an error."""
        if self._opened:
            self._wandb.finish(exit_code=0 if error is None else 1)


class MLflow(Tracker):
    """Sends metrics to MLflow, by the package mlflow.

    Args:
        every_n_batches: also send the training metrics after so many batches.
        params: parameters to log, by name.
        **options: for ``mlflow.start_run``: ``run_name``, ``tags``, ... A run that is active
            already is used, and left active.

    Raises:
        NotSupportedError: mlflow is not installed.
    """

    def __init__(
        self,
        every_n_batches: int | None = None,
        params: Mapping[str, Any] | None = None,
        **options: Any,
    ):
        super().__init__(every_n_batches)
        self._mlflow = optional("mlflow", "MLflow needs mlflow: pip install mlflow")
        self.params, self.options = params, options
        self._opened = False

    def on_fit_begin(self, run: Run) -> None:
        """Start a run of MLflow's, if none is active, and log the parameters."""
        self._opened = self._mlflow.active_run() is None
        if self._opened:
            self._mlflow.start_run(**self.options)
        if self.params:
            self._mlflow.log_params(dict(self.params))

    def send(self, values: Mapping[str, float], step: int) -> None:
        self._mlflow.log_metrics(dict(values), step=step)

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """End the run, as failed after an error."""
        if self._opened:
            self._mlflow.end_run(status="FINISHED" if error is None else "FAILED")
