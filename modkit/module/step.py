"""The fused step: forward, backward, sum, optimizer and metric as one compiled program."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax

from modkit import stream
from modkit.executor.bound import Pass
from modkit.executor.carry import Carry
from modkit.executor.placement import finished
from modkit.executor.programs import gradients, programs_for
from modkit.module.replicas import Alone, Replicas
from modkit.ndarray.cell import AnyCell, under_way
from modkit.symbol.lower import Lowered

Metric = Callable[[Sequence[Any], Sequence[Any]], Any]

_UPDATE = zlib.crc32(b"update")


@functools.lru_cache(maxsize=256)
def step_program(
    lowered: Lowered,
    wrt: tuple[str, ...],
    home: Alone | Replicas,
    rule: Any,
    metric: Metric | None,
    labels: tuple[str, ...],
) -> Callable[..., Any]:
    """The compiled step of everything that has this graph, rule and metric.

    It takes ``(trained parameters, optimizer state, other parameters, data, aux, gradients to add
    to, random words, hyper)`` and gives ``(parameters, state, outputs, changed aux, gradients,
    metric sums)``. Parameters and state are donated. What changes while training (rates, decay,
    counts) comes in ``hyper``, so it compiles nothing.
    """
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

    ins = ("shared", "shared", "shared", "local", "local", "local", "plain", "plain")
    outs = ("shared", "shared", "local", "local", "local", "local")
    run = home.compile(step, ins, outs, donate=(0, 1))
    return finished(run) if lowered.on_host else run


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
    """

    def __init__(
        self,
        one_pass: Pass,
        names: Sequence[str],
        rule: Any,
        states: Mapping[str, Any],
        hyper: Any,
    ):
        self._pass, self._rule, self._hyper, self._states = one_pass, rule, hyper, states
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
            The metric's sums.
        """
        if self._inputs is None:
            return None
        one_pass, bound = self._pass, self._pass.bound
        carry = one_pass.follows
        if carry is not None:
            carry.grads = {}  # nobody has read them, and nobody can: these replace them
        inputs = (*self._inputs, one_pass.local, one_pass.aux, one_pass.old, one_pass.words)
        try:
            with bound.scope:
                program = step_program(
                    bound.lowered, bound.wrt, bound.placement, self._rule, metric, tuple(labels)
                )
                made = program(*inputs, self._hyper)
        except Exception:
            if metric is not None:  # the metric may be what failed: the step must not be lost
                self.run()
            else:
                self._give_up()
            raise
        self._inputs = None
        params, state, outputs, changed, grads, sums = made
        if carry is not None:
            carry.hold(params, state, {**one_pass.aux, **changed}, grads)
            one_pass.close(outputs)
        else:
            aux = {**one_pass.aux, **changed}
            self._write(params, state)
            one_pass.finish(outputs, changed, grads)
            self._begin_carry(params, state, aux, grads, same_form=inputs[1])
        return sums

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
