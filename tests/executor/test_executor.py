"""Executors: what is bound is what is read, at the time of `forward`, and computed once."""

import gc
import json
import weakref

import numpy as np
import pytest

import modkit as mx
from modkit.step import programs

RNG = np.random.RandomState(0)


def bound(grad_req="write", **options):
    """``tanh(x w)`` with gradients for both."""
    net = mx.sym.Activation(
        mx.sym.dot(mx.sym.Variable("x"), mx.sym.Variable("w")), act_type="tanh", name="out"
    )
    executor = net.simple_bind(mx.cpu(), x=(2, 3), w=(3, 4), grad_req=grad_req, **options)
    executor.arg_dict["x"][:] = RNG.normal(size=(2, 3))
    executor.arg_dict["w"][:] = RNG.normal(size=(3, 4))
    return executor


def expected(executor, head):
    x, w = (executor.arg_dict[n].asnumpy().astype(np.float64) for n in "xw")
    y = np.tanh(x @ w)
    slope = head * (1 - y**2)
    return y, slope @ w.T, x.T @ slope


@pytest.mark.parametrize("read_outputs_first", [False, True])
def test_forward_and_backward(read_outputs_first):
    executor = bound()
    head = RNG.normal(size=(2, 4))
    y, dx, dw = expected(executor, head)
    executor.forward(is_train=True)
    if read_outputs_first:
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), y, rtol=1e-5)
    executor.backward(mx.nd.array(head))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), dx, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(executor.grad_dict["w"].asnumpy(), dw, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), y, rtol=1e-5)


def test_what_is_read_is_what_stood_there_at_forward():
    executor = bound()
    y, dx, _ = expected(executor, 1)
    executor.forward(is_train=True)
    executor.arg_dict["w"][:] = 0
    executor.backward(mx.nd.ones((2, 4)))
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), y, rtol=1e-5)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), dx, rtol=1e-4, atol=1e-6)


def test_backward_twice_gives_both_gradients():
    executor = bound()
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 4)))
    first = executor.grad_dict["x"].asnumpy()
    executor.backward(mx.nd.ones((2, 4)) * 3)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 3 * first, rtol=1e-5)


def test_backward_twice_without_reading_adds_twice():
    executor = bound(grad_req="add")
    executor.grad_dict["x"][:] = 0
    _, dx, _ = expected(executor, 1)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 4)))
    executor.backward(mx.nd.ones((2, 4)))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 2 * dx, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("calls", ["TWB", "FWB", "FSB", "TBWB", "TWBB", "TBWBTWB"])
def test_reading_between_calls_changes_no_gradient(calls, req):
    """Of forward passes (training or not), backward passes, writes to an argument or a state."""
    a = mx.sym.Variable("a")
    net = mx.sym.broadcast_mul(a * a, mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn"))
    found = []
    for reads in (False, True):
        executor = net.simple_bind(mx.cpu(), req, a=(3, 1), x=(3, 1))
        arrays = {**executor.arg_dict, **executor.aux_dict}
        executor.copy_params_from({n: mx.nd.array([[1], [2], [4]]) for n in "ax"})
        for at, call in enumerate(calls):
            if call in "TF":
                executor.forward(is_train=call == "T")
            elif call == "B":
                executor.backward(mx.nd.ones((3, 1)))
            else:
                arrays["a" if call == "W" else "bn_moving_mean"][:] = at + 2
            if reads:
                [each.asnumpy() for each in (executor.outputs[0], executor.grad_dict["a"])]
        found.append({n: g.asnumpy() for n, g in executor.grad_dict.items()})
    for name, gradient in found[0].items():
        np.testing.assert_allclose(gradient, found[1][name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_reshape_with_gradients():
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc")
    executor = net.simple_bind(mx.cpu(), x=(5, 4))
    smaller = executor.reshape(x=(3, 4))
    smaller.forward(is_train=True)
    smaller.backward(mx.nd.ones((3, 4)))
    np.testing.assert_array_equal(smaller.grad_dict["fc_bias"].asnumpy(), 3)
    assert smaller.grad_dict["x"].shape == (3, 4)
    assert smaller.grad_dict["fc_weight"] is executor.grad_dict["fc_weight"]


def test_nothing_is_run_that_nobody_reads(monkeypatch):
    runs = []
    real = programs.Programs.run
    monkeypatch.setattr(
        programs.Programs, "run", lambda self, *a, **k: runs.append(1) or real(self, *a, **k)
    )
    net = mx.sym.Variable("x") * 7.25
    executor = net.simple_bind(mx.cpu(), x=(5,))
    for _ in range(3):
        executor.forward(is_train=True)
    assert runs == []
    executor.outputs[0].asnumpy()
    assert len(runs) == 1


def test_add_accumulates_and_null_leaves_alone():
    executor = bound(grad_req={"x": "add", "w": "null"})
    assert executor.grad_dict["w"] is None
    executor.grad_dict["x"][:] = 100
    _, dx, _ = expected(executor, 1)
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2, 4)))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 100 + 2 * dx, rtol=1e-5)


