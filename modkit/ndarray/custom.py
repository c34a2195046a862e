"""``mx.nd.Custom``: a user's operator, called on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from modkit.errors import ParameterError
from modkit.ndarray.ndarray import NDArray, array
from modkit.ndarray.tape import Host, depends, modes, put, tracked, uses_of
from modkit.ops.custom import Bridge
from modkit.ops.registry import get_op


def Custom(*args: NDArray, out: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """Call a registered operator on arrays.

    While `modkit.autograd` records, its gradient is computed by the operator's ``backward``.

    Args:
        *args: arguments, then auxiliary states.
        out: an NDArray, or a list of them, to write to.
        name: Ignored: eager calls have no names.
        **kwargs: ``op_type``, the operator's parameters, and arrays by name.

    Raises:
        NameNotFoundError: no such operator is registered.
        ParameterError: an array is missing, or one too many; one is sparse.
        ShapeError: an array has another shape than the operator infers.
    """
    del name
    named = {n: kwargs.pop(n) for n in list(kwargs) if isinstance(kwargs[n], NDArray)}
    bridge: Bridge = get_op("Custom").parse(kwargs)["bridge"].own("")
    names = [*bridge.arguments, *bridge.aux]
    given = {**dict(zip(names, args, strict=False)), **named}
    if len(args) + len(named) != len(names) or set(given) != set(names):
        raise ParameterError(
            f"Custom: got {len(args)} arrays by position and {list(named)} by name, expected "
            f"{', '.join(names)}"
        )
    count = len(bridge.arguments)
    bridge.require_fit(*zip(*((given[n].shape, given[n].stype) for n in names), strict=True))
    arrays = [given[n].asnumpy() for n in names]
    outputs, aux = bridge.forward(0, modes.training, arrays[:count], arrays[count:])
    for state, value in zip(names[count:], aux, strict=True):
        given[state]._assign(value)
    ctx = given[names[0]].context
    if out is None:
        made = [array(o, ctx, dtype=o.dtype) for o in outputs]
    else:
        made = list(out) if isinstance(out, list | tuple) else [out]
        for target, value in zip(made, outputs, strict=True):
            target[:] = value
    inputs = [given[n] for n in names[:count]]
    if tracked(inputs):
        _record(bridge, inputs, [given[n] for n in names[count:]], arrays[:count], made, outputs)
    if out is not None:
        return out
    return made[0] if len(made) == 1 else made


def _record(
    bridge: Bridge,
    inputs: Sequence[NDArray],
    states: Sequence[NDArray],
    arrays: list[np.ndarray],
    made: Sequence[NDArray],
    outputs: list[np.ndarray],
) -> None:
    ctx, wanted = made[0].context, [depends(each) for each in inputs]

    def pull(heads: Sequence[jax.Array]) -> Sequence[jax.Array]:
        host = [np.asarray(head) for head in heads]
        aux = [state.asnumpy() for state in states]
        grads, aux = bridge.backward(0, wanted, host, arrays, outputs, aux)
        for state, value in zip(states, aux, strict=True):
            state._assign(value)
        return [array(grad, ctx, dtype=grad.dtype)._cell.get() for grad in grads]

    uses = uses_of(inputs, [each._cell.get() for each in inputs])
    put(Host("Custom", [each._cell.get() for each in made], pull, uses, ctx), made)
