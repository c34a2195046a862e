"""The update of a module that runs after its batch, by an updater."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from modkit.errors import NotSupportedError
from modkit.kvstore import KVStore
from modkit.module.data_checks import warn_of_no_gradients
from modkit.module.module_optimizer import ModuleOptimizer
from modkit.module.steps import UpdateRequest, states_of
from modkit.ndarray import NDArray
from modkit.ops.stype import ROWS
from modkit.optimizer.calls import Indices
from modkit.optimizer.updater import OWN_CALL
from modkit.signals import DeferredSignals


def sums_of_own_store(group: Any, store: Any, request: UpdateRequest) -> list[NDArray] | None:
    """The summed gradients, as a store of the user's own makes them; ``None`` without one.

    The lock of the parameters is not held: the store may run any code, and other threads.
    """
    if store is None or isinstance(store, KVStore) or group.store.apart:
        return None
    made = []
    for name in request[1]:
        grads = group.gradients_of(name)
        store.pushpull(name, grads, out=grads)  # over its processes too
        made.append(grads[0])
    return made


def update_unfused(
    group: Any, own: ModuleOptimizer, request: UpdateRequest, sums: list[NDArray] | None
) -> None:
    """Update parameters with summed gradients; of contexts that train apart, each with its own.

    ``sums`` are `sums_of_own_store`.

    Raises:
        NotSupportedError: SyncBatchNorm over several workers, which needs the fused step.
    """
    updater, names, indices, _ = request
    store = own.kvstore
    if own.workers is not None and _synchronizes(group.bounds[0].lowered):
        raise NotSupportedError(
            "update: SyncBatchNorm over several workers needs the fused step: read outputs and "
            "gradients after update(), and leave compression_params out; or give it ndev=1"
        )
    if not group.backed:
        warn_of_no_gradients(group)
    optimizer = own.present
    lists = type(updater).__call__ is OWN_CALL and optimizer.whole_lists
    with contextlib.ExitStack() as undo:  # if it raises, nothing changes
        if isinstance(store, KVStore) and store._compressor is not None:
            undo.enter_context(store._compressor.restored_on_error())
        calls = _updater_calls(group, own, names, indices, sums)
        arrays = [weight for _, _, weights in calls for weight in weights]
        if hasattr(updater, "states_synced"):
            states = [
                states_of(group, own.shards, updater, names, at, weights)
                for at, _, weights in calls
            ]
            arrays += [each for each in jax.tree.leaves(states) if isinstance(each, NDArray)]
        undo.enter_context(_rolled_back_on_error(arrays))
        undo.enter_context(optimizer._uncounted_on_error())
        for call in calls:
            if own.update_on_kvstore and not lists:
                for name, grad, weight in zip(*call, strict=True):
                    updater(name.encode(), grad, weight)  # by a key of bytes, as in MXNet
            else:
                updater(*call)


def _updater_calls(
    group: Any,
    own: ModuleOptimizer,
    names: Sequence[str],
    indices: Sequence[Any],
    sums: list[NDArray] | None,
) -> list[tuple[Sequence[Any], list[NDArray], list[NDArray]]]:
    """Indices, gradients and weights of the updater's call, or of one for each replica.

    The latter where replicas train apart.
    """
    store = own.kvstore
    if group.store.apart:
        grads = [group.gradients_of(n) for n in names]
        return [
            ([i + k for i in indices], [each[k] for each in grads], group.weights_of(names, k))
            for k in range(len(group.contexts))
        ]
    if sums is not None:
        grads = sums
    elif store is not None and (own.compresses or own.workers is not None):
        grads = [_compressed(store, n, group.gradients_of(n)) for n in names]
    else:
        grads = [group.summed_gradient(n) for n in names]
    some = indices if isinstance(indices, Indices) else list(indices)
    return [(some, grads, group.weights_of(names))]


@contextlib.contextmanager
def _rolled_back_on_error(arrays: Sequence[NDArray]) -> Iterator[None]:
    """A block after which all arrays are written or, if it raises, none.

    Args:
        arrays: the arrays that the block writes without donating their buffers.
    """
    before = [(array, array._cell.peek()) for array in arrays]
    try:
        yield
    except BaseException:
        with DeferredSignals():
            for array, value in before:
                if not array._cell.holds(value):
                    array._cell.set(value, aliased=True)
        raise


def _synchronizes(lowered: Any) -> bool:
    """Whether a graph has statistics of all replicas together."""
    steps = (step for step in lowered.steps if step.op is not None)
    return any(s.op.name == "_contrib_SyncBatchNorm" and s.attrs["ndev"] > 1 for s in steps)


def _compressed(kvstore: Any, name: str, grads: Sequence[NDArray]) -> NDArray:
    """The sum of compressed gradients, as the store makes it."""
    if {grad.stype for grad in grads} == {ROWS}:
        return kvstore._sum_of_rows(list(grads))
    return kvstore.compressed_sum(name, list(grads))