@pytest.mark.parametrize("size", [2, 300_000])
def test_gradients_are_added_to_one_array_of_several_arguments(size):
    a, b, c = map(mx.sym.Variable, "abc")
    args = {n: mx.nd.full((size,), v) for n, v in zip("abc", (2, 3, 5), strict=True)}
    total = mx.nd.ones(size)
    executor = (a * b * c).bind(mx.cpu(), args, dict.fromkeys("abc", total), "add")
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(size))
    executor.backward(mx.nd.ones(size))
    # By MXNet 1.9.1.
    assert (total.asnumpy() == 1 + 3 * (15 + 10 + 6)).all()


@pytest.mark.parametrize("grad", [mx.nd.ones(2, dtype="float16"), mx.nd.ones(3)])
def test_a_gradient_has_the_shape_and_type_of_its_argument(grad):
    with pytest.raises(mx.errors.ShapeError, match=r"'a': got shape .* expected \(2,\) of float32"):
        (mx.sym.Variable("a") * 2).bind(mx.cpu(), [mx.nd.ones(2)], [grad])
    assert (grad.asnumpy() == 1).all()


def test_bound_arrays_may_be_views():
    base, grads = mx.nd.zeros((4, 3)), mx.nd.zeros((4, 3))
    net = mx.sym.Variable("a") * mx.sym.Variable("b")
    executor = net.bind(
        mx.cpu(), {"a": base[0:2], "b": base[2:4]}, {"a": grads[0:2], "b": grads[2:4]}
    )
    base[:] = 3
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 3)))
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), 9)
    np.testing.assert_array_equal(grads.asnumpy(), 3)


def test_auxiliary_states_move_in_training_only():
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", momentum=0.5)
    executor = net.simple_bind(mx.cpu(), x=(4, 2))
    executor.arg_dict["x"][:] = np.arange(8).reshape(4, 2)
    executor.forward(is_train=False)
    np.testing.assert_array_equal(executor.aux_dict["bn_moving_mean"].asnumpy(), 0)
    executor.forward(is_train=True)
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), [1.5, 2])
    executor.forward(is_train=True)
    executor.forward(is_train=True)
    np.testing.assert_allclose(executor.aux_dict["bn_moving_mean"].asnumpy(), [2.625, 3.5])


def test_training_sets_a_fixed_gamma_to_one():
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn")
    executor = net.simple_bind(mx.cpu(), x=(4, 2))
    executor.arg_dict["bn_gamma"][:] = 5
    executor.forward(is_train=True)[0].asnumpy()
    np.testing.assert_array_equal(executor.arg_dict["bn_gamma"].asnumpy(), 1)


