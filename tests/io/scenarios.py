"""Calls of iterators, by MXNet when figures are recorded and by modkit when tested.

Plain Python and NumPy, for the reference's Python too. Each scenario is a function of the
package (``mx``) and of a folder for files, and returns what can be written as JSON.
"""

import gzip
import struct
from pathlib import Path

import numpy as np


def batches(it, epochs=1, index=False):
    """Data, label and padding of every batch, and what the iterator says between epochs."""
    seen = []
    for _ in range(epochs):
        epoch = []
        for batch in it:
            row = [
                [a.asnumpy().astype(float).tolist() for a in batch.data],
                [a.asnumpy().astype(float).tolist() for a in batch.label],
                int(batch.pad),
            ]
            epoch.append(row + ([batch.index.tolist()] if index else []))
        seen.append(epoch)
        it.reset()
    return seen


def described(it):
    """The descriptions of the iterator."""
    return [
        [[d.name, list(d.shape), np.dtype(d.dtype).name, d.layout] for d in descs]
        for descs in (it.provide_data, it.provide_label)
    ]


def array_iter(count, batch_size, handle, shuffle):
    """Four epochs over numbered samples."""

    def run(mx, folder):
        np.random.seed(count)  # noqa: NPY002 - what iterators shuffle with
        it = mx.io.NDArrayIter(
            np.arange(count * 2).reshape(count, 2), np.arange(count), batch_size, shuffle, handle
        )
        seen = [it.cursor, it.idx.tolist(), it.num_data, it.num_source]
        for _ in range(4):
            for batch in it:
                seen.append([batch.data[0].asnumpy()[:, 0].tolist(), batch.pad, it.cursor])
                seen.append(batch.label[0].asnumpy().tolist())
            seen.append([it.cursor, it.getpad()])
            it.reset()
            order = [value.asnumpy().tolist() for _, value in it.data + it.label]
            seen.append([it.cursor, it.idx.tolist(), order])
        it.hard_reset()
        drawn = float(np.random.rand())  # noqa: NPY002
        seen.append([it.cursor, it.idx.tolist(), drawn])
        return seen

    return run


def middle_reset(handle):
    """Resets where an epoch has only begun, after its end, and twice."""

    def run(mx, folder):
        it = mx.io.NDArrayIter(np.arange(10), np.arange(10), 4, last_batch_handle=handle)
        seen = [it.next().data[0].asnumpy().tolist()]
        for resets in (1, 0, 2, 1):
            for _ in range(resets):
                it.reset()
                seen.append(it.cursor)
            seen.append([b.data[0].asnumpy().tolist() for b in it])
        it.hard_reset()
        seen.append([b.data[0].asnumpy().tolist() for b in it])
        return seen

    return run


def by_hand(mx, folder):
    """``iter_next``, then the parts of the batch."""
    seen = []
    for handle in ("pad", "discard", "roll_over"):
        it = mx.io.NDArrayIter(np.arange(10), np.arange(10), 4, last_batch_handle=handle)
        for _ in range(2):
            while it.iter_next():
                data, label = it.getdata()[0].asnumpy(), it.getlabel()[0].asnumpy()
                seen.append([data.tolist(), label.tolist(), it.getpad(), it.cursor])
            it.reset()
            seen.append(it.cursor)
    return seen


def names(mx, folder):
    """Names, order and types of several arrays."""
    x = np.zeros((4, 3))
    made = [
        mx.io.NDArrayIter(x, x, 2),
        mx.io.NDArrayIter([x], [x], 2, data_name="a", label_name="b"),
        mx.io.NDArrayIter([x] * 12, None, 2),
        mx.io.NDArrayIter([x] * 2, [x] * 2, 2, label_name="lab"),
        mx.io.NDArrayIter({"z": x, "a": x.astype("int32")}, {"y": x, "b": x}, 2),
        mx.io.NDArrayIter([[1, 2, 3], [3, 4, 5]], batch_size=2),
        mx.io.NDArrayIter(x, x, 2, layout="NTC"),
        mx.io.NDArrayIter(x, x, 2, layout="TNC"),
    ]
    for dtype in ("float16", "float32", "float64", "int32", "int64", "uint8", "int8"):
        numpy_array, array = np.ones((4, 2), dtype), mx.nd.ones((4,), dtype=dtype)
        made.append(mx.io.NDArrayIter(numpy_array, array, 2))
    seen = []
    for it in made:
        batch = it.next()
        types = [np.dtype(a.dtype).name for a in batch.data + batch.label]
        seen.append([described(it), types, [list(a.shape) for a in batch.data]])
    return seen


