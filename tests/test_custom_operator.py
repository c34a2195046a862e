"""mx.operator: operators in Python run, train and infer as MXNet's do."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import MXNetError, NotSupportedError, ParameterError, ShapeError
from modkit.ops.custom import MAKERS


class Scaled(mx.operator.CustomOp):
    """scale * x², written with NDArrays; counts its calls in training."""

    calls = 0

    def __init__(self, scale):
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        Scaled.calls += 1
        self.assign(out_data[0], req[0], self.scale * in_data[0] * in_data[0])
        if aux and is_train:
            aux[0][:] += 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * self.scale * in_data[0] * out_grad[0])


@pytest.fixture(autouse=True)
def _operators():
    before = dict(MAKERS)

    @mx.operator.register("scaled")
    class ScaledProp(mx.operator.CustomOpProp):
        def __init__(self, scale="1", counts="0"):
            super().__init__(need_top_grad=True)
            assert isinstance(scale, str)
            self.scale, self.counts = float(scale), int(counts)

        def list_auxiliary_states(self):
            return ["count"] * self.counts

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], [(1,)] * self.counts

        def create_operator(self, ctx, in_shapes, in_dtypes):
            assert (str(ctx), in_dtypes[0]) in [("cpu(0)", 0), ("cpu(0)", 1)]
            return Scaled(self.scale)

    @mx.operator.register("my_softmax")
    class SoftmaxProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Softmax()

    yield
    MAKERS.clear()
    MAKERS.update(before)


class Softmax(mx.operator.CustomOp):
    """SoftmaxOutput, written with NumPy."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], mx.nd.array(y / y.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0].asnumpy()
        y[np.arange(len(y)), in_data[1].asnumpy().astype(int)] -= 1
        self.assign(in_grad[0], req[0], mx.nd.array(y))


X = mx.sym.Variable("x")


def test_graph_is_the_reference():
    net = mx.sym.Custom(X, op_type="scaled", name="c", scale=2.5)
    assert '"op_type": "scaled", \n        "scale": "2.5"' in net.tojson()
    assert (net.list_arguments(), net.list_outputs()) == (["x"], ["c_output"])
    assert net.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3)], [])
    assert net.infer_type(x=np.float64) == ([np.float64], [np.float64], [])
    again = mx.sym.load_json(net.tojson())
    assert again.list_arguments() == ["x"]
    with mx.name.NameManager():
        net = mx.sym.Custom(data=X, op_type="my_softmax", attr={"__a__": "3"})
    assert net.list_arguments() == ["x", "custom0_label"]
    assert net.infer_shape(x=(2, 3))[0] == [(2, 3), (2,)]
    assert net.list_attr() == {"op_type": "my_softmax", "__a__": "3"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_runs_and_has_gradients(dtype):
    net = mx.sym.Custom(mx.sym.sin(X), op_type="scaled", scale=3) + X
    executor = net.simple_bind(mx.cpu(), x=(2, 2), type_dict={"x": dtype})
    at = np.array([[1, 2], [3, 4]], dtype)
    executor.arg_dict["x"][:] = at
    out = executor.forward(is_train=True)[0].asnumpy()
    np.testing.assert_allclose(out, 3 * np.sin(at) ** 2 + at, rtol=1e-5)
    assert out.dtype == dtype
    executor.backward(mx.nd.ones((2, 2), dtype=dtype))
    want = 6 * np.sin(at) * np.cos(at) + 1
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), want, rtol=1e-4)


def test_forward_runs_once_a_step():
    net = mx.sym.MakeLoss(mx.sym.Custom(X, op_type="scaled"))
    executor = net.simple_bind(mx.cpu(), x=(2,))
    Scaled.calls = 0
    executor.forward(is_train=True)
    executor.outputs[0].wait_to_read()
    executor.backward()
    executor.grad_dict["x"].wait_to_read()
    assert Scaled.calls == 1


def test_auxiliary_states_are_written_in_training():
    net = mx.sym.MakeLoss(mx.sym.Custom(X, op_type="scaled", counts=1, name="c"))
    assert net.list_auxiliary_states() == ["c_count"]
    executor = net.simple_bind(mx.cpu(), x=(2,))
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
    executor.forward(is_train=False)[0].wait_to_read()
    assert executor.aux_dict["c_count"].asnumpy().tolist() == [3]


