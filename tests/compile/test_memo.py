"""Values that threads share are made once."""

import threading

import pytest

from modkit.compile.memo import MadeOnceEach, made_once
from tests.threads import run_all, wait_until_calling


def test_threads_that_ask_at_once_get_the_same():
    made, got = [], []

    @made_once(maxsize=8)
    def make(name):
        wait_until_calling(ask, *threads)
        made.append(name)
        return object()

    def ask():
        got.append(make("net"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    run_all(threads)
    assert made == ["net"]
    assert got[0] is got[1]


def test_the_last_asked_for_are_kept():
    made = []

    @made_once(maxsize=2)
    def make(name):
        """A value to be made."""
        made.append(name)
        return name

    for name in ("a", "b", "a", "c", "a", "b"):
        assert make(name) == name
    assert made == ["a", "b", "c", "b"]
    make.cache_clear()
    make("b")
    assert made[-2:] == ["b", "b"]
    assert make.__doc__ == "A value to be made."


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


def test_an_attribute_is_computed_once_for_each_object():
    made, got = [], []

    class Shape:
        def __init__(self):
            self.turn = threading.RLock()

        @MadeOnceEach
        def area(self):
            """The area."""
            wait_until_calling(ask, *threads)
            made.append(self)
            return object()

    assert Shape.area.__doc__ == "The area."  # as `help` reads it

    def ask():
        got.append(shape.area)

    shape, other = Shape(), Shape()
    threads = [threading.Thread(target=ask) for _ in range(2)]
    run_all(threads)
    assert made == [shape]
    assert got[0] is got[1] is shape.area
    assert other.area is not shape.area
    assert made == [shape, other]
