"""Composition: a node from an operator and a call's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.attribute import AttrScope
from modkit.errors import ParameterError, not_taken, typed, warn_caller
from modkit.name import NameManager
from modkit.ops.entry import Op
from modkit.ops.frontend import named_after, no_input, refuse_unknown, sort_call
from modkit.symbol.attrs import HIDDEN, check_for_op, check_strings, is_private, spell, stored_name
from modkit.symbol.graph import Entry, Node, joined, parsed


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
        called: the name it was called by, which automatic names come from.
        args: symbols, then parameters.
        kwargs: symbols and parameters by name; ``name``; ``attr``; and attributes ``__x__=``, which
            ``attr`` and the scope override.
        is_symbol: tells symbols from parameters.

    Raises:
        ParameterError: an argument that the operator does not take, or a bad value.
    """
    kwargs = dict(kwargs)
    args = named_after(op, args, kwargs, ("name", "attr"))
    given_name, own = kwargs.pop("name", None), kwargs.pop("attr", None)
    if not isinstance(given_name, str | None):
        raise ParameterError(f"{op.name}: name: got {typed(given_name)}, expected a text")
    if own is not None:
        check_strings(own)
    # MXNet's own attributes, and their old form for inputs.
    own_names = [n for n in kwargs if is_private(n) or (n not in op.types and n.endswith(HIDDEN))]
    by_keyword = {n: str(kwargs.pop(n)) for n in own_names}
    attrs = {}
    for key, value in (by_keyword | AttrScope.current.get(own)).items():
        attrs.setdefault(stored_name(key, value), value)
    by_position, by_name, params = _split(op, args, kwargs, is_symbol)
    # Later mistakes count an automatic name, as in MXNet.
    name = NameManager.current.get(given_name, called.lower())
    if op.variadic and by_position and by_name:
        raise ParameterError(
            f"{op.name}: got inputs by position and by name ({', '.join(by_name)}), expected all "
            "of them in one way"
        )
    _check_params(op, params, is_symbol)
    attrs = {**attrs, **{n: spell(v) for n, v in params.items()}}
    check_for_op(op, attrs)
    frozen = dict(parsed(op, tuple(attrs.items())))
    names = op.input_names(frozen)
    entries = _named_inputs(op, names, by_position, by_name)
    return Node(op.name, name, attrs, complete_inputs(op, name, names, entries, attrs))


def with_inputs(
    node: Node, name: str, by_position: Sequence[Any], by_name: Mapping[str, Any]
) -> Node:
    """A node of the same operator and parameters; inputs that are missing become variables.

    Raises:
        ParameterError: an input that the operator does not take, or not with these parameters.
    """
    names = node.op.input_names(node.params)
    entries = _named_inputs(node.op, names, by_position, by_name)
    inputs = complete_inputs(node.op, name, names, entries, node.attrs)
    return Node(node.op_name, name, node.attrs, inputs, node.subgraphs)


def _split(
    op: Op, args: Sequence[Any], kwargs: dict[str, Any], is_symbol: Callable[[Any], bool]
) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """A call's arguments as symbols by position, symbols by name, and parameters."""
    if op.names and not op.variadic:
        named = {n: kwargs.pop(n) for n in list(kwargs) if is_symbol(kwargs[n])}
        return list(args), named, kwargs
    if not op.variadic:
        kwargs = kwargs if op.inputs else _without_symbols(op, kwargs, is_symbol)
        tensors, params = sort_call(op, args, kwargs, is_symbol)
        return [], dict(tensors), params
    if len(args) == 1 and isinstance(args[0], list | tuple):
        args = args[0]
    for at, value in enumerate(args):
        if hasattr(value, "shape"):  # an array, whose `repr` is long
            raise no_input(op, at, value)
        if not is_symbol(value):
            raise ParameterError(
                f"{op.name}: got {value!r} of type {type(value).__name__}, expected a Symbol; "
                "parameters are given by name"
            )
    named = {n: kwargs.pop(n) for n in list(kwargs) if is_symbol(kwargs[n])}
    kwargs.setdefault(op.variadic, len(args) + len(named))
    return list(args), named, sort_call(op, (), kwargs, is_symbol)[1]


def _check_params(op: Op, params: Mapping[str, Any], is_symbol: Callable[[Any], bool]) -> None:
    """Refuse unknown names, symbols, and no inputs where their number is a parameter."""
    if op.variadic and not params[op.variadic]:
        raise ParameterError(
            f"{op.name}: got no inputs, expected one or more; or their number, {op.variadic}, for "
            "inputs that are given later"
        )
    if op.variadic or not op.names:
        refuse_unknown(op, params, is_symbol)


def _without_symbols(
    op: Op, kwargs: Mapping[str, Any], is_symbol: Callable[[Any], bool]
) -> dict[str, Any]:
    """The parameters, and keywords that are no symbols: MXNet ignores others without inputs."""
    kept = {n: v for n, v in kwargs.items() if n in op.types or not is_symbol(v)}
    if dropped := [n for n in kwargs if n not in kept]:
        warn_caller(
            f"{op.name}: takes no inputs, so the symbols {', '.join(dropped)} do not enter the "
            "graph (as in MXNet)"
        )
    return kept


def _named_inputs(
    op: Op, names: Sequence[str], by_position: Sequence[Any], by_name: Mapping[str, Any]
) -> dict[str, Entry]:
    """One entry for each input that was given."""
    if len(by_position) > len(names):
        raise ParameterError(
            f"{op.name}: got {len(by_position)} inputs, expected {len(names)}: {', '.join(names)}"
        )
    inputs = dict(zip(names, by_position, strict=False))
    for name, symbol in by_name.items():
        if name not in names:
            raise not_taken(f"{op.name} with these parameters", name, names, "input")
        if name in inputs:
            raise ParameterError(f"{op.name}: got input {name!r} twice, by position and by name")
        inputs[name] = symbol
    return {n: single_entry(s, f"{op.name}: input {n!r}") for n, s in inputs.items()}


def single_entry(symbol: Any, where: str) -> Entry:
    """The one output of a symbol; ParameterError where it has several."""
    if len(symbol) != 1:
        raise ParameterError(
            f"{where}: got a symbol of {len(symbol)} outputs ({', '.join(symbol.list_outputs())}),"
            " expected one; choose with symbol[i]"
        )
    return symbol.heads[0]


def complete_inputs(
    op: Op, name: str, names: Sequence[str], entries: Mapping[str, Entry], attrs: Mapping[str, str]
) -> list[Entry]:
    """All inputs in order, new variables where there was none."""
    aux = op.aux_names(dict(parsed(op, tuple(attrs.items())))) if op.may_have_aux else ()
    made = []
    for each in names:
        entry = entries.get(each) or Entry(Node("null", joined(name, each), attrs))
        if not entry.node.is_variable and each in aux:
            raise ParameterError(
                f"{op.name}: input {each!r} is an auxiliary state, which training writes to: got "
                f"the output of node {entry.node.name!r}, expected a Variable"
            )
        if each in op.input_init and entry.node.is_variable:
            entry.node.attrs.setdefault("__init__", op.input_init[each])
        made.append(entry)
    return made
