"""Inference: how it is asked, what it answers where little is known, and what it refuses."""

import warnings

import numpy as np
import pytest

from modkit import symbol as sym
from modkit.errors import DTypeError, MXNetError, NameNotFoundError, ParameterError, ShapeError
from tests.counting import calls


def _mlp():
    net = sym.FullyConnected(sym.Variable("data"), name="fc1", num_hidden=1000)
    net = sym.FullyConnected(sym.Activation(net, act_type="relu"), name="fc2", num_hidden=10)
    return sym.SoftmaxOutput(net, name="softmax")


SHAPES = [(100, 100), (1000, 100), (1000,), (10, 1000), (10,), (100,)]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (((100, 100),), {}),
        ((), {"data": (100, 100)}),
        ((), {"data": (np.int64(100), np.int32(100)), "fc1_weight": (0, 100)}),
        (((100, 100), None, None, None, None, (100,)), {}),
    ],
)
def test_shapes_are_asked_by_position_or_name(args, kwargs):
    arguments, outputs, auxiliary = _mlp().infer_shape(*args, **kwargs)
    assert (arguments, outputs, auxiliary) == (SHAPES, [(100, 10)], [])


def test_unknown_channels_do_not_hide_what_a_layer_makes():
    net = sym.Convolution(sym.Variable("x"), kernel=(3, 3), num_filter=4, name="c")
    _, outputs, _ = net.infer_shape_partial(x=(2, 0, 8, 8), c_weight=(4, 3, 3, 3))
    assert outputs == [(2, 4, 6, 6)]


@pytest.mark.parametrize("given", [{}, {"data": (0, 100)}, {"data": (-1, 100)}, {"data": ()}])
def test_undecided_shapes_warn_and_give_nothing(given):
    with pytest.warns(UserWarning, match=r"shape of these arguments(.|\n)*data: \((0, 100)?\)"):
        assert _mlp().infer_shape(**given) == (None, None, None)


def test_undecided_types_warn_and_give_nothing():
    with pytest.warns(UserWarning, match=r"type of these arguments(.|\n)*data: None"):
        assert _mlp().infer_type() == (None, None, None)


def test_partial_answers_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = _mlp().infer_shape_partial(data=(0, 100))
        types = _mlp().infer_type_partial()
    assert found == ([(0, 100), *SHAPES[1:5], (0,)], [(0, 10)], [])
    assert types == ([None] * 6, [None], [])


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        (((1, 2),), {"data": (1, 2)}, ValueError, "by position or by name"),
        ((), {"foo": (1, 2)}, NameNotFoundError, "no argument 'foo'"),
        ((), {"data": 100}, TypeError, "'data': got 100 of type int"),
        ((), {"data": [1, 2]}, TypeError, "of type list"),
        ((), {"data": (1.5, 2)}, TypeError, r"got \(1.5, 2\), expected a tuple"),
        (((1, 2),) * 7, {}, ParameterError, "got 7 arguments, expected at most 6"),
        ((), {"data": (100, 100), "fc1_weight": (1, 100)}, ShapeError,
         r"node 'fc1': weight: got shape \(1, 100\), expected \(1000, 100\)"),
    ],
)  # fmt: skip
def test_shapes_that_are_refused(args, kwargs, error, message):
    for infer in (_mlp().infer_shape, _mlp().infer_shape_partial):
        with pytest.raises(error, match=message) as caught:
            infer(*args, **kwargs)
        assert isinstance(caught.value, MXNetError)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        (("float32",), {"data": "float32"}, ValueError, "by position or by name"),
        ((), {"foo": "float32"}, NameNotFoundError, "no argument 'foo'"),
        ((), {"data": "foo"}, TypeError, "foo"),
        ((), {"data": 3}, TypeError, "got 3"),
        ((), {"data": np.float16, "fc1_weight": np.float32}, DTypeError, "node 'fc1': weight"),
    ],
)
def test_types_that_are_refused(args, kwargs, error, message):
    with pytest.raises(error, match=message):
        _mlp().infer_type(*args, **kwargs)


