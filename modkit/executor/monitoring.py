"""Values for monitors: inputs and outputs of every operator, and gradients of its inputs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit import stream
from modkit.compile.memo import made_once
from modkit.step.bound import Pass
from modkit.step.node_taps import NodeInput, NodeWatch, take_taps, taps_for
from modkit.step.placement import Spec, finished
from modkit.step.programs import gradients
from modkit.symbol.lower import Lowered
from modkit.symbol.node_call import NodeCall

Named = tuple[str, jax.Array]
Observe = Callable[[Lowered, tuple[str, ...], Any, Any], Any]

_NAMES_ITS_INPUT = frozenset((
    "Dropout", "GridGenerator", "L2Normalization", "LRN", "LeakyReLU", "MakeLoss", "Pad",
    "Pooling", "Pooling_v1", "SequenceLast", "SequenceMask", "SequenceReverse", "SliceChannel",
    "SwapAxis", "_contrib_BilinearResize2D", "_contrib_MultiBoxPrior", "_contrib_index_array",
    "_contrib_quadratic", "_histogram", "_ravel_multi_index", "_split_v2", "_unravel_index",
    "all_finite", "col2im", "depth_to_space", "diag", "im2col", "log_softmax", "moments",
    "repeat", "reverse", "softmax", "space_to_depth", "squeeze", "tile",
))  # fmt: skip
"""Operators whose only input is ``data`` in MXNet's monitors; that of others is ``input0``."""

_NAMES_ITS_GRADIENTS = frozenset((
    "BilinearSampler", "Correlation", "Crop", "GridGenerator", "IdentityAttachKLSparseReg",
    "InstanceNorm", "L2Normalization", "MakeLoss", "Pad", "Pooling_v1", "ROIPooling",
    "SVMOutput", "SequenceLast", "SequenceMask", "SequenceReverse", "SliceChannel",
    "SpatialTransformer", "SwapAxis",
))  # fmt: skip
"""Operators whose gradients MXNet's monitors name by the inputs, ``sl_backward_data``."""


def forward_values(one_pass: Pass, inputs_too: bool) -> Iterator[Named]:
    """Outputs of all operators, hidden ones too, in execution order: ``fc1_output``, ..."""
    if one_pass.watched:
        one_pass.run()
        made, read = one_pass.watched_values
    else:
        made, read = _run(one_pass, _forward, None)
    return _named_values(one_pass.bound.lowered, made, read, inputs_too)


def backward_values(one_pass: Pass, inputs_too: bool, heads: Any) -> Iterator[Named]:
    """Gradients of all operators' inputs: ``fc1_backward_output0``, ..."""
    del inputs_too
    bound = one_pass.bound
    if one_pass.watched:
        one_pass.run()
        grads = one_pass.seen_gradients or {}
    else:
        grads = _run(one_pass, _backward, heads)
    return _named_gradients(bound.lowered, grads, bound.wrt, heads)


def _run(one_pass: Pass, observe: Observe, heads: Any) -> Any:
    bound = one_pass.bound
    program = _program(bound.lowered, bound.wrt, one_pass.train, bound.placement, observe)
    inputs = one_pass.placed(one_pass.shared, one_pass.local, one_pass.aux)
    if bound.placement.model_parallel:  # the whole graph runs on the device of the context
        inputs, heads = jax.device_put((inputs, heads), bound.placement.device)
    with bound.scope:
        return program(*inputs, one_pass.key_data, heads)


@made_once(maxsize=64)
def _program(
    lowered: Lowered, wrt: tuple[str, ...], train: bool, placement: Any, observe: Observe
) -> Any:
    """The compiled ``observe``, whose result is a dictionary.

    `NodeWatch` is filled while a program is traced, and one from the disk cache is not: what it
    shows must be a result.
    """

    def watched(shared: Any, local: Any, aux: Any, key_data: Any, heads: Any) -> Any:
        key = placement.split_key(stream.as_key(key_data))

        def run(watch: NodeWatch) -> Any:
            values = {**shared, **local, **aux}
            return lowered.run(values, key, train, watch, streams=stream.numbers_of(key_data))

        return observe(lowered, wrt, run, heads)

    kinds = ("shared", "local", "local", "plain", "local")
    run = placement.compile(Spec(watched, kinds, "local"))
    return finished(run) if lowered.on_host else run


