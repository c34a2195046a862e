"""BucketingModule: one set of parameters behind a symbol for each bucket."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from modkit.checkpoint import Prefix, load_params, params_path
from modkit.constructors import check_keywords
from modkit.context import cpu
from modkit.errors import NotReadyError, ParameterError, expect, wrong
from modkit.metric import EvalMetric
from modkit.module.base_module import BaseModule
from modkit.module.module import _PARAMS, Module
from modkit.module.parameters import InitArguments, Params
from modkit.module.typing import GradReq, InputShapes, RowIds
from modkit.monitor import Monitor
from modkit.name import NameManager
from modkit.ndarray import array, save
from modkit.overriding import overrides
from modkit.symbol import load as load_symbol
from modkit.symbol.precision import compute_type


def _of_present(method: Callable[..., Any], module: str = "_present") -> Any:
    """A method of the present bucket's module, as a method of the `BucketingModule`."""

    @functools.wraps(method)
    def call(self: BucketingModule, *args: Any, **kwargs: Any) -> Any:
        return getattr(getattr(self, module), method.__name__)(*args, **kwargs)

    return call


def _shown(of: Any) -> property:
    """A property of `Module`, read from the module of the present bucket."""
    return property(lambda self: of.fget(self._present), doc=inspect.getdoc(of))


_of_default = functools.partial(_of_present, module="_default")


