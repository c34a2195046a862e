"""The inputs and parameters of an ONNX model that is written: checked, and put in order."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from modkit import ndarray
from modkit.errors import NameNotFoundError, ParameterError, expect
from modkit.files import located
from modkit.ndarray import NDArray
from modkit.ndarray.files import plain_name
from modkit.ops.dtypes import dtype_name
from modkit.ops.stype import DENSE
from modkit.symbol.graph import Graph, Node


class Input(NamedTuple):
    """An input of the ONNX model; ``None`` and names are dynamic sizes."""

    name: str
    shape: tuple[int, ...]
    dynamic: tuple[int | str | None, ...]
    dtype: str


class Signature(NamedTuple):
    """The inputs of the ONNX model, its parameters, and the shapes of labels that were given."""

    inputs: list[Input]
    params: dict[str, np.ndarray]
    labels: dict[str, tuple[int, ...]]


@located("export_model")
def signature_of(
    graph: Graph, nodes: Sequence[Node], given: Any, shapes: Any, types: Any, dynamic: Any
) -> Signature:
    """The signature of a graph, from the arguments of `export_model`.

    ``dynamic`` is ``dynamic_input_shapes``; ``()`` makes the first axis of each input dynamic.

    Raises:
        ParameterError: shapes or types do not belong to the inputs.
        NameNotFoundError: a parameter is missing.
    """
    params = _arrays(given)
    names = [node.name for node in nodes if node.is_variable]
    needed = set(names)
    if len(needed) < len(names):
        twice = sorted(n for n in needed if names.count(n) > 1)
        raise ParameterError(
            f"got several variables with the names {twice}; give each its own, or pass one "
            "mx.sym.Variable to all that use it"
        )
    free = [n.name for n in graph.arguments if n.name not in params]
    absent = [n.name for n in graph.auxiliary if n.name not in params]
    if absent:
        raise NameNotFoundError(f"params lacks the auxiliary states {', '.join(absent)}")
    data = [n for n in free if n in needed]
    if shapes is None:
        raise ParameterError(f"in_shapes is needed, a shape for each of: {data}")
    wanted = free if len(shapes) == len(free) else data
    expected = f"a shape for each of {data}. If one of these is a parameter, params lacks it"
    expect(len(shapes) == len(wanted), "in_shapes", shapes, expected)
    by_name = {n: _whole(n, s) for n, s in zip(wanted, shapes, strict=True)}
    if isinstance(types, Mapping):
        raise ParameterError("in_types is a dictionary, expected a type or a list")
    if not isinstance(types, list | tuple):
        types = [types] * len(wanted)
    if len(types) != len(wanted):
        raise ParameterError(f"in_types has {len(types)} types, expected one or {len(wanted)}")
    kinds = dict(zip(wanted, map(dtype_name, types), strict=True))
    sizes = _dynamic(wanted, by_name, dynamic)
    inputs = [Input(n, by_name[n], sizes[n], kinds[n]) for n in data]
    return Signature(inputs, params, {n: by_name[n] for n in wanted if n not in needed})


def _whole(name: str, shape: Any) -> tuple[int, ...]:
    """A shape of an input."""
    try:
        return tuple(map(operator.index, shape))
    except TypeError as error:
        raise ParameterError(
            f"in_shapes: got {shape!r} for the input {name!r}, expected a tuple of "
            "whole numbers, as in in_shapes=[(1, 3, 224, 224)]"
        ) from error


def _dynamic(
    names: Sequence[str], shapes: Mapping[str, tuple[int, ...]], given: Any
) -> dict[str, tuple[Any, ...]]:
    """The shape of each input, with ``None`` or a name for a dynamic size."""
    if given is None:
        return dict(shapes)
    if not given:
        return {n: (None, *shapes[n][1:]) for n in names}
    if [len(s) for s in given] != [len(shapes[n]) for n in names]:
        raise ParameterError(
            f"dynamic_input_shapes={list(given)!r} must have a size, None or a name "
            f"for each axis of in_shapes={[shapes[n] for n in names]}"
        )
    return {n: _sizes(n, shapes[n], s) for n, s in zip(names, given, strict=True)}


def _sizes(name: str, shape: tuple[int, ...], given: Sequence[Any]) -> tuple[int | str | None, ...]:
    """A shape with dynamic sizes, whose numbers must be those of the shape."""
    for size, wanted in zip(given, shape, strict=True):
        if size != wanted and not (size is None or isinstance(size, str)):
            raise ParameterError(
                f"dynamic_input_shapes: got {tuple(given)!r} for the input {name!r}, "
                f"expected None, a name or {wanted} in place of {size!r}: in_shapes has {shape}"
            )
    pairs = zip(given, shape, strict=True)
    return tuple(g if g is None or isinstance(g, str) else s for g, s in pairs)


def _arrays(params: Any) -> dict[str, np.ndarray]:
    """Parameters by their plain names, as NumPy arrays."""
    if isinstance(params, str | os.PathLike):
        params = ndarray.load(os.fspath(params))
    if isinstance(params, Sequence) and len(params) == 2:
        params = {**params[0], **params[1]}
    if not isinstance(params, Mapping):
        raise ParameterError(
            f"params is {type(params).__name__}; expected a dictionary of arrays, a "
            "path of a .params file, or a list of arguments and auxiliary states"
        )
    return {
        plain_name(n): v.tostype(DENSE).asnumpy() if isinstance(v, NDArray) else np.asarray(v)
        for n, v in params.items()
    }
