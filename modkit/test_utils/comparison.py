"""Comparisons of arrays, with messages that list the elements with the largest errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modkit.ndarray import NDArray
from modkit.symbol import Symbol
from modkit.test_utils.defaults import Tolerance, get_atol, get_etol, get_rtol, get_tols


def same(a: Any, b: Any) -> bool:
    """Whether all elements are equal; a NaN equals nothing."""
    return np.array_equal(a, b)


def checkShapes(a: Any, b: Any) -> None:
    """Raise an AssertionError if shapes differ."""
    left, right = np.asarray(a), np.asarray(b)
    if left.shape != right.shape:
        raise AssertionError(
            f"\nItems are not equal: a.shape = {left.shape} and b.shape = {right.shape}\n"
            f" ACTUAL: {left!r}\n DESIRED: {right!r}"
        )


def _violations(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """The error of each element in multiples of the tolerance."""
    with np.errstate(all="ignore"):
        allowed = atol + rtol * np.abs(b)
        off = np.abs(np.subtract(a, b, dtype=np.result_type(a, b, np.float64)))
        found = np.where(off == 0, 0, off / (allowed + 1e-20))
    return np.where(a == b, 0, found)  # infinities of one sign are equal


def _find_max_violation(a: Any, b: Any, rtol: float, atol: float) -> tuple[tuple[int, ...], float]:
    """Index of the largest error, and the error in multiples of the tolerance."""
    found = _violations(np.asarray(a), np.asarray(b), rtol, atol)
    if not found.size:
        return (), 0.0
    place = np.unravel_index(np.argmax(found), found.shape)
    return tuple(int(i) for i in place), float(found[place])


def locationError(
    a: Any, b: Any, index: Sequence[int], names: Sequence[str], maxError: bool = False
) -> str:
    """The message for one element: ``Location of error: (0, 1), a=1.0, b=2.0``."""
    at = tuple(index)
    worst = "maximum " if maxError else ""
    return (
        f"Location of {worst}error: {at}, {names[0]}={float(np.asarray(a)[at]):.8f}, "
        f"{names[1]}={float(np.asarray(b)[at]):.8f}"
    )


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether ``|a - b| <= atol + rtol |b|`` everywhere.

    Args:
        rtol: relative tolerance; default 1e-5 for each element type.
        atol: absolute tolerance; default 1e-20 for each element type.
        use_broadcast: accept different shapes that broadcast.
    """
    if not use_broadcast:
        checkShapes(a, b)
    rtol, atol = get_rtol(rtol), get_atol(atol)
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raise an AssertionError unless ``|a - b| <= atol + rtol |b|`` everywhere.

    Args:
        a, b, equal_nan, use_broadcast: see `almost_equal`.
        rtol: relative tolerance; default by element type.
        atol: absolute tolerance; default by element type.
        names: names of ``a`` and ``b`` in the message.
        mismatches: number of elements in the message; only the first number is used.
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    if almost_equal(a, b, rtol, atol, equal_nan, use_broadcast):
        return
    raise AssertionError(_message(a, b, rtol, atol, names, equal_nan, mismatches))


def _message(
    a: Any,
    b: Any,
    rtol: float,
    atol: float,
    names: Sequence[str],
    equal_nan: bool,
    mismatches: tuple[int, int],
) -> str:
    a, b = np.asarray(a), np.asarray(b)
    left, right = np.broadcast_arrays(a, b)
    wrong = ~np.isclose(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan)
    # NaN ranks as the largest error.
    found = np.where(wrong, np.nan_to_num(_violations(left, right, rtol, atol), nan=np.inf), 0)
    order = np.argsort(-found, axis=None)[: mismatches[0]]
    places = [np.unravel_index(i, found.shape) for i in order if found.flat[i] > 0]
    lines = [
        f"  {n}: Error {_violations(left[p], right[p], rtol, atol):f}  "
        f"{locationError(left, right, [int(i) for i in p], names)}"
        for n, p in enumerate(places, 1)
    ]
    worst = _violations(left[places[0]], right[places[0]], rtol, atol) if places else np.nan
    share = 100 * wrong.mean()
    at = locationError(left, right, [int(i) for i in places[0]], names, True) if places else ""
    return (
        f"\nItems are not equal:\nError {float(worst):f} exceeds tolerance rtol={rtol:e}, "
        f"atol={atol:e} (mismatch {share:f}%).\n{at}\n" + "\n".join(lines) + "\n"
        f" ACTUAL: {a!r}\n DESIRED: {b!r}"
    )


def assert_allclose(
    a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True
) -> None:
    """`assert_almost_equal` with NumPy's defaults."""
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: Sequence[str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """`assert_almost_equal` that allows a fraction ``etol`` of wrong elements."""
    rtol, atol = get_tols(a, b, rtol, atol)
    wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if wrong.mean() > get_etol(etol):
        raise AssertionError(_message(a, b, rtol, atol, names, equal_nan, mismatches))


def assert_almost_equal_ignore_nan(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: Sequence[str] = ("a", "b"),
) -> None:
    """`assert_almost_equal` where neither is NaN."""
    assert_almost_equal(*_without_nan(a, b), rtol, atol, names)


def almost_equal_ignore_nan(
    a: Any, b: Any, rtol: float | None = None, atol: float | None = None
) -> bool:
    """`almost_equal` where neither is NaN."""
    return almost_equal(*_without_nan(a, b), rtol, atol)


def _without_nan(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both with 0 in the places where one is NaN."""
    left, right = np.asarray(a).copy(), np.asarray(b).copy()
    nan = np.isnan(left) | np.isnan(right)
    left[nan] = right[nan] = 0
    return left, right


def assert_exception(
    f: Callable[..., Any], exception_type: type[BaseException], *args: Any, **kwargs: Any
) -> None:
    """Raise an AssertionError unless ``f(*args, **kwargs)`` raises ``exception_type``."""
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f!r} raised nothing, expected {exception_type.__name__}")


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two arrays share memory: a write to the first changes the second."""
    before = array1.asnumpy()
    array1[:] = before + 1
    seen = same(array1, array2)
    array1[:] = before
    return seen and same(array1, array2)


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two graphs have the same operators and edges; names may differ."""
    return _structure(sym1) == _structure(sym2)


def _structure(net: Symbol) -> Any:
    nodes = net.graph.nodes
    return (
        [(n.op_name, [net.graph.position(e) for e in n.inputs]) for n in nodes],
        [net.graph.position(h) for h in net.heads],
    )


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """`assert_almost_equal` for the arrays of two nested tuples, up to the end of the shorter."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for left, right in zip(t1, t2, strict=False):
            compare_ndarray_tuple(left, right, rtol, atol)
        return
    assert_almost_equal(t1, t2, rtol=rtol, atol=atol)
