"""Sparse arrays: made, read, written, cut and made dense as MXNet 1.9.1 does it."""

import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.base import NotSupportedForSparseNDArray
from modkit.errors import FileFormatError, MXNetError, NotSupportedError

FILES = Path(__file__).parent.parent / "reference" / "files"
sparse = mx.nd.sparse
DENSE = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 0]], np.float32)


def csr(dtype=None, ctx=None):
    return sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), (3, 4), ctx, dtype)


def rows(dtype=None):
    return sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 3]), (5, 2), dtype=dtype)


ROWS = np.array([[0, 0], [1, 2], [0, 0], [3, 4], [0, 0]], np.float32)


def test_a_csr_array_has_its_parts():
    made = csr()
    assert isinstance(made, mx.nd.NDArray)
    assert (made.stype, made.shape, made.ndim, made.size) == ("csr", (3, 4), 2, 12)
    assert (made.dtype, made.context) == (np.float32, mx.cpu(0))
    for part, want, dtype in (
        (made.data, [1, 2, 3], np.float32),
        (made.indices, [0, 2, 1], np.int64),
        (made.indptr, [0, 2, 2, 3], np.int64),
    ):
        assert type(part) is mx.nd.NDArray
        assert part.dtype == dtype
        np.testing.assert_array_equal(part.asnumpy(), want)
    np.testing.assert_array_equal(made.asnumpy(), DENSE)
    assert repr(made) == "\n<CSRNDArray 3x4 @cpu(0)>"
    assert len(made) == 3
    made.wait_to_read()


def test_a_row_sparse_array_has_its_parts():
    made = rows()
    assert (made.stype, made.shape) == ("row_sparse", (5, 2))
    np.testing.assert_array_equal(made.data.asnumpy(), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(made.indices.asnumpy(), [1, 3])
    np.testing.assert_array_equal(made.asnumpy(), ROWS)
    assert repr(made) == "\n<RowSparseNDArray 5x2 @cpu(0)>"
    assert not hasattr(made, "indptr")


def test_parts_are_copies():
    made = csr()
    made.data[:] = 9
    np.testing.assert_array_equal(made.asnumpy(), DENSE)


MATRIX = np.array([[0, 1, 0], [2, 0, 0], [0, 0, 0]], np.float64)
MAKERS = [
    # what is made, its values, its element type
    (lambda: sparse.csr_matrix(MATRIX), MATRIX, np.float64),
    (lambda: sparse.csr_matrix(MATRIX.tolist()), MATRIX, np.float32),
    (lambda: sparse.csr_matrix(mx.nd.array(MATRIX), dtype="float16"), MATRIX, np.float16),
    (lambda: sparse.csr_matrix(sparse.csr_matrix(MATRIX)), MATRIX, np.float64),
    (lambda: sparse.csr_matrix((3, 4)), np.zeros((3, 4)), np.float32),
    (lambda: sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3])), DENSE[:, :3], np.float32),
    (lambda: sparse.csr_matrix((np.array([1, 2, 3]), [0, 2, 1], [0, 2, 2, 3])), DENSE[:, :3],
     np.int64),
    (lambda: sparse.csr_matrix(([1.0, 2], ([0, 1], [1, 2]))), [[0, 1, 0], [0, 0, 2]], np.float64),
    (lambda: sparse.csr_matrix(([1, 2], ([0, 1], [1, 2]))), [[0, 1, 0], [0, 0, 2]], np.int64),
    (lambda: sparse.csr_matrix((np.array([1, 2], np.int8), ([0, 1], [1, 2]))),
     [[0, 1, 0], [0, 0, 2]], np.int8),
    (lambda: sparse.csr_matrix(([1, 2], ([0, 1], [1, 2])), dtype="float16"),
     [[0, 1, 0], [0, 0, 2]], np.float16),
    # places that are given twice are summed, and put in order
    (lambda: sparse.csr_matrix(([1.0, 2, 5], ([0, 0, 0], [2, 2, 1])), shape=(2, 3)),
     [[0, 5, 3], [0, 0, 0]], np.float64),
    (lambda: sparse.row_sparse_array(MATRIX), MATRIX, np.float64),
    (lambda: sparse.row_sparse_array((3, 4, 5)), np.zeros((3, 4, 5)), np.float32),
    (lambda: sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 3])), ROWS[:4], np.float32),
    (lambda: sparse.row_sparse_array((np.ones(2), [0, 4]), shape=(5,)), [1, 0, 0, 0, 1],
     np.float64),
    (lambda: sparse.row_sparse_array(([[1, 2], [3, 4]], mx.nd.array([3, 1])), shape=(5, 2)),
     ROWS[[0, 3, 0, 1, 0]], np.float32),
    (lambda: mx.nd.zeros((3, 4), stype="csr"), np.zeros((3, 4)), np.float32),
    (lambda: mx.nd.zeros((3, 4, 2), stype="row_sparse", dtype="int32"), np.zeros((3, 4, 2)),
     np.int32),
    (lambda: mx.nd.empty((3,), stype="row_sparse"), np.zeros(3), np.float32),
    (lambda: sparse.zeros("default", (2, 2)), np.zeros((2, 2)), np.float32),
    (lambda: sparse.array(csr("float64")), DENSE, np.float64),
    (lambda: mx.nd.array(csr("float64"), dtype="float16"), DENSE, np.float16),
    (lambda: mx.nd.array(rows()), ROWS, np.float32),
    (lambda: mx.nd.array(MATRIX).tostype("row_sparse"), MATRIX, np.float32),
    (lambda: mx.nd.cast_storage(mx.nd.array(MATRIX), "csr"), MATRIX, np.float32),
    (lambda: mx.nd.cast_storage(csr(), stype="default"), DENSE, np.float32),
    (lambda: mx.nd.empty((0, 3)).tostype("row_sparse"), np.zeros((0, 3)), np.float32),
    (lambda: mx.nd.empty((0, 3)).tostype("csr"), np.zeros((0, 3)), np.float32),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(MAKERS)))
