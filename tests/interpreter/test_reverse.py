"""Derivatives of traces for NumPy: each primitive of the tables, against `jax.vjp`."""

import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.interpreters import ad

from modkit.interpreter import program_of, reverse
from modkit.interpreter.tracing import jaxpr_for_numpy

X = np.array([[0.3, 0.7, 0.45], [0.25, 0.9, 0.6]], np.float32)
Y = np.array([[0.8, 0.35, 0.5], [0.55, 0.15, 0.95]], np.float32)
ROW = Y[:1]  # a primitive repeats it along the first axis


@jax.custom_jvp
def steep(x, unused):
    """A function with a forward-mode rule that is not its derivative."""
    return x * 2


@steep.defjvp
def _steep_jvp(primals, tangents):
    return steep(*primals), tangents[0] * 5 * primals[1]


@jax.custom_vjp
def backwards(x, scale):
    """A function with a pullback that is not its derivative; a residual is an operand."""
    return x + 1, scale * x


backwards.defvjp(
    lambda x, scale: (backwards(x, scale), (x, scale, jnp.cos(x))),
    lambda kept, given: (given[0] * kept[2] * 3 + given[1] * kept[1], None),
)


@functools.partial(reverse.CustomJvp, nondiff_argnums=(1,))
def steeper(x, factor):
    """`steep`, as operators have such rules."""
    return x * 2


@steeper.defjvp
def _steeper_jvp(factor, primals, tangents):
    return steeper(*primals, factor), tangents[0] * 5 * factor


@functools.partial(reverse.CustomVjp, nondiff_argnums=(0,))
def upwards(factor, pair, label):
    """`backwards`, as operators have such pullbacks: a tree, and a label without a gradient."""
    return pair[0] + factor, label * pair[1]


upwards.defvjp(
    lambda factor, pair, label: (upwards(factor, pair, label), (pair, label)),
    lambda factor, kept, given: ((given[0] * factor * kept[0][0], given[1] * kept[1]), None),
)

UNARY = [
    "abs", "acos", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "digamma", "erf",
    "erf_inv", "erfc", "exp", "exp2", "expm1", "lgamma", "log", "log1p", "logistic", "neg",
    "rsqrt", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    "ceil", "floor", "round", "sign", "stop_gradient",
]  # fmt: skip

COMPARISONS = [lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge]

