"""The fused step: forward, backward, sum, optimizer and metric as one compiled program."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modkit import stream
from modkit.executor.bound import Pass
from modkit.executor.carry import Carry
from modkit.executor.once import made_once
from modkit.executor.placement import Kind, finished
from modkit.executor.programs import gradients, programs_for
from modkit.module.replicas import Alone, Replicas
from modkit.ndarray.cell import AnyCell, under_way
from modkit.symbol.lower import Lowered

Metric = Callable[[Sequence[Any], Sequence[Any]], Any]

_UPDATE = zlib.crc32(b"update")
_SLOW_IN_LOOPS = frozenset({"Convolution", "Deconvolution"})
"""On CPUs these run ten times slower inside a loop of XLA's (LeNet, batch 64: 152 ms, not 14)."""

_TAKEN: tuple[Kind, ...] = (
    "shared", "shared", "shared", "local", "local", "local", "plain", "plain"
)  # fmt: skip
_TAKEN_BY_SEVERAL: tuple[Kind, ...] = (
    "shared", "shared", "shared", "local", "local", "plain", "plain"
)  # fmt: skip
_MADE: tuple[Kind, ...] = ("shared", "shared", "local", "local", "local", "local")
"""What programs take and give; `step_program` says what that is."""


class Plan(NamedTuple):
    """What decides the program of a step.

    Attributes:
        lowered: the graph.
        wrt: names of the arguments that it is differentiated by.
        home: where it runs.
        rule: the optimizer's tree rule.
        metric: what ``EvalMetric.fused`` gave, if it is part of the program.
        labels: names of the labels that it takes.
    """

    lowered: Lowered
    wrt: tuple[str, ...]
    home: Alone | Replicas
    rule: Any
    metric: Metric | None
    labels: tuple[str, ...]


def _step(plan: Plan) -> Callable[..., Any]:
    """Traced: one step, as a function of what `step_program` takes."""
    lowered, wrt, home, rule, metric, labels = plan
    programs = programs_for(lowered, wrt, True, home)

    def step(
        params: Any, state: Any, fixed: Any, local: Any, aux: Any, old: Any, words: Any, hyper: Any
    ) -> Any:
        values = {**fixed, **params, **local, **aux}
        outputs, pullback, changed = programs.differentiate(values, words)
        grads = gradients(pullback, outputs, None, old)
        summed = home.reduce({n: grads[n] for n in params})
        key = jax.random.fold_in(stream.as_key(words), _UPDATE)
        params = {n: changed.pop(n, p) for n, p in params.items()}
        params, state = rule.update(summed, state, params, hyper, key)
        sums = metric([local[n] for n in labels], outputs) if metric else None
        return params, state, outputs, changed, grads, sums

    return step


def _compiled(plan: Plan, step: Callable[..., Any], ins: Sequence[Kind]) -> Callable[..., Any]:
    """A program of the plan, which gives what `step_program` says."""
    of = plan.lowered.output_names[0]
    run = plan.home.compile(step, ins, _MADE, donate=(0, 1), of=of)
    return finished(run) if plan.lowered.on_host else run


@made_once(maxsize=256)
def step_program(plan: Plan) -> Callable[..., Any]:
    """The compiled step of everything that has this graph, rule and metric.

    It takes ``(trained parameters, optimizer state, other parameters, data, aux, gradients to add
    to, random words, hyper)`` and gives ``(parameters, state, outputs, changed aux, gradients,
    metric sums)``. Parameters and state are donated. What changes while training (rates, decay,
    counts) comes in ``hyper``, so it compiles nothing.
    """
    return _compiled(plan, _step(plan), _TAKEN)