def test_what_is_made(row):
    make, want, dtype = MAKERS[row]
    made = make()
    assert made.dtype == dtype
    np.testing.assert_array_equal(made.asnumpy(), want)


def test_scipy_matrices_come_and_go():
    scipy = pytest.importorskip("scipy.sparse")
    given = scipy.csr_matrix(MATRIX)
    for make in (sparse.array, sparse.csr_matrix, mx.nd.array):
        made = make(given)
        assert (made.stype, made.dtype) == ("csr", np.float64)
        np.testing.assert_array_equal(made.asnumpy(), MATRIX)
    back = csr().asscipy()
    assert isinstance(back, scipy.csr_matrix)
    np.testing.assert_array_equal(back.toarray(), DENSE)
    with pytest.raises(ValueError, match="csc_matrix"):
        sparse.array(scipy.csc_matrix(MATRIX))


REFUSED = [
    (lambda: csr().tostype("row_sparse"), "'row_sparse' of 'csr'"),
    (lambda: rows().tostype("csr"), "'csr' of 'row_sparse'"),
    (lambda: mx.nd.ones((2, 2)).tostype("csc"), "'csc'.*Did you mean 'csr'"),
    (lambda: mx.nd.ones((2, 2, 2)).tostype("csr"), "two dimensions"),
    (lambda: sparse.zeros("csr", (3, 4, 5)), "two dimensions"),
    (lambda: sparse.zeros("cs", (3, 4)), "'cs'.*'csr'"),
    (lambda: sparse.array(MATRIX), "ndarray.*mx.nd.array"),
    (lambda: sparse.csr_matrix(rows()), "'csr' of 'row_sparse'"),
    (lambda: sparse.csr_matrix(MATRIX, shape=(4, 4)), r"\(3, 3\).*\(4, 4\)"),
    (lambda: sparse.csr_matrix((1, 2, 3, 4)), "tuple of 4"),
    (lambda: sparse.csr_matrix(([1, 2], [0], [0, 2])), "2 elements, but 1 column"),
    (lambda: sparse.csr_matrix(([1], ([0, 1], [1]))), "1 elements, 2 rows and 1 columns"),
    (lambda: sparse.csr_matrix(([1], ([7], [1])), shape=(2, 2)), "rows outside"),
    (lambda: sparse.csr_matrix(("a", "b", "c")), "whole numbers"),
    (lambda: sparse.row_sparse_array(([[1, 2]], [0, 1]), shape=(5, 2)), r"data of shape \(1, 2\)"),
    (lambda: sparse.row_sparse_array(([[1, 2]], [0]), shape=(5,)), r"shape \(5,\)"),
    (lambda: sparse.retain(csr(), mx.nd.array([1])), "CSRNDArray"),
    (lambda: mx.nd.dot(csr(), mx.nd.ones((3, 2))), r"\(3, 4\) and \(3, 2\)"),
    (lambda: csr() + mx.nd.ones((2, 2)), "shape"),
    (lambda: csr().__setitem__(0, 1), "as a whole"),
    (lambda: csr().__setitem__(slice(None), 1), "cannot fill"),
    (lambda: csr().__setitem__(slice(None), mx.nd.ones((2, 2))), r"\(2, 2\)"),
    (lambda: mx.nd.concat(csr(), csr(), dim=0, num_args=3), "got 2 inputs, expected 3"),
    (lambda: csr()[::2], "one after another"),
    (lambda: csr()[1, 1], "one index"),
    (lambda: csr()[...], "no index"),
    (lambda: rows()[1], "no index but"),
    (lambda: csr().copyto(mx.nd.zeros((2, 2))), r"\(2, 2\).*\(3, 4\)"),
    (lambda: csr().copyto(sparse.zeros("row_sparse", (3, 4))), "'row_sparse' of 'csr'"),
]


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_what_is_refused(row):
    call, says = REFUSED[row]
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("number", [-1, 5, np.nan])
@pytest.mark.parametrize("look_up", [mx.nd.Embedding, mx.nd.contrib.SparseEmbedding])
def test_a_row_number_outside_is_refused_where_rows_are_sparse(look_up, number):
    attrs = {"input_dim": 5, "output_dim": 2}
    stored = sparse.row_sparse_array(([[1, 2]], [3]), shape=(5, 2))
    with pytest.raises(MXNetError, match=r"got row number .* of 5 rows, expected 0 \.\. 4"):
        look_up(mx.nd.array([0, number]), stored, **attrs)
    assert look_up(mx.nd.array([[3.7], [0]]), stored, **attrs).asnumpy().tolist() == [
        [[1, 2]],
        [[0, 0]],
    ]
    weight = mx.nd.ones((5, 2))
    weight.attach_grad(stype="row_sparse")
    attrs |= {"sparse_grad": True} if look_up is mx.nd.Embedding else {}
    with mx.autograd.record():
        made = look_up(mx.nd.array([0, number]), weight, **attrs)
    with pytest.raises(MXNetError, match="got row number"):
        made.backward()


