"""Quantized graphs: the choice of layers that compute in 8 bits, and conversions between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import numpy as np

from modkit.contrib.quantization.calibration import Ranges
from modkit.symbol import Symbol
from modkit.symbol.graph import Entry, Graph, Node, entry_name, rewrite

PRODUCTS = {
    "Convolution": "_contrib_quantized_conv",
    "FullyConnected": "_contrib_quantized_fully_connected",
}
"""Layers whose gain is worth the conversions around them."""

PASSING = {
    "Activation": "_contrib_quantized_act",
    "BatchNorm": "_contrib_quantized_batch_norm",
    "Concat": "_contrib_quantized_concat",
    "Flatten": "_contrib_quantized_flatten",
    "Pooling": "_contrib_quantized_pooling",
    "elemwise_add": "_contrib_quantized_elemwise_add",
    "elemwise_mul": "_contrib_quantized_elemwise_mul",
}
"""Layers that are quantized between others."""

_INT32 = {*PRODUCTS, "elemwise_add", "elemwise_mul"}
"""Layers of int32 results, which a ``requantize`` node turns into 8 bits."""

_FITS: dict[str, Callable[[Mapping[str, object]], bool]] = {
    "Activation": lambda a: a["act_type"] == "relu",
    "Convolution": lambda a: a["layout"] in (None, "NCW", "NCHW", "NCDHW"),
    "Pooling": lambda a: a["pool_type"] in ("max", "avg") and a["pooling_convention"] != "same",
}
"""Predicates of parameters: whether the operator has an 8-bit form with them; default always."""

_FLOAT_INPUTS = {"BatchNorm": 1}
"""The number of inputs that are quantized, where the others stay float32."""

_NAMED = {
    "Activation", "BatchNorm", "BatchNorm_v1", "BilinearSampler", "Concat", "Convolution",
    "Convolution_v1", "Correlation", "Crop", "Deconvolution", "Dropout", "FullyConnected",
    "GridGenerator", "GroupNorm", "InstanceNorm", "L2Normalization", "LRN", "LayerNorm",
    "LeakyReLU", "MakeLoss", "Pad", "Pooling", "Pooling_v1", "RNN", "ROIPooling", "SVMOutput",
    "SequenceLast", "SequenceMask", "SequenceReverse", "SliceChannel", "SoftmaxActivation",
    "SoftmaxOutput", "SpatialTransformer", "SwapAxis", "UpSampling",
    "_contrib_BatchNormWithReLU", "_contrib_DeformableConvolution",
    "_contrib_DeformablePSROIPooling", "_contrib_ModulatedDeformableConvolution",
    "_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget",
    "_contrib_MultiProposal", "_contrib_PSROIPooling", "_contrib_Proposal", "_contrib_ROIAlign",
    "_contrib_RROIAlign", "_contrib_SyncBatchNorm", "_contrib_count_sketch", "_contrib_fft",
    "_contrib_hawkesll", "_contrib_ifft", "_contrib_index_array", "_rnn_param_concat", "col2im",
    "elemwise_add", "im2col", "make_loss", "softmax", "softmin",
}  # fmt: skip
"""Operators with named outputs; conversions of others are named by the number of the output."""


def _entry_name(entry: Entry) -> str:
    """The part of a conversion's name that stands for the entry it converts."""
    if entry.node.is_variable or _first_name(entry.node) in _NAMED:
        return entry_name(entry)
    return f"{entry.node.name}_{entry.output}"


class Levels(NamedTuple):
    """A quantized array in the new graph: 8-bit values, and minimum and maximum."""

    data: Entry
    low: Entry
    high: Entry


def _first_name(node: Node) -> str:
    return "" if node.is_variable or node.known_op is None else node.known_op.name


def chosen(graph: Graph, excluded: Collection[str], ops: Collection[str], smart: bool) -> set[int]:
    """The ``id`` of each node to quantize.

    ``smart`` leaves layers without products that are not between quantized ones.
    """
    found = {
        id(node)
        for node in graph.nodes
        if _has_8_bits(node)
        and node.name not in excluded
        and not {_first_name(node), node.op_name} & set(ops)
    }
    return _between(graph, found) if smart else found


def _has_8_bits(node: Node) -> bool:
    """Whether a node has a form in 8 bits."""
    name = _first_name(node)
    return (name in PRODUCTS or name in PASSING) and (name not in _FITS or _FITS[name](node.params))


def _between(graph: Graph, found: set[int]) -> set[int]:
    """These nodes without `PASSING` layers that lack a quantized producer or a quantized user."""
    passing = [node for node in graph.nodes if id(node) in found and _first_name(node) in PASSING]
    users: dict[int, set[int]] = {}
    for node in graph.nodes:
        for entry in node.inputs:
            users.setdefault(id(entry.node), set()).add(id(node))
    while True:
        inside = {
            id(node)
            for node in passing
            if {id(e.node) for e in node.inputs} & found and users.get(id(node), set()) & found
        }
        outside = {id(node) for node in passing} & found - inside
        if not outside:
            return found
        found = found - outside


