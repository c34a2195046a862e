"""A graph bound to arrays, and its deferred forward and backward passes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from modkit import fork, profiler, stream
from modkit.errors import NotReadyError, ParameterError, ShapeError
from modkit.ndarray.host_programs import may_run, placed_tree, run_on_host
from modkit.ndarray.ndarray import NDArray
from modkit.ndarray.storage import AnyCell, Cell, LateCell, needs_x64, under_way, x64_scope
from modkit.ops.custom import CallbackError
from modkit.ops.sparse_values import plain, plain_parts, plus
from modkit.signals import DeferredReads, DeferredSignals
from modkit.step.across_workers import AcrossWorkers
from modkit.step.fused import Metric, StepInputs, StepPlan, step_program, steps_program
from modkit.step.node_taps import take_taps
from modkit.step.placement import Placement
from modkit.step.programs import Programs, programs_for
from modkit.step.segments import SegmentedPrograms, segmented_for
from modkit.step.shards import FusedRule
from modkit.step.store import LOST, Arrays, Slot, Store, TrainState
from modkit.symbol.lower import Lowered

Cells = dict[str, AnyCell]


def require_heads(names: Sequence[str], needed: Sequence[bool], given: Sequence[Any]) -> None:
    """See `Bound.require_heads`."""
    for i, name in enumerate(names):
        if needed[i] and (i >= len(given) or given[i] is None):
            raise ParameterError(
                f"backward: output {name!r} is not a loss, so backward() needs its gradient: "
                "pass out_grads, or end in a loss such as SoftmaxOutput or MakeLoss"
            )


class Bound:
    """A lowered graph with its placement, and its cells by name.

    Slots of ``store`` are read and written together, as fields of its state; other cells
    individually.

    Args:
        lowered: the graph.
        placement: devices and number of replicas.
        shared: arguments with one logical copy: parameters.
        local: arguments with a part for each replica: data and labels.
        aux: auxiliary states.
        grads: gradients of the arguments that have one.
        grad_req: ``"write"`` or ``"add"`` for each name in ``grads``.
        out_avals: shape and dtype of each output.
        store: the store of a module; ``None`` for an executor, whose cells belong to its user.

    Attributes:
        wrt: names of the differentiated arguments.
        adds: those whose gradients are added up.
        last: the latest pass.
        by_numpy: whether NumPy may run passes, while their shapes are new and their work small.
        eager: whether a pass runs at once, as an own cell cannot wait for it.
        own: the cells that are not slots of ``store``.
        guard: the lock of passes, with the scope of 64-bit types where they are in the graph.
        lent: a weak reference to the graph as it was given; modules, executors and waiting passes
            hold it, see `Lowered.lend`.
        watched: whether passes keep what monitors show (`Pass.watched_values`): a graph that calls
            Python must not run a second time for them.
    """

    def __init__(
        self,
        lowered: Lowered,
        placement: Placement,
        shared: Cells,
        local: Cells,
        aux: Cells,
        grads: Cells,
        grad_req: Mapping[str, str],
        out_avals: Sequence[Any],
        store: Store | None = None,
    ):
        # Weak, as a cycle of this and its `last` would keep it.
        self.lent, self.lowered = weakref.ref(lowered), lowered.base
        self.placement: Any = placement  # the module's placements can do more than the protocol
        self.shared, self.local, self.aux, self.grads = shared, local, aux, grads
        self.store = store
        self.adds = tuple(n for n in grads if grad_req[n] == "add")
        cells = (*shared.values(), *local.values(), *aux.values())
        # The store of an executor's arrays runs passes that read them, under its own lock. (Arrays
        # of two modules in one executor have the lock of the first.)
        roots = (c.root for c in (*cells, *grads.values())) if store is None else ()
        stores = (store, *(r.store for r in roots if isinstance(r, Slot)))
        self.lock = next((s.lock for s in stores if s is not None), None) or fork.lock()
        self.by_numpy = store is None and may_run(lowered, placement, (*cells, *grads.values()))
        home = placement.contexts[0]
        self.outputs: list[Cell] = [
            LateCell.awaited(a, home) if self.by_numpy else Cell.promised(a) for a in out_avals
        ]
        self.out_avals = list(out_avals)
        self.last: Pass | None = None
        self.watched = False
        self.wrt = tuple(n for n in grads if (shared.get(n) or local[n]).aval.dtype != np.bool_)
        # Arguments whose gradients are added to one array: the last of them stands for all.
        added = [n for n in self.wrt if n in self.adds]
        last = {id(grads[n]): n for n in added}
        self.joined = {n: last[id(grads[n])] for n in added if last[id(grads[n])] != n}
        self.needed_heads = lowered.needed_heads(self.wrt)
        self.only_losses = not any(self.needed_heads)
        self.own = OwnCells(*(self._own_cells(cells) for cells in (shared, aux, grads)))
        self.own_wrt = tuple(n for n in self.wrt if n in self.own.grads)
        self.eager = not all(c.waits for c in (*self.own.aux.values(), *self.own.grads.values()))
        kinds = (*(c.aval.dtype for c in cells), *(a.dtype for a in out_avals))
        self.has_x64 = lowered.needs_x64 or needs_x64(*kinds)
        self.guard = WideLock(self.lock) if self.has_x64 else self.lock
        self.latest: tuple[Any, Any] = (None, None)  # what decides the latest program, and it
        self._given: np.ndarray | None = None
        self._table: Any = None  # the latest one given, or its copy on the device

    def _own_cells(self, cells: Cells) -> Cells:
        """The cells that are not slots of the store."""
        return {
            n: c for n, c in cells.items() if not (isinstance(c, Slot) and c.store is self.store)
        }

    def programs(self, train: bool) -> Programs | SegmentedPrograms:
        """The programs of the graph, shared with every equal graph."""
        if self.placement.model_parallel:
            return segmented_for(self.lowered, self.wrt, train, self.placement)
        return programs_for(self.lowered, self.wrt, train, self.placement)

    def plan(self, fused: FusedRule, metric: Metric | None, labels: tuple[str, ...]) -> StepPlan:
        """The cache key of the program of a step."""
        rule, workers, shards = fused
        home = self.placement if workers is None else AcrossWorkers(self.placement, workers)
        return StepPlan(self.lowered, self.wrt, home, rule, metric, labels, shards)

    def step_program(
        self, fused: FusedRule, metric: Metric | None, labels: tuple[str, ...]
    ) -> Callable[..., Any]:
        """The program of a step, which is the latest one from now on."""
        program = step_program(self.plan(fused, metric, labels))
        self.latest = (fused, metric, labels), program
        return program

    def draw(self, fused: FusedRule | None = None) -> np.ndarray:
        """Key data for a pass; of the random stream if the graph, or an update, reads them."""
        if self.lowered.takes_key or (fused is not None and fused.rule.takes_key):
            return stream.draw(self.lowered.streams)
        return stream.UNUSED

    def numbers(self, table: np.ndarray) -> Any:
        """The hyperparameters of a step; on the device once a table comes again."""
        if table is not self._given or table.flags.writeable:
            self._given = self._table = table
        elif self._table is table:
            self._table = self.placement.numbers(table)
        return self._table

    def forward(self, train: bool) -> Pass:
        """Begin a pass over the present values; its results are computed when they are read."""
        with self.lock:
            # A handler that reads an output here would run the pass before all cells wait for it.
            with DeferredReads():
                self.last = Pass(self, train)
            if self.eager and self.last.writes_aux:
                self.last.run()
            return self.last

    def watch(self, on: bool) -> None:
        """Record the arrays that monitors show, if the graph calls Python on one device."""
        self.watched = on and self.lowered.on_host and not self.placement.model_parallel

    def require_heads(self, given: Sequence[Any]) -> None:
        """Check that a cotangent is given for every output through which a gradient flows.

        Raises:
            ParameterError: one is missing.
        """
        require_heads(self.lowered.output_names, self.needed_heads, given)

    def fitting_heads(self, given: Sequence[Any], shapes: Sequence[Sequence[int]]) -> list[Any]:
        """The cotangents of outputs of these shapes, ``None`` for a loss that ignores its own.

        Raises:
            ParameterError: one is missing, or is no array.
            ShapeError: one has another shape than its output, which is not a loss.
        """
        self.require_heads(given)
        names = self.lowered.output_names
        heads: list[Any] = [*given, *[None] * len(names)][: len(names)]
        for i, (name, got, shape) in enumerate(zip(names, heads, shapes, strict=True)):
            if not isinstance(got, NDArray | np.ndarray | jax.Array | None):
                raise ParameterError(
                    f"backward: the gradient of {name!r}: got {got!r}, expected an NDArray; make "
                    "one with mx.nd.array"
                )
            if got is None or tuple(got.shape) == tuple(shape):
                continue
            if not self.lowered.ignores_head(i):
                raise ShapeError(
                    f"backward: the gradient of {name!r}: got shape {tuple(got.shape)}, "
                    f"expected {tuple(shape)}"
                )
            heads[i] = None
        return heads

    def backward(self, heads: Sequence[Any] | None = None) -> None:
        """Request gradients of the last pass, computed when they are read.

        Raises:
            NotReadyError: there was no forward pass.
        """
        if self.last is None:
            raise NotReadyError("backward() needs forward(is_train=True) first")
        with self.lock:
            if self.last.wants_gradients:
                self.last.run()
            if self.last.settled and self.last.kept is None:
                if not self.wrt:
                    return
                self.last = Pass(self, self.last.train, repeats=self.last)
            with DeferredReads():
                self.last.want_gradients(heads)
            if self.eager:
                self.last.run()


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


class OwnCells(NamedTuple):
    """Cells of a graph that are not slots of its store."""

    shared: Cells
    aux: Cells
    grads: Cells


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
        writes_aux: whether auxiliary states are results: in training, and where Python code writes
            them.
        settled: whether it holds no inputs: its forward pass has run or failed, or an interrupt
            ended its construction.
        watched_values: outputs and inputs of nodes, if the graph is ``watched``.
        seen_gradients: gradients of these inputs, by `modkit.step.node_taps.NodeInput`.

    Args:
        bound: the graph.
        train: training mode.
        repeats: a pass to repeat over the present values, with the same key data.
    """

    settled = True
    wants_gradients = repeated = watched = False
    heads: Any = None
    update: Update | None = None
    kept: Any = None
    watched_values: Any = None
    seen_gradients: Any = None
    _params_before: Arrays | None = None

    def __init__(self, bound: Bound, train: bool, *, repeats: Pass | None = None):
        self.bound, self.train, self.repeated = bound, train, repeats is not None
        self.writes_aux = repeats is None and (train or bool(bound.lowered.host_aux))
        self.key_data = bound.draw() if repeats is None else repeats.key_data
        self.old: Arrays = {}
        self._lent = bound.lent()
        self.watched = bound.watched and repeats is None
        own, store = bound.own, bound.store
        by_numpy = bound.by_numpy
        self.local: Arrays = {}
        for name, cell in bound.local.items():
            self.local[name] = cell.host_snapshot(self) if by_numpy else cell.snapshot(self)
        self.shared: Arrays = {}
        self.aux: Arrays = {}
        if store is None:
            under_way.add(self)
        else:
            self.shared, self.aux = store.read(self, bound.shared, bound.aux)
            self._params_before = store.state.params
        if own.shared:
            self.shared = {n: c.snapshot(self) for n, c in own.shared.items()}
        if own.aux:
            self.aux = {
                n: c.host_snapshot(self) if by_numpy else c.snapshot(self)
                for n, c in own.aux.items()
            }
        self.settled = False
        if self.repeated:
            return
        for cell, aval in zip(bound.outputs, bound.out_avals, strict=True):
            cell.wait_for(self, aval)
        if self.writes_aux:
            if store is not None:
                store.promise(self, "aux")
            for cell in own.aux.values():
                cell.wait_for(self, cell.aval)

    @classmethod
    def of_step(
        cls, bound: Bound, store: Store, data: Arrays, key_data: Any, update: Update
    ) -> Pass:
        """A pass over a batch whose gradients and update are requested from the beginning."""
        made = cls.__new__(cls)
        made.bound, made.local, made.key_data = bound, data, key_data
        made.train = made.writes_aux = made.wants_gradients = True
        made.update, made.old, made._lent = update, {}, bound.lent()
        made.shared, made.aux = store.read(made, bound.shared, bound.aux)
        made.settled = False
        for cell, aval in zip(bound.outputs, bound.out_avals, strict=True):
            cell.wait_for(made, aval)
        for name in bound.own_wrt:
            bound.grads[name].wait_for(made, bound.grads[name].aval)
        store.await_work(dict.fromkeys(TrainState._fields, made), bound.wrt)
        bound.last = made
        return made

    # ── Requests ────────────────────────────────────────────────────────────────────────────

    def want_gradients(self, heads: Sequence[Any] | None) -> None:
        """Request gradients, which are computed when they are read."""
        bound = self.bound
        self.heads = heads
        if bound.adds:
            self.old = {n: bound.grads[n].get() for n in bound.adds if n not in bound.joined}
        if bound.store is not None:
            bound.store.promise(self, "grads", bound.wrt)
        if self.settled and self.writes_aux and bound.lowered.host_aux:
            self._promise_states()
        for name in bound.own_wrt:
            bound.grads[name].wait_for(self, bound.grads[name].aval)
        self.wants_gradients, self._lent = True, bound.lent()

    def _promise_states(self) -> None:
        """Mark as pending the states that a separate backward pass writes."""
        bound, own = self.bound, self.bound.own
        if bound.store is not None:
            bound.store.promise(self, "aux")
        self.aux = {n: own.aux[n].get() for n in bound.lowered.host_aux if n in own.aux}
        for name in self.aux:
            own.aux[name].wait_for(self, own.aux[name].aval)

    def can_update(self) -> bool:
        """Whether an update can still be fused into the program.

        It can if no result of this pass has been read, and no gradient and no parameter written
        since it began: the store then holds the same parameter dictionary.
        """
        store = self.bound.store
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

    def join(self, update: Update) -> None:
        """Fuse the update into the program: all fields of the store wait for it."""
        store = self.bound.store
        if store is not None:
            self.update = update
            if self.key_data is stream.UNUSED:
                self.key_data = self.bound.draw(update.fused)
            store.await_work(dict.fromkeys(TrainState._fields, self), self.bound.wrt)

    # ── Running ─────────────────────────────────────────────────────────────────────────────

    def run(self, metric: Metric | None = None, labels: Sequence[str] = ()) -> Any:
        """Compute the requested results, and release the inputs; once run, do nothing.

        Args:
            metric: result of ``EvalMetric.fused``, to be fused into a program with an update.
            labels: names of the metric's labels.

        Returns:
            The metric's sums; a list of them, one a batch, if some were queued. ``None`` if the
            pass has run.
        """
        with self.bound.guard:
            store = self.bound.store
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
        plain = not (self.train or self.settled or self.repeated or self.wants_gradients)
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
                if self.watched:
                    self.seen_gradients = take_taps(self.bound.lowered, grads)
                self._finish([], self.bound.lowered.take_states(grads), grads)
        elif self.watched:
            watched: Any = programs  # of one device's graph: `Bound.watch`
            outputs, changed, pullback, self.watched_values = self._run_one(
                "forward", watched.watched, *inputs
            )
            self.kept = None if pullback is None else (pullback, outputs)
            self._finish(outputs, changed)
        elif self.wants_gradients:
            self._finish(
                *self._run_one("forward_backward", programs.both, *inputs, self.heads, self.old)
            )
        elif self.train and self.bound.wrt:
            outputs, changed, pullback = self._run_one("forward", programs.forward_kept, *inputs)
            self.kept = pullback, outputs
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
        for cells, values in ((bound.local, self.local), (bound.aux, self.aux)):
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
        plan = (update.fused, metric, labels)
        params, optimizer = store.donated(self, update.names)
        fixed = self.shared
        fixed = {} if len(fixed) == len(params) else {n: fixed[n] for n in fixed if n not in params}
        if update.queued:
            batches = [*update.queued, (self.local, update.hyper, self.key_data)]
            data, hyper, key_data = zip(*batches, strict=True)
            program = steps_program(bound.plan(*plan))
            key_data, hyper = np.stack(key_data), np.stack(hyper)
        else:
            decides, program = bound.latest
            data = self.local
            if decides != plan:
                program = bound.step_program(*plan)
            if update.fused.workers is not None:  # whose arrays have equal shapes
                data = {n: plain_parts(value, bound.placement.count) for n, value in data.items()}
            key_data, hyper = self.key_data, bound.numbers(update.hyper)
        inputs = StepInputs(params, optimizer, fixed, data, self.aux, self.old, key_data, hyper)
        # Without a profiler there are no further calls.
        made = self._timed("step", program, *inputs) if profiler.aggregated else program(*inputs)
        self._finish(made.outputs, made.changed, made.grads, made.params, made.optimizer)
        return made.sums

    def _finish(
        self,
        outputs: Sequence[jax.Array],
        changed: Arrays,
        grads: Arrays | None = None,
        params: Arrays | None = None,
        optimizer: Arrays | None = None,
    ) -> None:
        """Write results to the cells that still wait for them, and release the inputs."""
        bound, own, store = self.bound, self.bound.own, self.bound.store
        rest = changed.keys() - bound.aux.keys()
        if store is not None:
            aux = {n: changed[n] for n in changed if n not in rest} if rest else changed
            found = grads or {}
            if own.grads:
                found = {n: v for n, v in found.items() if n not in own.grads}
            if not self.writes_aux:
                aux = {}
            store.commit(self, params or {}, optimizer or {}, aux, found)
        elif self.writes_aux:
            self._fill_states(changed)
        if grads is not None:
            for name, last in bound.joined.items():
                grads[last] = plus(grads[last], grads.pop(name))
            for name in own.grads.keys() & grads.keys():
                cell, value = own.grads[name], grads[name]
                cell.fill(self, value if cell.takes_rows else plain(value))
            self.wants_gradients = False
        for name in rest:
            self._write_argument(name, changed[name])
        if outputs:
            for cell, value in zip(bound.outputs, outputs, strict=True):
                cell.fill(self, value)
        self._let_go()

    def _fill_states(self, changed: Arrays) -> None:
        for name, value in {**self.aux, **changed}.items():
            if name in self.bound.own.aux:
                self.bound.own.aux[name].fill(self, value)

    def _write_argument(self, name: str, value: jax.Array) -> None:
        """Write an argument that the graph overwrote, unless a handle has been written since."""
        cell = self.bound.shared.get(name) or self.bound.local[name]
        seen = self.shared.get(name, self.local.get(name))
        if seen is not None and cell.holds(seen):
            cell.set(value)

    def _let_go(self) -> None:
        self.settled, self.update, self._params_before, self._lent = True, None, None, None
        self.shared, self.local, self.aux, self.old = {}, {}, {}, {}

    def give_up(self) -> None:
        """After a failure: restore the inputs, and make every cell stop waiting for this pass."""
        bound, own, store = self.bound, self.bound.own, self.bound.store
        if store is not None:
            store.restore(self, {n: v for n, v in self.old.items() if n not in own.grads})
        if self.writes_aux:
            for name, cell in own.aux.items():
                if name in self.aux:
                    cell.fill(self, self.aux[name])
        for name in own.grads.keys() & self.old.keys():
            own.grads[name].fill(self, self.old[name])
        for cell in (*bound.outputs, *own.grads.values()):
            cell.forget(self)
        self.wants_gradients, self.kept = False, None
        self._let_go()
