"""mx.nd.random: which operator each function calls, and the seed."""

from typing import Any

import jax
import numpy as np
import pytest

import modkit.ndarray as nd
from modkit.context import cpu
from modkit.errors import ParameterError
from modkit.interpreter import elementwise, program_of
from modkit.ndarray import random
from modkit.ndarray.ndarray import _site


def test_numbers_or_arrays() -> None:
    assert random.uniform().shape == (1,)
    assert random.uniform(0, 1, shape=3).shape == (3,)
    low, high = nd.array([0.0, 10.0]), nd.array([1.0, 20.0])
    drawn = random.uniform(low, high, shape=(3, 4), dtype="float64")
    assert drawn.shape == (2, 3, 4)
    assert (drawn.asnumpy() // 10).mean((1, 2)).tolist() == [0, 1]
    assert random.uniform_like(nd.zeros((2, 3))).shape == (2, 3)


def test_exponential_takes_the_mean_not_the_rate() -> None:
    assert random.exponential(10, shape=(5000,)).asnumpy().mean() == pytest.approx(10, rel=0.1)
    rows = random.exponential(nd.array([10.0, 0.1]), shape=(5000,)).asnumpy().mean(1)
    assert rows == pytest.approx([10, 0.1], rel=0.1)


@pytest.mark.parametrize(
    "call",
    [lambda: random.randint(0.5, 5), lambda: random.uniform(dtype="int32")],
)
def test_illegal_parameters_are_refused(call: Any) -> None:
    with pytest.raises(ParameterError):
        call()


def test_out_ctx_and_dtype() -> None:
    target = nd.zeros((2, 3))
    assert random.normal(0, 1, (2, 3), "float32", None, target) is target
    assert (target.asnumpy() != 0).all()
    drawn = random.uniform(0, 1, shape=(2,), dtype="float64", ctx=cpu(0))
    assert drawn.dtype is np.float64
    assert drawn.context == cpu(0)


def test_randn_randint_multinomial_shuffle() -> None:
    assert random.randn(2, 3, loc=50, dtype="float64").asnumpy().min() > 30
    integers = random.randint(2, 4, shape=(50,), dtype="int64").asnumpy()
    assert integers.dtype == np.int64
    assert set(integers.tolist()) == {2, 3}
    rows = nd.array([[0, 1.0], [1.0, 0]])
    assert random.multinomial(rows).asnumpy().tolist() == [1, 0]
    indices, logs = random.multinomial(rows, shape=2, get_prob=True, dtype="float32")
    assert indices.asnumpy().tolist() == [[1, 1], [0, 0]]
    assert logs.asnumpy().tolist() == [[0, 0], [0, 0]]
    assert sorted(random.shuffle(nd.array([3.0, 1, 2])).asnumpy().tolist()) == [1, 2, 3]


def test_the_seed_repeats() -> None:
    def numbers() -> list[float]:
        return [float(random.uniform().asscalar()) for _ in range(3)]

    random.seed(5)
    first = numbers()
    assert len(set(first)) == 3
    assert numbers() != first
    random.seed(5)
    assert numbers() == first
    random.seed(6)
    assert numbers() != first


def test_drawn_numbers_lie_on_the_host() -> None:
    drawn = [random.normal(shape=(300, 200)) for _ in range(30)]
    for each in (drawn[0], drawn[-1]):
        assert each._cell.is_on_host, "placing an array takes longer than drawing a few numbers"
        each[0] = 5
        assert (each.asnumpy()[0] == 5).all()
        assert each.asnumpy()[1:].std() == pytest.approx(1, abs=0.02)
    assert random.normal(shape=(300, 200), ctx=cpu(1)).context == cpu(1)


def test_normal_numbers_by_numpy_are_those_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy, whose import takes 0.13 s, rounded two of three numbers otherwise."""
    monkeypatch.setattr(elementwise, "_special", None)
    words = np.array([3, 1], np.uint32)
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    program = program_of(jax.make_jaxpr(lambda key: jax.random.normal(key, (3, 500)))(key))
    assert program is not None
    (drawn,), wanted = program(words), np.asarray(jax.random.normal(key, (3, 500)))
    assert (drawn == wanted).mean() > 0.9
    np.testing.assert_allclose(drawn, wanted, rtol=1e-6)


def test_rates_that_change_are_one_call() -> None:
    random.uniform(0, 1)
    before = _site.cache_info().currsize
    for high in (1, 2, 2.5, 7):
        assert 0 <= random.uniform(0, high).asscalar() < high
    assert _site.cache_info().currsize == before
