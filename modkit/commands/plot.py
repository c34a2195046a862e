"""``modkit plot``: a drawing of a network."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from pathlib import Path
from typing import Any

from modkit.commands.arguments import add_shape, add_symbol, load_symbol
from modkit.commands.screen import guarded
from modkit.errors import NotSupportedError, ParameterError
from modkit.files import atomic_write
from modkit.visualization import plot_network

_SOURCES = ("dot", "gv")
_FORMATS = ("svg", "png", "pdf", "jpg", "ps", *_SOURCES)


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "plot",
        help="draw a net",
        description="draw a net with graphviz: the Python package (pip install 'modkit[viz]') and, "
        "but for .dot files, the program dot of the system's graphviz package",
    )
    add_symbol(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE",
        help=f"the picture; its ending says the format: {', '.join(_FORMATS)}",
    )  # fmt: skip
    add_shape(parser, "shape of an input, to write shapes beside the edges")
    parser.add_argument("--weights", action="store_true", help="draw weights too")
    parser.add_argument("--title", help="name of the picture (default: of the file)")
    parser.set_defaults(work=guarded("plot", _plot))


def _plot(arguments: Namespace) -> None:
    kind = Path(arguments.output).suffix.lower().removeprefix(".")
    if kind not in _FORMATS:
        raise ParameterError(
            f"{arguments.output}: the ending says no format; expected one of {', '.join(_FORMATS)}"
        )
    net = load_symbol(arguments.symbol)
    picture = plot_network(
        net,
        title=arguments.title or Path(arguments.symbol).stem,
        shape=dict(arguments.shape) or None,
        hide_weights=not arguments.weights,
        node_attrs={"fixedsize": "false"},  # boxes as large as their text
    )
    data = picture.source.encode() if kind in _SOURCES else _drawn(picture, kind)
    with atomic_write(arguments.output) as file:
        file.write(data)


def _drawn(picture: Any, kind: str) -> bytes:
    # plot_network has found the package already.
    import graphviz

    try:
        return picture.pipe(format=kind)
    except graphviz.ExecutableNotFound as error:
        raise NotSupportedError(
            "drawing needs the program dot, which is not installed: apt install graphviz, brew "
            "install graphviz, or see graphviz.org; -o net.dot writes what dot would read"
        ) from error
    except graphviz.CalledProcessError as error:
        raise NotSupportedError(f"dot cannot write {kind}: {error}") from error
