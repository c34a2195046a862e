"""Signals deferred to the end of a block."""

import os
import signal

import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.compile import executables, program
from modkit.interpreter import tracing
from modkit.metric import traced
from modkit.signals import _EVERY, DeferredSignals

SIGNALS = [signal.SIGINT, signal.SIGTERM]


def test_more_signals_than_the_stack_is_deep():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    try:
        with DeferredSignals():
            for _ in range(3000):
                signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(seen) == 3000


def test_a_handler_that_raises_drops_no_other():
    seen = []

    def handler(number, frame):
        seen.append(number)
        raise KeyboardInterrupt(number)

    before = [signal.signal(each, handler) for each in SIGNALS]
    try:
        with pytest.raises(KeyboardInterrupt), DeferredSignals():
            for each in SIGNALS:
                os.kill(os.getpid(), each)
            assert seen == []
    finally:
        for each, own in zip(SIGNALS, before, strict=True):
            signal.signal(each, own)
    assert seen == SIGNALS


def test_a_block_within_a_block_runs_no_handler():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    try:
        with DeferredSignals():
            with DeferredSignals():
                signal.raise_signal(signal.SIGTERM)
            assert seen == []
        assert seen == [1]
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="a system without rare signals")
@pytest.mark.parametrize("name", ["SIGQUIT", "SIGVTALRM", "SIGCHLD", "SIGRTMIN"])
def test_a_rare_signal_is_deferred_once_its_handler_was_found(name):
    number, seen = getattr(signal, name), []
    before = signal.signal(number, lambda *_: seen.append(1))
    try:
        for _ in range(_EVERY + 1):
            with DeferredSignals():
                pass
        with DeferredSignals():
            signal.raise_signal(number)
            assert seen == []
        assert seen == [1]
    finally:
        signal.signal(number, before)
    with DeferredSignals():
        pass
    assert signal.getsignal(number) is before  # no block restores one that is gone


def _add(x):
    signal.raise_signal(signal.SIGTERM)
    return x + 1


def _by_eager(x):
    return executables.Eager(_add)(x)


def _by_program(x):
    return program.Program(_add, (), "test")(x)


def _by_listing(x):
    listing, _ = tracing.jaxpr_for_numpy(_add, x)
    return listing.evaluated(x)[0]


def _by_metric(x, monkeypatch):
    monkeypatch.setattr(traced, "pack", lambda sums: (_add(x), sums))
    metric = mx.metric.create("acc")
    traced._apply.clear_cache()
    metric.update([x], [jnp.ones((3, 2))])
    traced._apply.clear_cache()  # else later metrics of these shapes run this program
    return metric._pending[0][0][0][0]


@pytest.mark.parametrize("trace", [_by_eager, _by_program, _by_listing, _by_metric])
def test_a_handler_that_computes_waits_for_the_end_of_a_trace(trace, monkeypatch):
    seen = []

    def handler(*_):
        wide = mx.nd.ones((300, 300))
        seen.append(float(mx.nd.dot(wide, wide)[0, 0].asscalar()))
        seen.append((jnp.ones(2) + 1).tolist())

    before = signal.signal(signal.SIGTERM, handler)
    try:
        given = [monkeypatch] if trace is _by_metric else []
        assert np.asarray(trace(jnp.zeros(3), *given)).tolist() == [1, 1, 1]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [300.0, [2.0, 2.0]]


def test_an_eager_call_that_raises_while_it_is_traced_defers_nothing_later():
    def fail(x):
        raise ValueError("traced")

    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    try:
        with pytest.raises(ValueError, match="traced"):
            executables.Eager(fail)(jnp.zeros(3))
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [1]


def test_a_trace_within_one_of_the_same_program_ends_no_deferral():
    def nested(x):
        made = each(x[1:]) if x.size > 1 else x
        signal.raise_signal(signal.SIGTERM)
        order.append(x.size)
        return made

    each, order = executables.Eager(nested), []
    before = signal.signal(signal.SIGTERM, lambda *_: order.append("handler"))
    try:
        each(jnp.zeros(2))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert order == [1, 2, "handler", "handler"]
