"""SequentialModule: a chain of modules, in which the outputs of one are the data of the next."""

from __future__ import annotations

import copy
import logging
from typing import Any, ClassVar

from modkit.errors import NotReadyError, ParameterError
from modkit.io import DataDesc
from modkit.metric import EvalMetric
from modkit.module.base_module import BaseModule
from modkit.module.parameters import InitArguments, warn_of_extra
from modkit.module.typing import GradReq, InputShapes, OutGrads
from modkit.monitor import Monitor


class SequentialModule(BaseModule):
    """A chain of modules: the outputs of one are the data of the next.

    >>> first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    >>> last = mx.sym.SoftmaxOutput(mx.sym.Variable("fc1_output"), name="softmax")
    >>> module = mx.mod.SequentialModule()
    >>> _ = module.add(mx.mod.Module(first, label_names=None))
    >>> last = mx.mod.Module(last, data_names=["fc1_output"])
    >>> _ = module.add(last, take_labels=True, auto_wiring=True)
    >>> data = mx.io.NDArrayIter(mx.nd.ones((6, 4)), mx.nd.ones((6,)), batch_size=2)
    >>> module.fit(data, num_epoch=1)
    >>> module.predict(data).shape
    (6, 3)
    """

    _warns_of_kept: ClassVar[bool] = False

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging):
        super().__init__(logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict[str, Any]] = []
        self._label_shapes: Any = None
        self._data_shapes: Any = None

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Add a module at the end; returns this one, so that calls chain.

        Args:
            **kwargs: ``take_labels=True`` hands it the batch's labels; ``auto_wiring=True``
                renames the outputs before it to its data names.

        Raises:
            ParameterError: another keyword.
        """
        for key in kwargs:
            if key not in (self.META_TAKE_LABELS, self.META_AUTO_WIRING):
                raise ParameterError(
                    f"SequentialModule.add: unknown meta {key!r}; expected take_labels or "
                    "auto_wiring"
                )
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    def _first(self) -> BaseModule:
        if not self._modules:
            raise NotReadyError("a SequentialModule needs add() first")
        return self._modules[0]

    @property
    def data_names(self) -> list[str]:
        """Names of the first module's data inputs."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        """Names of the last module's outputs."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> list[Any]:
        """Descriptions of the first module's data inputs."""
        self._need("data_shapes")
        return self._first().data_shapes

    @property
    def label_shapes(self) -> list[Any] | None:
        """Labels that any of the modules takes."""
        self._need("label_shapes")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[Any]:
        """Names and shapes of the last module's outputs."""
        self._need("output_shapes")
        return self._modules[-1].output_shapes

    def get_params(self) -> Any:
        """All modules' parameters and auxiliary states."""
        self._need("get_params()", params=True)
        args: dict[str, Any] = {}
        auxs: dict[str, Any] = {}
        for module in self._modules:
            own_args, own_auxs = module.get_params()
            args |= own_args
            auxs |= own_auxs
        return args, auxs

    def _fill_params(self, given: InitArguments) -> None:
        for module in self._modules:  # each of them passes over the names of the others
            module.init_params(**given._replace(allow_extra=True)._asdict())
        seen: dict[str, int] = {}
        for place, module in enumerate(self._modules):
            for params in module.get_params():
                for name in params:
                    if name in seen:
                        raise ParameterError(
                            f"init_params: modules {seen[name]} and {place} both have a parameter "
                            f"{name!r}; give their layers different names"
                        )
                    seen[name] = place
        if not given.allow_extra:
            names = {**(given.arg_params or {}), **(given.aux_params or {})}
            warn_of_extra([n for n in names if n not in seen])

    def _present_outputs(self) -> Any:
        return self._modules[-1]._present_outputs()

    def _bound_size(self) -> int:
        return self._first()._bound_size()

    def _bind(
        self, data: InputShapes, labels: InputShapes | None, rebind: bool, shared: Any, req: GradReq
    ) -> None:
        """Bind all modules, each for the outputs of the one before it."""
        self._check_bind(shared)
        self._first()
        shapes: Any = data
        for place, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            if meta.get(self.META_AUTO_WIRING):
                shapes = [DataDesc(n, s[1]) for n, s in zip(module.data_names, shapes, strict=True)]
            module.bind(
                data_shapes=shapes,
                label_shapes=labels if meta.get(self.META_TAKE_LABELS) else None,
                for_training=self.for_training,
                inputs_need_grad=bool(self.for_training and (self.inputs_need_grad or place > 0)),
                force_rebind=rebind,
                grad_req=req,
            )
            shapes = module.output_shapes
        taken = any(meta.get(self.META_TAKE_LABELS) for meta in self._metas)
        self._label_shapes = labels if taken else None

    def _make_optimizer(
        self, kvstore: Any, optimizer: Any, params: Any, force_init: bool, sharded: bool, /
    ) -> None:
        # Only if given: a user's own init_optimizer has MXNet's parameters.
        given = {"shard_optimizer_states": True} if sharded else {}
        for module in self._modules:
            module.init_optimizer(
                kvstore=kvstore, optimizer=optimizer, optimizer_params=params,
                force_init=force_init, **given,
            )  # fmt: skip

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Run a batch through all modules."""
        self._need("forward()", params=True)
        batch = copy.copy(data_batch)
        for place, module in enumerate(self._modules):
            module.forward(batch, is_train=is_train)
            if place + 1 == len(self._modules):
                return
            outputs = module.get_outputs()
            names = [d[0] for d in module.output_shapes]
            if self._metas[place + 1].get(self.META_AUTO_WIRING):
                names = self._modules[place + 1].data_names
            batch.data = outputs
            batch.provide_data = [DataDesc(n, o.shape) for n, o in zip(names, outputs, strict=True)]

    def backward(self, out_grads: OutGrads | None = None) -> None:
        """Run gradients back through all modules."""
        self._need("backward()", params=True)
        for module in reversed(self._modules):
            module.backward(out_grads=out_grads)
            if module is not self._modules[0]:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        self._need("update()", params=True, optimizer=True)
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        self._need("get_outputs()", params=True)
        last = self._modules[-1]  # one in Python may have no such argument
        return last.get_outputs() if merge_multi_context else last.get_outputs(False)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        """Gradients of the first module's data."""
        self._need("get_input_grads()", params=True)
        return self._first().get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Let those modules that take labels update the metric."""
        self._need("update_metric()", params=True)
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        self._need("install_monitor()")
        for module in self._modules:
            module.install_monitor(mon)
