"""CachedOp over a symbol; figures of MXNet 1.9.1."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, ParameterError

A, B = mx.sym.Variable("a"), mx.sym.Variable("b")


def test_a_recorded_call_has_gradients():
    op = mx.nd.CachedOp(mx.sym.dot(A, B) + 1)
    x, w = mx.nd.array([[1, 2]]), mx.nd.array([[3], [4]])
    w.attach_grad()
    with mx.autograd.record():
        y = op(x, w)
        z = y * y
    z.backward()
    assert y.asscalar() == 12
    assert w.grad.asnumpy().tolist() == [[24], [48]]


def test_several_outputs_are_a_list_and_out_is_written():
    x, out = mx.nd.array([[1, 2]]), mx.nd.zeros((1, 2))
    op = mx.nd.CachedOp(mx.sym.Group([A + B, A * B]), [("static_alloc", True)])
    assert [each.asnumpy().tolist() for each in op(x, x)] == [[[2, 4]], [[1, 4]]]
    assert mx.ndarray.CachedOp(A - B)(x, x * 3, out=out) is out
    assert out.asnumpy().tolist() == [[-2, -4]]


def test_training_writes_states():
    op = mx.nd.CachedOp(mx.sym.BatchNorm(A, name="bn", fix_gamma=False))
    arrays = [mx.nd.array(v) for v in ([[1, 2], [3, 6]], [1, 1], [0, 0], [0, 0], [1, 1])]
    arrays[1].attach_grad()
    with mx.autograd.record():
        y = op(*arrays)
    y.backward(mx.nd.array([[1, 2], [3, 5]]))
    np.testing.assert_allclose(arrays[3].asnumpy(), [0.2, 0.4], rtol=1e-6)
    np.testing.assert_allclose(arrays[4].asnumpy(), [1.0, 1.3], rtol=1e-6)
    np.testing.assert_allclose(arrays[1].grad.asnumpy(), [1.9990008, 2.9996252], rtol=1e-5)
    expected = [[0.7996002, 1.4027532], [2.7986012, 4.9096365]]
    np.testing.assert_allclose(op(*arrays).asnumpy(), expected, rtol=1e-5)


def test_what_is_refused():
    op, x = mx.nd.CachedOp(A - B), mx.nd.ones(2)
    with pytest.raises(ParameterError, match="got 1 arrays, expected 2: a, b"):
        op(x)
    with pytest.raises(ParameterError, match="out: got 2 arrays, expected 1"):
        op(x, x, out=[x, x])
    with pytest.raises(DTypeError, match="'b': got int, expected an NDArray"):
        op(x, 3)
    with pytest.raises(DTypeError, match="got int, expected a Symbol"):
        mx.nd.CachedOp(3)
    with pytest.raises(ParameterError, match=r"no flag 'static_allocs'.*static_alloc"):
        mx.nd.CachedOp(A, [("static_allocs", True)])


def test_loops_run():
    op = mx.nd.CachedOp(
        mx.sym.Group(list(mx.sym.contrib.foreach(lambda x, s: (x * s, s + x), A, B)))
    )
    outputs, last = op(mx.nd.array([[0, 1, 2], [3, 4, 5]]), mx.nd.ones(3))
    assert outputs.asnumpy().tolist() == [[0, 1, 2], [3, 8, 15]]
    assert last.asnumpy().tolist() == [4, 6, 8]
