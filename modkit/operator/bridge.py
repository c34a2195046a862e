"""`PropBridge`: calls of a custom operator from compiled programs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from modkit import profiler
from modkit.autograd import pause
from modkit.context import cpu
from modkit.errors import ParameterError, ShapeError, nearest
from modkit.ndarray import NDArray, array
from modkit.operator.custom_op import CustomOp, CustomOpProp, dense_if_unknown
from modkit.ops.custom import Arrays, Blamed, Bridge, CallbackError
from modkit.ops.dtypes import CODE_OF_DTYPE, dtype_name
from modkit.ops.parameters import Shape
from modkit.ops.shape_inference import merge_all
from modkit.ops.stype import CSR, DENSE, ROWS, UNDEFINED


class PropBridge(Bridge):
    """Adapts a `CustomOpProp` to the operator ``Custom``: NumPy arrays to NDArrays and back."""

    def __init__(
        self,
        name: str,
        kind: type[CustomOpProp],
        params: Mapping[str, str],
        node: str = "",
        stypes: Sequence[str] = (),
    ):
        self._name, self._kind, self._params, self._node = name, kind, params, node
        self._stypes = stypes
        prop = self._prop = _constructed(name, kind, params)
        self.arguments = tuple(prop.list_arguments())
        self.outputs = tuple(prop.list_outputs())
        self.aux = tuple(prop.list_auxiliary_states())
        self.need_top_grad = bool(prop.need_top_grad_)
        self._operators: dict[Any, CustomOp] = {}

    def _three(self, found: Any, method: str) -> list[list[Any]]:
        """Lists for arguments, outputs and states, from the two or three of the user's method."""
        parts = [list(part) for part in found]
        parts += [[]] * (3 - len(parts))
        names = self.arguments, self.outputs, self.aux
        self._require_lengths(method, parts, names)
        return parts

    def _require_lengths(
        self, method: str, lists: Sequence[list[Any]], names: Sequence[Sequence[str]]
    ) -> None:
        got, expected = [[len(each) for each in both] for both in (lists, names)]
        if got != expected:
            raise ShapeError(
                f"custom operator {self._name!r}: {method} returned lists of lengths {got}, "
                f"expected {expected}; arguments {list(self.arguments)}, outputs "
                f"{list(self.outputs)}, auxiliary states {list(self.aux)}"
            )

    def infer_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[list[Shape], ...]:
        found = self._prop.infer_shape([list(s) for s in shapes])
        parts = self._three(found, "infer_shape")
        return tuple([tuple(int(n) for n in shape) for shape in part] for part in parts)

    def infer_type(self, dtypes: Sequence[Any]) -> tuple[list[str | None], ...]:
        types = [None if t is None else np.dtype(t).type for t in dtypes]
        parts = self._three(self._prop.infer_type(types), "infer_type")
        return tuple([None if t is None else dtype_name(t) for t in part] for part in parts)

    def own(self, node: str, stypes: Sequence[str]) -> PropBridge:
        return PropBridge(self._name, self._kind, self._params, node, stypes)

    def renew(self) -> None:
        if self._operators:
            self._prop, self._operators = _constructed(self._name, self._kind, self._params), {}

    def _operator(self, replica: int, data: Arrays, aux: Arrays) -> CustomOp:
        """A replica's instance for these shapes and types, which are MXNet's type codes."""
        arrays = [*data, *aux]
        key = replica, *((x.shape, np.dtype(x.dtype).name) for x in arrays)
        if key not in self._operators:
            shapes = [list(x.shape) for x in arrays]
            codes = [CODE_OF_DTYPE[np.dtype(x.dtype).name] for x in arrays]
            with self._named("create_operator"):
                made: Any = self._prop.create_operator(cpu(0), shapes, codes)
            if not hasattr(made, "forward"):
                raise ParameterError(
                    f"custom operator {self._name!r}: create_operator returned {made!r}, expected "
                    "a CustomOp"
                )
            self._operators[key] = made
        return self._operators[key]

    def require_fit(self, shapes: Sequence[Shape]) -> None:
        """See `Bridge`; ShapeError if the operator infers another shape."""
        arguments, _, states = self.infer_shape(shapes[: len(self.arguments)])
        merge_all(
            shapes, [*arguments, *states], [f"Custom: {n}" for n in (*self.arguments, *self.aux)]
        )

    # ── Storage types ───────────────────────────────────────────────────────────────────────

    def storage(self, stypes: Sequence[str]) -> list[list[str]]:
        """See `Bridge`.

        Raises:
            ParameterError: an array is of another storage type than the operator infers.
        """
        count = len(self.arguments)
        data, states = stypes[:count], stypes[count:]
        with Blamed("infer_storage_type", ParameterError):
            found = self._prop.infer_storage_type(dense_if_unknown(data))
        parts = self._three(found, "infer_storage_type")
        known = data, [UNDEFINED] * len(self.outputs), states
        names = self.arguments, self.outputs, self.aux
        self._require_agreement("infer_storage_type", names, known, parts)
        return parts

    @functools.cached_property
    def _storage(self) -> list[list[str]]:
        known = len(self.arguments) + len(self.aux)
        return self.storage(self._stypes or [UNDEFINED] * known)

    @functools.cached_property
    def _gradient_storage(self) -> tuple[list[str], list[str]]:
        """Storage types of the gradients of the outputs, which are dense before, and arguments."""
        data, outputs, states = self._storage
        unknown = [UNDEFINED] * len(data)
        given = [[DENSE] * len(outputs), list(data), list(outputs), unknown, list(states)]
        method = "infer_storage_type_backward"
        with Blamed(method, ParameterError):
            found = [list(part) for part in self._prop.infer_storage_type_backward(*given)]
        names = self.outputs, self.arguments, self.outputs, self.arguments, self.aux
        self._require_lengths(method, found, names)
        found[3] = dense_if_unknown(found[3])
        known = [UNDEFINED] * len(outputs), data, outputs, unknown, states
        self._require_agreement(method, names, known, found)
        return found[0], found[3]

    def _require_agreement(self, method: str, *lists: Sequence[Sequence[str]]) -> None:
        """Check storage types; ``lists`` are names, the arrays' own types, and inferred ones."""
        for name, got, stype in zip(*map(chain.from_iterable, lists), strict=True):
            known = stype in (DENSE, CSR, ROWS)
            if not known or got not in (stype, UNDEFINED):
                expected = f"{got!r}, that of the array" if known else f"{[DENSE, CSR, ROWS]}"
                raise ParameterError(
                    f"custom operator {self._name!r}: {method} inferred storage type {stype!r} "
                    f"for {name!r}, expected {expected}; convert the array with tostype(), or "
                    "infer its type"
                )

    def _named(self, method: str) -> Blamed:
        node = f" of node {self._node!r}" if self._node else ""
        return Blamed(f"custom operator {self._name!r}{node}: {method}", CallbackError, ())

    def forward(
        self, replica: int, train: bool, data: Arrays, aux: Arrays
    ) -> tuple[Arrays, Arrays]:
        shapes = self.infer_shape([x.shape for x in data])[1]
        dtypes = self.infer_type([x.dtype for x in data])[1]
        zeros = [np.zeros(s, t) for s, t in zip(shapes, dtypes, strict=True)]
        in_data, outputs, states = map(_handles, (data, zeros, aux), self._storage)
        operator = self._operator(replica, data, aux)
        row = profiler.custom_operator(self._name)
        with self._named("forward"), pause(train_mode=train), row:
            operator.forward(
                is_train=train,
                req=["write"] * len(outputs),
                in_data=in_data,
                out_data=outputs,
                aux=states,
            )
        return outputs, states

    def backward(
        self,
        replica: int,
        wanted: Sequence[bool],
        heads: Arrays,
        data: Arrays,
        outputs: Arrays,
        aux: Arrays,
    ) -> tuple[Arrays, Arrays]:
        in_data, out_data, states = map(_handles, (data, outputs, aux), self._storage)
        zeros = [np.zeros(x.shape, x.dtype) for x in data]
        out_grad, grads = map(_handles, (heads, zeros), self._gradient_storage)
        requests = ["write" if each else "null" for each in wanted]
        operator = self._operator(replica, data, aux)
        row = profiler.custom_operator(f"_backward_{self._name}")
        with self._named("backward"), pause(train_mode=True), row:
            operator.backward(
                req=requests,
                out_grad=out_grad,
                in_data=in_data,
                out_data=out_data,
                in_grad=grads,
                aux=states,
            )
        return grads, states


def _handles(values: Arrays, stypes: Sequence[str]) -> list[NDArray]:
    """Arrays of these storage types on the CPU, which share no memory with dense values."""
    made = [v if isinstance(v, NDArray) else array(v, cpu(0), dtype=v.dtype) for v in values]
    return [x if x.stype == s else x.tostype(s) for x, s in zip(made, stypes, strict=True)]


def _constructed(name: str, prop: type[CustomOpProp], params: Mapping[str, str]) -> CustomOpProp:
    signature = inspect.signature(prop)
    try:
        signature.bind(**params)
    except TypeError as error:
        takes = signature.parameters
        unknown = [n for n in params if n not in takes]
        fault: object = error
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in takes.values()):
            fault = f"no parameter {unknown[0]!r}.{nearest(unknown[0], takes)}"
        raise ParameterError(
            f"custom operator {name!r}: got parameters {dict(params)}: {fault} "
            f"({prop.__name__}{signature})"
        ) from error
    made: Any = prop
    return made(**params)
