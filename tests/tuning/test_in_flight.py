"""Large steps wait for the one before; others are left as they are."""

import threading
from types import SimpleNamespace

import pytest

from modkit.tuning import in_flight as module
from modkit.tuning.in_flight import LARGE, InFlight, one_in_flight


class Form:
    """A compiled form with known scratch memory, which writes down its runs."""

    def __init__(self, scratch=LARGE, results=None):
        self._scratch, self._results = scratch, results

    def memory_analysis(self):
        return SimpleNamespace(temp_size_in_bytes=self._scratch)

    def __call__(self, *args):
        return self._results() if self._results else list(args)


@pytest.fixture(autouse=True)
def nothing_under_way(monkeypatch):
    monkeypatch.setattr(module, "_in_flight", InFlight())


def test_only_large_scratch_memory_counts():
    small, large = Form(LARGE - 1), Form(LARGE)
    assert one_in_flight(small) is small
    assert one_in_flight(large) is not large and one_in_flight(large)() == []


def test_a_form_without_figures_of_its_memory_stays():
    def form():
        pass

    assert one_in_flight(form) is form


class Result:
    """An array that writes down the waits for it."""

    def __init__(self, name, nbytes, seen, deleted=False):
        self.name, self.nbytes, self._seen, self._deleted = name, nbytes, seen, deleted

    def block_until_ready(self):
        if self._deleted:
            raise RuntimeError("Array has been deleted.")
        self._seen.append(f"wait for {self.name}")


def test_a_run_waits_for_the_one_before_whichever_form_it_was():
    seen = []

    def form(name, deleted=False):
        def results():
            seen.append(name)
            return {"large": Result(f"{name}'s large", 9, seen), "few": [
                Result(f"{name}'s small", 1, seen, deleted)]}  # fmt: skip

        return one_in_flight(Form(results=results))

    first, second, gone = form("first"), form("second"), form("gone", deleted=True)
    for run in (first, second, gone, first):
        run()
    assert seen == [
        "first", "wait for first's small", "second", "wait for second's small", "gone", "first",
    ]  # fmt: skip


def test_a_run_that_fails_leaves_the_next_to_begin():
    seen = []

    def fails():
        raise ValueError("shape")

    good = one_in_flight(Form(results=lambda: [Result("the good one", 1, seen)]))
    good()
    with pytest.raises(ValueError, match="shape"):
        one_in_flight(Form(results=fails))()
    good()
    good()
    assert seen == ["wait for the good one"] * 2  # the one before the failure, and the one after


def test_two_threads_wait_for_each_other():
    """A thread that begins while another waits must not begin beside it."""
    under_way, most = [], []
    entered, done = threading.Event(), threading.Event()

    class Slow:
        nbytes = 1

        def __init__(self):
            under_way.append(self)
            most.append(len(under_way))

        def block_until_ready(self):
            if not entered.is_set():
                entered.set()
                done.wait(0.2)  # the second thread has its chance
            under_way.remove(self)

    run = one_in_flight(Form(results=lambda: [Slow()]))
    run()
    threads = [threading.Thread(target=work) for work in (run, lambda: (run(), done.set()))]
    threads[0].start()
    assert entered.wait(5)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert max(most) == 1


def test_free_pages_go_back_before_the_first_runs_of_each_form(monkeypatch):
    given = []
    monkeypatch.setattr(module, "give_back", lambda: given.append(1))
    for _ in range(2):
        run = one_in_flight(Form(results=lambda: [Result("one", 1, [])]))
        for _ in range(5):
            run()
    assert len(given) == 2 * module._FIRST_RUNS


def test_a_signal_handler_may_run_a_form_while_another_runs():
    """Both are runs of one thread."""
    form, seen = one_in_flight(Form(results=lambda: [seen.append("inner")])), []
    outer = one_in_flight(Form(results=form))
    thread = threading.Thread(target=outer, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive() and len(seen) == 1
