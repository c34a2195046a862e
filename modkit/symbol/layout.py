"""The order of axes in which a traced graph runs its operators on images.

Convolutions on CPUs run up to twice as fast with channels last; elementwise operators between them
take either order. So an array of 4 axes is transposed where a convolution, its transpose or pooling
reads it, stays so as long as operators can take it, and is transposed back for the others; XLA
removes what cancels out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from modkit.ops.entry import Op
from modkit.tuning.config import current


class Row(NamedTuple):
    """The place of an array in a stack of arrays, which a loop reads or writes."""

    stack: Stack
    at: int


class Stack:
    """Arrays of one shape along a new first axis, ``made`` or yet to be made by a function."""

    __slots__ = ("_made",)

    def __init__(self, made: jax.Array | Callable[[], jax.Array]):
        self._made = made

    @property
    def array(self) -> jax.Array:
        """The arrays as one."""
        if callable(self._made):
            self._made = self._made()
        return self._made


class Value:
    """One array in MXNet's order of axes, with axis 1 last, or in both orders once both were read.

    Args:
        array: the array; ``None`` to take it from ``row`` at the first use.
        moved: whether axis 1 is last in it already, where it has 4 axes.
        row: its place in a stack, if it has one.
        twin: that of whole numbers which a gradient passes through, in MXNet's order; see
            `modkit.ops.integer_gradients`.
    """

    __slots__ = ("_forms", "ndim", "row", "twin")

    def __init__(
        self,
        array: jax.Array | None,
        moved: bool = False,
        row: Row | None = None,
        twin: jax.Array | None = None,
    ):
        self.row, self.twin = row, twin
        if array is None and row is not None:
            self.ndim, self._forms = row.stack.array.ndim - 1, {}
        if array is not None:
            self.ndim = array.ndim
            self._forms = {moved and self.ndim == 4: array}

    @property
    def is_moved(self) -> bool:
        """Whether the array is there with axis 1 last."""
        return True in self._forms

    @property
    def plain(self) -> jax.Array:
        """The array in MXNet's order of axes."""
        if not self._forms and self.row:
            self._forms[False] = self.row.stack.array[self.row.at]
        if False not in self._forms:
            self._forms[False] = jnp.moveaxis(self._forms[True], 3, 1)
        return self._forms[False]

    @property
    def last(self) -> jax.Array:
        """The array with axis 1 last, if it has 4 axes."""
        if self.ndim != 4:
            return self.plain
        if True not in self._forms:
            self._forms[True] = jnp.moveaxis(self._forms[False], 1, 3)
        return self._forms[True]


def _flattened(value: Value) -> tuple[tuple[jax.Array, jax.Array | None], bool]:
    """One form is enough where a value crosses a transformation, such as a checkpoint."""
    return (value.last if value.is_moved else value.plain, value.twin), value.is_moved


jax.tree_util.register_pytree_node(
    Value, _flattened, lambda moved, parts: Value(parts[0], moved, twin=parts[1])
)


def moved_form(
    op: Op, attrs: Mapping[str, Any], inputs: Sequence[Value]
) -> Callable[..., Any] | None:
    """The operator's function for inputs with channels last, where it should run so."""
    if not inputs:
        return None
    images = inputs[0].ndim == 4
    if images and (form := current().channels_last(op, attrs)):
        return form  # worth moving the inputs for
    if not any(value.is_moved for value in inputs):
        return None
    if op.elementwise:
        return op.fn if all(value.ndim == 4 for value in inputs) else None
    return op.channels_last(attrs) if op.channels_last and images else None
