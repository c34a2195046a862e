"""Ctrl-C at random instants of training: counts runs that lost or halved the state.

    python -m tools.attack_interrupts --signals 200

Every attack trains, is interrupted, and then has to have parameters and optimizer states that an
undisturbed run has after some number of steps, the same number for all of them; and has to go on.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import logging
import os
import random
import signal
import threading
import time

import numpy as np

import modkit as mx

STEPS = 400


class Keep(mx.operator.CustomOp):
    """Hands its data on, on the host."""

    def forward(self, is_train, req, in_data, out_data, aux):
        """The data."""
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """The gradient."""
        self.assign(in_grad[0], req[0], out_grad[0])


@mx.operator.register("attack_keep")
class KeepProp(mx.operator.CustomOpProp):
    """One input and one output of its shape."""

    def create_operator(self, ctx, in_shapes, in_dtypes):
        """The operator."""
        return Keep()


def network(kind):
    """Two layers; the first is a convolution with BatchNorm for ``"conv"``."""
    net = mx.sym.Variable("data")
    if kind == "conv":
        net = mx.sym.Reshape(net, shape=(0, 1, 1, 5))
        net = mx.sym.Convolution(net, kernel=(1, 3), num_filter=4, name="conv1")
        net = mx.sym.BatchNorm(net, name="bn1", fix_gamma=False)
    else:
        net = mx.sym.FullyConnected(net, num_hidden=6, name="fc1")
    if kind == "custom":
        net = mx.sym.Custom(net, op_type="attack_keep", name="keep")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


class Attacked:
    """A module and one way to train it, batch after batch of the same numbers."""

    def __init__(self, way, context=None, kind="mlp"):
        random_numbers = np.random.RandomState(7)
        data = np.tile(random_numbers.normal(size=(4, 5)), (STEPS, 1)).astype(np.float32)
        label = np.tile(random_numbers.randint(0, 3, 4), STEPS).astype(np.float32)
        self.iterator = mx.io.NDArrayIter(data, label, 4)
        with mx.name.NameManager():  # equal names, so that all modules share their programs
            net = network(kind)
        self.module = mx.mod.Module(net, context=context or mx.cpu())
        self.module.bind(self.iterator.provide_data, self.iterator.provide_label)
        mx.random.seed(3)
        self.module.init_params(mx.init.Xavier())
        rates = {"learning_rate": 0.01, "momentum": 0.9}
        self.module.init_optimizer("local", "sgd", rates)
        self._way = way

    def train(self, steps=STEPS):
        """Train from the first batch on."""
        self.iterator.reset()
        self._way(self, steps)

    def values(self):
        """Parameters and statistics, and optimizer states, as one vector each."""
        args, aux = self.module.get_params()
        args = {**args, **aux}
        module = self.module
        updater = module._kvstore._updater if module._update_on_kvstore else module._updater
        keys = sorted(updater.states)
        states = [updater.states[k].asnumpy().ravel() for k in keys]
        params = [args[n].asnumpy().ravel() for n in sorted(args)]
        return np.concatenate(params), np.concatenate([np.sort(s) for s in states] or [[0]])


def by_hand(attacked, steps):
    module, metric = attacked.module, mx.metric.create("acc")
    for _, batch in zip(range(steps), attacked.iterator, strict=False):
        module.forward(batch, is_train=True)
        module.backward()
        module.update()
        module.update_metric(metric, batch.label)


def by_fit(attacked, steps, **options):
    def enough(param):
        if param.nbatch + 1 >= steps:
            raise StopIteration

    with contextlib.suppress(StopIteration):
        attacked.module.fit(attacked.iterator, num_epoch=1, batch_end_callback=enough, **options)


def in_bulk(attacked, steps):
    by_fit(attacked, steps, steps_per_call=4)


ATTACKS = {
    "fit": lambda: Attacked(by_fit),
    "hand": lambda: Attacked(by_hand),
    "bulk": lambda: Attacked(in_bulk),
    "vmap": lambda: Attacked(by_hand, [mx.cpu(0), mx.cpu(0)]),
    "custom": lambda: Attacked(by_hand, kind="custom"),
    # By fit: in a loop written by hand the pass of a batch is done before its update.
    "conv": lambda: Attacked(by_fit, kind="conv"),
}


def undisturbed(make, steps, stride=1):
    """The states after 0, ``stride``, ... steps of a run that nothing interrupts."""
    attacked = make()
    reached = [None]
    for _ in range(steps // stride):
        attacked.train(stride)
        reached.append(attacked.values())
    return reached


def interrupted(attacked, delay):
    """Train until a SIGINT that comes after ``delay`` seconds; whether it came in time."""
    main = threading.main_thread().ident

    def send():
        begun.wait()
        time.sleep(delay)
        if not done:
            signal.pthread_kill(main, signal.SIGINT)

    begun, done = threading.Event(), []
    sender = threading.Thread(target=send)
    sender.start()
    try:
        begun.set()
        attacked.train()
        done.append(True)
        sender.join()
    except KeyboardInterrupt:
        return True
    finally:
        sender.join()
    return False


def verdict(attacked, reached):
    """Whether the state after an interrupt is whole, half or lost, and training goes on."""
    try:
        params, states = attacked.values()
    except Exception as error:
        return f"lost: {type(error).__name__}: {error}"[:90]
    step = min(range(1, len(reached)), key=lambda i: abs(reached[i][0] - params).max())
    away = [float(abs(a - b).max()) for a, b in zip(reached[step], (params, states), strict=True)]
    if max(away) > 1e-5:
        return f"half: {away} away from step {step}"
    attacked.train(4)
    return "whole" if np.isfinite(attacked.values()[0]).all() else "half: not finite"


def training_s(make, stride):
    """Seconds of a training that nothing interrupts, without its compilation."""
    attacked = make()
    attacked.train(stride)
    started = time.perf_counter()
    attacked.train()
    return time.perf_counter() - started


def attack(name, signals, seed=0):
    """The runs of one attack, by verdict."""
    make, numbers = ATTACKS[name], random.Random(seed)
    stride = 4 if name == "bulk" else 1
    reached = undisturbed(make, STEPS + stride, stride)
    ends = collections.Counter()
    duration = training_s(make, stride)
    while sum(ends.values()) < signals:
        attacked = make()
        attacked.train(stride)  # compiles, makes the optimizer's states
        if interrupted(attacked, numbers.uniform(0, duration)):
            ends[verdict(attacked, reached)] += 1
    return ends


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(ATTACKS))
    given = parser.parse_args()
    names = given.only.split(",")
    failed = 0
    logging.disable(logging.WARNING)  # fit over a bound module
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    for name in names:
        ends = attack(name, -(-given.signals // len(names)), given.seed)
        failed += sum(ends.values()) - ends["whole"]
        print(name, dict(ends), flush=True)
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    main()
