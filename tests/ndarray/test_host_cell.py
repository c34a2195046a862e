"""Cells that begin on the host: lazy, shared with nobody who writes, and never donated."""

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.ndarray import NDArray
from modkit.ndarray.storage import (
    ALIGNMENT,
    Cell,
    HostCell,
    InputCell,
    LateCell,
    aligned,
)


def made(kind=HostCell, dtype="float32"):
    rows = np.arange(6).reshape(2, 3).astype(dtype)
    return kind(rows, mx.cpu()), rows


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_reading_brings_the_value_with_its_type(dtype):
    cell, rows = made(dtype=dtype)
    assert (cell.aval.shape, cell.aval.dtype) == ((2, 3), dtype)
    assert cell.rows is rows and cell.holds(rows)
    value = cell.get()
    assert isinstance(value, jax.Array) and value.dtype == dtype
    np.testing.assert_array_equal(value, rows)
    assert cell.rows is None and cell.get() is value and cell.holds(value)


def test_writing_leaves_the_rows_alone():
    cell, rows = made()
    array = NDArray(cell, mx.cpu())
    array[0] = 9
    array += 1
    assert array.asnumpy().tolist() == [[10, 10, 10], [4, 5, 6]]
    assert rows.tolist() == [[0, 1, 2], [3, 4, 5]]
    cell, rows = made()
    NDArray(cell, mx.cpu())[:] = mx.nd.ones((2, 3))
    assert cell.rows is not rows and rows.max() == 5


def test_what_is_donated_is_a_copy():
    cell, rows = made()
    taken = cell.take()
    jax.jit(lambda x: x * 0, donate_argnums=0)(taken).block_until_ready()
    assert rows.max() == 5 and np.asarray(cell.peek()).max() == 5


def test_views_read_and_write_through():
    array = NDArray(made()[0], mx.cpu())
    row = array[1]
    assert row.asnumpy().tolist() == [3, 4, 5]
    row[:] = 7
    assert array.asnumpy().tolist() == [[0, 1, 2], [7, 7, 7]]


def test_an_input_gives_rows_to_programs_only():
    cell, rows = made(InputCell)
    reader = object()
    assert cell.snapshot(reader) is rows
    assert isinstance(cell.peek(), jax.Array)
    assert cell.snapshot(reader) is cell.peek()
    cell.feed(rows[:1])
    assert cell.aval.shape == (1, 3) and cell.snapshot(reader).base is not None
    assert cell.holds(cell.rows) and np.asarray(cell.get()).tolist() == [[0, 1, 2]]
    cell, _ = made()
    assert isinstance(cell.snapshot(reader), jax.Array)


def test_programs_take_the_rows_of_a_batch_and_once_those_of_an_array():
    cell, rows = made()
    assert cell.for_program() is rows
    cell, rows = made(LateCell)
    assert cell.for_program() is rows and cell.aliased
    value = cell.for_program()
    assert isinstance(value, jax.Array) and cell.for_program() is value
    np.testing.assert_array_equal(value, rows)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
def test_an_array_waits_for_its_first_reader(dtype):
    given = np.array([[1, 2], [3, 4]])
    array = mx.nd.array(given, dtype=dtype)
    given[:] = 9
    assert isinstance(array._cell, LateCell) and array._cell.rows is not None
    assert (array.shape, np.dtype(array.dtype)) == ((2, 2), jax.numpy.dtype(dtype))
    assert array.asnumpy().tolist() == [[1, 2], [3, 4]]
    assert array._cell.rows is not None, "reading from the host transfers nothing"
    assert array.to_jax().committed and array._cell.rows is None


@pytest.mark.parametrize(("dtype", "value"), [("float64", 1 / 3), ("int64", 2**40)])
def test_a_view_of_an_array_nobody_has_read_has_its_type(dtype, value):
    array = mx.nd.array([[1, 2], [3, 4]], dtype=dtype)
    assert np.dtype(array[0].dtype) == np.dtype(array.reshape((4,)).dtype) == dtype
    assert np.dtype(array[0].reshape((2, 1)).dtype) == dtype
    array[0][:] = value
    array.reshape((4,))[3] = value
    assert np.dtype(array.dtype) == dtype
    assert array.asnumpy().tolist() == [[value, value], [3, value]]


def test_an_array_may_first_be_read_inside_a_trace():
    array = mx.nd.array([1, 2])
    doubled = jax.jit(lambda x: x * array.to_jax())(np.float32(2))
    assert doubled.tolist() == [2, 4]
    assert array.asnumpy().tolist() == [1, 2]


def test_a_write_during_the_first_read_stays(monkeypatch):
    array = mx.nd.array([1, 2])
    place = jax.device_put

    def put(value, *args, **kwargs):
        monkeypatch.undo()
        array[:] = 7  # as another thread may
        return place(value, *args, **kwargs)

    monkeypatch.setattr(jax, "device_put", put)
    assert array.to_jax().tolist() == [7, 7]


def test_a_device_that_is_not_there_is_told_at_once():
    if mx.num_gpus():
        pytest.skip("there is an accelerator")
    with pytest.raises(mx.MXNetError, match=r"gpu\(0\): accelerators that JAX finds here: none"):
        mx.nd.array([1], ctx=mx.gpu(0))


def test_waiting_forgets_the_rows():
    cell, _ = made()
    other = Cell(jax.numpy.ones(3))
    cell.wait_for(other, other.aval)
    assert cell.rows is None and cell.aval.shape == (3,)


@pytest.mark.parametrize("shape", [(), (3,), (0, 4), (64, 785)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_aligned(shape, dtype):
    array = aligned(shape, dtype)
    assert (array.shape, array.dtype) == (shape, dtype)
    assert not array.size or array.ctypes.data % ALIGNMENT == 0
    assert array.flags.writeable and array.flags.c_contiguous
    owner = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert isinstance(owner.obj, bytearray)  # NumPy's own memory is of large pages: slow to get


def test_no_room_for_an_array():
    with pytest.raises(MemoryError, match="float32 of shape"):
        aligned((1 << 55,), np.float32)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_large_arrays_are_copied_where_programs_read_them_without_another_copy(dtype):
    source = np.arange(64 * 100).reshape(64, 100).astype(dtype)
    made = mx.nd.array(source)
    batch = mx.io.NDArrayIter(source, batch_size=16).next().data[0]
    for array in (made, batch):
        assert array._cell.unmoved().ctypes.data % ALIGNMENT == 0
    assert made.dtype == np.float32
    source[:] = 0
    np.testing.assert_array_equal(made.asnumpy().ravel(), np.arange(6400))


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_casts_of_many_elements_call_no_operator_where_numpy_is_quick(dtype, monkeypatch):
    many = mx.nd.array(np.full((300, 300), -2.5))
    monkeypatch.setattr("modkit.ndarray.ndarray._call", None)
    np.testing.assert_array_equal(
        many.astype(dtype).asnumpy(), np.full((300, 300), -2.5).astype(dtype)
    )


@pytest.mark.parametrize("size", [2, 70_000])
def test_a_cast_overflows_without_a_warning(size):
    large = mx.nd.full((size,), 1e10).astype("float16")
    assert np.isinf(large.asnumpy()).all()
    assert large.astype("int8").dtype == np.int8  # by way of int32
