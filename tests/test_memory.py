"""Work that is repeated leaves nothing behind: no array, and nothing in modkit's own lists."""

import gc

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.ndarray.storage import under_way
from tests.module.networks import batches, mlp, ready


def training():
    data = batches(1)[0]
    module = ready(mlp(), data, momentum=0.9)
    accuracy = mx.metric.create("acc")

    def once():
        module.forward_backward(data)
        module.update()
        module.update_metric(accuracy, data.label)
        accuracy.get()

    return once


def by_hand():
    data = batches(1)[0]
    module = ready(mlp(), data)

    def once():
        module.forward(data, is_train=True)
        module.get_outputs()[0].asnumpy()
        module.backward()
        module.update()

    return once


def validation():
    data = batches(1)[0]
    module = ready(mlp(), data)
    iterator = mx.io.NDArrayIter(np.ones((20, 10)), np.ones(20), 8)

    def once():
        module.score(iterator, "acc")
        module.predict(iterator).asnumpy()
        iterator.reset()

    return once


def rebinding():
    data = batches(1)[0]
    module = ready(mlp(), data)

    def once():
        module.bind([("data", (8, 10))], [("softmax_label", (8,))], force_rebind=True)
        module.forward(data, is_train=False)
        module.get_outputs()[0].asnumpy()

    return once


def executing():
    executor = mlp().simple_bind(mx.cpu(), data=(8, 10))

    def once():
        executor.forward(is_train=True)[0].asnumpy()
        executor.backward()
        executor.grad_dict["fc1_weight"].asnumpy()

    return once


def predicting():
    symbol = mlp()
    module = ready(symbol, batches(1)[0])
    arguments, states = module.get_params()
    params = {f"arg:{n}": v for n, v in arguments.items()}
    params |= {f"aux:{n}": v for n, v in states.items()}
    predictor = mx.Predictor(symbol, params, {"data": (8, 10)})
    return lambda: predictor.predict(np.ones((5, 10), np.float32))


def eager():
    x = mx.nd.ones((4, 4))
    return lambda: (mx.nd.dot(x, x) + x[1:3].sum()).asnumpy()


@pytest.mark.parametrize(
    "work", [training, by_hand, validation, rebinding, executing, predicting, eager]
)
def test_nothing_is_left_behind(work):
    once = work()
    gc.freeze()  # else each collection walks all that other tests have left
    counts = []
    try:
        for repeats in (3, 5, 10):  # the first ones make what is made once
            for _ in range(repeats):
                once()
            gc.collect()
            counts.append((len(jax.live_arrays()), len(under_way)))
    finally:
        gc.unfreeze()
    assert counts[1] == counts[2]
