"""The tape: recorded operator calls, as nodes referenced by the arrays they computed.

Imperative differentiation has three parts. An operator call inside ``autograd.record`` leaves a
`TapeNode`: the compiled function, its runtime arguments (key data, traced parameters) and its
inputs, each an output of another node, or a `Leaf` with the value that it had. An array refers to
its node, nodes refer to their inputs, and nothing else does: a part of the tape is freed with the
arrays that depend on it, or by ``backward`` without ``retain_graph``.

``backward`` (`modkit.ndarray.replay`) turns the part that the heads depend on into one pure
function of the leaves, differentiates it, and compiles it under a key that is its structure; a
training loop that records the same calls again reuses the program. Intermediate values are not
kept: the program computes them again. The gradient program is itself a function that a node can
hold, which is what ``create_graph`` records, so higher orders need nothing more.
Calls that run Python or move data (`Host`: ``autograd.Function``, ``Custom``, copies between
devices) cut the tape into parts, and are differentiated one at a time between the programs.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import jax

from modkit.context import Context
from modkit.errors import NotReadyError
from modkit.ndarray.invoke import Call


class Array(Protocol):
    """The interface of NDArray that the tape uses; the class is in a higher layer."""

    stype: str
    _cell: Any
    _ctx: Context
    _entry: TapeEntry | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        ...

    @property
    def dtype(self) -> type:
        """Element type."""
        ...

    def as_in_context(self, context: Context) -> Array:
        """The array on a device."""
        ...


class _Modes(threading.local):
    """Whether the present thread records, and whether operators run in training mode."""

    recording = False
    training = False


modes = _Modes()


_leaves, _serial = itertools.count(), itertools.count()


class Leaf:
    """A variable (``marked``), or a constant read by a recorded call.

    Attributes:
        marked: whether gradients with respect to it can be computed.
        grad: the NDArray that ``backward`` writes to; ``None`` for a constant.
        req: ``"write"``, ``"add"`` or ``"null"``.
        fresh: 1 where ``backward`` has written ``grad`` since a program set this to 0.
        live: ``False`` for a constant whose tape was freed.
        number: counts leaves in the order of their making; `get_symbol` names them by it.
    """

    __slots__ = ("fresh", "grad", "live", "marked", "number", "req")

    def __init__(self, grad: Array | None = None, req: str = "null", *, marked: bool = False):
        self.grad, self.req, self.marked, self.live = grad, req, marked, True
        self.fresh, self.number = 0, next(_leaves)


class Use(NamedTuple):
    """An input of a node: an output of another node, or a leaf with the value that was read."""

    source: Leaf | TapeNode
    output: int
    value: Any
    ctx: Context


class TapeNode:
    """A recorded call.

    Attributes:
        call: the compiled function with its runtime arguments.
        uses: its inputs; empty once the tape was freed.
        ctx: the context of its outputs.
        symbol: operators that compute the same one after the other, by name and attributes, for
            ``get_symbol``; empty where there are none.
        serial: grows with the time of the call, so that decreasing order is a reverse
            topological order; `get_symbol` names nodes by it.
        live: ``False`` once the tape was freed.
    """

    __slots__ = ("__weakref__", "call", "ctx", "live", "serial", "symbol", "uses")

    def __init__(
        self,
        call: Call,
        uses: Sequence[Use],
        ctx: Context,
        symbol: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ):
        self.call, self.uses, self.ctx, self.symbol = call, tuple(uses), ctx, symbol
        self.serial, self.live = next(_serial), True


TapeEntry = tuple[Leaf | TapeNode, int]
"""An array's place on the tape: its leaf and 0, or the call and the output's index."""


class Host(TapeNode):
    """A recorded call that the host differentiates: no compiled program contains it.

    Attributes:
        pull: maps cotangents of the outputs to cotangents of the inputs (``None`` for none).
    """

    __slots__ = ("name", "pull", "values")

    def __init__(
        self,
        name: str,
        values: Sequence[jax.Array],
        pull: Callable[[list[jax.Array]], Sequence[Any]],
        uses: Sequence[Use],
        ctx: Context,
    ):
        super().__init__(_NO_CALL, uses, ctx)
        self.name, self.values, self.pull = name, tuple(values), pull


_NO_CALL = Call(fn=lambda *_: ((), {}), key_data=None, numbers=[], needs_x64=False)


def entry_of(array: Array) -> TapeEntry | None:
    """The place of an array on the tape; ``None`` off it."""
    entry = array._entry
    return entry if entry is not None and entry[0].live else None


def depends(array: Array) -> bool:
    """Whether an array is a variable or was computed from one."""
    entry = array._entry
    if entry is None or not entry[0].live:
        return False
    source = entry[0]
    return not isinstance(source, Leaf) or source.marked


def tracked(arrays: Sequence[Array]) -> bool:
    """Whether a call on these arrays is to be recorded."""
    return modes.recording and any(map(depends, arrays))


def uses_of(arrays: Sequence[Array], values: Sequence[Any]) -> list[Use]:
    """The arrays as inputs of a node; one off the tape becomes a constant on it."""
    uses = []
    for array, value in zip(arrays, values, strict=True):
        entry = entry_of(array)
        if entry is None:
            entry = array._entry = (Leaf(), 0)
        source, index = entry
        uses.append(Use(source, index, value if isinstance(source, Leaf) else None, array._ctx))
    return uses


def put(node: TapeNode, outputs: Sequence[Array]) -> None:
    """Make the outputs refer to the node that computed them."""
    for index, output in enumerate(outputs):
        output._entry = (node, index)


def check_writable(array: Array) -> None:
    """Raise NotReadyError for a write, while recording, into an array that the tape refers to."""
    if modes.recording and entry_of(array) is not None:
        raise NotReadyError(
            f"an array of shape {array.shape} that the autograd tape refers to cannot be written "
            "in place (x[:] =, x += y, out=x) while recording: its gradient would be lost. Use a "
            "new array (x = x + y), write inside autograd.pause(), or call backward() first"
        )


def check_constant(value: Array) -> None:
    """Refuse to write a value on the tape into an array, or a part of one, that keeps the rest.

    Raises:
        NotReadyError: the value depends on a variable.
    """
    if depends(value):
        raise NotReadyError(
            f"a value of shape {value.shape} on the autograd tape cannot be added to, or written "
            "into a part of, an array in place (x += y, x[0] = y) while recording. Use a new array "
            "(x = x + y, concat, stack), or write inside autograd.pause()"
        )


def order_of(heads: Sequence[Use]) -> list[TapeNode]:
    """The live nodes that the heads depend on, inputs first, no hosts; NotReadyError if freed."""
    order: list[TapeNode] = []
    seen: set[int] = set()
    stack: list[tuple[Any, bool]] = [(use.source, False) for use in reversed(heads)]
    while stack:
        source, done = stack.pop()
        if done:
            order.append(source)
            continue
        if isinstance(source, TapeNode) and not source.live:
            raise NotReadyError(
                "backward: a part of the tape was freed by an earlier backward(); pass "
                "retain_graph=True there, or record the calls again"
            )
        if isinstance(source, Leaf | Host) or id(source) in seen:
            continue
        seen.add(id(source))
        stack.append((source, True))
        stack.extend((use.source, False) for use in reversed(source.uses))
    return order


def free(heads: Sequence[Use]) -> None:
    """Free all nodes that the heads depend on; variables stay."""
    stack: list[Leaf | TapeNode] = [use.source for use in heads]
    while stack:
        source = stack.pop()
        if isinstance(source, TapeNode) and source.live:
            stack.extend(use.source for use in source.uses)
            source.uses, source.live = (), False
        elif isinstance(source, Leaf) and not source.marked:
            source.live = False
