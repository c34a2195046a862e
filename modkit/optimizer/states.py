"""Optimizer states as bytes that MXNet reads, and back through an allow-list."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from modkit import lr_scheduler
from modkit.errors import FileFormatError, NotSupportedError
from modkit.files import Reader
from modkit.lr_scheduler import LRScheduler
from modkit.ndarray import NDArray
from modkit.ndarray.record import read_array, write_array
from modkit.optimizer.base import Optimizer

# Where MXNet keeps the classes that we have under the same names.
_HOMES = {
    "modkit.optimizer.contrib": "mxnet.optimizer.contrib",
    "modkit.lr_scheduler": "mxnet.lr_scheduler",
}
_OPTIMIZERS = "mxnet.optimizer.optimizer"


def dumps(value: Any) -> bytes:
    """``value`` as a pickle that MXNet reads too.

    Args:
        value: numbers, strings, ``None``, lists, tuples and dicts of these, NDArrays, optimizers
            and schedulers.

    Raises:
        NotSupportedError: it holds something else.
    """
    out = bytearray(pickle.PROTO + b"\x04")
    _write(out, value)
    return bytes(out + pickle.STOP)


def loads(data: bytes) -> Any:
    """What `dumps` or MXNet wrote. Nothing but the kinds named there is ever made.

    Raises:
        FileFormatError: the bytes are no pickle, or hold something that is not allowed.
    """
    try:
        return _unwrap(_Unpickler(io.BytesIO(data)).load())
    except (FileFormatError, NotSupportedError):
        raise
    except Exception as error:  # a broken pickle can fail in any way
        raise FileFormatError(
            f"optimizer states: not a pickle that MXNet writes: {error}"
        ) from error


# ── Writing ─────────────────────────────────────────────────────────────────────────────────


def _write(out: bytearray, value: Any) -> None:
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


def _write_int(out: bytearray, value: int) -> None:
    if -(2**31) <= value < 2**31:
        out += pickle.BININT + struct.pack("<i", value)
    else:
        data = pickle.encode_long(value)
        out += pickle.LONG4 + struct.pack("<i", len(data)) + data


def _write_str(out: bytearray, value: str) -> None:
    data = value.encode()
    out += pickle.BINUNICODE + struct.pack("<I", len(data)) + data


def _write_bytes(out: bytearray, value: bytes) -> None:
    out += pickle.BINBYTES8 + struct.pack("<Q", len(value)) + value


def _write_tuple(out: bytearray, value: tuple[Any, ...]) -> None:
    out += pickle.MARK
    for item in value:
        _write(out, item)
    out += pickle.TUPLE


def _write_list(out: bytearray, value: list[Any]) -> None:
    out += pickle.EMPTY_LIST + pickle.MARK
    for item in value:
        _write(out, item)
    out += pickle.APPENDS


def _write_dict(out: bytearray, value: dict[Any, Any]) -> None:
    out += pickle.EMPTY_DICT + pickle.MARK
    for key, item in value.items():
        _write(out, key)
        _write(out, item)
    out += pickle.SETITEMS


def _write_array(out: bytearray, value: NDArray) -> None:
    """``NDArray(None)`` with the state ``{"handle": bytearray(record)}``."""
    _write_global(out, "mxnet.ndarray.ndarray", "NDArray")
    out += pickle.NONE + pickle.TUPLE1 + pickle.REDUCE
    out += pickle.EMPTY_DICT
    _write_str(out, "handle")
    _write_global(out, "builtins", "bytearray")
    record = io.BytesIO()
    write_array(record, value, newest=not (value.size and value.ndim))
    _write_bytes(out, record.getvalue())
    out += pickle.TUPLE1 + pickle.REDUCE + pickle.SETITEM + pickle.BUILD


def _write_object(out: bytearray, value: Any) -> None:
    """An object made without its constructor, and its attributes."""
    klass = type(value)
    own = klass.__module__.startswith("modkit.optimizer.")
    home = _HOMES.get(klass.__module__, _OPTIMIZERS if own else klass.__module__)
    _write_global(out, home, klass.__qualname__)
    out += pickle.EMPTY_TUPLE + pickle.NEWOBJ
    _write(out, value.__getstate__() if isinstance(value, Optimizer) else dict(value.__dict__))
    out += pickle.BUILD


def _write_global(out: bytearray, module: str, name: str) -> None:
    _write_str(out, module)
    _write_str(out, name)
    out += pickle.STACK_GLOBAL


_WRITERS: dict[type, Callable[[bytearray, Any], None]] = {
    type(None): lambda out, _: out.extend(pickle.NONE),
    bool: lambda out, value: out.extend(pickle.NEWTRUE if value else pickle.NEWFALSE),
    int: _write_int,
    float: lambda out, value: out.extend(pickle.BINFLOAT + struct.pack(">d", value)),
    str: _write_str,
    bytes: _write_bytes,
    tuple: _write_tuple,
    list: _write_list,
}


# ── Reading ─────────────────────────────────────────────────────────────────────────────────


class _Record:
    """Stands for a pickled NDArray until its bytes are read."""

    def __init__(self, handle: Any = None):
        self.handle = handle

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.handle = state.get("handle")

    def array(self) -> NDArray | None:
        """The array behind the bytes."""
        if self.handle is None:
            return None
        if not isinstance(self.handle, bytes | bytearray):
            raise FileFormatError(
                f"optimizer states: an array's handle is {type(self.handle).__name__}, not bytes"
            )
        reader = Reader(memoryview(self.handle), "optimizer states")
        array = read_array(reader, "an array")
        if reader.left:
            raise reader.bad(f"{reader.left} bytes too many for an array of shape {array.shape}")
        return array


def _latin1(text: str, encoding: str) -> bytes:
    """How old pickles spell bytes."""
    if encoding != "latin1":
        raise FileFormatError(f"optimizer states: bytes in encoding {encoding!r}")
    return text.encode("latin1")


_PLAIN: dict[tuple[str, str], Any] = {
    ("mxnet.ndarray.ndarray", "NDArray"): _Record,
    ("mxnet.ndarray", "NDArray"): _Record,
    ("builtins", "bytearray"): bytearray,
    ("__builtin__", "bytearray"): bytearray,
    ("_codecs", "encode"): _latin1,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "scalar"): lambda dtype, data: np.frombuffer(data, dtype)[0],
    ("numpy._core.multiarray", "scalar"): lambda dtype, data: np.frombuffer(data, dtype)[0],
}


class _Unpickler(pickle.Unpickler):
    """Makes arrays, optimizers, schedulers and plain values, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """The class of that name, if it is an allowed one."""
        found = _PLAIN.get((module, name)) or _own_class(module, name)
        if found is None:
            raise FileFormatError(
                f"optimizer states: {module}.{name} is not allowed in them; expected arrays, "
                "plain values, optimizers and schedulers. Import a class of your own first"
            )
        return found


def _own_class(module: str, name: str) -> Any:
    """An optimizer or scheduler: ours for MXNet's names, else one already imported."""
    if module.startswith("mxnet."):
        if module == "mxnet.lr_scheduler":
            return getattr(lr_scheduler, name, None) if name in lr_scheduler.__all__ else None
        found = Optimizer.opt_registry.get(name.lower())
        return found if found is not None and found.__name__ == name else None
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    allowed = isinstance(found, type) and issubclass(found, Optimizer | LRScheduler)
    return found if allowed else None


def _unwrap(value: Any) -> Any:
    """``value`` with every pickled array read."""
    if isinstance(value, _Record):
        return value.array()
    if isinstance(value, dict):
        return {_unwrap(k): _unwrap(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_unwrap(v) for v in value)
    if isinstance(value, Optimizer):
        for name, held in list(value.__dict__.items()):
            if isinstance(held, dict | list | tuple | _Record):
                value.__dict__[name] = _unwrap(held)
    return value
