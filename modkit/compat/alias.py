"""The module ``mxnet`` as an alias of modkit: an import finder for MXNet's module names.

>>> install()
>>> import mxnet as mx
>>> mx.__version__, mx.sym.Variable("x").name
('1.9.1', 'x')
>>> uninstall()
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import modkit
from modkit import libinfo
from modkit.absent import ABSENT, AbsentModule
from modkit.compat.legacy import EXTRAS, PLACES
from modkit.compat.private import ADDED
from modkit.compat.shims.shims import Loaded
from modkit.errors import ModkitError

_NAME = "mxnet"


class Alias(ModuleType):
    """The package ``mxnet``: the names of modkit, with MXNet's version."""

    def __getattr__(self, name: str) -> Any:
        """Look the name up in modkit; ``mx.gluon`` is absent when it is used, not before."""
        if name == "gluon":
            return importlib.import_module(f"{_NAME}.{name}")
        return getattr(modkit, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(modkit)})


class Finder(importlib.abc.MetaPathFinder):
    """An import finder that maps ``mxnet`` and its submodules to modkit."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if fullname != _NAME and not fullname.startswith(f"{_NAME}."):
            return None
        loader = _RootLoader(_root()) if fullname == _NAME else Loaded(_module_for(fullname))
        return importlib.machinery.ModuleSpec(fullname, loader, is_package=True)


class _RootLoader(Loaded):
    """An import loader for the package ``mxnet``."""

    def exec_module(self, module: ModuleType) -> None:
        """Import what MXNet's package imports."""
        _import_places()


def _module_for(fullname: str) -> ModuleType:
    """The module for the name of one of MXNet's submodules."""
    rest = fullname.removeprefix(f"{_NAME}.")
    if rest.partition(".")[0] in ABSENT:
        return AbsentModule(rest)
    place = PLACES.get(rest, f"modkit.{rest}")
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if not f"{place}.".startswith(f"{error.name}."):
            raise
        raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname) from None
    return _with_extras(fullname, module) if rest in EXTRAS else module


def _root() -> Alias:
    root = Alias(_NAME, modkit.__doc__)
    root.__dict__.update(
        {n: v for n, v in vars(modkit).items() if not n.startswith("_")},
        __version__=libinfo.__version__,
        __path__=[],
        __file__=modkit.__file__,
    )
    return root


def _with_extras(fullname: str, module: ModuleType) -> ModuleType:
    """A copy of ``module`` with ``mx`` and `EXTRAS`; a star import leaves its own files out."""
    made = ModuleType(fullname, module.__doc__)
    made.__dict__.update({n: v for n, v in vars(module).items() if not n.startswith("__")})
    made.__dict__.update({n: getattr(module, n) for n in getattr(module, "__all__", ())})
    made.__dict__.update(EXTRAS[fullname.removeprefix(f"{_NAME}.")], mx=sys.modules[_NAME])
    own = f"{module.__name__}."
    made.__all__ = [  # pyright: ignore[reportAttributeAccessIssue]
        name
        for name, value in vars(made).items()
        if not name.startswith("_") and not getattr(value, "__name__", "").startswith(own)
    ]
    return made


_finder = Finder()
_found_before: dict[str, Any] = {}
"""The ``__getattr__`` of modules that `_add_names` replaced, by name of the module."""


def _add_names() -> None:
    """Have modules of modkit find the private names of MXNet's."""
    for place, names in ADDED.items():
        module = importlib.import_module(place)
        before = _found_before[place] = vars(module).get("__getattr__")
        vars(module)["__getattr__"] = functools.partial(_find, place, names, before)


def _find(place: str, names: Mapping[str, Any], before: Any, name: str) -> Any:
    if name in names:
        return names[name]
    if before is not None:
        return before(name)
    raise AttributeError(f"module {place!r} has no attribute {name!r}")


def _take_names() -> None:
    """Undo `_add_names`."""
    for place, before in _found_before.items():
        names = vars(importlib.import_module(place))
        if before is None:
            del names["__getattr__"]
        else:
            names["__getattr__"] = before
    _found_before.clear()


def _import_places() -> None:
    """Import the modules that MXNet's packages import themselves."""
    for old in PLACES:
        parent, _, name = old.rpartition(".")
        holder = importlib.import_module(f"{_NAME}.{parent}" if parent else _NAME)
        if name not in vars(holder):
            setattr(holder, name, importlib.import_module(f"{_NAME}.{old}"))
    for name in dir(modkit):  # libraries look for `mxnet.symbol` in `sys.modules`
        if f"modkit.{name}" in sys.modules:
            importlib.import_module(f"{_NAME}.{name}")


def install() -> None:
    """Redirect ``import mxnet`` and imports of its submodules to modkit, in this process.

    It imports no ``mxnet`` itself: programs look for that in ``sys.modules``.

    Raises:
        ModkitError: another ``mxnet`` is already imported.
    """
    present = sys.modules.get(_NAME)
    if present is not None and not isinstance(present, Alias):
        where = getattr(present, "__file__", "?")
        raise ModkitError(
            f"mxnet has been imported already, from {where}; call modkit.compat.install() first"
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        _add_names()


def uninstall() -> None:
    """Undo `install`. Modules already imported under MXNet's names stay usable."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        _take_names()
    if isinstance(sys.modules.get(_NAME), Alias):
        for name in [n for n in sys.modules if n == _NAME or n.startswith(f"{_NAME}.")]:
            del sys.modules[name]
