"""The operators of ``a ∘ b``: on two arrays, on an array and a number, on two numbers."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from modkit.ops.elementwise.arithmetic import (
    divide,
    hypotenuse,
    maximum,
    minimum,
    modulo,
    nonzero,
    power,
    truth,
)
from modkit.ops.entry import Precision
from modkit.ops.parameters import Attrs
from modkit.ops.stype import ALIKE, ALIKE_BACK, CSR, DENSE, KEPT_BACK, PLAIN, Storage

Function = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Pair:
    """A function of two operands, and its operators.

    Attributes:
        stem: the operator of arrays that broadcast is ``broadcast_<stem>``.
        compute: the function of two arrays.
        on_numbers: the function of two numbers.
        doc: what it computes, of ``lhs`` and ``rhs``.
        precision: see `Op`; with a number ``"alike"`` is ``"through"``.
        function: the function of ``mx.nd``; ``""`` for the stem.
        number: the operator of an array and a number is ``_<number>_scalar``; ``""`` for the stem.
        has_reverse: the number may come first, in ``_r<number>_scalar``.
        precision_reverse: its precision, where that is another one.
        mirror: of a comparison the one of both operands in the other order.
        is_sparse: MXNet names it again for sparse arrays.
        compares: its result is 0 or 1.
        storage: storage types on arrays of one shape.
        storage_wide: storage types on arrays that broadcast.
        storage_number: storage types on an array and a number.
    """

    stem: str
    compute: Function
    on_numbers: Function
    doc: str
    precision: Precision = "float32"
    function: str = ""
    number: str = ""
    has_reverse: bool = False
    precision_reverse: Precision | None = None
    mirror: str = ""
    is_sparse: bool = False
    compares: bool = False
    storage: Storage = PLAIN
    storage_wide: Storage = PLAIN
    storage_number: Storage = PLAIN

    @functools.cached_property
    def alike(self) -> str:
        """The operator of two arrays of one shape."""
        return f"elemwise_{self.stem}" if self.is_sparse else f"_{self.stem}"

    @functools.cached_property
    def wide(self) -> str:
        """The operator of two arrays that broadcast."""
        return f"broadcast_{self.stem}"

    @functools.cached_property
    def with_number(self) -> str:
        """The operator of an array and a number."""
        return f"_{self.number or self.stem}_scalar"

    @functools.cached_property
    def after_number(self) -> str:
        """The operator of a number and an array."""
        if self.has_reverse:
            return f"_r{self.number or self.stem}_scalar"
        return f"_{self.mirror}_scalar" if self.mirror else self.with_number

    @functools.cached_property
    def public(self) -> str:
        """The name of the function of ``mx.nd``."""
        return self.function or self.stem

    @functools.cached_property
    def called(self) -> str:
        """The name by which Python's operator calls `alike`."""
        return f"_{self.number or self.stem}"

    @functools.cached_property
    def keeps_sparse(self) -> bool:
        """Whether sparse arrays of one shape may give a sparse one."""
        return bool(self.storage.kernel)

    def of(self, lhs: str, rhs: str) -> str:
        """Its documentation with other names of the operands."""
        return self.doc.replace("lhs", lhs).replace("rhs", rhs)


def camel(name: str) -> str:
    """MXNet's older name of an operator with a number: ``_RMinusScalar`` of ``_rminus_scalar``."""
    reverse, stem = ("R", name[2:]) if name in _REVERSED else ("", name[1:])
    return f"_{reverse}" + "".join(word.title() for word in stem.split("_"))


def _zero_stays(fn: Function) -> Storage:
    """Of an array and a number: the array's storage type where ``0 ∘ number`` is 0."""

    def result(stypes: Sequence[str], attrs: Attrs) -> str:
        return DENSE if fn(0.0, float(attrs["scalar"])) else stypes[0]

    return Storage(result, "values")


