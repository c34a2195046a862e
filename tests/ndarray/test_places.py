"""Elements read and written by place: as NumPy does, by one program for all places of a form."""

import numpy as np
import pytest

import modkit as mx
from modkit.ndarray import NDArray, indexing
from modkit.ndarray.storage import Cell

KEYS = [
    1, -1, (1, 2), (slice(1, 3), 0), slice(1, 3), (slice(None), slice(1, 3)), (0, slice(2, 9)),
    (Ellipsis, 1), slice(2, 2),
]  # fmt: skip
VALUES = [7, 2.5, np.array([5.0]), np.array([[5]])]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_like_numpy(key, dtype):
    plain = np.arange(12).reshape(3, 4).astype(dtype)
    array = mx.nd.array(plain, dtype=dtype)
    np.testing.assert_array_equal(array[key].asnumpy().ravel(), plain[key].ravel())
    for value in VALUES:
        array[key] = value
        plain[key] = np.ravel(value)[0]
        np.testing.assert_array_equal(array.asnumpy(), plain)
    rows = np.arange(plain[key].size).reshape(plain[key].shape)
    array[key] = mx.nd.array(rows.reshape(rows.shape or (1,)))
    plain[key] = rows
    np.testing.assert_array_equal(array.asnumpy(), plain)
    assert array.dtype == plain.dtype


@pytest.fixture
def traced(monkeypatch):
    """The programs that write, one entry a trace."""
    found = []
    fitted = indexing.fitted
    monkeypatch.setattr(indexing, "fitted", lambda *args: found.append(1) or fitted(*args))
    indexing.written.cache_clear()
    yield found
    indexing.written.cache_clear()


def test_places_on_a_device_share_a_program(traced):
    array, rows = NDArray(Cell(mx.nd.zeros((9, 3)).to_jax()), mx.cpu()), mx.nd.ones((3,))
    for at in range(9):
        array[at] = at
        array[at] = float(at)
        assert array[at].asnumpy().tolist() == [at] * 3
    assert len(traced) == 1
    for at in range(9):
        array[at] = rows
    for at in range(6):
        array[at : at + 3, 1:] = 5
    assert len(traced) == 3
    view = array[2]
    view[:] = 8
    assert array.asnumpy()[2].tolist() == [8, 8, 8]


def test_places_on_the_host_are_written_in_place():
    array = mx.nd.zeros((9, 3)) + 1
    rows = array._cell.rows
    array[2], array[3:5], array[:, 1] = 7, mx.nd.ones((2, 3)) * 5, 9
    assert array._cell.rows is rows
    view, same = array[2:4].reshape((3, 2))[1], array.detach()
    view[:] = 4
    assert array._cell.rows is rows and same.asnumpy()[2].tolist() == [7, 9, 4]
    copy, device = array.copy(), array.to_jax()
    array[0] = 0
    assert copy.asnumpy()[0].tolist() == device[0].tolist() == [1, 9, 1]


def test_what_does_not_fit_is_refused():
    array = mx.nd.zeros((3, 4))
    with pytest.raises(ValueError, match=r"shape \(3,\) into an array of shape \(4,\)"):
        array[0] = mx.nd.ones(3)
    with pytest.raises(ValueError, match=r"shape \(3,\) into an array of shape \(0, 4\)"):
        array[1:1] = np.ones(3)
    array[0] = float("nan")
    whole = mx.nd.zeros((2,), dtype="int32")
    whole[0] = 3.7
    assert whole.asnumpy().tolist() == [3, 0]


def test_a_truth_value_is_a_row_when_read_and_everything_when_written():
    array = mx.nd.array([[1, 2], [3, 4]])
    assert array[True].asnumpy().tolist() == [3, 4]  # MXNet 1.9.1
    assert array[False].asnumpy().tolist() == [1, 2]
    array[False] = 5
    assert array.asnumpy().tolist() == [[5, 5], [5, 5]]


@pytest.mark.parametrize(
    "key", [(True, 0), (0, False), (True,), (slice(None), True), np.bool_(True), np.array(True)]
)
def test_a_truth_value_for_one_axis_is_refused(key):
    array = mx.nd.zeros((3, 4))
    with pytest.raises(IndexError, match=r"the truth value (True|False) in an index"):
        array[key]
    with pytest.raises(ValueError, match=r"the truth value (True|False) in an index"):
        array[key] = 1


@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_overlapping_writes_read_the_values_from_before(kind):
    added, copied, turned, divided = (mx.nd.arange(1, 6, dtype=kind) for _ in range(4))
    added[1:] += added[:-1]
    copied[1:] = copied[:-1]
    mx.nd.flip(turned, axis=0, out=turned)
    divided /= divided[1:2]
    found = [a.asnumpy().astype(int).tolist() for a in (added, copied, turned, divided)]
    # MXNet 1.9.1: [1, 3, 6, 10, 15], [1, 1, 1, 1, 1], [1, 2, 3, 2, 1], [0, 1, 3, 4, 5]
    assert found == [[1, 3, 5, 7, 9], [1, 1, 2, 3, 4], [5, 4, 3, 2, 1], [0, 1, 1, 2, 2]]
