"""Module: a symbol, its parameters and its optimizer, on one device or several."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np

from modkit.checkpoint import Prefix, load_checkpoint, params_path, states_path
from modkit.constructors import check_keywords
from modkit.context import Context
from modkit.errors import (
    MissingFileError,
    NotReadyError,
    ParameterError,
    ShapeError,
    nearest,
    wrong,
)
from modkit.io import DataBatch, DataDesc
from modkit.io.base import descriptions
from modkit.metric import EvalMetric
from modkit.module.argument_checks import (
    check_bound_names,
    check_loaded,
    check_names,
    listed_contexts,
)
from modkit.module.base_module import BaseModule
from modkit.module.data_batch import Shapes, as_batch, shapes_for
from modkit.module.data_checks import (
    check_given_labels,
    check_labels,
    check_order,
    check_shapes,
    warn_of_columns,
    warn_of_labels,
)
from modkit.module.executor_group import DataParallelExecutorGroup
from modkit.module.module_optimizer import ModuleOptimizer, field_of_optimizer
from modkit.module.optimizer_setup import count_epochs, devices_of, set_up_optimizer
from modkit.module.parameters import (
    Copies,
    InitArguments,
    Parameters,
    Params,
    check_given,
    in_order,
    present_params,
    refuse_unnamed_labels,
    warn_of_extra,
)
from modkit.module.repr import html_of, text_of
from modkit.module.split_batch import groups_of, names_of
from modkit.module.steps import join_update, train_on, update_request
from modkit.module.training_state import load_state, state_of
from modkit.module.typing import GradReq, InputShapes, OutGrads
from modkit.module.update import sums_of_own_store, update_unfused
from modkit.monitor import Monitor
from modkit.ndarray import NDArray
from modkit.ndarray.storage import accepted, settle, x64_for
from modkit.overriding import overrides
from modkit.step.bound import Pass
from modkit.symbol import Symbol
from modkit.symbol.precision import compute_type


class Module(BaseModule):
    """A symbol with parameters and an optimizer.

    Args:
        symbol: the network.
        data_names: its data inputs.
        label_names: its labels; ``None`` for none.
        logger: where ``fit`` writes.
        context: a device, or a list of them to split each batch over.
        work_load_list: share of a batch of each device; default equal ones.
        fixed_param_names: parameters that are not trained.
        state_names: inputs that keep their value from batch to batch.
        group2ctxs: contexts of ``ctx_group`` attributes, by group: each group's nodes run there,
            and its parameters are there. For several contexts a list of contexts for a group, or
            a list of dictionaries.
        compression_params: gradient compression for the kvstore, such as
            ``{"type": "2bit", "threshold": 0.5}``.
        compute_dtype: ``"bfloat16"`` or ``"float16"`` for mixed precision: matrix products and
            convolutions, and what lies between them, are computed in that type. Parameters,
            optimizer states, statistics, losses, outputs and files stay float32. See
            docs/mixed_precision.md.

    Raises:
        ParameterError: a name that the symbol does not have, or another compute type.

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
    >>> data = mx.io.NDArrayIter(mx.nd.ones((6, 4)), mx.nd.array([1, 1, 1, 1, 1, 1]), batch_size=2)
    >>> module = mx.mod.Module(net)
    >>> module.fit(data, num_epoch=5, optimizer_params={"learning_rate": 0.5})
    >>> module.score(data, "acc")
    [('accuracy', 1.0)]
    >>> module.predict(data).shape
    (6, 2)
    """

    _can_add_up: ClassVar[bool] = True
    _keeps_missing: ClassVar[bool] = True
    _params_dirty = False  # for MXNet's programs: `_arg_params` are the present values anyway
    _module_optimizer = ModuleOptimizer()
    _optimizer, _kvstore, _update_on_kvstore, _updater = map(
        field_of_optimizer, ("optimizer", "kvstore", "update_on_kvstore", "updater")
    )

    @check_keywords
    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Context | Sequence[Context] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
        compute_dtype: str | type | np.dtype[Any] | None = None,
    ):
        super().__init__(logger)
        if not isinstance(symbol, Symbol):
            raise wrong("Module: symbol", type(symbol), "a Symbol")
        self._context = listed_contexts(context)
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        if len(self._work_load_list) != len(self._context):
            raise ParameterError(
                f"work_load_list: got {len(self._work_load_list)} entries for "
                f"{len(self._context)} contexts"
            )
        self._group2ctxs = groups_of(group2ctxs, len(self._context))
        self._symbol = symbol
        self._data_names = check_names(data_names, symbol, "data_names")
        self._label_names = check_names(label_names, symbol, "label_names", throw=False)
        self._state_names = check_names(state_names, symbol, "state_names")
        self._fixed_param_names = check_names(fixed_param_names, symbol, "fixed_param_names")
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in symbol.list_arguments() if n not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._listed: Any = self._param_names, self._aux_names  # as `get_params` lists them
        self._output_names = symbol.list_outputs()
        self._given: tuple[dict[str, NDArray], dict[str, NDArray]] | None = None
        self._compression_params = compression_params
        self._compute_dtype = compute_type(compute_dtype)
        self._preload_opt_states: str | None = None
        self._counts_left = False  # states were loaded, and no update counts
        self._grad_req: Any = None
        self._reset_bind()
        self._forget_optimizer()

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group: Any = None
        self._copies: Copies | None = None  # of the present parameters, for `get_params`
        self._monitors: list[Any] = []
        self._data_shapes: list[DataDesc] | None = None  # may be set by subclasses, as in MXNet
        self._label_shapes: list[DataDesc] | None = None
        self._bound_for: list[DataDesc] = []  # without batches of other shapes
        self._is_bucket = False  # of a BucketingModule, whose workers may have other buckets
        self._shares_with = "bind: shared_module"  # in the error of a parameter that it lacks

    def _forget_optimizer(self) -> None:
        self._module_optimizer = ModuleOptimizer()
        self._joined: Pass | None = None  # the last batch's, if an update is fused into it
        self._waits_for_metric = True
        self._lacks_labels = False  # whether the last batch did, in training
        self.optimizer_initialized = False

    @staticmethod
    def load(
        prefix: Prefix, epoch: int, load_optimizer_states: bool = False, **kwargs: Any
    ) -> Module:
        """A module from a checkpoint; ``bind`` and ``init_params`` complete it.

        Args:
            prefix: path of the files, without their endings.
            epoch: the number in the ``.params`` file's name.
            load_optimizer_states: read ``prefix-<epoch>.states`` when the optimizer is made. Such
                a file has no update counts (unless it has the whole optimizer), which schedules
                and bias corrections need. ``fit(begin_epoch=)`` sets them where ``train_data``
                says how many batches it has; elsewhere give the optimizer ``begin_num_update``.
            **kwargs: for Module.

        Raises:
            MissingFileError: a file is missing.

        Differs: a missing ``.states`` raises here; in MXNet it does when the optimizer is made.
        """
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        states = states_path(prefix, epoch) if load_optimizer_states else None
        if states is not None and not Path(states).exists():
            raise MissingFileError(
                f"Module.load: load_optimizer_states: {states}: there is no such file; "
                "save_checkpoint(..., save_optimizer_states=True) writes it"
            )
        module = Module(symbol=symbol, **kwargs)
        module._given = args, auxs
        missing = [n for n in (*module._param_names, *module._aux_names)
                   if n not in args and n not in auxs and not n.endswith("label")]  # fmt: skip
        if missing:
            logging.warning(
                "Module.load: %s-%04d.params has no %s: they are 0, as in MXNet",
                prefix, epoch, ", ".join(map(repr, missing[:5])),
            )  # fmt: skip
        module.params_initialized = True
        module._preload_opt_states = states
        return module

    def save_checkpoint(
        self,
        prefix: Prefix,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Write ``prefix-symbol.json``, ``prefix-<epoch>.params`` and optionally ``.states``.

        Args:
            prefix: path of the files, without their endings.
            epoch: the number in their names.
            save_optimizer_states: whether to write the optimizer's states too.
            remove_amp_cast: whether to leave casts out that mixed precision put in.
        """
        params = params_path(prefix, epoch)
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
        self.save_params(params)
        logging.info('Saved checkpoint to "%s"', params)
        if save_optimizer_states:
            states = states_path(prefix, epoch)
            self.save_optimizer_states(states)
            logging.info('Saved optimizer state to "%s"', states)

    def _check_first(self, batch: Any, metric: EvalMetric) -> None:
        names = [each.name for each in self._label_shapes or []]
        if isinstance(batch, DataBatch) and len(batch.label or []) == len(names):
            labels = dict(zip(names, batch.label or [], strict=True))
            warn_of_labels(self._symbol, dict(self.output_shapes), labels)
            warn_of_columns(metric, dict(self.output_shapes), labels)

    def _average_states(self) -> None:
        if overrides(self, Module, *_PARAMS):
            super()._average_states()
        else:
            self._stored_parameters().average(self._present_workers)
            self._params_dirty = False

    def _count_epochs(self, epochs: int, batches: int | None) -> None:
        left, self._counts_left = self._counts_left, False
        if left and epochs:
            count_epochs(self._present_optimizer, epochs, batches)

    def _clear_gradients(self) -> None:
        for bound in self._exec_group.bounds:
            for name in bound.arrays.adds:
                bound.arrays.grads[name].edit(_zeros, aliased=True)

    def _present_input(self, name: str) -> np.ndarray:
        return np.asarray(self._exec_group.executors[0].arg_dict[name]._cell.unmoved())

    def _present_outputs(self) -> Sequence[Any]:
        if self._exec_group.bounds[0].last is None:  # a subclass computes them by itself
            return self.get_outputs()
        return self._exec_group.get_outputs()

    def _param_values(self) -> dict[str, Any]:
        store = self._exec_group.store
        with store.lock:
            args = {n: store.logical(store.params[n]).get() for n in self._param_names}
            return {**args, **{n: store.aux[n].get() for n in self._aux_names}}

    def _check_iterator(self, train_data: Any) -> None:
        super()._check_iterator(train_data)
        wanted = [n for n in self._label_names if n in self._symbol.list_arguments()]
        check_given_labels(train_data, wanted)

    def __repr__(self) -> str:
        return text_of(self)

    def _repr_html_(self) -> str:
        """The summary line and a table of parameters, for notebooks."""
        return html_of(self)

    # ── Names and shapes ────────────────────────────────────────────────────────────────────

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data inputs that are bound."""
        self._need("data_shapes")
        return self._data_shapes or []

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels that are bound; ``None`` without labels."""
        self._need("label_shapes")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs for a whole batch.

        Differs: the first size is the output's. MXNet states the batch size in its place, as for an
        output of (steps * batch, classes), whose shape is another one.
        """
        self._need("output_shapes")
        return self._exec_group.get_output_shapes()

    # ── Binding ─────────────────────────────────────────────────────────────────────────────

    def _bind(
        self, data: InputShapes, labels: InputShapes | None, rebind: bool, shared: Any, req: GradReq
    ) -> None:
        if rebind:
            if self.binded and self.params_initialized:
                self._given = self.get_params()  # for the new arrays
            self._reset_bind()
        check_loaded(self._given or (), self._symbol)
        self._check_bind(None)
        if shared is not None and not (shared.binded and shared.params_initialized):
            raise NotReadyError("bind: shared_module needs bind() and init_params() first")
        if shared is not None:
            _check_shared(self._shares_with, self, shared)
        self._grad_req, self._adds_up = req, False
        shapes = self._described(data, labels)
        self._exec_group = DataParallelExecutorGroup(
            self._symbol, self._context, self._work_load_list, shapes.data, shapes.label,
            self._param_names, self.for_training, self.inputs_need_grad,
            shared._exec_group if shared else None, self.logger,
            fixed_param_names=self._fixed_param_names, grad_req=req,
            state_names=self._state_names, group2ctxs=self._group2ctxs,
            compute_dtype=self._compute_dtype, apart=False,
        )  # fmt: skip
        self._note_shapes()
        if shared is not None:
            self.params_initialized = True
            if shared.optimizer_initialized:
                self.borrow_optimizer(shared)
        elif self._given is not None:
            self._listed = in_order(self._given, self._listed)
            self._stored_parameters().set(*self._given)
        self._given = None  # from here on the arrays have them
        if shared is None and self.optimizer_initialized:
            self._follow_store()

    def _described(self, data_shapes: Any, label_shapes: Any) -> Shapes:
        """The descriptions of the inputs, whose names fit."""
        data, labels = descriptions(data_shapes), descriptions(label_shapes or [])
        check_bound_names(self, names_of(data), names_of(labels))
        return Shapes(data, labels or None)

    def _note_shapes(self) -> None:
        """Take the shapes of a bind, or of a reshape, for those of whole batches."""
        bound = self._exec_group.binding
        self._data_shapes, self._label_shapes = bound.data_shapes, bound.label_shapes
        self._bound_for, self._order_seen = bound.descs, False

    def _bound_size(self) -> int:
        return self._bound_for[0].shape[0]

    def _bound_order(self) -> tuple[list[str], list[str]]:
        """See `BaseModule._bound_order`; labels without which it is bound come last."""
        if not self.binded:
            return self._named_inputs()
        labels = names_of(self._label_shapes or [])
        rest = [n for n in self._label_names if n not in labels]
        return names_of(self._data_shapes or []), [*labels, *rest]

    def _check_order(self, source: Any, where: str) -> None:
        data, _ = self._bound_order()
        check_order(source, data, names_of(self._label_shapes or []), where)

    def _check_evaluation(self, source: Any, metric: EvalMetric) -> None:
        super()._check_evaluation(source, metric)
        if not overrides(self, Module, "forward"):
            bound = Shapes(self._data_shapes or [], self._label_shapes)
            check_shapes(self._symbol, [*self._param_names, *self._aux_names], bound, source)
        if self._label_shapes and not overrides(self, Module, "update_metric"):
            check_labels(names_of(self._label_shapes), source, metric)

    def reshape(self, data_shapes: InputShapes, label_shapes: InputShapes | None = None) -> None:
        """Bind for other input shapes; parameters stay, and programs seen before are used again."""
        self._need("reshape()")
        data, labels = descriptions(data_shapes), descriptions(label_shapes or [])
        if data == self._data_shapes and (labels or None) == self._label_shapes:
            self._bound_for = [*data, *labels]  # also where a batch of these shapes came before
            return
        self._bind_as_stored()
        shapes = self._described(data, labels)
        before = self._exec_group.executors if self._monitors else []
        self._exec_group.bind_exec(*shapes)
        self._note_shapes()
        self._move_monitors(before)

    # ── Parameters ──────────────────────────────────────────────────────────────────────────

    def _fill_params(self, given: InitArguments) -> None:
        args, auxs = given.arg_params, given.aux_params
        check_given(args, auxs, given.initializer)
        params, attrs = self._stored_parameters(), self._symbol.attr_dict()
        if not given.allow_extra:
            known = {*self._param_names, *self._aux_names}
            warn_of_extra(params.extra(args, auxs), self._aux_names, known)
        try:
            params.init(given, attrs)
        except ParameterError as error:
            refuse_unnamed_labels(
                self._symbol, self._param_names, self._label_names, args or {}, error
            )
            raise
        self._params_dirty = False

    def _stored_parameters(self) -> Parameters:
        group, (names, aux_names) = self._exec_group, self._listed
        return Parameters(group.store, names, aux_names, self._context[0], group.stypes)

    def _set_given(self, args: Params | None, auxs: Params | None, allow_extra: bool) -> None:
        params = self._stored_parameters()
        if not allow_extra:
            params.refuse_extra(args, auxs)
        params.set(args, auxs)
        self._copies = None  # they refer to the values before
        self.params_initialized = self._params_dirty = True

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Copies of parameters and auxiliary states, on ``cpu(0)``; the latter averaged.

        A parameter of `Variable(stype="row_sparse")` is a RowSparseNDArray of the rows that are
        not zero. Until the module's values change, each call returns the same dictionaries: an
        edit of their arrays is in checkpoints and in the next `bind`; `set_params`, and
        `init_optimizer` where the store updates, take it to the devices. They have the order of
        the file that was loaded, else that of the network's arguments.

        Differs: once values have changed, the copies are new arrays. MXNet writes into those of the
        first call, so that parameters kept as "the best so far" become the last ones. The values
        are the present ones, after an update by a module that shares them too; MXNet returns the
        copies from before it. A module that shares a part of another's parameters returns its own
        ones; MXNet returns all of the other's, and `init_params` fails then.
        """
        if not self.binded and self._given is not None:
            return self._given
        self._need("get_params()", params=True)
        return self._copied_params()

    def _copied_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Copies of what a bound module holds: zeros until `init_params`."""
        copies = self._stored_parameters().copies(self._copies)
        self._copies = copies  # which an update in another thread forgets
        self._params_dirty = False
        return copies.args, copies.auxs

    _arg_params, _aux_params = present_params(0), present_params(1)

    def _give(self, args: Params | None, auxs: Params | None) -> None:
        """Set parameters or auxiliary states, now or at the next `bind`."""
        if self.binded:
            self._stored_parameters().set(args, auxs)
            self._copies = None
        else:
            before = self._given or ({}, {})
            given = before[0] if args is None else args, before[1] if auxs is None else auxs
            self._given = dict(given[0]), dict(given[1])

    def _sync_params_from_devices(self) -> None:
        """Forget edits of the arrays of `get_params`."""
        self._copies, self._params_dirty = None, False

    # ── The optimizer ───────────────────────────────────────────────────────────────────────

    def _keep_optimizer(self, optimizer: Any, params: Any, sharded: bool) -> None:
        several = len(devices_of(self._context)) > 1 or self._present_workers is not None
        if sharded and self._module_optimizer.shards is None and several:
            raise ParameterError(
                "shard_optimizer_states: the optimizer exists, with whole states; make it "
                "anew: init_optimizer(..., shard_optimizer_states=True, force_init=True)"
            )
        super()._keep_optimizer(optimizer, params, sharded)

    def _make_optimizer(
        self, kvstore: Any, optimizer: Any, params: Any, force_init: bool, sharded: bool, /
    ) -> None:
        made = set_up_optimizer(
            kvstore, optimizer, params, bool(sharded), self._exec_group,
            inputs=[] if self._is_bucket else self._bound_for,
            compression_params=self._compression_params,
        )  # fmt: skip
        self._forget_optimizer()
        edited = None if self._copies is None else self.get_params()[0]
        self._module_optimizer = made
        self._follow_store()
        self.optimizer_initialized, self._params_dirty = True, False
        if self._update_on_kvstore and edited is not None:  # the store begins with the edits
            self._stored_parameters().set(edited, None)
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None
            self._counts_left = self._present_optimizer.num_update == 0

    def _follow_store(self) -> None:
        self._exec_group.store.optimized = True
        self._exec_group.store.train_apart(self._module_optimizer.apart)

    def _bind_as_stored(self) -> None:
        """Bind anew where an `init_optimizer` has changed the storage of the parameters."""
        if not self._exec_group.follows_store:
            before = list(self._exec_group.binding.executors) if self._monitors else []
            self._exec_group.bind_as_stored()
            self._move_monitors(before)

    @property
    def _present_optimizer(self) -> Any:
        return self._module_optimizer.present

    @property
    def _present_updater(self) -> Any:
        return self._module_optimizer.present_updater

    @property
    def _present_workers(self) -> Any:
        return self._module_optimizer.workers

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use another module's optimizer, kvstore, gradient compression and optimizer states.

        The modules need not share parameters: those of one index have one state in common.

        Differs: where a KVStore updates, MXNet pulls the parameters of the module that made the
        optimizer into one that does not share them. Here each module's stay its own.
        """
        if not hasattr(shared_module, "_module_optimizer"):
            raise wrong("borrow_optimizer: shared_module", shared_module, "a Module")
        if not shared_module.optimizer_initialized:
            raise NotReadyError("borrow_optimizer: shared_module needs init_optimizer() first")
        self._module_optimizer = shared_module._module_optimizer.on(len(self._context))
        if self.binded:  # else bind() does
            self._follow_store()
        self.optimizer_initialized = True

    # ── One batch ───────────────────────────────────────────────────────────────────────────

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Run a batch; outputs are computed when they are read.

        A batch of other shapes binds for them first.

        Args:
            data_batch: a DataBatch, a list of them, one a context, or anything else that has a
                list ``data`` (and ``label``).
            is_train: default ``for_training``. A batch without labels has outputs in training too.

        Raises:
            ParameterError: data are missing, or the first batch names its arrays in another order
                than `bind`.
            ShapeError: shapes that do not fit the network.
        """
        if not (self.binded and self.params_initialized):
            self._need("forward()", params=True)
        labelled, checked = bool(self._exec_group.binding.label_shapes), False
        if type(data_batch) is not DataBatch or not data_batch.label:  # wrong data before no labels
            data_batch, checked = as_batch(data_batch, labelled), True
        label = data_batch.label if labelled else None
        if data_batch.data is None or len(data_batch.data) < len(self._data_names):
            raise ParameterError(
                f"forward: got {len(data_batch.data or [])} data arrays, expected "
                f"{len(self._data_names)}: {', '.join(self._data_names)}"
            )
        train = self.for_training if is_train is None else is_train
        self._lacks_labels = bool(train and not label and labelled)
        data = data_batch.data[: len(self._data_names)]
        group = self._exec_group
        settle((*data, *(label or ())))
        with group.store.lock:  # else another thread binds or feeds in between
            if self._joined is not None and not self._joined.settled:
                self._waits_for_metric = False  # none was updated: the next step starts at once
                self._joined.run()
            if not group.follows_store:
                self._bind_as_stored()
            values = accepted(group.binding.input_cells, (*data, *(label or ())))
            if values is None and not checked:
                as_batch(data_batch, labelled)  # which looks at every array
            if values is None and not group.takes(data, label):
                self._fit_shapes(data, data_batch)
            elif not self._order_seen and data_batch.provide_data:
                self._check_order(data_batch, "forward: data_batch")
                self._order_seen = True
            group.begin(data, label, train, values)
        if group.binding.executors:
            group.show_internals()

    def _fit_shapes(self, data: Sequence[Any], batch: DataBatch) -> None:
        """Bind anew if the batch has not the shapes that the module is bound for."""
        bound = Shapes(self._data_shapes or [], self._label_shapes)
        wanted = shapes_for(batch, data, bound)
        if wanted is None:
            return
        try:
            bound_for = self._bound_for
            self.reshape(*wanted)
            self._bound_for = bound_for
        except ShapeError as error:
            why = str(error).removeprefix("bind: ")
            raise ShapeError(
                f"forward: got a batch of {wanted}; the module is bound for {bound}: {why}"
            ) from error

    def backward(self, out_grads: OutGrads | None = None) -> None:
        """Gradients of the last batch; computed when they are read, or with ``update``.

        Differs: a second call after ``update`` has the gradients at the new parameters. MXNet
        combines these with results of the forward pass before.

        Args:
            out_grads: gradients of outputs that are not losses.

        Raises:
            NotReadyError: the module was bound with ``for_training=False``.
            ParameterError: the batch had no labels.
        """
        if not (self.binded and self.params_initialized):
            self._need("backward()", params=True)
        if self._lacks_labels:
            raise ParameterError(
                "backward: training needs labels, and the batch has none; expected "
                f"{', '.join(names_of(self._label_shapes or []))}"
            )
        if isinstance(out_grads, NDArray | np.ndarray):
            out_grads = [out_grads]
        self._exec_group.backward(out_grads)

    def update(self) -> None:
        """Update the parameters with the last batch's gradients, summed over the devices.

        With ``kvstore=None`` each of several contexts updates its own parameters with its own.

        Unless an output or gradient has been read, forward, backward and update are one program.

        Raises:
            NotReadyError: the module was bound with ``for_training=False``.

        Differs: with ``kvstore=None`` and several contexts, gradients are this module's own. In
        MXNet they may be those of a module that shares the parameters, as for one context here.
        """
        ready = self.params_initialized and self.optimizer_initialized
        if not (ready and self.binded and self.for_training):
            self._need("update()", params=True, optimizer=True)
            raise NotReadyError("update() needs bind(for_training=True)")
        request = update_request(self)
        self._copies, self._params_dirty = None, True
        group, own = self._exec_group, self._module_optimizer
        one_pass = group.binding.bounds[0].last if group.binding.one_program else None
        sums = sums_of_own_store(group, self._kvstore, request)
        # The store's: else a read in another thread runs the pass without the update.
        turn = own.turn_within() if group.store.lock._is_owned() else own.lock
        with turn, group.store.lock:
            if one_pass is not None and join_update(self, one_pass, request):
                return
            update_unfused(group, own, request, sums)

    def _abandon_batch(self) -> None:
        """See `BaseModule._abandon_batch`; a pass whose results were read has written them."""
        if self._adds_up or not self._exec_group.trained:  # passes without an update are complete
            return
        for bound in self._exec_group.binding.bounds:
            with bound.lock:
                last = bound.last
                if last is not None and last.train and not last.settled and last.update is None:
                    last.give_up()

    def _weights(self, names: Sequence[str]) -> list[NDArray]:
        store = self._exec_group.store
        return [store.handle(n) for n in names]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last batch.

        Args:
            merge_multi_context: join what the devices made; else a list for each output.
        """
        self._need("get_outputs()", params=True)
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs; they need ``bind(inputs_need_grad=True)``."""
        self._need("get_input_grads()", params=True)
        if not self.inputs_need_grad:
            raise NotReadyError("get_input_grads() needs bind(inputs_need_grad=True)")
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states that are kept from batch to batch, in the order of ``state_names``."""
        self._need("get_states()", params=True)
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the kept states: to arrays as `get_states` gives them, or all to a number."""
        self._need("set_states()", params=True)
        self._exec_group.set_states(states, value)

    # ── Metrics and monitors ────────────────────────────────────────────────────────────────

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric.

        Right after ``update()``, or a ``forward`` of inference, a built-in metric is computed by
        the same program.

        Args:
            pre_sliced: they are a list for each device.
        """
        if not (self.binded and self.params_initialized):
            self._need("update_metric()", params=True)
        group, run = self._exec_group, self._pending_pass(labels)
        if run is not None:
            names = group.binding.label_names
            fused = eval_metric.fused(names, group.output_names)
            sums = None if fused is None else run(fused, names)
            if sums is not None:
                eval_metric.absorb(sums, stacked=len(self._context) > 1)
                return
        group.update_metric(eval_metric, labels, pre_sliced)

    def _pending_pass(self, labels: Any) -> Callable[..., Any] | None:
        """The function that runs a pending pass with a metric of its labels; ``None`` without."""
        group, step = self._exec_group, self._joined
        if step is not None and not step.settled and group.loaded(labels):
            self._waits_for_metric = True
            return step.run
        last: Pass | None = group.bounds[0].last if group.binding.one_program else None
        if last is None or not last.can_score() or not group.loaded(labels):
            return None
        return last.score

    _train_on: ClassVar[Any] = train_on
    _calls: ClassVar[Any] = forward, backward, BaseModule.forward_backward, update, update_metric
    """Module's own methods of `modkit.module.steps.CALLS`. `fit` calls them batch by batch if a
    subclass or an instance replaces one."""

    def install_monitor(self, mon: Monitor) -> None:
        self._need("install_monitor()")
        self._exec_group.install_monitor(mon)
        self._monitors.append(mon)

    def _move_monitors(self, before: Sequence[Any]) -> None:
        """Attach the monitors to the present executors, after a reshape."""
        for mon in self._monitors:
            mon.exes = [e for e in mon.exes if all(e is not old for old in before)]
            for executor in self._exec_group.executors:
                mon.install(executor)

    # ── Optimizer states in files ───────────────────────────────────────────────────────────

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states."""
        self._need("save_optimizer_states()", params=True, optimizer=True)
        self._module_optimizer.save_states(fname)

    def optimizer_state_bytes(self) -> dict[Context, int]:
        """The bytes of optimizer states on each of the module's devices.

        States are made at the first update. With ``shard_optimizer_states`` a device has about
        one of as many parts as there are devices of all workers.
        """
        self._need("optimizer_state_bytes()", params=True, optimizer=True)
        return self._module_optimizer.state_bytes(self._context)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states."""
        self._need("load_optimizer_states()", params=True, optimizer=True)
        self._module_optimizer.load_states(fname)

    # ── The training state, for checkpoints ─────────────────────────────────────────────────

    def state_dict(self) -> dict[str, Any]:
        self._need("state_dict()", params=True, optimizer=True)
        return state_of(self, self._present_updater)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._need("load_state_dict()", params=True, optimizer=True)
        load_state(self, self._present_updater, state)


_PARAMS = ("get_params", "set_params", "init_params")


def _zeros(value: jax.Array) -> jax.Array:
    with x64_for(value.dtype):
        return jax.device_put(np.zeros(value.shape, value.dtype), value.sharding)


def _check_shared(where: str, module: Module, shared: Module) -> None:
    """Raise ParameterError unless a module has all parameters and states of one that shares them.

    Others would begin at 0, and be in no file of the first.
    """
    store = shared._exec_group.store
    known = [*store.params, *store.aux]
    for name in (*module._param_names, *module._aux_names):
        if name not in known:
            raise ParameterError(
                f"{where} lacks {name!r}.{nearest(name, known)} It has: {', '.join(known)}"
            )
