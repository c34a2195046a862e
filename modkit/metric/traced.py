"""TracedMetric, the base of built-in metrics: statistics where arrays lie, totals on the host."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ModkitError, ParameterError, ShapeError
from modkit.interpreter import quietly
from modkit.metric.base import EvalMetric, check_label_shapes, keeps_updates, totals_lock
from modkit.metric.functions import Pairwise, TracedFunction, positions, select
from modkit.metric.packed import pack, unpack
from modkit.metric.statistics import OUTSIDE, CheckedMean, Mean, Statistic
from modkit.ndarray import NDArray
from modkit.ndarray.storage import x64_for
from modkit.signals import DeferredReads

FOLD_EVERY = 256
"""Maximum number of pending updates; beyond it all but the last `KEEP_UNREAD` are added up."""

KEEP_UNREAD = 8
"""Number of most recent updates that stay pending, as they may still be computing."""

FOLD_BYTES = 4 << 20
"""Maximum size of the pending updates, for statistics with an entry for every sample."""


class LabelError(ModkitError, ValueError, IndexError):
    """Labels that are not a class of the output, or of more classes than the metric supports."""


@dataclass
class Totals:
    """A sum and its number of instances, as Python numbers: integers are exact at any size."""

    total: Any = 0.0
    count: Any = 0


def _total(totals: str, field: str, doc: str) -> Any:
    """A property of a `TracedMetric`: a field of its totals, after all pending updates."""

    def read(metric: TracedMetric) -> Any:
        return getattr(getattr(metric._folded(), totals), field)

    def write(metric: TracedMetric, value: Any) -> None:
        setattr(getattr(metric._folded(), totals), field, value)

    return property(read, write, doc=doc)


class TracedMetric(EvalMetric):
    """A built-in metric: a `Statistic` of arrays where they lie, and its totals on the host.

    Outputs on the host are added up by NumPy at once. `update` never blocks on the device; reading
    (`get`, ``sum_metric``) does; it raises the errors of labels on a device.
    """

    def __init__(
        self, name: Any, output_names: Any, label_names: Any, statistic: Statistic, **kwargs: Any
    ):
        self.statistic = statistic
        self._pairs: Pairwise | None = None
        self._pending: list[Any] = []
        self._pending_bytes = self._each_bytes = 0
        self._local, self._global = Totals(), Totals()
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def __copy__(self) -> TracedMetric:
        """A metric with totals of its own, as numbers of MXNet's metrics are."""
        made = type(self).__new__(type(self))
        with totals_lock:
            for name, value in vars(self).items():
                own = isinstance(value, list | Totals)
                made.__dict__[name] = copy.copy(value) if own else value
        return made

    sum_metric: Any = _total("_local", "total", "The sum since the last `reset` or `reset_local`.")
    num_inst: Any = _total("_local", "count", "Number of instances in `sum_metric`.")
    global_sum_metric: Any = _total("_global", "total", "The sum since the last `reset`.")
    global_num_inst: Any = _total("_global", "count", "Number of instances in `global_sum_metric`.")

    def state_dict(self) -> dict[str, Any]:
        """See `EvalMetric.state_dict`. Waits for pending updates."""
        self._folded()
        with totals_lock:
            return super().state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `EvalMetric.load_state_dict`. Drops pending updates."""
        with totals_lock:
            self._pending, self._pending_bytes = [], 0
            super().load_state_dict(state)

    def merge(self, state: Mapping[str, Any]) -> None:
        if type(self).get is not EvalMetric.get:
            super().merge(state)
        with totals_lock:
            for totals, other in ((self._local, state["_local"]), (self._global, state["_global"])):
                totals.total += other["total"]
                totals.count += other["count"]

    def _snapshot(self) -> Callable[[], dict[str, Any]]:
        """See `EvalMetric._snapshot`. The caller of the function waits for pending updates."""
        if type(self).state_dict is not TracedMetric.state_dict:
            return super()._snapshot()
        frozen = copy.copy(self)
        pending, frozen._pending = frozen._pending, []
        frozen = copy.deepcopy(frozen)
        frozen._pending = pending
        return frozen.state_dict

    def reset(self) -> None:
        """Clear the local and the global totals, and drop pending updates."""
        with totals_lock:
            self._pending, self._pending_bytes = [], 0
            self._local, self._global = Totals(), Totals()

    def reset_local(self) -> None:
        self._folded()
        with totals_lock:
            self._begin_local()

    def _begin_local(self) -> None:
        self._local = Totals()

    def _present_sums(self, kind: Literal["", "global_"] = "") -> tuple[Any, Any]:
        self._folded()
        with totals_lock:
            totals = self._global if kind else self._local
            return totals.total, totals.count

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch: lists of labels and of outputs, or one of each. Does not block.

        Raises:
            ShapeError: their numbers or shapes do not match.
            LabelError: a label is not a class of an output on the host, or of an earlier batch.
        """
        labels, preds = self._as_lists(labels, preds)
        try:
            if (here := _on_host(labels, preds)) is not None:
                sums = quietly(tuple, itertools.starmap(self.statistic, here))
            else:
                sums = tuple(
                    _batch_sums(self.statistic, y, p) for y, p in zip(labels, preds, strict=True)
                )
        except ShapeError as error:
            raise ShapeError(f"{self.name}: {error}") from error
        except ModkitError:
            raise
        except (AttributeError, TypeError, IndexError) as error:
            given, made = (", ".join(map(_described, each)) for each in (labels, preds))
            raise ParameterError(
                f"{self.name}: got labels {given} and outputs {made}, expected arrays of numbers"
            ) from error
        with totals_lock:
            if here is not None and not self._pending:
                self._fold(sums)
                return
        self.absorb(sums)

    def _as_lists(self, labels: Any, preds: Any) -> tuple[list[Any], list[Any]]:
        if not self.statistic.needs_label:
            preds = list(preds) if isinstance(preds, list | tuple) else [preds]
            return [None] * len(preds), preds
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        return list(labels), list(preds)

    @property
    def _needs_labels(self) -> bool:
        """Whether an update without labels is an error."""
        return keeps_updates(self, *_UPDATES) and self.statistic.needs_label

    def fused(
        self, label_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None
    ) -> TracedFunction | None:
        """See `EvalMetric.fused`. ``None`` where a user's function replaces ``update``."""
        kind, own = type(self), self.__dict__  # not `keeps_updates`: a call less in every batch
        if (kind.update, kind.update_dict) != _UPDATES or "update" in own or "update_dict" in own:
            return None
        if self.label_names is None and self.output_names is None:
            if self._pairs is None or self._pairs.statistic is not self.statistic:
                self._pairs = Pairwise(self.statistic)
            return self._pairs
        try:
            label_at = positions(self.label_names, label_names)
            output_at = positions(self.output_names, output_names)
        except KeyError:
            return None
        return select(label_at, output_at, Pairwise(self.statistic))

    def absorb(self, sums: Any, *, stacked: bool = False) -> None:
        with totals_lock:
            if not self._pending:
                self._each_bytes = _bytes(sums)
            self._pending.append((sums, stacked))
            self._pending_bytes += self._each_bytes
            count = len(self._pending)
            is_full = count >= FOLD_EVERY or self._pending_bytes >= FOLD_BYTES
        if is_full:
            self._fold_oldest(max(1, count - KEEP_UNREAD))

    def _folded(self) -> TracedMetric:
        """This metric, after adding up all pending updates."""
        self._fold_oldest(len(self._pending))
        return self

    def _fold_oldest(self, count: int) -> None:
        """Add up the oldest pending updates; after an error, those after it stay pending.

        The wait for the device is before the lock is taken, so that no other thread waits for it.
        """
        oldest = self._pending[:count]
        if not oldest:
            return
        fetched = [
            _unstacked(sums) if stacked else [sums]
            for sums, (_, stacked) in zip(_fetched(oldest), oldest, strict=True)
        ]
        with totals_lock:
            # Another thread may have added up the first of them meanwhile, or begun anew.
            first = self._pending[0] if self._pending else None
            done = next((i for i, each in enumerate(oldest) if each is first), len(oldest))
            del self._pending[: len(oldest) - done]
            updates = list(itertools.chain.from_iterable(fetched[done:]))
            parts = unpack([part for update in updates for part in update])
            left = iter(updates)
            try:
                for update in left:
                    self._fold(tuple(itertools.islice(parts, len(update))))
            finally:
                self._pending[:0] = [(update, False) for update in left]
                self._pending_bytes = self._each_bytes * len(self._pending)

    def _fold(self, update: Sequence[Any]) -> None:
        """Add one update on the host: a tuple of statistics, one for each output."""
        for each in update:
            self._fold_mean(each)

    def _fold_mean(self, sums: Mean | CheckedMean) -> None:
        if isinstance(sums, CheckedMean) and sums.bad:
            first = "NaN or -inf" if sums.label == OUTSIDE else int(sums.label)
            raise LabelError(
                f"{self.name}: {int(sums.bad)} label(s) of a batch are not a class of the output: "
                f"got {first} in row {int(sums.row)}, expected integers from 0 to "
                f"{int(sums.classes) - 1}; check the labels and the width of the last layer"
            )
        self._add_totals(sums.total.item(), int(sums.count))

    def _add_totals(self, total: float, count: int) -> None:
        for totals in (self._local, self._global):
            totals.total += total
            totals.count += count