def _of_product(stypes: Sequence[str], _attrs: Attrs) -> str:
    """Of arrays that are alike, or of a sparse and a dense one."""
    kinds = set(stypes) - {DENSE}
    return kinds.pop() if len(kinds) == 1 else DENSE


_BY_ROW = Storage(lambda stypes, _: CSR if list(stypes) == [CSR, DENSE] else DENSE)


def _comparison(stem: str, compute: Function, on_numbers: Function, sign: str, mirror: str) -> Pair:
    return Pair(
        stem, truth(compute), _flag(on_numbers), f"1 where ``lhs {sign} rhs``, else 0",
        mirror=mirror, compares=True, storage_number=_zero_stays(on_numbers),
    )  # fmt: skip


def _logical(stem: str, compute: Function, on_numbers: Function, doc: str) -> Pair:
    return Pair(stem, nonzero(compute), _flag(on_numbers), doc, compares=True)


def _flag(test: Function) -> Function:
    """A comparison of two numbers that returns 1 or 0."""
    return lambda lhs, rhs: int(bool(test(lhs, rhs)))


PAIRS = {pair.stem: pair for pair in (
    Pair(
        "add", jnp.add, operator.add, "``lhs + rhs``", precision="alike", number="plus",
        is_sparse=True, storage=ALIKE_BACK, storage_number=_zero_stays(operator.add),
    ),
    Pair(
        "sub", jnp.subtract, operator.sub, "``lhs - rhs``", precision="alike",
        function="subtract", number="minus", has_reverse=True, is_sparse=True, storage=ALIKE_BACK,
        storage_number=_zero_stays(operator.sub),
    ),
    Pair(
        "mul", jnp.multiply, operator.mul, "``lhs * rhs``", precision="alike",
        function="multiply", is_sparse=True, storage=Storage(_of_product, "pairs"),
        storage_wide=_BY_ROW, storage_number=KEPT_BACK,
    ),
    Pair(
        "div", divide, operator.truediv, "``lhs / rhs``", precision="alike", function="divide",
        has_reverse=True, precision_reverse="float32", is_sparse=True, storage_wide=_BY_ROW,
        storage_number=KEPT_BACK,
    ),
    Pair(
        "mod", modulo, operator.mod, "the remainder of ``lhs / rhs``, with the sign of ``rhs``",
        function="modulo", has_reverse=True,
    ),
    Pair("power", power, operator.pow, "``lhs`` to the power ``rhs``", has_reverse=True),
    Pair("maximum", maximum, max, "the larger of both", precision="alike", storage=ALIKE),
    Pair("minimum", minimum, min, "the smaller of both", precision="alike", storage=ALIKE),
    Pair("hypot", hypotenuse, math.hypot, "``sqrt(lhs² + rhs²)``", storage=ALIKE),
    _comparison("equal", jnp.equal, operator.eq, "==", ""),
    _comparison("not_equal", jnp.not_equal, operator.ne, "!=", ""),
    _comparison("greater", jnp.greater, operator.gt, ">", "lesser"),
    _comparison("greater_equal", jnp.greater_equal, operator.ge, ">=", "lesser_equal"),
    _comparison("lesser", jnp.less, operator.lt, "<", "greater"),
    _comparison("lesser_equal", jnp.less_equal, operator.le, "<=", "greater_equal"),
    _logical(
        "logical_and", jnp.logical_and, lambda a, b: a and b, "1 where both are nonzero, else 0"
    ),
    _logical(
        "logical_or", jnp.logical_or, lambda a, b: a or b,
        "1 where any of them is nonzero, else 0",
    ),
    _logical(
        "logical_xor", jnp.logical_xor, lambda a, b: bool(a) != bool(b),
        "1 where just one of them is nonzero, else 0",
    ),
)}  # fmt: skip
"""All of them, by stem."""

_REVERSED = {pair.after_number for pair in PAIRS.values() if pair.has_reverse}
"""Operators with a number that comes first."""