def batch_axis(mx, folder):
    """Samples along the second axis."""
    x = np.arange(24).reshape(4, 3, 2)
    it = mx.io.NDArrayIter(x[:3], x[:3, :, 0], 2, layout="TNC")
    return [described(it), batches(it, 2)]


def written_array(mx, folder):
    """An array written to after the iterator was made."""
    x = mx.nd.zeros((4, 1))
    it = mx.io.NDArrayIter(x, None, 2)
    first = it.next().data[0].asnumpy().tolist()
    x[:] = 7
    return [first, it.next().data[0].asnumpy().tolist(), it.data[0][1] is x]


def small(handle):
    """Batches larger than the data."""

    def run(mx, folder):
        epochs = 3 if handle == "pad" else 2
        return batches(mx.io.NDArrayIter(np.arange(3), None, 5, last_batch_handle=handle), epochs)

    return run


def resize(size, reset_internal):
    """Epochs cut short and going round."""

    def run(mx, folder):
        it = mx.io.ResizeIter(
            mx.io.NDArrayIter(np.arange(10), np.arange(10), 4), size, reset_internal
        )
        return [described(it), it.batch_size, batches(it, 3), it.cur, it.size]

    return run


def prefetch(mx, folder):
    """Two iterators side by side under new names."""
    make = [mx.io.NDArrayIter(np.arange(10) + i, np.arange(10) - i, 4) for i in range(2)]
    it = mx.io.PrefetchingIter(
        make,
        rename_data=[{"data": "first"}, {"data": "second"}],
        rename_label=[{"softmax_label": "one"}, {"softmax_label": "two"}],
    )
    said = described(it)
    batch = it.next()
    own = [[d.name for d in batch.provide_data], [d.name for d in batch.provide_label]]
    it.reset()
    return [said, own, it.batch_size, batches(it, 2)]


class Numbers:
    """Three batches by ``next`` alone, to be made a DataIter."""

    count = 0

    def next(self):
        self.count += 1
        if self.count > 3:
            raise StopIteration
        return self.batch([self.array([self.count])], [], 0)

    def reset(self):
        self.count = 0


def own_iterator(mx, folder):
    """A DataIter that has only ``next`` and ``reset``."""
    parts = {"batch": mx.io.DataBatch, "array": staticmethod(mx.nd.array)}
    own = type("Own", (Numbers, mx.io.DataIter), parts)
    own.provide_data, own.provide_label = [("data", (1,))], []
    return [
        batches(own(1), 2),
        batches(mx.io.PrefetchingIter(own(1)), 2),
        batches(mx.io.ResizeIter(own(1), 5), 2),
    ]


def lines(folder, name, rows):
    """A CSV file, and its path."""
    return text(folder, name, "\n".join(",".join(map(str, row)) for row in rows) + "\n")


def text(folder, name, content):
    """A text file, and its path."""
    path = Path(str(folder)) / name
    path.write_bytes(content.encode())
    return str(path)


def csv(batch_size, **kwargs):
    """Three epochs over a CSV file of seven samples."""

    def run(mx, folder):
        data = lines(folder, "data.csv", np.arange(14).reshape(7, 2).tolist())
        label = lines(folder, "label.csv", np.arange(7).reshape(7, 1).tolist())
        it = mx.io.CSVIter(
            data_csv=data, data_shape=(2,), label_csv=label, batch_size=batch_size, **kwargs
        )
        return [described(it), batches(it, 3, index=True)]

    return run


