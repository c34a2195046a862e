"""Optimizer, the base class: learning rates, multipliers and update counts per parameter."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from modkit import fork, registry
from modkit.constructors import (
    NUMBERS,
    check_arguments,
    check_keywords,
    constructor_parameters,
    number_of,
    schedule_hint,
)
from modkit.errors import (
    ModkitError,
    NameNotFoundError,
    NotSupportedError,
    ParameterError,
    expect,
    instance_hint,
    nearest,
    not_taken,
    typed,
    warn_caller,
)
from modkit.lr_scheduler import LRScheduler
from modkit.ndarray import NDArray
from modkit.ops.dtypes import dtype_name
from modkit.registry import call_text

LOW = ("float16", "bfloat16")
"""Weights of these types have a float32 master copy if ``multi_precision`` is set."""

_LISTS = 256
"""Lists of parameters of which an optimizer keeps the multipliers."""


class SchedulerSetError(ModkitError, UserWarning):
    """The learning rate was set although a scheduler determines it."""


class UpdateCounts:
    """Update counts by index, for each device.

    Repeated updates of the same list of indices increment a single number; the dictionaries
    that MXNet's API exposes are brought up to date when they are read.

    Args:
        begin: initial count of an index that has not been counted yet.
        counted: dictionaries by device, from a pickle.
        present: the one of them that is current, identified by identity, else by value.

    Attributes:
        lock: held while counts are read or changed, as several threads may update.
        uneven: whether the indices of the latest `add` have several counts.
    """

    def __init__(
        self,
        begin: int,
        counted: Mapping[int, dict[Any, int]] | None = None,
        present: Mapping[Any, int] | None = None,
    ):
        self.begin, self.lock = begin, fork.lock()
        self._all: dict[int, dict[Any, int]] = dict(counted or {0: dict(present or {})})
        self._device = next(
            (d for d, c in self._all.items() if c is present or c == present), next(iter(self._all))
        )
        self._block: tuple[Sequence[Any], np.ndarray, int] | None = None
        self._steps = 0
        self.uneven = False

    def add(self, indices: tuple[Any, ...]) -> int:
        """Increment the count of each index; the maximum of the new counts, 0 of none."""
        if not indices:
            return 0
        with self.lock:
            if self._block is not None and self._block[0] == indices:
                self._steps += 1
                return self._block[2] + self._steps
            counts = self.present()
            if len(indices) == 1:
                self.uneven, (index,) = False, indices
                counts[index] = count = counts.get(index, self.begin) + 1
                return count
            new = [counts.get(i, self.begin) + 1 for i in indices]
            repeated = len(set(indices)) < len(indices)
            self.uneven = repeated or len(set(new)) > 1
            if repeated:  # an index that counts several times
                for i in indices:
                    counts[i] = counts.get(i, self.begin) + 1
                return max(new)
            top = max(new) - 1
            self._block, self._steps = (indices, np.array(new, np.float64) - 1, top), 1
            return top + 1

    def of(self, indices: Sequence[Any]) -> np.ndarray:
        """The counts of these indices, as float64."""
        with self.lock:
            if self._block is not None and self._block[0] == indices:
                return self._block[1] + self._steps
            counts = self.present()
            return np.array([counts.get(i, self.begin) for i in indices], np.float64)

    def remove(self, indices: Sequence[Any]) -> int:
        """Decrement the count of each index: take `add` back; the maximum of all counts."""
        with self.lock:
            counts = self.present()
            for i in indices:
                counts[i] -= 1
            return max(counts.values(), default=0)

    def copy(self) -> UpdateCounts:
        """The counts as they are now."""
        with self.lock:
            made = copy.copy(self)
            made._all = {device: dict(counts) for device, counts in self._all.items()}
            return made

    def restore(self, before: UpdateCounts) -> None:
        """Go back to a copy; the mutable dictionaries stay the same objects."""
        with self.lock:
            for device, counts in self._all.items():
                counts.clear()
                counts.update(before._all.get(device, {}))
            self._device, self._block, self._steps = before._device, before._block, before._steps
            self.uneven = before.uneven

    def present(self) -> dict[Any, int]:
        """The counts of the current device; mutable."""
        return self.all()[self._device]

    def all(self) -> dict[int, dict[Any, int]]:
        """The counts of all devices; mutable.

        Pending increments are written into them; the next `add` starts from there.
        """
        with self.lock:
            if self._block is not None:
                indices, base, _ = self._block
                counts = (base + self._steps).astype(np.int64).tolist()
                self._all[self._device].update(zip(indices, counts, strict=True))
                self._block, self._steps = None, 0
            return self._all

    def device(self, device_id: int) -> None:
        """Make ``device_id`` the current device."""
        if device_id != self._device:
            with self.lock:
                self.all().setdefault(device_id, {})
                self._device = device_id


@functools.lru_cache(maxsize=256)
def _of_one(rate: float, decay: float) -> tuple[np.ndarray, np.ndarray]:
    """The multipliers of one parameter, the same arrays for the same numbers."""
    return np.array([rate]), np.array([decay])


class Optimizer:
    """The base class of optimizers, which take the arguments below as ``kwargs``.

    The learning rate of a parameter is ``lr``, or the scheduler's rate at the current update,
    times its multiplier; likewise the weight decay. Multipliers are looked up in ``param_dict``,
    then by index, then by name from ``param_idx2name``.

    Args:
        rescale_grad: factor applied to gradients first, usually ``1/batch_size``.
        param_idx2name: parameter names by index. If given, names that do not end in ``_weight``
            or ``_gamma`` have no weight decay.
        clip_gradient: gradients are clipped to ``[-clip_gradient, clip_gradient]``; ``None`` or
            a number below 0 disables clipping, and so does 0, but in AdaDelta, AdaGrad, Adamax,
            DCASGD, GroupAdaGrad, Nadam and SGLD, where gradients become 0.
        learning_rate: the rate; with a scheduler, its new base rate. Default: the scheduler's
            base rate, or 0.01.
        lr_scheduler: the rate as a function of the number of updates.
        sym: a Symbol whose attributes ``__lr_mult__`` and ``__wd_mult__`` are multipliers.
        begin_num_update: initial update count of each parameter.
        multi_precision: update a float32 master copy of float16 and bfloat16 weights.
        param_dict: by index, objects with ``lr_mult`` and ``wd_mult``.

    Raises:
        ParameterError: a rate that is not finite, or another invalid value.

    Differs: a rate that is not finite raises an error; MXNet accepts it. In MXNet the seven
    optimizers that clip at 0 replace each element by a ``clip_gradient`` below 0.
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}
    # Number of batches of an update, and the rescale_grad that a module chose for it.
    _scaled_for: tuple[int, float] | None = None
    # Parameters without updates; of the callback Freeze.
    _frozen_names: frozenset[str] = frozenset()

    @check_keywords
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
            if not hasattr(lr_scheduler, "base_lr") or isinstance(lr_scheduler, type):
                raise ParameterError(
                    f"lr_scheduler: got {lr_scheduler!r}, expected an instance of "
                    "mx.lr_scheduler.LRScheduler"
                    f"{schedule_hint(lr_scheduler) or instance_hint(lr_scheduler)}"
                )
            self._set_base_rate(lr_scheduler, learning_rate)
        self.wd = finite("wd", wd)
        self.clip_gradient = (
            None if clip_gradient is None else finite("clip_gradient", clip_gradient)
        )
        self.num_update = finite("begin_num_update", begin_num_update)
        self._update_counts = UpdateCounts(begin_num_update)
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.param_dict = _dict_of("param_dict", param_dict, "parameter")
        for index, each in self.param_dict.items():
            fits = hasattr(each, "lr_mult") and hasattr(each, "wd_mult")
            expect(fits, f"param_dict[{index!r}]", each, "an object with lr_mult and wd_mult")
        self._derived: dict[Any, Any] = {}
        self.idx2name = _dict_of("param_idx2name", param_idx2name, "name")
        for index, name in self.idx2name.items():
            where = f"param_idx2name[{index!r}]"
            expect(isinstance(name, str), where, name, "the name of a parameter")
        expect(sym is None or hasattr(sym, "attr_dict"), "sym", sym, "a Symbol")
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_arguments(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; for a setting, an array of one number is that number."""
        if name in _settings(type(self)):
            value = number_of(value)
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        """Learning rate, weight decay, the parameters of the class, and the number of updates."""
        return call_text(self, ["lr", "wd"], ["num_update"])

    def _set_base_rate(self, scheduler: LRScheduler, learning_rate: float | None) -> None:
        """Set the scheduler's base rate to ``learning_rate``, or ``lr`` to the scheduler's."""
        if learning_rate is None:
            self.lr = check_rate(scheduler.base_lr)
            return
        if scheduler.base_lr not in (learning_rate, 0.01):  # 0.01 is the default
            warn_caller(
                f"learning_rate={learning_rate} replaces base_lr={scheduler.base_lr} of the "
                f"{type(scheduler).__name__}; give only one of them"
            )
        scheduler.base_lr = learning_rate

    # ── For subclasses to override ──────────────────────────────────────────────────────────

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The state of one parameter: ``None``, an NDArray, or a tuple of these."""
        return None

    def update(self, index: Any, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Update ``weight`` and ``state`` in place. Abstract."""
        raise NotSupportedError(
            f"{type(self).__name__} has no update(index, weight, grad, state); override it, or use "
            f"one of {', '.join(sorted(self.opt_registry))}"
        )

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """The state; for a 16-bit weight under ``multi_precision``, ``(float32 copy, state)``."""
        if self.is_low(weight):
            master = weight.astype("float32")
            return master, self.create_state(index, master)
        self._warn_of_float16(weight)
        return self.create_state(index, weight)

    def _warn_of_float16(self, weight: NDArray) -> None:
        """Warn of float16 weights without float32 copies."""
        if dtype_name(weight.dtype) == "float16" and not self.multi_precision:
            warn_caller(
                f"{type(self).__name__}: got a float16 weight and multi_precision=False: updates "
                "smaller than its rounding are lost; multi_precision=True keeps a float32 copy"
            )

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update through the float32 master copy, if there is one, and cast it to ``weight``."""
        if self.is_low(weight):
            master, inner = state
            self.update(index, master, grad.astype("float32"), inner)
            weight._set(master.astype(weight.dtype))
        else:
            self.update(index, weight, grad, state)

    def is_low(self, weight: NDArray) -> bool:
        """Whether ``weight`` has a float32 master copy."""
        return bool(self.multi_precision) and dtype_name(weight.dtype) in LOW

    def tree_rule(self, names: Sequence[str] | None = None) -> Any:
        """The update of all parameters as a pure function, or ``None`` if ``update`` is eager.

        See `modkit.optimizer.update_rules.TreeRule`. ``None`` for a subclass that overrides
        ``update``.
        """

    # ── For the updater ─────────────────────────────────────────────────────────────────────

    @property
    def whole_lists(self) -> bool:
        """Whether ``update`` accepts lists of any length and runs them as one program."""
        return False

    def plain_state(self, state: Any) -> Any:
        """The state as arrays, lists, tuples and dicts, for saving."""
        return state

    def fit_state(self, index: Any, weight: NDArray, state: Any) -> Any:
        """A loaded state, converted for this weight.

        Raises:
            ShapeError: it does not fit the weight.
        """
        return state

    # ── Counts ──────────────────────────────────────────────────────────────────────────────

    @property
    def begin_num_update(self) -> int:
        """Initial update count of each parameter that has not been updated yet."""
        return self._update_counts.begin

    @begin_num_update.setter
    def begin_num_update(self, count: int) -> None:
        self._update_counts.begin = count

    @property
    def _index_update_count(self) -> dict[Any, int]:
        return self._update_counts.present()

    @property
    def _all_index_update_counts(self) -> dict[int, dict[Any, int]]:
        return self._update_counts.all()

    def _set_current_context(self, device_id: int) -> None:
        """Select the device whose counts are updated; each device has its own."""
        self._update_counts.device(device_id)

    def _update_count(self, index: Any) -> None:
        """Increment the update count of one parameter, or of each in a list."""
        indices = tuple(index) if isinstance(index, list | tuple) else (index,)
        with self._update_counts.lock:
            newest = max(self.num_update, self._update_counts.add(indices))
            object.__setattr__(self, "num_update", newest)  # ours is a call more in every batch

    def _uncount(self, indices: Sequence[Any], before: int) -> None:
        """Take back an update that is not made, as its schedule raised; ``before``: its count."""
        with self._update_counts.lock:  # the count is another thread's, if that has updated since
            self.num_update = max(before, self._update_counts.remove(indices))

    @contextlib.contextmanager
    def _uncounted_on_error(self) -> Iterator[None]:
        """A block that leaves the counts as they were if it raises."""
        counts, num_update = self._update_counts.copy(), self.num_update
        try:
            yield
        except BaseException:
            self._update_counts.restore(counts)
            self.num_update = num_update
            raise

    # ── Rates ───────────────────────────────────────────────────────────────────────────────

    @property
    def learning_rate(self) -> float:
        """The current rate, the scheduler's if there is one, without multipliers."""
        if self.lr_scheduler is not None:
            return self.lr_scheduler(self.num_update)
        return self.lr

    def set_learning_rate(self, lr: float) -> None:
        """Set the rate.

        Raises:
            ParameterError: it is not finite.
            SchedulerSetError: a scheduler determines the rate (a ``UserWarning``, as in MXNet).
        """
        if self.lr_scheduler is not None:
            raise SchedulerSetError(
                f"set_learning_rate({lr}): the rate comes from {type(self.lr_scheduler).__name__}; "
                "set optimizer.lr_scheduler.base_lr, or create the optimizer without lr_scheduler"
            )
        self.lr = check_rate(lr)

    def set_lr_scale(self, args_lrscale: Mapping[Any, float]) -> None:
        """Raise: replaced by `set_lr_mult`."""
        raise DeprecationWarning(f"set_lr_scale({args_lrscale!r}) is gone; use set_lr_mult")

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Set rate multipliers by name or index; they override the Symbol's attributes."""
        self.lr_mult = {**self._attributes("__lr_mult__"), **multipliers(args_lr_mult)}

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Set weight decay multipliers; they override the Symbol's attributes.

        The default is 0 for names in ``param_idx2name`` that do not end in ``_weight`` or
        ``_gamma``.
        """
        undecayed = {n: 0.0 for n in self.idx2name.values() if not self._decays(n)}
        given = multipliers(args_wd_mult)
        self.wd_mult = {**undecayed, **self._attributes("__wd_mult__"), **given}

    def _decays(self, name: str) -> bool:
        """Whether weight decay applies by default to a parameter of that name."""
        return name.endswith(("_weight", "_gamma"))

    def _attributes(self, key: str) -> dict[str, float]:
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {n: float(attributes[n][key]) for n in names if key in attributes.get(n, {})}

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        """The current rates of these parameters."""
        rate = self._present_rate()  # calls the schedule: once for all parameters, as in MXNet
        return [rate * self._multiplier(i, "lr_mult") for i in indices]

    def _get_lr(self, index: Any) -> float:
        """The current rate of a parameter."""
        return self._get_lrs([index])[0]

    def _check_rows(self, indices: Sequence[Any]) -> None:
        """Raise where row-sparse gradients of these parameters cannot be updated."""

    def _get_wds(self, indices: Sequence[Any]) -> list[float]:
        """The weight decays of these parameters."""
        return [self.wd * self._multiplier(i, "wd_mult") for i in indices]

    def _get_wd(self, index: Any) -> float:
        """The weight decay of a parameter."""
        return self._get_wds([index])[0]

    def _present_rate(self) -> float:
        """The current rate, validated."""
        return check_rate(self.learning_rate, self.num_update)

    def _multiplier(self, index: Any, kind: str) -> float:
        if index in self.param_dict:
            return getattr(self.param_dict[index], kind)
        table = getattr(self, kind)
        if index in table:
            return table[index]
        return table.get(self.idx2name.get(index), 1.0)

    def _multipliers(self, indices: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Multipliers of the rate and of weight decay, cached until an input changes."""
        if len(indices) == 1:
            (index,) = indices
            return _of_one(*(float(self._multiplier(index, k)) for k in ("lr_mult", "wd_mult")))
        inputs = self.lr_mult, self.wd_mult, self.idx2name
        latest = self._derived.get("multipliers")
        if latest is None or latest[0] != inputs:
            latest = self._derived["multipliers"] = tuple(map(dict, inputs)), {}
        kept = {} if self.param_dict else latest[1]  # whose objects may change
        found = kept.get(indices)
        if found is None:
            rates, decays = (
                np.array([self._multiplier(i, kind) for i in indices], np.float64)
                for kind in ("lr_mult", "wd_mult")
            )
            if len(kept) >= _LISTS:
                kept.clear()
            found = kept[indices] = rates, decays
        return found

    # ── Registry and pickling ───────────────────────────────────────────────────────────────

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
            ParameterError: it does not accept one of the parameters.
        """
        if isinstance(name, Optimizer) and not kwargs:
            return name
        if not isinstance(name, str):
            raise ParameterError(
                f"optimizer: got {name!r}, expected a registered name such as 'sgd', or an instance"
                f"{instance_hint(name)}"
            )
        known = Optimizer.opt_registry
        if name.lower() not in known:
            raise NameNotFoundError(
                f"{name!r} is not a registered optimizer.{nearest(name.lower(), known)} "
                f"Registered: {', '.join(n for n in sorted(known) if n[0] != '_')}"
            )
        klass = known[name.lower()]
        refuse_unknown(klass, kwargs)
        return klass(**kwargs)

    def _complete(self, other: Optimizer) -> None:
        """Take from ``other``, which this one replaces, what files cannot hold: nothing here."""

    def __getstate__(self) -> dict[str, Any]:
        """The attributes under MXNet's names, without ``param_dict`` and caches."""
        state = {**self.__dict__}
        for name in ("param_dict", "_derived", "_update_counts", *_OF_A_TRAINING):
            state.pop(name, None)
        counts = self._update_counts.copy()
        state["allow_np_array"] = False  # MXNet's optimizers read it
        state["begin_num_update"] = counts.begin
        state["_all_index_update_counts"] = counts.all()
        state["_index_update_count"] = counts.present()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the result of `__getstate__`, or the state in a pickle of MXNet."""
        state = dict(state)
        counted = state.pop("_all_index_update_counts", {})
        present = state.pop("_index_update_count", {})
        begin = state.pop("begin_num_update", 0)
        self.__dict__.update(state)
        self.param_dict, self._derived = {}, {}
        self._update_counts = UpdateCounts(begin, counted, present)


@functools.cache
def _settings(klass: type[Optimizer]) -> frozenset[str]:
    """Attributes that are numbers: what the constructors of modkit's classes take, and set."""
    own = [each for each in klass.__mro__ if each.__module__.startswith("modkit.optimizer")]
    inits = [vars(each)["__init__"] for each in own if "__init__" in vars(each)]
    taken = [p for init in inits for p in inspect.signature(init).parameters.values()]
    numeric = {p.name for p in taken if str(p.annotation) in NUMBERS}
    return frozenset({"lr", "float_stable_eps", *numeric})


def finite(name: str, value: Any) -> Any:
    """``value``; a ParameterError unless it is a finite number."""
    value = number_of(value)
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ParameterError(f"optimizer: {name}: got {typed(value)}, expected a finite number")
    return value


def check_rate(lr: Any, num_update: int | None = None) -> Any:
    """``lr``; a ParameterError unless it is a finite number, or an array of one."""
    if type(lr) is float and -math.inf < lr < math.inf:  # fast path: called at every step
        return lr
    lr = number_of(lr)
    number = isinstance(lr, numbers.Real) and not isinstance(lr, bool)
    if not number or not math.isfinite(lr):
        when = "" if num_update is None else f" at update {num_update}"
        hint = schedule_hint(lr) or "; check learning_rate, set_learning_rate and the lr_scheduler"
        raise ParameterError(
            f"learning rate: got {typed(lr)}{when}, expected a finite number{hint}"
        )
    return lr


def _dict_of(name: str, given: Any, what: str) -> dict[Any, Any]:
    """A copy, ``{}`` for ``None``; a ParameterError unless ``given`` is a dictionary by index."""
    expect(isinstance(given, Mapping | None), name, given, f"a dict from index to {what}")
    return dict(given or {})


def multipliers(given: Mapping[Any, float]) -> dict[Any, float]:
    """A copy of the multipliers by name or index; a ParameterError unless they are numbers."""
    of_numbers = "a dict from name or index to number"
    expect(isinstance(given, Mapping), "multipliers", given, of_numbers)
    for key, value in given.items():
        finite(f"multiplier of {key!r}", value)
    return dict(given)


_ELSEWHERE = {
    "lr": "learning_rate", "weight_decay": "wd", "eps": "epsilon", "scheduler": "lr_scheduler",
}  # fmt: skip
"""Names that parameters have in other libraries."""


def refuse_unknown(klass: type, kwargs: Mapping[str, Any]) -> None:
    """Check keyword arguments against the constructors of a class of modkit and its bases.

    Raises:
        ParameterError: no constructor accepts one of them; lists near names.
    """
    takes = constructor_parameters(klass)
    unknown = [n for n in kwargs if n not in takes]
    passes_on = getattr(klass, "passes_on", False)  # to another optimizer, which checks them
    if unknown and klass.__module__.startswith("modkit.") and not passes_on:
        name = unknown[0]
        meant = _ELSEWHERE.get(name)
        hint = f" Did you mean {meant!r}?" if meant in takes else None
        raise not_taken(klass.__name__, name, takes, hint=hint)


_OF_A_TRAINING = ("_clip_norm", "_frozen_names")
_register = registry.get_register_func(Optimizer, "optimizer")
register = Optimizer.register
