"""``mx.operator``: custom operators in Python, over NDArrays."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from modkit.autograd import pause
from modkit.context import Context, cpu
from modkit.errors import ParameterError, ShapeError, nearest
from modkit.lazy import dir_of
from modkit.name import NameManager
from modkit.ndarray import NDArray, array
from modkit.ops.custom import MAKERS, Arrays, CallbackError, blamed
from modkit.ops.registry import DTYPE_CODES, OPS, Op, Shape, dtype_name, get_op
from modkit.ops.shape_inference import merge_all
from modkit.ops.stype import CSR, DENSE, ROWS, UNDEFINED
from modkit.symbol import Custom, Symbol
from modkit.symbol.graph import parsed

__dir__ = dir_of(__name__)

_CODES = {name: code for code, name in DTYPE_CODES.items()}


class CustomOp:
    """The computation of a custom operator: `forward` and, for training, `backward`.

    Each node of each executor has an instance for its input shapes, and each replica has its own:
    what `forward` keeps on ``self`` is there in `backward`.
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
            is_train: training mode.
            req: the request of `assign` for each output.
            in_data: the arguments.
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
            in_data: the arguments.
            out_data: the outputs.
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
            raise ParameterError(f"assign: req: got {req!r}, expected 'write', 'add' or 'null'")


class CustomOpProp:
    """The signature of a custom operator: names, shapes and types. Registered with `register`.

    The parameters of ``__init__`` of a subclass are the operator's parameters, as strings.

    Args:
        need_top_grad: `CustomOp.backward` reads ``out_grad``; ``False`` for a loss.
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
        """Shapes of arguments, outputs and auxiliary states; default: all equal the first.

        Args:
            in_shape: shapes of the arguments; unknown ones are empty.

        Returns:
            Two or three lists of shapes.
        """
        return self._all_first(in_shape)

    def infer_type(self, in_type: Any) -> Any:
        """Element types of arguments, outputs and auxiliary states; default: all equal the first.

        Args:
            in_type: types of the arguments.

        Returns:
            Two or three lists of types.
        """
        return self._all_first(in_type)

    def _all_first(self, known: Any) -> Any:
        outputs, aux = self.list_outputs(), self.list_auxiliary_states()
        return tuple([known[0]] * len(each) for each in (known, outputs, aux))

    def infer_storage_type(self, in_stype: Sequence[str]) -> Any:
        """Storage types of arguments, outputs and auxiliary states; default: all dense.

        Args:
            in_stype: storage types of the arguments.

        Returns:
            Three lists of storage types.

        Raises:
            ParameterError: an argument is sparse.

        Differs:
            values pass through graphs as dense arrays, which are converted before and after a
            call; so a graph takes arrays of another storage type than this method infers, unless
            their variable declares it.
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
            in_stype: of the arguments.
            out_stype: of the outputs.
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
            "igrad_stype": _dense_if_unknown(igrad_stype),
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
        """The operator for arguments of these shapes and types."""
        del ctx, in_shapes, in_dtypes
        raise NotImplementedError(f"{type(self).__name__}.create_operator is not defined")


def _dense_if_unknown(stypes: Sequence[str]) -> list[str]:
    return [DENSE if stype == UNDEFINED else stype for stype in stypes]


