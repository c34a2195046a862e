"""Initializers: by name, by attribute, their values, their text, and mistakes."""

import json
import logging
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from modkit import autograd, random, stream
from modkit import initializer as init
from modkit import ndarray as nd
from modkit.errors import NotReadyError
from modkit.initializer import InitDesc
from modkit.registry import get_registry
from tests.initializer.cases import BILINEAR, DUMPS, FUSED, fused_size, numbered

RECORDED = json.loads(
    (Path(__file__).parents[1] / "reference" / "initializers.json").read_text(encoding="utf-8")
)


class Seven(init.Initializer):
    """Weights are sevens."""

    def _init_weight(self, _, arr):
        arr[:] = 7


def filled(how, name, shape=(2, 3), before=-5.0):
    array = nd.full(shape, before)
    how(name, array)
    return array.asnumpy()


BY_NAME = {
    "fc_weight": 7, "weight": 7, "fc_quantized_weight": 7, "fc_bias": 0, "bias": 0,
    "bn_gamma": 1, "wgamma": 1, "bn_beta": 0, "x_min": 0, "x_max": 1, "fc_weight_min": 0,
    "fc_weight_max": 1, "q_bias_quantize": 0, "bn_moving_mean": 0, "bn_moving_var": 1,
    "bn_running_mean": 0, "bn_running_var": 1, "bn_moving_inv_var": 0, "bn_moving_avg": 0,
    "upsampling0_weight": 7, "stn_loc_weight": 7, "stn_loc_bias": 0,
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [*BY_NAME.items()])
def test_the_ending_of_the_name_decides(name, value):
    assert (filled(Seven(), InitDesc(name)) == value).all()


@pytest.mark.parametrize("name", ["fc_weight", "fc_bias", "bn_gamma", "bn_moving_var", "x_max"])
def test_a_plain_string_will_do(name):
    assert (filled(Seven(), name) == BY_NAME[name]).all()


