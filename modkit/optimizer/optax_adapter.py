"""OptaxOptimizer: an ``optax.GradientTransformation`` as an optimizer."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import numpy as np

from modkit.errors import ParameterError, ShapeError
from modkit.ndarray import NDArray, from_jax
from modkit.ndarray.storage import x64_for
from modkit.optimizer.base import Optimizer
from modkit.signals import DeferredSignals

if TYPE_CHECKING:  # optax is optional, and already imported by code that passes a transformation
    import optax

Path = tuple[Any, ...]


@dataclass(frozen=True)
class OptaxTreeRule:
    """A transformation of all parameters; see `modkit.optimizer.update_rules.TreeRule`.

    The state is stored per parameter: its part of the transformation's state, and a copy of the
    shared leaves, such as a step count.

    Args:
        names: the parameters of the rows of ``hyper``; ``None`` for the order of ``params``.
        newest: the one whose copy of the shared leaves counts; ``None``: the first.
    """

    takes_key: ClassVar[bool] = False

    transform: optax.GradientTransformation
    names: tuple[str, ...] | None = None
    newest: str | None = None

    def init(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The initial states, by name."""
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
            hyper: (number of parameters, 2), float32: factors of the update and of the gradient.
        """
        if not params:  # no leaves, not even shared ones
            return {}, {}
        order = tuple(params) if self.names is None else self.names
        numbers = {name: hyper[row] for row, name in enumerate(order)}
        grads = {n: g * numbers[n][1].astype(g.dtype) for n, g in grads.items()}
        grads = {n: g.astype(params[n].dtype) for n, g in grads.items()}
        whole: Any = dict(params)  # Any, since optax annotates pytrees as unions
        update: Any = self.transform.update
        steps, joined = update(grads, self._join(state, params), whole)
        steps = {n: numbers[n][0].astype(s.dtype) * s for n, s in steps.items()}
        new = {name: (w + steps[name]).astype(w.dtype) for name, w in params.items()}
        return new, self._split(joined, state)

    def _join(self, state: Mapping[str, Any], params: Mapping[str, Any]) -> Any:
        """The per-parameter states as one state of the transformation for the whole tree."""
        parts = {name: _by_path(s) for name, s in state.items()}
        first = parts[self.newest] if self.newest else next(iter(parts.values()), {})
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
    """The state of the parameter that a leaf belongs to, or ``shared`` for shared leaves."""
    keys = (k.key for k in path if isinstance(k, jax.tree_util.DictKey))
    return next((parts[k] for k in keys if k in parts), shared)


class OptaxOptimizer(Optimizer):
    """An ``optax.GradientTransformation`` as an optimizer.

    Its updates are multiplied by ``learning_rate`` (default 1) and the parameters' multipliers;
    other rates, decay and clipping are part of the transformation. Masks must be functions of
    the parameters, ``{name: array}``.

    Args:
        learning_rate: factor applied to its updates. Default: the ``base_lr`` that the scheduler
            was given, or 1; 0.01, the default of schedulers, counts as not given.
        kwargs: ``rescale_grad``, ``param_idx2name``, ``lr_scheduler``, ``sym``, ``param_dict``;
            see `Optimizer`.

    Raises:
        ParameterError: a parameter that must be part of the transformation.

    Differs: if called with one parameter at a time (a KVStore with an updater), a clip by global
    norm is a clip by the norm of each parameter.

    >>> import optax
    >>> optimizer = mx.optimizer.create(optax.sgd(0.1))
    >>> type(optimizer).__name__
    'OptaxOptimizer'
    """

    _newest = ""  # name of a parameter that was in the last update

    def __init__(
        self,
        transform: optax.GradientTransformation,
        learning_rate: float | None = None,
        **kwargs: Any,
    ):
        takes = {"rescale_grad", "param_idx2name", "lr_scheduler", "sym", "param_dict"}
        refused = sorted(set(kwargs) - takes)
        if refused:
            raise ParameterError(
                f"optax optimizer: no parameter {refused[0]!r}; put it into the transformation "
                "(optax.clip, optax.add_decayed_weights in an optax.chain). "
                f"It takes: learning_rate, {', '.join(sorted(takes))}"
            )
        if getattr(kwargs.get("lr_scheduler"), "base_lr", 0.01) == 0.01:  # a scheduler's default
            learning_rate = 1.0 if learning_rate is None else learning_rate
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.transform = transform

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without the transformation, whose functions no file can hold."""
        state = super().__getstate__()
        state.pop("transform", None)
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> OptaxOptimizer:
        made = memo[id(self)] = type(self).__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        made._complete(self)
        return made

    def _complete(self, other: Optimizer) -> None:
        """See `Optimizer._complete`: take the transformation of ``other``."""
        if not isinstance(other, OptaxOptimizer):
            raise ParameterError(
                f"optax optimizer: its saved states go to an optimizer of the same transformation, "
                f"got {type(other).__name__}"
            )
        self.transform = other.transform

    @property
    def whole_lists(self) -> bool:
        """Always true: a list of parameters is one tree."""
        return True

    def tree_rule(self, names: Sequence[str] | None = None) -> OptaxTreeRule:
        """The transformation as a pure function of all parameters at once."""
        if not names:
            return OptaxTreeRule(self.transform, None if names is None else ())
        newest = self._newest if self._newest in names else names[0]
        return OptaxTreeRule(self.transform, tuple(names), newest)

    def hyper(self, indices: Sequence[Any]) -> np.ndarray:
        """Count one update of each parameter; factors of updates and gradients, (n, 2)."""
        indices, before = tuple(indices), self.num_update
        self._update_count(indices)
        try:
            return self._table(indices)
        except BaseException:  # a schedule that raises: no update is made
            self._uncount(indices, before)
            raise

    def _table(self, indices: tuple[Any, ...]) -> np.ndarray:
        if indices and self._newest not in map(self._name, indices):
            self._newest = self._name(indices[0])
        table = np.empty((len(indices), 2), np.float32)
        table[:, 0] = self._present_rate() * self._multipliers(indices)[0]
        table[:, 1] = self.rescale_grad
        return table

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The transformation's state of one parameter."""
        value = weight._cell.peek()
        with x64_for(value.dtype):
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
        with DeferredSignals():  # counts, parameters and states: those before, or after
            self._update_list(index, weight, grad, state)

    def _update_list(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        names = tuple(self._name(i) for i in index)
        hyper = self.hyper(index)
        device = weight[0].ctx.jax_device  # a transformation needs all of them on one device

        def on_device(array: NDArray) -> jax.Array:
            return jax.device_put(array._cell.peek(), device)

        params = {n: on_device(w) for n, w in zip(names, weight, strict=True)}
        grads = {n: on_device(g) for n, g in zip(names, grad, strict=True)}
        handles, layout = jax.tree.flatten(dict(zip(names, state, strict=True)))
        states = layout.unflatten([on_device(h) for h in handles])
        with x64_for(*(v.dtype for v in params.values())):
            params, states = _run(self.tree_rule(names), grads, states, params, hyper)
        for name, target in zip(names, weight, strict=True):
            target._set(params[name])
        for target, value in zip(handles, jax.tree.leaves(states), strict=True):
            target._set(value)


@jax.jit(static_argnums=0)
def _run(rule: OptaxTreeRule, grads: Any, state: Any, params: Any, hyper: Any) -> Any:
    return rule.update(grads, state, params, hyper)
