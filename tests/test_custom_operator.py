"""mx.operator: operators in Python run, train and infer as MXNet's do."""

import traceback
from typing import ClassVar

import numpy as np
import pytest

import modkit as mx
from modkit.errors import MXNetError, NotSupportedError, ParameterError, ShapeError
from modkit.ops.custom import MAKERS


class Square(mx.operator.CustomOp):
    """x², whose gradient reads what `forward` kept on the instance."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.kept = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], mx.nd.array(self.kept**2))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        grad = 2 * mx.nd.array(self.kept) * out_grad[0]
        self.assign(in_grad[0], req[0], grad)


class Scripted(mx.operator.CustomOp):
    """2x, with a function of the test called on the way."""

    run: ClassVar[dict] = {}

    def forward(self, is_train, req, in_data, out_data, aux):
        self.run.get("forward", lambda *_: None)(in_data, aux, req)
        self.assign(out_data[0], req[0], 2 * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.run.get("backward", lambda *_: None)(in_data, aux, req)
        for each, request in zip(in_grad, req, strict=True):
            self.assign(each, request, 2 * out_grad[0])


class ScriptedProp(mx.operator.CustomOpProp):
    def __init__(self, arguments="1", states="0"):
        super().__init__()
        self.arguments, self.states = int(arguments), int(states)

    def list_arguments(self):
        return ["data", "more"][: self.arguments]

    def list_auxiliary_states(self):
        return ["moving_mean"] * self.states

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)] * self.states

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Scripted()


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
    mx.operator.register("scripted")(ScriptedProp)

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

    @mx.operator.register("square")
    class SquareProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Square()

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
    Scripted.run = {}
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


def _square(x, **kwargs):
    return mx.sym.Custom(x, op_type="square", **kwargs)


def _bound(net, x, **kwargs):
    executor = net.simple_bind(mx.cpu(), x=x.shape, **kwargs)
    executor.arg_dict["x"][:] = x
    return executor


def test_runs_beside_nodes_that_are_computed_again():
    with mx.AttrScope(force_mirroring="True"):
        low = mx.sym.sin(X)
    middle = _square(low, name="a")
    with mx.AttrScope(force_mirroring="True"):
        net = mx.sym.cos(middle)
    executor = _bound(net, A)
    executor.forward(is_train=True)
    want = -np.sin(np.sin(A) ** 2) * 2 * np.sin(A) * np.cos(A)
    np.testing.assert_allclose(_gradient(executor, np.ones(2)), want, rtol=1e-5)


def _gradient(executor, heads):
    executor.backward(mx.nd.array(heads))
    return executor.grad_dict["x"].asnumpy()


A, B = np.array([1, 2], "f"), np.array([-3, 5], "f")


def _two_nodes():
    executor = _bound(_square(_square(X, name="a") + 1, name="b"), A)
    executor.forward(is_train=True)
    return _gradient(executor, np.ones(2)), 2 * (A**2 + 1) * 2 * A


def _two_executors():
    net = _square(X)
    one, two = _bound(net, A), _bound(net, B)
    for each in (one, two):
        each.forward(is_train=True)[0].wait_to_read()
    return _gradient(one, np.ones(2)), 2 * A


def _reshaped():
    one = _bound(_square(X), A)
    one.forward(is_train=True)[0].wait_to_read()
    two = one.reshape(x=(1,))
    two.forward(is_train=True, x=mx.nd.array([7]))[0].wait_to_read()
    two = two.reshape(x=(2,), allow_up_sizing=True)
    two.forward(is_train=True, x=mx.nd.array([7, 8]))[0].wait_to_read()
    return _gradient(one, np.ones(2)), 2 * A


def _groups():
    with mx.AttrScope(ctx_group="far"):
        low = _square(X, name="a")
    with mx.AttrScope(ctx_group="near"):
        net = _square(low + 1, name="b")
    places = {"far": mx.cpu(1), "near": mx.cpu(0)}
    executor = _bound(net, A, group2ctx=places)
    executor.forward(is_train=True)[0].wait_to_read()
    return _gradient(executor, np.ones(2)), 2 * (A**2 + 1) * 2 * A


def _eager():
    x, y = mx.nd.array(A), mx.nd.array(B)
    x.attach_grad()
    with mx.autograd.record():
        total = mx.nd.Custom(x, op_type="square") + mx.nd.Custom(y, op_type="square")
    total.backward()
    return x.grad.asnumpy(), 2 * A


def _module(contexts, **kwargs):
    data = np.arange(8, dtype="f").reshape(8, 1)
    module = mx.mod.Module(
        _square(mx.sym.var("data")), label_names=None, context=contexts, **kwargs
    )
    module.bind([("data", data.shape)], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.array(data)]), is_train=True)
    module.get_outputs()[0].wait_to_read()
    module.backward([mx.nd.ones((8, 1))])
    return module.get_input_grads()[0].asnumpy(), 2 * data


INSTANCES = {
    "nodes": _two_nodes,
    "executors": _two_executors,
    "reshaped": _reshaped,
    "devices of groups": _groups,
    "eager calls": _eager,
    "replicas on one device": lambda: _module([mx.cpu(0), mx.cpu(0)]),
    "replicas on two devices": lambda: _module([mx.cpu(0), mx.cpu(1)]),
    "uneven replicas": lambda: _module([mx.cpu(0)] * 3, work_load_list=[3, 3, 2]),
}


@pytest.mark.parametrize("case", INSTANCES)
def test_each_node_of_each_executor_and_replica_has_an_instance(case):
    got, want = INSTANCES[case]()
    np.testing.assert_allclose(got, want)


def _rebound_module(size, shared):
    module = mx.mod.Module(_square(mx.sym.var("data"), name="a"), label_names=None)
    module.bind([("data", (size, 1))], shared_module=shared, inputs_need_grad=True)
    if shared is None:
        module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((size, 1))]), is_train=True)
    module.backward([mx.nd.ones((size, 1))])
    return module, module.get_input_grads()[0]


def _rebound_executor(size, before):
    executor = _bound(_square(X, name="a"), np.ones(size))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((size,))])
    return executor, executor.grad_dict["x"]


@pytest.mark.parametrize("rebound", [_rebound_module, _rebound_executor])
def test_binding_again_compiles_nothing_and_makes_instances(rebound, compilations, monkeypatch):
    made, bound = [], None
    monkeypatch.setattr(Square, "__init__", lambda self: made.append(self))

    def rebind():
        nonlocal bound
        for size in (2, 3, 2):
            bound, grad = rebound(size, bound)
            np.testing.assert_array_equal(grad.asnumpy(), np.full(grad.shape, 2))

    rebind()  # the module of before is in use while the next one is bound,
    rebind()  # so programs of each size are compiled twice
    assert compilations.during(rebind) == []
    assert len(made) == 9


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


def _counting():
    """Forward adds 1 to the state, backward 10; returns what they saw."""
    seen = []

    def adds(amount):
        def run(in_data, aux, req):
            seen.append(aux[0].asscalar())
            aux[0][:] += amount

        return run

    Scripted.run = {"forward": adds(1), "backward": adds(10)}
    return seen


def _state(net):
    return mx.sym.Custom(net, op_type="scripted", states=1, name="c")


# MXNet 1.9.1: forward adds 1 in every mode, backward 10; what each call saw before.
STATES = {
    "backward at once": (
        lambda e: (e.forward(is_train=True), e.backward(mx.nd.ones(2))),
        [0, 1],
        11,
    ),
    "backward apart": (
        lambda e: (e.forward(is_train=True)[0].wait_to_read(), e.backward(mx.nd.ones(2))),
        [0, 1],
        11,
    ),
    "predicting": (lambda e: e.forward(is_train=False), [0], 1),
    "two steps": (
        lambda e: [(e.forward(is_train=True), e.backward(mx.nd.ones(2))) for _ in range(2)],
        [0, 1, 11, 12],
        22,
    ),
}


@pytest.mark.parametrize("case", STATES)
@pytest.mark.parametrize("group", [None, "far"])
def test_states_that_forward_and_backward_write_are_kept(case, group):
    steps, want, end = STATES[case]
    seen = _counting()
    with mx.AttrScope(**({"ctx_group": group} if group else {})):
        net = _state(X)
    executor = net.simple_bind(mx.cpu(), x=(2,), group2ctx={"far": mx.cpu(1)})
    steps(executor)
    assert executor.aux_dict["c_moving_mean"].asnumpy().tolist() == [end]
    assert seen == want


@pytest.mark.parametrize("net, saw, end", [
    (lambda: mx.sym.BlockGrad(_state(X)) + X, [0, 1], 11),
    (lambda: _state(mx.sym.BlockGrad(X)) + X, [0], 1),
])  # fmt: skip
def test_backward_is_called_where_a_variable_is_behind_the_operator(net, saw, end):
    """BlockGrad behind an operator gives it zeros, before it no reason to run, as in MXNet."""
    seen = _counting()
    executor = _bound(net(), A)
    executor.forward(is_train=True)
    assert _gradient(executor, np.ones(2)).tolist() == [1, 1]
    assert executor.aux_dict["c_moving_mean"].asnumpy().tolist() == [end]
    assert seen == saw


def test_nodes_that_share_a_state_write_it_in_running_order():
    seen, state = _counting(), mx.sym.var("state")
    net = mx.sym.Custom(X, state, op_type="scripted", states=1)
    net = mx.sym.Custom(net, state, op_type="scripted", states=1)
    executor = _bound(net, A)
    executor.forward(is_train=True)
    assert _gradient(executor, np.ones(2)).tolist() == [4, 4]
    assert seen == [0, 1, 2, 12]
    assert executor.aux_dict["state"].asnumpy().tolist() == [22]


@pytest.mark.parametrize("contexts", [[0], [0, 0], [0, 1]], ids=["one", "vmap", "pmap"])
def test_states_are_kept_by_fused_steps(contexts):
    seen = _counting()
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.MakeLoss(_state(net))
    module = mx.mod.Module(net, label_names=None, context=[mx.cpu(i) for i in contexts])
    module.bind([("data", (4, 2))])
    module.init_params(mx.init.One())
    module.init_optimizer()
    for _ in range(3):
        module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 2))]))
        module.update()
    assert module.get_params()[1]["c_moving_mean"].asnumpy().tolist() == [33]
    assert sorted(seen) == sorted([0, 1, 11, 12, 22, 23] * len(contexts))


# MXNet 1.9.1: the requests of backward by those of the executor.
REQUESTS = [
    ({"x": "write", "y": "null"}, ["write", "null"]),
    ({"x": "null", "y": "write"}, ["null", "write"]),
    ({"x": "write", "y": "write"}, ["write", "write"]),
]


@pytest.mark.parametrize("grad_req, want", REQUESTS)
def test_requests_of_backward(grad_req, want):
    seen = []
    Scripted.run = {"backward": lambda data, aux, req: seen.append(list(req))}
    net = mx.sym.Custom(X, mx.sym.var("y"), op_type="scripted", arguments=2)
    executor = net.simple_bind(mx.cpu(), x=(2,), y=(2,), grad_req=grad_req)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones(2))
    mx.nd.waitall()
    assert seen == [want]


def _refuse(*_):
    raise KeyError("refused")


def _run_executor(train):
    executor = _bound(mx.sym.Custom(X, op_type="scripted", name="c"), A)
    executor.forward(is_train=train)
    if train:
        executor.backward(mx.nd.ones(2))
    executor.outputs[0].asnumpy()


def _run_eagerly(_):
    x = mx.nd.array(A)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="scripted")
    y.backward()


def _run_replicas(contexts):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    net = mx.sym.MakeLoss(mx.sym.Custom(net, op_type="scripted", name="c"))
    module = mx.mod.Module(net, label_names=None, context=[mx.cpu(i) for i in contexts])
    module.bind([("data", (4, 2))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    batch = mx.io.DataBatch([mx.nd.ones((4, 2))])
    good, Scripted.run = Scripted.run, {}
    module.forward_backward(batch)
    module.update()
    before = module.get_params()[0]["fc_weight"].asnumpy()
    Scripted.run = good
    try:
        module.forward_backward(batch)
        module.update()
        mx.nd.waitall()
    except MXNetError:
        Scripted.run = {}
        # The failed step took nothing: parameters and momentum are there, and training goes on.
        np.testing.assert_array_equal(module.get_params()[0]["fc_weight"].asnumpy(), before)
        module.forward_backward(batch)
        module.update()
        assert (module.get_params()[0]["fc_weight"].asnumpy() != before).all()
        raise


PLACES = {
    "executor": (_run_executor, True, "'scripted' of node 'c'"),
    "eager": (_run_eagerly, None, "'scripted'"),
    "fused step": (_run_replicas, [0], "'scripted' of node 'c'"),
    "vmap": (_run_replicas, [0, 0], "'scripted' of node 'c'"),
    "pmap": (_run_replicas, [0, 1], "'scripted' of node 'c'"),
}


@pytest.mark.parametrize("method", ["forward", "backward"])
@pytest.mark.parametrize("place", PLACES)
def test_what_the_operator_raises_is_the_cause_of_an_error_that_names_it(place, method):
    run, about, named = PLACES[place]
    Scripted.run = {method: _refuse}
    with pytest.raises(MXNetError) as caught:
        run(about)
    assert str(caught.value) == f"custom operator {named}: {method} raised KeyError: 'refused'"
    cause = caught.value.__cause__
    assert isinstance(cause, KeyError)
    assert "_refuse" in [frame.name for frame in traceback.extract_tb(cause.__traceback__)]


@pytest.mark.parametrize("place", PLACES)
def test_a_stop_iteration_of_the_operator_is_an_error_like_others(place):
    def stop(*_):
        raise StopIteration("mine")

    run, about, named = PLACES[place]
    Scripted.run = {"forward": stop}
    with pytest.raises(MXNetError, match="forward raised StopIteration: mine") as caught:
        run(about)
    assert named in str(caught.value)


def test_an_error_of_the_operator_in_fit_is_shown_once(caplog):
    """It is raised, so that JAX's log record of it is left out, and no other error is before it."""
    net = mx.sym.Custom(mx.sym.FullyConnected(X, num_hidden=2), op_type="scripted", name="c")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), data_names=["x"])
    calls = []

    def refuse(*args):
        calls.append(args)
        _refuse(*args)

    Scripted.run = {"forward": refuse}
    data = mx.io.NDArrayIter({"x": np.zeros((4, 2))}, np.zeros(4), 4)
    for work in (lambda: module.fit(data, num_epoch=1), lambda: module.score(data, "acc")):
        with caplog.at_level("WARNING"), pytest.raises(MXNetError, match="'c': forward") as caught:
            work()
        assert not caplog.records
        assert caught.value.__cause__.__context__ is None
        with pytest.raises(MXNetError):
            module.get_outputs()[0].asnumpy()
        assert len(calls) == 1  # neither without the metric nor for a reader
        calls.clear()
        data.reset()
    Scripted.run = {}
    module.fit(data, num_epoch=1)


