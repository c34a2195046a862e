"""Every metric against what MXNet showed for the same batches, and its form in a compiled step."""

import copy
import json
import math
from pathlib import Path

import jax
import numpy as np
import pytest

import modkit.metric
import modkit.metric.statistics
from modkit import ndarray as nd
from modkit.metric.composite import known_names
from modkit.registry import get_registry
from tests.metric.cases import CASES, run

RECORDED = json.loads(
    (Path(__file__).parents[1] / "reference" / "metrics.json").read_text(encoding="utf-8")
)["shown"]
RTOL = 2e-5

DISTINCT = list({(c.metric, *c.kwargs): c for c in reversed(CASES)}.values())
"""One case for each metric and each set of its arguments."""

each = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
distinct = pytest.mark.parametrize("case", DISTINCT, ids=lambda c: c.name)


def make(case):
    return modkit.metric.create(case.metric, **case.kwargs)


def wrap(value):
    return nd.array(value, dtype=value.dtype)


def on_device(value):
    return wrap(np.asarray(value)).to_jax()


def check(shown, expected, *, only_local):
    assert len(shown) == len(expected)
    for step, (got, wanted) in enumerate(zip(shown, expected, strict=True)):
        assert got[0][0] == wanted[0][0]
        tolerance = 2e-3 if "float16" in str(wanted) else RTOL
        np.testing.assert_allclose(got[0][1], wanted[0][1], tolerance, 1e-9, err_msg=f"get {step}")
        if not only_local:
            np.testing.assert_allclose(
                got[1][1], wanted[1][1], tolerance, 1e-9, err_msg=f"get_global {step}"
            )
        assert got[2] == wanted[2], f"num_inst {step}"


@each
def test_it_shows_what_mxnet_shows(case):
    micro = "micro" in case.name and case.metric == "pearsonr"
    steps = slice(4) if micro else slice(None)  # MXNet's micro average outlives reset_local
    shown = run(make(case), case, wrap)
    check(shown[steps], RECORDED[case.name][steps], only_local=bool(case.global_differs))


@distinct
@pytest.mark.parametrize("kind", [np.asarray, on_device])
def test_arrays_of_other_kinds_do_as_well(case, kind):
    metric = make(case)
    shown = run(metric, case, kind)[-2][0][1]
    assert shown == pytest.approx(run(metric, case, wrap)[-2][0][1], rel=1e-5, nan_ok=True)


@distinct
def test_arrays_on_the_host_compile_nothing(case, monkeypatch):
    monkeypatch.setattr(modkit.metric.traced, "_apply", None)
    labels, preds = [[wrap(x) for x in arrays] for arrays in next(iter(case.batches()))]
    metric = make(case)
    metric.update(labels, preds)
    assert all(x._cell.is_on_host for x in (*labels, *preds))
    assert not metric._pending


@distinct
def test_the_traced_form_gives_the_same(case):
    eager, traced = make(case), make(case)
    step = traced.fused()
    compiled = jax.jit(step)
    assert hash(step) == hash(make(case).fused())
    assert step == make(case).fused()
    for labels, preds in [*case.batches()][:2]:
        eager.update([wrap(x) for x in labels], [wrap(x) for x in preds])
        traced.absorb(compiled(labels, preds))
    assert traced.get()[1] == pytest.approx(eager.get()[1], rel=1e-6, nan_ok=True)
    assert traced.get_global()[1] == pytest.approx(eager.get_global()[1], rel=1e-6, nan_ok=True)


@distinct
def test_replicas_are_updates_of_their_own(case):
    labels, preds = next(case.batches())
    replicas = [(labels, preds), ([x[::-1] for x in labels], preds)]
    one, two = make(case), make(case)
    together = jax.tree.map(lambda *x: np.stack(x), *replicas)
    one.absorb(jax.jit(jax.vmap(one.fused()))(*together), stacked=True)
    for replica in replicas:
        two.update(*replica)
    assert one.get()[1] == pytest.approx(two.get()[1], rel=1e-5, nan_ok=True)
    assert one.num_inst == two.num_inst


@distinct
def test_a_configuration_makes_the_same_metric(case):
    metric = make(case)
    config = metric.get_config()
    again = modkit.metric.create(json.dumps(config))
    assert type(again) is type(metric)
    assert again.get_config() == config
    assert again.statistic == metric.statistic


