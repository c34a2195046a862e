"""Recomputation of forward results in the backward pass, to save memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import NamedTuple

from modkit.symbol.graph import Graph, Node

SWITCH = "MXNET_BACKWARD_DO_MIRROR"
"""The variable; with ``1`` activations, normalisations and other cheap results are not kept."""

KEPT = "modkit kept"
"""The name under which a checkpoint finds the results that are kept."""


def recomputed(graph: Graph) -> tuple[int, ...]:
    """Indices of the nodes whose results are not kept for the backward pass.

    These are the nodes with the attribute ``force_mirroring``, and under
    ``MXNET_BACKWARD_DO_MIRROR=1`` all that cost little. What draws random numbers or calls Python
    is always kept.
    """
    cheap_too = os.environ.get(SWITCH, "0") == "1"
    return tuple(i for i, node in enumerate(graph.nodes) if _is_recomputed(node, cheap_too))


def _is_recomputed(node: Node, cheap_too: bool) -> bool:
    op = node.known_op
    if op is None or op.takes_key or op.on_host:
        return False
    forced = node.flag("__force_mirroring__", "force_mirroring")
    return forced or (cheap_too and not op.costly)


class Part(NamedTuple):
    """Consecutive nodes, by index."""

    nodes: tuple[int, ...]
    entering: tuple[int, ...]
    """Indices of the earlier nodes that it reads."""
    leaving: tuple[int, ...]
    """Indices of its nodes that later ones read."""
    recomputed: frozenset[int]
    """Indices of its nodes that are recomputed; empty for a part without recomputation."""


def parts(
    reads: Sequence[Sequence[int] | None],
    writes: Sequence[Sequence[int]],
    heads: Sequence[int],
    again: Sequence[int],
    host_nodes: Collection[int] = (),
) -> tuple[Part, ...]:
    """A graph cut after every node that is kept and follows some that are not.

    Results of one part are recomputed for its gradient only once the gradients of the later parts
    have been computed: that is what saves memory.

    Args:
        reads: for each node whose results it reads; ``None`` for a variable.
        writes: for each node which variables it writes.
        heads: nodes of the graph's outputs.
        again: the nodes that are computed again.
        host_nodes: the nodes that call Python, which a checkpoint must not contain.
    """
    cheap, alone, cut = frozenset(again), frozenset(host_nodes), [[]]
    has_cheap = False  # the last of the parts so far
    for i, sources in enumerate(reads):
        if sources is None:
            continue
        if i in alone:
            cut += [[i], []]
            has_cheap = False
            continue
        cut[-1].append(i)
        if i not in cheap and has_cheap:
            cut.append([])
        has_cheap = i in cheap or (has_cheap and bool(cut[-1]))
    wanted, made = set(heads), []
    for nodes in reversed([n for n in cut if n]):
        read = {source for i in nodes for source in reads[i] or ()}
        left = {*nodes, *(source for i in nodes for source in writes[i])}
        made.append(
            Part(
                tuple(nodes),
                tuple(sorted(read - set(nodes))),
                tuple(sorted(wanted & left)),
                cheap.intersection(nodes),
            )
        )
        wanted |= read
    return tuple(reversed(made))
