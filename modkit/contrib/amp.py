"""``mx.contrib.amp``: symbols and models converted to mixed precision, by casts in the graph.

Names that belong to Gluon or to arrays (``init``, ``scale_loss``, ...) raise when they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from modkit.absent import absent_names
from modkit.errors import DTypeError, ParameterError, expect, nearest
from modkit.ops.dtypes import DTYPE_CODES
from modkit.ops.registry import OPS, get_op
from modkit.symbol.graph import VARIABLE, Entry, Graph, Node, entry_name, rewrite
from modkit.symbol.graph_inference import infer_dtypes
from modkit.symbol.symbol import Symbol

__getattr__ = absent_names(
    __name__,
    "Module(..., compute_dtype='bfloat16') trains in mixed precision, see docs/mixed_precision.md",
    "init",
    "init_trainer",
    "scale_loss",
    "unscale",
    "convert_hybrid_block",
)

Condition = tuple[str, str, Sequence[str]]
"""An operator, a parameter of it, and the values with which it computes in float32."""

_TARGETS = ("float16", "bfloat16")

_LP16 = ("Convolution", "Deconvolution", "FullyConnected", "RNN")
"""Operators that compute in 16 bits."""

_FP32 = """
    CTCLoss Custom GroupNorm IdentityAttachKLSparseReg InstanceNorm L2Normalization LRN
    LayerNorm LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput MakeLoss
    SVMOutput SoftmaxActivation SoftmaxOutput _contrib_DeformableConvolution
    _contrib_DeformablePSROIPooling _contrib_MultiBoxDetection _contrib_MultiBoxPrior
    _contrib_MultiBoxTarget _contrib_SyncBatchNorm _contrib_count_sketch _contrib_fft
    _contrib_hawkesll _hypot _hypot_scalar _linalg_det _linalg_extractdiag _linalg_extracttrian
    _linalg_gelqf _linalg_gemm _linalg_gemm2 _linalg_inverse _linalg_makediag _linalg_maketrian
    _linalg_potrf _linalg_potri _linalg_slogdet _linalg_sumlogdiag _linalg_syevd _linalg_syrk
    _linalg_trmm _linalg_trsm _power _power_scalar _rdiv_scalar _rpower_scalar _square_sum arccos
    arcsin arctanh argsort broadcast_hypot broadcast_power cosh erfinv exp expm1 gamma gammaln
    khatri_rao log log10 log1p log2 log_softmax make_loss mean moments nanprod nansum norm prod
    rcbrt reciprocal rsqrt sinh smooth_l1 softmax softmax_cross_entropy softmin square sum tan
    topk
"""
"""Names of operators that compute in float32."""

_WIDEST = """
    Concat Correlation _contrib_MultiProposal _contrib_PSROIPooling _contrib_Proposal
    _contrib_ROIAlign _contrib_box_iou _contrib_box_nms _contrib_dgl_adjacency
    _contrib_dgl_csr_neighbor_non_uniform_sample _contrib_dgl_csr_neighbor_uniform_sample
    _contrib_dgl_graph_compact _contrib_dgl_subgraph _contrib_edge_id
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _equal
    _greater _greater_equal _lesser _lesser_equal _logical_and _logical_or _logical_xor _maximum
    _minimum _mod _not_equal _random_pdf_dirichlet _random_pdf_exponential _random_pdf_gamma
    _random_pdf_generalized_negative_binomial _random_pdf_negative_binomial _random_pdf_normal
    _random_pdf_poisson _random_pdf_uniform _scatter_elemwise_div add_n batch_dot broadcast_add
    broadcast_div broadcast_equal broadcast_greater broadcast_greater_equal broadcast_lesser
    broadcast_lesser_equal broadcast_logical_and broadcast_logical_or broadcast_logical_xor
    broadcast_maximum broadcast_minimum broadcast_mod broadcast_mul broadcast_not_equal
    broadcast_sub dot elemwise_add elemwise_div elemwise_mul elemwise_sub stack where
