"""``mx.sym.contrib``: AdamW's updates, which take a number where the operators take an array."""

from __future__ import annotations

from typing import Any

from modkit.ops.registry import get_op
from modkit.symbol.creation import full
from modkit.symbol.symbol import Symbol, invoke


def _scale(rescale_grad: Symbol | float) -> Symbol:
    return rescale_grad if isinstance(rescale_grad, Symbol) else full((1,), rescale_grad)


def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """The weight after a step of AdamW; see `modkit.ndarray.updates.adamw_update`."""
    tensors = (weight, grad, mean, var, _scale(rescale_grad))
    params = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    params |= {"wd": wd, "clip_gradient": clip_gradient, "out": out, "name": name}
    return invoke(get_op("_adamw_update"), tensors, {**params, **kwargs})


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: None = None,
    name: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """`adamw_update` on ``weight32``, the float32 copy of a 16-bit weight."""
    tensors = (weight, grad, mean, var, weight32, _scale(rescale_grad))
    params = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    params |= {"wd": wd, "clip_gradient": clip_gradient, "out": out, "name": name}
    return invoke(get_op("_mp_adamw_update"), tensors, {**params, **kwargs})