def test_what_create_operator_raises_names_the_node():
    @mx.operator.register("uncreated")
    class UncreatedProp(ScriptedProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            raise KeyError("refused")

    executor = _bound(mx.sym.Custom(X, op_type="uncreated", name="c"), A)
    with pytest.raises(MXNetError, match="'uncreated' of node 'c': create_operator raised KeyErr"):
        executor.forward()[0].wait_to_read()


def _autograd(in_data):
    x = in_data[0].copy()
    x.attach_grad()
    with mx.autograd.record():
        y = (x * x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * in_data[0].asnumpy())


def _executor(in_data):
    executor = (mx.sym.var("v") * 3).simple_bind(mx.cpu(), v=in_data[0].shape)
    executor.forward(is_train=True, v=in_data[0])
    executor.backward(mx.nd.ones(in_data[0].shape))
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), 3 * in_data[0].asnumpy())
    assert (executor.grad_dict["v"].asnumpy() == 3).all()


def _products(in_data):
    big = mx.nd.ones((300, 300))
    assert mx.nd.dot(big, big).asnumpy()[0, 0] == 300


def _another_custom(in_data):
    out = mx.nd.Custom(in_data[0], op_type="square")
    np.testing.assert_array_equal(out.asnumpy(), in_data[0].asnumpy() ** 2)


