"""The looks of objects: repr, HTML for notebooks, dir."""

import inspect
import typing

import numpy as np
import pytest

import modkit as mx


def module():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))


def bound(optimizer=None):
    made = module()
    made.bind([("data", (5, 4))], [("softmax_label", (5,))])
    if optimizer:
        made.init_params()
        made.init_optimizer(optimizer=optimizer)
    return made


def iterator():
    return mx.io.NDArrayIter(np.zeros((10, 4)), np.zeros(10), batch_size=5)


class Silent(mx.io.DataIter):
    """An iterator that says nothing of its batches."""


REPRS = [
    (module, "<Module softmax, not bound, cpu(0)>"),
    (bound, "<Module softmax: data (5, 4), softmax_label (5,); 2 parameters of 15 values, not "
            "initialized; cpu(0)>"),
    (lambda: bound("adam"), "cpu(0), Adam(lr=0.01, wd=0.0, beta1=0.9, beta2=0.999, epsilon=1e-08, "
                            "lazy_update=True, num_update=0)>"),
    (iterator, "<NDArrayIter batch_size=5: data (5, 4), softmax_label (5,)>"),
    (lambda: mx.io.PrefetchingIter(iterator()),
     "<PrefetchingIter batch_size=5: data (5, 4), softmax_label (5,)>"),
    (Silent, "<Silent batch_size=0>"),
    (lambda: mx.metric.create("acc"), "<Accuracy 'accuracy', axis=1>"),
    (lambda: mx.metric.create(["acc", "ce"]),
     "<CompositeEvalMetric [<Accuracy 'accuracy', axis=1>, <CrossEntropy 'cross-entropy', "),
    (lambda: mx.kv.create("device"), "<KVStore 'device'>"),
    (lambda: module().symbol.simple_bind(mx.cpu(), data=(5, 4)),
     "<Executor softmax: data (5, 4), fc_weight (3, 4), fc_bias (3,), softmax_label (5,); cpu(0)>"),
    (lambda: mx.metric.create("top_k_acc", top_k=3), "<TopKAccuracy 'top_k_accuracy_3', top_k=3>"),
    (lambda: mx.lr_scheduler.FactorScheduler(step=5, factor=0.5),
     "FactorScheduler(step=5, factor=0.5, stop_factor_lr=1e-08, base_lr=0.01, warmup_steps=0, "),
    (lambda: mx.callback.EarlyStopping("loss", patience=3), "EarlyStopping(monitor='loss', "),
    (lambda: mx.io.DataBatch([mx.nd.ones((5, 4))]), "data shapes: [(5, 4)]"),
    (lambda: mx.optimizer.create("sgd", momentum=0.9, clip_gradient=2.0),
     "SGD(lr=0.01, wd=0.0, momentum=0.9, lazy_update=True, "),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), REPRS, ids=[text for _, text in REPRS])
def test_repr(make, text):
    assert text in repr(make())


def test_a_run_shows_its_position():
    class Shows(mx.callback.Callback):
        def on_batch_end(self, run):
            seen.append(repr(run))

    seen = []
    module().fit(iterator(), num_epoch=1, callbacks=Shows())
    assert seen == ["<Run: epoch 0 of 1, batch 1>", "<Run: epoch 0 of 1, batch 2>"]


def test_a_module_shows_the_shapes_that_it_is_bound_for():
    given = bound("sgd")
    before = repr(given)
    assert "data (5, 4)" in before
    given.forward(mx.io.DataBatch([mx.nd.ones((1, 4))], [mx.nd.ones((1,))]), is_train=False)
    assert given.data_shapes[0].shape == (1, 4)
    assert repr(given) == before
    given.reshape([("data", (3, 4))], [("softmax_label", (3,))])
    assert "data (3, 4)" in repr(given)


def test_html_for_notebooks():
    assert "<td>fc_weight</td><td>(3, 4)</td><td>float32</td>" in bound()._repr_html_()
    assert "not bound" in module()._repr_html_() and "<table>" not in module()._repr_html_()
    shown = mx.nd.ones((2, 2))._repr_html_()
    assert "NDArray (2, 2) float32 @cpu(0)" in shown and "[[1. 1.]" in shown


def test_dir_shows_public_names():
    names = dir(mx)
    assert {"mod", "nd", "sym", "__version__"} <= set(names)
    assert not [n for n in names if n.startswith("_") and not n.startswith("__")]
    assert not {"lazy", "dmlc_role", "fork", "files", "cache", "compile", "step"} & set(names)


@pytest.mark.parametrize("name", ["callback", "metric", "kvstore"])
def test_dir_of_a_package_has_no_files(name):
    names = set(dir(getattr(mx, name)))
    assert not {"base", "functions", "dir_of", "early_stopping", "statistics", "relay"} & names
    assert names & {"EarlyStopping", "create"}


def test_dir_of_a_package_has_constants_that_are_none(monkeypatch):
    monkeypatch.setattr(mx.metric, "NOTHING", None, raising=False)
    assert "NOTHING" in dir(mx.metric) and "dir_of" not in dir(mx.metric)


def test_a_symbol_is_a_picture():
    import xml.etree.ElementTree as tree

    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc<1>")
    net = mx.sym.SoftmaxOutput(net + mx.sym.Variable("skip"), name="softmax")
    shown = net._repr_html_()
    assert "<code>&lt;Symbol softmax&gt;, 8 nodes</code>" in shown
    picture = tree.fromstring(shown[shown.index("<svg") :])
    texts = [each.text for each in picture.iter() if each.tag.endswith("text")]
    assert texts[:4] == ["data", "input", "fc<1>", "FullyConnected"] and "softmax" in texts
    long = mx.sym.Variable("data")
    for _ in range(400):
        long = mx.sym.relu(long)
    assert "<svg" not in long._repr_html_() and "401 nodes" in long._repr_html_()


@pytest.mark.parametrize("method", ["fit", "score", "predict", "bind", "init_optimizer"])
def test_signatures_of_modules_name_their_types(method):
    function = getattr(mx.mod.Module, method)
    untyped = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self" and parameter.annotation in ("Any", inspect.Parameter.empty)
    ]
    assert untyped == []
    typing.get_type_hints(function)
