"""ModuleOptimizer: a module's optimizer, and the owners of its states and of gradients' sums."""

from __future__ import annotations

import contextlib
import logging
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax

from modkit import fork
from modkit.context import Context
from modkit.errors import NotReadyError, NotSupportedError
from modkit.files import atomic_write, parse_file
from modkit.kvstore import KVStore
from modkit.ndarray import NDArray
from modkit.signals import DeferredSignals
from modkit.step.replicas import DistinctDevices, Logical
from modkit.step.shards import Parts, Shards

_log = logging.getLogger(__name__)


class ModuleOptimizer(NamedTuple):
    """An optimizer, and the owners of its states and of gradients' sums.

    Modules that borrow it have the same value. `modkit.module.steps.update_request` reads it in
    every batch, field by field.

    Attributes:
        optimizer: the optimizer; that of the updater is another once states with one were loaded.
        kvstore: sums gradients; ``None`` on one device.
        update_on_kvstore: whether the store's updater holds the optimizer states.
        updater: holds them otherwise.
        shards: the division of the states over devices; ``None``: each device has them whole.
        workers: the processes over which gradients are summed; ``None`` where there is one.
        apart: whether each of several contexts trains parameters of its own.
        lock: held in an update, before the lock of a module's store: the states move from the
            store of one borrower to that of another.
    """

    optimizer: Any = None
    kvstore: Any = None
    update_on_kvstore: bool | None = None
    updater: Any = None
    shards: Shards | None = None
    workers: Any = None
    apart: bool = False
    lock: Any = fork.lock()

    def on(self, contexts: int) -> ModuleOptimizer:
        """The same for a module of so many contexts, which train apart without a store."""
        return self._replace(apart=self.kvstore is None and contexts > 1)

    @contextlib.contextmanager
    def turn_within(self) -> Iterator[None]:
        """The lock in a thread that holds the store's: in a handler that interrupts a read.

        Raises:
            NotReadyError: another thread holds it, which may wait for the store's.
        """
        with DeferredSignals():
            if not self.lock.acquire(blocking=False):
                raise NotReadyError(
                    "update() in a signal handler that interrupts a read or write of the module's "
                    "arrays, while another thread trains with this optimizer: each would wait for "
                    "the other; set a flag in the handler, and update where it is seen"
                )
            try:
                yield
            finally:
                self.lock.release()

    @property
    def compresses(self) -> bool:
        """Whether the store compresses the gradients that it sums."""
        return getattr(self.kvstore, "_compressor", None) is not None

    @property
    def present_updater(self) -> Any:
        """The holder of the states."""
        return self.kvstore._updater if self.update_on_kvstore else self.updater

    @property
    def present(self) -> Any:
        """The optimizer that updates the parameters."""
        return getattr(self.present_updater, "optimizer", self.optimizer)

    def sharded(self, home: Any) -> ModuleOptimizer:
        """The same with its states divided over all devices, if there are several.

        Raises:
            NotSupportedError: the update is not part of the program of a step on each device, or
                cannot be made of parts of arrays.
        """
        shards = Shards(home, self.workers)
        several = {c.jax_device for c in home.contexts}
        rule, why = self.optimizer.tree_rule(), None
        if home.model_parallel or (len(several) > 1 and not isinstance(home, DistinctDevices)):
            why = "the contexts do not run as equal replicas on a device each"
        elif self.compresses:
            why = "compression_params sum gradients before the update"
        elif self.kvstore is not None and not isinstance(self.kvstore, KVStore):
            why = f"the store {type(self.kvstore).__name__} sums gradients before the update"
        elif self.apart:
            why = "kvstore=None trains the parameters of each context apart"
        elif rule is None:
            why = f"{type(self.optimizer).__name__} updates by Python code"
        if why is not None:
            raise NotSupportedError(
                f"shard_optimizer_states: {why}, and parts are updated in the program of a step; "
                "leave shard_optimizer_states out"
            )
        shards.rule(rule)
        if shards.count == 1:
            return self
        _log.info("optimizer states: %d parts of each array, one on each device", shards.count)
        return self._replace(shards=shards)

    def save_states(self, fname: str) -> None:
        """Write the states to a file."""
        if self.update_on_kvstore:
            self.kvstore.save_optimizer_states(fname)
            return
        states = self.updater.get_states()
        with atomic_write(fname) as file:
            file.write(states)

    def load_states(self, fname: str) -> None:
        """Read the states from a file."""
        if self.update_on_kvstore:
            self.kvstore.load_optimizer_states(fname)
        else:
            parse_file(fname, self.updater.set_states)

    def state_bytes(self, contexts: Sequence[Context]) -> dict[Context, int]:
        """The bytes of the states on each of the devices."""
        found = dict.fromkeys(contexts, 0)
        states = jax.tree.leaves(getattr(self.present_updater, "states", {}))
        for state in filter(lambda each: isinstance(each, NDArray), states):
            cell = state._cell
            stored = cell.storage if isinstance(cell, Logical | Parts) else cell
            for shard in stored.seen(lambda value: value.addressable_shards):
                for ctx in found:
                    if ctx.jax_device == shard.device:
                        found[ctx] += shard.data.nbytes
        return found


def field_of_optimizer(name: str) -> Any:
    """A field of a module's `ModuleOptimizer` as an attribute of the module.

    Programs written for MXNet read and set it, those of subclasses before ``Module.__init__`` too.
    """
    read = operator.attrgetter(f"_module_optimizer.{name}")

    def write(module: Any, value: Any) -> None:
        module._module_optimizer = module._module_optimizer._replace(**{name: value})

    return property(read, write)
