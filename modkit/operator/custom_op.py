"""`CustomOp` and `CustomOpProp`: the computation and the signature of an operator in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.context import Context
from modkit.errors import expect, wrong
from modkit.ndarray import NDArray
from modkit.ops.stype import DENSE, UNDEFINED


class CustomOp:
    """The computation of a custom operator: `forward` and, for training, `backward`.

    There is one instance for each node, executor, set of input shapes and replica. `backward`
    finds what `forward` kept on ``self``.

    Differs: a class without `backward` raises NotImplementedError where a gradient is needed; in
    MXNet the gradient is what the memory holds. Writes to ``in_data`` do not reach the arrays of
    the graph. A gradient is added to what a ``grad_req`` of ``"add"`` has summed, also where
    `backward` ignores ``req``, which overwrites the sum in MXNet.
    """

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
            req: the request of `assign` for each output.
            out_data: the outputs, written with `assign`.
            aux: the auxiliary states; writes are kept, in prediction too.
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
            req: the request of `assign` for each gradient; ``"null"`` where none is wanted.
            out_grad: gradients of the outputs.
            in_grad: gradients of the arguments, written with `assign`.
            aux: the auxiliary states; writes are kept.
        """
        raise NotImplementedError(f"{type(self).__name__}.backward is not defined")

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Write ``src`` into ``dst``, add it, or do nothing, according to ``req``.

        Raises:
            ParameterError: an unknown ``req``.
        """
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] = dst + src
        elif req != "null":
            raise wrong("assign: req", req, "'write', 'add' or 'null'")


class CustomOpProp:
    """The signature of a custom operator: names, shapes and types. Registered with `register`.

    The parameters of ``__init__`` of a subclass are the operator's parameters, as strings.

    Args:
        need_top_grad: `CustomOp.backward` reads ``out_grad``; ``False`` for a loss.

    Differs: an instance is made for each set of parameters, and another for each node of each
    executor. MXNet makes one for each composed or loaded node, shared by the executors. The number
    of constructor calls therefore differs.
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
        """Shapes of arguments, by default as given, and of outputs and states, then the first's.

        Args:
            in_shape: shapes of the arguments; unknown ones are empty.

        Returns:
            Two or three lists of shapes.
        """
        return in_shape, *map(tuple, self._like_first(in_shape))

    def infer_type(self, in_type: Any) -> Any:
        """Element types of arguments, outputs and auxiliary states; default: as `infer_shape`.

        Args:
            in_type: types of the arguments.

        Returns:
            Two or three lists of types.
        """
        return in_type, *self._like_first(in_type)

    def _like_first(self, known: Any) -> Any:
        return [known[0]] * len(self.list_outputs()), [known[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: Sequence[str]) -> Any:
        """Storage types of arguments, outputs and auxiliary states; default: all dense.

        Args:
            in_stype: storage types of the arguments.

        Returns:
            Three lists of storage types.

        Raises:
            ParameterError: an argument is sparse.

        Differs: values pass through graphs as dense arrays, which are converted before and after a
        call; so a graph takes arrays of another storage type than this method infers, unless their
        variable declares it.
        """
        _require_dense("infer_storage_type", in_stype=in_stype)
        outputs, states = self.list_outputs(), self.list_auxiliary_states()
        return list(in_stype), [DENSE] * len(outputs), [DENSE] * len(states)

    def infer_storage_type_backward(
        self,
        ograd_stype: Sequence[str],
        in_stype: Sequence[str],
        out_stype: Sequence[str],
        igrad_stype: Sequence[str],
        aux_stype: Sequence[str],
    ) -> Any:
        """Storage types of the arrays of `CustomOp.backward`; default: all dense.

        Args:
            ograd_stype: of the gradients of the outputs: dense, unless another is returned.
            igrad_stype: of the gradients of the arguments; ``"undefined"`` where not decided yet.
            aux_stype: of the auxiliary states.

        Returns:
            Five lists of storage types, in this order.

        Raises:
            ParameterError: an array is sparse.
        """
        given = {
            "ograd_stype": ograd_stype,
            "in_stype": in_stype,
            "out_stype": out_stype,
            "igrad_stype": dense_if_unknown(igrad_stype),
            "aux_stype": aux_stype,
        }
        _require_dense("infer_storage_type_backward", **given)
        return tuple([DENSE] * len(types) for types in given.values())

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """The arrays that `CustomOp.backward` reads; modkit passes all of them regardless."""
        cotangents = list(out_grad) if self.need_top_grad_ else []
        return [*cotangents, *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: Any, in_dtypes: Any) -> CustomOp:
        """The operator for arguments of these shapes and types.

        Args:
            ctx: the CPU, where the Python code runs.
            in_shapes: shapes of the arguments and auxiliary states.
            in_dtypes: their types as MXNet's codes: 0 is float32.

        Differs: it is called by the first forward pass with these shapes, on each context, where
        its error is raised too. MXNet calls it whenever it binds or reshapes an executor.
        """
        raise NotImplementedError(f"{type(self).__name__}.create_operator is not defined")


def dense_if_unknown(stypes: Sequence[str]) -> list[str]:
    """Storage types, of which the undefined ones are dense."""
    return [DENSE if stype == UNDEFINED else stype for stype in stypes]


def _require_dense(method: str, **given: Sequence[str]) -> None:
    """Check that storage types are dense."""
    expected = (
        "'default': sparse arrays need a CustomOpProp that defines infer_storage_type and "
        "infer_storage_type_backward"
    )
    for name, types in given.items():
        for i, stype in enumerate(types):
            expect(stype == DENSE, f"{method}: {name}[{i}]", stype, expected)