def test_head_gradients_of_one_output_are_added():
    twice = mx.sym.Variable("x") * 3
    executor = mx.sym.Group([twice, twice]).simple_bind(mx.cpu(), x=(1,))
    executor.forward(is_train=True)
    executor.backward([mx.nd.array([1]), mx.nd.array([10])])
    x = mx.nd.ones((1,))
    x.attach_grad()
    with mx.autograd.record():
        head = x * 3
    mx.autograd.backward([head, head], [mx.nd.array([1]), mx.nd.array([10])])
    assert executor.grad_dict["x"].asscalar() == x.grad.asscalar() == 33  # MXNet 1.9.1: 30


def test_reshape_shares_what_keeps_its_shape():
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc")
    executor = net.simple_bind(mx.cpu(), x=(5, 4), grad_req="null")
    executor.arg_dict["x"][:] = 1
    executor.arg_dict["fc_weight"][:] = 1
    smaller = executor.reshape(x=(3, 4))
    smaller.forward()
    np.testing.assert_array_equal(smaller.outputs[0].asnumpy(), 4)
    np.testing.assert_array_equal(executor.outputs[0].asnumpy()[:3], 4)
    smaller.arg_dict["x"][:] = 0
    np.testing.assert_array_equal(executor.arg_dict["x"].asnumpy()[:3], 0)
    np.testing.assert_array_equal(executor.arg_dict["x"].asnumpy()[3:], 1)
    with pytest.raises(mx.MXNetError, match="allow_up_sizing"):
        executor.reshape(x=(6, 4))
    assert executor.reshape(allow_up_sizing=True, x=(6, 4)).arg_dict["x"].shape == (6, 4)
    assert executor.reshape(x=(2, 4), label=(2,)).arg_dict["x"].shape == (2, 4)  # as simple_bind


def normed(hidden=4):
    """A layer with auxiliary states, for what executors share."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="fc")
    return mx.sym.BatchNorm(net, name="bn")


def shares(mine, other):
    """Whether a write into an array is seen in another of perhaps other shape, in MXNet's terms."""
    mine[:] = 7
    seen = bool((other.asnumpy() == 7).any())
    mine[:] = 0
    return seen


def shared_names(one, two):
    """The names of arguments and gradients ("d" before the name) and states that two share."""
    pairs = [
        *((n, a, two.arg_dict.get(n)) for n, a in one.arg_dict.items()),
        *((f"d{n}", a, two.grad_dict.get(n)) for n, a in one.grad_dict.items()),
        *((n, a, two.aux_dict.get(n)) for n, a in one.aux_dict.items()),
    ]
    return {n for n, a, b in pairs if a is not None and b is not None and shares(a, b)}


STATES = {"bn_moving_mean", "bn_moving_var"}
OTHERS = {"data", "fc_bias", "bn_gamma", "bn_beta"}


def and_gradients(*names):
    return {*names, *(f"d{n}" for n in names)}


@pytest.mark.parametrize(
    ("names", "buffer", "batch", "expected"),
    [  # what MXNet 1.9.1 shares with shared_exec, bound with a batch of 2
        (None, None, 2, set()),
        ([], None, 2, set()),
        (["fc_weight"], None, 2, set()),
        (None, {}, 2, STATES),
        (None, {}, 5, STATES),
        (["fc_weight"], {}, 2, STATES | and_gradients("fc_weight")),
        (["fc_weight", "fc_bias"], {}, 5, STATES | and_gradients("fc_weight", "fc_bias")),
        (["absent"], {}, 2, STATES),
    ],
)
def test_simple_bind_shares_with_an_executor(names, buffer, batch, expected):
    first = normed().simple_bind(mx.cpu(), data=(2, 3))
    second = normed().simple_bind(
        mx.cpu(), data=(batch, 3), shared_exec=first, shared_arg_names=names, shared_buffer=buffer
    )
    assert shared_names(first, second) == expected
    assert not set(names or ()) & set(buffer or ())


