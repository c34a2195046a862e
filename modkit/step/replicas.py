"""Data-parallel replicas of one program, by ``vmap`` on one device, or over several devices."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

from modkit.context import Context
from modkit.ndarray import NDArray
from modkit.ndarray.storage import AnyCell, View, x64_for
from modkit.ops.nn.batch_norm import REPLICAS
from modkit.ops.sparse_values import Rows, sum_over
from modkit.step.across_devices import by_pmap
from modkit.step.placement import Kind, OneContext, Placement, Spec

ContextsByName = Mapping[str, Context]


class Replicas(Placement):
    """Several replicas: a local value has their parts along a first axis."""

    def cache_key_parts(self) -> tuple[Any, ...]:
        """The number of replicas."""
        return (self.count,)

    def split_key(self, key: jax.Array) -> jax.Array:
        return jax.random.fold_in(key, jax.lax.axis_index(REPLICAS))

    def reduce(self, tree: Any) -> Any:
        return sum_over(REPLICAS, tree)

    def dense(self, value: Rows) -> jax.Array:
        return self.store(jax.vmap(Rows.dense)(value))

    def numbers(self, table: np.ndarray) -> Any:
        """Plain numbers on the host, since their sharding selects the executable."""
        return table

    def split(self, value: Any, axis: int) -> jax.Array:
        return self.store(self.stacked(value, axis))

    def stacked(self, value: Any, axis: int) -> Any:
        """The replicas' parts of a batch along a new first axis; a window of a NumPy array."""
        arrays = np if isinstance(value, np.ndarray) else jnp
        if axis < 0:
            return arrays.broadcast_to(value, (self.count, *value.shape))
        shape = value.shape
        size = shape[axis] // self.count
        parts = value.reshape(*shape[:axis], self.count, size, *shape[axis + 1 :])
        return arrays.moveaxis(parts, axis, 0)

    def mean(self, cell: AnyCell) -> View:
        """A window: reads the mean over the replicas, writes all of them."""

        def read(stored: jax.Array) -> jax.Array:
            with x64_for(stored.dtype):
                return jax.device_put(stored, self.device).mean(0).astype(stored.dtype)

        def write(_: jax.Array, value: jax.Array) -> jax.Array:
            with x64_for(value.dtype):
                return self.split(value, -1)

        return View(cell, read, write, jax.ShapeDtypeStruct(cell.aval.shape[1:], cell.aval.dtype))

    def local_aval(self, shape: Sequence[int], dtype: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.count, *shape), dtype)

    def joined(self, cell: AnyCell, axis: int) -> View:
        """The whole batch of a local value, as a window. With ``axis < 0`` the first replica's."""
        shape, dtype = cell.aval.shape[1:], cell.aval.dtype
        whole = shape
        if axis >= 0:
            whole = (*shape[:axis], shape[axis] * self.count, *shape[axis + 1 :])

        def read(stored: jax.Array) -> jax.Array:
            home = jax.device_put(stored, self.device)
            return jnp.moveaxis(home, 0, axis).reshape(whole) if axis >= 0 else home[0]

        return View(
            cell, read, lambda _, v: self.split(v, axis), jax.ShapeDtypeStruct(whole, dtype)
        )


class SameDevice(Replicas):
    """Contexts that share one physical device: ``jax.vmap`` under one ``jit``.

    Also the storage of graphs that cannot run as replicas, on the device of the first context.

    Args:
        contexts: one a replica.
        places: for each of them, contexts of variables that are stored elsewhere, by name.
    """

    def __init__(self, contexts: Sequence[Context], places: Sequence[ContextsByName] = ()):
        super().__init__(contexts)
        self._places = tuple(places)
        self.sharding = SingleDeviceSharding(self.device)
        self._key = self.count, self.sharding, tuple(frozenset(p.items()) for p in places)

    def at(self, name: str) -> SameDevice:
        if not self._places:
            return self
        own = zip(self._places, self.contexts, strict=True)
        return SameDevice([places.get(name, ctx) for places, ctx in own])

    def on_one_device(self, spec: Spec) -> Callable[..., Any]:
        """All replicas, by ``vmap``: parameters are not copied, and come out unbatched."""
        ins, outs = spec.by_kind(lambda kind: 0 if kind == "local" else None)
        return jax.vmap(spec.fn, ins, outs, axis_name=REPLICAS, axis_size=self.count)

    def store(self, stacked: Any) -> jax.Array:
        """The stacked array, on the device."""
        return self.share(stacked)

    def part(self, cell: AnyCell, index: int) -> View:
        """One row of the storage."""
        aval = jax.ShapeDtypeStruct(cell.aval.shape[1:], cell.aval.dtype)
        return View(cell, lambda s: s[index], lambda s, v: s.at[index].set(v), aval)


_turn = threading.RLock()


