"""What threads share is made once."""

import threading
import time

import pytest

from modkit.executor.once import made_once


def test_threads_that_ask_at_once_get_the_same():
    under_way, second_asks, made, got = threading.Event(), threading.Event(), [], []

    @made_once(maxsize=8)
    def make(name):
        under_way.set()
        assert second_asks.wait(10)
        time.sleep(0.2)  # by now it has asked
        made.append(name)
        return object()

    def ask():
        got.append(make("net"))

    def ask_second():
        assert under_way.wait(10)
        second_asks.set()
        ask()

    threads = [threading.Thread(target=ask), threading.Thread(target=ask_second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == ["net"]
    assert got[0] is got[1]


def test_the_last_asked_for_are_kept():
    made = []

    @made_once(maxsize=2)
    def make(name):
        """What is made."""
        made.append(name)
        return name

    for name in ("a", "b", "a", "c", "a", "b"):
        assert make(name) == name
    assert made == ["a", "b", "c", "b"]
    make.cache_clear()
    make("b")
    assert made[-2:] == ["b", "b"]
    assert make.__doc__ == "What is made."


def test_what_fails_is_asked_for_again():
    tries = []

    @made_once(maxsize=2)
    def make(name):
        tries.append(name)
        raise ValueError(name)

    for _ in range(2):
        with pytest.raises(ValueError, match="net"):
            make("net")
    assert tries == ["net", "net"]