def _forward(lowered: Lowered, wrt: tuple[str, ...], run: Any, heads: Any) -> Any:
    """Traced: outputs by node, and inputs by `NodeInput`."""
    del wrt, heads
    watch = NodeWatch(lowered)
    run(watch)
    return watch.made, watch.arrays


def _backward(lowered: Lowered, wrt: tuple[str, ...], run: Any, heads: Any) -> Any:
    """Traced: gradients by `NodeInput`."""
    taps = taps_for(lowered, wrt, run)

    def forward(taps: Any) -> Any:
        outputs, _, anchor, _ = run(NodeWatch(lowered, taps))
        return outputs, anchor

    (outputs, anchor), pullback = jax.vjp(forward, taps)
    zero = jnp.zeros_like(anchor)
    grads = gradients(lambda heads: pullback((heads, zero)), outputs, heads, {})
    return take_taps(lowered, grads)


def _named_values(
    lowered: Lowered,
    made: Mapping[int, Sequence[jax.Array]],
    read: Mapping[NodeInput, jax.Array],
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
    lowered: Lowered, node: int, step: NodeCall, read: Mapping[NodeInput, jax.Array]
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
    lowered: Lowered, grads: Mapping[NodeInput, jax.Array], wrt: Sequence[str], heads: Any
) -> Iterator[Named]:
    """In MXNet's order: what an argument's gradient needs comes before it, argument by argument."""
    readers: dict[tuple[int, int], list[NodeInput]] = {}
    for node, at in sorted(grads, reverse=True):
        readers.setdefault(lowered.steps[node].inputs[at], []).append((node, at))
    given = dict(enumerate(heads or ()))
    at_head: dict[tuple[int, int], list[int]] = {}
    for i, entry in enumerate(lowered.heads):
        if given.get(i) is not None and not lowered.loss_heads[i]:
            at_head.setdefault(entry, []).append(i)
    entries: dict[int, list[tuple[int, int]]] = {}
    for entry in sorted({*readers, *at_head}):
        entries.setdefault(entry[0], []).append(entry)
    names = {step.name: node for node, step in enumerate(lowered.steps) if step.op is None}
    tasks: list[tuple[str, Any]] = [("entry", (names[name], 0)) for name in reversed(wrt)]
    opened = set()
    while tasks:
        task = kind, at = tasks.pop()
        if kind == "rows":
            yield from _gradients_of(lowered, at, grads)
        elif kind == "head":
            yield f"_head_grad_{at}_id_output", given[at]
        elif kind == "total":
            yield "sum_grad_output", functools.reduce(operator.add, [grads[p] for p in readers[at]])
        elif task not in opened:
            opened.add(task)
            if kind == "node":
                tasks.append(("rows", at))
                tasks += [("entry", entry) for entry in reversed(entries.get(at, ()))]
            else:
                if len(readers.get(at, ())) > 1:
                    tasks.append(("total", at))
                tasks += [("node", node) for node, _ in reversed(readers.get(at, ()))]
                tasks += [("head", i) for i in reversed(at_head.get(at, ()))]


def _gradients_of(
    lowered: Lowered, node: int, grads: Mapping[NodeInput, jax.Array]
) -> Iterator[Named]:
    """The gradients of a node's inputs; MXNet has none where they are those of its outputs."""
    step = lowered.steps[node]
    if step.op is None or step.op.name == "elemwise_add":
        return
    if step.op.name == "BlockGrad" and lowered.steps[step.inputs[0][0]].op is not None:
        return
    names = step.op.input_names(step.attrs)
    inputs = [i for i, n in enumerate(names) if n not in step.op.aux_names(step.attrs)]
    for at in inputs:
        if (node, at) in grads:
            number = "" if len(inputs) == 1 else str(at)
            kind = "output" if step.op.name == "Custom" else "backward_output"
            if step.op.name in _NAMES_ITS_GRADIENTS:
                kind, number = "backward_", names[at]
            yield f"{step.name}_{kind}{number}", grads[node, at]
