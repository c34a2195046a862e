"""Records and arrays that the reference wrote to ``tests/reference/files``. Plain NumPy."""

import struct

import numpy as np

MAGIC = struct.pack("<I", 0xCED7230A)
RECORDS = [
    b"hello",
    b"",
    b"12345678",
    MAGIC,
    b"abcd" + MAGIC + b"efgh",
    b"ab" + MAGIC + b"cd",
    MAGIC + MAGIC + b"x",
    b"abcd" + MAGIC,
    bytes(range(256)),
]
HEADERS = [
    ((0, 1.5, 7, 0), b"abc"),
    ((0, [1, 2, 3], 7, 0), b"abc"),
    ((5, 1.0, 2**40, 9), b""),
    ((0, (4, 5), 1, 1), b"q"),
]

_GRID = np.arange(6).reshape(2, 3) % 4
ARRAYS = {
    "float32": _GRID.astype("float32") / 8,
    "float64": _GRID.astype("float64") / 3,
    "float16": _GRID.astype("float16") / 8,
    "uint8": _GRID.astype("uint8"),
    "int32": _GRID.astype("int32") - 2,
    "int8": _GRID.astype("int8") - 2,
    "int64": (_GRID * 2**20).astype("int64") * np.int64(2**20),
    "bool": _GRID > 1,
}