@pytest.mark.parametrize("array", [csr, rows])
def test_a_sparse_array_has_no_views(array):
    for view in (lambda a: a._at(0), lambda a: a._slice(0, 1), lambda a: a.reshape((4, 3))):
        with pytest.raises(NotSupportedForSparseNDArray, match=array().stype):
            view(array())


WRONG = [
    (lambda: sparse.csr_matrix(([1, 2, 3], [0, 9, 1], [0, 2, 2, 3]), shape=(3, 4)), "column 9"),
    (lambda: sparse.csr_matrix(([1, 2, 3], [0, -2, 1], [0, 2, 2, 3]), shape=(3, 4)), "column -2"),
    (lambda: sparse.csr_matrix(([1, 2, 3], [2, 0, 1], [0, 2, 2, 3]), shape=(3, 4)), "climb"),
    (lambda: sparse.csr_matrix(([1, 2, 3], [2, 2, 1], [0, 2, 2, 3]), shape=(3, 4)), "climb"),
    (lambda: sparse.row_sparse_array((np.ones((2, 2)), [0, 9]), shape=(5, 2)), "row 9"),
    (lambda: sparse.row_sparse_array((np.ones((2, 2)), [-1, 1]), shape=(5, 2)), "row -1"),
    (lambda: sparse.row_sparse_array((np.ones((2, 2)), [3, 1]), shape=(5, 2)), "climb"),
    (lambda: sparse.row_sparse_array((np.ones((2, 2)), [1, 1]), shape=(5, 2)), "climb"),
]


@pytest.mark.parametrize("row", range(len(WRONG)))
def test_check_format_looks_at_every_number_if_asked(row):
    make, says = WRONG[row]
    made = make()
    made.check_format(full_check=False)
    with pytest.raises(MXNetError, match=says):
        made.check_format()
    if "climb" not in says:
        with pytest.raises(MXNetError, match=says):
            made.asnumpy()


