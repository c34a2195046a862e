"""Python calls and modkit's files in one steady batch of `fit`, JAX's own calls included.

python -m tools.count_step          # numbers, and files
python -m tools.count_step calls    # each call, below its caller
"""

from __future__ import annotations

import collections
import sys
from pathlib import Path

import numpy as np

import modkit as mx

ROOT = str(Path(mx.__file__).parent)
FROM, BATCHES = 20, 6


def network(layers):
    net = mx.sym.Variable("data")
    for at in range(layers):
        net = mx.sym.FullyConnected(net, num_hidden=8, name=f"fc{at}")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def count(layers):
    """The calls of a batch in the middle: ``(file, function, line of the call, depth)`` of each."""
    data, label = np.ones((8 * (FROM + BATCHES + 4), 8), "f"), np.zeros(8 * (FROM + BATCHES + 4))
    module = mx.mod.Module(network(layers))
    calls, ends = [], []

    def seen(frame, event, _argument):
        if event == "call":
            code, line, depth = frame.f_code, frame.f_back.f_lineno, 0
            while frame := frame.f_back:
                depth += 1
            calls.append((code.co_filename, code.co_qualname, line, depth))

    def batch_end(param):
        ends.append(len(calls))
        if param.nbatch == FROM:
            sys.setprofile(seen)
        if param.nbatch == FROM + BATCHES:
            sys.setprofile(None)

    module.fit(
        mx.io.NDArrayIter(data, label, 8),
        num_epoch=1,
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        batch_end_callback=batch_end,
    )
    each = [calls[a:b] for a, b in zip(ends[FROM + 1 :], ends[FROM + 2 : -3], strict=False)]
    return min((batch for batch in each if batch), key=len)  # without the garbage collector's


def files(calls):
    """Modkit's files among the calls, and how many calls each has."""
    return collections.Counter(
        file.removeprefix(ROOT + "/") for file, *_ in calls if file.startswith(ROOT)
    )


def show(calls):
    """Print each call, below its caller."""
    least = min(depth for *_, depth in calls)
    for file, name, line, depth in calls:
        where = file.removeprefix(ROOT + "/")
        print(f"{'  ' * (depth - least)}{name}, {where}: called at line {line}")


def main():
    if sys.argv[1:] == ["calls"]:
        show(count(1))
        return
    for layers in (1, 11, 41):
        calls = count(layers)
        print(f"{2 * layers} parameters: {len(calls)} calls, {len(files(calls))} files")
    for file, number in files(count(1)).most_common():
        print(f"{number:4} {file}")


if __name__ == "__main__":
    main()