def test_plain_strings_of_upsampling_and_spatial_transformers():
    kernel = filled(Seven(), "upsampling0_weight", (2, 1, 4, 4))
    np.testing.assert_array_equal(kernel[1].ravel(), np.float32(RECORDED["bilinear"][0]))
    assert (filled(Seven(), "stn_loc_weight") == 0).all()
    assert filled(Seven(), "stn_loc_bias", (6,)).tolist() == [1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("name", ["foo", "rnn_parameters", "a_mean", "a_var", "fc_weight_q"])
@pytest.mark.parametrize("kind", [InitDesc, str])
def test_a_name_that_means_nothing(name, kind):
    with pytest.raises(ValueError, match=rf"pattern for {name}: .* mx.sym.Variable"):
        Seven()(kind(name), nd.zeros((2,)))


def test_quantized_weights_are_whole_numbers():
    value = filled(Seven(), InitDesc("fc_weight_quantize"), (50, 50))
    assert (value == value.round()).all()
    assert (value.min(), value.max()) == (-127, 127)


@pytest.mark.parametrize("how", ["one", '["one", {}]', '["constant", {"value": 1}]'])
def test_the_attribute_decides_before_the_name(how):
    assert (filled(Seven(), InitDesc("foo_bias", {"__init__": how})) == 1).all()
    assert (filled(Seven(), InitDesc("foo_bias", {"__init__": ""})) == 0).all()


def test_a_description_is_a_string():
    desc = InitDesc("a", {"k": "v"})
    assert (desc, desc.attrs, desc.global_init) == ("a", {"k": "v"}, None)
    outer = Seven()
    outer(InitDesc("a_weight"), nd.zeros((1,)))
    desc = InitDesc("a_weight")
    outer(desc, nd.zeros((1,)))
    assert desc.global_init is outer


def weight(how, shape, name="a_weight"):
    random.seed(3)
    return filled(how, InitDesc(name), shape)


SCALES = [
    (init.Uniform(), 0.07, "uniform"),
    (init.Uniform(0.5), 0.5, "uniform"),
    (init.Normal(), 0.01, "gaussian"),
    (init.Normal(2), 2, "gaussian"),
    (init.Xavier(), math.sqrt(3 / (48 * 25)), "uniform"),
    (init.Xavier("uniform", "in", 2), math.sqrt(2 / (32 * 25)), "uniform"),
    (init.Xavier("gaussian", "out", 2), math.sqrt(2 / (64 * 25)), "gaussian"),
    (init.MSRAPrelu(), math.sqrt(2 / (1 + 0.25**2) / (48 * 25)), "gaussian"),
    (init.MSRAPrelu("in", 0.1), math.sqrt(2 / 1.01 / (32 * 25)), "gaussian"),
]


@pytest.mark.parametrize(("how", "scale", "kind"), SCALES, ids=lambda x: str(x))
def test_random_values(how, scale, kind):
    value = weight(how, (64, 32, 5, 5))
    assert abs(value.mean()) < 0.02 * scale
    if kind == "uniform":
        assert value.max() == pytest.approx(scale, rel=1e-3)
        assert value.min() == pytest.approx(-scale, rel=1e-3)
        assert value.std() == pytest.approx(scale / math.sqrt(3), rel=0.02)
    else:
        assert value.std() == pytest.approx(scale, rel=0.02)
        assert 3.5 < abs(value).max() / scale < 7


@pytest.mark.parametrize("how", [init.Uniform(0.1), init.Normal(0.1)])
def test_random_values_are_drawn_where_they_stay(how, monkeypatch):
    random.seed(3)
    array = nd.empty((70_000, 5))  # 1.4 MB
    made, fresh = [], init.values._fresh
    monkeypatch.setattr(init.values, "_fresh", lambda shape: made.append(shape) or fresh(shape))
    tracemalloc.start()
    how(InitDesc("fc_weight"), array)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 20_000 and made == [array.shape]
    random.seed(3)
    draw = stream.generator()
    if isinstance(how, init.Uniform):
        expected = (draw.random(array.shape, np.float32) * 2 - 1) * np.float32(0.1)
    else:
        expected = draw.standard_normal(array.shape, np.float32) * np.float32(0.1)
    np.testing.assert_array_equal(array.asnumpy(), expected)


def test_too_little_memory_for_random_values_is_a_memory_error(monkeypatch):
    def refuse(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(init.values.mmap, "mmap", refuse)
    with pytest.raises(MemoryError, match=r"no room for 1400000 bytes, float32 of shape \(70000"):
        init.Uniform(0.1)(InitDesc("fc_weight"), nd.empty((70_000, 5)))


def test_a_variable_of_the_tape_is_not_initialized():
    array = nd.ones((2, 2))
    array.attach_grad()
    with autograd.record():
        total = (array * array).sum()
        with pytest.raises(NotReadyError, match="tape"):
            init.Uniform()(InitDesc("fc_weight"), array)
    total.backward()
    assert array.grad.asnumpy().tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("how", [init.Uniform(), init.Normal(), init.Xavier(), init.Orthogonal()])
def test_the_seed_repeats_and_the_stream_goes_on(how):
    random.seed(11)
    first, second = (filled(how, InitDesc("a_weight"), (4, 5)) for _ in range(2))
    random.seed(11)
    np.testing.assert_array_equal(filled(how, InitDesc("a_weight"), (4, 5)), first)
    assert not np.array_equal(first, second)
    random.seed(12)
    assert not np.array_equal(filled(how, InitDesc("a_weight"), (4, 5)), first)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (4, 3, 2), (3, 2, 2, 2)])
def test_orthogonal(shape, kind):
    value = weight(init.Orthogonal(2, kind), shape).reshape(shape[0], -1)
    gram = value @ value.T if value.shape[0] <= value.shape[1] else value.T @ value
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-5)


@pytest.mark.parametrize(("shape", "recorded"), [*zip(BILINEAR, RECORDED["bilinear"], strict=True)])
def test_bilinear(shape, recorded):
    value = weight(init.Bilinear(), shape)
    np.testing.assert_allclose(value.ravel(), recorded, rtol=1e-6)
    array = nd.zeros(shape)
    init.Bilinear()._init_weight(None, array)
    np.testing.assert_array_equal(array.asnumpy(), value)