def _require_dense(method: str, **given: Sequence[str]) -> None:
    """Check that storage types are dense."""
    for name, types in given.items():
        for i, stype in enumerate(types):
            if stype != DENSE:
                raise ParameterError(
                    f"{method}: {name}[{i}]: got {stype!r}, expected 'default': sparse arrays "
                    "need a CustomOpProp that defines infer_storage_type and "
                    "infer_storage_type_backward"
                )


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """A decorator that registers a `CustomOpProp` under a name for ``op_type``.

    ``mx.sym.Custom(data=x, op_type=reg_name)`` and ``mx.nd.Custom`` use it. Registering another
    class under the same name replaces the first one.
    """

    def decorate(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        if not (isinstance(prop, type) and issubclass(prop, CustomOpProp)):
            raise ParameterError(f"register: got {prop!r}, expected a subclass of CustomOpProp")
        MAKERS[reg_name] = lambda params: PropBridge(reg_name, prop, params)
        parsed.cache_clear()  # existing graphs use the new class
        return prop

    return decorate


def _made(name: str, prop: type[CustomOpProp], params: Mapping[str, str]) -> CustomOpProp:
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


def get_all_registered_operators() -> list[str]:
    """Names of all operators."""
    return sorted(OPS)


class OperatorArguments(NamedTuple):
    """Inputs and parameters of an operator.

    Attributes:
        narg: their number.
        names: their names; inputs come first.
        types: a description of each: ``"NDArray-or-Symbol"``, ``"int, required"``,
            ``"boolean, optional, default=0"``.
    """

    narg: int
    names: list[str]
    types: list[str]


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Inputs and parameters of an operator, by its name.

    Differs:
        parameters are in the order of modkit's signatures. Types are ``int`` and ``float``, where
        MXNet has several of either, such as ``long`` and ``double``.

    Raises:
        NameNotFoundError: no such operator.
    """
    op = get_op(op_name)
    inputs = [(name, "NDArray-or-Symbol") for name in op.inputs]
    if op.variadic or (op.names and not inputs):
        inputs = [("data", "NDArray-or-Symbol[]")]
    params = [(name, _described(op, name)) for name in op.types]
    both = [*inputs, *params]
    return OperatorArguments(len(both), [name for name, _ in both], [text for _, text in both])


_TYPE_NAMES = {int: "int", float: "float", bool: "boolean", str: "string", tuple: "Shape(tuple)"}


def _described(op: Op, name: str) -> str:
    """A parameter's type, and its default or ``required``."""
    kinds = _plain_types(op.types[name])
    choices = sorted(each for each in kinds if isinstance(each, str))
    if choices:
        none = ["None"] if type(None) in kinds else []
        text = "{" + ", ".join([*none, *map(repr, choices)]) + "}"
    else:
        names = dict.fromkeys(_TYPE_NAMES.get(k, "string") for k in kinds if k is not type(None))
        or_none = type(None) in kinds and op.defaults.get(name) is None
        text = " or ".join([*names, *(["None"] if or_none else [])])
    if name not in op.defaults:
        return f"{text}, required"
    default = op.defaults[name]
    shown = repr(list(default) if isinstance(default, tuple) else default)
    if choices:
        shown = repr(str(default))
    if isinstance(default, bool | float):
        shown = f"{default:g}"
    return f"{text},{'' if choices else ' '}optional, default={shown}"


def _plain_types(annotation: Any) -> list[Any]:
    """The types and the choices of an annotation, without what refines them."""
    kind = get_origin(annotation)
    if kind is Annotated:
        return _plain_types(get_args(annotation)[0])
    if kind in (Union, UnionType):
        return [each for part in get_args(annotation) for each in _plain_types(part)]
    if kind is Literal:
        return list(get_args(annotation))
    return [kind or annotation]


class PropBridge:
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
        prop = self._prop = _made(name, kind, params)
        self.arguments = tuple(prop.list_arguments())
        self.outputs = tuple(prop.list_outputs())
        self.aux = tuple(prop.list_auxiliary_states())
        self.need_top_grad = bool(prop.need_top_grad_)
        self._operators: dict[Any, CustomOp] = {}

    def _three(self, found: Any, what: str) -> list[list[Any]]:
        """Lists for arguments, outputs and states, from the two or three of the user's method."""
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

    def own(self, node: str, stypes: Sequence[str]) -> PropBridge:
        """See `modkit.ops.custom.Bridge`."""
        return PropBridge(self._name, self._kind, self._params, node, stypes)

    def renew(self) -> None:
        """See `modkit.ops.custom.Bridge`."""
        if self._operators:
            self._prop, self._operators = _made(self._name, self._kind, self._params), {}

    def _operator(self, replica: int, data: Arrays, aux: Arrays) -> CustomOp:
        """A replica's instance for these shapes and types, which are MXNet's type codes."""
        arrays = [*data, *aux]
        key = replica, *((x.shape, np.dtype(x.dtype).name) for x in arrays)
        if key not in self._operators:
            shapes = [list(x.shape) for x in arrays]
            codes = [_CODES[np.dtype(x.dtype).name] for x in arrays]
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
        """See `modkit.ops.custom.Bridge`.

        Raises:
            ShapeError: the operator infers another shape.
        """
        arguments, _, states = self.infer_shape(shapes[: len(self.arguments)])
        merge_all(
            shapes, [*arguments, *states], [f"Custom: {n}" for n in (*self.arguments, *self.aux)]
        )

    # ── Storage types ───────────────────────────────────────────────────────────────────────

    def storage(self, stypes: Sequence[str]) -> list[list[str]]:
        """See `modkit.ops.custom.Bridge`.

        Raises:
            ParameterError: an array is of another storage type than the operator infers.
        """
        count = len(self.arguments)
        data, states = stypes[:count], stypes[count:]
        with blamed("infer_storage_type", ParameterError):
            found = self._prop.infer_storage_type(_dense_if_unknown(data))
        parts = self._three(found, "infer_storage_type")
        for names, given, inferred in zip(
            (self.arguments, self.outputs, self.aux),
            (data, [UNDEFINED] * len(self.outputs), states), parts, strict=True,
        ):  # fmt: skip
            self._require_agreement("infer_storage_type", names, given, inferred)
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
        with blamed(method, ParameterError):
            found = [list(part) for part in self._prop.infer_storage_type_backward(*given)]
        sizes = len(outputs), len(data), len(outputs), len(data), len(states)
        if tuple(map(len, found)) != sizes:
            raise ParameterError(
                f"custom operator {self._name!r}: {method} returned lists of lengths "
                f"{list(map(len, found))}, expected {list(sizes)}"
            )
        found[3] = _dense_if_unknown(found[3])
        names = self.outputs, self.arguments, self.outputs, self.arguments, self.aux
        known = [UNDEFINED] * len(outputs), data, outputs, unknown, states
        for part in zip(names, known, found, strict=True):
            self._require_agreement(method, *part)
        return found[0], found[3]

    def _require_agreement(
        self, method: str, names: Sequence[str], given: Sequence[str], inferred: Sequence[str]
    ) -> None:
        for name, got, stype in zip(names, given, inferred, strict=True):
            known = stype in (DENSE, CSR, ROWS)
            if not known or got not in (stype, UNDEFINED):
                expected = f"{got!r}, that of the array" if known else f"{[DENSE, CSR, ROWS]}"
                raise ParameterError(
                    f"custom operator {self._name!r}: {method} inferred storage type {stype!r} "
                    f"for {name!r}, expected {expected}; convert the array with tostype(), or "
                    "infer its type"
                )

    @contextlib.contextmanager
    def _named(self, method: str) -> Iterator[None]:
        """Raise what the user's operator raises as the cause of a CallbackError."""
        try:
            yield
        except Exception as error:
            node = f" of node {self._node!r}" if self._node else ""
            raise CallbackError(
                f"custom operator {self._name!r}{node}: {method} raised "
                f"{type(error).__name__}: {error}"
            ) from error

    def forward(
        self, replica: int, train: bool, data: Arrays, aux: Arrays
    ) -> tuple[Arrays, Arrays]:
        """See `modkit.ops.custom.Bridge`."""
        shapes = self.infer_shape([x.shape for x in data])[1]
        dtypes = self.infer_type([x.dtype for x in data])[1]
        zeros = [np.zeros(s, t) for s, t in zip(shapes, dtypes, strict=True)]
        in_data, outputs, states = map(_handles, (data, zeros, aux), self._storage)
        operator = self._operator(replica, data, aux)
        with self._named("forward"), pause(train_mode=train):
            operator.forward(
                is_train=train, req=["write"] * len(outputs), in_data=in_data, out_data=outputs,
                aux=states,
            )  # fmt: skip
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
        """See `modkit.ops.custom.Bridge`."""
        in_data, out_data, states = map(_handles, (data, outputs, aux), self._storage)
        zeros = [np.zeros(x.shape, x.dtype) for x in data]
        out_grad, grads = map(_handles, (heads, zeros), self._gradient_storage)
        requests = ["write" if each else "null" for each in wanted]
        operator = self._operator(replica, data, aux)
        with self._named("backward"), pause(train_mode=True):
            operator.backward(
                req=requests, out_grad=out_grad, in_data=in_data, out_data=out_data,
                in_grad=grads, aux=states,
            )  # fmt: skip
        return grads, states


def _handles(values: Arrays, stypes: Sequence[str]) -> list[NDArray]:
    """Arrays of these storage types on the CPU, which share no memory with dense values."""
    return [_handle(value, stype) for value, stype in zip(values, stypes, strict=True)]


def _handle(value: Any, stype: str) -> NDArray:
    made = value if isinstance(value, NDArray) else array(value, cpu(0), dtype=value.dtype)
    return made if made.stype == stype else made.tostype(stype)


class PythonOp:
    """Base of the operator classes that came before `CustomOp`; deprecated.

    One instance computes for all nodes and executors that are made from it.

    Args:
        need_top_grad: ``backward`` reads ``out_grad``; ``False`` for a loss.
    """

    _hint = ""

    def __init__(self, need_top_grad: bool = True):
        warnings.warn(f"{type(self).__name__} is deprecated: use CustomOp", stacklevel=2)
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Any, **kwargs: Any) -> Symbol:
        """The same as `get_symbol`."""
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
        instance = self

        class InstanceProp(_LegacyProp):
            def __init__(self) -> None:
                super().__init__(instance)

        name = f"{self._hint}_{type(self).__name__}{next(_numbers)}"
        register(name)(InstanceProp)
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
        del out_grad, in_data, out_data
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


