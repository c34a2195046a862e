"""Serialization of optimizer states in MXNet's format; loading goes through an allow-list."""

from __future__ import annotations

import functools
import io
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from modkit import lr_scheduler
from modkit.errors import FileFormatError, NotSupportedError
from modkit.files import Reader
from modkit.lr_scheduler import LRScheduler
from modkit.ndarray import NDArray, RowSparseNDArray
from modkit.ndarray.array_format import Buffers, read_array, write_array
from modkit.ops.stype import ROWS
from modkit.optimizer.base import Optimizer
from modkit.optimizer.pickles import KEYS, MOST_BITS, Kind, read_pickle

# MXNet's modules of the classes with the same names here.
_MXNET_MODULES = {
    "modkit.optimizer.contrib": "mxnet.optimizer.contrib",
    "modkit.lr_scheduler": "mxnet.lr_scheduler",
}
_OPTIMIZERS = "mxnet.optimizer.optimizer"


def dumps(value: Any) -> bytes:
    """``value`` as a pickle that MXNet can load.

    Args:
        value: numbers, strings, ``None``, lists, tuples and dicts of these, NDArrays, optimizers
            and schedulers.

    Raises:
        NotSupportedError: ``value`` contains something else.
    """
    out = io.BytesIO()
    dump(value, out)
    return out.getvalue()


def dump(value: Any, out: BinaryIO) -> None:
    """Write what `dumps` returns to a file; arrays are not copied."""
    out.write(pickle.PROTO + b"\x04")
    _write(out, value)
    out.write(pickle.STOP)


def loads(data: bytes) -> Any:
    """Load a pickle of `dumps` or MXNet. Only the types listed there can be created.

    Raises:
        FileFormatError: the bytes are not a pickle, or contain something that is not allowed.
    """
    return read_pickle(data, "optimizer states", _kind_of)


