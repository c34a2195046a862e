"""Schedules against figures of MXNet 1.9.1, and their refusals."""

import math

import pytest

from modkit.errors import NotSupportedError, ParameterError
from modkit.lr_scheduler import (
    CosineScheduler,
    FactorScheduler,
    LRScheduler,
    MultiFactorScheduler,
    PolyScheduler,
)

WARM = {"warmup_steps": 4, "warmup_begin_lr": 0.1}
FLAT = {**WARM, "warmup_mode": "constant"}
LOW = {"warmup_steps": 4, "warmup_begin_lr": 0.05, "final_lr": 0.1, "base_lr": 1.0}

# The rates of updates 0 to 13.
FIGURES = [
    (lambda: FactorScheduler(3, 0.5, base_lr=1.0),
     [1, 1, 1, 1, .5, .5, .5, .25, .25, .25, .125, .125, .125, .0625]),
    (lambda: FactorScheduler(3, 0.5, stop_factor_lr=0.2, base_lr=1.0),
     [1, 1, 1, 1, .5, .5, .5, .25, .25, .25, .2, .2, .2, .2]),
    (lambda: FactorScheduler(3, 0.5, base_lr=1.0, **WARM),
     [.1, .325, .55, .775, .5, .5, .5, .25, .25, .25, .125, .125, .125, .0625]),
    (lambda: FactorScheduler(3, 0.5, base_lr=1.0, **FLAT),
     [.1, .1, .1, .1, .5, .5, .5, .25, .25, .25, .125, .125, .125, .0625]),
    (lambda: MultiFactorScheduler([2, 5, 9], 0.5, base_lr=1.0),
     [1, 1, 1, .5, .5, .5, .25, .25, .25, .25, .125, .125, .125, .125]),
    (lambda: MultiFactorScheduler([2, 5, 9], 0.5, base_lr=1.0, **WARM),
     [.1, .325, .55, .775, .5, .5, .25, .25, .25, .25, .125, .125, .125, .125]),
    (lambda: PolyScheduler(10, base_lr=1.0),
     [1, .81, .64, .49, .36, .25, .16, .09, .04, .01, 0, 0, 0, 0]),
    (lambda: PolyScheduler(10, pwr=1, **LOW),
     [.05, .2875, .525, .7625, 1, .85, .7, .55, .4, .25, .1, .1, .1, .1]),
    (lambda: CosineScheduler(10, base_lr=1.0),
     [1, .975528, .904508, .793893, .654508, .5, .345492, .206107, .095492, .024472, 0, 0, 0, 0]),
    (lambda: CosineScheduler(10, **LOW),
     [.05, .2875, .525, .7625, 1, .939711, .775, .55, .325, .160289, .1, .1, .1, .1]),
    (lambda: CosineScheduler(10, warmup_mode="constant", **LOW),
     [.05, .05, .05, .05, 1, .939711, .775, .55, .325, .160289, .1, .1, .1, .1]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "rates"), FIGURES, ids=range(len(FIGURES)))
def test_same_rates_as_the_reference(make, rates):
    schedule = make()
    assert [schedule(n) for n in range(14)] == pytest.approx(rates, abs=1e-6)


def test_factors_catch_up_and_stop():
    assert FactorScheduler(3, 0.5, base_lr=1.0)(100) == 1e-8
    assert MultiFactorScheduler([2, 5, 9], 0.5, base_lr=1.0)(100) == 0.125
    schedule = FactorScheduler(3, 0.5, base_lr=1.0)
    assert [schedule(n) for n in (9, 2, 1, 20)] == [0.25, 0.25, 0.25, 0.015625]


def test_a_new_base_counts_where_it_does_in_the_reference():
    schedule = FactorScheduler(2, 0.5, base_lr=1.0, warmup_steps=3, warmup_begin_lr=0.1)
    schedule.base_lr = 9
    assert [schedule(n) for n in range(5)] == pytest.approx([0.1, 0.4, 0.7, 4.5, 4.5])
    curve = PolyScheduler(10, base_lr=1.0, warmup_steps=2)
    curve.base_lr = 9.0
    assert [curve(n) for n in range(4)] == pytest.approx([0, 0.5, 1, 0.765625])


def test_warm_up_as_long_as_the_curve():
    assert CosineScheduler(5, warmup_steps=5, final_lr=0.001)(5) == 0.001
    assert PolyScheduler(5, warmup_steps=7)(8) == 0.01


BAD = [
    (ParameterError, "step: got 0", lambda: FactorScheduler(0)),
    (ParameterError, "step: got 'x'", lambda: FactorScheduler("x")),
    (ParameterError, "factor: got 2", lambda: FactorScheduler(3, 2)),
    (ParameterError, "factor: got nan", lambda: FactorScheduler(3, math.nan)),
    (AssertionError, "step: got \\[\\]", lambda: MultiFactorScheduler([])),
    (AssertionError, "expected a list", lambda: MultiFactorScheduler((1, 2))),
    (ValueError, "rising", lambda: MultiFactorScheduler([3, 2])),
    (ValueError, "rising", lambda: MultiFactorScheduler([2, 2])),
    (ValueError, "step: got 0", lambda: MultiFactorScheduler([0, 2])),
    (ValueError, "factor", lambda: MultiFactorScheduler([1], 2)),
    (ValueError, "max_update: got 0", lambda: PolyScheduler(0)),
    (AssertionError, "max_update: got 2.5", lambda: PolyScheduler(2.5)),
    (ParameterError, "pwr", lambda: PolyScheduler(3, pwr="a")),
    (AssertionError, "max_update: got 'a'", lambda: CosineScheduler("a")),
    (ValueError, "warmup_steps: got -1", lambda: LRScheduler(0.1, warmup_steps=-1)),
    (AssertionError, "warmup_steps: got 2.5", lambda: LRScheduler(0.1, warmup_steps=2.5)),
    (ValueError, "at most base_lr", lambda: LRScheduler(0.1, warmup_begin_lr=0.2)),
    (ValueError, "'linear' or 'constant'", lambda: LRScheduler(0.1, warmup_mode="x")),
    (ParameterError, "base_lr: got nan", lambda: LRScheduler(math.nan)),
    (TypeError, "base_lr: got 'a'", lambda: LRScheduler("a")),
    (NotSupportedError, "__call__", lambda: LRScheduler(0.1)(3)),
    (AssertionError, "past|below", lambda: LRScheduler(0.1, 4, 0.05).get_warmup_lr(9)),
]


@pytest.mark.parametrize(("error", "words", "call"), BAD, ids=range(len(BAD)))
def test_refusals(error, words, call):
    with pytest.raises(error, match=words):
        call()
