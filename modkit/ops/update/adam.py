"""Update operators of the Adam family, RMSProp and LAMB; see `modkit.ops.update.sgd`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from modkit.ops.inference_rules import Rule, Sizes, common, merge
from modkit.ops.registry import Traced, op
from modkit.ops.update import formulas

_LAZY = {"lazy_update": (bool, True)}


@op(
    "adam_update",
    precision="float32",
    same_shape=True,
    aliases=("_sparse_adam_update",),
    aux=("mean", "var"),
    inert=_LAZY,
)
def adam_update(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    *,
    lr: Traced,
    beta1: Traced = 0.9,
    beta2: Traced = 0.999,
    epsilon: Traced = 1e-8,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """``w ← w − lr·m / (√v + ε)``; the caller corrects ``lr`` for the bias."""
    weight, mean, var = formulas.adam(
        weight,
        grad,
        mean,
        var,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return weight, {"mean": mean, "var": var}


@op("rmsprop_update", precision="float32", same_shape=True, aux=("n",))
def rmsprop_update(
    weight: Any,
    grad: Any,
    n: Any,
    *,
    lr: Traced,
    gamma1: Traced = 0.95,
    epsilon: Traced = 1e-8,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
    clip_weights: Traced = -1.0,
) -> Any:
    """``n ← γ·n + (1−γ)·g²``, ``w ← w − lr·g / √(n + ε)``."""
    weight, n = formulas.rmsprop(
        weight,
        grad,
        n,
        lr=lr,
        gamma1=gamma1,
        epsilon=epsilon,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
        clip_weights=clip_weights,
    )
    return weight, {"n": n}


@op("rmspropalex_update", precision="float32", same_shape=True, aux=("n", "g", "delta"))
def rmspropalex_update(
    weight: Any,
    grad: Any,
    n: Any,
    g: Any,
    delta: Any,
    *,
    lr: Traced,
    gamma1: Traced = 0.95,
    gamma2: Traced = 0.9,
    epsilon: Traced = 1e-8,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
    clip_weights: Traced = -1.0,
) -> Any:
    """RMSProp centred on the mean gradient ``g``, with momentum; see `RMSProp`."""
    weight, n, g, delta = formulas.rmsprop_alex(
        weight,
        grad,
        n,
        g,
        delta,
        lr=lr,
        gamma1=gamma1,
        gamma2=gamma2,
        epsilon=epsilon,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
        clip_weights=clip_weights,
    )
    return weight, {"n": n, "g": g, "delta": delta}


@op("ftml_update", precision="float32", same_shape=True, aux=("d", "v", "z"))
def ftml_update(
    weight: Any,
    grad: Any,
    d: Any,
    v: Any,
    z: Any,
    *,
    lr: Traced,
    beta1: Traced = 0.6,
    beta2: Traced = 0.999,
    epsilon: Traced = 1e-8,
    t: Traced,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_grad: Traced = -1.0,
) -> Any:
    """Follow the moving leader; see `modkit.ops.update.formulas.ftml`."""
    weight, d, v, z = formulas.ftml(
        weight,
        grad,
        d,
        v,
        z,
        lr=lr,
        t=t,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_grad,
    )
    return weight, {"d": d, "v": v, "z": z}


@op("lamb_update_phase1", precision="float32", same_shape=True, aux=("mean", "var"))
def lamb_update_phase1(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    *,
    beta1: Traced = 0.9,
    beta2: Traced = 0.999,
    epsilon: Traced = 1e-6,
    t: Traced,
    bias_correction: bool = True,
    wd: Traced,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """The direction of LAMB's step: ``m̂ / (√v̂ + ε) + wd·w``."""
    direction, mean, var = formulas.lamb_phase1(
        weight,
        grad,
        mean,
        var,
        t=t,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        bias_correction=bias_correction,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return direction, {"mean": mean, "var": var}


def _phase1_types(ins: Any, attrs: Any) -> Any:
    del attrs
    low = next((d for d in ins[:2] if d), None)
    return [low, low, "float32", "float32", "float32"], ["float32"]


@op(
    "mp_lamb_update_phase1",
    precision="float32",
    same_shape=True,
    aux=("mean", "var", "weight32"),
    dtypes=_phase1_types,
)
def mp_lamb_update_phase1(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    weight32: Any,
    *,
    beta1: Traced = 0.9,
    beta2: Traced = 0.999,
    epsilon: Traced = 1e-6,
    t: Traced,
    bias_correction: bool = True,
    wd: Traced,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """`lamb_update_phase1` on the float32 copy ``weight32`` of a 16-bit weight."""
    del weight
    direction, mean, var = formulas.lamb_phase1(
        weight32,
        grad.astype(weight32.dtype),
        mean,
        var,
        t=t,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        bias_correction=bias_correction,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return direction, {"mean": mean, "var": var, "weight32": weight32}


def _phase2_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Mapping[str, Any]) -> Rule:
    """One shape for the weight, its master copy, the direction and the result; (1,) for norms."""
    del attrs
    full = common("grad or state", [*ins[:2], *ins[4:], *outs])
    norms = [merge(name, shape, (1,)) for name, shape in zip(("r1", "r2"), ins[2:4], strict=True)]
    return [full, full, *norms, *[full] * len(ins[4:])], [full]


@op("lamb_update_phase2", precision="float32", partial=_phase2_partial)
def lamb_update_phase2(
    weight: Any,
    g: Any,
    r1: Any,
    r2: Any,
    *,
    lr: Traced,
    lower_bound: Traced = -1.0,
    upper_bound: Traced = -1.0,
) -> Any:
    """``w ← w − lr·(r1/r2)·g``, with ``r1`` between the bounds; a bound below 0 is none.

    Shapes:
        weight, g: of one shape.
        r1, r2: (1,), the norms of both.
    """
    return formulas.lamb_phase2(
        weight, g, r1, r2, lr=lr, lower_bound=lower_bound, upper_bound=upper_bound
    )


def _phase2_types(ins: Any, attrs: Any) -> Any:
    del attrs
    return [ins[0], "float32", "float32", "float32", "float32"], [ins[0]]


@op(
    "mp_lamb_update_phase2",
    precision="float32",
    partial=_phase2_partial,
    aux=("weight32",),
    dtypes=_phase2_types,
)
def mp_lamb_update_phase2(
    weight: Any,
    g: Any,
    r1: Any,
    r2: Any,
    weight32: Any,
    *,
    lr: Traced,
    lower_bound: Traced = -1.0,
    upper_bound: Traced = -1.0,
) -> Any:
    """`lamb_update_phase2` on the float32 copy ``weight32`` of a 16-bit weight.

    Differs: MXNet documents that ``weight32`` is updated too, but leaves it as it was.
    """
    new = formulas.lamb_phase2(
        weight32, g, r1, r2, lr=lr, lower_bound=lower_bound, upper_bound=upper_bound
    )
    return new.astype(weight.dtype), {"weight32": new}
