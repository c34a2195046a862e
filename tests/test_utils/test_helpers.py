"""mx.test_utils: the helpers accept what is right and refuse what is wrong, as MXNet's do."""

import gzip
import io
import os
import sys

import numpy as np
import pytest

import modkit as mx
from modkit import test_utils as tu
from modkit.errors import NotSupportedError, ParameterError

X, Y = mx.sym.Variable("x"), mx.sym.Variable("y")
NET = X * Y + mx.sym.sin(X)
A = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 10
B = A[::-1].copy()
HEAD = np.full((2, 3), 2, np.float32)
GRADS = [HEAD * (B + np.cos(A)), HEAD * A]


def test_default_tolerances_are_the_reference():
    expected = {"float16": (1e-2, 1e-1), "float32": (1e-4, 1e-3), "float64": (1e-5, 1e-20)}
    for name, (rtol, atol) in expected.items():
        assert tu.default_rtols()[np.dtype(name)] == tu.get_rtol(dtype=name) == rtol
        assert tu.default_atols()[np.dtype(name)] == tu.get_atol(dtype=name) == atol
    assert tu.default_rtols()[np.dtype("int32")] == 0
    assert tu.default_numeric_eps()[np.dtype("float32")] == 1 / 512
    assert (tu.get_rtol(3.0), tu.get_atol(2.0), tu.get_etol(), tu.default_dtype()) == (
        3.0, 2.0, 0, np.float32,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("x", "y", "rtol", "atol", "expected"),
    [
        (mx.nd.ones((1,)), np.ones(1), None, None, (1e-4, 1e-3)),
        (np.ones(1, np.float16), np.ones(1), None, None, (1e-2, 1e-1)),
        (np.ones(1, np.int32), np.ones(1, np.int32), None, None, (0, 0)),
        (np.ones(1, np.float16), np.ones(1), 1e-9, None, (1e-9, 1e-1)),
        (1.0, 2.0, None, None, (1e-5, 1e-20)),
        (np.ones(1, np.int32), 2.0, None, None, (1e-5, 1e-20)),
        (np.ones(1, np.float32), 2.0, {np.dtype("float32"): 5.0}, 0.5, (5.0, 0.5)),
    ],
)
def test_tolerances_are_of_the_less_exact(x, y, rtol, atol, expected):
    assert tu.get_tols(x, y, rtol, atol) == expected


def test_worst_places_are_shown():
    wrong = A.copy()
    wrong[1, 2], wrong[0, 1] = 9, 3
    with pytest.raises(AssertionError) as caught:
        tu.assert_almost_equal(A, wrong, names=("mine", "theirs"), mismatches=(1, 10))
    text = str(caught.value)
    assert "Location of maximum error: (1, 2), mine=0.60000002, theirs=9.00000000" in text
    assert "(0, 1)" not in text
    assert "mismatch 33.333333%" in text
    with pytest.raises(AssertionError, match=r"\(0, 1\), a=0.2"):
        tu.assert_almost_equal(A, wrong)


def test_nan_counts_unless_it_is_ignored():
    holed = A.copy()
    holed[0, 0] = np.nan
    assert not tu.same(holed, holed)
    assert not tu.almost_equal(holed, holed)
    assert tu.almost_equal(holed, holed, equal_nan=True)
    tu.assert_almost_equal_ignore_nan(holed, A)
    with pytest.raises(AssertionError, match="nan"):
        tu.assert_almost_equal(A, holed)


def test_a_fraction_may_be_wrong():
    wrong = A.copy()
    wrong[0, 0] = 5
    tu.assert_almost_equal_with_err(A, wrong, etol=0.2)
    with pytest.raises(AssertionError):
        tu.assert_almost_equal_with_err(A, wrong, etol=0.1)


def test_shapes_must_agree_without_broadcasting():
    tu.assert_almost_equal(A, A[:1] * np.ones((2, 1)) + (A - A[:1]))
    with pytest.raises(AssertionError, match=r"b\.shape"):
        tu.assert_almost_equal(A, A[:1], use_broadcast=False)


def test_exceptions_are_expected():
    tu.assert_exception(lambda: 1 / 0, ZeroDivisionError)
    with pytest.raises(AssertionError):
        tu.assert_exception(int, ValueError, "3")
    with pytest.raises(ZeroDivisionError):
        tu.assert_exception(lambda: 1 / 0, KeyError)


