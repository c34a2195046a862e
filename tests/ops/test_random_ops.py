"""Random operators: moments, ranges, frequencies, and equal numbers for equal keys."""

import functools
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, ParameterError, ShapeError
from modkit.interpreter import program_of
from modkit.ops import get_op
from modkit.ops.random.distributions import _Traced

COUNT = 20_000
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}

MOMENTS = [
    # distribution, parameters, mean, variance
    ("uniform", (-1.0, 3.0), 1.0, 16 / 12),
    ("normal", (1.5, 2.0), 1.5, 4.0),
    ("gamma", (2.0, 3.0), 6.0, 18.0),
    ("gamma", (0.25, 2.0), 0.5, 1.0),
    ("exponential", (4.0,), 0.25, 0.0625),
    ("poisson", (4.0,), 4.0, 4.0),
    ("negative_binomial", (3, 0.4), 4.5, 11.25),
    ("generalized_negative_binomial", (3.0, 0.5), 3.0, 7.5),
    ("generalized_negative_binomial", (3.0, 0.0), 3.0, 3.0),
]
COUNTED = ("poisson", "negative_binomial", "generalized_negative_binomial")


def _draw(name: str, arrays: list[Any], attrs: dict[str, Any], seed: int = 0) -> Any:
    op = get_op(name)
    run = functools.partial(op.call, attrs=op.parse(attrs))
    call = jax.jit(lambda a, key: run(a, key=key)[0], compiler_options=QUICK)
    return [np.asarray(o) for o in call(arrays, jax.random.key(seed))]


def _check_moments(sample: np.ndarray, mean: float, variance: float) -> None:
    """Mean within five standard errors, variance within a tenth."""
    assert abs(sample.mean() - mean) < 5 * math.sqrt(variance / sample.size)
    assert sample.var() == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize(("name", "params", "mean", "variance"), MOMENTS)
def test_by_number(name: str, params: tuple[float, ...], mean: float, variance: float) -> None:
    op = get_op(f"_random_{name}")
    named = dict(zip(op.types, params, strict=False))
    (sample,) = _draw(op.name, [], {**named, "shape": (COUNT,)})
    _check_moments(sample, mean, variance)
    if name in COUNTED:
        assert (sample >= 0).all()
        assert (sample == np.round(sample)).all()


