"""Random numbers for several keys at once are those of each key alone."""

import numpy as np
import pytest

import modkit as mx
from modkit import stream
from modkit.interpreter import bits

ROWS = mx.nd.array(np.random.RandomState(0).dirichlet(np.ones(8), 16))


def dropout():
    with mx.autograd.train_mode():
        return mx.nd.Dropout(ROWS, p=0.5)


CALLS = {
    "uniform": lambda: mx.nd.random.uniform(-1, 3, shape=(97,)),
    "float64": lambda: mx.nd.random.uniform(-1, 3, shape=(5, 7), dtype="float64"),
    "normal": lambda: mx.nd.random.normal(1, 2, shape=(101,)),
    "one number": lambda: mx.nd.random.normal(shape=(1,)),
    "exponential": lambda: mx.nd.random.exponential(2.0, shape=(101,)),
    "gamma": lambda: mx.nd.random.gamma(0.3, 1.0, shape=(101,)),
    "randint": lambda: mx.nd.random.randint(0, 1_000_000, shape=(101,)),
    "multinomial": lambda: mx.nd.random.multinomial(ROWS, shape=3),
    "shuffle": lambda: mx.nd.random.shuffle(ROWS),
    "of tensors": lambda: mx.nd.random.normal(ROWS[0], ROWS[1] + 1, shape=(5,)),
    "dropout": dropout,
}


@pytest.mark.parametrize("name", CALLS)
def test_numbers_ahead_are_those_of_their_keys(name):
    call, alone = CALLS[name], {}
    for number in (0, 10, 20, 2, 12, 22, 5):  # too far from one another
        stream.move_to((3, number))
        alone[number] = call().asnumpy()
    stream.move_to((3, 0))
    successive = [call().asnumpy() for _ in range(24)]
    for number, numbers in alone.items():
        np.testing.assert_array_equal(numbers, successive[number])


def test_successive_calls_share_a_run_of_the_cipher(monkeypatch):
    runs, cipher = [], bits.threefry
    monkeypatch.setattr(bits, "threefry", lambda *args: runs.append(1) or cipher(*args))
    for name in ("uniform", "normal", "multinomial", "dropout"):
        mx.random.seed(len(runs))
        before = len(runs)
        for _ in range(60):
            CALLS[name]()
        assert len(runs) - before <= 4, name


def test_the_block_of_another_seed_is_not_read():
    numbers = []
    for seed in (1, 2, 1):
        mx.random.seed(seed)
        numbers.append([CALLS["uniform"]().asnumpy() for _ in range(4)])
    np.testing.assert_array_equal(numbers[0], numbers[2])
    assert not np.array_equal(numbers[0], numbers[1])


def test_keys_go_over_the_last_number_of_the_stream():
    stream.move_to((5, 2**32 - 3))
    numbers = [CALLS["uniform"]().asnumpy() for _ in range(6)]
    stream.move_to((5, 1))
    np.testing.assert_array_equal(CALLS["uniform"]().asnumpy(), numbers[4])
