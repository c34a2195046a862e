"""Rates, multipliers, counts and making: what all optimizers share."""

import copy
import functools
import math
import pickle
import types

import numpy as np
import pytest

import modkit as mx
import modkit.ndarray as nd
from modkit import optimizer as opt
from modkit.errors import (
    NameNotFoundError,
    NotSupportedError,
    ParameterError,
    ShapeError,
)
from modkit.lr_scheduler import FactorScheduler, LRScheduler, PolyScheduler
from modkit.optimizer.base import UpdateCounts
from tests.counting import calls

NAMES = {0: "a_weight", 1: "a_bias", 2: "b_gamma", 3: "b_beta", 4: "plain"}


class FakeSymbol:
    """The methods of Symbol that an optimizer uses."""

    def attr_dict(self):
        return {
            "a_weight": {"__lr_mult__": "3", "__wd_mult__": "0.5"},
            "a_bias": {"__wd_mult__": "2"},
            "layer": {"__lr_mult__": "7"},
        }

    def list_arguments(self):
        return ["data", "a_weight", "a_bias"]


# ── Multipliers ─────────────────────────────────────────────────────────────────────────────


def test_names_without_weight_or_gamma_get_no_decay():
    assert opt.create("sgd", param_idx2name=NAMES).wd_mult == dict.fromkeys(
        ("a_bias", "b_beta", "plain"), 0.0
    )
    assert opt.create("sgd").wd_mult == {}


def test_lars_spares_gamma_too():
    assert set(opt.create("lars", param_idx2name=NAMES).wd_mult) == {
        "a_bias", "b_gamma", "b_beta", "plain",
    }  # fmt: skip


def test_multipliers_by_name_and_by_index():
    sgd = opt.create("sgd", param_idx2name=NAMES, wd=0.5)
    sgd.set_lr_mult({"a_weight": 3, 1: 4.0})
    sgd.set_wd_mult({"a_bias": 2, 3: 4.0})
    assert sgd._get_lrs(range(5)) == pytest.approx([0.03, 0.04, 0.01, 0.01, 0.01])
    assert sgd._get_wds(range(5)) == [0.5, 1.0, 0.5, 2.0, 0.0]
    assert sgd._get_lr("a_weight") == pytest.approx(0.03)


def test_multipliers_of_symbol_attributes_count_for_arguments_only():
    sgd = opt.create("sgd", sym=FakeSymbol(), param_idx2name={0: "a_weight", 1: "a_bias", 2: "x"})
    assert sgd.lr_mult == {"a_weight": 3.0}
    assert sgd.wd_mult == {"a_bias": 2.0, "x": 0.0, "a_weight": 0.5}
    sgd.set_wd_mult({"a_weight": 9})
    assert sgd.wd_mult == {"a_bias": 2.0, "x": 0.0, "a_weight": 9}


def test_param_dict_comes_first():
    class Parameter:
        lr_mult, wd_mult = 5.0, 6.0

    sgd = opt.create("sgd", param_dict={0: Parameter()}, wd=1.0)
    sgd.set_lr_mult({0: 2})
    assert sgd._get_lr(0) == pytest.approx(0.05)
    assert sgd._get_wd(0) == 6.0
    assert sgd.hyper([0]).tolist() == [pytest.approx([0.05, 6.0, 1.0])]
    assert sgd.hyper([0, 1])[:, 1].tolist() == [6.0, 1.0]
    sgd.param_dict = {}
    assert sgd.hyper([0, 1])[:, 1].tolist() == [1.0, 1.0]


def test_the_tables_of_many_lists_are_not_all_kept(monkeypatch):
    monkeypatch.setattr("modkit.optimizer.rule_optimizer._TABLES", 8)
    sgd = opt.create("sgd", learning_rate=0.5)
    for at in range(50):
        assert sgd.hyper([0, at + 1])[:, 0].tolist() == [0.5, 0.5]
    assert len(sgd._derived["tables"]) <= 8


def test_lists_that_alternate_have_their_multipliers_and_tables_kept():
    sgd = opt.create("sgd", learning_rate=0.5, param_idx2name=NAMES)
    first, second = (0, 1), (2, 3)
    made = {list_: (sgd._multipliers(list_), sgd.hyper(list_)) for list_ in (first, second)}
    for list_ in (first, second, first):
        assert sgd._multipliers(list_) is made[list_][0]
        assert sgd.hyper(list_) is made[list_][1]
    sgd.lr_mult["a_bias"] = 4.0
    assert sgd.hyper(first)[:, 0].tolist() == [0.5, 2.0]
    assert sgd.hyper(second)[:, 0].tolist() == [0.5, 0.5]


