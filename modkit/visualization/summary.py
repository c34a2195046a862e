"""print_summary: a table of a network's layers, shapes and parameter counts."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.errors import expect
from modkit.symbol import Symbol
from modkit.symbol.graph import Node
from modkit.symbol.json import without_casts
from modkit.visualization.internals import Shapes, check_symbol, format_shape, internal_shapes

_TITLES = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")


def print_summary(
    symbol: Symbol,
    shape: Mapping[str, Sequence[int]] | None = None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a table of a network's layers, their output shapes and parameter counts.

    Parameters are counted as in MXNet: only those of Convolution, FullyConnected, BatchNorm and
    Embedding, from the number of input channels; a FullyConnected on images that are not
    flattened therefore counts only their channels. For exact counts, sum the shapes of
    ``symbol.infer_shape(...)``.

    Args:
        shape: shapes of the data by name, batch included; ``None`` leaves the column empty.
        line_length: width of the table.
        positions: ends of the columns, as fractions of the width or in characters.

    Raises:
        TypeError: ``symbol`` is not a Symbol.
        ShapeError: some shapes cannot be inferred.
    """
    table = summary_table(symbol, shape, line_length, positions)
    sys.stdout.write("\n".join(table) + "\n")


def summary_table(
    symbol: Symbol,
    shape: Mapping[str, Sequence[int]] | None,
    line_length: int = 120,
    positions: Sequence[float] = (0.44, 0.64, 0.74, 1.0),
    *,
    counted: bool = True,
) -> list[str]:
    """The lines of `print_summary`; without ``counted`` the counts of parameters are left out."""
    check_symbol(symbol, "print_summary")
    fits = isinstance(positions, list | tuple) and len(positions) == len(_TITLES)
    expected = f"a list of the ends of {len(_TITLES)} columns"
    expect(fits, "print_summary: positions", positions, expected)
    shapes = internal_shapes(symbol, shape)
    ends = [int(line_length * p) if positions[-1] <= 1 else int(p) for p in positions]
    nodes = without_casts(symbol.graph).nodes
    lines = ["_" * line_length, _row(_TITLES, ends), "=" * line_length]
    total = 0
    for node in nodes:
        if node.is_variable and node is not nodes[0]:
            continue
        before = [e.node for e in node.inputs if not e.node.is_variable or e.node is nodes[0]]
        count = _parameters(node, before, shapes)
        total += count
        name, *others = [below.name for below in before] or [""]
        output_shape = format_shape(_shape(node, shapes))
        shown = count if counted else ""
        lines.append(_row((f"{node.name}({node.op_name})", output_shape, shown, name), ends))
        lines += [_row(("", "", "", other), ends) for other in others]
        lines.append(("=" if node is nodes[-1] else "_") * line_length)
    return [*lines, *([f"Total params: {total}", "_" * line_length] if counted else [])]


def _row(fields: Sequence[Any], ends: Sequence[int]) -> str:
    """A line with each field truncated or padded to the end of its column."""
    line = ""
    for field, end in zip(fields, ends, strict=True):
        line = (line + str(field))[:end].ljust(end)
    return line


def _shape(node: Node, shapes: Shapes | None) -> tuple[int, ...]:
    """The output shape of a layer; empty if unknown or if there are several outputs."""
    name = node.name if node.is_variable else f"{node.name}_output"
    return (shapes or {}).get(name, ())


def _parameters(node: Node, before: Sequence[Node], shapes: Shapes | None) -> int:
    """The number of parameters of a layer, by MXNet's count."""
    count = _COUNTED.get(node.op_name)
    if count is None:
        return 0
    channels = sum((*_shape(below, shapes), 0, 0)[1] for below in before)
    return count(node.params, channels, (*_shape(node, shapes), 0, 0))


def _convolution(params: Mapping[str, Any], channels: int, _: Sequence[int]) -> int:
    filters = params["num_filter"]
    weights = channels * filters // params["num_group"] * math.prod(params["kernel"])
    return weights + (0 if params["no_bias"] else filters)


def _dense(params: Mapping[str, Any], channels: int, _: Sequence[int]) -> int:
    units = params["num_hidden"]
    return units * channels + (0 if params["no_bias"] else units)


_COUNTED: dict[str, Callable[[Mapping[str, Any], int, Sequence[int]], int]] = {
    "Convolution": _convolution,
    "FullyConnected": _dense,
    "BatchNorm": lambda _params, _channels, out: 2 * out[1],
    "Embedding": lambda params, _channels, _out: params["input_dim"] * params["output_dim"],
}
