"""Symbols: composition, indexing, attributes, copies, and the errors of each."""

import copy
import pickle

import numpy as np
import pytest

from modkit import nd
from modkit import symbol as sym
from modkit.attribute import AttrScope
from modkit.errors import (
    MXNetError,
    NameNotFoundError,
    NotImplementedForSymbol,
    NotSupportedError,
    ParameterError,
)
from modkit.name import NameManager
from modkit.ops.frontend import FLUENT
from modkit.symbol.lower import lower


def _two_layers():
    net = sym.FullyConnected(sym.Variable("data"), name="fc1", num_hidden=10)
    return sym.FullyConnected(net, name="fc2", num_hidden=100)


# ── Composition ─────────────────────────────────────────────────────────────────────────────


def test_composition_copies_and_replaces():
    net1, net2 = _two_layers(), sym.FullyConnected(name="fc3", num_hidden=10)
    net2 = sym.FullyConnected(sym.Activation(net2, act_type="relu"), name="fc4", num_hidden=20)
    before = net2.tojson()
    made = net2(fc3_data=net1, name="composed")
    assert made.name == "composed"
    assert made.list_arguments()[:5] == ["data", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"]
    assert made.list_arguments()[5:] == ["fc3_weight", "fc3_bias", "fc4_weight", "fc4_bias"]
    assert net2.tojson() == before
    assert len(sym.Group([made, net1])) == 2


def test_attributes_set_later_reach_what_was_put_in_but_not_the_copy():
    inner, outer = sym.Variable("a"), sym.FullyConnected(name="fc", num_hidden=2)
    made = outer(fc_data=inner)
    inner._set_attr(mood="angry")
    outer._set_attr(__late__="1")
    assert made.attr_dict()["a"] == {"mood": "angry"}
    assert "__late__" not in made.attr_dict()["fc"]


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((1,), {"fc1_weight": 2}, ParameterError, "by position or by name"),
        ((), {"fc1_weight": 3}, ParameterError, "got 3, expected a Symbol"),
        ((3,), {}, ParameterError, "got 3, expected a Symbol"),
        ((sym.Variable("x"),), {}, ParameterError, r"net\(data=\.\.\.\)"),
        ((), {"fc1_wight": sym.Variable("x")}, NameNotFoundError, "Did you mean 'fc1_weight'"),
        ((), {"data": sym.Group([sym.Variable("x")] * 2)}, ParameterError, "2 outputs"),
    ],
)
def test_composition_refuses(args, kwargs, error, message):
    with pytest.raises(error, match=message):
        _two_layers()(*args, **kwargs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: sym.FullyConnected(a, num_hidden=3, lr_mul=2), "no parameter 'lr_mul'"),
        (lambda a: sym.FullyConnected(a, num_hidden="x"), "num_hidden: got 'x', expected an int"),
        (lambda a: sym.FullyConnected(a), "required parameter 'num_hidden'"),
        (lambda a: sym.FullyConnected(a, weight_lr_mult=2, num_hidden=1), "for the input 'weight'"),
        (lambda a: sym.FullyConnected(a, num_hidden=3, attr={"mood": "x"}), "__mood__"),
        (lambda a: sym.FullyConnected(a, num_hidden=3, attr={"__m__": 3}), "got 3, expected a str"),
        (lambda a: sym.FullyConnected(a, bias=a, no_bias=True, num_hidden=1), "no input 'bias'"),
        (lambda a: sym.Activation(3, "relu"), "'data': got int"),
        (lambda a: sym.Activation(a, data=a, act_type="relu"), "'data' twice"),
        (lambda a: sym.Activation(a, act_type="rely"), "got 'rely'"),
        (lambda a: sym.Concat(a, a, num_args=1), "got 2 inputs, expected 1"),
        (lambda a: sym.Concat(x=a, y=a), "no input 'x'"),
        (lambda a: sym.Concat(a, 3), "got 3 of type int"),
        (lambda a: sym.BatchNorm(a, moving_mean=a * 2), "auxiliary state"),
        (lambda a: sym.relu(sym.Group([a, a])), "2 outputs"),
        (lambda a: a + "x", "got 'x' of type str"),
        (lambda a: a == None, "got None"),  # noqa: E711
        (lambda a: np.ones(3) - a, "ndarray"),
        (lambda a: a + True, "got 'True', expected float"),
        (lambda a: sym.split_v2(a, 1.5), "got 1.5"),
        (lambda a: sym.histogram(a, bins=3), "needs range"),
        (lambda a: sym.hypot("x", 4), "got str and int"),
    ],
)
def test_calls_refuse(call, message):
    with pytest.raises(ParameterError, match=message):
        call(sym.Variable("a"))


