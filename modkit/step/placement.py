"""Placements: devices and replicas of a graph, for which its programs are compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
from jax.sharding import PartitionSpec, Sharding

from modkit.compile.program import Program
from modkit.context import Context
from modkit.errors import ParameterError, nearest
from modkit.ndarray import NDArray
from modkit.ndarray.storage import AnyCell, placed_on
from modkit.ops.custom import raised_by_callback
from modkit.ops.sparse_values import Rows
from modkit.symbol.graph import Graph

Kind = Literal["shared", "local", "plain"]
"""Distribution of an argument over replicas: one logical copy (parameters), a part for each (data,
outputs, gradients, auxiliary states), or small replicated numbers."""


class Spec(NamedTuple):
    """A function written for one replica, to be compiled.

    Attributes:
        fn: a pure function of trees of arrays.
        ins: the kind of each argument.
        outs: the kind of each result, or of the only one.
        donate: positions of the arguments that are donated.
        of: the graph's name, for progress lines.
    """

    fn: Callable[..., Any]
    ins: Sequence[Kind]
    outs: Sequence[Kind] | Kind
    donate: Sequence[int] = ()
    of: str = ""

    def by_kind(self, convert: Callable[[Kind], Any]) -> tuple[Any, Any]:
        """``convert(kind)`` for each argument, and for each result or the only one."""
        return tuple(map(convert, self.ins)), jax.tree.map(convert, self.outs)


class Keyed:
    """An object that is equal to others of its class with an equal key."""

    _key: Any

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and type(self) is type(other) and self._key == other._key


class Placement(Keyed):
    """Devices and replicas of a graph: compilation of its programs, and storage of its values.

    A *shared* value is one logical copy, a *local* one has a part for each replica. A placement
    chooses the storage of both; `share`, `split` and the views convert. The defaults are
    those of one replica: a value is stored as it is, on the first device.

    Attributes:
        contexts: the devices, one a replica.
        device: JAX's device of the first context.
        platform: JAX's name of its platform, such as ``cpu``.
        model_parallel: whether nodes of a graph run on several devices, by their groups.
        sharding: that of all arguments of a program; ``None`` for that of each argument.
    """

    model_parallel = False
    sharding: Sharding | None = None

    def __init__(self, contexts: Sequence[Context]):
        self.contexts = tuple(contexts)
        self.count = len(self.contexts)
        self.device = self.contexts[0].jax_device
        self.platform: str = self.device.platform

    def at(self, name: str) -> Placement:
        """The placement of the array of this name: this one, unless it is model-parallel."""
        return self

    def cache_key_parts(self) -> tuple[Any, ...]:
        """Nothing: the signature of a `Program` has the devices."""
        return ()

    # ── Programs ────────────────────────────────────────────────────────────────────────────

    def compile(self, spec: Spec) -> Callable[..., Any]:
        """The program of all replicas."""
        return compiled(self.on_one_device(spec), spec, self, self.sharding)

    def on_one_device(self, spec: Spec) -> Callable[..., Any]:
        """The function of one replica as a function of what one device stores."""
        return spec.fn

    def partition(self, kind: Kind) -> PartitionSpec:
        """The partition over the devices of the storage of a value of this kind."""
        return PartitionSpec()

    def split_key(self, key: jax.Array) -> jax.Array:
        """Inside a program: this replica's random key."""
        return key

    def reduce(self, tree: Any) -> Any:
        """Inside a program: the sum over the replicas."""
        return tree

    # ── Storage ─────────────────────────────────────────────────────────────────────────────

    def numbers(self, table: np.ndarray) -> Any:
        """Storage for plain numbers."""
        return self.share(table)

    def split(self, value: Any, axis: int) -> jax.Array:
        """Storage for a local value, from the whole batch, whose batch axis is ``axis``."""
        return placed_on(value, self.device)

    def stacked(self, value: Any, axis: int) -> Any:
        """The replicas' parts of a batch as they are stored, on the host if the batch is."""
        return value

    def local_aval(self, shape: Sequence[int], dtype: Any) -> jax.ShapeDtypeStruct:
        """Shape and dtype of the storage of a local value, from one replica's shape."""
        return jax.ShapeDtypeStruct(tuple(shape), dtype)

    def store(self, stacked: Any) -> jax.Array:
        """Storage for a local value, from its parts stacked along a new first axis."""
        return jax.device_put(stacked[0], self.device)

    def dense(self, value: Rows) -> jax.Array:
        """Storage for a local value that is row-sparse, as an array."""
        return value.dense()

    def share(self, value: Any) -> jax.Array:
        """Storage for a shared value."""
        return jax.device_put(value, self.device)

    def donatable(self, array: NDArray) -> jax.Array:
        """Storage for a shared value that an NDArray holds, in a buffer of its own."""
        return array._cell.take()

    def logical(self, cell: AnyCell, index: int = 0) -> AnyCell:
        """A shared value as one array, read from the device of one replica."""
        return cell

    def joined(self, cell: AnyCell, axis: int) -> AnyCell:
        """The whole batch of a local value. With ``axis < 0`` the first replica's."""
        return cell

    def mean(self, cell: AnyCell) -> AnyCell:
        """The mean of a local value over the replicas: the cell itself, or a window on it."""
        return cell

    def part(self, cell: AnyCell, index: int) -> AnyCell:
        """One replica's part of a local value: the cell itself, or a window on it."""
        return cell


