"""A recurrent network of 100 steps, as `foreach` or unrolled; compatible with Python 3.8.

``control_flow_work.py modkit foreach 20`` binds it, runs 20 passes forward and backward, and prints
the seconds from binding to the end of the first, the median milliseconds of the others, and the
sum of a gradient.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time

import numpy as np

STEPS, BATCH, INPUTS, UNITS = 100, 32, 64, 128
FORMS = ("foreach", "unrolled")


def network(mx, form):
    """The last state of tanh(Wx x + b + Wh h) over the steps, and a squared error of it."""
    data, state = mx.sym.Variable("data"), mx.sym.Variable("state")
    wx, wh, b = (mx.sym.Variable(name) for name in ("wx", "wh", "b"))

    def cell(x, state):
        new = mx.sym.FullyConnected(x, wx, b, num_hidden=UNITS)
        old = mx.sym.FullyConnected(state, wh, no_bias=True, num_hidden=UNITS)
        return mx.sym.Activation(new + old, act_type="tanh")

    def body(x, states):
        made = cell(x, states[0])
        return made, [made]

    if form == "foreach":
        state = mx.sym.contrib.foreach(body, data, [state])[1][0]
    else:
        for x in mx.sym.split(data, num_outputs=STEPS, axis=0, squeeze_axis=True):
            state = cell(x, state)
    out = mx.sym.FullyConnected(state, num_hidden=1, name="out")
    return mx.sym.LinearRegressionOutput(out, mx.sym.Variable("label"))


def run(package, form, passes):
    """Seconds to the first pass, milliseconds of a later one, sum of the gradient of Wh."""
    mx = importlib.import_module(package)
    symbol, random = network(mx, form), np.random.RandomState(0)
    shapes = {"data": (STEPS, BATCH, INPUTS), "state": (BATCH, UNITS), "wx": (UNITS, INPUTS)}
    shapes.update(wh=(UNITS, UNITS), b=(UNITS,), label=(BATCH, 1))
    times, begun = [], time.perf_counter()
    bound = symbol.simple_bind(mx.cpu(), **shapes)
    for _, array in sorted(bound.arg_dict.items()):  # the forms list them in different orders
        array[:] = random.normal(0, 0.1, array.shape)
    for _ in range(passes):
        bound.forward(is_train=True)
        bound.backward()
        grad = bound.grad_dict["wh"].asnumpy()
        times.append(time.perf_counter() - begun)
        begun = time.perf_counter()
    return times[0], statistics.median(times[1:]) * 1e3, float(np.abs(grad).sum())


if __name__ == "__main__":
    print(*run(sys.argv[1], sys.argv[2], int(sys.argv[3])))