def test_inputs_are_found_by_name_and_number():
    a, b = sym.Variable("a"), sym.Variable("b")
    assert sym.Concat(arg1=a, arg0=b).list_arguments() == ["b", "a"]
    assert sym.Concat(num_args=2, name="c").list_arguments() == ["c_arg0", "c_arg1"]
    assert sym.Concat(a, num_args=2, name="c").list_arguments() == ["a", "c_arg1"]
    assert sym.elemwise_add(rhs=a, name="e").list_arguments() == ["e_lhs", "a"]


def test_input_initializers_do_not_replace_a_users_own():
    mean = sym.Variable("mean", init="mine")
    net = sym.BatchNorm(sym.Variable("data"), moving_mean=mean, name="bn")
    assert net.attr_dict()["mean"]["__init__"] == "mine"
    assert net.attr_dict()["bn_moving_var"]["__init__"] == '["one", {}]'


def test_numbers_of_numpy_are_spelled_plainly():
    net = sym.Convolution(sym.Variable("x"), kernel=(np.int64(3), 3), num_filter=np.int32(4))
    assert net.attr("kernel") == "(3, 3)"
    assert (sym.Variable("x") + np.float32(2)).attr("scalar") == "2.0"
    assert sym.Cast(sym.Variable("x"), dtype=np.float16).attr("dtype") == "float16"
    assert sym.Cast(sym.Variable("x"), dtype=np.dtype("int32")).attr("dtype") == "int32"


def test_zeros_of_either_sign_are_two_programs():
    for zero in (0.0, -0.0):
        made = (sym.Variable("x") / zero).eval(x=nd.array([1.0]))[0].asscalar()
        assert made == np.copysign(np.inf, zero)


def test_signs_of_zeros_belong_to_their_parameters():
    one, other = (
        lower(sym.clip(sym.Variable("x"), a_min=low, a_max=-low, name="c")).structure
        for low in (-0.0, 0.0)
    )
    assert one != other


@pytest.mark.parametrize("name", ["argsort", "topk", "Cast"])
def test_element_type_none_is_that_of_numpy(name):
    made = getattr(sym, name)(sym.Variable("x"), dtype=None)
    assert made.attr("dtype") == "float64"
    assert getattr(nd, name)(nd.ones((2,)), dtype=None).dtype == np.float64


@pytest.mark.parametrize("name", ["sub", "truediv", "mod", "pow"])
def test_reversed_operators_swap(name):
    a, b = sym.Variable("a"), sym.Variable("b")
    assert getattr(a, f"__r{name}__")(b).list_arguments() == ["b", "a"]


# ── Outputs ─────────────────────────────────────────────────────────────────────────────────


def test_outputs_are_indexed_by_number_name_and_slice():
    cut = sym.SliceChannel(sym.Variable("a"), num_outputs=3, name="cut")
    assert len(cut) == 3
    assert [s.list_outputs() for s in cut] == [["cut_output0"], ["cut_output1"], ["cut_output2"]]
    assert cut["cut_output1"].list_outputs() == cut[1].list_outputs() == ["cut_output1"]
    assert cut[1:].list_outputs() == ["cut_output1", "cut_output2"]
    assert cut[::2].list_outputs() == ["cut_output0", "cut_output2"]
    assert repr(cut[0]) == "<Symbol cut>"


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (3, IndexError),
        (slice(5, 6), IndexError),
        (-1, MXNetError),
        (slice(-2, None), MXNetError),
        (1.0, TypeError),
        (np.int64(1), TypeError),
        ("cut_output3", ValueError),
    ],
)
def test_outputs_that_are_not_there(index, error):
    cut = sym.SliceChannel(sym.Variable("a"), num_outputs=3, name="cut")
    with pytest.raises(error):
        cut[index]


