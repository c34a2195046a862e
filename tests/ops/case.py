"""One row of an operator table, and how its inputs are made.

It runs in two places: in the tests, and under the reference's Python 3.8, so it knows nothing but
the standard library and NumPy.
"""

from __future__ import annotations

import collections
import functools
import importlib.util
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

CASES = Path(__file__).parent / "cases"
RECORDED = Path(__file__).parents[1] / "reference" / "ops"


@dataclass(frozen=True)
class Input:
    """One tensor input: a shape filled from a seed, or given values.

    Args:
        shape: sizes; leave it out with ``values``.
        low: smallest value.
        high: a bound on the values (excluded for ``kind="int"``).
        kind: ``"float"`` (uniform), ``"int"`` (whole numbers, of any dtype) or ``"values"``.
        dtype: element type.
        values: nested list or array, taken as it is.
    """

    shape: tuple[int, ...] = ()
    low: float = -1.0
    high: float = 1.0
    kind: str = "float"
    dtype: str = "float32"
    values: Any = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape, that of given values too."""
        return self.shape if self.values is None else np.shape(self.values)

    def make(self, seed: int) -> np.ndarray:
        """The array."""
        if self.values is not None:
            return np.array(self.values, dtype=self.dtype)
        stream = np.random.RandomState(seed)
        if self.kind == "int":
            return stream.randint(int(self.low), int(self.high), self.shape).astype(self.dtype)
        if self.kind != "float":
            raise ValueError(f"kind {self.kind!r} needs values")
        return stream.uniform(self.low, self.high, self.shape).astype(self.dtype)


Tensor = Any  # an Input, or a shape


@dataclass(frozen=True)
class Case:
    """One call of one operator.

    Args:
        op: the operator's name, or an alias.
        inputs: shapes (uniform float32 in [-1, 1)) or `Input`; auxiliary states last; an
            optional input that is absent is left out.
        attrs: parameters, as text or values.
        grad: whether gradients of all float inputs are compared, or the positions of those.
        train: the mode of the forward call. Gradients are always those of training mode.
        note: tells rows apart that would have one id.
        rtol: overrides the tolerance of the outputs' dtype, for outputs and gradients.
        atol: likewise.
        random: only shapes and dtypes of the outputs are compared.
        aux: how many of the inputs, counted from the end, are auxiliary states.
    """

    op: str
    inputs: Sequence[Tensor] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    grad: bool | Sequence[int] = True
    train: bool = False
    note: str = ""
    rtol: float | None = None
    atol: float | None = None
    random: bool = False
    aux: int = 0

    @cached_property
    def id(self) -> str:
        """The row's name in reports and in the record."""
        attrs = [f"{n}={v}" for n, v in sorted(self.attrs.items())]
        parts = [
            self.op,
            ",".join(map(_spell, self.inputs)),
            ",".join(attrs).replace(" ", ""),
            self.note,
        ]
        if self.train:
            parts.append("train")
        return "-".join(p for p in parts if p)

    @property
    def specs(self) -> list[Input]:
        """All inputs, those that the row gives as bare shapes too."""
        return [t if isinstance(t, Input) else Input(tuple(t)) for t in self.inputs]

    def arrays(self) -> list[np.ndarray]:
        """The arrays of all inputs, made anew."""
        return [spec.make(_seed(self.id, at)) for at, spec in enumerate(self.specs)]

    def differentiated(self, arrays: Sequence[np.ndarray]) -> list[int]:
        """Positions of the inputs whose gradients are compared."""
        if self.grad is False or self.random:
            return []
        if self.grad is not True:
            return list(self.grad)
        first = arrays[: len(arrays) - self.aux]
        return [i for i, a in enumerate(first) if np.issubdtype(a.dtype, np.floating)]

    def heads(self, outputs: Sequence[Any]) -> list[np.ndarray]:
        """A fixed random gradient for each output (zeros for whole-number ones)."""
        made = []
        for at, output in enumerate(outputs):
            stream = np.random.RandomState(_seed(self.id, 1000 + at))
            head = stream.uniform(-1, 1, output.shape)
            floating = np.issubdtype(np.dtype(output.dtype), np.floating)
            made.append((head if floating else head * 0).astype(output.dtype))
        return made


def _spell(tensor: Tensor) -> str:
    """An input in the id of its row: ``2x3``, ``4:int32``."""
    if not isinstance(tensor, Input):
        return "x".join(map(str, tensor))
    sizes = "x".join(map(str, tensor.sizes))
    return sizes if tensor.dtype == "float32" else f"{sizes}:{tensor.dtype}"


def _seed(name: str, at: int) -> int:
    return zlib.crc32(f"{name}#{at}".encode())


def checksum(arrays: Sequence[np.ndarray]) -> int:
    """A number that changes with any of the arrays."""
    total = 0
    for array in arrays:
        total = zlib.crc32(np.ascontiguousarray(array).tobytes(), total)
    return total


@functools.lru_cache(maxsize=None)  # noqa: UP033 - Python 3.8 runs this too
def load() -> dict[str, list[Case]]:
    """Every family's table, by file name."""
    tables = {}
    for path in sorted(CASES.glob("[a-z]*.py")):
        spec = importlib.util.spec_from_file_location("cases_" + path.stem, str(path))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        counts = collections.Counter(case.id for case in module.CASES)
        twice = sorted(i for i, count in counts.items() if count > 1)
        if twice:
            raise ValueError(f"{path.name}: rows of one id, give them a note: {twice}")
        tables[path.stem] = list(module.CASES)
    return tables
