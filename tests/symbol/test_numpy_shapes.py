"""NumPy's shapes (``mx.np_shape``) beside MXNet 1.9.1: ``()``, sizes of 0, and -1 for unknown."""

import json
import threading

import numpy as np
import pytest

import modkit as mx

X, Y = mx.sym.Variable("x"), mx.sym.Variable("y")
FC = mx.sym.FullyConnected(X, num_hidden=4, name="f")


def test_switches():
    assert not mx.is_np_shape()
    with mx.np_shape():
        assert mx.is_np_shape()
        with mx.np_shape(False):
            assert not mx.is_np_shape()
        seen = []
        other = threading.Thread(target=lambda: seen.append(mx.is_np_shape()))
        other.start()
        other.join()
        assert seen == [False]
    assert [mx.set_np_shape(True), mx.set_np_shape(False)] == [False, True]

    @mx.use_np_shape
    def inside():
        return mx.is_np_shape()

    @mx.util.use_np_shape
    class Inside:
        def look(self):
            return mx.is_np_shape()

    assert inside() and Inside().look() and not mx.is_np_shape()


def test_arrays():
    with mx.np_shape():
        assert mx.nd.zeros(()).shape == () and mx.nd.ones((0, 3)).shape == (0, 3)
        a = mx.nd.array([1, 2, 3])
        assert a[0].shape == () and a[1:1].shape == (0,)
        assert mx.nd.concat(mx.nd.ones((0, 3)), mx.nd.ones((2, 3)), dim=0).shape == (2, 3)
        assert mx.nd.stack(mx.nd.ones(()), mx.nd.ones(())).shape == (2,)
    assert mx.nd.array([1, 2, 3])[0].shape == (1,)
    with pytest.raises(mx.MXNetError, match="np_shape"):
        mx.nd.zeros((0, 3))


PARTLY = [
    # net, given shapes, shapes of arguments and outputs
    (X + Y, {"x": (-1, 3), "y": (2, -1)}, ([(2, 3), (2, 3)], [(2, 3)])),
    (X + Y, {"x": (2, -1)}, ([(2, -1), (2, -1)], [(2, -1)])),
    (mx.sym.dot(X, Y), {"x": (-1, 3)}, ([(-1, 3), None], [None])),
    (mx.sym.dot(X, Y), {"x": (2, 3), "y": (3, -1)}, ([(2, 3), (3, -1)], [(2, -1)])),
    (mx.sym.dot(X, Y), {"x": (0, 3), "y": (3, 4)}, ([(0, 3), (3, 4)], [(0, 4)])),
    (mx.sym.batch_dot(X, Y), {"x": (0, 2, 3), "y": (0, 3, 5)},
     ([(0, 2, 3), (0, 3, 5)], [(0, 2, 5)])),
    (FC, {"x": (-1, 3)}, ([(-1, 3), (4, 3), (4,)], [(-1, 4)])),
    (FC, {"x": (2, 0)}, ([(2, 0), (4, 0), (4,)], [(2, 4)])),
    (mx.sym.LayerNorm(X, name="l"), {"x": (5, 1, 0)}, ([(5, 1, 0), (0,), (0,)], [(5, 1, 0)])),
    (mx.sym.BatchNorm(X, name="b"), {"x": (5, 0, 3)}, ([(5, 0, 3), (0,), (0,)], [(5, 0, 3)])),
    (mx.sym.zeros((0, 3)), {}, ([], [(0, 3)])),
    (mx.sym.reshape(mx.sym.concat(X, Y), shape=(-1,)), {"x": (0, 4)}, ([(0, 4), (0, -1)], [(0,)])),
    (mx.sym.ones(()), {}, ([], [()])),
    (mx.sym.random.uniform(shape=(-1, 0)) + X, {"x": (2, -1)}, ([(2, 0)], [(2, 0)])),
    (FC, {"x": (0, 3)}, ([(0, 3), (4, 3), (4,)], [(0, 4)])),
    (mx.sym.pick(X, Y, axis=1, keepdims=True), {"x": (2, -1, 4)},
     ([(2, -1, 4), (2, 4)], [(2, 1, 4)])),
    (mx.sym.transpose(X), {"x": (-1, 3)}, ([(-1, 3)], [(3, -1)])),
    (mx.sym.transpose(X), {}, ([None], [None])),
    (X + 1, {"x": ()}, ([()], [()])),
    (mx.sym.concat(X, Y, dim=0), {"x": (0, 3), "y": (2, 3)}, ([(0, 3), (2, 3)], [(2, 3)])),
    (mx.sym.Variable("q", shape=(-1, 3)) + X, {"x": (2, -1)}, ([(2, 3), (2, 3)], [(2, 3)])),
    (mx.sym.Embedding(X, Y, input_dim=4, output_dim=5), {"x": (-1, 3)},
     ([(-1, 3), (4, 5)], [(-1, 3, 5)])),
    (mx.sym.where(X, Y, mx.sym.Variable("z")), {"x": (-1, 3), "y": (2, -1)},
     ([(2, 3)] * 3, [(2, 3)])),
]  # fmt: skip