def test_an_output_name_that_is_taken_twice_is_refused():
    a = sym.Variable("a")
    with pytest.raises(ValueError, match="2 outputs are called 'a'"):
        sym.Group([a, a])["a"]


def test_groups():
    a, b = sym.Variable("a"), sym.Variable("b")
    assert sym.Group([a, sym.Group([b, a])]).list_outputs() == ["a", "b", "a"]
    assert sym.Group([a, b]).name is None
    assert sym.Group([a, b]).attr("x") is None
    with pytest.raises(ParameterError, match="expected a list of symbols"):
        sym.Group([])
    with pytest.raises(ParameterError, match="expected a list of symbols"):
        sym.Group([1])
    with pytest.raises(NotImplementedForSymbol):
        sym.Group(a)


def test_children():
    net = _two_layers()
    assert net.get_children().list_outputs() == ["fc1_output", "fc2_weight", "fc2_bias"]
    assert net.get_children().get_children().list_outputs() == ["data", "fc1_weight", "fc1_bias"]
    assert sym.Variable("a").get_children() is None


# ── Attributes ──────────────────────────────────────────────────────────────────────────────


def test_attributes_are_read_under_both_names():
    with AttrScope(group="4", data="great"):
        data = sym.Variable("data", attr={"group": "1", "force_mirroring": "True"}, lr_mult=1)
        other = sym.Variable("other")
    assert other.attr("group") == "4"
    assert [data.attr(k) for k in ("group", "lr_mult", "__lr_mult__")] == ["1", "1", "1"]
    assert data.attr("__force_mirroring__") == data.attr("force_mirroring") == "True"
    assert data.attr("nope") is None
    assert pickle.loads(pickle.dumps(data)).attr("group") == "1"


def test_attributes_of_a_scope_must_suit_operators():
    with AttrScope(group="4"), pytest.raises(ParameterError, match="no parameter 'group'"):
        sym.softmax(sym.Variable("a"))


def test_operators_without_parameters_take_any_keyword():
    with pytest.warns(UserWarning, match="log: no parameter 'axis'.*no effect"):
        logs = sym.log(sym.Variable("a"), axis=1, name="log")
    assert logs.attr_dict() == {"log": {"axis": "1"}}
    with pytest.warns(UserWarning, match="no effect"):
        assert nd.log(nd.ones((2,)), axis=1).asnumpy().tolist() == [0, 0]
    assert logs.eval(a=nd.ones((2,)))[0].asnumpy().tolist() == [0, 0]
    with pytest.raises(ParameterError, match="no input 'x'"):
        sym.log(sym.Variable("a"), x=sym.Variable("b"))


def test_regression_losses_take_any_keyword():
    with pytest.warns(UserWarning, match=r"no parameter 'scale'\. Did.*effect"):
        out = sym.MAERegressionOutput(sym.Variable("a"), scale=2, name="out")
    assert out.attr_dict() == {"out": {"scale": "2"}, "out_label": {"scale": "2"}}
    assert sym.load_json(out.tojson()).attr_dict() == out.attr_dict()
    ones = nd.ones((2, 3))
    assert out.eval(a=ones, out_label=ones)[0].asnumpy().tolist() == ones.asnumpy().tolist()
    with pytest.warns(UserWarning, match="no effect"):
        assert nd.LinearRegressionOutput(ones, ones, scale=2).shape == (2, 3)
    with pytest.raises(ParameterError, match=r"no input 'labels'\. Did you mean 'label'"):
        sym.LinearRegressionOutput(sym.Variable("a"), labels=sym.Variable("b"))


