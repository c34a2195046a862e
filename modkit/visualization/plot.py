"""``plot_network``: a drawing of a network by graphviz."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.errors import ModkitError, warn_caller
from modkit.lazy import install
from modkit.symbol import Symbol
from modkit.symbol.graph import Node, entry_name
from modkit.symbol.json import without_casts
from modkit.visualization.internals import (
    check_symbol,
    format_shape,
    internal_shapes,
    internal_types,
)

_STYLE = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034",
          "style": "filled"}  # fmt: skip
_WEIGHTS = ("_weight", "_bias", "_beta", "_gamma",
            "_moving_var", "_moving_mean", "_running_var", "_running_mean")  # fmt: skip
_PLAIN = "#fccde5"


class MissingPackageError(ModkitError, ImportError):
    """An optional package is missing. The message contains the install command."""


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: Mapping[str, Sequence[int]] | None = None,
    dtype: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, str] | None = None,
    hide_weights: bool = True,
) -> Any:
    """A network as a ``graphviz.Digraph``, which notebooks display and ``render()`` saves.

    Args:
        title: name of the drawing and of its file.
        save_format: file format: ``"pdf"``, ``"png"``, ...
        shape: shapes of the data by name, batch included; labels edges with shapes.
        dtype: types of the data by name; labels edges with types.
        node_attrs: graphviz attributes of the nodes.
        hide_weights: omit edges to weights, biases and moving statistics.

    Returns:
        The graph.

    Raises:
        ImportError: the graphviz package is not installed.
        TypeError: ``symbol`` is not a Symbol.
        ShapeError: some shapes cannot be inferred.
    """
    check_symbol(symbol, "plot_network")
    picture = _digraph_class()(name=title, format=save_format)
    shapes = internal_shapes(symbol, shape) or {}
    types = internal_types(symbol, dtype)
    style = {**_STYLE, **(node_attrs or {})}
    nodes = without_casts(symbol.graph).nodes
    _warn_of_repeated(nodes)
    for node in nodes:
        if not _is_weight(node):
            label, colour = _label_and_colour(node)
            oval = {"shape": "oval"} if node.is_variable else {}
            picture.node(name=_id(node), label=label, **{**style, **oval, "fillcolor": colour})
    for node in nodes:
        for entry in node.inputs:
            if hide_weights and _is_weight(entry.node):
                continue
            name = entry_name(entry)
            label = format_shape(shapes.get(name)) + (f"({types[name]})" if name in types else "")
            picture.edge(tail_name=_id(node), head_name=_id(entry.node), label=label,
                         dir="back", arrowtail="open")  # fmt: skip
    return picture


def _digraph_class() -> Any:
    try:
        from graphviz import Digraph  # an optional package
    except ImportError as error:
        raise MissingPackageError(
            "plot_network draws with the graphviz package, which is not installed: "
            f"{install('viz')}, and for files the system's graphviz program. "
            "print_summary needs neither"
        ) from error
    return Digraph


def _id(node: Node) -> str:
    """The name of a node; a colon, as in names of other frameworks, begins a port in edges."""
    return node.name.replace(":", "\N{RATIO}")


def _is_weight(node: Node) -> bool:
    return node.is_variable and node.name.endswith(_WEIGHTS)


def _warn_of_repeated(nodes: Sequence[Node]) -> None:
    repeated = [n for n, count in Counter(node.name for node in nodes).items() if count > 1]
    if repeated:
        warn_caller(
            "There are multiple variables with the same name in your graph; they are drawn as one, "
            f"perhaps in a circle. Repeated names: {','.join(repeated)}",
            RuntimeWarning,
        )


def _label_and_colour(node: Node) -> tuple[str, str]:
    if node.is_variable:
        return node.name, "#8dd3c7"
    text, colour = _STYLES.get(node.op_name, (None, _PLAIN))
    return (node.name if text is None else text(node)), colour


def _window(node: Node) -> str:
    """Kernel and stride: ``3x3/2x2``, or ``3x3/1`` without a stride."""
    kernel, stride = ("x".join(map(str, node.params[n])) for n in ("kernel", "stride"))
    return f"{kernel}/{stride or 1}"


def _activation(node: Node) -> str:
    return f"{node.op_name}\n{node.params['act_type']}"


_STYLES: dict[str, tuple[Callable[[Node], str] | None, str]] = {
    "Convolution": (
        lambda node: f"Convolution\n{_window(node)}, {node.params['num_filter']}", "#fb8072",
    ),
    "FullyConnected": (lambda node: f"FullyConnected\n{node.params['num_hidden']}", "#fb8072"),
    "BatchNorm": (None, "#bebada"),
    "Activation": (_activation, "#ffffb3"),
    "LeakyReLU": (_activation, "#ffffb3"),
    "Pooling": (
        lambda node: f"Pooling\n{node.params['pool_type']}, {_window(node)}", "#80b1d3",
    ),
    "Concat": (None, "#fdb462"),
    "Flatten": (None, "#fdb462"),
    "Reshape": (None, "#fdb462"),
    "Custom": (lambda node: node.attrs.get("op_type", "Custom"), _PLAIN),
}  # fmt: skip
