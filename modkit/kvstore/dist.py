"""The store of several processes: keyed arrays, summed over devices and workers."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from modkit.errors import DistributedError
from modkit.files import atomic_write
from modkit.kvstore.local import Key, KVStore
from modkit.kvstore.workers import Workers, connect
from modkit.ndarray import NDArray, from_jax, zeros
from modkit.ndarray.cell import x64_for


class DistKVStore(KVStore):
    """Keyed arrays that are equal in all workers. Made by ``mx.kv.create("dist_sync")``.

    Every worker makes the same calls in the same order: a push waits for that of each other one.
    Pushed values are summed over all workers; with an optimizer, each worker makes the same update
    of its copy, so that every pull returns it.

    Args:
        name: ``dist_sync``, ``dist``, ``dist_device_sync`` or ``dist_sync_device``.

    Raises:
        NotReadyError: no launcher has started this process.
        DistributedError: the other workers do not answer in time.
    """

    def __init__(self, name: str = "dist_sync"):
        super().__init__(name)
        self._workers = connect()
        self._check_equal("the store's name", name)

    @property
    def workers(self) -> Workers:
        """The processes."""
        return self._workers

    @property
    def rank(self) -> int:
        """Number of this worker, from 0 on."""
        return self._workers.rank

    @property
    def num_workers(self) -> int:
        """Number of workers."""
        return self._workers.size

    def init(self, key: Any, value: Any) -> None:
        """Initialize keys with the values of worker 0; see `KVStore.init`."""
        before = set(self._stored)
        super().init(key, value)
        for k in [k for k in self._stored if k not in before]:
            stored = self._stored[k]
            self._check_equal(f"key {k!r}: shape and type", f"{stored.shape} {stored.dtype}")
            first = stored if self.rank == 0 else zeros(stored.shape, stored.ctx, stored.dtype)
            stored._set(self._over_workers(first))

    def adopt(self, key: Any, array: NDArray) -> None:
        """Store this array itself, with the value of worker 0."""
        array._set(self._stored[key])
        super().adopt(key, array)

    def total(self, key: Key, values: list[NDArray]) -> NDArray:
        """The sum over devices and workers, which is dense."""
        return self.compressed_sum(key, values)

    def compressed_sum(self, key: Key, values: list[NDArray]) -> NDArray:
        """The sum over devices and workers; each worker compresses its own sum."""
        if self._compressor is None:
            return self._over_workers(super().compressed_sum(key, values))
        compressor, self._compressor = self._compressor, None
        try:
            own = super().compressed_sum(key, values)
        finally:
            self._compressor = compressor
        return self._over_workers(from_jax(compressor(key, 0, own._cell.peek()), own.ctx))

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

    def _check_equal(self, what: str, text: str) -> None:
        """Check that a text is that of every worker.

        Raises:
            DistributedError: it differs.
        """
        content = np.frombuffer(text.encode()[:256].ljust(256, b"\0"), np.uint8).astype(np.int32)
        device = jax.local_devices(backend="cpu")[0]
        total, squares = self._workers.sum(
            [jax.device_put(content, device), jax.device_put(content**2, device)]
        )
        # n·Σx² = (Σx)² exactly where all x are equal.
        if not np.array_equal(self.num_workers * np.asarray(squares), np.asarray(total) ** 2):
            raise DistributedError(
                f"kvstore: {what}: got {text!r} in worker {self.rank}, and another in some worker; "
                "all workers have to run the same program"
            )
