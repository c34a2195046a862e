"""The base of all descriptions of a file: a dataclass, as JSON and as tables."""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from modkit.artefacts.table import Table, bytes_text, pairs


@dataclass(frozen=True)
class Facts(ABC):
    """The fields of every description of a file.

    Attributes:
        kind: what the file is: ``"symbol"``, ``"params"``, ``"npz"``, ``"safetensors"``,
            ``"states"``, ``"records"``, ``"index"`` or ``"list"``.
    """

    path: str
    kind: str
    size_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain lists, dictionaries, strings and numbers."""
        return _plain(dataclasses.asdict(self))

    def to_json(self, indent: int | None = 2) -> str:
        """The fields as JSON; numbers that JSON does not have (infinities) are ``null``."""
        return json_text(self, indent)

    @abstractmethod
    def tables(self) -> list[Table]:
        """The fields as tables."""

    def _of_file(self, facts: Iterable[tuple[str, object]]) -> Table:
        """A table of the kind and size of the file, and more."""
        first = ("kind", self.kind), ("file", bytes_text(self.size_bytes))
        return pairs(self.path, (*first, *facts))

    def text(self) -> str:
        """The tables as plain text."""
        return "\n\n".join(table.text() for table in self.tables())


def json_text(value: Any, indent: int | None = 2) -> str:
    """Facts, lists and dictionaries as JSON; numbers that JSON does not have are ``null``."""
    return json.dumps(_plain(value), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Facts):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True)
class Labels:
    """The labels of a data set.

    Attributes:
        width: number of labels of a sample; ``None`` if samples differ.
        distinct: number of distinct first labels of samples; ``None`` for very many.
    """

    width: int | None
    minimum: float
    maximum: float
    distinct: int | None

    def text(self) -> str:
        """The labels as a text."""
        width = "several widths" if self.width is None else f"{self.width} a sample"
        distinct = "" if self.distinct is None else f", {self.distinct} distinct"
        return f"{width}, {self.minimum:g} to {self.maximum:g}{distinct}"


class LabelCounter:
    """Accumulates a summary of labels in constant memory."""

    _MOST = 100_000

    def __init__(self) -> None:
        self._widths: set[int] = set()
        self._distinct: set[float] = set()
        self._minimum, self._maximum = math.inf, -math.inf

    def add(self, labels: Any) -> None:
        """Count the labels of a sample: numbers, at least one."""
        self._widths.add(len(labels))
        self._minimum = min(self._minimum, *labels)
        self._maximum = max(self._maximum, *labels)
        if len(self._distinct) <= self._MOST:
            self._distinct.add(labels[0])

    def result(self) -> Labels | None:
        """The summary; ``None`` without labels."""
        if not self._widths:
            return None
        return Labels(
            width=next(iter(self._widths)) if len(self._widths) == 1 else None,
            minimum=float(self._minimum),
            maximum=float(self._maximum),
            distinct=len(self._distinct) if len(self._distinct) <= self._MOST else None,
        )