def test_the_multipliers_of_many_lists_are_not_all_kept(monkeypatch):
    monkeypatch.setattr("modkit.optimizer.base._LISTS", 8)
    adam = opt.create("adam", learning_rate=0.5)
    for at in range(50):
        assert adam.hyper([0, at + 1]).shape[0] == 2
    assert len(adam._derived["multipliers"][1]) <= 8


def test_hyper_sees_multipliers_changed_in_place():
    sgd = opt.create("sgd", learning_rate=1.0, param_idx2name=NAMES, wd=1.0)
    indices = list(NAMES)
    assert sgd.hyper(indices)[:, :2].tolist() == [[1, 1], [1, 0], [1, 1], [1, 0], [1, 0]]
    sgd.lr_mult["a_bias"] = 0.5
    sgd.wd_mult["plain"] = 0.25
    assert sgd.hyper(indices)[:, :2].tolist() == [[1, 1], [0.5, 0], [1, 1], [1, 0], [1, 0.25]]
    sgd.lr, sgd.rescale_grad = 2.0, 0.125
    assert sgd.hyper(indices[:2]).tolist() == [[2, 1, 0.125], [1, 0, 0.125]]
    indices.reverse()
    assert sgd.hyper(indices)[:, 0].tolist() == [2, 2, 2, 1, 2]


