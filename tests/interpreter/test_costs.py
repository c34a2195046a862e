"""The number of calls that NumPy runs of a program before XLA compiles it."""

import math

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.interpreter import program_of
from modkit.interpreter.costs import (
    MANY_STEPS,
    MOST_NODES,
    calls_of_program,
    calls_of_tape,
    compilation_s,
)
from modkit.ndarray import host_programs


@pytest.mark.parametrize(
    ("cost_s", "compiling_s", "calls"),
    [
        (10e-6, 0.1, math.inf),
        (60e-6, 0.1, math.inf),
        (100e-6, 0.1001, 1000),
        (0.09, 0.1, 1),
        (0.2, 0.1, 0),
    ],
)
def test_calls_of_a_program(cost_s, compiling_s, calls):
    assert calls_of_program(cost_s, compiling_s) == calls


@pytest.mark.parametrize(
    ("cost_s", "steps", "calls"),
    [
        (0, 0, 64),
        (1e-6, 10, 64),
        (0.01, 10, 5),
        (0.051, 10, 0),
        (0.001, MANY_STEPS, 64),
        (0.001, MANY_STEPS + 1, 832),
        (0, MANY_STEPS + 1, 64),
    ],
)
def test_calls_of_a_tape(cost_s, steps, calls):
    assert calls_of_tape(cost_s, steps) == calls


def test_steps_and_draws_take_time_to_compile():
    assert compilation_s(0) == pytest.approx(0.03)
    assert compilation_s(10, draws=2) == pytest.approx(0.45)


@pytest.mark.parametrize(("channels", "always"), [(8, True), (64, False)])
def test_numpy_runs_all_calls_of_small_convolutions(channels, always):
    x, kernel = np.zeros((1, channels, 16, 16)), np.zeros((channels, channels, 3, 3))
    jaxpr = jax.make_jaxpr(lambda x, k: jax.lax.conv(x, k, (1, 1), "SAME"))(x, kernel)
    program = program_of(jaxpr)
    calls = calls_of_program(program.cost_s, program.compilation_s)
    assert math.isinf(calls) == always


@pytest.mark.parametrize("more", [0, 1])
def test_only_graphs_of_few_nodes_are_traced_for_numpy(more, monkeypatch):
    traced, trace = [], host_programs.jaxpr_for_numpy
    monkeypatch.setattr(
        host_programs, "jaxpr_for_numpy", lambda *a: (traced.append(1), trace(*a))[1]
    )
    net = mx.sym.Variable("x")
    for _ in range(MOST_NODES - 1 + more):
        net = net + 1
    (out,) = net.eval(x=mx.nd.zeros((2,)))
    np.testing.assert_array_equal(out.asnumpy(), [MOST_NODES - 1 + more] * 2)
    assert bool(traced) != bool(more)
