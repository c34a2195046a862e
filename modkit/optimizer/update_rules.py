"""Update rules as pure functions: of one parameter, and of all parameters."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError
from modkit.ops.floating import accumulator
from modkit.ops.sparse_values import Rows
from modkit.ops.update import formulas
from modkit.optimizer.base import LOW

State = Any
"""``None``, an array, or a tuple of states."""


def zeros(weight: Any) -> np.ndarray:
    """Zeros like a weight, without their memory: ``jnp.zeros`` compiles once for each shape."""
    return np.broadcast_to(np.zeros((), weight.dtype), weight.shape)


class UpdateRule:
    """The update of one parameter as pure functions; subclasses are frozen dataclasses.

    Values that change from step to step are in ``hyper``; fields are constants of the program.
    """

    columns: tuple[str, ...] = ("lr", "wd", "rescale_grad")
    """Names of the hyper-parameters that ``update`` reads from ``hyper``."""
    master_first: bool = True
    """Position of the float32 master copy: ``(copy, state)``, or ``(state, copy)`` if false."""
    lazy: bool = False
    """Whether a row-sparse gradient updates its rows, and those of the state, and no others."""
    row_columns: ClassVar[tuple[str, ...]] = ()
    """Names of numbers of the whole weight, after the ``columns`` where rows are updated."""
    takes_key: ClassVar[bool] = False
    """Whether ``update`` needs a random key, ``hyper["key"]``."""
    elementwise: ClassVar[bool] = False
    """Whether an element of the results depends on no other elements of the arguments."""
    arrays: int = 0
    """Number of arrays of the state, in a tuple; they begin as zeros like the weight."""

    def init(self, weight: Any) -> State:
        """The initial state; ``None`` for no arrays."""
        return tuple(zeros(weight) for _ in range(self.arrays)) or None

    def update(
        self, weight: Any, grad: Any, state: State, hyper: Mapping[str, Any]
    ) -> tuple[Any, State]:
        """The new weight and state.

        Shapes:
            weight, grad: of equal shape and dtype.
            hyper: scalars of that dtype, by the names in ``columns``; a random key.
        """
        raise NotImplementedError

    def of_rows(self, master: bool) -> UpdateRule:
        """The rule for a weight declared row-sparse, with ``master`` by way of a float32 copy."""
        return self

    def by_rows(self) -> UpdateRule:
        """The rule for the rows of a row-sparse gradient, where it is ``lazy``."""
        return self

    def of_whole(self, weight: Any) -> Sequence[Any]:
        """The numbers of ``row_columns``, of the whole weight."""
        return ()

    def over(self, axes: tuple[str, ...]) -> UpdateRule | None:
        """The rule for parts of arrays that are divided over mesh axes; ``None`` if it has none."""
        return self if self.elementwise else None

    def of_size(self, size: int) -> UpdateRule:
        """The rule for parts of an array of ``size`` elements, which is padded with zeros."""
        return self


@dataclasses.dataclass(frozen=True)
class FormulaRule(UpdateRule):
    """A rule whose step is a function of `modkit.ops.update.formulas`.

    Args:
        formula: ``formula(weight, grad, *states, **numbers)``: the new weight, and new states.
        of_state: the formula for a state that an earlier rule made, where this one has none.
        of_state_by_rows: the same for the rows of a row-sparse gradient, where it differs.
        numbers: names and values of the numbers that are constants of the program.
        arrays: see `UpdateRule`.
        start: makes the initial state, which the formula takes and returns as one; ``None`` for
            the ``arrays``.
        columns: names of the other numbers.
        lazy: see `UpdateRule`.
        lazy_rows: it is lazy for weights that are declared row-sparse.
        formula_of_rows: the formula for weights that are declared row-sparse and have no float32
            copy, where it differs.
        master_first: see `UpdateRule`.
    """

    elementwise = True

    formula: Callable[..., Any]
    numbers: tuple[tuple[str, Any], ...]
    arrays: int = 0
    columns: tuple[str, ...] = UpdateRule.columns
    start: Callable[[Any], State] | None = None
    lazy: bool = False
    lazy_rows: bool = False
    formula_of_rows: Callable[..., Any] | None = None
    master_first: bool = True
    of_state: Callable[..., Any] | None = None
    of_state_by_rows: Callable[..., Any] | None = None

    def of_rows(self, master: bool) -> UpdateRule:
        if self.formula_of_rows is not None and not master:
            return dataclasses.replace(self, formula=self.formula_of_rows)
        return dataclasses.replace(self, lazy=True) if self.lazy_rows else self

    def by_rows(self) -> UpdateRule:
        """As in MXNet, a clip of 0, which makes dense gradients 0, clips no rows."""
        if self.of_state_by_rows is None and ("clip_gradient", 0) not in self.numbers:
            return self
        numbers = tuple(
            (n, None if n == "clip_gradient" and v == 0 else v) for n, v in self.numbers
        )
        of_state = self.of_state_by_rows or self.of_state
        return dataclasses.replace(self, numbers=numbers, of_state=of_state)

    def init(self, weight: Any) -> State:
        return super().init(weight) if self.start is None else self.start(weight)

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any) -> Any:
        numbers = {**dict(self.numbers), **hyper}
        if self.start is not None:
            return self.formula(weight, grad, state, **numbers)
        if state is None:
            return self.formula(weight, grad, **numbers), None
        if not self.arrays and self.of_state is not None:
            return self.of_state(weight, grad, state, **numbers)
        new, *states = self.formula(weight, grad, *state, **numbers)
        return new, tuple(states)


@dataclasses.dataclass(frozen=True)
class NormRule(UpdateRule):
    """A rule that reads norms of whole arrays, and is elementwise otherwise.

    Args:
        axes: mesh axes over which arrays are divided.
        size: number of elements of a divided array without its padding; ``None``: it has none.
    """

    row_columns = ("weight_squares",)

    axes: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    size: int | None = dataclasses.field(default=None, kw_only=True)

    def over(self, axes: tuple[str, ...]) -> UpdateRule:
        """See `UpdateRule.over`: squares are summed over the axes."""
        return dataclasses.replace(self, axes=axes)

    def of_size(self, size: int) -> UpdateRule:
        """See `UpdateRule.of_size`: padding is left out of norms."""
        return dataclasses.replace(self, size=size)

    def of_whole(self, weight: Any) -> Sequence[Any]:
        flat = weight.reshape(-1).astype(accumulator(weight))
        return (flat @ flat,)

    def _weight_squares(self, weight: Any, hyper: Mapping[str, Any]) -> Any:
        """The sum of the squares of the whole weight, of which ``weight`` may be some rows."""
        return hyper["weight_squares"] if "weight_squares" in hyper else self._squares(weight)

    def _squares(self, array: Any) -> Any:
        """The sum of the squares of the whole array, without its padding."""
        if self.size is not None:
            full, rest = divmod(self.size, array.size)
            index = jax.lax.axis_index(self.axes)
            end = jnp.where(index < full, array.size, jnp.where(index == full, rest, 0))
            array = jnp.where(jnp.arange(array.size) < end, array, 0)
        return formulas.squares(array, self.axes)

    def _norm(self, array: Any) -> Any:
        return jnp.sqrt(self._squares(array))


@dataclasses.dataclass(frozen=True)
class TreeRule:
    """An update rule over all parameters; hashable, so that equal ones share one program.

    Args:
        rule: the rule of one parameter.
        multi_precision: update 16-bit weights through a float32 master copy.
        names: the parameters of the rows of ``hyper``; ``None`` for the order of ``params``.
            Note that ``jax.jit`` sorts the keys of a dict.
        clip_norm: largest norm of all rescaled gradients together; ``None``: any.
        axes: mesh axes over which gradients, parameters and states are divided.
        row_sparse: names of the weights that are declared row-sparse.
    """

    rule: UpdateRule
    multi_precision: bool = False
    names: tuple[str, ...] | None = None
    clip_norm: float | None = None
    axes: tuple[str, ...] = ()
    row_sparse: frozenset[str] = frozenset()

    @functools.cached_property
    def takes_key(self) -> bool:
        """See `UpdateRule.takes_key`."""
        return self.rule.takes_key

    def of(self, name: str, weight: Any) -> TreeRule:
        """The rule of one parameter."""
        return self.of_rows(weight) if name in self.row_sparse else self

    def of_rows(self, weight: Any) -> TreeRule:
        """See `UpdateRule.of_rows`."""
        rule = self.rule.of_rows(self._low(weight))
        return self if rule is self.rule else dataclasses.replace(self, rule=rule)

    def by_rows(self) -> TreeRule:
        """See `UpdateRule.by_rows`."""
        rule = self.rule.by_rows()
        return self if rule is self.rule else dataclasses.replace(self, rule=rule)

    def over(self, axes: tuple[str, ...]) -> TreeRule | None:
        """See `UpdateRule.over`."""
        rule = self.rule.over(axes)
        return None if rule is None else dataclasses.replace(self, rule=rule, axes=axes)

    def init(self, params: Mapping[str, Any]) -> dict[str, State]:
        """The initial states, by name."""
        return {name: self.init_one(weight) for name, weight in params.items()}

    def init_one(self, weight: Any) -> State:
        """The initial state of one parameter."""
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
        sizes: Mapping[str, int] | None = None,
    ) -> tuple[dict[str, Any], dict[str, State]]:
        """The new parameters and states.

        Args:
            params: values, or their parts.
            hyper: see `RuleOptimizer.hyper`.
            sizes: sizes of arrays whose flat parts may be padded; see `UpdateRule.of_size`.

        Shapes:
            hyper: (number of parameters, number of columns), float32.
        """
        order = tuple(params) if self.names is None else self.names
        grads = dict(zip(order, self.clipped([grads[n] for n in order], hyper), strict=True))
        new_params, new_state = {}, {}
        for row, name in enumerate(order):
            own_key = None if key is None else jax.random.fold_in(key, row)
            one = self.of(name, params[name])
            if sizes is not None:
                one = dataclasses.replace(one, rule=one.rule.of_size(sizes[name]))
            with jax.named_scope(f"update_{name}"):
                new_params[name], new_state[name] = one.update_one(
                    params[name], grads[name], state[name], hyper[row], own_key
                )
        return {n: new_params[n] for n in params}, {n: new_state[n] for n in params}

    def clipped(self, grads: Sequence[Any], hyper: Any) -> Sequence[Any]:
        """Gradients, all scaled alike so that their norm is at most ``clip_norm``.

        Pascanu et al., 2013: "On the difficulty of training recurrent neural networks".
        """
        if self.clip_norm is None or not grads:
            return grads
        rescale = self.rule.columns.index("rescale_grad")
        squares = [
            jnp.square(x.astype(jnp.float32) * hyper[row][rescale]).sum()
            for row, x in enumerate(g.rows if isinstance(g, Rows) else g for g in grads)
        ]
        total = jnp.stack(squares).sum()
        norm = jnp.sqrt(jax.lax.psum(total, self.axes) if self.axes else total)
        factor = jnp.where(norm > self.clip_norm, self.clip_norm / norm, 1.0)
        # Of a row-sparse gradient, the factor reaches the rows.
        return jax.tree.map(
            lambda x: (x * factor).astype(x.dtype) if jnp.issubdtype(x.dtype, jnp.inexact) else x,
            list(grads),
        )

    def update_one(self, weight: Any, grad: Any, state: State, row: Any, key: Any) -> Any:
        """The new value and state of one parameter; ``row`` are its hyper-parameters."""
        if isinstance(grad, Rows):
            return self._update_rows(weight, grad, state, row, key)
        if not self._low(weight):
            return self._run(weight, grad, state, row, key)
        master, inner = state if self.rule.master_first else state[::-1]
        master, inner = self._run(master, grad, inner, row, key)
        state = (master, inner) if self.rule.master_first else (inner, master)
        return master.astype(weight.dtype), state

    def _update_rows(self, weight: Any, grad: Rows, state: State, row: Any, key: Any) -> Any:
        """An update with a row-sparse gradient: of its rows, where the rule is lazy."""
        if not self.rule.lazy:
            return self.update_one(weight, grad.dense(), state, row, key)
        whole = self.rule.of_whole(self.master(weight, state))
        row = jnp.concatenate([row, *(x.astype(row.dtype)[None] for x in whole)])
        few = grad.of(weight), grad.rows, jax.tree.map(grad.of, state)
        new, new_state = self.by_rows().update_one(*few, row, key)
        return grad.into(weight, new), jax.tree.map(grad.into, state, new_state)

    def _run(self, weight: Any, grad: Any, state: State, row: Any, key: Any) -> Any:
        own, columns = row.astype(weight.dtype), self.rule.columns
        names = (*columns, *self.rule.row_columns)[: len(row)]
        # Sums of squares of float16 weights stay float32.
        hyper = {n: (own if n in columns else row)[i] for i, n in enumerate(names)}
        if self.rule.takes_key:
            hyper["key"] = key
        try:
            new, new_state = self.rule.update(weight, grad.astype(weight.dtype), state, hyper)
            new_state = jax.tree.map(lambda now, old: now.astype(old.dtype), new_state, state)
        except (TypeError, ValueError, AttributeError) as error:
            like = jax.ShapeDtypeStruct(weight.shape, weight.dtype)
            wanted = jax.tree.map(np.shape, jax.eval_shape(self.rule.init, like))
            got = jax.tree.map(np.shape, state)
            if got == wanted:
                raise
            raise ParameterError(
                f"update: got a state of shape {got}, expected {wanted}: another optimizer made "
                "it, or one without a momentum; create_state(), or "
                "init_optimizer(force_init=True), makes it anew"
            ) from error
        return new.astype(weight.dtype), new_state

    def _low(self, weight: Any) -> bool:
        return self.multi_precision and np.dtype(weight.dtype).name in LOW

    def master(self, weight: Any, state: State) -> Any:
        """The weight that the rule updates: the float32 copy, where there is one."""
        return state[0 if self.rule.master_first else 1] if self._low(weight) else weight
