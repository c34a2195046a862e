"""Trainings that are ended anywhere and go on, for the tests of exact resume and its tool.

As a program, ``python -m tests.module.resuming CASE FOLDER``, it trains to the end, from the newest
checkpoint in the folder, and prints the digest of everything that has to be the same.
"""

import hashlib
import json
import logging
import random
import sys
from pathlib import Path

import jax
import numpy as np

import modkit as mx
from tests.module.networks import convnet, mlp

SIZE, COUNT = 8, 44


def noisy():
    """A dense network with dropout."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
    net = mx.sym.Dropout(mx.sym.Activation(net, act_type="relu", name="relu"), p=0.3, name="drop")
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(net, num_hidden=4, name="fc2"), name="softmax"
    )


def arrays(shape=(10,), **options):
    stream = np.random.RandomState(5)
    x = stream.normal(size=(COUNT, *shape)).astype(np.float32)
    y = stream.randint(0, 4, COUNT).astype(np.float32)
    return mx.io.NDArrayIter(x, y, SIZE, shuffle=True, **options)


class Plain(mx.io.DataIter):
    """A user's own iterator, without ``state_dict``."""

    def __init__(self):
        super().__init__(SIZE)
        self.inner = arrays()
        self.provide_data, self.provide_label = self.inner.provide_data, self.inner.provide_label
        self.reset()

    def reset(self):
        self.order, self.at = np.arange(COUNT - COUNT % SIZE), 0
        np.random.shuffle(self.order)  # noqa: NPY002 - the global stream

    def next(self):
        if self.at == len(self.order):
            raise StopIteration
        ids = self.order[self.at : self.at + SIZE]
        self.at += SIZE
        x, y = self.inner._data_sources[0][1], self.inner._label_sources[0][1]
        return mx.io.DataBatch([x.rows(ids, 0)], [y.rows(ids, 0)], pad=0)


def buckets():
    stream = np.random.RandomState(5)
    sentences = [stream.randint(1, 9, stream.choice([4, 6])).tolist() for _ in range(COUNT)]
    logging.disable(logging.WARNING)
    made = mx.rnn.BucketSentenceIter(sentences, SIZE, buckets=[4, 6], invalid_label=0)
    logging.disable(logging.NOTSET)
    return made


def language(length):
    net = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=9, output_dim=5, name="embed")
    net = mx.sym.FullyConnected(
        mx.sym.Reshape(net, shape=(-1, 5), name="rows"), num_hidden=9, name="out"
    )
    label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,), name="flat")
    return mx.sym.SoftmaxOutput(net, label, name="softmax"), ("data",), ("softmax_label",)


def schedule():
    return mx.lr_scheduler.FactorScheduler(step=3, factor=0.8)


def two():
    return [mx.cpu(0), mx.cpu(0)]


CASES = {
    "plain": (lambda: mx.mod.Module(mlp()), arrays, {}),
    "dropout": (
        lambda: mx.mod.Module(noisy()),
        lambda: arrays(last_batch_handle="roll_over"),
        {"optimizer": "adam", "eval_metric": ["acc", "ce", mx.metric.F1(average="micro")][:2]},
    ),
    "replicas": (
        lambda: mx.mod.Module(convnet(), context=two()),
        lambda: arrays((1, 6, 6)),
        {"eval_data": True},
    ),
    "devices": (
        lambda: mx.mod.Module(convnet(), context=[mx.cpu(0), mx.cpu(1)]),
        lambda: arrays((1, 6, 6)),
        {},
    ),
    "apart": (
        lambda: mx.mod.Module(convnet(), context=two()),
        lambda: arrays((1, 6, 6)),
        {"kvstore": None},
    ),
    "apart on two": (
        lambda: mx.mod.Module(noisy(), context=[mx.cpu(0), mx.cpu(1)]),
        arrays,
        {"kvstore": None, "optimizer": "adam"},
    ),
    "chunks": (lambda: mx.mod.Module(noisy()), arrays, {"steps_per_call": 3}),
    "prefetched": (lambda: mx.mod.Module(noisy()), lambda: mx.io.PrefetchingIter(arrays()), {}),
    "resized": (lambda: mx.mod.Module(noisy()), lambda: mx.io.ResizeIter(arrays(), 8), {}),
    "own": (lambda: mx.mod.Module(mlp()), Plain, {}),
    "accumulated": (
        lambda: mx.mod.Module(noisy()),
        arrays,
        {"accumulate": 4, "parts": lambda: [mx.callback.SWA()]},
    ),
    "averaged": (
        lambda: mx.mod.Module(noisy()),
        arrays,
        {
            "accumulate": 2,
            "parts": lambda: [mx.callback.EMA(0.9), mx.callback.ClipGlobalNorm(0.5)],
        },
    ),
    "buckets": (
        lambda: mx.mod.BucketingModule(language, default_bucket_key=6),
        buckets,
        {"eval_metric": mx.metric.Perplexity(0)},
    ),
}  # fmt: skip


class Slow(mx.callback.Callback):
    """Draws from all streams, keeps a log in its state, and may stop or end the process."""

    def __init__(self, at=None, action=None):
        self.at, self.action, self.log = at, action, []

    def on_batch_end(self, run):
        self.log.append([run.epoch, run.batch, run.step, *run.metrics.values()])
        self.log.append([float(np.random.rand()), random.random()])  # noqa: NPY002
        if run.step == self.at:
            self.action()

    def on_epoch_end(self, run):
        self.log.append(list(run.history[-1].values()))

    def state_dict(self):
        return {"log": list(self.log)}

    def load_state_dict(self, state):
        self.log = state["log"]


def train(case, folder, *, at=None, action=None, every=2, asynchronous=True, epochs=3, more=()):
    """Train from the newest checkpoint; the digest of parameters, states, metrics and logs."""
    module, data, options = CASES[case]
    for seed in (np.random.seed, random.seed, mx.random.seed):
        seed(7)
    with mx.name.NameManager():
        module, data, options = module(), data(), dict(options)
    if options.get("eval_data"):
        options["eval_data"] = arrays((1, 6, 6))
    parts = options.pop("parts", list)()
    slow = Slow(at, action)
    last = mx.callback.Checkpoint(folder, every, asynchronous=asynchronous, share=1)
    rate = {"learning_rate": 0.1, "lr_scheduler": schedule()}
    module.fit(
        data, num_epoch=epochs, callbacks=[last, slow, *parts, *more], resume=folder,
        optimizer_params={**rate, **({} if "optimizer" in options else {"momentum": 0.9})},
        initializer=mx.init.Xavier(), **options,
    )  # fmt: skip
    return digest(module, slow.log)


def digest(module, log):
    """SHA-256 of the module's state and of the log."""
    total = hashlib.sha256(json.dumps(log).encode())
    state = module.state_dict()
    for part in ("params", "aux", "own"):
        for name, value in sorted(state[part].items()):
            total.update(name.encode() + np.asarray(value).tobytes())
    updater = mx.optimizer.Updater(state["updater"].optimizer)
    # As MXNet's, states that were read lie on cpu(0) until the first update: not compared.
    updater.states = jax.tree.map(lambda a: a.as_in_context(mx.cpu()), state["updater"].states)
    updater.states_synced = dict.fromkeys(updater.states, True)
    total.update(updater.get_states(dump_optimizer=True))
    return total.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(train(sys.argv[1], Path(sys.argv[2])))
