"""``mx.contrib.tensorboard``: metrics as event files, written by mxboard or tensorboardX."""

from __future__ import annotations

import importlib
from typing import Any

from modkit.errors import NotSupportedError

_WRITERS = ("mxboard", "tensorboardX", "torch.utils.tensorboard")


def _writer(logging_dir: str) -> Any:
    """The SummaryWriter of the first package that is installed."""
    for name in _WRITERS:
        try:
            return importlib.import_module(name).SummaryWriter(logging_dir)
        except ImportError:
            continue
    raise NotSupportedError(
        f"LogMetricsCallback: no package writes event files: install one of {', '.join(_WRITERS)} "
        "(pip install tensorboardX)"
    )


class LogMetricsCallback:
    """A batch-end or epoch-end callback that writes metrics for TensorBoard.

    Args:
        logging_dir: folder of the event files.
        prefix: put ahead of each metric's name, with a hyphen.

    Raises:
        NotSupportedError: no package that writes event files is installed.
    """

    def __init__(self, logging_dir: str, prefix: str | None = None):
        self.prefix = prefix
        self.step = 0
        self.summary_writer = _writer(logging_dir)

    def __call__(self, param: Any) -> None:
        """Write the values of ``param.eval_metric``, one step further than before."""
        self.step += 1
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, self.step)
