"""The update of a module: fused into the program of its batch, or after it by an updater."""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import jax

from modkit.errors import NotReadyError, NotSupportedError
from modkit.io import DataBatch
from modkit.kvstore import KVStore
from modkit.metric import EvalMetric
from modkit.module.data_checks import warn_of_no_gradients
from modkit.module.split_batch import value_of
from modkit.module.steps_per_call import Sums
from modkit.ndarray import NDArray
from modkit.ndarray.storage import accepted, take_over
from modkit.ops.stype import ROWS
from modkit.optimizer.update_rules import TreeRule
from modkit.signals import DeferredReads, DeferredSignals
from modkit.step.bound import Batch, Pass, Update
from modkit.step.shards import DistributedRule

CALLS = ("forward", "backward", "forward_backward", "update", "update_metric")
"""The methods that `fit` calls for a batch where `train_on` does not run it."""
_calls_of = operator.attrgetter(*CALLS)

Indices = tuple[str, ...] | tuple[int, ...]
UpdateRequest = tuple[Any, tuple[str, ...], Indices, TreeRule | DistributedRule | None]
"""The result of `update_request`. A NamedTuple takes one more call in every batch."""


def train_on(module: Any, batches: Sequence[Any], eval_metric: EvalMetric) -> Sums | None:
    """`BaseModule._train_on` of a Module: a pass with its update and metric, run at once."""
    own = _calls_of(type(module)) != module._calls or not vars(module).keys().isdisjoint(CALLS)
    if own or module._state_names:
        return None
    group, (updater, names, indices, rule) = module._exec_group, update_request(module)
    label_names = group.binding.label_names
    metric = eval_metric.fused(label_names, group.output_names)
    arrays = rule and metric and _inputs_of(group, batches, len(module._data_names))
    if not arrays:
        return None
    if not module._order_seen and batches[0].provide_data:
        module._check_order(batches[0], "forward: data_batch")
        module._order_seen = True
    bound, hyper = group.binding.bounds[0], updater.optimizer.hyper
    module._copies, module._lacks_labels = None, False
    # First what may be refused, then what counts.
    if not bound.only_losses:
        bound.require_heads([])
    keys, tables = map(bound.draw, itertools.repeat(rule)), map(hyper, itertools.repeat(indices))
    store = group.store
    with store.lock, DeferredReads():  # as in `Module.update`
        store.adopt(names, states_of(module, updater, names, indices), module._shards)
        *queued, last = map(Batch, arrays, keys, tables)
        update = Update(names, rule, last.hyper, queued)
        sums = Pass.of_step(bound, store, last, update).run(metric, label_names)
    return sums if queued else [sums], len(module._context) > 1


def join_update(module: Any, one_pass: Pass, request: UpdateRequest) -> bool:
    """Fuse an update into a pass of the last batch; false where it cannot be.

    Args:
        module: the module, whose store's lock is held.
        one_pass: the pass.
        request: the result of `update_request`.
    """
    updater, names, indices, rule = request
    store = module._exec_group.store
    with DeferredReads():  # else a signal handler runs the pass without the update
        if not one_pass.can_update():
            return False
        store.adopt(names, states_of(module, updater, names, indices), module._shards)
        one_pass.join(Update(names, rule, updater.optimizer.hyper(indices)))
        module._step = one_pass
        if not module._step_waits:
            one_pass.run()
        return True


def _inputs_of(group: Any, batches: Sequence[Any], count: int) -> list[dict[str, Any]] | None:
    """Arrays of batches for the program of a step, by name of the input.

    Args:
        group: the bound graph.
        batches: the batches.
        count: number of data arrays of each that the module reads.

    Returns:
        ``None`` where no program runs all of a step, a monitor shows its inside, or a batch has
        other shapes than those that are bound.
    """
    binding = group.binding
    if not binding.can_queue or group.bound_apart is not group.store.apart:
        return None
    for face in binding.faces:
        if face._monitor is not None:
            return None
    cells, local, found = binding.input_cells, binding.bounds[0].local, []
    for batch in batches:
        if not isinstance(batch, DataBatch) or not batch.data:
            return None
        data, label = batch.data[:count], (batch.label or ()) if binding.label_names else ()
        values = accepted(cells, (*data, *label))
        if values is not None:
            take_over(cells, values)
        elif group.takes(data, label):
            group.load(list(map(value_of, data)), binding.data_shapes)
            group.load(list(map(value_of, label)), binding.label_shapes or ())
        else:
            return None
        if values is not None and len(values) == len(local):
            found.append(dict(zip(binding.input_names, values, strict=True)))
        else:
            found.append({name: cell.for_program() for name, cell in local.items()})
    return found


