"""Operators on graphs; arrays are MXNet 1.9.1's."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotSupportedError, ParameterError, ShapeError

contrib = mx.nd.contrib
UNIFORM = contrib.dgl_csr_neighbor_uniform_sample
WEIGHTED = contrib.dgl_csr_neighbor_non_uniform_sample


def graph(values, columns, starts, size, dtype="int64"):
    return mx.nd.sparse.csr_matrix((values, columns, starts), shape=(size, size), dtype=dtype)


def complete(dtype="int64"):
    """All edges between five vertices, numbered from 1."""
    columns = [[j for j in range(5) if j != i] for i in range(5)]
    return graph(np.arange(1, 21), np.ravel(columns), np.arange(6) * 4, 5, dtype)


def ids(*values):
    return mx.nd.array(values, dtype="int64")


def check_graph(made, shape, values, columns, starts, dtype=np.int64):
    assert (made.stype, made.shape, made.dtype) == ("csr", shape, dtype)
    made.check_format()
    found = [x.asnumpy().tolist() for x in (made.data, made.indices, made.indptr)]
    assert found == [values, columns, starts]


def check_dense(made, want, dtype=np.int64):
    assert (made.stype, made.dtype, made.asnumpy().tolist()) == ("default", dtype, want)


# ── Parts ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "columns", "starts"),
    [([5, 0, -2], [1, 0, 2], [0, 1, 1, 3]), ([], [], [0, 0, 0, 0]), ([7], [2], [0, 0, 0, 1])],
)
def test_an_adjacency_matrix_is_1_at_each_edge(values, columns, starts):
    made = contrib.dgl_adjacency(graph(values, columns, starts, 3))
    check_graph(made, (3, 3), [1.0] * len(values), columns, starts, np.float32)


def four():
    return graph([1, 2, 3, 4], [0, 2, 1, 3], [0, 2, 3, 4, 4], 4)


def test_induced_subgraphs_with_the_values_of_their_edges():
    first, second, of_first, of_second = contrib.dgl_subgraph(
        four(), ids(0, 1, 2), ids(1, 3), return_mapping=True
    )
    check_graph(first, (3, 3), [0, 1, 2], [0, 2, 1], [0, 2, 3, 3])
    check_graph(second, (2, 2), [0], [0], [0, 1, 1])
    check_graph(of_first, (3, 3), [1, 2, 3], [0, 2, 1], [0, 2, 3, 3])
    check_graph(of_second, (2, 2), [3], [0], [0, 1, 1])


def test_an_induced_subgraph():
    made = contrib.dgl_subgraph(four(), ids(0, 1, 2), return_mapping=False)
    check_graph(made, (3, 3), [0, 1, 2], [0, 2, 1], [0, 2, 3, 3])
    made = contrib.dgl_subgraph(four(), ids(2), return_mapping=False)
    check_graph(made, (1, 1), [], [], [0, 0])


def test_compact_graphs():
    a = complete()
    v, w, x, y, *_ = UNIFORM(a, ids(2), ids(0, 3), num_neighbor=9, max_num_vertices=7)
    one, two = contrib.dgl_graph_compact(x, y, v, w, graph_sizes=(5, 5), return_mapping=False)
    check_graph(one, (5, 5), [0, 1, 2, 3], [0, 1, 3, 4], [0, 0, 0, 4, 4, 4])
    starts = [0, 4, 4, 4, 8, 8]
    check_graph(two, (5, 5), [*range(8)], [1, 2, 3, 4, 0, 1, 2, 4], starts)
    _, mapping = contrib.dgl_graph_compact(x, v, graph_sizes=5, return_mapping=True)
    check_graph(mapping, (5, 5), [9, 10, 11, 12], [0, 1, 3, 4], [0, 0, 0, 4, 4, 4])


def test_a_compact_graph_numbers_columns_anew():
    v, x, _ = UNIFORM(chain(), ids(2), num_hops=1, max_num_vertices=4)
    check_graph(x, (4, 5), [13], [3], [0, 1, 1, 1, 1])
    made = contrib.dgl_graph_compact(x, v, graph_sizes=2, return_mapping=False)
    check_graph(made, (2, 2), [0], [1], [0, 1, 1])


# ── Samples with all neighbours ─────────────────────────────────────────────────────────────


def chain():
    """0 → 1 → 2 → 3 → 4, with values 11, 12, 13, 14."""
    return graph([11, 12, 13, 14], [1, 2, 3, 4], [0, 1, 2, 3, 4, 4], 5)


@pytest.mark.parametrize(
    ("seeds", "most", "vertices", "layers", "values", "columns", "starts"),
    [
        ((2,), 5, [0, 1, 2, 3, 4, 5], [1, 1, 0, 1, 1], [9, 10, 11, 12], [0, 1, 3, 4],
         [0, 0, 0, 4, 4, 4]),
        ((2, 0), 8, [0, 1, 2, 3, 4, 0, 0, 0, 5], [0, 1, 0, 1, 1, 0, 0, 0],
         [1, 2, 3, 4, 9, 10, 11, 12], [1, 2, 3, 4, 0, 1, 3, 4], [0, 4, 4, 8, 8, 8, 8, 8, 8]),
        ((2, 2), 6, [0, 1, 2, 3, 4, 0, 5], [1, 1, 0, 1, 1, 0], [9, 10, 11, 12], [0, 1, 3, 4],
         [0, 0, 0, 4, 4, 4, 4]),
    ],
)  # fmt: skip
def test_a_sample_of_all_neighbours(seeds, most, vertices, layers, values, columns, starts):
    given = {"num_neighbor": 9, "max_num_vertices": most}
    v, g, layer = UNIFORM(complete(), ids(*seeds), **given)
    check_dense(v, vertices)
    check_graph(g, (most, 5), values, columns, starts)
    check_dense(layer, layers)
    weights = np.array([0.9, 0.8, 0.2, 0.4, 0.1], np.float32)
    v, g, probability, layer = WEIGHTED(complete(), mx.nd.array(weights), ids(*seeds), **given)
    check_dense(v, vertices)
    check_graph(g, (most, 5), values, columns, starts)
    check_dense(probability, [*weights.tolist(), *[0] * (most - 5)], np.float32)
    check_dense(layer, layers)


def test_samples_of_two_hops_and_of_none():
    a = complete()
    v, g, layer = UNIFORM(a, ids(2), num_hops=2, num_neighbor=9, max_num_vertices=10)
    check_dense(v, [0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 5])
    check_graph(
        g, (10, 5), [*range(1, 21)], a.indices.asnumpy().tolist(), [0, 4, 8, 12, 16, *[20] * 6]
    )
    check_dense(layer, [1, 1, 0, 1, 1, 0, 0, 0, 0, 0])
    for none in ({"num_hops": 0}, {"num_neighbor": 0}):
        v, g, layer = UNIFORM(a, ids(2), max_num_vertices=5, **none)
        check_dense(v, [2, 0, 0, 0, 0, 1])
        check_graph(g, (5, 5), [], [], [0] * 6)


def test_layers_along_a_chain():
    v, g, layer = UNIFORM(chain(), ids(1), num_hops=2, max_num_vertices=6)
    check_dense(v, [1, 2, 3, 0, 0, 0, 3])
    check_graph(g, (6, 5), [12, 13], [2, 3], [0, 1, 2, 2, 2, 2, 2])
    check_dense(layer, [0, 1, 2, 0, 0, 0])


def test_samples_of_several_seeds_are_truncated():
    with pytest.warns(RuntimeWarning, match="truncated at max_num_vertices=3") as warned:
        v, w, g, h, layer, other = UNIFORM(
            complete(), ids(2, 0), ids(1), num_neighbor=9, max_num_vertices=3
        )
    assert warned[0].filename == __file__
    check_dense(v, [0, 1, 2, 3])
    check_dense(w, [0, 1, 2, 3])
    check_graph(g, (3, 5), [9, 10, 11, 12], [0, 1, 3, 4], [0, 0, 0, 4])
    check_graph(h, (3, 5), [5, 6, 7, 8], [0, 2, 3, 4], [0, 0, 4, 4])
    check_dense(layer, [0, 1, 0])
    check_dense(other, [1, 0, 1])
    with pytest.raises(ParameterError, match="not sampled"):
        contrib.dgl_graph_compact(g, v, graph_sizes=3, return_mapping=False)
    with pytest.warns(RuntimeWarning, match="truncated"):
        v, g, layer = UNIFORM(complete(), ids(0, 1, 2, 3, 4), max_num_vertices=5)
    check_graph(g, (5, 5), [], [], [0] * 6)


def test_vertices_are_expanded_in_order_of_discovery():
    edges = graph([1, 2, 3, 4], [1, 5, 4, 2], [0, 1, 2, 2, 3, 4, 4], 6)  # 0→1→5, 3→4→2
    with pytest.warns(RuntimeWarning, match="truncated"):
        v, g, layer = UNIFORM(edges, ids(3, 0), num_hops=2, max_num_vertices=5)
    check_dense(v, [0, 1, 2, 3, 4, 5])
    check_graph(g, (5, 6), [1, 3, 4], [1, 4, 2], [0, 1, 1, 1, 2, 3])
    check_dense(layer, [0, 1, 2, 0, 1])


# ── Random samples ──────────────────────────────────────────────────────────────────────────


def random_graph(size, degree, seed):
    random = np.random.default_rng(seed)
    columns = [np.sort(random.choice(size, degree, replace=False)) for _ in range(size)]
    return graph(
        np.arange(size * degree), np.ravel(columns), np.arange(size + 1) * degree, size
    ), np.array(columns)


@pytest.mark.parametrize("weighted", [False, True])
def test_structure_of_a_random_sample(weighted):
    size, degree, most, room = 60, 8, 3, 60
    a, columns = random_graph(size, degree, 1)
    weights = [mx.nd.array(np.linspace(0.1, 1, size))] if weighted else []
    sampler = WEIGHTED if weighted else UNIFORM
    v, g, *rest, layer = sampler(
        a, *weights, ids(4, 9), num_hops=2, num_neighbor=most, max_num_vertices=room
    )
    g.check_format()
    count = int(v[-1].asscalar())
    vertices, layers = v.asnumpy()[:count], layer.asnumpy()[:count]
    assert 2 + most < count <= 2 + 2 * most + 2 * most * most
    assert (np.diff(vertices) > 0).all() and not v.asnumpy()[count:-1].any()
    assert vertices[layers == 0].tolist() == [4, 9]
    drawn = np.diff(g.indptr.asnumpy())
    assert (drawn[:count] == np.where(layers < 2, most, 0)).all() and not drawn[count:].any()
    depth = dict(zip(vertices.tolist(), layers.tolist(), strict=True))
    rows = np.repeat(vertices, drawn[:count])
    for row, column, value in zip(rows, g.indices.asnumpy(), g.data.asnumpy(), strict=True):
        assert columns[row][value - row * degree] == column  # the edge, with its value
        assert depth[column] <= depth[row] + 1
    reached = set(g.indices.asnumpy().tolist()) | {4, 9}
    assert reached == set(vertices.tolist())
    if weighted:
        want = weights[0].asnumpy()[vertices]
        assert rest[0].asnumpy().tolist() == [*want.tolist(), *[0] * (room - count)]


def drawn_columns(sampler, weights, times):
    made = sampler(complete(), *weights, *[ids(2)] * times, num_neighbor=1, max_num_vertices=2)
    return np.concatenate([g.indices.asnumpy() for g in made[times : 2 * times]])


def test_frequencies_of_draws():
    mx.random.seed(5)
    counts = np.bincount(drawn_columns(UNIFORM, [], 400), minlength=5)
    np.testing.assert_allclose(counts[[0, 1, 3, 4]], 100, atol=35)
    weights = [mx.nd.array([1, 2, 9, 0, 1])]
    counts = np.bincount(drawn_columns(WEIGHTED, weights, 400), minlength=5)
    assert counts[3] == 0
    np.testing.assert_allclose(counts[[0, 1, 4]], [100, 200, 100], atol=40)


def test_weights_of_0_are_drawn_where_no_others_are_left():
    weights = mx.nd.array([1, 0, 0, 1, 0])
    _, g, *_ = WEIGHTED(complete(), weights, ids(2), num_neighbor=3, max_num_vertices=6)
    columns = g.indices.asnumpy().tolist()
    assert len(columns) == 3 and {0, 3} < set(columns)


def test_samples_while_autograd_records():
    weights = mx.nd.ones((5,))
    weights.attach_grad()
    with mx.autograd.record():
        _, g, probability, _ = WEIGHTED(
            complete(), weights, ids(2), num_neighbor=4, max_num_vertices=5
        )
        loss = (weights * probability).sum()
    loss.backward()
    assert g.data.asnumpy().tolist() == [9, 10, 11, 12]
    assert weights.grad.asnumpy().tolist() == [1] * 5


def test_the_seed_determines_samples():
    a, _ = random_graph(40, 6, 2)

    def draw():
        return UNIFORM(a, ids(0), num_hops=2, max_num_vertices=40)[1].data.asnumpy().tolist()

    mx.random.seed(3)
    first = [draw(), draw()]
    mx.random.seed(3)
    assert [draw(), draw()] == first and first[0] != first[1]


# ── Errors ──────────────────────────────────────────────────────────────────────────────────


X = mx.sym.Variable("x")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: contrib.dgl_adjacency(complete("float32")), "float32.*int64"),
        (lambda a: UNIFORM(complete("int32"), ids(1)), "int32.*int64"),
        (lambda a: UNIFORM(a, mx.nd.array([1])), "vertices .*float32.*int64"),
        (lambda a: UNIFORM(a, mx.nd.array([[1]], dtype="int64")), "one axis"),
        (lambda a: UNIFORM(a, ids(7)), "vertex 7, expected 0 to 4"),
        (lambda a: UNIFORM(a, ids(1, 2, 3), max_num_vertices=2), "3 seeds.*max_num_vertices=2"),
        (lambda a: UNIFORM(a), "0 arrays of seeds"),
        (lambda a: UNIFORM(a, ids(1), num_hops=-1), "num_hops=-1"),
        (lambda a: UNIFORM(a, ids(1), max_num_vertices=0), "max_num_vertices"),
        (lambda a: WEIGHTED(a, mx.nd.ones((3,)), ids(1)), r"weights of shape \(3,\).*\(5,\)"),
        (lambda a: WEIGHTED(a, mx.nd.ones((5,)) * -1, ids(1)), "negative"),
        (lambda a: contrib.dgl_subgraph(a, ids(2, 0), return_mapping=True), "do not increase"),
        (lambda a: contrib.dgl_subgraph(a, ids(0, 9), return_mapping=True), "vertex 9"),
        (lambda a: contrib.dgl_subgraph(a, ids(0)), "return_mapping"),
        (lambda a: contrib.dgl_subgraph(a, return_mapping=False), "0 arrays of vertices"),
        (lambda a: mx.sym.contrib.dgl_subgraph(X, return_mapping=True), "got 1 inputs"),
        (
            lambda a: mx.sym.contrib.dgl_graph_compact(X, graph_sizes=2, return_mapping=False),
            "got 1 inputs",
        ),
        (lambda a: mx.sym.contrib.dgl_csr_neighbor_uniform_sample(X), "got 1 inputs"),
        (
            lambda a: mx.sym.contrib.dgl_csr_neighbor_non_uniform_sample(X, X),
            "got 2 inputs, expected 3",
        ),
        (
            lambda a: contrib.dgl_graph_compact(
                a, ids(0, 1, 2, 3, 4, 5), graph_sizes=4, return_mapping=False
            ),
            "graph_sizes 4",
        ),
        (
            lambda a: contrib.dgl_graph_compact(
                a, ids(0, 1, 2, 3, 4, 5), graph_sizes=(5, 5), return_mapping=False
            ),
            "2 graph_sizes",
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ParameterError, match=words):
        call(complete())


def test_dense_graphs_and_compiled_ones_are_refused():
    with pytest.raises(NotSupportedError, match="csr_matrix"):
        contrib.dgl_adjacency(mx.nd.ones((2, 2), dtype="int64"))
    a, seeds = mx.sym.Variable("a", stype="csr"), mx.sym.Variable("v")
    symbol = mx.sym.contrib.dgl_csr_neighbor_uniform_sample(a, seeds)
    with pytest.raises(ShapeError, match=r"mx\.nd\.contrib\.dgl_csr_neighbor_uniform_sample"):
        symbol.eval(a=complete(), v=ids(1))


def test_symbols_have_an_output_for_each_result():
    a, v = mx.sym.Variable("a", stype="csr"), mx.sym.Variable("v")
    parts = mx.sym.contrib.dgl_subgraph(a, v, return_mapping=True, name="part")
    assert parts.list_outputs() == ["part_output0", "part_output1"]
    sample = mx.sym.contrib.dgl_csr_neighbor_non_uniform_sample
    assert [len(sample(a, a, *[v] * n).list_outputs()) for n in (1, 2)] == [4, 8]