SETTINGS = [
    ("sgd", "momentum"), ("nag", "momentum"), ("adam", "beta1"), ("lamb", "beta2"), ("lars", "eta"),
    ("adagrad", "float_stable_eps"), ("sgd", "wd"), ("rmsprop", "clip_gradient"), ("sgd", "lr"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
@pytest.mark.parametrize("array", [np.array, lambda x: nd.array([x])], ids=["numpy", "ndarray"])
def test_a_setting_may_be_an_array_of_one_number(name, setting, array):
    first, second = (opt.create(name, learning_rate=0.1) for _ in range(2))
    setattr(first, setting, 0.5)
    setattr(second, setting, array(0.5))
    assert second.rule() == first.rule()
    assert hash(second.tree_rule()) == hash(first.tree_rule())
    np.testing.assert_array_equal(second.hyper([0]), first.hyper([0]))


def test_a_rate_may_be_an_array_of_one_number():
    rate = nd.array([0.5])
    made = opt.create("adam", learning_rate=rate)
    assert made.lr == 0.5
    made.set_learning_rate(rate / 2)
    assert made.learning_rate == 0.25
    with pytest.raises(ParameterError, match="learning rate"):
        made.set_learning_rate(nd.array([0.5, 0.5]))


def test_an_update_is_counted_in_a_property_of_a_subclass():
    class Own(opt.SGD):
        @property
        def num_update(self):
            return vars(self).get("own", 0)

        @num_update.setter
        def num_update(self, value):
            vars(self)["own"] = value

    made, weight = Own(learning_rate=0.1), nd.ones((2,))
    for _ in range(3):
        made.update(0, weight, nd.ones((2,)), None)
    assert made.num_update == 3


def test_an_array_that_is_no_setting_stays_one():
    class Own(opt.SGD):
        def __init__(self, moved=0, **kwargs):
            super().__init__(**kwargs)
            self.moved = nd.zeros(1)

    assert isinstance(Own().moved, nd.NDArray)


def test_hyper_asks_a_subclass_for_its_rates():
    class Own(opt.NAG):
        def _get_lr(self, index):
            return 10.0 + index

        def _get_wds(self, indices):
            return [7.0 for _ in indices]

    assert Own().hyper([1, 2])[:, :2].tolist() == [[11, 7], [12, 7]]

    class Other(opt.NAG):
        def _get_wd(self, index):
            return 7.0

    assert Other(learning_rate=1.0).hyper([1, 2])[:, :2].tolist() == [[1, 7], [1, 7]]


@pytest.mark.parametrize("bad", [{"a": "x"}, {"a": math.nan}, {"a": True}, 3])
def test_bad_multipliers(bad):
    with pytest.raises(ParameterError, match="multiplier"):
        opt.create("sgd").set_lr_mult(bad)
    with pytest.raises(ParameterError, match="multiplier"):
        opt.create("sgd").set_wd_mult(bad)


# ── Rates ───────────────────────────────────────────────────────────────────────────────────

BAD_RATES = [math.nan, math.inf, -math.inf, "0.1", [0.1], True, np.float32("nan")]


@pytest.mark.parametrize("bad", BAD_RATES, ids=repr)
def test_bad_rates_are_refused_at_once(bad):
    with pytest.raises(ParameterError, match="learning rate"):
        opt.create("sgd", learning_rate=bad)
    with pytest.raises(ParameterError, match="learning rate"):
        opt.create("sgd").set_learning_rate(bad)
    sgd = opt.create("sgd")
    sgd.lr = bad
    with pytest.raises(ParameterError, match="learning rate"):
        sgd.hyper([0])


# The first weight after one step from 1 with a gradient of 0.5 and a rate of -0.1; MXNet 1.9.1.
NEGATIVE_RATES = {
    "sgd": 1.05, "nag": 1.05, "adam": 1.1, "rmsprop": 1.3162277, "adagrad": 1.1, "ftrl": 0.366,
    "signum": 1.1, "adamax": 1.1, "nadam": 1.1056452, "ftml": 1.1, "dcasgd": 1.05, "lbsgd": 1.05,
    "lamb": 1.1581138, "lars": 1.0001581,
}  # fmt: skip


@pytest.mark.parametrize(("name", "weight"), NEGATIVE_RATES.items())
def test_a_negative_rate_climbs(name, weight):
    update = opt.get_updater(opt.create(name, learning_rate=-0.1))
    array = nd.array([1, 2])
    update(0, nd.array([0.5, -0.5]), array)
    assert array.asnumpy()[0] == pytest.approx(weight, rel=1e-5)


def test_a_negative_whole_number_is_a_rate():
    assert opt.create("sgd", learning_rate=-1).learning_rate == -1


def test_langevin_dynamics_has_no_negative_variance():
    update = opt.get_updater(opt.create("sgld", learning_rate=-0.1))
    with pytest.raises(ParameterError, match=r"SGLD: learning rate: got -0\.1"):
        update(0, nd.ones(2), nd.ones(2))
    assert update.optimizer.num_update == 0 and not any(
        update.optimizer._index_update_count.values()
    )


def test_a_schedule_that_goes_wrong_is_named_with_its_update():
    class Wrong(LRScheduler):
        def __call__(self, num_update):
            return math.nan if num_update == 3 else 0.1

    sgd = opt.create("sgd", lr_scheduler=Wrong())
    sgd.hyper([0])
    sgd.hyper([0])
    with pytest.raises(ParameterError, match="nan at update 3"):
        sgd.hyper([0])


@pytest.mark.parametrize("rate", [0, 0.0, 1, np.float32(0.5), np.array([0.25])], ids=repr)
def test_good_rates(rate):
    sgd = opt.create("sgd", learning_rate=rate)
    assert sgd.hyper([0])[0, 0] == float(np.asarray(rate).reshape(()))


@pytest.mark.parametrize("name", ["wd", "rescale_grad", "clip_gradient"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, "x"], ids=repr)
def test_other_numbers_are_checked_too(name, bad):
    with pytest.raises(ParameterError, match=name):
        opt.create("sgd", **{name: bad})


def test_the_rate_joins_the_scheduler():
    assert opt.create("sgd").learning_rate == 0.01
    assert opt.create("adam").lr == 0.001
    assert opt.create("sgd", lr_scheduler=FactorScheduler(2, 0.5, base_lr=0.3)).learning_rate == 0.3
    schedule = FactorScheduler(2, 0.5)
    assert opt.create("sgd", lr_scheduler=schedule, learning_rate=0.7).learning_rate == 0.7
    assert schedule.base_lr == 0.7
    with pytest.warns(UserWarning, match=r"learning_rate=0\.7 replaces base_lr=0\.3"):
        opt.create("sgd", lr_scheduler=FactorScheduler(2, 0.5, base_lr=0.3), learning_rate=0.7)


def test_the_rate_of_a_scheduler_is_not_set_by_hand():
    sgd = opt.create("sgd", lr_scheduler=FactorScheduler(2, 0.5))
    with pytest.raises(UserWarning, match="FactorScheduler"):
        sgd.set_learning_rate(3)
    plain = opt.create("sgd")
    plain.set_learning_rate(3)
    assert (plain.lr, plain.learning_rate) == (3, 3)


def test_the_scheduler_counts_updates():
    sgd = opt.create("sgd", lr_scheduler=PolyScheduler(4, base_lr=1.0, pwr=1))
    assert [float(sgd.hyper([0, 1])[1, 0]) for _ in range(5)] == [0.75, 0.5, 0.25, 0, 0]


# ── Counts ──────────────────────────────────────────────────────────────────────────────────


def test_counts_as_mxnet_counts():
    sgd = opt.create("sgd", begin_num_update=5)
    sgd._update_count(0)
    sgd._update_count([0, 1])
    assert (sgd.num_update, sgd._index_update_count) == (7, {0: 7, 1: 6})
    assert sgd._all_index_update_counts == {0: {0: 7, 1: 6}}


def test_each_device_counts_for_itself():
    sgd = opt.create("sgd")
    sgd._update_count([0, 1])
    sgd._set_current_context(1)
    sgd._update_count(0)
    assert sgd._index_update_count == {0: 1}
    sgd._set_current_context(0)
    sgd._update_count(0)
    assert sgd._all_index_update_counts == {0: {0: 2, 1: 1}, 1: {0: 1}}
    assert sgd.num_update == 2


def test_counts_stay_right_when_read_and_written_in_between():
    adam = opt.create("adam")
    for _ in range(3):
        adam.hyper([0, 1])
    assert adam._index_update_count == {0: 3, 1: 3}
    adam._index_update_count[0] = 10
    adam.hyper([0, 1])
    adam.hyper([1])
    adam.hyper([1, 0])
    assert adam._index_update_count == {0: 12, 1: 6}
    assert adam.num_update == 12
    adam._update_count([0, 0])
    assert adam._index_update_count[0] == 14


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))]
)
def test_an_optimizer_can_be_copied_and_pickled(clone):
    adam = opt.create("adam", beta1=0.5, param_idx2name=NAMES)
    adam.hyper([0])
    again = clone(adam)
    assert (again.beta1, again.num_update, again.idx2name) == (0.5, 1, NAMES)
    again.hyper([0])
    assert again._index_update_count == {0: 2}


