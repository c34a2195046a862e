"""Operators as methods of arrays and symbols: ``a.relu()`` for ``relu(a)``.

Made by tools/make_stubs.py from the registry of operators; do not edit.
"""

from collections.abc import Sequence
from typing import Any, Literal, Self

class Methods:
    """The base of NDArray and Symbol that type checkers know the methods by."""

    def abs(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The magnitude."""
    def arccos(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The inverse cosine, in radians."""
    def arccosh(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The inverse hyperbolic cosine."""
    def arcsin(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The inverse sine, in radians."""
    def arcsinh(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The inverse hyperbolic sine."""
    def arctan(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The inverse tangent, in radians."""
    def arctanh(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The inverse hyperbolic tangent."""
    def argmax(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Where the largest element stands along ``axis``, or in the flat array; the first
        of equals.
        """
    def argmax_channel(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """Where the largest element stands along axis 1."""
    def argmin(
        self,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Where the smallest element stands along ``axis``, or in the flat array; the
        first of equals.
        """
    def argsort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        dtype: Any = "float32",
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Where the elements stand that ``sort`` would put in order."""
    def broadcast_axes(
        self,
        axis: int | Sequence[int] = (),
        size: int | Sequence[int] = (),
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """``data`` repeated ``size`` times along each ``axis``, where its size is 1."""
    def broadcast_like(
        self,
        rhs: Any,
        lhs_axes: int | Sequence[int] | None = None,
        rhs_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """``lhs`` repeated along dimensions of size 1 until it has the shape of ``rhs``."""
    def broadcast_to(
        self, shape: int | Sequence[int] = (), *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """``data`` repeated along dimensions of size 1 until it has ``shape``."""
    def cbrt(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The cube root."""
    def ceil(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The next whole number up."""
    def clip(self, a_min: float, a_max: float, *, name: str | None = None, **kwargs: Any) -> Self:
        """Values below ``a_min`` become ``a_min``, values above ``a_max`` become
        ``a_max``.
        """
    def cos(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The cosine, of radians."""
    def cosh(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The hyperbolic cosine."""
    def degrees(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """Radians to degrees."""
    def depth_to_space(self, block_size: int, *, name: str | None = None, **kwargs: Any) -> Self:
        """Spread channels over blocks of pixels; the inverse of ``space_to_depth``."""
    def diag(
        self, k: int = 0, axis1: int = 0, axis2: int = 1, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """A diagonal of matrices, or the matrix with a given diagonal."""
    def exp(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """E to the power ``data``."""
    def expand_dims(self, axis: int, *, name: str | None = None, **kwargs: Any) -> Self:
        """Put in a new axis of size 1."""
    def expm1(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """``exp(data) - 1``, exact near 0."""
    def fix(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The next whole number towards zero."""
    def flatten(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """All axes but the first as one."""
    def flip(self, axis: int | Sequence[int], *, name: str | None = None, **kwargs: Any) -> Self:
        """The elements along some axes in the opposite order."""
    def floor(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The next whole number down."""
    def log(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The natural logarithm."""
    def log10(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The logarithm to base 10."""
    def log1p(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """``log(1 + data)``, exact near 0."""
    def log2(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The logarithm to base 2."""
    def log_softmax(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Literal["float16", "float32", "float64"] | None = None,
        use_length: bool | None = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Logarithm of the softmax along an axis. Parameters as for `softmax`."""
    def max(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The largest. Each of several largest ones gets the whole gradient."""
    def mean(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The mean. Of whole numbers, cut off towards zero."""
    def min(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The smallest. Each of several smallest ones gets the whole gradient."""
    def nanprod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The product of those that are not NaN; see ``prod``."""
    def nansum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The sum of those that are not NaN."""
    def norm(
        self,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The sum of magnitudes (``ord=1``) or the root of the sum of squares (``ord=2``)."""
    def one_hot(
        self,
        depth: int,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: Any = "float32",
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """A row for each index, ``on_value`` at its place and ``off_value`` elsewhere."""
    def ones_like(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """Ones of the shape and type of ``data``."""
    def pad(
        self,
        mode: Literal["constant", "edge", "reflect"],
        pad_width: int | Sequence[int],
        constant_value: float = 0.0,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """A border around the array."""
    def pick(
        self,
        index: Any,
        axis: int | None = -1,
        keepdims: bool = False,
        mode: Literal["clip", "wrap"] = "clip",
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """One element along an axis, for each place on the other axes."""
    def prod(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The product."""
    def radians(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """Degrees to radians."""
    def rcbrt(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """``1 / cbrt(data)``."""
    def reciprocal(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """``1 / data``."""
    def relu(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """``max(data, 0)``."""
    def repeat(
        self, repeats: int, axis: int | None = None, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Each element ``repeats`` times in a row."""
    def reshape_like(
        self,
        rhs: Any,
        lhs_begin: int | None = None,
        lhs_end: int | None = None,
        rhs_begin: int | None = None,
        rhs_end: int | None = None,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """``lhs`` with the sizes of ``rhs``, or with some of its axes in place of some of
        its own.
        """
    def rint(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The nearest whole number, halves down."""
    def round(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The nearest whole number, halves away from zero."""
    def rsqrt(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """``1 / sqrt(data)``."""
    def shape_array(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The shape of ``data``, as an array of int64."""
    def sigmoid(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """``1 / (1 + exp(-data))``."""
    def sign(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """-1, 0 or 1."""
    def sin(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The sine, of radians."""
    def sinh(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The hyperbolic sine."""
    def size_array(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The number of elements of ``data``, as an array of one int64."""
    def slice(
        self,
        begin: int | Sequence[int | None] | None,
        end: int | Sequence[int | None] | None,
        step: int | Sequence[int | None] | None = (),
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """``data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]``."""
    def slice_axis(
        self,
        axis: int,
        begin: int,
        end: int | None = None,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """A part of one axis."""
    def slice_like(
        self,
        shape_like: Any,
        axes: int | Sequence[int] = (),
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The beginning of ``data``, as long as ``shape_like`` along some axes."""
    def softmax(
        self,
        length: Any | None = None,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Literal["float16", "float32", "float64"] | None = None,
        use_length: bool | None = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Softmax along an axis, ``exp(x / temperature) / sum(exp(x / temperature))``."""
    def softmin(
        self,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Literal["float16", "float32", "float64"] | None = None,
        use_length: bool | None = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Softmax of ``-data`` along an axis. Parameters as for `softmax`."""
    def sort(
        self,
        axis: int | None = -1,
        is_ascend: bool = True,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The elements in order along ``axis``, or all in one row if it is ``None``."""
    def space_to_depth(self, block_size: int, *, name: str | None = None, **kwargs: Any) -> Self:
        """Gather blocks of pixels into channels; the inverse of ``depth_to_space``."""
    def split(
        self,
        num_outputs: int,
        axis: int = 1,
        squeeze_axis: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Cut an array into equal parts along an axis."""
    def sqrt(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The square root."""
    def square(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """``data * data``."""
    def squeeze(
        self, axis: int | Sequence[int] | None = None, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Leave out axes of size 1: all of them, or those named."""
    def sum(
        self,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """The sum."""
    def swapaxes(
        self, dim1: int = 0, dim2: int = 0, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Exchange two axes."""
    def take(
        self,
        indices: Any,
        axis: int = 0,
        mode: Literal["clip", "raise", "wrap"] = "clip",
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Slices of ``a`` along an axis, in the order of ``indices``."""
    def tan(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The tangent, of radians."""
    def tanh(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The hyperbolic tangent."""
    def tile(self, reps: int | Sequence[int], *, name: str | None = None, **kwargs: Any) -> Self:
        """The whole array again and again, ``reps[i]`` times along axis i."""
    def topk(
        self,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: Literal["value", "indices", "mask", "both"] = "indices",
        is_ascend: bool = False,
        dtype: Any = "float32",
        *,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """The ``k`` largest elements along ``axis``, largest first; all of them if ``k``
        is below 1.
        """
    def transpose(
        self, axes: int | Sequence[int] = (), *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """The axes in another order; reversed by default."""
    def trunc(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """The next whole number towards zero."""
    def zeros_like(self, *, name: str | None = None, **kwargs: Any) -> Self:
        """Zeros of the shape and type of ``data``."""
