"""Programs of NumPy calls: sums in 16 bits, memory, and constants among the results."""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.interpreter import program_of, windows
from modkit.interpreter.tracing import for_numpy
from modkit.ops import loops


def test_cumulative_sums_of_half_numbers_are_taken_in_single_precision():
    total = mx.nd.cumsum(mx.nd.ones((5000,), dtype="float16"))
    assert (total.dtype, float(total[-1].asscalar())) == (np.float16, 5000)


def test_a_result_that_is_a_constant_cannot_be_written():
    kept = np.arange(3.0, dtype=np.float32)
    program = program_of(jax.make_jaxpr(lambda x: (x, jnp.asarray(kept)))(kept))
    _, made = program(kept)
    assert not made.flags.writeable or not np.shares_memory(made, kept)


def test_integers_are_finite():
    largest = mx.nd.array([np.iinfo(np.int32).max, 0], dtype="int32")
    for name, wanted in (("isinf", [0, 0]), ("isnan", [0, 0]), ("isfinite", [1, 1])):
        assert getattr(mx.nd.contrib, name)(largest).asnumpy().tolist() == wanted


def sum_of_positive(x):
    """A loop, with functions of JAX that are compiled by themselves in it and beside it."""
    total = loops.scan(lambda sum_, each: (jnp.where(each > 0, sum_ + each, sum_), None), 0.0, x)[0]
    return jnp.where(total > 1, total, 0)


def names_in(jaxpr):
    """The primitives of a jaxpr and of its loops' bodies."""
    for each in jaxpr.eqns:
        if each.outvars:
            yield each.primitive.name
        if each.primitive.name == "scan":
            yield from names_in(each.params["jaxpr"].jaxpr)


def test_a_trace_for_numpy_has_no_jaxpr_in_it_but_of_loops():
    for traced in (sum_of_positive, jax.grad(sum_of_positive)):
        with for_numpy():
            closed = jax.make_jaxpr(traced)(jnp.ones(5))
        names = set(names_in(closed.jaxpr))
        assert "scan" in names and not names & {"jit", "pjit"}
        (made,) = program_of(closed)(np.array([2, -1, 3, 0, 1], np.float32))
        np.testing.assert_array_equal(made, 6 if traced is sum_of_positive else [1, 0, 1, 0, 1])


def test_loops_are_unrolled_where_a_user_disables_jit():
    seen = []
    with jax.disable_jit():
        loops.scan(lambda sum_, each: (sum_ + each, seen.append(each)), 0.0, jnp.arange(3.0))
    assert [float(each) for each in seen] == [0, 1, 2]


def test_numpy_runs_an_executor_without_jit(monkeypatch):
    names, jit = [], jax.jit

    def counted(*fn, **options):
        names.extend(each.__name__ for each in fn)
        return jit(*fn, **options)

    monkeypatch.setattr(jax, "jit", counted)
    data = mx.sym.Pooling(mx.sym.var("no_jit"), kernel=(2, 2), pool_type="max")
    executor = data.simple_bind(mx.cpu(), no_jit=(1, 1, 3, 3))
    executor.arg_arrays[0][:] = mx.nd.array(np.arange(9.0).reshape(1, 1, 3, 3))
    (made,) = executor.forward(is_train=True)
    executor.backward(mx.nd.ones(made.shape))
    assert executor.grad_arrays[0].asnumpy().ravel().tolist() == [0, 0, 0, 0, 1, 1, 0, 1, 1]
    assert not {"forward_kept", "backward"} & set(names)


def branched(x):
    """Two branches with other residuals: each has an empty buffer for those that it lacks."""
    whole = jax.lax.cond(x[0, 0] < 5, lambda x: (x + 5) * x[0], lambda x: jnp.sin(x) * x * x, x)
    return whole.sum()


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("clamp", lambda x: jax.lax.clamp(np.float32(-1), x, np.float32(1))),
        ("reshape", lambda x: jax.lax.reshape(x, (3, 2), dimensions=(1, 0))),
        ("empty2", jax.grad(branched)),
        (
            "batch_group_count=2",
            lambda x: jax.lax.conv_general_dilated(
                x[:, None], x[:, None], (1,), "VALID", batch_group_count=2
            ),
        ),
    ],
)
def test_a_primitive_of_its_own(name, function):
    x = np.array([[-2, np.nan, 3], [0.5, -np.inf, 1]], np.float32)
    closed = jax.make_jaxpr(function)(x)
    assert f" {name}" in str(closed)
    (made,) = program_of(closed)(x)
    np.testing.assert_array_equal(made, function(x))


