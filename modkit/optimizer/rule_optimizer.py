"""RuleOptimizer: an update rule with the methods of an optimizer, run eagerly or traced."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from modkit.errors import NotSupportedError, ParameterError, ShapeError, warn_caller
from modkit.lr_scheduler import is_pure
from modkit.ndarray import NDArray, from_jax
from modkit.ndarray.ndarray import require_array
from modkit.ndarray.sparse_updates import rows_at, write_rows
from modkit.ndarray.storage import Cell, LateCell, x64_for
from modkit.ops.sparse_values import padded_size
from modkit.ops.stype import ROWS
from modkit.optimizer.base import Optimizer
from modkit.optimizer.calls import Indices
from modkit.optimizer.eager_update import update_arrays, update_rows
from modkit.optimizer.update_rules import FormulaRule, TreeRule, UpdateRule, zeros
from modkit.overriding import of_modkit, overrides, replaced
from modkit.signals import DeferredSignals

_TABLES = 4096
"""Lists of parameters of which an optimizer keeps the latest table."""


class RuleOptimizer(Optimizer):
    """An optimizer defined by an `UpdateRule`: eager in ``update``, traced in ``tree_rule``.

    A subclass defines ``_formula``, or ``rule()``, and, if the rule has other hyper-parameters than
    rate, decay, rescaling and count, ``_adjust``. A user's subclass may override the methods that
    MXNet 1.9.1 calls in an update; they get its kinds of arguments, and no others are called.
    """

    direct: ClassVar[bool] = False
    """Whether ``update_multi_precision`` calls ``_update_impl``, and not ``update``."""
    lists_rates: ClassVar[bool] = False
    """Whether ``_get_lrs``, ``_get_wds`` and ``_update_count`` get all indices in one call."""
    _formula: ClassVar[Callable[..., Any] | None] = None
    """See `FormulaRule`; its constants are attributes of the optimizer."""
    _fields: ClassVar[Mapping[str, Any]] = {}
    """Fields of the rule. ``lazy`` may be the name of an attribute that decides it."""
    _unless: ClassVar[tuple[str, Callable[..., Any], Mapping[str, Any]] | None] = None
    """An attribute, and the formula and fields of the rule while it is false or 0."""
    _columns: ClassVar[tuple[str, ...]] = UpdateRule.columns
    """Computed columns of ``hyper``; the rule's columns are these and `_numbers`."""
    _order: ClassVar[tuple[str, ...]] = ("t", "lr", "wd")
    """The order in which an update counts, and computes rate and decay, as a user's methods see."""
    _numbers: ClassVar[tuple[str, ...]] = ()
    """Attributes that are columns of ``hyper`` where the formula reads them, so that a new value
    does not recompile."""
    _clips_to_zero: ClassVar[bool] = False
    """Whether a ``clip_gradient`` of 0 makes gradients 0; elsewhere it clips nothing."""
    _clip_norm: float | None = None  # set by the callback ClipGlobalNorm

    def rule(self) -> UpdateRule | None:
        """The rule of one parameter; ``None`` if the current settings have none."""
        if self._formula is None:
            raise NotImplementedError
        return _rule_of(*_settings_of(type(self))(self))

    def tree_rule(self, names: Sequence[str] | None = None) -> Any:
        """The update of all parameters as a pure function; see `TreeRule`.

        Args:
            names: the parameters of the rows of ``hyper(indices)``.

        Returns:
            The rule, or ``None`` if a subclass overrides the eager update.
        """
        rule = self.rule() if _updates_by_rule(self) else None
        if rule is None:
            return None
        order = None if names is None else tuple(names)
        return self._tree(rule, bool(self.multi_precision), order)

    def _tree(self, *settings: Any) -> TreeRule:
        """The latest `TreeRule` if it has these settings: programs find it by its identity."""
        settings = *settings, self._clip_norm
        latest = self._derived.get("tree_rule")
        if latest is None or latest[0] != settings:
            latest = self._derived["tree_rule"] = settings, TreeRule(*settings)
        return latest[1]

    def hyper(self, indices: Sequence[Any]) -> np.ndarray:
        """Count one update of each parameter and compute its hyper-parameters.

        Args:
            indices: the parameters; `Indices` are counted in the calls that MXNet makes for them,
                where a user's schedule or methods can see these, or rates differ between them.

        Returns:
            (number of parameters, number of columns), float32.
        """
        latest = self._derived.get("methods")
        own = _own_methods(self) if latest is None else latest[1]
        if own.shown:
            return self._table_by_calls(indices)
        given, indices, before = indices, tuple(indices), self.num_update
        self._update_count(indices)
        if self._update_counts.uneven and self.lr_scheduler is not None:
            self._uncount(indices, before)
            return self._table_by_calls(given)
        tables = self._derived.setdefault("tables", {})
        latest = tables.get(indices)
        try:
            multipliers = self._multipliers(indices)
            rate = None if own.constant and self.lr_scheduler is None else self._present_rate()
            settings = self.lr if rate is None else rate, _numbers_of(type(self))(self)
            if latest is not None and latest[0] is multipliers and latest[1] == settings:
                return latest[2]
            rate = self._present_rate() if rate is None else rate
            table = self._table(indices, rate * multipliers[0], self.wd * multipliers[1])
        except BaseException:  # a schedule that raises: no update is made
            self._uncount(indices, before)
            raise
        if own.constant:
            table.flags.writeable = False
            if len(tables) >= _TABLES:  # as of lists that are drawn anew in each step
                tables.clear()
            tables[indices] = multipliers, settings, table
        return table

    def _table_by_calls(self, indices: Sequence[Any]) -> np.ndarray:
        with self._uncounted_on_error():
            return self._table(indices, *self._by_calls(indices))

    def _by_calls(self, indices: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Count updates and compute rates and decays, as each call of MXNet does."""
        own, (lr_mult, wd_mult) = _own_methods(self), self._multipliers(tuple(indices))
        rates, decays = np.zeros(len(indices)), self.wd * wd_mult
        calls = indices.calls if isinstance(indices, Indices) else [range(len(indices))]
        for call in calls if self.lists_rates else [[at] for some in calls for at in some]:
            at = list(call)
            counted = tuple(indices[i] for i in at) if self.lists_rates else indices[at[0]]
            for name in self._order:
                if name == "t":
                    self._update_count(counted)
                elif name == "lr" and own.rates is not None:
                    rates[at] = getattr(self, own.rates)(counted)
                elif name == "lr":
                    rates[at] = self._present_rate() * lr_mult[at]
                elif own.decays is not None:
                    decays[at] = getattr(self, own.decays)(counted)
        return rates, decays

    def _table(self, indices: Sequence[Any], rates: Any, decays: Any) -> np.ndarray:
        indices = tuple(indices)
        found = {
            "lr": rates, "wd": decays, "rescale_grad": self.rescale_grad,
            "t": self._update_counts.of(indices),
        }  # fmt: skip
        if len(indices) == 1:  # numbers: NumPy takes five times as long for arrays of one
            found |= {name: found[name][0] for name in ("lr", "wd", "t")}
        self._adjust(found, indices)
        columns = self._require_rule().columns
        table = np.empty((len(indices), len(columns)), np.float32)
        for at, name in enumerate(columns):
            table[:, at] = getattr(self, name) if name in self._numbers else found[name]
        return table

    def _adjust(self, columns: dict[str, Any], indices: Sequence[Any]) -> None:
        """Change or add columns of ``hyper``, by name; scalars broadcast. ``t``: the counts."""

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The initial state of one parameter, in MXNet's structure."""
        require_array(f"{type(self).__name__}: weight", weight)
        return self._init_state(TreeRule(self._require_rule()), weight)

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """The initial state; includes the float32 copy of 16-bit weights in multi-precision."""
        require_array(f"{type(self).__name__}: weight", weight)
        if overrides(self, RuleOptimizer, "create_state"):
            made = Optimizer.create_state_multi_precision(self, index, weight)
            first = not self.is_low(weight) or self._require_rule().master_first
            return made if first else made[::-1]
        self._warn_of_float16(weight)
        return self._init_state(TreeRule(self._require_rule(), bool(self.multi_precision)), weight)

    def _require_rule(self) -> UpdateRule:
        rule = self.rule()
        if rule is None:
            raise ParameterError(f"{type(self).__name__}: rule() is None for these settings")
        return rule

    def _init_state(self, tree: TreeRule, weight: NDArray) -> Any:
        here, ctx = weight._cell.is_on_host, weight.ctx
        value = weight._cell.host() if here else weight._cell.peek()

        def handle(state: Any) -> NDArray:
            if here:
                # Fresh zeros have no memory before they are written: a copy would have.
                made, state = np.zeros(state.shape, state.dtype), np.asarray(state)
                if state.any():
                    made[...] = state
                return NDArray(LateCell(made, ctx, aliased=False), ctx)
            if not isinstance(state, np.ndarray):
                return from_jax(state, ctx)
            copy = jax.device_put(state, ctx.jax_device, may_alias=False)
            return NDArray(Cell(copy, aliased=False), ctx)

        with x64_for(value.dtype):
            return jax.tree.map(handle, tree.init_one(value))

    @property
    def whole_lists(self) -> bool:
        """Whether lists run as one program: unless a subclass overrides the eager update."""
        return _updates_by_rule(self) and not overrides(self, RuleOptimizer, "update")

    def fit_state(self, index: Any, weight: NDArray, state: Any) -> Any:
        """A loaded state; ShapeError unless structure and shapes are this optimizer's."""
        if not _updates_by_rule(self):
            return state
        state = jax.tree.map(lambda x: x._as_dense() if isinstance(x, NDArray) else x, state)
        rule, got = self._require_rule(), _shapes(state)
        tree = TreeRule(rule, bool(self.multi_precision))
        wanted = _shapes(jax.eval_shape(tree.init_one, weight._cell.aval))
        if wanted != got and isinstance(rule, FormulaRule) and rule.of_state is not None:
            tree = dataclasses.replace(tree, rule=dataclasses.replace(rule, start=zeros))
            if _shapes(jax.eval_shape(tree.init_one, weight._cell.aval)) == got:
                self._derived["velocities"] = True
                return state  # of an earlier rule, as before the momentum was set to 0
        if wanted != got:
            raise ShapeError(
                f"{type(self).__name__}: the state saved for parameter "
                f"{self.idx2name.get(index, index)!r} has {got}, expected {wanted} "
                f"for this {type(self).__name__}; it is of another network, optimizer or setting: "
                "load the matching states"
            )
        return state

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a parameter, or a list of them, and their states in place."""
        self._update_impl(index, weight, grad, state)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update in place, 16-bit weights through their float32 copies."""
        if not self.direct and overrides(self, RuleOptimizer, "update"):
            Optimizer.update_multi_precision(self, index, weight, grad, state)
            return
        self._update_impl(index, weight, grad, state, multi_precision=bool(self.multi_precision))

    def _update_impl(
        self, indices: Any, weights: Any, grads: Any, states: Any, multi_precision: bool = False
    ) -> None:
        """The update itself, which subclasses of MXNet's SGD override."""
        tree = self._tree(self._require_rule(), multi_precision, None)
        _own_methods(self)  # for `hyper`
        with DeferredSignals():  # counts, parameters and states: those before, or after
            self._update_eagerly(tree, indices, weights, grads, states)

    def _update_eagerly(
        self, tree: TreeRule, index: Any, weight: Any, grad: Any, state: Any
    ) -> None:
        """Update parameters device by device; lazy ones with row-sparse gradients by rows."""
        if isinstance(index, list | tuple):
            state = [None] * len(index) if state is None else state
            self._check_lists(index, weight, grad, state)
        else:
            index, weight, grad, state = [index], [weight], [grad], [state]
        for each in weight:
            if not isinstance(each, NDArray):  # else no call: it would be one for each parameter
                require_array(f"{type(self).__name__}: weight", each)
        cells = {id(w) if w.stype == ROWS else id(w._cell) for w in weight}
        if min(len(cells), len(set(index))) < len(index):  # repeated ones after each other
            for parameter in zip(index, weight, grad, state, strict=True):
                self._update_eagerly(tree, *parameter)
            return
        groups: dict[Any, list[int]] = {}
        for at, (w, g) in enumerate(zip(weight, grad, strict=True)):
            if not isinstance(g, NDArray) or w.shape != g.shape:
                name = self.idx2name.get(index[at], index[at])
                where = f"{type(self).__name__}: parameter {name!r} of shape {w.shape} got "
                if isinstance(g, NDArray):
                    raise ShapeError(f"{where}a gradient of shape {g.shape}")
                raise ParameterError(f"{where}{g!r:.60} for its gradient, expected an NDArray")
            own = tree.of_rows(w) if w.stype == ROWS else tree
            by_rows = g.stype == ROWS and own.rule.lazy
            if by_rows:
                self._check_rows([index[at]])
            key = w.ctx, None if own is tree else own, at if by_rows else None
            groups.setdefault(key, []).append(at)
        if tree.clip_norm is not None and len({ctx for ctx, *_ in groups}) > 1:
            raise NotSupportedError(
                "ClipGlobalNorm: the parameters are on several devices, by group2ctx, and "
                "each is updated on its own; clip by the optimizer's clip_gradient"
            )
        hyper = self.hyper(index)
        for (_, own, by_rows), places in groups.items():
            w, g, s = ([each[at] for at in places] for each in (weight, grad, state))
            update = update_arrays if by_rows is None else self._update_rows
            update(own or tree, w, g, s, hyper if len(w) == len(hyper) else hyper[places])

    def _check_lists(self, index: Any, *lists: Any) -> None:
        """Raise unless there are as many weights, gradients and states as indices."""
        for what, each in zip(("weights", "gradients", "states"), lists, strict=True):
            got = len(each) if isinstance(each, list | tuple) else type(each).__name__
            if got != len(index):
                raise ParameterError(
                    f"{type(self).__name__}: update: got {got} for the {what} of {len(index)} "
                    "indices, expected a list of as many"
                )

    def _update_rows(
        self, tree: TreeRule, weights: Any, grads: Any, states: Any, hyper: np.ndarray
    ) -> None:
        """Update the rows of a row-sparse gradient, in the weight and its state."""
        (weight,), (grad,), (state,) = weights, grads, states
        ids = grad._places[0]
        leaves, layout = jax.tree.flatten(state)
        arrays = [weight, *leaves]
        for leaf in leaves:  # written in place on the host, which a device's buffer is not
            if type(leaf._cell) is Cell and leaf.ctx._is_cpu:
                leaf._cell = LateCell(np.array(leaf._cell.peek()), leaf.ctx, aliased=False)
        # The number of rows differs from step to step: a few sizes, so that few programs are made.
        fill = padded_size(len(ids)) - len(ids)
        few = [np.pad(rows_at(a, ids), [(0, fill)] + [(0, 0)] * (a.ndim - 1)) for a in arrays]
        change = np.pad(grad._values, [(0, fill)] + [(0, 0)] * (grad.ndim - 1))
        rest = layout.unflatten(few[1:])
        if tree.rule.row_columns:
            master = tree.master(weight, state)
            whole = master._values if master.stype == ROWS else master._cell.host()
            hyper = np.append(hyper, [tree.rule.of_whole(whole)], axis=1)
        row, rows = update_rows(tree, few[0], change, rest, hyper)
        for array, value in zip(arrays, [row, *jax.tree.leaves(rows)], strict=True):
            write_rows(array, ids, np.asarray(value)[: len(ids)])


def _constants(formula: Any, columns: tuple[str, ...]) -> list[str]:
    """Names of the numbers of a formula, its keywords, that are no columns."""
    code = formula.__code__
    numbers = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    return [n for n in numbers if n not in columns]


@functools.cache
def _numbers_of(klass: type[RuleOptimizer]) -> Callable[[RuleOptimizer], tuple[Any, ...]]:
    """Reads the attributes that a table of ``hyper`` depends on, but the rate."""
    return operator.attrgetter("wd", "rescale_grad", *klass._numbers)


@functools.cache
def _settings(klass: type[RuleOptimizer]) -> tuple[str, ...]:
    """Names of the attributes that decide the rule of a class with a formula."""
    others = () if klass._unless is None else klass._unless[:1]
    lazy = klass._fields.get("lazy")
    names = (*_constants(klass._formula, klass._columns), *others)
    return names if not isinstance(lazy, str) else (*names, lazy)


@functools.cache
def _settings_of(klass: type[RuleOptimizer]) -> Callable[[RuleOptimizer], tuple[Any, ...]]:
    """Reads the class of an optimizer, and the attributes that decide its rule."""
    return operator.attrgetter("__class__", *_settings(klass))


@functools.lru_cache(typed=True)
def _rule_of(klass: type[RuleOptimizer], *values: Any) -> FormulaRule:
    """The rule of settings; of the same ones the same object, as every update makes one."""
    own = dict(zip(_settings(klass), values, strict=True))
    formula: Any = klass._formula
    fields = klass._fields
    if klass._unless is not None and not own[klass._unless[0]]:
        _, formula, fields = klass._unless
    if isinstance(lazy := fields.get("lazy"), str):
        fields = {**fields, "lazy": bool(own[lazy])}
    names = _constants(formula, klass._columns)
    columns = (*klass._columns, *(n for n in names if n in klass._numbers))
    unbounded = () if klass._clips_to_zero else ("clip_gradient", "clip_weights")
    constants = tuple(
        (n, (own[n] or None) if n in unbounded else own[n]) for n in names if n not in columns
    )
    return FormulaRule(formula, constants, columns=columns, **fields)


def _shapes(state: Any) -> str:
    shapes = jax.tree.map(lambda a: tuple(a.shape), state)
    return "no states" if state is None else f"shapes {shapes}"


_EAGER = ("update_multi_precision", "_update_impl", "create_state", "create_state_multi_precision")
_HYPER = ("_update_count", "_get_lr", "_get_lrs", "_get_wd", "_get_wds")
_METHODS = frozenset({"update", *_EAGER, *_HYPER})
_methods_of = operator.attrgetter(*_METHODS)


class _OwnMethods(NamedTuple):
    """The methods that are a user's: of a subclass, or set on a class or an object.

    Attributes:
        by_rule: whether no update is a user's, so that all are those of ``rule()``.
        bypassed: whether ``update`` is a user's, but modules and updaters call another method.
        shown: whether the schedule, or a method of hyper-parameters, is a user's.
        rates, decays: the user's methods of these; ``None`` for modkit's.
        constant: whether a table of ``hyper`` changes with settings and the schedule only: neither
            these methods nor it, its columns or rates are overridden. It is returned read-only.
    """

    by_rule: bool
    bypassed: bool
    shown: bool
    rates: str | None
    decays: str | None
    constant: bool


def _own_methods(optimizer: RuleOptimizer) -> _OwnMethods:
    """Looked up anew if a method is another than before: each update begins with this."""
    schedule, own = optimizer.lr_scheduler, optimizer.__dict__.keys()
    methods = (
        _methods_of(type(optimizer)),
        own.isdisjoint(_METHODS) or own & _METHODS,
        None if schedule is None else (type(schedule), type(schedule).__call__),
    )
    latest = optimizer._derived.get("methods")
    if latest is None or latest[0] != methods:  # one entry: another thread sees both or neither
        latest = optimizer._derived["methods"] = methods, _look_up(optimizer)
    return latest[1]


def _look_up(optimizer: RuleOptimizer) -> _OwnMethods:
    klass, schedule = type(optimizer), optimizer.lr_scheduler

    def own(*names: str) -> bool:
        return overrides(optimizer, of_modkit(klass), *names) or replaced(klass, *names)

    def called(one: str) -> str | None:
        several = one + "s"
        if klass.lists_rates:
            return several if own(several) else None
        return one if own(one, several) else None

    update, rates, decays = own("update"), called("_get_lr"), called("_get_wd")
    parts = ("hyper", "_adjust", "_present_rate", "learning_rate", "_multipliers", "_multiplier")
    by_counts = rates or decays or "t" in klass._columns
    pure = schedule is None or is_pure(type(schedule))
    return _OwnMethods(
        by_rule=not own(*_EAGER) and (klass.direct or not update),
        bypassed=klass.direct and update and not own("update_multi_precision"),
        shown=not pure or bool(rates or decays or own("_update_count")),
        rates=rates,
        decays=decays,
        constant=not (by_counts or overrides(klass, RuleOptimizer, *parts)),
    )


def _updates_by_rule(optimizer: RuleOptimizer) -> bool:
    """Whether updates are those of ``rule()``: a user's code replaces no method of them."""
    own = _own_methods(optimizer)
    if own.bypassed:
        _warn_of_bypassed(type(optimizer))
    return own.by_rule


@functools.cache
def _warn_of_bypassed(klass: type[RuleOptimizer]) -> None:
    warn_caller(
        f"{klass.__name__}.update is called by programs only, not by modules and updaters: "
        "those of this optimizer call _update_impl, as in MXNet 1.9.1; override that, or "
        "update_multi_precision"
    )


def shows_calls(optimizer: Optimizer) -> bool:
    """Whether a user's code (a schedule, replaced methods) runs in each call of this update."""
    if not isinstance(optimizer, RuleOptimizer):
        return False
    latest = optimizer._derived.get("methods")
    return (_own_methods(optimizer) if latest is None else latest[1]).shown
