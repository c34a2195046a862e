"""A graph bound to arrays, and its deferred forward and backward passes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from modkit import fork, profiler, stream
from modkit.errors import NotReadyError
from modkit.ndarray.host_programs import may_run, placed_tree, run_on_host
from modkit.ndarray.storage import Cell, LateCell, needs_x64, under_way, x64_scope
from modkit.ops.custom import CallbackError
from modkit.ops.sparse_values import plain_parts
from modkit.signals import DeferredReads, DeferredSignals
from modkit.step.across_workers import AcrossWorkers
from modkit.step.bound_arrays import BoundArrays
from modkit.step.cotangents import Cotangents
from modkit.step.fused import Metric, StepPlan, step_program, steps_program
from modkit.step.node_taps import take_taps
from modkit.step.placement import Placement
from modkit.step.programs import Programs, programs_for
from modkit.step.segments import SegmentedPrograms, segmented_for
from modkit.step.shards import FusedRule
from modkit.step.store import LOST, Arrays, Slot, Store, TrainState
from modkit.symbol.lower import Lowered


class Bound:
    """A lowered graph with its placement, its cells by name, and the ``out_avals`` of outputs.

    Attributes:
        cotangents: what ``backward`` needs of outputs that are no losses.
        by_numpy: whether NumPy may run passes, while their shapes are new and their work small.
        guard: the lock of passes, with the scope of 64-bit types where they are in the graph.
        lent: a weak reference to the graph as it was given; modules, executors and waiting passes
            hold it, see `Lowered.lend`.
        watched: whether passes keep what monitors show (`Pass.watched_values`): a graph that calls
            Python must not run a second time for them.
    """

    def __init__(
        self, lowered: Lowered, placement: Placement, arrays: BoundArrays, out_avals: Sequence[Any]
    ):
        # Weak, as a cycle of this and its `last` would keep it.
        self.lent, self.lowered = weakref.ref(lowered), lowered.base
        self.placement: Any = placement  # the module's placements can do more than the protocol
        self.arrays, self.out_avals = arrays, list(out_avals)
        cells, store = (*arrays.inputs, *arrays.grads.values()), arrays.store
        # The store of an executor's arrays runs passes that read them, under its own lock. (Arrays
        # of two modules in one executor have the lock of the first.)
        roots = (c.root for c in cells) if store is None else ()
        stores = (store, *(r.store for r in roots if isinstance(r, Slot)))
        self.lock = next((s.lock for s in stores if s is not None), None) or fork.lock()
        self.by_numpy = store is None and may_run(lowered, placement, cells)
        context = placement.contexts[0]
        arrays.outputs = [
            LateCell.awaited(a, context) if self.by_numpy else Cell.promised(a) for a in out_avals
        ]
        self.last: Pass | None = None
        self.watched = False
        self.cotangents = Cotangents(lowered.base, arrays.wrt)
        kinds = (*(c.aval.dtype for c in arrays.inputs), *(a.dtype for a in out_avals))
        self.has_x64 = lowered.needs_x64 or needs_x64(*kinds)
        self.guard = WideLock(self.lock) if self.has_x64 else self.lock
        self.latest_step = LatestStep(self.lowered, arrays.wrt, self.placement)

    def programs(self, train: bool) -> Programs | SegmentedPrograms:
        """The programs of the graph, shared with every equal graph."""
        made = segmented_for if self.placement.model_parallel else programs_for
        return made(self.lowered, self.arrays.wrt, train, self.placement)

    def draw(self, fused: FusedRule | None = None) -> np.ndarray:
        """Key data for a pass; of the random stream if the graph, or an update, reads them."""
        if self.lowered.takes_key or (fused is not None and fused.rule.takes_key):
            return stream.draw(self.lowered.streams)
        return stream.UNUSED

    def forward(self, train: bool) -> Pass:
        """Begin a pass over the present values; its results are computed when they are read."""
        with self.lock:
            if self.last is not None and self.lowered.on_host:
                self.last.run()  # Python code sees each pass, read or not
            # A handler that reads an output here would run the pass before all cells wait for it.
            with DeferredReads():
                self.last = Pass(self, train)
            if self.arrays.eager and self.last.writes_aux:
                self.last.run()
            return self.last

    def awaits_backward(self) -> bool:
        """Whether the latest forward pass can have a backward pass, and none is requested."""
        last = self.last
        if last is None or last.wants_gradients or not last.train:
            return False
        return last.kept is not None if last.settled else bool(self.arrays.wrt)

    def watch(self, on: bool) -> None:
        """Record the arrays that monitors show, if the graph calls Python on one device."""
        self.watched = on and self.lowered.on_host and not self.placement.model_parallel

    def backward(self, heads: Sequence[Any] | None = None) -> None:
        """Request gradients of the last pass, computed when read; NotReadyError before any pass."""
        with self.lock:  # a thread that binds anew holds it until it has begun a pass
            if self.last is None:
                raise NotReadyError("backward() needs forward(is_train=True) first")
            if self.last.wants_gradients:
                self.last.run()
            if self.last.must_repeat():
                if not self.arrays.wrt:
                    return
                if not self.last.settled:
                    self.last.run()
                self.last = RepeatedPass(self, self.last)
            with DeferredReads():
                self.last.want_gradients(heads)
            if self.arrays.eager:
                self.last.run()


class LatestStep:
    """The latest step of a graph: its program and its hyperparameters, which the next one has too.

    Attributes:
        decides: the rule, the metric and the names of its labels, of which the program is made.
    """

    def __init__(self, lowered: Lowered, wrt: tuple[str, ...], placement: Any):
        self._graph, self._placement = (lowered, wrt), placement
        self.decides: Any = None
        self.program: Any = None
        self._given: np.ndarray | None = None
        self._table: Any = None  # the latest one given, or its copy on the device

    def plan(self, fused: FusedRule, metric: Metric | None, labels: tuple[str, ...]) -> StepPlan:
        """The cache key of the program of a step."""
        rule, workers, shards = fused
        own = self._placement
        placement = own if workers is None else AcrossWorkers(own, workers)
        return StepPlan(*self._graph, placement, rule, metric, labels, shards)

    def change(
        self, fused: FusedRule, metric: Metric | None, labels: tuple[str, ...]
    ) -> Callable[..., Any]:
        """The program of another step, which is the latest one from now on."""
        program = step_program(self.plan(fused, metric, labels))
        self.decides, self.program = (fused, metric, labels), program
        return program

    def numbers(self, table: np.ndarray) -> Any:
        """The hyperparameters of a step; on the device once a table comes again."""
        if table is not self._given or table.flags.writeable:
            self._given = self._table = table
        elif self._table is table:
            self._table = self._placement.numbers(table)
        return self._table


class WideLock:
    """A lock that is held together with JAX's enable_x64 scope; a thread may nest it."""

    def __init__(self, lock: Any):
        self._lock = lock
        self._scopes: list[Any] = []  # those entered by the thread that holds the lock

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            scope = x64_scope(enabled=True)
            scope.__enter__()
            self._scopes.append(scope)
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *exc: object) -> None:
        try:
            self._scopes.pop().__exit__(*exc)
        finally:
            self._lock.release()