@made_once(maxsize=256)
def steps_program(plan: Plan) -> Callable[..., Any]:
    """The compiled steps over several batches, one after the other, by ``lax.scan``.

    Convolutions on CPUs have the scan unrolled, which compiles longer.

    It takes ``(trained parameters, optimizer state, other parameters, data of each batch, aux,
    random words and hyper with a row a batch)`` and gives what `step_program` gives: outputs and
    gradients of the last batch, and a list of the metric's sums.
    """
    step = _step(plan)
    ops = {s.op.name for s in plan.lowered.steps if s.op is not None}
    in_a_row = plan.home.platform == "cpu" and not ops.isdisjoint(_SLOW_IN_LOOPS)

    def steps(
        params: Any, state: Any, fixed: Any, batches: Any, aux: Any, words: Any, hyper: Any
    ) -> Any:
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *batches)

        def run(carried: Any, local: Any, words: Any, hyper: Any) -> Any:
            params, state, aux = carried
            params, state, *last, sums = step(params, state, fixed, local, aux, {}, words, hyper)
            _, changed, _ = last
            return (params, state, {n: changed.get(n, a) for n, a in aux.items()}), last, sums

        def one(carried: Any, batch: Any) -> Any:
            *begun, _ = carried
            if in_a_row:  # or XLA begins all steps at once (see `compiler` for who keeps barriers)
                begun, batch = jax.lax.optimization_barrier((begun, batch))
            begun, last, sums = run(tuple(begun), *batch)
            return (*begun, last), sums

        first = jax.tree.map(lambda each: each[0], (stacked, words, hyper))
        _, empty, _ = jax.eval_shape(run, (params, state, aux), *first)
        empty = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), empty)
        begin = (params, state, aux, empty)
        (params, state, _, last), sums = jax.lax.scan(
            one, begin, (stacked, words, hyper), unroll=len(batches) if in_a_row else 1
        )
        each = [jax.tree.map(lambda a, i=i: a[i], sums) for i in range(len(batches))]
        return params, state, *last, each

    return _compiled(plan, steps, _TAKEN_BY_SEVERAL)


class Queued(NamedTuple):
    """A batch that a step is to run before its own."""

    local: dict[str, jax.Array]
    words: Any
    hyper: Any


def can_fuse(one_pass: Pass | None, names: Sequence[str]) -> bool:
    """Whether nobody has read a result of this pass, nor written a parameter since it began."""
    if one_pass is None or not (one_pass.train and one_pass.fresh and one_pass.wants_gradients):
        return False
    if one_pass.heads is not None:
        return False
    if one_pass.follows is not None and one_pass.follows.intact():
        return True
    one_pass.surface()
    cells, seen = one_pass.bound.shared, one_pass.shared or {}
    return all(cells[n].holds(seen[n]) for n in names)


