"""Shims: dropped names are looked up in tables when a program reads them, and are recorded."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, GetSetDescriptorType, ModuleType
from typing import Any

import numpy as np

from modkit.compat.shims import functions
from modkit.compat.shims.tables import KEYWORDS, MODULES, NAMES
from modkit.errors import warn_caller

_RAGGED = "inhomogeneous"
_NO_COPY = "Unable to avoid copy"
_EXTENDED = NAMES.keys() | KEYWORDS.keys()
_MACHINERY = ("<frozen importlib", __file__, functools.__file__)


class Shims:
    """Dropped names of `NAMES`, `KEYWORDS` and `MODULES`, from `install` to `remove`.

    Besides, ``np.array`` and its kin make object arrays of ragged lists and copy where
    ``copy=False`` does not suffice, NumPy's numbers are printed without their type, and ``open``
    takes the mode "U".

    Attributes:
        used: the names that were used: their replacements and the first use as ``file:line``.
    """

    def __init__(self) -> None:
        self.used: dict[str, tuple[str, str]] = {}
        self._undo = contextlib.ExitStack()

    def install(self) -> None:
        """Put the names back."""
        for at, finder in ((0, _Extender(self._extend)), (len(sys.meta_path) + 1, _Modules(self))):
            sys.meta_path.insert(at, finder)
            self._undo.callback(sys.meta_path.remove, finder)
        for name in _EXTENDED & sys.modules.keys():
            self._extend(sys.modules[name])
        for name in ("array", "asarray", "asanyarray"):  # np.save calls the last
            self._wrap(np, name, self._lenient(getattr(np, name)))
        self._wrap(np, "fromstring", self._fromstring(np.fromstring))
        self._wrap(builtins, "open", self._open(builtins.open))
        legacy = np.get_printoptions()["legacy"]
        np.set_printoptions(legacy="1.25")
        self._undo.callback(np.set_printoptions, legacy=legacy)

    def remove(self) -> None:
        """Undo `install`."""
        self._undo.close()

    def record(self, old: str, new: str) -> None:
        """Note the use of a name, and the place of its first use."""
        if old not in self.used:
            frame = _caller()
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "?"
            self.used[old] = (new, place)

    def report(self) -> str:
        """A table of the names used, their replacements and places; empty if there are none."""
        rows = [(old, new, place) for old, (new, place) in self.used.items()]
        if not rows:
            return ""
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        return "\n".join(
            [
                "modkit run: this program uses names that Python or NumPy have dropped; they were "
                "put back for this run (--no-shims: not):",
                *(f"  {o:<{widths[0]}}  now {n:<{widths[1]}}  {p}" for o, n, p in rows),
            ]
        )

    def _extend(self, module: ModuleType) -> None:
        """Give a module the names and keywords of the tables that it lacks."""
        table = NAMES.get(module.__name__, {})
        before = vars(module).get("__getattr__")
        for path, new in table.items():
            holder, name = _holder(module, path)
            if holder is not module and _lacks(holder, name):
                self._add_method(holder, f"{module.__name__}.{path}", new)
        for path, keywords in KEYWORDS.get(module.__name__, {}).items():
            holder, name = _holder(module, path)
            function = getattr(holder, name)
            if not keywords.keys() & inspect.signature(function).parameters.keys():
                path = f"{module.__name__}.{path}"
                self._wrap(holder, name, self._renaming(path, function, keywords))

        def find(name: str) -> Any:
            if name in table:
                self.record(f"{module.__name__}.{name}", _spelling(table[name]))
                return pkgutil.resolve_name(table[name])
            if before is not None:
                return before(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        self._wrap(module, "__getattr__", find)

    def _wrap(self, holder: Any, name: str, value: Any) -> None:
        missing = object()
        before = vars(holder).get(name, missing)
        setattr(holder, name, value)
        if before is missing:
            self._undo.callback(delattr, holder, name)
        else:
            self._undo.callback(setattr, holder, name, before)

    def _add_method(self, cls: type, path: str, new: str) -> None:
        """Add a method to a class, also to one that is written in C."""
        function = pkgutil.resolve_name(new)

        @functools.wraps(function)
        def method(instance: Any, *args: Any, **kwargs: Any) -> Any:
            self.record(path, _spelling(new))
            return function(instance, *args, **kwargs)

        name = path.rpartition(".")[2]
        attributes = gc.get_referents(cls.__dict__)[0]
        before = {name: attributes[name]} if name in attributes else {}
        attributes[name] = method
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
        self._undo.callback(ctypes.pythonapi.PyType_Modified, ctypes.py_object(cls))
        self._undo.callback(attributes.update, before)
        self._undo.callback(attributes.pop, name)

    def _lenient(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """``np.array`` as before NumPy 1.24: ragged lists, and ``copy=False`` as a wish."""

        @functools.wraps(make)
        def lenient(*args: Any, **kwargs: Any) -> Any:
            try:
                if args and isinstance(args[0], np.ndarray) and args[0].dtype.kind == "c":
                    return _warning_caller(make, *args, **kwargs)
                return make(*args, **kwargs)
            except ValueError as error:
                typed = len(args) > 1 or kwargs.get("dtype") is not None
                if _RAGGED in str(error) and not typed:
                    self.record(f"numpy.{make.__name__}(ragged)", "np.array(..., dtype=object)")
                    return make(*args, **{**kwargs, "dtype": object})
                if _NO_COPY in str(error) and kwargs.get("copy") is False:
                    self.record(f"numpy.{make.__name__}(copy=False)", "np.asarray(...)")
                    return make(*args, **{**kwargs, "copy": None})
                raise

        return lenient

    def _fromstring(self, make: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(make)
        def fromstring(string: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("sep", ""):
                return make(string, *args, **kwargs)
            self.record("numpy.fromstring", _spelling(f"{functions.__name__}.fromstring"))
            kwargs.pop("sep", None)
            return functions.fromstring(string, *args, **kwargs)

        return fromstring

    def _open(self, make: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(make)
        def universal(file: Any, mode: Any = "r", *args: Any, **kwargs: Any) -> Any:
            if isinstance(mode, str) and "U" in mode:
                self.record(f"open({mode!r})", "open(path): newlines are universal")
                mode = "r" + mode.translate({ord("U"): None, ord("r"): None})
            return make(file, mode, *args, **kwargs)

        return universal

    def _renaming(
        self, path: str, function: Callable[..., Any], keywords: dict[str, str]
    ) -> Callable[..., Any]:
        @functools.wraps(function)
        def renaming(*args: Any, **kwargs: Any) -> Any:
            for old in keywords.keys() & kwargs.keys():
                new = keywords[old]
                if new not in kwargs:  # else the function refuses the old one
                    self.record(f"{path}({old}=)", f"{new}=" if new else "ignored")
                    value = kwargs.pop(old)
                    if new:
                        kwargs[new] = value
            return function(*args, **kwargs)

        return renaming


def _holder(module: ModuleType, path: str) -> tuple[Any, str]:
    """The module, or its class of ``Class.name``, and the name."""
    cls, _, name = path.rpartition(".")
    return getattr(module, cls) if cls else module, name


def _lacks(holder: Any, name: str) -> bool:
    """Whether a class lacks a method; some of NumPy 2.0 are properties that raise the error."""
    return not hasattr(holder, name) or isinstance(vars(holder).get(name), GetSetDescriptorType)


def _warning_caller(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function in C, whose warnings then name the nearest line outside of modkit."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = make(*args, **kwargs)
    for each in seen:
        warn_caller(each.message)
    return result


class _Extender(importlib.abc.MetaPathFinder):
    """An import finder that extends the modules of the tables right after their import."""

    def __init__(self, extend: Callable[[ModuleType], None]):
        self._extend = extend

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if fullname not in _EXTENDED:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    _after(spec.loader, self._extend)
                return spec
        return None


def _after(loader: Any, extend: Callable[[ModuleType], None]) -> None:
    """Let one loader call ``extend`` for the module that it has executed."""
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        extend(module)

    loader.exec_module = exec_module


class _Modules(importlib.abc.MetaPathFinder):
    """An import finder for the modules of `MODULES` that no other finder finds."""

    def __init__(self, shims: Shims):
        self._shims = shims

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if fullname not in MODULES:
            return None
        module = importlib.import_module(MODULES[fullname])
        self._shims.record(fullname, _spelling(module.__name__))
        return importlib.machinery.ModuleSpec(
            fullname, Loaded(module), is_package=hasattr(module, "__path__")
        )


class Loaded(importlib.abc.Loader):
    """An import loader for a module that is loaded under another name."""

    def __init__(self, module: ModuleType):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import system has replaced."""
        module.__spec__ = self._spec


def _spelling(path: str) -> str:
    """The modern spelling of a replacement: its path, or the first line of its documentation."""
    if path.startswith("modkit."):
        found = pkgutil.resolve_name(path)
        doc = type(found).__doc__ if isinstance(found, dict) else found.__doc__
        text = (doc or "").splitlines()[0] if doc and "``" in doc.splitlines()[0] else repr(found)
        return text.replace("``", "").removesuffix(".")
    return path.removeprefix("builtins.")


def _frames() -> Iterator[FrameType]:
    frame = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _caller() -> FrameType | None:
    """The innermost frame that belongs neither to this file nor to the import system."""
    for frame in _frames():
        if not frame.f_code.co_filename.startswith(_MACHINERY):
            return frame
    return None
