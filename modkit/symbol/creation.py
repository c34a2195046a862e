"""Functions of ``mx.sym`` that choose among operators, or have no input."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

from modkit.errors import ParameterError
from modkit.ops.array.split import split_v2_attrs
from modkit.ops.elementwise.pairs import PAIRS, camel
from modkit.ops.registry import get_op
from modkit.symbol.symbol import Symbol, invoke

Sizes = int | Sequence[int]


def _make(op_name: str, *symbols: Symbol, **params: Any) -> Symbol:
    return invoke(get_op(op_name), symbols, params)


def zeros(shape: Sizes, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Zeros. A 0 in ``shape`` is a size that the rest of the graph decides."""
    return _make("_zeros", shape=shape, dtype=dtype or "float32", **kwargs)


def ones(shape: Sizes, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Ones."""
    return _make("_ones", shape=shape, dtype=dtype or "float32", **kwargs)


def full(shape: Sizes, val: float, dtype: Any = None, **kwargs: Any) -> Symbol:
    """One number, everywhere."""
    return _make("_full", shape=shape, dtype=dtype or "float32", value=float(val), **kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """Numbers from ``start`` up to ``stop`` by ``step``, each ``repeat`` times.

    Args:
        start: the first; if ``stop`` is ``None``, the end, from 0.
        stop: the end, left out.
        step: from one to the next.
        repeat: how often each comes.
        infer_range: let the rest of the graph decide how many.
        dtype: element type; default float32.
    """
    return _make(
        "_arange", start=start, stop="None" if stop is None else stop, step=step, repeat=repeat,
        infer_range=infer_range, name=name, dtype=dtype or "float32",
    )  # fmt: skip


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    name: str | None = None,
    dtype: Any = None,
) -> Symbol:
    """``num`` evenly spaced numbers from ``start`` to ``stop``."""
    return _make(
        "_linspace", start=start, stop=stop, num=num, endpoint=endpoint, name=name,
        dtype=dtype or "float32",
    )  # fmt: skip


def eye(N: int, M: int = 0, k: int = 0, dtype: Any = None, **kwargs: Any) -> Symbol:
    """A matrix with ones on a diagonal.

    Args:
        N, M, k, dtype: see `mx.nd.eye`.
        **kwargs: the node's ``name`` and attributes.
    """
    return _make("_eye", N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


def _choose(stem: str, left: Any, right: Any) -> Any:
    """A two-sided operator on symbols, on a symbol and a number, or on numbers."""
    pair = PAIRS[stem]
    if not (isinstance(left, Symbol | Number) and isinstance(right, Symbol | Number)):
        raise ParameterError(
            f"{stem}: got {type(left).__name__} and {type(right).__name__}, expected "
            "symbols or numbers"
        )
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return left._call(pair.alike, pair.alike, left, right)
    if isinstance(left, Symbol):
        return left._call(pair.with_number, camel(pair.with_number), left, scalar=right)
    if isinstance(right, Symbol):
        return right._call(pair.after_number, camel(pair.after_number), right, scalar=left)
    return pair.on_numbers(left, right)


def pow(base: Any, exp: Any) -> Any:
    """``base`` to the power of ``exp``, elementwise; either may be a number."""
    return _choose("power", base, exp)


power = pow


def maximum(left: Any, right: Any) -> Any:
    """The larger one, elementwise; either may be a number."""
    return _choose("maximum", left, right)


def minimum(left: Any, right: Any) -> Any:
    """The smaller one, elementwise; either may be a number."""
    return _choose("minimum", left, right)


def hypot(left: Any, right: Any) -> Any:
    """The length of the hypotenuse, elementwise; either may be a number."""
    return _choose("hypot", left, right)


def histogram(
    a: Symbol, bins: Symbol | int = 10, range: tuple[float, float] | None = None, **kwargs: Any
) -> Symbol:
    """The number of elements between successive edges, and the edges.

    Args:
        a: any shape.
        bins: the edges, or the number of equal bins.
        range: lowest and highest edge; needed for a number of bins.
        **kwargs: ``name`` and ``attr``.

    Raises:
        ParameterError: a number of bins without a range, or neither a symbol nor an int.
    """
    if isinstance(bins, Symbol):
        return _make("_histogram", a, bins, **kwargs)
    if not isinstance(bins, int):
        raise ParameterError(f"histogram: got bins {bins!r}, expected a Symbol or an int")
    if range is None:
        raise ParameterError("histogram: a number of bins needs range=(low, high) in a symbol")
    return _make("_histogram", a, bin_cnt=bins, range=range, **kwargs)


def split_v2(
    ary: Symbol,
    indices_or_sections: int | tuple[int, ...],
    axis: int = 0,
    squeeze_axis: bool = False,
    **kwargs: Any,
) -> Symbol:
    """Cut along ``axis`` into parts, or at the given indices.

    Args:
        indices_or_sections: the number of parts, or a tuple of indices. The first parts are longer
            by 1 where the size is not a multiple of their number.
        **kwargs: ``name`` and ``attr``.
    """
    cut = split_v2_attrs(None, indices_or_sections, axis, squeeze_axis, **kwargs)
    return _make("_split_v2", ary, **cut)
