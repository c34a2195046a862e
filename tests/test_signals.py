"""Signals deferred to the end of a block."""

import os
import signal

import pytest

from modkit.signals import DeferredSignals

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
