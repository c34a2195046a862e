"""Built-in metrics: a rule on the device, totals on the host, and their form in a compiled step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ModkitError, ShapeError
from modkit.metric.base import EvalMetric, check_label_shapes, uneven
from modkit.metric.rules import Mean, Rule
from modkit.ndarray import NDArray
from modkit.ndarray.cell import wide

FOLD_EVERY = 256
"""How many updates are kept unread; then all but the last `KEEP_UNREAD` are added up."""

KEEP_UNREAD = 8
FOLD_BYTES = 4 << 20
"""The same limit in bytes, for metrics that keep an entry for every sample."""

Step = Callable[[Sequence[Any], Sequence[Any]], Any]
"""A function of labels and outputs that can be traced."""


class LabelError(ModkitError, ValueError, IndexError):
    """Labels that the metric cannot count: not a class, or more classes than it takes."""


@dataclass
class Totals:
    """A sum and how much is in it: Python numbers, so nothing is rounded as they grow."""

    total: Any = 0.0
    count: Any = 0


class TracedMetric(EvalMetric):
    """A built-in metric: a `Rule` on the device, and its totals on the host.

    `update` never waits for the device; reading (`get`, ``sum_metric``) does.

    Differs: labels that are no class may raise only when the value is read, since `update` does
    not look where it would have to wait.
    """

    def __init__(self, name: Any, output_names: Any, label_names: Any, rule: Rule, **kwargs: Any):
        self.rule = rule
        self._pending: list[Any] = []
        self._pending_bytes = 0
        self._each_bytes = 0
        self._local, self._global = Totals(), Totals()
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    @property
    def sum_metric(self) -> Any:
        """The sum since the last reset."""
        return self._settled()._local.total

    @sum_metric.setter
    def sum_metric(self, value: Any) -> None:
        self._settled()._local.total = value

    @property
    def num_inst(self) -> Any:
        """How much is in the sum."""
        return self._settled()._local.count

    @num_inst.setter
    def num_inst(self, value: Any) -> None:
        self._settled()._local.count = value

    @property
    def global_sum_metric(self) -> Any:
        """The sum since the last full reset."""
        return self._settled()._global.total

    @global_sum_metric.setter
    def global_sum_metric(self, value: Any) -> None:
        self._settled()._global.total = value

    @property
    def global_num_inst(self) -> Any:
        """How much is in the global sum."""
        return self._settled()._global.count

    @global_num_inst.setter
    def global_num_inst(self, value: Any) -> None:
        self._settled()._global.count = value

    def reset(self) -> None:
        """Forget everything, what is still being computed too."""
        self._pending, self._pending_bytes = [], 0
        self._local, self._global = Totals(), Totals()

    def reset_local(self) -> None:
        """Forget what `get` shows; keep what `get_global` shows."""
        self._settled()._local = Totals()

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch: lists of labels and of outputs, or one of each. Does not wait.

        Raises:
            ShapeError: their numbers or shapes do not fit.
        """
        labels, preds = self._listed(labels, preds)
        try:
            sums = tuple(_partial(self.rule, y, p) for y, p in zip(labels, preds, strict=True))
        except ShapeError as error:
            raise ShapeError(f"{self.name}: {error}") from error
        self.absorb(sums)

    def _listed(self, labels: Any, preds: Any) -> tuple[list[Any], list[Any]]:
        if not self.rule.needs_label:
            preds = list(preds) if isinstance(preds, list | tuple) else [preds]
            return [None] * len(preds), preds
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        return list(labels), list(preds)

    def fused(
        self,
        label_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
    ) -> Step | None:
        """See `EvalMetric.fused`. ``None`` for a subclass that overrides `update`."""
        kind = type(self)
        if kind.update is not TracedMetric.update or kind.update_dict is not EvalMetric.update_dict:
            return None
        try:
            label_at = places(self.label_names, label_names)
            output_at = places(self.output_names, output_names)
        except KeyError:
            return None
        return choose(label_at, output_at, Pairwise(self.rule))

    def absorb(self, sums: Any, *, stacked: bool = False) -> None:
        """See `EvalMetric.absorb`."""
        if not self._pending:
            self._each_bytes = _bytes(sums)
        self._pending.append((sums, stacked))
        self._pending_bytes += self._each_bytes
        if len(self._pending) >= FOLD_EVERY or self._pending_bytes >= FOLD_BYTES:
            self._fold_oldest(max(1, len(self._pending) - KEEP_UNREAD))

    def _settled(self) -> TracedMetric:
        """This metric with nothing unread."""
        if self._pending:
            self._fold_oldest(len(self._pending))
        return self

    def _fold_oldest(self, count: int) -> None:
        oldest, self._pending = self._pending[:count], self._pending[count:]
        for sums, (_, stacked) in zip(_fetched(oldest), oldest, strict=True):
            for part in _unstacked(sums) if stacked else [sums]:
                self._fold(part)
        self._pending_bytes = self._each_bytes * len(self._pending)

    def _fold(self, update: Sequence[Any]) -> None:
        """Add the numbers of one update, on the host: a tuple with one entry for each output."""
        for each in update:
            self._fold_mean(each)

    def _fold_mean(self, sums: Mean) -> None:
        if sums.bad:
            raise LabelError(
                f"{self.name}: {int(sums.bad)} label(s) of a batch are not a class of the output, "
                "which has one column a class, numbered from 0; check the labels, and the width "
                "of the last layer"
            )
        self._add(sums.total.item(), int(sums.count))

    def _add(self, total: float, count: int) -> None:
        for totals in (self._local, self._global):
            totals.total += total
            totals.count += count


