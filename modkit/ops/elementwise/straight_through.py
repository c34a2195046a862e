"""Operators whose gradient is chosen: straight-through estimators, a multiplier of gradients."""

from __future__ import annotations

from typing import Any

from modkit.interpreter.reverse import CustomJvp
from modkit.ops.elementwise.arithmetic import is_whole
from modkit.ops.elementwise.unary import nearest, sign
from modkit.ops.parameters import Inert
from modkit.ops.registry import op, unary
from modkit.ops.stype import KEPT_BACK


def _straight(value: Any, data: Any) -> Any:
    """``value``, with the gradient of ``data``."""
    if is_whole(data.dtype):
        return value
    return _pass(value, data)


@CustomJvp
def _pass(value: Any, data: Any) -> Any:
    return value


@_pass.defjvp
def _pass_jvp(primals: Any, tangents: Any) -> Any:
    return primals[0], tangents[1]


unary(
    "_contrib_round_ste",
    lambda data: _straight(nearest(data), data),
    "the nearest whole number, halves away from zero, with the gradient of ``data`` itself",
    aliases=("_sparse__contrib_round_ste",),
    storage=KEPT_BACK,
    precision="float32",
)
unary(
    "_contrib_sign_ste",
    lambda data: _straight(sign(data), data),
    "-1, 0 or 1; 0 for NaN; with the gradient of ``data`` itself",
    aliases=("_sparse__contrib_sign_ste",),
    storage=KEPT_BACK,
    precision="float32",
)


@op("_contrib_gradientmultiplier", precision="float32", same_shape=True, storage=KEPT_BACK)
def gradientmultiplier(data: Any, *, scalar: float = 1.0, is_int: Inert[bool] = True) -> Any:
    """``data`` itself, with ``scalar`` times its gradient; a negative one reverses it."""
    return data if is_whole(data.dtype) else _straight(data, data * scalar)
