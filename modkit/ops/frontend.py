"""Functions made from the registry: what ``mx.nd.relu`` and ``mx.sym.relu`` are."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from types import ModuleType
from typing import Any

import jax
import numpy as np

from modkit.errors import NameNotFoundError, ParameterError, nearest, not_taken, warn_caller, wrong
from modkit.ops.entry import Op
from modkit.ops.parameters import Attrs, DType, spelled
from modkit.ops.registry import OPS

FLUENT: tuple[str, ...] = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_like", "broadcast_to",
    "cbrt", "ceil", "clip", "cos", "cosh", "degrees", "depth_to_space", "diag", "exp",
    "expand_dims", "expm1", "fix", "flatten", "flip", "floor", "log", "log10", "log1p", "log2",
    "log_softmax", "max", "mean", "min", "nanprod", "nansum", "norm", "one_hot", "ones_like",
    "pad", "pick", "prod", "radians", "rcbrt", "reciprocal", "relu", "repeat", "reshape_like",
    "rint", "round", "rsqrt", "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array",
    "slice", "slice_axis", "slice_like", "softmax", "softmin", "sort", "space_to_depth", "split",
    "split_v2", "sqrt", "square", "squeeze", "sum", "swapaxes", "take", "tan", "tanh", "tile",
    "topk", "transpose", "trunc", "zeros_like",
)  # fmt: skip
"""Operators that are also methods of NDArray and Symbol."""

_PREFIXES = {
    "_contrib_": "contrib",
    "_linalg_": "linalg",
    "linalg_": "linalg",
    "_sparse_": "sparse",
    "_image_": "image",
}


def bind_call(
    op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], is_tensor: Callable[[Any], bool]
) -> tuple[list[Any] | dict[str, Any], dict[str, Any]]:
    """`sort_call`; ParameterError also for an argument of an unknown name."""
    tensors, attrs = sort_call(op, args, kwargs, is_tensor)
    refuse_unknown(op, attrs, is_tensor)
    return tensors, attrs


def sort_call(
    op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], is_tensor: Callable[[Any], bool]
) -> tuple[list[Any] | dict[str, Any], dict[str, Any]]:
    """Sort a call's arguments into tensors and attributes.

    Positional arguments fill the tensor inputs first and then the parameters, in the order of
    the operator's signature.

    Returns:
        The tensors (by input name; a list for a variadic operator) and the attributes as given.

    Raises:
        ParameterError: an argument twice, one too many, or an input that is no tensor.
    """
    if op.variadic:
        return _sort_variadic(op, args, kwargs, is_tensor)
    order = (*_places(op, args, kwargs, is_tensor), *op.types)
    if len(args) > len(order):
        raise ParameterError(
            f"{op.name}: got {len(args)} positional arguments, expected at most {len(order)}"
        )
    given = dict(zip(order, args, strict=False))
    for name, value in kwargs.items():
        if name in given and given[name] is not None:
            raise ParameterError(f"{op.name}: got {name!r} twice, by position and by name")
        given[name] = value
    tensors = {n: given.pop(n) for n in op.inputs if n in given}
    tensors = {n: v for n, v in tensors.items() if v is not None}
    attrs = _attributes(op, given)
    for name, value in tensors.items():
        if not is_tensor(value):
            first = next((n for n in op.types if n not in op.defaults), None)
            by_name = first and isinstance(value, Number | str | tuple)
            hint = f"; parameters go by name, as {first}={value!r}" if by_name else ""
            raise no_input(op, repr(name), value, hint)
    if attrs.get("dtype", "") is None and op.types["dtype"] == DType:
        attrs["dtype"] = "float64"  # NumPy's default, which MXNet's functions take for None
    return tensors, attrs


def named_after(
    op: Op, args: Sequence[Any], kwargs: dict[str, Any], names: Sequence[str]
) -> Sequence[Any]:
    """The arguments of an operator by position; those after its parameters go into ``kwargs``.

    Args:
        kwargs: arguments by name, which the further ones join.
        names: what stands after the parameters in MXNet: of ``mx.nd`` first ``out``.
    """
    count = op.most_arguments - len(op.inputs) + len(_inputs_of(op, args))
    if op.names or op.variadic or not count < len(args) <= count + len(names):
        return args
    further = dict(zip(names, args[count:], strict=False))
    if twice := further.keys() & kwargs.keys():
        raise ParameterError(f"{op.name}: got {min(twice)!r} twice, by position and by name")
    kwargs |= further
    return args[:count]


def _places(
    op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], is_tensor: Callable[[Any], bool]
) -> Sequence[str]:
    """Inputs in the order of positional arguments, without those that the parameters exclude.

    That is MXNet's order where an input in the middle is optional (quantized products). A ``None``
    keeps the place of an input.
    """
    if not _shifts(op) or len(args) > len(op.inputs) or not all(map(is_tensor, args)):
        return _inputs_of(op, args)
    try:
        there = op.input_names(op.parse({n: v for n, v in kwargs.items() if n in op.types}))
    except ParameterError:  # the caller names unknown parameters first
        return op.inputs
    return there if len(there) >= len(args) else op.inputs


def _inputs_of(op: Op, args: Sequence[Any]) -> Sequence[str]:
    """Inputs before the parameters; auxiliary states of `_AUX_BY_NAME` only if arrays are there."""
    first = len(op.inputs) - len(op.aux)
    if op.name in _AUX_BY_NAME and isinstance(dict(enumerate(args)).get(first), str | float | int):
        return op.inputs[:first]
    return op.inputs


_AUX_BY_NAME = ("BatchNorm_v1", "IdentityAttachKLSparseReg")
"""Operators without positions for auxiliary states: parameters follow the arguments, in MXNet."""


@functools.cache
def _shifts(op: Op) -> bool:
    """Whether the position of an input depends on the optional ones before it."""
    return any(name in op.when for name in op.inputs[:-1])


def no_input(op: Op, which: object, value: object, hint: str = "") -> ParameterError:
    """The error of a value that is no input; it says which module takes arrays, or symbols."""
    expected = f"an array or symbol{hint}"
    if type(value).__name__ == "Symbol":
        expected = "an NDArray; functions of symbols are in mx.sym"
    elif isinstance(value, np.ndarray | jax.Array) or hasattr(value, "asnumpy"):
        expected = "a Symbol, such as mx.sym.Variable('data'); functions of arrays are in mx.nd"
    return wrong(f"{op.name}: input {which}", type(value), expected)


def _sort_variadic(
    op: Op, args: Sequence[Any], kwargs: Mapping[str, Any], is_tensor: Callable[[Any], bool]
) -> tuple[list[Any], dict[str, Any]]:
    if len(args) == 1 and isinstance(args[0], list | tuple):
        args = args[0]
    tensors = list(args)
    attrs = _attributes(op, kwargs)
    tensors += [attrs.pop(n) for n in list(attrs) if n not in op.types and is_tensor(attrs[n])]
    for at, value in enumerate(tensors):
        if not is_tensor(value):
            raise no_input(op, at, value)
    attrs.setdefault(op.variadic or "", len(tensors))
    return tensors, attrs


def _attributes(op: Op, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without a ``None`` of an unknown name; parameters may be ``None``."""
    return {n: v for n, v in given.items() if v is not None or n in op.types}


