"""Random arrays, shapes and matrices for tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from modkit.context import Context, current_context
from modkit.errors import ParameterError, ShapeError, expect
from modkit.ndarray import NDArray, arange, array, eye
from modkit.test_utils.defaults import default_dtype
from modkit.test_utils.sparse import rand_sparse_ndarray

# NumPy's global generator, which tests seed.
_draw: Any = np.random


def random_sample(population: Iterable[Any], k: int) -> list[Any]:
    """``k`` different members of ``population``, in random order.

    Raises:
        ParameterError: ``population`` has no members, or not as many; ``k`` is no integer.
    """
    expect(isinstance(population, Iterable), "random_sample: population", population, "a list")
    members = list(population)
    if not isinstance(k, int | np.integer) or not 0 <= k <= len(members):
        raise ParameterError(f"random_sample: k: got {k!r}, expected 0 to {len(members)}")
    return [members[i] for i in _draw.permutation(len(members))[:k]]


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Two random sizes up to ``dim0`` and ``dim1``."""
    return _sizes([dim0, dim1], allow_zero_size)


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """Three random sizes."""
    return _sizes([dim0, dim1, dim2], allow_zero_size)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """``num_dim`` random sizes up to ``dim``."""
    return _sizes([dim] * num_dim, allow_zero_size)


def _sizes(largest: Sequence[int], allow_zero: bool) -> tuple[int, ...]:
    low = 0 if allow_zero else 1
    return tuple(int(_draw.randint(low, high + 1)) for high in largest)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A random point."""
    return int(_draw.randint(x_low, x_high)), int(_draw.randint(y_low, y_high))


def random_arrays(*shapes: tuple[int, ...]) -> Any:
    """Normal float32 arrays of these shapes: a list, or a single array."""
    made = [np.asarray(_draw.standard_normal(s), default_dtype()) for s in shapes]
    return made[0] if len(made) == 1 else made


def random_uniform_arrays(*shapes: tuple[int, ...], **kwargs: Any) -> list[np.ndarray]:
    """Uniform arrays of these shapes; takes ``low``, ``high`` and ``dtype``."""
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", default_dtype())
    return [_draw.uniform(low, high, s).astype(dtype) for s in shapes]


def rand_ndarray(
    shape: Sequence[int],
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Context | None = None,
) -> NDArray:
    """A normal random array, or a sparse one from `rand_sparse_ndarray`."""
    if stype != "default":
        return rand_sparse_ndarray(
            shape, stype, density, dtype, distribution, None, None, modifier_func,
            shuffle_csr_indices, ctx or current_context(),
        )[0]  # fmt: skip
    return array(_draw.standard_normal(tuple(shape)), ctx=ctx, dtype=dtype)


def np_reduce(
    dat: Any,
    axis: int | Sequence[int] | None,
    keepdims: bool,
    numpy_reduce_func: Callable[..., Any],
) -> Any:
    """Reduce along one, several, or all axes with a NumPy reduction."""
    given = range(dat.ndim) if axis is None else np.atleast_1d(axis).tolist()
    axes = sorted(each % dat.ndim for each in given)
    result = dat
    for each in reversed(axes):
        result = numpy_reduce_func(result, axis=each)
    return np.expand_dims(result, tuple(axes)) if keepdims else result


def assign_each(the_input: np.ndarray, function: Callable[[Any], Any] | None) -> np.ndarray:
    """A copy with a function applied to every element, whose results are float64."""
    return _each(function, the_input)


def assign_each2(
    input1: np.ndarray, input2: np.ndarray, function: Callable[[Any, Any], Any] | None
) -> np.ndarray:
    """An array with a function applied to every pair of elements; the results are float64."""
    return _each(function, input1, input2)


def _each(function: Callable[..., Any] | None, *inputs: np.ndarray) -> np.ndarray:
    if function is None:
        return np.array(inputs[0])
    return np.vectorize(function, otypes=[np.float64])(*inputs)


def collapse_sum_like(a: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sum over the axes along which an array of ``shape`` was broadcast to that of ``a``.

    Raises:
        ShapeError: ``shape`` does not broadcast to that of ``a``.
    """
    pairs = zip(reversed(a.shape), reversed(shape), strict=False)
    if len(shape) > a.ndim or any(n not in (1, size) for size, n in pairs):
        raise ShapeError(f"collapse_sum_like: got {a.shape}, to which {shape} does not broadcast")
    extra = a.ndim - len(shape)
    summed = a.sum(axis=tuple(range(extra))) if extra else a  # no axes are all of an NDArray's
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and summed.shape[i] != 1)
    return summed.sum(axis=axes, keepdims=True) if axes else summed


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """0, 1, 2, ..."""
    return arange(0, size, dtype=dtype)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """Rows of equal numbers, 0 in the first, 1 in the second, ..."""
    return array(np.repeat(np.arange(rows), columns).reshape(rows, columns), dtype=dtype)


def get_identity_mat(size: int) -> NDArray:
    """The identity matrix."""
    return eye(size)


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identity matrices."""
    return array(np.stack([np.eye(size)] * 2))


def new_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random matrix with real, well-separated eigenvalues."""
    basis = new_orthonormal_matrix_2d(n)
    triangle = np.triu(_draw.uniform(-1, 1, (n, n)), 1) + np.diag(np.arange(1, n + 1.0))
    return basis @ triangle @ basis.T


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> np.ndarray:
    """A batch of `new_matrix_with_real_eigvals_2d`."""
    return _batch(shape, new_matrix_with_real_eigvals_2d)


def new_orthonormal_matrix_2d(n: int) -> np.ndarray:
    """A random orthonormal matrix."""
    return np.linalg.qr(_draw.uniform(-1, 1, (n, n)))[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> np.ndarray:
    """A random symmetric matrix."""
    half = _draw.uniform(-1, 1, (n, n))
    return (half + half.T) / 2


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> np.ndarray:
    """A batch of `new_sym_matrix_with_real_eigvals_2d`."""
    return _batch(shape, new_sym_matrix_with_real_eigvals_2d)


def _batch(shape: Sequence[int], make: Callable[[int], np.ndarray]) -> np.ndarray:
    return np.stack([make(shape[-1]) for _ in range(math.prod(shape[:-2]))]).reshape(shape)
