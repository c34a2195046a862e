"""``modkit summary``: a net as a table of its layers."""

from __future__ import annotations

import math
from argparse import Namespace, _SubParsersAction
from typing import Any

from modkit import symbol
from modkit.artefacts.symbols import roles_of
from modkit.commands.arguments import add_shape
from modkit.commands.mistakes import guarded
from modkit.commands.screen import write
from modkit.visualization import print_summary


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "summary",
        help="list the layers of a net",
        description="list the layers of a net with their shapes and numbers of parameters, which "
        "are counted layer by layer as MXNet does, and below as they are",
    )
    parser.add_argument("symbol", metavar="SYMBOL", help="a -symbol.json file")
    add_shape(parser, "shape of an input")
    parser.add_argument("--width", type=int, default=120, help="of the table (default: 120)")
    parser.set_defaults(work=guarded("summary", _summary))


def _summary(arguments: Namespace) -> None:
    net = symbol.load(arguments.symbol)
    shapes = dict(arguments.shape)
    print_summary(net, shapes or None, arguments.width)
    if shapes:
        inferred, _, _ = net.infer_shape_partial(**shapes)
        known = dict(zip(net.list_arguments(), inferred or (), strict=False))
        parameters = [known[n] for n in roles_of(net).parameters if n not in shapes]
        count = sum(map(math.prod, parameters))
        write(f"Parameters in fact: {count:,} in {len(parameters)} arrays")