CASES = {
    **{name: (lambda x, name=name: getattr(lax, name)(x), (X,)) for name in UNARY},
    "acosh": (lambda x: lax.acosh(x + 1), (X,)),
    "integer_pow": (lambda x: lax.integer_pow(x, 3), (X,)),
    **{name: (getattr(lax, name), (X, Y)) for name in ("add", "atan2", "max", "min", "pow", "rem")},
    **{name: (getattr(lax, name), (X, Y)) for name in ("div", "mul", "sub")},
    "clamp": (lambda x: lax.clamp(np.float32(0.4), x, np.float32(0.8)), (X,)),
    "broadcast div": (lax.div, (X, ROW)),
    "compared": (lambda x, y: sum(f(x, y) * x for f in COMPARISONS), (X, Y)),
    "add_any": (lambda x: x * jax.grad(lambda z: (z * z).sum())(x), (X,)),
    "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (4, 2, 3), (1, 2)), (X,)),
    "concatenate": (lambda x, y: lax.concatenate([x, y, x], 1), (X, Y)),
    "conv_general_dilated": (
        lambda x, w: lax.conv_general_dilated(x, w, (1,), [(1, 0)]), (X[:, None], Y[:, None, :2]),
    ),
    "convert_element_type": (lambda x: x.astype(np.float16), (X,)),
    "copy": (lambda x: jnp.copy(x), (X,)),
    "cumsum": (lambda x: lax.cumsum(x, 1, reverse=True), (X,)),
    "dot_general": (lambda x, y: x @ y.T, (X, Y)),
    "gather": (lambda x, i: jnp.take(x, i, axis=1), (X, np.array([2, 0, 2], np.int32))),
    "optimization_barrier": (lambda x, y: sum(lax.optimization_barrier([x, y])), (X, Y)),
    "pad": (lambda x: lax.pad(x, np.float32(0), [(1, 0, 0), (-1, 2, 1)]), (X,)),
    "reduce_max": (lambda x: lax.reduce_max(x, (1,)), (np.maximum(X, 0.5),)),
    "reduce_min": (lambda x: lax.reduce_min(x, (0,)), (X,)),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 8, 7), (X,)),
    "reduce_prod": (lambda x: lax.reduce_prod(x, (0, 1)), (X,)),
    "reduce_sum": (lambda x: lax.reduce_sum(x, (0,)), (X,)),
    "conv_general_dilated in groups": (
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=3),
        (np.stack([X, Y]).swapaxes(1, 2), np.concatenate([X, Y], 1).reshape(6, 1, 2)),
    ),
    **{
        f"reduce_window_{name}": (
            lambda x, first=first, reduce=reduce: lax.reduce_window(
                x, first, reduce, (2, 2), (1, 1), [(1, 0), (0, 2)]
            ),
            (np.array([[1, 2, 2], [2, 1, 2]], np.float32),),
        )
        for name, first, reduce in (
            ("max", np.float32(-np.inf), lax.max), ("min", np.float32(np.inf), lax.min),
        )
    },
    "reduce_window_sum": (
        lambda x: lax.reduce_window(x, np.float32(0), lax.add, (1, 2), (1, 1), "VALID"), (X,),
    ),
    "reshape": (lambda x: x.reshape(3, 2), (X,)),
    "rev": (lambda x: lax.rev(x, (1,)), (X,)),
    "scatter-add": (lambda x, y: x.at[:, 1].add(y[:, 0]), (X, Y)),
    "select_n": (lambda x, y: jnp.where(np.array([True, False, True]), x, y), (X, Y)),
    "slice": (lambda x: lax.slice(x, (0, 0), (1, 3), (1, 2)), (X,)),
    "an empty slice": (lambda x: lax.slice(x, (1, 0), (1, 3), (2, 1)), (X,)),
    "split": (lambda x: lax.split(x, (1, 2), 1)[1], (X,)),
    "squeeze": (lambda x: lax.squeeze(x[:1], (0,)), (X,)),
    "transpose": (lambda x: x.T, (X,)),
    "tile": (lambda x: lax.tile(x, (2, 1)), (X,)),
    "stack": (lambda x, y: lax.stack([x, y]), (X, Y)),
    "unstack": (lambda x: lax.unstack(x)[1], (X,)),
    "is_finite": (lambda x: jnp.where(lax.is_finite(x), x, 0), (X,)),
    "a loop": (lambda x: lax.scan(lambda s, r: (s * r, s), x[0], x), (X,)),
    "a branch": (lambda x: lax.cond(x[0, 0] < 1, jnp.sin, jnp.cos, x), (X,)),
    "sort": (lambda x: lax.sort(x, dimension=1), (X,)),
    "a forward-mode rule": (lambda x, y: steep(x, 3.0) * steep(Y, 3.0) + y, (X, Y)),
    "a pullback": (lambda x, y: [*backwards(x, y), *backwards(Y, Y)], (X, Y)),
    "an operator's rule": (lambda x, y: steeper(x, 3.0) * steeper(Y, 3.0) + y, (X, Y)),
    "an operator's pullback": (
        lambda x, y: [*upwards(3.0, (x, y), y), *upwards(3.0, (Y, Y), Y)], (X, Y),
    ),
    "an unused operand": (lambda x, y: (x, jnp.argmax(x), 2.0), (X, Y)),
}  # fmt: skip
if not hasattr(lax, "stack"):  # before JAX 0.10.1
    del CASES["stack"], CASES["unstack"]


