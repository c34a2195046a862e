"""Mistakes that MXNet 1.9.1 passes over in silence are warnings; where it crashes, errors."""

import warnings

import numpy as np
import optax
import pytest

import modkit as mx
from modkit.errors import ParameterError, ShapeError

GIVEN = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
EXTRA = {**GIVEN, "fc_wieght": mx.nd.ones(1)}
AUX = {"mean": mx.nd.ones(1)}


class NoBatch(mx.io.DataIter):
    """An iterator at its end."""

    provide_data = (mx.io.DataDesc("data", (4, 3)),)
    provide_label = (mx.io.DataDesc("softmax_label", (4,)),)

    def next(self):
        raise StopIteration


def net():
    fc = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(fc, name="softmax")


def bound(**kwargs):
    module = mx.mod.Module(net(), **kwargs)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    return module


def row():
    """A module in a row of one."""
    module = mx.mod.SequentialModule().add(mx.mod.Module(net()), take_labels=True)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    return module


def batches():
    return mx.io.NDArrayIter(np.ones((8, 3), "float32"), np.zeros(8, "float32"), 4)


@pytest.mark.parametrize("made", [bound, row])
@pytest.mark.parametrize("args, aux", [(EXTRA, {}), (GIVEN, AUX)], ids=["argument", "auxiliary"])
@pytest.mark.parametrize("allow_extra", [False, True])
def test_extra_names_are_a_warning_unless_they_are_allowed(made, args, aux, allow_extra):
    module = made()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        module.init_params(arg_params=args, aux_params=aux, allow_extra=allow_extra)
    name = "fc_wieght" if args is EXTRA else "mean"
    found = [(name in str(w.message), w.filename) for w in seen if w.category is UserWarning]
    assert found == ([] if allow_extra else [(True, __file__)])
    assert sorted(module.get_params()[0]) == ["fc_bias", "fc_weight"]


def test_the_warning_of_extra_names_names_the_callers_line_in_fit_and_set_params():
    module, line = row(), "Leave them out"
    with pytest.warns(UserWarning, match=line) as seen:
        module.set_params(EXTRA, {})
    assert [w.filename for w in seen] == [__file__]
    module = mx.mod.Module(net())
    with pytest.warns(UserWarning, match=line) as seen:
        module.fit(batches(), num_epoch=1, arg_params=EXTRA, allow_missing=True)
    assert [w.filename for w in seen] == [__file__]


def test_extra_names_are_an_error_where_names_may_be_missing_as_in_mxnet():
    module = bound()
    module.init_params(arg_params=GIVEN)
    for args, aux in ((EXTRA, {}), (GIVEN, AUX)):
        with pytest.raises(ParameterError, match="is not in the network"):
            module.set_params(args, aux, allow_missing=True)
        module.set_params(args, aux, allow_missing=True, allow_extra=True)


def test_fit_over_no_batch_is_an_error_in_every_epoch():
    with pytest.raises(ParameterError, match="train_data has no batch"):
        mx.mod.Module(net()).fit(NoBatch(4), num_epoch=1)
    data = batches()
    data.reset = lambda: None
    with pytest.raises(ParameterError, match="reset"):
        mx.mod.Module(net()).fit(data, num_epoch=2)


def test_a_score_over_no_batch_is_nan_and_a_warning():
    module = bound()
    module.init_params()
    with pytest.warns(UserWarning, match="eval_data has no batch"):
        ((name, value),) = module.score(NoBatch(4), "acc")
    assert name == "accuracy" and np.isnan(value)
    ((_, value),) = module.score(batches(), "acc", num_batch=0)  # no warning: nothing was wanted
    assert np.isnan(value)


def test_more_epochs_behind_than_ahead_are_a_warning():
    module = mx.mod.Module(net())
    with pytest.warns(UserWarning, match="begin_epoch=3 and num_epoch=1, so no") as seen:
        module.fit(batches(), begin_epoch=3, num_epoch=1)
    with pytest.warns(UserWarning, match="^fit: num_epoch=-1, so no epoch is trained"):
        module.fit(batches(), num_epoch=-1)
    assert seen[0].filename == __file__
    with pytest.warns(UserWarning, match="^fit: num_epoch=0, so no epoch is trained"):
        module.fit(batches(), num_epoch=0)
    with pytest.warns(UserWarning, match="begin_epoch=1 and num_epoch=1, so no epoch"):
        module.fit(batches(), begin_epoch=1, num_epoch=1)


