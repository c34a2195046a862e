"""Composition: a node from an operator and a call's arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.attribute import AttrScope
from modkit.errors import ParameterError, nearest
from modkit.name import NameManager
from modkit.ops.frontend import bind_call
from modkit.ops.registry import Op
from modkit.symbol.attrs import HIDDEN, check_for_op, check_strings, is_private, spell, stored_name
from modkit.symbol.graph import Entry, Node, parsed

_ZERO, _ONE = '["zero", {}]', '["one", {}]'

_STATISTICS = {"moving_mean": _ZERO, "moving_var": _ONE}

INPUT_INIT: dict[str, dict[str, str]] = {
    "BatchNorm": _STATISTICS,
    "BatchNorm_v1": _STATISTICS,
    "_contrib_SyncBatchNorm": _STATISTICS,
    "UpSampling": {"weight": '["bilinear", {}]'},
    "LeakyReLU": {"gamma": '["Constant", {"value": 0.25}]'},
}
"""The ``__init__`` that some operators give to their input variables."""


def make_node(
    op: Op,
    called: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    is_symbol: Callable[[Any], bool],
) -> Node:
    """The node that a call of ``mx.sym.<called>(*args, **kwargs)`` makes.

    Inputs that are missing become variables, named after the node: ``fc1_weight``.

    Args:
        op: the operator.
        called: the name it was called by, which automatic names come from.
        args: symbols, then parameters.
        kwargs: symbols and parameters by name; ``name``; ``attr``; and attributes ``__x__=``.
        is_symbol: tells symbols from parameters.

    Raises:
        ParameterError: an argument that the operator does not take, or a bad value.
    """
    kwargs = dict(kwargs)
    given_name, own = kwargs.pop("name", None), kwargs.pop("attr", None)
    if own is not None:
        check_strings(own)
    name = NameManager.current.get(given_name, called.lower())
    attrs = {n: str(kwargs.pop(n)) for n in list(kwargs) if is_private(n) or n in HIDDEN}
    attrs = {**AttrScope.current.get(own), **attrs}
    attrs = {stored_name(n, v): v for n, v in attrs.items()}
    inputs, params = _split(op, args, kwargs, is_symbol)
    attrs = {**attrs, **{n: spell(v) for n, v in params.items()}}
    check_for_op(op, attrs)
    frozen = dict(parsed(op, tuple(attrs.items())))
    names = op.input_names(frozen)
    entries = _named_inputs(op, names, inputs)
    return Node(op.name, name, attrs, complete_inputs(op, name, names, entries, attrs))


_NUMBERED = re.compile(r"arg(\d+)")


def _split(
    op: Op, args: Sequence[Any], kwargs: dict[str, Any], is_symbol: Callable[[Any], bool]
) -> tuple[dict[str, Any] | list[Any], dict[str, Any]]:
    """A call's arguments as symbols and parameters."""
    numbered = {n: v for n, v in kwargs.items() if _NUMBERED.fullmatch(n) and is_symbol(v)}
    if not (op.variadic and numbered):
        return bind_call(op, args, kwargs, is_symbol)
    if args:
        raise ParameterError(f"{op.name}: inputs either by position or as arg0, arg1, ...")
    for name in numbered:
        kwargs.pop(name)
    kwargs.setdefault(op.variadic, len(numbered))
    _, params = bind_call(op, (), kwargs, is_symbol)
    return numbered, params


def _named_inputs(
    op: Op, names: Sequence[str], inputs: Mapping[str, Any] | Sequence[Any]
) -> dict[str, Entry]:
    """One entry for each input that was given."""
    if not isinstance(inputs, Mapping):
        if len(inputs) > len(names):
            raise ParameterError(
                f"{op.name}: got {len(inputs)} inputs, expected {len(names)}: {', '.join(names)}"
            )
        inputs = dict(zip(names, inputs, strict=False))
    found: dict[str, Entry] = {}
    for name, symbol in inputs.items():
        if name not in names:
            raise ParameterError(
                f"{op.name}: no input {name!r} with these parameters.{nearest(name, names)} "
                f"It takes: {', '.join(names)}"
            )
        found[name] = single_entry(symbol, f"{op.name}: input {name!r}")
    return found


def single_entry(symbol: Any, where: str) -> Entry:
    """The one output of a symbol.

    Raises:
        ParameterError: it has several.
    """
    if len(symbol) != 1:
        raise ParameterError(
            f"{where}: got a symbol of {len(symbol)} outputs ({', '.join(symbol.list_outputs())}),"
            " expected one; choose with symbol[i]"
        )
    return symbol.heads[0]


def complete_inputs(
    op: Op,
    name: str,
    names: Sequence[str],
    entries: Mapping[str, Entry],
    attrs: Mapping[str, str],
) -> list[Entry]:
    """All inputs in order, new variables where there was none."""
    inits = INPUT_INIT.get(op.name, {})
    made = []
    for each in names:
        entry = entries.get(each) or Entry(Node("null", f"{name}_{each}", attrs))
        if not entry.node.is_variable and each in op.aux:
            raise ParameterError(
                f"{op.name}: input {each!r} is an auxiliary state, which training writes to: got "
                f"the output of node {entry.node.name!r}, expected a Variable"
            )
        if each in inits and entry.node.is_variable:
            entry.node.attrs.setdefault("__init__", inits[each])
        made.append(entry)
    return made
