"""Imperative calls and programs, run by `benchmarks.imperative` in modkit's Python or in MXNet's.

``imperative_work.py modkit calls`` reads lines "number count"; ``mxnet program kmeans`` runs one
program; ``modkit memory 1000`` prints the MB by which 1,000 new shapes grow the process.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import time
from pathlib import Path

import numpy as np

mx = importlib.import_module(sys.argv[1] if __name__ == "__main__" else "modkit")
nd = mx.nd

NEW = "five calls with a new shape"


def uniform(*shape, seed=0):
    """An array of uniform numbers."""
    return nd.array(np.random.RandomState(seed).uniform(-1, 1, shape))


# ── Calls ───────────────────────────────────────────────────────────────────────────────────


def calls():
    """The calls, by title."""
    a, w, b, one = uniform(64, 32), uniform(16, 32), uniform(16), nd.array([3.0])
    x, y, v = uniform(64, 20), uniform(64, 1), uniform(20, 1)
    lengths = itertools.count(1)

    def write_row():
        a[5] = 0.5

    def in_place():
        nonlocal a
        a += 0.001

    def logistic():
        p = nd.sigmoid(nd.dot(x, v))
        v[:] = v - 0.1 * nd.dot(x.T, p - y) / 64

    return {
        "a[i]": lambda: a[5],
        "a[i] = v": write_row,
        "asscalar": one.asscalar,
        "asnumpy": lambda: a.asnumpy(),
        "a[i:j] + 1": lambda: a[3:9] + 1,
        "a * number": lambda: a * 2.5,
        "a + a": lambda: a + a,
        "a += number": in_place,
        "a.sum(axis=1)": lambda: a.sum(axis=1),
        "softmax": lambda: nd.softmax(a),
        "FullyConnected": lambda: nd.FullyConnected(a, w, b, num_hidden=16),
        "dot": lambda: nd.dot(a, a, transpose_b=True),
        "a step of logistic regression": logistic,
        NEW: lambda: nd.exp(nd.ones((next(lengths), 7)) * 2 + 1).sum(axis=1),
    }


# ── Programs ────────────────────────────────────────────────────────────────────────────────


def kmeans():
    """k-means over slices: 20 passes over 40 slices of different lengths."""
    data, centers = uniform(4000, 8), uniform(10, 8, seed=1)
    for _ in range(20):
        sums, counts, begin = nd.zeros((10, 8)), nd.zeros((10, 1)), 0
        for k in range(40):
            part = data[begin : begin + 60 + 2 * k]
            begin += 60 + 2 * k
            far = nd.sum((part.expand_dims(1) - centers.expand_dims(0)) ** 2, axis=2)
            owner = nd.one_hot(nd.argmin(far, axis=1), 10)
            sums += nd.dot(owner, part, transpose_a=True)
            counts += nd.sum(owner, axis=0).reshape((10, 1))
        centers = sums / nd.maximum(counts, 1)
    return centers


def logistic_regression():
    """Logistic regression by hand: 2,000 steps of 64 rows."""
    x, y, w, b = uniform(4096, 20), uniform(4096, 1) > 0, nd.zeros((20, 1)), nd.zeros((1,))
    for step in range(2000):
        at = 64 * (step % 64)
        rows, wanted = x[at : at + 64], y[at : at + 64]
        error = nd.sigmoid(nd.dot(rows, w) + b) - wanted
        w -= 0.1 * nd.dot(rows, error, transpose_a=True) / 64
        b -= 0.1 * error.mean()
    return w


def reinforce():
    """REINFORCE with an executor: 60 episodes, batches of 20 different sizes."""
    stream = np.random.RandomState(0)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=32, name="one")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=2, name="two")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    run = net.simple_bind(mx.cpu(), data=(1, 4), softmax_label=(1,))
    for name, array in run.arg_dict.items():
        if name.endswith("weight"):
            array[:] = stream.uniform(-0.1, 0.1, array.shape)
    for episode in range(60):
        size, state, states, actions = 5 + episode % 20, np.zeros(4), [], []
        for _ in range(size):
            run.forward(is_train=False, data=nd.array([state]), softmax_label=nd.zeros((1,)))
            action = int(stream.rand() < run.outputs[0][0][1].asscalar())
            states.append(state)
            actions.append(action)
            state = 0.9 * state + stream.uniform(-1, 1, 4) * (action + 1)
        batch = run.reshape(data=(size, 4), softmax_label=(size,), allow_up_sizing=True)
        batch.forward(is_train=True, data=nd.array(states), softmax_label=nd.array(actions))
        batch.backward()
        for name, grad in batch.grad_dict.items():
            if name not in ("data", "softmax_label"):
                nd.sgd_update(batch.arg_dict[name], grad, out=batch.arg_dict[name], lr=0.01)
    return run.arg_dict["one_weight"]


def autograd_mlp():
    """A perceptron with a hidden layer by autograd: 1,000 steps of 64 rows."""
    x, y = uniform(4096, 20), nd.array(np.arange(4096) % 5)
    params = [uniform(64, 20) * 0.1, nd.zeros((64,)), uniform(5, 64) * 0.1, nd.zeros((5,))]
    for each in params:
        each.attach_grad()
    for step in range(1000):
        at = 64 * (step % 64)
        with mx.autograd.record():
            hidden = nd.FullyConnected(x[at : at + 64], params[0], params[1], num_hidden=64)
            out = nd.FullyConnected(nd.relu(hidden), params[2], params[3], num_hidden=5)
            loss = -nd.pick(nd.log_softmax(out), y[at : at + 64]).mean()
        loss.backward()
        for each in params:
            each[:] = each - 0.1 * each.grad
    return loss


PROGRAMS = {f.__name__: f for f in (kmeans, logistic_regression, reinforce, autograd_mlp)}


def resident_mb():
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def memory(count):
    """MB by which ``count`` new shapes, of three calls each, grow the process."""
    for n in range(1, 100):
        (nd.ones((n, 2)) * 2).sum(axis=1).asnumpy()
    before = resident_mb()
    for n in range(count):
        (nd.ones((n % 2500 + 1, 3 + n // 2500)) * 2).sum(axis=1).asnumpy()
    return resident_mb() - before


def serve():
    """Run calls, given by number, and print the seconds of each line."""
    table = list(calls().values())
    for line in sys.stdin:
        number, count = map(int, line.split())
        started = time.perf_counter()
        for _ in range(count):
            table[number]()
        nd.waitall()
        print(time.perf_counter() - started, flush=True)


if __name__ == "__main__":
    if sys.argv[2] == "calls":
        serve()
    elif sys.argv[2] == "memory":
        print(memory(int(sys.argv[3])))
    else:
        print(float(PROGRAMS[sys.argv[3]]().asnumpy().ravel()[0]))
