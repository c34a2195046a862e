"""Names of a package that are imported when they are first asked for (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from modkit.errors import NotSupportedError, nearest


class AbsentError(NotSupportedError, AttributeError):
    """A part of MXNet that modkit leaves out."""


class Names:
    """A package's names and where they are; its methods are the package's module functions.

    Args:
        package: its full name.
        modules: names that stand for a module: the module's full name by name.
        members: names that modules define: the names by the module's full name.
        absent: what MXNet has and modkit leaves out, and what to say of it.
    """

    def __init__(
        self,
        package: str,
        modules: Mapping[str, str],
        members: Mapping[str, Sequence[str]],
        absent: Mapping[str, str],
    ):
        self._package, self.modules, self.members, self._absent = package, modules, members, absent
        self._home = {name: module for module, names in members.items() for name in names}

    @property
    def all(self) -> list[str]:
        """The names, in order, for ``__all__``."""
        return sorted((*self.modules, *self._home))

    def find(self, name: str) -> Any:
        """What a name stands for: the package's ``__getattr__``. Looked for once a name.

        Raises:
            AttributeError: there is no such name; says which are near, or what to use instead.
        """
        if name in self.modules:
            found = importlib.import_module(self.modules[name])
        elif name in self._home:
            found = getattr(importlib.import_module(self._home[name]), name)
        elif name in self._absent:
            raise AbsentError(self._absent[name])
        else:
            hint = nearest(name, self.all)
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}.{hint}")
        setattr(sys.modules[self._package], name, found)
        return found

    def listed(self) -> list[str]:
        """All names, imported or not: the package's ``__dir__``."""
        return sorted({*vars(sys.modules[self._package]), *self.all})
