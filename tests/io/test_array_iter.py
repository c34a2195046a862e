"""NDArrayIter: no sample lost, none doubled; what it takes and refuses."""

import concurrent.futures
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modkit as mx
from modkit.errors import NotReadyError, ParameterError, ShapeError

sizes = st.tuples(st.integers(1, 23), st.integers(1, 29))


def epoch(it):
    """Numbers of the samples of each batch of an epoch, and each batch's padding."""
    rows = []
    for batch in it:
        data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
        np.testing.assert_array_equal(data[:, 0], label)
        np.testing.assert_array_equal(data[:, 1], -label)
        rows.append((label.astype(int).tolist(), batch.pad))
    it.reset()
    return rows


def numbered(count, size, **kwargs):
    label = np.arange(count)
    return mx.io.NDArrayIter(np.stack([label, -label], 1), label, size, **kwargs)


@settings(deadline=None)
@given(sizes, st.booleans())
def test_pad_shows_every_sample_once_and_the_rest_is_padding(size, shuffle):
    count, batch_size = size
    it = numbered(count, batch_size, shuffle=shuffle)
    for _ in range(3):
        rows = epoch(it)
        assert all(len(ids) == batch_size for ids, _ in rows)
        real = [i for ids, pad in rows for i in ids[: batch_size - pad]]
        assert sorted(real) == list(range(count))
        assert all(pad == 0 for _, pad in rows[:-1])


@settings(deadline=None)
@given(sizes, st.booleans())
def test_discard_shows_whole_batches_of_different_samples(size, shuffle):
    count, batch_size = size
    it = numbered(count, batch_size, shuffle=shuffle, last_batch_handle="discard")
    for _ in range(3):
        rows = epoch(it)
        seen = [i for ids, _ in rows for i in ids]
        assert len(rows) == count // batch_size
        assert len(seen) == len(set(seen)) == len(rows) * batch_size


@settings(deadline=None)
@given(sizes, st.integers(1, 6))
def test_roll_over_goes_on_with_what_was_left(size, epochs):
    count, batch_size = size
    it = numbered(count, batch_size, last_batch_handle="roll_over")
    seen = [i for _ in range(epochs) for ids, _ in epoch(it) for i in ids]
    total = count * epochs // batch_size * batch_size
    assert seen == [i % count for i in range(total)]


@settings(deadline=None)
@given(sizes, st.integers(1, 6))
def test_roll_over_of_a_shuffle_loses_and_doubles_nothing(size, epochs):
    count, batch_size = size
    it = numbered(count, batch_size, shuffle=True, last_batch_handle="roll_over")
    seen = [i for _ in range(epochs) for ids, _ in epoch(it) for i in ids]
    left = count * epochs - len(seen)
    assert 0 <= left < batch_size
    for start in range(0, len(seen) - count + 1, count):
        assert sorted(seen[start : start + count]) == list(range(count))


def test_hard_reset_forgets_what_was_left():
    it = numbered(10, 4, last_batch_handle="roll_over")
    list(it)
    it.reset()
    assert it.cursor == -6
    it.hard_reset()
    assert epoch(it)[0] == ([0, 1, 2, 3], 0)


def test_batch_axis_is_where_the_layout_has_n():
    x = np.arange(20).reshape(2, 5, 2)
    it = mx.io.NDArrayIter(x, x, 2, layout="TNC")
    assert it.num_data == 5
    assert it.provide_data[0].shape == (2, 2, 2)
    joined = np.concatenate([b.data[0].asnumpy()[:, : 2 - b.pad] for b in it], axis=1)
    np.testing.assert_array_equal(joined, x)


@pytest.mark.parametrize("dtype", ["float64", "int64", "bfloat16", "bool"])
def test_an_ndarray_keeps_its_type(dtype):
    it = mx.io.NDArrayIter(mx.nd.ones((3, 2), dtype=dtype), None, 2)
    assert [np.dtype(b.data[0].dtype).name for b in it] == [dtype] * 2
    assert np.dtype(it.provide_data[0].dtype).name == dtype


