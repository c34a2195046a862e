"""Where a graph runs, and in how many copies: the seam between a graph and its compiled forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import jax

from modkit.context import Context
from modkit.errors import ParameterError, nearest
from modkit.executor.program import Program
from modkit.symbol.graph import Graph

Kind = Literal["shared", "local", "plain"]
"""What an argument is to several replicas: one logical copy (parameters), a part for each
(data, outputs, gradients, auxiliary states), or small numbers that all of them read."""


class Placement(Protocol):
    """Compiles functions that are written for one replica."""

    @property
    def contexts(self) -> Sequence[Context]:
        """The devices, one a replica."""
        ...

    @property
    def platform(self) -> str:
        """What kind of device that is, in JAX's words: ``cpu``."""
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
    def spread(self) -> bool:
        """Whether nodes of a graph run on several devices, each as its group says."""
        ...

    def split_key(self, key: jax.Array) -> jax.Array:
        """Inside a program: this replica's random key."""
        ...


def finished(run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, which returns when its results are there.

    For programs that call Python: what Python then runs on the device finds no room behind many
    programs that wait for it.
    """

    def wait(*args: Any) -> Any:
        return jax.block_until_ready(run(*args))

    return wait


def compiled(
    mapped: Callable[..., Any],
    fn: Callable[..., Any],
    donate: Sequence[int],
    home: Any,
    of: str,
    where: Any = None,
) -> Program:
    """``mapped`` as a program that is kept; it is made of ``fn`` for the placement ``home``.

    ``where`` is the sharding of all arguments, of those from the host too; else they say it.
    """
    name = f"{fn.__name__} of {of!r}" if of else fn.__name__
    donated = tuple(donate)
    placed = {} if where is None else {"in_shardings": where}
    jitted = jax.jit(mapped, donate_argnums=donated, **placed)
    there = None if where is None else [d.id for d in where.device_set]
    return Program(jitted, (home, fn, donated, there), name, where, donates=bool(donated))


def on_device(run: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """``run`` on the device, for programs without an array among their arguments to say where."""

    def run_there(*args: Any) -> Any:
        return run(*jax.device_put(args, device))

    return run_there


class OneContext:
    """One context: plain ``jit``.

    Args:
        context: where nodes without a group run.
        groups: contexts of the groups of ``group2ctx``. Where these are other devices, a graph
            runs as several programs: see `modkit.executor.segments`.
    """

    def __init__(self, context: Context, groups: Mapping[str, Context] | None = None):
        self.contexts = (context,)
        self.groups = dict(groups or {})
        devices = {g: c.jax_device for g, c in self.groups.items()}
        home = context.jax_device
        self.platform: str = home.platform
        self.spread = any(d != home for d in devices.values())
        self._key = (home, frozenset(devices.items()) if self.spread else None)
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
        """Where all arguments of a program are; ``None`` where the arguments say it."""
        return None

    def facts(self) -> tuple[Any, ...]:
        """What decides a program: nothing, `Program` tells devices apart."""
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
    """Where the results of each node of a graph are.

    A node is on the context of its group. Without a group a variable is on ``ctx``, an operator
    beside its first input, and one that has no inputs beside its user.

    Raises:
        ParameterError: a node is of a group that ``groups`` has not.
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