@pytest.mark.parametrize(
    ("indptr", "says"),
    [
        ([0, 5, 2, 3], "climb from 0 to 3"),
        ([1, 2, 2, 3], "climb from 0 to 3"),
        ([0, 2, 2, 9], "climb from 0 to 3"),
        ([0, 1, 3], "indptr has 3 entries, expected 4"),
    ],
)
def test_row_pointers_are_checked_at_the_first_use(indptr, says):
    made = sparse.csr_matrix(([1, 2, 3], [0, 1, 1], indptr), shape=(3, 4))
    uses = [
        made.check_format,
        lambda: made.check_format(full_check=False),
        made.asnumpy,
        lambda: made[1],
        lambda: made + made,
        lambda: mx.nd.concat(made, made, dim=0),
        lambda: mx.nd.take(made, mx.nd.array([2, 0])),
        lambda: mx.nd.sparse.sum(made, axis=1),
        lambda: mx.nd.sparse.dot(made, mx.nd.ones((4, 2))),
        lambda: mx.nd.contrib.getnnz(made, axis=1),
        lambda: made.tostype("default"),
    ]
    for use in uses:
        with pytest.raises(MXNetError, match=says):
            use()


def test_columns_may_climb_in_each_row_only():
    sparse.csr_matrix(([1, 2, 3, 4], [2, 3, 0, 1], [0, 2, 2, 3, 4]), shape=(4, 4)).check_format()
    sparse.zeros("csr", (3, 4)).check_format()
    csr()[1:1].check_format()


@pytest.mark.parametrize(
    ("key", "want"),
    [
        (1, DENSE[1:2]),
        (-1, DENSE[2:]),
        (slice(1, 3), DENSE[1:]),
        (slice(-2, None), DENSE[1:]),
        (slice(None), DENSE),
        (slice(0, 10), DENSE),
        (slice(2, 1), DENSE[:0]),
    ],
)
def test_rows_of_a_csr_array(key, want):
    got = csr()[key]
    assert got.stype == "csr"
    np.testing.assert_array_equal(got.asnumpy(), want)
    got.check_format()


def test_iteration_ends():
    assert [row.shape for row in csr()] == [(1, 4)] * 3
    with pytest.raises(IndexError):
        csr()[3]


@pytest.mark.parametrize(
    ("wanted", "values"), [([0, 3], [[0, 0], [3, 4]]), ([3, 1], [[3, 4], [1, 2]]), ([], None)]
)
def test_retain(wanted, values):
    values = np.zeros((0, 2)) if values is None else values
    for kept in (
        rows().retain(mx.nd.array(wanted)),
        sparse.retain(rows(), mx.nd.array(wanted, dtype="int64")),
    ):
        np.testing.assert_array_equal(kept.indices.asnumpy(), wanted)
        np.testing.assert_array_equal(kept.data.asnumpy(), values)
        assert kept.shape == (5, 2)


@pytest.mark.parametrize("make", [csr, rows])
def test_copies(make):
    made = make()
    want = made.asnumpy()
    copy, other = made.copy(), made.as_in_context(mx.cpu(1))
    assert made.as_in_context(mx.cpu(0)) is made
    assert (copy.context, other.context) == (mx.cpu(0), mx.cpu(1))
    half, same = made.astype("float16"), made.astype("float32", copy=False)
    assert half.dtype == np.float16
    assert same is made
    assert half.indices.dtype == np.int64
    dense, again = mx.nd.ones(made.shape), sparse.zeros(made.stype, made.shape, dtype="float64")
    assert made.copyto(dense) is dense
    assert made.copyto(again) is again
    assert again.dtype == np.float64
    for each in (copy, other, half, dense, again, pickle.loads(pickle.dumps(made)), made.detach()):
        np.testing.assert_array_equal(each.asnumpy(), want)
    with pytest.warns(RuntimeWarning, match="to itself"):
        made.copyto(made)


def test_assignment():
    target = sparse.zeros("csr", (3, 4))
    for value in (DENSE, mx.nd.array(DENSE), csr()):
        target[:] = value
        np.testing.assert_array_equal(target.asnumpy(), DENSE)
    dense = mx.nd.ones((3, 4))
    dense[:] = csr()
    np.testing.assert_array_equal(dense.asnumpy(), DENSE)
    filled = rows()
    filled[:] = 7
    np.testing.assert_array_equal(filled.asnumpy(), np.full((5, 2), 7))


# ── Files ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "want"), [("csr", np.eye(3)), ("row_sparse", [[0, 0], [1, 2], [0, 0]])]
)
def test_files_of_mxnet_are_read_and_written_to_the_byte(name, want, tmp_path):
    (loaded,) = mx.nd.load(str(FILES / f"{name}.params"))
    assert loaded.stype == name
    np.testing.assert_array_equal(loaded.asnumpy(), want)
    mx.nd.save(str(tmp_path / "x.params"), [loaded])
    assert (tmp_path / "x.params").read_bytes() == (FILES / f"{name}.params").read_bytes()