def test_warnings_of_names_and_of_no_batch_name_the_callers_line():
    with pytest.warns(UserWarning, match="no argument 'lab'") as seen:
        module = mx.mod.Module(net(), label_names=["lab"])
    with pytest.warns(UserWarning, match="bind: label_shapes") as bound:
        mx.mod.Module(net()).bind([("data", (4, 4))], [("softmax_label", (4,)), ("b", (4,))])
    module = mx.mod.Module(net())
    module.fit(batches(), num_epoch=1)
    with pytest.warns(UserWarning, match="init_params") as skipped:
        module.init_params()
    with pytest.warns(UserWarning, match="has no batch") as empty:
        module.score(NoBatch(4), "acc")
    for each in (seen, bound, skipped, empty):
        assert each[0].filename == __file__


def test_no_labels_are_needed_to_predict():
    module = mx.mod.Module(net())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.bind([("data", (4, 4))], for_training=False)
    module.init_params()
    assert module.predict(np.zeros((4, 4), np.float32)).shape[0] == 4
    with pytest.raises(ShapeError, match=r"without labels.* and bind\(\) label_shapes.* 'loss'"):
        module.score((np.zeros((4, 4)), np.zeros(4)), "acc")
    with pytest.warns(UserWarning, match="bind: label_shapes"):
        mx.mod.Module(net()).bind([("data", (4, 4))])


@pytest.mark.parametrize("name", ["learning_rate", "lr_scheduler"])
def test_a_schedule_of_optax_goes_to_its_optimizer(name):
    schedule = optax.linear_schedule(0.1, 0.0, 10)
    with pytest.raises(ParameterError, match=rf"{name}: got .*optax.adam\(schedule\)"):
        mx.optimizer.create("adam", **{name: schedule})


def test_outputs_and_labels_of_different_numbers_are_named():
    metric = mx.metric.create("mse")
    with pytest.raises(ShapeError, match=r"1 does not match .* 2; .*output_names=\['fc_output'\]"):
        metric.update([mx.nd.ones(2)], [mx.nd.ones(2), mx.nd.ones(2)])


@pytest.mark.parametrize("context", [[], (), [None], ["cpu"]])
def test_contexts_that_are_none(context):
    with pytest.raises(ParameterError, match="expected a Context"):
        mx.mod.Module(net(), context=context)


def test_an_update_before_any_backward_is_a_warning():
    module = bound()
    module.init_params()
    module.init_optimizer()
    with pytest.warns(UserWarning, match=r"update\(\) before any backward\(\)"):
        module.update()
    module._exec_group.execs[0].grad_dict["fc_weight"][:] = 1  # written by hand
    module.update()
    module.forward_backward(batches().next())
    module.update()


class Counted(mx.callback.Callback):
    """Rates of the updates."""

    def __init__(self):
        self.rates = []

    def on_batch_end(self, run):
        self.rates.append((run.optimizer.num_update, run.learning_rate))


def test_counts_of_updates_that_states_lack_are_set(tmp_path):
    def fit(module, **options):
        seen = Counted()
        schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5)
        rate = {"learning_rate": 0.1, "lr_scheduler": schedule}
        data = options.pop("data", None) or batches()
        module.fit(data, optimizer="adam", optimizer_params=rate, callbacks=seen, **options)
        return seen.rates, module.get_params()[0]["fc_weight"].asnumpy()

    prefix = str(tmp_path / "net")
    mx.random.seed(1)
    whole, weights = fit(mx.mod.Module(net()), num_epoch=3)
    mx.random.seed(1)
    module = mx.mod.Module(net())
    fit(module, num_epoch=2)
    module.save_checkpoint(prefix, 2, save_optimizer_states=True)

    def again(**options):
        module = mx.mod.Module.load(prefix, 2, load_optimizer_states=True)
        return fit(module, begin_epoch=2, num_epoch=3, **options)

    rates, found = again()
    assert rates == whole[4:]
    np.testing.assert_allclose(found, weights, rtol=1e-6)
    with pytest.warns(UserWarning, match=r"begin_epoch=2: the \.states file has no update counts"):
        rates, _ = again(data=list(batches()))
    assert rates[0][0] == 1


