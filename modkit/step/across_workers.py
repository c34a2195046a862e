"""Steps over several processes: one program for all workers, which sums gradients in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import jax
import numpy as np
from jax.sharding import NamedSharding

from modkit.kvstore.workers import Workers
from modkit.ops.nn.batch_norm import REPLICAS, WORKERS
from modkit.ops.sparse_values import sum_over
from modkit.step.across_devices import sharded
from modkit.step.placement import Keyed, Kind, Spec
from modkit.step.replicas import DistinctDevices


class AcrossWorkers(Keyed):
    """A placement, here ``home``, in each of several processes: sums go over all replicas.

    Storage is that of the placement of this process. In a program each worker's arrays count as
    one array that is replicated over the workers, although data, outputs and auxiliary states
    differ: `jax.shard_map` does not compare them, and each worker gets its own back.
    """

    def __init__(self, home: Any, workers: Workers):
        self._home = self._key = home
        self._workers = workers
        devices = list(dict.fromkeys(c.jax_device for c in home.contexts))
        self._rows = isinstance(home, DistinctDevices)
        self._mesh = workers.mesh(devices, REPLICAS if self._rows else "one")
        self._devices = list(self._mesh.local_mesh.devices.flat)
        self._shardings = {
            kind: NamedSharding(self._mesh, home.partition(kind)) for kind in get_args(Kind)
        }

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)

    def split_key(self, key: jax.Array) -> jax.Array:
        """Inside a program: the random key of this replica among those of all workers."""
        index = jax.lax.axis_index(WORKERS) * self._home.count
        if self._home.count > 1:
            index = index + jax.lax.axis_index(REPLICAS)
        return jax.random.fold_in(key, index)

    def reduce(self, tree: Any) -> Any:
        """Inside a program: the sum over the replicas of all workers."""
        return sum_over(WORKERS, self._home.reduce(tree))

    def compile(self, spec: Spec) -> Callable[..., Any]:
        """See `modkit.step.placement.Placement`; runs wait, so that a lost worker is an error.

        Nothing is donated: parameters outlive a step that fails since a worker is lost.
        """
        program = jax.jit(sharded(self._home, self._mesh, spec))

        def run(*args: Any) -> Any:
            pairs = zip(args, spec.ins, strict=True)
            whole = [jax.tree.map(lambda a, k=k: self._joined(a, k), arg) for arg, k in pairs]
            return jax.tree.map(self._own, self._workers.run(program, *whole))

        return run

    def _joined(self, value: Any, kind: str) -> Any:
        """An array of this worker as one of all workers."""
        if isinstance(value, jax.Array):
            parts = _by_device(value)
        elif self._rows and kind != "plain":
            rows = np.split(value, len(self._devices))
            parts = {d: jax.device_put(row, d) for d, row in zip(self._devices, rows, strict=True)}
        else:
            parts = {}
        arrays = [parts[d] if d in parts else jax.device_put(value, d) for d in self._devices]
        shape = arrays[0].shape
        if self._rows and kind != "plain":
            shape = (len(arrays), *shape[1:])
        return jax.make_array_from_single_device_arrays(shape, self._shardings[kind], arrays)

    def _own(self, value: jax.Array) -> jax.Array:
        """This worker's part of a result, in the storage of its placement."""
        if not self._rows:
            return value.addressable_data(0)
        parts = _by_device(value)
        return self._home._assemble([parts[d] for d in self._home.devices])


def _by_device(value: jax.Array) -> dict[Any, jax.Array]:
    """This process's parts of an array by device; `addressable_shards` computes indices too."""
    parts = map(value.addressable_data, range(len(value.sharding.addressable_devices)))
    return {d: part for part in parts for d in part.devices()}