def test_host_work_is_small_for_300_parameters():
    names = {i: f"layer{i}_{'bias' if i % 2 else 'weight'}" for i in range(300)}
    adam = opt.create("adam", param_idx2name=names, wd=1e-4)
    indices = list(names)
    adam.hyper(indices)
    work = calls(lambda: (adam.hyper(indices), adam.tree_rule(tuple(names.values()))))
    assert work < len(names) / 2  # and not some for each


# ── Making ──────────────────────────────────────────────────────────────────────────────────


def test_creating():
    assert type(opt.create("SGD")) is opt.SGD
    assert type(opt.Optimizer.create_optimizer("ccsgd", momentum=0.5)) is opt.ccSGD
    assert type(opt.create("groupadagrad")) is opt.contrib.GroupAdaGrad
    sgd = opt.SGD()
    assert opt.create(sgd) is sgd


def test_an_unknown_name_lists_the_near_ones():
    with pytest.raises(NameNotFoundError, match="Did you mean 'adam'"):
        opt.create("adan")
    with pytest.raises(ValueError, match="sgd"):
        opt.create("bogus")
    with pytest.raises(ParameterError, match="expected a registered name"):
        opt.create(3)


def test_an_unknown_parameter_is_named():
    with pytest.raises(TypeError, match=r"Adam: no parameter 'beta_1'. Did you mean 'beta1'"):
        opt.create("adam", beta_1=0.5)

    class Own(opt.SGD):
        pass

    with pytest.raises(TypeError, match=r"^Own: no parameter 'rate'"):
        Own(rate=0.5)


def test_bad_names():
    with pytest.raises(AssertionError, match="param_idx2name"):
        opt.create("sgd", param_idx2name=3)


def test_registering_one_of_your_own():
    @opt.register
    class Halving(opt.Optimizer):
        def create_state(self, index, weight):
            return nd.zeros(weight.shape, dtype=weight.dtype)

        def update(self, index, weight, grad, state):
            assert weight.dtype == np.float32
            self._update_count(index)
            state += grad
            weight[:] = weight / 2

    try:
        halving = opt.create("halving", multi_precision=True)
        assert halving.tree_rule() is None
        updater = opt.get_updater(halving)
        weight = nd.ones((2,), dtype="float16")
        updater(0, nd.ones((2,), dtype="float16"), weight)
        updater([0, 1], [nd.ones((2,))] * 2, [weight, nd.ones((2,))])
        assert weight.asnumpy().tolist() == [0.25, 0.25]
        master, state = updater.states[0]
        assert (master.dtype, state.asnumpy().tolist()) == (np.float32, [2, 2])
        assert halving._index_update_count == {0: 2, 1: 1}
    finally:
        del opt.Optimizer.opt_registry["halving"]


