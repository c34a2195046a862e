"""``mx.base``: exceptions, type tuples and helpers of MXNet's base module."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modkit.errors import MXNetError as MXNetError
from modkit.errors import NotImplementedForSymbol as NotImplementedForSymbol
from modkit.errors import NotSupportedError
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)

mx_real_t = np.float32
mx_uint = ctypes.c_uint
mx_int = ctypes.c_int
mx_int64 = ctypes.c_int64
mx_float = ctypes.c_float
NDArrayHandle = ctypes.c_void_p

CachedOpHandle = CudaKernelHandle = CudaModuleHandle = DataIterHandle = ctypes.c_void_p
ExecutorHandle = FunctionHandle = KVStoreHandle = OpHandle = ProfileHandle = ctypes.c_void_p
RecordIOHandle = RtcHandle = SymbolHandle = ctypes.c_void_p


class NotSupportedForSparseNDArray(NotSupportedError):
    """An operation that MXNet does not support for sparse arrays."""


class NoLibraryError(NotSupportedError, AttributeError):
    """A name of the interface to MXNet's C library, which modkit does not have."""


class _Library:
    """Stand-in for MXNet's C library, with its functions that assign operators to backends.

    These change nothing, since XLA compiles the whole graph.

    >>> mx.base._LIB.MXNDArrayCreate
    Traceback (most recent call last):
    ...
    modkit.base.NoLibraryError: MXNDArrayCreate is a function of MXNet's C library, ...
    """

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name in ("MXSetSubgraphPropertyOpNames", "MXSetSubgraphPropertyOpNamesV2"):
            return lambda backend, count, names: 0
        if name in ("MXRemoveSubgraphPropertyOpNames", "MXRemoveSubgraphPropertyOpNamesV2"):
            return lambda backend: 0
        raise NoLibraryError(
            f"{name} is a function of MXNet's C library, which modkit does not have; use mx.nd, "
            "mx.sym and mx.mod"
        )

    def MXBuildSubgraphByOpNames(
        self, symbol: ctypes.c_void_p, backend: Any, count: Any, names: Any, out: Any
    ) -> int:
        """Set the handle ``out`` to that of ``symbol``, whose graph stays whole."""
        out._obj.value = symbol.value
        return 0


_LIB = _Library()


def check_call(ret: int) -> None:
    """Raise MXNetError unless a function of the C library has returned 0."""
    if ret != 0:
        raise MXNetError(f"a call of MXNet's C library: got {ret}, expected 0")


class _NullType:
    """The type of ``_Null``, the default of arguments without a value."""

    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()

error_types: dict[str, type[Exception]] = {
    "MXNetError": MXNetError,
    "NotImplementedForSymbol": NotImplementedForSymbol,
    **{e.__name__: e for e in (ValueError, TypeError, AttributeError, IndexError)},
}
"""Exceptions by name, for `register_error`."""


def register_error(func_name: Any = None, cls: type[Exception] | None = None) -> Any:
    """Register an exception class by name; also a decorator.

    Args:
        func_name: the name, or the decorated class.
        cls: the class; ``None`` to return a decorator.
    """
    if isinstance(func_name, type):
        func_name, cls = func_name.__name__, func_name

    def register(klass: type[Exception]) -> type[Exception]:
        error_types[func_name or klass.__name__] = klass
        return klass

    return register if cls is None else register(cls)


def py_str(x: bytes | str) -> str:
    """Decode bytes as UTF-8; a string is returned unchanged."""
    return x.decode("utf-8") if isinstance(x, bytes) else x


def c_str(string: str) -> ctypes.c_char_p:
    """A C string."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Sequence[str]) -> Any:
    """An array of C strings."""
    return (ctypes.c_char_p * len(strings))(*(s.encode("utf-8") for s in strings))


def c_array(ctype: Any, values: Sequence[Any]) -> Any:
    """A C array."""
    return (ctype * len(values))(*values)


def c_array_buf(ctype: Any, buf: Any) -> Any:
    """A C array over the memory of a buffer."""
    return (ctype * len(buf)).from_buffer(buf)


def _as_list(obj: Any) -> Any:
    """The object if it is a list or a tuple, else a list of it."""
    return obj if isinstance(obj, list | tuple) else [obj]


def data_dir_default() -> str:
    """MXNet's default directory of data sets: ``~/.mxnet``."""
    return str(Path.home() / ".mxnet")


def data_dir() -> str:
    """The directory of data sets: the environment variable ``MXNET_HOME``, or ``~/.mxnet``."""
    return os.environ.get("MXNET_HOME", data_dir_default())


def with_metaclass(meta: type, *bases: type) -> type:
    """A temporary base class that sets the metaclass, for code shared with Python 2."""

    class Between(type):
        def __new__(cls, name: str, _: Any, namespace: dict[str, Any]) -> Any:
            return meta(name, bases, namespace)

    return type.__new__(Between, "temporary_class", (), {})


class classproperty:
    """A read-only property of a class.

    Args:
        func: getter, called with the class.
    """

    def __init__(self, func: Callable[[Any], Any]):
        self._func = func.__func__ if isinstance(func, classmethod | staticmethod) else func

    def __get__(self, instance: Any, owner: type) -> Any:
        return self._func(owner)


def build_param_doc(
    arg_names: Sequence[str],
    arg_types: Sequence[str],
    arg_descs: Sequence[str],
    remove_dup: bool = True,
) -> str:
    """The parameters section of a docstring, in NumPy style.

    >>> print(build_param_doc(["axis"], ["int"], ["Which one."]))
    Parameters
    ----------
    axis : int
        Which one.
    <BLANKLINE>
    """
    seen: set[str] = set()
    parts = []
    for name, kind, text in zip(arg_names, arg_types, arg_descs, strict=True):
        if remove_dup and name in seen:
            continue
        seen.add(name)
        parts.append(f"{name} : {kind}\n    {text}" if text else f"{name} : {kind}")
    return "Parameters\n----------\n" + "\n".join(parts) + "\n"
