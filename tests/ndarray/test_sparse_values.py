"""Operators on sparse arrays, against figures of MXNet 1.9.1 and against dense arrays."""

import base64
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotReadyError, ParameterError, ShapeError
from modkit.optimizer.states import loads
from tests.ndarray.sparse_cases import (
    EXPRESSIONS,
    FEATURES,
    HALF,
    PROGRAMS,
    SEVERAL,
    TRAINED,
    arrays,
    described,
    found,
    half_trained,
    prepared,
    step,
    trained,
    trained_on_two,
)

DOCUMENT = json.loads((Path(__file__).parent.parent / "reference" / "sparse.json").read_text())
RECORDED = DOCUMENT["expressions"]


def compare(got, want):
    assert got[:2] == want[:2]
    np.testing.assert_allclose(np.array(got[2], float), np.array(want[2], float), 1e-4, 1e-5)
    assert got[3] == want[3]


@pytest.mark.parametrize("expression", [e for e in EXPRESSIONS if RECORDED[e]])
def test_an_expression(expression):
    compare(found(mx, expression), RECORDED[expression])


@pytest.mark.parametrize("name", [n for n in PROGRAMS if DOCUMENT["programs"][n]])
def test_a_program(name):
    want = DOCUMENT["programs"][name]
    made = PROGRAMS[name](mx, arrays(mx))
    assert len(made) == len(want)
    for got, each in zip(made, want, strict=True):
        compare(described(got), each)


QUICK = (
    "sgd-momentum machine", "adam embedding", "ftrl machine", "adam lookups", "sgd-momentum drawn",
    "ftrl dense embedding",
)  # fmt: skip


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    ("name", "model"),
    [
        pytest.param(*row, marks=[] if " ".join(row) in QUICK else [pytest.mark.slow])
        for row in TRAINED
    ],
)
def test_a_trained_model(name, model, apart):
    made = trained(mx, name, model, apart)
    for got, want in zip(made, DOCUMENT["trained"][f"{name} {model}"], strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, 1e-4, 2e-5)


@pytest.mark.filterwarnings("ignore:init_optimizer. kvstore=None")
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("row", SEVERAL, ids=str)
def test_two_contexts(row, devices):
    """They sum the rows of both; every second row reads outputs before updates."""
    contexts = [mx.cpu(k % devices) for k in range(2)]
    made = trained_on_two(mx, contexts, row, apart=SEVERAL.index(row) % 2 == 1)
    for got, want in zip(made, DOCUMENT["several"][str(row)], strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, 1e-4, 2e-5)


@pytest.mark.parametrize(
    "name",
    [n if n in ("adam", "adagrad") else pytest.param(n, marks=pytest.mark.slow) for n in HALF],
)
def test_training_goes_on_from_states_of_row_sparse_weights(name, tmp_path):
    """MXNet's file is read, and one is written that its lazy updates take: with every row."""
    states, start = DOCUMENT["half"][name]
    (tmp_path / "states").write_bytes(base64.b64decode(states))
    options = {"begin_num_update": 2}
    module, given, names = prepared(mx, name, "embedding", start=start, options=options)
    module.load_optimizer_states(str(tmp_path / "states"))
    for batch in given[2:]:
        step(module, batch)
    for got, want in zip(names, DOCUMENT["trained"][f"{name} embedding"], strict=True):
        np.testing.assert_allclose(module.get_params()[0][got].asnumpy(), want, 1e-4, 2e-5)
    written, _ = half_trained(mx, name, tmp_path)
    ours, theirs = (jax.tree.leaves(loads(base64.b64decode(x))) for x in (written, states))
    for own, other in zip(ours, theirs, strict=True):
        assert (own.stype, len(own.indices)) == ("row_sparse", FEATURES)
        np.testing.assert_allclose(own.asnumpy(), other.asnumpy(), 1e-4, 1e-6)


def test_gradients_of_rows_are_added():
    """MXNet refuses these."""
    _, once = PROGRAMS["dot_of_rows"](mx, arrays(mx))
    _, added = PROGRAMS["dot_of_rows_added"](mx, arrays(mx))
    assert (added.stype, added.shape) == ("row_sparse", (5, 3))
    np.testing.assert_allclose(added.asnumpy(), 2 * once.asnumpy())
    _, added = PROGRAMS["embedding_added"](mx, arrays(mx))
    np.testing.assert_array_equal(added.indices.asnumpy(), [1, 4])
    np.testing.assert_array_equal(added.asnumpy()[:, 0], [0, 4, 0, 0, 4])


def test_a_gradient_of_two_orders_is_dense():
    a = arrays(mx)
    a["W"].attach_grad(stype="row_sparse")
    with mx.autograd.record():
        y = mx.nd.square(mx.nd.dot(a["C"], a["W"])).sum()
    (first,) = mx.autograd.grad(y, [a["W"]])
    assert first.stype == "row_sparse"
    dense = a["C"].asnumpy()
    want = 2 * dense.T @ dense @ a["W"].asnumpy()
    np.testing.assert_allclose(first.asnumpy(), want, 1e-5)


