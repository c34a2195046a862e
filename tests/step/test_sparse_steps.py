"""Csr batches and row-sparse gradients inside compiled steps."""

import contextlib
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import modkit as mx
from modkit.compile.program import Program
from modkit.errors import NotSupportedError
from modkit.module import gradient_rows
from modkit.ops import sparse_values
from tests.ndarray.sparse_cases import (
    MODELS,
    batches,
    embedding_model,
    factorization_machine,
    weights,
)

SIZE = 12


def module_of(symbol, data_shape, context=None):
    module = mx.mod.Module(symbol, ["data"], ["label"], context=context)
    module.bind([("data", data_shape)], [("label", (data_shape[0], 1))])
    return module


def csr_batch(rows, features, stored, seed=0):
    random = np.random.RandomState(seed)
    columns = random.choice(features, rows * stored, replace=False)
    ends = np.arange(0, rows * stored + 1, stored)
    parts = np.ones(len(columns), np.float32), columns, ends
    data = mx.nd.sparse.csr_matrix(parts, shape=(rows, features))
    return mx.io.DataBatch([data], [mx.nd.array(random.randint(0, 2, (rows, 1)))])


def step(module, batch):
    module.forward(batch, is_train=True)
    module.backward()
    module.update()


def fail(_):
    pytest.fail("a dense array was made")


