"""Replicas over a mesh of devices: `jax.jit` of `jax.shard_map`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import Mesh

from modkit.step.placement import Kind, compiled


def sharded(
    home: Any,
    mesh: Mesh,
    fn: Callable[..., Any],
    ins: Sequence[Kind],
    outs: Sequence[Kind] | Kind,
) -> Callable[..., Any]:
    """``fn`` of one replica as a function of a placement's storage, over a mesh.

    Values that are not split over the mesh are not compared between its devices.
    """
    return jax.shard_map(
        home.on_one_device(fn, ins, outs),
        mesh=mesh,
        in_specs=tuple(map(home.spec, ins)),
        out_specs=home.spec(outs) if isinstance(outs, str) else tuple(map(home.spec, outs)),
        check_vma=False,
    )


def by_mesh(
    home: Any,
    fn: Callable[..., Any],
    ins: Sequence[Kind],
    outs: Sequence[Kind] | Kind,
    donate: Sequence[int] = (),
    of: str = "",
) -> Callable[..., Any]:
    """``fn`` of one replica as a `Program` over the mesh of a placement."""
    return compiled(sharded(home, home.mesh, fn, ins, outs), fn, donate, home, of)
