"""PrefetchingIter and ResizeIter: threads that end, errors that arrive."""

import threading

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotReadyError, ParameterError
from modkit.io import DataBatch, DataDesc, DataIter, NDArrayIter, PrefetchingIter, ResizeIter
from tests.fresh import answer
from tests.io.forks import forking, in_child
from tests.step.test_interrupts import interrupted
from tests.threads import wait_until_calling
from tools import attack_exits


class Failing(DataIter):
    """Three batches, of which one fails the first time."""

    def __init__(self, fails_at, error=OSError):
        super().__init__(1)
        self.provide_data, self.provide_label = [DataDesc("data", (1,))], []
        self.fails_at, self.error, self.count = fails_at, error, 0
        self.threads = set()

    def next(self):
        self.threads.add(threading.current_thread().name)
        self.count += 1
        if self.count == self.fails_at:
            self.fails_at = None
            raise self.error("the disk is gone")
        if self.count > 3:
            raise StopIteration
        return DataBatch([mx.nd.array([self.count])], [], 0)

    def reset(self):
        self.count = 0


def values(it):
    return [b.data[0].asnumpy().tolist() for b in it]


def numbers(count=10, size=4):
    return NDArrayIter(np.arange(count), np.arange(count), size)


def test_batches_are_made_in_another_thread():
    inner = Failing(None)
    assert values(PrefetchingIter(inner)) == [[1], [2], [3]]
    assert inner.threads == {"modkit-prefetch"}


def test_what_is_no_iterator_is_not_resized():
    with pytest.raises(ParameterError, match="ResizeIter: data_iter: got 3"):
        ResizeIter(3, 3)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_error_is_raised_where_the_batch_would_come(at):
    it = PrefetchingIter(Failing(at))
    for n in range(1, at):
        assert it.next().data[0].asscalar() == n
    with pytest.raises(OSError, match="the disk is gone"):
        it.next()
    it.reset()
    assert values(it) == [[1], [2], [3]]


def test_one_goes_on_after_an_error():
    it = PrefetchingIter(Failing(2))
    it.next()
    with pytest.raises(OSError, match="gone"):
        it.next()
    assert values(it) == [[3]]


def test_the_end_stays_the_end_until_reset():
    it = PrefetchingIter(numbers())
    assert len(list(it)) == 3
    for _ in range(3):
        with pytest.raises(StopIteration):
            it.next()
    it.reset()
    assert len(list(it)) == 3


def test_reset_in_the_middle():
    it = PrefetchingIter([numbers(), numbers()])
    it.next()
    it.reset()
    assert it.next().label[1].asnumpy().tolist() == [0, 1, 2, 3]


def test_an_iterator_is_never_called_from_two_threads_at_once():
    main = threading.current_thread()

    def reset():
        it.reset()

    class Slow(Failing):
        inside, slow = False, True

        def next(self):
            assert not self.inside
            self.inside = True
            if self.slow and self.count:  # the batch ahead, which `reset` waits for
                wait_until_calling(reset, main)
            self.inside = False
            return super().next()

        def reset(self):
            assert not self.inside
            super().reset()

    inner = Slow(None)
    it = PrefetchingIter(inner)
    for _ in range(3):
        it.next()
        reset()
    inner.slow = False
    assert values(it) == [[1], [2], [3]]


def test_no_thread_is_left_at_the_end():
    it = PrefetchingIter([numbers(), numbers()])
    list(it)
    assert not [t for t in threading.enumerate() if t.name == "modkit-prefetch"]


def test_iterators_of_different_lengths_do_not_go_together():
    with pytest.raises(AssertionError, match="fewer batches"):
        list(PrefetchingIter([numbers(8), numbers(12)]))
    with pytest.raises(AssertionError, match="pad differently"):
        list(PrefetchingIter([numbers(8), numbers(7)]))


def test_buckets_go_through():
    class Bucketed(Failing):
        def next(self):
            batch = super().next()
            batch.bucket_key = 7 + self.count
            batch.provide_data = [DataDesc("data", (1, self.count))]
            return batch

    it = PrefetchingIter(Bucketed(None), rename_data=[{"data": "x"}])
    seen = [(b.bucket_key, b.provide_data) for b in it]
    assert seen == [(8, [("x", (1, 1))]), (9, [("x", (1, 2))]), (10, [("x", (1, 3))])]


