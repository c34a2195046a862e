"""Iterators whose inputs come in another order than the module is bound for."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import ParameterError


def network():
    """``100 b + a``: 1001 where a is 1 and b is 10."""
    a, b, y = (mx.sym.Variable(name) for name in ("a", "b", "softmax_label"))
    return mx.sym.MakeLoss(b * 100 + a + 0 * y)


def iterator():
    data = {"b": np.full((4, 2), 10.0), "a": np.full((4, 2), 1.0)}
    return mx.io.NDArrayIter(data, np.zeros((4, 2)), batch_size=2)


def module(names, order, training=False):
    made = mx.mod.Module(network(), data_names=names)
    made.bind([(n, (2, 2)) for n in order], [("softmax_label", (2, 2))], for_training=training)
    made.init_params()
    return made


ORDERS = pytest.mark.parametrize("names", [["a", "b"], ["b", "a"]])


@ORDERS
def test_names_of_a_module_in_any_order(names):
    """Figures of MXNet 1.9.1."""
    bound = module(names, ["a", "b"])
    assert (bound.predict(iterator()).asnumpy() == 1001).all()
    assert bound.score(iterator(), mx.metric.Loss()) == [("loss", 1001)]
    seen = []
    mx.mod.Module(network(), data_names=names).fit(
        iterator(),
        eval_metric=mx.metric.Loss(),
        num_epoch=1,
        batch_end_callback=lambda param: seen.append(param.eval_metric.get()[1]),
    )
    assert seen == [1001, 1001]


@ORDERS
@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_inputs_are_in_the_order_that_is_bound(names, order):
    """Figures of MXNet 1.9.1."""
    made = mx.mod.Module(network(), data_names=names)
    labels = [("softmax_label", (2, 2))]
    made.bind([(n, (2, 2)) for n in order[::-1]], labels, inputs_need_grad=True)
    made.init_params()
    made.reshape([(n, (1, 2)) for n in order], [("softmax_label", (1, 2))])
    values = {"a": mx.nd.ones((1, 2)), "b": mx.nd.ones((1, 2)) * 10}
    made.forward(mx.io.DataBatch([values[n] for n in order], [mx.nd.zeros((1, 2))]))
    made.backward()
    assert made.get_outputs()[0].asnumpy().tolist() == [[1001, 1001]]
    wanted = [{"a": 1, "b": 100}[n] for n in order]
    assert [g.asnumpy()[0, 0] for g in made.get_input_grads()] == wanted
    assert [g[0].asnumpy()[0, 0] for g in made._exec_group.input_grad_arrays] == wanted
    assert ([d.name for d in made.data_shapes], made.data_names) == (order, names)


@ORDERS
@pytest.mark.parametrize("call", ["predict", "score", "fit"])
def test_an_iterator_in_another_order_than_the_bound_one_is_refused(names, call):
    """MXNet swaps the arrays in silence, and gives 110."""
    bound = module(names, ["b", "a"], call == "fit")
    calls = {
        "predict": lambda: bound.predict(iterator()),
        "score": lambda: bound.score(iterator(), mx.metric.Loss()),
        "fit": lambda: bound.fit(iterator(), eval_metric=mx.metric.Loss(), num_epoch=1),
    }
    words = rf"{call}: .*provide_data has the order \['a', 'b'\].*bound for \['b', 'a'\]"
    with pytest.raises(ParameterError, match=words):
        calls[call]()


@pytest.mark.parametrize("call", ["predict", "score"])
def test_buckets_refuse_another_order_too(call):
    bound = mx.mod.BucketingModule(lambda key: (network(), ["a", "b"], ["softmax_label"]), 2)
    bound.bind([("b", (2, 2)), ("a", (2, 2))], [("softmax_label", (2, 2))], for_training=False)
    bound.init_params()
    data, metric = iterator(), [mx.metric.Loss()] * (call == "score")
    with pytest.raises(ParameterError, match=rf"{call}: .*provide_data has the order"):
        getattr(bound, call)(data, *metric)


def test_a_batch_that_names_its_arrays_is_checked_once(monkeypatch):
    bound = module(["a", "b"], ["b", "a"])
    source = iterator()
    batch = source.next()
    batch.provide_data = source.provide_data
    with pytest.raises(ParameterError, match=r"forward: data_batch: provide_data has the order"):
        bound.forward(batch)
    batch.provide_data, batch.data = batch.provide_data[::-1], batch.data[::-1]
    checks = []
    check = type(bound)._check_order
    monkeypatch.setattr(bound, "_check_order", lambda *a: (checks.append(a), check(bound, *a)))
    for _ in range(3):
        bound.forward(batch)
        assert (bound.get_outputs()[0].asnumpy() == 1001).all()
    assert len(checks) == 1


def test_a_batch_of_another_shape_goes_by_its_own_names():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    bound = mx.mod.Module(a - b, ["a", "b"], None)
    bound.bind([("a", (2, 2)), ("b", (2, 2))], for_training=False)
    bound.init_params()
    names = [mx.io.DataDesc("b", (3, 2)), mx.io.DataDesc("a", (3, 2))]
    batch = mx.io.DataBatch([mx.nd.ones((3, 2)), mx.nd.zeros((3, 2))], provide_data=names)
    for _ in range(2):
        bound.forward(batch)
        assert (bound.get_outputs()[0].asnumpy() == -1).all()
