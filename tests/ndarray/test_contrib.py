"""Functions of ``mx.nd.contrib`` that are no operators."""

import numpy as np
import pytest

from modkit import nd, sym
from modkit.errors import ParameterError


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_single_numbers(dtype):
    data = nd.array([1, np.inf, -np.inf, np.nan, 0], dtype=dtype)
    for name, expected in (
        ("isfinite", [1, 0, 0, 0, 1]),
        ("isnan", [0, 0, 0, 1, 0]),
        ("isinf", [0, 1, 1, 0, 0]),
    ):
        got = getattr(nd.contrib, name)(data)
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got.asnumpy(), expected, err_msg=name)


def test_log_uniform_classes():
    drawn, true, expected = nd.contrib.rand_zipfian(nd.array([3]), 4000, 5)
    assert drawn.dtype == np.int64 and true.dtype == expected.dtype == np.float64
    assert true.asscalar() == pytest.approx(498.15515, rel=1e-6)
    counts = np.bincount(drawn.asnumpy(), minlength=5)
    share = np.log(np.arange(2, 7) / np.arange(1, 6)) / np.log(6)
    np.testing.assert_allclose(counts / 4000, share, atol=0.04)
    np.testing.assert_allclose(expected.asnumpy(), 4000 * share[drawn.asnumpy()], rtol=1e-6)
    with pytest.raises(ParameterError, match="range_max=0"):
        nd.contrib.rand_zipfian(nd.array([3]), 4, 0)


def test_log_uniform_classes_of_a_symbol():
    group = sym.Group(sym.contrib.rand_zipfian(sym.Variable("t"), 4, 5))
    assert group.infer_shape(t=(3,))[1] == [(4,), (3,), (4,)]
    drawn, true, expected = group.eval(t=nd.array([0, 3]))
    np.testing.assert_allclose(true.asnumpy(), [1.54741123, 0.49815515], rtol=1e-6)
    share = np.log(np.arange(2, 7) / np.arange(1, 6)) / np.log(6)
    np.testing.assert_allclose(expected.asnumpy(), 4 * share[drawn.asnumpy()], rtol=1e-6)
    with pytest.raises(ParameterError, match="num_sampled=0"):
        sym.contrib.rand_zipfian(sym.Variable("t"), 0, 5)
