"""Eager calls run by NumPy, or compiled: decided by the signature and a count of calls."""

import itertools

import numpy as np
import pytest

import modkit as mx
from modkit.compile.executables import eager
from modkit.ndarray.invoke import OnHost, _calls
from modkit.ndarray.ndarray import _site
from tests.counting import calls


@pytest.fixture
def compiled():
    """The number of programs compiled since the test began."""
    mx.cache_clear()
    return lambda: eager.info().executables


@pytest.fixture
def traces(monkeypatch):
    """The number of functions traced since the test began."""
    made = []
    before = OnHost.__init__
    monkeypatch.setattr(OnHost, "__init__", lambda *args: (made.append(1), before(*args))[1])
    return lambda: len(made)


def test_new_shapes_compile_nothing(compiled):
    for n in range(2, 30):
        x = mx.nd.ones((n, 3))
        y = mx.nd.dot(x, x, transpose_b=True).sum(axis=1) + n
        assert y.asnumpy().tolist() == [3 * n + n] * n
    assert compiled() == 0


def test_elementwise_operators_are_traced_once_for_each_power_of_two(traces):
    arrays = [mx.nd.array(np.full((n, 3), n)) for n in range(1, 40)]
    for n, each in enumerate(arrays, 1):
        got = (each * 2.5 + each).asnumpy()
        assert got.shape == (n, 3) and (got == 3.5 * n).all()
    assert traces() <= 2 * 7


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
    _calls.cache_clear()
    _site.cache_clear()
    mx.cache_clear()
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
    device, host, copy = x.to_jax(), x.asnumpy(), x.copy()
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


def test_calls_that_differ_in_equal_numbers_are_told_apart():
    """Places of axes and their tuples, and the zeros of both signs, which are equal."""
    x = mx.nd.array([[2.0, 5.0], [7.0, 11.0]])
    for _ in range(2):
        assert mx.nd.sum(x, axis=1).asnumpy().tolist() == [7, 18]
        assert mx.nd.sum(x, axis=(1,)).asnumpy().tolist() == [7, 18]
        assert mx.nd.sum(x, axis=(0,)).asnumpy().tolist() == [9, 16]
        with pytest.raises(mx.errors.ParameterError, match="axis"):
            mx.nd.sum(x, axis=1.5)
        for zero in (0.0, -0.0):
            low = mx.nd.clip(mx.nd.array([-3.0]), zero, 1.0).asnumpy()
            assert np.signbit(low).tolist() == [np.signbit(zero)]
            wide = mx.nd.pad(x.reshape((1, 1, 2, 2)), "constant", (0, 0, 0, 0, 1, 0, 0, 0), zero)
            assert np.signbit(wide[0, 0, 0].asnumpy()).tolist() == [np.signbit(zero)] * 2
        assert mx.nd.one_hot(x[0], 3, 1, 0).asnumpy().tolist() == [[0, 0, 1], [0, 0, 0]]


def test_calls_that_differ_in_traced_numbers_share_a_plan():
    """Each call has its own numbers, on the tape too; large ones are constants."""
    w, g = mx.nd.array([1.0]), mx.nd.array([2.0])
    rates = (0.5, 0.25, -0.0, 2.0**24)
    got = [mx.nd.sgd_update(w, g, lr=rate).asscalar() for rate in rates]
    assert got == [0, 0.5, 1, 1 - 2.0**25]
    w.attach_grad()
    with mx.autograd.record():
        made = [w * factor for factor in (3.0, 5.0, 2.0**30)]
    for each, factor in zip(made, (3, 5, 2**30), strict=True):
        assert f'"scalar": "{float(factor)}"' in mx.autograd.get_symbol(each).tojson()
        each.backward()
        assert w.grad.asscalar() == factor


def test_arrays_by_name_stand_in_the_order_of_the_operator():
    x, w, b = mx.nd.array([[1.0, 2.0]]), mx.nd.array([[3.0, 4.0]]), mx.nd.array([5.0])
    for _ in range(2):
        got = mx.nd.FullyConnected(bias=b, weight=w, data=x, num_hidden=1)
        assert got.asscalar() == mx.nd.FullyConnected(x, bias=b, weight=w, num_hidden=1).asscalar()
        assert got.asscalar() == 16
        with pytest.raises(mx.errors.ParameterError, match="twice"):
            mx.nd.FullyConnected(x, w, data=x, num_hidden=1, no_bias=True)


