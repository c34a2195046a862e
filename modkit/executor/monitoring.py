"""What a monitor sees: every operator's inputs and outputs, and the gradients of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit import stream
from modkit.executor.bound import Pass
from modkit.executor.once import made_once
from modkit.executor.placement import finished
from modkit.executor.programs import gradients
from modkit.symbol.lower import Lowered, Step

Named = tuple[str, jax.Array]
Observe = Callable[[Lowered, Any, Any], Iterator[Named]]


def forward_values(one_pass: Pass, inputs_too: bool) -> Iterator[Named]:
    """Outputs of all operators, hidden ones too, in running order; ``fc1_output`` and so on."""
    return _run(one_pass, _forward if not inputs_too else _forward_all, None)


def backward_values(one_pass: Pass, inputs_too: bool, heads: Any) -> Iterator[Named]:
    """Gradients of all operators' inputs, last operator first; ``fc1_backward_output0``..."""
    del inputs_too
    return _run(one_pass, _backward, heads)


def _run(one_pass: Pass, observe: Observe, heads: Any) -> Iterator[Named]:
    bound = one_pass.bound
    program, names = _program(bound.lowered, one_pass.train, bound.placement, observe)
    inputs = one_pass.shared, one_pass.local, one_pass.aux
    if bound.placement.spread:  # a monitor runs the whole graph on the device of the context
        inputs, heads = jax.device_put((inputs, heads), bound.placement.contexts[0].jax_device)
    with bound.scope:
        arrays = program(*inputs, one_pass.words, heads)
    return zip(names, arrays, strict=True)


@made_once(maxsize=64)
def _program(lowered: Lowered, train: bool, placement: Any, observe: Observe) -> Any:
    """``observe`` compiled, and the list that its names are put in when it is traced."""
    names: list[str] = []

    def watched(shared: Any, local: Any, aux: Any, words: Any, heads: Any) -> list[jax.Array]:
        key = placement.split_key(stream.as_key(words))

        def run(watch: _Watch) -> Any:
            return lowered.run({**shared, **local, **aux}, key, train, watch)

        seen = list(observe(lowered, run, heads))
        names[:] = [n for n, _ in seen]
        return [a for _, a in seen]

    kinds = ("shared", "local", "local", "plain", "local")
    run = placement.compile(watched, kinds, "local")
    return finished(run) if lowered.on_host else run, names


def _forward(lowered: Lowered, run: Any, heads: Any, inputs_too: bool = False) -> Iterator[Named]:
    del heads
    watch = _Watch(lowered)
    run(watch)
    return _named_values(lowered, watch, inputs_too)


def _forward_all(lowered: Lowered, run: Any, heads: Any) -> Iterator[Named]:
    return _forward(lowered, run, heads, inputs_too=True)


def _backward(lowered: Lowered, run: Any, heads: Any) -> Iterator[Named]:
    seen = _Watch(lowered)
    run(seen)
    taps = {
        place: jnp.zeros(a.shape, a.dtype)
        for place, a in seen.arrays.items()
        if jnp.issubdtype(a.dtype, jnp.inexact)
    }
    outputs, pullback, _ = jax.vjp(lambda taps: run(_Watch(lowered, taps)), taps, has_aux=True)
    return iter(_named_gradients(lowered, gradients(pullback, outputs, heads, {})))


class _Watch:
    """Notes what nodes read and make, and adds ``taps`` to what they read."""

    def __init__(self, lowered: Lowered, taps: Any = None):
        self._taps = taps or {}
        self._places = {id(s): i for i, s in enumerate(lowered.steps)}
        self.arrays: dict[tuple[int, int], jax.Array] = {}
        self.made: dict[int, Sequence[jax.Array]] = {}

    def inputs(self, step: Step, arrays: list[jax.Array]) -> list[jax.Array]:
        """Note the inputs, and add the taps."""
        node = self._places[id(step)]
        for at, array in enumerate(arrays):
            self.arrays[node, at] = array
        return [
            a + self._taps[node, i] if (node, i) in self._taps else a for i, a in enumerate(arrays)
        ]

    def outputs(self, step: Step, arrays: Sequence[jax.Array]) -> None:
        """Note the outputs."""
        self.made[self._places[id(step)]] = arrays


def _named_values(lowered: Lowered, watch: _Watch, inputs_too: bool) -> Iterator[Named]:
    for node, step in enumerate(lowered.steps):
        if step.op is None:
            continue
        if inputs_too:
            yield from _named_inputs(lowered, node, step, watch)
        names = step.op.output_names(step.attrs)
        for name, array in zip(names, watch.made[node], strict=True):
            yield f"{step.name}_{name}", array


def _named_inputs(lowered: Lowered, node: int, step: Step, watch: _Watch) -> Iterator[Named]:
    for at, name in enumerate(step.op.input_names(step.attrs) if step.op else ()):
        source = lowered.steps[step.inputs[at][0]]
        if source.op is None:
            yield source.name, watch.arrays[node, at]
        yield f"{step.name}_{name}", watch.arrays[node, at]


def _named_gradients(lowered: Lowered, grads: Any) -> list[tuple[str, jax.Array]]:
    named: list[Named] = []
    for node in reversed(range(len(lowered.steps))):
        step = lowered.steps[node]
        if step.op is None:
            continue
        names = step.op.input_names(step.attrs)
        inputs = [i for i, n in enumerate(names) if n not in step.op.aux_names(step.attrs)]
        for at in inputs:
            if (node, at) in grads:
                number = "" if len(inputs) == 1 else str(at)
                named.append((f"{step.name}_backward_output{number}", grads[node, at]))
    return named
