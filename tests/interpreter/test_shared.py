"""Traces that programs share: one for each function and shapes, with the same results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.interpreter import program_of
from modkit.interpreter.reverse import CustomVjp, vjp
from modkit.interpreter.shared import shared
from modkit.interpreter.tracing import jaxpr_for_numpy
from modkit.ops.entry import Op

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]], np.float32)
Y = np.array([[2.0, 1.0, -1.0]], np.float32)


@CustomVjp
def _doubled(x):
    return x * 2


_doubled.defvjp(lambda x: (x * 2, x), lambda kept, ct: (ct * 7,))


class Counted:
    """A function of two arrays and a truth value, with its number of calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, arrays):
        self.calls += 1
        x, y = arrays
        return x * y, {"sums": _doubled(x).sum(1)}, x, jnp.argmax(x)


def _results(fn, *args):
    listing, shapes = jaxpr_for_numpy(fn, *args)
    made = program_of(listing)(*jax.tree.leaves(args))
    return jax.tree.unflatten(jax.tree.structure(shapes), made)


def _same(got, want):
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(jax.__version_info__ <= (0, 10, 0), reason="not for NumPy in JAX 0.10.0")
def test_a_function_is_traced_once_and_a_second_time_when_it_is_differentiated():
    fn, key = Counted(), object()

    def run(x, y):
        return shared(fn, lambda: key, [x, y])

    def slopes(x, y):
        (made, more, same, at), pull = vjp(run, x, y)
        back = (jnp.ones_like(made), jax.tree.map(jnp.ones_like, more), jnp.ones_like(same))
        return made, at, pull((*back, np.zeros((), jax.dtypes.float0)))

    for _ in range(3):
        _same(_results(run, X, Y), _results(Counted(), [X, Y]))
        made, at, (dx, dy) = _results(slopes, X, Y)
    assert fn.calls == 2
    np.testing.assert_array_equal(made, X * Y)
    assert at == 3
    np.testing.assert_array_equal(dx, np.broadcast_to(Y, X.shape) + 7 + 1)
    np.testing.assert_array_equal(dy, X.sum(0, keepdims=True))
    _results(run, X[:1], Y)
    assert fn.calls == 3  # other shapes


def test_what_gets_no_cotangent_is_not_differentiated():
    """0 times an infinite slope would be NaN."""

    def fn(arrays):
        (x,) = arrays
        return x * 3, jnp.sqrt(x)

    def slope(x):
        made, pull = vjp(lambda x: shared(fn, lambda: fn, [x])[0], x)
        return pull(jnp.ones_like(made))[0]

    np.testing.assert_array_equal(_results(slope, np.zeros(2, np.float32)), [3, 3])


def test_second_derivatives_are_those_of_the_primitives():
    def cubed(x):
        return shared(lambda arrays: arrays[0] ** 3, lambda: "cubed", [x])

    def slope(fn):
        return lambda x: vjp(fn, x)[1](jnp.ones_like(x))[0]

    np.testing.assert_allclose(_results(slope(slope(cubed)), X), 6 * X, rtol=1e-6)


def test_a_function_whose_key_is_not_hashable_is_not_shared():
    fn = Counted()
    for _ in range(2):
        _same(_results(lambda x, y: shared(fn, list, [x, y]), X, Y), _results(Counted(), [X, Y]))
    assert fn.calls == 2


def test_an_operator_is_traced_once_for_calls_and_executors(monkeypatch):
    """Inference, an eager call, `forward`, and a derivative for all gradients."""
    op = mx.sym.softmax(mx.sym.Variable("x"), axis=1)
    shape = (3, 17)  # of no other test
    seen, call = [], Op._call

    def counted(self, *args):
        seen.append(self.name)
        return call(self, *args)

    monkeypatch.setattr(Op, "_call", counted)
    x = mx.nd.array(np.linspace(-1, 1, 51).reshape(shape))
    expected = mx.nd.softmax(x, axis=1).asnumpy()
    for _ in range(2):
        executor = op.simple_bind(mx.cpu(), x=shape)
        for train in (False, True):
            executor.forward(is_train=train, x=x)
            np.testing.assert_array_equal(executor.outputs[0].asnumpy(), expected)
        executor.backward(mx.nd.ones(shape))
        executor.grad_dict["x"].asnumpy()
    assert seen == ["softmax"] * 2
