"""Eager calls run by NumPy, or compiled: decided by the signature and a count of calls."""

import numpy as np
import pytest

import modkit as mx
from modkit.cache import eager
from modkit.ndarray.invoke import _on_host


@pytest.fixture
def compiled():
    """The number of programs compiled since the test began."""
    mx.cache.cache_clear()
    return lambda: eager.info().executables


def traces():
    return _on_host.cache_info().misses


def test_new_shapes_compile_nothing(compiled):
    for n in range(2, 30):
        x = mx.nd.ones((n, 3))
        y = mx.nd.dot(x, x, transpose_b=True).sum(axis=1) + n
        assert y.asnumpy().tolist() == [3 * n + n] * n
    assert compiled() == 0


def test_elementwise_operators_are_traced_once_for_each_power_of_two():
    arrays = [mx.nd.array(np.full((n, 3), n)) for n in range(1, 40)]
    before = traces()
    for n, each in enumerate(arrays, 1):
        got = (each * 2.5 + each).asnumpy()
        assert got.shape == (n, 3) and (got == 3.5 * n).all()
    assert traces() - before <= 2 * 7


def test_large_work_is_compiled_at_once_and_middle_sized_work_later(compiled):
    big = mx.nd.ones((1000, 1000))
    calls = 0
    while calls < 400:
        calls += 1
        out = mx.nd.exp(big)
        if compiled():
            break
    assert 1 < calls < 20, "the count depends on the size only"
    np.testing.assert_allclose(out.asnumpy()[0, 0], np.e, rtol=1e-6)
    square = mx.nd.ones((3000, 3000))
    mx.nd.dot(square, square)
    assert compiled() == 2


def test_the_same_calls_give_the_same_bits(compiled):
    def run():
        x = mx.nd.array(np.linspace(-3, 3, 300_000))
        return [mx.nd.tanh(x).asnumpy().tobytes() for _ in range(40)]

    first = run()
    assert compiled()
    _on_host.cache_clear()
    mx.cache.cache_clear()
    assert run() == first


def test_results_share_no_memory():
    x = mx.nd.array([[1.0, 2.0], [3.0, 4.0]])
    y = x + 0
    for made in (mx.nd.identity(y), mx.nd.Reshape(y, shape=(4,)), mx.nd.BlockGrad(y), y.T.copy()):
        made[:] = 9
    assert y.asnumpy().tolist() == [[1, 2], [3, 4]]
    first, second = mx.nd.split(y, num_outputs=2)
    first[:] = 7
    assert second.asnumpy().ravel().tolist() == [2, 4] and y.asnumpy()[0, 0] == 1


def test_what_was_handed_out_does_not_change():
    x = mx.nd.zeros((2, 2)) + 1
    x[0] = 2  # in place from now on
    device, host, copy = x.data, x.asnumpy(), x.copy()
    x.attach_grad()
    with mx.autograd.record():
        y = (x * x).sum()
    x[1] = 5
    y.backward()
    assert device.tolist() == host.tolist() == copy.asnumpy().tolist() == [[2, 2], [1, 1]]
    assert x.grad.asnumpy().tolist() == [[4, 4], [2, 2]]


def test_integers_wrap_around():
    x = mx.nd.array([7, -7, 2**31 - 1], dtype="int32")
    assert (x + 1).asnumpy()[2] == -(2**31)


def test_calls_of_each_shape_are_counted():
    """Elementwise calls share a trace; XLA compiles each shape, so each has its own count."""
    before = mx.cache_info()["eager"].executables
    for _ in range(30):
        for rows in range(100, 120):
            x = mx.nd.ones((rows, 90)) ** 2.5
    assert mx.cache_info()["eager"].executables == before
    for _ in range(2000):
        x = mx.nd.ones((100, 90)) ** 2.5
    assert mx.cache_info()["eager"].executables == before + 1
    assert x.asnumpy().min() == 1