class Stored:
    """Like an h5py data set: it takes only slices and increasing row numbers."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.rows_read = 0

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        rows = key[0] if isinstance(key, tuple) else key
        if isinstance(rows, np.ndarray) and not np.all(np.diff(rows) > 0):
            raise TypeError("indices must be increasing")
        part = self.values[key]
        self.rows_read += len(part)
        return part


@pytest.mark.parametrize("shuffle", [False, True])
def test_stored_data_is_read_batch_by_batch(shuffle):
    values = np.arange(30, dtype=np.int16).reshape(10, 3)
    stored = Stored(values)
    it = mx.io.NDArrayIter(stored, stored.values[:, 0], 4, shuffle)
    assert stored.rows_read == 0
    batch = it.next()
    assert stored.rows_read == 4
    rows = batch.label[0].asnumpy().astype(int) // 3
    np.testing.assert_array_equal(batch.data[0].asnumpy(), values[rows])
    assert sum(b.data[0].shape[0] - b.pad for b in it) == 6
    assert it.data[0][1] is stored


def test_a_memory_map_is_not_read_at_once(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12.0).reshape(6, 2))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    it = mx.io.NDArrayIter(mapped, None, 4)
    assert it.data[0][1] is mapped
    assert it.next().data[0].asnumpy().tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert it.provide_data[0].dtype == np.float32


def test_shuffling_keeps_the_array_and_orders_an_index():
    x = mx.nd.arange(6)
    it = mx.io.NDArrayIter(x, None, 2, shuffle=True)
    it.reset()
    assert x.asnumpy().tolist() == [0, 1, 2, 3, 4, 5]
    shown = it.data[0][1].asnumpy().tolist()
    assert [v for b in it for v in b.data[0].asnumpy().tolist()] == shown


def test_numpy_seed_decides_the_order():
    def order():
        np.random.seed(4)  # noqa: NPY002 - the generator that iterators use
        it = numbered(9, 2, shuffle=True)
        return [epoch(it) for _ in range(2)]

    assert order() == order()


def test_batches_are_not_windows_on_the_data():
    it = mx.io.NDArrayIter(mx.nd.zeros((4, 2)), None, 2)
    it.next().data[0][:] = 5
    it.reset()
    assert it.next().data[0].asnumpy().max() == 0


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: mx.io.NDArrayIter(None), ParameterError, "at least one array"),
        (lambda: mx.io.NDArrayIter([]), ParameterError, "at least one array"),
        (lambda: mx.io.NDArrayIter("abc"), TypeError, "expected an NDArray"),
        (lambda: mx.io.NDArrayIter(np.ones(3), last_batch_handle="x"), ValueError, "'roll_over'"),
        (lambda: mx.io.NDArrayIter(np.ones(3), batch_size=0), ValueError, "batch_size: got 0"),
        (lambda: mx.io.NDArrayIter(np.ones(3), np.ones(2)), ShapeError, "'softmax_label': 2"),
        (lambda: mx.io.NDArrayIter(np.ones(3), layout="TN"), ShapeError, "no axis 1"),
        (lambda: mx.io.NDArrayIter(np.ones(3)).getdata(), NotReadyError, "iter_next"),
    ],
)
def test_refusals(make, error, says):
    with pytest.raises(error, match=says):
        make()


@pytest.mark.parametrize("shuffle", [False, True])
def test_writing_the_data_is_seen_by_the_batches_that_follow(shuffle):
    x = mx.nd.zeros((4, 2))
    it = mx.io.NDArrayIter(x, None, 2, shuffle)
    first = it.next().data[0]
    x[:] = 3
    assert it.next().data[0].asnumpy().min() == 3
    assert first.asnumpy().max() == 0


@pytest.mark.parametrize("view", [lambda x: x[1:], lambda x: x.reshape((8, 1))[2:]])
def test_batches_of_a_view_are_read_in_place_and_see_writes(view):
    x = mx.nd.array(np.zeros((4, 2)))
    it = mx.io.NDArrayIter(view(x), None, 1)
    first = it.next().data[0]
    assert np.shares_memory(first._cell.host(), x._cell.host())
    x[:] = 3
    assert it.next().data[0].asnumpy().min() == 3
    assert first.asnumpy().max() == 0


def test_no_present_batch_after_the_last():
    it = numbered(4, 2)
    list(it)
    with pytest.raises(AssertionError, match="reset"):
        it.getlabel()


def test_several_threads_may_read_a_batch():
    """Its value goes to the device when somebody reads it first, which several may do at once."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for batch in mx.io.NDArrayIter(np.ones((200, 3), np.float32), batch_size=1):
                each = list(pool.map(lambda _, b=batch: b.data[0].asnumpy().sum(), range(4)))
                assert each == [3] * 4
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_parts_together_are_the_batches_of_the_whole(handle, shuffle):
    def batches(size, **part):
        np.random.seed(3)  # noqa: NPY002 - what NDArrayIter shuffles with
        it = mx.io.NDArrayIter(np.arange(23), np.arange(23), size, shuffle, handle, **part)
        found = []
        for _ in range(3):
            found += [(b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad) for b in it]
            it.reset()
        return found

    whole = batches(6)
    parts = [batches(2, num_parts=3, part_index=i) for i in range(3)]
    assert [len(p) for p in parts] == [len(whole)] * 3
    for (data, label, pad), *own in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(np.concatenate([d for d, _, _ in own]), data)
        np.testing.assert_array_equal(np.concatenate([y for _, y, _ in own]), label)
        assert sum(p for _, _, p in own) == pad


