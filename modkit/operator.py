"""``mx.operator``: operators that users write in Python, over NDArrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.context import Context, cpu
from modkit.errors import NotSupportedError, ParameterError, ShapeError
from modkit.ndarray import NDArray, array
from modkit.ops.custom import MAKERS, Host
from modkit.ops.registry import DTYPE_CODES, OPS, Shape, dtype_name
from modkit.symbol.graph import parsed

_CODES = {name: code for code, name in DTYPE_CODES.items()}


class CustomOp:
    """What an operator computes. A subclass has `forward` and, for training, `backward`."""

    def forward(
        self,
        is_train: bool,
        req: Sequence[str],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        """Compute the outputs.

        Args:
            is_train: training mode.
            req: for each output what `assign` is to do.
            in_data: the arguments.
            out_data: to be written to, with `assign`.
            aux: the auxiliary states, which may be written to in training.
        """
        raise NotImplementedError(f"{type(self).__name__}.forward is not defined")

    def backward(
        self,
        req: Sequence[str],
        out_grad: Sequence[NDArray],
        in_data: Sequence[NDArray],
        out_data: Sequence[NDArray],
        in_grad: Sequence[NDArray],
        aux: Sequence[NDArray],
    ) -> None:
        """Compute the gradients of the arguments.

        Args:
            req: for each gradient what `assign` is to do.
            out_grad: gradients of the outputs.
            in_data: the arguments.
            out_data: the outputs.
            in_grad: to be written to, with `assign`.
            aux: the auxiliary states. What is written to them here is lost.
        """
        raise NotImplementedError(f"{type(self).__name__}.backward is not defined")

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Write ``src`` into ``dst`` as ``req`` says: write, add to it, or nothing.

        Raises:
            ParameterError: another ``req``.
        """
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] = dst + src
        elif req != "null":
            raise ParameterError(f"assign: req: got {req!r}, expected 'write', 'add' or 'null'")


