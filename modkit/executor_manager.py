"""``mx.executor_manager``: the training of MXNet's first releases, step by step.

`modkit.module.Module` and `modkit.module.BucketingModule` replace it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.context import Context
from modkit.errors import NotReadyError, NotSupportedError, ParameterError, ShapeError, expect
from modkit.lazy import dir_of
from modkit.module import executor_group
from modkit.module.executor_group import _load_data as _load_data
from modkit.module.executor_group import _load_general as _load_general
from modkit.module.executor_group import _load_label as _load_label
from modkit.module.split_batch import batch_slices
from modkit.ndarray import NDArray
from modkit.symbol import Symbol

__dir__ = dir_of(__name__)


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """Slices of a batch for several devices, in proportion to their work loads."""
    return batch_slices(batch_size, work_load_list)


def _check_arguments(symbol: Symbol) -> None:
    """Check that no two arguments, and no two auxiliary states, have one name."""
    for names in (symbol.list_arguments(), symbol.list_auxiliary_states()):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ParameterError(
                f"the names {twice} occur more than once among {names}: give each Variable its own"
            )


class DataParallelExecutorGroup:
    """A network bound for the batches of an iterator, a part of each on every device.

    Args:
        arg_names, param_names: all arguments, and parameters.
        slices: the samples of a batch that each device takes.
        train_data: an iterator or a batch, whose shapes are bound.
        shared_group: a group whose parameters are used.

    Raises:
        ShapeError: the slices do not make up the batch.
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Context],
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ):
        _check_arguments(sym)
        self.data_names = [each[0] for each in train_data.provide_data]
        self.label_names = [each[0] for each in train_data.provide_label]
        self.aux_names = sym.list_auxiliary_states()
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[i] for i in self.param_idx]
        self.slices = list(slices)
        self._group = executor_group.DataParallelExecutorGroup(
            sym, ctx, [part.stop - part.start for part in slices], train_data.provide_data,
            train_data.provide_label, self.param_names, True, False,
            shared_group._group if shared_group else None,
        )  # fmt: skip
        if self._group.slices != self.slices:
            raise ShapeError(
                f"DataParallelExecutorGroup: got a batch of {self._group.batch_size} samples, but "
                f"the slices {self.slices}; expected slices that make up the batch"
            )

    train_execs = property(lambda self: self._group.execs, doc="An Executor for each device.")
    data_arrays = property(lambda self: self._group.data_arrays, doc="(slice, array) by device.")
    label_arrays = property(lambda self: self._group.label_arrays, doc="(slice, array) by device.")
    param_arrays = property(lambda self: self._group.param_arrays, doc="By parameter and device.")
    grad_arrays = property(lambda self: self._group.grad_arrays, doc="By parameter and device.")
    aux_arrays = property(lambda self: self._group.aux_arrays, doc="By state and device.")

    def load_data_batch(self, data_batch: Any) -> None:
        """Copy a batch to the devices."""
        _load_data(data_batch, self.data_arrays)
        _load_label(data_batch, self.label_arrays or ())

    def forward(self, is_train: bool = False) -> None:
        """Run the network on the batch."""
        for executor in self.train_execs:
            executor.forward(is_train=is_train)

    def backward(self) -> None:
        """Compute the gradients of the batch."""
        for executor in self.train_execs:
            executor.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Add the outputs to a metric, device by device."""
        self._group.update_metric(metric, labels, pre_sliced)


class DataParallelExecutorManager:
    """A network on several devices, each with parameters of its own, for a loop written by hand.

    Args:
        train_data: an iterator, whose shapes are bound.
        arg_names, param_names, aux_names: all arguments, parameters and auxiliary states.
        work_load_list: shares of the batch; default equal ones.
        logger: where the number of devices is written.
        sym_gen: a network by the bucket key of a batch.

    Raises:
        ParameterError: the work loads are not one for each device.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Sequence[Context],
        train_data: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Callable[[Any], Symbol] | None = None,
    ):
        (logger or logging).info("Start training with %s", str(list(ctx)))
        loads = [1] * len(ctx) if work_load_list is None else work_load_list
        where = "DataParallelExecutorManager: work_load_list"
        expected = f"a list of {len(ctx)} numbers, one for each device"
        expect(isinstance(loads, list) and len(loads) == len(ctx), where, loads, expected)
        self.symbol, self.ctx, self.sym_gen = symbol, list(ctx), sym_gen
        self.arg_names, self.param_names = list(arg_names), list(param_names)
        self.aux_names = list(aux_names)
        self.slices = _split_input_slice(train_data.batch_size, loads)
        self.execgrp = self._bind(symbol, train_data, None)
        self.curr_execgrp: DataParallelExecutorGroup | None = None
        self.execgrp_bucket: dict[Any, DataParallelExecutorGroup] = {}
        if sym_gen is not None:
            self.execgrp_bucket[train_data.default_bucket_key] = self.execgrp

    def _bind(
        self, symbol: Symbol, train_data: Any, shared: DataParallelExecutorGroup | None
    ) -> DataParallelExecutorGroup:
        return DataParallelExecutorGroup(
            symbol, self.arg_names, self.param_names, self.ctx, self.slices, train_data, shared
        )

    param_arrays = property(lambda self: self.execgrp.param_arrays, doc="By parameter and device.")
    grad_arrays = property(lambda self: self.execgrp.grad_arrays, doc="By parameter and device.")
    aux_arrays = property(lambda self: self.execgrp.aux_arrays, doc="By state and device.")

    def install_monitor(self, monitor: Any) -> None:
        """Install a Monitor; NotSupportedError with buckets: each has executors of its own."""
        if self.sym_gen is not None:
            raise NotSupportedError(
                "install_monitor: not with sym_gen, whose buckets have executors of their own; "
                "use BucketingModule.install_monitor"
            )
        for executor in self.execgrp.train_execs:
            monitor.install(executor)

    def set_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Copy parameters and auxiliary states to each device."""
        self.execgrp._group.set_params(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Write parameters and auxiliary states, means over the devices, to given arrays."""
        self.execgrp._group.get_params(arg_params, aux_params)

    def load_data_batch(self, data_batch: Any) -> None:
        """Copy a batch to the devices, into the arrays of its bucket if there are buckets."""
        self.curr_execgrp = self.execgrp
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                made = self._bind(self.sym_gen(key), data_batch, self.execgrp)
                self.execgrp_bucket[key] = made
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def _current(self, what: str) -> DataParallelExecutorGroup:
        if self.curr_execgrp is None:
            raise NotReadyError(f"{what} needs load_data_batch() first")
        return self.curr_execgrp

    def forward(self, is_train: bool = False) -> None:
        """Run the network on the batch."""
        self._current("forward()").forward(is_train)

    def backward(self) -> None:
        """Compute the gradients of the batch."""
        self._current("backward()").backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Add the outputs to a metric."""
        self._current("update_metric()").update_metric(metric, labels, pre_sliced)