"""
"""Names of operators that compute in the widest type of their inputs."""

_CONDITIONS: tuple[Condition, ...] = (
    ("Activation", "act_type", ("softrelu",)),
    ("LeakyReLU", "act_type", ("elu", "selu")),
)

_LOSSES = (
    "SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput",
)  # fmt: skip


def list_lp16_ops(target_dtype: str) -> list[str]:
    """Operators that compute in 16 bits."""
    return _with_aliases(target_dtype, _LP16)


def list_fp32_ops(target_dtype: str) -> list[str]:
    """Names of operators that compute in float32."""
    return _with_aliases(target_dtype, _FP32.split())


def list_lp16_fp32_ops(target_dtype: str) -> list[str]:
    """Operators that compute in the type of their data: all that no other list has."""
    others = {*_LP16, *_FP32.split(), *_WIDEST.split()}
    return _with_aliases(target_dtype, [op.name for op in OPS.values() if op.name not in others])


def list_widest_type_cast(target_dtype: str) -> list[str]:
    """Operators that compute in the widest type of their inputs."""
    return _with_aliases(target_dtype, _WIDEST.split())


def list_conditional_fp32_ops(target_dtype: str) -> list[Condition]:
    """Operators that compute in float32 for some values of a parameter."""
    _check_target(target_dtype)
    return [(name, param, list(values)) for name, param, values in _CONDITIONS]


def list_loss_output_functions(target_dtype: str) -> list[str]:
    """Losses, which compute in float32."""
    _check_target(target_dtype)
    return list(_LOSSES)


def convert_symbol(
    sym: Symbol,
    target_dtype: str = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[Condition] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    data_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """A copy of a graph with casts (``amp_cast``, ``amp_multicast``) to and from 16 bits.

    Inputs of some operators are cast to 16 bits, those of others to float32; operators such as
    ``broadcast_add`` read the widest type of their inputs; outputs are float32. ``save`` and
    ``tojson`` write the casts with ``remove_amp_cast=False``.

    Args:
        target_dtype: ``"float16"`` or ``"bfloat16"``.
        target_dtype_ops: operators that compute in 16 bits; default `list_lp16_ops`.
        fp32_ops: operators that compute in float32; default `list_fp32_ops`.
        conditional_fp32_ops: default `list_conditional_fp32_ops`.
        excluded_sym_names: names of nodes that compute in float32.
        data_names: inputs that are no parameters. If given, the other variables declare their type
            (``__dtype__``).
        cast_optional_params: parameters of operators that compute in 16 bits are declared as 16
            bits, not cast; needs ``data_names``.

    Raises:
        DTypeError: ``sym`` is no Symbol, or another target.
        ParameterError: an argument is no list of names, or an operator is in two lists.

    Differs: bfloat16 has the same lists of operators as float16. A parameter that is shared by
    operators in 16 bits and in float32 is stored in 16 bits. Names of inserted casts may differ.
    """
    if not isinstance(sym, Symbol):
        raise DTypeError(f"convert_symbol: sym: got {type(sym).__name__}, expected a Symbol")
    _check_target(target_dtype)
    lists = {
        "target_dtype_ops": target_dtype_ops, "fp32_ops": fp32_ops,
        "excluded_sym_names": excluded_sym_names, "data_names": data_names,
    }  # fmt: skip
    for what, given in lists.items():
        names = isinstance(given, list | tuple) and all(isinstance(n, str) for n in given)
        expect(given is None or names, f"convert_symbol: {what}", given, "a list of names")
    conditions = conditional_fp32_ops if conditional_fp32_ops is not None else _CONDITIONS
    kinds = _Kinds(
        _canonical("target_dtype_ops", target_dtype_ops, _LP16),
        _canonical("fp32_ops", fp32_ops, _FP32.split()),
        frozenset(_WIDEST.split()),
        tuple(_condition(each) for each in conditions),
        frozenset(excluded_sym_names or ()),
    )
    conditional = {name for name, _, _ in kinds.conditions}
    if both := sorted(kinds.lp16 & kinds.fp32 | (kinds.lp16 | kinds.fp32) & conditional):
        raise ParameterError(
            f"convert_symbol: got {', '.join(both)} in two of target_dtype_ops, fp32_ops and "
            "conditional_fp32_ops, expected each operator in one of them; pass the other list "
            "without it"
        )
    halves: set[str] = set()
    if cast_optional_params and data_names is not None:
        halves = kinds.read_by_lp16(sym.graph).difference(data_names)
    graph = _Casting(sym.graph, kinds, target_dtype, halves).converted()
    if data_names is not None:
        graph = _declared(graph, data_names, target_dtype)
    return Symbol(graph.heads)


def convert_model(
    sym: Symbol,
    arg_params: dict[str, Any],
    aux_params: dict[str, Any],
    target_dtype: str = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[Condition] | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:
    """A model for inference in mixed precision: the graph of `convert_symbol`, and its parameters.

    The graph is a copy; ``arg_params`` and ``aux_params`` are cast in their dictionaries, to the
    types that the graph declares. The other arguments are those of `convert_symbol`.

    Raises:
        DTypeError: ``sym`` is no Symbol, or another target.
        ParameterError: an argument is no list of names, or an operator is in two lists.
    """
    if not isinstance(sym, Symbol):
        raise DTypeError(f"convert_model: sym: got {type(sym).__name__}, expected a Symbol")
    data_names = [n for n in sym.list_inputs() if n not in arg_params and n not in aux_params]
    converted = convert_symbol(
        sym, target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names,
        data_names, cast_optional_params,
    )  # fmt: skip
    declared = {n.name: n.attrs.get("__dtype__") for n in converted.graph.inputs}
    for params in (arg_params, aux_params):
        for name, array in params.items():
            if (code := declared.get(name)) is not None:
                params[name] = array.astype(DTYPE_CODES[int(code)], copy=False)
    return converted, arg_params, aux_params


class _Kinds(NamedTuple):
    """The operators of each precision, by their canonical names."""

    lp16: frozenset[str]
    fp32: frozenset[str]
    widest: frozenset[str]
    conditions: tuple[Condition, ...]
    excluded: frozenset[str]

    def of(self, node: Node) -> str:
        """``"lp16"``, ``"fp32"``, ``"widest"``, or ``""`` for a node that reads any type."""
        name = node.op.name
        met = any(
            name == op and str(node.params.get(param)) in values
            for op, param, values in self.conditions
        )
        if node.name in self.excluded or met or name in self.fp32:
            return "fp32"
        if name in self.lp16:
            return "lp16"
        return "widest" if name in self.widest else ""

    def read_by_lp16(self, graph: Graph) -> set[str]:
        """Names of the variables that operators of 16 bits read."""
        nodes = [n for n in graph.nodes if not n.is_variable and self.of(n) == "lp16"]
        return {e.node.name for n in nodes for e in n.inputs if e.node.is_variable}


class _Casting:
    """The conversion of one graph.

    The type of an output is known where its operator computes in 16 bits or in float32, and where
    an operator that keeps the type of its first input reads a known one.
    """

    def __init__(self, graph: Graph, kinds: _Kinds, target: str, halves: set[str]):
        self._graph, self._kinds, self._target, self._halves = graph, kinds, target, halves
        self._made: dict[int, Node] = {}
        self._types: dict[int, str | None] = {}
        self._casts: dict[tuple[int, int, str], Entry] = {}

    def converted(self) -> Graph:
        """The graph with casts, whose outputs are float32."""
        for node in self._graph.nodes:
            entries = [Entry(self._made[id(e.node)], e.output) for e in node.inputs]
            kind = "" if node.is_variable else self._kinds.of(node)
            inputs, dtype = self._inputs(kind, entries)
            copy = self._made[id(node)] = node.on(inputs)
            if node.is_variable and node.name in self._halves:
                dtype, copy.attrs["__dtype__"] = self._target, _code(self._target)
            elif not kind and not node.is_variable and node.op.takes("dtype"):
                dtype = "float32" if node.params["dtype"] == "float32" else None
            self._types[id(copy)] = dtype
        heads = [Entry(self._made[id(e.node)], e.output) for e in self._graph.heads]
        return Graph([self._cast(head, "float32") for head in heads])

    def _inputs(self, kind: str, entries: list[Entry]) -> tuple[list[Entry], str | None]:
        """The inputs of a node with their casts, and the type of its outputs if it is known."""
        types = [self._types[id(e.node)] for e in entries]
        if kind == "lp16":
            return [self._cast(e, self._target) for e in entries], self._target
        if kind == "fp32":
            plain = [e.node.is_variable and not t for e, t in zip(entries, types, strict=True)]
            pairs = zip(entries, plain, strict=True)
            return [e if p else self._cast(e, "float32") for e, p in pairs], "float32"
        if kind != "widest":
            return entries, types[0] if types else None
        # An input that another operator reads in 16 bits counts as 16 bits.
        cast = [(id(e.node), e.output, self._target) in self._casts for e in entries]
        widths = {self._target if c else t for c, t in zip(cast, types, strict=True)}
        if None in widths and len(entries) > 1:
            name = f"{entry_name(entries[0])}_amp_multicast"
            both = Node("amp_multicast", name, {"num_outputs": str(len(entries))}, entries)
            self._types[id(both)] = None
            return [Entry(both, at) for at in range(len(entries))], None
        widest = "float32" if len(widths) > 1 else widths.pop()
        return [e if widest is None else self._cast(e, widest) for e in entries], widest

    def _cast(self, entry: Entry, dtype: str) -> Entry:
        """The entry as this type; itself where it is known to have it."""
        if self._types[id(entry.node)] == dtype:
            return entry
        key = (id(entry.node), entry.output, dtype)
        if key not in self._casts:
            name = f"{entry_name(entry)}_amp_cast_{dtype}"
            cast = Node("amp_cast", name, {"dtype": dtype}, [entry])
            self._types[id(cast)] = dtype
            self._casts[key] = Entry(cast, 0)
        return self._casts[key]


def _declared(graph: Graph, data_names: Sequence[str], target: str) -> Graph:
    """The graph, in which every variable but data declares the type that inference finds."""
    cut = _without_backward(graph)
    found = infer_dtypes(cut, dict.fromkeys(data_names, "float32"))
    halves = {n.name for n, t in zip(cut.inputs, found.of(cut.inputs), strict=True) if t == target}
    replaced = {
        id(n): Entry(Node(n.op_name, n.name, {**n.attrs, "__dtype__": _code(dtype)}), 0)
        for n in graph.inputs
        if n.name not in data_names
        for dtype in [target if n.name in halves else "float32"]
    }
    return Graph(rewrite(graph, replaced))


def _without_backward(graph: Graph) -> Graph:
    """The graph with a variable in the place of each cast, so that no type follows from one."""
    casts = [node for node in graph.nodes if node.op_name == "amp_cast"]
    replaced = {
        id(node): Entry(
            Node(VARIABLE, f"\0{node.name}", {"__dtype__": _code(str(node.params["dtype"]))}), 0
        )
        for node in casts
    }
    whole = Graph([*graph.heads, *(node.inputs[0] for node in casts)])
    return Graph(rewrite(whole, replaced))


def _code(dtype: str) -> str:
    return next(str(code) for code, name in DTYPE_CODES.items() if name == dtype)


def _check_target(dtype: str) -> None:
    if dtype not in _TARGETS:
        raise DTypeError(f"amp: target_dtype: got {dtype!r}, expected {' or '.join(_TARGETS)}")


def _canonical(what: str, given: Sequence[str] | None, default: Sequence[str]) -> frozenset[str]:
    """Operators by their canonical names."""
    for name in given or ():
        expect(name in OPS, f"convert_symbol: {what}", name, f"operators.{nearest(name, OPS)}")
        if get_op(name).name in _WIDEST.split():
            raise ParameterError(
                f"convert_symbol: {what}: got {name!r}, which computes in the widest type of its "
                "inputs, expected another operator; name its nodes in excluded_sym_names"
            )
    return frozenset(get_op(n).name for n in (default if given is None else given))


def _condition(given: Any) -> Condition:
    """A condition with the canonical name of its operator."""
    try:
        name, param, values = given
        return get_op(name).name, str(param), tuple(map(str, values))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"convert_symbol: conditional_fp32_ops: got {given!r}, expected (operator, parameter, "
            "list of values)"
        ) from error


def _with_aliases(target_dtype: str, names: Sequence[str]) -> list[str]:
    """All names of operators that are given by their canonical names."""
    _check_target(target_dtype)
    chosen = set(names)
    return [name for name, op in OPS.items() if op.name in chosen]
