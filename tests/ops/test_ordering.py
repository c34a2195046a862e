"""The order of equal elements, zeros and NaN, by each way to find it, against NumPy's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modkit.ops.array.sorting import argsort, sort, topk

FLOATS = [0.0, 1, -0.0, np.nan, -2, np.inf, 1, -np.nan, -np.inf, 6e-8, 3, -2]
WHOLE = {
    "int32": [0, -1, 2**31 - 1, -(2**31), 5, 5, -(2**31), 2**31 - 1],
    "uint32": [0, 2**32 - 1, 2**31, 5, 5, 2**32 - 1, 2**31 - 1],
    "uint8": [0, 255, 3, 3, 255, 128, 0],
}


def _data(dtype):
    values = np.array(WHOLE.get(dtype, FLOATS))
    return jnp.asarray(np.random.RandomState(0).choice(values, (2, 24, 3)), dtype)


def _want(data, is_ascend):
    """The places along axis 1. What has equal elements turned round is turned round before."""
    exact = np.asarray(data.astype("float32") if data.dtype == "bfloat16" else data)
    if is_ascend:
        return np.argsort(exact, 1, kind="stable")
    return 23 - np.argsort(exact[:, ::-1], 1, kind="stable")[:, ::-1]


@pytest.mark.parametrize("is_ascend", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", *WHOLE])
def test_equal_elements_keep_their_order(dtype, is_ascend):
    data = _data(dtype)
    want = _want(data, is_ascend)
    few_and_many = (1, 3, 20)  # which are found in different ways

    @jax.jit
    def run(data):
        order = {"axis": 1, "is_ascend": is_ascend, "dtype": "int32"}
        return argsort(data, **order), [topk(data, k=k, **order) for k in few_and_many]

    found, firsts = run(data)
    np.testing.assert_array_equal(found, want)
    for k, first in zip(few_and_many, firsts, strict=True):
        np.testing.assert_array_equal(first, want[:, :k])


@pytest.mark.parametrize("k", [2, 20])
def test_the_gradient_goes_where_the_elements_came_from(k):
    data = _data("uint8").astype("float32")
    want = _want(data, False)[:, :k]
    head = np.random.RandomState(1).rand(2, k, 3).astype("float32")

    @jax.jit
    def run(x, h):
        return jax.vjp(lambda x: topk(x, axis=1, k=k, ret_typ="value"), x)[1](h)[0]

    grad = np.zeros_like(data)
    np.put_along_axis(grad, want, head, 1)
    np.testing.assert_array_equal(run(data, head), grad)


def test_mapped_over_samples():
    data = _data("float32")
    found = jax.jit(jax.vmap(lambda x: sort(x, axis=0, is_ascend=False)))(data)
    want = np.take_along_axis(np.asarray(data), _want(data, False), 1)
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(want))