def test_large_arrays_stay_sparse():
    """A dense array of these shapes would not fit."""
    size = 10**12
    x = mx.nd.sparse.csr_matrix(([1.0, 2, 3], [5, 10**11, 5], [0, 2, 3]), shape=(2, size))
    back = mx.nd.dot(x, mx.nd.array([[1.0, 2], [3, 4]]), transpose_a=True)
    assert (back.stype, back.shape) == ("row_sparse", (size, 2))
    np.testing.assert_array_equal(back.data.asnumpy(), [[10, 14], [2, 4]])
    out = mx.nd.dot(mx.nd.square(x) * 2, back + back)
    np.testing.assert_array_equal(out.asnumpy(), [[2 * 20 + 8 * 4, 2 * 28 + 8 * 8], [360, 504]])
    assert (x + x)[1].sum().asscalar() == 6


def test_what_csr_arrays_cannot_answer_is_refused():
    """As MXNet refuses it; axis 2 gave the numbers of columns, lengths that differ no error."""
    a = mx.nd.array([[1, 0, -2], [0, 0, 3]]).tostype("csr")
    for axis in (-2, 2):
        with pytest.raises(ParameterError, match="expected a matrix and None, 0 or 1"):
            mx.nd.contrib.getnnz(a, axis=axis)
    with pytest.raises(ShapeError, match=r"u \(3,\) and v \(2,\)"):
        mx.nd.contrib.edge_id(a, mx.nd.array([0, 1, 1]), mx.nd.array([2, 1]))


def test_operators_about_storage_on_dense_arrays():
    """MXNet takes none of these; graphs of dense arrays do."""
    a = mx.nd.array([[1, 0, -2], [0, 0, 3]])
    np.testing.assert_array_equal(mx.nd.contrib.getnnz(a).asnumpy(), [3])
    np.testing.assert_array_equal(mx.nd.contrib.getnnz(a, axis=0).asnumpy(), [1, 0, 2])
    ids = mx.nd.contrib.edge_id(a, mx.nd.array([0, 1]), mx.nd.array([2, 1]))
    np.testing.assert_array_equal(ids.asnumpy(), [-2, -1])
    sums = mx.nd._internal._square_sum(a, axis=1, keepdims=True)
    np.testing.assert_array_equal(sums.asnumpy(), [[5], [9]])
    symbol = mx.sym.sparse.retain(mx.sym.Variable("a"), mx.sym.Variable("i"))
    (out,) = symbol.eval(a=a, i=mx.nd.array([0]))
    np.testing.assert_array_equal(out.asnumpy(), [[1, 0, -2], [0, 0, 0]])


@pytest.mark.parametrize("stype", ["default", "csr"])
def test_retain_takes_row_sparse_arrays_alone(stype):
    a, rows = mx.nd.array([[1, 0, -2], [0, 0, 3]]).tostype(stype), mx.nd.array([1])
    with pytest.raises(ParameterError, match=f"_sparse_retain: data: got storage type '{stype}'"):
        mx.nd._internal._sparse_retain(a, rows)
    with pytest.raises(ParameterError, match="expected row_sparse"):
        mx.nd.sparse.retain(a, rows)


@pytest.mark.parametrize("types", [("float16", "int32"), ("int32", "float32"), ("uint8", "int32")])
def test_lookups_of_one_weight_by_numbers_of_several_types(types):
    """float16 holds no 4097: the numbers are whole before they are joined."""
    rows, weight = [np.array([1, 7]), np.array([4097, 3001, 7])], mx.sym.Variable("w")
    names = [mx.sym.Variable(n, dtype=t) for n, t in zip("ab", types, strict=True)]
    rows = rows[::-1] if types[0] == "int32" else rows
    found = [
        mx.sym.Embedding(name, weight, input_dim=5000, output_dim=2, sparse_grad=True)
        for name in names
    ]
    head = mx.sym.MakeLoss(mx.sym.add_n(*map(mx.sym.sum, found)))
    executor = head.simple_bind(mx.cpu(), a=rows[0].shape, b=rows[1].shape)
    table = np.arange(10000, dtype="float32").reshape(5000, 2)
    executor.arg_dict["w"][:] = table
    for name, numbers in zip("ab", rows, strict=True):
        executor.arg_dict[name][:] = numbers
    (total,) = executor.forward(is_train=True)
    executor.backward()
    assert total.asscalar() == sum(table[n].sum() for n in rows)
    gradient = executor.grad_dict["w"].asnumpy()[:, 0]
    assert {int(n): gradient[n] for n in gradient.nonzero()[0]} == {1: 1, 7: 2, 3001: 1, 4097: 1}


def test_a_write_while_recording_loses_no_gradient():
    a = arrays(mx)
    a["V"].attach_grad()
    out = mx.nd.zeros((4, 3), stype="row_sparse")
    with mx.autograd.record():
        y = mx.nd.dot(a["C"], a["V"])
        with pytest.raises(NotReadyError, match="tape"):
            a["V"][:] = 0
        with pytest.raises(NotReadyError, match="tape"):
            out[:] = y
        with pytest.raises(NotReadyError, match="tape"):
            mx.nd.sparse.sgd_update(a["V"], a["V"].grad, out=a["V"], lr=0.1)
    y.backward()
    a["V"][:] = 0
    assert not a["V"].asnumpy().any()