def pulled_back(vjp, fn, args):
    """Outputs of a function, and cotangents of its arguments from those of the outputs."""

    def run(*args):
        made, pull, aux = vjp(lambda *xs: (fn(*xs), xs[0] * 2), *args, has_aux=True)
        cotangents = jax.tree.map(cotangent, made)
        return made, [x for x in pull(cotangents) if x.dtype != jax.dtypes.float0], aux

    return run


def cotangent(y):
    """A number for each element, all different."""
    if not jnp.issubdtype(jnp.result_type(y), jnp.inexact):
        return np.zeros(np.shape(y), jax.dtypes.float0)
    return jnp.linspace(1, 2, max(np.size(y), 1), dtype=jnp.result_type(y))[: np.size(y)].reshape(
        np.shape(y)
    )


def made_by(vjp, fn, args):
    """The same, by NumPy where it can."""
    closed, _ = jaxpr_for_numpy(pulled_back(vjp, fn, args), *args)
    return (program_of(closed) or closed.evaluated)(*args)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_jax(name):
    wanted = made_by(jax.vjp, *CASES[name])
    made = made_by(reverse.vjp, *CASES[name])
    for got, want in zip(made, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-7)


def test_jax_differentiates_what_has_no_rule_in_its_tables(monkeypatch):
    tables = {"primitive_jvps": {}, "primitive_transposes": {}}
    monkeypatch.setattr(reverse, "ad", SimpleNamespace(**{**vars(ad), **tables}))
    for name in ("tanh", "reduce_max", "mul", "reshape"):
        test_derivatives_are_those_of_jax(name)


@pytest.fixture
def a_later_jax(monkeypatch):
    """A version of JAX of which nothing is known."""
    monkeypatch.setattr(jax, "__version_info__", (99, 0, 0))
    reverse.rules_are_known.cache_clear()
    yield monkeypatch
    reverse.rules_are_known.cache_clear()


def test_a_later_jax_with_the_same_rules_is_recorded(a_later_jax):
    assert reverse.rules_are_known()


def test_jax_differentiates_all_where_its_rules_are_others(a_later_jax):
    a_later_jax.setattr(reverse, "ad", SimpleNamespace())
    for name in ("tanh", "a forward-mode rule", "a pullback"):
        test_derivatives_are_those_of_jax(name)
    assert not reverse.rules_are_known()


def test_second_derivatives_are_those_of_jax():
    def second(vjp):
        def slope(x):
            return vjp(lambda z: steep(jnp.tanh(z) * z, 3.0).sum(), x)[1](np.float32(1))[0]

        return jaxpr_for_numpy(lambda x: vjp(slope, x)[1](x), X)[0]

    (got,), (wanted,) = (program_of(second(each))(X) for each in (reverse.vjp, jax.vjp))
    np.testing.assert_allclose(got, wanted, rtol=2e-5)


def test_each_primitive_of_the_tables_has_a_case():
    names = reverse._FLAT | reverse._BY_TANGENTS | reverse._ELEMENTWISE
    names |= set(reverse._CHOOSES) | reverse._LINEAR | reverse._BILINEAR
    names -= {name for name in ("stack", "unstack") if name not in CASES}
    for fn, args in CASES.values():
        for traced in (fn, pulled_back(reverse.vjp, fn, args)):
            closed, _ = jaxpr_for_numpy(traced, *args)
            names -= {each.primitive.name for each in closed.jaxpr.eqns}
    assert names == set()


def test_what_a_pullback_keeps_is_kept_once():
    closed, pull = jaxpr_for_numpy(lambda x: reverse.vjp(lambda x: jnp.sin(x) * x * x, x)[1], X)
    kept = closed.jaxpr.outvars
    assert len(kept) == len(set(kept)) == len(jax.tree.leaves(pull)) == 3
    hash(jax.tree.structure(pull))  # a program returns it, and the next finds its own by it
