"""mx.nd.random: which operator each function calls, and the seed."""

from typing import Any

import numpy as np
import pytest

import modkit.ndarray as nd
from modkit.context import cpu
from modkit.errors import ParameterError
from modkit.ndarray import random

LEGAL = [
    ("uniform", (-1, 2)),
    ("normal", (1, 2)),
    ("gamma", (2, 3)),
    ("exponential", (2,)),
    ("poisson", (3,)),
    ("negative_binomial", (3, 0.5)),
    ("generalized_negative_binomial", (3, 0.5)),
]


@pytest.mark.parametrize(("name", "params"), LEGAL)
def test_numbers_or_arrays(name: str, params: tuple[float, ...]) -> None:
    draw = getattr(random, name)
    assert draw(*params).shape == (1,)
    assert draw(*params, shape=3).shape == (3,)
    arrays = [nd.array([p, p]) for p in params]
    assert draw(*arrays).shape == (2,)
    assert draw(*arrays, shape=(3, 4), dtype="float64").shape == (2, 3, 4)
    like = getattr(random, f"{name}_like")(nd.zeros((2, 3)))
    assert like.shape == (2, 3)


def test_exponential_takes_the_mean_not_the_rate() -> None:
    assert random.exponential(10, shape=(5000,)).asnumpy().mean() == pytest.approx(10, rel=0.1)
    rows = random.exponential(nd.array([10.0, 0.1]), shape=(5000,)).asnumpy().mean(1)
    assert rows == pytest.approx([10, 0.1], rel=0.1)


def test_numbers_and_arrays_do_not_mix() -> None:
    with pytest.raises(ParameterError, match="got NDArray, int for low, high"):
        random.uniform(nd.zeros((2,)), 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: random.uniform(5, 1),
        lambda: random.normal(0, -1),
        lambda: random.exponential(0),
        lambda: random.randint(5, 5),
        lambda: random.randint(0.5, 5),
        lambda: random.uniform(dtype="int32"),
    ],
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
