"""Making metrics, composing them, writing one's own, and what a mistake is answered with."""

import json
import math
import warnings

import jax
import numpy as np
import pytest

from modkit import metric as mm
from modkit import ndarray as nd
from modkit.errors import MXNetError

LABEL = np.array([0, 1, 2, 2, 1, 0], np.float32)
PRED = np.eye(3, dtype=np.float32)[[0, 1, 2, 0, 0, 1]]
OTHER = np.array([1, 0, 0], np.float32)
OTHER_PRED = np.eye(2, dtype=np.float32)[[1, 0, 1]]


def feval(label, pred):
    return float(pred[:, 0].sum() - label.sum())


class Seen(mm.EvalMetric):
    """As people write them: sums by hand, arrays through asnumpy."""

    def __init__(self, scale=1):
        super().__init__("seen", scale=scale)

    def update(self, labels, preds):
        for label, pred in zip(labels, preds, strict=True):
            self.sum_metric += (label.asnumpy() == pred.asnumpy().argmax(1)).sum()
            self.num_inst += label.shape[0]


class Never(mm.Accuracy):
    """Overrides `update` of a metric that can be traced."""

    def update(self, labels, preds):
        super().update(labels, preds)
        self.sum_metric += 1
        self.num_inst += 4


FORMS = [
    ("acc", {}, "accuracy"),
    ("ACCURACY", {"name": "top1"}, "top1"),
    ("top_k_acc", {"top_k": 3}, "top_k_accuracy_3"),
    (mm.MAE, {}, "mae"),
    (mm.MAE(), {}, "mae"),
    (feval, {}, "feval"),
    (feval, {"name": "mine"}, "mine"),
    (lambda _l, _p: 0, {}, "custom(<lambda>)"),
    ({"metric": "ce", "eps": 0.5}, {}, "cross-entropy"),
    ('["ce", {"eps": 0.5}]', {}, "cross-entropy"),
    (["acc", feval, mm.F1(), ["mae", "mse"]], {}, ["accuracy", "feval", "f1", "mae", "mse"]),
    (("acc",), {}, ["accuracy"]),
    (["top_k_accuracy"], {"top_k": 2}, ["top_k_accuracy_2"]),
]


@pytest.mark.parametrize(
    ("metric", "kwargs", "name"), FORMS, ids=lambda x: str(x).split(" at 0x")[0][:30]
)
def test_create(metric, kwargs, name):
    assert mm.create(metric, **kwargs).get()[0] == name


def test_create_returns_an_instance_as_it_is():
    metric = mm.Accuracy()
    assert mm.create(metric) is metric


NAMES = [
    ("acc", mm.Accuracy), ("accuracy", mm.Accuracy), ("topkaccuracy", mm.TopKAccuracy),
    ("f1", mm.F1), ("mcc", mm.MCC), ("pcc", mm.PCC), ("perplexity", mm.Perplexity),
    ("mae", mm.MAE), ("mse", mm.MSE), ("rmse", mm.RMSE), ("ce", mm.CrossEntropy),
    ("crossentropy", mm.CrossEntropy), ("nll_loss", mm.NegativeLogLikelihood),
    ("negativeloglikelihood", mm.NegativeLogLikelihood), ("pearsonr", mm.PearsonCorrelation),
    ("pearsoncorrelation", mm.PearsonCorrelation), ("loss", mm.Loss), ("torch", mm.Torch),
    ("caffe", mm.Caffe), ("composite", mm.CompositeEvalMetric),
    ("compositeevalmetric", mm.CompositeEvalMetric),
]  # fmt: skip
NEEDED = {mm.TopKAccuracy: {"top_k": 2}, mm.Perplexity: {"ignore_label": None}}


@pytest.mark.parametrize(("name", "kind"), NAMES)
def test_names(name, kind):
    assert type(mm.create(name, **NEEDED.get(kind, {}))) is kind


