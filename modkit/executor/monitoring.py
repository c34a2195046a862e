"""Values for monitors: inputs and outputs of every operator, and gradients of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit import stream
from modkit.compile.memo import made_once
from modkit.step.bound import Pass
from modkit.step.placement import finished
from modkit.step.programs import gradients
from modkit.symbol.lower import Lowered, NodeCall

Named = tuple[str, jax.Array]
InputIndex = tuple[int, int]
"""Index of a node, and index of one of its inputs."""
Observe = Callable[[Lowered, Any, Any], Any]

_NAMES_ITS_INPUT = frozenset(
    [
        "Dropout",
        "GridGenerator",
        "L2Normalization",
        "LRN",
        "LeakyReLU",
        "MakeLoss",
        "Pad",
        "Pooling",
        "Pooling_v1",
        "SequenceLast",
        "SequenceMask",
        "SequenceReverse",
        "SliceChannel",
        "SwapAxis",
        "_contrib_BilinearResize2D",
        "_contrib_MultiBoxPrior",
        "_contrib_index_array",
        "_contrib_quadratic",
        "_histogram",
        "_ravel_multi_index",
        "_split_v2",
        "_unravel_index",
        "all_finite",
        "col2im",
        "depth_to_space",
        "diag",
        "im2col",
        "log_softmax",
        "moments",
        "repeat",
        "reverse",
        "softmax",
        "space_to_depth",
        "squeeze",
        "tile",
    ]
)
"""Operators whose only input is ``data`` in MXNet's monitors; that of others is ``input0``."""


def forward_values(one_pass: Pass, inputs_too: bool) -> Iterator[Named]:
    """Outputs of all operators, hidden ones too, in execution order: ``fc1_output``, ..."""
    made, read = _run(one_pass, _forward, None)
    return _named_values(one_pass.bound.lowered, made, read, inputs_too)


def backward_values(one_pass: Pass, inputs_too: bool, heads: Any) -> Iterator[Named]:
    """Gradients of all operators' inputs, last operator first: ``fc1_backward_output0``, ..."""
    del inputs_too
    bound = one_pass.bound
    return _named_gradients(bound.lowered, _run(one_pass, _backward, heads), bound.wrt)


def _run(one_pass: Pass, observe: Observe, heads: Any) -> Any:
    bound = one_pass.bound
    program = _program(bound.lowered, one_pass.train, bound.placement, observe)
    inputs = one_pass.placed(one_pass.shared, one_pass.local, one_pass.aux)
    if bound.placement.model_parallel:  # the whole graph runs on the device of the context
        inputs, heads = jax.device_put((inputs, heads), bound.placement.contexts[0].jax_device)
    with bound.scope:
        return program(*inputs, one_pass.key_data, heads)


@made_once(maxsize=64)
def _program(lowered: Lowered, train: bool, placement: Any, observe: Observe) -> Any:
    """The compiled ``observe``. Results are keyed: a cached program records nothing by tracing."""

    def watched(shared: Any, local: Any, aux: Any, key_data: Any, heads: Any) -> Any:
        key = placement.split_key(stream.as_key(key_data))

        def run(watch: _Watch) -> Any:
            return lowered.run({**shared, **local, **aux}, key, train, watch)

        return observe(lowered, run, heads)

    kinds = ("shared", "local", "local", "plain", "local")
    run = placement.compile(watched, kinds, "local")
    return finished(run) if lowered.on_host else run


def _forward(lowered: Lowered, run: Any, heads: Any) -> Any:
    """Traced: outputs by node, and inputs by `InputIndex`."""
    del heads
    watch = _Watch(lowered)
    run(watch)
    return watch.made, watch.arrays


def _backward(lowered: Lowered, run: Any, heads: Any) -> Any:
    """Traced: gradients by `InputIndex`."""
    seen = _Watch(lowered)
    run(seen)
    taps = {
        place: jnp.zeros(a.shape, a.dtype)
        for place, a in seen.arrays.items()
        if jnp.issubdtype(a.dtype, jnp.inexact)
    }
    outputs, pullback, _ = jax.vjp(lambda taps: run(_Watch(lowered, taps)), taps, has_aux=True)
    return gradients(pullback, outputs, heads, {})


class _Watch:
    """Records inputs and outputs of nodes while tracing, and adds ``taps`` to the inputs."""

    def __init__(self, lowered: Lowered, taps: Any = None):
        self._taps = taps or {}
        self._places = {id(s): i for i, s in enumerate(lowered.steps)}
        self.arrays: dict[tuple[int, int], jax.Array] = {}
        self.made: dict[int, Sequence[jax.Array]] = {}

    def inputs(self, call: NodeCall, arrays: list[jax.Array]) -> list[jax.Array]:
        """Record the inputs, and add the taps."""
        node = self._places[id(call)]
        for at, array in enumerate(arrays):
            self.arrays[node, at] = array
        return [
            a + self._taps[node, i] if (node, i) in self._taps else a for i, a in enumerate(arrays)
        ]

    def outputs(self, call: NodeCall, arrays: Sequence[jax.Array]) -> None:
        """Record the outputs."""
        self.made[self._places[id(call)]] = arrays


def _named_values(
    lowered: Lowered,
    made: Mapping[int, Sequence[jax.Array]],
    read: Mapping[InputIndex, jax.Array],
    inputs_too: bool,
) -> Iterator[Named]:
    for node, step in enumerate(lowered.steps):
        if step.op is None:
            continue
        if inputs_too:
            yield from _named_inputs(lowered, node, step, read)
        names = step.op.output_names(step.attrs)
        for name, array in zip(names, made[node], strict=True):
            yield f"{step.name}_{name}", array


def _named_inputs(
    lowered: Lowered, node: int, step: NodeCall, read: Mapping[InputIndex, jax.Array]
) -> Iterator[Named]:
    names = step.op.input_names(step.attrs) if step.op else []
    if step.op and names == ["data"] and step.op.name not in _NAMES_ITS_INPUT:
        names = ["input0"]
    for at, name in enumerate(names):
        source = lowered.steps[step.inputs[at][0]]
        if source.op is None:
            yield source.name, read[node, at]
        yield f"{step.name}_{name}", read[node, at]


def _named_gradients(
    lowered: Lowered, grads: Mapping[InputIndex, jax.Array], wrt: Sequence[str]
) -> Iterator[Named]:
    reached: list[bool] = []  # whether a node depends on an argument that has a gradient
    for step in lowered.steps:
        reached.append(
            step.name in wrt if step.op is None else any(reached[i] for i, _ in step.inputs)
        )
    for node in reversed(range(len(lowered.steps))):
        step = lowered.steps[node]
        if step.op is None or not reached[node]:
            continue
        names = step.op.input_names(step.attrs)
        inputs = [i for i, n in enumerate(names) if n not in step.op.aux_names(step.attrs)]
        for at in inputs:
            if (node, at) in grads:
                number = "" if len(inputs) == 1 else str(at)
                yield f"{step.name}_backward_output{number}", grads[node, at]