def test_an_array_written_by_out_owns_its_memory():
    x = mx.nd.array([1.0, 2.0])
    out = mx.nd.zeros((2,))
    mx.nd.identity(x, out=out)
    out[0] = 9  # in place
    assert x.asnumpy().tolist() == [1, 2]
    device = out.to_jax()
    out[0] = 7
    assert device.tolist() == [9, 2]
    half = mx.nd.zeros((2,), dtype="float16")
    mx.nd.cast(x, dtype="float16", out=half)
    assert half.dtype == np.float16 and half.asnumpy().tolist() == [1, 2]


def test_a_call_that_comes_again_takes_few_calls_of_python():
    a, w, b = mx.nd.ones((8, 4)), mx.nd.ones((3, 4)), mx.nd.ones((8, 4))
    rates = itertools.count(0.01, 0.01)
    works = (
        lambda: mx.nd.softmax(a),
        lambda: mx.nd.dot(a, a, transpose_b=True),
        lambda: mx.nd.FullyConnected(a, w, no_bias=True, num_hidden=3),
        lambda: a * 2.5,
        lambda: mx.nd.clip(a, -0.5, 0.5),
    )
    for work in works:
        work()
        assert calls(work) <= 75
    mx.nd.sgd_update(b, a, lr=next(rates))
    assert calls(lambda: mx.nd.sgd_update(b, a, lr=next(rates))) <= 95, "no look-up for each rate"


def test_a_tuple_of_arrays_is_not_read():
    pair = mx.nd.ones((30, 30)), mx.nd.zeros((30, 30))
    for call in (mx.nd.concat, mx.nd.stack, mx.nd.add_n):
        call(pair)
        assert calls(lambda call=call: call(pair)) < 400


def test_out_that_is_no_array_is_named():
    with pytest.raises(mx.errors.ParameterError, match="out: got ndarray, expected an NDArray"):
        mx.nd.relu(mx.nd.ones((2,)), out=np.zeros(2))


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("concatenate: got NDArray, expected a list", lambda a: mx.nd.concatenate(a)),
        (
            "concatenate: arrays.1.: got int, expected an NDArray",
            lambda a: mx.nd.concatenate([a, 5]),
        ),
        ("onehot_encode: indices: got list, expected", lambda a: mx.nd.onehot_encode([0], a)),
        ("onehot_encode: out: got int, expected", lambda a: mx.nd.onehot_encode(a, 5)),
        ("histogram: a: got int, expected an NDArray", lambda _: mx.nd.histogram(5)),
        ("from_numpy: got list, expected a numpy.ndarray", lambda _: mx.nd.from_numpy([1])),
        ("Custom: 'data': got list, expected", lambda a: mx.nd.Custom([a], op_type="kept")),
    ],
)
def test_what_is_no_array_is_named(words, call):
    mx.operator.register("kept")(mx.operator.CustomOpProp)
    with pytest.raises(mx.errors.ParameterError, match=words):
        call(mx.nd.ones((2, 2)))


def test_a_refused_out_leaves_the_states_of_the_operator():
    weight, grad, momentum = mx.nd.ones(3), mx.nd.ones(3), mx.nd.zeros(3)
    with pytest.raises(mx.errors.ShapeError, match="out: got shape"):
        mx.nd.sgd_mom_update(weight, grad, momentum, lr=1, momentum=0.9, out=mx.nd.ones(2))
    assert momentum.asnumpy().tolist() == [0, 0, 0]


def test_one_number_for_a_tuple_of_them():
    weight, grad = mx.nd.ones((3,)), mx.nd.ones((3,))
    for rate in (0.1, 0.2):
        found = mx.nd.multi_sgd_update(weight, grad, lrs=rate, wds=0, num_weights=1)
        np.testing.assert_allclose(found.asnumpy(), np.ones(3) - rate, rtol=1e-6)


def test_numbers_that_a_type_does_not_hold_wrap_around():
    """As in MXNet 1.9.1."""
    assert mx.nd.array([300, -1], dtype="uint8").asnumpy().tolist() == [44, 255]
    assert mx.nd.array([2**31], dtype="int32").asnumpy().tolist() == [-(2**31)]


def test_calls_with_nan_are_one_site():
    before, x = _site.cache_info().currsize, mx.nd.ones((7,))
    for _ in range(5):
        assert np.isnan((x * float("nan")).asnumpy()).all()
    assert _site.cache_info().currsize <= before + 1


def test_waiting_for_a_view_compiles_nothing(compiled):
    array = mx.nd.ones((5, 7))
    for view in (array[1], array[1:3], array[1, 2], array.reshape((7, 5)), array[1:3][0]):
        view.wait_to_read()
    assert compiled() == 0 and array._cell.is_on_host
