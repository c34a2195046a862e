"""AdamW's update operators: one weight or several, and their mixed-precision forms.

The gradient's scale is an input, an array, so that a loss scaler computes it on the device. A scale
that is 0 or not finite skips the step: weights and states stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from modkit.ops.parameters import REQUIRED, Attrs
from modkit.ops.partial_shapes import Rule, Sizes, common
from modkit.ops.update import formulas
from modkit.ops.update.schema import Several, one_weight


def _step(
    weight: Any, grad: Any, mean: Any, var: Any, *, rescale_grad: Any, **numbers: Any
) -> tuple[Any, ...]:
    """`formulas.adamw`, or all as it was where the scale is 0, infinite or NaN."""
    scale = rescale_grad.reshape(-1)[0].astype(weight.dtype)
    old = (weight, mean, var)
    new = formulas.adamw(weight, grad, mean, var, rescale_grad=scale, **numbers)
    runs = jnp.isfinite(scale) & (scale != 0)
    return tuple(jnp.where(runs, a, b) for a, b in zip(new, old, strict=True))


def _partial(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs) -> Rule:
    """One shape for all but the scale."""
    full = common("grad or state", [*ins[:-1], *outs])
    return [*[full] * (len(ins) - 1), ins[-1]], [full]


def _dtypes(ins: Sequence[str | None], _attrs: Attrs) -> Any:
    low = next((d for d in ins[:-1] if d), None)
    return [low, low, low, low, "float32"], [low]


_NUMBERS = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}

one_weight(
    "_adamw_update", _step, ("mean", "var"),
    {"lr": REQUIRED, **_NUMBERS, "wd": 0.0, "eta": REQUIRED, "clip_gradient": -1.0},
    "``w ← w − η·(lr·m / (√v + ε) + wd·w)`` (Loshchilov and Hutter, 2019).\n\n"
    "A ``rescale_grad`` of 0, or one that is not finite, skips the step.\n\n"
    "Shapes:\n"
    "    weight, grad, mean, var: of one shape.\n"
    "    rescale_grad: any, of float32; the first element counts.",
    shared=("rescale_grad",), mixed="_mp_adamw_update", partial=_partial, dtypes=_dtypes,
)  # fmt: skip

Several(
    name="_multi_adamw_update",
    formula=_step,
    states=("mean", "var"),
    each={"lrs": "lr", "wds": "wd", "etas": "eta"},
    numbers={
        "lrs": REQUIRED, **_NUMBERS, "wds": REQUIRED, "etas": REQUIRED, "clip_gradient": -1.0,
    },
    doc="AdamW over several weights; rates, decays and schedules are tuples, and "
    "``rescale_grad`` is the last input.",
    shared=("rescale_grad",),
).register(mixed="_multi_mp_adamw_update")  # fmt: skip
