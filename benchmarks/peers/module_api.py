"""Module's own loop, the same lines for modkit and for MXNet."""

from __future__ import annotations

import importlib

import numpy as np

from benchmarks.networks import MOMENTUM, RATE
from benchmarks.worker import Case, Loop, serve


def load(case: Case) -> Loop:
    """A Module of the library that the peer is named after."""
    mx = importlib.import_module(case.peer)
    network = case.network
    context = mx.gpu(0) if network.device == "gpu" else mx.cpu()
    symbol = mx.sym.load(str(case.folder / "symbol.json"))
    module = mx.mod.Module(symbol, context=context)
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
    return (_training if network.train else _prediction)(mx, module, batches, network.watched)


def _training(mx, module, batches, watched) -> Loop:
    module.init_optimizer(
        optimizer="sgd", optimizer_params={"learning_rate": RATE, "momentum": MOMENTUM}
    )
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

    def watch() -> dict[str, np.ndarray]:
        parameters = module.get_params()[0]
        return {name: parameters[name].asnumpy() for name in watched}

    return Loop(run, watch)


def _prediction(mx, module, batches, watched) -> Loop:
    del watched  # outputs are compared

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
