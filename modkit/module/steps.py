"""Steps of a training: its batches in chunks, each trained on by one program.

``fit(steps_per_call=K)`` trains on K batches by one call.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import jax

from modkit import engine, stream
from modkit.callback import Run
from modkit.constructors import check_at_least
from modkit.errors import NotReadyError, ParameterError, wrong
from modkit.io import DataBatch
from modkit.io.base import checked_iter
from modkit.kvstore import KVStore
from modkit.metric import EvalMetric
from modkit.module.binding import Binding
from modkit.module.data_batch import held
from modkit.module.module_optimizer import ModuleOptimizer
from modkit.module.split_batch import value_of
from modkit.ndarray.storage import accepted, settle, take_over
from modkit.optimizer.calls import Indices
from modkit.optimizer.rule_optimizer import shows_calls
from modkit.optimizer.updater import OWN_CALL
from modkit.signals import DeferredReads, DeferredSignals
from modkit.step.bound import Bound, Pass, StepPass, Update
from modkit.step.shards import FusedRule

CALLS = ("forward", "backward", "forward_backward", "update", "update_metric")
"""The methods that `fit` calls for a batch where `train_on` does not run it."""
_END = object()
_calls_of = operator.attrgetter(*CALLS)

UpdateRequest = tuple[Any, tuple[str, ...], tuple[Any, ...], FusedRule | None]
"""The result of `update_request`. A NamedTuple takes one more call in every batch."""

Sums = tuple[Sequence[Any], bool]
"""Statistics of each batch, for the metric, and whether they are those of several replicas."""


def steps_at_once(given: int | None, monitor: Any) -> int:
    """The number of batches of one program; a monitor sees each batch."""
    steps = engine.steps_per_call() if given is None else given
    steps = check_at_least("fit", "steps_per_call", steps, 1)
    return steps if monitor is None else 1


class Chunks:
    """The batches of an iterator: the ``first``, and from each the next one.

    The next chunk is read when the last batch of the present one has been trained on, since an
    iterator may reuse its arrays.

    Args:
        run: the training, whose batches are counted here; its position is noted before a chunk is
            read, where that is wanted.

    Raises:
        ParameterError: there is no batch.
    """

    def __init__(self, batches: Iterable[Any], size: int, run: Run):
        self._batches, self._size, self._run = checked_iter(batches, "fit: train_data"), size, run
        self._chunk: list[Any] = []
        self._place = 0
        self._sums: Sums | None = None
        self.first = self.next()
        if self.first is None:
            raise ParameterError(f"fit: train_data has no batch{_reason(run)}")
        run.restore_streams()

    def trained(self, module: Any, eval_metric: Any) -> bool:
        """Train on the whole chunk at its first batch; add each batch to the metric in its turn.

        Returns:
            ``False``, without training, if the batches have to run one by one, call by call.
        """
        self._run.chunk_end = self._place + 1 == len(self._chunk)
        if self._place == 0:
            self._sums = module._train_on(self._chunk, eval_metric)
        if self._sums is None:
            return False
        sums, stacked = self._sums
        eval_metric.absorb(sums[self._place], stacked=stacked)
        return True

    def next(self) -> Any:
        """Go on from the present batch, which has been trained on; ``None`` after the last."""
        self._place += 1
        if self._place < len(self._chunk):
            return self._chunk[self._place]
        if self._run.marking:
            self._run.mark()
        else:
            self._run.position = None
        self._place, self._chunk = 0, []
        while len(self._chunk) < self._size and (batch := next(self._batches, _END)) is not _END:
            if batch is None:
                raise wrong("fit: train_data: next()", None, "a DataBatch, or a StopIteration")
            # Several batches are copied, since iterators may reuse their arrays.
            self._chunk.append(held(batch) if self._size > 1 else batch)
        return self._chunk[0] if self._chunk else None

    def end(self, *, last: bool) -> None:
        """Count the batch that was trained on, and call the training's objects."""
        run = self._run
        run.batch, run.step, run.last_batch = run.batch + 1, run.step + 1, last
        for each in run.callbacks:
            if last or each._sleeps_until <= run.batch:
                each.on_batch_end(run)


