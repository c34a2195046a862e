"""Eager foreach, while_loop and cond. Figures are MXNet 1.9.1's where nothing else is said."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import ParameterError, ShapeError

N = mx.nd.contrib
A = mx.nd.array


def numbers(value):
    """A nested list of arrays as numbers."""
    if isinstance(value, list | tuple):
        return [numbers(x) for x in value]
    return value.asnumpy().tolist()


def foreach_pair(a, b):
    return a * b, b + a


CASES = {
    "product and sum": (
        lambda: N.foreach(foreach_pair, A([[1, 2], [3, 4]]), A([1, 1])),
        [[[1, 2], [6, 12]], [5, 7]],
    ),
    "lists, and the first array counts": (
        lambda: N.foreach(lambda x, _: ([x[0], [x[1]]], []), [A([[1, 2]]), A([1, 1, 3])], []),
        [[[[1, 2]], [[[1]]]], []],
    ),
    "no outputs": (
        lambda: N.foreach(lambda x, s: ([], [x + s[0]]), A([[1, 2], [3, 4]]), [A([1, 1])]),
        [[], [[5, 7]]],
    ),
    "another form of the states": (
        lambda: N.foreach(lambda x, s: (x, [x]), A([1, 2]), []),
        [[[1], [2]], [[2]]],
    ),
    "while": (
        lambda: N.while_loop(
            lambda i, s: i < 4, lambda i, s: ([s * i], [i + 1, s * i]), [A([1]), A([2])], 3
        ),
        [[[[2], [4], [12]]], [[4], [12]]],
    ),
    "while, one variable": (
        lambda: N.while_loop(lambda i: i < 4, lambda i: (i, i + 1), A([1]), "3"),
        [[[1], [2], [3]], [4]],
    ),
    "while, no outputs": (
        lambda: N.while_loop(lambda i: i < 4, lambda i: (None, i + 1), A([1]), max_iterations=7),
        [[], [4]],
    ),
    "while, no step": (
        lambda: N.while_loop(lambda i: i < 4, lambda i: (i, i + 1), A([5]), max_iterations=7),
        [[], [5]],
    ),
    "while, 0 steps at most": (
        lambda: N.while_loop(lambda i: i < 4, lambda i: (i, i + 1), A([1]), max_iterations=0),
        [[], [1]],
    ),
    "while, a Python condition": (
        lambda: N.while_loop(lambda i: True, lambda i: (i, [i + 1]), [A([1])], max_iterations=3),
        [[[1], [2], [3]], [[4]]],
    ),
    "cond": (lambda: N.cond(A([1]), lambda: A([1, 1]), lambda: A([0])), [1, 1]),
    "cond, the other": (lambda: N.cond(A([0]), lambda: A([1, 1]), lambda: [A([0])]), [[0]]),
    "cond, a number": (lambda: N.cond(3, lambda: A([1, 1]), lambda: A([0])), [1, 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_results(name):
    run, want = CASES[name]
    assert numbers(run()) == want


def test_rows_behind_the_last_step_are_zero():
    """MXNet does not initialise them."""
    outputs, _ = N.while_loop(lambda i: i < 4, lambda i: (i, i + 1), A([2]), 5)
    assert numbers(outputs) == [[2], [3], [0], [0], [0]]


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: N.foreach(foreach_pair, 3, A([1])), ParameterError, "data: got 3 of type int"),
        (lambda: N.foreach(foreach_pair, A([1]), 3), ParameterError, "init_states: got 3 of type"),
        (lambda: N.foreach(foreach_pair, [], A([1])), ParameterError, "data: got no rows"),
        (
            lambda: N.foreach(lambda x, s: (x[0], s), [A([1, 2]), A([1])], []),
            ParameterError,
            r"got \[2, 1\] rows, expected 2 in each",
        ),
        (lambda: N.foreach(lambda x, s: x, A([1, 2, 3]), []), ParameterError, "expected a pair"),
        (lambda: N.foreach(lambda x, s: (3, s), A([1]), []), ParameterError, "outputs of the body"),
        (lambda: N.while_loop(None, None, A([1])), ParameterError, "max_iterations: got None"),
        (lambda: N.while_loop(None, None, A([1]), "x"), ParameterError, "max_iterations: got 'x'"),
        (lambda: N.while_loop(None, None, A([1]), np.inf), ParameterError, "max_iterations: got"),
        (lambda: N.while_loop(None, None, [], 3), ParameterError, "loop_vars: got none"),
        (lambda: N.while_loop(None, None, 3, 3), ParameterError, "loop_vars: got 3"),
        (
            lambda: N.while_loop(lambda i: i < 4, lambda i: (i, [i, i]), [A([1])], 3),
            ParameterError,
            "func returned 2 loop_vars, expected 1",
        ),
        (
            lambda: N.while_loop(lambda i: i < 4, lambda i: (i, i + 1), A([1, 1]), 3),
            ShapeError,
            "expected one element",
        ),
        (lambda: N.cond(A([0, 1]), None, None), ShapeError, "expected one element"),
    ],
)
def test_errors(run, error, message):
    with pytest.raises(error, match=message):
        run()


def test_gradients_are_recorded():
    """Those of the symbolic loops of the same functions, as MXNet's."""
    x, s = A([[1, 2], [3, -1], [0.5, 4]]), A([1, 2])
    x.attach_grad()
    s.attach_grad()
    with mx.autograd.record():
        outputs, state = N.foreach(foreach_pair, x, s)
        loss = outputs.sum() + 2 * state.sum()
    loss.backward()
    np.testing.assert_allclose(s.grad.asnumpy(), x.asnumpy().sum(axis=0) + 2)
    i, t = A([1]), A([2])
    i.attach_grad()
    t.attach_grad()
    with mx.autograd.record():
        outputs, states = N.while_loop(
            lambda i, s: i < 4, lambda i, s: (s * i, [i + 1, s * i]), [i, t], 7
        )
        loss = outputs.sum() + states[0] + states[1]
    loss.backward()
    assert (i.grad.asscalar(), t.grad.asscalar()) == (53, 15)


def test_steps_of_another_form_are_refused():
    counts = iter((1, 2))
    with pytest.raises(ParameterError, match="step 1 returned outputs nested as"):
        mx.nd.contrib.foreach(lambda x, s: ([x] * next(counts), s), mx.nd.ones((2, 3)), [])