def test_what_the_base_class_cannot_do():
    base = opt.Optimizer()
    assert base.create_state(0, nd.ones((2,))) is None
    with pytest.raises(NotImplementedError, match="update"):
        base.update(0, nd.ones((2,)), nd.ones((2,)), None)
    with pytest.raises(DeprecationWarning, match="set_lr_mult"):
        base.set_lr_scale({})


@pytest.mark.parametrize(
    ("name", "settings", "shapes", "got", "wanted"),
    [
        ("sgd", {"momentum": 0.9}, None, "None", "(2, 3)"),
        ("sgd", {"momentum": 0.9}, ((2, 3), (2, 3)), "((2, 3), (2, 3))", "(2, 3)"),
        ("sgd", {"momentum": 0.9}, (4,), "(4,)", "(2, 3)"),
        ("adam", {}, None, "None", "((2, 3), (2, 3))"),
        ("adam", {}, (2, 3), "(2, 3)", "((2, 3), (2, 3))"),
        ("adagrad", {}, ((2, 3),), "((2, 3),)", "(2, 3)"),
    ],
)
def test_a_state_of_another_optimizer_is_refused(name, settings, shapes, got, wanted):
    def made(shape):
        return nd.zeros(shape) if isinstance(shape[0], int) else tuple(map(nd.zeros, shape))

    state = None if shapes is None else made(shapes)
    with pytest.raises(ParameterError) as caught:
        opt.create(name, **settings).update(0, nd.ones((2, 3)), nd.ones((2, 3)), state)
    assert f"update: got a state of shape {got}, expected {wanted}: " in str(caught.value)


def test_a_gradient_of_another_shape_is_refused():
    updater = opt.get_updater(opt.create("sgd", param_idx2name={0: "fc_weight"}))
    with pytest.raises(ShapeError, match="'fc_weight' of shape \\(2,\\) got a gradient"):
        updater(0, nd.ones((3,)), nd.ones((2,)))
    with pytest.raises(ParameterError, match=r"'fc_weight' .* got 2\.5 for its gradient, expected"):
        updater(0, 2.5, nd.ones((2,)))
    with pytest.raises(ParameterError, match="got 2 indices, 1 gradients and 2 weights"):
        updater([0, 1], [nd.ones((2,))], [nd.ones((2,))] * 2)


def test_group_adagrad_takes_matrices_without_decay():
    with pytest.raises(ShapeError, match="two dimensions"):
        opt.create("groupadagrad").create_state(0, nd.ones((2,)))
    with pytest.raises(NotSupportedError, match="wd"):
        opt.create("groupadagrad", wd=0.1)
    late = opt.create("groupadagrad")
    late.wd = 0.1
    with pytest.raises(NotSupportedError, match="wd"):
        opt.get_updater(late)(0, nd.ones((2, 2)), nd.ones((2, 2)))


def test_lbsgd_knows_its_strategies():
    with pytest.raises(ParameterError, match="warmup_strategy"):
        opt.create("lbsgd", warmup_strategy="x")


def test_lbsgd_copies_16_bit_weights_in_create_state_too():
    """The state is MXNet 1.9.1's, the copy last, and `update` takes it; its figures."""
    made = opt.create("lbsgd", learning_rate=0.1, momentum=0.9, multi_precision=True)
    weight = nd.array([1, 2, 3], dtype="float16")
    velocity, master = state = made.create_state(0, weight)
    assert (velocity.dtype, master.dtype) == (np.float32, np.float32)
    for _ in range(3):
        made.update(0, weight, nd.array([0.5, -1, 0.25], dtype="float16"), state)
    np.testing.assert_allclose(velocity.asnumpy(), [-0.1355, 0.271, -0.06775], 1e-6)
    np.testing.assert_allclose(master.asnumpy(), [0.7195, 2.561, 2.85975], 1e-6)
    assert weight.asnumpy().tolist() == [0.7197265625, 2.560546875, 2.859375]
    first, _ = made.create_state_multi_precision(0, weight)
    assert first.asnumpy().tolist() == weight.asnumpy().tolist()


CALLED = {
    # optimizer: the methods that MXNet 1.9.1 calls in an update of two parameters
    "SGD": [
        ("update_multi_precision", (1, 2), tuple),
        ("_update_impl", (1, 2), tuple),
        ("_update_count", (1, 2)),
        ("_get_lrs", (1, 2)),
        ("_get_wds", (1, 2)),
    ],
    "NAG": [
        (name, index, *kind)
        for index in (1, 2)
        for name, *kind in (
            ("update_multi_precision", mx.nd.NDArray),
            ("_update_impl", mx.nd.NDArray),
            ("_update_count",),
            ("_get_lr",),
            ("_get_wd",),
        )
    ],
    **{
        each: [
            (name, index, *kind)
            for index in (1, 2)
            for name, *kind in (
                ("update_multi_precision", mx.nd.NDArray),
                ("update", mx.nd.NDArray),
                *((name,) for name in called),
            )
        ]
        for each, called in (
            ("Adam", ("_update_count", "_get_lr", "_get_wd")),
            ("AdaDelta", ("_get_wd", "_update_count")),
            ("Ftrl", ("_update_count", "_get_wd", "_get_lr")),
        )
    },
}


