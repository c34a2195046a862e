"""The interface of a store, and the table of stores."""

from __future__ import annotations

from typing import Any, ClassVar

from modkit.errors import NotSupportedError, expect


class KVStoreBase:
    """The interface of a store: keyed values, summed over devices.

    A subclass of your own, registered with `register`, is made by ``mx.kv.create`` from its
    lower-case name.
    """

    OPTIMIZER: ClassVar[str] = "optimizer"
    kv_registry: ClassVar[dict[str, type[KVStoreBase]]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type!r}>"

    @property
    def type(self) -> str:
        """The store's name."""
        return type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """Index of this worker."""
        raise self._missing("rank")

    @property
    def num_workers(self) -> int:
        """Number of workers."""
        raise self._missing("num_workers")

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Initialize ``key`` with the value of worker 0, and write it to every ``out``."""
        raise self._missing("broadcast(key, value, out, priority)")

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sum the values, and write the result to every ``out``."""
        raise self._missing("pushpull(key, value, out, priority)")

    def set_optimizer(self, optimizer: Any) -> None:
        """Update the stored values with this optimizer from now on."""
        raise self._missing("set_optimizer(optimizer)")

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the store's optimizer to a file."""
        raise self._missing("save_optimizer_states(fname, dump_optimizer)")

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the store's optimizer from a file."""
        raise self._missing("load_optimizer_states(fname)")

    @staticmethod
    def is_capable(capability: str) -> bool:
        """True if the store has the capability; ``"optimizer"`` is the only one known."""
        raise NotSupportedError(f"is_capable({capability!r}): this store does not say")

    @staticmethod
    def register(klass: type[KVStoreBase]) -> type[KVStoreBase]:
        """Register a class under its name, in lower case.

        Raises:
            ParameterError: it is no subclass of `KVStoreBase`.
        """
        is_store = isinstance(klass, type) and issubclass(klass, KVStoreBase)
        expect(is_store, "register", klass, "a subclass of KVStoreBase")
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass

    def _missing(self, what: str) -> NotSupportedError:
        return NotSupportedError(f"{type(self).__name__} has no {what}; its author has to write it")
