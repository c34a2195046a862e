"""Stores from their names: ``mx.kv.create``, and the store of a module."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping
from typing import Any

from modkit.errors import NotSupportedError, ParameterError, expect, nearest, wrong
from modkit.kvstore.base import KVStoreBase
from modkit.kvstore.dist import DistKVStore
from modkit.kvstore.local import KVStore

_LOCAL = (
    "local",
    "device",
    "nccl",
    "local_update_cpu",
    "local_allreduce_cpu",
    "local_allreduce_device",
)
_DISTRIBUTED = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device")
_INSTEAD = {
    "dist_async": "workers that do not wait for each other need servers of parameters, and use "
    "stale gradients: use 'dist_sync'",
    "dist_device_async": "use 'dist_device_sync'",
    "horovod": "use 'device': the sum over devices is part of the compiled step",
    "byteps": "use 'device': the sum over devices is part of the compiled step",
}
_log = logging.getLogger(__name__)
_LARGE = 16 * 1024 * 1024
"""Number of elements above which a ``local`` store does not update a parameter."""


def create(name: str = "local") -> KVStoreBase:
    """A store.

    Args:
        name: ``"local"`` sums on the CPU, ``"device"`` (or ``"nccl"``) on the values' devices,
            ``"dist_sync"`` over processes too; or the name of a registered class. Any other word
            without ``dist`` in it counts as ``"local"``, as in MXNet, and is warned of.

    Raises:
        ParameterError: ``name`` is not a string, or an unknown name with ``dist`` in it.
        NotSupportedError: a store of MXNet's that modkit does not have.
        NotReadyError: a distributed store, and no launcher has started this process.

    Differs: ``"horovod"`` and ``"byteps"`` are errors; MXNet takes them for ``"local"`` where
        these packages are not imported.
    """
    expect(isinstance(name, str), "kv.create", name, "a string such as 'local'")
    lower = name.lower()
    if lower in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[lower]()
    if lower in _LOCAL:
        return KVStore(lower)
    if lower in _DISTRIBUTED:
        return DistKVStore(lower)
    for start, instead in _INSTEAD.items():
        if lower.startswith(start):
            raise NotSupportedError(f"kv.create: no store {name!r}; {instead}")
    known = [*_LOCAL, *_DISTRIBUTED, *KVStoreBase.kv_registry]
    problem = f"no store {name!r}.{nearest(lower, known)} Known: {', '.join(known)}"
    if "dist" in lower:
        raise ParameterError(f"kv.create: {problem}")
    _log.warning("kv.create: 'local' is used, as there is %s", problem)
    return KVStore(lower)


def _updates_on_kvstore() -> bool:
    text = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1")
    try:
        return bool(int(text))
    except ValueError:
        raise wrong("MXNET_UPDATE_ON_KVSTORE", text, "0 or 1") from None


def create_kvstore(
    kvstore: Any, num_device: int, arg_params: Mapping[str, Any]
) -> tuple[Any, bool]:
    """The store that a module uses, and whether the store runs the optimizer.

    Returns:
        ``None`` if there is nothing to sum: one device, and no ``dist`` in the name.
    """
    on_kvstore = _updates_on_kvstore()
    if kvstore is None:
        return None, False
    if isinstance(kvstore, KVStoreBase):
        return kvstore, on_kvstore and kvstore.is_capable("optimizer")
    expect(isinstance(kvstore, str), "kvstore", kvstore, "a KVStore, a name or None")
    made = create(kvstore)
    if num_device == 1 and "dist" not in kvstore.lower():
        return None, False
    largest = max((math.prod(p.shape) for p in arg_params.values()), default=0)
    if kvstore.lower() == "local" and largest > _LARGE:
        on_kvstore = False
    return made, on_kvstore and made.is_capable("optimizer")
