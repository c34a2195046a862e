"""The same values with another gradient, type or filling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.ops.arithmetic import convert, is_whole
from modkit.ops.registry import DType, op, unary

unary("_copy", jnp.asarray, "the array itself", aliases=("identity",))
unary(
    "BlockGrad",
    jax.lax.stop_gradient,
    "the array itself, through which no gradient flows back",
    aliases=("stop_gradient", "_sparse_stop_gradient"),
    loss=True,
)
unary(
    "zeros_like",
    jnp.zeros_like,
    "zeros of the shape and type of ``data``",
    aliases=("_sparse_zeros_like",),
)
unary("ones_like", jnp.ones_like, "ones of the shape and type of ``data``")


@jax.custom_vjp
def _loss(data: Any) -> Any:
    return data


def _loss_forward(data: Any) -> Any:
    return data, data


def _loss_backward(data: Any, head: Any) -> Any:
    del head  # this layer is the loss
    return (jnp.ones_like(data),)


_loss.defvjp(_loss_forward, _loss_backward)


@op("make_loss", aliases=("_sparse_make_loss",), outputs=("loss",), same_shape=True, loss=True)
def make_loss(data: Any) -> Any:
    """``data`` as a loss to be minimised: its gradient is 1, whatever follows it."""
    return data if is_whole(data.dtype) else _loss(data)


@op("Cast", aliases=("cast",), same_shape=True, elementwise=True)
def cast(data: Any, *, dtype: DType) -> Any:
    """``data`` as another element type; fractions are cut off towards zero.

    Differs: no gradient flows through whole numbers. MXNet passes it on as if there were none.
    """
    return convert(data, dtype)


def _amp_cast_types(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    known = ins[0]
    whole = known is not None and is_whole(jnp.dtype(known))
    return [known], [known if whole or known is None else attrs["dtype"]]


@op("amp_cast", same_shape=True, elementwise=True, dtypes=_amp_cast_types)
def amp_cast(data: Any, *, dtype: DType) -> Any:
    """Floating-point ``data`` as another element type; whole numbers stay as they are."""
    return data if is_whole(data.dtype) else convert(data, dtype)


_WIDTHS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}


def _multicast_type(types: Sequence[str], narrow: bool) -> str | None:
    floats = [t for t in types if t in _WIDTHS]
    choose = min if narrow else max
    return choose(floats, key=_WIDTHS.__getitem__) if floats else None


def _multicast_types(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    if None in ins:
        return list(ins), [None] * len(ins)
    common = _multicast_type([t for t in ins if t], attrs["cast_narrow"])
    return list(ins), [common if t in _WIDTHS else t for t in ins]


def _multicast_names(attrs: Mapping[str, Any]) -> Sequence[str]:
    count = int(attrs["num_outputs"])
    return [f"output{i}" for i in range(count)] if count > 1 else ["output"]


@op("amp_multicast", variadic="num_outputs", outputs=_multicast_names, dtypes=_multicast_types)
def amp_multicast(*data: Any, cast_narrow: bool = False) -> Any:
    """All floating-point inputs as one type: the widest among them, or the narrowest."""
    common = _multicast_type([str(x.dtype) for x in data], cast_narrow)
    return tuple(x if is_whole(x.dtype) else convert(x, common) for x in data)


def _int64(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    del attrs
    return list(ins), ["int64"]


@op("shape_array", dtypes=_int64)
def shape_array(data: Any) -> Any:
    """The shape of ``data``, as an array of int64."""
    return jnp.array(data.shape, jnp.int64)


@op("size_array", dtypes=_int64)
def size_array(data: Any) -> Any:
    """The number of elements of ``data``, as an array of one int64."""
    return jnp.array([data.size], jnp.int64)
