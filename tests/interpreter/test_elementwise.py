"""Elementwise primitives at the edges of their types: NumPy's forms beside XLA's results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from modkit.interpreter import convert, program_of
from modkit.interpreter.elementwise import ELEMENTWISE
from modkit.ops import get_op

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 3e38, -3e38, 1e-30,
          np.inf, -np.inf, np.nan, 7.25, 100.0, -100.0]  # fmt: skip
INTS = [0, 1, -1, 2, -2, 7, -7, 31, 32, 33, -32, 2**31 - 1, -(2**31), 12345, -12345]
UNARY_FLOAT = [
    lambda x: lax.clamp(jnp.float32(-1), x, jnp.float32(1)),
    lax.abs, lax.acos, lax.acosh, lax.asin, lax.asinh, lax.atan, lax.atanh, lax.cbrt, lax.ceil,
    lax.cos, lax.cosh, lax.erf, lax.erf_inv, lax.erfc, lax.exp, lax.exp2, lax.expm1, lax.floor,
    lax.is_finite, lax.lgamma, lax.log, lax.log1p, lax.logistic, lax.neg, lax.rsqrt, lax.sign,
    lax.sin, lax.sinh, lax.sqrt, lax.square, lax.tan, lax.tanh, lax.digamma,
    lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    lambda x: lax.integer_pow(x, 3), lambda x: lax.integer_pow(x, -2),
    lambda x: lax.pow(x, jnp.full(x.shape, 0.5, x.dtype)),
    lambda x: lax.bitcast_convert_type(x, np.int32), jax.vmap(jax.grad(lax.tanh)),
]  # fmt: skip
BINARY_FLOAT = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.pow, lax.atan2,
                lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge, lax.nextafter]  # fmt: skip
UNARY_INT = [lax.abs, lax.neg, lax.sign, lax.bitwise_not, lax.square,
             lambda x: lax.integer_pow(x, 3)]  # fmt: skip
BINARY_INT = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min, lax.bitwise_and,
              lax.bitwise_or, lax.bitwise_xor, lax.shift_left, lax.shift_right_arithmetic,
              lax.shift_right_logical, lax.lt]  # fmt: skip


def _pairs(values, dtype):
    x = np.array(values, dtype)
    return np.repeat(x, len(x)), np.tile(x, len(x))


def _check_each(functions, *args):
    """Check functions of the same arrays, which XLA compiles as one program."""
    wanted = jax.jit(lambda *args: [fn(*args) for fn in functions])(*args)
    for fn, want in zip(functions, map(np.asarray, wanted), strict=True):
        closed = jax.make_jaxpr(fn)(*args)
        program = program_of(closed)
        assert program is not None, closed
        (got,) = program(*args)
        assert got.dtype == want.dtype
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=str(closed))
            zero = (want == 0) & (got == 0) & (len(args) == 1)  # max(-0, 0) is either
            assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero])), closed
        else:
            np.testing.assert_array_equal(got, want, err_msg=str(closed))


def test_floats():
    one, (x, y) = np.array(FLOATS, np.float32), _pairs(FLOATS, np.float32)
    _check_each([fn for fn in UNARY_FLOAT if fn is not lax.digamma], one)
    _check_each([lax.digamma], one[2:])  # at 0 XLA's is NaN or -inf, by its version
    _check_each(BINARY_FLOAT, x, y)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_halves_are_rounded_away_from_zero(dtype):
    places = np.dtype(dtype).itemsize * 8 - (9 if dtype == "float32" else 6)
    halves = np.append(np.arange(-9, 10) / 2, [2**places + 1, 2**places - 1.5]).astype(dtype)
    one = np.concatenate(
        [halves, np.nextafter(halves, halves + 1), np.nextafter(halves, halves - 1)]
    )
    _check_each([lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)], one)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integers(dtype):
    values = np.array(INTS, np.int64).astype(dtype)
    x, y = _pairs(values, dtype)
    _check_each(UNARY_INT[2 if dtype == "uint8" else 0 :], values)
    _check_each(BINARY_INT, x, y)


def test_casts_saturate():
    values = np.array([*FLOATS, 255.5, 256, -0.9, 2.0**31, -(2.0**31), 127.9, 128], np.float32)
    for dtype in ("int8", "uint8", "int32", "uint32", "bool", "float16"):
        want = np.asarray(jax.jit(lambda x, t=dtype: x.astype(t))(values))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(convert(values, np.dtype(dtype)), want, err_msg=dtype)
            alone = [convert(values[at : at + 1], np.dtype(dtype)) for at in range(len(values))]
            np.testing.assert_array_equal(np.concatenate(alone), want, err_msg=dtype)


def test_sorting_and_total_order():
    values = np.array(FLOATS, np.float32)
    _check_each([jnp.sort, jnp.argsort], values)
    if jax.__version_info__ < (0, 11):  # later it is a primitive, which XLA compiles
        _check_each([lambda x: jnp.searchsorted(jnp.sort(x), x)], values[:9])


def test_every_form_is_compared():
    """Names that neither table above nor an operator's row holds."""
    seen = {"add_any", "reduce_precision", "le_to", "not", "and", "or", "xor"}
    if jax.__version_info__ < (0, 12):
        seen.add("one_minus_square")
    fns = [*((f, 1, "float32") for f in UNARY_FLOAT), *((f, 2, "float32") for f in BINARY_FLOAT)]
    fns += [*((f, 1, "int32") for f in UNARY_INT), *((f, 2, "int32") for f in BINARY_INT)]
    for fn, count, dtype in fns:
        jaxpr = jax.make_jaxpr(fn)(*[jnp.ones(2, dtype)] * count)
        seen |= {e.primitive.name for e in jaxpr.jaxpr.eqns}
    assert set(ELEMENTWISE) - seen <= {"select_n", "lt_to", "bitcast_convert_type"}


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
@pytest.mark.parametrize("number", [5, 20000])
def test_selections_keep_every_bit(dtype, number):
    stream = np.random.RandomState(0)
    mask = stream.rand(number) < 0.5
    size = np.dtype(dtype).itemsize * number
    left, right = (np.frombuffer(stream.bytes(size), dtype) for _ in range(2))  # NaN too
    for then, otherwise in ((left, right), (left, right[:1]), (left[:1], right[:1])):
        program = program_of(jax.make_jaxpr(jnp.where)(mask, then, otherwise))
        (found,) = program(mask, then, otherwise)
        assert found.tobytes() == np.where(mask, then, otherwise).tobytes()


def test_a_choice_by_one_condition_copies_nothing():
    given = np.ones(3, np.float32), np.zeros(3, np.float32)
    for which in (np.bool_(True), np.array(False)):
        made = ELEMENTWISE["select_n"](which, *given)
        assert made is given[int(which)]


def test_the_gamma_function_is_that_of_jax_in_fewer_steps():
    x = np.array([*FLOATS, -3.0, -3.5, -170.3, -1e-40, 1e-40, -16777217.0], np.float32)
    run = get_op("gamma").as_function({}, False)[0]
    program = program_of(jax.make_jaxpr(lambda x: run([x])[0][0])(x))
    (wanted,) = program_of(jax.make_jaxpr(jax.scipy.special.gamma)(x))(x)
    (made,) = program(x)
    assert program.steps <= 18
    np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(np.signbit(made), np.signbit(wanted))
