"""Gradients through whole numbers in a graph: the nodes that they pass, and what these return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from modkit.ops.elementwise.arithmetic import is_whole
from modkit.ops.elementwise.cast import cast_through
from modkit.ops.integer_gradients import CASTS, Whole, cast, outputs
from modkit.symbol.layout import Value
from modkit.symbol.node_call import NodeCall

Invoke = Callable[[list[jax.Array]], tuple[tuple[jax.Array, ...], dict[str, jax.Array]]]
"""A function from the inputs of a node to its outputs and the new values of its states."""


def value_of(array: Any) -> Value:
    """The value of an array, or of a `Whole`."""
    return Value(array.value, twin=array.twin) if isinstance(array, Whole) else Value(array)


def joined_casts(call: NodeCall, before: Sequence[NodeCall]) -> NodeCall:
    """A cast of casts to whole numbers reads what those read, which gives it a gradient."""
    if call.op is None or call.op.name != "Cast":
        return call
    under = before[call.inputs[0][0]]
    if under.op is None or under.op.fn not in (call.op.fn, cast_through):
        return call
    through = (*under.attrs.get("through", ()), under.attrs["dtype"])
    if under.group != call.group or not any(is_whole(jnp.dtype(t)) for t in through):
        return call
    # The name makes casts through other types unequal where segments are compared.
    own = replace(call.op, name=f"Cast through {', '.join(through)}", fn=cast_through)
    return call._replace(op=own, attrs={**call.attrs, "through": through}, inputs=under.inputs)


def is_passed(call: NodeCall, inputs: Sequence[Value]) -> bool:
    """Whether a node that has a gradient reads or makes whole numbers which it passes through."""
    op = call.operator
    if op.on_host or op.aux or call.attrs.get("bodies"):
        return False
    if op.gradient == "refused":  # whole numbers refuse a gradient too
        return True
    casts = op.name in CASTS or op.fn is cast_through
    return (casts and is_whole(jnp.dtype(call.attrs["dtype"]))) or any(
        value.twin is not None for value in inputs
    )


def results(
    call: NodeCall,
    attrs: Mapping[str, Any],
    arrays: Sequence[jax.Array],
    inputs: Sequence[Value],
    invoke: Invoke,
) -> tuple[Value, ...]:
    """The results of a node that `is_passed`, values with twins; ``arrays`` are those it reads."""
    op = call.operator
    read = [
        x if value.twin is None else Whole(x, value.twin)
        for x, value in zip(arrays, inputs, strict=True)
    ]
    if op.fn is cast_through:
        return (value_of(cast(read[0], (*attrs["through"], attrs["dtype"]))),)
    return tuple(map(value_of, outputs(lambda xs: invoke(xs)[0], read, op.name)))
