"""Pooling over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import NotSupportedError, ParameterError, ShapeError
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.layout import per_axis, resolve, spatial_axes
from modkit.ops.registry import Shape, op

Convention = Literal["valid", "full", "same"]


class Windows(NamedTuple):
    """Where the windows are: for each axis of the data, batch and channels too."""

    size: Shape
    stride: Shape
    pad: Shape
    number: Shape

    def margins(self, data: Shape) -> list[tuple[int, int]]:
        """Cells to add at both ends of each axis so that every window is inside."""
        each = zip(data, self.size, self.stride, self.pad, self.number, strict=True)
        return [(p, max((n - 1) * s + k - length - p, 0)) for length, k, s, p, n in each]

    def some_empty(self, data: Shape) -> bool:
        """Whether a window has nothing but padding."""
        each = zip(data, *self, strict=True)
        return any(k <= p or (n - 1) * s - p >= length for length, k, s, p, n in each)

    def cells(self, data: Shape, *, include_pad: bool) -> np.ndarray:
        """How many cells each window has, 1 where it has none; broadcasts to the output.

        Padding counts with ``include_pad``, but nothing beyond it does.
        """
        counts = np.ones((1,) * len(data), np.int64)
        for axis, (length, k, s, p, n) in enumerate(zip(data, *self, strict=True)):
            if (k, s, p) == (1, 1, 0):
                continue  # samples and channels: the constant must not grow with them
            starts = np.arange(n) * s - p
            ends = np.minimum(starts + k, length + p if include_pad else length)
            inside = ends - (starts if include_pad else np.maximum(starts, 0))
            sizes = [1] * len(data)
            sizes[axis] = n
            counts = counts * np.maximum(inside, 0).reshape(sizes)
        return np.maximum(counts, 1)


# ── The lowerings ───────────────────────────────────────────────────────────────────────────


def pool_max(data: jax.Array, windows: Windows) -> jax.Array:
    """The largest of each window. Of equal ones the first has the gradient."""
    low = lowest(data)
    margins = windows.margins(data.shape)
    largest = lax.reduce_window(data, low, lax.max, windows.size, windows.stride, margins)
    if windows.some_empty(data.shape):
        largest = jnp.maximum(largest, jnp.finfo(data.dtype).min)
    return largest


def lowest(data: jax.Array) -> Any:
    """What a search for the largest starts from."""
    return data.dtype.type(-np.inf)


def pool_sum(data: jax.Array, windows: Windows) -> jax.Array:
    """The sum of each window, in float32 at least."""
    wide = data.astype(accumulator(data))
    if windows.size == data.shape and not any(windows.pad):
        return wide.sum(tuple(i for i, k in enumerate(windows.size) if k > 1), keepdims=True)
    margins = windows.margins(data.shape)
    zero = wide.dtype.type(0)
    return lax.reduce_window(wide, zero, lax.add, windows.size, windows.stride, margins)


def pool_mean(data: jax.Array, windows: Windows, *, include_pad: bool) -> jax.Array:
    """The mean of each window."""
    total = pool_sum(data, windows)
    return total / windows.cells(data.shape, include_pad=include_pad).astype(total.dtype)


def pool_norm(data: jax.Array, windows: Windows, power: int) -> jax.Array:
    """``(sum x^p)^(1/p)`` of each window, with the sign that ``x^p`` has; gradient 0 at 0."""
    total = pool_sum(data**power, windows)
    if power == 1:
        return total
    somewhere = total != 0
    safe = jnp.where(somewhere, total, 1)
    return jnp.where(somewhere, jnp.sqrt(safe) if power == 2 else jnp.cbrt(safe), 0)


# ── Pooling ─────────────────────────────────────────────────────────────────────────────────


def _count(size: int, kernel: int, stride: int, pad: int, convention: str) -> int:
    """How many windows an axis has."""
    if kernel > size + 2 * pad:
        raise ShapeError(
            f"Pooling: the kernel is {kernel} and the data has {size} with {pad} padded on each "
            "side; pad more, take a smaller kernel, or pool all of it: global_pool=True"
        )
    rounding = stride - 1 if convention == "full" else 0
    return 1 + (size + 2 * pad - kernel + rounding) // stride


def windows_of(data: Shape, attrs: Mapping[str, Any]) -> Windows:
    """The windows that an operator's parameters put over data of a shape."""
    kernel = attrs["kernel"]
    if attrs["global_pool"]:
        kernel = kernel or (1,) * (len(data) - 2)
    layout = resolve(attrs.get("layout"), data, len(kernel), "Pooling")
    stride = per_axis(attrs["stride"], kernel, 1, "Pooling: stride")
    pad = per_axis(attrs["pad"], kernel, 0, "Pooling: pad")
    if attrs["pooling_convention"] == "same":
        raise NotSupportedError(
            "Pooling: pooling_convention='same' fails in MXNet 1.9.1 whatever the data is, so it "
            "has no meaning to follow; use 'full' or 'valid' with pad"
        )
    if min((*kernel, *stride), default=1) < 1:
        raise ParameterError(f"Pooling: got kernel {kernel}, stride {stride}, expected 1 or more")
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


@op("Pooling", inert={"cudnn_off": (bool, False)})
def pooling(
    data: jax.Array,
    *,
    kernel: Shape = (),
    pool_type: Literal["max", "avg", "sum", "lp"] = "max",
    global_pool: bool = False,
    pooling_convention: Convention = "valid",
    stride: Shape = (),
    pad: Shape = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal["NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"] | None = None,
) -> jax.Array:
    """The largest, mean, sum or norm of each window.

    Each spatial size becomes ``(size + 2 pad - kernel) / stride + 1``, rounded down with the
    convention ``valid`` and up with ``full``.

    Args:
        data: the input.
        kernel: sizes of the window: (w,), (h, w) or (d, h, w).
        pool_type: what is taken of each window.
        global_pool: one window over all of space; ``kernel``, ``stride`` and ``pad`` are not used.
        pooling_convention: how sizes are rounded.
        stride: steps, default 1 each.
        pad: cells on both sides, default 0 each. They are never the largest.
        p_value: the power of ``lp``: 1, 2 or 3.
        count_include_pad: whether padding counts in a mean; it does by default.
        layout: axes of the data, default channels first (NCW, NCHW, NCDHW).

    Shapes:
        data: (N, C, *space), or as ``layout`` says.
        returns: the same with other spatial sizes.

    Differs: a NaN in a window is its largest; MXNet passes over it.
    """
    require_floating(data, "Pooling")
    windows = windows_of(
        data.shape,
        {
            "kernel": kernel,
            "global_pool": global_pool,
            "pooling_convention": pooling_convention,
            "stride": stride,
            "pad": pad,
            "layout": layout,
        },
    )
    if pool_type == "max":
        return pool_max(data, windows)
    if pool_type == "lp":
        if p_value not in (1, 2, 3):
            raise ParameterError(f"Pooling: p_value: got {p_value}, expected 1, 2 or 3")
        return pool_norm(data, windows, p_value).astype(data.dtype)
    if pool_type == "sum":
        return pool_sum(data, windows).astype(data.dtype)
    include = count_include_pad is not False
    return pool_mean(data, windows, include_pad=include).astype(data.dtype)
