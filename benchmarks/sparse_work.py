"""Steps of a factorization machine, run by `benchmarks.sparse` in modkit's Python or in MXNet's.

``sparse_work.py modkit sgd`` trains, reads lines with a number of steps, answers each with the
seconds that they took, and ends with the peak of its memory in MiB.
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

import numpy as np

FEATURES, FACTORS, BATCH, STORED = 1_000_000, 16, 1_000, 39
OPTIMIZERS = {
    "sgd": {},
    "sgd with momentum": {"momentum": 0.9},
    "adam": {},
    "adagrad": {},
}


def machine(mx):
    """Rendle, Factorization Machines (2010), as a logistic model."""
    x = mx.sym.Variable("data", stype="csr")
    normal = mx.init.Normal(0.01)
    v = mx.sym.Variable("v", shape=(FEATURES, FACTORS), stype="row_sparse", init=normal)
    w = mx.sym.Variable("w", shape=(FEATURES, 1), stype="row_sparse", init=normal)
    bias = mx.sym.Variable("bias", shape=(1,), init=mx.init.Zero())
    linear = mx.sym.broadcast_add(mx.sym.dot(x, w), bias)
    norms = mx.sym._internal._square_sum(v, axis=1, keepdims=True)
    pairs = mx.sym.sum(mx.sym.square(mx.sym.dot(x, v)), axis=1, keepdims=True)
    score = linear + 0.5 * (pairs - mx.sym.dot(mx.sym.square(x), norms))
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"), name="out")


def batches(mx, count):
    """Batches of samples with 39 features each, and labels of 0 and 1."""
    random = np.random.RandomState(0)
    made = []
    for _ in range(count):
        columns = np.sort(random.randint(0, FEATURES, (BATCH, STORED)), 1).reshape(-1)
        ends = np.arange(0, BATCH * STORED + 1, STORED)
        parts = np.ones(len(columns), "float32"), columns, ends
        data = mx.nd.sparse.csr_matrix(parts, shape=(BATCH, FEATURES))
        label = mx.nd.array(random.randint(0, 2, (BATCH, 1)).astype("float32"))
        made.append(mx.io.DataBatch([data], [label]))
    return made


def trainer(mx, optimizer):
    """A function that trains for a number of steps."""
    module = mx.mod.Module(machine(mx), data_names=["data"], label_names=["label"])
    module.bind([("data", (BATCH, FEATURES))], [("label", (BATCH, 1))])
    module.init_params()
    options = {"learning_rate": 0.01, "rescale_grad": 1 / BATCH, **OPTIMIZERS[optimizer]}
    module.init_optimizer("local", optimizer.split()[0], options)
    given = batches(mx, 16)

    def train(steps):
        for number in range(steps):
            module.forward(given[number % len(given)], is_train=True)
            module.backward()
            module.update()
        module.get_outputs()[0].wait_to_read()
        mx.nd.waitall()

    return train


def peak_mib():
    """The peak of this process's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main():
    """Answer the lines of the standard input."""
    package, optimizer = sys.argv[1:]
    train = trainer(importlib.import_module(package), optimizer)
    train(3)  # compiles
    for line in sys.stdin:
        started = time.perf_counter()
        train(int(line))
        sys.stdout.write(f"{time.perf_counter() - started}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{peak_mib()}\n")


if __name__ == "__main__":
    main()
