"""Executors of small graphs run by NumPy while their signatures are new."""

import numpy as np
import pytest

import modkit as mx


def network(hidden=5):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name="one")
    net = mx.sym.BatchNorm(mx.sym.Activation(net, act_type="tanh"), fix_gamma=False, name="bn")
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(net, num_hidden=3, name="two"), name="softmax"
    )


def filled(executor, seed=0):
    """The executor with values that depend on the names' order only."""
    stream = np.random.RandomState(seed)
    for arrays in (executor.arg_dict, executor.aux_dict):
        for name in sorted(arrays):
            arrays[name][:] = stream.uniform(0.1, 1, arrays[name].shape)
    return executor


def executables():
    return mx.cache_info()["graphs"].executables


def values_of(executor, *, apart):
    """All results of a training pass; ``apart``: outputs are read before the backward pass."""
    executor.forward(is_train=True)
    if apart:
        executor.outputs[0].wait_to_read()
    executor.backward()
    found = {"output": executor.outputs[0], **executor.grad_dict, **executor.aux_dict}
    return {n: v.asnumpy() for n, v in found.items() if v is not None}


@pytest.mark.parametrize("apart", [False, True])
def test_numpy_and_xla_agree(apart, monkeypatch):
    """On outputs, gradients and statistics, in one program and in two; nothing is compiled."""
    before = executables()
    by_numpy = [
        values_of(filled(network().simple_bind(mx.cpu(), data=(n, 4))), apart=apart)
        for n in (4, 6, 9)
    ]
    assert executables() == before
    monkeypatch.setattr("modkit.step.bound.may_run", lambda *_: False)
    for n, found in zip((4, 6, 9), by_numpy, strict=True):
        wanted = values_of(filled(network().simple_bind(mx.cpu(), data=(n, 4))), apart=apart)
        assert executables() > before
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            assert found[name].dtype == value.dtype
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


def test_many_calls_are_compiled():
    """A count of calls decides, so a program gives the same bits twice."""
    net = mx.sym.sum(mx.sym.exp(mx.sym.Variable("data", shape=(300, 300))))
    executor, before = net.simple_bind(mx.cpu(), grad_req="null"), executables()
    made = [executor.forward()[0].asscalar() for _ in range(10)]
    assert executables() == before
    made += [executor.forward()[0].asscalar() for _ in range(110)]
    assert executables() == before + 1
    np.testing.assert_allclose(made, 90000)


def test_large_work_is_compiled_at_once():
    left, right = mx.sym.Variable("left"), mx.sym.Variable("right")
    executor = mx.sym.dot(left, right).simple_bind(mx.cpu(), left=(900, 900), right=(900, 900))
    before = executables()
    executor.forward()[0].wait_to_read()
    assert executables() == before + 1
    assert executor.forward()[0].asnumpy().max() == 0


def test_added_gradients_and_given_heads():
    net = mx.sym.square(mx.sym.Variable("x"))
    executor = net.simple_bind(mx.cpu(), grad_req="add", x=(3,))
    executor.arg_dict["x"][:] = [1, 2, 3]
    for _ in range(2):
        executor.forward(is_train=True)
        head = mx.nd.array([1, 10, 100])
        executor.backward(head)
        executor.grad_dict["x"].wait_to_read()
        assert head._cell.is_on_host
    assert executor.grad_dict["x"].asnumpy().tolist() == [4, 80, 1200]


def test_windows_of_a_larger_executor():
    """Gradients of a smaller executor are written into those of the larger, at once."""
    net = mx.sym.square(mx.sym.Variable("x"))
    large = net.simple_bind(mx.cpu(), x=(4,))
    large.arg_dict["x"][:] = [1, 2, 3, 4]
    small = large.reshape(x=(2,))
    before = executables()
    small.forward(is_train=True)
    small.backward(mx.nd.ones((2,)))
    assert large.grad_dict["x"].asnumpy().tolist() == [2, 4, 0, 0]
    large.arg_dict["x"][:] = 5
    assert small.forward()[0].asnumpy().tolist() == [25, 25]
    assert executables() == before


def test_results_are_arrays_of_their_own():
    """A write into an output, a state or an argument changes nothing else."""
    executor = filled(network().simple_bind(mx.cpu(), data=(2, 4)))
    mean = mx.nd.array(np.arange(5))
    executor.aux_dict["bn_moving_mean"][:] = mean
    kept = executor.forward()[0]
    kept_values = kept.asnumpy()
    executor.aux_dict["bn_moving_mean"] += 1
    executor.arg_dict["two_bias"] += 1
    assert mean.asnumpy().tolist() == [0, 1, 2, 3, 4]
    assert kept.asnumpy().tolist() == kept_values.tolist()
    passing = mx.sym.identity(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(2,))
    (same,) = passing.forward()
    same += 1
    assert passing.arg_dict["x"].asnumpy().tolist() == [0, 0]


def test_values_before_the_read_are_those_of_the_call():
    """A pass reads what its arguments were at `forward`, whatever is written after it."""
    executor = mx.sym.square(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = 3
    (out,) = executor.forward()
    executor.arg_dict["x"][0] = 7
    assert out.asnumpy().tolist() == [9, 9]


def test_outputs_are_arguments_of_another():
    first = mx.sym.square(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(2,))
    first.arg_dict["x"][:] = 3
    second = (mx.sym.Variable("y") + 1).bind(mx.cpu(), {"y": first.outputs[0]})
    first.forward()
    assert second.forward()[0].asnumpy().tolist() == [10, 10]


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
def test_other_types(dtype):
    net = mx.sym.Variable("x", dtype=dtype) * 2
    executor = net.simple_bind(mx.cpu(), x=(2,), grad_req="null", type_dict={"x": dtype})
    executor.arg_dict["x"][:] = 3
    (out,) = executor.forward()
    assert out.dtype is getattr(np, dtype) and out.asnumpy().tolist() == [6, 6]


def test_a_pullback_keeps_its_type():
    """Two types have equal structures of arguments, and different pullbacks."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    bound = []
    for kind in ("float32", "float16"):
        executor = net.simple_bind(mx.cpu(), data=(2, 4), type_dict={"data": kind})
        executor.forward(is_train=True)
        executor.outputs[0].wait_to_read()
        bound.append(executor)
    again = net.simple_bind(mx.cpu(), data=(2, 4))
    again.forward(is_train=True)
    again.outputs[0].wait_to_read()
    for executor in [*bound, again]:
        executor.backward(mx.nd.ones((2, 3), dtype=executor.outputs[0].dtype))
        np.testing.assert_array_equal(executor.grad_dict["fc_bias"].asnumpy(), [2, 2, 2])