class CustomOpProp:
    """What an operator looks like: its names, shapes and types. Registered with `register`.

    ``__init__`` of a subclass takes the operator's parameters, as strings.

    Args:
        need_top_grad: whether the gradient needs that of the output; ``False`` for a loss.
    """

    def __init__(self, need_top_grad: bool = True):
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Names of the arguments."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the auxiliary states."""
        return []

    def infer_shape(self, in_shape: Any) -> Any:
        """Shapes of arguments, outputs and auxiliary states; the default: all as the first.

        Args:
            in_shape: of the arguments, as far as known; an unknown one is empty.

        Returns:
            Two or three lists of shapes.
        """
        first = in_shape[0]
        return (
            [first] * len(in_shape),
            [first] * len(self.list_outputs()),
            [first] * len(self.list_auxiliary_states()),
        )

    def infer_type(self, in_type: Any) -> Any:
        """Element types of arguments, outputs and auxiliary states; all as the first.

        Args:
            in_type: of the arguments.

        Returns:
            Two or three lists of types.
        """
        first = in_type[0]
        return (
            [first] * len(in_type),
            [first] * len(self.list_outputs()),
            [first] * len(self.list_auxiliary_states()),
        )

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """Which arrays `CustomOp.backward` reads. modkit gives it all of them anyway."""
        heads = list(out_grad) if self.need_top_grad_ else []
        return [*heads, *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: Any, in_dtypes: Any) -> CustomOp:
        """The operator for arguments of these shapes and types."""
        del ctx, in_shapes, in_dtypes
        raise NotImplementedError(f"{type(self).__name__}.create_operator is not defined")


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """A decorator that registers a `CustomOpProp` under a name for ``op_type``.

    ``mx.sym.Custom(data=x, op_type=reg_name)`` and ``mx.nd.Custom`` then call it. Registering
    another class under the name replaces the first one.
    """

    def decorate(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        if not (isinstance(prop, type) and issubclass(prop, CustomOpProp)):
            raise ParameterError(f"register: got {prop!r}, expected a subclass of CustomOpProp")
        MAKERS[reg_name] = lambda params: PropBridge(reg_name, _made(reg_name, prop, params))
        parsed.cache_clear()  # graphs made before see the new class
        return prop

    return decorate


def _made(name: str, prop: type[CustomOpProp], params: Mapping[str, str]) -> CustomOpProp:
    try:
        inspect.signature(prop).bind(**params)
    except TypeError as error:
        raise ParameterError(
            f"custom operator {name!r}: got parameters {dict(params)}: {error} "
            f"({prop.__name__}{inspect.signature(prop)})"
        ) from error
    made: Any = prop
    return made(**params)


def get_all_registered_operators() -> list[str]:
    """Names of all operators."""
    return sorted(OPS)


class PropBridge:
    """Joins a `CustomOpProp` to the operator ``Custom``: NumPy arrays outside, NDArrays inside."""

    def __init__(self, name: str, prop: CustomOpProp):
        self._name, self._prop = name, prop
        self.arguments = tuple(prop.list_arguments())
        self.outputs = tuple(prop.list_outputs())
        self.aux = tuple(prop.list_auxiliary_states())
        self.need_top_grad = bool(prop.need_top_grad_)
        self._operators: dict[Any, CustomOp] = {}

    def _three(self, found: Any, what: str) -> list[list[Any]]:
        """Three lists of the right lengths, from the two or three that a rule returned."""
        parts = [list(part) for part in found]
        parts += [[]] * (3 - len(parts))
        names = (self.arguments, self.outputs, self.aux)
        if [len(p) for p in parts] != [len(n) for n in names]:
            raise ShapeError(
                f"custom operator {self._name!r}: {what} returned lists of lengths "
                f"{[len(p) for p in parts]}, expected {[len(n) for n in names]} for arguments "
                f"{list(names[0])}, outputs {list(names[1])} and auxiliary states {list(names[2])}"
            )
        return parts

    def infer_shape(self, shapes: Sequence[Sequence[int]]) -> tuple[list[Shape], ...]:
        """See `modkit.ops.custom.Bridge`."""
        found = self._prop.infer_shape([list(s) for s in shapes])
        parts = self._three(found, "infer_shape")
        return tuple([tuple(int(n) for n in shape) for shape in part] for part in parts)

    def infer_type(self, dtypes: Sequence[Any]) -> tuple[list[str], ...]:
        """See `modkit.ops.custom.Bridge`."""
        types = [None if t is None else np.dtype(t).type for t in dtypes]
        parts = self._three(self._prop.infer_type(types), "infer_type")
        return tuple([dtype_name(t) for t in part] for part in parts)

    def _operator(self, data: Host, aux: Host) -> CustomOp:
        """The instance for these shapes and types; MXNet gives types as their numbers."""
        arrays = [*data, *aux]
        key = tuple((x.shape, x.dtype.name) for x in arrays)
        if key not in self._operators:
            self._operators[key] = self._prop.create_operator(
                cpu(0), [list(x.shape) for x in arrays], [_CODES[x.dtype.name] for x in arrays]
            )
        return self._operators[key]

    def forward(self, train: bool, data: Host, aux: Host) -> tuple[Host, Host]:
        """See `modkit.ops.custom.Bridge`."""
        shapes = self.infer_shape([x.shape for x in data])[1]
        dtypes = self.infer_type([x.dtype for x in data])[1]
        outputs = [_handle(np.zeros(s, t)) for s, t in zip(shapes, dtypes, strict=True)]
        states = list(map(_handle, aux))
        self._operator(data, aux).forward(
            train, ["write"] * len(outputs), list(map(_handle, data)), outputs, states
        )
        return [o.asnumpy() for o in outputs], [s.asnumpy() for s in states]

    def backward(self, heads: Host, data: Host, outputs: Host, aux: Host) -> Host:
        """See `modkit.ops.custom.Bridge`."""
        grads = [_handle(np.zeros(x.shape, x.dtype)) for x in data]
        given, values, results, states = (
            list(map(_handle, each)) for each in (heads, data, outputs, aux)
        )
        self._operator(data, aux).backward(
            ["write"] * len(grads), given, values, results, grads, states
        )
        return [g.asnumpy() for g in grads]


def _handle(value: np.ndarray) -> NDArray:
    return array(value, cpu(0), dtype=value.dtype)


class _Older:
    """The base of MXNet's older ways to write an operator."""

    def __init__(self, *_: Any, **__: Any):
        raise NotSupportedError(
            f"{type(self).__name__} is not part of modkit; write a CustomOp and register a "
            "CustomOpProp"
        )


class PythonOp(_Older):
    """Raises: use `CustomOp`."""


class NumpyOp(PythonOp):
    """Raises: use `CustomOp`."""


class NDArrayOp(PythonOp):
    """Raises: use `CustomOp`."""