# ── Symbols ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("location", "grad_nodes"),
    [([A, B], None), ({"x": A, "y": B}, ["x"]), ({"y": B, "x": A}, {"x": "add", "y": "null"})],
)
def test_numeric_gradient_agrees(location, grad_nodes):
    tu.check_numeric_gradient(NET, location, grad_nodes=grad_nodes)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_numeric_gradient_in_other_types(dtype):
    tu.check_numeric_gradient(NET, [A, B], dtype=dtype, atol=0.1 if dtype == np.float16 else None)


def test_numeric_gradient_keeps_its_digits_where_the_sum_is_large():
    draw = np.random.RandomState(0).uniform
    for _ in range(3):  # the weights of the output's elements are drawn anew
        tu.check_numeric_gradient(mx.sym.dot(X, Y), [draw(0.5, 1, (4, 3)), draw(0.5, 1, (3, 60))])


def test_numeric_gradient_sees_a_wrong_one():
    with pytest.raises(AssertionError, match="NUMERICAL_x"):
        tu.check_numeric_gradient(mx.sym.BlockGrad(X) * Y, [A, B])
    with pytest.raises(ParameterError, match="dtype: got int32, expected a floating-point"):
        tu.check_numeric_gradient(NET, [A, B], dtype=np.int32)


def test_numeric_gradient_through_moving_statistics():
    data, gamma = mx.sym.Variable("data"), mx.sym.Variable("gamma")
    net = mx.sym.BatchNorm(data, gamma, fix_gamma=False, name="bn")
    tu.check_numeric_gradient(
        net, [np.random.RandomState(0).randn(4, 2), np.ones(2), np.zeros(2)],
        [np.zeros(2), np.ones(2)], numeric_eps=1e-2, rtol=0.1, atol=0.05,
    )  # fmt: skip


def test_forward_is_checked():
    want = A * B + np.sin(A)
    (out,) = tu.check_symbolic_forward(NET, [A, B], [want])
    np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-5)
    tu.check_symbolic_forward(NET, {"y": B, "x": A}, {NET.list_outputs()[0]: want})
    with pytest.raises(AssertionError, match="FORWARD_"):
        tu.check_symbolic_forward(NET, [A, B], [A * B])
    with pytest.raises(ValueError, match="'z'"):
        tu.check_symbolic_forward(NET, {"z": A, "y": B}, [want])


@pytest.mark.parametrize(
    ("heads", "expected", "grad_req"),
    [
        ([HEAD], GRADS, "write"),
        (HEAD, {"x": GRADS[0]}, "write"),
        ({NET.list_outputs()[0]: HEAD}, {"x": GRADS[0], "y": GRADS[1]}, {"x": "add", "y": "write"}),
        ([mx.nd.array(HEAD)], GRADS, ["write", "add"]),
        ([HEAD], {"x": GRADS[0], "y": 0}, {"x": "write", "y": "null"}),
    ],
)
def test_backward_is_checked(heads, expected, grad_req):
    grads = tu.check_symbolic_backward(NET, [A, B], heads, expected, grad_req=grad_req)
    assert set(grads) == ({"x", "y"} if isinstance(expected, list) else set(expected))


def test_gradients_are_returned_in_their_storage_type():
    stypes = {"x": "row_sparse", "y": "default"}
    grads = tu.check_symbolic_backward(NET, [A, B], [HEAD], GRADS, grad_stypes=stypes)
    assert {n: g.stype for n, g in grads.items()} == stypes
    with pytest.raises(ParameterError, match="storage type 'dense'"):
        tu.check_symbolic_backward(NET, [A, B], [HEAD], GRADS, grad_stypes={"x": "dense"})


def test_backward_sees_a_wrong_one():
    with pytest.raises(AssertionError, match="BACKWARD_x"):
        tu.check_symbolic_backward(NET, [A, B], [HEAD], [HEAD, HEAD])


def _runs(*dtypes):
    return [{"ctx": mx.cpu(), "data": (2, 4), "type_dict": {"data": t}} for t in dtypes]