def csv_shapes(mx, folder):
    """Shapes, types, no labels, white space, names."""
    data = lines(folder, "data.csv", np.arange(24).reshape(4, 6).tolist())
    odd = text(folder, "odd.csv", "1.5, -2e3\n\n3,nan\r\n5,6")
    made = [
        mx.io.CSVIter(data_csv=data, data_shape=(2, 3), batch_size=2, dtype="int32"),
        mx.io.CSVIter(data_csv=data, data_shape=(6,), batch_size=2, dtype="int64"),
        mx.io.CSVIter(
            data_csv=data, data_shape="(6,)", label_csv=data, label_shape=(3, 2), batch_size=2,
            data_name="x", label_name="y",
        ),
        mx.io.CSVIter(data_csv=odd, data_shape=(2,), batch_size=1),
    ]  # fmt: skip
    return [[described(it), repr(batches(it, 1, index=True))] for it in made]


def libsvm(mx, folder):
    """Two epochs; and labels in a file of their own."""
    data = text(folder, "data.t", "1.0 0:0.5 2:1.5\n-2.0\n-3.0 0:0.75 1:2.5 2:1.25\n4 2:-1.25\n")
    label = text(folder, "label.t", "1.0\n-2.0 0:0.125\n-3.0 2:1.25\n4 1:1.0 2:-1.25\n")
    one = mx.io.LibSVMIter(data_libsvm=data, data_shape=(3,), batch_size=3)
    two = mx.io.LibSVMIter(
        data_libsvm=data, data_shape=(3,), label_libsvm=label, label_shape=(3,), batch_size=2
    )
    return [described(one), batches(one, 2), described(two), batches(two, 1)]


def idx_files(folder, count, pack=False):
    """Images of two pixels that hold their number, and labels; their paths."""
    image, label = str(folder) + "/image", str(folder) + "/label"
    opener = gzip.open if pack else open
    with opener(image, "wb") as file:
        file.write(struct.pack(">IIII", 2051, count, 1, 2))
        file.write(np.arange(count).astype("<u2").tobytes())
    with opener(label, "wb") as file:
        file.write(struct.pack(">II", 2049, count) + bytes(i % 10 for i in range(count)))
    return {"image": image, "label": label}


def mnist(count, **kwargs):
    """Two epochs; of many images only the order of the first."""

    def run(mx, folder):
        it = mx.io.MNISTIter(**idx_files(folder, count), **dict(kwargs, silent=True))
        if count < 100:
            return [described(it), batches(it, 2)]
        return (it.next().data[0].asnumpy().reshape(-1, 2) * 256).astype(int).tolist()

    return run


SCENARIOS = {
    **{
        f"array-{count}-{size}-{handle}-{shuffle}": array_iter(count, size, handle, shuffle)
        for count, size in ((10, 4), (8, 4), (5, 4), (4, 4), (11, 3))
        for handle in ("pad", "discard", "roll_over")
        for shuffle in (False, True)
    },
    **{f"middle-reset-{h}": middle_reset(h) for h in ("pad", "discard", "roll_over")},
    "by-hand": by_hand,
    "names": names,
    "batch-axis": batch_axis,
    "written-array": written_array,
    **{f"small-{h}": small(h) for h in ("pad", "discard", "roll_over")},
    **{f"resize-{n}-{inner}": resize(n, inner) for n in (2, 3, 5) for inner in (True, False)},
    "prefetch": prefetch,
    "own-iterator": own_iterator,
    **{f"csv-{n}": csv(n) for n in (3, 4, 6, 7, 8)},
    **{f"csv-{n}-no-round": csv(n, round_batch=False) for n in (3, 4, 7)},
    "csv-shapes": csv_shapes,
    "libsvm": libsvm,
    "mnist": mnist(10, batch_size=4, shuffle=False),
    "mnist-flat": mnist(10, batch_size=4, shuffle=False, flat=True),
    **{f"mnist-seed-{s}": mnist(10, batch_size=5, shuffle=True, seed=s) for s in (0, 1, 7)},
    **{
        f"mnist-part-{i}": mnist(10, batch_size=3, shuffle=False, num_parts=3, part_index=i)
        for i in range(3)
    },
    "mnist-part-shuffled": mnist(10, batch_size=5, num_parts=2, part_index=1),
    "mnist-many": mnist(1000, batch_size=200, seed=5),
}
