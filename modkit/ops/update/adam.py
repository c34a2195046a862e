"""Update operators of the Adam family, RMSProp and LAMB; see `modkit.ops.update.sgd`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.ops.parameters import REQUIRED, Attrs
from modkit.ops.partial_shapes import Rule, Sizes, common, merge
from modkit.ops.stype import ROW_UPDATE
from modkit.ops.update import formulas
from modkit.ops.update.schema import COMMON, LR, declare, mixed_types, one_weight

_RMSPROP = {"epsilon": 1e-8, **COMMON, "clip_weights": -1.0}
_LAMB = {
    "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6, "t": REQUIRED, "bias_correction": True,
    **COMMON, "wd": REQUIRED,
}  # fmt: skip
_PHASE2 = {**LR, "lower_bound": -1.0, "upper_bound": -1.0}


def _ftml(*arrays: Any, clip_grad: Any, **numbers: Any) -> Any:
    return formulas.ftml(*arrays, clip_gradient=clip_grad, **numbers)


one_weight(
    "adam_update", formulas.adam, ("mean", "var"),
    {**LR, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, **COMMON, "lazy_update": True},
    "``w ← w − lr·m / (√v + ε)``; the caller corrects ``lr`` for the bias.",
    aliases=("_sparse_adam_update",),
    storage=ROW_UPDATE,
)  # fmt: skip
one_weight(
    "rmsprop_update", formulas.rmsprop, ("n",), {**LR, "gamma1": 0.95, **_RMSPROP},
    "``n ← γ·n + (1−γ)·g²``, ``w ← w − lr·g / √(n + ε)``.",
)  # fmt: skip
one_weight(
    "rmspropalex_update", formulas.rmsprop_alex, ("n", "g", "delta"),
    {**LR, "gamma1": 0.95, "gamma2": 0.9, **_RMSPROP},
    "RMSProp centred on the mean gradient ``g``, with momentum; see `RMSProp`.",
)  # fmt: skip
one_weight(
    "ftml_update", _ftml, ("d", "v", "z"),
    {**LR, "beta1": 0.6, "beta2": 0.999, "epsilon": 1e-8, "t": REQUIRED, "wd": 0.0,
     "rescale_grad": 1.0, "clip_grad": -1.0},
    "Follow the moving leader; see `modkit.ops.update.formulas.ftml`.",
)  # fmt: skip
one_weight(
    "lamb_update_phase1", formulas.lamb_phase1, ("mean", "var"), _LAMB,
    "The direction of LAMB's step: ``m̂ / (√v̂ + ε) + wd·w``.",
)  # fmt: skip


def _mixed_phase1(*, weight: Any, grad: Any, weight32: Any, **rest: Any) -> Any:
    old = rest.pop("mean"), rest.pop("var")
    direction, mean, var = formulas.lamb_phase1(weight32, grad.astype(weight32.dtype), *old, **rest)
    return direction, {"mean": mean, "var": var, "weight32": weight32}


declare(
    "mp_lamb_update_phase1", _mixed_phase1, ("weight", "grad", "mean", "var", "weight32"), _LAMB,
    "`lamb_update_phase1` on the float32 copy ``weight32`` of a 16-bit weight.",
    same_shape=True, aux=("mean", "var", "weight32"),
    dtypes=lambda ins, attrs: (mixed_types(ins, attrs)[0], ["float32"]),
)  # fmt: skip


def _phase2_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs) -> Rule:
    """One shape for the weight, its master copy, the direction and the result; (1,) for norms."""
    full = common("grad or state", [*ins[:2], *ins[4:], *outs])
    norms = [merge(name, shape, (1,)) for name, shape in zip(("r1", "r2"), ins[2:4], strict=True)]
    return [full, full, *norms, *[full] * len(ins[4:])], [full]


def _phase2(*, weight: Any, g: Any, r1: Any, r2: Any, **numbers: Any) -> Any:
    # A weight without axes keeps its shape.
    return formulas.lamb_phase2(weight, g, r1, r2, **numbers).reshape(weight.shape)


def _mixed_phase2(*, weight: Any, weight32: Any, **rest: Any) -> Any:
    new = _phase2(weight=weight32, **rest)
    return new.astype(weight.dtype), {"weight32": new}


declare(
    "lamb_update_phase2",
    _phase2,
    ("weight", "g", "r1", "r2"),
    _PHASE2,
    "``w ← w − lr·(r1/r2)·g``, with ``r1`` between the bounds; a bound below 0 is none.\n\n"
    "Shapes:\n"
    "    weight, g: of one shape.\n"
    "    r1, r2: (1,), the norms of both.",
    partial=_phase2_partial,
)
declare(
    "mp_lamb_update_phase2",
    _mixed_phase2,
    ("weight", "g", "r1", "r2", "weight32"),
    _PHASE2,
    "`lamb_update_phase2` on the float32 copy ``weight32`` of a 16-bit weight.\n\n"
    "Differs: MXNet documents that ``weight32`` is updated too, but leaves it as it was.",
    partial=_phase2_partial,
    aux=("weight32",),
    dtypes=lambda ins, attrs: ([ins[0], *["float32"] * 4], [ins[0]]),
)
