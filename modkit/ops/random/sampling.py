"""Random numbers, by parameters, of a like shape, or with tensors as parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError, ShapeError
from modkit.ops.array.creation import require_shape
from modkit.ops.elementwise.arithmetic import convert
from modkit.ops.entry import numbered
from modkit.ops.floating import require_floating
from modkit.ops.loops import while_loop
from modkit.ops.parameters import Attrs, Device, Shape, Traced
from modkit.ops.partial_shapes import Rule, Sizes, common
from modkit.ops.random.distributions import DISTRIBUTIONS, Distribution, working
from modkit.ops.registry import op
from modkit.ops.schema import with_schema

FloatType = Literal["float16", "float32", "float64"] | None
"""Element types of the distributions' samples; ``None`` is float32."""


def _sample_types(ins: Sequence[str | None], attrs: Attrs) -> Any:
    known = next((t for t in ins if t), None)
    return [known] * len(ins), [attrs["dtype"] or "float32"]


def _sample_shapes(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    extra, given, made = attrs["shape"] or (), [*ins], outs[0]
    if made is not None and len(made) >= len(extra):
        given.append(made[: len(made) - len(extra)])
    whole = common("parameters", given)
    return [whole] * len(ins), [made if whole is None else (*whole, *extra)]


def _register(dist: Distribution) -> None:
    numbers = {n: (int if isinstance(d, int) else Traced, d) for n, d in dist.params.items()}
    kind = {"dtype": (FloatType, None)}
    place = {"shape": (Shape | None, None), "ctx": (Device, "")}
    more = {"shape": (Shape | None, ()), **kind}

    def by_number(*, key: Any, shape: Shape | None, dtype: str | None, **given: Any) -> Any:
        where = require_shape(f"_random_{dist.name}", shape)
        return dist.sample(key, where, dtype or "float32", [given[n] for n in dist.params])

    def like(*, key: Any, data: Any, **given: Any) -> Any:
        require_floating(data, f"_random_{dist.name}_like")
        return dist.sample(key, data.shape, data.dtype, [given[n] for n in dist.params])

    def by_tensor(*, key: Any, shape: Shape | None, dtype: str | None, **given: Any) -> Any:
        tensors = [given[n] for n in dist.tensors]
        if len({t.shape for t in tensors}) > 1:
            raise ShapeError(
                f"_sample_{dist.name}: got parameters of shapes "
                f"{', '.join(str(t.shape) for t in tensors)}, expected one shape"
            )
        extra = shape or ()
        if min(extra, default=1) < 0:
            raise ShapeError(f"_sample_{dist.name}: shape: got {extra}, expected sizes above 0")
        wide = [t.astype(working(t.dtype)).reshape(t.shape + (1,) * len(extra)) for t in tensors]
        return dist.sample(key, tensors[0].shape + extra, dtype or "float32", wide)

    def check(arrays: Sequence[Any], attrs: Attrs) -> None:
        dist.check(*[attrs[n] for n in dist.params])

    name = f"_random_{dist.name}"
    doc = f"{dist.doc}\n\nShapes:\n    returns: "
    public = (f"random_{dist.name}", *dist.aliases)
    kinds = {"precision": "float32", "drawn_on_host": True}
    op(name, aliases=public, dtypes=_sample_types, check_values=check, **kinds)(
        with_schema(by_number, name, doc + "``shape``.", (), {**numbers, **place, **kind})
    )
    op(f"{name}_like", same_shape=True, check_values=check, **kinds)(
        with_schema(like, f"{name}_like", doc + "that of ``data``.", ("data",), numbers)
    )
    name = f"_sample_{dist.name}"
    text = doc + "that of the parameters, followed by ``shape``."

    public = (f"sample_{dist.name}",)
    op(name, aliases=public, partial=_sample_shapes, dtypes=_sample_types, **kinds)(
        with_schema(by_tensor, name, text, dist.tensors, more)
    )


for _distribution in DISTRIBUTIONS.values():
    _register(_distribution)


def _check_randint(arrays: Sequence[Any], attrs: Attrs) -> None:
    low, high = attrs["low"], attrs["high"]
    if low >= high:
        raise ParameterError(f"random randint: got low={low}, high={high}, expected low < high")


@op(
    "_random_randint",
    precision="float32",
    aliases=("random_randint",),
    drawn_on_host=True,
    dtypes=lambda ins, attrs: (list(ins), [attrs["dtype"] or "int32"]),
    check_values=_check_randint,
)
def _random_randint(
    *,
    key: Any,
    low: int,
    high: int,
    shape: Shape | None = None,
    ctx: Device = "",
    dtype: Literal["int32", "int64"] | None = None,
) -> Any:
    """Uniformly distributed whole numbers from ``low`` up to, not including, ``high``.

    Shapes:
        returns: ``shape``.
    """
    where = require_shape("_random_randint", shape)
    kind, span = jnp.dtype(dtype or "int32"), max(high - low, 0)
    if isinstance(key, np.random.Generator):
        return key.integers(low, high, where).astype(kind)
    if span > 1 << 16:
        return jax.random.randint(key, where, low, high, kind)
    # A number of 32 bits times the span, over 2 to the 32nd: one draw, where `randint` makes four.
    words = jax.random.bits(key, where, jnp.uint32)
    upper, lower = (words >> 16) * np.uint32(span), (words & 0xFFFF) * np.uint32(span)
    return low + ((upper + (lower >> 16)) >> 16).astype(kind)


@op(
    "_sample_multinomial",
    precision="float32",
    aliases=("sample_multinomial",),
    outputs=lambda attrs: numbered(1 + attrs["get_prob"]),
    dtypes=lambda ins, attrs: (list(ins), [attrs["dtype"], ins[0]][: 1 + attrs["get_prob"]]),
)
def _sample_multinomial(
    data: Any,
    *,
    key: Any,
    shape: Shape | None = (),
    get_prob: bool = False,
    dtype: Literal["uint8", "int32", "float16", "float32", "float64"] = "int32",
) -> Any:
    """Indices drawn with the probabilities in the last dimension of ``data``.

    With ``get_prob`` also the logarithms of the probabilities of what was drawn, through which
    gradients flow to ``data``.

    Shapes:
        data: (..., K), rows that sum to 1.
        returns: (..., *shape); (1,) where nothing would be left.
    """
    batch, shape = data.shape[:-1], shape or ()
    weights = jnp.log(jax.lax.stop_gradient(data).astype(jnp.float32))
    drawn = jax.random.categorical(key, weights, shape=(*shape, *batch))
    drawn = jnp.moveaxis(drawn, range(len(shape)), range(len(batch), len(batch) + len(shape)))
    places = drawn.reshape(*batch, -1).astype(jnp.int32)
    result = (*batch, *shape) or (1,)
    indices = convert(places, dtype).reshape(result)
    if not get_prob:
        return indices
    return indices, jnp.log(jnp.take_along_axis(data, places, -1)).reshape(result)


@op(
    "_sample_unique_zipfian",
    precision="float32",
    outputs=("output0", "output1"),
    dtypes=lambda ins, attrs: (list(ins), ["int64", "int64"]),
)
def _sample_unique_zipfian(*, key: Any, range_max: int, shape: Shape = ()) -> Any:
    """Classes drawn with probabilities that fall as 1/k, each once a row, and the draws for a row.

    Class k of ``range_max`` has the probability log((k + 2) / (k + 1)) / log(range_max + 1).

    Shapes:
        output0: ``shape``, which is (N, K).
        output1: (N,).
    """
    rows, count = shape if len(shape) == 2 else (0, 0)
    if not (rows > 0 and 0 < count <= range_max):
        raise ShapeError(
            f"_sample_unique_zipfian: got shape {shape}, range_max={range_max}, expected two sizes "
            "above 0, the second of up to range_max"
        )
    row, place = jnp.arange(rows)[:, None], jnp.arange(count)

    def draw(state: Any) -> Any:
        key, found, seen, filled, trials = state
        key, now = jax.random.split(key)
        wide = jax.random.uniform(now, (rows, count), float) * math.log(range_max + 1)
        drawn = jnp.minimum(jnp.floor(jnp.exp(wide)).astype(int) - 1, range_max - 1)
        first = jnp.full(seen.shape, count).at[row, drawn].min(place)
        new = ~seen[row, drawn] & (first[row, drawn] == place)
        after = filled[:, None] + new.cumsum(1)
        target = jnp.where(new, after - 1, count)  # places beyond the last are dropped
        return (
            key,
            found.at[row, target].set(drawn, mode="drop"),
            seen.at[row, drawn].set(True),
            jnp.minimum(after[:, -1], count),
            trials + (after - new < count).sum(1),
        )

    start = (
        key,
        jnp.zeros(shape, int),
        jnp.zeros((rows, range_max), bool),
        jnp.zeros(rows, int),
        jnp.zeros(rows, int),
    )
    _, found, _, _, trials = while_loop(lambda state: (state[3] < count).any(), draw, start)
    return convert(found, "int64"), convert(trials, "int64")


@op("_shuffle", precision="float32", aliases=("shuffle",), same_shape=True, gradient="refused")
def _shuffle(data: Any, *, key: Any) -> Any:
    """The rows of ``data``, along its first dimension, in random order."""
    return jax.random.permutation(key, data, axis=0)