def test_every_metric_has_a_case():
    tested = {type(make(case)) for case in CASES}
    registered = set(get_registry(modkit.metric.EvalMetric).values())
    own = {k for k in registered if k.__module__.startswith("modkit.")}
    assert own - tested == {modkit.metric.CompositeEvalMetric, modkit.metric.CustomMetric}


class Unread:
    """Stands for an array on the device; reading it is seen."""

    def __init__(self, value, log):
        self.value, self.log, self.nbytes = value, log, 4

    def __array__(self, *args, **kwargs):
        self.log.append(self)
        return np.asarray(self.value)


def absorb(metric, count, log):
    for _ in range(count):
        parts = [Unread(np.int32(v), log) for v in (3, 4, 0)]
        metric.absorb((modkit.metric.statistics.Mean(*parts),))


def test_update_reads_nothing_until_many_are_waiting(monkeypatch):
    log, metric = [], modkit.metric.Accuracy()
    monkeypatch.setattr(jax, "device_get", lambda tree: jax.tree.map(np.asarray, tree))
    absorb(metric, 255, log)
    assert not log
    absorb(metric, 1, log)
    assert len(log) == 3 * (256 - 8)
    assert metric.get() == ("accuracy", 0.75)
    assert len(log) == 3 * 256
    assert (metric.sum_metric, metric.num_inst) == (768, 1024)


def test_large_entries_are_folded_by_their_size(monkeypatch):
    log, metric = [], modkit.metric.Accuracy()
    monkeypatch.setattr(jax, "device_get", lambda tree: jax.tree.map(np.asarray, tree))
    monkeypatch.setattr(modkit.metric.traced, "FOLD_BYTES", 100)
    absorb(metric, 9, log)
    assert log
    assert metric.num_inst == 36


def test_totals_do_not_stop_growing():
    metric = modkit.metric.Loss()
    metric.update(None, [np.full(1, 2.0**24, np.float32)])
    for _ in range(600):
        metric.update(None, [np.ones(1, np.float32)])
    assert metric.sum_metric == 2**24 + 600


def test_reset_forgets_what_is_being_computed():
    metric = modkit.metric.Accuracy()
    metric.update(np.array([1.0]), np.array([[0.0, 1.0]]))
    metric.reset()
    assert math.isnan(metric.get()[1])
    assert math.isnan(metric.get_global()[1])


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("kind", [modkit.metric.F1, modkit.metric.MCC])
def test_more_than_two_labels_raise_at_once(kind, average):
    metric = kind(average=average)
    metric.update(np.array([0, 1, 1.0]), np.eye(2)[[0, 1, 1]])
    for label in (np.array([0, 1, 2.0]), nd.array([0, 1, 2]), nd.array([0, 1, 2]).to_jax()):
        with pytest.raises(ValueError, match="more than two values"):
            metric.update(label, np.eye(3))
    assert metric.get()[1] == 1


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("kind", [modkit.metric.F1, modkit.metric.MCC])
def test_more_than_two_labels_that_are_not_at_hand_raise_when_read(kind, average, monkeypatch):
    monkeypatch.setattr(modkit.metric.classification, "in_host_memory", lambda label: False)
    metric = kind(average=average)
    good = np.array([0, 1, 1.0]), np.eye(2)[[0, 1, 1]]
    metric.update(*map(on_device, good))
    metric.update(*map(on_device, (np.array([0, 1, 2.0]), np.eye(3))))
    metric.update(*good)
    with pytest.raises(ValueError, match="more than two values"):
        metric.get()
    assert metric.get()[1] == 1


@pytest.mark.parametrize("label", [7.0, np.nan])
def test_a_label_outside_raises_at_once_or_when_read(label):
    metric = modkit.metric.CrossEntropy()
    batch = np.array([label, 0]), np.array([[1, 0], [1, 0.0]])
    with pytest.raises(IndexError, match="cross-entropy: 1 label"):
        metric.update(*batch)
    metric.update(*map(on_device, batch))
    with pytest.raises(IndexError, match="cross-entropy: 1 label"):
        metric.get()


