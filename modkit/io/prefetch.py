"""PrefetchingIter: the next batch is read in a thread while the present one is processed."""

from __future__ import annotations

import atexit
import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit import fork
from modkit.errors import NameNotFoundError, NotReadyError, ParameterError, nearest, wrong
from modkit.io.base import (
    DataBatch,
    DataDesc,
    DataIter,
    HeldBatchIter,
    check_iterator,
    check_position,
    move_to,
    position_of,
    reseed,
)
from modkit.signals import DeferredSignals

EXIT_WAIT_S = 10.0
"""Seconds that the exit of the interpreter waits for calls under way, all together."""

_under_way: set[_Fetch] = set()


class _Fetch:
    """A call in a thread of its own; `result` waits for it, and raises its exception.

    The thread ends with the call. It is a daemon thread, so that a call that never ends does not
    keep the process; `_wait_at_exit` waits for the others.
    """

    def __init__(self, call: Callable[[], Any]):
        self._call = call
        self._outcome: tuple[Any, BaseException | None] | None = None
        self._thread = threading.Thread(target=self._run, name="modkit-prefetch", daemon=True)
        _under_way.add(self)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome = self._call(), None
        except BaseException as error:
            self._outcome = None, error
        finally:
            _under_way.discard(self)

    def wait(self, timeout_s: float | None = None) -> None:
        """Return once the call has ended, well or not, or after ``timeout_s``."""
        self._thread.join(timeout_s)

    def result(self) -> Any:
        """The result of the call; ``None`` if an iterator was exhausted.

        Raises:
            NotReadyError: a fork has lost the thread.
            ParameterError: the call has returned ``None``.
        """
        self.wait()
        if self._outcome is None:
            raise NotReadyError(
                "PrefetchingIter: this process was forked while a thread read the next batch, "
                "which is lost; call reset() after a fork"
            )
        value, error = self._outcome
        if error is not None and not isinstance(error, StopIteration):
            raise error
        if error is None and value is None:
            raise wrong("PrefetchingIter: next()", None, "a DataBatch, or a StopIteration")
        return value


@atexit.register
def _wait_at_exit() -> None:
    """Wait for calls under way: a daemon thread that returns from JAX later aborts the process.

    Exit functions run in reverse order, so JAX, which is imported before, is still there.
    """
    deadline = time.monotonic() + EXIT_WAIT_S
    for fetch in list(_under_way):
        fetch.wait(max(0.0, deadline - time.monotonic()))


