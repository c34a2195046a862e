"""DataParallelExecutorManager: the training of MXNet's first releases, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from modkit.compat.executor_group import DataParallelExecutorGroup as DataParallelExecutorGroup
from modkit.compat.executor_group import _check_arguments as _check_arguments
from modkit.compat.executor_group import _split_input_slice as _split_input_slice
from modkit.context import Context
from modkit.errors import NotSupportedError
from modkit.ndarray import NDArray


def _load_general(data: Sequence[NDArray], targets: Sequence[Any]) -> None:
    """Copy arrays to targets: each an array, or a list of (slice of the batch, array)."""
    for source, target in zip(data, targets, strict=True):
        if isinstance(target, NDArray):
            source.copyto(target)
            continue
        for part, array in target:
            source[part].copyto(array)


def _load_data(batch: Any, targets: Sequence[Any]) -> None:
    """Copy the data of a batch; see `_load_general`."""
    _load_general(batch.data, targets)


def _load_label(batch: Any, targets: Sequence[Any]) -> None:
    """Copy the labels of a batch; see `_load_general`."""
    _load_general(batch.label, targets)


class DataParallelExecutorManager:
    """A network bound on a device; `modkit.module.Module` replaces it.

    Args:
        symbol: the network.
        ctx: its device, in a list.
        train_data: an iterator, whose shapes are bound.
        arg_names: names of all arguments.
        param_names: names of the parameters.
        aux_names: names of the auxiliary states.
        work_load_list: shares of the batch; default equal ones.
        logger: accepted for compatibility and not used.
        sym_gen: must be ``None``: `modkit.module.BucketingModule` has buckets.

    Raises:
        NotSupportedError: several devices, or ``sym_gen``.
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Sequence[Context],
        train_data: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Any = None,
    ):
        if sym_gen is not None:
            raise NotSupportedError(
                "DataParallelExecutorManager: sym_gen is not supported; use mx.mod.BucketingModule"
            )
        if len(ctx) > 1:
            raise NotSupportedError(
                f"DataParallelExecutorManager: got {len(ctx)} devices, expected one: here devices "
                "share parameters, which a loop would update once for each; use mx.mod.Module"
            )
        self.symbol, self.ctx, self.sym_gen = symbol, list(ctx), sym_gen
        self.arg_names, self.param_names = list(arg_names), list(param_names)
        self.aux_names = list(aux_names)
        self.execgrp = DataParallelExecutorGroup(
            symbol, self.ctx, work_load_list, train_data.provide_data, train_data.provide_label,
            self.param_names, True, False, logger=logger,
        )  # fmt: skip
        self.curr_execgrp = self.execgrp
        self.slices = self.execgrp.slices
        self._batch: Any = None

    param_arrays = property(lambda self: self.execgrp.param_arrays, doc="By parameter and device.")
    grad_arrays = property(lambda self: self.execgrp.grad_arrays, doc="By parameter and device.")
    aux_arrays = property(lambda self: self.execgrp.aux_arrays, doc="By state and device.")

    def _named(self) -> list[tuple[int, str, list[NDArray]]]:
        """Position in (parameters, states), name and arrays of each."""
        params = zip(self.param_names, self.param_arrays, strict=True)
        states = zip(self.aux_names, self.aux_arrays, strict=True)
        return [(0, *pair) for pair in params] + [(1, *pair) for pair in states]

    def install_monitor(self, monitor: Any) -> None:
        """Install a Monitor."""
        self.execgrp.install_monitor(monitor)

    def set_params(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, Any]) -> None:
        """Copy parameters and auxiliary states to the device."""
        for kind, name, arrays in self._named():
            arrays[0][:] = (arg_params, aux_params)[kind][name]

    def copy_to(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, Any]) -> None:
        """Write parameters and auxiliary states to given arrays."""
        for kind, name, arrays in self._named():
            (arg_params, aux_params)[kind][name][:] = arrays[0]

    def load_data_batch(self, data_batch: Any) -> None:
        """Set the batch of the next `forward`."""
        self._batch = data_batch

    def forward(self, is_train: bool = False) -> None:
        """Run the network on the batch."""
        self.execgrp.forward(self._batch.data, self._batch.label, is_train)

    def backward(self) -> None:
        """Compute the gradients of the batch."""
        self.execgrp.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Add the outputs to a metric."""
        self.execgrp.update_metric(metric, labels, pre_sliced)