@pytest.mark.parametrize("name", ["symbol", "where", "types"])
def test_an_input_may_have_the_name_of_a_parameter(name):
    net = mx.sym.Variable(name) * 2
    executor = net.simple_bind(mx.cpu(), **{name: (2, 3)}).reshape(**{name: (1, 3)})
    (y,) = executor.forward(**{name: mx.nd.ones((1, 3))})
    assert y.asnumpy().tolist() == [[2, 2, 2]]


def test_simple_bind_shares_a_buffer():
    buffer = {}

    def made(batch):
        return normed().simple_bind(
            mx.cpu(), data=(batch, 3), shared_arg_names=["fc_weight"], shared_buffer=buffer
        )

    first = made(2)
    assert set(buffer) == OTHERS | {f"grad of {n}" for n in OTHERS}
    assert shared_names(first, made(2)) == and_gradients(*OTHERS)
    smaller = made(1)
    assert smaller.arg_dict["data"].shape == (1, 3) and buffer["data"].shape == (2, 3)
    assert shared_names(first, smaller) == and_gradients(*OTHERS)
    assert shared_names(first, made(9)) == and_gradients(*OTHERS - {"data"})
    assert buffer["data"].shape == buffer["grad of data"].shape == (9, 3)


def test_a_sparse_argument_is_shared_by_name_and_not_in_a_buffer():
    net = mx.sym.sum(mx.sym.Variable("w", stype="row_sparse")) + mx.sym.Variable("d")
    first, buffer = net.simple_bind(mx.cpu(), w=(4, 2), d=(1,)), {}
    second = net.simple_bind(
        mx.cpu(), w=(4, 2), d=(1,), shared_exec=first, shared_arg_names=["w"], shared_buffer=buffer
    )
    assert second.arg_dict["w"] is first.arg_dict["w"]
    assert set(buffer) == {"d", "grad of d"}


@pytest.mark.parametrize(
    ("hidden", "names", "buffer", "told"),
    [
        (5, ["fc_weight"], {}, r"'fc_weight' .* arg_dict .*\(4, 3\).*\(5, 3\)"),
        (5, [], {}, r"'bn_moving_mean' .* aux_dict .*\(4,\).*\(5,\)"),
        (4, ["data"], {}, r"'data' .*\(2, 3\).*\(6, 3\)"),
        (4, [], {"data": mx.nd.ones((6, 3), dtype="float16")}, "shared_buffer.*float16.*float32"),
    ],
)
def test_simple_bind_refuses_arrays_that_do_not_fit(hidden, names, buffer, told):
    first = normed().simple_bind(mx.cpu(), data=(2, 3))
    with pytest.raises(mx.MXNetError, match=told):
        normed(hidden).simple_bind(
            mx.cpu(),
            data=(6, 3),
            shared_exec=first,
            shared_arg_names=names,
            shared_buffer=buffer,
        )


def test_simple_bind_refuses_to_share_what_the_other_lacks():
    first = normed().simple_bind(mx.cpu(), data=(2, 3), grad_req="null")
    with pytest.raises(mx.MXNetError, match=r"'fc_bias'.*grad_dict of shared_exec holds nothing"):
        normed().simple_bind(
            mx.cpu(), data=(2, 3), shared_exec=first, shared_arg_names=["fc_bias"], shared_buffer={}
        )


def test_wide_types_stay_wide():
    net = mx.sym.sum(mx.sym.Variable("x") * mx.sym.Variable("y"))
    executor = net.simple_bind(mx.cpu(), x=(2,), y=(2,), type_dict={"x": "float64"})
    executor.arg_dict["x"][:] = 1 + 1e-12
    executor.arg_dict["y"][:] = 1
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((1,), dtype="float64"))
    assert executor.outputs[0].dtype == np.float64
    np.testing.assert_allclose(executor.outputs[0].asnumpy(), 2 + 2e-12, rtol=1e-15)
    assert executor.grad_dict["y"].dtype == np.float64


