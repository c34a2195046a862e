"""Update operators: one step of an optimizer on one weight, or on several at once.

They return the new weight (``out=weight`` writes it in place) and change their state inputs. As
in MXNet, ``clip_gradient`` below 0 clips nothing.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from modkit.ops.registry import Traced, op
from modkit.ops.update import formulas

_LAZY = {"lazy_update": (bool, True)}


@op(
    "sgd_update",
    precision="float32",
    same_shape=True,
    aliases=("_sparse_sgd_update",),
    inert=_LAZY,
    hint="sgd_update",
)
def sgd_update(
    weight: Any,
    grad: Any,
    *,
    lr: Traced,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """``w ← w − lr·(clip(rescale·g) + wd·w)``."""
    return formulas.sgd(
        weight, grad, lr=lr, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient
    )


@op(
    "sgd_mom_update",
    precision="float32",
    same_shape=True,
    aliases=("_sparse_sgd_mom_update",),
    aux=("mom",),
    inert=_LAZY,
)
def sgd_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    *,
    lr: Traced,
    momentum: Traced = 0.0,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """``v ← μ·v − lr·(clip(rescale·g) + wd·w)``, ``w ← w + v``."""
    weight, mom = formulas.sgd_mom(
        weight,
        grad,
        mom,
        lr=lr,
        momentum=momentum,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return weight, {"mom": mom}


def _first_types(count: int) -> Any:
    """Types of a mixed-precision operator: 16-bit weight and gradient, the rest float32."""

    def dtypes(ins: Any, attrs: Any) -> Any:
        del attrs
        low = next((d for d in ins[:2] if d), None)
        return [low, low, *["float32"] * (count - 2)], [low]

    return dtypes


@op(
    "mp_sgd_update",
    precision="float32",
    same_shape=True,
    aux=("weight32",),
    inert=_LAZY,
    dtypes=_first_types(3),
)
def mp_sgd_update(
    weight: Any,
    grad: Any,
    weight32: Any,
    *,
    lr: Traced,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """`sgd_update` on the float32 copy ``weight32`` of a 16-bit weight."""
    new = formulas.sgd(
        weight32,
        grad.astype(weight32.dtype),
        lr=lr,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return new.astype(weight.dtype), {"weight32": new}


@op(
    "mp_sgd_mom_update",
    precision="float32",
    same_shape=True,
    aux=("mom", "weight32"),
    inert=_LAZY,
    dtypes=_first_types(4),
)
def mp_sgd_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    weight32: Any,
    *,
    lr: Traced,
    momentum: Traced = 0.0,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """`sgd_mom_update` on the float32 copy ``weight32`` of a 16-bit weight."""
    new, mom = formulas.sgd_mom(
        weight32,
        grad.astype(weight32.dtype),
        mom,
        lr=lr,
        momentum=momentum,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return new.astype(weight.dtype), {"mom": mom, "weight32": new}


@op("nag_mom_update", precision="float32", same_shape=True, aux=("mom",))
def nag_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    *,
    lr: Traced,
    momentum: Traced = 0.0,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """Nesterov's accelerated gradient; see `modkit.ops.update.formulas.nag_mom`.

    Differs: the velocity decays by the new weight; MXNet does so only with ``out=weight``.
    """
    weight, mom = formulas.nag_mom(
        weight,
        grad,
        mom,
        lr=lr,
        momentum=momentum,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return weight, {"mom": mom}


@op(
    "mp_nag_mom_update",
    precision="float32",
    same_shape=True,
    aux=("mom", "weight32"),
    dtypes=_first_types(4),
)
def mp_nag_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    weight32: Any,
    *,
    lr: Traced,
    momentum: Traced = 0.0,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """`nag_mom_update` on the float32 copy ``weight32`` of a 16-bit weight."""
    new, mom = formulas.nag_mom(
        weight32,
        grad.astype(weight32.dtype),
        mom,
        lr=lr,
        momentum=momentum,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return new.astype(weight.dtype), {"mom": mom, "weight32": new}


@op("signsgd_update", precision="float32", same_shape=True)
def signsgd_update(
    weight: Any,
    grad: Any,
    *,
    lr: Traced,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """``w ← (1 − lr·wd)·w − lr·sign(g)``; rescaling and clipping change no sign."""
    return formulas.signsgd(
        weight, grad, lr=lr, wd=wd, rescale_grad=rescale_grad, clip_gradient=clip_gradient
    )


@op("signum_update", precision="float32", same_shape=True, aux=("mom",))
def signum_update(
    weight: Any,
    grad: Any,
    mom: Any,
    *,
    lr: Traced,
    momentum: Traced = 0.0,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
    wd_lh: Traced = 0.0,
) -> Any:
    """Steps of size ``lr`` along the sign of the running mean; see `Signum`."""
    weight, mom = formulas.signum(
        weight,
        grad,
        mom,
        lr=lr,
        momentum=momentum,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
        wd_lh=wd_lh,
    )
    return weight, {"mom": mom}


@op("_sparse_adagrad_update", precision="float32", same_shape=True, aux=("history",))
def adagrad_update(
    weight: Any,
    grad: Any,
    history: Any,
    *,
    lr: Traced,
    epsilon: Traced = 1e-7,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """AdaGrad; see `modkit.ops.update.formulas.adagrad`."""
    weight, history = formulas.adagrad(
        weight,
        grad,
        history,
        lr=lr,
        wd=wd,
        epsilon=epsilon,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return weight, {"history": history}


@op(
    "ftrl_update",
    precision="float32",
    same_shape=True,
    aliases=("_sparse_ftrl_update",),
    aux=("z", "n"),
)
def ftrl_update(
    weight: Any,
    grad: Any,
    z: Any,
    n: Any,
    *,
    lr: Traced,
    lamda1: Traced = 0.01,
    beta: Traced = 1.0,
    wd: Traced = 0.0,
    rescale_grad: Traced = 1.0,
    clip_gradient: Traced = -1.0,
) -> Any:
    """Follow the regularised leader; see `modkit.ops.update.formulas.ftrl`."""
    weight, z, n = formulas.ftrl(
        weight,
        grad,
        z,
        n,
        lr=lr,
        lamda1=jnp.asarray(lamda1, weight.dtype),
        beta=beta,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )
    return weight, {"z": z, "n": n}
