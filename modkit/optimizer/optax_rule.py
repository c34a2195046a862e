"""Any ``optax.GradientTransformation`` as an optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from modkit.errors import ParameterError, ShapeError
from modkit.ndarray import NDArray, from_jax
from modkit.ndarray.cell import wide
from modkit.optimizer.base import Optimizer

if TYPE_CHECKING:  # not imported with modkit: whoever brings a transformation has imported it
    import optax

Path = tuple[Any, ...]


@dataclass(frozen=True)
class OptaxTreeRule:
    """A transformation over all parameters at once; see `modkit.optimizer.fused.TreeRule`.

    The state is kept by parameter: what the transformation keeps for one, and a copy of what it
    keeps for all (a step count).
    """

    transform: optax.GradientTransformation
    names: tuple[str, ...] | None = None

    def init(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The states at the start, by name."""
        return {name: self.transform.init({name: weight}) for name, weight in params.items()}

    def update(
        self,
        grads: Mapping[str, Any],
        state: Mapping[str, Any],
        params: Mapping[str, Any],
        hyper: Any,
        key: Any = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The new parameters and states.

        Shapes:
            hyper: (number of parameters, 2), float32: multiplier of the step, of the gradient.
        """
        del key
        order = tuple(params) if self.names is None else self.names
        numbers = {name: hyper[row] for row, name in enumerate(order)}
        grads = {n: g * numbers[n][1].astype(g.dtype) for n, g in grads.items()}
        grads = {n: g.astype(params[n].dtype) for n, g in grads.items()}
        whole: Any = dict(params)  # optax's own types are wider than what goes in and comes out
        update: Any = self.transform.update
        steps, joined = update(grads, self._join(state, params), whole)
        steps = {n: numbers[n][0].astype(s.dtype) * s for n, s in steps.items()}
        new = {name: (w + steps[name]).astype(w.dtype) for name, w in params.items()}
        return new, self._split(joined, state)

    def _join(self, state: Mapping[str, Any], params: Mapping[str, Any]) -> Any:
        """The states of all parameters as the transformation's own state of the whole tree."""
        parts = {name: _by_path(s) for name, s in state.items()}
        first = next(iter(parts.values()), {})
        whole = jax.eval_shape(self.transform.init, dict(params))
        paths, layout = jax.tree_util.tree_flatten_with_path(whole)
        leaves = [_owner(p, parts, first)[p] for p, _ in paths]
        return layout.unflatten(leaves)

    def _split(self, whole: Any, state: Mapping[str, Any]) -> dict[str, Any]:
        """The inverse of `_join`."""
        values = _by_path(whole)
        return {
            name: jax.tree_util.tree_map_with_path(
                lambda path, before: values[path].astype(before.dtype), s
            )
            for name, s in state.items()
        }


def _by_path(tree: Any) -> dict[Path, Any]:
    return dict(jax.tree_util.tree_flatten_with_path(tree)[0])


def _owner(path: Path, parts: Mapping[str, Any], shared: Any) -> Any:
    """The part of the parameter that a leaf belongs to, or ``shared`` if it is nobody's."""
    keys = (k.key for k in path if isinstance(k, jax.tree_util.DictKey))
    return next((parts[k] for k in keys if k in parts), shared)


class OptaxOptimizer(Optimizer):
    """An ``optax.GradientTransformation`` in the place of an optimizer.

    Its steps are multiplied by ``learning_rate`` (1 unless given) and the parameters' multipliers;
    rates, decay and clipping of its own belong into the transformation. Masks have to be
    functions of the parameters, ``{name: array}``.

    Args:
        transform: the transformation.
        learning_rate: the multiplier of its steps.
        kwargs: ``rescale_grad``, ``param_idx2name``, ``lr_scheduler``, ``sym``, ``param_dict``;
            see `Optimizer`.

    Raises:
        ParameterError: a parameter that belongs into the transformation.

    Differs: called with one parameter at a time (a KVStore with an updater), it sees only that
    one, so that a clip by global norm is one by the norm of each.
    """

    def __init__(
        self, transform: optax.GradientTransformation, learning_rate: float = 1.0, **kwargs: Any
    ):
        takes = {"rescale_grad", "param_idx2name", "lr_scheduler", "sym", "param_dict"}
        refused = sorted(set(kwargs) - takes)
        if refused:
            raise ParameterError(
                f"optax optimizer: no parameter {refused[0]!r}; put it into the transformation "
                "(optax.clip, optax.add_decayed_weights in an optax.chain). "
                f"It takes: learning_rate, {', '.join(sorted(takes))}"
            )
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.transform = transform

    @property
    def whole_lists(self) -> bool:
        """Lists are one tree."""
        return True

    def tree_rule(self, names: Sequence[str] | None = None) -> OptaxTreeRule:
        """The transformation as a pure function of all parameters at once."""
        return OptaxTreeRule(self.transform, None if names is None else tuple(names))

    def hyper(self, indices: Sequence[Any]) -> np.ndarray:
        """Count one update of each parameter; multipliers of steps and of gradients."""
        indices = tuple(indices)
        self._count(indices)
        table = np.empty((len(indices), 2), np.float32)
        table[:, 0] = self._rate() * self._all_multipliers(indices, "lr_mult")
        table[:, 1] = self.rescale_grad
        return table

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The transformation's state of one parameter."""
        value = weight._cell.peek()
        with wide(value.dtype):
            state = self.transform.init({self._name(index): value})
        return jax.tree.map(lambda a: from_jax(jax.numpy.asarray(a), weight.ctx), state)

    def _name(self, index: Any) -> str:
        return str(self.idx2name.get(index, index))

    def plain_state(self, state: Any) -> Any:
        """The arrays of the state, in a list."""
        return jax.tree.leaves(state)

    def fit_state(self, index: Any, weight: NDArray, state: Any) -> Any:
        """The saved arrays in the transformation's own structure."""
        fresh = self.create_state(index, weight)
        leaves, layout = jax.tree.flatten(fresh)
        saved = jax.tree.leaves(state)
        got, wanted = [a.shape for a in saved], [a.shape for a in leaves]
        if got != wanted:
            raise ShapeError(
                f"optax optimizer: the state saved for parameter {self._name(index)!r} has shapes "
                f"{got}, expected {wanted}; it is from another transformation or network"
            )
        return layout.unflatten(saved)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a parameter, or a list of them as one tree, in place."""
        if not isinstance(index, list | tuple):
            index, weight, grad, state = [index], [weight], [grad], [state]
        names = tuple(self._name(i) for i in index)
        hyper = self.hyper(index)
        device = weight[0].ctx.jax_device  # a transformation takes all of them together

        def here(array: NDArray) -> jax.Array:
            return jax.device_put(array._cell.peek(), device)

        params = {n: here(w) for n, w in zip(names, weight, strict=True)}
        grads = {n: here(g) for n, g in zip(names, grad, strict=True)}
        handles, layout = jax.tree.flatten(dict(zip(names, state, strict=True)))
        states = layout.unflatten([here(h) for h in handles])
        with wide(*(v.dtype for v in params.values())):
            params, states = _run(self.tree_rule(names), grads, states, params, hyper)
        for name, target in zip(names, weight, strict=True):
            target._set(params[name])
        for target, value in zip(handles, jax.tree.leaves(states), strict=True):
            target._set(value)


@jax.jit(static_argnums=0)
def _run(rule: OptaxTreeRule, grads: Any, state: Any, params: Any, hyper: Any) -> Any:
    return rule.update(grads, state, params, hyper)


def create(name: Any, **kwargs: Any) -> Optimizer:
    """An optimizer from a registered name, or around an ``optax.GradientTransformation``.

    Raises:
        NameNotFoundError: no optimizer has that name.
        ParameterError: it does not take one of the parameters.
    """
    if _is_transformation(name):
        return OptaxOptimizer(name, **kwargs)
    return Optimizer.create_optimizer(name, **kwargs)


def _is_transformation(value: Any) -> bool:
    """Whether it is an ``optax.GradientTransformation``: a pair of functions, named so."""
    return isinstance(value, tuple) and hasattr(value, "init") and hasattr(value, "update")