def halved(x):
    """Numbers halved until they are under 1, and how often."""
    return jax.lax.while_loop(
        lambda state: state[0] >= 1, lambda state: (state[0] / 2, state[1] + 1), (x, jnp.int32(0))
    )


def test_a_loop_of_unknown_length():
    program = program_of(jax.make_jaxpr(halved)(jnp.float32(1)))
    assert [float(x) for x in program(np.float32(12))] == [0.75, 4]
    assert [float(x) for x in program(np.float32(0.5))] == [0.5, 0]


def test_loops_of_a_batch_end_one_by_one():
    numbers = np.array([0.5, 12, 3], np.float32)
    program = program_of(jax.make_jaxpr(jax.vmap(halved))(numbers))
    values, counts = program(numbers)
    assert (values.tolist(), counts.tolist()) == ([0.5, 0.75, 0.75], [0, 4, 2])


def test_the_largest_are_found_as_by_xla():
    numbers = np.array([[1, np.nan, 0, -0.0, 3, 3, np.inf], [0, -0.0, 0, 1, 1, 2, -1]], np.float32)
    program = program_of(jax.make_jaxpr(lambda x: jax.lax.top_k(x, 5))(numbers))
    for got, wanted in zip(program(numbers), jax.lax.top_k(numbers, 5), strict=True):
        np.testing.assert_array_equal(got, wanted)
    whole = np.array([3, -5, 3, 7, -(2**31)], np.int32)
    program = program_of(jax.make_jaxpr(lambda x: jax.lax.top_k(x, 4))(whole))
    assert [x.tolist() for x in program(whole)] == [[7, 3, 3, -5], [3, 0, 2, 1]]