def test_integer_arguments_have_no_gradient():
    net = mx.sym.Embedding(mx.sym.Variable("x"), input_dim=5, output_dim=2, name="e")
    executor = net.simple_bind(mx.cpu(), x=(3,), type_dict={"x": "int32"})
    executor.arg_dict["x"][:] = [1, 1, 4]
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 2)))
    np.testing.assert_array_equal(executor.grad_dict["e_weight"].asnumpy()[:, 0], [0, 2, 0, 0, 1])


def _cast(symbol, dtype):
    return mx.sym.Cast(symbol, dtype=dtype)


THROUGH_BYTES = {
    "casts in a row": lambda b: _cast(_cast(b, "int32") * 1, "float32"),
    "a sum": lambda b: _cast(b + b * b, "float32"),
}


@pytest.mark.parametrize(("name", "want"), [("casts in a row", [44, -1]), ("a sum", [-124, -5])])
def test_gradients_of_bytes_are_bytes(name, want):
    """MXNet 1.9.1 gives these numbers."""
    net = THROUGH_BYTES[name](_cast(mx.sym.Variable("x"), "int8"))
    executor = net.simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = [1, 2]
    executor.forward(is_train=True)
    executor.backward(mx.nd.array([300.7, -1.5]))
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), want)


def test_gradients_pass_casts_of_mixed_precision_to_whole_numbers():
    """MXNet 1.9.1 gives these numbers."""
    head, x = mx.nd.array([300.7, -1.5]), mx.nd.array([1.5, 2.5])
    net = _cast(mx.sym.amp_cast(mx.sym.Variable("x"), dtype="int8"), "float32") * 1
    executor = net.bind(mx.cpu(), {"x": x.copy()}, {"x": mx.nd.zeros((2,))})
    executor.forward(is_train=True)
    executor.backward(head)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.amp_cast(x, dtype="int8").astype("float32") * 1
    y.backward(head)
    for grad in (executor.grad_dict["x"], x.grad):
        np.testing.assert_array_equal(grad.asnumpy(), [44, -1])


def test_gradients_of_equal_casts_are_cut_off_as_one_sum():
    """MXNet 1.9.1 gives ones: it computes equal nodes once."""
    x = mx.sym.Variable("x", dtype="int32")
    net = _cast(x, "float32") * 0.6 + _cast(x, "float32") * 0.6
    executor = net.simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2,)))
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [1, 1])


def test_gradients_reach_rows_that_float32_does_not_count():
    """Row 2**24 + 1, whose number depends on what is differentiated, got none: 2**24 did."""
    size = 2**24 + 4
    rows = _cast(mx.sym.Variable("x"), "int32") * 2 + 1
    net = mx.sym.Embedding(rows, mx.sym.Variable("w"), input_dim=size, output_dim=1)
    x, weight = mx.nd.array([2**23, 3]), mx.nd.zeros((size, 1), dtype="float16")
    grads = {"x": mx.nd.ones((2,)), "w": mx.nd.zeros((size, 1), dtype="float16")}
    executor = net.bind(mx.cpu(), {"x": x, "w": weight}, grads)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 1), dtype="float16"))
    assert np.flatnonzero(grads["w"].asnumpy()).tolist() == [7, 2**24 + 1]
    assert not grads["x"].asnumpy().any()


def test_a_product_of_whole_numbers_has_its_gradient():
    """It was 0; MXNet refuses the product."""
    weight = mx.nd.ones((3, 2), dtype="int32")
    weight.attach_grad()
    with mx.autograd.record():
        y = mx.nd.dot(mx.nd.array([[1, 2, 3]], dtype="int32"), weight)
    y.backward()
    np.testing.assert_array_equal(weight.grad.asnumpy(), [[1, 1], [2, 2], [3, 3]])


