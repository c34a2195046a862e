"""Module: a symbol, its parameters and its optimizer, on one device or several."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from modkit import optimizer as optimizers
from modkit import stream
from modkit.checkpoint import load_checkpoint
from modkit.context import Context, cpu
from modkit.errors import (
    MXNetError,
    NotReadyError,
    ParameterError,
    ShapeError,
    nearest,
)
from modkit.files import atomic_write, parse_file
from modkit.initializer import InitDesc, Uniform
from modkit.io import DataBatch, DataDesc
from modkit.io.base import descriptions
from modkit.kvstore import KVStore
from modkit.model import create_kvstore
from modkit.module.base_module import BaseModule, Counter, Params, check_names
from modkit.module.batches import Shapes, as_batch, shapes_for
from modkit.module.group import ExecutorGroup, groups_of, names_of
from modkit.module.step import Queued, Step, can_fuse
from modkit.ndarray import NDArray
from modkit.ndarray.cell import Cell, wide
from modkit.ndarray.host_cell import cell_of, on_host
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
        work_load_list: what share of a batch each device takes; default equal ones.
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
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Any = logging,
        context: Context | Sequence[Context] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
        compute_dtype: Any = None,
    ):
        super().__init__(logger)
        if not isinstance(symbol, Symbol):
            raise ParameterError(f"Module: symbol: got {type(symbol).__name__}, expected a Symbol")
        context = context or cpu()
        self._context = [context] if isinstance(context, Context) else list(context)
        for ctx in self._context:
            if not isinstance(ctx, Context):
                raise ParameterError(
                    f"Module: context: got {context!r}, expected a Context such as mx.cpu(), or "
                    "a list of them"
                )
            ctx._check()  # an unknown device is an error here, not at the first batch
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        if len(self._work_load_list) != len(self._context):
            raise ParameterError(
                f"work_load_list: got {len(self._work_load_list)} entries for "
                f"{len(self._context)} contexts"
            )
        self._group2ctxs = groups_of(group2ctxs, len(self._context))
        self._symbol = symbol
        self._data_names = list(data_names or [])
        self._label_names = list(label_names or [])
        self._state_names = list(state_names or [])
        self._fixed_param_names = list(fixed_param_names or [])
        check_names(self._data_names, symbol, "data_names", throw=True)
        check_names(self._label_names, symbol, "label_names", throw=False)
        check_names(self._state_names, symbol, "state_names", throw=True)
        check_names(self._fixed_param_names, symbol, "fixed_param_names", throw=True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in symbol.list_arguments() if n not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._given: tuple[Params, Params] | None = None
        self._compression_params = compression_params
        self._compute_dtype = compute_type(compute_dtype)
        self._preload_opt_states: str | None = None
        self._grad_req: Any = None
        self._reset_bind()
        self._forget_optimizer()

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group: Any = None
        self._monitors: list[Any] = []
        self._data_shapes: list[DataDesc] | None = None
        self._label_shapes: list[DataDesc] | None = None

    def _forget_optimizer(self) -> None:
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore: bool | None = None
        self._updater: Any = None
        self._step: Step | None = None
        self._step_waits = True
        self.optimizer_initialized = False

    @staticmethod
    def load(prefix: str, epoch: int, load_optimizer_states: bool = False, **kwargs: Any) -> Module:
        """A module from a checkpoint; ``bind`` and ``init_params`` complete it.

        Args:
            prefix: what the files' names begin with.
            epoch: the number in the ``.params`` file's name.
            load_optimizer_states: read ``prefix-<epoch>.states`` when the optimizer is made. Such
                a file has no update counts (unless it has the whole optimizer): to go on with
                schedule and bias correction, give the optimizer ``begin_num_update``.
            **kwargs: for Module.
        """
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        module = Module(symbol=symbol, **kwargs)
        module._given = args, auxs
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return module

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Write ``prefix-symbol.json``, ``prefix-<epoch>.params`` and, if asked, ``.states``.

        Args:
            prefix: what the files' names begin with.
            epoch: the number in their names.
            save_optimizer_states: whether to write the optimizer's states too.
            remove_amp_cast: whether to leave casts out that mixed precision put in.
        """
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
        params = f"{prefix}-{epoch:04d}.params"
        self.save_params(params)
        logging.info('Saved checkpoint to "%s"', params)
        if save_optimizer_states:
            states = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(states)
            logging.info('Saved optimizer state to "%s"', states)

    def _check_iterator(self, train_data: Any) -> None:
        super()._check_iterator(train_data)
        given = names_of(descriptions(train_data.provide_label or []))
        wanted = [n for n in self._label_names if n in self._symbol.list_arguments()]
        missing = [n for n in wanted if n not in given]
        if missing:
            raise ParameterError(
                f"fit: the network has the label {missing[0]!r}, and train_data provides "
                f"{', '.join(given) or 'no labels'}; give it labels of that name, or say how they "
                "are called: Module(..., label_names=[...])"
            )

    # ── Names and shapes ────────────────────────────────────────────────────────────────────

    @property
    def data_names(self) -> list[str]:
        """Names of the data inputs."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        """What the module is bound for."""
        self._need("data_shapes")
        return self._data_shapes or []

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """What the module is bound for; ``None`` without labels."""
        self._need("label_shapes")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs for a whole batch."""
        self._need("output_shapes")
        return self._exec_group.get_output_shapes()

    # ── Binding ─────────────────────────────────────────────────────────────────────────────

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: Any = "write",
    ) -> None:
        """Make the arrays for inputs of these shapes.

        Args:
            data_shapes: DataDescs or ``(name, shape)`` pairs, one a data name.
            label_shapes: the same for the labels; may be left out where none is given.
            for_training: whether gradients will be wanted.
            inputs_need_grad: whether those of the data inputs will be, too.
            force_rebind: bind anew also if bound already.
            shared_module: a bound module whose parameters to use.
            grad_req: ``"write"``, ``"add"`` or ``"null"``; a list; or a dictionary by name.

        Raises:
            ParameterError: names that do not fit those of the module.
            ShapeError: shapes that do not fit the network.
        """
        if force_rebind:
            self._keep_params()
            self._reset_bind()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise NotReadyError("bind: inputs_need_grad=True needs for_training=True")
        if shared_module is not None and not (
            shared_module.binded and shared_module.params_initialized
        ):
            raise NotReadyError("bind: shared_module needs bind() and init_params() first")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._grad_req = grad_req
        self._describe(data_shapes, label_shapes)
        self._exec_group = ExecutorGroup(
            self._symbol, self._context, self._work_load_list, self._data_shapes or [],
            self._label_shapes, self._param_names, for_training, inputs_need_grad,
            shared_module._exec_group if shared_module else None,
            fixed_param_names=self._fixed_param_names, grad_req=grad_req,
            state_names=self._state_names, group2ctxs=self._group2ctxs,
            compute_dtype=self._compute_dtype,
        )  # fmt: skip
        self.binded = True
        if shared_module is not None:
            self.params_initialized = True
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self._given is not None:
            self._write_params(*self._given)
        self._given = None  # from here on the arrays have them

    def _keep_params(self) -> None:
        """Remember the parameters' values, for the arrays that come next."""
        if self.binded and self.params_initialized:
            self._given = self.get_params()

    def _describe(self, data_shapes: Any, label_shapes: Any) -> None:
        """Check and keep what the inputs look like."""
        data = descriptions(data_shapes)
        if sorted(names_of(data)) != sorted(self._data_names):
            raise ParameterError(
                f"bind: data_shapes: got {names_of(data)}, but the module was made with "
                f"data_names={self._data_names}"
            )
        labels = descriptions(label_shapes) if label_shapes else []
        if sorted(names_of(labels)) != sorted(self._label_names):
            warnings.warn(
                f"bind: label_shapes: got {names_of(labels)}, but the module was made with "
                f"label_names={self._label_names}",
                UserWarning,
                stacklevel=4,
            )
        order = {n: i for i, n in enumerate(self._data_names)}
        self._data_shapes = sorted(data, key=lambda d: order[d.name])
        self._data_order = [names_of(data).index(d.name) for d in self._data_shapes]
        self._label_shapes = labels or None

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Bind for other input shapes; parameters stay, and programs seen before are used again."""
        self._need("reshape()")
        data, labels = descriptions(data_shapes), descriptions(label_shapes or [])
        if data == self._data_shapes and (labels or None) == self._label_shapes:
            return
        kept = self._data_shapes, self._data_order, self._label_shapes
        try:
            self._describe(data, labels)
            before = self._exec_group.execs if self._monitors else []
            self._exec_group.bind_exec(self._data_shapes, self._label_shapes)
        except MXNetError:  # what is refused leaves the module as it was
            self._data_shapes, self._data_order, self._label_shapes = kept
            raise
        self._move_monitors(before)

    # ── Parameters ──────────────────────────────────────────────────────────────────────────

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - holds no state
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give every parameter and auxiliary state a value.

        Args:
            initializer: for those that are not given.
            arg_params: values of parameters by name.
            aux_params: values of auxiliary states by name.
            allow_missing: let ``initializer`` fill in what ``arg_params`` lacks, if it is given.
            force_init: also if initialised already.
            allow_extra: taken for MXNet's sake; names that the network lacks are passed over.

        Raises:
            RuntimeError: a parameter is missing, and ``allow_missing`` is not set.
            ShapeError: a value of another shape.
        """
        if self._keeps_params("init_params", force_init):
            return
        self._need("init_params()")
        _check_given(arg_params, aux_params, initializer)
        attrs = self._symbol.attr_dict()
        store = self._exec_group.store
        kinds = (
            (self._param_names, store.params, arg_params),
            (self._aux_names, store.aux, aux_params),
        )
        fresh = []
        for names, cells, given in kinds:
            for name in sorted(names):
                handle = self._fresh_handle(cells is store.aux, cells[name])
                desc = InitDesc(name, attrs.get(name))
                self._init_one(desc, handle, given, initializer, allow_missing)
                fresh.append((name, handle, cells is store.aux))
        for name, handle, is_aux in fresh:  # only now: nothing is written where one is refused
            self._write_one(name, handle, is_aux=is_aux)
        self.params_initialized = True

    def _fresh_handle(self, is_aux: bool, cell: Any) -> NDArray:
        """The present value in an array of its own."""
        ctx = self._context[0]
        return NDArray(cell_of(self._logical_value(is_aux, cell), ctx), ctx)

    def _init_one(
        self, desc: InitDesc, handle: NDArray, given: Params | None, initializer: Any, lenient: bool
    ) -> None:
        if given is not None and desc in given:
            value = given[desc]
            if value is not handle:
                _check_value(desc, value, handle)
                handle._set(value)
            return
        if given is not None and not lenient:
            strange = sorted(set(given) - {*self._param_names, *self._aux_names})
            raise MissingParameterError(
                f"{str(desc)!r} is not among the {len(given)} arrays given."
                f"{nearest(desc, strange)} Give it a value; or pass allow_missing=True, and "
                "init_params() initialises what is missing, set_params() leaves it as it is"
            )
        if initializer is not None:
            initializer(desc, handle)
        elif given is None:
            raise MissingParameterError(
                f"{str(desc)!r} has no value and no initializer: pass one of the two"
            )

    def set_params(
        self,
        arg_params: Params | None,
        aux_params: Params | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set parameters and auxiliary states.

        Args:
            arg_params: values by name.
            aux_params: values by name.
            allow_missing: those that are not given keep their value.
            force_init: also if initialised already.
            allow_extra: pass over names that the network lacks.

        Raises:
            RuntimeError: one is missing, and ``allow_missing`` is not set.
            ValueError: one is extra, and neither is allowed.
        """
        if not allow_missing:
            self.init_params(
                None, arg_params, aux_params, allow_missing, force_init, allow_extra
            )  # fmt: skip
            return
        if self._keeps_params("set_params", force_init):
            return
        self._need("set_params()")
        _check_given(arg_params, aux_params, None)
        self._write_params(arg_params or {}, aux_params or {}, allow_extra)
        self.params_initialized = True

    def _write_params(self, args: Params, auxs: Params, allow_extra: bool = True) -> None:
        store = self._exec_group.store
        fresh = []
        for cells, values in ((store.params, args), (store.aux, auxs)):
            for name in values:
                if name in cells:
                    handle = self._fresh_handle(cells is store.aux, cells[name])
                    self._init_one(InitDesc(name), handle, values, None, True)
                    fresh.append((name, handle, cells is store.aux))
                elif not allow_extra:
                    raise ParameterError(
                        f"set_params: {name!r} is not in the network.{nearest(name, cells)} "
                        "Pass allow_extra=True to pass over such names"
                    )
        for name, handle, is_aux in fresh:
            self._write_one(name, handle, is_aux=is_aux)

    def _write_one(self, name: str, handle: NDArray, *, is_aux: bool) -> None:
        store = self._exec_group.store
        cell, home = (store.aux if is_aux else store.params)[name], store.home.at(name)
        value = handle._cell.peek()
        cell.set(home.split(value, -1) if is_aux else home.share(value), lent=True)

    def _logical_value(self, is_aux: bool, cell: Any) -> Any:
        """One array for all replicas: a parameter, or the mean of an auxiliary state."""
        home = self._exec_group.store.home
        if not is_aux:
            return on_host(home.logical(cell))
        if home.count == 1:
            return on_host(cell)
        stored = jax.device_put(cell.peek(), self._context[0].jax_device)
        return stored.mean(0).astype(stored.dtype)

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Copies of parameters and auxiliary states, on ``cpu(0)``; the latter averaged."""
        if not self.binded and self._given is not None:
            args, auxs = self._given
            return dict(args), dict(auxs)
        self._need("get_params()", params=True)
        store = self._exec_group.store
        args = {n: self._taken_out(False, store.params[n]) for n in self._param_names}
        auxs = {n: self._taken_out(True, store.aux[n]) for n in self._aux_names}
        return args, auxs

    @property
    def _arg_params(self) -> Params | None:
        """The parameters, where programs that know MXNet's insides look for them."""
        return self.get_params()[0] if self.params_initialized else None

    @property
    def _aux_params(self) -> Params | None:
        """The auxiliary states, likewise."""
        return self.get_params()[1] if self.params_initialized else None

    def _taken_out(self, is_aux: bool, cell: Any) -> NDArray:
        value = self._logical_value(is_aux, cell)
        with wide(value.dtype):
            return NDArray(Cell(jax.device_put(value, cpu().jax_device)), cpu())

    def _sync_params_from_devices(self) -> None:
        """Nothing to do: parameters live in one place."""

    # ── The optimizer ───────────────────────────────────────────────────────────────────────

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Make the optimizer, and the store that sums gradients.

        Args:
            kvstore: a KVStore, its name, or ``None``.
            optimizer: an Optimizer, its name, or an ``optax.GradientTransformation``.
            optimizer_params: parameters of a named one. ``rescale_grad`` defaults to one over
                the batch size.
            force_init: also if initialised already.
        """
        self._need("init_optimizer()", params=True)
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        self._forget_optimizer()
        handles = self._handles()
        kvstore, on_kvstore = create_kvstore(kvstore, len(self._context), handles)
        rescale = 1.0 / self._exec_group.batch_size
        if kvstore is not None and "dist" in kvstore.type and "_sync" in kvstore.type:
            rescale /= kvstore.num_workers
        # A store of the user's own sums; only ours runs the optimizer, or sums inside the step.
        on_kvstore = on_kvstore and isinstance(kvstore, KVStore)
        self._update_on_kvstore = on_kvstore
        self._optimizer = self._make_optimizer(optimizer, optimizer_params, rescale)
        self._kvstore = kvstore
        if kvstore is not None:
            if self._compression_params:
                kvstore.set_gradient_compression(self._compression_params)
            if on_kvstore:
                kvstore.set_optimizer(self._optimizer)
            for name, handle in handles.items():
                kvstore.init(name, handle)
                if isinstance(kvstore, KVStore):
                    kvstore.adopt(name, handle)
        if not on_kvstore:
            self._updater = optimizers.get_updater(self._optimizer)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _handles(self) -> dict[str, NDArray]:
        return dict(zip(self._param_names, self._weights(self._param_names), strict=True))

    def _make_optimizer(self, optimizer: Any, params: Any, rescale: float) -> Any:
        count = 1 if self._update_on_kvstore else len(self._context)
        names = {i * count + k: n for i, n in enumerate(self._param_names) for k in range(count)}
        if isinstance(optimizer, str):
            given = {"rescale_grad": rescale, **_named(params)}
            return optimizers.create(optimizer, sym=self._symbol, param_idx2name=names, **given)
        if not isinstance(optimizer, optimizers.Optimizer):
            return optimizers.create(optimizer, param_idx2name=names, rescale_grad=rescale)
        if optimizer.rescale_grad != rescale:
            warnings.warn(
                f"the optimizer's rescale_grad is {optimizer.rescale_grad}, where one over the "
                f"batch size would be {rescale}. Is this intended?",
                UserWarning,
                stacklevel=3,
            )
        if not optimizer.idx2name:
            optimizer.idx2name = dict(names)
        return optimizer

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use another module's optimizer, kvstore and optimizer states."""
        if not shared_module.optimizer_initialized:
            raise NotReadyError("borrow_optimizer: shared_module needs init_optimizer() first")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    # ── One batch ───────────────────────────────────────────────────────────────────────────

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Run a batch; outputs are computed when they are read.

        A batch of other shapes binds for them first.

        Args:
            data_batch: a DataBatch, a list of them, one a context, or anything else that has a
                list ``data`` (and ``label``).
            is_train: default ``for_training``.

        Raises:
            ParameterError: data or, in training, labels are missing.
            ShapeError: shapes that do not fit the network.
        """
        self._need("forward()", params=True)
        data_batch = as_batch(data_batch)
        if data_batch.data is None or len(data_batch.data) < len(self._data_names):
            raise ParameterError(
                f"forward: got {len(data_batch.data or [])} data arrays, expected "
                f"{len(self._data_names)}: {', '.join(self._data_names)}"
            )
        train = self.for_training if is_train is None else is_train
        if train and not data_batch.label and self._label_shapes:
            raise ParameterError(
                "forward: training needs labels, and the batch has none; expected "
                f"{', '.join(names_of(self._label_shapes))}"
            )
        if self._step is not None and not self._step.settled:
            self._step_waits = False  # nobody asked for a metric: let the next one start at once
            self._step.run()
        data = [data_batch.data[i] for i in self._data_order]
        self._fit_shapes(data, data_batch)
        self._exec_group.forward(data, data_batch.label, train)

    def _fit_shapes(self, data: Sequence[Any], batch: DataBatch) -> None:
        """Bind anew if the batch has not the shapes that the module is bound for."""
        if self._exec_group.takes(data, batch.label):
            return
        bound = Shapes(self._data_shapes or [], self._label_shapes)
        wanted = shapes_for(batch, data, bound)
        if wanted is None:
            return
        order = self._data_order
        try:
            self.reshape(wanted.data, wanted.label)
            if not batch.provide_data:  # then the shapes were in the module's order already
                self._data_order = order
        except ShapeError as error:
            raise ShapeError(
                f"forward: got a batch of {wanted}; the module is bound for {bound}: {error}"
            ) from error

    def backward(self, out_grads: Any = None) -> None:
        """Gradients of the last batch; computed when they are read, or with ``update``.

        Args:
            out_grads: gradients of outputs that are not losses.

        Raises:
            NotReadyError: the module was bound with ``for_training=False``.
        """
        self._need("backward()", params=True)
        if not self.for_training:
            raise NotReadyError("backward() needs bind(for_training=True)")
        if isinstance(out_grads, NDArray):
            out_grads = [out_grads]
        self._exec_group.backward(out_grads)

    def update(self) -> None:
        """Let the optimizer use the last batch's gradients, summed over the devices.

        Where nobody has read an output or gradient yet, forward, backward and this are one
        program.
        """
        self._need("update()", params=True, optimizer=True)
        updater, names, indices, rule = self._updating()
        group = self._exec_group
        one_pass = group.bounds[0].last
        if group.is_one_program and rule is not None and can_fuse(one_pass, names):
            states = self._states(updater, names, indices)
            hyper = updater.optimizer.hyper(indices)
            self._step = Step(one_pass, names, rule, states, hyper)
            if not self._step_waits:
                self._step.run()
            return
        self._update_apart(names, indices, updater)

    def _updating(self) -> tuple[Any, tuple[str, ...], tuple[Any, ...], Any]:
        """The updater, names of what it updates and its indices, and the rule to fuse, if any."""
        names = self._exec_group.trained
        updater = self._kvstore._updater if self._update_on_kvstore else self._updater
        # The updater's, which is another than ours once states with an optimizer were loaded.
        own_store = self._kvstore is None or isinstance(self._kvstore, KVStore)
        fuses = own_store and hasattr(updater, "optimizer") and not self._compression_params
        rule = updater.optimizer.tree_rule(names) if fuses else None
        return updater, names, self._indices(names), rule

    def _several(self, batches: Sequence[Any], eval_metric: Any) -> Counter | None:
        """See `BaseModule._several`."""
        group = self._exec_group
        updater, names, indices, rule = self._updating()
        metric = eval_metric.fused(group.label_names, group.output_names)
        if rule is None or metric is None or self._state_names or not group.can_queue:
            return None
        own = any(getattr(type(self), n) is not getattr(Module, n) for n in _ONE_BATCH)
        if own or not all(self._fits(batch) for batch in batches):
            return None
        if self._step is not None:
            self._step.run()
        # First what may be refused, then what counts.
        group.bounds[0].require_heads([])
        states = self._states(updater, names, indices)
        taken = [
            group.taken([batch.data[i] for i in self._data_order], batch.label)
            for batch in batches[:-1]
        ]
        queued = [Queued(local, stream.draw(), updater.optimizer.hyper(indices)) for local in taken]
        self.forward_backward(batches[-1])
        hyper = updater.optimizer.hyper(indices)
        self._step = Step(group.bounds[0].last, names, rule, states, hyper, queued)
        sums = self._step.run(metric, group.label_names)
        stacked = len(self._context) > 1
        return lambda place: eval_metric.absorb(sums[place], stacked=stacked)

    def _fits(self, batch: Any) -> bool:
        """Whether a batch has the shapes that the module is bound for."""
        if not isinstance(batch, DataBatch):
            return False
        data = batch.data or ()
        if len(data) < len(self._data_order):
            return False
        return self._exec_group.takes([data[i] for i in self._data_order], batch.label)

    def _weights(self, names: Sequence[str]) -> list[NDArray]:
        store = self._exec_group.store
        return [store.handle(n) for n in names]

    def _states(self, updater: Any, names: Sequence[str], indices: Sequence[Any]) -> dict[str, Any]:
        """Optimizer states by parameter name: made where there are none, checked where loaded."""
        if not all(map(updater.states_synced.get, indices)):
            for index, weight in zip(indices, self._weights(names), strict=True):
                updater.ensure_state(index, weight)
        return {n: updater.states[i] for n, i in zip(names, indices, strict=True)}

    def _indices(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        """What the updater calls these parameters."""
        if self._update_on_kvstore:
            return names
        return tuple(i * len(self._context) for i in self._exec_group.places)

    def _update_apart(self, names: Sequence[str], indices: Sequence[Any], updater: Any) -> None:
        """The update on its own: gradients are summed, then the optimizer is called."""
        group = self._exec_group
        weights = self._weights(names)
        if self._kvstore is not None and self._compression_params:
            grads = [_compressed(self._kvstore, n, group.gradients_of(n)) for n in names]
        elif self._kvstore is not None and not isinstance(self._kvstore, KVStore):
            grads = [_summed_by(self._kvstore, n, group.gradients_of(n)) for n in names]
        else:
            grads = [group.summed_gradient(n) for n in names]
        updater(list(indices), grads, weights)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last batch.

        Args:
            merge_multi_context: join what the devices made; else a list for each output.
        """
        self._need("get_outputs()", params=True)
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs; ``bind(inputs_need_grad=True)`` asks for them."""
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

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last batch to a metric.

        Right after ``update()``, a built-in metric is computed by the same program.

        Args:
            eval_metric: the metric.
            labels: the batch's labels.
            pre_sliced: they are a list for each device.
        """
        self._need("update_metric()", params=True)
        group = self._exec_group
        if self._step is not None and not self._step.settled and group.loaded(labels):
            self._step_waits = True
            fused = eval_metric.fused(group.label_names, group.output_names)
            if fused is not None:
                sums = self._step.run(fused, group.label_names)
                eval_metric.absorb(sums, stacked=len(self._context) > 1)
                return
        group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Any) -> None:
        """Show every operator's outputs to a Monitor."""
        self._need("install_monitor()")
        self._monitors.append(mon)
        for executor in self._exec_group.execs:
            mon.install(executor)

    def _move_monitors(self, before: Sequence[Any]) -> None:
        """Let the monitors watch the present executors instead of those before a reshape."""
        for mon in self._monitors:
            mon.exes = [e for e in mon.exes if all(e is not old for old in before)]
            for executor in self._exec_group.execs:
                mon.install(executor)

    # ── Optimizer states in files ───────────────────────────────────────────────────────────

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states."""
        self._need("save_optimizer_states()", params=True, optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            states = self._updater.get_states()
            with atomic_write(fname) as file:
                file.write(states)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states."""
        self._need("load_optimizer_states()", params=True, optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            parse_file(fname, self._updater.set_states)


_ONE_BATCH = ("forward", "backward", "forward_backward", "update", "update_metric")


class MissingParameterError(NotReadyError, ParameterError):
    """A parameter of the network has no value."""


def _check_given(arg_params: Any, aux_params: Any, initializer: Any) -> None:
    for what, given in (("arg_params", arg_params), ("aux_params", aux_params)):
        if given is not None and not isinstance(given, Mapping):
            raise ParameterError(
                f"{what}: got {type(given).__name__}, expected a dictionary of name to NDArray"
            )
    if initializer is not None and not callable(initializer):
        raise ParameterError(
            f"initializer: got {initializer!r}, expected an Initializer such as mx.init.Xavier()"
        )


def _check_value(name: str, value: Any, handle: NDArray) -> None:
    shape = getattr(value, "shape", None)
    if shape is None:
        raise ParameterError(
            f"parameter {str(name)!r}: got {type(value).__name__}, expected an NDArray"
        )
    if tuple(shape) != handle.shape:
        raise ShapeError(
            f"parameter {str(name)!r}: got shape {tuple(shape)}, expected {handle.shape}; is it "
            "of another network, or of another input size?"
        )


def _named(params: Any) -> dict[str, Any]:
    """The optimizer's parameters by name."""
    try:
        return dict(params or {})
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"optimizer_params: got {params!r}, expected a dictionary such as "
            "{'learning_rate': 0.1}"
        ) from error


def _summed_by(kvstore: Any, name: str, grads: list[NDArray]) -> NDArray:
    """The sum as a store of the user's own makes it, over its processes too."""
    kvstore.pushpull(name, grads, out=grads)
    return grads[0]


def _compressed(kvstore: Any, name: str, grads: Sequence[NDArray]) -> NDArray:
    """The sum of compressed gradients, as the store makes it."""
    return kvstore.compressed_sum(name, list(grads))
