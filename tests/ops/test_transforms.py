"""Fourier transforms and count sketches, against NumPy: MXNet has them for GPUs only."""

import numpy as np
import pytest

import modkit.ndarray as nd
import modkit.symbol as sym
from modkit import autograd
from modkit.errors import ShapeError

SHAPES = [(2, 6), (1, 5), (2, 3, 2, 4)]
STREAM = np.random.RandomState(3)


def interleaved(z):
    """Real and imaginary parts in turn."""
    return np.stack([z.real, z.imag], -1).reshape(*z.shape[:-1], -1)


def joined(a):
    """Complex numbers from parts in turn."""
    pairs = a.reshape(*a.shape[:-1], -1, 2)
    return pairs[..., 0] + 1j * pairs[..., 1]


def forward_and_gradient(function, data, head):
    """A function's result, and the gradient of its sum weighted by ``head``."""
    array = nd.array(data, dtype=data.dtype)
    array.attach_grad()
    with autograd.record():
        made = function(array)
    made.backward(nd.array(head, dtype=data.dtype))
    return made.asnumpy(), array.grad.asnumpy()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_fft(shape, dtype):
    data, head = STREAM.normal(size=shape), STREAM.normal(size=(*shape[:-1], 2 * shape[-1]))
    made, grad = forward_and_gradient(nd.contrib.fft, data.astype(dtype), head)
    close = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    assert made.dtype == dtype
    np.testing.assert_allclose(made, interleaved(np.fft.fft(data)), rtol=close, atol=close)
    # The adjoint of a transform is the other one, without its factor.
    adjoint = np.fft.ifft(joined(head)).real * shape[-1]
    np.testing.assert_allclose(grad, adjoint, rtol=close, atol=close)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_ifft(shape, dtype):
    data, head = STREAM.normal(size=(*shape[:-1], 2 * shape[-1])), STREAM.normal(size=shape)
    made, grad = forward_and_gradient(nd.contrib.ifft, data.astype(dtype), head)
    close = {"float32": 1e-5, "float64": 1e-12}[dtype]
    want = np.fft.ifft(joined(data)).real * shape[-1]
    np.testing.assert_allclose(made, want, rtol=close, atol=close)
    np.testing.assert_allclose(grad, interleaved(np.fft.fft(head)), rtol=close, atol=close)


@pytest.mark.parametrize(("name", "given", "made"), [("fft", 3, 6), ("ifft", 6, 3)])
def test_sizes_follow_both_ways(name, given, made):
    symbol = getattr(sym.contrib, name)(sym.Variable("x"))
    assert symbol.infer_shape(x=(2, 4, 5, given))[1] == [(2, 4, 5, made)]
    back = (symbol * sym.Variable("y")).infer_shape_partial(y=(2, made), x=(2, 0))
    assert back[0] == [(2, given), (2, made)]
    with pytest.raises(ShapeError, match="got 3 axes, expected 2 or 4 axes"):
        symbol.infer_shape(x=(2, 3, 4))
    with pytest.raises(ShapeError, match="got 3 axes, expected 2 or 4 axes"):
        (symbol * sym.Variable("y", shape=(2, 3, 4))).infer_shape()


def test_parts_come_in_pairs():
    with pytest.raises(ShapeError, match="got 7 numbers along the last axis"):
        nd.contrib.ifft(nd.ones((2, 7)))


@pytest.mark.parametrize("shape", SHAPES)
def test_count_sketch(shape):
    size, out_dim = shape[-1], 3
    to, signs = STREAM.randint(0, out_dim, (1, size)), STREAM.choice([-1.0, 1.0], (1, size))
    matrix = np.zeros((size, out_dim))
    matrix[np.arange(size), to[0]] = signs[0]
    data, head = STREAM.normal(size=shape), STREAM.normal(size=(*shape[:-1], out_dim))
    h, s = nd.array(to), nd.array(signs)
    s.attach_grad()
    made, grad = forward_and_gradient(
        lambda x: nd.contrib.count_sketch(x, h, s, out_dim=out_dim), data.astype("float32"), head
    )
    np.testing.assert_allclose(made, data @ matrix, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(grad, head @ matrix.T, rtol=1e-5, atol=1e-6)
    assert not s.grad.asnumpy().any()


def test_count_sketch_infers_and_refuses():
    symbol = sym.contrib.count_sketch(*map(sym.Variable, "xhs"), out_dim=4)
    assert symbol.infer_shape(x=(5, 3)) == ([(5, 3), (1, 3), (1, 3)], [(5, 4)], [])
    assert symbol.infer_shape_partial(h=(1, 3))[0] == [(), (1, 3), (1, 3)]
    with pytest.raises(ShapeError, match=r"s: got shape \(1, 4\), expected \(1, 3\)"):
        symbol.infer_shape(x=(5, 3), s=(1, 4))
    outside = nd.contrib.count_sketch(
        nd.ones((1, 3)), nd.array([[0, -1, 9]]), nd.ones((1, 3)), out_dim=2
    )
    assert outside.asnumpy().tolist() == [[1, 0]]
