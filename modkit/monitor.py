"""Monitor: statistics of outputs, gradients and parameters while a net runs."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any, Protocol

import jax.numpy as jnp

from modkit.base import py_str
from modkit.constructors import check_arguments
from modkit.errors import DTypeError, expect, wrong
from modkit.lazy import dir_of
from modkit.ndarray import NDArray, from_jax
from modkit.ndarray.storage import x64_for

__dir__ = dir_of(__name__)


class Monitored(Protocol):
    """An executor, as far as a monitor knows one."""

    arg_dict: Any
    aux_dict: Any

    def set_monitor_callback(self, callback: Any, monitor_all: bool = False) -> None:
        """Have ``callback(name, array)`` called for what the graph computes."""
        ...


@check_arguments
class Monitor:
    """Collects a statistic of every array whose name fits, at every ``interval``-th batch.

    Between `tic` and `toc` the net runs operator by operator, which costs time; at other batches
    a monitor costs nothing.

    Args:
        interval: number of batches from one collection to the next.
        stat_func: from an NDArray to an NDArray or a list of them; default the norm over the
            root of the size.
        pattern: regular expression for the beginning of names: ``"fc1_output"``, ``"fc1_weight"``.
        sort: sort the results by name.
        monitor_all: the inputs of every operator too.

    Differs: there are no rows of what is an array in MXNet's kernels alone: with ``monitor_all`` at
    ``backward`` the inputs of its gradient operators (``fc1_backward_input0``, and the weights and
    labels among them once more), workspaces (``dropout0_mask``, ``pooling0_workspace``), and copies
    between the contexts of groups (``act_0_copy_output``). Data and labels have the size of the
    batch; MXNet shows them in the size of the bound one. Of a graph whose sizes depend on values
    (``contrib.boolean_mask``) there are no rows of hidden outputs (``bn_mean``).

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> executor = net.simple_bind(mx.cpu(), data=(1, 3))
    >>> monitor = mx.mon.Monitor(1, lambda array: array.norm(), pattern="fc_output")
    >>> monitor.install(executor)
    >>> monitor.tic()
    >>> _ = executor.forward(is_train=True)
    >>> [(step, name) for step, name, value in monitor.toc()]
    [(1, 'fc_output')]
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ):
        expect(interval, "Monitor: interval", interval, "1 batch or more")
        try:
            self.re_prog = re.compile(pattern)
        except (re.error, TypeError) as error:
            raise wrong("Monitor: pattern", pattern, f"a regular expression ({error})") from error
        if not (stat_func is None or callable(stat_func)):
            raise wrong("Monitor: stat_func", type(stat_func), "a function of an NDArray, or None")
        self.stat_func = stat_func or _size
        self.interval = interval
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Monitored] = []
        self.sort = sort
        self.monitor_all = monitor_all

    def stat_helper(self, name: str | bytes, array: NDArray) -> None:
        """Collect an array's statistic, if it is wanted now."""
        name = py_str(name)
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Monitored) -> None:
        """Watch an executor, one of several perhaps; ParameterError for anything else."""
        expected = "an executor; a module's install_monitor(monitor) watches its own"
        expect(hasattr(exe, "set_monitor_callback"), "Monitor.install", type(exe), expected)
        self.exes.append(exe)
        if self.activated:
            exe.set_monitor_callback(self.stat_helper, self.monitor_all)

    def tic(self) -> None:
        """Begin a batch: call this before ``forward``."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
            for exe in self.exes:
                exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch: what was collected, as (number of the batch, name, text).

        Raises:
            DTypeError: ``stat_func`` returned something else than arrays.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self.stat_helper(name, array)
            exe.set_monitor_callback(None)
        self.activated = False
        queue = sorted(self.queue, key=lambda x: x[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, self._spelled(name, value)) for step, name, value in queue]

    def toc_print(self) -> None:
        """End a batch, and log what was collected."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)

    def _spelled(self, name: str, value: Any) -> str:
        values = value if isinstance(value, list | tuple) else [value]
        for each in values:
            if not isinstance(each, NDArray):
                raise DTypeError(
                    f"Monitor: stat_func returned a {type(each).__name__} for {name!r}, expected "
                    "an NDArray or a list of them; wrap a number in mx.nd.array([...])"
                )
        return "".join(f"{(v.asscalar() if v.shape == (1,) else v.asnumpy())!s}\t" for v in values)


def _size(array: NDArray) -> NDArray:
    """The norm over the root of the size: (1,)."""

    def size(value: Any) -> NDArray:
        with x64_for(value.dtype):
            real = value.astype(jnp.float32) if value.dtype.kind in "iub" else value
            norm = jnp.linalg.norm(real.reshape(-1)) / math.sqrt(max(1, value.size))
            return from_jax(norm.astype(real.dtype).reshape(1), array.context)

    return array._cell.seen(size)
