"""Modules written in Python: a base class without parameters, and a loss."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from modkit.errors import NotReadyError, NotSupportedError, ParameterError, wrong
from modkit.initializer import Uniform
from modkit.io import DataDesc
from modkit.io.base import descriptions
from modkit.kvstore.base import KVStoreBase
from modkit.metric import EvalMetric
from modkit.module.base_module import BaseModule
from modkit.module.parameters import Params
from modkit.module.typing import GradReq, Initialization, InputShapes, OptimizerParams, OutGrads
from modkit.monitor import Monitor
from modkit.ndarray import NDArray, array
from modkit.optimizer import Optimizer


class PythonModule(BaseModule):
    """The base class of modules without parameters; subclasses define ``forward`` and ``backward``.

    Args:
        label_names: names of the labels, or ``None``.
    """

    def __init__(
        self,
        data_names: Sequence[str],
        label_names: Sequence[str] | None,
        output_names: Sequence[str],
        logger: Any = logging,
    ):
        super().__init__(logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = list(output_names)
        self._data_shapes: Any = None
        self._label_shapes: Any = None
        self._output_shapes: Any = None

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[Any]:
        """Descriptions of the data inputs that are bound."""
        return self._data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """Descriptions of the labels that are bound."""
        return self._label_shapes

    @property
    def output_shapes(self) -> list[Any]:
        return self._output_shapes

    def get_params(self) -> Any:
        """Two empty dictionaries."""
        return {}, {}

    def init_params(
        self,
        initializer: Initialization | None = Uniform(0.01),  # noqa: B008 - holds no state
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Mark the module as initialized; without parameters the arguments have no effect."""
        self.params_initialized = True

    def init_optimizer(
        self,
        kvstore: KVStoreBase | str | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
        shard_optimizer_states: bool = False,
    ) -> None:
        """Mark the optimizer as initialized: without parameters the arguments have no effect."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Nothing to update."""

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last outputs to a metric, if this module takes labels.

        Raises:
            NotSupportedError: labels that are sliced for several devices.
        """
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise NotSupportedError("PythonModule.update_metric: labels must not be pre_sliced")
        eval_metric.update(labels, self.get_outputs())

    def _bind(
        self, data: InputShapes, labels: InputShapes | None, rebind: bool, shared: Any, req: GradReq
    ) -> None:
        """Keep the shapes, under the names of the module."""
        if req != "write":
            raise wrong("PythonModule: grad_req", req, "'write'")
        self._data_shapes = _named("data_shapes", data, self._data_names)
        self._label_shapes = None
        if labels:
            self._label_shapes = _named("label_shapes", labels, self._label_names or [])
        self._output_shapes = self._compute_output_shapes()

    def _compute_output_shapes(self) -> Any:
        """Names and shapes of the outputs. A subclass writes this."""
        raise self._unwritten("_compute_output_shapes")


def _named(what: str, shapes: InputShapes, names: list[str]) -> list[DataDesc]:
    """Descriptions of inputs, which have these names."""
    described = descriptions(shapes)
    got = [d.name for d in described]
    if got != names:
        raise ParameterError(f"bind: {what}: got {got}, expected {names}")
    return described


class PythonLossModule(PythonModule):
    """A loss written in Python: its output is its data, its gradient is ``grad_func``'s.

    Args:
        name: the stem of the output's name.
        data_names, label_names: one name.
        grad_func: ``grad_func(scores, labels) -> gradient`` of NDArrays; or override
            ``_backward_impl``.
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Sequence[str] = ("data",),
        label_names: Sequence[str] = ("softmax_label",),
        logger: Any = logging,
        grad_func: Callable[[NDArray, NDArray], Any] | None = None,
    ):
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(data_names) != 1 or len(label_names) != 1:
            raise ParameterError(
                f"PythonLossModule: got data {list(data_names)} and labels {list(label_names)}, "
                "expected one of each"
            )
        if grad_func is not None and not callable(grad_func):
            raise ParameterError(f"PythonLossModule: grad_func: got {grad_func!r}, not callable")
        self._name, self._grad_func = name, grad_func
        self._scores: Any = None
        self._labels: Any = None
        self._scores_grad: Any = None

    def _compute_output_shapes(self) -> Any:
        return [(f"{self._name}_output", self._data_shapes[0].shape)]

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Keep the scores and, in training, the labels.

        Raises:
            ParameterError: training without labels.
        """
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            if not data_batch.label:
                raise ParameterError(
                    "PythonLossModule.forward: got a batch without labels, which the loss needs in "
                    "training, expected one array; give it, or is_train=False"
                )
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        return [self._scores]

    def backward(self, out_grads: OutGrads | None = None) -> None:
        """Compute the gradient.

        Raises:
            ParameterError: a loss takes no head gradients.
            NotReadyError: the module is not bound for training.
        """
        if out_grads is not None:
            raise ParameterError("PythonLossModule.backward: a loss takes no out_grads")
        if not self.for_training:
            raise NotReadyError("backward() needs bind(for_training=True)")
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError("PythonLossModule: give grad_func, or write _backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        return [self._scores_grad]

    def install_monitor(self, mon: Monitor) -> None:
        """Raise NotSupportedError: there are no operators to show."""
        raise NotSupportedError("PythonLossModule has no operators for a monitor to show")