def test_a_second_fit_names_what_of_its_optimizer_has_no_effect(caplog):
    """MXNet 1.9.1 keeps rescale_grad of the first batch size, too, and is silent about it."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))

    def said(size, **options):
        caplog.clear()
        batches = mx.io.NDArrayIter(np.zeros((100, 4), "float32"), np.zeros(100, "float32"), size)
        module.fit(batches, num_epoch=1, **options)
        (line,) = [t for t in caplog.messages if "optimizer already" in t] or [None]
        return line

    begin = "optimizer already initialized, ignoring..."
    scale = (
        " rescale_grad stays 0.02, of the first batch size; one over the present one, 5, would be "
        "0.2."
    )
    other = " The optimizer that is given (adam) has no effect; SGD stays."
    again = " init_optimizer(force_init=True, optimizer_params={'rescale_grad': 0.2, ...}) makes"
    assert said(50) is None
    assert said(50) == begin
    assert said(5) == f"{begin}{scale}{again} a new one."
    assert said(5, optimizer="adam") == f"{begin}{other}{scale}{again} a new one."
    plain = f"{begin}{other} init_optimizer(force_init=True) makes a new one."
    assert said(50, optimizer="adam") == plain
    rate = " learning_rate=5 has no effect; 0.01 stays."
    params = {"learning_rate": 5, "momentum": 0.0, "wd": 0}
    assert said(50, optimizer_params=params) == plain.replace(other, rate)
    assert said(50, optimizer_params={"learning_rate": 0.01, "wd": 0.0}) == begin
    assert module._optimizer.rescale_grad == 0.02
    params = {"rescale_grad": 0.2, "learning_rate": 0.1}
    module.init_optimizer(force_init=True, optimizer_params=params)
    assert said(5) == begin


@pytest.mark.parametrize("optimizer", [optax.sgd(0.1), mx.optimizer.SGD(rescale_grad=1 / 4)])
def test_parameters_of_an_optimizer_that_is_made_are_a_warning(optimizer):
    module = mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.Variable("data"), name="softmax"))
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    module.init_params()
    module.init_optimizer(optimizer=optimizer, force_init=True)  # no warning: the default
    with pytest.warns(UserWarning, match=r"'learning_rate': 0\.2} has no effect") as seen:
        module.init_optimizer("local", optimizer, {"learning_rate": 0.2}, force_init=True)
    assert seen[0].filename == __file__


def test_warnings_of_labels_name_the_callers_line():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3)
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    for labels in (np.full(4, 9.0), np.eye(3)[[0, 1, 2, 0]]):
        batches = mx.io.NDArrayIter(np.zeros((4, 4), "float32"), labels, 4)
        with pytest.warns(UserWarning, match="of the first batch") as seen:
            mx.mod.Module(net).fit(batches, eval_metric="loss", num_epoch=1)
        assert seen[0].filename == __file__


def test_the_warning_of_no_store_names_the_callers_line():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), context=[mx.cpu(0)] * 2)
    with pytest.warns(UserWarning, match="kvstore=None with 2 contexts") as seen:
        module.fit(mx.io.NDArrayIter(np.zeros((4, 4)), np.zeros(4), 4), kvstore=None, num_epoch=1)
    assert seen[0].filename == __file__


@pytest.mark.parametrize(
    ("options", "warns"),
    [
        ({}, False),
        ({"initializer": mx.init.One()}, False),  # as programs do that continue a training
        ({"arg_params": {"fc_bias": mx.nd.ones((2,))}}, True),
    ],
)
def test_a_second_fit_warns_of_values_that_it_does_not_use(options, warns):
    module = mx.mod.Module(net())
    batches = mx.io.NDArrayIter(np.zeros((4, 3), "float32"), np.zeros(4, "float32"), 2)
    module.fit(batches, num_epoch=1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        module.fit(batches, num_epoch=1, **options)
    assert [str(w.message).startswith("Parameters already initialized") for w in seen] == (
        [True] * warns
    )
