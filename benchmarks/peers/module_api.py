"""The peers modkit and MXNet: the training loop of ``Module``, with the same code for both."""

from __future__ import annotations

import functools
import importlib

import numpy as np

from benchmarks.networks import MOMENTUM, RATE
from benchmarks.worker import Case, Loop, serve


def load(case: Case) -> Loop:
    """A Module of modkit or MXNet."""
    mx = importlib.import_module(case.peer)
    network = case.network
    context = mx.gpu(0) if network.device == "gpu" else mx.cpu()
    symbol = mx.sym.load(str(case.folder / "symbol.json"))
    narrow = {} if network.dtype == "float32" else {"compute_dtype": network.dtype}
    module = mx.mod.Module(symbol, context=context, **narrow)
    batches = [
        mx.io.DataBatch([mx.nd.array(x, ctx=context)], [mx.nd.array(y, ctx=context)])
        for x, y in network.batches()
    ]
    module.bind(
        [("data", network.data)],
        [("softmax_label", network.label)] if network.train else None,
        for_training=network.train,
    )
    arguments, auxiliary = (
        {name: mx.nd.array(value) for name, value in case.load(file).items()}
        for file in ("arguments", "auxiliary")
    )
    module.init_params(arg_params=arguments, aux_params=auxiliary)
    if not network.train:
        return _prediction(mx, module, batches)
    module.init_optimizer(
        optimizer="sgd", optimizer_params={"learning_rate": RATE, "momentum": MOMENTUM}
    )
    run = LOOPS[case.variant](mx, module, batches)

    def watch() -> dict[str, np.ndarray]:
        parameters = module.get_params()[0]
        return {name: parameters[name].asnumpy() for name in network.watched}

    return Loop(run, watch)


def _steps(mx, module, batches):
    metric = mx.metric.create("acc")

    def run(steps: int) -> float:
        metric.reset()
        for step in range(steps):
            batch = batches[step % len(batches)]
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        mx.nd.waitall()
        return metric.get()[1]

    return run


def _fit(mx, module, batches, **options):
    """The same steps with ``fit``."""
    metric = mx.metric.create("acc")

    class Feed(mx.io.DataIter):
        def __init__(self):
            super().__init__(module.data_shapes[0].shape[0])
            self.provide_data, self.provide_label = module.data_shapes, module.label_shapes
            self.steps = self.left = 0

        def reset(self):
            self.left = self.steps

        def next(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return batches[(self.steps - self.left - 1) % len(batches)]

    feed = Feed()

    def run(steps: int) -> float:
        feed.steps = feed.left = steps
        module.fit(feed, eval_metric=metric, num_epoch=1, **options)
        mx.nd.waitall()
        return metric.get()[1]

    return run


LOOPS = {"": _steps, "fit": _fit, "K=16": functools.partial(_fit, steps_per_call=16)}
"""By variant: MXNet's three calls for each batch, ``fit``, and several batches in each call."""


def _prediction(mx, module, batches) -> Loop:
    def predict(batch):
        module.forward(batch, is_train=False)
        return module.get_outputs()[0].asnumpy()

    def run(steps: int) -> float:
        hits = 0.0
        for step in range(steps):
            batch = batches[step % len(batches)]
            hits += (predict(batch).argmax(-1) == batch.label[0].asnumpy()).mean()
        return hits / steps

    return Loop(run, lambda: {"output": predict(batches[0])})


if __name__ == "__main__":
    serve(load)