def _many_under_way(in_data):
    total = in_data[0]
    for _ in range(100):
        total = total + 1
    np.testing.assert_array_equal(total.asnumpy(), in_data[0].asnumpy() + 100)


CODE = {f.__name__: f for f in (_autograd, _executor, _products, _another_custom, _many_under_way)}


@pytest.mark.parametrize("place", ["executor", "eager", "fused step", "vmap", "pmap"])
@pytest.mark.parametrize("code", CODE)
def test_callbacks_compute(code, place):
    calls = []

    def compute(in_data, aux, req):
        assert not mx.autograd.is_recording()
        assert mx.autograd.is_training()
        CODE[code](in_data)
        calls.append(1)

    Scripted.run = {"forward": compute, "backward": compute}
    run, about, _ = PLACES[place]
    run(about)
    assert len(calls) >= 2


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


def test_arrays_are_passed_by_name():
    class Named(mx.operator.CustomOp):
        def forward(self, out_data, in_data, **others):
            self.assign(out_data[0], others["req"][0], 2 * in_data[0])

        def backward(self, in_grad, out_grad, aux, in_data, out_data, req):
            self.assign(in_grad[0], req[0], 2 * out_grad[0])

    class NamedProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Named()

    mx.operator.register("named")(NamedProp)
    executor = mx.sym.Custom(mx.sym.Variable("a"), op_type="named").simple_bind(mx.cpu(), a=(2,))
    assert executor.forward(is_train=True, a=mx.nd.array([1, 3]))[0].asnumpy().tolist() == [2, 6]
    executor.backward(mx.nd.ones(2))
    assert executor.grad_arrays[0].asnumpy().tolist() == [2, 2]


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
    unknown = r"'scaled': .*: no parameter 'scael'\. Did you mean 'scale'\? .*scale='1'"
    with pytest.raises(ParameterError, match=unknown):
        mx.sym.Custom(X, op_type="scaled", scael=2)
    with pytest.raises(ParameterError, match="label"):
        mx.sym.Custom(X, label=X, op_type="scaled")
    with pytest.raises(ParameterError, match="CustomOpProp"):
        mx.operator.register("x")(Scaled)

    @mx.operator.register("crooked")
    class Crooked(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            return in_shape, [], []

    with pytest.raises(ShapeError, match=r"\[1, 0, 0\], expected \[1, 1, 0\]"):
        mx.sym.Custom(X, op_type="crooked").infer_shape(x=(2,))

    @mx.operator.register("forgetful")
    class Forgetful(mx.operator.CustomOpProp):
        def __init__(self, scale, **more):
            super().__init__()

        def create_operator(self, ctx, in_shapes, in_dtypes):
            Scaled(1)

    with pytest.raises(ParameterError, match=r"missing a required argument: 'scale'"):
        mx.sym.Custom(X, op_type="forgetful", scael=2)
    net = mx.sym.Custom(X, op_type="forgetful", scale=2)
    with pytest.raises(MXNetError, match="create_operator returned None, expected a CustomOp"):
        net.eval(mx.cpu(), x=mx.nd.ones((2,)))[0].asnumpy()


def test_errors_of_rules_are_raised_while_other_inputs_are_unknown():
    @mx.operator.register("strict")
    class Strict(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["x", "y"]

        def infer_shape(self, in_shape):
            raise ValueError(f"two axes, not {in_shape}")

        def infer_type(self, in_type):
            raise KeyError("half")

    net = mx.sym.Custom(X, mx.sym.Variable("y"), op_type="strict", name="c")
    for infer in (net.infer_shape, net.infer_shape_partial):
        with pytest.raises(ShapeError, match=r"node 'c': infer_shape raised ValueError: two axes"):
            infer(x=(2,))
    with pytest.raises(MXNetError, match=r"infer_type raised KeyError: 'half'"):
        net.infer_type(x="float32")
    Strict.infer_shape = lambda self, in_shape: next(iter(()))
    with pytest.raises(ShapeError, match="infer_shape raised StopIteration"):
        net.infer_shape(x=(2,))


def test_assignment_follows_the_request():
    target = mx.nd.ones((2,))
    op = mx.operator.CustomOp()
    for request, want in (("write", 3), ("add", 6), ("null", 6), ("inplace", 3)):
        op.assign(target, request, mx.nd.array([3, 3]))
        assert target.asnumpy().tolist() == [want, want]
    with pytest.raises(ParameterError, match="'write'"):
        op.assign(target, "wirte", target)


class Triple(mx.operator.NumpyOp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data, out_data):
        assert isinstance(out_data[0], np.ndarray)
        out_data[0][:] = 3 * in_data[0]

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_data[0] - in_data[1][:, None]


class Fivefold(mx.operator.NDArrayOp):
    def forward(self, in_data, out_data):
        out_data[0][:] = in_data[0] * 5

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_grad[0] * 5


@pytest.mark.filterwarnings("ignore:.*is deprecated")
def test_operators_of_the_old_classes():
    net = Triple()(data=X, name="t")
    assert (net.list_arguments(), net.list_outputs()) == (["x", "t_label"], ["t_output"])
    executor = net.simple_bind(mx.cpu(), x=(2, 3))
    executor.arg_dict["x"][:] = 1
    executor.arg_dict["t_label"][:] = mx.nd.array([1, 2])
    executor.forward(is_train=True)
    executor.backward()
    assert executor.grad_dict["x"].asnumpy().tolist() == [[2] * 3, [1] * 3]
    assert (executor.outputs[0].asnumpy() == 3).all()

    with mx.name.NameManager():
        net = Fivefold().get_symbol(Fivefold()(X))
    assert net.list_outputs() == ["_ndarray1_output"]
    executor = _bound(net, A)
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [25, 50]
    assert _gradient(executor, np.ones(2)).tolist() == [25, 25]
    with pytest.raises(NotImplementedError, match="NumpyOp"):
        mx.operator.PythonOp()(X)


@pytest.mark.parametrize("name", ["PythonOp", "NumpyOp", "NDArrayOp"])
def test_old_classes_warn(name):
    with pytest.warns(UserWarning, match=f"{name} is deprecated: use CustomOp"):
        getattr(mx.operator, name)()


def test_storage_types_are_dense():
    prop, dense = ScriptedProp("2", "1"), "default"
    # MXNet 1.9.1
    assert prop.infer_storage_type([dense] * 2) == ([dense] * 2, [dense], [dense])
    back = prop.infer_storage_type_backward(
        [dense], [dense] * 2, [dense], ["undefined"] * 2, [dense]
    )
    assert back == ([dense], [dense] * 2, [dense], [dense] * 2, [dense])
    with pytest.raises(ParameterError, match=r"in_stype\[1\]: got 'csr'"):
        prop.infer_storage_type([dense, "csr"])
    with pytest.raises(ParameterError, match=r"igrad_stype\[0\]: got 'row_sparse'"):
        prop.infer_storage_type_backward([dense], [dense], [dense], ["row_sparse"], [])


D, C, R = "default", "csr", "row_sparse"


class Doubles(mx.operator.CustomOp):
    """Twice the first argument; notes storage types."""

    def __init__(self, seen):
        self.seen = seen

    def _write(self, target, source):
        made = source.tostype(D) * 2
        self.assign(target, "write", made.tostype(target.stype))

    def forward(self, is_train, req, in_data, out_data, aux):
        self.seen.append([[each.stype for each in part] for part in (in_data, out_data, aux)])
        self._write(out_data[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        parts = out_grad, in_data, out_data, in_grad, aux
        self.seen.append([[each.stype for each in part] for part in parts])
        for grad in in_grad:
            self._write(grad, out_grad[0])


def _doubles(forward, backward, arguments=1, states=0):
    """The storage types that the methods of a new operator saw, as a list that they fill."""
    seen = []

    @mx.operator.register("doubles")
    class DoublesProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["a", "b"][:arguments]

        def list_auxiliary_states(self):
            return ["s"][:states]

        def infer_shape(self, in_shape):
            return in_shape, in_shape[:1], in_shape[:1] * states

        def infer_storage_type(self, in_stype):
            return forward(in_stype)

        def infer_storage_type_backward(self, *stypes):
            return backward(*stypes)

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Doubles(seen)

    return seen


WHOLE = np.array([[0, 1, 2], [0, 0, 0], [3, 0, 0]], np.float32)
# The methods' results; types of arrays and states; what `forward` and `backward` see: MXNet 1.9.1
SPARSE_OPERATORS = {
    "csr of dense": (
        lambda t: (t, [C], []), lambda o, i, out, g, aux: ([D], i, out, [D], []), [D], [],
        [[[D], [C], []], [[D], [D], [C], [D], []]],
    ),
    "csr": (
        lambda t: ([C], [C], []), lambda o, i, out, g, aux: (o, i, out, [C], []), [C], [],
        [[[C], [C], []], [[D], [C], [C], [C], []]],
    ),
    "dense of rows": (
        lambda t: ([R], [D], []), lambda o, i, out, g, aux: (o, i, out, [R], []), [R], [],
        [[[R], [D], []], [[D], [R], [D], [R], []]],
    ),
    "dense gradient of csr": (
        lambda t: ([C], [D], []), lambda o, i, out, g, aux: (o, i, out, [D], []), [C], [],
        [[[C], [D], []], [[D], [C], [D], [D], []]],
    ),
    "two and a state": (
        lambda t: ([C, D], [D], [D]), lambda o, i, out, g, aux: (o, i, out, [D, D], aux),
        [C, D], [D],
        [[[C, D], [D], [D]], [[D], [C, D], [D], [D, D], [D]]],
    ),
    "a csr state": (
        lambda t: (t, [D], [C]), lambda o, i, out, g, aux: (o, i, out, g, aux), [D], [C],
        [[[D], [D], [C]], [[D], [D], [D], [D], [C]]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SPARSE_OPERATORS)
@pytest.mark.parametrize("eager", [True, False])
def test_sparse_arrays_of_operators_in_python(case, eager):
    forward, backward, stypes, of_states, expected = SPARSE_OPERATORS[case]
    seen = _doubles(forward, backward, len(stypes), len(of_states))
    arrays = [mx.nd.array(WHOLE).tostype(stype) for stype in stypes]
    kept = [mx.nd.array(WHOLE).tostype(stype) for stype in of_states]
    if eager:
        arrays[0].attach_grad()
        with mx.autograd.record():
            out = mx.nd.Custom(*arrays, *kept, op_type="doubles")
        out.backward()
        grad = arrays[0].grad
    else:
        variables = [mx.sym.Variable(n, stype=t) for n, t in zip("ab", stypes, strict=False)]
        net = mx.sym.Custom(*variables, op_type="doubles", name="op")
        grad = mx.nd.zeros((3, 3)).tostype(expected[1][3][0])
        executor = net.bind(
            mx.cpu(), dict(zip("ab", arrays, strict=False)), args_grad={"a": grad},
            aux_states=dict(zip(net.list_auxiliary_states(), kept, strict=True)),
        )  # fmt: skip
        (out,) = executor.forward(is_train=True)
        executor.backward(mx.nd.ones((3, 3)))
    np.testing.assert_array_equal(out.asnumpy(), 2 * WHOLE)
    np.testing.assert_array_equal(grad.asnumpy(), np.full((3, 3), 2))
    assert seen == expected
    assert out.stype == expected[0][1][0]
    assert [each.stype for each in kept] == of_states
    for each in kept:
        np.testing.assert_array_equal(each.asnumpy(), WHOLE)


@pytest.mark.parametrize(
    ("method", "made", "error"),
    [
        (0, lambda t: ([C], [D], []), "infer_storage_type inferred.*'csr' for 'a'.*'default'"),
        (0, lambda t: (t, ["dense"], []), "'dense' for 'output', expected.*'row_sparse'"),
        (0, lambda t: (t, ["undefined"], []), "'undefined' for 'output'"),
        (0, lambda t: (t, [], []), r"lists of lengths \[1, 0, 0\]"),
        (0, lambda t: t[3], "infer_storage_type raised IndexError"),
        (1, lambda o, i, out, g, aux: (o, i, out, g), r"backward returned.*\[1, 1, 1, 1\]"),
        (1, lambda o, i, out, g, aux: (o, [R], out, g, []), "'row_sparse' for 'a'"),
    ],
)
@pytest.mark.parametrize("eager", [True, False])
def test_storage_types_that_do_not_fit_are_refused(method, made, error, eager):
    rules = [lambda t: (t, [D], []), lambda o, i, out, g, aux: (o, i, out, g, [])]
    rules[method] = made
    _doubles(*rules)
    array = mx.nd.array(WHOLE)
    array.attach_grad()
    with pytest.raises(mx.MXNetError, match=error):
        if eager:
            with mx.autograd.record():
                out = mx.nd.Custom(array, op_type="doubles")
            out.backward()
        else:
            net = mx.sym.Custom(mx.sym.Variable("a", stype=D), op_type="doubles")
            executor = net.bind(mx.cpu(), {"a": array}, args_grad={"a": array.copy()})
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((3, 3)))
            executor.grad_arrays[0].wait_to_read()


def test_eager_calls_refuse_arrays_that_the_operator_does_not_infer():
    @mx.operator.register("of_two")
    class OfTwo(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["x", "y"]

        def infer_shape(self, in_shape):
            return in_shape[:1] * 2, in_shape[:1], []

    wide = mx.nd.ones((2, 3))
    with pytest.raises(ShapeError, match=r"Custom: y: got shape \(3,\), expected \(2, 3\)"):
        mx.nd.Custom(wide, mx.nd.ones(3), op_type="of_two")
    with pytest.raises(ParameterError, match=r"in_stype\[1\]: got 'csr'"):
        mx.nd.Custom(wide, wide.tostype("csr"), op_type="of_two")


def test_arguments_keep_their_shapes_and_types_by_default():
    @mx.operator.register("first_plus_sum")
    class FirstPlusSum(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["x", "y"]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return AddSum()

    class AddSum(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] + in_data[1].sum().astype("float32"))

    made = mx.nd.Custom(mx.nd.ones(2), mx.nd.ones(3, dtype="float64"), op_type="first_plus_sum")
    assert made.asnumpy().tolist() == [4, 4]
    net = mx.sym.Custom(X, mx.sym.Variable("y"), op_type="first_plus_sum")
    assert net.infer_shape(x=(2,), y=(3,)) == ([(2,), (3,)], [(2,)], [])
    assert net.infer_type_partial(x=np.float16) == ([np.float16, None], [np.float16], [])
    with pytest.raises(NotImplementedError, match="create_operator"):
        mx.operator.CustomOpProp().create_operator("cpu", [], [])


def test_integer_states_are_written_in_forward_only():
    @mx.operator.register("integers")
    class IntegersProp(ScriptedProp):
        def infer_type(self, in_type):
            return in_type, [in_type[0]], [np.int32]

    _counting()
    net = mx.sym.Custom(X, op_type="integers", states=1, name="c")
    executor = _bound(net, A)
    executor.forward(is_train=False)[0].wait_to_read()
    assert executor.aux_dict["c_moving_mean"].asnumpy().tolist() == [1]
    executor.forward(is_train=True)
    with pytest.raises(NotSupportedError, match="int32"):
        _gradient(executor, np.ones(2))


# MXNet 1.9.1: what the state was at each call, and the monitor's rows; gradients of Custom nodes
# are named by the node alone.
@pytest.mark.parametrize("req, saw, rows", [
    ("write", [0, 1], "c_output 2, p_output 6, p_backward_output0 3, p_backward_output1 2, "
     "c_output 6"),
    ({"x": "null", "w": "write"}, [0],
     "c_output 2, p_output 6, p_backward_output0 3, p_backward_output1 2"),
    ("null", [0], "c_output 2, p_output 6"),
])  # fmt: skip
@pytest.mark.parametrize("wait", [False, True])
def test_a_monitored_pass_calls_the_operator_once(req, saw, rows, wait):
    seen = _counting()
    net = mx.sym.broadcast_mul(_state(X), mx.sym.var("w", shape=(2,)), name="p")
    executor = net.simple_bind(mx.cpu(), x=(2,), grad_req=req)
    executor.arg_dict["x"][:], executor.arg_dict["w"][:] = 1, 3
    monitor = mx.mon.Monitor(1, lambda a: a[0:1], pattern=r"(c|p)_.*put\d?$")
    monitor.install(executor)
    monitor.tic()
    executor.forward(is_train=True)
    if wait:
        executor.outputs[0].wait_to_read()
    executor.backward(mx.nd.ones(2))
    got = [(name, float(value)) for _, name, value in monitor.toc()]
    assert got == [(n, float(v)) for n, v in (row.split() for row in rows.split(", "))]
    assert seen == saw
    assert executor.aux_dict["c_moving_mean"].asnumpy().tolist() == [11 if len(saw) == 2 else 1]
    if len(saw) == 2:
        assert executor.grad_dict["x"].asnumpy().tolist() == [6, 6]


@pytest.mark.parametrize("contexts", [1, 2])
def test_a_monitored_step_calls_the_operator_once_a_replica(contexts):
    def trained(watched):
        seen = _counting()
        net = mx.sym.FullyConnected(_state(mx.sym.FullyConnected(X, num_hidden=3, name="a")),
                                    num_hidden=2, name="b")  # fmt: skip
        module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), ["x"],
                               context=[mx.cpu(i) for i in range(contexts)])  # fmt: skip
        module.bind([("x", (4, 2))], [("softmax_label", (4,))])
        ones = {n: mx.nd.ones(s) for n, s in [("a_weight", (3, 2)), ("b_weight", (2, 3))]}
        zeros = {"a_bias": mx.nd.zeros(3), "b_bias": mx.nd.zeros(2)}
        module.init_params(None, {**ones, **zeros}, {"c_moving_mean": mx.nd.zeros(1)})
        module.init_optimizer()
        monitor = mx.mon.Monitor(1)
        if watched:
            module.install_monitor(monitor)
        for _ in range(2):
            monitor.tic()
            data = mx.nd.array(np.arange(8).reshape(4, 2))
            module.forward_backward(mx.io.DataBatch([data], [mx.nd.array([0, 1, 1, 0])]))
            assert len(monitor.toc()) == (20 * contexts if watched else 0)
            module.update()
        args, aux = module.get_params()
        return sorted(seen), [v.asnumpy() for _, v in sorted({**args, **aux}.items())]

    calls, values = trained(False)
    watched_calls, watched_values = trained(True)
    assert watched_calls == calls == sorted([0, 1, 11, 12] * contexts)
    for a, b in zip(values, watched_values, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_backward_without_gradients_runs_nothing():
    """MXNet 1.9.1: with grad_req='null' forward runs once, backward never."""
    seen = _counting()
    executor = _state(X).simple_bind(mx.cpu(), x=(2,), grad_req="null")
    executor.forward(is_train=True)[0].wait_to_read()
    for _ in range(2):
        executor.backward(mx.nd.ones(2))
    assert seen == [0]


ARRAY, YES, NO = "NDArray-or-Symbol", "boolean, optional, default=1", "boolean, optional, default=0"
SHAPE = "Shape(tuple), optional, default=[]"

# MXNet 1.9.1: mx.operator.get_operator_arguments, names and types.
SIGNATURES = {
    "_plus": {"lhs": ARRAY, "rhs": ARRAY},
    "relu": {"data": ARRAY},
    "FullyConnected": {"data": ARRAY, "weight": ARRAY, "bias": ARRAY,
                       "num_hidden": "int, required", "no_bias": NO, "flatten": YES},
    "Reshape": {"data": ARRAY, "shape": SHAPE, "reverse": NO, "target_shape": SHAPE,
                "keep_highest": NO},
    "RNN": {"mode": "{'gru', 'lstm', 'rnn_relu', 'rnn_tanh'}, required",
            "p": "float, optional, default=0"},
    "Dropout": {"data": ARRAY, "p": "float, optional, default=0.5", "axes": SHAPE,
                "mode": "{'always', 'training'},optional, default='training'"},
    "Convolution": {
        "kernel": "Shape(tuple), required",
        "cudnn_tune": "{None, 'fastest', 'limited_workspace', 'off'},optional, default='None'"},
    "Concat": {"data": "NDArray-or-Symbol[]"},
    "Custom": {"data": "NDArray-or-Symbol[]"},
}  # fmt: skip
SIZES = {"RNN": 16, "Dropout": 5, "Convolution": 14, "Concat": 3, "Custom": 2}


@pytest.mark.parametrize("name", SIGNATURES)
def test_operator_arguments(name):
    narg, names, types = mx.operator.get_operator_arguments(name)
    found = dict(zip(names, types, strict=True))
    assert found == {**found, **SIGNATURES[name]}
    assert narg == len(names) == SIZES.get(name, len(SIGNATURES[name]))


def test_arguments_of_an_unknown_operator():
    with pytest.raises(MXNetError, match="nosuch"):
        mx.operator.get_operator_arguments("nosuch")


class Threes(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], mx.nd.full((2, 2), 3))


@mx.operator.register("without_inputs")
class WithoutInputs(mx.operator.CustomOpProp):
    def list_arguments(self):
        return []

    def infer_shape(self, in_shape):
        return [], [(2, 2)], []

    def infer_type(self, in_type):
        return [], [np.float32], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Threes()


def test_an_operator_without_inputs():
    with mx.cpu(1), mx.autograd.record():
        made = mx.nd.Custom(op_type="without_inputs")
    assert made.asnumpy().tolist() == [[3, 3], [3, 3]] and made.context == mx.cpu(1)


class Counting(mx.operator.CustomOp):
    """Twice the data; ``seen`` has the calls."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def forward(self, is_train, req, in_data, out_data, aux):
        self.seen.append("forward")
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.seen.append("backward")
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("counting")
class CountingProp(mx.operator.CustomOpProp):
    """The type of its output is ``dtype``."""

    seen: ClassVar[list[str]] = []

    def __init__(self, dtype="float32"):
        super().__init__()
        self.dtype = np.dtype(dtype)

    def infer_type(self, in_type):
        return in_type, [self.dtype], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        del self.seen[:]
        return Counting(self.seen)


@pytest.mark.parametrize("read", [False, True])
def test_each_pass_calls_the_operator_whether_it_is_read_or_not(read):
    bound = mx.sym.Custom(X, op_type="counting").simple_bind(mx.cpu(), x=(2,))
    for _ in range(2):
        (output,) = bound.forward(is_train=True)
        if read:
            output.wait_to_read()
        bound.backward(mx.nd.ones((2,)))
    mx.nd.waitall()
    assert CountingProp.seen == ["forward", "backward"] * 2
    bound.forward()
    bound.forward()
    mx.nd.waitall()
    assert CountingProp.seen[4:] == ["forward"] * 2


def test_waitall_runs_a_backward_pass_of_outputs_that_were_read():
    bound = (X * 2).simple_bind(mx.cpu(), x=(2,))
    bound.forward(is_train=True)[0].wait_to_read()
    bound.backward(mx.nd.ones((2,)))
    assert bound._bound.last.unfinished
    mx.nd.waitall()
    assert not bound._bound.last.unfinished


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_types_of_64_bits_from_inputs_of_32(dtype):
    net = mx.sym.Custom(X, op_type="counting", dtype=dtype)
    assert net.infer_type(x=np.float32)[1] == [np.dtype(dtype).type]
    bound = net.simple_bind(mx.cpu(), x=(2,))
    bound.arg_dict["x"][:] = 3
    output = bound.forward()[0]
    assert output.dtype == np.dtype(dtype).type and output.asnumpy().tolist() == [6, 6]