@pytest.mark.parametrize(("net", "given", "want"), PARTLY, ids=lambda v: str(v)[:40])
def test_partly_known(net, given, want):
    with mx.np_shape():
        assert net.infer_shape_partial(**given)[:2] == want


def test_unknown_sizes_leave_nothing():
    with mx.np_shape(), pytest.warns(UserWarning, match="a -1 is a size that is not known"):
        assert (X + Y).infer_shape(x=(2, -1)) == (None, None, None)


def test_sizes_of_constants_are_known():
    with mx.np_shape(), pytest.raises(mx.MXNetError, match=r"got shape \(2, 3\), expected \(0"):
        (mx.sym.zeros((0, 3)) + X).infer_shape(x=(2, 3))
    with pytest.raises(mx.MXNetError, match=r"got shape \(-2, 0\), expected sizes from -1"):
        mx.sym.zeros((-2, 0)).infer_shape()


def test_graphs_run():
    with mx.np_shape():
        bound = (X * 2).simple_bind(mx.cpu(), x=())
        bound.forward(is_train=True)
        bound.backward(mx.nd.ones(()))
        assert bound.outputs[0].shape == () and bound.grad_dict["x"].asnumpy() == 2
        bound = mx.sym.sum(X * 2, axis=0).simple_bind(mx.cpu(), x=(0, 3))
        bound.forward(is_train=True)
        bound.backward(mx.nd.ones((3,)))
        np.testing.assert_array_equal(bound.outputs[0].asnumpy(), [0, 0, 0])
        assert bound.grad_dict["x"].shape == (0, 3)
        module = mx.mod.Module(FC, ["x"], None)
        module.bind([("x", (3, 4))])
        module.init_params()
        module.forward(mx.io.DataBatch([mx.nd.ones((3, 4))]))
        assert module.get_outputs()[0].shape == (3, 4)


def test_a_size_of_0_that_nothing_decides_is_an_error_without_numpy_shapes():
    net = mx.sym.concat(X, mx.sym.zeros((0,), name="none"), dim=0)
    for bind in (lambda: net.eval(x=mx.nd.ones((3,))), lambda: net.simple_bind(mx.cpu(), x=(3,))):
        with pytest.raises(mx.MXNetError, match=r"cannot decide the shape of none \(of operator"):
            bind()
        with mx.np_shape():
            bind()
    with mx.np_shape():
        (made,) = net.bind(mx.cpu(), {"x": mx.nd.ones((3,))}).forward()
    assert made.shape == made.asnumpy().shape == (3,)


@pytest.mark.parametrize("shape", [(), (0,), (2,)])
def test_a_range_without_an_end_has_any_number_of_elements(shape):
    with mx.np_shape():
        net = X + mx.sym.arange(2, infer_range=True)
        (made,) = net.bind(mx.cpu(), {"x": mx.nd.zeros(shape)}).forward()
    want = np.arange(2, 2 + np.prod(shape, dtype=int)).reshape(shape)
    np.testing.assert_array_equal(made.asnumpy(), want)


def test_files_say_so():
    with mx.np_shape():
        assert json.loads(X.tojson())["attrs"]["is_np_shape"] == ["int", 1]
    assert "is_np_shape" not in json.loads(X.tojson())["attrs"]


def test_no_coordinates_gather_all():
    gathered = mx.sym.gather_nd(X, Y)
    with mx.np_shape():
        assert gathered.infer_shape(x=(2, 3), y=(0, 4))[1] == [(4, 2, 3)]
        assert mx.nd.gather_nd(mx.nd.ones((2, 3)), mx.nd.ones((0, 4))).shape == (4, 2, 3)