@pytest.mark.parametrize("drops", [False, True])
def test_gradients_of_whole_numbers_that_are_looked_up_are_whole(drops):
    numbers = mx.sym.Variable("x")
    numbers = mx.sym.Dropout(numbers, p=0) if drops else numbers  # cannot be computed twice
    sizes = {"input_dim": 5, "output_dim": 2, "dtype": "int32", "sparse_grad": True}
    net = mx.sym.Embedding(numbers, mx.sym.Variable("w", dtype="int32"), **sizes)
    executor = net.simple_bind(mx.cpu(), x=(3,), grad_req={"x": "null", "w": "write"})
    executor.arg_dict["x"][:] = [1, 3, 3]
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 2), dtype="int32") * 2)
    grad = executor.grad_dict["w"].asnumpy()
    assert grad.dtype == np.int32
    np.testing.assert_array_equal(grad[:, 0], [0, 2, 0, 4, 0])


def test_group2ctx_on_one_physical_device():
    with mx.AttrScope(ctx_group="a"):
        net = mx.sym.Variable("x") * 2
    with mx.AttrScope(ctx_group="b"):
        net = net + 1
    same = {"a": mx.cpu(0), "b": mx.cpu(4)}
    executor = net.simple_bind(mx.cpu(0), x=(2,), group2ctx=same)
    executor.arg_dict["x"][:] = 3
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), 7)


@pytest.mark.parametrize("train", [False, True])
def test_a_graph_without_arguments_runs_on_its_context(train):
    net = mx.sym.Group([mx.sym.ones((2, 3)) * 2, mx.sym.random.uniform(shape=(4,))])
    executor = net.simple_bind(mx.cpu(2))
    for output in executor.forward(is_train=train):
        assert output.context == mx.cpu(2)
        assert output.to_jax().devices() == {mx.cpu(2).jax_device}
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), np.full((2, 3), 2))


def _planned(net, **options):
    """The megabytes in the line that programs find from the end."""
    return int(net.simple_bind(mx.cpu(), **options).debug_str().split("\n")[-3].split()[1])


def test_debug_str_has_the_memory_of_values_between_operators():
    product = X = mx.sym.Variable("x")
    for _ in range(10):
        product = product * product
    shape = (10, 3, 256, 256)  # 7.5 MiB
    # MXNet 1.9.1: ten products and two cotangents; without gradients two products at once
    assert _planned(product, x=shape) == 90
    assert _planned(product, x=shape, grad_req="null") == 15
    assert _planned(mx.sym.stop_gradient(product), x=shape) == 15
    net = 2 * X
    last = "Total 15 MB allocated\nTotal 0 TempSpace resource requested\n"
    assert net.simple_bind(mx.cpu(), x=shape).debug_str() == net.debug_str() + last


def test_debug_str_has_less_memory_where_values_are_recomputed():
    def network(**attributes):
        data = mx.sym.Variable("x")
        for _ in range(8):
            data = mx.sym.FullyConnected(data, num_hidden=256)
            with mx.AttrScope(**attributes):
                data = mx.sym.Activation(data, act_type="tanh")
        return mx.sym.SoftmaxOutput(data, name="softmax")

    kept, mirrored = network(), network(force_mirroring="True")
    assert _planned(mirrored, x=(4096, 256)) < 0.7 * _planned(kept, x=(4096, 256))


def test_dropout_differs_by_pass_and_repeats_by_seed():
    net = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5, name="drop")
    executor = net.simple_bind(mx.cpu(), x=(100,))
    executor.arg_dict["x"][:] = 1
    seen = []
    for seed in (1, 1, 2):
        mx.random.seed(seed)
        seen.append([executor.forward(is_train=True)[0].asnumpy() for _ in range(2)])
    np.testing.assert_array_equal(seen[0], seen[1])
    assert (seen[0][0] != seen[0][1]).any()
    assert (seen[0][0] != seen[2][0]).any()
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((100,)))
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), executor.outputs[0].asnumpy())


