"""Listings: the primitives of functions, as NumPy runs them."""

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

from modkit.interpreter import program_of
from modkit.interpreter.tracing import Value, jaxpr_for_numpy
from modkit.ops import loops

X = np.linspace(0.5, 2, 6, dtype=np.float32).reshape(2, 3)


@jax.custom_jvp
def shifted(x):
    return jnp.where(x > 1, x + np.float32(2), x)


shifted.defjvp(lambda primals, tangents: (shifted(*primals), tangents[0]))


def mixed(x, whole):
    """Constants, an unused operand, a loop over a value from outside, several results of one."""
    del whole
    scale = (1 - x.sum(0) / 2) * x.var() + 3 * x[0]
    assert x.astype(np.float32) is x or not isinstance(x, Value)
    total = loops.scan(lambda sum_, row: (sum_ + row * scale, sum_), jnp.zeros(3, x.dtype), x)
    first, second = jnp.split(shifted(x) + np.arange(3, dtype=np.float32), 2)
    return {"total": total, "parts": (first, second @ x.T), "constant": 3, "same": x}


def test_a_listing_has_the_primitives_of_jax_and_the_same_results():
    listing, shapes = jaxpr_for_numpy(mixed, X, np.int32(1))
    wanted = jax.jit(mixed)(X, np.int32(1))
    assert jax.tree.structure(shapes) == jax.tree.structure(wanted)
    for run in (program_of(listing), listing.evaluated):
        for got, want in zip(run(X, np.int32(1)), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
    kinds = [(a.shape, a.dtype) for a in jax.tree.leaves(shapes)]
    assert kinds == [(a.shape, a.dtype) for a in jax.tree.leaves(wanted)]


def test_arithmetic_and_reductions_of_values_have_the_types_of_jax():
    whole, half = np.arange(6, dtype=np.int32).reshape(2, 3), X.astype(np.float16)

    def arithmetic(x, half, whole):
        for a, b in ((x, x), (half, x), (whole, x), (whole, whole), (half, 1.7), (x, 1.7)):
            yield from (a + b, b - a, a * b, b / a, a > b, b <= a, a == b, a != b)
        yield from (x + True, x[:1] + x, 2 - whole, x.astype("int32"), whole == 1)
        for each in (x, half, whole):
            for name in ("sum", "mean", "max", "min"):
                reduced = getattr(each, name)
                yield from (reduced(), reduced(-1), reduced((1, -2), keepdims=True), reduced(()))
        yield from (x.sum([1]), x.max(0, initial=1), x.mean(0, dtype="float16"), x[:0].sum(0))

    def listed(*args):
        return list(arithmetic(*args))

    args = (X, half, whole)
    listing, _ = jaxpr_for_numpy(listed, *args)
    for got, want in zip(program_of(listing)(*args), jax.jit(listed)(*args), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_what_jax_refuses_is_refused_and_leaves_no_trace_behind():
    with pytest.raises(TypeError, match="incompatible shapes"):
        jaxpr_for_numpy(lambda x: jax.lax.add(x, x.T), X)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jaxpr_for_numpy(lambda x: x if x.sum() > 0 else -x, X)
    assert float(jnp.add(1, 2)) == 3


def test_reductions_of_values_refuse_what_jax_refuses():
    for axis, found in ((2, "out of bounds"), ((0, -2), "duplicate"), (0.5, "float")):
        with pytest.raises((ValueError, TypeError), match=found):
            jaxpr_for_numpy(lambda x, axis=axis: x.sum(axis), X)
    with pytest.raises(ValueError, match="zero-size"):
        jaxpr_for_numpy(lambda x: x[:0].max(0), X)


def test_types_of_results_are_those_of_the_present_widths():
    widest = jax.extend.core.Primitive("widest")
    widest.def_abstract_eval(
        lambda x: jax.core.ShapedArray(x.shape, jax.dtypes.canonicalize_dtype(np.float64))
    )
    for x64, dtype in ((True, np.float64), (False, np.float32)):
        with jax.enable_x64(x64):
            assert jaxpr_for_numpy(widest.bind, X)[1].dtype == dtype
