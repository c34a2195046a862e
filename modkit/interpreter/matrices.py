"""NumPy forms of factorizations and triangular systems, by the LAPACK that XLA calls on CPUs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from modkit.interpreter.array_primitives import Array, Run


def _routine(library: str, name: str, aval: Any) -> Callable[..., Any]:
    """A function of SciPy, imported at its first use: it takes a tenth of a second."""
    prefix = {"f4": "s", "f8": "d"}.get(np.dtype(aval.dtype).str[1:])
    if prefix is None or not aval.size:  # of empty matrices LAPACK prints a complaint
        raise NotImplementedError(f"matrices of {aval}")
    return getattr(importlib.import_module(f"scipy.linalg.{library}"), prefix + name)


def _each(
    solve: Callable[..., tuple[Array, ...]], *arrays: Array, shapes: list[Any]
) -> list[Array]:
    """The results of ``solve`` for the matrices of each batch index, as arrays of these avals."""
    made = [np.empty(aval.shape, aval.dtype) for aval in shapes]
    for at in np.ndindex(arrays[0].shape[:-2]):
        for whole, part in zip(made, solve(*(a[at] for a in arrays)), strict=True):
            whole[at] = part
    return made


def cholesky(out: Any, params: Any) -> Run:
    """The lower factor; NaN for a matrix that is not positive definite."""
    if params:
        raise NotImplementedError("parameters of cholesky")
    factor = _routine("lapack", "potrf", out)

    def one(a: Array) -> tuple[Array]:
        lower, failed = factor(a, lower=1, clean=1)
        return (np.full_like(a, np.nan) if failed else lower,)

    return lambda a: _each(one, a, shapes=[out])[0]


def triangular_solve(out: Any, params: Any) -> Run:
    """``x`` with ``op(a) x = b``, or ``x op(a) = b``."""
    multiply = _routine("blas", "trsm", out)
    settings = {
        "side": not params["left_side"], "lower": params["lower"],
        "trans_a": params["transpose_a"], "diag": params["unit_diagonal"],
    }  # fmt: skip
    return lambda a, b: _each(
        lambda each, right: (multiply(1.0, each, right, **settings),), a, b, shapes=[out]
    )[0]


def lu(out: Any, params: Any) -> Run:
    """Both factors in one matrix, exchanged rows, and the permutation that these make."""
    if params:
        raise NotImplementedError("parameters of lu")
    factor = _routine("lapack", "getrf", out[0])

    def one(a: Array) -> tuple[Array, ...]:
        factors, exchanged, _ = factor(a)
        order = np.arange(a.shape[0], dtype=np.int32)
        for row, other in enumerate(exchanged):
            order[[row, other]] = order[[other, row]]
        return factors, exchanged, order

    return lambda a: _each(one, a, shapes=out)


def eigh(out: Any, params: Any) -> Run:
    """Eigenvectors of symmetric matrices as columns, and rising eigenvalues."""
    if params["subset_by_index"] is not None or params["algorithm"] is not None:
        raise NotImplementedError("parameters of eigh")
    decompose = _routine("lapack", "syevd", out[0])

    def one(a: Array) -> tuple[Array, ...]:
        values, columns, failed = decompose(a, lower=params["lower"])
        return (columns, values) if not failed else (a * np.nan, values * np.nan)

    return lambda a: _each(one, a, shapes=out)


def qr(out: Any, params: Any) -> Run:
    """Orthonormal columns and the upper triangular factor."""
    if params["pivoting"] or params["full_matrices"] or params["use_magma"]:
        raise NotImplementedError("parameters of qr")
    reflect = _routine("lapack", "geqrf", out[0])
    build = _routine("lapack", "orgqr", out[0])

    def one(a: Array) -> tuple[Array, ...]:
        packed, factors, _, _ = reflect(a)
        count = min(a.shape)
        return build(packed[:, :count], factors)[0], np.triu(packed[:count])

    return lambda a: _each(one, a, shapes=out)


MAKERS: dict[str, Callable[[Any, Any], Run]] = {
    "cholesky": cholesky, "eigh": eigh, "lu": lu, "qr": qr, "triangular_solve": triangular_solve,
}  # fmt: skip
"""By name, as `array_primitives.MAKERS`."""