def test_called_on_arrays():
    count = mx.nd.zeros((1,))
    out = mx.nd.Custom(mx.nd.array([1, 2, 3]), count, op_type="scaled", scale=2, counts=1)
    assert out.asnumpy().tolist() == [2, 8, 18]
    kept = mx.nd.zeros((3,))
    mx.nd.Custom(data=out, op_type="scaled", out=kept)
    assert kept.asnumpy().tolist() == [4, 64, 324]
    with pytest.raises(ParameterError, match="count"):
        mx.nd.Custom(out, op_type="scaled", counts=1)


def _trained(loss, contexts):
    mx.random.seed(1)
    draw = np.random.RandomState(0)
    data, label = draw.rand(32, 6).astype("f"), draw.randint(0, 3, 32).astype("f")
    train = mx.io.NDArrayIter(data, label, 8)
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(loss(hidden), context=contexts)
    module.bind(train.provide_data, train.provide_label)
    module.init_params(mx.init.One())
    module.fit(train, num_epoch=4, optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    return {name: value.asnumpy() for name, value in module.get_params()[0].items()}


@pytest.mark.parametrize("contexts", [[mx.cpu()], [mx.cpu(0), mx.cpu(1)]], ids=["one", "two"])
def test_trains_like_the_built_in_loss(contexts):
    label = mx.sym.Variable("softmax_label")
    mine = _trained(lambda x: mx.sym.Custom(x, label, op_type="my_softmax", name="s"), contexts)
    built_in = _trained(lambda x: mx.sym.SoftmaxOutput(x, label, name="s"), contexts)
    assert mine.keys() == built_in.keys()
    for name, value in built_in.items():
        np.testing.assert_allclose(mine[name], value, rtol=1e-4, atol=1e-6)


def test_many_steps_under_way():
    net = mx.sym.MakeLoss(mx.sym.Custom(X, op_type="scaled"))
    executor = net.simple_bind(mx.cpu(), x=(64, 64))
    for _ in range(50):
        executor.forward(is_train=True, x=mx.nd.ones((64, 64)))
        executor.backward()
        executor.arg_dict["x"][:] = executor.grad_dict["x"] * 0.5
    assert executor.arg_dict["x"].asnumpy()[0, 0] == 1


def test_registering_again_replaces():
    net = mx.sym.Custom(X, op_type="scaled")
    one = net.eval(mx.cpu(), x=mx.nd.array([2]))[0].asnumpy()

    @mx.operator.register("scaled")
    class Other(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Scaled(10)

    two = net.eval(mx.cpu(), x=mx.nd.array([2]))[0].asnumpy()
    assert (one, two) == (4, 40)


def test_graph_of_an_unregistered_operator_can_be_listed():
    text = mx.sym.Custom(X, op_type="scaled", name="c").tojson().replace("scaled", "elsewhere")
    net = mx.sym.load_json(text)
    assert net.list_arguments() == ["x"]
    assert net.tojson() == text
    with pytest.raises(NotSupportedError, match="'elsewhere'"):
        net.infer_shape(x=(2,))


def test_mistakes_are_answered():
    with pytest.raises(MXNetError, match=r"'scald'.*'scaled'"):
        mx.sym.Custom(X, op_type="scald")
    with pytest.raises(ParameterError, match="op_type"):
        mx.sym.Custom(X)
    with pytest.raises(ParameterError, match=r"scale='1'"):
        mx.sym.Custom(X, op_type="scaled", scael=2)
    with pytest.raises(ParameterError, match="label"):
        mx.sym.Custom(X, label=X, op_type="scaled")
    with pytest.raises(ParameterError, match="CustomOpProp"):
        mx.operator.register("x")(Scaled)
    with pytest.raises(NotSupportedError, match="CustomOp"):
        mx.operator.NumpyOp()

    @mx.operator.register("crooked")
    class Crooked(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            return in_shape, [], []

    with pytest.raises(ShapeError, match=r"\[1, 0, 0\], expected \[1, 1, 0\]"):
        mx.sym.Custom(X, op_type="crooked").infer_shape(x=(2,))


def test_assignment_follows_the_request():
    target = mx.nd.ones((2,))
    op = mx.operator.CustomOp()
    for request, want in (("write", 3), ("add", 6), ("null", 6), ("inplace", 3)):
        op.assign(target, request, mx.nd.array([3, 3]))
        assert target.asnumpy().tolist() == [want, want]
    with pytest.raises(ParameterError, match="'write'"):
        op.assign(target, "wirte", target)
