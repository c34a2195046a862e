"""Signals deferred to the end of a block."""

import os
import signal

import pytest

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
