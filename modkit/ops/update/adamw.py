"""AdamW's update operators: one weight or several, and their mixed-precision forms.

The gradient's scale is an input, an array, so that a loss scaler computes it on the device. A scale
that is 0 or not finite skips the step: weights and states stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.ops.inference_rules import Rule, Sizes, common
from modkit.ops.registry import Traced, TracedTuple, op
from modkit.ops.update import formulas
from modkit.ops.update.several import Several


def _step(
    weight: Any, grad: Any, mean: Any, var: Any, *, rescale_grad: Any, **numbers: Any
) -> tuple[Any, ...]:
    """`formulas.adamw`, or all as it was where the scale is 0, infinite or NaN."""
    scale = rescale_grad.reshape(-1)[0].astype(weight.dtype)
    old = (weight, mean, var)
    new = formulas.adamw(weight, grad, mean, var, rescale_grad=scale, **numbers)
    runs = jnp.isfinite(scale) & (scale != 0)
    return tuple(jnp.where(runs, a, b) for a, b in zip(new, old, strict=True))


def _partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Mapping[str, Any]) -> Rule:
    """One shape for all but the scale."""
    del attrs
    full = common("grad or state", [*ins[:-1], *outs])
    return [*[full] * (len(ins) - 1), ins[-1]], [full]


def _dtypes(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    del attrs
    low = next((d for d in ins[:-1] if d), None)
    return [low, low, low, low, "float32"], [low]


@op("_adamw_update", precision="float32", partial=_partial, dtypes=_dtypes, aux=("mean", "var"))
def adamw_update(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    rescale_grad: Any,
    *,
    lr: Traced,
    beta1: Traced = 0.9,
    beta2: Traced = 0.999,
    epsilon: Traced = 1e-8,
    wd: Traced = 0.0,
    eta: Traced,
    clip_gradient: Traced = -1.0,
) -> Any:
    """``w ← w − η·(lr·m / (√v + ε) + wd·w)`` (Loshchilov and Hutter, 2019).

    A ``rescale_grad`` of 0, or one that is not finite, skips the step.

    Shapes:
        weight, grad, mean, var: of one shape.
        rescale_grad: any, of float32; the first element counts.
    """
    weight, mean, var = _step(
        weight,
        grad,
        mean,
        var,
        rescale_grad=rescale_grad,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        eta=eta,
        clip_gradient=clip_gradient,
    )
    return weight, {"mean": mean, "var": var}


def _mixed_dtypes(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    del attrs
    low = next((d for d in ins[:2] if d), None)
    return [low, low, *["float32"] * 4], [low]


@op(
    "_mp_adamw_update",
    precision="float32",
    partial=_partial,
    dtypes=_mixed_dtypes,
    aux=("mean", "var", "weight32"),
)
def mp_adamw_update(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    weight32: Any,
    rescale_grad: Any,
    *,
    lr: Traced,
    beta1: Traced = 0.9,
    beta2: Traced = 0.999,
    epsilon: Traced = 1e-8,
    wd: Traced = 0.0,
    eta: Traced,
    clip_gradient: Traced = -1.0,
) -> Any:
    """`_adamw_update` on the float32 copy ``weight32`` of a 16-bit weight."""
    new, mean, var = _step(
        weight32,
        grad.astype(weight32.dtype),
        mean,
        var,
        rescale_grad=rescale_grad,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        eta=eta,
        clip_gradient=clip_gradient,
    )
    return new.astype(weight.dtype), {"mean": mean, "var": var, "weight32": new}


def _register(name: str, *states: str) -> None:
    several = Several(
        name=name,
        step=_step,
        states=states,
        doc="AdamW over several weights; rates, decays and schedules are tuples, and "
        "``rescale_grad`` is the last input.",
        shared={"rescale_grad": lambda count: None},
    )

    def update(
        *data: Any,
        lrs: TracedTuple,
        beta1: Traced = 0.9,
        beta2: Traced = 0.999,
        epsilon: Traced = 1e-8,
        wds: TracedTuple,
        etas: TracedTuple,
        clip_gradient: Traced = -1.0,
        num_weights: int = 1,
    ) -> Any:
        rest = {
            "rescale_grad": data[-1],
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
            "clip_gradient": clip_gradient,
        }
        return several.run(data[:-1], num_weights, {"lr": lrs, "wd": wds, "eta": etas}, rest)

    several.register(update)


_register("_multi_adamw_update", "mean", "var")
_register("_multi_mp_adamw_update", "mean", "var", "weight32")
