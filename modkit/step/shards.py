"""Optimizer states in equal parts, one on each device: ZeRO, stage 1."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from modkit.compile.memo import made_once
from modkit.errors import NotSupportedError
from modkit.kvstore.workers import Workers
from modkit.ndarray import NDArray
from modkit.ndarray.storage import AnyCell, Cell, View, copy_of, x64_for
from modkit.ops.nn.batch_norm import REPLICAS, WORKERS
from modkit.ops.sparse_values import Rows, plain
from modkit.optimizer.update_rules import TreeRule
from modkit.step.across_workers import AcrossWorkers
from modkit.step.placement import Keyed, Spec
from modkit.step.replicas import DistinctDevices

T = TypeVar("T")


class Shards(Keyed):
    """The division of optimizer states over all devices of all workers.

    An array is flattened, padded with zeros and cut into equal parts, one a device (ZeRO, stage 1:
    Rajbhandari et al., 2020, "ZeRO: Memory Optimizations Toward Training Trillion Parameter
    Models").

    Attributes:
        axes: mesh axes over which arrays are divided.

    Args:
        home: the placement of this process; contexts of one device have one part together.
        workers: the processes; ``None`` if there is one.
    """

    def __init__(self, home: Any, workers: Workers | None = None):
        self._home, self._workers = self._key = home, workers
        self._rows = isinstance(home, DistinctDevices)
        own = home.count if self._rows else 1
        first = own * workers.rank if workers else 0
        self._own = slice(first, first + own)
        self.axes = ((WORKERS,) if workers else ()) + ((REPLICAS,) if self._rows else ())
        self.count: int = own * (workers.size if workers else 1)

    # ── In programs ─────────────────────────────────────────────────────────────────────────

    def update(
        self, rule: Any, grads: Any, state: Any, params: Any, hyper: Any, key: Any
    ) -> tuple[dict[str, Any], Any]:
        """Traced, on one replica: reduce-scatter, update of a part, all-gather.

        Args:
            rule: a tree rule; see `modkit.optimizer.update_rules.TreeRule`.
            grads: gradients of this replica, by name.
            state: this replica's parts of the optimizer states.
            hyper: see the rule.

        Returns:
            The whole new parameters, and this replica's parts of the new states.
        """
        if REPLICAS not in self.axes:
            grads = self._home.reduce(grads)
        index = jax.lax.axis_index(self.axes)
        summed = {n: jax.lax.psum_scatter(self._cut(plain(g)), self.axes) for n, g in grads.items()}
        own = {n: jax.lax.dynamic_index_in_dim(self._cut(p), index, keepdims=False)
               for n, p in params.items()}  # fmt: skip
        sizes = {n: p.size for n, p in params.items()}
        new, new_state = self.rule(rule).update(summed, state, own, hyper, key, sizes)
        for n, grad in grads.items():
            if isinstance(grad, Rows) and rule.of(n, params[n]).rule.lazy:
                keep = functools.partial(jnp.where, self._reached(grad))
                new[n] = keep(new[n], own[n])
                new_state[n] = jax.tree.map(keep, new_state[n], state[n])
        gathered = {n: jax.lax.all_gather(new[n], self.axes) for n in params}
        return {n: _joined(gathered[n], p.shape) for n, p in params.items()}, new_state

    def _reached(self, grad: Rows) -> jax.Array:
        """Traced: which elements of this part are in rows of a gradient of any replica."""
        ones = replace(grad, rows=jnp.ones(grad.rows.shape, jnp.float32)).dense()
        return jax.lax.psum_scatter(self._cut(ones), self.axes) > 0

    def rule(self, whole: Any) -> Any:
        """The tree rule for parts of arrays, from that for whole ones; else NotSupportedError."""
        found = whole.over(self.axes) if isinstance(whole, TreeRule) else None
        if found is None:
            name = type(whole.rule if isinstance(whole, TreeRule) else whole).__name__
            raise NotSupportedError(
                f"shard_optimizer_states: {name} may read other elements of an array than those "
                "it updates, so it cannot update a part; use an optimizer such as sgd, adam, lamb "
                "or lars, or leave shard_optimizer_states out"
            )
        return found

    def _cut(self, whole: Any) -> jax.Array:
        """The parts of an array, (count, length)."""
        length = self._length(whole.size)
        flat = jnp.pad(whole.reshape(-1), (0, self.count * length - whole.size))
        return flat.reshape(self.count, length)

    def _length(self, size: int) -> int:
        """The number of elements of a part."""
        return -(-size // self.count)

    # ── In storage ──────────────────────────────────────────────────────────────────────────

    def place(self, array: NDArray) -> None:
        """Move the value of an array into parts, one on each device."""
        cell = array._cell
        if not (isinstance(cell, Parts) and cell.shards == self):
            array._cell = self.window(Cell(self.store(cell.peek()), aliased=False), cell.aval)

    def donatable(self, array: NDArray) -> jax.Array:
        """The parts of an array that belong to this process, in a buffer of their own."""
        cell = array._cell
        if isinstance(cell, Parts) and cell.shards == self:
            return cell.storage.take()
        return self.store(cell.peek())

    def window(self, storage: AnyCell, aval: Any) -> Parts:
        """The array whose parts a cell stores, as a window."""
        return Parts(storage, self, aval)

    def store(self, whole: Any) -> jax.Array:
        """Storage for an array: the parts of this process."""
        flat = np.zeros(self.count * self._length(whole.size), whole.dtype)
        flat[: whole.size] = np.asarray(whole).reshape(-1)
        parts = flat.reshape(self.count, -1)[self._own]
        with x64_for(whole.dtype):
            placed = self._home.store(parts) if self._rows else self._home.share(parts[0])
            return copy_of(placed)

    def whole(self, stored: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """The array of these parts, on the first device; all workers make this call."""
        with x64_for(stored.dtype):
            if self._workers is not None:
                stored = _gathering(self._home, self._workers, self.axes)(stored)
                stored = self._home.own(stored) if self._rows else stored
            whole = _joined(np.asarray(stored), shape)
            return jax.device_put(whole, self._home.device)

    # ── As part of the cache key of a program ───────────────────────────────────────────────

    def cache_key_parts(self) -> tuple[Any, ...]:
        """The axes and the number of parts."""
        return self.axes, self.count


@made_once(maxsize=16)
def _gathering(home: Any, workers: Workers, axes: tuple[str, ...]) -> Callable[..., Any]:
    """The program of all workers from a part on each device to all parts on each."""

    def gather(part: jax.Array) -> jax.Array:
        return jax.lax.all_gather(part, axes)

    return AcrossWorkers(home, workers).compile(Spec(gather, ("shared",), "shared"))


def _joined(parts: Any, shape: tuple[int, ...]) -> Any:
    return parts.reshape(-1)[: math.prod(shape)].reshape(shape)


class FusedRule(NamedTuple):
    """An optimizer's tree rule as a step runs it.

    Attributes:
        workers: the processes whose gradients are summed; ``None``: those of this one.
        shards: the division of the states; ``None``: each device has them whole.
    """

    rule: Any
    workers: Workers | None = None
    shards: Shards | None = None


class Parts(View):
    """An optimizer state as one array: a read gathers its parts, a write cuts them."""

    __slots__ = ("shards", "storage")

    def __init__(self, storage: AnyCell, shards: Shards, aval: Any):
        aval = jax.ShapeDtypeStruct(aval.shape, aval.dtype)
        super().__init__(
            storage, lambda s: shards.whole(s, aval.shape), lambda _, v: shards.store(v), aval
        )
        self.storage, self.shards = storage, shards

    def seen(self, look: Callable[[jax.Array], T]) -> T:
        """See `AnyCell.seen`; without the lock, as other workers gather too."""
        return look(self.get())

    def frozen(self) -> AnyCell:
        """A cell of the present value: a window on the parts, or what all workers gather now."""
        if self.shards.axes[:1] == (WORKERS,):
            return Cell(self.get())
        return Parts(Cell(self.storage.get()), self.shards, self.aval)
