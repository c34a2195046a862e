"""``modkit inspect``: descriptions of MXNet's files, and of folders of checkpoints."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from modkit.artefacts import Facts, describe
from modkit.artefacts.base import json_text
from modkit.commands.checkpoint_folder import describe_folder
from modkit.commands.screen import complain, show, write
from modkit.errors import ModkitError
from modkit.onnx.description import describe_model


def work(arguments: Namespace) -> int:
    """Describe the files; those that cannot be read are reported, the others still described."""
    found: list[Facts] = []
    status = 0
    for path in arguments.files:
        try:
            found.append(_described(Path(path), arguments.stats))
        except (ModkitError, OSError) as error:
            complain("inspect", error)
            status = 2
    if arguments.json:
        write(json_text(found))
    elif found:
        show([table for facts in found for table in facts.tables()])
    return status


def _described(path: Path, stats: bool) -> Facts:
    if path.is_dir():
        return describe_folder(os.fspath(path))
    if path.suffix.lower() == ".onnx":
        return describe_model(os.fspath(path))
    return describe(path, stats=stats)