CHUNK = 32
"""Number of updates that are stacked on the device and fetched in one transfer."""


def _fetched(updates: Sequence[tuple[Any, bool]]) -> list[Any]:
    """The updates on the host. Those of an accelerator share a transfer where they are alike."""
    left = [sums for sums, _ in updates]
    if all(map(_readable_in_place, jax.tree.leaves(left[-1]))):
        leaves, tree = jax.tree.flatten(left)
        return tree.unflatten(map(np.asarray, leaves))
    ready: list[Any] = []
    if not any(stacked for _, stacked in updates):
        while len(left) >= CHUNK:
            forms = {_signature(sums) for sums in left[:CHUNK]}
            if len(forms) > 1 or None in forms:
                break
            with DeferredReads():
                stacked = _stack(left[:CHUNK])
            ready += _unstacked(jax.device_get(stacked))
            left = left[CHUNK:]
    return ready + jax.device_get(left)


def _readable_in_place(value: Any) -> bool:
    """Whether NumPy reads an array in place: it is on the host, or on one device that is a CPU."""
    if not isinstance(value, jax.Array):
        return True
    device, *others = value.devices()
    return not others and device.platform == "cpu"


def _signature(sums: Any) -> Any:
    """Structure, shapes and shardings, equal for stackable updates; ``None`` for host values."""
    leaves, tree = jax.tree.flatten(sums)
    if not all(isinstance(x, jax.Array) for x in leaves):
        return None
    return tree, *((x.aval, x.sharding) for x in leaves)


