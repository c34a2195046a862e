"""Replicas over several devices by `jax.pmap`; the only file that names it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from modkit.ops.nn.batch_norm import REPLICAS
from modkit.step.placement import Kind


def by_pmap(
    home: Any,
    fn: Callable[..., Any],
    ins: Sequence[Kind],
    outs: Sequence[Kind] | Kind,
    donate: Sequence[int] = (),
    of: str = "",
) -> Callable[..., Any]:
    """``fn`` of one replica as a `jax.pmap` over the devices of a placement."""
    del outs, of
    axes: dict[Kind, int | None] = {"shared": 0, "local": 0, "plain": None}
    return jax.pmap(
        fn,
        in_axes=tuple(axes[k] for k in ins),
        axis_name=REPLICAS,
        devices=list(home.devices),
        donate_argnums=tuple(donate),
    )