def test_kinds_of_storage_share_a_file(tmp_path):
    path = str(tmp_path / "x.params")
    given = {
        "a": csr("float16"),
        "b": mx.nd.ones((2,)),
        "c": rows(),
        "d": sparse.zeros("csr", (2, 3)),
    }
    mx.nd.save(path, given)
    loaded = mx.nd.load(path)
    assert {k: (v.stype, v.dtype) for k, v in loaded.items()} == {
        k: (v.stype, v.dtype) for k, v in given.items()
    }
    for name, value in given.items():
        np.testing.assert_array_equal(loaded[name].asnumpy(), value.asnumpy())


def test_empty_dense_arrays_do_not_share_a_file_with_sparse_ones(tmp_path):
    path = tmp_path / "x.params"
    with pytest.raises(NotSupportedError, match="file of its own"):
        mx.nd.save(str(path), [mx.nd.empty((0, 3)), csr()])
    assert not path.exists()


def test_damaged_places_are_found():
    content = bytearray((FILES / "csr.params").read_bytes())
    content[-8 - 8 : -8] = struct.pack("<q", 7)
    with pytest.raises(FileFormatError, match=r"at byte 24: .*column 7, expected 0 to 2"):
        mx.nd.load_frombuffer(bytes(content))


# ── In modules and stores ───────────────────────────────────────────────────────────────────


def _outputs(data, iterate=False):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (3, 4))], for_training=False)
    module.init_params(mx.init.One())
    batch = (
        next(mx.io.NDArrayIter(data, None, 3, False, "discard"))
        if iterate
        else mx.io.DataBatch([data])
    )
    module.forward(batch)
    return module.get_outputs()[0].asnumpy()


@pytest.mark.parametrize("iterate", [False, True])
def test_csr_batches_are_made_dense(iterate):
    np.testing.assert_array_equal(_outputs(csr(), iterate), _outputs(mx.nd.array(DENSE), iterate))


def test_row_sparse_parameters_are_made_dense():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, no_bias=True, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (1, 4))], for_training=False)
    params = {"fc_weight": mx.nd.array(DENSE).tostype("row_sparse")}
    module.set_params(params, {})
    module.forward(mx.io.DataBatch([mx.nd.ones((1, 4))]))
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), [DENSE.sum(1)])
    predictor = mx.Predictor(net, (params, {}), {"data": (1, 4)})
    np.testing.assert_array_equal(predictor.predict(np.ones((1, 4), np.float32)), [DENSE.sum(1)])


def store():
    made = mx.kv.create("local")
    made.init("a", mx.nd.ones((5, 2)).tostype("row_sparse"))
    return made


def test_a_store_gives_rows():
    out = [sparse.zeros("row_sparse", (5, 2)) for _ in range(2)]
    store().row_sparse_pull("a", out=out[0], row_ids=mx.nd.array([3, 1, 3]))
    np.testing.assert_array_equal(out[0].indices.asnumpy(), [1, 3])
    np.testing.assert_array_equal(out[0].asnumpy(), [[0, 0], [1, 1], [0, 0], [1, 1], [0, 0]])
    store().row_sparse_pull("a", out=out, row_ids=[mx.nd.array([1]), mx.nd.array([[2, 4]])])
    assert [o.indices.asnumpy().tolist() for o in out] == [[1], [2, 4]]
    store().row_sparse_pull(["a", "a"], out=out, row_ids=mx.nd.array([0]))
    assert [o.indices.asnumpy().tolist() for o in out] == [[0], [0]]


