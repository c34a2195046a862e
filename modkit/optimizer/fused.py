"""Optimizers as pure rules: one parameter's rule, the rule of a whole tree, and eager updates."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from modkit import stream
from modkit.errors import ParameterError, ShapeError
from modkit.ndarray import NDArray, from_jax
from modkit.ndarray.cell import Cell, wide
from modkit.optimizer.base import LOW, Optimizer

State = Any
"""``None``, an array, or a tuple of states."""


def zeros(weight: Any) -> np.ndarray:
    """A state of zeros like a weight, made on the host: JAX would compile a program a shape."""
    return np.zeros(weight.shape, weight.dtype)


class Rule:
    """How one parameter is updated: a frozen dataclass, equal by value, of pure functions.

    What changes from step to step comes in as ``hyper``; fields are constants of the program.
    """

    columns: ClassVar[tuple[str, ...]] = ("lr", "wd", "rescale_grad")
    """The numbers that ``update`` finds in ``hyper``."""
    master_first: ClassVar[bool] = True
    """Where the float32 copy of a 16-bit weight stands: ``(copy, state)`` or ``(state, copy)``."""
    takes_key: ClassVar[bool] = False
    """Whether ``update`` needs a random key; others get ``None``."""

    def init(self, weight: Any) -> State:
        """The state at the start."""
        raise NotImplementedError

    def update(
        self, weight: Any, grad: Any, state: State, hyper: Mapping[str, Any], key: Any
    ) -> tuple[Any, State]:
        """The new weight and state.

        Shapes:
            weight, grad: of one shape and type.
            hyper: scalars of that type, by the names in ``columns``.
        """
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class TreeRule:
    """A rule over all parameters at once; hashable, so that equal ones share one program.

    Args:
        rule: the rule of one parameter.
        multi_precision: update 16-bit weights through a float32 copy.
        names: the parameter that each row of ``hyper`` is for; ``None`` for the order of
            ``params``. Note that ``jax.jit`` hands a dict over in sorted order.
    """

    rule: Rule
    multi_precision: bool = False
    names: tuple[str, ...] | None = None

    def init(self, params: Mapping[str, Any]) -> dict[str, State]:
        """The states at the start, by name."""
        return {name: self.init_one(weight) for name, weight in params.items()}

    def init_one(self, weight: Any) -> State:
        """The state of one parameter at the start."""
        if not self._low(weight):
            return self.rule.init(weight)
        master = weight.astype(jnp.float32)
        state = self.rule.init(master)
        return (master, state) if self.rule.master_first else (state, master)

    def update(
        self,
        grads: Mapping[str, Any],
        state: Mapping[str, State],
        params: Mapping[str, Any],
        hyper: Any,
        key: Any = None,
    ) -> tuple[dict[str, Any], dict[str, State]]:
        """The new parameters and states.

        Shapes:
            hyper: (number of parameters, number of columns), float32.
        """
        order = tuple(params) if self.names is None else self.names
        new_params, new_state = {}, {}
        for row, name in enumerate(order):
            own_key = None if key is None else jax.random.fold_in(key, row)
            with jax.named_scope(f"update_{name}"):
                new_params[name], new_state[name] = self.update_one(
                    params[name], grads[name], state[name], hyper[row], own_key
                )
        return {n: new_params[n] for n in params}, {n: new_state[n] for n in params}

    def update_one(self, weight: Any, grad: Any, state: State, row: Any, key: Any) -> Any:
        """The new value and state of one parameter; ``row`` holds its hyper-parameters."""
        if not self._low(weight):
            return self._run(weight, grad, state, row, key)
        master, inner = state if self.rule.master_first else state[::-1]
        master, inner = self._run(master, grad, inner, row, key)
        state = (master, inner) if self.rule.master_first else (inner, master)
        return master.astype(weight.dtype), state

    def _run(self, weight: Any, grad: Any, state: State, row: Any, key: Any) -> Any:
        row = row.astype(weight.dtype)
        hyper = {name: row[i] for i, name in enumerate(self.rule.columns)}
        new, new_state = self.rule.update(weight, grad.astype(weight.dtype), state, hyper, key)
        return new.astype(weight.dtype), jax.tree.map(
            lambda now, before: now.astype(before.dtype), new_state, state
        )

    def _low(self, weight: Any) -> bool:
        return self.multi_precision and str(weight.dtype) in LOW


class RuleOptimizer(Optimizer):
    """An optimizer that is a `Rule`, run eagerly by ``update`` and traced through ``tree_rule``.

    A subclass gives ``rule()`` and, where the rule needs more numbers than rate, decay and
    rescaling, ``_columns``.
    """

    def rule(self) -> Rule | None:
        """The rule of one parameter; ``None`` where this optimizer is none as it stands."""
        raise NotImplementedError

    def tree_rule(self, names: Sequence[str] | None = None) -> Any:
        """The rule as a pure function of all parameters at once; see `TreeRule`.

        Args:
            names: the parameter that each row of ``hyper(indices)`` is for.

        Returns:
            The rule, or ``None`` where a subclass has an update of its own.
        """
        if not _is_own(type(self)):
            return None
        rule = self.rule()
        if rule is None:
            return None
        return TreeRule(rule, bool(self.multi_precision), None if names is None else tuple(names))

    def hyper(self, indices: Sequence[Any]) -> np.ndarray:
        """Count one update of each parameter, and give the numbers that its rule needs now.

        Returns:
            (number of parameters, number of columns), float32.
        """
        indices = tuple(indices)
        counts = self._count(indices)
        own = type(self)
        if own._get_lrs is Optimizer._get_lrs and own._get_lr is Optimizer._get_lr:
            rates = self._rate() * self._all_multipliers(indices, "lr_mult")
        else:
            rates = np.array([self._get_lr(i) for i in indices], np.float64)
        if own._get_wds is Optimizer._get_wds and own._get_wd is Optimizer._get_wd:
            decays = self.wd * self._all_multipliers(indices, "wd_mult")
        else:
            decays = np.array([self._get_wd(i) for i in indices], np.float64)
        columns = self._columns(indices, rates, decays, counts)
        table = np.empty((len(indices), len(columns)), np.float32)
        for row, column in zip(table.T, columns, strict=True):
            row[:] = column
        return table

    def _columns(
        self, indices: Sequence[Any], rates: np.ndarray, decays: np.ndarray, counts: np.ndarray
    ) -> Sequence[Any]:
        """The columns of ``hyper``, in the order of the rule's ``columns``."""
        del indices, counts
        return rates, decays, self.rescale_grad

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The state of one parameter, as MXNet lays it out."""
        return self._made(TreeRule(self._present_rule()), weight)

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """The state; with a float32 copy for a 16-bit weight under ``multi_precision``."""
        if type(self).create_state is not RuleOptimizer.create_state:
            return Optimizer.create_state_multi_precision(self, index, weight)
        return self._made(TreeRule(self._present_rule(), bool(self.multi_precision)), weight)

    def _present_rule(self) -> Rule:
        rule = self.rule()
        if rule is None:
            raise ParameterError(f"{type(self).__name__}: no rule for these parameters")
        return rule

    def _made(self, tree: TreeRule, weight: NDArray) -> Any:
        value, ctx = weight._cell.peek(), weight.ctx

        def handle(state: Any) -> NDArray:
            if not isinstance(state, np.ndarray):
                return from_jax(state, ctx)
            copy = jax.device_put(state, ctx.jax_device, may_alias=False)
            return NDArray(Cell(copy, lent=False), ctx)

        with wide(value.dtype):
            return jax.tree.map(handle, tree.init_one(value))

    @property
    def whole_lists(self) -> bool:
        """Lists run as one program, unless a subclass has an update of its own."""
        return type(self).update is RuleOptimizer.update

    def fit_state(self, index: Any, weight: NDArray, state: Any) -> Any:
        """A saved state, if it is one of this optimizer for this weight.

        Raises:
            ShapeError: it is not.
        """
        if not _is_own(type(self)):
            return state
        tree = TreeRule(self._present_rule(), bool(self.multi_precision))
        expected = jax.eval_shape(tree.init_one, weight._cell.aval)
        wanted = jax.tree.map(lambda a: tuple(a.shape), expected)
        got = jax.tree.map(lambda a: tuple(a.shape), state)
        if wanted != got:
            raise ShapeError(
                f"{type(self).__name__}: the state saved for parameter "
                f"{self.idx2name.get(index, index)!r} has shapes {got}, expected {wanted}; it is "
                "from another network, optimizer or setting of it"
            )
        return state

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a parameter, or a list of them, and their states in place."""
        self._eager(TreeRule(self._present_rule()), index, weight, grad, state)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update in place, 16-bit weights through their float32 copies."""
        if type(self).update is not RuleOptimizer.update:
            Optimizer.update_multi_precision(self, index, weight, grad, state)
            return
        tree = TreeRule(self._present_rule(), bool(self.multi_precision))
        self._eager(tree, index, weight, grad, state)

    def _eager(self, tree: TreeRule, index: Any, weight: Any, grad: Any, state: Any) -> None:
        if not isinstance(index, list | tuple):
            index, weight, grad, state = [index], [weight], [grad], [state]
        elif len(places := {w.ctx: None for w in weight}) > 1:
            each = list(zip(index, weight, grad, state, strict=True))
            for ctx in places:
                own = [part for part in each if part[1].ctx == ctx]
                self._eager(tree, *map(list, zip(*own, strict=True)))
            return
        for at, (w, g) in enumerate(zip(weight, grad, strict=True)):
            if w.shape != g.shape:
                raise ShapeError(
                    f"{type(self).__name__}: parameter {self.idx2name.get(index[at], index[at])!r} "
                    f"of shape {w.shape} got a gradient of shape {g.shape}"
                )
        hyper = self.hyper(index)
        leaves, layout = jax.tree.flatten(list(state))
        values = [w._cell.peek() for w in weight]
        device = next(iter(values[0].devices()))
        grads = [jax.device_put(g._cell.peek(), device) for g in grad]
        states = layout.unflatten([s._cell.peek() for s in leaves])
        with wide(*(v.dtype for v in values)):
            words = stream.draw() if tree.rule.takes_key else None
            values, states = _run_eager(tree, values, grads, states, hyper, words)
        for target, value in zip(weight, values, strict=True):
            target._set(value)
        for target, value in zip(leaves, jax.tree.leaves(states), strict=True):
            target._set(value)


@jax.jit(static_argnums=0)
def _run_eager(
    tree: TreeRule, weights: Any, grads: Any, states: Any, hyper: Any, words: Any
) -> tuple[list[Any], list[Any]]:
    keys = [None] * len(weights)
    if words is not None:
        keys = jax.random.split(stream.as_key(words), len(weights))
    done = [
        tree.update_one(w, g, s, hyper[i], keys[i])
        for i, (w, g, s) in enumerate(zip(weights, grads, states, strict=True))
    ]
    return [w for w, _ in done], [s for _, s in done]


_OWN = ("update", "update_multi_precision", "create_state", "create_state_multi_precision")


def _is_own(klass: type) -> bool:
    """Whether nothing that makes up an update was written anew in a user's subclass."""
    return all(getattr(klass, n).__module__.startswith("modkit.optimizer.") for n in _OWN)
