"""Update operators over several weights at once: the ``multi_sgd_update`` family.

Inputs are interleaved: weight, gradient and states of the first, then of the second, and so on;
the ``preloaded`` ones take two more, the rates and the decays, (number of weights,).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.errors import ParameterError
from modkit.ops.inference_rules import Rule, Sizes, common, merge
from modkit.ops.registry import Traced, TracedTuple, op
from modkit.ops.update import formulas

_STATES = {
    "sgd": (),
    "sgd_mom": ("mom",),
    "mp_sgd": ("weight32",),
    "mp_sgd_mom": ("mom", "weight32"),
}


def _outputs(attrs: Mapping[str, Any]) -> Sequence[str]:
    count = attrs["num_weights"]
    return ("output",) if count == 1 else tuple(f"output{i}" for i in range(count))


def _step(
    kind: str, tensors: Sequence[Any], lr: Any, wd: Any, rest: Mapping[str, Any]
) -> tuple[Any, list[Any]]:
    """The new weight and states of one of the weights."""
    weight, grad, *states = tensors
    master = states[-1] if kind.startswith("mp") else weight
    lr, wd = (n.astype(master.dtype) if hasattr(n, "astype") else n for n in (lr, wd))
    grad = grad.astype(master.dtype)
    if kind.endswith("mom"):
        new, mom = formulas.sgd_mom(master, grad, states[0], lr=lr, wd=wd, **rest)
        changed = [mom]
    else:
        new, changed = formulas.sgd(master, grad, lr=lr, wd=wd, **rest), []
    if kind.startswith("mp"):
        changed.append(new)
    return new.astype(weight.dtype), changed


def _all_steps(
    name: str, kind: str, arrays: Sequence[Any], count: int, rates: Any, decays: Any, **rest: Any
) -> Any:
    """The new weights, and the new states by input name."""
    width = 2 + len(_STATES[kind])
    if len(arrays) != count * width or len(rates) != count or len(decays) != count:
        raise ParameterError(
            f"{name}: got {len(arrays)} arrays, {len(rates)} rates and {len(decays)} decays for "
            f"num_weights={count}, expected {count * width}, {count} and {count}"
        )
    outputs, changed = [], {}
    for i in range(count):
        part = arrays[i * width : (i + 1) * width]
        weight, states = _step(kind, part, rates[i], decays[i], rest)
        outputs.append(weight)
        named = zip(_STATES[kind], states, strict=True)
        changed |= {f"{state}_{i}": value for state, value in named}
    return (tuple(outputs), changed) if _STATES[kind] else tuple(outputs)


def _plain(name: str, kind: str) -> Callable[..., Any]:
    def update(
        *data: Any,
        lrs: TracedTuple,
        wds: TracedTuple,
        rescale_grad: Traced = 1.0,
        clip_gradient: Traced = -1.0,
        num_weights: int = 1,
    ) -> Any:
        rest = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
        return _all_steps(name, kind, data, num_weights, lrs, wds, **rest)

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
        return _all_steps(name, kind, data, num_weights, lrs, wds, **rest)

    return update_mom if kind.endswith("mom") else update


def _preloaded(name: str, kind: str) -> Callable[..., Any]:
    def update(
        *data: Any,
        rescale_grad: Traced = 1.0,
        clip_gradient: Traced = -1.0,
        num_weights: int = 1,
    ) -> Any:
        rest = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
        return _all_steps(name, kind, data[:-2], num_weights, *data[-2:], **rest)

    def update_mom(
        *data: Any,
        momentum: Traced = 0.0,
        rescale_grad: Traced = 1.0,
        clip_gradient: Traced = -1.0,
        num_weights: int = 1,
    ) -> Any:
        rest = {"rescale_grad": rescale_grad, "clip_gradient": clip_gradient, "momentum": momentum}
        return _all_steps(name, kind, data[:-2], num_weights, *data[-2:], **rest)

    return update_mom if kind.endswith("mom") else update


def _register(name: str, kind: str, function: Callable[..., Any], more: tuple[str, ...]) -> None:
    each = ("weight", "grad", *_STATES[kind])

    def names(attrs: Mapping[str, Any]) -> list[str]:
        return [f"{n}_{i}" for i in range(attrs["num_weights"]) for n in each] + list(more)

    def dtypes(ins: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        del attrs
        low = next((d for d in ins if d), None)
        states = ["float32" if kind.startswith("mp") else low] * len(_STATES[kind])
        count = (len(ins) - len(more)) // len(each)
        return [low, low, *states] * count + ["float32"] * len(more), [low] * count

    def partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Mapping[str, Any]) -> Rule:
        """One shape for each weight, its gradient and states; a number a weight for ``more``."""
        filled: list[Sizes] = []
        for i in range(attrs["num_weights"]):
            part = [*ins[i * len(each) : (i + 1) * len(each)], outs[i]]
            filled += [common(f"grad_{i} or state", part)] * len(each)
        numbers = [
            merge(n, s, (attrs["num_weights"],))
            for n, s in zip(more, ins[len(filled) :], strict=True)
        ]
        return [*filled, *numbers], filled[:: len(each)]

    function.__doc__ = f"`{kind}_update` of several weights; rates and decays " + (
        "are the last two inputs." if more else "are tuples."
    )
    op(
        name,
        precision="float32",
        variadic="num_args",
        names=names,
        aux=("states",) if _STATES[kind] else (),
        outputs=_outputs,
        partial=partial,
        dtypes=dtypes,
    )(function)


for _kind in _STATES:
    _name = f"multi_{_kind}_update"
    _register(_name, _kind, _plain(_name, _kind), ())
    _register(f"preloaded_{_name}", _kind, _preloaded(f"preloaded_{_name}", _kind), ("lrs", "wds"))