class Update(NamedTuple):
    """An optimizer update fused into the program of a pass.

    Attributes:
        names: the parameters, in the order of the rows of ``hyper``.
        fused: the optimizer's rule.
        hyper: hyperparameters that change from step to step.
        queued: data, hyperparameters and key data of earlier batches of the same program.
    """

    names: tuple[str, ...]
    fused: FusedRule
    hyper: Any
    queued: Sequence[tuple[Arrays, Any, Any]] = ()


class Pass:
    """A deferred forward pass, with an optional backward pass and update.

    It runs at the first read of a result, as one program for all that was requested until then:
    forward; forward and backward; or these with the update and a metric. If an output is read
    before ``backward``, one program returns residuals, and a second one computes gradients.

    Attributes:
        shared, local, aux, key_data: the inputs; see `modkit.step.programs.Programs`.
        heads: cotangents of the outputs; ``None`` for losses.
        old: gradients to add to, by name (``grad_req="add"``).
        writes_aux: whether auxiliary states are results: in training, and where Python code writes
            them.
        settled: whether it holds no inputs: its forward pass has run or failed, or an interrupt
            ended its construction.
        watched_values: outputs and inputs of nodes, if the graph is ``watched``.
        seen_gradients: gradients of these inputs, by `modkit.step.node_taps.NodeInput`.
        kept: residuals and outputs for backward passes; ``kept_from``: the arguments then, which
            it does not keep alive.
        pulled: whether gradients have been computed from ``kept``.
    """

    settled = True
    wants_gradients = watched = False
    heads: Any = None
    update: Update | None = None
    pulled = False
    kept: Any = None
    kept_from: Any = None
    watched_values: Any = None
    seen_gradients: Any = None
    _params_before: Arrays | None = None

    def __init__(self, bound: Bound, train: bool):
        self.watched = bound.watched
        self._read(bound, train, bound.draw(), train or bool(bound.lowered.host_aux))
        arrays = bound.arrays
        for cell, aval in zip(arrays.outputs, bound.out_avals, strict=True):
            cell.wait_for(self, aval)
        if self.writes_aux:
            arrays.await_states(self, arrays.own.aux)

    def _read(self, bound: Bound, train: bool, key_data: Any, writes_aux: bool) -> None:
        """Take the present values."""
        self.bound, self.train, self.key_data = bound, train, key_data
        self.writes_aux, self.old, self._lent = writes_aux, {}, bound.lent()
        store = bound.arrays.store
        if store is None:
            under_way.add(self)
        self.shared, self.local, self.aux = bound.arrays.snapshot(self, on_host=bound.by_numpy)
        if store is not None:
            self._params_before = store.state.params
        self.settled = False

    @property
    def unfinished(self) -> bool:
        """Whether a requested part has not run."""
        return not self.settled or (self.wants_gradients and self.kept is not None)

    # ── Requests ────────────────────────────────────────────────────────────────────────────

    def want_gradients(self, heads: Sequence[Any] | None) -> None:
        """Request gradients, which are computed when they are read."""
        bound, arrays = self.bound, self.bound.arrays
        self.heads = heads
        self.old = {n: arrays.grads[n].get() for n in arrays.summed}
        if self.settled and self.writes_aux and bound.lowered.host_aux:
            # A separate backward pass writes states, too.
            own = arrays.own.aux
            self.aux = {n: own[n].get() for n in bound.lowered.host_aux if n in own}
            arrays.await_states(self, self.aux)
        arrays.await_gradients(self)
        self.wants_gradients, self._lent = True, bound.lent()

    def can_update(self) -> bool:
        """Whether an update can still be fused into the program.

        It can if no result of this pass has been read, and no gradient and no parameter written
        since it began: the store then holds the same parameter dictionary.
        """
        store = self.bound.arrays.store
        return (
            store is not None
            and not self.settled
            and self.train
            and self.wants_gradients
            and self.heads is None
            and self.update is None
            and store.work.get("grads") is self
            and store.state.params is self._params_before
        )

    def must_repeat(self) -> bool:
        """Whether the next gradients need another pass, over the present values.

        Those of a second backward pass do, and those of a forward pass that did not train. They
        are the same whether a result has been read before or not.
        """
        if self.settled:
            return self.kept is None or (self.pulled and self._is_past(self.kept_from))
        own, store = self.bound.arrays.own.aux, self.bound.arrays.store
        return not self.train and (
            self._is_past(self._arguments())
            or not all(cell.holds(self.aux[name]) for name, cell in own.items())
            or (
                store is not None
                and any(store.state.aux[n] is not self.aux[n] for n in self.aux if n not in own)
            )
        )

    def _arguments(self) -> dict[str, Callable[[], Any]]:
        """The values of arguments when the pass began, by weak references to arrays."""
        return {n: _reference(v) for n, v in (*self.shared.items(), *self.local.items())}

    def _is_past(self, seen: Mapping[str, Callable[[], Any]]) -> bool:
        """Whether an argument has been written since it had these values."""
        cells = {**self.bound.arrays.shared, **self.bound.arrays.local}
        return any((value := seen[n]()) is None or c.version() is not value
                   for n, c in cells.items())  # fmt: skip

    def join(self, update: Update) -> None:
        """Fuse the update into the program: all fields of the store wait for it."""
        arrays = self.bound.arrays
        if arrays.store is not None:
            self.update = update
            if self.key_data is stream.UNUSED:
                self.key_data = self.bound.draw(update.fused)
            arrays.store.await_work(dict.fromkeys(TrainState._fields, self), arrays.wrt)

    # ── Running ─────────────────────────────────────────────────────────────────────────────

    def run(self, metric: Metric | None = None, labels: Sequence[str] = ()) -> Any:
        """Compute the requested results, and release the inputs; once run, do nothing.

        Args:
            metric: result of ``EvalMetric.fused``, to be fused into a program with an update.

        Returns:
            The metric's sums; a list of them, one a batch, if some were queued. ``None`` if the
            pass has run.
        """
        with self.bound.guard:
            store = self.bound.arrays.store
            try:
                if (
                    store is not None
                    and self.update is not None
                    and store.work.get("params") is self
                ):
                    with DeferredSignals():
                        return self._run_step(store, self.update, metric, tuple(labels))
                with DeferredReads():  # of what is being computed
                    self._run_without_update()
                return None
            except Exception as error:
                lost = store is not None and self.update is not None and store.is_lost()
                if lost:
                    error.add_note(LOST)
                if lost or metric is None or isinstance(error, CallbackError):  # not the metric's
                    self.give_up()
                    raise
                failure = error
            try:  # outside of `except`: an error of the step has no second one as its context
                self.run()  # the metric may have failed: run the step without it
                raise failure
            finally:
                del failure  # its frames hold failed results

    def can_score(self) -> bool:
        """Whether a metric can still be fused into a forward pass of inference."""
        plain = not (self.train or self.settled or self.wants_gradients)
        return plain and not self.bound.placement.model_parallel

    def score(self, metric: Metric, labels: Sequence[str]) -> Any:
        """Run the forward pass and a metric as one program; the metric's sums.

        ``None`` if the pass has run: a signal handler has read an output.
        """
        with self.bound.guard, DeferredReads():
            if self.settled:
                return None
            try:
                programs: Any = self.bound.programs(False)  # of one device's graph: `can_score`
                program = programs.scored(metric, tuple(labels))
                inputs = (self.shared, self.local, self.aux, self.key_data)
                *made, sums = self._timed("forward", program, *inputs)
            except CallbackError:
                self.give_up()
                raise
            except Exception:  # the metric may have failed: run without it
                self.run()
                raise
            self._finish(*made)
            return sums

    def _run_without_update(self) -> None:
        """Run forward and backward without an update, or the part that has not run."""
        programs = self.bound.programs(self.train)
        inputs = (self.shared, self.local, self.aux, self.key_data)
        if self.settled:
            if self.wants_gradients and self.kept is not None:
                pullback, outputs = self.kept
                grads = self._run_one(
                    "backward", programs.backward, pullback, outputs, self.heads, self.old
                )
                self.pulled = True
                if self.watched:
                    self.seen_gradients = take_taps(self.bound.lowered, grads)
                self._finish([], self.bound.lowered.take_states(grads), grads)
        elif self.wants_gradients and not self.watched:
            self._finish(
                *self._run_one(
                    "forward_backward", programs.forward_backward, *inputs, self.heads, self.old
                )
            )
        elif self.watched or (self.train and self.bound.arrays.wrt):
            of_one: Any = programs  # watched graphs are of one device: `Bound.watch`
            program = of_one.watched if self.watched else programs.forward_kept
            outputs, changed, pullback, *seen = self._run_one("forward", program, *inputs)
            self.watched_values = seen[0] if seen else None
            if pullback is not None:
                self.kept, self.kept_from = (pullback, outputs), self._arguments()
            self._finish(outputs, changed)
        else:
            program = programs.predicting(inputs)
            self._finish(*self._run_one("forward", program, *inputs)[:2])

    def _timed(self, kind: str, run: Callable[..., Any], *args: Any) -> Any:
        """Results of a program; a row of the profiler, named by its kind and first output."""
        if "programs" not in profiler.aggregated:
            return run(*args)
        name = f"{kind} {self.bound.lowered.output_names[0]}"
        return profiler.timed(name, lambda: run(*args))

    def _run_one(self, kind: str, program: Callable[..., Any], *args: Any) -> Any:
        """Run a program: by NumPy while its signature is new and its work small, else by XLA."""
        if not self.bound.by_numpy:
            return self._timed(kind, program, *args)
        return self._timed(kind, self._run_by_numpy, program, args)

    def _run_by_numpy(self, program: Callable[..., Any], args: Sequence[Any]) -> Any:
        made = run_on_host(program, args, self.bound.has_x64)
        return program(*self.placed(*args)) if made is None else made

    def placed(self, *args: Any) -> Sequence[Any]:
        """Arguments of a compiled program, on the device; those that cells hold stay there."""
        bound = self.bound
        if not bound.by_numpy:
            return args
        device = bound.placement.device
        arrays = bound.arrays
        for cells, values in ((arrays.local, self.local), (arrays.aux, self.aux)):
            for name, value in values.items():
                if isinstance(value, np.ndarray) and cells[name].holds(value):
                    values[name] = cells[name].peek()
        return [a if a is self.key_data else placed_tree(a, device) for a in args]

    def _run_step(self, store: Store, update: Update, metric: Any, labels: tuple[str, ...]) -> Any:
        """Run forward, backward and update as one program, and replace the store's state.

        Signals are deferred: inputs are donated, so results must be stored.
        """
        if self.settled:  # a signal handler has run it
            return None
        bound = self.bound
        step, decides = bound.latest_step, (update.fused, metric, labels)
        params, optimizer = store.donated(self, update.names)
        fixed = self.shared
        fixed = {} if len(fixed) == len(params) else {n: fixed[n] for n in fixed if n not in params}
        if update.queued:
            batches = [*update.queued, (self.local, update.hyper, self.key_data)]
            data, hyper, key_data = zip(*batches, strict=True)
            program = steps_program(step.plan(*decides))
            key_data, hyper = np.stack(key_data), np.stack(hyper)
        else:
            data = self.local
            program = step.program if step.decides == decides else step.change(*decides)
            if update.fused.workers is not None:  # whose arrays have equal shapes
                data = {n: plain_parts(value, bound.placement.count) for n, value in data.items()}
            key_data, hyper = self.key_data, step.numbers(update.hyper)
        inputs = params, optimizer, fixed, data, self.aux, self.old, key_data, hyper
        # Without a profiler there are no further calls.
        made = self._timed("step", program, *inputs) if profiler.aggregated else program(*inputs)
        self._finish(made.outputs, made.changed, made.grads, made.params, made.optimizer)
        return made.sums

    def _finish(
        self, outputs: Sequence[jax.Array], changed: Arrays, grads: Arrays | None = None,
        params: Arrays | None = None, optimizer: Arrays | None = None,
    ) -> None:  # fmt: skip
        """Write results to what still waits for them, and release the inputs."""
        arrays = self.bound.arrays
        own, store = arrays.own, arrays.store
        rest = changed.keys() - arrays.aux.keys()
        if store is not None:
            aux = changed if self.writes_aux else {}
            aux = {n: v for n, v in aux.items() if n not in rest} if rest else aux
            found = grads or {}
            if own.grads:
                found = {n: v for n, v in found.items() if n not in own.grads}
            if params is None or optimizer is None:
                store.commit(self, aux, found)
            else:
                store.replace(params, optimizer, aux, found)
        elif self.writes_aux:
            for name, value in {**self.aux, **changed}.items():
                if name in own.aux:
                    own.aux[name].fill(self, value)
        if grads is not None:
            if own.grads:
                arrays.fill_gradients(self, grads)
            self.wants_gradients = False
        for name in rest:
            seen = self.shared.get(name, self.local.get(name))
            arrays.write_argument(name, changed[name], seen)
        if outputs:
            for cell, value in zip(arrays.outputs, outputs, strict=True):
                cell.fill(self, value)
        self._release()

    def _release(self) -> None:
        self.settled = True
        self.update = self._params_before = self._lent = None
        self.shared = self.local = self.aux = self.old = {}

    def give_up(self) -> None:
        """After a failure: restore the inputs, and make every cell stop waiting for this pass."""
        self.bound.arrays.restore(self, self.aux if self.writes_aux else {}, self.old)
        self.wants_gradients, self.kept = False, None
        self._release()


def _reference(value: Any) -> Callable[[], Any]:
    return weakref.ref(value) if isinstance(value, np.ndarray | jax.Array) else lambda: value


class RepeatedPass(Pass):
    """A pass over the present values for its gradients alone, with the key data of another."""

    def __init__(self, bound: Bound, before: Pass):
        self._read(bound, before.train, before.key_data, writes_aux=False)


class StepPass(Pass):
    """A pass over a batch with its gradients and update, which its maker runs at once."""

    train = writes_aux = wants_gradients = True

    def __init__(self, bound: Bound, store: Store, data: Arrays, key_data: Any, update: Update):
        arrays = bound.arrays
        self.bound, self.local, self.key_data, self.update = bound, data, key_data, update
        self.shared, self.aux = store.values(arrays.shared, arrays.aux)
        self.old, self.settled = {}, False
        for cell, aval in zip(arrays.outputs, bound.out_avals, strict=True):
            cell.wait_for(self, aval)
        for name in arrays.own_wrt:
            arrays.grads[name].wait_for(self, arrays.grads[name].aval)
        store.await_work(dict.fromkeys(TrainState._fields, self), arrays.wrt)
        bound.last = self
