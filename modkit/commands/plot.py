"""``modkit plot``: a drawing of a network."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from modkit.commands.parsers import FORMATS, SOURCES
from modkit.commands.symbol_file import load_symbol
from modkit.errors import NotSupportedError, ParameterError
from modkit.files import atomic_write
from modkit.visualization import plot_network


def work(arguments: Namespace) -> None:
    """Write the drawing."""
    kind = Path(arguments.output).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise ParameterError(
            f"{arguments.output}: the ending says no format; expected one of {', '.join(FORMATS)}"
        )
    net = load_symbol(arguments.symbol)
    picture = plot_network(
        net,
        title=arguments.title or Path(arguments.symbol).stem,
        shape=dict(arguments.shape) or None,
        hide_weights=not arguments.weights,
        node_attrs={"fixedsize": "false"},  # boxes as large as their text
    )
    data = picture.source.encode() if kind in SOURCES else _drawn(picture, kind)
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
