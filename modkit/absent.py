"""Modules and names of MXNet that modkit does not implement: they import, and raise when used.

Programs import more than they use, and derive classes of Gluon's that they never make.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from modkit.errors import NotSupportedError
from modkit.lazy import AbsentError

_ARRAYS = "use NumPy, jax.numpy, or mx.nd"
_BRIDGE = "write an operator with modkit.ops.registry.op, in JAX"

ABSENT = {
    "gluon": "write the network as a Symbol; models exported by Gluon load with mx.mod.Module",
    "library": _BRIDGE,
    "notebook": "use mx.callback",
    "np": _ARRAYS,
    "npx": _ARRAYS,
    "numpy": _ARRAYS,
    "numpy_extension": _ARRAYS,
    "rtc": _BRIDGE,
    "th": _BRIDGE,
    "torch": _BRIDGE,
    "tvmop": _BRIDGE,
}
"""Replacements, by name of the module."""


def refusal(name: str) -> AbsentError:
    """The error of a use of a module's name, such as ``gluon.nn.Dense``."""
    return AbsentError(
        f"mx.{name} is not part of modkit, which is MXNet's Module API: "
        f"{ABSENT[name.partition('.')[0]]}"
    )


class AbsentModule(ModuleType):
    """A module of `ABSENT`, or a name in one, below ``mx``.

    A class can be derived from it. Calling it, or making an instance of the class, raises.
    """

    __path__ = []  # noqa: RUF012 - the import system reads it, nothing writes it

    def __getattr__(self, name: str) -> Any:
        """A name in the module, absent too."""
        if name.startswith("__"):  # the import system probes for dunder names
            raise AttributeError(name)
        return AbsentModule(f"{self.__name__}.{name}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """A base class whose instances cannot be made: ``class Net(HybridBlock)``."""
        return (type(self.__name__.rpartition(".")[2], (), {"__new__": self}),)

    def __instancecheck__(self, instance: Any) -> bool:
        """False, as there are no instances: ``isinstance(net, HybridBlock)``."""
        return False

    def __subclasscheck__(self, subclass: Any) -> bool:
        """False: ``issubclass(Net, HybridBlock)``."""
        return False

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise for a call of an imported name: ``Dense(10)``."""
        raise refusal(self.__name__)


class Importer:
    """Finds and makes the modules of `ABSENT` in modkit, for ``from modkit.gluon import nn``."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        package, _, name = fullname.partition(".")
        if package != "modkit" or name.partition(".")[0] not in ABSENT:
            return None
        loader: Any = self
        return importlib.machinery.ModuleSpec(fullname, loader, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """See `importlib.abc.Loader`."""
        return AbsentModule(spec.name.partition(".")[2])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: a module has no names until they are looked up."""


def install() -> None:
    """Make the modules importable; what has such a name on the path comes first."""
    sys.meta_path.append(Importer())


class AbsentName:
    """A function or class that a module of modkit lacks."""

    def __init__(self, name: str, instead: str):
        self._text = f"{name} is not part of modkit: {instead}"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotSupportedError(self._text)


def absent_names(module: str, instead: str, *names: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module whose names are each an `AbsentName`."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return AbsentName(f"{module.replace('modkit', 'mx', 1)}.{name}", instead)

    return find
