"""``importlib``: modules loaded from paths."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from importlib import reload as reload
from importlib.util import cache_from_source as cache_from_source
from types import ModuleType
from typing import Any

PY_SOURCE, PY_COMPILED, C_EXTENSION, PKG_DIRECTORY = 1, 2, 3, 5


def new_module(name: str) -> ModuleType:
    """An empty module."""
    return ModuleType(name)


def load_source(name: str, pathname: str, file: Any = None) -> ModuleType:
    """Load a file as the module ``name``, also if it is loaded already.

    Raises:
        FileNotFoundError: there is no such file.
    """
    loader = importlib.machinery.SourceFileLoader(name, str(pathname))
    spec = importlib.util.spec_from_file_location(name, str(pathname), loader=loader)
    if spec is None:
        raise ImportError(f"load_source: {pathname!r} is no Python source", name=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def find_module(name: str, path: Any = None) -> tuple[Any, str, tuple[str, str, int]]:
    """The open file of a module, its path, and ``(suffix, mode, kind)``.

    Raises:
        ImportError: it is not found.
    """
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None or not spec.origin:
        raise ImportError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations:
        return None, spec.submodule_search_locations[0], ("", "", PKG_DIRECTORY)
    return open(spec.origin), spec.origin, (".py", "r", PY_SOURCE)  # noqa: PTH123


def load_module(name: str, file: Any, filename: str, details: tuple[str, str, int]) -> ModuleType:
    """Load the module that `find_module` has found."""
    if details[2] == PKG_DIRECTORY:
        filename = f"{filename}/__init__.py"
    return load_source(name, filename, file)


def get_suffixes() -> list[tuple[str, str, int]]:
    """``(suffix, mode, kind)`` of the files that can be imported."""
    return [
        *((suffix, "rb", C_EXTENSION) for suffix in importlib.machinery.EXTENSION_SUFFIXES),
        *((suffix, "r", PY_SOURCE) for suffix in importlib.machinery.SOURCE_SUFFIXES),
    ]
