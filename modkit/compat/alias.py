"""The module ``mxnet``: modkit's modules under MXNet's names.

>>> install()
>>> import mxnet as mx
>>> mx.__version__, mx.sym.Variable("x").name
('1.9.1', 'x')
>>> uninstall()
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import modkit
from modkit import libinfo
from modkit.compat.legacy import ABSENT, EXTRAS, PLACES
from modkit.errors import ModkitError, NotSupportedError

_NAME = "mxnet"


class AbsentModuleError(NotSupportedError, AttributeError):
    """Something of a module of MXNet that modkit leaves out."""


class AbsentModule(ModuleType):
    """A module of MXNet that modkit leaves out, or a name in one.

    It can be imported, because programs import more than they use; using it is an error.
    """

    def __init__(self, name: str, instead: str):
        super().__init__(name)
        self._instead = instead
        self.__path__ = []

    def _error(self, name: str) -> AbsentModuleError:
        return AbsentModuleError(
            f"{name} is not part of modkit, which is MXNet's Module API: {self._instead}"
        )

    def __getattr__(self, name: str) -> Any:
        """Raise: nothing is here."""
        if name.startswith("__"):  # Python's own, of which the import system asks for some
            raise AttributeError(name)
        raise self._error(f"{self.__name__}.{name}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """Raise: so is ``class Net(HybridBlock)`` answered."""
        raise self._error(self.__name__)

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise: so is ``from mxnet.gluon.nn import Dense`` answered."""
        raise self._error(self.__name__)


class Alias(ModuleType):
    """``mxnet`` itself: what modkit has, with MXNet's version."""

    def __getattr__(self, name: str) -> Any:
        """What comes from modkit, and modkit's error for what is not there."""
        return getattr(modkit, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(modkit)})


class Finder(importlib.abc.MetaPathFinder):
    """Finds ``mxnet`` and everything below it in modkit."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        del path, target
        if fullname != _NAME and not fullname.startswith(f"{_NAME}."):
            return None
        return importlib.machinery.ModuleSpec(
            fullname, _Loader(_module_for(fullname)), is_package=True
        )


class _Loader(importlib.abc.Loader):
    """Hands out a module that is loaded already, as it is."""

    def __init__(self, module: ModuleType):
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own spec, which the import system has replaced."""
        if not isinstance(module, Alias):
            module.__spec__ = self._spec


def _module_for(fullname: str) -> ModuleType:
    """The module that stands for one of MXNet's.

    Raises:
        ModuleNotFoundError: there is none, in MXNet either.
    """
    if fullname == _NAME:
        return _root()
    rest = fullname.removeprefix(f"{_NAME}.")
    for part in (rest, rest.split(".")[0]):
        if part in ABSENT:
            return AbsentModule(fullname, ABSENT[part])
    place = PLACES.get(rest, f"modkit.{rest}")
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name != place:
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
    """A module with the names of ``module`` and a few that only MXNet has."""
    made = ModuleType(fullname, module.__doc__)
    made.__dict__.update({n: v for n, v in vars(module).items() if not n.startswith("__")})
    made.__dict__.update(EXTRAS[fullname.removeprefix(f"{_NAME}.")])
    return made


_finder = Finder()


def install() -> None:
    """Make ``import mxnet`` and all imports below it find modkit, in this process.

    Raises:
        ModkitError: another ``mxnet`` has been imported already.
    """
    present = sys.modules.get(_NAME)
    if present is not None and not isinstance(present, Alias):
        where = getattr(present, "__file__", "?")
        raise ModkitError(
            f"mxnet has been imported already, from {where}; call modkit.compat.install() first"
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    importlib.import_module(_NAME)
    for old in PLACES:
        parent, _, name = old.rpartition(".")
        holder = importlib.import_module(f"{_NAME}.{parent}" if parent else _NAME)
        if name not in vars(holder):
            setattr(holder, name, importlib.import_module(f"{_NAME}.{old}"))


def uninstall() -> None:
    """Take back `install`. Modules that have been imported under MXNet's names stay usable."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    if isinstance(sys.modules.get(_NAME), Alias):
        for name in [n for n in sys.modules if n == _NAME or n.startswith(f"{_NAME}.")]:
            del sys.modules[name]