class PrefetchingIter(HeldBatchIter):
    """One or several iterators read in threads, a batch ahead; several are joined side by side.

    An exception of an iterator in its thread is raised by `next`. The exit of the interpreter waits
    for batches under way, for at most 10 seconds.

    Args:
        iters: an iterator or a list of them; of the same number of batches and the same padding.
        rename_data: for each iterator, new names of its data by their old ones. The last ones may
            be left out for iterators without any.
        rename_label: the same for labels.

    Raises:
        ParameterError: there are no iterators, or more renamings than iterators.
        NameNotFoundError: data or a label without a new name.
    """

    def __init__(
        self,
        iters: DataIter | Sequence[DataIter],
        rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
    ):
        self.iters: list[Any] = list(iters) if isinstance(iters, list | tuple) else [iters]
        self.n_iter = len(self.iters)
        if not self.iters:
            raise ParameterError("PrefetchingIter: got no iterators, expected at least one")
        for what, renames in (("rename_data", rename_data), ("rename_label", rename_label)):
            listed = isinstance(renames, list | tuple)
            if renames is not None and not (listed and len(renames) <= self.n_iter):
                got = f"{len(renames)} dictionaries" if listed else type(renames).__name__
                raise ParameterError(
                    f"PrefetchingIter: {what}: got {got}, expected a list with one for each of "
                    f"the {self.n_iter} iterators"
                )
        needed = "provide_data", "provide_label", "next"
        for each in self.iters:
            check_iterator(each, "PrefetchingIter: iters", needed)
        for names in (*(rename_data or ()), *(rename_label or ())):
            if not isinstance(names, Mapping):
                raise wrong("PrefetchingIter: new names", names, "a dictionary by the old names")
        self.rename_data, self.rename_label = rename_data, rename_label
        super().__init__(self.provide_data[0][1][0])
        self._ended = False
        self._fetches: list[_Fetch] = []
        self._before: list[Any] = []
        self._turn = fork.lock()
        self._fetch()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data of all iterators."""
        return _renamed([i.provide_data for i in self.iters], self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the labels of all iterators."""
        return _renamed([i.provide_label for i in self.iters], self.rename_label)

    def state_dict(self) -> dict[str, Any] | None:
        """The position after the last batch of `next`; batches fetched ahead do not count.

        ``None`` where one of the iterators has no ``state_dict``.
        """
        states = self._before
        return None if None in states else {"n_iter": self.n_iter, "iters": states}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to the position of `state_dict`; ParameterError for that of another iterator."""
        check_position(self, state, n_iter=self.n_iter)
        own = iter(state["iters"])
        self._begin(lambda each: move_to(each, next(own)))

    def _begin(self, begin: Callable[[Any], None]) -> None:
        """Drop prefetched batches, and call ``begin`` for each iterator."""
        with self._turn:
            for fetch in self._fetches:
                fetch.wait()
            self._fetches = []
            for each in self.iters:
                begin(each)
            self._ended = False
            self._fetch()

    def _fetch(self) -> None:
        with DeferredSignals():  # one batch of each iterator, or of none
            self._before = [position_of(each) for each in self.iters]
            self._fetches = [_Fetch(i.next) for i in self.iters]

    def reset(self) -> None:
        """Begin the next epoch; prefetched batches are dropped."""
        self._begin(lambda each: each.reset())

    def reseed(self, seed: int) -> None:
        """Begin anew, with each iterator seeded."""
        self._begin(lambda each: reseed(each, seed))

    def next(self) -> DataBatch:
        """The next batch; threads that share the iterator get different ones."""
        with self._turn:
            return super().next()

    def iter_next(self) -> bool:
        with self._turn:
            if self._ended:
                return False
            if not self._fetches:  # an interrupted call has left none
                self._fetch()
            for fetch in self._fetches:
                fetch.wait()
            with DeferredSignals():
                return self._step()

    def _step(self) -> bool:
        fetched, self._fetches = self._fetches, []
        try:
            batches = [fetch.result() for fetch in fetched]
        except BaseException:
            self._fetch()
            raise
        ends = [batch is None for batch in batches]
        if any(ends):
            self._ended = True
            if not all(ends):
                raise ParameterError(
                    f"PrefetchingIter: iterator {ends.index(True)} has fewer batches than iterator "
                    f"{ends.index(False)}, expected as many"
                )
            return False
        self._fetch()
        self.current_batch = self._joined(batches)
        return True

    def _joined(self, batches: Sequence[DataBatch]) -> DataBatch:
        for at, batch in enumerate(batches):
            if not hasattr(batch, "pad"):
                raise wrong(
                    f"PrefetchingIter: a batch of iterator {at}", type(batch), "a DataBatch"
                )
        pads = [batch.pad for batch in batches]
        if len(set(pads)) > 1:
            raise ParameterError(f"PrefetchingIter: the iterators pad differently: {pads}")
        return DataBatch(
            data=[array for batch in batches for array in batch.data or ()],
            label=[array for batch in batches for array in batch.label or ()],
            pad=pads[0],
            index=batches[0].index,
            bucket_key=batches[0].bucket_key,
            provide_data=self._described("provide_data", batches),
            provide_label=self._described("provide_label", batches),
        )

    def _described(self, what: str, batches: Sequence[DataBatch]) -> list[DataDesc]:
        """Descriptions of a batch: its own where it has them (buckets), else the iterators'."""
        if all(getattr(batch, what) is None for batch in batches):
            return getattr(self, what)
        renames = self.rename_data if what == "provide_data" else self.rename_label
        own = [
            getattr(b, what) or getattr(i, what) for b, i in zip(batches, self.iters, strict=True)
        ]
        return _renamed(own, renames)


def _renamed(
    groups: Sequence[Sequence[Any]], renames: Sequence[Mapping[str, str]] | None
) -> list[Any]:
    if renames is None:
        return [desc for group in groups for desc in group]
    named = itertools.zip_longest(groups, renames, fillvalue={})
    return [_rename(desc, names) for group, names in named for desc in group]


def _rename(desc: Any, names: Mapping[str, str]) -> DataDesc:
    if desc[0] not in names:
        raise NameNotFoundError(
            f"PrefetchingIter: no new name for {desc[0]!r}.{nearest(desc[0], names)}"
        )
    if isinstance(desc, DataDesc):
        return DataDesc(names[desc[0]], desc.shape, desc.dtype, desc.layout)
    return DataDesc(names[desc[0]], desc[1])
