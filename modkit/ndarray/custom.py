"""``mx.nd.Custom``: a user's operator, called on arrays."""

from __future__ import annotations

from typing import Any

from modkit.errors import ParameterError
from modkit.ndarray.ndarray import NDArray, array
from modkit.ops.custom import Bridge
from modkit.ops.registry import get_op


def Custom(*args: NDArray, out: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """Call a registered operator on arrays, outside of training.

    Args:
        *args: arguments, then auxiliary states.
        out: an NDArray, or a list of them, to write to.
        name: taken for MXNet's sake.
        **kwargs: ``op_type``, the operator's parameters, and arrays by name.

    Raises:
        NameNotFoundError: no such operator is registered.
        ParameterError: an array is missing, or one too many.
    """
    del name
    named = {n: kwargs.pop(n) for n in list(kwargs) if isinstance(kwargs[n], NDArray)}
    bridge: Bridge = get_op("Custom").parse(kwargs)["bridge"]
    names = [*bridge.arguments, *bridge.aux]
    given = {**dict(zip(names, args, strict=False)), **named}
    if len(args) + len(named) != len(names) or set(given) != set(names):
        raise ParameterError(
            f"Custom: got {len(args)} arrays by position and {list(named)} by name, expected "
            f"{', '.join(names)}"
        )
    count = len(bridge.arguments)
    arrays = [given[n].asnumpy() for n in names]
    outputs, aux = bridge.forward(False, arrays[:count], arrays[count:])
    for state, value in zip(names[count:], aux, strict=True):
        given[state][:] = value
    if out is not None:
        targets = out if isinstance(out, list | tuple) else [out]
        for target, value in zip(targets, outputs, strict=True):
            target[:] = value
        return out
    made = [array(o, given[names[0]].context, dtype=o.dtype) for o in outputs]
    return made[0] if len(made) == 1 else made
