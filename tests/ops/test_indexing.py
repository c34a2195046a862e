"""Look-ups beyond their tables: indices outside, and operators without a symbol."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotSupportedError, ShapeError
from modkit.ops.registry import get_op
from tests.ops.eager import run_op


def _call(name, *arrays, **attrs):
    op = get_op(name)
    return [np.asarray(o) for o in run_op(op, [jnp.asarray(a) for a in arrays], op.parse(attrs))]


def _compiled(name, *arrays, **attrs):
    op = get_op(name)
    return jax.jit(lambda *given: op.call(given, op.parse(attrs))[0])(*arrays)


def test_an_index_outside_gives_nan_in_a_compiled_graph():
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    (got,) = _compiled("take", data, np.array([0, 3, -1]), mode="raise")
    np.testing.assert_array_equal(got, [[0, 1], [np.nan] * 2, [np.nan] * 2])
    (got,) = _compiled("gather_nd", data, np.array([[0, 3], [1, 0]]))
    np.testing.assert_array_equal(got, [1, np.nan])


def test_elements_are_set_at_coordinates():
    lhs = np.zeros((2, 2), np.float32)
    (got,) = _call(
        "_scatter_set_nd", lhs, np.float32([9, 8]), np.array([[0, 1], [1, 1]]), shape=(2, 2)
    )
    np.testing.assert_array_equal(got, [[0, 9], [0, 8]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_elements_of_one_place_add_up(dtype):
    """MXNet 1.9.1 has this as an internal function; its figures."""
    data = mx.nd.array([2, 3, 4], dtype=dtype)
    at = mx.nd.array([[1, 1, 0], [0, 0, 1]], dtype="int32")
    made = mx.nd._internal._backward_gather_nd(data, at, shape=(2, 2))
    assert (made.dtype, made.asnumpy().tolist()) == (np.dtype(dtype), [[0, 4], [5, 0]])
    with pytest.raises(ShapeError, match="_backward_gather_nd"):
        mx.nd._internal._backward_gather_nd(data, at, shape=(2,))


def test_one_element_of_each_row_is_filled():
    lhs = np.arange(6, dtype=np.float32).reshape(2, 3)
    (got,) = _call("fill_element_0index", lhs, np.float32([-1, -2]), np.float32([1, 2]))
    np.testing.assert_array_equal(got, [[0, -1, 2], [3, 4, -2]])


def test_the_older_embedding_is_the_same_one():
    index, weight = np.float32([2, 0]), np.arange(6, dtype=np.float32).reshape(3, 2)
    how = {"input_dim": 3, "output_dim": 2}
    (old,) = _call("_contrib_SparseEmbedding", index, weight, **how)
    np.testing.assert_array_equal(old, weight[[2, 0]])


def test_a_result_of_unknown_size_is_refused_with_a_way_out():
    with pytest.raises(NotSupportedError, match=r"_contrib_boolean_mask.*where\(index"):
        _call("_contrib_boolean_mask", np.zeros((3, 2)), np.ones(3))


def test_counts_and_coordinates_are_64_bit():
    data = np.float32([0, 1, 2])
    counts, edges = _call("_histogram", data, bin_cnt=2, range=(0.0, 2.0))
    assert (counts.dtype, edges.dtype) == (np.int64, np.float32)
    assert _call("_contrib_index_array", data)[0].dtype == np.int64


def test_bins_of_no_width_are_widened():
    counts, edges = _call("_histogram", np.float32([1, 1, 2]), bin_cnt=2, range=(1.0, 1.0))
    np.testing.assert_array_equal(edges, [0.5, 1, 1.5])
    np.testing.assert_array_equal(counts, [0, 2])
