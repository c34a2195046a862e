"""Evaluation runs a compiled step a batch, with the metric in it."""

import numpy as np
import pytest

import modkit as mx
from modkit.step.bound import Pass
from tests.module.networks import convnet, mlp

stream = np.random.RandomState(5)
X = stream.normal(size=(20, 1, 6, 6)).astype(np.float32)
Y = stream.randint(0, 4, 20).astype(np.float32)


def by_hand(module, metric):
    """The metric from outputs that are read."""
    data = mx.io.NDArrayIter(X, Y, 8)
    for batch in data:
        module.forward(batch, is_train=False)
        outputs = module.get_outputs()[0].asnumpy()
        metric.update([mx.nd.array(batch.label[0].asnumpy())], [mx.nd.array(outputs)])
    return metric.get_name_value()


@pytest.mark.parametrize("contexts", [[0], [0, 0], [0, 1]], ids=["one", "replicas", "devices"])
@pytest.mark.parametrize("metric", ["acc", ["acc", "ce"], "top_k_acc"], ids=str)
def test_a_score_is_that_of_its_outputs(contexts, metric, monkeypatch):
    calls = []
    score = Pass.score
    monkeypatch.setattr(Pass, "score", lambda *a: (calls.append(1), score(*a))[1])
    module = mx.mod.Module(convnet(), context=[mx.cpu(i) for i in contexts])
    data = mx.io.NDArrayIter(X, Y, 8)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Xavier())
    kinds = {"top_k_acc": {"top_k": 2}}.get(str(metric), {})
    made = mx.metric.create(metric, **kinds)
    got = module.score(data, made)
    assert len(calls) == 3  # a batch each
    want = by_hand(module, mx.metric.create(metric, **kinds))
    for (name, value), (other, expected) in zip(got, want, strict=True):
        assert name == other and value == pytest.approx(expected, rel=1e-6)


def test_outputs_are_there_after_a_metric():
    module = mx.mod.Module(convnet())
    data = mx.io.NDArrayIter(X, Y, 8)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Xavier())
    batch = data.next()
    metric = mx.metric.create("acc")
    module.forward(batch, is_train=False)
    module.update_metric(metric, batch.label)
    fused = module.get_outputs()[0].asnumpy()
    module.forward(batch, is_train=False)
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), fused, rtol=1e-6)


def test_training_and_validation_of_one_shape_compile_a_program_each(caplog):
    """One for the steps of training, one for those of validation, in any number of epochs."""
    import logging

    import jax

    mx.cache_clear()  # another test has trained the same network
    symbol = convnet()
    module = mx.mod.Module(symbol)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        module.fit((X, Y), eval_data=(X[:16], Y[:16]), batch_size=8, num_epoch=1)
        first = [r.getMessage() for r in caplog.records if "Compiling jit(" in r.getMessage()]
        caplog.clear()
        module.fit((X, Y), eval_data=(X[:16], Y[:16]), batch_size=8, num_epoch=3)
        later = [r.getMessage() for r in caplog.records if "Compiling" in r.getMessage()]
    names = [text.split("jit(")[1].partition(")")[0] for text in first]
    assert names.count("step") == names.count("scored") == 1
    assert not {"forward", "both"} & set(names)
    assert not later


@pytest.mark.parametrize("count", [1, 2])
def test_predictions_after_a_validation_compile_nothing(count, compilations, monkeypatch):
    """They run by the program with the metric, as often as one without it would have paid."""
    monkeypatch.setattr("modkit.step.programs._PREDICTIONS", 5)
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="predicted")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(layer, name="softmax"), context=[mx.cpu(0)] * count)
    data = mx.io.NDArrayIter(X[:16], Y[:16], 8)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Xavier())
    module.score(data, "acc")
    found = []

    def predicted():
        found.append(module.predict(data).asnumpy())

    def one():
        batch = mx.io.DataBatch([mx.nd.array(X[:8])], [mx.nd.zeros((8,))])
        module.forward(batch, is_train=False)
        found.append(module.get_outputs()[0].asnumpy())

    for work, names in ((predicted, 0), (predicted, 0), (one, 0), (predicted, 1)):
        assert [n for n in compilations.during(work) if n in ("forward", "scored")] == [
            "forward"
        ] * names
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0][:8], found[2])
    np.testing.assert_allclose(found[0], found[3], rtol=1e-6)


def test_scores_of_callbacks_in_fit_are_those_of_this_worker(monkeypatch):
    """`fit` reduces its own score over all workers; another may be of one worker alone."""
    module, reduced = mx.mod.Module(mlp()), []
    monkeypatch.setattr(module, "_whole", lambda metric: reduced.append(metric) or metric)
    data = mx.io.NDArrayIter(np.zeros((8, 10)), np.zeros(8), 4)
    again = mx.io.NDArrayIter(np.zeros((8, 10)), np.zeros(8), 4)
    seen = []
    module.fit(data, again, num_epoch=1, eval_batch_end_callback=lambda _: seen.append(
        (len(reduced), module.score(data, "acc"), len(reduced))))  # fmt: skip
    assert [after - before for before, _, after in seen] == [0, 0]