class _Rewriter:
    """Builds the quantized graph, in which an entry exists in float32, in 8 bits, or in both."""

    def __init__(self, inside: set[int], parameters: Collection[str], out_type: str):
        self._inside, self._parameters, self._out_type = inside, parameters, out_type
        self._floats: dict[tuple[int, int], Entry] = {}
        self._levels: dict[tuple[int, int], Levels] = {}

    def visit(self, node: Node) -> None:
        """Add a node, after its inputs."""
        if id(node) in self._inside:
            self._levels[id(node), 0] = self._quantized(node)
            return
        if node.is_variable:
            made = Node(node.op_name, node.name, node.attrs)
        else:
            made = node.on([self.floats(entry) for entry in node.inputs])
        for i in range(max(len(node.output_names()), 1)):
            self._floats[id(node), i] = Entry(made, i)

    def floats(self, entry: Entry) -> Entry:
        """An old entry in float32."""
        key = id(entry.node), entry.output
        if key not in self._floats:
            name = f"{entry.node.name}_dequantize"
            made = Node("_contrib_dequantize", name, {}, self._levels[key])
            self._floats[key] = Entry(made)
        return self._floats[key]

    def levels(self, entry: Entry) -> Levels:
        """An old entry as levels: as it is, a parameter quantized beforehand, or converted."""
        key = id(entry.node), entry.output
        if key not in self._levels:
            name = f"{_entry_name(entry)}_quantize"
            if entry.node.is_variable and entry.node.name in self._parameters:
                ends = (name, f"{name}_min", f"{name}_max")
                made = [Entry(Node(entry.node.op_name, each)) for each in ends]
            else:
                attrs = {"out_type": self._out_type}
                node = Node("_contrib_quantize_v2", name, attrs, [self.floats(entry)])
                made = [Entry(node, i) for i in range(3)]
            self._levels[key] = Levels(*made)
        return self._levels[key]

    def _quantized(self, node: Node) -> Levels:
        """The node in 8 bits, and after it the one that makes 8 bits of int32."""
        name = _first_name(node)
        quantized = [self.levels(entry) for entry in node.inputs[: _FLOAT_INPUTS.get(name)]]
        others = [self.floats(entry) for entry in node.inputs[len(quantized) :]]
        ends = [end for each in quantized for end in (each.low, each.high)]
        inputs = [*(each.data for each in quantized), *others, *ends]
        kind = (PRODUCTS | PASSING)[name]
        made = Node(kind, f"quantized_{node.name}", node.attrs, inputs)
        if name in _INT32:
            parts = [Entry(made, i) for i in range(3)]
            attrs = {"out_type": self._out_type}
            made = Node("_contrib_requantize", f"requantize_{node.name}", attrs, parts)
        return Levels(*(Entry(made, i) for i in range(3)))


def quantized_symbol(
    symbol: Symbol, inside: set[int], parameters: Collection[str], out_type: str
) -> Symbol:
    """The symbol with 8-bit layers.

    ``inside`` is that of `chosen`; ``parameters`` are arguments whose levels become parameters.
    """
    rewriter = _Rewriter(inside, parameters, out_type)
    for node in symbol.graph.nodes:
        rewriter.visit(node)
    return Symbol([rewriter.floats(head) for head in symbol.heads])


def tensor_of(node: Node) -> str | None:
    """The name of the float32 tensor whose range a node of a quantized graph needs."""
    if node.op_name == "_contrib_quantize_v2":
        return entry_name(node.inputs[0])
    if node.op_name == "_contrib_requantize":
        return f"{node.name.removeprefix('requantize_')}_output"
    if node.op_name == "_contrib_quantized_batch_norm":
        return f"{node.name.removeprefix('quantized_')}_output"
    return None


def tensors(symbol: Symbol) -> list[str]:
    """Names of the float32 tensors whose ranges a quantized symbol needs."""
    return [name for name in map(tensor_of, symbol.graph.nodes) if name is not None]


def with_ranges(qsym: Symbol, th_dict: Ranges | None) -> Symbol:
    """A copy of a quantized symbol with the calibrated ranges, by name of the tensor."""
    copy = Symbol(rewrite(qsym.graph, {}))
    for node in copy.graph.nodes:
        found = (th_dict or {}).get(tensor_of(node) or "")
        if found is not None:
            low, high = (_text(float(np.ravel(end)[0])) for end in found)
            node.attrs |= {"min_calib_range": low, "max_calib_range": high}
    return copy


def _text(limit: float) -> str:
    """A limit as MXNet writes it, in six places; with nine digits where these would not show it."""
    return f"{limit:.6f}" if abs(limit) >= 1e-2 or not limit else f"{limit:.9g}"
