"""``Symbol.infer_shape`` and ``infer_type``: arguments by position or by name, and results."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.errors import (
    DTypeError,
    ParameterError,
    ShapeError,
    check_known,
    warn_caller,
    wrong,
)
from modkit.ops.dtypes import dtype_name
from modkit.ops.partial_shapes import Sizes, complete
from modkit.symbol.graph import Graph
from modkit.symbol.graph_inference import given_shape, infer_dtypes, infer_shapes, shown_shape
from modkit.util import is_np_shape

Inferred = tuple[list[Any] | None, list[Any] | None, list[Any] | None]
"""For arguments, outputs and auxiliary states."""


def infer_shape(
    graph: Graph, args: Sequence[Any], kwargs: Mapping[str, Any], *, partial: bool
) -> Inferred:
    """See ``Symbol.infer_shape``."""
    known = _by_name(graph, "infer_shape", _as_shape, args, kwargs)
    facts = _inferred(graph, "infer_shape", infer_shapes, known)
    mark = "-1" if is_np_shape() else "0"
    hint = f"a {mark} is a size that is not known; "
    return _decided("shape", graph, facts, shown_shape, complete, hint, partial)


def infer_type(
    graph: Graph, args: Sequence[Any], kwargs: Mapping[str, Any], *, partial: bool
) -> Inferred:
    """See ``Symbol.infer_type``."""
    known = _by_name(graph, "infer_type", _as_dtype, args, kwargs)
    facts = _inferred(graph, "infer_type", infer_dtypes, known)
    return _decided("type", graph, facts, lambda n: n and jnp.dtype(n).type, bool, "", partial)


def _inferred(graph: Graph, where: str, infer: Callable[..., Any], known: dict[str, Any]) -> Any:
    """The result of ``infer``; its errors name the given values."""
    try:
        return infer(graph, known)
    except (ShapeError, DTypeError) as error:
        raise type(error)(f"{where}: {error}. Given: {known or 'nothing'}") from error


def _decided(
    what: str, graph: Graph, facts: Any, shown: Callable[[Any], Any], known: Callable[[Any], bool],
    hint: str, partial: bool,
) -> Inferred:  # fmt: skip
    """The facts as users see them; all ``None``, with a warning, if some have to be given."""
    found = facts.of(graph.arguments), facts.heads, facts.of(graph.auxiliary)
    if partial or all(map(known, facts)):
        return tuple([shown(fact) for fact in each] for each in found)  # type: ignore[return-value]
    names = [n.name for n in graph.arguments]
    undecided = [(n, shown(f)) for n, f in zip(names, found[0], strict=True) if not known(f)]
    warn_caller(
        f"the {what} of these arguments does not follow from what is given ({hint}give them too):"
        + "".join(f"\n\t{name}: {fact}" for name, fact in undecided)
    )
    return None, None, None


def _by_name(
    graph: Graph,
    where: str,
    read: Callable[[str, Any], Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> dict[str, Any]:
    """The given values by name, each read; ``None`` is left out, by name if ``read`` returns it."""
    names = [n.name for n in graph.arguments]
    if args and kwargs:
        raise ParameterError(f"{where}: give arguments by position or by name, not both")
    if len(args) > len(names):
        raise ParameterError(
            f"{where}: got {len(args)} arguments, expected at most {len(names)}: {', '.join(names)}"
        )
    given = kwargs or {n: v for n, v in zip(names, args, strict=False) if v is not None}
    found = {n: read(n, v) for n, v in given.items()}
    inputs = [n.name for n in graph.inputs]
    for name in given:
        check_known(f"{where}: no argument", name, inputs)
    return {n: v for n, v in found.items() if v is not None}


def _as_shape(name: str, shape: Any) -> Sizes:
    of_type = f" of type {type(shape).__name__}"
    if isinstance(shape, tuple):
        of_type = ""
        with contextlib.suppress(TypeError):
            return given_shape(map(operator.index, shape))
    hint = "; leave an unknown shape out" if shape is None else ""
    raise ParameterError(
        f"infer_shape: {name!r}: got {shape!r}{of_type}, expected a tuple of ints{hint}"
    )


def _as_dtype(name: str, dtype: Any) -> str | None:
    if dtype is None:
        return None
    if isinstance(dtype, int):
        raise wrong(f"infer_type: {name!r}", dtype, "an element type")
    try:
        return dtype_name(dtype)
    except DTypeError as error:
        raise ParameterError(f"infer_type: {name!r}: {error}") from error
