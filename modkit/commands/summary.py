"""``modkit summary``: a table of a network's layers."""

from __future__ import annotations

import math
from argparse import Namespace

from modkit.artefacts.symbols import roles_of
from modkit.commands.parsers import WIDTH
from modkit.commands.screen import screen_width, write
from modkit.commands.symbol_file import load_symbol
from modkit.errors import ShapeError
from modkit.visualization.summary import summary_table


def work(arguments: Namespace) -> None:
    """Print the table."""
    net = load_symbol(arguments.symbol)
    shapes = dict(arguments.shape)
    width = arguments.width or min(WIDTH, screen_width())
    try:
        write("\n".join(summary_table(net, shapes or None, width, counted=bool(shapes))))
    except ShapeError as error:
        open_labels = [n for n in roles_of(net).labels if n in str(error)]
        hint = f"; give it with --shape {open_labels[0]}=..." if open_labels else ""
        raise ShapeError(f"{error}{hint}") from error
    if not shapes:
        name = next(iter(roles_of(net).inputs), "data")
        write(f"Shapes and numbers of parameters are unknown; give --shape {name}=1,3,224,224")
    else:
        inferred, _, _ = net.infer_shape_partial(**shapes)
        known = dict(zip(net.list_arguments(), inferred or (), strict=False))
        parameters = [known[n] for n in roles_of(net).parameters if n not in shapes]
        count = sum(map(math.prod, parameters))
        write(f"Parameters in fact: {count:,} in {len(parameters)} arrays")
