"""SGD over several weights at once: the ``multi_sgd_update`` family.

The ``preloaded`` ones read rates and decays from two more inputs, (number of weights,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from modkit.ops.registry import Traced, TracedTuple
from modkit.ops.update import formulas
from modkit.ops.update.several import Several

_STATES = {
    "sgd": (),
    "sgd_mom": ("mom",),
    "mp_sgd": ("weight32",),
    "mp_sgd_mom": ("mom", "weight32"),
}


def _sgd(*arrays: Any, **numbers: Any) -> tuple[Any]:
    return (formulas.sgd(*arrays, **numbers),)


def _plain(several: Several, mom: bool) -> Callable[..., Any]:
    def update(
        *data: Any,
        lrs: TracedTuple,
        wds: TracedTuple,
        rescale_grad: Traced = 1.0,
        clip_gradient: Traced = -1.0,
        num_weights: int = 1,
    ) -> Any:
        rest = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
        return several.run(data, num_weights, {"lr": lrs, "wd": wds}, rest)

    def update_mom(
        *data: Any,
        lrs: TracedTuple,
        wds: TracedTuple,
        momentum: Traced = 0.0,
        rescale_grad: Traced = 1.0,
        clip_gradient: Traced = -1.0,
        num_weights: int = 1,
    ) -> Any:
        rest = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient, "momentum": momentum}
        return several.run(data, num_weights, {"lr": lrs, "wd": wds}, rest)

    return update_mom if mom else update


def _preloaded(several: Several, mom: bool) -> Callable[..., Any]:
    def update(
        *data: Any,
        rescale_grad: Traced = 1.0,
        clip_gradient: Traced = -1.0,
        num_weights: int = 1,
    ) -> Any:
        rest = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
        return several.run(data[:-2], num_weights, {"lr": data[-2], "wd": data[-1]}, rest)

    def update_mom(
        *data: Any,
        momentum: Traced = 0.0,
        rescale_grad: Traced = 1.0,
        clip_gradient: Traced = -1.0,
        num_weights: int = 1,
    ) -> Any:
        rest = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient, "momentum": momentum}
        return several.run(data[:-2], num_weights, {"lr": data[-2], "wd": data[-1]}, rest)

    return update_mom if mom else update


def _register(kind: str, *, preloaded: bool) -> None:
    mom = kind.endswith("mom")
    several = Several(
        name=f"{'preloaded_' if preloaded else ''}multi_{kind}_update",
        step=formulas.sgd_mom if mom else _sgd,
        states=_STATES[kind],
        doc=f"`{kind}_update` of several weights; rates and decays "
        + ("are the last two inputs." if preloaded else "are tuples."),
        shared=dict.fromkeys(("lrs", "wds"), lambda count: (count,)) if preloaded else {},
    )
    several.register((_preloaded if preloaded else _plain)(several, mom))


for _kind in _STATES:
    _register(_kind, preloaded=False)
    _register(_kind, preloaded=True)
