"""Operators on graphs that are csr matrices: parts, and samples of neighbourhoods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit import stream
from modkit.errors import NotSupportedError, ParameterError, warn_caller
from modkit.ndarray.sparse_array import PLACES, CSRNDArray
from modkit.ndarray.sparse_base import find, starts
from modkit.ndarray.sparse_kernels import dense, host, kernel, rows_of
from modkit.ops.entry import Op
from modkit.ops.stype import CSR, DENSE


@kernel("_contrib_dgl_adjacency")
def adjacency(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Ones at the stored elements."""
    (x,) = inputs
    _check_graph(op, x)
    return x._like(np.ones(len(x._values), np.float32), x._places)


@kernel("_contrib_dgl_subgraph")
def subgraph(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Rows and columns of a graph."""
    graph, *arrays = inputs
    _check_graph(op, graph, square=True)
    if not arrays:
        raise ParameterError(f"{op.name}: got 0 arrays of vertices, expected one or more")
    parts = []
    for array in arrays:
        vertices = _vertices(op, array, graph.shape[0])
        if (np.diff(vertices) <= 0).any():
            raise ParameterError(f"{op.name}: got vertices that do not increase, sort them")
        parts.append(_numbered(rows_of(graph, vertices), vertices)[0])
    return _with_mapping(parts, attrs)


@kernel("_contrib_dgl_graph_compact")
def compact(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Samples without padding."""
    count, sizes = len(inputs) // 2, attrs["graph_sizes"]
    if len(inputs) % 2 or not count or len(sizes) != count:
        raise ParameterError(
            f"{op.name}: got {len(inputs)} arrays and {len(sizes)} graph_sizes, expected graphs, "
            "as many arrays of vertices, and as many sizes"
        )
    parts = []
    for graph, array, size in zip(inputs[:count], inputs[count:], sizes, strict=True):
        _check_graph(op, graph)
        vertices = _integers(op, array)
        if vertices.shape != (graph.shape[0] + 1,) or vertices[-1] != size:
            raise ParameterError(
                f"{op.name}: got a graph of shape {graph.shape}, vertices of shape "
                f"{vertices.shape} and graph_sizes {size}, expected the arrays of a sampler, and "
                "the last element of the vertices as the size"
            )
        part, inside = _numbered(rows_of(graph, np.arange(size)), vertices[:size])
        if not inside:
            raise ParameterError(
                f"{op.name}: an edge ends at a vertex that was not sampled: take a larger "
                "max_num_vertices, or fewer seeds, hops or neighbours"
            )
        parts.append(part)
    return _with_mapping(parts, attrs)


def _numbered(rows: CSRNDArray, vertices: np.ndarray) -> tuple[CSRNDArray, bool]:
    """Rows whose columns are positions among vertices, and whether all columns are there."""
    at, found = find(vertices, rows._places[1])
    size = len(vertices)
    places = starts(rows._rows()[found], size), at[found].astype(PLACES)
    return rows._like(rows._values[found], places, (size, size)), bool(found.all())


def _with_mapping(parts: Sequence[CSRNDArray], attrs: Mapping[str, Any]) -> Any:
    """Graphs whose edges are numbered, and with ``return_mapping`` those of the values."""
    made = [x._like(np.arange(len(x._values)), x._places) for x in parts]
    if attrs["return_mapping"]:
        made += parts
    return made[0] if len(made) == 1 else made


# ── Samples ─────────────────────────────────────────────────────────────────────────────────


@kernel("_contrib_dgl_csr_neighbor_uniform_sample")
def uniform_sample(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Neighbours with equal probability."""
    graph, *seeds = inputs
    return _samples(op, graph, seeds, None, attrs)


@kernel("_contrib_dgl_csr_neighbor_non_uniform_sample")
def non_uniform_sample(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Neighbours with a probability in proportion to their weights."""
    graph, weights, *seeds = inputs
    given = host(weights) if weights.stype == DENSE else np.empty(0)
    if given.dtype != np.float32 or given.shape != (graph.shape[0],):
        raise ParameterError(
            f"{op.name}: got weights of shape {weights.shape} and type {weights.dtype.__name__}, "
            f"expected a dense array of shape {(graph.shape[0],)} and type float32"
        )
    if not (np.isfinite(given) & (given >= 0)).all():
        raise ParameterError(f"{op.name}: got a weight that is negative or not finite")
    return _samples(op, graph, seeds, given, attrs)


def _samples(
    op: Op, graph: Any, seeds: Sequence[Any], weights: np.ndarray | None, attrs: Mapping[str, Any]
) -> Any:
    """A sample for each array of seeds: vertices of all, graphs, weights, layers."""
    _check_graph(op, graph, square=True)
    hops, most, room = attrs["num_hops"], attrs["num_neighbor"], attrs["max_num_vertices"]
    if not seeds or hops < 0 or most < 0:
        raise ParameterError(
            f"{op.name}: got {len(seeds)} arrays of seeds, num_hops={hops} and "
            f"num_neighbor={most}, expected one array or more, and 0 or more of each"
        )
    random = np.random.default_rng(stream.draw())

    def draws(columns: np.ndarray) -> np.ndarray:
        """Numbers whose smallest ones are a draw without replacement (exponential clocks)."""
        clocks = random.exponential(size=len(columns))
        if weights is None:
            return clocks
        with np.errstate(divide="ignore"):
            return clocks / weights[columns]

    samples = []
    for array in seeds:
        firsts = _vertices(op, array, graph.shape[0])
        vertices, layers, edges = _sample(op, graph, firsts, (hops, most, room), draws)
        counted = np.append(_padded(vertices, room), len(vertices)).astype(PLACES)
        of_weights = [] if weights is None else [dense(_padded(weights[vertices], room), graph)]
        row_of_edges = np.searchsorted(graph._places[0], edges, side="right") - 1
        rows = np.searchsorted(vertices, row_of_edges)
        places = starts(rows, room), graph._places[1][edges]
        part = graph._like(graph._values[edges], places, (room, graph.shape[1]))
        samples.append(
            [dense(counted, graph), part, *of_weights, dense(_padded(layers, room), graph)]
        )
    return [each for kind in zip(*samples, strict=True) for each in kind]


def _sample(
    op: Op,
    graph: CSRNDArray,
    seeds: np.ndarray,
    bounds: tuple[int, int, int],
    draws: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Increasing vertices, their layers, and the positions of the drawn edges, increasing."""
    hops, most, room = bounds
    layer = seeds[_firsts(seeds)]
    if len(layer) > room:
        raise ParameterError(
            f"{op.name}: got {len(layer)} seeds, expected at most max_num_vertices={room}"
        )
    found, edges, truncated = [layer], [np.empty(0, PLACES)], False
    for _ in range(hops):
        if not len(layer):
            break
        known = np.concatenate(found)
        if len(known) == room:
            truncated = True
            break
        drawn, rows = _drawn(graph, layer, most, draws)
        ends = graph._places[1][drawn]
        new = np.flatnonzero(~np.isin(ends, known))
        new = new[_firsts(ends[new])]
        free = room - len(known)
        if len(new) >= free:  # the row that fills the sample is its last
            last = rows[new[free - 1]]
            truncated = len(new) > free or last < len(layer) - 1
            drawn, new = drawn[rows <= last], new[:free]
        edges.append(drawn)
        layer = ends[new]
        found.append(layer)
    if truncated:
        warn_caller(
            f"{op.name}: the sample is truncated at max_num_vertices={room}: take a larger one, or "
            "fewer seeds, hops or neighbours",
            RuntimeWarning,
        )
    vertices = np.concatenate(found)
    layers = np.repeat(np.arange(len(found)), [len(x) for x in found])
    order = np.argsort(vertices)
    return vertices[order], layers[order], np.sort(np.concatenate(edges))


def _drawn(
    graph: CSRNDArray, vertices: np.ndarray, most: int, draws: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of at most ``most`` edges of each vertex, and the positions of their vertices."""
    indptr, columns = graph._places
    counts = graph._counts()[vertices]
    ends = np.cumsum(counts)
    at = np.arange(counts.sum()) + np.repeat(indptr[vertices] - (ends - counts), counts)
    rows = np.repeat(np.arange(len(vertices)), counts)
    order = np.lexsort((draws(columns[at]), rows))
    kept = np.sort(order[np.arange(len(at)) - np.repeat(ends - counts, counts) < most])
    return at[kept], rows[kept]


def _firsts(numbers: np.ndarray) -> np.ndarray:
    """The positions at which numbers occur first."""
    return np.sort(np.unique(numbers, return_index=True)[1])


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    """Values, then zeros."""
    return np.concatenate([values, np.zeros(size - len(values), values.dtype)])


# ── Checks ──────────────────────────────────────────────────────────────────────────────────


def _check_graph(op: Op, x: Any, square: bool = False) -> None:
    if x.stype != CSR:
        raise NotSupportedError(f"{op.name}: got a {x.stype} array as a graph, expected a csr one")
    if x._values.dtype != np.int64 or (square and x.shape[0] != x.shape[1]):
        raise ParameterError(
            f"{op.name}: got a graph of shape {x.shape} and type {x.dtype.__name__}, expected "
            f"{'as many columns as rows' if square else 'a csr matrix'} and type int64"
        )
    x._check_parts()
    x._check_places()


def _integers(op: Op, array: Any) -> np.ndarray:
    values = host(array) if array.stype == DENSE else np.empty(0)
    if values.dtype != np.int64 or values.ndim != 1:
        raise ParameterError(
            f"{op.name}: got vertices of shape {array.shape} and type {array.dtype.__name__}, "
            "expected a dense array of one axis and type int64"
        )
    return values


def _vertices(op: Op, array: Any, count: int) -> np.ndarray:
    values = _integers(op, array)
    wrong = values[(values < 0) | (values >= count)]
    if wrong.size:
        raise ParameterError(f"{op.name}: got vertex {wrong[0]}, expected 0 to {count - 1}")
    return values