def test_outputs_are_zeros_before_the_first_pass():
    executor = (mx.sym.Variable("x") + 1).simple_bind(mx.cpu(), x=(2,))
    outputs = executor.outputs
    assert outputs[0].asnumpy().tolist() == [0, 0]
    executor.forward()
    assert outputs[0].asnumpy().tolist() == [1, 1]


def test_outputs_before_the_first_pass_keep_their_type():
    x = mx.sym.Variable("x")
    executor = (x + 0).simple_bind(mx.cpu(), x=(2,), type_dict={"x": "float64"})
    larger = executor.reshape(allow_up_sizing=True, x=(4,))
    assert larger.outputs[0].dtype == np.float64
    assert larger.outputs[0].asnumpy().dtype == np.float64


def test_the_backward_pass_of_a_loss_needs_no_forward_pass():
    loss = mx.sym.MakeLoss(mx.sym.Variable("x") * 2, name="loss")
    executor = loss.simple_bind(mx.cpu(), x=(2,))
    executor.backward()
    assert executor.grad_dict["x"].asnumpy().tolist() == [2, 2]
    with pytest.raises(mx.base.MXNetError, match="no output 'los_output'"):
        executor.backward({"los_output": mx.nd.ones((2,))})


def test_bind_refuses_an_array_of_size_0_where_another_shape_is_inferred():
    with mx.util.np_shape(True):
        weight = mx.nd.zeros((4, 3, 3, 0))
    net = mx.sym.Convolution(
        mx.sym.Variable("x"), weight=mx.sym.Variable("w"), kernel=(3, 3), num_filter=4, no_bias=True
    )
    with pytest.raises(mx.MXNetError, match=r"'w': got .*\(4, 3, 3, 0\), expected \(4, 3, 3, 3\)"):
        net.bind(mx.cpu(), {"x": mx.nd.ones((1, 3, 5, 5)), "w": weight})


def test_outputs_have_the_storage_types_of_mxnet():
    whole = np.array([[0, 1, 2], [0, 0, 0], [3, 0, 0]], np.float32)
    data = mx.sym.Variable("data")
    net = mx.sym.Group([
        mx.sym.square(data), mx.sym.exp(data),
        mx.sym.cast_storage(mx.sym.Variable("other"), stype="row_sparse"),
    ])  # fmt: skip
    given = {"data": mx.nd.array(whole).tostype("csr"), "other": mx.nd.array(whole)}
    executor = net.bind(mx.cpu(), given)
    square, _, rows = outputs = executor.forward()
    assert [each.stype for each in outputs] == ["csr", "default", "row_sparse"]  # MXNet 1.9.1
    np.testing.assert_array_equal(square.asnumpy(), whole**2)
    assert square.indices.asnumpy().tolist() == [1, 2, 0]
    assert square._values is square._values  # one conversion of the dense output for all readers
    assert rows.indices.asnumpy().tolist() == [0, 2]
    executor.arg_dict["data"][:] = mx.nd.array(whole.T)
    executor.forward()
    assert square.indptr.asnumpy().tolist() == [0, 1, 2, 3]  # the same array shows the next pass
    np.testing.assert_array_equal(square.data.asnumpy(), [9, 1, 4])
    square.wait_to_read()
    assert square.dtype is np.float32
    square[:] = mx.nd.array(whole).tostype("csr")  # a view of the dense output
    np.testing.assert_array_equal(square.asnumpy(), whole)
    assert square.indices.asnumpy().tolist() == [1, 2, 0]


