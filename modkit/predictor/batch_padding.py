"""Batches of any size run by programs of a few sizes: padding, splitting, joining."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from modkit.errors import ShapeError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class BatchPadding:
    """The batch axis of each input and output, and the batch sizes that are compiled.

    Attributes:
        shapes: of the inputs, as they were bound.
        axes: batch axes of the inputs; ``None`` for one without samples, such as a table.
        outputs: batch axes of the outputs; ``None`` if some output has not one row for each
            sample, so that batches can be neither padded nor split.
        size: of the batch that was bound; ``None`` if no input has samples.
        fixed: whether the graph contains the batch size, and runs no other.
    """

    shapes: Mapping[str, Shape]
    axes: Mapping[str, int | None]
    outputs: tuple[int, ...] | None
    size: int | None
    fixed: bool = False

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """The compiled sizes: powers of two, and the size that was bound."""
        if self.size is None or self.outputs is None:
            return ()
        if self.fixed:
            return (self.size,)
        smaller = (2**i for i in range(self.size.bit_length()))
        return (*(s for s in smaller if s < self.size), self.size)

    def resized(self, name: str, size: int) -> Shape:
        """The shape of an input for another number of samples."""
        return tuple(size if i == self.axes[name] else s for i, s in enumerate(self.shapes[name]))

    def count(self, arrays: Mapping[str, Any]) -> int | None:
        """The number of samples; ``None`` without; ShapeError where shapes or counts differ."""
        counts = {n: self._count(n, np.shape(a)) for n, a in arrays.items()}
        found = {n: c for n, c in counts.items() if c is not None}
        if len(set(found.values())) > 1:
            listing = ", ".join(f"{n!r} {c}" for n, c in found.items())
            raise ShapeError(f"predict: inputs have different numbers of samples: {listing}")
        return next(iter(found.values()), None)

    def _count(self, name: str, got: Shape) -> int | None:
        bound, axis = self.shapes[name], self.axes[name]
        fits = len(got) == len(bound) and all(
            g == b for i, (g, b) in enumerate(zip(got, bound, strict=True)) if i != axis
        )
        if not fits:
            spelled = ", ".join("any" if i == axis else str(b) for i, b in enumerate(bound))
            raise ShapeError(
                f"predict: input {name!r}: got shape {tuple(got)}, expected ({spelled}); for other "
                "shapes make another predictor with reshape({...})"
            )
        return None if axis is None else got[axis]

    def pieces(self, arrays: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], int | None]]:
        """The inputs split and padded to compiled sizes, with the number of real samples each."""
        count = self.count(arrays)
        if count is None or not self.sizes:
            yield dict(arrays), None
            return
        largest = self.sizes[-1]
        for begin in range(0, max(count, 1), largest):
            part = min(largest, count - begin)
            size = next(s for s in self.sizes if s >= part)
            piece = {
                n: a if (axis := self.axes[n]) is None else _resized(a, axis, begin, part, size)
                for n, a in arrays.items()
            }
            yield piece, part

    def real(self, outputs: Sequence[Any], count: int | None) -> list[Any]:
        """The outputs without the padding rows."""
        if count is None or self.outputs is None:
            return list(outputs)
        axes = zip(outputs, self.outputs, strict=True)
        return [y if y.shape[i] == count else _taken(y, i, 0, count) for y, i in axes]

    def joined(self, parts: Sequence[Sequence[Any]], concatenate: Any) -> list[Any]:
        """The outputs of all pieces, joined."""
        if self.outputs is None or len(parts) == 1:
            return list(parts[0])
        return [
            concatenate([part[i] for part in parts], axis) for i, axis in enumerate(self.outputs)
        ]


def _taken(array: Any, axis: int, begin: int, end: int) -> Any:
    return array[(*[slice(None)] * axis, slice(begin, end))]


def _resized(array: Any, axis: int, begin: int, count: int, size: int) -> Any:
    """Samples ``begin`` to ``begin + count``, and copies of the last one up to ``size``."""
    whole = array.shape[axis]
    part = array if count == whole else _taken(array, axis, begin, begin + count)
    if count == size:
        return part
    numpy = np if isinstance(array, np.ndarray) else jnp
    if not count:
        return numpy.zeros((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
    last = _taken(part, axis, count - 1, count)
    return numpy.concatenate([part, numpy.repeat(last, size - count, axis)], axis)


def sample_axis(
    before: Sequence[Shape], after: Sequence[Shape], size: int
) -> tuple[int, ...] | None:
    """The batch axes of outputs; ``None`` unless every output has one.

    ``before`` has the shapes of the outputs for ``size`` samples, ``after`` for one more.
    """
    axes = []
    for old, new in zip(before, after, strict=True):
        changed = [i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
        if len(old) != len(new) or len(changed) != 1:
            return None
        if (old[changed[0]], new[changed[0]]) != (size, size + 1):
            return None
        axes.append(changed[0])
    return tuple(axes)
