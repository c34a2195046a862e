"""A folder of checkpoints described, for ``modkit inspect``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modkit.artefacts import Facts, Table
from modkit.artefacts.table import bytes_text
from modkit.callback.checkpoint_folder import MANIFEST, checkpoints, opened
from modkit.errors import FileFormatError, ModkitError


@dataclass(frozen=True)
class CheckpointFacts:
    """One checkpoint.

    Attributes:
        name: of its folder.
        size_bytes: of its files.
        fault: the first fault that makes it unusable; ``None`` for a complete one.
        epoch: number of the epoch with which the training goes on.
        batch: number of finished batches in this epoch.
        step: number of batches in all epochs.
        versions: of the packages that wrote it.
    """

    name: str
    size_bytes: int
    fault: str | None
    epoch: int | None = None
    batch: int | None = None
    step: int | None = None
    optimizer: str | None = None
    versions: dict[str, str] | None = None
    files: dict[str, int] | None = None


@dataclass(frozen=True)
class FolderFacts(Facts):
    """A folder that ``mx.callback.Checkpoint`` wrote to, or one checkpoint of it.

    Attributes:
        checkpoints: the newest first.
    """

    checkpoints: tuple[CheckpointFacts, ...]

    def tables(self) -> list[Table]:
        """A row for each checkpoint, and the files of the newest complete one."""
        rows = tuple(
            (c.name, _text(c.epoch), _text(c.batch), _text(c.step), bytes_text(c.size_bytes),
             c.fault or "complete")
            for c in self.checkpoints
        )  # fmt: skip
        titles = "checkpoint", "epoch", "batch", "step", "size", "state"
        found = [Table(self.path, rows, titles, frozenset({1, 2, 3, 4}))]
        whole = next((c for c in self.checkpoints if c.fault is None), None)
        if whole is not None:
            versions = tuple((whole.versions or {}).items())
            files = tuple((n, bytes_text(size)) for n, size in (whole.files or {}).items())
            optimizer = ("optimizer", whole.optimizer or "")
            found.append(Table(f"{whole.name}: from here a training goes on",
                               (optimizer, *versions, *files)))  # fmt: skip
        return found


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def describe_folder(path: str | os.PathLike[str]) -> FolderFacts:
    """Describe the checkpoints of a folder, and their checksums; FileFormatError without any."""
    folder = Path(path)
    found = [folder] if (folder / MANIFEST).exists() else checkpoints(folder)
    if not found:
        raise FileFormatError(
            f"{folder}: a folder without checkpoints; expected folders step-<number>, as "
            f"mx.callback.Checkpoint writes them; for files: modkit inspect {folder}/*"
        )
    each = tuple(_describe(one) for one in found)
    return FolderFacts(os.fspath(path), "checkpoints", sum(c.size_bytes for c in each), each)


def _describe(path: Path) -> CheckpointFacts:
    size = sum(file.stat().st_size for file in path.iterdir())
    try:
        manifest = opened(path).manifest
    except (ModkitError, OSError) as error:
        return CheckpointFacts(path.name, size, str(error).removeprefix(f"{path}/"))
    return CheckpointFacts(
        path.name, size, None, manifest["epoch"], manifest["batch"], manifest["step"],
        manifest["identity"]["optimizer"]["class"],
        {n: manifest[n] for n in ("modkit", "jax", "numpy")},
        {n: facts["bytes"] for n, facts in manifest["files"].items()},
    )  # fmt: skip