MATRICES = {
    "cholesky": lambda a: jnp.tril(jax.lax.linalg.cholesky(a, symmetrize_input=False)),
    "eigenvalues": lambda a: jax.lax.linalg.eigh(a, symmetrize_input=False)[1],
    "inverse": jnp.linalg.inv,
    "lu": jax.lax.linalg.lu,
    "qr": lambda a: jnp.linalg.qr(a[..., :2]),
    "triangular": lambda a: jax.lax.linalg.triangular_solve(a, a[..., :2, :], transpose_a=True),
    "triangular, left": lambda a: jax.lax.linalg.triangular_solve(
        a, a[..., :2], left_side=True, lower=True, unit_diagonal=True
    ),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_those_of_xla(name):
    """The second matrix of the batch is not positive definite."""
    numbers = np.array([[[4, 1, 0], [1, 3, 1], [0, 1, 2]], [[1, 2, 0], [2, 1, 1], [0, 1, -3]]], "f")
    program = program_of(jax.make_jaxpr(MATRICES[name])(numbers))
    wanted = jax.tree.leaves(jax.jit(MATRICES[name])(numbers))
    for got, each in zip(program(numbers), wanted, strict=True):
        np.testing.assert_allclose(got, each, rtol=1e-5, atol=1e-6)
        assert got.dtype == each.dtype


def test_matrices_without_elements_are_left_to_xla():
    """LAPACK printed that a parameter had an illegal value."""
    for fn in (jax.lax.linalg.lu, jnp.linalg.inv, jnp.linalg.cholesky):
        assert program_of(jax.make_jaxpr(fn)(np.zeros((2, 0, 0), np.float32))) is None


def test_steps_of_loops_count_in_the_estimate_of_a_compilation():
    def longer(x):
        return jax.lax.scan(lambda carry, _: (jnp.sin(carry) * 2 + 1, None), x, length=3)[0]

    one = program_of(jax.make_jaxpr(lambda x: x + 1)(1.0))
    assert program_of(jax.make_jaxpr(longer)(1.0)).compilation_s > one.compilation_s


def test_a_rounding_without_a_form_is_compiled():
    for mantissa, covered in ((10, True), (7, False)):
        jaxpr = jax.make_jaxpr(jax.lax.reduce_precision, static_argnums=(1, 2))
        assert (program_of(jaxpr(1.0, 15 - mantissa, mantissa)) is not None) == covered


@pytest.mark.parametrize("count", [0, 1, 4, 5, 300])
def test_random_bits_are_those_of_jax(count):
    """A few counters are ciphered by Python's numbers, more by NumPy."""

    def drawn(words):
        key = jax.random.wrap_key_data(words, impl="threefry2x32")
        again = jax.random.fold_in(key, 7)
        bits = [jax.random.bits(k, (count,), f"uint{n}") for k in (key, again) for n in (8, 32)]
        return [*bits, jax.random.key_data(jax.random.split(key, max(count, 1)))]

    words = np.array([123456789, 2**32 - 5], np.uint32)
    program = program_of(jax.make_jaxpr(drawn)(words))
    for got, wanted in zip(program(words), jax.jit(drawn)(words), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("count", [1, 5, 300])
def test_bits_of_a_stream_are_those_of_jax(count):
    """Those of successive keys are computed together."""

    def drawn(words):
        return jax.random.bits(jax.random.wrap_key_data(words, impl="threefry2x32"), (count,))

    program = program_of(jax.make_jaxpr(drawn)(np.zeros(2, np.uint32)))
    last = 2**32 - 1
    keys = [(8, n) for n in (1, 2, 3, 5, 9, 10, 12, 11, 40, 41)] + [(9, 42), (8, 42), (9, 43)]
    for words in [*keys, (9, last - 1), (9, last), (9, 0), (9, 1)]:
        words = np.array(words, np.uint32)
        np.testing.assert_array_equal(program(words)[0], drawn(words), str(words))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("distance", [0, 3, 31, 32, -1])
def test_shifts_by_constants(dtype, distance):
    shifts = (jax.lax.shift_left, jax.lax.shift_right_arithmetic, jax.lax.shift_right_logical)

    def shifted(x):
        return [shift(x, jnp.full_like(x, np.int32(distance).astype(dtype))) for shift in shifts]

    numbers = np.array([0, 1, 77, -77, 2**31 - 1, -(2**31)], np.int32).astype(dtype)
    program = program_of(jax.make_jaxpr(shifted)(numbers))
    for got, wanted in zip(program(numbers), shifted(numbers), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_maximum_with_minus_infinity_is_no_step():
    numbers = np.array([[1, -np.inf], [-np.inf, -np.inf], [np.nan, 2]], np.float32)
    costs = []
    for bound in (-jnp.inf, 0.0):
        traced = jax.make_jaxpr(lambda x, b=bound: jnp.maximum(b, jnp.maximum(x, b)))(numbers)
        program = program_of(traced)
        costs.append(program.cost_s)
        np.testing.assert_array_equal(program(numbers)[0], np.maximum(numbers, np.float32(bound)))
    assert costs[0] < costs[1] / 10


def test_constant_results_are_computed_once_and_unread_ones_never():
    def shifted(x):
        jnp.sin(x)
        return x + 2.0 * jax.lax.iota(np.float32, 3) ** 2

    program = program_of(jax.make_jaxpr(shifted)(np.ones(3, np.float32)))
    assert program.steps == 1
    assert program(np.ones(3, np.float32))[0].tolist() == [1, 3, 9]


def test_the_work_of_a_gradient_of_weights_grows_as_the_batch():
    def cost_s(batch):
        closed = jax.make_jaxpr(lambda x, y: x.T @ y)(np.ones((batch, 4)), np.ones((batch, 3)))
        return program_of(closed).cost_s

    few, many = cost_s(1_000), cost_s(10_000)
    assert many < 12 * few


def test_the_work_of_picking_rows_is_that_of_the_rows():
    def cost_s(rows):
        given = np.ones((rows, 64), np.float32), np.ones(10, np.int32)
        return program_of(
            jax.make_jaxpr(lambda x, at: jnp.take(x, at, 0, mode="clip"))(*given)
        ).cost_s

    assert cost_s(50_000) == pytest.approx(cost_s(100), rel=0.1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64"])
def test_rows_outside_are_the_nearest_ones_for_all_types_of_indices(dtype):
    rows, limits = np.arange(6, dtype=np.float32).reshape(3, 2), np.iinfo(dtype)
    at = np.array([limits.min, 1, limits.max], dtype)
    with jax.enable_x64(True):
        closed = jax.make_jaxpr(lambda x, at: jnp.take(x, at, 0, mode="clip"))(rows, at)
    (made,) = program_of(closed)(rows, at)
    np.testing.assert_array_equal(made, rows)


def test_values_are_freed_after_their_last_use():
    numbers = np.ones(100_000, np.float32)

    def waves(x):
        start = x
        for _ in range(10):
            x = jnp.sin(x) + start
        return x, start * 2

    program = program_of(jax.make_jaxpr(waves)(numbers))
    tracemalloc.start()
    made, doubled = program(numbers)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4.5 * numbers.nbytes
    np.testing.assert_allclose(made, waves(numbers)[0], rtol=1e-5)
    assert (doubled == 2).all()


def test_elements_in_order_are_few_steps():
    def ordered(x):
        return jnp.take_along_axis(x, jnp.argsort(x, 1, descending=True), 1)

    numbers = np.array([[1, 2, 2, 1], [4, -5, np.nan, -5]], np.float32)
    program = program_of(jax.make_jaxpr(ordered)(numbers))
    assert program.steps == 6, "indices that are not negative do not count from the end"
    np.testing.assert_array_equal(program(numbers)[0], ordered(numbers))


@pytest.mark.parametrize("gathers", [
    lambda x, at: jnp.take(x, at, 0, mode="clip"),
    lambda x, at: jnp.take(x, at[0], 0, mode="clip"),
    lambda x, at: jnp.take_along_axis(x, at[:, None] % 2, 1),
    lambda x, at: jnp.take_along_axis(jnp.stack([x, -x], -1), at[:, None, None] % 2, 1),
    lambda x, at: x[at % 3, at % 2],
    lambda x, at: jnp.stack([x, -x], 1)[:, at % 2, at % 2],
])  # fmt: skip
def test_rows_and_elements_of_lines_are_one_index(gathers, monkeypatch):
    def written(x, at):
        return jax.grad(lambda x: (gathers(x, at) ** 3).sum())(x)

    x, at = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([7, 1, -4], np.int32)
    wanted = gathers(x, at), written(x, at)
    monkeypatch.setattr(windows, "_positions", None)
    for function, each in zip((gathers, written), wanted, strict=True):
        (made,) = program_of(jax.make_jaxpr(function)(x, at))(x, at)
        np.testing.assert_array_equal(made, each)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(3, 4), (64, 32), (256, 10), (3, 300), (300, 3), (4, 5, 6)])
def test_reductions_of_any_axes_are_those_of_numpy(shape, dtype):
    x = np.random.RandomState(0).uniform(-9, 9, shape).astype(dtype)
    if x.dtype.kind == "f":
        x[0, 0], x[1, 1], x[2, 2] = np.nan, np.inf, -np.inf
    with jax.enable_x64(dtype == "float64"):
        for axes in [(n,) for n in range(len(shape))] + [tuple(range(len(shape)))]:
            for reduce, expected in ((jax.lax.reduce_max, np.max), (jax.lax.reduce_sum, np.sum)):
                program = program_of(jax.make_jaxpr(lambda x, f=reduce, a=axes: f(x, a))(x))
                (made,) = program(x)
                wide = x.astype("float64") if x.dtype.kind == "f" else x
                with np.errstate(invalid="ignore"):
                    wanted = expected(wide, axis=axes)
                rtol = 1e-3 if dtype == "float16" else 2e-5
                np.testing.assert_allclose(made, wanted, rtol=rtol, atol=rtol)
                assert made.dtype == dtype and made.shape == wanted.shape


def test_a_factor_of_one_is_no_step():
    traced = jax.make_jaxpr(lambda x: (x * np.float32(1) + 1) * 2)(np.ones(3, np.float32))
    assert program_of(traced).steps == 2