class Step:
    """A pass and the update that follows it, as one program that is still to run.

    It runs when somebody reads a parameter, an optimizer state, an output or a gradient, or when
    the module says so; a metric that is asked for before then becomes part of the program. What
    it makes stays in a `Carry`, where the next step finds it.

    Args:
        one_pass: a pass for which `can_fuse` holds.
        names: the parameters, in the order of the rows of ``hyper``.
        rule: the optimizer's tree rule.
        states: optimizer states by name: trees of NDArrays, written in place.
        hyper: the numbers that change from step to step.
        queued: batches to train on first, in the same program.
    """

    def __init__(
        self,
        one_pass: Pass,
        names: Sequence[str],
        rule: Any,
        states: Mapping[str, Any],
        hyper: Any,
        queued: Sequence[Queued] = (),
    ):
        self._pass, self._rule, self._hyper, self._states = one_pass, rule, hyper, states
        self._queued = queued
        carry = one_pass.follows
        if carry is not None and carry.continues(names, states):
            self._cells, self._kept = carry.cells, carry.kept
            params, state = carry.params, carry.state
        else:
            one_pass.surface()
            bound = one_pass.bound
            self._cells = {n: bound.shared[n] for n in names}
            params = {n: c.take(one_pass) for n, c in self._cells.items()}
            leaves, layout = jax.tree.flatten(states)
            self._kept = [bound.placement.adopt(leaf) for leaf in leaves]
            state = layout.unflatten([c.take() for c in self._kept])
            self._wait({*self._cells.values(), *self._kept})
        fixed = {n: v for n, v in (one_pass.shared or {}).items() if n not in params}
        self._inputs: tuple[Any, ...] | None = (params, state, fixed)
        one_pass.joined = self

    def _wait(self, cells: Iterable[AnyCell]) -> None:
        for cell in cells:
            cell.wait_for(self, cell.aval)
        under_way.add(self)

    def take_over(self, waiting: set[AnyCell]) -> None:
        """Go on from the cells, of which these have just been given the carry's values."""
        self._wait(waiting.intersection((*self._cells.values(), *self._kept)))

    @property
    def settled(self) -> bool:
        """Whether it has run."""
        return self._inputs is None

    def run(self, metric: Metric | None = None, labels: Sequence[str] = ()) -> Any:
        """Run the program and keep what it makes; nothing the second time.

        Args:
            metric: what ``EvalMetric.fused`` gave.
            labels: names of the labels that it takes.

        Returns:
            The metric's sums; a list of them, one a batch, if some were queued.
        """
        if self._inputs is None:
            return None
        one_pass, bound = self._pass, self._pass.bound
        carry = one_pass.follows
        if carry is not None:
            carry.grads = {}  # nobody has read them, and nobody can: these replace them
        _, before, _ = self._inputs
        plan = Plan(bound.lowered, bound.wrt, bound.placement, self._rule, metric, tuple(labels))
        try:
            with bound.scope:
                if self._queued:
                    made = steps_program(plan)(*self._inputs, *self._all_batches())
                else:
                    made = step_program(plan)(
                        *self._inputs, one_pass.local, one_pass.aux, one_pass.old, one_pass.words,
                        self._hyper if carry is None else carry.numbers(self._hyper),
                    )  # fmt: skip
        except Exception:
            if metric is not None:  # the metric may be what failed: the step must not be lost
                self.run()
            else:
                self._give_up()
            raise
        self._inputs = None
        params, state, outputs, changed, grads, sums = made
        aux = {**one_pass.aux, **changed}
        if carry is not None:
            carry.hold(params, state, aux, grads)
            one_pass.close(outputs)
        else:
            self._write(params, state)
            one_pass.finish(outputs, changed, grads)
            self._begin_carry(params, state, aux, grads, same_form=before)
        return sums

    def _all_batches(self) -> tuple[Any, ...]:
        """What `steps_program` takes after the parameters."""
        one_pass = self._pass
        batches = [*self._queued, Queued(one_pass.local, one_pass.words, self._hyper)]
        local, words, hyper = zip(*batches, strict=True)
        return local, one_pass.aux, np.stack(words), np.stack(hyper)

    def _write(self, params: Mapping[str, Any], state: Any) -> None:
        for name, cell in self._cells.items():
            cell.fill(self, params[name])
        for cell, value in zip(self._kept, jax.tree.leaves(state), strict=True):
            cell.fill(self, value)

    def _begin_carry(self, params: Any, state: Any, aux: Any, grads: Any, same_form: Any) -> None:
        """Have the cells wait for a carry, if they all hold what this step made.

        One that somebody wrote meanwhile does not; and a graph that overwrites arguments, or adds
        to gradients, tells its cells each time.
        """
        bound = self._pass.bound
        if bound.adds or aux.keys() != bound.aux.keys():
            return
        if jax.tree.structure(state) != jax.tree.structure(same_form):
            return
        slots = {n: bound.grads[n] for n in grads}
        leaves = jax.tree.leaves(state)
        made = [*((c, params[n]) for n, c in self._cells.items()),
                *zip(self._kept, leaves, strict=True),
                *((c, aux[n]) for n, c in bound.aux.items()),
                *((c, grads[n]) for n, c in slots.items())]  # fmt: skip
        if all(cell.holds(value) for cell, value in made):
            carry = Carry(bound, self._cells, self._kept, self._states, bound.aux, slots)
            carry.hold(params, state, aux, grads)

    def _give_up(self) -> None:
        """After a failure: everybody gets back what the program has not taken."""
        one_pass = self._pass
        params, state, _ = self._inputs or ({}, (), {})
        self._inputs = one_pass.joined = None
        one_pass.surface()
        values = (*(params[n] for n in self._cells), *jax.tree.leaves(state))
        for cell, value in zip((*self._cells.values(), *self._kept), values, strict=True):
            if not value.is_deleted():
                cell.fill(self, value)
            cell.forget(self)
        one_pass.give_up()