def test_constants():
    assert (weight(init.Zero(), (2, 2)) == 0).all()
    assert (weight(init.One(), (2, 2)) == 1).all()
    assert (weight(init.Constant(3), (2, 2)) == 3).all()
    for value in ([1, 2, 3], np.array([1, 2, 3]), nd.array([1, 2, 3])):
        assert weight(init.Constant(value), (2, 3)).tolist() == [[1, 2, 3]] * 2
    assert weight(init.LSTMBias(2), (8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]
    assert (filled(init.Constant(4), InitDesc("a_bias")) == 0).all()


@pytest.mark.parametrize(("row", "recorded"), [*zip(FUSED, RECORDED["fused"], strict=True)])
def test_fused_rnn(row, recorded):
    mode, layers, bidirectional, _, hidden = row
    inner = numbered(init)
    how = init.FusedRNN(inner, hidden, layers, mode, bidirectional, forget_bias=2.5)
    value = filled(how, InitDesc("rnn_weight"), (fused_size(*row),))
    assert inner.seen == recorded["seen"]
    assert value.tolist() == recorded["values"]


def test_fused_rnn_falls_back_to_the_nets_initializer():
    row = FUSED[0]
    inner = numbered(init)
    text = init.FusedRNN(None, 2, 1, "lstm", forget_bias=2.5).dumps()
    value = filled(inner, InitDesc("rnn_parameters", {"__init__": text}), (fused_size(*row),))
    assert inner.seen[1:] == RECORDED["fused"][0]["seen"]
    assert value.tolist() == RECORDED["fused"][0]["values"]


@pytest.mark.parametrize(("text", "recorded"), [*zip(DUMPS, RECORDED["dumps"], strict=True)])
def test_dumps(text, recorded):
    made = eval(text, {**vars(init), "np": np})
    assert made.dumps() == recorded
    if type(made) is not init.Initializer:
        again = init.create(recorded)
        assert again == made
        assert again.dumps() == recorded
        assert hash(again) == hash(made)


def test_equality_and_text():
    assert init.Uniform(0.1) == init.Uniform(0.1)
    assert init.Uniform(0.1) != init.Uniform(0.2)
    assert init.Zero() != init.One()
    assert init.Zero() != 3
    assert init.Constant(np.ones(2)) == init.Constant(nd.ones(2))
    assert repr(init.Uniform(0.1)) == "Uniform(scale=0.1)"
    assert repr(init.Mixed([".*"], [init.Zero()])) == "Mixed(['.*'], [Zero()])"


NAMES = {
    "zero": init.Zero, "zeros": init.Zero, "one": init.One, "ones": init.One,
    "uniform": init.Uniform, "normal": init.Normal, "xavier": init.Xavier,
    "msraprelu": init.MSRAPrelu, "orthogonal": init.Orthogonal, "bilinear": init.Bilinear,
    "lstmbias": init.LSTMBias,
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), [*NAMES.items()])
def test_create(name, kind):
    assert type(init.create(name)) is kind
    assert type(init.create(name.capitalize())) is kind
    instance = kind()
    assert init.create(instance) is instance


def test_every_initializer_is_registered():
    own = {k for k in get_registry(init.Initializer).values() if "modkit." in k.__module__}
    assert own == {*NAMES.values(), init.Constant, init.FusedRNN}


def test_ones_own_initializer_by_name():
    init.register(Seven)
    assert (filled(init.Zero(), InitDesc("foo", {"__init__": Seven().dumps()})) == 7).all()


def test_mixed():
    by_pattern = {"fc.*": init.One(), ".*b_weight$": init.Constant(3), ".*": init.Zero()}
    how = init.Mixed(by_pattern.keys(), by_pattern.values())
    for name, value in [("fc_weight", 1), ("xfc_weight", 0), ("a_b_weight", 3), ("fc_bias", 0)]:
        assert (filled(how, InitDesc(name)) == value).all()
        assert (filled(how, name) == value).all()


def test_load_from_a_dictionary(caplog):
    caplog.set_level(logging.INFO)
    values = {"arg:a_weight": nd.array([1, 2]), "aux:b": nd.array([3, 4]), "c": nd.array([5])}
    how = init.Load(values, default_init=init.Constant(9), verbose=True)
    assert set(how.param) == {"a_weight", "b", "c"}
    assert filled(how, InitDesc("a_weight"), (2,)).tolist() == [1, 2]
    assert filled(how, "b", (2,)).tolist() == [3, 4]
    assert filled(how, InitDesc("d_weight"), (2,)).tolist() == [9, 9]
    assert caplog.messages[0] == "Initialized a_weight by loading"
    assert caplog.messages[-1] == "Initialized d_weight by default"
    assert values["arg:a_weight"].asnumpy().tolist() == [1, 2]