def _write(out: BinaryIO, value: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    writer = _WRITERS.get(type(value))
    if writer is not None:
        writer(out, value)
    elif isinstance(value, NDArray):
        _write_array(out, value)
    elif isinstance(value, dict):
        _write_dict(out, value)
    elif isinstance(value, Optimizer | LRScheduler):
        _write_object(out, value)
    else:
        raise NotSupportedError(
            f"optimizer states: cannot save {type(value).__name__}; expected arrays, numbers, "
            "strings and lists, tuples and dicts of them"
        )


def _write_int(out: BinaryIO, value: int) -> None:
    if value.bit_length() > MOST_BITS:
        raise NotSupportedError(
            f"optimizer states: cannot save a number of {value.bit_length()} bits, expected "
            f"{MOST_BITS} at most"
        )
    if -(2**31) <= value < 2**31:
        out.write(pickle.BININT + struct.pack("<i", value))
    else:
        data = pickle.encode_long(value)
        out.write(pickle.LONG4 + struct.pack("<i", len(data)) + data)


def _write_str(out: BinaryIO, value: str) -> None:
    data = value.encode()
    out.write(pickle.BINUNICODE + struct.pack("<I", len(data)) + data)


def _write_tuple(out: BinaryIO, value: tuple[Any, ...]) -> None:
    out.write(pickle.MARK)
    for item in value:
        _write(out, item)
    out.write(pickle.TUPLE)


def _write_list(out: BinaryIO, value: list[Any]) -> None:
    out.write(pickle.EMPTY_LIST + pickle.MARK)
    for item in value:
        _write(out, item)
    out.write(pickle.APPENDS)


def _write_dict(out: BinaryIO, value: dict[Any, Any]) -> None:
    out.write(pickle.EMPTY_DICT + pickle.MARK)
    for key, item in value.items():
        if not isinstance(key, (*KEYS, np.generic)):
            raise NotSupportedError(
                f"optimizer states: cannot save a dict with the key {key!r}; expected strings and "
                "numbers as keys"
            )
        _write(out, key)
        _write(out, item)
    out.write(pickle.SETITEMS)


def _write_array(out: BinaryIO, value: NDArray) -> None:
    """``NDArray(None)`` with the state ``{"handle": bytearray(record)}``."""
    by_rows = value.stype == ROWS
    module = "mxnet.ndarray.sparse" if by_rows else "mxnet.ndarray.ndarray"
    _write_global(out, module, "RowSparseNDArray" if by_rows else "NDArray")
    out.write(pickle.NONE + pickle.TUPLE1 + pickle.REDUCE)
    out.write(pickle.EMPTY_DICT)
    _write_str(out, "handle")
    _write_global(out, "builtins", "bytearray")
    record = Buffers()
    write_array(record, value, newest=not (value.size and value.ndim))
    out.write(pickle.BINBYTES8 + struct.pack("<Q", sum(len(part) for part in record)))
    for part in record:
        out.write(part)
    out.write(pickle.TUPLE1 + pickle.REDUCE + pickle.SETITEM + pickle.BUILD)


def _write_object(out: BinaryIO, value: Any) -> None:
    """An object created by ``__new__``, and its attributes."""
    klass = type(value)
    own = klass.__module__.startswith("modkit.optimizer.")
    own = own and klass.__name__.lower() in Optimizer.opt_registry
    module = _MXNET_MODULES.get(klass.__module__, _OPTIMIZERS if own else klass.__module__)
    _write_global(out, module, klass.__qualname__)
    out.write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
    _write(out, value.__getstate__() if isinstance(value, Optimizer) else dict(value.__dict__))
    out.write(pickle.BUILD)


def _write_global(out: BinaryIO, module: str, name: str) -> None:
    _write_str(out, module)
    _write_str(out, name)
    out.write(pickle.STACK_GLOBAL)


_WRITERS: dict[type, Callable[[BinaryIO, Any], Any]] = {
    type(None): lambda out, _: out.write(pickle.NONE),
    bool: lambda out, value: out.write(pickle.NEWTRUE if value else pickle.NEWFALSE),
    int: _write_int,
    float: lambda out, value: out.write(pickle.BINFLOAT + struct.pack(">d", value)),
    str: _write_str,
    bytes: lambda out, value: out.write(pickle.BINBYTES8 + struct.pack("<Q", len(value)) + value),
    tuple: _write_tuple,
    list: _write_list,
}


def _new_array(handle: None = None, kind: type[NDArray] = NDArray) -> NDArray:
    if handle is not None:
        raise FileFormatError("an array has a handle, expected bytes in its state")
    return kind.__new__(kind)


def _fill_array(array: Any, state: Any) -> None:
    handle = state.get("handle") if isinstance(state, dict) else state
    if not isinstance(handle, bytes):
        raise FileFormatError(f"an array's bytes: got {type(handle).__name__}, expected bytes")
    reader = Reader(memoryview(handle), "an array's bytes")
    read: Any = read_array(reader, "it")
    if reader.left:
        raise reader.bad(f"{reader.left} bytes too many for an array of shape {read.shape}")
    if type(read) is not type(array):
        raise FileFormatError(f"a {type(array).__name__} of storage type {read.stype!r}")
    if isinstance(array, RowSparseNDArray):
        array.__init__(read._values, read._places, read.shape, read._ctx)
    else:
        array.__init__(read._cell, read._ctx)


def _bytes(content: Any, encoding: str = "latin1") -> bytes:
    """Bytes; protocols 0 to 2 encode them as text."""
    if isinstance(content, str) and encoding in ("latin1", "latin-1"):
        return content.encode("latin1")
    if not isinstance(content, bytes):
        raise FileFormatError(f"bytes of {type(content).__name__} in encoding {encoding!r}")
    return content


class _DType:
    """A numeric NumPy dtype; ``np.dtype.__setstate__`` does not validate its argument."""

    def __init__(self, code: Any, align: Any = False, copy: Any = True):
        self.dtype = np.dtype(code) if isinstance(code, str) and len(code) < 4 else np.dtype(object)
        if self.dtype.kind not in "biuf":
            raise FileFormatError(f"numbers of type {code!r}")

    def set_state(self, state: Any) -> None:
        """Set the byte order from NumPy's state."""
        self.dtype = self.dtype.newbyteorder(state[1])


def _number(dtype: _DType, content: Any) -> Any:
    if not isinstance(dtype, _DType) or len(_bytes(content)) != dtype.dtype.itemsize:
        raise FileFormatError("a number's size does not match its type")
    return np.frombuffer(_bytes(content), dtype.dtype)[0].item()


def _refuse(*_: Any) -> Any:
    raise FileFormatError("it cannot be called")


_ARRAY = Kind(_new_array, _fill_array, needs_state=True)
_BYTES, _NUMBER, _NAME = Kind(_bytes), Kind(_number), Kind(_refuse)
_KINDS = {
    ("mxnet.ndarray.ndarray", "NDArray"): _ARRAY,
    ("mxnet.ndarray", "NDArray"): _ARRAY,
    ("mxnet.ndarray.sparse", "RowSparseNDArray"): Kind(
        functools.partial(_new_array, kind=RowSparseNDArray), _fill_array, needs_state=True
    ),
    ("builtins", "bytearray"): _BYTES,
    ("__builtin__", "bytearray"): _BYTES,
    ("_codecs", "encode"): _BYTES,
    ("numpy", "dtype"): Kind(_DType, _DType.set_state),
    ("numpy.core.multiarray", "scalar"): _NUMBER,
    ("numpy._core.multiarray", "scalar"): _NUMBER,
    ("copy_reg", "_reconstructor"): _NAME,
    ("copyreg", "_reconstructor"): _NAME,
    ("__builtin__", "object"): _NAME,
    ("builtins", "object"): _NAME,
}


def _kind_of(module: str, name: str) -> Kind | None:
    """The allow-list: arrays, bytes, numbers, optimizers and schedulers."""
    known = _KINDS.get((module, name))
    if known is not None:
        return known
    klass: Any = _class_of(module, name)
    return None if klass is None else Kind(lambda: klass.__new__(klass), _set_state, by_new=True)


def _set_state(made: Any, state: Any) -> None:
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise FileFormatError("expected attributes by name")
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)


def _class_of(module: str, name: str) -> type | None:
    """An optimizer or scheduler class: modkit's for MXNet's names, else one already imported."""
    if module.startswith("mxnet."):
        if module == "mxnet.lr_scheduler":
            return getattr(lr_scheduler, name) if name in lr_scheduler.__all__ else None
        found = Optimizer.opt_registry.get(name.lower())
        return found if found is not None and found.__name__ == name else None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        # Not getattr: a module's __getattr__ may import others.
        found = getattr(found, "__dict__", {}).get(part)
    allowed = isinstance(found, type) and issubclass(found, Optimizer | LRScheduler)
    return found if allowed else None