def _recording(base, names):
    """A subclass whose methods of these names note their index and the kind of weights."""
    calls = []

    def method(name):
        def call(self, index, *rest, **keywords):
            calls.append((name, index, *(type(w) for w in rest[:1])))
            return getattr(base, name)(self, index, *rest, **keywords)

        return call

    return type("Mine", (base,), {n: method(n) for n in names}), calls


@pytest.mark.parametrize("name", CALLED)
def test_methods_of_a_subclass_are_called_as_in_mxnet(name):
    names = {call[0] for call in CALLED[name]}
    mine, calls = _recording(getattr(mx.optimizer, name), names)
    weights = [mx.nd.ones(2), mx.nd.ones(3)]
    mx.optimizer.Updater(mine())([1, 2], [mx.nd.ones(2), mx.nd.ones(3)], weights)
    assert calls == CALLED[name]
    assert (weights[0].asnumpy() < 1).all()


RATED = [("Adam", "_get_lr", 0.5), ("SGD", "_get_lr", 0.99), ("SGD", "_get_lrs", 0.5),
         ("LBSGD", "_get_lr", 0.5)]  # fmt: skip


@pytest.mark.parametrize(("name", "method", "want"), RATED)
def test_rates_of_a_subclass(name, method, want):
    """SGD reads ``_get_lrs`` only."""
    own = {"_get_lr": lambda self, i: 0.5, "_get_lrs": lambda self, i: [0.5] * len(i)}
    mine = type("Mine", (getattr(mx.optimizer, name),), {method: own[method]})
    weight = mx.nd.ones(1)
    mx.optimizer.Updater(mine(learning_rate=0.01))(0, mx.nd.ones(1), weight)
    assert weight.asscalar() == pytest.approx(want, abs=1e-4)


def test_an_update_that_is_not_called_is_mentioned():
    class Mine(mx.optimizer.SGD):
        def update(self, index, weight, grad, state):
            raise RuntimeError

    with pytest.warns(UserWarning, match="override that"):
        mx.optimizer.Updater(Mine())(0, mx.nd.ones(1), mx.nd.ones(1))


def test_half_weights_of_a_subclass_with_its_own_state():
    class Mine(mx.optimizer.SGD):
        def create_state(self, index, weight):
            return super().create_state(index, weight)

    weight = mx.nd.ones(2, dtype="float16")
    update = mx.optimizer.Updater(Mine(learning_rate=0.5, momentum=0.9, multi_precision=True))
    update(0, mx.nd.ones(2, dtype="float16"), weight)
    assert weight.asnumpy().tolist() == [0.5, 0.5]
    assert [s.dtype.__name__ for s in update.states[0]] == ["float32", "float32"]


def test_an_update_that_fails_is_not_counted():
    made = mx.optimizer.create("sgd")
    made.hyper([0])
    made.rescale_grad = "half"
    with pytest.raises(ValueError, match="half"):
        made.hyper([0])
    assert made.num_update == 1


def test_the_table_of_a_step_is_the_one_before_until_something_changes():
    sgd = mx.optimizer.SGD(learning_rate=0.5, momentum=0.9, wd=0.25, param_idx2name={0: "a_weight"})
    sgd.hyper((0,))
    table = sgd.hyper((0,))
    assert sgd.hyper((0,)) is table
    assert sgd.num_update == 3
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0
    changes = [
        lambda: setattr(sgd, "lr", 0.75),
        lambda: setattr(sgd, "wd", 0.5),
        lambda: setattr(sgd, "rescale_grad", 2.0),
        lambda: sgd.lr_mult.update({0: 2.0}),
        lambda: sgd.wd_mult.update({0: 4.0}),
        lambda: setattr(sgd, "momentum", 0.5),
    ]
    seen, high = [table.tolist()], float(np.float32(0.9))
    for change in changes:
        change()
        seen.append(sgd.hyper((0,)).tolist())
    assert seen == [
        [[0.5, 0.25, 1.0, high]], [[0.75, 0.25, 1.0, high]], [[0.75, 0.5, 1.0, high]],
        [[0.75, 0.5, 2.0, high]], [[1.5, 0.5, 2.0, high]], [[1.5, 2.0, 2.0, high]],
        [[1.5, 2.0, 2.0, 0.5]],
    ]  # fmt: skip
    adam = mx.optimizer.Adam()
    assert adam.hyper((0,)).tolist() != adam.hyper((0,)).tolist()


