"""The graph of a symbol as a small SVG, for notebooks."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence

from modkit.symbol.graph import Node

MOST_NODES = 300
"""Number of nodes from which on a drawing would be too large to read."""

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 150, 34, 16, 26


def svg(nodes: Sequence[Node]) -> str | None:
    """Operators from the data down, each below its inputs; ``None`` if there are too many.

    Weights, which are variables that one operator reads beside another input, are not drawn.
    """
    first = {e.node for n in nodes for e in n.inputs[:1]}
    hidden = {e.node for n in nodes for e in n.inputs[1:] if e.node.is_variable} - first
    shown = [n for n in nodes if n not in hidden]
    if len(shown) > MOST_NODES:
        return None
    depths: dict[Node, int] = {}
    rows: dict[int, list[Node]] = defaultdict(list)
    for node in shown:
        depths[node] = max((depths[e.node] + 1 for e in node.inputs if e.node in depths), default=0)
        rows[depths[node]].append(node)
    places = {
        node: (at * (_WIDTH + _GAP_X) + 1, depth * (_HEIGHT + _GAP_Y) + 1)
        for depth, row in rows.items()
        for at, node in enumerate(row)
    }
    width = max(x for x, _ in places.values()) + _WIDTH + 1
    height = max(y for _, y in places.values()) + _HEIGHT + 1
    parts = [_line(places[e.node], places[n]) for n in shown for e in n.inputs if e.node in places]
    parts += [_box(node, *place) for node, place in places.items()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11" text-anchor="middle">{"".join(parts)}</svg>'
    )


def _line(above: tuple[int, int], below: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = above, below
    return (
        f'<line x1="{x1 + _WIDTH // 2}" y1="{y1 + _HEIGHT}" x2="{x2 + _WIDTH // 2}" y2="{y2}" '
        'stroke="gray"/>'
    )


def _box(node: Node, x: int, y: int) -> str:
    fill = "#e8f0e8" if node.is_variable else "#e8eef8"
    kind = "input" if node.is_variable else node.op_name
    title = html.escape(f"{kind} {node.name} {node.attrs or ''}")
    return (
        f'<g><title>{title}</title><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'rx="5" fill="{fill}" stroke="gray"/>'
        f'<text x="{x + _WIDTH // 2}" y="{y + 14}" fill="black">'
        f'{html.escape(_short(node.name))}</text><text x="{x + _WIDTH // 2}" y="{y + 27}" '
        f'fill="gray">{html.escape(_short(kind))}</text></g>'
    )


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:22]}…"