class _LegacyProp(CustomOpProp):
    """The signature of a `PythonOp`."""

    def __init__(self, instance: PythonOp):
        super().__init__(instance.need_top_grad())
        self._instance = instance

    def list_arguments(self) -> list[str]:
        """Those of the instance."""
        return self._instance.list_arguments()

    def list_outputs(self) -> list[str]:
        """Those of the instance."""
        return self._instance.list_outputs()

    def infer_shape(self, in_shape: Any) -> Any:
        """Those of the instance."""
        return self._instance.infer_shape(in_shape)

    def create_operator(self, ctx: Context, in_shapes: Any, in_dtypes: Any) -> CustomOp:
        """The same instance each time."""
        del ctx, in_shapes, in_dtypes
        return _LegacyOp(self._instance)


class _LegacyOp(CustomOp):
    """The computation of a `PythonOp`."""

    def __init__(self, instance: PythonOp):
        self._instance = instance

    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        """Call the instance."""
        del is_train, req, aux
        data, outputs = map(self._given, (in_data, out_data))
        self._instance.forward(in_data=data, out_data=outputs)
        _write(outputs, out_data)

    def backward(
        self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
    ) -> None:
        """Call the instance."""
        del req, aux
        arrays = map(self._given, (out_grad, in_data, out_data, in_grad))
        heads, data, outputs, grads = arrays
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