def test_consistency_over_types():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    truth = tu.check_consistency(net, _runs(np.float32, np.float64, np.float16))
    assert all(isinstance(v, mx.nd.NDArray) for v in truth.values())
    assert {n: v.dtype for n, v in truth.items()} == dict.fromkeys(
        ["fc_output", "data", "fc_weight", "fc_bias"], np.float64
    )
    with pytest.raises(AssertionError, match="run 1"):
        tu.check_consistency(net, _runs(np.float64, np.float32), rtol=0, atol=0)
    with pytest.raises(ParameterError, match="two runs"):
        tu.check_consistency(net, _runs(np.float64))


def test_consistency_of_different_symbols():
    data = mx.sym.Variable("data")
    tu.check_consistency([data * 2, data + data], _runs(np.float32, np.float32))
    with pytest.raises(AssertionError):
        tu.check_consistency([data * 2, data * 3], _runs(np.float32, np.float32))


def test_speed_is_a_time():
    for typ in ("whole", "forward"):
        assert 0 < tu.check_speed(NET, N=2, typ=typ, x=(2, 3), y=(2, 3)) < 10
    with pytest.raises(ParameterError, match="'whole'"):
        tu.check_speed(NET, typ="half", x=(2, 3), y=(2, 3))


def test_optimizers_are_compared():
    sgd = mx.optimizer.SGD
    tu.compare_optimizer(sgd(momentum=0.9), sgd(momentum=0.9), [(2, 3), (4,)], "float32")
    with pytest.raises(AssertionError):
        tu.compare_optimizer(sgd(), sgd(learning_rate=0.5), (2, 3), "float32")


def test_structure_ignores_names():
    other = Y * X + mx.sym.sin(Y)
    assert tu.same_symbol_structure(NET, other)
    assert not tu.same_symbol_structure(NET, X * Y)


def test_simple_forward():
    np.testing.assert_allclose(tu.simple_forward(NET, x=A, y=B), A * B + np.sin(A), rtol=1e-5)
    assert len(tu.simple_forward(mx.sym.Group([NET, X]), x=A, y=B)) == 2


def test_shared_arrays_are_seen():
    array = mx.nd.ones((2, 2))
    assert tu.same_array(array, array[:])
    assert not tu.same_array(array, array.copy())


# ── Making, drawing, surroundings ───────────────────────────────────────────────────────────


def test_made_things_have_their_sizes():
    assert all(1 <= n <= 4 for n in tu.rand_shape_nd(5, 4))
    assert len(tu.rand_shape_2d()) == 2
    assert len(tu.rand_shape_3d()) == 3
    assert tu.rand_ndarray((2, 3), dtype="float16").dtype == np.float16
    assert [a.shape for a in tu.random_arrays((2,), (3, 4))] == [(2,), (3, 4)]
    assert len(set(tu.random_sample(range(9), 3))) == 3
    assert tu.create_vector(4).asnumpy().tolist() == [0, 1, 2, 3]
    assert tu.create_vector(4).dtype == np.int64
    assert tu.create_2d_tensor(2, 3).asnumpy().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert tu.rand_ndarray((2, 3), "csr").stype == "csr"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((5, 2), "population: got 5, expected a list"),
        (([1, 2], "x"), "k: got 'x', expected 0 to 2"),
        (([1, 2], 1.5), r"k: got 1\.5, expected 0 to 2"),
        (([1, 2], 3), "k: got 3, expected 0 to 2"),
    ],
)
def test_random_sample_names_what_it_got(given, words):
    with pytest.raises(ParameterError, match=words):
        tu.random_sample(*given)


