"""The base of all optimizers: rates, multipliers and update counts, by index or by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from modkit import registry
from modkit.errors import ModkitError, NameNotFoundError, NotSupportedError, ParameterError, nearest
from modkit.lr_scheduler import LRScheduler
from modkit.ndarray import NDArray
from modkit.ops.registry import dtype_name
from modkit.optimizer.checks import check_rate, finite, multipliers, refuse_unknown
from modkit.optimizer.counts import UpdateCounts

LOW = ("float16", "bfloat16")
"""Weights of these types get a float32 master copy where ``multi_precision`` is set."""


class SchedulerSetError(ModkitError, UserWarning):
    """The rate was set by hand although a scheduler makes it."""


class Optimizer:
    """The base of all optimizers.

    The rate of a parameter is ``lr`` (or what the scheduler says for the present update) times
    its multiplier; the same for the weight decay. Multipliers are looked up in ``param_dict``,
    then by index, then by the name that ``param_idx2name`` gives.

    Args:
        rescale_grad: gradients are multiplied with it first, ``1/batch_size`` as a rule.
        param_idx2name: parameter names by index. Where it is given, names that do not end in
            ``_weight`` or ``_gamma`` get no weight decay.
        wd: weight decay.
        clip_gradient: gradients are clipped to ``[-clip_gradient, clip_gradient]``; ``None`` or
            0 for not at all.
        learning_rate: the rate; with a scheduler, its new base. Default: the scheduler's, or 0.01.
        lr_scheduler: the rate as a function of the number of updates.
        sym: a Symbol, whose attributes ``__lr_mult__`` and ``__wd_mult__`` give multipliers.
        begin_num_update: the count that each parameter starts from.
        multi_precision: keep a float32 copy of float16 and bfloat16 weights, and update that.
        param_dict: by index, objects with ``lr_mult`` and ``wd_mult``.

    Raises:
        ParameterError: a rate that is negative or not a finite number, or another bad value.

    Differs: MXNet takes any rate, and trains into NaN.
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}
    updater_class: ClassVar[Callable[[Any], Any]]
    """`modkit.optimizer.updater.Updater`, which stands above this file and puts itself here."""

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        sym: Any = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[int, Any] | None = None,
    ):
        self.rescale_grad = finite("rescale_grad", rescale_grad)
        self.lr_scheduler = lr_scheduler
        self.lr = 0.01 if learning_rate is None else check_rate(learning_rate)
        if lr_scheduler is not None:
            self._join_scheduler(lr_scheduler, learning_rate)
        self.wd = finite("wd", wd)
        self.clip_gradient = (
            None if clip_gradient is None else finite("clip_gradient", clip_gradient)
        )
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._counts = UpdateCounts(begin_num_update)
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.param_dict = dict(param_dict or {})
        self._multiplier_cache: dict[Any, Any] = {}
        if not isinstance(param_idx2name, Mapping | None):
            raise ParameterError(
                f"param_idx2name: got {param_idx2name!r}, expected a dict from index to name"
            )
        self.idx2name = dict(param_idx2name or {})
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    def _join_scheduler(self, scheduler: LRScheduler, learning_rate: float | None) -> None:
        """One rate for both: the one given here, else the scheduler's."""
        if learning_rate is None:
            self.lr = check_rate(scheduler.base_lr)
            return
        if scheduler.base_lr not in (learning_rate, 0.01):  # 0.01: nobody chose it
            warnings.warn(
                f"learning_rate={learning_rate} replaces base_lr={scheduler.base_lr} of the "
                f"{type(scheduler).__name__}; give only one of them",
                UserWarning,
                stacklevel=5,
            )
        scheduler.base_lr = learning_rate

    # ── What a subclass writes ──────────────────────────────────────────────────────────────

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The state of one parameter: ``None``, an NDArray, or a tuple of these."""
        return None

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Write a new value into ``weight`` and into ``state``. Written by the subclass."""
        raise NotSupportedError(
            f"{type(self).__name__} has no update(index, weight, grad, state); write it, or use "
            f"one of {', '.join(sorted(self.opt_registry))}"
        )

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """The state; for a 16-bit weight under ``multi_precision``, ``(float32 copy, state)``."""
        if self.is_low(weight):
            master = weight.astype("float32")
            return master, self.create_state(index, master)
        return self.create_state(index, weight)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update the float32 copy where there is one, and write it into ``weight``."""
        if self.is_low(weight):
            master, inner = state
            self.update(index, master, grad.astype("float32"), inner)
            weight._set(master.astype(weight.dtype))
        else:
            self.update(index, weight, grad, state)

    def is_low(self, weight: NDArray) -> bool:
        """Whether ``weight`` gets a float32 master copy."""
        return bool(self.multi_precision) and dtype_name(weight.dtype) in LOW

    def tree_rule(self, names: Sequence[str] | None = None) -> Any:
        """The rule as a pure function of all parameters at once, or ``None`` if there is none.

        See `modkit.optimizer.fused.TreeRule`. A subclass with an ``update`` of its own has none.
        """
        del names

    # ── What the updater needs ──────────────────────────────────────────────────────────────

    def updater(self) -> Any:
        """An updater, which holds the states that this optimizer needs."""
        return type(self).updater_class(self)

    @property
    def whole_lists(self) -> bool:
        """Whether ``update`` takes lists of any length and runs them as one program."""
        return False

    def plain_state(self, state: Any) -> Any:
        """The state as arrays, lists, tuples and dicts, to be saved."""
        return state

    def fit_state(self, index: Any, weight: NDArray, state: Any) -> Any:
        """A saved state as one for this weight.

        Raises:
            ShapeError: it belongs to another one.
        """
        del index, weight
        return state

    # ── Counts ──────────────────────────────────────────────────────────────────────────────

    @property
    def _index_update_count(self) -> dict[Any, int]:
        return self._counts.present()

    @property
    def _all_index_update_counts(self) -> dict[int, dict[Any, int]]:
        return self._counts.all()

    def _set_current_context(self, device_id: int) -> None:
        """Count for another device from now on: each has its own counts."""
        self._counts.device(device_id)

    def _update_count(self, index: Any) -> None:
        """Count an update of one parameter, or of a list of them."""
        indices = index if isinstance(index, list | tuple) else (index,)
        self._count(indices)

    def _count(self, indices: Sequence[Any]) -> np.ndarray:
        """Count an update of each; their new counts, as float64."""
        counts, top = self._counts.add(tuple(indices))
        self.num_update = max(self.num_update, top)
        return counts

    # ── Rates ───────────────────────────────────────────────────────────────────────────────

    @property
    def learning_rate(self) -> float:
        """The present rate, the scheduler's if there is one, without multipliers."""
        if self.lr_scheduler is not None:
            return self.lr_scheduler(self.num_update)
        return self.lr

    def set_learning_rate(self, lr: float) -> None:
        """Set the rate.

        Raises:
            ParameterError: it is negative, or not a finite number.
            SchedulerSetError: a scheduler makes the rate (a ``UserWarning``, as in MXNet).
        """
        if self.lr_scheduler is not None:
            raise SchedulerSetError(
                f"set_learning_rate({lr}): the rate comes from {type(self.lr_scheduler).__name__}; "
                "change optimizer.lr_scheduler.base_lr, or make the optimizer without lr_scheduler"
            )
        self.lr = check_rate(lr)

    def set_lr_scale(self, args_lrscale: Mapping[Any, float]) -> None:
        """Raise: replaced by `set_lr_mult`."""
        raise NotSupportedError(f"set_lr_scale({args_lrscale!r}): use set_lr_mult")

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Multipliers of the rate, by name or index, over those of the Symbol's attributes."""
        self.lr_mult = {**self._attributes("__lr_mult__"), **multipliers(args_lr_mult)}

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Multipliers of the weight decay, over those of the Symbol's attributes.

        Names (of ``param_idx2name``) that do not end in ``_weight`` or ``_gamma`` start at 0.
        """
        spared = {n: 0.0 for n in self.idx2name.values() if not self._decays(n)}
        given = multipliers(args_wd_mult)
        self.wd_mult = {**spared, **self._attributes("__wd_mult__"), **given}

    def _decays(self, name: str) -> bool:
        """Whether weight decay applies by default to a parameter of that name."""
        return name.endswith(("_weight", "_gamma"))

    def _attributes(self, key: str) -> dict[str, float]:
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {n: float(attributes[n][key]) for n in names if key in attributes.get(n, {})}

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        """The present rates of these parameters."""
        return [self._rate() * self._multiplier(i, "lr_mult") for i in indices]

    def _get_lr(self, index: Any) -> float:
        """The present rate of a parameter."""
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Sequence[Any]) -> list[float]:
        """The weight decays of these parameters."""
        return [self.wd * self._multiplier(i, "wd_mult") for i in indices]

    def _get_wd(self, index: Any) -> float:
        """The weight decay of a parameter."""
        return self._get_wds([index])[0]

    def _rate(self) -> float:
        """The present rate, checked."""
        return check_rate(self.learning_rate, self.num_update)

    def _multiplier(self, index: Any, kind: str) -> float:
        if index in self.param_dict:
            return getattr(self.param_dict[index], kind)
        table = getattr(self, kind)
        if index in table:
            return table[index]
        return table.get(self.idx2name.get(index), 1.0)

    def _all_multipliers(self, indices: Sequence[Any], kind: str) -> np.ndarray:
        """The multipliers of all these parameters, made anew only when something changed."""
        table = getattr(self, kind)
        made = self._multiplier_cache.get(kind)
        if made is not None and not self.param_dict:
            seen_indices, seen_table, seen_names, values = made
            if seen_indices == indices and seen_table == table and seen_names == self.idx2name:
                return values
        values = np.array([self._multiplier(i, kind) for i in indices], np.float64)
        self._multiplier_cache[kind] = (indices, dict(table), dict(self.idx2name), values)
        return values

    # ── Making, naming, keeping ─────────────────────────────────────────────────────────────

    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Register a class under its name, in lower case, for `create_optimizer`."""
        _register(klass)
        Optimizer.opt_registry[klass.__name__.lower()] = klass
        return klass

    @staticmethod
    def create_optimizer(name: Any, **kwargs: Any) -> Optimizer:
        """An optimizer from its registered name.

        Raises:
            NameNotFoundError: no optimizer has that name.
            ParameterError: it does not take one of the parameters.
        """
        if isinstance(name, Optimizer) and not kwargs:
            return name
        if not isinstance(name, str):
            raise ParameterError(f"optimizer: got {name!r}, expected a registered name")
        known = Optimizer.opt_registry
        if name.lower() not in known:
            raise NameNotFoundError(
                f"{name!r} is not a registered optimizer.{nearest(name.lower(), known)} "
                f"Registered: {', '.join(sorted(known))}"
            )
        klass = known[name.lower()]
        refuse_unknown(klass, kwargs)
        return klass(**kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the parameters' own objects, under MXNet's names."""
        state = {**self.__dict__}
        for name in ("param_dict", "_multiplier_cache", "_counts"):
            state.pop(name, None)
        counts = self._counts
        state["allow_np_array"] = False  # MXNet's own need it
        state["_all_index_update_counts"] = counts.all()
        state["_index_update_count"] = counts.present()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From `__getstate__`, or from what MXNet pickled."""
        state = dict(state)
        counted = state.pop("_all_index_update_counts", {})
        present = state.pop("_index_update_count", {})
        self.__dict__.update(state)
        self.param_dict, self._multiplier_cache = {}, {}
        self._counts = UpdateCounts(self.begin_num_update, counted, present)


_register = registry.get_register_func(Optimizer, "optimizer")
register = Optimizer.register
