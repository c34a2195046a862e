"""Placements: devices and replicas of a graph, for which its programs are compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import jax

from modkit.compile.program import Program
from modkit.context import Context
from modkit.errors import ParameterError, nearest
from modkit.ops.custom import raised_by_callback
from modkit.symbol.graph import Graph

Kind = Literal["shared", "local", "plain"]
"""Distribution of an argument over replicas: one logical copy (parameters), a part for each (data,
outputs, gradients, auxiliary states), or small replicated numbers."""


class Placement(Protocol):
    """Compiles functions that are written for one replica."""

    @property
    def contexts(self) -> Sequence[Context]:
        """The devices, one a replica."""
        ...

    @property
    def platform(self) -> str:
        """JAX's name of the platform, such as ``cpu``."""
        ...

    def compile(
        self,
        fn: Callable[..., Any],
        ins: Sequence[Kind],
        outs: Sequence[Kind] | Kind,
        donate: Sequence[int] = (),
        of: str = "",
    ) -> Callable[..., Any]:
        """``fn`` compiled: argument and result kinds by position; ``donate`` by position.

        ``of`` is the graph's name, for people who wait.
        """
        ...

    @property
    def model_parallel(self) -> bool:
        """Model-parallel: whether nodes of a graph run on several devices, by their groups."""
        ...

    def split_key(self, key: jax.Array) -> jax.Array:
        """Inside a program: this replica's random key."""
        ...


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
    mapped: Callable[..., Any],
    fn: Callable[..., Any],
    donate: Sequence[int],
    home: Any,
    of: str,
    where: Any = None,
) -> Program:
    """A `Program` of ``mapped``, which was made of ``fn`` for the placement ``home``.

    ``where`` is the sharding of all arguments, NumPy arrays too; default that of each argument.
    """
    name = f"{fn.__name__} of {of}" if of else fn.__name__
    donated = tuple(donate)
    placed = {} if where is None else {"in_shardings": where}
    jitted = jax.jit(mapped, donate_argnums=donated, **placed)
    there = None if where is None else [d.id for d in where.device_set]
    return Program(jitted, (home, fn, donated, there), name, where, donates=bool(donated))


def on_device(run: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """``run`` on a device, for programs without an array argument that determines it."""

    def run_there(*args: Any) -> Any:
        return run(*jax.device_put(args, device))

    return run_there


class OneContext:
    """One context: plain ``jit``.

    Args:
        context: where nodes without a group run.
        groups: contexts of the groups of ``group2ctx``. Where these are other devices, a graph
            runs as several programs: see `modkit.step.segments`.
    """

    def __init__(self, context: Context, groups: Mapping[str, Context] | None = None):
        self.contexts = (context,)
        self.groups = dict(groups or {})
        devices = {g: c.jax_device for g, c in self.groups.items()}
        home = context.jax_device
        self.platform: str = home.platform
        self.model_parallel = any(d != home for d in devices.values())
        self._key = (home, frozenset(devices.items()) if self.model_parallel else None)
        self._hash = hash(self._key)

    def compile(
        self,
        fn: Callable[..., Any],
        ins: Sequence[Kind],
        outs: Sequence[Kind] | Kind,
        donate: Sequence[int] = (),
        of: str = "",
    ) -> Callable[..., Any]:
        """``jax.jit``; with one replica all kinds are the same."""
        del ins, outs
        return compiled(fn, fn, donate, self, of, self.sharding)

    @property
    def sharding(self) -> Any:
        """The sharding of all arguments of a program; ``None`` for that of each argument."""
        return None

    def cache_key_parts(self) -> tuple[Any, ...]:
        """Nothing: the signature of a `Program` has the devices."""
        return ()

    def split_key(self, key: jax.Array) -> jax.Array:
        """The key itself."""
        return key

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OneContext) and type(self) is type(other) and self._key == other._key
        )


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
