"""Errors of an operator's values: raised where a result is read, as by MXNet's threaded engine."""

import gc

import numpy as np
import pytest

import modkit as mx


@pytest.fixture(autouse=True)
def threaded(monkeypatch):
    monkeypatch.delenv("MXNET_ENGINE_TYPE", raising=False)


def bad():
    return mx.nd.random.normal(0, -1, (2, 2))


def into(write):
    """Zeros after a write."""
    target = mx.nd.zeros((2, 2))
    write(target)
    return target


ONES = mx.nd.ones((2, 2))
REFUSED = {
    "uniform": lambda: mx.nd.random.uniform(1, 0, (2, 2)),
    "normal": bad,
    "gamma": lambda: mx.nd.random.gamma(-1, 1, (2, 2)),
    "exponential": lambda: mx.nd.random.exponential(-1, (2, 2)),
    "poisson": lambda: mx.nd.random.poisson(-1, (2, 2)),
    "negative binomial": lambda: mx.nd.random.negative_binomial(-1, 0.5, (2, 2)),
    "generalized": lambda: mx.nd.random.generalized_negative_binomial(-1, 0.5, (2, 2)),
    "randint": lambda: mx.nd.random.randint(3, 1, (2, 2)),
    "like": lambda: mx.nd.random.normal_like(ONES, scale=-1),
    "gather_nd": lambda: mx.nd.gather_nd(mx.nd.ones((3, 2)), mx.nd.array([[1, 5]])),
    "take": lambda: mx.nd.take(ONES, mx.nd.array([0, 5]), mode="raise"),
    "potrf": lambda: mx.nd.linalg.potrf(mx.nd.array([[1, 2], [2, 1]])),
    "upper potrf": lambda: mx.nd.linalg.potrf(-ONES, lower=False),
    "potri": lambda: mx.nd.linalg.potri(mx.nd.array([[1, 0], [3, 0]])),
    "inverse": lambda: mx.nd.linalg.inverse(ONES),
    "dot": lambda: mx.nd.dot(ONES, bad()),
    "sum of two calls": lambda: bad() + bad() * 2,
    "part": lambda: mx.nd.split(bad(), 2, axis=1)[1].broadcast_to((2, 2)),
    "view": lambda: bad().reshape((4,)).reshape((2, 2)),
    "rows": lambda: mx.nd.stack(*bad()),
    "copy": lambda: bad().copy(),
    "other device": lambda: bad().as_in_context(mx.cpu(1)).as_in_context(mx.cpu(0)),
    "type": lambda: bad().astype("float64"),
    "out": lambda: into(lambda t: mx.nd.random.normal(0, -1, out=t)),
    "out of a follower": lambda: into(lambda t: mx.nd.elemwise_add(ONES, bad(), out=t)),
    "copyto": lambda: into(bad().copyto),
    "written": lambda: into(lambda t: t.__setitem__(slice(None), bad())),
    "in place": lambda: into(lambda t: t.__iadd__(bad())),
    "momentum": lambda: into(lambda t: mx.nd.sgd_mom_update(ONES.copy(), bad(), t, lr=0.1)),
    "bulk": lambda: _bulk(),
}  # fmt: skip


def _bulk():
    with mx.engine.bulk(4):
        return bad() + 1


@pytest.mark.parametrize("name", REFUSED)
def test_a_read_raises(name):
    array = REFUSED[name]()
    kind = {"randint": np.int32, "type": np.float64}.get(name, np.float32)
    assert (array.shape, array.dtype, array.context) == ((2, 2), kind, mx.cpu(0))
    for read in (array.asnumpy, array.wait_to_read, array[0, 0].asscalar, lambda: repr(array)):
        with pytest.raises(mx.MXNetError, match=r"got .*expected .*test_refusals\.py:\d+\)"):
            read()


@pytest.mark.parametrize("name", ["normal", "dot", "out", "momentum"])
def test_an_array_that_is_written_is_read(name):
    array = REFUSED[name]()
    with pytest.raises(mx.MXNetError, match="scale=-1"):
        array[0] = 1  # the other row is still refused
    array[:] = 3
    assert (array.asnumpy() == 3).all()


@pytest.mark.parametrize("name", ["normal", "dot", "take", "randint"])
def test_the_engine_that_runs_at_once_raises_at_the_call(name, monkeypatch):
    monkeypatch.setenv("MXNET_ENGINE_TYPE", "NaiveEngine")
    with pytest.raises(mx.MXNetError, match="expected "):
        REFUSED[name]()
    mx.nd.waitall()


@pytest.mark.parametrize(
    "call",
    [
        lambda: mx.nd.dot(ONES, mx.nd.random.normal(0, -1, (3, 3))),
        lambda: mx.nd.random.normal(0, -1, (-2, 2)),
        lambda: mx.nd.random.normal(0, -1, (2, 2), dtype="int32"),
        lambda: mx.nd.random.normal(0, -1, out=mx.nd.ones((2,), dtype="float64")[:1].reshape(())),
    ],
)
def test_shapes_and_types_are_errors_of_the_call(call):
    with pytest.raises((mx.MXNetError, ValueError), match="got"):
        call()


def test_matrices_that_are_not_refused_are_factorized_once(monkeypatch):
    for name in ("cholesky", "slogdet"):
        monkeypatch.setattr(np.linalg, name, None)
    matrix = mx.nd.array([[2, 1], [1, 2]])
    factor = mx.nd.linalg.potrf(matrix)
    np.testing.assert_allclose(mx.nd.dot(factor, factor.T).asnumpy(), matrix.asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(
        mx.nd.linalg.inverse(matrix).asnumpy() * 3, [[2, -1], [-1, 2]], rtol=1e-6
    )


def test_waitall_raises_each_error_that_no_read_has_raised():
    first, second, read = bad(), bad(), bad()
    follower = mx.nd.dot(ONES, read)
    with pytest.raises(mx.MXNetError):
        read.asnumpy()
    line = bad.__code__.co_firstlineno + 1
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=rf"scale=-1.*test_refusals\.py:{line}\)"):
            mx.nd.waitall()
    mx.nd.waitall()
    for array in (first, second, follower):
        with pytest.raises(mx.MXNetError):
            (array + 1).asnumpy()
    mx.nd.waitall()


def test_an_array_that_is_gone_leaves_nothing():
    array = mx.nd.dot(ONES, bad())
    del array
    gc.collect()
    mx.nd.waitall()


def test_a_recorded_call_raises_at_once():
    x = mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        noise = bad()
        with pytest.raises(mx.MXNetError, match="scale=-1"):
            mx.nd.dot(x, noise)


def test_an_executor_raises_in_forward_and_goes_on():
    executor = (mx.sym.var("x") * 2).simple_bind(mx.cpu(), x=(2, 2))
    for feed in (lambda: executor.forward(x=bad()), lambda: bad().copyto(executor.arg_dict["x"])):
        with pytest.raises(mx.MXNetError, match="scale=-1"):
            feed()
            executor.forward()[0].asnumpy()
    assert (executor.forward(x=ONES)[0].asnumpy() == 2).all()
