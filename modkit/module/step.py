"""The fused step: forward, backward, sum, optimizer and metric as one compiled program."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from modkit import random
from modkit.executor.bound import Bound, Pass
from modkit.executor.programs import gradients, programs_for
from modkit.module.replicas import Alone, Replicas
from modkit.ndarray.cell import wide
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
        key = jax.random.fold_in(random.as_key(words), _UPDATE)
        params, state = rule.update(summed, state, params, hyper, key)
        sums = metric([local[n] for n in labels], outputs) if metric else None
        return params, state, outputs, changed, grads, sums

    ins = ("shared", "shared", "shared", "local", "local", "local", "plain", "plain")
    outs = ("shared", "shared", "local", "local", "local", "local")
    return home.compile(step, ins, outs, donate=(0, 1))


def can_fuse(one_pass: Pass | None, names: Sequence[str]) -> bool:
    """Whether nobody has read a result of this pass, nor written a parameter since it began."""
    if one_pass is None or not (one_pass.train and one_pass.fresh and one_pass.wants_gradients):
        return False
    if one_pass.heads is not None:
        return False
    cells, seen = one_pass.bound.shared, one_pass.shared or {}
    return all(cells[n].holds(seen[n]) for n in names)


def run_step(
    one_pass: Pass,
    names: Sequence[str],
    rule: Any,
    states: Mapping[str, Any],
    hyper: Any,
    metric: Metric | None = None,
    labels: Sequence[str] = (),
) -> Any:
    """Run a pass together with the update of the parameters ``names``.

    Args:
        one_pass: a pass for which `can_fuse` holds.
        names: the parameters, in the order of the rows of ``hyper``.
        rule: the optimizer's tree rule.
        states: optimizer states by name: trees of NDArrays, written in place.
        hyper: the numbers that change from step to step.
        metric: what ``EvalMetric.fused`` gave.
        labels: names of the labels that it takes.

    Returns:
        The metric's sums.
    """
    bound: Bound = one_pass.bound
    home = bound.placement
    if one_pass.shared is None:
        raise RuntimeError("the pass has run already")
    leaves, layout = jax.tree.flatten(states)
    kept = [home.adopt(leaf) for leaf in leaves]
    fixed = {n: v for n, v in one_pass.shared.items() if n not in states}
    inputs = (fixed, one_pass.local, one_pass.aux, one_pass.old, one_pass.words, hyper)
    with wide(*(c.aval.dtype for c in (*bound.shared.values(), *bound.local.values()))):
        program = step_program(bound.lowered, bound.wrt, home, rule, metric, tuple(labels))
        params = {n: bound.shared[n].take(one_pass) for n in names}
        state = layout.unflatten([c.take(one_pass) for c in kept])
        params, state, outputs, changed, grads, sums = program(params, state, *inputs)
    for name in names:
        bound.shared[name].set(params[name])
    for cell, value in zip(kept, jax.tree.leaves(state), strict=True):
        cell.set(value)
    one_pass.finish(outputs, changed, grads)
    return sums

