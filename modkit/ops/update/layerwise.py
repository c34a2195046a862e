"""Updates with a rate a layer: LAMB over several weights, rates of LARS, AdaGrad by rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.parameters import REQUIRED, Attrs, Traced
from modkit.ops.partial_shapes import Rule, Sizes, common, merge
from modkit.ops.registry import op
from modkit.ops.stype import ROW_UPDATE
from modkit.ops.update import formulas
from modkit.ops.update.schema import LR, Several, one_weight

Several(
    name="_multi_lamb_update",
    formula=formulas.lamb,
    states=("mean", "var"),
    each={"learning_rates": "lr", "wds": "wd", "step_count": "t"},
    numbers={
        "learning_rates": REQUIRED, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6,
        "wds": REQUIRED, "rescale_grad": 1.0, "lower_bound": -1.0, "upper_bound": -1.0,
        "clip_gradient": -1.0, "bias_correction": True, "step_count": REQUIRED,
    },
    doc="LAMB over several weights; rates, decays and numbers of updates are tuples.",
    count="num_tensors",
    stored="stored",
).register(mixed="_multi_mp_lamb_update")  # fmt: skip


@op(
    "multi_lars",
    precision="float32",
    gradient="refused",
    same_shape=True,
    dtypes=lambda ins, attrs: (["float32"] * len(ins), ["float32"]),
)
def multi_lars(
    lrs: Any,
    weights_sum_sq: Any,
    grads_sum_sq: Any,
    wds: Any,
    *,
    eta: Traced,
    eps: Traced,
    rescale_grad: Traced = 1.0,
) -> Any:
    """Rates of LARS, ``lr·η·‖w‖ / (rescale·‖g‖ + wd·‖w‖ + ε)``, a layer an element.

    A layer whose weight or gradient is all zeros keeps its rate (You, Gitman and Ginsburg, 2017).

    Shapes:
        lrs, weights_sum_sq, grads_sum_sq, wds: of one shape, of float32.
        returns: likewise.
    """
    weight, grad = jnp.sqrt(weights_sum_sq), jnp.sqrt(grads_sum_sq) * rescale_grad
    scaled = lrs * eta * weight / (grad + wds * weight + eps)
    return jnp.where((weights_sum_sq > 0) & (grads_sum_sq > 0), scaled, lrs)


def _rows(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs) -> Rule:
    """One number a row in the history, with the other axes of size 1 or without them."""
    full = common("grad", [*ins[:2], *outs])
    history = ins[2]
    if full is not None:
        if len(full) < 2:
            raise ShapeError(f"weight: got shape {full}, expected 2 or more axes")
        history = merge("history", history, (full[0], *(1,) * (len(full) - 1)))
    return [full, full, history], [full]


one_weight(
    "_contrib_group_adagrad_update", formulas.group_adagrad, ("history",),
    {**LR, "rescale_grad": 1.0, "clip_gradient": -1.0, "epsilon": 1e-5},
    "AdaGrad with one rate a row: ``h ← h + mean(g²)``, ``w ← w − lr·g / √(h + ε)``.\n\n"
    "Shapes:\n"
    "    weight, grad: (N, ...), of 2 or more axes.\n"
    "    history: (N, 1, ...).\n\n"
    "Differs: dense gradients and GPUs work too; MXNet has row-sparse gradients on CPUs only.",
    partial=_rows,
    storage=ROW_UPDATE,
)  # fmt: skip


@op(
    "reset_arrays",
    precision="float32",
    variadic="num_arrays",
    names=lambda attrs: [f"data_{i}" for i in range(attrs["num_arrays"])],
    aux=("data",),
    outputs=(),
    dtypes=lambda ins, attrs: (list(ins), []),
)
def reset_arrays(*data: Any) -> Any:
    """Write zeros into all arrays, in place; it has no outputs."""
    return (), {f"data_{i}": jnp.zeros_like(array) for i, array in enumerate(data)}