def test_a_call_names_the_node_of_the_first_output():
    x, v = sym.Variable("x"), sym.Variable("v")
    both = sym.Group([sym.relu(x, name="a"), sym.tanh(x, name="b")])
    assert both(x=v, name="new").list_outputs() == ["new_output", "b_output"]
    assert both.list_outputs() == ["a_output", "b_output"]
    assert sym.Group([x, both])(x=v, name="new").list_outputs() == ["v", "a_output", "b_output"]


def test_attributes_are_shared_by_everyone_who_holds_the_node():
    a = sym.Variable("a")
    net = sym.FullyConnected(a, num_hidden=3, name="fc")
    a._set_attr(mood="angry", lr_mult="2")
    assert net.attr_dict()["a"] == {"mood": "angry", "__lr_mult__": "2", "lr_mult": "2"}
    net._set_attr(num_hidden="7")
    assert net.infer_shape(a=(2, 3))[1] == [(2, 7)]


@pytest.mark.parametrize(
    "attrs", [{"mood": "x"}, {"num_hidden": "x"}, {"__m__": 3}, {"weight_lr_mult": "2"}]
)
def test_attributes_that_an_operator_refuses(attrs):
    net = sym.FullyConnected(sym.Variable("a"), num_hidden=3)
    before = net.list_attr()
    with pytest.raises(ParameterError):
        net._set_attr(**attrs)
    assert net.list_attr() == before


def test_attributes_of_groups_cannot_be_set():
    with pytest.raises(ParameterError, match="not on a group"):
        sym.Group([sym.Variable("a"), sym.Variable("b")])._set_attr(x="1")


def test_recursive_lists_are_gone():
    with pytest.raises(DeprecationWarning, match="attr_dict"):
        sym.Variable("a").list_attr(recursive=True)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"name": 3}, "got name 3"),
        ({"name": "a", "mood": "x"}, "__mood__"),
        ({"name": "a", "attr": {"x": 3}}, "got 3, expected a string"),
        ({"name": "a", "attr": {"weight_lr_mult": "3"}}, "for the input 'weight'"),
        ({"name": "a", "dtype": "float31"}, "float31"),
        ({"name": "a", "stype": "dense"}, "stype 'dense'"),
    ],
)
def test_variables_refuse(kwargs, message):
    with pytest.raises((ParameterError, NameNotFoundError), match=message):
        sym.Variable(**kwargs)


# ── Copies ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_are_apart(how):
    net = _two_layers()
    made = how(net)
    assert made.tojson() == net.tojson()
    made._set_attr(__mine__="1")
    assert net.attr("__mine__") is None


# ── What symbols do not do ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "use",
    [
        bool,
        lambda a: a.asnumpy(),
        lambda a: a.asscalar(),
        lambda a: a.wait_to_read(),
        lambda a: a.copy(),
        lambda a: a.as_in_context(None),
        lambda a: a.detach(),
        lambda a: a.backward(),
        lambda a: a.__iadd__(1),
        lambda a: a.__isub__(1),
        lambda a: a.__imul__(1),
        lambda a: a.__itruediv__(1),
    ],
)
def test_what_only_arrays_do(use):
    with pytest.raises(NotImplementedForSymbol, match="Symbol"):
        use(sym.Variable("a"))


def test_what_modkit_does_not_do():
    a = sym.Variable("a")
    for use in (lambda: a.gradient(["a"]), a.as_np_ndarray):
        with pytest.raises(NotSupportedError):
            use()
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_backends_change_nothing():
    a = sym.Variable("a")
    assert a.optimize_for("MKLDNN", {"a": None}) is a is a.get_backend_symbol("TensorRT")
    with pytest.raises(MXNetError, match="got 'nope', expected one of"):
        a.get_backend_symbol("nope")
    with pytest.warns(UserWarning, match="got backend 'nope', expected one of"):
        assert a.optimize_for("nope") is a


# ── Methods ─────────────────────────────────────────────────────────────────────────────────