def _reason(run: Run) -> str:
    """Why an epoch has no batch, as far as the iterator shows it."""
    data = run.train_data
    samples, size = getattr(data, "num_data", None), getattr(data, "batch_size", None)
    if samples == 0:
        return f": it has 0 samples, for batches of {size}"
    dropping = getattr(data, "last_batch_handle", None) == "discard"
    if dropping and isinstance(samples, int) and isinstance(size, int) and samples < size:
        return (
            f": its {samples} samples are fewer than a batch of {size}, which "
            "last_batch_handle='discard' drops"
        )
    if run.step:
        return f" in epoch {run.epoch}: its reset() has to go back to the first batch"
    return "; an iterator that was read to its end needs reset()"


def while_all_have(batches: Iterable[Any], run: Run) -> Iterable[Any]:
    """The batches, for as long as every worker of the training ``run`` has one.

    An epoch ends for all workers when the first of them has no batch left. What others have left
    is not trained on, since a step needs the gradients of all.
    """
    return batches if run.workers is None else _while_all(iter(batches), run)


def _while_all(batches: Iterator[Any], run: Run) -> Iterator[Any]:
    while run.all_have((batch := next(batches, _END)) is not _END):
        yield batch


def train_on(module: Any, batches: Sequence[Any], eval_metric: EvalMetric) -> Sums | None:
    """`BaseModule._train_on` of a Module: a pass with its update and metric, run at once."""
    # `overrides(module, Module, *CALLS)`, without its call in every batch.
    changed = _calls_of(type(module)) != module._calls
    if changed or not vars(module).keys().isdisjoint(CALLS) or module._state_names:
        return None
    group, (updater, names, indices, fused) = module._exec_group, update_request(module)
    binding, store, count = group.binding, group.store, len(module._data_names)
    metric = eval_metric.fused(binding.label_names, group.output_names)
    if fused is None or metric is None:
        return None
    own: ModuleOptimizer = module._module_optimizer
    found = _values_of(batches, binding, count)
    if found is None:
        return None
    turn = own.turn_within() if store.lock._is_owned() else own.lock
    with turn, store.lock, DeferredSignals():
        # Another thread may have bound anew, or stored the parameters another way.
        if group.binding is not binding or binding.apart is not store.apart:
            return None
        inputs = _fed(group, batches, found, count)
        if not inputs:
            return None
        if not module._order_seen and batches[0].provide_data:
            module._check_order(batches[0], "forward: data_batch")
            module._order_seen = True
        bound = binding.bounds[0]
        module._copies, module._params_dirty, module._lacks_labels = None, True, False
        # First what may be refused, then what counts.
        if not bound.cotangents.only_losses:
            bound.cotangents.require([])
        states = states_of(group, own.shards, updater, names, indices)
        store.adopt(names, states, own.shards)
        optimizer = updater.optimizer
        if len(inputs) == 1:
            (data,), queued = inputs, ()
            table, key = optimizer.hyper(indices), bound.draw(fused)
        else:
            *queued, (data, table, key) = _queued(inputs, optimizer, indices, bound, fused)
        update = Update(names, fused, table, queued)
        sums = StepPass(bound, store, data, key, update).run(metric, binding.label_names)
    return sums if queued else [sums], len(module._context) > 1


def _queued(
    inputs: Sequence[Any], optimizer: Any, indices: Sequence[Any], bound: Bound, fused: FusedRule
) -> list[tuple[Any, Any, Any]]:
    """Inputs, hyperparameters and key data of several steps.

    If a schedule raises, update counts and the random stream are as before.
    """
    position = stream.position()
    try:
        with optimizer._uncounted_on_error():
            return [(data, optimizer.hyper(indices), bound.draw(fused)) for data in inputs]
    except BaseException:
        stream.move_to(position)
        raise


def join_update(module: Any, one_pass: Pass, request: UpdateRequest) -> bool:
    """Fuse an update into a pass of the last batch, under the store's lock; false if impossible."""
    updater, names, indices, fused = request
    group, store = module._exec_group, module._exec_group.store
    with DeferredReads():  # else a signal handler runs the pass without the update
        if fused is None or not one_pass.can_update():
            return False
        shards = module._module_optimizer.shards
        store.adopt(names, states_of(group, shards, updater, names, indices), shards)
        one_pass.join(Update(names, fused, updater.optimizer.hyper(indices)))
        module._joined = one_pass
        if not module._waits_for_metric:
            one_pass.run()
        return True


