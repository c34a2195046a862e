"""``mx.kv.create``: a store from its name."""

from __future__ import annotations

from modkit.errors import NotSupportedError, ParameterError, nearest
from modkit.kvstore.base import KVStoreBase
from modkit.kvstore.local import KVStore

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

    Differs: nobody's name is an error; MXNet takes any unknown word for ``"local"``.
    """
    if not isinstance(name, str):
        raise ParameterError(f"kv.create: got {name!r}, expected a string such as 'local'")
    lower = name.lower()
    if lower in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[lower]()
    if lower in _LOCAL:
        return KVStore(lower)
    for start, instead in _INSTEAD.items():
        if lower.startswith(start):
            raise NotSupportedError(f"kv.create: no store {name!r}; {instead}")
    known = [*_LOCAL, *KVStoreBase.kv_registry]
    raise ParameterError(
        f"kv.create: no store {name!r}.{nearest(lower, known)} Known: {', '.join(known)}"
    )
