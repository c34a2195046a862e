"""Registration of custom operators; names and arguments of all operators."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from modkit.errors import wrong
from modkit.operator.bridge import PropBridge
from modkit.operator.custom_op import CustomOpProp
from modkit.ops.custom import MAKERS
from modkit.ops.entry import Op
from modkit.ops.registry import OPS, get_op
from modkit.symbol.graph import parsed


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """A decorator that registers a `CustomOpProp` under a name for ``op_type``.

    ``mx.sym.Custom(data=x, op_type=reg_name)`` and ``mx.nd.Custom`` use it. Registering another
    class under the same name replaces the first one.
    """

    def decorate(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        if not (isinstance(prop, type) and issubclass(prop, CustomOpProp)):
            raise wrong("register", prop, "a subclass of CustomOpProp")
        MAKERS[reg_name] = lambda params: PropBridge(reg_name, prop, params)
        parsed.cache_clear()  # existing graphs use the new class
        return prop

    return decorate


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

    Differs: parameters are in the order of modkit's signatures. Types are ``int`` and ``float``,
    where MXNet has several of either, such as ``long`` and ``double``.

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
