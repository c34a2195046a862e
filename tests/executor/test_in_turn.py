"""Large steps wait for the one before; others are left as they are."""

from types import SimpleNamespace

import pytest

from modkit.executor import in_turn as module
from modkit.executor.in_turn import LARGE, InTurn, in_turn


class Form:
    """A compiled form of which the scratch memory is known."""

    def __init__(self, scratch):
        self._needs = SimpleNamespace(temp_size_in_bytes=scratch, output_size_in_bytes=7)

    def memory_analysis(self):
        return self._needs


class Heap:
    """Makes a room of what it is told."""

    def room(self, *sizes):
        return sizes


@pytest.fixture(autouse=True)
def nothing_under_way(monkeypatch):
    monkeypatch.setattr(module, "_under_way", [])


def test_only_large_scratch_memory_counts():
    small, large = Form(LARGE - 1), Form(LARGE)
    assert in_turn(small, Heap()) is small
    assert in_turn(large, Heap())._room == (LARGE, 7)


def test_a_form_that_does_not_know_its_memory_stays():
    def form():
        pass

    assert in_turn(form, Heap()) is form


class Result:
    """An array that writes down who waits for it."""

    def __init__(self, name, nbytes, seen, deleted=False):
        self.name, self.nbytes, self._seen, self._deleted = name, nbytes, seen, deleted

    def block_until_ready(self):
        if self._deleted:
            raise RuntimeError("Array has been deleted.")
        self._seen.append(f"wait for {self.name}")


def test_a_run_waits_for_the_one_before_whichever_form_it_was():
    seen = []
    room = SimpleNamespace(make=lambda: seen.append("room"))

    def form(name, deleted=False):
        def run():
            seen.append(name)
            return {"large": Result(f"{name}'s large", 9, seen), "few": [
                Result(f"{name}'s small", 1, seen, deleted)]}  # fmt: skip

        return InTurn(run, room)

    first, second, gone = form("first"), form("second"), form("gone", deleted=True)
    first()
    second()
    gone()
    first()
    assert seen == [
        "room", "first",
        "wait for first's small", "room", "second",
        "wait for second's small", "room", "gone",
        "room", "first",
    ]  # fmt: skip


def test_a_run_that_fails_leaves_the_next_to_begin():
    seen = []

    def fails():
        raise ValueError("shape")

    room = SimpleNamespace(make=lambda: None)
    good = InTurn(lambda: [Result("the good one", 1, seen)], room)
    good()
    with pytest.raises(ValueError, match="shape"):
        InTurn(fails, room)()
    good()
    good()
    assert seen == ["wait for the good one"] * 2  # the one before the failure, and the one after