def test_a_subclass_may_change_the_table_of_its_base():
    class Halved(mx.optimizer.SGD):
        def hyper(self, indices):
            table = super().hyper(indices)
            table[:, 0] *= 0.5
            return table

    optimizer = Halved(learning_rate=0.4)
    for _ in range(2):
        assert optimizer.hyper([0])[0, 0] == np.float32(0.2)
    net = mx.sym.broadcast_add(mx.sym.var("data"), mx.sym.var("a_weight", shape=(1, 2)))
    module = mx.mod.Module(mx.sym.MakeLoss(net, name="loss"), label_names=[])
    made = Halved(lr_scheduler=Counting(), rescale_grad=0.5)
    data = mx.io.NDArrayIter(np.zeros((4, 2), "f"), batch_size=2)
    one = mx.init.One()
    module.fit(data, num_epoch=1, optimizer=made, eval_metric=mx.metric.Loss(), initializer=one)
    module.forward_backward(mx.io.DataBatch([nd.zeros((2, 2))]))
    module.get_outputs()[0].asnumpy()
    module.update()
    assert module.get_params()[0]["a_weight"].asnumpy().tolist() == [[1 - 3 * 0.25] * 2]
    assert made.lr_scheduler.calls == [1, 2, 3]


class Counting(LRScheduler):
    """A schedule of a user's own, which may raise at a call."""

    def __init__(self, raises_at=None):
        super().__init__()
        self.calls, self.raises_at = [], raises_at

    def __call__(self, num_update):
        self.calls.append(num_update)
        if len(self.calls) == self.raises_at:
            raise RuntimeError("of the user")
        return 0.5


class OneByOne(mx.optimizer.Optimizer):
    """An optimizer of a user's own, which is called for each parameter."""

    def update(self, index, weight, grad, state):
        self._update_count(index)
        weight -= self._get_lr(index) * grad


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize(
    ("kind", "kvstore", "at"),
    [
        (opt.SGD, None, 4), (opt.SGD, "local", 9), (opt.Adam, None, 9), (OneByOne, None, 9),
        (opt.LARS, None, 4),
    ],
)  # fmt: skip
def test_an_update_whose_schedule_raises_in_a_later_call_changes_nothing(kind, kvstore, at, read):
    net = mx.sym.var("data")
    for which in "abcdef":
        net = mx.sym.broadcast_add(net, mx.sym.var(which + "_weight", shape=(1, 2)))
    module = mx.mod.Module(mx.sym.MakeLoss(net), label_names=[])
    module.bind([("data", (2, 2))])
    module.init_params(mx.init.One())
    made = kind(lr_scheduler=Counting(at), rescale_grad=0.5)
    module.init_optimizer(kvstore and mx.kv.create(kvstore), made)

    def update():
        module.forward_backward(mx.io.DataBatch([nd.zeros((2, 2))]))
        if read:
            module.get_outputs()[0].asnumpy()
        module.update()
        return {n: w.asnumpy().tolist() for n, w in module.get_params()[0].items()}

    before = update()
    counts, noted = made._index_update_count, getattr(made, "_cur_update", None)
    with pytest.raises(RuntimeError, match="of the user"):
        update()
    assert {n: w.asnumpy().tolist() for n, w in module.get_params()[0].items()} == before
    assert made.num_update == 1 and set(counts.values()) == {1}
    assert made._index_update_count is counts
    assert getattr(made, "_cur_update", None) == noted
    update()
    assert made.num_update == 2 and set(made._index_update_count.values()) == {2}


def test_a_schedule_is_called_once_for_several_parameters():
    calls = []

    class Counting(LRScheduler):
        def __call__(self, num_update):
            calls.append(num_update)
            return 0.5

    optimizer = mx.optimizer.SGD(lr_scheduler=Counting())
    optimizer.set_lr_mult({1: 2.0})
    assert optimizer._get_lrs([0, 1, 2]) == [0.5, 1.0, 0.5]
    assert calls == [0]


def test_counts_that_are_restored_are_as_uneven_as_before():
    counts = UpdateCounts(0)
    counts.add((1,))
    counts.add((0, 1))
    before = counts.copy()
    counts.add((2,))
    counts.restore(before)
    assert counts.uneven


