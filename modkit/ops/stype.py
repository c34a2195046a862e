"""Storage types of results and gradients: operators that keep csr and row-sparse arrays sparse.

The rules are those of MXNet 1.9.1. An operator that declares none gives dense arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from modkit.ops.parameters import Attrs

DENSE, CSR, ROWS, UNDEFINED = "default", "csr", "row_sparse", "undefined"


def _dense(stypes: Sequence[str], _attrs: Attrs) -> str:
    return DENSE


def first(stypes: Sequence[str], _attrs: Attrs) -> str:
    """The storage type of the first input."""
    return stypes[0]


def _of_all(stypes: Sequence[str], _attrs: Attrs) -> str:
    return stypes[0] if len(set(stypes)) == 1 else DENSE


def if_csr(stypes: Sequence[str], _attrs: Attrs) -> str:
    """Csr for a csr array, dense for others."""
    return CSR if stypes[0] == CSR else DENSE


@dataclass(frozen=True, eq=False)
class Storage:
    """The storage types of an operator.

    Attributes:
        result: that of its result, from those of its inputs and its parameters.
        kernel: the kernel that it shares with others: ``"values"`` runs on the stored elements of
            one array, ``"pairs"`` on those of two arrays at the places that either stores,
            ``"rows"`` updates the rows of a gradient; ``""`` if it has its own or none.
        gradient: that of its inputs' gradients: dense, that of the result's, or, for gradients of
            zeros, that of the input.
        from_dense: its result or a gradient may be sparse though all inputs are dense.
        picks_rows: ``attrs -> bool``: it looks up rows of its second input, whose gradient is to be
            row-sparse.
        by_kernel: its kernel runs on arrays of the tape too: what it gives has no gradient, or is
            recorded by the kernel.
        keeps_zeros: elements that are not stored are 0 for its function too; ``False`` where it
            makes something else of 0, which the kernel leaves out.
    """

    result: Callable[[Sequence[str], Attrs], str] = _dense
    kernel: Literal["", "values", "pairs", "rows"] = ""
    gradient: Literal["dense", "result", "input"] = "dense"
    from_dense: bool = False
    picks_rows: Callable[[Attrs], bool] = lambda attrs: False
    by_kernel: bool = False
    keeps_zeros: bool = True


PLAIN = Storage()

KEPT = Storage(first, "values")
"""Of one array, which keeps its storage type: 0 gives 0, or MXNet defines it so."""

KEPT_BACK = Storage(first, "values", "result")
"""`KEPT`, and its gradient is stored as that of the result is."""

KEPT_ZEROS = Storage(first, "values", "input")
"""`KEPT`, with a gradient of zeros."""

ALIKE = Storage(_of_all, "pairs")
"""Of two arrays, which keeps the storage type of both."""

ALIKE_BACK = Storage(_of_all, "pairs", "result")
"""`ALIKE`, and their gradients are stored as that of the result is."""

ROW_UPDATE = Storage(_of_all, "rows")
"""An update, of which a row-sparse gradient changes its rows alone: with states stored as the
weight is."""

OF_GRAPH = Storage(if_csr, by_kernel=True)
"""On csr matrices that are graphs."""
