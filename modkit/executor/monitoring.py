"""Values for monitors: inputs and outputs of every operator, and gradients of its inputs."""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import jax

from modkit.ndarray.storage import x64_scope
from modkit.ops.entry import Op
from modkit.ops.parameters import Attrs
from modkit.step.bound import Pass
from modkit.step.node_taps import NodeInput
from modkit.step.programs import programs_for
from modkit.symbol.graph import post_order
from modkit.symbol.lower import Lowered

T = TypeVar("T")
Named = tuple[str, Any]

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
        made, read = _run(one_pass, (), "watched")[3]
    return _named_values(one_pass.bound.lowered, made, read, inputs_too)


def backward_values(one_pass: Pass, inputs_too: bool, heads: Any) -> Iterator[Named]:
    """Gradients of all operators' inputs: ``fc1_backward_output0``, ..."""
    bound = one_pass.bound
    if one_pass.watched:
        one_pass.run()
        grads = one_pass.seen_gradients or {}
    else:
        grads = _run(one_pass, bound.arrays.wrt, "watched_gradients", heads)
    return named_gradients(bound.lowered, grads, heads, bound.arrays.wrt)


def _run(one_pass: Pass, wrt: tuple[str, ...], program: str, *heads: Any) -> Any:
    """Results of one of the `Programs` of a graph, at the inputs of a pass that has not run."""
    bound = one_pass.bound
    programs = programs_for(bound.lowered, wrt, one_pass.train, bound.placement)
    inputs = one_pass.placed(one_pass.shared, one_pass.local, one_pass.aux)
    if bound.placement.model_parallel:  # the whole graph runs on the device of the context
        inputs, heads = jax.device_put((inputs, heads), bound.placement.device)
    with x64_scope(bound.has_x64):
        return getattr(programs, program)(*inputs, one_pass.key_data, *heads)


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
            sources = [lowered.steps[source] for source, _ in step.inputs]
            variables = [source.name if source.op is None else None for source in sources]
            values = [read[node, at] for at in range(len(sources))]
            yield from named_inputs(step.name, step.op, step.attrs, variables, values)
        names = step.op.output_names(step.attrs)
        for name, array in zip(names, made[node], strict=True):
            yield f"{step.name}_{name}", array


def named_inputs(
    name: str, op: Op, attrs: Attrs, variables: Sequence[str | None], values: Sequence[T]
) -> Iterator[tuple[str, T]]:
    """The inputs of a node as monitors show them; those that are variables by their names, too."""
    names = op.input_names(attrs)
    if names == ["data"] and op.name not in _NAMES_ITS_INPUT:
        names = ["input0"]
    for each, variable, value in zip(names, variables, values, strict=True):
        if variable is not None:
            yield variable, value
        yield f"{name}_{each}", value


def named_gradients(
    lowered: Lowered, grads: Mapping[NodeInput, Any], heads: Any, wrt: Sequence[str]
) -> Iterator[Named]:
    """Gradients of inputs of nodes that those of some arguments need, argument by argument.

    In MXNet's order: what one needs comes before it.
    """
    given = zip(heads or (), lowered.ignoring_heads, strict=False)
    own = {i: h for i, (h, unread) in enumerate(given) if h is not None and not unread}
    readers: dict[Any, list[NodeInput]] = defaultdict(list)
    for node, at in sorted(grads, reverse=True):
        readers[lowered.steps[node].inputs[at]].append((node, at))
    at_head: dict[Any, list[int]] = defaultdict(list)
    for i in own:
        at_head[lowered.heads[i]].append(i)
    outputs: dict[int, list[Any]] = defaultdict(list)
    for entry in sorted({*readers, *at_head}):
        outputs[entry[0]].append(entry)

    def below(place: tuple[str, Any]) -> list[tuple[str, Any]]:
        kind, at = place
        if kind == "entry":
            nodes = [("node", node) for node, _ in readers[at]]
            return [*(("head", i) for i in at_head[at]), *nodes]
        return [("entry", entry) for entry in outputs[at]] if kind == "node" else []

    names = {step.name: i for i, step in enumerate(lowered.steps) if step.op is None}
    wanted: list[tuple[str, Any]] = [("entry", (names[name], 0)) for name in wrt]
    for kind, at in post_order(wanted, below):
        if kind == "node":
            yield from _gradients_of(lowered, at, grads)
        elif kind == "head":
            yield f"_head_grad_{at}_id_output", own[at]
        elif len(readers[at]) > 1:
            added = [grads[place] for place in readers[at]]
            yield "sum_grad_output", functools.reduce(operator.add, added)


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