def test_a_store_sums_rows_and_leaves_sparse_arrays_alone_unless_asked():
    kv, dense, out = store(), mx.nd.zeros((5, 2)), sparse.zeros("row_sparse", (5, 2))
    kv.push("a", [rows(), rows()])
    kv.pull("a", out=dense)
    np.testing.assert_array_equal(dense.asnumpy(), 2 * ROWS)
    kv.pull("a", out=out)
    np.testing.assert_array_equal(out.asnumpy(), np.zeros((5, 2)))
    kv.pull("a", out=out, ignore_sparse=False)
    np.testing.assert_array_equal(out.asnumpy(), 2 * ROWS)
    np.testing.assert_array_equal(out.indices.asnumpy(), [1, 3])


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (AssertionError, "2 row_ids for 1", lambda kv, out: kv.row_sparse_pull(
            "a", out=out, row_ids=[mx.nd.ones(1)] * 2)),
        (ValueError, "rows 9 to 9 of 5", lambda kv, out: kv.row_sparse_pull(
            "a", out=out, row_ids=mx.nd.array([9]))),
        (ValueError, "storage type 'default'", lambda kv, _: kv.row_sparse_pull(
            "a", out=mx.nd.ones((5, 2)), row_ids=mx.nd.array([0]))),
        (KeyError, "'b' was not", lambda kv, out: kv.row_sparse_pull(
            "b", out=out, row_ids=mx.nd.array([0]))),
    ],
)  # fmt: skip
def test_a_store_refuses_rows(error, says, call):
    with pytest.raises(error, match=says):
        call(store(), sparse.zeros("row_sparse", (5, 2)))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_random_sparse_arrays(stype):
    made, parts = mx.test_utils.rand_sparse_ndarray((6, 5), stype, density=0.5, dtype="float64")
    assert (made.stype, made.shape, made.dtype) == (stype, (6, 5), np.float64)
    made.check_format()
    want = [made.indptr, made.indices, made.data] if stype == "csr" else [made.data, made.indices]
    for part, given in zip(parts, want, strict=True):
        np.testing.assert_array_equal(np.asarray(part), given.asnumpy())
    full = mx.test_utils.rand_ndarray((6, 5), stype, density=1.0)
    assert (full.asnumpy() != 0).all()
    assert not mx.test_utils.create_sparse_array_zd((6, 5), stype, density=0.0).asnumpy().any()


def test_retained_rows_have_a_gradient():
    rows = mx.nd.array([[1, 2], [0, 0], [3, 0]]).tostype("row_sparse")
    rows.attach_grad()
    with mx.autograd.record():
        kept = mx.nd.sparse.retain(rows, mx.nd.array([0, 1])) * 2
    kept.backward()
    assert (kept.stype, rows.grad.stype) == ("row_sparse", "row_sparse")
    assert rows.grad.asnumpy().tolist() == [[2, 2], [2, 2], [0, 0]]


@pytest.mark.parametrize("stype", ["csr", "row_sparse", "default"])
@pytest.mark.parametrize("to", ["csr", "row_sparse", "default"])
def test_casts_of_storage_have_a_gradient(stype, to):
    if {stype, to} == {"csr", "row_sparse"}:
        return
    given = mx.nd.array(MATRIX)
    given = given if stype == "default" else given.tostype(stype)
    for cast in (lambda x: mx.nd.cast_storage(x, stype=to), lambda x: x.tostype(to)):
        given.attach_grad()
        with mx.autograd.record():
            made = cast(given)
        made.backward(mx.nd.full(MATRIX.shape, 3))
        assert (made.stype, given.grad.stype) == (to, stype)
        np.testing.assert_array_equal(given.grad.asnumpy(), np.full(MATRIX.shape, 3))


@pytest.mark.parametrize("name", ["broadcast_mul", "elemwise_mul", "broadcast_div"])
def test_recorded_products_read_stored_elements_alone(name):
    other = mx.nd.array([[2, np.nan, 2, np.inf]] * 3)
    plain = getattr(mx.nd, name)(csr(), other)
    other.attach_grad()
    with mx.autograd.record():
        made = getattr(mx.nd, name)(csr(), other)
    made.backward()
    assert made.stype == "csr"
    np.testing.assert_array_equal(made.asnumpy()[:2, 1:], [[0, made.asnumpy()[0, 2], 0], [0] * 3])
    np.testing.assert_array_equal(made.asnumpy(), plain.asnumpy())
    assert np.isfinite(other.grad.asnumpy()[0, [0, 2]]).all() and other.grad.asnumpy()[0, 0]


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sums_over_no_axes(stype):
    made = mx.nd.sum(mx.nd.array(DENSE).tostype(stype), axis=(0, 1), exclude=True)
    np.testing.assert_array_equal(made.asnumpy(), DENSE)


def test_unsigned_edges_that_are_not_there():
    ids = mx.nd.contrib.edge_id(csr("uint8"), mx.nd.array([0, 0]), mx.nd.array([1, 2]))
    assert ids.asnumpy().tolist() == [255, 2]
