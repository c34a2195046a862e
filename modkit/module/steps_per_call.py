"""Batches of an epoch in chunks: ``fit(steps_per_call=K)`` trains on K batches by one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from modkit import engine
from modkit.callback import Run
from modkit.errors import ParameterError
from modkit.module.data_batch import held

Sums = tuple[Sequence[Any], bool]
"""Statistics of each batch, for the metric, and whether they are those of several replicas."""


def steps_at_once(given: int | None, monitor: Any) -> int:
    """The number of batches of one program; a monitor sees each batch."""
    steps = engine.steps_per_call() if given is None else given
    steps = engine.check_steps("fit: steps_per_call", steps)
    return steps if monitor is None else 1


class Chunks:
    """The batches of an iterator: the ``first``, and from each the next one.

    The next chunk is read when the last batch of the present one has been trained on, since an
    iterator may reuse its arrays.

    Args:
        batches: the iterator.
        size: number of batches in a chunk.
        run: the training; its position is noted before a chunk is read, where that is wanted.

    Attributes:
        first: the first batch.
        chunk_end: whether the batch that was trained on last is the last one of a chunk.

    Raises:
        ParameterError: there is no batch.
    """

    def __init__(self, batches: Iterable[Any], size: int, run: Run):
        self._batches, self._size, self._run = iter(batches), size, run
        self._chunk: list[Any] = []
        self._place = 0
        self._sums: Sums | None = None
        self.chunk_end = True
        self.first = self.next()
        if self.first is None:
            raise ParameterError(f"fit: train_data has no batch{_reason(run)}")
        run.restore_streams()

    def trained(self, module: Any, eval_metric: Any) -> bool:
        """Train on the whole chunk at its first batch; add each batch to the metric in its turn.

        Returns:
            ``False``, without training, if the batches have to run one by one, call by call.
        """
        self.chunk_end = self._place + 1 == len(self._chunk)
        if self._place == 0:
            self._sums = module._train_on(self._chunk, eval_metric)
        if self._sums is None:
            return False
        sums, stacked = self._sums
        eval_metric.absorb(sums[self._place], stacked=stacked)
        return True

    def next(self) -> Any:
        """Go on from the present batch, which has been trained on; ``None`` after the last."""
        self._place += 1
        if self._place < len(self._chunk):
            return self._chunk[self._place]
        if self._run.marking:
            self._run.mark()
        else:
            self._run.position = None
        self._place, self._chunk = 0, []
        while len(self._chunk) < self._size and (batch := next(self._batches, None)) is not None:
            # Several batches are copied, since iterators may reuse their arrays.
            self._chunk.append(held(batch) if self._size > 1 else batch)
        return self._chunk[0] if self._chunk else None


def _reason(run: Run) -> str:
    """Why an epoch has no batch, as far as the iterator shows it."""
    data = run.train_data
    samples, size = getattr(data, "num_data", None), getattr(data, "batch_size", None)
    if samples == 0:
        return f": it has 0 samples, for batches of {size}"
    dropping = getattr(data, "last_batch_handle", None) == "discard"
    if dropping and isinstance(samples, int) and isinstance(size, int) and samples < size:
        return (
            f": its {samples} samples are fewer than a batch of {size}, which "
            "last_batch_handle='discard' drops"
        )
    if run.step:
        return f" in epoch {run.epoch}: its reset() has to go back to the first batch"
    return "; an iterator that was read to its end needs reset()"


def while_all_have(batches: Iterable[Any], run: Run) -> Iterable[Any]:
    """The batches, for as long as every worker has one.

    An epoch ends for all workers when the first of them has no batch left. What others have left
    is not trained on, since a step needs the gradients of all.

    Args:
        batches: the iterator.
        run: the training, with its workers.
    """
    return batches if run.workers is None else _while_all(iter(batches), run)


def _while_all(batches: Iterator[Any], run: Run) -> Iterator[Any]:
    while run.all_have(batch := next(batches, None)):
        yield batch
