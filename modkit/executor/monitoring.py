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
    return NamedGradients(bound.lowered, grads, heads).by_argument(bound.arrays.wrt)


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


class NamedGradients:
    """Gradients of a graph's nodes, in MXNet's order: what one needs comes before it."""

    def __init__(self, lowered: Lowered, grads: Mapping[NodeInput, Any], heads: Any):
        self._lowered, self._grads = lowered, grads
        given = zip(heads or (), lowered.ignoring_heads, strict=False)
        self._heads = {i: h for i, (h, unread) in enumerate(given) if h is not None and not unread}
        self._readers: dict[Any, list[NodeInput]] = defaultdict(list)
        for node, at in sorted(grads, reverse=True):
            self._readers[lowered.steps[node].inputs[at]].append((node, at))
        self._at_head: dict[Any, list[int]] = defaultdict(list)
        for i in self._heads:
            self._at_head[lowered.heads[i]].append(i)
        self._outputs: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for entry in sorted({*self._readers, *self._at_head}):
            self._outputs[entry[0]].append(entry)

    def by_argument(self, wrt: Sequence[str]) -> Iterator[Named]:
        """Those that the gradients of some arguments need, argument by argument."""
        names = {step.name: i for i, step in enumerate(self._lowered.steps) if step.op is None}
        tasks: list[tuple[str, Any]] = [("entry", (names[name], 0)) for name in reversed(wrt)]
        opened = set()
        while tasks:
            task = kind, at = tasks.pop()
            if kind not in ("node", "entry"):
                yield from self._shown(kind, at)
            elif task not in opened:
                opened.add(task)
                tasks += self._of_node(at) if kind == "node" else self._of_entry(at)

    def _of_node(self, node: int) -> list[tuple[str, Any]]:
        return [("inputs", node), *(("entry", e) for e in reversed(self._outputs[node]))]

    def _of_entry(self, entry: tuple[int, int]) -> list[tuple[str, Any]]:
        readers = self._readers[entry]
        total: list[tuple[str, Any]] = [("total", entry)] if len(readers) > 1 else []
        total += [("node", node) for node, _ in reversed(readers)]
        return total + [("head", i) for i in reversed(self._at_head[entry])]

    def _shown(self, kind: str, at: Any) -> Iterator[Named]:
        if kind == "inputs":
            yield from _gradients_of(self._lowered, at, self._grads)
        elif kind == "head":
            yield f"_head_grad_{at}_id_output", self._heads[at]
        else:
            added = [self._grads[place] for place in self._readers[at]]
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
