"""Arguments of a Predictor: network, parameters and input shapes, in each accepted form."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from modkit import symbol
from modkit.artefacts.containers import read_arrays
from modkit.errors import ParameterError, ShapeError, wrong
from modkit.io import DataDesc
from modkit.ndarray.files import plain_name
from modkit.symbol import Symbol

Shape = tuple[int, ...]


class Input(NamedTuple):
    """One input.

    Attributes:
        shape: of a whole batch.
        dtype: its element type; ``None`` if it is inferred from the net.
        layout: a letter for each axis, ``N`` for the batch; ``None`` if it is not given.
    """

    shape: Shape
    dtype: Any
    layout: str | None


def as_symbol(net: Any) -> Symbol:
    """A Symbol from a Symbol, JSON text, or the path of such a file."""
    if isinstance(net, Symbol):
        return net
    if isinstance(net, str) and net.lstrip().startswith("{"):
        return symbol.load_json(net)
    if isinstance(net, str | os.PathLike):
        return symbol.load(net)
    raise wrong("Predictor: symbol", type(net), "a Symbol, JSON text or a path")


def as_params(params: Any) -> dict[str, Any]:
    """Arrays by name, without ``arg:`` and ``aux:``.

    Args:
        params: arrays by name; the path of a file of them; or two dictionaries, of arguments and
            of auxiliary states, as ``Module.get_params`` gives them.

    Raises:
        ParameterError: something else, or a name occurs twice.
    """
    if isinstance(params, str | os.PathLike):
        params = read_arrays(params)
    parts = params if isinstance(params, tuple | list) else (params,)
    if not all(isinstance(part, Mapping) for part in parts):
        raise ParameterError(
            f"Predictor: params: got {type(params).__name__}, expected arrays by name, a pair of "
            "such dictionaries (arguments, auxiliary states), or the path of a file"
        )
    found: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            short = plain_name(name)
            if short in found:
                raise ParameterError(f"Predictor: params: {short!r} is there twice")
            found[short] = value
    return found


def as_inputs(shapes: Any) -> dict[str, Input]:
    """Inputs by name, from shapes (or inputs) by name or a list of DataDesc or (name, shape).

    Raises:
        ParameterError: something else.
        ShapeError: a size is less than 1.
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    try:
        found = dict(_as_input(pair) for pair in pairs)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"Predictor: input_shapes: got {shapes!r}, expected shapes by name such as "
            f"{{'data': (8, 3, 224, 224)}}, or a list of DataDesc"
        ) from error
    for name, each in found.items():
        if min(each.shape, default=1) < 1:
            raise ShapeError(
                f"Predictor: input_shapes: {name!r}: got {each.shape}, expected sizes of 1 or more"
            )
    return found


def _as_input(pair: Any) -> tuple[str, Input]:
    if isinstance(pair, DataDesc):
        return pair.name, Input(tuple(pair.shape), pair.dtype, pair.layout)
    name, shape = pair
    if isinstance(shape, Input):
        return name, shape
    if not isinstance(name, str):
        raise TypeError(name)
    return name, Input(tuple(int(size) for size in np.atleast_1d(shape)), None, None)


def sample_axes(inputs: Mapping[str, Input]) -> tuple[dict[str, int | None], int | None]:
    """The batch axis of each input, and the number of samples that were bound.

    With a layout it is the axis of its ``N``. Without one it is the first axis, if it is as long
    as that of the first input.
    """
    axes = {n: _batch_axis(i) for n, i in inputs.items()}
    sizes = (i.shape[a] for n, i in inputs.items() if (a := axes[n]) is not None)
    size = next(sizes, None)
    for name, each in inputs.items():
        axis = axes[name]
        if each.layout is None and axis is not None and each.shape[axis] != size:
            axes[name] = None
    return axes, size


def _batch_axis(each: Input) -> int | None:
    if not each.shape:
        return None
    if each.layout is None:
        return 0
    axis = DataDesc.get_batch_axis(each.layout)
    return axis if 0 <= axis < len(each.shape) else None