def _values_of(
    batches: Sequence[Any], binding: Binding, count: int
) -> list[list[Any] | None] | None:
    """The arrays of each batch; ``None`` for one of which an array has to be converted.

    Arrays that are pending are computed here, without a lock: see `settle`.

    Args:
        count: number of data arrays of each that the module reads.

    Returns:
        ``None`` where no program runs all of a step, a monitor shows its inside, or a batch is of
        another type or without data.
    """
    executors = binding.executors  # most often there are none, and no call
    if not binding.can_queue or (executors and any(e._monitor is not None for e in executors)):
        return None
    found: list[list[Any] | None] = []
    for batch in batches:
        if not isinstance(batch, DataBatch) or not batch.data:
            return None
        labels = (batch.label or ()) if binding.label_names else ()
        arrays = (*batch.data[:count], *labels)
        values = accepted(binding.input_cells, arrays)
        if values is None:
            settle(arrays)
        found.append(values)
    return found


def _fed(
    group: Any, batches: Sequence[Any], found: Sequence[list[Any] | None], count: int
) -> list[dict[str, Any]] | None:
    """Arrays of batches for the program of a step, by name of the input; see `_values_of`.

    ``None`` if a batch has other shapes than those that are bound.
    """
    binding = group.binding
    local, inputs = binding.bounds[0].arrays.local, []
    for batch, values in zip(batches, found, strict=True):
        if values is not None:
            take_over(binding.input_cells, values)
            if len(values) == len(local):
                inputs.append(dict(zip(binding.axes, values, strict=True)))
                continue
        else:
            data, label = batch.data[:count], (batch.label or ()) if binding.label_names else ()
            if not group.takes(data, label):
                return None
            group.load(list(map(value_of, data)), binding.data_shapes)
            group.load(list(map(value_of, label)), binding.label_shapes or ())
        inputs.append({name: cell.for_program() for name, cell in local.items()})
    return inputs


def update_request(module: Any) -> UpdateRequest:
    """The update of a module's batch, with its present optimizer and settings.

    Returns:
        The updater; names of the parameters that it updates; the indices by which it knows them;
        and its rule for the program of a step, ``None`` if the updater runs apart.
    """
    own: ModuleOptimizer = module._module_optimizer
    group, kvstore, shards = module._exec_group, own.kvstore, own.shards
    if group.store.apart is not own.apart:
        _refuse_storage(own.apart)
    names, indices = group.trained, group.indices
    by_key = own.update_on_kvstore
    # Not `present_updater`: a call less in every batch.
    updater = kvstore._updater if by_key else own.updater
    optimizer = getattr(updater, "optimizer", own.optimizer)
    frozen = optimizer._frozen_names
    if frozen:
        kept = [at for at, name in enumerate(names) if name not in frozen]
        names, indices = tuple(names[at] for at in kept), tuple(indices[at] for at in kept)
    own_store = kvstore is None or isinstance(kvstore, KVStore)
    compressor = getattr(kvstore, "_compressor", None)
    fuses = own_store and type(updater).__call__ is OWN_CALL and compressor is None
    indices = names if by_key else indices
    if fuses and False in map(updater.states_synced.get, indices):
        with group.store.lock:  # loaded states, on which the rule may depend
            states_of(group, shards, updater, names, indices)
    rule = optimizer.tree_rule(names) if fuses else None
    if shows_calls(optimizer):
        indices = Indices.divided(indices, group.weights_of(names), optimizer, bool(by_key))
    workers = own.workers
    if workers is not None and workers.size == 1 and shards is None:
        workers = None  # one worker runs the step of a single process, which donates
    fused = None if rule is None else FusedRule(rule, workers, shards)
    return updater, names, indices, fused


def states_of(
    group: Any,
    shards: Any,
    updater: Any,
    names: Sequence[str],
    indices: Sequence[Any],
    weights: Any = None,
) -> list[Any]:
    """Optimizer states in the order of the names; created or checked at their first use."""
    if not all(map(updater.states_synced.get, indices)):
        for index, weight in zip(indices, weights or group.weights_of(names), strict=True):
            state = updater.ensure_state(index, weight)
            if shards is not None:  # one by one: no device has room for all of them
                for each in jax.tree.leaves(state):
                    shards.place(each)
    return list(map(updater.states.get, indices))


def _refuse_storage(is_apart: bool) -> NoReturn:
    """Raise NotReadyError: the parameters are not stored as a module updates them."""
    own, other = ("apart", "as one") if is_apart else ("as one", "apart")
    raise NotReadyError(
        f"update: with its kvstore the module trains the parameters of its contexts {own}, but "
        f"they are kept {other} since init_optimizer() of a module that shares them; call "
        "init_optimizer(kvstore=..., force_init=True) again, so that both modules have a store "
        "or neither has"
    )
