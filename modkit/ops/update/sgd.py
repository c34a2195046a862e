"""Update operators of the SGD family: one step of an optimizer on one weight, or on several.

They return the new weight (``out=weight`` writes it in place) and change their state inputs. As
in MXNet, ``clip_gradient`` below 0 clips nothing.
"""

from __future__ import annotations

from modkit.ops.parameters import REQUIRED
from modkit.ops.stype import ROW_UPDATE
from modkit.ops.update import formulas
from modkit.ops.update.schema import COMMON, LR, Several, one_weight

_LAZY = {"lazy_update": True}
_MOMENTUM = {**LR, "momentum": 0.0, **COMMON}

one_weight(
    "sgd_update", formulas.sgd, (), {**LR, **COMMON, **_LAZY},
    "``w ← w − lr·(clip(rescale·g) + wd·w)``.",
    mixed="mp_sgd_update", aliases=("_sparse_sgd_update",),
    storage=ROW_UPDATE,
)  # fmt: skip
one_weight(
    "sgd_mom_update", formulas.sgd_mom, ("mom",), {**_MOMENTUM, **_LAZY},
    "``v ← μ·v − lr·(clip(rescale·g) + wd·w)``, ``w ← w + v``.",
    mixed="mp_sgd_mom_update", aliases=("_sparse_sgd_mom_update",),
    storage=ROW_UPDATE,
)  # fmt: skip
one_weight(
    "nag_mom_update", formulas.nag_mom, ("mom",), _MOMENTUM,
    "Nesterov's accelerated gradient; see `modkit.ops.update.formulas.nag_mom`.\n\n"
    "Differs: the velocity decays by the new weight; MXNet does so only with ``out=weight``.",
    mixed="mp_nag_mom_update",
)  # fmt: skip
one_weight(
    "signsgd_update", formulas.signsgd, (), {**LR, **COMMON},
    "``w ← (1 − lr·wd)·w − lr·sign(g)``; rescaling and clipping change no sign.",
)  # fmt: skip
one_weight(
    "signum_update", formulas.signum, ("mom",), {**_MOMENTUM, "wd_lh": 0.0},
    "Steps of size ``lr`` along the sign of the running mean; see `Signum`.",
)  # fmt: skip
one_weight(
    "_sparse_adagrad_update", formulas.adagrad, ("history",), {**LR, "epsilon": 1e-7, **COMMON},
    "AdaGrad; see `modkit.ops.update.formulas.adagrad`.",
    storage=ROW_UPDATE,
)  # fmt: skip
one_weight(
    "ftrl_update", formulas.ftrl, ("z", "n"), {**LR, "lamda1": 0.01, "beta": 1.0, **COMMON},
    "Follow the regularised leader; see `modkit.ops.update.formulas.ftrl`.",
    aliases=("_sparse_ftrl_update",),
    storage=ROW_UPDATE,
)  # fmt: skip


def _register(kind: str, *, preloaded: bool) -> None:
    """SGD over several weights; preloaded rates and decays are inputs of an element for each."""
    mom, prefix = kind == "sgd_mom", "preloaded_multi" if preloaded else "multi"
    loaded = {} if preloaded else {"lrs": REQUIRED, "wds": REQUIRED}
    Several(
        name=f"{prefix}_{kind}_update",
        formula=formulas.sgd_mom if mom else formulas.sgd,
        states=("mom",) if mom else (),
        each={"lrs": "lr", "wds": "wd"},
        numbers={
            **loaded, **({"momentum": 0.0} if mom else {}), "rescale_grad": 1.0,
            "clip_gradient": -1.0,
        },
        doc=f"`{kind}_update` of several weights; rates and decays "
        + ("are the last two inputs." if preloaded else "are tuples."),
        shared=("lrs", "wds") if preloaded else (),
    ).register(mixed=f"{prefix}_mp_{kind}_update")  # fmt: skip


for _kind in ("sgd", "sgd_mom"):
    _register(_kind, preloaded=False)
    _register(_kind, preloaded=True)
