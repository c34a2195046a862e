"""``mx.contrib.tensorboard``: metrics as event files, written by mxboard or tensorboardX."""

from __future__ import annotations

from typing import Any

from modkit.callback.trackers import summary_writer


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
        self.summary_writer = summary_writer(logging_dir, "LogMetricsCallback")

    def __call__(self, param: Any) -> None:
        """Write the values of ``param.eval_metric``, with the epoch as the step."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)