@pytest.mark.parametrize("name", ["acc", "perplexity"])
def test_labels_that_int32_does_not_hold_count_alike_on_host_and_device(name):
    label = np.array([np.nan, 3e9, -3e9, 1], np.float32)
    pred = np.array([[0.6, 0.4], [0.3, 0.7], [0.8, 0.2], [0.1, 0.9]], np.float32)
    here, there = [
        modkit.metric.create(name, **{"ignore_label": None} if name == "perplexity" else {})
        for _ in range(2)
    ]
    here.update([wrap(label)], [wrap(pred)])
    there.update([on_device(label)], [on_device(pred)])
    assert here.get()[1] == pytest.approx(there.get()[1], rel=1e-6)


def test_a_micro_pearson_is_that_of_all_samples():
    random = np.random.default_rng(0)
    metric = modkit.metric.PearsonCorrelation(average="micro")
    pairs = [random.normal(100, 1, (2, n)).astype(np.float32) for n in (5, 9, 2)]
    for label, pred in pairs:
        metric.update([label], [pred])
    every = np.corrcoef(*np.concatenate(pairs, axis=1))[0, 1]
    assert metric.get()[1] == pytest.approx(every, rel=1e-4)
    metric.reset_local()
    assert metric.get_global()[1] == pytest.approx(every, rel=1e-4)
    metric.update([pairs[1][0]], [pairs[1][1]])
    assert metric.get()[1] == pytest.approx(np.corrcoef(*pairs[1])[0, 1], rel=1e-4)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_pearson_of_nan_is_nan(average):
    metric = modkit.metric.PearsonCorrelation(average=average)
    metric.update([np.array([0.0, 1.0, 2.0])], [np.array([np.nan, 0.5, 0.1], np.float32)])
    assert math.isnan(metric.get()[1])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: modkit.metric.F1(average="micro"), "_counts"),
        (modkit.metric.PCC, "_matrices"),
        (lambda: modkit.metric.PearsonCorrelation(average="micro"), "_pooled"),
    ],
)
def test_states_name_pools_by_kind(make, name):
    label = np.array([1, 0, 1, 0], np.float32)
    pred = label + np.array([0, 1, 0, 0], np.float32)
    pred = pred if name == "_pooled" else np.eye(3, dtype=np.float32)[pred.astype(int)]
    whole, read, merged = make(), make(), make()
    whole.update([label], [pred])
    state = whole.state_dict()
    state[name] = np.array(state.pop("_pools")) if name != "_pooled" else state.pop("_pools")
    read.load_state_dict(state)
    merged.merge(state)
    for metric in (whole, read, merged):
        metric.update([label[:2]], [pred[:2]])
    assert read.get() == merged.get() == whole.get()
    read.reset_local()
    assert read.get_global() == whole.get_global()


def test_double_precision_is_kept():
    label, pred = np.array([1.0, 1.0]), np.array([1 + 1e-12, 1 + 3e-12])
    metric = modkit.metric.MAE()
    metric.update([nd.array(label, dtype="float64")], [nd.array(pred, dtype="float64")])
    assert metric.get()[1] == pytest.approx(2e-12, rel=1e-3)


@pytest.mark.parametrize("kind", [wrap, on_device])
@pytest.mark.parametrize("axis", (1, -1, 0))
def test_accuracy_is_that_of_the_arg_max_also_of_ties_and_nans(axis, kind):
    random = np.random.default_rng(0)
    pred = random.integers(0, 3, (50, 5, 4)).astype(np.float32)
    pred[random.random(pred.shape) < 0.1] = np.nan
    classes = pred.argmax(axis)
    label = random.integers(-1, pred.shape[axis] + 1, classes.shape)
    label = np.where(random.random(label.shape) < 0.5, label, classes).astype(np.float32)
    metric = modkit.metric.Accuracy(axis=axis)
    metric.update([kind(label)], [kind(pred)])
    assert 0.4 < metric.get()[1] < 1
    assert metric.get()[1] == pytest.approx((label == classes).mean())


def test_one_program_for_equal_metrics(monkeypatch):
    traced = []
    call = modkit.metric.statistics.Hits.__call__

    def counted(self, label, pred):
        traced.append(self)
        return call(self, label, pred)

    monkeypatch.setattr(modkit.metric.statistics.Hits, "__call__", counted)
    for _ in range(3):
        metric = modkit.metric.Accuracy(axis=1)
        for _ in range(3):
            metric.update([np.zeros(77, np.float32)], [on_device(np.zeros((77, 3), np.float32))])
        assert metric.get()[1] == 1
    assert len(traced) == 1