def refuse_unknown(op: Op, attrs: Attrs, is_tensor: Callable[[Any], bool]) -> None:
    """Raise for an unknown name; warn where the operator ignores it, as in MXNet.

    Raises:
        ParameterError: an unknown name, or an NDArray or Symbol as the value of a parameter. Arrays
            of NumPy and JAX pass: they are read as the parameter's kind.
    """
    for name, value in attrs.items():
        if name not in op.types:
            what = "input" if is_tensor(value) else "parameter"
            error = not_taken(op.name, name, (*op.inputs, *op.types), what)
            if what == "input" or not op.ignores_unknown:
                raise error
            warn_caller(f"{error}. As in MXNet, it has no effect")
        elif is_tensor(value) and not isinstance(value, np.ndarray | jax.Array):
            article = "an" if type(value).__name__ == "NDArray" else "a"
            raise ParameterError(
                f"{op.name}: {name}: got {article} {type(value).__name__}, expected "
                f"{spelled(op.types[name])}: parameters are plain values. `.asscalar()` gives that "
                "of an array with one element"
            )


def make_function(op: Op, name: str, invoke: Callable[..., Any], module: str) -> Callable[..., Any]:
    """A public function for an operator, with a real signature.

    It calls ``invoke(op, args, kwargs, name)``: symbols are named after what was called.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return invoke(op, args, kwargs, name)

    call.__name__ = call.__qualname__ = name
    call.__module__ = module
    call.__doc__ = op.doc
    call.__signature__ = _signature(op)
    return call


@functools.cache
def _signature(op: Op) -> inspect.Signature:
    kind = inspect.Parameter
    tensors = [kind(n, kind.POSITIONAL_OR_KEYWORD, default=None) for n in op.inputs]
    if op.variadic:
        tensors = [kind("args", kind.VAR_POSITIONAL)]
    attrs = [
        kind(n, kind.KEYWORD_ONLY, default=op.defaults.get(n, kind.empty), annotation=_plain(t))
        for n, t in op.types.items()
    ]
    return inspect.Signature([*tensors, *attrs, kind("kwargs", kind.VAR_KEYWORD)])


def _plain(type_: Any) -> Any:
    """The type of a parameter without what `Annotated` adds for its checks."""
    return type_.__origin__ if hasattr(type_, "__metadata__") else type_


def namespaces(invoke: Callable[..., Any], module: str) -> dict[str, dict[str, Callable[..., Any]]]:
    """All functions by namespace: ``""`` (public), ``"_internal"``, ``"linalg"``, and so on."""
    spaces: dict[str, dict[str, Callable[..., Any]]] = {"": {}, "op": {}, "_internal": {}}
    for space in _PREFIXES.values():
        spaces.setdefault(space, {})
    for name, op in OPS.items():
        prefix = next((p for p in _PREFIXES if name.startswith(p)), None)
        if prefix:
            short = name.removeprefix(prefix)
            space = _PREFIXES[prefix]
            spaces[space][short] = make_function(op, short, invoke, f"{module}.{space}")
        function = make_function(op, name, invoke, module)
        spaces["_internal"][name] = function
        if not name.startswith("_"):
            spaces[""][name] = spaces["op"][name] = function
    return spaces


def install(scope: dict[str, Any], invoke: Callable[..., Any], module: str) -> None:
    """Put every function into the module's ``scope``, and each namespace there as a module.

    Names that the module defines by hand stay.
    """
    for space, functions in namespaces(invoke, module).items():
        full_name, names = module, scope
        if space:
            full_name = f"{module}.{space}"
            made = scope.get(space) or ModuleType(full_name, f"Operators of ``{full_name}``.")
            scope[space] = sys.modules[full_name] = made
            names = vars(made)
        for name, function in functions.items():
            names.setdefault(name, function)
        names.setdefault("__getattr__", _refuse(full_name, names))


class UnknownFunctionError(NameNotFoundError, AttributeError):
    """A function of ``mx.nd`` or ``mx.sym`` that modkit does not have."""


def _refuse(module: str, scope: Mapping[str, Any]) -> Callable[[str], Any]:
    """A module's ``__getattr__``, whose error names the nearest functions."""

    def look_up(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        known = [n for n, value in scope.items() if callable(value) and n[0] != "_"]
        raise UnknownFunctionError(
            f"{module.replace('modkit.', 'mx.')} has no function {name!r}.{nearest(name, known)}"
        )

    return look_up