def finished(run: Callable[..., Any]) -> Callable[..., Any]:
    """``run`` without asynchronous dispatch: it returns when its results are computed.

    For programs with host callbacks: computations of a callback would queue behind programs that
    wait for it. Exceptions of a callback are raised here, with their cause.
    """

    def wait(*args: Any) -> Any:
        try:
            return jax.block_until_ready(run(*args))
        except jax.errors.JaxRuntimeError as error:
            own = raised_by_callback(error)
            if own is None:
                raise
        # Here `error` is gone: its frames hold failed results, which would fail in waitall() too.
        raise own from own.__cause__

    return wait


def compiled(
    mapped: Callable[..., Any], spec: Spec, home: Any, sharding: Sharding | None = None
) -> Program:
    """A `Program` of ``mapped``, which was made of ``spec`` for the placement ``home``.

    ``sharding`` is that of all arguments, NumPy arrays too; default that of each argument.
    """
    name = f"{spec.fn.__name__} of {spec.of}" if spec.of else spec.fn.__name__
    donated = tuple(spec.donate)
    devices = None if sharding is None else [d.id for d in sharding.device_set]
    return Program(mapped, (home, spec.fn, donated, devices), name, sharding, donated)


def pinned_to(run: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """``run`` on a device, for programs without an array argument that determines it."""

    def run_there(*args: Any) -> Any:
        return run(*jax.device_put(args, device))

    return run_there


class OneContext(Placement):
    """One context: plain ``jit``.

    Args:
        context: where nodes without a group run.
        groups: contexts of the groups of ``group2ctx``. Where these are other devices, a graph
            runs as several programs: see `modkit.step.segments`.
    """

    def __init__(self, context: Context, groups: Mapping[str, Context] | None = None):
        super().__init__([context])
        self.groups = dict(groups or {})
        devices = {g: c.jax_device for g, c in self.groups.items()}
        self.model_parallel = any(d != self.device for d in devices.values())
        self._key = (self.device, frozenset(devices.items()) if self.model_parallel else None)


def contexts_of(graph: Graph, ctx: Context, groups: Mapping[str, Context] | None) -> list[Context]:
    """The context of each node of a graph.

    A node is on the context of its group. Without a group, a variable is on ``ctx``, an operator
    on the context of its first input, and an operator without inputs on that of its first user.

    Raises:
        ParameterError: a node belongs to a group that ``groups`` lacks.
    """
    if not groups:
        return [ctx] * len(graph.nodes)
    found: list[Context | None] = []
    for node in graph.nodes:
        if node.group is not None and node.group not in groups:
            raise ParameterError(
                f"group2ctx: node {node.name!r} is of group {node.group!r}, which it has not."
                f"{nearest(node.group, groups)} Its groups: {', '.join(groups)}"
            )
        inputs = (found[graph.position(e)[0]] for e in node.inputs)
        own = groups[node.group] if node.group is not None else ctx if node.is_variable else None
        found.append(own or next((c for c in inputs if c is not None), None))
    for at in reversed(range(len(found))):
        for source in (graph.position(e)[0] for e in graph.nodes[at].inputs):
            found[source] = found[source] or found[at]
    return [c or ctx for c in found]