MISTAKES = [
    ("unknown name", lambda: mm.create("acuracy"), ValueError, "'accuracy'"),
    ("not a metric", lambda: mm.create(3), ValueError, "got 3"),
    ("nothing", lambda: mm.create(None), ValueError, "got None"),
    ("instance and more", lambda: mm.create(mm.MAE(), name="x"), ValueError, "no further"),
    ("bad argument", lambda: mm.create("acc", tok=1), TypeError, "tok"),
    ("top 1", lambda: mm.TopKAccuracy(1), ValueError, "use Accuracy"),
    ("average", lambda: mm.F1(average="weighted"), ValueError, "'macro' or 'micro'"),
    ("no average", lambda: mm.MCC(average=None), ValueError, "'macro' or 'micro'"),
    ("no such metric", lambda: mm.create(["acc"]).get_metric(3), ValueError, "out of range"),
    ("config of a function", lambda: mm.create(feval).get_config(), NotImplementedError, "feval"),
    ("no update", lambda: mm.EvalMetric("x").update([], []), NotImplementedError, "update"),
    ("absorb", lambda: mm.EvalMetric("x").absorb(()), NotImplementedError, "fused"),
    ("lists", lambda: mm.Accuracy().update([LABEL] * 2, [PRED]), ValueError, "labels 2"),
    ("sizes", lambda: mm.Accuracy().update([LABEL], [PRED[:4]]), ValueError, r"\(4, 3\)"),
    ("axis", lambda: mm.Accuracy(axis=2).update([LABEL], [PRED]), ValueError, "axis 2"),
    ("no labels", lambda: mm.Accuracy().update(None, [PRED]), TypeError, "NoneType"),
    ("too few classes", lambda: mm.TopKAccuracy(5).update([LABEL], [PRED]), ValueError, "top_k"),
    ("top cube", lambda: mm.TopKAccuracy(2).update([LABEL], [PRED[None]]), ValueError, "shape"),
    ("top sizes", lambda: mm.TopKAccuracy(2).update([LABEL], [PRED[:4]]), ValueError, "4 outputs"),
    ("f1 vector", lambda: mm.F1().update([LABEL % 2], [LABEL]), ValueError, r"expected \(N, C\)"),
    ("f1 sizes", lambda: mm.F1().update([LABEL % 2], [PRED[:4]]), ValueError, "4 outputs"),
    ("pcc sizes", lambda: mm.PCC().update([LABEL], [PRED[:4]]), ValueError, "4 outputs"),
    ("ce sizes", lambda: mm.CrossEntropy().update([LABEL], [PRED[:4]]), ValueError, "cross-ent"),
    ("ce vector", lambda: mm.CrossEntropy().update([LABEL], [LABEL]), ValueError, "expected"),
    ("mae", lambda: mm.MAE().update([LABEL], [PRED[:4, 0]]), ValueError, "do not fit"),
    ("pearson", lambda: mm.PearsonCorrelation().update([LABEL], [PRED]), ValueError, "shape"),
    ("perplexity", lambda: mm.Perplexity(None).update([LABEL], [PRED[:4]]), ValueError, "fit"),
    ("names", lambda: mm.Accuracy(output_names=["ab"]).update_dict({"l": LABEL}, {"abc": PRED}),
     KeyError, "'ab' is not there. Did you mean 'abc'"),
    ("negative", lambda: _read(mm.PCC(), -LABEL, PRED), IndexError, "negative"),
    ("register", lambda: mm.register(3), TypeError, "EvalMetric"),
]  # fmt: skip


def _read(metric, label, pred):
    metric.update([label], [pred])
    return metric.get()


@pytest.mark.parametrize(("call", "kind", "says"), [m[1:] for m in MISTAKES],
                         ids=[m[0] for m in MISTAKES])  # fmt: skip
