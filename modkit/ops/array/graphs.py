"""Operators on graphs, which are csr matrices: edge (u, v) is the element in row u, column v.

They run eagerly: sizes of their results depend on values. `modkit.ndarray.sparse_graphs` has the
kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from modkit.errors import NotSupportedError, ParameterError
from modkit.ops.parameters import Attrs, Size
from modkit.ops.registry import op
from modkit.ops.stype import OF_GRAPH


def _eager_only(name: str) -> NotSupportedError:
    return NotSupportedError(
        f"{name}: computes with the stored elements of csr arrays, so it neither runs in a "
        f"compiled graph nor takes a dense one: call mx.nd.contrib.{name.removeprefix('_contrib_')}"
        " with mx.nd.sparse.csr_matrix"
    )


def _from_graphs(name: str, least: int, count: Callable[[int], int]) -> Callable[..., Any]:
    """Register an operator of ``least`` inputs or more.

    ``count`` gives the number of outputs for that of inputs; with mappings there are twice as many.
    """

    def names(attrs: Attrs) -> list[str]:
        inputs, sets = attrs["num_args"], 1 + attrs.get("return_mapping", False)
        if inputs < least:
            raise ParameterError(f"{name}: got {inputs} inputs, expected {least} or more")
        return [f"output{i}" for i in range(count(inputs) * sets)]

    return op(
        name,
        precision="float32",
        variadic="num_args",
        outputs=names,
        gradient="refused",
        storage=OF_GRAPH,
    )


@op("_contrib_dgl_adjacency", precision="float32", gradient="refused", storage=OF_GRAPH)
def dgl_adjacency(data: Any) -> Any:
    """The adjacency matrix: 1 in float32 for each edge.

    Shapes:
        data: (N, N) csr, of int64. returns: (N, N) csr.

    Raises:
        NotSupportedError: the graph is dense, or the call is compiled.
        ParameterError: the graph is not of int64.
    """
    raise _eager_only("_contrib_dgl_adjacency")


@_from_graphs("_contrib_dgl_subgraph", 2, lambda n: n - 1)
def dgl_subgraph(*data: Any, return_mapping: bool) -> Any:
    """The subgraphs that sets of vertices induce: the edges between them.

    Args:
        data: a graph, and one array of vertices or more: increasing row numbers, of int64.
        return_mapping: also return, after all subgraphs, each with the edges' values in the graph.

    Shapes:
        data: (N, N) csr, of int64, and (K,) each.
        returns: (K, K) csr each; the values number the edges from 0.

    Raises:
        NotSupportedError: the graph is dense, or the call is compiled.
        ParameterError: vertices do not increase, or are none of the graph's; other types or shapes.
    """
    raise _eager_only("_contrib_dgl_subgraph")


@_from_graphs("_contrib_dgl_graph_compact", 2, lambda n: n // 2)
def dgl_graph_compact(*data: Any, return_mapping: bool, graph_sizes: tuple[int, ...]) -> Any:
    """Sampled graphs without padding: vertices are numbered by their position among the sampled.

    Args:
        data: graphs of a sampler, then as many arrays of vertices, as it returned them.
        return_mapping: also return, after all graphs, each with the edges' values.
        graph_sizes: the number of vertices of each: the last element of its array.

    Shapes:
        data: (K, N) csr, of int64, each; (K + 1,) each.
        returns: (size, size) csr each; the values number the edges from 0.

    Raises:
        NotSupportedError: a graph is dense, or the call is compiled.
        ParameterError: sizes are not those of the arrays, or an edge ends at a vertex that was not
            sampled, as in samples that ``max_num_vertices`` truncated.

    Differs: ``return_mapping`` works; MXNet's arrays of it are empty.
    """
    raise _eager_only("_contrib_dgl_graph_compact")


@_from_graphs("_contrib_dgl_csr_neighbor_uniform_sample", 2, lambda n: 3 * (n - 1))
def dgl_csr_neighbor_uniform_sample(
    *data: Any, num_hops: int = 1, num_neighbor: int = 2, max_num_vertices: Size = 100
) -> Any:
    """Sample the neighbourhoods of vertices, each neighbour of a vertex with equal probability.

    The seeds are layer 0. For each vertex of a layer before ``num_hops``, in order of discovery,
    ``num_neighbor`` of its edges are drawn without replacement, or all where there are no more; new
    vertices at their ends are of the next layer. It stops at ``max_num_vertices`` with a warning.
    ``mx.random.seed`` determines the draws.

    Args:
        data: a graph, and one array of seeds or more, of int64: a sample for each.
        num_hops: the number of layers after the seeds.
        num_neighbor: edges for a vertex, at most.
        max_num_vertices: vertices of a sample, at most: K.

    Shapes:
        data: (N, N) csr, of int64, and (S,) each.
        returns: for each array of seeds the vertices (K + 1,), increasing, then 0, and their number
            last; then for each a graph (K, N): row i has the drawn edges of vertex i of the sample,
            with their values; then for each the vertices' layers (K,).

    Raises:
        NotSupportedError: the graph is dense, or the call is compiled.
        ParameterError: seeds are none of the graph's vertices or more than ``max_num_vertices``;
            other types or shapes.

    Differs: MXNet leaves the padding of vertices and layers uninitialised; it is 0.
    """
    raise _eager_only("_contrib_dgl_csr_neighbor_uniform_sample")


@_from_graphs("_contrib_dgl_csr_neighbor_non_uniform_sample", 3, lambda n: 4 * (n - 2))
def dgl_csr_neighbor_non_uniform_sample(
    *data: Any, num_hops: int = 1, num_neighbor: int = 2, max_num_vertices: Size = 100
) -> Any:
    """`dgl_csr_neighbor_uniform_sample` with a weight for each vertex.

    Neighbours are drawn one after another, each with a probability in proportion to its weight
    among those that are left. Weights of 0 are drawn where no others are left.

    Args:
        data: a graph, weights of its vertices, and one array of seeds or more, of int64.
        num_hops, num_neighbor, max_num_vertices: see `dgl_csr_neighbor_uniform_sample`.

    Shapes:
        data: (N, N) csr, of int64; (N,) float32; and (S,) each.
        returns: as of the uniform one, with the vertices' weights (K,), then 0, before the layers.

    Raises:
        NotSupportedError: the graph is dense, or the call is compiled.
        ParameterError: as for the uniform one; or a weight is negative or not finite.

    Differs: MXNet leaves padding uninitialised; it is 0.
    """
    raise _eager_only("_contrib_dgl_csr_neighbor_non_uniform_sample")
