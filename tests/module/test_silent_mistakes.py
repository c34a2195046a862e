"""Mistakes that MXNet 1.9.1 passes over in silence are warnings; where it crashes, errors."""

import warnings

import numpy as np
import pytest

import modkit as mx
from modkit.errors import ParameterError

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
    with pytest.warns(UserWarning, match="begin_epoch=3 is larger than num_epoch=1"):
        module.fit(batches(), begin_epoch=3, num_epoch=1)
    module.fit(batches(), begin_epoch=1, num_epoch=1)  # a training that was resumed at its end


@pytest.mark.parametrize("context", [[], (), [None], ["cpu"]])
def test_contexts_that_are_none(context):
    with pytest.raises(ParameterError, match="expected a Context"):
        mx.mod.Module(net(), context=context)
