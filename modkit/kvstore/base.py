"""The interface of a store, the table of stores, and ``mx.kv.create``."""

from __future__ import annotations

from typing import Any, ClassVar

from modkit.errors import NotSupportedError, ParameterError, nearest


class KVStoreBase:
    """What every store has: keyed values, summed over devices.

    A subclass of your own, registered with `register`, is made by ``mx.kv.create`` from its
    lower-case name.
    """

    OPTIMIZER: ClassVar[str] = "optimizer"
    kv_registry: ClassVar[dict[str, type[KVStoreBase]]] = {}

    @property
    def type(self) -> str:
        """The store's name."""
        return type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """Which of the workers this is."""
        raise self._missing("rank")

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        raise self._missing("num_workers")

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Start ``key`` with the value of worker 0, and write it to every ``out``."""
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
        """Whether the store can do this; ``"optimizer"`` is the only question known."""
        raise NotSupportedError(f"is_capable({capability!r}): this store does not say")

    @staticmethod
    def register(klass: type[KVStoreBase]) -> type[KVStoreBase]:
        """Register a class under its name, in lower case.

        Raises:
            ParameterError: it is no subclass of `KVStoreBase`.
        """
        if not (isinstance(klass, type) and issubclass(klass, KVStoreBase)):
            raise ParameterError(f"register: got {klass!r}, expected a subclass of KVStoreBase")
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass

    def _missing(self, what: str) -> NotSupportedError:
        return NotSupportedError(f"{type(self).__name__} has no {what}; its author has to write it")


_LOCAL = (
    "local",
    "device",
    "nccl",
    "local_update_cpu",
    "local_allreduce_cpu",
    "local_allreduce_device",
)
_INSTEAD = {
    "dist": "run one process with all its devices and 'device', or sum over processes yourself "
    "with a store of your own (KVStoreBase.register)",
    "horovod": "use 'device': the sum over devices is part of the compiled step",
    "byteps": "use 'device': the sum over devices is part of the compiled step",
    "p3": "use 'device'",
}


def create(name: str = "local") -> KVStoreBase:
    """A store.

    Args:
        name: ``"local"`` sums on the CPU, ``"device"`` (or ``"nccl"``) on the values' devices; or
            the name of a registered class.

    Raises:
        ParameterError: ``name`` is no string, or nobody's name.
        NotSupportedError: a store of MXNet's that modkit does not have.
    """
    if not isinstance(name, str):
        raise ParameterError(f"kv.create: got {name!r}, expected a string such as 'local'")
    lower = name.lower()
    if lower in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[lower]()
    if lower in _LOCAL:
        return KVStoreBase.kv_registry["kvstore"](lower)  # type: ignore[call-arg]
    for start, instead in _INSTEAD.items():
        if lower.startswith(start):
            raise NotSupportedError(f"kv.create: no store {name!r}; {instead}")
    known = [*_LOCAL, *(n for n in KVStoreBase.kv_registry if n != "kvstore")]
    raise ParameterError(
        f"kv.create: no store {name!r}.{nearest(lower, known)} Known: {', '.join(known)}"
    )
