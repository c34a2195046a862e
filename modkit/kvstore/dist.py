"""The store of several processes: keyed arrays, summed over devices and workers."""

from __future__ import annotations

from typing import Any, cast

import jax
import numpy as np

from modkit.errors import DTypeError
from modkit.files import atomic_write
from modkit.kvstore.check_equal import check_equal
from modkit.kvstore.keys import pairs
from modkit.kvstore.local import Key, KVStore
from modkit.kvstore.workers import Workers, connect
from modkit.ndarray import NDArray, RowSparseNDArray, from_jax, row_sparse_array, zeros
from modkit.ndarray.sparse_updates import write_rows
from modkit.ndarray.storage import x64_for
from modkit.ops.stype import ROWS


class DistKVStore(KVStore):
    """Keyed arrays that are equal in all workers. Made by ``mx.kv.create("dist_sync")``.

    Every worker makes the same calls in the same order: a push waits for the pushes of all others.
    Pushed values are summed over all workers; with an optimizer, each worker updates its copy with
    this sum, so that all copies stay equal. A key initialised with a row-sparse value keeps the
    rows that no worker pushes; a lazy optimizer updates the pushed rows only.

    Args:
        name: ``dist_sync``, ``dist``, ``dist_device_sync`` or ``dist_sync_device``.

    Raises:
        NotReadyError: no launcher has started this process.
        DistributedError: the other workers do not answer in time.
    """

    def __init__(self, name: str = "dist_sync"):
        super().__init__(name)
        self._workers = connect()
        self._by_rows: set[Key] = set()
        check_equal(self._workers, "kv.create", {"name": name})

    @property
    def workers(self) -> Workers:
        return self._workers

    def init(self, key: Any, value: Any) -> None:
        """Initialize keys with the values of worker 0; see `KVStore.init`."""
        before = set(self._stored)
        super().init(key, value)
        made = {k: stored for k, stored in self._stored.items() if k not in before}
        kinds = {k: values[0].stype for k, values in pairs("kvstore.init", key, value)}
        facts = {
            f"key {k!r}": f"shape {v.shape}, {v.dtype.__name__}, {kinds[k]}"
            for k, v in made.items()
        }
        check_equal(self._workers, "kvstore.init", facts)
        self._by_rows |= {k for k in made if kinds[k] == ROWS}
        for stored in made.values():
            first = stored if self.rank == 0 else zeros(stored.shape, stored.ctx, stored.dtype)
            stored._set(self._over_workers(first))

    def adopt(self, key: Any, array: NDArray) -> None:
        """Store this array itself, with the value of worker 0."""
        array._set(self._stored[key])
        super().adopt(key, array)

    def _check_shape(self, what: str, key: Key, value: NDArray, stored: NDArray) -> None:
        """Check the type too, of which the sums of all workers have to be."""
        super()._check_shape(what, key, value, stored)
        if what == "push" and value.dtype != stored.dtype:
            raise DTypeError(
                f"kvstore.push: key {key!r}: got {value.dtype.__name__}, expected "
                f"{stored.dtype.__name__}, the type it was initialised with; cast it by astype"
            )

    def total(self, key: Key, values: list[NDArray]) -> NDArray:
        """The sum over devices and workers; row-sparse for keys with row-sparse first values.

        Its rows are the union of those that the workers pushed.

        Raises:
            NotSupportedError: a row-sparse key, and compression is set.
        """
        if key not in self._by_rows:
            return self.compressed_sum(key, values)
        self._refuse_compression(key)
        if {v.stype for v in values} == {ROWS}:
            return self._sum_of_rows(values)
        own = self._plain_sum(values)
        return self._rows_over_workers(own, np.ones(own.shape[0], np.int32))

    def _sum_of_rows(self, values: list[NDArray]) -> NDArray:
        """The sum of row-sparse values of all workers."""
        own = cast(RowSparseNDArray, super()._sum_of_rows(values))
        pushed = np.zeros(own.shape[0], np.int32)
        pushed[own.indices.asnumpy()] = 1
        return self._rows_over_workers(own, pushed)

    def _rows_over_workers(self, own: NDArray, pushed: np.ndarray) -> NDArray:
        """The sum over workers; its rows are the union of theirs."""
        value = own._as_dense()._cell.peek()
        (device,) = value.devices()
        with x64_for(value.dtype):
            total, counts = self._workers.sum([value, jax.device_put(pushed, device)])
        rows = np.flatnonzero(np.asarray(counts))
        return row_sparse_array((np.asarray(total)[rows], rows), own.shape, own.ctx, own.dtype)

    def _replace(self, stored: NDArray, total: NDArray) -> None:
        """Store a sum; of a row-sparse one its rows, and the other rows stay.

        Differs: MXNet writes these rows to the positions from 0 on, whichever they are.
        """
        if not isinstance(total, RowSparseNDArray):
            stored._set(total)
        elif total.indices.size:
            write_rows(stored, total.indices.asnumpy(), total.data.asnumpy())

    def compressed_sum(self, key: Key, values: list[NDArray]) -> NDArray:
        """The sum over devices and workers; each worker compresses its own sum."""
        own = self._plain_sum(values)
        if self._compressor is not None:
            own = from_jax(self._compressor(key, 0, own._cell.peek()), own.ctx)
        return self._over_workers(own)

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer, in worker 0; see `KVStore.save_optimizer_states`."""
        states = self._optimizer_updater("save_optimizer_states").get_states(dump_optimizer)
        if self.rank == 0:  # the others have read theirs, since states in parts are gathered
            with atomic_write(fname) as file:
                file.write(states)
        self.barrier()

    def barrier(self) -> None:
        """Wait until every worker has called this."""
        self._workers.every(True)

    _barrier = barrier

    def _over_workers(self, array: NDArray) -> NDArray:
        value = array._cell.peek()
        with x64_for(value.dtype):
            (total,) = self._workers.sum([value])
        return from_jax(total, array.ctx)
