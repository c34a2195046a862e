"""The registry of operators, and the decorator that registers a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from modkit.errors import ModkitError, NameNotFoundError, nearest, not_taken
from modkit.ops.entry import Op, Precision
from modkit.ops.own_gradient import without_gradient
from modkit.ops.parameters import Attrs, is_traced
from modkit.ops.schema import inherit, read_signature

OPS: dict[str, Op] = {}
"""Every operator by each of its names, aliases included."""


def get_op(name: str) -> Op:
    """The operator of a name or alias; NameNotFoundError, which names the nearest, for others."""
    if name not in OPS:
        raise NameNotFoundError(
            f"operator {name!r} is not one that modkit has.{nearest(name, OPS)}"
        )
    return OPS[name]


def op(
    name: str,
    *,
    precision: Precision,
    aliases: Sequence[str] = (),
    like: Callable[..., Any] | None = None,
    loss: bool | Callable[[Attrs], bool] = False,
    kind: type[Op] = Op,
    **fields: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated pure function as an operator.

    The function's positional arguments are its tensor inputs, its keyword-only arguments its
    parameters (annotated), of which ``key`` and ``train`` are given by the caller. It returns an
    array or a tuple of arrays; with ``aux``, ``(that, {aux name: new value})``.

    Args:
        precision: see `Op`.
        aliases: more names of the same operator.
        like: another operator's function, or a dataclass. The function takes its parameters as
            ``**given``, which stand ahead of the function's own; its inputs, too, if the function
            names none.
        loss: whether, or for which parsed attributes, its ``gradient`` is ``"loss"``.
        kind: the class of the entry.
        fields: see `Op`.

    Raises:
        ModkitError: a name is taken.
        ParameterError: ``fields`` has something else.
    """
    known = Op.__init__.__kwdefaults__ or {}  # the fields that have a default
    if unknown := [each for each in fields if each not in known]:
        raise not_taken(f"op({name!r})", unknown[0], known, "field")
    if callable(loss):
        fields["gradient"] = lambda attrs: "loss" if loss(attrs) else "derivative"
    elif loss:
        fields["gradient"] = "loss"

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        if like is not None:
            inherit(fn, like)
        schema = read_signature(fn)
        types, defaults = schema["types"], schema["defaults"]
        variadic = fields.get("variadic")
        if variadic and variadic not in types:
            types[variadic], defaults[variadic] = int, 0
        made = fn
        if fields.get("gradient") == "refused":
            constants = {"train", *(n for n, kind in types.items() if not is_traced(kind))}
            made = without_gradient(name, fn, constants)
        entry = kind(name=name, fn=made, precision=precision, **schema, **fields)
        for each in (name, *aliases):
            if each in OPS:
                raise ModkitError(f"operator name {each!r} is already registered")
            OPS[each] = entry
        return fn

    return register


def unary(name: str, fn: Callable[[Any], Any], doc: str, **fields: Any) -> None:
    """Register a table row: an elementwise function of one array."""
    _register_row(lambda data: fn(data), name, doc, fields)


def binary(name: str, fn: Callable[[Any, Any], Any], doc: str, **fields: Any) -> None:
    """Register a table row: a function of two arrays, of one shape unless ``same_shape=False``."""
    _register_row(lambda lhs, rhs: fn(lhs, rhs), name, doc, fields)


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _register_row(run: Any, name: str, doc: str, fields: dict[str, Any]) -> None:
    run.__doc__ = sentence(doc)
    run.__name__ = name.lstrip("_")
    op(name, **{"same_shape": True, "elementwise": True, **fields})(run)