def test_types_are_asked_by_position_or_name():
    assert _mlp().infer_type(np.float64)[0] == [np.float64] * 6
    assert _mlp().infer_type(data="float16")[1] == [np.float16]


def test_what_is_given_overrides_what_a_variable_declares():
    net = sym.Variable("a", shape=(3, 0), dtype="float64") + sym.Variable("b")
    assert net.infer_shape(a=(5, 4))[0] == [(5, 4), (5, 4)]
    assert net.infer_shape(b=(3, 4))[0] == [(3, 4), (3, 4)]
    assert net.infer_type(a="float32")[0] == [np.float32, np.float32]
    assert net.infer_type()[0] == [np.float64, np.float64]
    with pytest.raises(ShapeError, match="expected"):
        net.infer_shape(b=(4, 4))


@pytest.mark.parametrize("attr", [{"__shape__": "(2, x)"}, {"__shape__": "two"}])
def test_declared_shapes_that_are_none(attr):
    with pytest.raises(ShapeError, match="variable 'a': got __shape__"):
        sym.Variable("a", attr=attr).infer_shape_partial()


def test_declared_types_that_are_none():
    with pytest.raises(DTypeError, match="variable 'a': got __dtype__ '99'"):
        sym.Variable("a", attr={"__dtype__": "99"}).infer_type_partial()


def test_open_sizes_of_constants_follow_from_the_graph():
    net = sym.zeros((0, 3)) + sym.Variable("a") + sym.random.uniform() + sym.ones(())
    assert net.infer_shape(a=(2, 3)) == ([(2, 3)], [(2, 3)], [])


def test_shapes_flow_back_through_a_constraint():
    weight, shift = sym.Variable("weight"), sym.Variable("shift", shape=(1,))
    moved = sym.broadcast_add(weight, shift)
    moved = sym._internal._identity_with_attr_like_rhs(moved, weight)
    net = sym.FullyConnected(sym.Variable("data"), moved, num_hidden=11, no_bias=True)
    found, _, _ = net.infer_shape(data=(7, 100))
    assert dict(zip(net.list_arguments(), found, strict=True))["weight"] == (11, 100)


def test_a_thousand_nodes_take_little_work_once_seen():
    net = sym.Variable("data")
    for i in range(500):
        net = sym.Activation(sym.FullyConnected(net, num_hidden=8, name=f"f{i}"), act_type="relu")
    net.infer_shape(data=(2, 8))
    work = calls(lambda: net.infer_shape(data=(2, 8)))
    assert work < 75 * 1000  # 61 a node, and 100 the first time


@pytest.mark.parametrize(
    ("make", "known", "arguments"),
    [
        (lambda: sym.BatchNorm(sym.Variable("d"), name="n"), "float16", ["float16", "float32"]),
        (lambda: sym.FullyConnected(sym.Variable("d"), num_hidden=2), "float16", ["float16"] * 2),
        (
            lambda: sym.where(sym.Variable("c"), sym.Variable("x"), sym.Variable("y")),
            "float64",
            [None, "float64", "float64"],
        ),
    ],
)
def test_types_flow_back_from_outputs(make, known, arguments):
    found, _, _ = (make() + sym.Variable("b")).infer_type_partial(b=known)
    assert [t and t.__name__ for t in found[: len(arguments)]] == arguments


@pytest.mark.parametrize("label", [(4,), (4, 3)])
def test_losses_take_labels_of_several_shapes(label):
    net = sym.SoftmaxOutput(sym.Variable("data"), name="s")
    assert net.infer_shape(data=(4, 3), s_label=label) == ([(4, 3), label], [(4, 3)], [])
    with pytest.raises(ShapeError):
        net.infer_shape(data=(4, 3), s_label=(5,))


def test_one_variable_as_two_inputs_of_which_each_says_something_else():
    x = sym.Variable("x")
    product = sym.batch_dot(x, x)
    assert product.infer_shape_partial(x=(0, 4, 0))[:2] == ([(0, 4, 4)], [(0, 4, 4)])
    assert product.infer_shape(x=(2, 4, 4))[1] == [(2, 4, 4)]
    with pytest.raises(ShapeError, match="batch_dot"):
        product.infer_shape(x=(2, 4, 3))
