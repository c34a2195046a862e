"""``shutil``, ``os.makedirs``: folders made, copied and removed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any


def mkpath(name: str, mode: int = 0o777, **_: Any) -> list[str]:
    """Create a folder and its parents; returns those that were missing."""
    folder = Path(name)
    missing = [p for p in (*reversed(folder.parents), folder) if not p.exists()]
    folder.mkdir(mode, parents=True, exist_ok=True)
    return [str(p) for p in missing]


def copy_tree(src: str, dst: str, **_: Any) -> list[str]:
    """Copy a folder into another, which may exist; returns the copied files."""
    shutil.copytree(src, dst, dirs_exist_ok=True)
    files = (p for p in Path(src).rglob("*") if p.is_file())
    return [str(Path(dst) / p.relative_to(src)) for p in files]


def remove_tree(directory: str, **_: Any) -> None:
    """Remove a folder and its contents."""
    shutil.rmtree(directory)
