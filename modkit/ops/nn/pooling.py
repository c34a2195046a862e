"""Pooling over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError, expect
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.nn.layout import channel_first, per_axis, resolve, spatial_axes
from modkit.ops.nn.windows import PLAIN, WindowForm, Windows
from modkit.ops.parameters import Attrs, Inert, Shape
from modkit.ops.registry import op


def pool_sum(data: jax.Array, windows: Windows, form: WindowForm = PLAIN) -> jax.Array:
    """The sum of each window, in float32 at least."""
    return form.total(data.astype(accumulator(data)), windows)


def pool_mean(
    data: jax.Array, windows: Windows, form: WindowForm = PLAIN, *, include_pad: bool
) -> jax.Array:
    """The mean of each window."""
    total = pool_sum(data, windows, form)
    return total / windows.counts(data.shape, include_pad=include_pad).astype(total.dtype)


def pool_norm(
    data: jax.Array, windows: Windows, form: WindowForm = PLAIN, *, power: int
) -> jax.Array:
    """``(sum x^p)^(1/p)`` of each window, with the sign that ``x^p`` has; gradient 0 at 0."""
    for axis in windows.axes(data.shape):
        covered = windows.covered(data.shape, axis)
        if not covered.all():  # else infinities between windows would have the gradient NaN
            data = jnp.where(covered, data, 0)
    total = pool_sum(data.astype(accumulator(data)) ** power, windows, form)
    if power == 1:
        return total
    somewhere = total != 0
    safe = jnp.where(somewhere, total, 1)
    return jnp.where(somewhere, jnp.sqrt(safe) if power == 2 else jnp.cbrt(safe), 0)


def pool(data: jax.Array, form: WindowForm = PLAIN, **attrs: Any) -> jax.Array:
    """`pooling` with any form of the largest and the sum."""
    require_floating(data, "Pooling")
    windows, kind, power = windows_of(data.shape, attrs), attrs["pool_type"], attrs["p_value"]
    if kind == "max":
        return form.largest(data, windows)
    if kind == "lp":
        expect(power in (1, 2, 3), "Pooling: p_value", power, "1, 2 or 3")
        return pool_norm(data, windows, form, power=power).astype(data.dtype)
    if kind == "sum":
        return pool_sum(data, windows, form).astype(data.dtype)
    include = attrs["count_include_pad"] is not False
    return pool_mean(data, windows, form, include_pad=include).astype(data.dtype)


def _count(size: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    """The number of windows along an axis."""
    if kernel > size + 2 * pad:
        raise ShapeError(
            f"Pooling: the kernel is {kernel} and the data has {size} with {pad} padded on each "
            "side; pad more, take a smaller kernel, or pool all of it: global_pool=True"
        )
    if convention == "same":
        return -(-size // stride)
    rounding = stride - 1 if convention == "full" else 0
    return 1 + (size + 2 * pad - kernel + rounding) // stride


def sizes_of(operator: str, attrs: Attrs) -> tuple[Shape, Shape, Shape]:
    """The kernel, stride and pad; the last two are not used with ``global_pool``."""
    kernel = attrs["kernel"]
    stride = pad = ()
    if not attrs["global_pool"]:
        channel_first(len(kernel), operator)
        # For one axis MXNet reads the first number of a longer stride or pad and ignores the rest.
        most = 1 if len(kernel) == 1 else None
        stride = per_axis(attrs["stride"][:most], kernel, 1, f"{operator}: stride")
        pad = per_axis(attrs["pad"][:most], kernel, 0, f"{operator}: pad")
    if min((*kernel, *stride), default=1) < 1:
        raise ParameterError(
            f"{operator}: got kernel {kernel}, stride {stride}, expected 1 or more"
        )
    not_negative = min(pad, default=0) >= 0
    expect(not_negative, f"{operator}: pad", pad, "0 or more; slice cuts cells off")
    return kernel, stride, pad


def windows_of(data: Shape, attrs: Attrs) -> Windows:
    """The windows that an operator's parameters put over data of a shape."""
    kernel, stride, pad = sizes_of("Pooling", attrs)
    if attrs["global_pool"] and (attrs.get("layout") or not kernel):
        kernel = (1,) * (len(data) - 2)
    layout = resolve(attrs.get("layout"), data, len(kernel), "Pooling")
    if attrs["global_pool"] and 0 in [data[axis] for axis in spatial_axes(layout)]:
        raise ShapeError(
            f"Pooling: got data of shape {data} with global_pool=True, expected a position"
        )
    if attrs["pooling_convention"] == "same" and (any(attrs["pad"]) or len(kernel) > 1):
        raise ParameterError(
            f"Pooling: pooling_convention: got 'same' with kernel {kernel} and pad {attrs['pad']}, "
            "expected one axis and no pad; use 'full' or 'valid'"
        )
    full = [list(data), [1] * len(data), [0] * len(data), [1] * len(data)]
    size, step, margin, count = full
    for i, axis in enumerate(spatial_axes(layout)):
        if attrs["global_pool"]:
            continue
        size[axis], step[axis], margin[axis] = kernel[i], stride[i], pad[i]
        count[axis] = _count(data[axis], kernel[i], stride[i], pad[i], attrs["pooling_convention"])
    for axis in (0, layout.index("C")):
        size[axis], count[axis] = 1, data[axis]
    return Windows(*map(tuple, full))


@dataclass(frozen=True, kw_only=True)
class PoolingSettings:
    """Parameters of pooling."""

    kernel: Shape = ()
    pool_type: Literal["max", "avg", "sum", "lp"] = "max"
    global_pool: bool = False
    cudnn_off: Inert[bool] = False
    pooling_convention: Literal["valid", "full", "same"] = "valid"
    stride: Shape = ()
    pad: Shape = ()
    p_value: int | None = None
    count_include_pad: bool | None = None
    layout: Literal["NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"] | None = None


def _channels_last(attrs: Attrs) -> Callable[..., Any] | None:
    """Global pooling with channels last; ``None`` for other pooling."""
    if not attrs["global_pool"] or attrs["layout"] not in (None, "NCHW"):
        return None
    return lambda data, **attrs: pool(data, **{**attrs, "layout": "NHWC"})


@op(
    "Pooling",
    precision="through",
    like=PoolingSettings,
    channels_last=_channels_last,
    fits=sizes_of,
)
def pooling(data: jax.Array, **given: Any) -> jax.Array:
    """The largest, mean, sum or norm of each window.

    Each spatial size becomes ``(size + 2 pad - kernel) / stride + 1``, rounded down with the
    convention ``valid`` and up with ``full``. With ``same``, for one spatial axis and no ``pad``,
    it becomes ``size / stride``, rounded up; windows end where the data does.

    Args:
        kernel: sizes of the window: (w,), (h, w) or (d, h, w).
        pool_type: what is taken of each window. ``max`` passes over NaN, and gives the gradient to
            the first of equal elements.
        global_pool: one window over all of space; ``kernel``, ``stride`` and ``pad`` are not used.
        pooling_convention: how sizes are rounded.
        cudnn_off: no effect.
        stride: steps, default 1 each.
        pad: padded positions on both sides, default 0 each. They are never the largest.
        p_value: the power of ``lp``: 1, 2 or 3.
        count_include_pad: whether padding counts in a mean; it does by default.
        layout: axes of the data, default channels first (NCW, NCHW, NCDHW).

    Shapes:
        data: (N, C, *space), or as ``layout`` says.
        returns: the same with other spatial sizes.

    Differs: a negative ``pad`` raises an error; MXNet 1.9.1 cuts off the border.
    """
    return pool(data, **vars(PoolingSettings(**given)))
