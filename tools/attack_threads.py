"""Threads that train, read, save, write slices and clear caches at once: nothing may be lost.

    python -m tools.attack_threads --seconds 60

Each attack runs its threads for a while, and then compares with the same work in one thread.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import modkit as mx
from modkit.checkpoint import load_checkpoint

MOST = 5000
"""Steps of a thread whose every state is compared, at most."""


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def trained_module(context=None):
    module = mx.mod.Module(network(), context=context or mx.cpu())
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    mx.random.seed(3)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.01, "momentum": 0.9})
    return module


def batch():
    numbers = np.random.default_rng(7)
    label = numbers.integers(0, 3, 4)
    return mx.io.DataBatch([mx.nd.array(numbers.normal(size=(4, 5)))], [mx.nd.array(label)])


def vector(args):
    return np.concatenate([args[n].asnumpy().ravel() for n in sorted(args)])


def reached(steps, context):
    """The parameters after 0, 1, ... steps in one thread."""
    module, data = trained_module(context), batch()
    vectors = [vector(module.get_params()[0])]
    for _ in range(steps):
        module.forward_backward(data)
        module.update()
        vectors.append(vector(module.get_params()[0]))
    return np.stack(vectors)


def run(works, seconds):
    """Call each function once and then again and again, in threads; the errors and the counts."""
    end, errors, counts = time.monotonic() + seconds, [], [0] * len(works)

    def repeat(at, work):
        try:
            while (not counts[at] or time.monotonic() < end) and not errors:
                work()
                counts[at] += 1
        except Exception as error:
            errors.append(f"{work.__name__}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=repeat, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)
    return errors + ["a thread hangs" for t in threads if t.is_alive()], counts


def readers(seconds, context=None):
    """One thread trains; others read parameters, outputs and states, and save checkpoints."""
    module, data, seen = trained_module(context), batch(), []
    module.forward(data, is_train=False)  # outputs are there from the start

    def train():
        module.forward_backward(data)
        module.update()
        time.sleep(seconds / MOST)

    def read():
        seen.append(vector(module.get_params()[0]))
        time.sleep(0.01)

    def outputs():
        module.get_outputs()[0].asnumpy()

    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "net")

        def save():
            module.save_checkpoint(prefix, 1, save_optimizer_states=True)
            seen.append(vector(load_checkpoint(prefix, 1)[1]))
            time.sleep(0.01)

        errors, counts = run([train, read, read, outputs, save], seconds)
    path = reached(counts[0], context)
    torn = sum(np.abs(path - each).max(axis=1).min() > 1e-4 for each in seen)
    return errors + [f"{torn} reads are of no step"] * bool(torn), counts


def replicas(seconds):
    """The same over two replicas."""
    return readers(seconds, [mx.cpu(0), mx.cpu(0)])


def modules(seconds):
    """Threads that train a module each, while another clears the caches of programs."""
    data = batch()
    each = [trained_module() for _ in range(3)]

    def trainer(module):
        def train():
            module.forward_backward(data)
            module.update()
            time.sleep(seconds / MOST)

        return train

    def clear():
        mx.cache_clear()
        time.sleep(0.5)

    errors, counts = run([*map(trainer, each), clear], seconds)
    for module, steps in zip(each, counts, strict=False):
        away = np.abs(vector(module.get_params()[0]) - reached(steps, None)[-1]).max()
        if away > 1e-4:
            errors.append(f"a module is {away} away after {steps} steps")
    return errors, counts


def slices(seconds):
    """Threads that add 1 to rows of their own of one array."""
    array = mx.nd.zeros((4, 50))

    def writer(row):
        def write():
            array[row] += 1

        return write

    errors, counts = run([writer(row) for row in range(4)], seconds)
    if (lost := counts - array.asnumpy()[:, 0]).any():
        errors.append(f"writes lost: {lost}")
    return errors, counts


def eager(seconds):
    """Threads that call operators on shapes of their own."""
    numbers = np.random.default_rng(0)

    def work():
        rows, columns = (int(n) for n in numbers.integers(1, 30, 2))
        a = mx.nd.arange(rows * columns).reshape((rows, columns))
        got = mx.nd.dot(a, a.T).sum().asscalar()
        want = (a.asnumpy() @ a.asnumpy().T).sum()
        if not np.isclose(got, want, rtol=1e-4):
            raise ValueError(f"{rows}x{columns}: got {got}, expected {want}")

    return run([work] * 4, seconds)


ATTACKS = {each.__name__: each for each in (readers, replicas, modules, slices, eager)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="of all attacks together")
    parser.add_argument("--only", default=",".join(ATTACKS))
    given = parser.parse_args()
    names = given.only.split(",")
    failed = False
    for name in names:
        errors, counts = ATTACKS[name](given.seconds / len(names))
        failed |= bool(errors)
        print(name, counts, errors or "nothing lost", flush=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
