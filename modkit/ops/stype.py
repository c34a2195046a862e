"""Storage types of results and gradients: operators that keep csr and row-sparse arrays sparse.

The rules are those of MXNet 1.9.1. An operator without a rule gives dense arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.ops.entry import Op
from modkit.ops.parameters import Attrs

DENSE, CSR, ROWS, UNDEFINED = "default", "csr", "row_sparse", "undefined"
StypeRule = Callable[[Sequence[str], Mapping[str, Any]], str]

_NAMES = """
abs sign sqrt square negative relu sin sinh tan tanh arcsin arcsinh arctan arctanh floor ceil round
rint fix trunc expm1 log1p degrees radians cbrt BlockGrad make_loss _copy _scatter_plus_scalar
_scatter_minus_scalar _mul_scalar _div_scalar _contrib_gradientmultiplier _contrib_round_ste
_contrib_sign_ste
"""
_KEEP = frozenset(_NAMES.split())
"""Operators of one array that keep its storage type: 0 gives 0, or MXNet defines them so."""

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "_plus_scalar": operator.ne, "_minus_scalar": operator.ne, "_equal_scalar": operator.eq,
    "_not_equal_scalar": operator.ne, "_greater_scalar": operator.gt,
    "_greater_equal_scalar": operator.ge, "_lesser_scalar": operator.lt,
    "_lesser_equal_scalar": operator.le,
}  # fmt: skip
"""For operators with a number, a test of 0 and the number: false where 0 is mapped to 0."""

ON_VALUES = _KEEP | _COMPARE.keys() | {"clip"}
"""Operators of one array that run on the stored elements where their result is sparse."""


def result(op: Op, stypes: Sequence[str], attrs: Attrs) -> str:
    """The storage type of an operator's result from those of its inputs."""
    name = op.name
    if name in _KEEP or name == "zeros_like":
        return stypes[0]
    if name in _COMPARE:
        return DENSE if _COMPARE[name](0.0, float(attrs["scalar"])) else stypes[0]
    rule = _RULES.get(name)
    return rule(stypes, attrs) if rule else DENSE


def _product(stypes: Sequence[str], _attrs: Attrs) -> str:
    """Of arrays that are alike, or of a sparse and a dense one."""
    kinds = set(stypes) - {DENSE}
    return kinds.pop() if len(kinds) == 1 else DENSE


def _times_row(stypes: Sequence[str], _attrs: Attrs) -> str:
    return CSR if list(stypes) == [CSR, DENSE] else DENSE


def _if_csr(stypes: Sequence[str], _attrs: Attrs) -> str:
    return CSR if stypes[0] == CSR else DENSE


def _slice(stypes: Sequence[str], attrs: Attrs) -> str:
    plain = tuple(attrs["step"] or ()) in ((), (None,), (1,))
    return CSR if stypes[0] == CSR and plain else DENSE


def _square_sum(stypes: Sequence[str], attrs: Attrs) -> str:
    by_row = attrs["axis"] == (1,) and attrs["keepdims"] and not attrs["exclude"]
    return ROWS if stypes[0] == ROWS and by_row else DENSE


def _dot(stypes: Sequence[str], attrs: Attrs) -> str:
    left, right = stypes
    if attrs.get("forward_stype"):
        return attrs["forward_stype"]
    if left == CSR and right in (DENSE, ROWS) and attrs["transpose_a"]:
        return DENSE if attrs["transpose_b"] else ROWS
    if (left, right) == (DENSE, CSR) and not attrs["transpose_a"]:
        return CSR
    return DENSE


ROW_UPDATES = (
    "sgd_update", "sgd_mom_update", "adam_update", "ftrl_update", "_sparse_adagrad_update",
    "_contrib_group_adagrad_update",
)  # fmt: skip
"""Operators that update the rows of a row-sparse gradient alone."""

GRAPH_PARTS = (
    "_contrib_dgl_adjacency",
    "_contrib_dgl_subgraph",
    "_contrib_dgl_graph_compact",
    "_contrib_dgl_csr_neighbor_uniform_sample",
    "_contrib_dgl_csr_neighbor_non_uniform_sample",
)
"""Operators on csr matrices that are graphs; their results have no gradient."""

ALIKE = ("elemwise_add", "elemwise_sub", "_grad_add", "_maximum", "_minimum", "_hypot")
"""Operators of two arrays that keep the storage type of both."""

SPARSE_FROM_DENSE = ("cast_storage", "dot", "_sparse_retain")
"""Operators whose results may be sparse though all inputs are dense."""

GRADIENTS_AS_RESULTS = frozenset({
    "_contrib_gradientmultiplier", "_contrib_round_ste", "_contrib_sign_ste", "_copy",
    "_div_scalar", "_mul_scalar", "abs", "add_n", "elemwise_add", "elemwise_sub", "negative",
    "_square_sum", "relu", "sign", "square",
})  # fmt: skip
"""Operators whose inputs' gradients are stored as that of the result is."""

GRADIENTS_OF_ZEROS = frozenset({
    "BlockGrad", "ceil", "fix", "floor", "ones_like", "rint", "round", "trunc", "zeros_like",
})  # fmt: skip
"""Operators whose inputs have a gradient of zeros, which is stored as the input is."""

_RULES: dict[str, StypeRule] = {
    "clip": lambda stypes, attrs: stypes[0] if attrs["a_min"] <= 0 <= attrs["a_max"] else DENSE,
    **dict.fromkeys(ALIKE, lambda stypes, _: stypes[0] if len(set(stypes)) == 1 else DENSE),
    "elemwise_mul": _product,
    "_scatter_elemwise_div": lambda stypes, _: ROWS if stypes[0] == ROWS else DENSE,
    "broadcast_mul": _times_row,
    "broadcast_div": _times_row,
    "add_n": lambda stypes, _: ROWS if set(stypes) == {ROWS} else DENSE,
    "Concat": lambda stypes, attrs: CSR if set(stypes) == {CSR} and attrs["dim"] == 0 else DENSE,
    "slice": _slice,
    "take": lambda stypes, attrs: CSR if stypes[0] == CSR and attrs["axis"] == 0 else DENSE,
    "dot": _dot,
    "_square_sum": _square_sum,
    "_contrib_quadratic": lambda stypes, attrs: DENSE if attrs["c"] else _if_csr(stypes, attrs),
    "_identity_with_attr_like_rhs": lambda stypes, attrs: stypes[1],
    "cast_storage": lambda stypes, attrs: attrs["stype"],
    **dict.fromkeys(ROW_UPDATES, lambda stypes, attrs: stypes[0]),
    **dict.fromkeys(GRAPH_PARTS, _if_csr),
    "_sparse_retain": lambda stypes, attrs: ROWS,
}
