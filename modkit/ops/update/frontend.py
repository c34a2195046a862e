"""``adamw_update`` of ``mx.nd.contrib`` and ``mx.sym.contrib``, whose scale may be a number."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.ops.parameters import REQUIRED
from modkit.ops.registry import get_op

Invoke = Callable[..., Any]
"""Calls an operator: ``invoke(op, tensors, keywords)``."""

_NUMBERS = {
    "lr": REQUIRED, "eta": REQUIRED, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "wd": 0,
    "clip_gradient": -1, "out": None, "name": None,
}  # fmt: skip


def adamw_functions(
    invoke: Invoke, as_array: Callable[[Any, Any], Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``adamw_update`` and ``mp_adamw_update``, whose scale is ``as_array(scale, weight)``."""
    names = ("weight", "grad", "mean", "var")
    plain = _function("adamw_update", names, _DOC, invoke, as_array)
    doc = "`adamw_update` on ``weight32``, the float32 copy of a 16-bit weight, which changes too."
    return plain, _function("mp_adamw_update", (*names, "weight32"), doc, invoke, as_array)


def _function(
    name: str, tensors: Sequence[str], doc: str, invoke: Invoke, as_array: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    def update(given: dict[str, Any]) -> Any:
        arrays = [given.pop(n) for n in tensors]
        arrays.append(as_array(given.pop("rescale_grad"), arrays[0]))
        return invoke(get_op(f"_{name}"), arrays, given)

    defaults = {**dict.fromkeys((*tensors, "rescale_grad"), REQUIRED), **_NUMBERS}
    return with_signature(name, doc, defaults, update, {})


def with_signature(
    name: str,
    doc: str,
    defaults: Mapping[str, Any],
    call: Callable[[dict[str, Any]], Any],
    types: Mapping[str, Any],
) -> Callable[..., Any]:
    """A function of parameters by position or name, and of further ones; ``call`` gets them all."""
    kind = inspect.Parameter
    signature = inspect.Signature([
        *(kind(n, kind.POSITIONAL_OR_KEYWORD, default=d, annotation=types.get(n, kind.empty))
          for n, d in defaults.items()),
        kind("kwargs", kind.VAR_KEYWORD, annotation=Any),
    ])  # fmt: skip

    def function(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        more = bound.arguments.pop("kwargs")
        return call({**bound.arguments, **more})

    made: Any = function
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc
    made.__signature__ = signature
    return made


_DOC = """One step of AdamW: ``w ← w − η·(lr·m / (√v + ε) + wd·w)``; ``mean`` and ``var`` change.

Args:
    weight: any shape.
    grad: as the weight.
    mean: as the weight; changes in place.
    var: as the weight; changes in place.
    rescale_grad: a factor of the gradient, a number or an array of float32. The step is
        skipped where it is 0 or not finite.
    lr: the rate.
    eta: the schedule's factor.
    beta1: decay of ``mean``.
    beta2: decay of ``var``.
    epsilon: added to the root.
    wd: weight decay.
    clip_gradient: bound of the rescaled gradient's elements; none below 0.
    out: where the new weight goes.
    name: the name of the result.
    kwargs: more parameters of the operator.
"""
