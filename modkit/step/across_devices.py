"""Replicas over several devices: `jax.pmap`, or `jax.jit` of `jax.shard_map` over a mesh."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh

from modkit.ops.nn.batch_norm import REPLICAS
from modkit.step.placement import Spec, compiled


def sharded(home: Any, mesh: Mesh, spec: Spec) -> Callable[..., Any]:
    """A function of one replica as a function of a placement's storage, over a mesh.

    Values that are not split over the mesh are not compared between its devices.
    """
    ins, outs = spec.by_kind(home.partition)
    inner = home.on_one_device(spec)
    return jax.shard_map(inner, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False)


def by_mesh(home: Any, spec: Spec) -> Callable[..., Any]:
    """A function of one replica as a `Program` over the mesh of a placement."""
    return compiled(sharded(home, home.mesh, spec), spec, home)


def by_pmap(home: Any, spec: Spec) -> Callable[..., Any]:
    """A function of one replica as a `jax.pmap` over the devices of a placement.

    JAX 0.10 takes ``in_axes`` for those of single arrays where there are as many arrays as
    arguments, even if these are trees; a last argument that is an empty tree rules that out.
    """

    @functools.wraps(spec.fn)
    def with_last(*args: Any) -> Any:
        return spec.fn(*args[:-1])

    mapped = jax.pmap(
        with_last,
        in_axes=(*(None if kind == "plain" else 0 for kind in spec.ins), ()),
        axis_name=REPLICAS,
        devices=list(home.devices),
        donate_argnums=tuple(spec.donate),
    )
    return lambda *args: mapped(*args, ())