ARGUMENTS = {
    "broadcast_axes": {"axis": 0, "size": 2},
    "broadcast_like": {"rhs": sym.Variable("b")},
    "broadcast_to": {"shape": (2, 3)},
    "clip": {"a_min": 0, "a_max": 1},
    "diag": {"k": 0},
    "depth_to_space": {"block_size": 2},
    "expand_dims": {"axis": 0},
    "flip": {"axis": 0},
    "one_hot": {"depth": 3},
    "pad": {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 1, 1)},
    "pick": {"index": sym.Variable("b")},
    "repeat": {"repeats": 2},
    "reshape_like": {"rhs": sym.Variable("b")},
    "slice": {"begin": (0,), "end": (1,)},
    "slice_axis": {"axis": 0, "begin": 0, "end": 1},
    "slice_like": {"shape_like": sym.Variable("b")},
    "space_to_depth": {"block_size": 2},
    "split": {"num_outputs": 2},
    "split_v2": {"indices_or_sections": 2},
    "squeeze": {"axis": None},
    "take": {"indices": sym.Variable("b")},
    "tile": {"reps": (2,)},
}


@pytest.mark.parametrize("name", FLUENT)
def test_methods_are_the_functions(name):
    a, kwargs = sym.Variable("a"), ARGUMENTS.get(name, {})
    with NameManager():
        method = getattr(a, name)(**kwargs)
    with NameManager():
        function = getattr(sym, name)(a, **kwargs)
    assert method.tojson() == function.tojson()


def test_reshape_and_astype():
    a = sym.Variable("a")
    assert a.reshape((2, 3)).attr("shape") == a.reshape(2, 3).attr("shape") == "(2, 3)"
    assert a.reshape(shape=(2, -1), reverse=True).attr("reverse") == "True"
    assert a.astype(np.int32).attr("dtype") == "int32"
    assert a.as_nd_ndarray() is a
    with pytest.raises(ParameterError, match="twice"):
        a.reshape((2, 3), shape=3)


def test_a_large_group_is_not_listed_in_messages():
    group = sym.Group([sym.Variable(f"v{i}") for i in range(9)])
    with pytest.raises(NameNotFoundError, match=r"^<Symbol group of 9 outputs>: no output 'w'"):
        group["w"]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda s: sym.zeros(s), r"_zeros: shape: got a Symbol, expected a tuple of int"),
        (lambda s: sym.ones(shape=s), r"_ones: shape: got a Symbol"),
        (lambda s: sym.full(s, 1), r"_full: shape: got a Symbol"),
        (lambda s: sym.arange(0, s), r"_arange: stop: got a Symbol"),
        (lambda s: sym.eye(2, s), r"_eye: M: got a Symbol"),
        (lambda s: sym.relu(s, name=3), r"relu: name: got 3, expected a text"),
        (lambda s: sym.zeros((2,), name=b"x"), r"_zeros: name: got b'x'"),
        (lambda s: sym.Concat(s, arg1=s), r"Concat: got inputs by position and by name \(arg1\)"),
        (lambda s: sym.stack(s, arg1=s), r"by position and by name \(arg1\)"),
    ],
)
def test_arguments_that_mxnet_refuses(call, match):
    with pytest.raises(ParameterError, match=match):
        call(sym.Variable("s"))


def test_calls_that_are_refused_count_names_as_in_mxnet():
    s = sym.Variable("s")
    with NameManager():
        for call in (lambda: sym.zeros(s), lambda: sym.Concat(s, arg1=s)):
            with pytest.raises(ParameterError):
                call()
        assert (sym.zeros((2,)).name, sym.Concat(s, s).name) == ("_zeros1", "concat1")


def test_no_output_of_a_node_takes_the_place_of_an_auxiliary_state():
    net, x = sym.BatchNorm(sym.Variable("x"), name="bn"), sym.Variable("y")
    assert net(bn_moving_mean=x).list_auxiliary_states() == ["y", "bn_moving_var"]
    with pytest.raises(ParameterError, match="'bn_moving_mean' is an auxiliary state"):
        net(bn_moving_mean=sym.relu(x))
