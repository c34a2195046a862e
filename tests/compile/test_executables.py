"""Executables are counted, bounded, freed, and compiled again."""

import threading

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.compile import executables as module
from modkit.compile.executables import Budget, Eager, Kept
from tests.threads import run_all


class Fake(Kept):
    def __init__(self, used):
        super().__init__()
        self.used, self.freed = used, 0

    def free(self):
        self.freed += 1


def noted(budget, *signatures):
    programs = [Fake(used) for used in range(len(signatures))]
    for program, count in zip(programs, signatures, strict=True):
        for signature in range(count):
            budget.note(program, signature)
    return programs


def test_the_least_recently_used_programs_lose_their_executables():
    budget = Budget(limit=8, most=64)
    programs = noted(budget, 3, 3, 2, 1)
    programs[0].used = 10
    budget.trim()
    assert [p.freed for p in programs] == [0, 1, 1, 0]
    assert budget.info() == (2, 4, 8)


def test_executables_that_come_again_raise_the_limit():
    budget = Budget(limit=4, most=10)
    (program,) = noted(budget, 5)
    budget.trim()
    assert budget.info() == (0, 0, 4)
    budget.note(program, 99)
    assert budget.limit == 4
    limits = []
    for signature in range(3):
        budget.note(program, signature)
        limits.append(budget.limit)
    assert limits == [8, 10, 10]


def test_only_the_newest_of_the_freed_are_remembered():
    budget = Budget(limit=4, most=6)
    program = Fake(0)
    for signature in range(40):
        budget.note(program, signature)
        budget.trim()
    assert len(program.dropped) == 6
    assert set(program.dropped) > set(range(35, 40))


def test_executables_of_deleted_programs_do_not_count():
    budget = Budget(limit=4, most=10)
    kept, *others = noted(budget, 3, 3)
    del others
    budget.trim()
    assert (kept.freed, budget.info()) == (0, (1, 3, 4))


@pytest.fixture
def small(monkeypatch):
    """A budget of 8 executables for eager programs that are made meanwhile."""
    budget = Budget(limit=8, most=8)
    monkeypatch.setattr(module, "eager", budget)
    return budget


def executables():
    return len(jax.devices()[0].client.live_executables())


def test_eager_executables_are_bounded_and_freed(small):
    program = Eager(lambda x: x * 2 + 1)
    before = executables()
    for size in range(1, 30):
        assert program(np.full(size, 3.0, np.float32)).tolist() == [7.0] * size
        assert small.info().executables <= 9
    assert executables() - before <= 9
    small.clear()
    assert small.info().executables == 0
    assert executables() <= before


def test_threads_call_while_executables_are_freed(small):
    program, wrong = Eager(lambda x: x + 1), []

    def work(first):
        sizes = range(first, first + 24)
        wrong.extend(n for n in sizes if program(np.zeros(n, np.float32)).tolist() != [1.0] * n)

    run_all([threading.Thread(target=work, args=(1 + 12 * n,)) for n in range(3)])
    assert not wrong
    assert small.info().executables <= 9


def test_modules_and_tapes_go_on_after_cache_clear():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    executor = mx.sym.contrib.fft(net).simple_bind(mx.cpu(), data=(1, 4))  # compiled at once
    executor.arg_dict["fc_weight"][:] = 1
    x = mx.nd.ones((1, 4))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.square(x)
    mx.nd.contrib.fft(mx.nd.ones((1, 1))).wait_to_read()  # compiled at once
    first = executor.forward(data=x)[0].asnumpy().tolist()
    assert mx.cache_info()["graphs"].executables > 0
    assert mx.cache_info()["eager"].executables > 0
    mx.cache_clear()
    assert [use.executables for use in mx.cache_info().values()] == [0, 0]
    assert executor.forward(data=x)[0].asnumpy().tolist() == first == [[4.0, 0.0]]
    y.backward()
    assert x.grad.asnumpy().tolist() == [[2.0, 2.0, 2.0, 2.0]]