A, B, C = map(mx.sym.Variable, "abc")
COMMON = {  # a graph; its operators, and the number of its outputs, in MXNet 1.9.1
    "sums": (lambda: (A + B) + (A + B), "elemwise_add elemwise_add", 1),
    "longer": (lambda: ((A + B) + C) + ((A + B) + C), "elemwise_add elemwise_add elemwise_add", 1),
    "numbers": (lambda: (A + 1) + (A + 2), "_plus_scalar _plus_scalar elemwise_add", 1),
    "names": (
        lambda: mx.sym.exp(A, name="x") + mx.sym.exp(A, name="y"), "exp elemwise_add", 1,
    ),
    "the user's attributes": (
        lambda: mx.sym.exp(A, attr={"mine": "1"}) + mx.sym.exp(A), "exp exp elemwise_add", 1,
    ),
    "order": (lambda: (A + B) + (B + A), "elemwise_add elemwise_add elemwise_add", 1),
    "random": (
        lambda: mx.sym.Dropout(A) + mx.sym.Dropout(A), "Dropout Dropout elemwise_add", 1,
    ),
    "no inputs": (
        lambda: mx.sym.zeros((2, 3)) + mx.sym.zeros((2, 3)), "_zeros _zeros elemwise_add", 1,
    ),
    "kept apart": (
        lambda: mx.sym.MakeLoss(A) + mx.sym.MakeLoss(A), "MakeLoss MakeLoss elemwise_add", 1,
    ),
    "outputs": (
        lambda: mx.sym.Group([A + 1, A + 1, A + 1, (A + 1) * 2]),
        "_plus_scalar _copy _copy _mul_scalar", 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COMMON)
def test_equal_nodes_are_one_in_the_optimized_symbol(case, monkeypatch):
    make, nodes, outputs = COMMON[case]
    net = make()
    executor = net.simple_bind(mx.cpu(), **dict.fromkeys(net.list_inputs(), (2, 3)))
    optimized = executor.get_optimized_symbol()
    found = [node["op"] for node in json.loads(optimized.tojson())["nodes"]]
    assert " ".join(op for op in found if op != "null") == nodes
    assert len(optimized.list_outputs()) == len(set(optimized.list_outputs())) == outputs
    monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", "0")
    plain = net.simple_bind(mx.cpu(), **dict.fromkeys(net.list_inputs(), (2, 3)))
    monkeypatch.delenv("MXNET_ELIMINATE_COMMON_EXPR")
    assert plain.get_optimized_symbol().tojson() == net.tojson()
    mine = {n: RNG.rand(2, 3) for n in net.list_inputs()}
    if case != "random":
        bound = optimized.bind(mx.cpu(), {n: mx.nd.array(v) for n, v in mine.items()})
        for one, other in zip(bound.forward(), plain.forward(**mine), strict=True):
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_a_refused_value_leaves_all_as_they_were():
    executor = bound()
    before = {n: a.asnumpy() for n, a in executor.arg_dict.items()}
    x, w = np.ones((2, 3)), np.ones((3, 5))
    for refused in ({"x": x, "w": w}, {"x": x, "v": w}, {"x": x, "w": 1}):
        with pytest.raises((TypeError, ValueError)):
            executor.forward(**refused)
        with pytest.raises(ValueError, match=r"copy_params_from: '[wv]'"):
            executor.copy_params_from(refused)
    with pytest.raises(ValueError, match="auxiliary states"):
        executor.copy_params_from({"x": x}, {"w": w})
    for name, array in executor.arg_dict.items():
        np.testing.assert_array_equal(array.asnumpy(), before[name])


def test_a_pass_that_may_be_repeated_keeps_no_argument():
    table, rows = mx.sym.Variable("table"), mx.sym.Variable("rows")
    net = mx.sym.Embedding(rows, table, input_dim=4000, output_dim=300)
    values = {"rows": mx.nd.array([1.0, 2.0]), "table": mx.nd.ones((4000, 300)) + 1}
    executor = net.bind(
        mx.cpu(), values, {"table": mx.nd.zeros((4000, 300))}, {"rows": "null", "table": "write"}
    )
    executor.forward(is_train=True)
    executor.outputs[0].wait_to_read()
    before = weakref.ref(values["table"]._cell.peek())
    values["table"][:] = mx.nd.zeros((4000, 300)) + 3
    gc.collect()
    assert before() is None
    executor.backward(mx.nd.ones((2, 300)))
    assert executor.grad_dict["table"].asnumpy().sum() == 600
