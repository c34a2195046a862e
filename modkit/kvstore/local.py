"""The store of one process: keyed arrays, summed over its devices."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, cast

import jax
import numpy as np

from modkit import fork
from modkit.context import Context, cpu
from modkit.errors import (
    NameNotFoundError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    expect,
)
from modkit.files import atomic_write, parse_file
from modkit.kvstore.base import KVStoreBase
from modkit.kvstore.compression import SMALL, Compressor, make_compression
from modkit.kvstore.keys import pairs
from modkit.kvstore.workers import Workers
from modkit.ndarray import NDArray, RowSparseNDArray, add_n, from_jax, row_sparse_array
from modkit.ndarray.sparse_updates import rows_at
from modkit.ndarray.sparse_views import dense_view
from modkit.ndarray.storage import new_cell, x64_for
from modkit.ops.stype import DENSE, ROWS
from modkit.optimizer import Optimizer, get_updater
from modkit.signals import DeferredReads

Key = int | str


class KVStore(KVStoreBase):
    """Keyed arrays in one process. Made by ``mx.kv.create``.

    Pushed values are summed. With an updater, ``updater(key, sum, stored)`` updates the stored
    value; without one, the sum replaces it.

    Args:
        name: ``"local"`` sums on the CPU, ``"device"`` on the device of the first value.
    """

    def __init__(self, name: str = "local"):
        self._type = name
        self._stored: dict[Key, NDArray] = {}
        self._updater: Callable[[Any, NDArray, NDArray], Any] | None = None
        self._compressor: Compressor | None = None
        self._turn = fork.lock()

    @property
    def type(self) -> str:
        return self._type

    @property
    def workers(self) -> Workers | None:
        """The processes of a distributed store."""
        return None

    @property
    def rank(self) -> int:
        """Number of this worker, from 0 on."""
        return 0 if self.workers is None else self.workers.rank

    @property
    def num_workers(self) -> int:
        return 1 if self.workers is None else self.workers.size

    @staticmethod
    def is_capable(capability: str) -> bool:
        expect(capability.lower() == KVStoreBase.OPTIMIZER, "is_capable", capability, "'optimizer'")
        return True

    # ── Values ──────────────────────────────────────────────────────────────────────────────

    def init(self, key: Any, value: Any) -> None:
        """Initialize keys with values; each key once.

        Args:
            key: an integer or a string, or a list of them.
            value: an NDArray, or a list of them.

        Raises:
            ParameterError: a key exists already or has several values, or keys are both integers
                and strings; then no key is stored.
        """
        new: dict[Any, NDArray] = {}
        for k, values in pairs("kvstore.init", key, value):
            self._check_kind(k, next(iter(self._stored or new), k))
            if k in self._stored or k in new:
                raise ParameterError(
                    f"kvstore.init: key {k!r} is initialised twice; init or broadcast it only once"
                )
            if len(values) > 1:
                raise ParameterError(
                    f"kvstore.init: key {k!r} is initialised twice: got {len(values)} values, "
                    "expected one, with which all devices begin"
                )
            copy = values[0]._as_dense().copy()
            by_rows = values[0].stype == ROWS  # updaters see the type; updates are in place
            new[k] = dense_view(copy._cell, copy.ctx) if by_rows else copy
        self._stored.update(new)

    def adopt(self, key: Any, array: NDArray) -> None:
        """Store this array itself under a key that has been initialised.

        So a module and the store share parameters.
        """
        self._stored[key] = array

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sum the values of each key, and update or replace the stored value.

        Args:
            key: a key, or a list of keys.
            value: an NDArray or a list of them to be summed; for a list of keys, a list of these.
            priority: Ignored: JAX orders the work.

        Raises:
            NameNotFoundError: a key that was not initialised.
            ShapeError: a value of another shape than the stored one; then no key is pushed.
        """
        operator.index(priority)
        given = pairs("kvstore.push", key, value)
        with self._turn:  # an updater reads and writes: none of another thread is lost
            for k, values in given:
                stored = self._at("push", k)
                for each in values:
                    self._check_shape("push", k, each, stored)
            restored = self._compressor.restored_on_error() if self._compressor else nullcontext([])
            with restored as applied:
                totals = [(k, self.total(k, values)) for k, values in given]
                for k, total in totals:
                    self._store(k, total)
                    applied.append(k)

    def _store(self, key: Key, total: NDArray) -> None:
        """Update or replace the stored value by the sum of one key."""
        stored = self._stored[key]
        if self._on_device:
            stored = self._stored[key] = stored.as_in_context(total.ctx)
        if self._updater is None:
            self._replace(stored, total)
        else:
            named = key.encode() if isinstance(key, str) else key  # as MXNet's updaters have it
            self._updater(named, total.as_in_context(stored.ctx), stored)

    def _replace(self, stored: NDArray, total: NDArray) -> None:
        """Store a sum, in a store without an updater."""
        stored._set(total)

    def pull(
        self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Write the stored value to ``out``, each array on its own device.

        Args:
            key: a key, or a list of keys.
            out: an NDArray or a list of them; for a list of keys, a list of these.
            priority: Ignored: JAX orders the work.
            ignore_sparse: leave sparse arrays in ``out`` as they are.

        Raises:
            NameNotFoundError: a key that was not initialised.
            ShapeError: an array of another shape than the stored value; then none is written.
        """
        operator.index(priority)
        if out is None:
            raise ParameterError("kvstore.pull: got out=None, expected arrays to write to")
        for stored, each in self._targets("pull", key, out, ignore_sparse):
            each._set(stored)

    def _targets(
        self, what: str, key: Any, out: Any, ignore_sparse: bool = True
    ) -> list[tuple[NDArray, NDArray]]:
        """The stored values and the arrays in ``out`` that get them, all of which fit."""
        found = []
        for k, outs in pairs(f"kvstore.{what}", key, out):
            stored = self._at(what, k)
            for each in outs:
                if each.stype == DENSE or not ignore_sparse:
                    self._check_shape(what, k, each, stored)
                    found.append((stored, each))
        return found

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """`push`, then `pull` to ``out``, or to the values themselves where it is ``None``."""
        if out is not None:
            self._targets("pushpull", key, out)  # those that do not fit are refused before the push
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """`init`, then `pull` to ``out``, whose arrays that do not fit are refused before."""
        given = dict(pairs("kvstore.broadcast", key, value))
        for k, outs in pairs("kvstore.broadcast", key, out):
            for each in outs:
                self._check_shape("broadcast", k, each, given[k][0])
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(
        self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None
    ) -> None:
        """Write some rows of the stored value to row-sparse arrays.

        Args:
            key: a key, or a list of keys.
            out: a RowSparseNDArray or a list of them; for a list of keys, a list of these.
            priority: Ignored: JAX orders the work.
            row_ids: numbers of the rows, in any order: an NDArray for all of ``out``, or a list
                with one for each; for a list of keys, a list of these.

        Raises:
            NameNotFoundError: a key that was not initialised.
            ParameterError: an array in ``out`` is not row-sparse, or a row does not exist.

        Differs: a key may have been initialised with a dense array; MXNet raises an error then.
        """
        operator.index(priority)
        if out is None or row_ids is None:
            raise ParameterError("kvstore.row_sparse_pull: got no out or no row_ids, expected both")
        pairs("kvstore.row_sparse_pull", key, out)
        many = isinstance(key, list | tuple)
        each_key = zip(key, out, strict=True) if many else [(key, out)]
        targets = [(k, target) for k, outs in each_key for target in _flat(outs)]
        rows = _flat(row_ids)
        if len(rows) not in (1, len(targets)):
            raise ParameterError(
                f"kvstore.row_sparse_pull: got {len(rows)} row_ids for {len(targets)} arrays"
            )
        wanted = []
        for i, (k, target) in enumerate(targets):
            stored = self._at("row_sparse_pull", k)
            self._check_shape("row_sparse_pull", k, target, stored)
            wanted.append(_rows_of(k, stored, target, rows[i % len(rows)]))
        for (_, target), found in zip(targets, wanted, strict=True):
            cast(RowSparseNDArray, target)._take_rows(found)

    def _at(self, what: str, key: Key) -> NDArray:
        self._check_kind(key, next(iter(self._stored), key))
        if key not in self._stored:
            known = ", ".join(repr(k) for k in list(self._stored)[:10]) or "none"
            raise NameNotFoundError(
                f"kvstore.{what}: key {key!r} was not initialised; call init or broadcast first. "
                f"Known keys: {known}"
            )
        return self._stored[key]

    def _check_kind(self, key: Key, first: Key) -> None:
        if isinstance(first, str) != isinstance(key, str):
            raise ParameterError(
                f"kvstore: got key {key!r}, but its keys are of type {type(first).__name__}; "
                "all keys of a store are integers, or all are strings"
            )

    def _check_shape(self, what: str, key: Key, value: NDArray, stored: NDArray) -> None:
        if value.shape != stored.shape:
            raise ShapeError(
                f"kvstore.{what}: key {key!r}: got shape {value.shape}, expected {stored.shape}, "
                "the shape it was initialised with"
            )

    # ── Sums ────────────────────────────────────────────────────────────────────────────────

    def total(self, key: Key, values: list[NDArray]) -> NDArray:
        """The sum of the values; of row-sparse ones, row-sparse.

        Raises:
            NotSupportedError: they are row-sparse, and compression is set.

        Differs: row-sparse values with compression raise an error. MXNet 1.9.1 compresses them, but
        adds residuals of one row to another.
        """
        if {v.stype for v in values} != {ROWS}:
            return self.compressed_sum(key, values)
        self._refuse_compression(key)
        return self._sum_of_rows(values)

    def _refuse_compression(self, key: Key) -> None:
        """Raise where row-sparse values would be compressed."""
        if self._compressor is not None:
            raise NotSupportedError(
                f"kvstore.push: key {key!r} has row-sparse values, which are not compressed; "
                "push dense arrays, or leave compression out"
            )

    def _sum_of_rows(self, values: list[NDArray]) -> NDArray:
        """The sum of row-sparse values: it has the rows of all of them."""
        return add_n(*values) if len(values) > 1 else values[0]

    def compressed_sum(self, key: Key, values: list[NDArray]) -> NDArray:
        """The sum of the values, each compressed first if compression is set.

        Residuals are kept by key and index in the list.
        """
        if self._compressor is None:
            return self._plain_sum(values)
        cells = [v._as_dense()._cell for v in values]
        arrays = [
            c.unmoved() if v.size <= SMALL else c.peek() for c, v in zip(cells, values, strict=True)
        ]
        sent = [self._compressor(key, i, a) for i, a in enumerate(arrays)]
        each = [NDArray(new_cell(a, v.ctx), v.ctx) for a, v in zip(sent, values, strict=True)]
        return self._plain_sum(each)

    def _plain_sum(self, values: list[NDArray]) -> NDArray:
        """The sum of the values, as a dense array."""
        home = self._home(values[0].ctx)
        dense = [v._as_dense().detach() for v in values]  # off the tape
        if all(v.ctx == home and v.dtype == dense[0].dtype for v in dense):
            if len(dense) > 1:
                return add_n(*dense)
            return NDArray(new_cell(dense[0]._cell.unmoved(), home), home)
        arrays = [v._cell.peek() for v in dense]
        device = home.jax_device
        with DeferredReads(), x64_for(*(a.dtype for a in arrays)):
            moved = [jax.device_put(a, device) for a in arrays]
            return from_jax(_sum(moved) if len(moved) > 1 else moved[0], home)

    @property
    def _on_device(self) -> bool:
        """Whether values are summed on their own device."""
        return "device" in self._type or self._type == "nccl"

    def _home(self, ctx: Context) -> Context:
        """The device on which values from ``ctx`` are summed."""
        return ctx if self._on_device or ctx.device_type == "cpu" else cpu(0)

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Compress the values pushed from now on.

        Args:
            compression_params: ``{"type": "2bit", "threshold": 0.5}``, or ``{"type": "none"}``.

        Raises:
            NotSupportedError: this kind of store does not compress; ``"device"`` does.
            ParameterError: an unknown type or parameter.
        """
        compression = make_compression(compression_params)
        if compression is not None and not self._on_device:
            raise NotSupportedError(
                f"set_gradient_compression: a store of type {self._type!r} does not compress; "
                "use kvstore='device'"
            )
        self._compressor = None if compression is None else Compressor(compression)

    # ── The optimizer ───────────────────────────────────────────────────────────────────────

    def set_optimizer(self, optimizer: Any) -> None:
        """Update the stored values with an optimizer from now on; ParameterError if it is none."""
        expected = "an Optimizer; make one with mx.optimizer.create"
        expect(isinstance(optimizer, Optimizer), "kvstore.set_optimizer", optimizer, expected)
        self._set_updater(get_updater(optimizer))

    def set_updater(self, updater: Callable[[Any, NDArray, NDArray], Any]) -> None:
        """Call ``updater(key, sum, stored)`` at each push from now on; it changes ``stored``.

        Keys that are strings come as bytes, as in MXNet.
        """
        self._updater = updater

    _set_updater = set_updater

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer to a file that MXNet reads too.

        Raises:
            NotReadyError: there is no optimizer.
        """
        states = self._optimizer_updater("save_optimizer_states").get_states(dump_optimizer)
        with atomic_write(fname) as file:
            file.write(states)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the optimizer from a file.

        Raises:
            NotReadyError: there is no optimizer.
            FileFormatError: the file holds no states.
        """
        parse_file(fname, self._optimizer_updater("load_optimizer_states").set_states)

    def _optimizer_updater(self, what: str) -> Any:
        if not hasattr(self._updater, "get_states"):
            raise NotReadyError(f"kvstore.{what}() needs set_optimizer(...) first")
        return self._updater

    # ── Other workers ───────────────────────────────────────────────────────────────────────

    def barrier(self) -> None:
        """Return at once: there is one worker."""

    _barrier = barrier

    def _send_command_to_servers(self, head: int, body: str) -> None:
        """Do nothing: there are no servers."""


def _flat(arrays: Any) -> list[Any]:
    """The arrays in lists, which can be nested."""
    if not isinstance(arrays, list | tuple):
        return [arrays]
    return [array for part in arrays for array in _flat(part)]


def _rows_of(key: Key, stored: NDArray, target: NDArray, row_ids: Any) -> RowSparseNDArray:
    """The requested rows, unique and sorted."""
    where = f"kvstore.row_sparse_pull: key {key!r}"
    if target.stype != ROWS:
        raise ParameterError(
            f"{where}: got out of storage type {target.stype!r}, expected 'row_sparse'; "
            "pull() writes to dense arrays"
        )
    rows = np.unique(np.asarray(row_ids).astype(np.int64))
    if rows.size and not 0 <= rows[0] <= rows[-1] < stored.shape[0]:
        raise ParameterError(f"{where}: got rows {rows[0]} to {rows[-1]} of {stored.shape[0]}")
    values = rows_at(stored, rows)
    if isinstance(stored, RowSparseNDArray) and not values.any() and not stored.indices.size:
        rows, values = rows[:0], values[:0]  # as `sparse.retain` of an array without rows
    return row_sparse_array((values, rows), stored.shape, target.ctx)


@jax.jit
def _sum(arrays: list[jax.Array]) -> jax.Array:
    return functools.reduce(operator.add, arrays)
