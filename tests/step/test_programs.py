"""Threads that run one graph for the first time at once share its programs."""

import contextlib
import threading

import pytest

import modkit as mx
from modkit.step import segments
from modkit.step.placement import OneContext
from modkit.step.programs import Programs
from modkit.step.segments import SegmentedPrograms
from modkit.symbol.lower import lower
from tests.threads import run_all


def two_at_once(read, count):
    """Check that two concurrent threads read one object, computed once."""
    start, got = threading.Barrier(2), []

    def work():
        start.wait(30)
        got.append(read())

    run_all([threading.Thread(target=work) for _ in range(2)])
    assert got[0] is got[1]
    assert count == [1]


def slowly(call, count):
    """``call`` that waits for a second caller, which one computation does not have."""
    together = threading.Barrier(2)

    def counted(*args):
        count[0] += 1
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait(0.3)
        return call(*args)

    return counted


GRAPH = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2))
READS = {
    "forward": lambda p: p.forward,
    "forward_kept": lambda p: p.forward_kept,
    "watched": lambda p: p.watched,
    "backward": lambda p: p.backward,
    "forward_backward": lambda p: p.forward_backward,
    "scored": lambda p: p.scored(len, ("softmax_label",)),
}


@pytest.mark.parametrize("name", READS)
def test_one_program(name):
    home, count = OneContext(mx.cpu()), [0]
    home.compile = slowly(home.compile, count)
    programs = Programs(lower(GRAPH), (), True, home)
    two_at_once(lambda: READS[name](programs), count)


def test_one_cut_into_segments(monkeypatch):
    count = [0]
    monkeypatch.setattr(segments, "cut", slowly(segments.cut, count))
    home = OneContext(mx.cpu(0), {"other": mx.cpu(1)})
    programs = SegmentedPrograms(lower(GRAPH), (), True, home)
    two_at_once(lambda: programs._segments({}), count)