def test_iterators_without_labels_need_no_names_of_them():
    labelled, bare = (NDArrayIter(np.ones(2), label, 1) for label in (np.ones(2), None))
    names = [{"data": "x"}, {"data": "y"}]
    it = PrefetchingIter([labelled, bare], names, [{"softmax_label": "z"}])
    assert it.provide_label == [("z", (1,))]
    with pytest.raises(KeyError, match="no new name for 'softmax_label'"):
        PrefetchingIter([bare, labelled], names, [{}]).provide_label  # noqa: B018


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: PrefetchingIter([]), ParameterError, "no iterators"),
        (lambda: PrefetchingIter(numbers(), rename_data=[{}, {}]), ParameterError, "one for each"),
        (
            lambda: PrefetchingIter(numbers(), rename_label=3),
            ParameterError,
            "got int, expected a list",
        ),
        (lambda: PrefetchingIter(numbers(), rename_data=[{}]), KeyError, "'data'"),
        (lambda: ResizeIter(numbers(), 2).getdata(), NotReadyError, "next"),
    ],
)
def test_refusals(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_resizing_an_iterator_without_batches_ends():
    assert list(ResizeIter(NDArrayIter(np.ones(2), None, 4, last_batch_handle="discard"), 3)) == []


def test_processes_end_while_batches_are_computed():
    """The short form of ``tools/attack_exits.py``."""
    assert attack_exits.main(["--exits", "3"]) == 0


def test_a_call_that_never_ends_does_not_keep_the_process():
    program = """
import threading, time, modkit as mx
from modkit.io import prefetch
class Waiting(mx.io.DataIter):
    provide_data, provide_label = [mx.io.DataDesc("data", (1,))], []
    def next(self):
        threading.Event().wait()
prefetch.EXIT_WAIT_S = 0.2
batches = mx.io.PrefetchingIter(Waiting())
print("[]")
"""
    assert answer(program) == []


def two_at_once():
    """Two iterators side by side, of the numbers from 0 on."""
    data = [NDArrayIter({name: np.arange(8.0)}, batch_size=2) for name in "ab"]
    return PrefetchingIter(data)


def of_a_table(folder):
    (folder / "data.csv").write_text("".join(f"{n}\n" for n in range(8)))
    return mx.io.CSVIter(data_csv=str(folder / "data.csv"), data_shape=(1,), batch_size=2)


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # Python drops one that meets a finalizer
)
@pytest.mark.parametrize("make", [lambda _: two_at_once(), of_a_table])
def test_an_interrupt_takes_no_more_than_the_batch_that_was_being_returned(make, tmp_path, ctrl_c):
    for instant in range(1, 200, 3):
        batches = make(tmp_path)
        hit = interrupted(batches.next, instant)
        left = [[int(a.asnumpy().flat[0]) for a in batch.data] for batch in batches]
        assert left[-3:] == [[first] * len(left[0]) for first in (2, 4, 6)], instant
        if not hit:
            break
    else:
        pytest.fail("the instants have no end")


@forking
def test_a_batch_whose_thread_a_fork_has_lost_is_an_error_until_reset():
    """An epoch would end early."""
    may_read = threading.Event()

    class Waiting(Failing):
        def next(self):
            may_read.wait()
            return super().next()

    it = PrefetchingIter(Waiting(None))
    assert in_child(it.next) == "NotReadyError"
    assert in_child(lambda: (may_read.set(), it.reset(), values(it))[2]) == "[[1.0], [2.0], [3.0]]"
    may_read.set()
    assert values(it) == [[1], [2], [3]]


def test_an_epoch_that_threads_share_ends():
    batches = ResizeIter(NDArrayIter(np.arange(8.0), batch_size=2), 3)
    batches.cur = 4  # two threads have found it at 2
    assert not batches.iter_next()


def test_a_resized_iterators_methods_that_a_program_sets_are_called():
    it = ResizeIter(numbers(), 2)
    it.getpad = lambda: 3
    assert [batch.pad for batch in it] == [3, 3]
