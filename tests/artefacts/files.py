"""Files to look into, and files that are broken."""

import io
import struct
import zipfile

import numpy as np

import modkit as mx
from modkit.artefacts import write_arrays
from modkit.io import recordio

ARRAYS = {
    "arg:weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "arg:ids": np.array([-(2**40), 5], np.int64),
    "aux:mean": np.array([1.5, np.inf, np.nan], np.float64),
    "aux:flags": np.array([[True], [False]]),
    "half": np.array([0.5, -2], np.float16),
}


def images(folder, labels=(1.0, 3.0, 3.0, 0.0)):
    """``pictures.rec`` and ``pictures.idx``: records of JPEG and PNG beginnings."""
    path = folder / "pictures.rec"
    with recordio.MXIndexedRecordIO(folder / "pictures.idx", path, "w") as file:
        for i, label in enumerate(labels):
            data = (b"\xff\xd8\xff" if i % 2 else b"\x89PNG") + bytes(10 * i)
            file.write_idx(i, recordio.pack(recordio.IRHeader(0, label, i, 0), data))
    return path


def written(folder, name, arrays=None):
    """A file of arrays."""
    path = folder / name
    write_arrays(path, ARRAYS if arrays is None else arrays)
    return path


def net():
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.BatchNorm(net, name="bn")
    net = mx.sym.LeakyReLU(net, act_type="prelu", name="act")
    net = mx.sym.broadcast_mul(net, mx.sym.Variable("scale_weight"))
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, mx.sym.Variable("answer"), name="softmax")


def npy(array, length=None):
    """The bytes of an ``.npy`` file, cut or filled up to ``length``."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=array.dtype == object)
    data = file.getvalue()
    return data if length is None else data[:length].ljust(length, b"\0")


def zipped(folder, name, entries, method=zipfile.ZIP_STORED):
    """A zip file of named bytes."""
    path = folder / name
    with zipfile.ZipFile(path, "w", method) as archive:
        for entry, data in entries.items():
            archive.writestr(entry, data)
    return path


def part(kind, data, magic=0xCED7230A):
    """A part of a record."""
    head = struct.pack("<II", magic, kind << 29 | len(data))
    return head + data + bytes(-len(data) % 4)
