"""``modkit summary``: a table of a network's layers."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Mapping

from modkit.commands.arguments import Shape
from modkit.commands.parsers import WIDTH
from modkit.commands.screen import complain, screen_width, write
from modkit.commands.symbol_file import load_symbol
from modkit.errors import ShapeError
from modkit.symbol import Symbol
from modkit.symbol.roles import roles_of
from modkit.visualization.summary import summary_table


def work(arguments: Namespace) -> None:
    """Print the table."""
    net = load_symbol(arguments.symbol)
    shapes = dict(arguments.shape)
    width = arguments.width or min(WIDTH, screen_width())
    try:
        table = summary_table(net, shapes or None, width, counted=bool(shapes))
    except ShapeError as error:
        open_labels = [n for n in roles_of(net).labels if n in str(error)]
        hint = f"; give it with --shape {open_labels[0]}=..." if open_labels else ""
        raise ShapeError(f"{error}{hint}") from error
    write("\n".join(table))
    if not shapes:
        name = next(iter(roles_of(net).inputs), "data")
        write(f"Shapes and numbers of parameters are unknown; give --shape {name}=1,3,224,224")
    else:
        inferred, _, _ = net.infer_shape_partial(**shapes)
        known = dict(zip(net.list_arguments(), inferred or (), strict=False))
        parameters = [known[n] for n in roles_of(net).parameters if n not in shapes]
        count = sum(map(math.prod, parameters))
        if f"Total params: {count}" not in table:
            write(
                f"{count:,} numbers in the {len(parameters)} arrays of parameters; Total params is "
                "MXNet's count, by the channels that go into Convolution, FullyConnected, "
                "BatchNorm and Embedding"
            )
        _note_batch_axis(net, shapes)


def _note_batch_axis(net: Symbol, shapes: Mapping[str, Shape]) -> None:
    """Note inputs of FullyConnected with one axis, which is read as samples of one value."""
    for node in net.graph.nodes:
        name = node.inputs[0].node.name if node.op_name == "FullyConnected" else ""
        if len(shape := shapes.get(name, ())) == 1:
            complain(
                "summary",
                f"{node.name} takes {name} of shape {shape} as {shape[0]} samples of one value; "
                f"for {shape[0]} values a sample put the batch axis first: "
                f"--shape {name}=1,{shape[0]}",
            )
