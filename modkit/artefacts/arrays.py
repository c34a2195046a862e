"""Description of a file of arrays: names, shapes, types, sizes and, on request, statistics."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from modkit.artefacts.base import Facts
from modkit.artefacts.containers import open_arrays
from modkit.artefacts.stored import Statistics, Stored, measure
from modkit.artefacts.table import Table, bytes_text


@dataclass(frozen=True)
class ArrayFacts:
    """One array of a file.

    Attributes:
        dtype: name of its element type.
        storage: ``"default"``, or ``"row_sparse"`` or ``"csr"``.
        size_bytes: in the file, uncompressed.
        statistics: of the finite elements; ``None`` without ``stats``.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    storage: str
    elements: int
    size_bytes: int
    statistics: Statistics | None = None


@dataclass(frozen=True)
class ArraysFacts(Facts):
    """A ``.params``, ``.npz`` or ``.safetensors`` file.

    Attributes:
        arrays: in the order of the file.
        elements: of all arrays.
        array_bytes: of all arrays, uncompressed.
    """

    arrays: tuple[ArrayFacts, ...]
    elements: int
    array_bytes: int

    def tables(self) -> list[Table]:
        """A table of totals, and one of the arrays."""
        groups = [
            (f"{prefix} {what}", _total([a for a in self.arrays if a.name.startswith(prefix)]))
            for prefix, what in (("arg:", "arguments"), ("aux:", "auxiliary states"))
            if any(a.name.startswith(prefix) for a in self.arrays)
        ]
        total = "in all", _total(self.arrays)
        return [self._of_file([*groups, total]), array_table(self.arrays)]


def _total(arrays: Iterable[ArrayFacts]) -> str:
    arrays = list(arrays)
    elements, size = sum(a.elements for a in arrays), sum(a.size_bytes for a in arrays)
    counted = f"{len(arrays)} array{'' if len(arrays) == 1 else 's'}"
    return f"{counted}, {elements:,} elements, {bytes_text(size)}"


def array_table(arrays: Iterable[ArrayFacts]) -> Table:
    """A table of arrays, with columns of statistics if any array has some."""
    arrays = list(arrays)
    columns = ["name", "shape", "type", "elements", "size"]
    measured = any(a.statistics for a in arrays)
    if measured:
        columns += ["min", "max", "mean", "not finite"]
    rows = tuple(tuple(_cells(a) + (_measured(a.statistics) if measured else [])) for a in arrays)
    return Table("arrays", rows, tuple(columns), frozenset(range(3, len(columns))))


def _cells(array: ArrayFacts) -> list[str]:
    sparse = "" if array.storage == "default" else f" {array.storage}"
    shape = "x".join(map(str, array.shape)) or "scalar"
    return [array.name, shape, array.dtype + sparse, f"{array.elements:,}",
            bytes_text(array.size_bytes)]  # fmt: skip


def _measured(found: Statistics | None) -> list[str]:
    if found is None:
        return [""] * 4
    numbers = (found.minimum, found.maximum, found.mean)
    return ["" if n is None else f"{n:.4g}" for n in numbers] + [str(found.not_finite)]


def array_facts(stored: Stored, stats: bool) -> ArrayFacts:
    """The facts of an array; a sparse one has no statistics."""
    return ArrayFacts(
        name=stored.name,
        shape=stored.shape,
        dtype=stored.dtype,
        storage=stored.storage,
        elements=math.prod(stored.shape),
        size_bytes=stored.size_bytes,
        statistics=measure(stored.pieces()) if stats and stored.storage == "default" else None,
    )


def describe_arrays(path: str, kind: str, size_bytes: int, stats: bool) -> ArraysFacts:
    """Describe a file of arrays; no array is read without ``stats``."""
    with open_arrays(path, kind) as stored:
        arrays = tuple(array_facts(each, stats) for each in stored)
    return ArraysFacts(
        path=path,
        kind=kind,
        size_bytes=size_bytes,
        arrays=arrays,
        elements=sum(a.elements for a in arrays),
        array_bytes=sum(a.size_bytes for a in arrays),
    )