def test_a_loaded_state_takes_the_place_of_pending_updates():
    metric = modkit.metric.Accuracy()
    state = metric.state_dict()
    leave_pending(metric)
    metric.load_state_dict(state)
    assert metric._pending_bytes == metric.num_inst == 0


@pytest.mark.parametrize("name", ["acc", "mcc"])
def test_a_shallow_copy_has_totals_of_its_own(name):
    metric = modkit.metric.create(name)
    leave_pending(metric)
    made = copy.copy(metric)
    leave_pending(made)
    leave_pending(made)
    assert made.num_inst == 3 * metric.num_inst
    made.reset_local()
    assert metric.get() == metric.get_global()


def leave_pending(metric):
    """Leave an update pending."""
    metric.absorb(metric.fused()([np.array([0, 1], "float32")], [np.eye(2, dtype="float32")]))


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_an_update_of_a_subclass_may_count_class_1_itself(average):
    class Own(modkit.metric.F1):
        def update(self, labels, preds):
            self.metrics.update_binary_stats(labels, preds)
            self.sum_metric += self.metrics.fscore
            self.num_inst += 1
            if average == "macro":
                self.metrics.reset_stats()

    metric = Own(average=average)
    for label in (1, 0):
        metric.update(nd.array([label]), nd.array([[0.1, 0.9]]))
    assert metric.get()[1] == (0.5 if average == "macro" else (1 + 2 / 3) / 2)
    assert metric.metrics.total_examples == (0 if average == "macro" else 2)
    metric.reset()
    assert metric.metrics.global_total_examples == 0


def test_counts_of_class_1_are_there_as_in_mxnet():
    labels = [nd.array([1, 1, 0, 1])]
    outputs = [nd.array([[0.3, 0.7], [0.6, 0.4], [0.2, 0.8], [0.1, 0.9]])]
    metric = modkit.metric.F1(average="micro")
    for _ in range(2):
        metric.update(labels, outputs)
        metric.reset_local()
    metric.update(labels, outputs)
    found = metric.metrics
    assert (found.true_positives, found.global_true_positives) == (2, 6)
    assert (found.false_positives, found.false_negatives, found.true_negatives) == (1, 1, 0)
    assert (found.total_examples, found.global_total_examples) == (4, 12)
    assert found.precision == found.recall == found.fscore == found.global_fscore == 2 / 3
    assert found.matthewscc() == modkit.metric.create("mcc").score((2, 1, 1, 0))
    assert type(found.precision) is float and type(found.true_positives) is int
    metric = modkit.metric.MCC()
    metric.update(labels, outputs)
    assert metric._metrics.total_examples == 0  # each update has a score of its own
    with pytest.raises(AttributeError, match="no attribute 'accuracy'"):
        found.accuracy  # noqa: B018
    with pytest.raises(ValueError, match="update_binary_stats: the labels of a batch"):
        found.update_binary_stats(nd.array([0, 1, 2]), nd.ones((3, 2)))
    assert found.total_examples == 4
    metric.metrics = "own"
    assert metric.metrics == "own"


@pytest.mark.parametrize("method", ["update", "update_dict"])
@pytest.mark.parametrize("on", ["object", "class", "part", "whole", "composite"])
def test_updates_that_a_program_sets_are_called(method, on, monkeypatch):
    """So the metric is no function of a compiled step."""
    accuracy, composite = modkit.metric.Accuracy, modkit.metric.CompositeEvalMetric
    made = whole = accuracy()
    if on in ("part", "whole", "composite"):
        whole = composite([made])
    assert whole.fused() is not None
    base = accuracy if method == "update" else modkit.metric.EvalMetric
    changed = {"class": base, "composite": composite, "whole": whole}.get(on, made)
    monkeypatch.setattr(changed, method, lambda *_: None)
    assert whole.fused() is None


@pytest.mark.parametrize("on", ["object", "class"])
def test_names_of_a_method_that_a_program_sets_are_unknown_before_a_batch(on, monkeypatch):
    made = modkit.metric.create(["acc", "ce"])
    changed = made.metrics[1] if on == "object" else modkit.metric.EvalMetric
    assert known_names(made) == ["accuracy", "cross-entropy"]
    monkeypatch.setattr(changed, "get", lambda *_: ("own", 1.0))
    assert known_names(made) is None