@pytest.mark.parametrize(("name", "params", "mean", "variance"), MOMENTS[:-1])
def test_by_tensor(name: str, params: tuple[float, ...], mean: float, variance: float) -> None:
    """Each row follows its own parameters."""
    rows = [jnp.array([p, p], jnp.float32) for p in params]
    (sample,) = _draw(f"_sample_{name}", rows, {"shape": (COUNT // 2,)})
    _check_moments(sample[0], mean, variance)
    _check_moments(sample[1], mean, variance)
    assert (sample[0] != sample[1]).any()


def test_tensor_parameters_go_to_their_rows() -> None:
    low, high = jnp.array([0.0, 10.0]), jnp.array([1.0, 20.0])
    (sample,) = _draw("_sample_uniform", [low, high], {"shape": (1000,)})
    assert sample[0].min() >= 0
    assert sample[0].max() <= 1
    assert sample[1].min() >= 10
    assert sample[1].max() <= 20
    assert sample[1].mean() == pytest.approx(15, rel=0.05)


def test_differences_of_bytes_do_not_wrap() -> None:
    ends = [jnp.array([n], jnp.uint8) for n in (3, 1)]
    (sample,) = _draw("_sample_uniform", ends, {"shape": (100,)})
    assert 1 <= sample.min() < sample.max() <= 3


def test_a_probability_above_one_fails_never() -> None:
    """MXNet 1.9.1 draws the same."""
    (sample,) = _draw("_sample_negative_binomial", [jnp.ones(1), jnp.full(1, 2.0)], {"shape": 3})
    assert sample.tolist() == [[0, 0, 0]]


def test_uniform_stays_in_range() -> None:
    (sample,) = _draw("_random_uniform", [], {"low": -2, "high": 5, "shape": (COUNT,)})
    assert -2 <= sample.min() < -1.99
    assert 4.99 < sample.max() < 5


def test_float16_is_drawn_with_more_digits() -> None:
    """In float16 throughout, small numbers would be multiples of 2⁻¹¹."""
    attrs = {"shape": (COUNT,), "dtype": "float16"}
    (sample,) = _draw("_random_uniform", [], attrs)
    assert sample.dtype == np.float16
    small = sample[(sample > 0) & (sample < 0.01)].astype(np.float64)
    assert (small * 2**11 % 1 != 0).any()


def test_like_has_shape_and_type() -> None:
    (sample,) = _draw("_random_normal_like", [jnp.zeros((100, 200))], {"loc": 1.5, "scale": 2})
    assert sample.shape == (100, 200)
    _check_moments(sample, 1.5, 4.0)


def test_randint_reaches_every_number() -> None:
    (sample,) = _draw("_random_randint", [], {"low": -3, "high": 4, "shape": (COUNT,)})
    values, counts = np.unique(sample, return_counts=True)
    assert values.tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert counts == pytest.approx(COUNT / 7, rel=0.1)


@pytest.mark.parametrize("low", [0, 2**31 - 2**16 - 1, -(2**31)])
def test_randint_of_two_bytes_is_even(low: int) -> None:
    """The largest span that one draw serves."""
    (sample,) = _draw("_random_randint", [], {"low": low, "high": low + 2**16, "shape": (COUNT,)})
    from_low = sample.astype(np.int64) - low
    assert 0 <= from_low.min() < 100
    assert 2**16 - 100 < from_low.max() < 2**16
    _check_moments(from_low, 2**15 - 0.5, 2**32 / 12)


def test_gamma_at_the_borders_of_its_parameter() -> None:
    alpha = jnp.array([0.0, math.inf, math.nan, -1.0])
    (sample,) = _draw("_sample_gamma", [alpha, jnp.ones(4)], {"shape": (2,)})
    np.testing.assert_array_equal(sample[:, 0], [0, math.inf, math.nan, math.nan])


def test_multinomial_frequencies() -> None:
    rows = jnp.array([[0.1, 0.2, 0.7], [0.0, 1.0, 0.0]])
    indices, logs = _draw("_sample_multinomial", [rows], {"shape": (COUNT,), "get_prob": True})
    counts = np.bincount(indices[0], minlength=3)
    assert counts / COUNT == pytest.approx([0.1, 0.2, 0.7], abs=0.02)
    assert (indices[1] == 1).all()
    np.testing.assert_allclose(logs[0], np.log(np.array(rows)[0, indices[0]]), rtol=1e-5)


def test_multinomial_gradient_is_that_of_the_logarithm() -> None:
    op = get_op("_sample_multinomial")
    attrs = op.parse({"get_prob": True, "shape": (50,)})
    rows = jnp.array([[0.25, 0.75, 0.0]])

    def total(data: Any) -> Any:
        (indices, logs), _ = op.call([data], attrs, key=jax.random.key(0))
        return logs.sum(), indices

    gradient, indices = jax.grad(total, has_aux=True)(rows)
    counts = np.bincount(np.asarray(indices)[0], minlength=3)
    np.testing.assert_allclose(gradient[0], counts / np.array([0.25, 0.75, 1]), rtol=1e-5)


def test_unique_classes_are_drawn_by_their_probabilities() -> None:
    first, trials = mx.nd._internal._sample_unique_zipfian(9, shape=(COUNT, 1))
    counts = np.bincount(first.asnumpy()[:, 0], minlength=9)
    k = np.arange(9)
    expected = np.log((k + 2) / (k + 1)) / math.log(10)
    np.testing.assert_allclose(counts / COUNT, expected, atol=0.02)
    assert (trials.asnumpy() == 1).all()


def test_a_row_has_unique_classes_and_as_many_draws_as_mxnet() -> None:
    classes, trials = mx.nd._internal._sample_unique_zipfian(793472, shape=(2, 8192))
    assert all(len(np.unique(row)) == 8192 for row in classes.asnumpy())
    assert classes.dtype == trials.dtype == np.int64
    assert ((trials.asnumpy() > 14500) & (trials.asnumpy() < 17000)).all()
    everything, _ = mx.nd._internal._sample_unique_zipfian(20, shape=(3, 20))
    np.testing.assert_array_equal(np.sort(everything.asnumpy()), [range(20)] * 3)
    with pytest.raises(ShapeError, match=r"shape \(5,\), range_max=9, expected two sizes"):
        mx.nd._internal._sample_unique_zipfian(9, shape=(5,))


def test_shuffle_keeps_rows_together() -> None:
    data = np.arange(200).reshape(100, 2)
    (shuffled,) = _draw("_shuffle", [jnp.asarray(data)], {})
    assert (shuffled[:, 1] == shuffled[:, 0] + 1).all()
    assert sorted(shuffled[:, 0].tolist()) == data[:, 0].tolist()
    assert shuffled[:, 0].tolist() != data[:, 0].tolist()


def test_the_key_decides() -> None:
    attrs = {"shape": (5,)}
    first, again, other = (_draw("_random_normal", [], attrs, s)[0] for s in (1, 1, 2))
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("_random_uniform", {"low": 2, "high": 1}),
        ("_random_normal", {"scale": 0}),
        ("_random_gamma", {"alpha": -1}),
        ("_random_exponential", {"lam": 0}),
        ("_random_poisson", {"lam": -1}),
        ("_random_negative_binomial", {"p": 1.5}),
        ("_random_generalized_negative_binomial", {"mu": -1}),
        ("_random_randint", {"low": 3, "high": 3}),
    ],
)
def test_results_of_graphs_with_illegal_parameters_are_refused(
    name: str, attrs: dict[str, Any]
) -> None:
    executor = getattr(mx.sym._internal, name)(**attrs, shape=(2,)).bind(mx.cpu(), {})
    assert executor.forward()[0].shape == (2,)
    with pytest.raises(ParameterError, match=f"with inputs none: .*{next(iter(attrs))}="):
        executor.outputs[0].asnumpy()


@pytest.mark.parametrize(
    "call",
    [
        lambda: mx.nd.random_uniform(low=2, high=1, shape=(2,)),
        lambda: mx.nd.random.uniform_like(mx.nd.ones(2), low=2, high=1),
        lambda: mx.nd.random_normal(scale=-1, shape=(2,)),
        lambda: mx.nd.random_gamma(alpha=-1, shape=(2,)),
        lambda: mx.nd.random_poisson(lam=-1, shape=(2,)),
        lambda: mx.nd.random_exponential(lam=-1, shape=(2,)),
    ],
)
def test_eager_calls_of_operators_refuse_illegal_parameters(call: Any) -> None:
    drawn = call()
    with pytest.raises(ParameterError, match="expected "):
        drawn.asnumpy()


def test_shapes_are_required_and_must_agree() -> None:
    with pytest.raises(ShapeError, match=r"got shape \(-2, 3\), expected sizes from -1"):
        _draw("_random_exponential", [], {"shape": (-2, 3)})
    with pytest.raises(ShapeError, match=r"got shape \(3, -2\), expected sizes from -1"):
        mx.sym.random.poisson(4, shape=(3, -2)).infer_shape()
    with pytest.raises(ShapeError, match="got no shape"):
        _draw("_random_uniform", [], {})
    with pytest.raises(ShapeError, match=r"\(2,\), \(3,\)"):
        _draw("_sample_uniform", [jnp.zeros(2), jnp.zeros(3)], {})


@pytest.mark.parametrize("draw", [_Traced.poisson, _Traced.gamma])
def test_numpy_draws_the_numbers_of_a_compiled_graph(draw: Any) -> None:
    key, rates = jax.random.key(7), np.array([0.5, 9.5, 11.0, 50.0], np.float32)

    def drawn(key: Any, rates: Any) -> Any:
        return draw(_Traced(key), rates.shape, np.float32, rates)

    traced = jax.make_jaxpr(drawn)(key, rates)
    (made,) = program_of(traced)(np.asarray(jax.random.key_data(key)), rates)
    compiled = jax.jit(drawn, compiler_options=QUICK)(key, rates)
    np.testing.assert_allclose(made, compiled, rtol=1e-6)


def eager(name: str, *args: Any, **kwargs: Any) -> np.ndarray:
    return getattr(mx.nd.random, name)(*args, **kwargs).asnumpy()


@pytest.mark.parametrize(("name", "params", "mean", "variance"), MOMENTS)
def test_eager_calls_draw_the_distribution(
    name: str, params: tuple[float, ...], mean: float, variance: float
) -> None:
    mx.random.seed(2)
    params = (1 / params[0],) if name == "exponential" else params
    _check_moments(eager(name, *params, shape=(COUNT,)), mean, variance)
    _check_moments(
        eager(name, *map(mx.nd.array, ([p, p] for p in params)), shape=(COUNT,))[1], mean, variance
    )


def test_eager_draws_depend_on_the_seed_and_their_number_alone() -> None:
    def drawn(size: int) -> Any:
        mx.random.seed(5)
        return [
            eager("normal", shape=(n,), dtype=t)[:3] for n, t in ((size, "float32"), (3, "float64"))
        ]

    small, large = drawn(3), drawn(1 << 18)
    np.testing.assert_array_equal(small[0], large[0])
    np.testing.assert_array_equal(small[1], large[1])


def test_eager_draws_of_parameters_outside_their_range() -> None:
    rates = mx.nd.array([0.0, -1.0, math.nan, math.inf, 2.0**70])
    np.testing.assert_array_equal(eager("poisson", rates), [0, 0, -1, math.inf, 2.0**70])
    alpha = mx.nd.array([0.0, math.inf, math.nan, -1.0])
    np.testing.assert_array_equal(
        eager("gamma", alpha, mx.nd.ones(4)), [0, math.inf, math.nan, math.nan]
    )


def test_threads_draw_the_numbers_that_one_draws() -> None:
    def drawn(_: Any = None) -> float:
        return float(eager("normal", shape=(2000,)).sum())

    mx.random.seed(5)
    wanted = sorted(drawn() for _ in range(100))
    mx.random.seed(5)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(drawn, range(100))) == wanted


@pytest.mark.parametrize(("low", "high"), [(0, 1 << 40), (-(1 << 40), 5)])
def test_whole_numbers_of_wide_bounds_wrap_as_in_mxnet(low: int, high: int) -> None:
    drawn = eager("randint", low, high, shape=(100,))
    assert drawn.dtype == np.int32
    assert drawn.min() < 0 < drawn.max()


def test_eager_draws_refuse_parameters_of_two_types() -> None:
    with pytest.raises(DTypeError, match=r"_sample_normal\(float32\[2\], float16\[2\]\)"):
        mx.nd.random.normal(mx.nd.ones(2), mx.nd.ones(2, dtype="float16"))


@pytest.mark.parametrize("like", [True, False])
def test_gradients_keep_the_numbers_that_were_drawn(like: bool) -> None:
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        noise = mx.nd.random.normal_like(x) if like else mx.nd.random.normal(x, x)
        y = x * noise
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), noise.asnumpy())
