"""Where a graph runs, and in how many copies: the seam between a graph and its compiled forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import jax

from modkit.context import Context
from modkit.errors import NotSupportedError

Kind = Literal["shared", "local", "plain"]
"""What an argument is to several replicas: one logical copy (parameters), a part for each
(data, outputs, gradients, auxiliary states), or small numbers that all of them read."""

AXIS = "replica"
"""The name of the replica axis inside a program."""


class Placement(Protocol):
    """Compiles functions that are written for one replica."""

    @property
    def contexts(self) -> Sequence[Context]:
        """The devices, one a replica."""
        ...

    def compile(
        self,
        fn: Callable[..., Any],
        ins: Sequence[Kind],
        outs: Sequence[Kind] | Kind,
        donate: Sequence[int] = (),
    ) -> Callable[..., Any]:
        """``fn`` compiled: argument and result kinds by position; ``donate`` by position."""
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


def on_device(run: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """``run`` on the device, for programs without an array among their arguments to say where."""

    def run_there(*args: Any) -> Any:
        return run(*jax.device_put(args, device))

    return run_there


class OneDevice:
    """One context: plain ``jit``."""

    def __init__(self, context: Context):
        self.contexts = (context,)
        self.device = context.jax_device

    def compile(
        self,
        fn: Callable[..., Any],
        ins: Sequence[Kind],
        outs: Sequence[Kind] | Kind,
        donate: Sequence[int] = (),
    ) -> Callable[..., Any]:
        """``jax.jit``; with one replica all kinds are the same."""
        del ins, outs
        return jax.jit(fn, donate_argnums=tuple(donate))

    def split_key(self, key: jax.Array) -> jax.Array:
        """The key itself."""
        return key

    def __hash__(self) -> int:
        return hash(self.device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneDevice) and self.device == other.device


def placement_for(ctx: Context, group2ctx: Mapping[str, Context] | None = None) -> OneDevice:
    """The placement of an executor on ``ctx``.

    Raises:
        NotSupportedError: ``group2ctx`` names contexts on several physical devices.
    """
    devices = {c.jax_device for c in (group2ctx or {}).values()} | {ctx.jax_device}
    if len(devices) > 1:
        raise NotSupportedError(
            f"group2ctx: {dict(group2ctx or {})} spreads one graph over {len(devices)} devices, "
            "which modkit cannot do yet; leave group2ctx out to run it on one"
        )
    return OneDevice(ctx)
