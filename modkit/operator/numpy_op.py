"""`NumpyOp` and `NDArrayOp`: operator classes that came before `CustomOp`; deprecated."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from modkit.context import Context
from modkit.errors import warn_caller
from modkit.name import NameManager
from modkit.ndarray import NDArray
from modkit.operator.custom_op import CustomOp, CustomOpProp
from modkit.operator.registry import register
from modkit.symbol import Custom, Symbol


class PythonOp:
    """Base of the operator classes that came before `CustomOp`; deprecated.

    One instance computes for all nodes and executors that are made from it.

    Args:
        need_top_grad: ``backward`` reads ``out_grad``; ``False`` for a loss.
    """

    _hint = ""

    def __init__(self, need_top_grad: bool = True):
        warn_caller(f"{type(self).__name__} is deprecated: use CustomOp")
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Any, **kwargs: Any) -> Symbol:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Any, **kwargs: Any) -> Symbol:
        """A node of this operator.

        Args:
            *args: symbols of the arguments.
            **kwargs: ``name``, ``attr``, and symbols by the name of the argument.

        Raises:
            NotImplementedError: the class is neither `NumpyOp` nor `NDArrayOp`.
        """
        if not self._hint:
            raise NotImplementedError(
                f"{type(self).__name__}.get_symbol: derive the class from NumpyOp or NDArrayOp"
            )
        name = NameManager.current.get(kwargs.pop("name", None), self._hint)
        return Custom(*args, op_type=self._op_type, name=name, **kwargs)

    @functools.cached_property
    def _op_type(self) -> str:
        """The name that this instance is registered under."""
        name = f"{self._hint}_{type(self).__name__}{next(_numbers)}"
        register(name)(type("InstanceProp", (_Prop,), {"instance": self}))
        return name

    def forward(self, in_data: Sequence[Any], out_data: Sequence[Any]) -> None:
        """Compute the outputs, in place; by default the first is the first argument."""
        out_data[0][:] = in_data[0]

    def backward(
        self,
        out_grad: Sequence[Any],
        in_data: Sequence[Any],
        out_data: Sequence[Any],
        in_grad: Sequence[Any],
    ) -> None:
        """Compute the gradients of the arguments, in place; by default the first is one."""
        in_grad[0][:] = 1

    def infer_shape(self, in_shape: Any) -> Any:
        """Shapes of arguments and outputs from those of the arguments; default: one of each."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the arguments."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether ``backward`` reads ``out_grad``."""
        return self.need_top_grad_


class NumpyOp(PythonOp):
    """An operator over NumPy arrays; deprecated."""

    _hint = "_native"


class NDArrayOp(PythonOp):
    """An operator over NDArrays; deprecated."""

    _hint = "_ndarray"

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """The arrays that ``backward`` reads; modkit passes all of them regardless."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


_numbers = itertools.count()


class _Prop(CustomOpProp):
    """The signature of an instance of `PythonOp`; subclasses have one."""

    instance: ClassVar[PythonOp]

    def __init__(self) -> None:
        super().__init__(self.instance.need_top_grad())
        self.list_arguments = self.instance.list_arguments
        self.list_outputs = self.instance.list_outputs
        self.infer_shape = self.instance.infer_shape

    def create_operator(self, ctx: Context, in_shapes: Any, in_dtypes: Any) -> CustomOp:
        return _Computation(self.instance)


class _Computation(CustomOp):
    """The computation of a `PythonOp`."""

    def __init__(self, instance: PythonOp):
        self._instance = instance

    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        data, outputs = map(self._given, (in_data, out_data))
        self._instance.forward(in_data=data, out_data=outputs)
        _write(outputs, out_data)

    def backward(
        self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
    ) -> None:
        heads, data, outputs, grads = map(self._given, (out_grad, in_data, out_data, in_grad))
        self._instance.backward(out_grad=heads, in_data=data, out_data=outputs, in_grad=grads)
        _write(grads, in_grad)

    def _given(self, arrays: Sequence[NDArray]) -> list[Any]:
        """The arrays as the instance takes them: NumPy's are copies, which may be written."""
        if isinstance(self._instance, NDArrayOp):
            return list(arrays)
        return [np.array(each.asnumpy()) for each in arrays]


def _write(made: Sequence[Any], into: Sequence[NDArray]) -> None:
    for value, target in zip(made, into, strict=True):
        if value is not target:
            target[:] = value