def test_reductions():
    cube = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(
        tu.np_reduce(cube, (0, -1), True, np.sum), cube.sum((0, 2), keepdims=True)
    )
    assert tu.np_reduce(cube, None, False, np.max) == 23
    np.testing.assert_array_equal(tu.collapse_sum_like(cube, (3, 1)), cube.sum((0, 2))[:, None])
    assert tu.assign_each(A, lambda v: v + 1)[0, 0] == pytest.approx(1.1)
    whole = np.arange(3)
    pairs = tu.assign_each2(whole, whole, lambda v, w: v * w // 4)
    for found in (tu.assign_each(whole, lambda v: v > 1), pairs):
        assert (found.dtype, found.tolist()) == (np.float64, [0, 0, 1])  # MXNet 1.9.1


def test_generators_are_checked():
    pytest.importorskip("scipy")
    draw = np.random.RandomState(0)
    buckets, probs = tu.gen_buckets_probs_with_ppf(lambda q: q, 4)
    tu.verify_generator(draw.rand, buckets, probs, nsamples=4000)
    with pytest.raises(AssertionError, match="Chi-square"):
        tu.verify_generator(lambda n: draw.rand(n) ** 2, buckets, probs, nsamples=4000)


def test_means_are_checked():
    draw = np.random.RandomState(0)
    assert tu.mean_check(draw.standard_normal, 0, 1, 4000)
    assert not tu.mean_check(draw.standard_normal, 1, 1, 4000)
    assert tu.var_check(draw.standard_normal, 1, 4000)
    assert not tu.var_check(draw.standard_normal, 2, 4000)


def test_environment_comes_back(monkeypatch):
    monkeypatch.setenv("MODKIT_TEST", "before")
    with tu.environment({"MODKIT_TEST": None, "MODKIT_OTHER": 3}):
        assert "MODKIT_TEST" not in os.environ
        assert tu.getenv("MODKIT_OTHER") == "3"
    assert os.environ["MODKIT_TEST"] == "before"
    assert "MODKIT_OTHER" not in os.environ
    with tu.environment("MODKIT_TEST", "inside"):
        assert os.environ["MODKIT_TEST"] == "inside"


def test_error_output_is_discarded(capfd):
    with tu.discard_stderr():
        sys.stderr.write("python")
        os.write(2, b"c")
    sys.stderr.write("after\n")
    assert capfd.readouterr().err == "after\n"


def test_retries():
    calls = []

    @tu.retry(3)
    def sometimes():
        calls.append(1)
        assert len(calls) == 2

    sometimes()
    assert len(calls) == 2
    with pytest.raises(ParameterError):
        tu.retry(0)


def test_dummy_iterator_repeats():
    real = mx.io.NDArrayIter(np.arange(8.0).reshape(4, 2), batch_size=2)
    dummy = tu.DummyIter(real)
    assert dummy.next() is dummy.next() is dummy.the_batch
    assert dummy.provide_data == real.provide_data


@pytest.mark.parametrize("assigned", [False, True])
def test_default_context_is_set(assigned):
    assert tu.default_context() == mx.cpu(0)
    if assigned:
        mx.Context._default_ctx.value = mx.cpu(0)
    try:
        tu.set_default_context(mx.cpu(1))
        assert mx.nd.ones((1,)).context == tu.default_context() == mx.cpu(1)
    finally:
        tu.set_default_context(mx.cpu(0))


def test_data_sets_are_not_downloaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    for call in (
        tu.get_mnist,
        lambda: tu.get_mnist_iterator(2, (784,)),
        tu.get_cifar10,
        tu.get_mnist_pkl,
    ):
        with pytest.raises(NotSupportedError, match="put"):
            call()
    for call, words in (
        (
            lambda: tu.get_zip_data("data", "http://host/a.zip", "a"),
            "http://host/a.zip.*unzip it into data as a",
        ),
        (
            lambda: tu.get_bz2_data("data", "a", "http://host/a.bz2", "b"),
            "http://host/a.bz2.*unpack",
        ),
        (lambda: tu.download_model("resnet"), "resnet.*load_checkpoint"),
        (tu.get_im2rec_path, "mx.recordio"),
    ):
        with pytest.raises(NotSupportedError, match=words):
            call()
    with pytest.raises(ParameterError, match="https"):
        tu.download("file:///etc/hosts")


def test_mnist_is_read_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home" / "datasets" / "mnist"
    home.mkdir(parents=True)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    (tmp_path / "data").mkdir()
    for name, count in (("train", 3), ("t10k", 2)):
        head = bytes([0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 28, 0, 0, 0, 28])
        images = head + bytes([255] * 784) * count
        labels = bytes([0, 0, 8, 1, 0, 0, 0, count, *range(count)])
        (tmp_path / "data" / f"{name}-images-idx3-ubyte").write_bytes(images)
        (home / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    mnist = tu.get_mnist()
    assert mnist["train_data"].shape == (3, 1, 28, 28)
    assert mnist["train_data"].max() == 1
    assert mnist["test_label"].tolist() == [0, 1]
    train, test = tu.get_mnist_iterator(1, (1, 28, 28), num_parts=3, part_index=1)
    assert [b.label[0].asscalar() for b in train] == [1]
    assert [(b.label[0].asscalar(), b.data[0].shape) for b in test] == [
        (0, (1, 1, 28, 28)), (1, (1, 1, 28, 28)),
    ]  # fmt: skip
    train, test = tu.get_mnist_iterator(2, (784,))
    assert test.next().data[0].shape == (2, 784)


def test_matrices_are_what_they_are_named():
    np.testing.assert_array_equal(tu.get_identity_mat(3).asnumpy(), np.eye(3))
    assert tu.get_identity_mat_batch(2).asnumpy().tolist() == [[[1, 0], [0, 1]]] * 2
    turned = tu.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(turned @ turned.T, np.eye(4), atol=1e-12)
    for made in (
        *tu.new_matrix_with_real_eigvals_nd((2, 3, 3)),
        tu.new_matrix_with_real_eigvals_2d(3),
    ):
        np.testing.assert_allclose(np.sort(np.linalg.eigvals(made)), [1, 2, 3], rtol=1e-6)
    symmetric = tu.new_sym_matrix_with_real_eigvals_nd((2, 2, 3, 3))
    assert symmetric.shape == (2, 2, 3, 3)
    np.testing.assert_array_equal(symmetric, symmetric.swapaxes(-1, -2))
    assert len({*symmetric.ravel().tolist()}) == 4 * 6


def test_random_numbers_lie_where_they_should():
    for _ in range(20):
        x, y = tu.rand_coord_2d(0, 2, 5, 7)
        assert x in (0, 1) and y in (5, 6)
    low, high = tu.random_uniform_arrays((50,), (2, 3), low=2.0, high=3.0, dtype="float16")
    assert (low.shape, high.shape, low.dtype) == ((50,), (2, 3), np.float16)
    assert 2 <= low.min() < low.max() <= 3
    assert tu.random_uniform_arrays((2,))[0].dtype == np.float32
    csr = mx.nd.sparse.csr_matrix(np.arange(40.0).reshape(2, 20))
    order, values = csr.indices.asnumpy(), csr.data.asnumpy()
    tu.shuffle_csr_column_indices(csr)
    shuffled = csr.indices.asnumpy()
    assert (shuffled[:19] != order[:19]).any() and (csr.data.asnumpy() == values).all()
    assert sorted(shuffled[:19]) == sorted(order[:19])


def test_what_mxnet_asks_of_its_machine():
    answers = (tu.is_cd_run(), tu.has_tvm_ops(), tu.is_op_runnable(), *tu.list_gpus())
    assert answers == (False, False, True)
    assert tu.is_aarch64_run() == (os.uname().machine == "aarch64")


def test_the_worst_place_is_that_of_the_reference():
    place, times = tu._find_max_violation(
        np.array([[1, 2], [3, 5]]), np.array([[1, 2], [9, 4]]), 1e-3, 1e-2
    )
    assert (place, times) == ((1, 0), pytest.approx(6 / (1e-2 + 9e-3)))


def test_values_beside_nan_are_compared():
    left, right = np.array([1.0, np.nan, 3.0]), np.array([1.0, 2.0, 3.0])
    assert tu.almost_equal_ignore_nan(left, right)
    assert not tu.almost_equal_ignore_nan(left, right + np.eye(3)[2])
    tu.assert_allclose([1.0], [1.0 + 1e-8])
    with pytest.raises(AssertionError):
        tu.assert_allclose([1.0], [1.0 + 1e-6])


def test_a_file_is_downloaded_once(tmp_path, monkeypatch):
    answers = [OSError("down"), io.BytesIO(b"first"), io.BytesIO(b"second")]

    def urlopen(url, timeout):
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    path = tu.download("http://host/a/b.txt", dirname=str(tmp_path / "new"))
    assert path == str(tmp_path / "new" / "b.txt")
    for again, content in ((False, b"first"), (True, b"second")):
        assert tu.download("http://host/c", "b.txt", str(tmp_path / "new"), again) == path
        assert (tmp_path / "new" / "b.txt").read_bytes() == content
    answers += [OSError("down")] * 2
    with pytest.raises(OSError, match="down"):
        tu.download("http://host/d", dirname=str(tmp_path), retries=2)
    assert not answers
