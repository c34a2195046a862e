"""Functions of arrays or numbers, against Python's and NumPy's."""

import operator

import numpy as np
import pytest

from modkit import nd
from modkit.errors import ParameterError

LEFT = np.array([1, 2, 3, 0], np.float32)
RIGHT = np.array([[3], [2], [0.5]], np.float32)

PAIRS = [
    ("add", operator.add), ("subtract", operator.sub), ("multiply", operator.mul),
    ("divide", operator.truediv), ("true_divide", operator.truediv), ("modulo", operator.mod),
    ("power", operator.pow), ("maximum", np.maximum), ("minimum", np.minimum),
    ("equal", operator.eq), ("not_equal", operator.ne), ("greater", operator.gt),
    ("greater_equal", operator.ge), ("lesser", operator.lt), ("lesser_equal", operator.le),
    ("logical_and", np.logical_and), ("logical_or", np.logical_or),
    ("logical_xor", np.logical_xor),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), PAIRS)
def test_arrays_and_numbers(name, expected):
    function = getattr(nd, name)
    assert function.__name__ in (name, "divide")
    for left, right in ((LEFT, RIGHT), (LEFT, 2), (2, RIGHT)):
        got = function(*(nd.array(v) if isinstance(v, np.ndarray) else v for v in (left, right)))
        assert got.dtype == np.float32
        np.testing.assert_allclose(got.asnumpy(), expected(left, right), rtol=1e-6)
    got = function(2, 3)
    assert not isinstance(got, bool)
    assert got == expected(2, 3)


@pytest.mark.parametrize(("name", "_"), PAIRS)
def test_other_things_are_refused(name, _):
    with pytest.raises(ParameterError, match="got NDArray and str, expected NDArrays or numbers"):
        getattr(nd, name)(nd.array([1]), "x")


def test_a_number_takes_the_type_of_the_array():
    got = nd.add(nd.array([1], dtype="int32"), 2.5)
    assert (got.dtype, got.asnumpy().tolist()) == (np.int32, [3])


@pytest.mark.parametrize(
    ("where", "kwargs", "shapes"),
    [
        (2, {}, [(2, 6)] * 2),
        ((1, 3), {"axis": 1}, [(4, 1), (4, 2), (4, 3)]),
        (4, {"squeeze_axis": True}, [(6,)] * 4),
    ],
)
def test_split(where, kwargs, shapes):
    whole = nd.ones((4, 6))
    assert [part.shape for part in nd.split_v2(whole, where, **kwargs)] == shapes
    assert [part.shape for part in whole.split_v2(where, **kwargs)] == shapes
    assert nd.split_v2(whole, 1).shape == (4, 6)
    with pytest.raises(ParameterError, match=r"got 1\.5, expected an int or a tuple"):
        nd.split_v2(whole, 1.5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_a_histogram_without_a_range_is_float32(dtype):
    counts, edges = nd.histogram(nd.array([1, 2, 4], dtype=dtype), bins=2)
    assert (counts.dtype, counts.asnumpy().tolist()) == (np.float32, [2, 1])
    assert (edges.dtype, edges.asnumpy().tolist()) == (np.float32, [1, 2.5, 4])


def test_histogram():
    data = nd.array([1, 2, 3])
    counts, edges = nd.histogram(data, bins=2)
    assert (counts.dtype, counts.asnumpy().tolist()) == (np.float32, [1, 2])
    assert (edges.dtype, edges.asnumpy().tolist()) == (np.float32, [1, 2, 3])
    for how in ({"bins": 2, "range": (0, 4)}, {"bins": nd.array([0, 2, 4])}):
        counts, _ = nd.histogram(data, **how)
        assert (counts.dtype, counts.asnumpy().tolist()) == (np.int64, [1, 2])
    with pytest.raises(ParameterError, match=r"got bins 1\.5"):
        nd.histogram(data, bins=1.5)