def test_no_array_of_the_size_of_data_or_weights_is_made(monkeypatch):
    """Dense data would be 400 GB, and weights are there once."""
    for kind in (sparse_values.Csr, sparse_values.Rows):
        monkeypatch.setattr(kind, "dense", fail)
    features = 100_003
    module = module_of(factorization_machine(mx, features, 2), (1_000_000, features))
    module.init_params(mx.init.Normal(0.1))
    module.init_optimizer("local", "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    before = module.get_params()[0]["v_weight"].asnumpy()
    indptr = np.zeros(1_000_001, np.int64)
    indptr[-2:] = 1, 3
    parts = np.ones(3, np.float32), np.array([7, 7, 100_002]), indptr
    data = mx.nd.sparse.csr_matrix(parts, shape=(1_000_000, features))
    for _ in range(2):
        step(module, mx.io.DataBatch([data], [mx.nd.ones((1_000_000, 1))]))
    changed = (module.get_params()[0]["v_weight"].asnumpy() != before).any(1)
    assert np.flatnonzero(changed).tolist() == [7, 100_002]


def test_batches_of_like_sizes_share_a_program(monkeypatch):
    made = []
    make = Program._make
    monkeypatch.setattr(Program, "_make", lambda self, *a: made.append(1) or make(self, *a))
    module = module_of(factorization_machine(mx, 1009, 2), (5, 1009))
    module.init_params(mx.init.Normal(0.1))
    module.init_optimizer("local", "sgd")
    for stored, count in ((11, 1), (10, 1), (11, 1), (30, 2), (29, 2)):
        step(module, csr_batch(5, 1009, stored, seed=stored))
        module.get_outputs()[0].wait_to_read()
        assert len(made) == count


def test_updates_outside_a_step_compile_nothing_for_another_number_of_rows(compilations):
    module = module_of(factorization_machine(mx, 30, 2), (5, 30))
    module.init_params(mx.init.Normal(0.1))
    module.init_optimizer("local", "adam")

    def update(stored):
        module.forward(csr_batch(5, 30, stored), is_train=True)
        module.get_outputs()[0].wait_to_read()
        module.backward()
        module.update()

    assert len(compilations.during(lambda: update(2))) <= 3
    assert not compilations.during(lambda: [update(stored) for stored in (3, 4, 6)], True)


@given(st.integers(0, 10**6))
def test_padded_sizes_are_few_and_near(count):
    size = sparse_values.padded_size(count)
    assert count <= size <= max(1.34 * count, count + 31, 32)
    assert sparse_values.padded_size(size) == size


def trained(symbol, given, optimizer, **options):
    module = module_of(symbol, given[0].data[0].shape)
    values = {n: mx.nd.array(v) for n, v in weights().items() if n in symbol.list_arguments()}
    module.init_params(mx.init.Zero(), values, {})
    module.init_optimizer("local", optimizer, {"rescale_grad": 1.0, **options})
    for batch in given:
        step(module, batch)
    return {n: a.asnumpy() for n, a in module.get_params()[0].items()}


def dense_machine():
    """The same model of dense arrays."""
    x = mx.sym.Variable("data")
    v = mx.sym.Variable("v_weight", shape=(SIZE, 3))
    w = mx.sym.Variable("w_weight", shape=(SIZE, 1))
    linear = mx.sym.broadcast_add(mx.sym.dot(x, w), mx.sym.Variable("bias", shape=(1,)))
    squares = mx.sym.dot(mx.sym.square(x), mx.sym.sum(mx.sym.square(v), axis=1, keepdims=True))
    pairs = mx.sym.sum(mx.sym.square(mx.sym.dot(x, v)), axis=1, keepdims=True)
    score = linear + 0.5 * (pairs - squares)
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"))


def test_it_trains_as_dense_arrays_do():
    sparse = batches(mx)
    dense = [mx.io.DataBatch([b.data[0].tostype("default")], b.label) for b in sparse]
    options = {"learning_rate": 0.1, "momentum": 0.9, "lazy_update": False, "wd": 0.1}
    want = trained(dense_machine(), dense, "sgd", **options)
    for given_ in (sparse, dense):  # dense batches of a csr variable are made sparse
        got = trained(factorization_machine(mx), given_, "sgd", **options)
        for name, value in want.items():
            np.testing.assert_allclose(got[name], value, 1e-4, 1e-5, err_msg=name)


@pytest.mark.filterwarnings("ignore:init_optimizer. kvstore=None")
def test_gradients_of_64_bits_stay_so_where_contexts_train_apart_from_then_on():
    weight = mx.sym.Variable("v_weight", shape=(SIZE, 3), dtype="float64")
    net = mx.sym.MakeLoss(mx.sym.dot(mx.sym.Variable("data", stype="csr"), weight))
    module = mx.mod.Module(net, label_names=None, context=[mx.cpu(0)] * 2)
    module.bind([mx.io.DataDesc("data", (2, SIZE), "float64")])
    module.init_params(mx.init.One())
    module.init_optimizer("device", "sgd")
    data = mx.nd.full((2, SIZE), 1 + 1e-12, dtype="float64").tostype("csr")
    module.forward_backward(mx.io.DataBatch([data], []))
    module.init_optimizer(None, "sgd", force_init=True)
    for grad in module._exec_group.grad_arrays[0]:
        np.testing.assert_array_equal(grad.asnumpy(), 1 + 1e-12)


def embedded(data, weight, sparse_grad=True):
    sizes = {"input_dim": SIZE, "output_dim": 3}
    return mx.sym.Embedding(data, weight, sparse_grad=sparse_grad, **sizes)


READERS = {
    "one embedding": lambda x, v, s: embedded(x, v, s),
    "two of one input": lambda x, v, s: embedded(x, v, s) * embedded(x, 2 * v, s),
    "of another input too": lambda x, v, s: embedded(x, v, s) + embedded(SIZE - x, v, s),
    "the whole weight too": lambda x, v, s: mx.sym.broadcast_add(
        embedded(x, v, s), mx.sym.sum(v).reshape((1, 1, 1))
    ),
    "numbers outside": lambda x, v, s: embedded(x * 9 - 50, v, s),
}


@pytest.mark.parametrize("name", READERS)
def test_embeddings_give_the_gradients_of_dense_ones(name):
    found = []
    for sparse_grad in (True, False):
        made = READERS[name](mx.sym.Variable("data"), mx.sym.Variable("v_weight"), sparse_grad)
        score = mx.sym.sum(made, axis=(1, 2)).reshape((-1, 1))
        symbol = mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"))
        found.append(trained(symbol, batches(mx, sparse=False), "sgd", learning_rate=0.1))
    np.testing.assert_allclose(*(each["v_weight"] for each in found), 1e-5, 1e-6)


CONTEXTS = {"alone": mx.cpu(0), "one device": [mx.cpu(0)] * 2, "two": [mx.cpu(0), mx.cpu(1)]}


@pytest.mark.parametrize("where", CONTEXTS)
def test_gradients_and_parameters_of_rows_are_shown_as_such(where):
    """MXNet 1.9.1 gives these storage types and numbers."""
    rows = [[1, 3], [5, 3]]
    module = module_of(embedding_model(mx), (2, 2), CONTEXTS[where])
    group = module._exec_group
    found = {(a.stype, len(a.indices)) for a in [*group.param_arrays[0], *group.grad_arrays[0]]}
    assert found == {("row_sparse", 0)}
    module.init_params(mx.init.One())
    step_batch = mx.io.DataBatch([mx.nd.array(rows)], [mx.nd.ones((2, 1))])
    module.forward_backward(step_batch)
    grads, weights = group.grad_arrays[0], group.param_arrays[0]
    alone = where == "alone"
    for own, wanted in zip(grads, [[1, 3, 5]] if alone else [[1, 3], [3, 5]], strict=True):
        assert own.indices.asnumpy().tolist() == wanted
        assert (own.indices.dtype, own.data.shape) == (np.int64, (len(wanted), 3))
        assert (own.asnumpy()[wanted] == own.data.asnumpy()).all()
        assert own._values is own._values  # one conversion for all readers
        assert own.copy().stype == own.as_in_context(mx.cpu(1)).stype == "row_sparse"
        assert repr(own).startswith("\n<RowSparseNDArray 12x3 @cpu(")
    assert weights[0].indices.asnumpy().tolist() == list(range(12))
    module.init_optimizer("local", "sgd", {"learning_rate": 1.0, "rescale_grad": 1.0})
    grads[-1][:] = mx.nd.sparse.row_sparse_array((np.full((1, 3), 7), [8]), shape=(12, 3))
    rest = {} if alone else grads[0].asnumpy()
    module.update()
    value = module.get_params()[0]["v_weight"].asnumpy()
    assert (value[8] == 1 - 7).all()
    np.testing.assert_allclose(value[1], 1 if alone else 1 - rest[1], rtol=1e-6)
    assert weights[0].asnumpy()[8, 0] == -6


@pytest.mark.parametrize("where", CONTEXTS)
def test_rows_are_pulled_into_the_parameters_of_a_module(where):
    """Those arrays hold all rows; in MXNet the pulled ones alone."""
    module = module_of(embedding_model(mx), (2, 2), CONTEXTS[where])
    module.init_params(mx.init.One())
    store = mx.kv.create("device")
    store.init("w", 2 * mx.nd.ones((12, 3)).tostype("row_sparse"))
    arrays = module._exec_group.param_arrays[0]
    store.row_sparse_pull("w", arrays, row_ids=mx.nd.array([4, 1, 4]))
    value = module.get_params()[0]["v_weight"].asnumpy()
    assert np.flatnonzero(value[:, 0] == 2).tolist() == [1, 4]
    assert (value[[0, 11]] == 1).all()
    for array in arrays:
        array[:] = mx.nd.sparse.zeros("row_sparse", (12, 3))
    assert not module.get_params()[0]["v_weight"].asnumpy().any()


@pytest.mark.parametrize("where", CONTEXTS)
@pytest.mark.parametrize("model", ["lookups", "drawn", "embedding"])
def test_a_compute_type_updates_the_same_rows(model, where):
    """The row that no batch names has no decay, as without a compute type."""
    x = mx.nd.array([[1, 3], [3, 5], [4, 1], [0, 3]])
    options = {"learning_rate": 0.25, "momentum": 0.5, "wd": 0.5}
    found = []
    for dtype in (None, "bfloat16"):
        module = mx.mod.Module(
            MODELS[model](mx), ["data"], ["label"], CONTEXTS[where], compute_dtype=dtype
        )
        module.bind([("data", (4, 2))], [("label", (4, 1))])
        module.init_params(mx.init.One())
        module.init_optimizer("local", "sgd", options)
        for _ in range(3):
            step(module, mx.io.DataBatch([x], [mx.nd.zeros((4, 1))]))
        found.append(module.get_params()[0]["v_weight"].asnumpy())
    np.testing.assert_allclose(*found, rtol=2e-2)
    assert ((found[0] == 1) == (found[1] == 1)).all() and (found[1][6] == 1).all()


def test_the_gradients_of_two_contexts_are_written_by_two_threads(monkeypatch):
    """Each is a part of one array, which a write reads and replaces: none was to be lost."""
    module = module_of(embedding_model(mx), (2, 2), CONTEXTS["two"])
    module.init_params(mx.init.One())
    module.init_optimizer("local")
    module.forward_backward(mx.io.DataBatch([mx.nd.array([[1, 3], [5, 3]])], [mx.nd.ones((2, 1))]))
    grads, both = module._exec_group.grad_arrays[0], threading.Barrier(2)
    part = gradient_rows._of_replica

    def slowly(*args):
        found = part(*args)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.05)
        return found

    monkeypatch.setattr(gradient_rows, "_of_replica", slowly)

    def write(grad):
        grad[:] = mx.nd.sparse.row_sparse_array((np.full((1, 3), 7), [8]), shape=(12, 3))

    threads = [threading.Thread(target=write, args=(grad,)) for grad in grads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [grad.indices.asnumpy().tolist() for grad in grads] == [[8], [8]]


def test_adagrad_refuses_decay_of_gradients_by_rows():
    """As MXNet does; of a module it trains nothing then."""
    decaying = mx.optimizer.AdaGrad(wd=0.1, rescale_grad=0.5)
    grad = mx.nd.sparse.row_sparse_array(([[1.0, 2.0]], [1]), shape=(3, 2))
    with pytest.raises(NotSupportedError, match=r"parameter 0 has a row-sparse .* wd=0.1"):
        mx.optimizer.get_updater(decaying)(0, grad, mx.nd.ones((3, 2)))
    with pytest.raises(NotSupportedError, match="adagrad_update: got wd="):
        mx.nd.sparse.adagrad_update(mx.nd.ones((3, 2)), grad, mx.nd.zeros((3, 2)), lr=0.1, wd=0.1)
    module = module_of(embedding_model(mx), (2, 2))
    module.init_params(mx.init.One())
    with pytest.raises(NotSupportedError, match=r"parameter 'v_weight' has a row-sparse"):
        module.init_optimizer("local", "adagrad", {"wd": 0.1})
    decaying.set_wd_mult({"v_weight": 0.0})
    module.init_optimizer("local", decaying)


def test_gradients_by_rows_are_not_compressed():
    params = {"type": "2bit", "threshold": 0.5}
    module = mx.mod.Module(
        embedding_model(mx), ["data"], ["label"], [mx.cpu(0), mx.cpu(1)], compression_params=params
    )
    module.bind([("data", (2, 2))], [("label", (2, 1))])
    module.init_params()
    with pytest.raises(NotSupportedError, match="the gradient of 'v_weight' is row-sparse"):
        module.init_optimizer("device")
    store = mx.kv.create("device")
    store.set_gradient_compression(params)
    store.init("w", mx.nd.zeros((4, 2)))
    with pytest.raises(NotSupportedError, match="'w' has row-sparse values"):
        store.push("w", mx.nd.ones((4, 2)).tostype("row_sparse"))


def test_two_segments_that_read_rows_of_one_weight_add_them():
    x, v = mx.sym.Variable("data"), mx.sym.Variable("v_weight")
    found = []
    for groups in ({}, {"a": mx.cpu(0), "b": mx.cpu(1)}):
        with mx.AttrScope(ctx_group="a"):
            first = mx.sym.sum(embedded(x, v), axis=(1, 2))
        with mx.AttrScope(ctx_group="b"):
            score = (mx.sym.sum(embedded(SIZE - 1 - x, v), axis=(1, 2)) + first).reshape((-1, 1))
            symbol = mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"))
        module = mx.mod.Module(symbol, ["data"], ["label"], mx.cpu(0), group2ctxs=groups)
        module.bind([("data", (2, 2))], [("label", (2, 1))])
        module.init_params(mx.init.One())
        module.init_optimizer("local", "sgd", {"learning_rate": 0.5, "momentum": 0.5, "wd": 0.5})
        for _ in range(3):
            step(module, mx.io.DataBatch([mx.nd.array([[1, 3], [3, 5]])], [mx.nd.zeros((2, 1))]))
        found.append(module.get_params()[0]["v_weight"].asnumpy())
    np.testing.assert_allclose(*found, rtol=1e-5)
    assert (found[1][[0, 2, 4, 7, 9, 11]] == 1).all()


def test_fit_with_csr_batches_and_several_steps_a_call():
    random = np.random.RandomState(0)
    data = (random.rand(40, SIZE) < 0.3).astype(np.float32)
    label = (data[:, :1] + data[:, 1:2] > 0).astype(np.float32)
    reached = []
    for steps in (1, 4):
        mx.random.seed(0)
        source = mx.nd.array(data).tostype("csr")
        batches_ = mx.io.NDArrayIter({"data": source}, {"label": label}, 8, False, "discard")
        assert next(iter(batches_)).data[0].stype == "csr"
        batches_.reset()
        module = mx.mod.Module(factorization_machine(mx), ["data"], ["label"])
        module.fit(
            batches_, eval_metric="mse", num_epoch=3, steps_per_call=steps,
            optimizer_params={"learning_rate": 1.0}, initializer=mx.init.Normal(0.1),
            sparse_row_id_fn=lambda batch: {"v_weight": batch.data[0].indices},
        )  # fmt: skip
        reached.append(module.get_params()[0]["w_weight"].asnumpy())
    np.testing.assert_allclose(*reached, 1e-5, 1e-6)


def test_row_ids_name_parameters():
    module = module_of(factorization_machine(mx), (4, SIZE))
    with pytest.raises(ValueError, match=r"'v_wight'.*Did you mean 'v_weight'"):
        module.prepare(batches(mx)[0], sparse_row_id_fn=lambda _: {"v_wight": 0})


# ── Executors ───────────────────────────────────────────────────────────────────────────────

X = np.array([[1, 0, 0, 2], [0, 0, 0, 3]], np.float32)
W = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_simple_bind_makes_arrays_of_their_storage_types():
    product = mx.sym.sparse.dot(mx.sym.Variable("data"), mx.sym.Variable("w"))
    bound = product.simple_bind(
        mx.cpu(), data=(2, 4), w=(4, 3), stype_dict={"data": "csr"}, grad_req={"w": "write"}
    )
    assert (bound.arg_dict["data"].stype, bound.grad_dict["w"].stype) == ("csr", "row_sparse")
    bound.arg_dict["w"][:] = mx.nd.array(W)
    bound.arg_dict["data"][:] = mx.nd.array(X).tostype("csr")
    bound.forward(is_train=True)
    np.testing.assert_array_equal(bound.outputs[0].asnumpy(), X @ W)
    bound.backward(mx.nd.ones((2, 3)))
    np.testing.assert_array_equal(bound.grad_dict["w"].indices.asnumpy(), [0, 3])
    np.testing.assert_array_equal(bound.grad_dict["w"].asnumpy(), X.T @ np.ones((2, 3)))


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("req", ["write", "add"])
def test_bind_takes_sparse_arrays(stype, req):
    x, w = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("w", stype="row_sparse")
    data = mx.nd.array(X).tostype("csr")
    weight, grad = mx.nd.array(W).tostype("row_sparse"), mx.nd.zeros((4, 3), stype=stype)
    bound = mx.sym.sparse.dot(mx.sym.square(x), w).bind(
        mx.cpu(), {"data": data, "w": weight}, {"w": grad}, req
    )
    for _ in range(2):
        bound.forward(is_train=True)
        bound.backward(mx.nd.ones((2, 3)))
    np.testing.assert_array_equal(bound.outputs[0].asnumpy(), X**2 @ W)
    times = 2 if req == "add" else 1
    np.testing.assert_array_equal(grad.asnumpy(), times * (X**2).T @ np.ones((2, 3)))
    data[:] = 2 * X  # the executor sees it
    bound.forward()
    np.testing.assert_array_equal(bound.outputs[0].asnumpy(), 4 * X**2 @ W)


OPERATORS = {
    "square": lambda x: mx.sym.square(x),
    "sum of rows": lambda x: mx.sym.sum(x, axis=1),
    "sum": lambda x: mx.sym.sum(x),
    "dot transposed": lambda x: mx.sym.dot(x, mx.sym.Variable("u"), transpose_a=True),
    "dot by columns": lambda x: mx.sym.dot(x, mx.sym.Variable("t"), transpose_b=True),
    "dense operator": lambda x: mx.sym.exp(x * 2 + 1),
    "itself": lambda x: mx.sym.identity(x),
    "fully connected": lambda x: mx.sym.FullyConnected(
        x, mx.sym.Variable("t"), num_hidden=3, no_bias=True
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_csr_variables(name):
    others = {"u": mx.nd.array(W[:2]), "t": mx.nd.array(W.T)}
    found = []
    for stype in ("csr", "default"):
        symbol = OPERATORS[name](mx.sym.Variable("x", stype=stype))
        arrays = {"x": mx.nd.array(X).tostype(stype), **others}
        (out,) = symbol.eval(**{n: arrays[n] for n in symbol.list_arguments()})
        found.append(out.asnumpy())
    np.testing.assert_allclose(*found, 1e-6)


def test_an_output_has_all_rows_of_a_weight():
    squares = mx.sym.square(mx.sym.Variable("w"))
    both = mx.sym.Group([mx.sym.dot(mx.sym.Variable("x", stype="csr"), squares), squares])
    arrays = {"x": mx.nd.array(X).tostype("csr"), "w": mx.nd.array(W)}
    grad = mx.nd.zeros((4, 3))
    bound = both.bind(mx.cpu(), arrays, {"w": grad})
    bound.forward(is_train=True)
    bound.backward([mx.nd.ones((2, 3)), mx.nd.ones((4, 3))])
    np.testing.assert_array_equal(bound.outputs[1].asnumpy(), W**2)
    np.testing.assert_array_equal(grad.asnumpy(), 2 * W * (X.T @ np.ones((2, 3)) + 1))


def test_declared_storage_types_are_those_of_get_params_and_of_files(tmp_path: Path) -> None:
    """As in MXNet 1.9.1: a row-sparse variable is row-sparse there, and when it is loaded."""
    weight = mx.sym.Variable("v", shape=(5, 3), stype="row_sparse", init=mx.init.Constant(0.5))
    out = mx.sym.dot(mx.sym.Variable("data", stype="csr"), weight)
    module = mx.mod.Module(mx.sym.MakeLoss(out), label_names=None)
    module.bind([("data", (2, 5))])
    module.init_params()
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    batch = mx.io.DataBatch([mx.nd.array(np.eye(5)[:2]).tostype("csr")], [])
    module.forward_backward(batch)
    module.update()
    (value,) = module.get_params()[0].values()
    assert (value.stype, value.asnumpy()[:, 0].tolist()) == (
        "row_sparse",
        pytest.approx([0.45, 0.45, 0.5, 0.5, 0.5]),
    )
    module.save_checkpoint(str(tmp_path / "net"), 1)
    _, args, auxs = mx.model.load_checkpoint(str(tmp_path / "net"), 1)
    assert args["v"].stype == "row_sparse"
    module.set_params(args, auxs)
    assert np.array_equal(module.get_params()[0]["v"].asnumpy(), value.asnumpy())


@pytest.mark.parametrize("store", ["local", None])
def test_nag_without_momentum_is_dense_from_the_first_step_after_its_velocities_are_loaded(
    tmp_path, store
):
    """MXNet's numbers: absent rows decay where there is a velocity."""

    def made(momentum):
        weight = mx.sym.Variable("emb_weight", stype="row_sparse")
        net = mx.sym.Embedding(
            mx.sym.Variable("data"), weight, input_dim=5, output_dim=2, sparse_grad=True
        )
        module = mx.mod.Module(mx.sym.MakeLoss(mx.sym.sum(net * net)), label_names=None)
        module.bind([("data", (3,))])
        module.init_params(mx.init.One())
        options = {"learning_rate": 0.1, "momentum": momentum, "wd": 0.1, "rescale_grad": 1.0}
        module.init_optimizer(store, "nag", options)
        return module

    def train(module, *ids):
        step(module, mx.io.DataBatch([mx.nd.array(ids)], []))

    first, second = made(0.9), made(0)
    train(first, 1, 3, 1)
    train(first, 0, 2, 0)
    first.save_optimizer_states(str(tmp_path / "states"))
    second.set_params(*first.get_params())
    second.load_optimizer_states(str(tmp_path / "states"))
    train(second, 1, 3, 1)
    found = second.get_params()[0]["emb_weight"].asnumpy()[:, 0]
    np.testing.assert_allclose(found, [0.20661, -0.06803, 0.57567, 0.33139, 0.94472], atol=1e-5)