class DistinctDevices(Replicas):
    """One device each; every value has a row on each device.

    Attributes:
        by: `by_pmap` or `by_mesh` of `modkit.step.across_devices`, which run a function over the
            devices. Both have the same storage, and agree to rounding.
        row_sharding: a row on each device.
    """

    by: ClassVar[Callable[..., Callable[..., Any]]] = by_pmap

    def __init__(self, contexts: Sequence[Context]):
        super().__init__(contexts)
        self.devices = tuple(c.jax_device for c in contexts)
        self.mesh = Mesh(np.array(self.devices), (REPLICAS,))
        self.row_sharding = NamedSharding(self.mesh, PartitionSpec(REPLICAS))

    def compile(self, spec: Spec) -> Callable[..., Any]:
        """By `by`; calls from several threads take turns.

        Two collective programs enqueued on devices in different orders deadlock. On CPU devices a
        program must end before the next one starts: programs in flight share XLA's thread pool,
        and can deadlock in it.
        """
        mapped = type(self).by(self, spec)
        on_cpu = self.platform == "cpu"

        def one_at_a_time(*args: Any) -> Any:
            with _turn:
                results = mapped(*args)
                return jax.block_until_ready(results) if on_cpu else results

        return one_at_a_time

    def on_one_device(self, spec: Spec) -> Callable[..., Any]:
        """One replica, whose values are rows."""

        def row(*args: Any) -> Any:
            pairs = zip(args, spec.ins, strict=True)
            inner = [a if k == "plain" else jax.tree.map(lambda x: x[0], a) for a, k in pairs]
            return jax.tree.map(lambda x: x[None], spec.fn(*inner))

        return row

    def partition(self, kind: Kind) -> PartitionSpec:
        """A row on each device, except of plain numbers."""
        return PartitionSpec() if kind == "plain" else PartitionSpec(REPLICAS)

    def store(self, stacked: Any) -> jax.Array:
        """A row on each device."""
        return jax.device_put(stacked, self.row_sharding)

    def share(self, value: Any) -> jax.Array:
        """The same row on each device."""
        rows = [jax.device_put(value[None], d) for d in self.devices]
        return self._assemble(rows)

    def logical(self, cell: AnyCell, index: int = 0) -> AnyCell:
        """A window: reads one device's row, writes all rows."""
        return Logical(cell, self, index)

    def donatable(self, array: NDArray) -> jax.Array:
        """See `Placement.donatable`; an ordinary array gets storage here."""
        cell = array._cell
        if isinstance(cell, Logical) and cell.home == self:
            return cell.storage.take()
        return self.share(cell.peek())

    def part(self, cell: AnyCell, index: int) -> View:
        """One device's row."""
        aval = jax.ShapeDtypeStruct(cell.aval.shape[1:], cell.aval.dtype)

        def write(stored: jax.Array, value: jax.Array) -> jax.Array:
            rows = [self._row(stored, i) for i in range(self.count)]
            rows[index] = jax.device_put(value[None], self.devices[index])
            return self._assemble(rows)

        return View(cell, lambda s: self._row(s, index)[0], write, aval)

    def _row(self, stored: jax.Array, index: int) -> jax.Array:
        device = self.devices[index]
        return next(s.data for s in stored.addressable_shards if s.device == device)

    def own(self, stored: jax.Array, index: int = 0) -> jax.Array:
        """One device's row of a shared value."""
        return self._row(stored, index)[0]

    def _assemble(self, rows: Sequence[jax.Array]) -> jax.Array:
        shape = (self.count, *rows[0].shape[1:])
        return jax.make_array_from_single_device_arrays(shape, self.row_sharding, list(rows))

    @property
    def _key(self) -> Any:
        return type(self).by, self.devices


class Logical(View):
    """A shared value as one array: reads one device's row, writes all rows."""

    __slots__ = ("home", "storage")

    def __init__(self, storage: AnyCell, home: DistinctDevices, index: int):
        aval = jax.ShapeDtypeStruct(storage.aval.shape[1:], storage.aval.dtype)
        read = functools.partial(home.own, index=index)
        super().__init__(storage, read, lambda _, v: home.share(v), aval)
        self.storage, self.home = storage, home


class SingleDevice(OneContext):
    """One context of a module: one sharding of all arguments of its programs.

    Args:
        context: where nodes without a group run.
        groups: contexts of the groups of ``group2ctx``.
        places: contexts of variables, by name, where groups are on other devices.
    """

    def __init__(
        self,
        context: Context,
        groups: Mapping[str, Context] | None = None,
        places: ContextsByName | None = None,
    ):
        super().__init__(context, groups)
        self._places = (places or {}) if self.model_parallel else {}
        self.sharding = SingleDeviceSharding(self.device)

    def at(self, name: str) -> SingleDevice:
        return SingleDevice(self._places[name]) if name in self._places else self


def replicas_for(contexts: Sequence[Context]) -> Placement | None:
    """The placement for contexts with equal slices; ``None`` if some of them share a device."""
    if len(contexts) == 1:
        return SingleDevice(contexts[0])
    devices = [c.jax_device for c in contexts]
    if len(set(devices)) == 1:
        return SameDevice(contexts)
    return DistinctDevices(contexts) if len(set(devices)) == len(devices) else None