def test_load_from_a_file(tmp_path):
    path = str(tmp_path / "x.params")
    nd.save(path, {"arg:a_weight": nd.array([1, 2])})
    assert filled(init.Load(path), "a_weight", (2,)).tolist() == [1, 2]
    nd.save(path, [nd.array([1, 2])])
    with pytest.raises(ValueError, match="without names"):
        init.Load(path)


def test_verbosity(caplog):
    caplog.set_level(logging.INFO)
    how = init.One()
    assert how.set_verbosity(True) is how
    filled(how, InitDesc("a_weight"), (3, 4))
    filled(how, InitDesc("a_bias"), (3,))
    filled(how, InitDesc("b_bias", {"__init__": "one"}), (3,))
    how.set_verbosity(True, lambda x: f"P{x.shape}")
    filled(how, InitDesc("a_weight"), (3, 4))
    how.set_verbosity(False)
    filled(how, InitDesc("a_weight"), (3, 4))
    assert caplog.messages == [
        "Initialized a_weight as weight: 1.0",
        "Initialized a_bias as bias: 0.0",
        "Initialized b_bias as one: 1.0",
        "Initialized a_weight as weight: P(3, 4)",
    ]


def call(how, name="a_weight", shape=(3,)):
    return lambda: filled(how, InitDesc(name), shape)


MISTAKES = [
    ("xavier vector", call(init.Xavier()), ValueError, r"a_weight: got shape \(3,\)"),
    ("orthogonal vector", call(init.Orthogonal()), ValueError, "at least 2"),
    ("bilinear matrix", call(init.Bilinear(), shape=(3, 3)), ValueError, "expected"),
    ("factor", lambda: init.Xavier(factor_type="foo"), ValueError, "avg, in, out"),
    ("random", lambda: init.Xavier(rnd_type="foo"), ValueError, "gaussian"),
    ("orthogonal", lambda: init.Orthogonal(rand_type="foo"), ValueError, "uniform, normal"),
    ("constant", call(init.Constant([1, 2])), ValueError, "shape"),
    ("stn", lambda: filled(Seven(), "stn_loc_bias", (5,)), ValueError, "expected"),
    ("base", call(init.Initializer()), NotImplementedError, "_init_weight"),
    ("name", lambda: Seven()(3, nd.zeros(1)), TypeError, "name must be string"),
    ("create", lambda: init.create("xavie"), ValueError, "'xavier'"),
    ("argument", lambda: init.create("uniform", foo=3), TypeError, "foo"),
    ("attribute", lambda: init.Zero()(InitDesc("a", {"__init__": "x"}), nd.zeros(1)), ValueError,
     "'x' is not a registered initializer"),
    ("fused mode", lambda: init.FusedRNN(None, 2, 1, "rnn"), ValueError, "rnn_relu"),
    ("fused size", call(init.FusedRNN(init.Zero(), 2, 1, "lstm"), shape=(11,)), ValueError, "11"),
    ("fused alone", lambda: init.FusedRNN(None, 2, 1, "lstm")("rnn_weight", nd.zeros(56)),
     ValueError, "fall back"),
    ("mixed", call(init.Mixed(["b"], [init.Zero()])), ValueError, r"'b'.*Add a pattern"),
    ("mixed lengths", lambda: init.Mixed(["b"], []), ValueError, "1 patterns and 0"),
    ("load shape", call(init.Load({"a_weight": nd.ones(2)})), ValueError, r"got shape \(2,\)"),
    ("load name", call(init.Load({"b_weight": nd.ones(2)})), KeyError, "'b_weight'.*default_init"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "says"), [m[1:] for m in MISTAKES],
                         ids=[m[0] for m in MISTAKES])  # fmt: skip
def test_mistakes(make, kind, says):
    with pytest.raises(kind, match=says):
        make()