@pytest.mark.parametrize("name", ["adadelta", "adagrad", "dcasgd", "groupadagrad", "nadam", "sgld"])
def test_a_clip_of_zero_stops_what_mxnet_clips_in_python(name):
    weight, made = mx.nd.ones((1, 1)), opt.create(name, learning_rate=1e-6, clip_gradient=0)
    made.update(0, weight, mx.nd.array([[1e6]]), made.create_state(0, weight))
    assert abs(weight.asscalar() - 1) < 0.1


def _trained(optimizer):
    """The weight after three steps of a module, which are one compiled program each if they can."""
    net = mx.sym.broadcast_mul(mx.sym.var("data"), mx.sym.var("a_weight", shape=(1, 2)))
    module = mx.mod.Module(mx.sym.MakeLoss(net, name="loss"), label_names=[])
    data = mx.io.NDArrayIter(np.ones((6, 2), "f"), batch_size=2)
    module.fit(
        data, num_epoch=1, eval_metric=mx.metric.Loss(), initializer=mx.init.One(), kvstore=None,
        optimizer=optimizer,
    )  # fmt: skip
    return module.get_params()[0]["a_weight"].asnumpy().tolist()


def _times(factor):
    def of(self, index, weight, grad, state, **rest):
        several = isinstance(grad, list | tuple)
        grad = [g * factor for g in grad] if several else grad * factor
        return type(self).given(self, index, weight, grad, state, **rest)

    return of


REPLACED = [
    ("SGD", "update_multi_precision", _times(2)),
    ("SGD", "_update_impl", _times(3)),
    ("SGD", "_get_lrs", lambda self, indices: [0.25] * len(indices)),
    ("SGD", "_update_count", lambda self, index: setattr(self, "lr", self.lr / 2)),
    ("NAG", "_get_lr", lambda self, index: 0.25),
    ("Adam", "update", _times(0)),
    ("Adam", "update_multi_precision", _times(0)),
    ("Adam", "_get_lr", lambda self, index: 0.25),
    ("Adam", "_get_wd", lambda self, index: 0.5),
    ("Signum", "create_state", lambda self, index, weight: weight.copy()),
]


@pytest.mark.parametrize("on", ["class", "object"])
@pytest.mark.parametrize(
    ("name", "method", "function"),
    REPLACED,
    ids=[f"{name}.{method}" for name, method, _ in REPLACED],
)
def test_methods_set_on_a_class_or_an_object_count_as_overridden(
    name, method, function, on, monkeypatch
):
    kind, settings = getattr(opt, name), {"learning_rate": 0.5, "rescale_grad": 0.5}
    given = getattr(kind, method)
    want = _trained(type("Mine", (kind,), {method: function, "given": given})(**settings))
    before = _trained(kind(**settings))
    made = kind(**settings)
    monkeypatch.setattr(kind, "given", given, raising=False)
    if on == "class":
        monkeypatch.setattr(kind, method, function)
    else:
        setattr(made, method, types.MethodType(function, made))
    got = _trained(made)
    monkeypatch.undo()
    assert got == want != before
    assert _trained(kind(**settings)) == before


def test_the_methods_that_are_a_users_are_stored_at_once():
    """As another thread may update in between."""
    sgd, seen = opt.create("sgd"), []

    class Derived(dict):
        def __setitem__(self, name, value):
            super().__setitem__(name, value)
            if not seen:
                seen.append(name)
                sgd.tree_rule()

    sgd._derived = Derived()
    sgd.tree_rule()
    assert seen == ["methods"]


def test_a_rate_set_on_the_base_class_is_called(monkeypatch):
    want = _trained(opt.Adam(learning_rate=0.125, rescale_grad=0.5))
    monkeypatch.setattr(opt.Optimizer, "_get_lr", lambda self, index: 0.125)
    assert _trained(opt.Adam(learning_rate=0.5, rescale_grad=0.5)) == want


def test_a_schedule_set_on_a_class_is_called_for_each_parameter(monkeypatch):
    """As one of a user's own class, which may change with each call."""
    made, calls = opt.Adam(lr_scheduler=FactorScheduler(1)), []
    own = functools.wraps(FactorScheduler.__call__)(lambda self, at: calls.append(at) or 0.5)
    monkeypatch.setattr(FactorScheduler, "__call__", own)
    opt.get_updater(made)([0, 1], [nd.ones(2)] * 2, [nd.ones(2), nd.ones(2)])
    assert calls == [1, 1]
