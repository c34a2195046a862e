"""Encoding of sentences as integers, and an iterator over buckets of similar lengths."""

from __future__ import annotations

import bisect
import random
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from modkit.constructors import check_at_least
from modkit.errors import NameNotFoundError, ParameterError, expect
from modkit.io import DataBatch, DataDesc, DataIter
from modkit.ndarray import NDArray, array


def encode_sentences(
    sentences: Sequence[Sequence[Any]],
    vocab: MutableMapping[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Any = "\n",
    start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], Mapping[Any, int]]:
    r"""Encode words as integers.

    >>> encode_sentences([["to", "be"], ["not", "to"]])
    ([[0, 1], [2, 0]], {'\n': -1, 'to': 0, 'be': 1, 'not': 2})

    Args:
        vocab: integer of each word; ``None`` to build a vocabulary from the sentences.
        invalid_label: a reserved integer that no word is assigned.
        invalid_key: key of ``invalid_label`` in the vocabulary.
        unknown_token: key of words that a given vocabulary lacks; added with ``start_label`` if
            missing.

    Returns:
        Lists of integers, and the vocabulary.

    Raises:
        NameNotFoundError: a given vocabulary lacks a word, and there is no ``unknown_token``.

    Differs: unknown words have the integer of ``unknown_token``; MXNet 1.9.1 assigns that token a
        new integer at every unknown word, and also uses it for a new vocabulary.
    """
    new, index = vocab is None, start_label
    known: MutableMapping[Any, int] = {invalid_key: invalid_label} if vocab is None else vocab
    encoded = []
    for sentence in sentences:
        numbers = []
        for word in sentence:
            if word not in known and not new:
                if unknown_token is None:
                    raise NameNotFoundError(
                        f"encode_sentences: the vocabulary lacks {word!r}; give it an "
                        "unknown_token, or vocab=None to make a new one"
                    )
                word = unknown_token
            if word not in known:
                index += index == invalid_label
                known[word] = index
                index += 1
            numbers.append(known[word])
        encoded.append(numbers)
    return encoded, known


class BucketSentenceIter(DataIter):
    """Batches of sentences; all sentences of a batch are padded to the length of its bucket.

    The label of a word is the next word, that of the last one ``invalid_label``, as the padding is.

    Args:
        sentences: lists of integers, as from `encode_sentences`.
        buckets: lengths; default: all lengths with at least ``batch_size`` sentences. A sentence
            is assigned to the smallest bucket that fits; longer ones are discarded.
        data_name, label_name: names of the data and of the label.
        layout: ``"NT"``, or ``"TN"`` for time first.

    Raises:
        ParameterError: an unknown layout, or no bucket.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        layout: str = "NT",
    ):
        super().__init__(check_at_least("BucketSentenceIter", "batch_size", batch_size, 1))
        expected = "'NT' (sentence first) or 'TN' (time first)"
        expect(layout.find("N") in (0, 1), "BucketSentenceIter: layout", layout, expected)
        lengths = np.bincount([len(s) for s in sentences], minlength=1)
        if not buckets:
            buckets = [n for n, count in enumerate(lengths.tolist()) if count >= batch_size]
        filled = _bucketed(sentences, sorted(buckets), invalid_label, dtype)
        if not filled:
            raise ParameterError(
                f"BucketSentenceIter: no bucket: no length has {batch_size} sentences; choose "
                "buckets, or a smaller batch_size"
            )
        self.buckets, self.data = list(filled), list(filled.values())
        self.invalid_label, self.dtype = invalid_label, dtype
        self.data_name, self.label_name = data_name, label_name
        self.layout, self.major_axis = layout, layout.find("N")
        self.default_bucket_key = max(self.buckets)
        self.provide_data = [self._describe(data_name, self.default_bucket_key)]
        self.provide_label = [self._describe(label_name, self.default_bucket_key)]
        self.nddata: list[NDArray] = []
        self.ndlabel: list[NDArray] = []
        self.idx = [
            (i, start)
            for i, rows in enumerate(self.data)
            for start in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.curr_idx = 0
        self._unshuffled = self.data
        self.reset()

    def _describe(self, name: str, length: int) -> DataDesc:
        shape = (self.batch_size, length) if self.major_axis == 0 else (length, self.batch_size)
        return DataDesc(name, shape, layout=self.layout)

    def reset(self) -> None:
        """Shuffle batches with ``random`` and sentences with ``numpy.random``, and restart."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.data = [rows.copy() for rows in self.data]  # those of a state_dict stay
        for rows in self.data:
            np.random.shuffle(rows)  # noqa: NPY002 - MXNet's order comes from the global seed
        self._cut()

    def _cut(self) -> None:
        """Make the arrays that batches are slices of."""
        self.nddata, self.ndlabel = [], []
        for rows in self.data:
            label = np.full_like(rows, self.invalid_label)
            label[:, :-1] = rows[:, 1:]
            self.nddata.append(array(rows, dtype=self.dtype))
            self.ndlabel.append(array(label, dtype=self.dtype))

    def reseed(self, seed: int) -> None:
        """Begin anew, in an order that depends only on the global streams."""
        self.idx, self.data = sorted(self.idx), self._unshuffled
        self.reset()

    def state_dict(self) -> dict[str, Any]:
        """The position: the number of the next batch, and the order of batches and sentences."""
        batches = [list(each) for each in self.idx]
        return {"curr_idx": self.curr_idx, "idx": batches, "data": list(self.data)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to the position of `state_dict`; ParameterError for that of other sentences."""
        shapes = [rows.shape for rows in self.data], [rows.shape for rows in state["data"]]
        where, expected = "BucketSentenceIter.load_state_dict", f"buckets of shapes {shapes[0]}"
        expect(shapes[0] == shapes[1], where, shapes[1], expected)
        self.curr_idx, self.data = state["curr_idx"], list(state["data"])
        self.idx = [tuple(each) for each in state["idx"]]
        self._cut()

    def next(self) -> DataBatch:
        """The next batch; ``bucket_key`` is the length of its bucket."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        rows = slice(start, start + self.batch_size)
        data, label = self.nddata[bucket][rows], self.ndlabel[bucket][rows]
        if self.major_axis == 1:
            data, label = data.T, label.T
        length = self.buckets[bucket]
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=length,
            provide_data=[self._describe(self.data_name, length)],
            provide_label=[self._describe(self.label_name, length)],
        )


def _bucketed(
    sentences: Sequence[Sequence[int]], buckets: list[int], invalid_label: int, dtype: Any
) -> dict[int, np.ndarray]:
    """The padded sentences of each non-empty bucket."""
    rows: dict[int, list[np.ndarray]] = {bucket: [] for bucket in buckets}
    discarded = 0
    for sentence in sentences:
        at = bisect.bisect_left(buckets, len(sentence))
        if at == len(buckets):
            discarded += 1
            continue
        row = np.full(buckets[at], invalid_label, dtype=dtype)
        row[: len(sentence)] = sentence
        rows[buckets[at]].append(row)
    # Not in the log: MXNet prints it.
    sys.stdout.write(f"WARNING: discarded {discarded} sentences longer than the largest bucket.\n")
    return {bucket: np.stack(found) for bucket, found in rows.items() if found}