CHUNK = 32
"""How many updates are stacked on the device, to be fetched as one."""


def _fetched(updates: Sequence[tuple[Any, bool]]) -> list[Any]:
    """The numbers of the updates, on the host. Many of one form travel together."""
    ready: list[Any] = []
    left = [sums for sums, _ in updates]
    if not any(stacked for _, stacked in updates):
        while len(left) >= CHUNK:
            forms = {_form(sums) for sums in left[:CHUNK]}
            if len(forms) > 1 or None in forms:
                break
            ready += _unstacked(jax.device_get(_stack(left[:CHUNK])))
            left = left[CHUNK:]
    return ready + jax.device_get(left)


def _form(sums: Any) -> Any:
    """What two updates must have in common to be stacked; ``None`` for what is not on a device."""
    leaves, tree = jax.tree.flatten(sums)
    if not all(isinstance(x, jax.Array) for x in leaves):
        return None
    return tree, *((x.aval, x.sharding) for x in leaves)


@jax.jit
def _stack(updates: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *each: jnp.stack(each), *updates)


def _bytes(sums: Any) -> int:
    return sum(x.nbytes for x in jax.tree.leaves(sums))


def _unstacked(sums: Any) -> list[Any]:
    leaves, tree = jax.tree.flatten(sums)
    return [tree.unflatten(row) for row in zip(*leaves, strict=True)]


@dataclass(frozen=True)
class Pairwise:
    """A rule over each pair of label and output."""

    rule: Rule

    def __call__(self, labels: Sequence[Any], preds: Sequence[Any]) -> tuple[Any, ...]:
        """The numbers of each pair."""
        if not self.rule.needs_label:
            labels = [None] * len(preds)
        elif len(labels) != len(preds):
            raise uneven(len(labels), len(preds))
        return tuple(self.rule(y, p) for y, p in zip(labels, preds, strict=True))


@dataclass(frozen=True)
class Each:
    """Several functions of the same labels and outputs."""

    parts: tuple[Step, ...]

    def __call__(self, labels: Sequence[Any], preds: Sequence[Any]) -> tuple[Any, ...]:
        """What each returns."""
        return tuple(part(labels, preds) for part in self.parts)


@dataclass(frozen=True)
class Chosen:
    """A function of some of the labels and outputs, by place."""

    label_at: tuple[int, ...] | None
    output_at: tuple[int, ...] | None
    part: Step

    def __call__(self, labels: Sequence[Any], preds: Sequence[Any]) -> Any:
        """What the function returns for them."""
        labels = labels if self.label_at is None else [labels[i] for i in self.label_at]
        preds = preds if self.output_at is None else [preds[i] for i in self.output_at]
        return self.part(labels, preds)


def choose(label_at: tuple[int, ...] | None, output_at: tuple[int, ...] | None, part: Step) -> Step:
    """``part`` of those labels and outputs; itself where all are taken."""
    return part if label_at is None and output_at is None else Chosen(label_at, output_at, part)


def places(wanted: Any, given: Sequence[str] | None) -> tuple[int, ...] | None:
    """Where the names ``wanted`` stand in ``given``; ``None`` for all of them.

    Raises:
        KeyError: one is not there.
    """
    if wanted is None:
        return None
    where = {name: at for at, name in enumerate(given or ())}
    return tuple(where[name] for name in ([wanted] if isinstance(wanted, str) else wanted))


def _partial(rule: Rule, label: Any, pred: Any) -> Any:
    """The rule, compiled, on arrays of any kind."""
    label, pred = (_device_value(x) for x in (label, pred))
    if isinstance(label, jax.Array) and isinstance(pred, jax.Array):
        label = _beside(label, pred)
    with wide(*(x.dtype for x in (label, pred) if x is not None)):
        return _apply(rule, label, pred)


def _beside(label: jax.Array, pred: jax.Array) -> jax.Array:
    """The label on the device of the output."""
    device, *others = pred.devices()
    return label if others or label.devices() == {device} else jax.device_put(label, device)


def _run(rule: Rule, label: Any, pred: Any) -> Any:
    return rule(label, pred)


_apply = jax.jit(_run, static_argnums=0)


def at_hand(value: Any) -> bool:
    """Whether an array is in the host's memory, where labels that an iterator gives are."""
    value = _device_value(value)
    return not isinstance(value, jax.Array) or all(d.platform == "cpu" for d in value.devices())


def host_value(value: Any) -> np.ndarray:
    """An array that is `at_hand`, as NumPy's."""
    return np.asarray(_device_value(value))


def _device_value(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value._cell.peek()
    return value if value is None or isinstance(value, jax.Array) else np.asarray(value)
