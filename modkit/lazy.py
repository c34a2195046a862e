"""Lazy imports: names of a package that are imported at first access (PEP 562)."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from modkit.errors import NotSupportedError, nearest
from modkit.gc_pause import uncollected


class AbsentError(NotSupportedError, AttributeError):
    """A part of MXNet that modkit does not implement."""


class Names:
    """The lazy names of a package; methods implement its ``__getattr__`` and ``__dir__``.

    Args:
        modules: full names of modules, by the name that they are exposed as.
        members: exposed names, by the full name of the module that defines them.
        absent: error messages for MXNet's names that modkit does not implement, by name; default
            none.
    """

    def __init__(
        self,
        package: str,
        modules: Mapping[str, str],
        members: Mapping[str, Sequence[str]],
        absent: Mapping[str, str] | None = None,
    ):
        self._package, self.modules, self.members = package, modules, members
        self._absent = absent or {}
        self._home = {name: module for module, names in members.items() for name in names}

    @property
    def all(self) -> list[str]:
        """The sorted names, for ``__all__``."""
        return sorted((*self.modules, *self._home))

    def find(self, name: str) -> Any:
        """Import and return a name: the package's ``__getattr__``. The result is cached.

        Raises:
            AttributeError: an unknown name; lists close matches or a replacement.
        """
        if name in self.modules or name in self._home:
            home = self.modules.get(name) or self._home[name]
            # 250 collections of 0.1 s, with JAX
            with uncollected(home not in sys.modules, lasting=True), _same_random_numbers():
                module = importlib.import_module(home)
            found = module if name in self.modules else getattr(module, name)
        elif name in self._absent:
            raise AbsentError(self._absent[name])
        else:
            # Tools probe any object for names that begin with an underscore: they get no hint.
            hint = "" if name.startswith("_") else nearest(name, self.all)
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}.{hint}")
        setattr(sys.modules[self._package], name, found)
        return found

    def listed(self) -> list[str]:
        """Public names, without modules of the inside: the package's ``__dir__``."""
        present = [n for n in vars(sys.modules[self._package]) if n.startswith("__")]
        return sorted({*present, *self.all})


@contextlib.contextmanager
def _same_random_numbers() -> Iterator[None]:
    """NumPy's global generator keeps its state: JAX draws from it while it is imported.

    Numbers that another thread draws meanwhile are drawn again.
    """
    random = None if "jax" in sys.modules else sys.modules.get("numpy.random")
    state = None if random is None else random.get_state()
    try:
        yield
    finally:
        if random is not None:
            random.set_state(state)


class LazyModule(ModuleType):
    """A stand-in for a module that may be missing; the import error comes at its first use."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


def optional(module: str, message: str) -> Any:
    """A module of an optional package; NotSupportedError, with ``message``, if not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotSupportedError(message) from error


def install(extra: str) -> str:
    """The command that installs an extra, for error messages: modkit is on no package index."""
    return f"pip install '.[{extra}]' in the folder of modkit's source"


def dir_of(name: str) -> Callable[[], list[str]]:
    """The ``__dir__`` of a module: ``__all__``, or its names without what it only imports.

    Names that its package defines, and those with underscores, are among them; submodules are not.
    """
    module, package = sys.modules[name], name.partition(".")[0]

    def names() -> list[str]:
        every = vars(module)
        shown = every.get("__all__") or [
            n
            for n, value in every.items()
            if _home(value).partition(".")[0] in ("", package)
            and value is not sys.modules.get(f"{name}.{n}", dir_of)
        ]
        return sorted({*shown, *(n for n in every if n.startswith("_"))})

    return names


def _home(value: Any) -> str:
    """The module that defines a value; empty for numbers, texts and containers."""
    if isinstance(value, ModuleType):
        return value.__name__
    return getattr(value, "__module__", None) or type(value).__module__.replace("builtins", "")
