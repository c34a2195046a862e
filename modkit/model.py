"""Checkpoints, and how a module gets its KVStore."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from modkit import kvstore as kvstores
from modkit.checkpoint import load_checkpoint as load_checkpoint
from modkit.checkpoint import load_params as load_params
from modkit.checkpoint import save_checkpoint as save_checkpoint
from modkit.errors import ParameterError


class BatchEndParam(NamedTuple):
    """What a batch callback is told.

    ``locals`` holds by name what the loop knows: of ``fit`` its arguments, ``data_batch``,
    ``end_of_batch`` and ``tic``; of ``score`` also ``eval_batch`` and ``actual_num_batch``.
    """

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


BIG = 16 * 1024 * 1024
"""Elements of a parameter above which a ``local`` store does not update it."""


def create_kvstore(
    kvstore: Any, num_device: int, arg_params: Mapping[str, Any]
) -> tuple[Any, bool]:
    """The store that a module uses, and whether the store runs the optimizer.

    Args:
        kvstore: a KVStore, its name, or ``None``.
        num_device: how many contexts the module has.
        arg_params: its parameters.

    Returns:
        ``None`` where nothing needs summing: one device, and no name with ``dist`` in it.
    """
    on_kvstore = bool(int(os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1")))
    if kvstore is None:
        return None, False
    if isinstance(kvstore, kvstores.KVStoreBase):
        return kvstore, on_kvstore and kvstore.is_capable("optimizer")
    if not isinstance(kvstore, str):
        raise ParameterError(f"kvstore: got {kvstore!r}, expected a KVStore, a name or None")
    made = kvstores.create(kvstore)
    if num_device == 1 and "dist" not in kvstore:
        return None, False
    largest = max((math.prod(p.shape) for p in arg_params.values()), default=0)
    if kvstore == "local" and largest > BIG:
        on_kvstore = False
    return made, on_kvstore and made.is_capable("optimizer")


_create_kvstore = create_kvstore


def __getattr__(name: str) -> Any:
    if name == "FeedForward":
        # It is made of modules, which stand above this file.
        from modkit.module.feedforward import FeedForward

        return FeedForward
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
