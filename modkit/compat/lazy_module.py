"""LazyModule: a module that is imported when an attribute of it is read."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """A stand-in for a module that may be missing; the import error comes at its first use."""

    def __getattr__(self, name: str) -> Any:
        """Import the module and look the name up in it."""
        return getattr(importlib.import_module(self.__name__), name)