def test_mistakes(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


def test_a_metric_of_ones_own():
    metric = Seen()
    metric.update([nd.array(LABEL)], [nd.array(PRED)])
    assert metric.get() == ("seen", 0.5)
    assert metric.get_global() == ("seen", 0.5)
    assert metric.get_config() == {
        "scale": 1, "metric": "Seen", "name": "seen", "output_names": None, "label_names": None,
    }  # fmt: skip
    assert metric.fused() is None
    assert mm.create(["acc", metric]).fused() is None
    metric.reset_local()
    assert math.isnan(metric.get()[1])


def test_a_metric_that_overrides_one_of_ours():
    metric = Never()
    assert metric.fused() is None
    metric.update([LABEL], [PRED])
    assert (metric.sum_metric, metric.num_inst) == (4, 10)
    assert metric.get_global() == ("accuracy", 0.5)
    metric.num_inst = 8
    assert metric.get() == ("accuracy", 0.5)


def test_registering():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mm.register(Seen) is Seen
    assert isinstance(mm.create("SEEN", scale=2), Seen)
    mm.alias("seen2")(Seen)
    assert isinstance(mm.create("seen2"), Seen)


def test_lists_and_single_arrays():
    single, listed = mm.Accuracy(), mm.Accuracy()
    single.update(nd.array(LABEL), nd.array(PRED))
    listed.update((nd.array(LABEL),), (nd.array(PRED),))
    assert single.get() == listed.get() == ("accuracy", 0.5)
    loss = mm.Loss()
    loss.update(None, nd.array(PRED))
    loss.update([], [nd.array(PRED)])
    assert loss.get() == ("loss", 1 / 3)


def test_check_label_shapes():
    array = nd.array([1, 2])
    assert mm.check_label_shapes(array, array)[1] is array
    wrapped = mm.check_label_shapes(array, array, wrap=True)
    assert wrapped[0][0] is array
    assert wrapped[1][0] is array
    mm.check_label_shapes(array, nd.array([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match=r"\(2,\) does not match .* \(2, 2\)"):
        mm.check_label_shapes(array, nd.array([[1, 2], [3, 4]]), shape=True)
    with pytest.raises(ValueError, match=r"1 does not match .* 2"):
        mm.check_label_shapes([1], [1, 2])


CUSTOM = [
    (lambda _l, _p: 2.0, False, [LABEL, LABEL], [PRED, PRED], 4, 2),
    (lambda _l, _p: (3.0, 4), False, [LABEL, LABEL], [PRED, PRED], 6, 8),
    (lambda _l, _p: (3.0, 4), True, [LABEL], [PRED, PRED], 3, 4),
    (lambda l, p: (l.sum(), len(p)), False, LABEL, PRED, 6, 6),
]


@pytest.mark.parametrize(("function", "extra", "labels", "preds", "total", "count"), CUSTOM)
def test_custom(function, extra, labels, preds, total, count):
    metric = mm.np(function, name="n", allow_extra_outputs=extra)
    metric.update(labels, preds)
    assert (metric.sum_metric, metric.num_inst) == (total, count)
    assert metric.get() == metric.get_global() == ("n", total / count)
    assert metric.fused() is None


def test_custom_takes_its_functions_name():
    assert mm.np(feval).name == "feval"
    assert mm.CustomMetric(feval).name == "feval"
    with pytest.raises(ValueError, match="does not match"):
        mm.np(feval).update([LABEL], [PRED, PRED])


def test_composite():
    metric = mm.create(["acc", "ce"])
    metric.add("mae")
    assert isinstance(metric.get_metric(1), mm.CrossEntropy)
    metric = mm.create(["acc", "ce"])
    metric.update([LABEL], [np.clip(PRED, 0.1, 0.8)])
    names, values = metric.get()
    assert names == ["accuracy", "cross-entropy"]
    assert values[0] == 0.5
    assert metric.get_name_value() == list(zip(names, values, strict=True))
    assert str(metric) == f"EvalMetric: {dict(zip(names, values, strict=True))}"
    metric.reset_local()
    assert np.isnan(metric.get()[1]).all()
    assert metric.get_global() == (names, values)
    assert metric.get_global_name_value() == list(zip(names, values, strict=True))
    again = mm.create(json.dumps(metric.get_config()))
    assert again.get_config() == metric.get_config()
    metric.reset()
    assert np.isnan(metric.get_global()[1]).all()


BY_NAME = [
    lambda: mm.Accuracy(),
    lambda: mm.Accuracy(output_names=["a"], label_names=["x"]),
    lambda: mm.Accuracy(output_names="b", label_names="y"),
    lambda: mm.Accuracy(output_names=["b", "a"], label_names=["y", "x"]),
    lambda: mm.create(["acc", "f1"], output_names=["b"], label_names=["y"]),
    lambda: mm.CompositeEvalMetric(["acc", "mae"], output_names=["a"], label_names=["x"]),
    lambda: mm.CompositeEvalMetric(
        [mm.Accuracy(output_names=["b"], label_names=["y"]), mm.Loss()], label_names=["y"]
    ),
]


@pytest.mark.parametrize("make", BY_NAME)
def test_labels_and_outputs_by_name(make):
    eager, traced, direct = make(), make(), make()
    labels, preds = {"x": LABEL, "y": OTHER}, {"a": PRED, "b": OTHER_PRED}
    eager.update_dict(labels, preds)
    step = traced.fused(list(labels), list(preds))
    assert step == direct.fused(list(labels), list(preds))
    traced.absorb(jax.jit(step)(list(labels.values()), list(preds.values())))
    assert traced.get()[1] == pytest.approx(eager.get()[1], rel=1e-6)


def test_choosing_by_name_gives_what_was_named():
    labels, preds = {"left": LABEL, "right": OTHER}, {"one": PRED, "two": OTHER_PRED}
    for outputs, inputs in ((["two"], ["right"]), ("two", "right")):
        metric = mm.Accuracy(output_names=outputs, label_names=inputs)
        metric.update_dict(labels, preds)
        assert metric.get()[1] == 2 / 3
        traced = mm.Accuracy(output_names=outputs, label_names=inputs)
        traced.absorb(traced.fused([*labels], [*preds])([*labels.values()], [*preds.values()]))
        assert traced.get()[1] == 2 / 3
    assert metric.fused() is None
    assert metric.fused(["left"], ["two"]) is None
    assert mm.CompositeEvalMetric(["acc"], label_names=["x"]).fused() is None
    assert mm.create([metric]).fused() is None


def test_traced_forms_refuse_what_update_refuses():
    step = mm.Accuracy().fused()
    with pytest.raises(ValueError, match="labels 2"):
        step([LABEL, LABEL], [PRED])


def test_errors_are_ours():
    with pytest.raises(MXNetError):
        mm.create("nonesuch")
