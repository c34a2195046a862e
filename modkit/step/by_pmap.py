"""Replicas over several devices by `jax.pmap`; the only file that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from modkit.ops.nn.batch_norm import REPLICAS
from modkit.step.placement import Spec


def by_pmap(home: Any, spec: Spec) -> Callable[..., Any]:
    """A function of one replica as a `jax.pmap` over the devices of a placement."""
    return jax.pmap(
        spec.fn,
        in_axes=tuple(None if kind == "plain" else 0 for kind in spec.ins),
        axis_name=REPLICAS,
        devices=list(home.devices),
        donate_argnums=tuple(spec.donate),
    )
