"""Arguments of a store's methods: one key or a list, one value or several for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.errors import ParameterError, wrong
from modkit.ndarray import NDArray


def pairs(what: str, key: Any, value: Any) -> list[tuple[int | str, list[NDArray]]]:
    """Each key with its values, equal keys joined, in the order of their first appearance.

    Args:
        what: name of the method, for errors.
        key: a key, or a list of keys.
        value: an array or a list of arrays; for a list of keys, one of these for each key.

    Raises:
        ParameterError: a key is neither an integer nor a string, both types are mixed, or values
            are no NDArrays, or not as many as keys.
    """
    if not isinstance(key, list | tuple):
        return [(_checked(what, key), _values(what, key, value))]
    keys = [_checked(what, k) for k in key]
    if len({type(k) for k in keys}) > 1:
        raise ParameterError(f"{what}: got integer and string keys together: {list(key)!r}")
    if not isinstance(value, list | tuple) or len(value) != len(keys):
        got = f"{len(value)} values" if isinstance(value, list | tuple) else type(value).__name__
        raise ParameterError(f"{what}: got {got} for {len(keys)} keys, expected a value for each")
    joined: dict[int | str, list[NDArray]] = {}
    for k, v in zip(keys, value, strict=True):
        joined.setdefault(k, []).extend(_values(what, k, v))
    return list(joined.items())


def _checked(what: str, key: Any) -> int | str:
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise ParameterError(
            f"{what}: got key {key!r} of type {type(key).__name__}, expected an integer or a string"
        )
    return key


def _values(what: str, key: Any, value: Any) -> list[NDArray]:
    values: Sequence[Any] = value if isinstance(value, list | tuple) else [value]
    for each in values:
        if not isinstance(each, NDArray):
            raise wrong(f"{what}: key {key!r}", type(each), "an NDArray or a list of them")
    if not values:
        raise ParameterError(f"{what}: key {key!r}: got an empty list, expected an NDArray in it")
    return list(values)
