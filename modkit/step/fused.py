"""The fused step: forward, backward, sum, optimizer and metric as one compiled program."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modkit import stream
from modkit.compile.memo import made_once
from modkit.optimizer.update_rules import TreeRule
from modkit.step.placement import Spec, finished
from modkit.step.programs import gradients, programs_for
from modkit.step.shards import Shards
from modkit.symbol.lower import Lowered
from modkit.tuning.config import current

Metric = Callable[[Sequence[Any], Sequence[Any]], Any]

_UPDATE = zlib.crc32(b"update")


class StepInputs(NamedTuple):
    """Arguments of a step.

    Attributes:
        params: trained parameters; donated.
        optimizer: their optimizer states; donated.
        fixed: other parameters.
        data: data and labels; for several steps a tuple of them.
        old: gradients to add to; none for several steps.
        key_data: the key data of a random key; for several steps a row each.
        hyper: hyperparameters that change while training (rates, decays, counts), a row for each
            parameter; for several steps a table each.
    """

    params: Any
    optimizer: Any
    fixed: Any
    data: Any
    aux: Any
    old: Any
    key_data: Any
    hyper: Any


class StepResults(NamedTuple):
    """Results of a step; of several steps, outputs and gradients of the last.

    Attributes:
        optimizer: their optimizer states.
        changed: auxiliary states, and arguments that the graph overwrites.
        sums: the metric's; for several steps a list.
    """

    params: Any
    optimizer: Any
    outputs: Any
    changed: Any
    grads: Any
    sums: Any


# The kind of each tree of arrays; see `modkit.step.placement.Kind`.
_INPUT_KINDS = StepInputs(
    params="shared", optimizer="shared", fixed="shared", data="local", aux="local", old="local",
    key_data="plain", hyper="plain",
)  # fmt: skip
_RESULT_KINDS = StepResults(
    params="shared", optimizer="shared", outputs="local", changed="local", grads="local",
    sums="local",
)  # fmt: skip


class StepPlan(NamedTuple):
    """Cache key of the program of a step.

    Attributes:
        wrt: names of the arguments to differentiate with respect to.
        rule: the optimizer's tree rule.
        metric: result of ``EvalMetric.fused``, if it is part of the program.
        labels: names of the metric's labels.
        shards: the division of optimizer states over devices; ``None``: each has them whole.
    """

    lowered: Lowered
    wrt: tuple[str, ...]
    placement: Any
    rule: Any
    metric: Metric | None
    labels: tuple[str, ...]
    shards: Shards | None = None


def _step(plan: StepPlan, in_loop: bool = False) -> Callable[..., StepResults]:
    """Traced: one step, a function of the fields of `StepInputs`.

    In a loop it has no barriers: XLA refuses to keep them there.
    """
    lowered, wrt, placement, rule, metric, labels, shards = plan
    programs = programs_for(lowered, wrt, True, placement)
    tuned = current().updates_apart(placement.platform)
    apart = tuned and not in_loop
    if isinstance(rule, TreeRule):
        rule = replace(rule, row_sparse=lowered.row_sparse_inputs)

    def step(
        params: Any, optimizer: Any, fixed: Any, data: Any, aux: Any, old: Any, key_data: Any,
        hyper: Any,
    ) -> StepResults:  # fmt: skip
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
            params, optimizer = rule.update(placement.reduce(own), optimizer, params, hyper, key)
        else:
            params, optimizer = shards.update(rule, own, optimizer, params, hyper, key)
        if tuned:
            params = jax.tree.map(_with_constant, params)
        sums = metric([data[n] for n in labels], outputs) if metric else None
        return StepResults(params, optimizer, outputs, changed, grads, sums)

    return step


def _with_constant(value: jax.Array) -> jax.Array:
    """The same value, computed by a kernel that reads a constant.

    On CPUs, XLA of jaxlib 0.10.2 adds whole arrays in tiles of 16, through the stack: SGD's
    ``w + v`` takes 42 us for 128x784, and 25 us with a constant in it.
    """
    if value.dtype.kind != "f":
        return value
    bound = np.array(np.inf, value.dtype)
    return jax.lax.clamp(-bound, value, bound)


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
    run = plan.placement.compile(Spec(step, _INPUT_KINDS, _RESULT_KINDS, donate, of))
    return finished(run) if on_host else run


@made_once(maxsize=256)
def step_program(plan: StepPlan) -> Callable[..., Any]:
    """The compiled step of a plan, a function of the fields of `StepInputs` to `StepResults`."""
    return _compiled(plan, _step(plan))


@made_once(maxsize=256)
def steps_program(plan: StepPlan) -> Callable[..., Any]:
    """The compiled steps over several batches, one after the other, by ``lax.scan``.

    With convolutions on CPUs the scan is unrolled: faster steps, longer compilation.
    """
    slow = any(s.op is not None and s.op.slow_in_loops for s in plan.lowered.steps)
    in_a_row = plan.placement.platform == "cpu" and slow
    step = _step(plan, in_loop=not in_a_row)

    def steps(
        params: Any, optimizer: Any, fixed: Any, data: Any, aux: Any, old: Any, key_data: Any,
        hyper: Any,
    ) -> StepResults:  # fmt: skip
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *data)

        def run(carried: Any, data: Any, key_data: Any, hyper: Any) -> Any:
            params, optimizer, aux = carried
            made = step(params, optimizer, fixed, data, aux, old, key_data, hyper)
            aux = {n: made.changed.get(n, a) for n, a in aux.items()}
            last = made.outputs, made.changed, made.grads
            return (made.params, made.optimizer, aux), last, made.sums

        def one(carried: Any, batch: Any) -> Any:
            *begun, _ = carried
            if in_a_row:  # or XLA begins all steps at once; `tuning/xla_options.py` keeps barriers
                begun, batch = jax.lax.optimization_barrier((begun, batch))
            begun, last, sums = run(tuple(begun), *batch)
            return (*begun, last), sums

        first = jax.tree.map(lambda each: each[0], (stacked, key_data, hyper))
        _, empty, _ = jax.eval_shape(run, (params, optimizer, aux), *first)
        empty = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), empty)
        (params, optimizer, _, last), sums = jax.lax.scan(
            one,
            (params, optimizer, aux, empty),
            (stacked, key_data, hyper),
            unroll=len(data) if in_a_row else 1,
        )
        outputs, changed, grads = last
        sums = [jax.tree.map(lambda a, i=i: a[i], sums) for i in range(len(data))]
        return StepResults(params, optimizer, outputs, changed, grads, sums)

    return _compiled(plan, steps)