@jax.jit
def _stack(updates: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *each: jnp.stack(each), *updates)


def _described(value: Any) -> str:
    """Shape and type of an array, or the type of another value."""
    if not hasattr(value, "shape"):
        return type(value).__name__
    return f"of shape {tuple(value.shape)} and type {np.dtype(value.dtype).name}"


def _bytes(sums: Any) -> int:
    return sum(x.nbytes for x in jax.tree.leaves(sums))


def _unstacked(sums: Any) -> list[Any]:
    leaves, tree = jax.tree.flatten(sums)
    return [tree.unflatten(row) for row in zip(*leaves, strict=True)]


def _on_host(labels: Sequence[Any], preds: Sequence[Any]) -> list[tuple[Any, Any]] | None:
    """Pairs of labels and outputs for NumPy, if all outputs lie on the host; else ``None``."""
    found = []
    for label, pred in zip(labels, preds, strict=True):
        if not lies_on_host(pred) or not (label is None or in_host_memory(label)):
            return None
        found.append((None if label is None else as_host_array(label), as_host_array(pred)))
    return found


def _batch_sums(statistic: Statistic, label: Any, pred: Any) -> Any:
    """The compiled statistic of arrays of any kind."""
    label, pred = (_device_value(x) for x in (label, pred))
    if isinstance(label, jax.Array) and isinstance(pred, jax.Array):
        label = _on_device_of(label, pred)
    # A handler's own calls would become part of the trace.
    with DeferredReads(), x64_for(*(x.dtype for x in (label, pred) if x is not None)):
        return _apply(statistic, label, pred)


def _on_device_of(label: jax.Array, pred: jax.Array) -> jax.Array:
    """The label on the device of the output; unchanged if the output is sharded."""
    device, *others = pred.devices()
    return label if others or label.devices() == {device} else jax.device_put(label, device)


@jax.jit(static_argnums=0)
def _apply(statistic: Statistic, label: Any, pred: Any) -> Any:
    return pack(statistic(label, pred))


def lies_on_host(value: Any) -> bool:
    """Whether values are on no device: Python's numbers, or an array of a type of NumPy's own."""
    if isinstance(value, NDArray):
        return value._cell.is_on_host and value._cell.aval.dtype.kind in "biuf"
    return not isinstance(value, jax.Array) and np.asarray(value).dtype.kind in "biuf"


_UPDATES = TracedMetric.update, EvalMetric.update_dict
"""The functions that a traced statistic stands for; a program may set others on the classes."""


def in_host_memory(value: Any) -> bool:
    """Whether an array is in host memory, as labels from an iterator are."""
    if isinstance(value, NDArray):
        if value._cell.is_on_host:
            return True
        value = value._cell.peek()
    return not isinstance(value, jax.Array) or all(d.platform == "cpu" for d in value.devices())


def as_host_array(value: Any) -> np.ndarray:
    """An array for which `in_host_memory` holds, as a NumPy array that is only read."""
    return value._cell.host() if isinstance(value, NDArray) else np.asarray(value)


def _device_value(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value._cell.peek()
    return value if value is None or isinstance(value, jax.Array) else np.asarray(value)
