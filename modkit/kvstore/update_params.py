"""Steps of training loops around a KVStore, as programs of MXNet's first releases call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.ndarray import NDArray

Arrays = Sequence[Sequence[NDArray | None]]
"""Arrays by parameter and device."""


def _trained(params: Arrays, grads: Arrays) -> list[tuple[int, Any, Any]]:
    """Index, arrays and gradients of the parameters that have gradients."""
    pairs = enumerate(zip(params, grads, strict=True))
    return [(at, param, grad) for at, (param, grad) in pairs if grad[0] is not None]


def initialize_kvstore(
    kvstore: Any,
    param_arrays: Arrays,
    arg_params: Mapping[str, NDArray],
    param_names: Sequence[str],
    update_on_kvstore: bool,
) -> None:
    """Initialise the keys of all parameters; with ``update_on_kvstore`` pull them, too."""
    for at, (name, arrays) in enumerate(zip(param_names, param_arrays, strict=True)):
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, arrays, priority=-at)


def update_params_on_kvstore(
    param_arrays: Arrays, grad_arrays: Arrays, kvstore: Any, param_names: Sequence[str]
) -> None:
    """Push gradients to a store that updates, and pull the parameters."""
    for at, arrays, grads in _trained(param_arrays, grad_arrays):
        kvstore.push(param_names[at], list(grads), priority=-at)
        kvstore.pull(param_names[at], list(arrays), priority=-at)


def update_params(
    param_arrays: Arrays,
    grad_arrays: Arrays,
    updater: Callable[[int, Any, Any], Any],
    num_device: int,
    kvstore: Any = None,
    param_names: Sequence[str] | None = None,
) -> None:
    """Sum gradients by a store, if there is one, and update each device's parameters.

    It calls ``updater(index, gradient, parameter)``; the index is that of the parameter times
    ``num_device`` plus that of the device. Keys of the store are names, by default the indices.
    """
    for at, arrays, grads in _trained(param_arrays, grad_arrays):
        if kvstore is not None:
            key = at if param_names is None else param_names[at]
            kvstore.push(key, list(grads), priority=-at)
            kvstore.pull(key, list(grads), priority=-at)
        for device, (array, grad) in enumerate(zip(arrays, grads, strict=True)):
            updater(at * num_device + device, grad, array)
