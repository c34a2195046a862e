"""The fused step: forward, backward, sum, optimizer and metric as one compiled program."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np

from modkit import stream
from modkit.compile.memo import made_once
from modkit.optimizer.update_rules import TreeRule
from modkit.step.placement import Kind, Spec, finished
from modkit.step.programs import gradients, programs_for
from modkit.step.shards import Shards
from modkit.symbol.lower import Lowered
from modkit.tuning.config import current

Metric = Callable[[Sequence[Any], Sequence[Any]], Any]

_UPDATE = zlib.crc32(b"update")
Shared = Annotated[Any, "shared"]
Local = Annotated[Any, "local"]
Plain = Annotated[Any, "plain"]
"""The kind of a tree of arrays; see `modkit.step.placement.Kind`."""


class StepInputs(NamedTuple):
    """Arguments of a step.

    Attributes:
        params: trained parameters; donated.
        optimizer: their optimizer states; donated.
        fixed: other parameters.
        data: data and labels; for several steps a tuple of them.
        aux: auxiliary states.
        old: gradients to add to; none for several steps.
        key_data: the key data of a random key; for several steps a row each.
        hyper: hyperparameters that change while training (rates, decays, counts), a row for each
            parameter; for several steps a table each.
    """

    params: Shared
    optimizer: Shared
    fixed: Shared
    data: Local
    aux: Local
    old: Local
    key_data: Plain
    hyper: Plain


class StepResults(NamedTuple):
    """Results of a step; of several steps, outputs and gradients of the last.

    Attributes:
        params: trained parameters.
        optimizer: their optimizer states.
        outputs: the graph's outputs.
        changed: auxiliary states, and arguments that the graph overwrites.
        grads: gradients by name.
        sums: the metric's; for several steps a list.
    """

    params: Shared
    optimizer: Shared
    outputs: Local
    changed: Local
    grads: Local
    sums: Local


def _kinds(of: type) -> tuple[Kind, ...]:
    """The kinds of the fields, in their order."""
    hints = get_type_hints(of, include_extras=True)
    return tuple(hint.__metadata__[0] for hint in hints.values())


class StepPlan(NamedTuple):
    """Cache key of the program of a step.

    Attributes:
        lowered: the graph.
        wrt: names of the arguments to differentiate with respect to.
        home: the placement.
        rule: the optimizer's tree rule.
        metric: result of ``EvalMetric.fused``, if it is part of the program.
        labels: names of the metric's labels.
        shards: the division of optimizer states over devices; ``None``: each has them whole.
    """

    lowered: Lowered
    wrt: tuple[str, ...]
    home: Any
    rule: Any
    metric: Metric | None
    labels: tuple[str, ...]
    shards: Shards | None = None


def _step(plan: StepPlan, in_loop: bool = False) -> Callable[..., tuple[Any, ...]]:
    """Traced: one step, from the fields of `StepInputs` to those of `StepResults`.

    In a loop it has no barriers: XLA refuses to keep them there.
    """
    lowered, wrt, home, rule, metric, labels, shards = plan
    programs = programs_for(lowered, wrt, True, home)
    apart = not in_loop and current().updates_apart(home.platform)
    if isinstance(rule, TreeRule):
        rule = replace(rule, row_sparse=lowered.row_sparse_inputs)

    def step(*inputs: Any) -> tuple[Any, ...]:
        params, state, fixed, data, aux, old, key_data, hyper = inputs
        values = {**fixed, **params, **data, **aux}
        outputs, pullback, changed = programs.differentiate(values, key_data)
        grads = gradients(pullback, outputs, None, old)
        changed = {**changed, **lowered.take_states(grads)}
        own = {n: grads[n] for n in params}
        if apart:
            own, hyper = jax.tree.map(jax.lax.optimization_barrier, own), _rows(hyper)
        key = jax.random.fold_in(stream.as_key(key_data), _UPDATE)
        params = {n: changed.pop(n, p) for n, p in params.items()}
        if shards is None:
            params, state = rule.update(home.reduce(own), state, params, hyper, key)
        else:
            params, state = shards.update(rule, own, state, params, hyper, key)
        sums = metric([data[n] for n in labels], outputs) if metric else None
        return params, state, outputs, changed, grads, sums

    return step


def _rows(table: jax.Array) -> list[jax.Array]:
    """The rows of a table, by numbers that XLA does not know.

    With constants each update would be a kernel of its own; equal kernels compile once.
    """
    numbers = jax.lax.optimization_barrier([*np.arange(len(table), dtype=np.uint32)])
    zero, width = np.uint32(0), table.shape[1]
    rows = [jax.lax.dynamic_slice(table, (n, zero), (1, width)) for n in numbers]
    return [row.reshape(width) for row in rows]


def _compiled(plan: StepPlan, step: Callable[..., Any]) -> Callable[..., Any]:
    """The program of a step or of several.

    A program with host callbacks does not donate its inputs: the user's Python code may raise, and
    parameters and optimizer states must survive that.
    """
    on_host = plan.lowered.on_host
    donate = () if on_host else (0, 1)
    of = str(plan.lowered)
    run = plan.home.compile(Spec(step, _kinds(StepInputs), _kinds(StepResults), donate, of))
    return finished(run) if on_host else run


@made_once(maxsize=256)
def step_program(plan: StepPlan) -> Callable[..., Any]:
    """The compiled step of a plan: from the fields of `StepInputs` to those of `StepResults`."""
    return _compiled(plan, _step(plan))


@made_once(maxsize=256)
def steps_program(plan: StepPlan) -> Callable[..., Any]:
    """The compiled steps over several batches, one after the other, by ``lax.scan``.

    With convolutions on CPUs the scan is unrolled: faster steps, longer compilation.
    """
    slow = any(s.op is not None and s.op.slow_in_loops for s in plan.lowered.steps)
    in_a_row = plan.home.platform == "cpu" and slow
    step = _step(plan, in_loop=not in_a_row)

    def steps(*inputs: Any) -> tuple[Any, ...]:
        params, state, fixed, batches, aux, old, key_data, hyper = inputs
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *batches)

        def run(carried: Any, data: Any, key_data: Any, hyper: Any) -> Any:
            params, state, aux = carried
            params, state, *last, sums = step(params, state, fixed, data, aux, old, key_data, hyper)
            _, changed, _ = last
            return (params, state, {n: changed.get(n, a) for n, a in aux.items()}), last, sums

        def one(carried: Any, batch: Any) -> Any:
            *begun, _ = carried
            if in_a_row:  # or XLA begins all steps at once; `tuning/xla_options.py` keeps barriers
                begun, batch = jax.lax.optimization_barrier((begun, batch))
            begun, last, sums = run(tuple(begun), *batch)
            return (*begun, last), sums

        first = jax.tree.map(lambda each: each[0], (stacked, key_data, hyper))
        _, empty, _ = jax.eval_shape(run, (params, state, aux), *first)
        empty = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), empty)
        begin = (params, state, aux, empty)
        (params, state, _, last), sums = jax.lax.scan(
            one, begin, (stacked, key_data, hyper), unroll=len(batches) if in_a_row else 1
        )
        each = [jax.tree.map(lambda a, i=i: a[i], sums) for i in range(len(batches))]
        return params, state, *last, each

    return _compiled(plan, steps)
