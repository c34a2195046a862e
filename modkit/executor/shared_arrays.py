"""Arrays that an executor shares: with another executor, or through a buffer by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from modkit.context import Context
from modkit.errors import ParameterError, ShapeError
from modkit.executor.executor import Executor, first_elements
from modkit.ndarray.creation import zeros
from modkit.ndarray.ndarray import NDArray
from modkit.ops.dtypes import dtype_name
from modkit.ops.stype import DENSE


class SharedArrays:
    """Arrays for ``simple_bind``: a shared executor's, a shared buffer's, or new ones.

    As in MXNet 1.9.1, nothing is shared without a buffer. With one, the arguments that
    ``names`` lists and all auxiliary states are the shared executor's; the other dense arguments
    and gradients (``"grad of NAME"``) are the buffer's, which grows as they need.
    """

    def __init__(
        self,
        places: Mapping[str, Context],
        names: Sequence[str] | None,
        shared: Executor | None,
        buffer: MutableMapping[str, NDArray] | None,
    ):
        self._places, self._names = places, frozenset(names or ())
        self._shared = None if buffer is None else shared
        self._buffer = buffer

    def argument(self, name: str, aval: Any, stype: str) -> NDArray:
        """The array of an argument."""
        if name in self._names:
            return self._from_executor("arg_dict", name, aval, stype)
        return self._from_buffer(name, name, aval, stype)

    def gradient(self, name: str, aval: Any, stype: str) -> NDArray:
        """The array of an argument's gradient."""
        if name in self._names:
            return self._from_executor("grad_dict", name, aval, stype)
        return self._from_buffer(f"grad of {name}", name, aval, stype)

    def auxiliary(self, name: str, aval: Any) -> NDArray:
        """The array of an auxiliary state."""
        return self._from_executor("aux_dict", name, aval, DENSE)

    def _from_executor(self, kind: str, name: str, aval: Any, stype: str) -> NDArray:
        shape, dtype = aval.shape, dtype_name(aval.dtype)
        if self._shared is None:
            return zeros(shape, self._places[name], dtype, stype)
        arrays: Mapping[str, NDArray | None] = getattr(self._shared, kind)
        found = arrays.get(name)
        if found is None:
            held = ", ".join(n for n, a in arrays.items() if a is not None) or "nothing"
            raise ParameterError(
                f"simple_bind: {name!r} is to be shared, but {kind} of shared_exec holds {held}; "
                "take it out of shared_arg_names, or bind shared_exec with it"
            )
        got = (found.shape, dtype_name(found.dtype), found.stype)
        if got != (shape, dtype, stype):
            raise ShapeError(
                f"simple_bind: {name!r} is to be shared: {kind} of shared_exec has {got}, expected "
                f"{(shape, dtype, stype)} (shape, dtype, storage)"
            )
        return found

    def _from_buffer(self, key: str, name: str, aval: Any, stype: str) -> NDArray:
        shape, dtype = aval.shape, dtype_name(aval.dtype)
        if self._buffer is None or stype != DENSE:
            return zeros(shape, self._places[name], dtype, stype)
        found = self._buffer.get(key)
        if found is not None and dtype_name(found.dtype) != dtype:
            raise ParameterError(
                f"simple_bind: shared_buffer[{key!r}]: got {dtype_name(found.dtype)}, expected "
                f"{dtype}; take the entry out, or name this type in type_dict"
            )
        if found is None or found.size < math.prod(shape):
            found = self._buffer[key] = zeros(shape, self._places[name], dtype)
        return first_elements(found, shape)