def test_a_part_has_the_position_of_the_whole():
    def part(size, **which):
        return mx.io.NDArrayIter(np.arange(24), batch_size=size, **which)

    two = part(4, num_parts=2, part_index=1)
    next(two)
    one = part(8)
    one.load_state_dict(two.state_dict())
    assert next(one).data[0].asnumpy().tolist() == list(range(8, 16))
    assert two.provide_data[0].shape == (4,)
    with pytest.raises(ParameterError, match="batch_size"):
        part(6, num_parts=2).load_state_dict(two.state_dict())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"num_parts": 0}, "num_parts: got 0"),
        ({"num_parts": "2"}, "num_parts: got '2'"),
        ({"num_parts": 2, "part_index": 2}, "part_index: got 2, expected 0 to 1"),
    ],
)
def test_parts_that_do_not_exist(given, says):
    with pytest.raises(ParameterError, match=says):
        mx.io.NDArrayIter(np.arange(4), **given)


def test_methods_of_subclasses_are_called():
    class Own(mx.io.NDArrayIter):
        def getdata(self):
            return [2 * each for each in super().getdata()]

        def getlabel(self):
            return [100 + each for each in super().getlabel()]

        def reset(self):
            self.resets = getattr(self, "resets", 0) + 1
            super().reset()

    it = Own(np.arange(5), np.arange(5), 2)
    assert it.resets == 1
    batches = [(b.data[0].asnumpy()[0], b.label[0].asnumpy()[0], b.pad) for b in it]
    assert batches == [(0, 100, 0), (4, 102, 0), (8, 104, 1)]


def test_arrays_of_jax_are_data():
    data = np.arange(12, dtype=np.float32).reshape(6, 2)
    own, other = (
        mx.io.NDArrayIter(make(data), make(data[:, 0]), 4) for make in (np.asarray, jnp.asarray)
    )
    for left, right in zip(own, other, strict=True):
        assert left.pad == right.pad
        for a, b in zip(left.data + left.label, right.data + right.label, strict=True):
            assert (a.dtype, a.asnumpy().tolist()) == (b.dtype, b.asnumpy().tolist())
    assert [each.shape for each in other.data_list] == [(6, 2), (6,)]


def test_a_method_that_a_program_sets_is_called(monkeypatch):
    given = mx.io.NDArrayIter.getdata

    def doubled(self):
        return [2 * each for each in given(self)]

    it = mx.io.NDArrayIter(np.arange(1, 4), np.arange(3), 1)
    it.getdata = lambda: doubled(it)
    assert [b.data[0].asscalar() for b in it] == [2, 4, 6]
    monkeypatch.setattr(mx.io.NDArrayIter, "getdata", doubled)
    it = mx.io.NDArrayIter(np.arange(1, 4), np.arange(3), 1)
    assert [b.data[0].asscalar() for b in it] == [2, 4, 6]