def update_request(module: Any) -> UpdateRequest:
    """The update of a module's batch, with its present optimizer and settings.

    Returns:
        The updater; names of the parameters that it updates; the indices by which it knows them;
        and the rule that a program fuses, ``None`` if the updater runs apart.
    """
    group, kvstore, shards = module._exec_group, module._kvstore, module._shards
    if group.store.apart is not module._is_apart:
        _refuse_storage(module._is_apart)
    names, indices = group.trained, group.indices
    # Not `_present_updater`: a call less in every batch.
    updater = kvstore._updater if module._update_on_kvstore else module._updater
    frozen = getattr(updater, "optimizer", module._optimizer)._frozen
    if frozen:
        kept = [at for at, name in enumerate(names) if name not in frozen]
        names, indices = tuple(names[at] for at in kept), tuple(indices[at] for at in kept)
    # The updater's, which is another than ours once states with an optimizer were loaded.
    own_store = kvstore is None or isinstance(kvstore, KVStore)
    fuses = own_store and hasattr(updater, "optimizer") and not module._compression_params
    rule = updater.optimizer.tree_rule(names) if fuses else None
    workers = module._workers
    if workers is not None and workers.size == 1 and shards is None:
        workers = None  # one worker runs the step of a single process, which donates
    if rule is not None and (workers is not None or shards is not None):
        rule = DistributedRule(rule, workers, shards)
    return updater, names, names if module._update_on_kvstore else indices, rule


def states_of(
    module: Any, updater: Any, names: Sequence[str], indices: Sequence[Any], weights: Any = None
) -> list[Any]:
    """Optimizer states in the order of the names; created or checked at their first use."""
    if not all(map(updater.states_synced.get, indices)):
        weights = weights or module._exec_group.weights_of(names)
        for index, weight in zip(indices, weights, strict=True):
            state = updater.ensure_state(index, weight)
            if module._shards is not None:  # one by one: no device has room for all of them
                for each in jax.tree.leaves(state):
                    module._shards.place(each)
    return list(map(updater.states.get, indices))


def sums_of_own_store(module: Any, names: Sequence[str]) -> list[NDArray] | None:
    """The summed gradients, as a store of the user's own makes them; ``None`` without one.

    The lock of the parameters is not held: the store may run any code, and other threads.
    """
    group, store = module._exec_group, module._kvstore
    if store is None or isinstance(store, KVStore) or group.store.apart:
        return None
    return [_summed_by(store, n, group.gradients_of(n)) for n in names]


def update_unfused(
    module: Any,
    updater: Any,
    names: Sequence[str],
    indices: Sequence[Any],
    sums: list[NDArray] | None,
) -> None:
    """Update parameters with summed gradients; of contexts that train apart, each with its own.

    ``indices`` are what the updater calls the parameters; ``sums`` are `sums_of_own_store`.

    Raises:
        NotSupportedError: SyncBatchNorm over several workers, which needs the fused step.
    """
    group, store = module._exec_group, module._kvstore
    if module._workers is not None and _synchronizes(group.bounds[0].lowered):
        raise NotSupportedError(
            "update: SyncBatchNorm over several workers needs the fused step: read outputs and "
            "gradients after update(), and leave compression_params out; or give it ndev=1"
        )
    if not group.backed:
        warn_of_no_gradients(group)
    if group.store.apart:
        grads = [group.gradients_of(n) for n in names]
        calls = [
            ([i + k for i in indices], [each[k] for each in grads], group.weights_of(names, k))
            for k in range(len(group.contexts))
        ]
    else:
        if sums is not None:
            grads = sums
        elif store is not None and (module._compression_params or module._workers is not None):
            grads = [_compressed(store, n, group.gradients_of(n)) for n in names]
        else:
            grads = [group.summed_gradient(n) for n in names]
        calls = [(list(indices), grads, group.weights_of(names))]
    arrays = [weight for _, _, weights in calls for weight in weights]
    if hasattr(updater, "states_synced"):
        states = [states_of(module, updater, names, at, weights) for at, _, weights in calls]
        arrays += [each for each in jax.tree.leaves(states) if isinstance(each, NDArray)]
    with _rolled_back_on_error(arrays):  # if it raises, nothing changes
        for call in calls:
            updater(*call)


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


def _summed_by(kvstore: Any, name: str, grads: list[NDArray]) -> NDArray:
    """The sum as a store of the user's own makes it, over its processes too."""
    kvstore.pushpull(name, grads, out=grads)
    return grads[0]


def _compressed(kvstore: Any, name: str, grads: Sequence[NDArray]) -> NDArray:
    """The sum of compressed gradients, as the store makes it."""
    if {grad.stype for grad in grads} == {ROWS}:
        return kvstore._sum_of_rows(list(grads))
    return kvstore.compressed_sum(name, list(grads))


def _refuse_storage(is_apart: bool) -> NoReturn:
    """Raise NotReadyError: the parameters are not stored as a module updates them."""
    own, other = ("apart", "as one") if is_apart else ("as one", "apart")
    raise NotReadyError(
        f"update: with its kvstore the module trains the parameters of its contexts {own}, but "
        f"they are kept {other} since init_optimizer() of a module that shares them; call "
        "init_optimizer(kvstore=..., force_init=True) again, so that both modules have a store "
        "or neither has"
    )
