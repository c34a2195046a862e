"""``mx.nd.Custom``: a user's operator, called on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from modkit.context import current_context
from modkit.errors import ParameterError
from modkit.ndarray.ndarray import NDArray, require_array
from modkit.ndarray.tape import Host, depends, modes, put, tracked, uses_of
from modkit.ndarray.tape_gradients import kept_value
from modkit.ops.custom import Bridge
from modkit.ops.registry import get_op
from modkit.ops.stype import DENSE


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
        ParameterError: an array is missing, or one too many; one is of another storage type than
            the operator infers.
        ShapeError: an array has another shape than the operator infers.
    """
    named = {n: kwargs.pop(n) for n in list(kwargs) if isinstance(kwargs[n], NDArray)}
    parsed: Bridge = get_op("Custom").parse(kwargs)["bridge"]
    names = [*parsed.arguments, *parsed.aux]
    given = {**dict(zip(names, args, strict=False)), **named}
    if len(args) + len(named) != len(names) or set(given) != set(names):
        raise ParameterError(
            f"Custom: got {len(args)} arrays by position and {list(named)} by name, expected "
            f"{', '.join(names)}"
        )
    for each in names:
        require_array(f"Custom: {each!r}", given[each])
    arrays = [given[n] for n in names]
    return run_custom(parsed.own("", [each.stype for each in arrays]), arrays, out)


def run_custom(bridge: Bridge, arrays: Sequence[NDArray], out: Any = None) -> Any:
    """Run a user's operator, with the instance that ``bridge`` keeps. See `Custom`."""
    bridge.require_fit([each.shape for each in arrays])
    count = len(bridge.arguments)
    ctx = arrays[0].context if arrays else current_context()
    inputs, states = arrays[:count], arrays[count:]
    data = list(map(_host_copy, inputs))
    results, aux = bridge.forward(0, modes.training, data, list(map(_host_copy, states)))
    _write(aux, states)
    if out is None:
        made = [each.as_in_context(ctx) for each in results]
    else:
        made = list(out) if isinstance(out, list | tuple) else [out]
        for target, value in zip(made, results, strict=True):
            target[:] = _host_copy(value)
    if tracked(inputs):
        _record(bridge, inputs, states, data, made, list(map(_host_copy, results)))
    if out is not None:
        return out
    return made[0] if len(made) == 1 else made


def _host_copy(array: NDArray) -> Any:
    """A copy of the present value, in NumPy where it is dense."""
    return array.asnumpy() if array.stype == DENSE else array.detach()


def _write(values: Sequence[Any], into: Sequence[NDArray]) -> None:
    for value, target in zip(values, into, strict=True):
        target._assign(_host_copy(value))


def _record(
    bridge: Bridge,
    inputs: Sequence[NDArray],
    states: Sequence[NDArray],
    data: Sequence[Any],
    made: Sequence[NDArray],
    outputs: Sequence[Any],
) -> None:
    ctx, wanted = made[0].context, [depends(each) for each in inputs]

    def pull(heads: Sequence[jax.Array]) -> Sequence[jax.Array]:
        host = [np.asarray(head) for head in heads]
        grads, aux = bridge.backward(0, wanted, host, data, outputs, list(map(_host_copy, states)))
        _write(aux, states)
        return [kept_value(grad.as_in_context(ctx)) for grad in grads]

    uses = uses_of(inputs, list(map(kept_value, inputs)))
    put(Host("Custom", list(map(kept_value, made)), pull, uses, ctx), made)
