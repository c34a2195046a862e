"""The comparison of workers, without processes."""

import threading

import numpy as np
import pytest

from modkit.errors import DistributedError
from modkit.kvstore.check_equal import check_equal


class Threads:
    """Workers that are threads."""

    def __init__(self, size):
        self.size = size
        self.barrier, self.values, self.gathered = threading.Barrier(size), [None] * size, 0

    def gather(self, value, rank):
        self.gathered += rank == 0
        self.values[rank] = value
        self.barrier.wait(5)
        found = list(self.values)
        self.barrier.wait(5)
        return found


class One:
    """One of them."""

    def __init__(self, all_, rank):
        self.all, self.rank = all_, rank

    def gather(self, value):
        return self.all.gather(value, self.rank)

    def rows(self, own):
        return np.array(self.gather(own))


def checked(*facts):
    """The error of each worker, and the number of gathers."""
    threads, found = Threads(len(facts)), [None] * len(facts)

    def run(rank):
        try:
            check_equal(One(threads, rank), "here", facts[rank])
        except DistributedError as error:
            found[rank] = str(error)

    running = [threading.Thread(target=run, args=(rank,)) for rank in range(len(facts))]
    for each in running:
        each.start()
    for each in running:
        each.join()
    return found, threads.gathered


def test_equal_facts_cost_one_gather():
    assert checked({"a": 1, "b": (2, 3)}, {"b": (2, 3), "a": 1}) == ([None, None], 1)
    check_equal(None, "here", {"a": 1})  # one process


def test_a_difference_is_the_same_error_in_all():
    found, gathers = checked({"a": 1, "b": 2}, {"a": 1}, {"a": 1, "b": 2})
    assert gathers == 2
    assert len(set(found)) == 1
    assert "here: the workers differ:\n  b: 2 in workers 0, 2; missing in worker 1\n" in found[0]


def test_many_differences_are_cut():
    (text, _), _ = checked({f"x{i}": "a" * 500 for i in range(30)}, {})
    assert "and 10 more" in text
    assert len(text) < 20 * 300


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_order_does_not_count(names):
    assert checked(dict.fromkeys(names, 1), {"a": 1, "b": 1})[0] == [None, None]