class BucketingModule(BaseModule):
    """A module for inputs of several lengths: a symbol for each, parameters in common.

    Args:
        sym_gen: ``sym_gen(bucket_key) -> (symbol, data_names, label_names)``.
        default_bucket_key: the bucket that is bound first; it should have all parameters.
        context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params,
            compute_dtype: see `Module`.

    Raises:
        ParameterError: ``sym_gen`` cannot be called, there is no default bucket, or its names
            are not in its symbol.

    Differs:
        Automatic names start anew in each bucket, so that layers without a name share parameters.
        In MXNet they go on from one call of ``sym_gen`` to the next.

    >>> def net_of(length):
    ...     net = mx.sym.mean(mx.sym.Variable("data"), axis=1, keepdims=True)
    ...     net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
    ...     return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]
    >>> module = mx.mod.BucketingModule(net_of, default_bucket_key=8)
    >>> module.bind([("data", (2, 8))], [("softmax_label", (2,))])
    >>> module.init_params()
    >>> batch = mx.io.DataBatch([mx.nd.ones((2, 5))], [mx.nd.ones((2,))], bucket_key=5,
    ...     provide_data=[("data", (2, 5))], provide_label=[("softmax_label", (2,))])
    >>> module.forward(batch)
    >>> module.get_outputs()[0].shape
    (2, 2)
    """

    _can_add_up: ClassVar[bool] = True
    _keeps_missing: ClassVar[bool] = True
    _warns_of_kept: ClassVar[bool] = False

    @check_keywords
    def __init__(
        self,
        sym_gen: Callable[..., Any],
        default_bucket_key: Any = None,
        logger: Any = logging,
        context: Any = None,
        work_load_list: Any = None,
        fixed_param_names: Any = None,
        state_names: Any = None,
        group2ctxs: Any = None,
        compression_params: Any = None,
        compute_dtype: Any = None,
    ):
        super().__init__(logger)
        expect(callable(sym_gen), "BucketingModule: sym_gen", sym_gen, "a function of a bucket key")
        if default_bucket_key is None:
            raise MissingBucketError("BucketingModule: default_bucket_key is missing")
        self._sym_gen, self._default_bucket_key = sym_gen, default_bucket_key
        self._context = cpu() if context is None else context
        self._work_load_list = work_load_list
        self._fixed_param_names = list(fixed_param_names or [])
        self._state_names = list(state_names or [])
        self._group2ctxs, self._compression_params = group2ctxs, compression_params
        self._compute_dtype = compute_type(compute_dtype)
        self._unbound = self._make(default_bucket_key)
        self._monitors: list[Monitor] = []
        self._grad_req: Any = None
        self._given: tuple[Params, Params] | None = None  # loaded, for `bind`
        self._reset_bind()

    def _reset_bind(self) -> None:
        """Forget all buckets: the next call is `bind`."""
        self.binded = False
        self._buckets: dict[Any, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Any = None

    @property
    def _monitor(self) -> Monitor | None:
        return self._monitors[-1] if self._monitors else None

    @property
    def _present(self) -> Module:
        """The module of the present bucket; before `bind` that of the default one, unbound."""
        return self._unbound if self._curr_module is None else self._curr_module

    @property
    def _default(self) -> Module:
        """The module of the default bucket."""
        return self._buckets.get(self._default_bucket_key, self._unbound)

    _present_optimizer: Any = _shown(Module._present_optimizer)
    _present_workers: Any = _shown(Module._present_workers)

    def _make(self, bucket_key: Any) -> Module:
        with NameManager():  # automatic names are the same for each bucket
            parts = self._sym_gen(bucket_key)
        if not isinstance(parts, tuple | list) or len(parts) != 3:
            raise wrong(
                "BucketingModule: sym_gen", type(parts), "(symbol, data_names, label_names)"
            )
        symbol, data_names, label_names = parts
        made = Module(
            symbol, data_names, label_names, self.logger, self._context, self._work_load_list,
            self._fixed_param_names, self._state_names, self._group2ctxs,
            self._compression_params, self._compute_dtype,
        )  # fmt: skip
        made._is_bucket = True
        return made

    @property
    def symbol(self) -> Any:
        """The symbol of the present bucket."""
        self._need("symbol")
        return self._curr_module.symbol

    data_names: Any = _shown(Module.data_names)
    output_names: Any = _shown(Module.output_names)
    data_shapes: Any = _shown(Module.data_shapes)
    label_shapes: Any = _shown(Module.label_shapes)
    output_shapes: Any = _shown(Module.output_shapes)

    # ── Binding ─────────────────────────────────────────────────────────────────────────────

    def _bind(
        self, data: InputShapes, labels: InputShapes | None, rebind: bool, shared: Any, req: GradReq
    ) -> None:
        """Bind the default bucket; the others follow when they are needed."""
        self._check_bind(shared)
        key = self._default_bucket_key
        before, module = self._buckets.get(key), self._make_bound(key, data, labels, None, req)
        if before is not None and self.params_initialized:
            module.init_params(None, *before.get_params())
            if before.optimizer_initialized:
                module.borrow_optimizer(before)
        self._grad_req, self._adds_up = req, False
        self.binded, self._buckets = True, {key: module}
        self._curr_module, self._curr_bucket_key = module, key
        if self._given is not None:
            self.set_params(*self._given)
            self._given = None

    def _make_bound(self, key: Any, data: Any, labels: Any, shared: Any, req: GradReq) -> Module:
        """A new module of a bucket, bound and monitored as this one is."""
        module, options = self._make(key), (self.for_training, self.inputs_need_grad)
        module._shares_with = f"switch_bucket: the default bucket, for {key!r},"
        module.bind(data, labels, *options, shared_module=shared, grad_req=req)
        for monitor in self._monitors:
            module.install_monitor(monitor)
        return module

    def switch_bucket(
        self, bucket_key: Any, data_shapes: Any, label_shapes: InputShapes | None = None
    ) -> None:
        """Make a bucket the present one, binding it if it is new.

        Raises:
            ParameterError: it has a parameter or state that the default bucket has not.
        """
        self._need("switch_bucket()")
        if bucket_key not in self._buckets:
            self._buckets[bucket_key] = self._make_bound(
                bucket_key, data_shapes, label_shapes, self._default, self._grad_req
            )
        self._curr_module = self._buckets[bucket_key]
        self._curr_bucket_key = bucket_key
        if self.optimizer_initialized and not self._curr_module.optimizer_initialized:
            self._curr_module.borrow_optimizer(self._default)

    def prepare(self, data_batch: Any, sparse_row_id_fn: RowIds | None = None) -> None:
        """Bind the bucket of a batch that comes next; the present one stays."""
        self._need("prepare()", params=True)
        super().prepare(data_batch, sparse_row_id_fn)
        present = self._curr_module, self._curr_bucket_key
        try:
            self._switch_to("prepare", data_batch)
            self._curr_module.prepare(data_batch)
        finally:
            self._curr_module, self._curr_bucket_key = present

    # ── Parameters and optimizer ────────────────────────────────────────────────────────────

    def get_params(self) -> Any:
        if not self.binded and self._given is not None:
            return self._given
        found = self._default.get_params()
        self._params_dirty = False
        return found

    @property
    def _params_dirty(self) -> bool:
        """See `Module`; buckets share their values."""
        return any(module._params_dirty for module in self._buckets.values())

    @_params_dirty.setter
    def _params_dirty(self, value: bool) -> None:
        for module in self._buckets.values():
            module._params_dirty = value

    def _fill_params(self, given: InitArguments) -> None:
        self._default.init_params(**given._asdict())
        self._params_dirty = False
        self._all_initialized()

    def _set_given(self, args: Params | None, auxs: Params | None, allow_extra: bool) -> None:
        self._default._set_given(args, auxs, allow_extra)
        self._all_initialized()

    def _all_initialized(self) -> None:
        self.params_initialized = True
        for module in self._buckets.values():
            module.params_initialized = True

    def _make_optimizer(self, *arguments: Any) -> None:
        self._curr_module.init_optimizer(*arguments)
        for module in self._buckets.values():  # which share the optimizer
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)

    def _average_states(self) -> None:
        if overrides(self, BucketingModule, *_PARAMS):
            super()._average_states()
        else:
            self._default._average_states()
            self._params_dirty = False

    def _clear_gradients(self) -> None:
        for module in self._buckets.values():
            module._clear_gradients()

    _abandon_batch = _of_present(Module._abandon_batch)
    _bound_size = _of_present(Module._bound_size)
    _present_input = _of_present(Module._present_input)
    _present_outputs = _of_present(Module._present_outputs)
    _named_inputs = _of_default(Module._named_inputs)
    _param_values = _of_default(Module._param_values)
    state_dict = _of_default(BaseModule.state_dict)
    load_state_dict = _of_default(BaseModule.load_state_dict)

    # ── One batch ───────────────────────────────────────────────────────────────────────────

    def _check_order(self, source: Any, where: str) -> None:
        if self.binded:
            self._present._check_order(source, where)

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Run a batch in the bucket that its ``bucket_key`` names."""
        self._need("forward()", params=True)
        self._switch_to("forward", data_batch)
        self._curr_module.forward(data_batch, is_train=is_train)

    def _switch_to(self, where: str, batch: Any) -> None:
        """Make a batch's bucket the present one; a batch without a key and shapes leaves it."""
        key = batch.bucket_key
        if batch.provide_data is None and key not in self._buckets:
            if key is None:
                return
            raise ParameterError(
                f"{where}: bucket {key!r} is new, so the batch needs provide_data and provide_label"
            )
        self.switch_bucket(key, batch.provide_data, batch.provide_label)

    backward = _of_present(Module.backward)
    update = _of_present(Module.update)
    get_outputs = _of_present(Module.get_outputs)
    get_input_grads = _of_present(Module.get_input_grads)
    get_states = _of_present(Module.get_states)
    set_states = _of_present(Module.set_states)
    update_metric = _of_present(Module.update_metric)

    def install_monitor(self, mon: Monitor) -> None:
        """Show every operator's outputs, of all buckets, to a Monitor."""
        self._need("install_monitor()")
        for module in self._buckets.values():
            module.install_monitor(mon)
        self._monitors.append(mon)

    def _check_evaluation(self, source: Any, metric: EvalMetric) -> None:
        super()._check_evaluation(source, metric)
        key = self._default_bucket_key
        if getattr(source, "default_bucket_key", None) == key:
            self._buckets[key]._check_evaluation(source, metric)

    # ── Files ───────────────────────────────────────────────────────────────────────────────

    def save_checkpoint(self, prefix: Prefix, epoch: int, remove_amp_cast: bool = False) -> None:
        """Write a symbol file for each bucket, ``prefix-<key>-symbol.json``, and the parameters.

        The keys, where they are integers, are listed in ``prefix.buckets``: MXNet reads them there.
        """
        self._need("save_checkpoint()", params=True)
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
        self.save_params(params_path(prefix, epoch))
        if all(isinstance(key, int) for key in self._buckets):
            save(f"{prefix}.buckets", array(list(self._buckets), dtype="int32"))

    @staticmethod
    def load(
        prefix: Prefix,
        epoch: int,
        sym_gen: Callable[..., Any] | None = None,
        default_bucket_key: Any = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A module from what `save_checkpoint` wrote; ``bind`` completes it."""
        if sym_gen is None:
            raise MissingBucketError("BucketingModule.load: sym_gen is missing")
        made = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        made._given = load_params(prefix, epoch)
        return made

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Any, Any] | None = None,
        sym_gen: Callable[..., Any] | None = None,
        default_bucket_key: Any = None,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """A module from parameters and symbols by bucket, else ``sym_gen``; `bind` completes it."""
        if sym_gen is None and sym_dict is None:
            raise MissingBucketError("BucketingModule.load_dict: give sym_dict or sym_gen")
        symbols = {
            k: s if hasattr(s, "list_arguments") else load_symbol(s)
            for k, s in (sym_dict or {}).items()
        }

        def from_dict(key: Any) -> Any:
            if sym_gen is None:
                return symbols[key], ("data",), ("softmax_label",)
            made = sym_gen(key)
            return (symbols[key], *made[1:]) if key in symbols else made

        made = BucketingModule(from_dict, default_bucket_key, **kwargs)
        made._given = arg_params or {}, aux_params or {}
        return made


class MissingBucketError(NotReadyError, ParameterError):
    """A bucket or its symbol is not given."""
