"""``modkit inspect``: descriptions of MXNet's files, and of folders of checkpoints."""

from __future__ import annotations

import json
from argparse import Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from pathlib import Path
from typing import Any

from modkit.artefacts import Facts, describe
from modkit.commands.checkpoint_folder import describe_folder
from modkit.commands.screen import complain, guarded, show, write
from modkit.errors import ModkitError

_ABOUT = """\
say what is in files of MXNet's: -symbol.json, .params, .states, .rec, .idx, .lst, and in .npz and
.safetensors; and in folders of checkpoints

  modkit inspect resnet-symbol.json resnet-0000.params
  modkit inspect out/checkpoints
  modkit inspect --json train.rec | jq '.[0].records'
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "inspect",
        help="say what is in a file",
        description=_ABOUT,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE_OR_FOLDER")
    parser.add_argument(
        "--stats", action="store_true", help="measure arrays: least, largest, mean; reads all"
    )
    parser.add_argument("--json", action="store_true", help="write a JSON list, a file an item")
    parser.set_defaults(work=guarded("inspect", _inspect))


def _inspect(arguments: Namespace) -> int:
    found: list[Facts] = []
    status = 0
    for path in arguments.files:
        try:
            folder = Path(path).is_dir()
            found.append(describe_folder(path) if folder else describe(path, stats=arguments.stats))
        except (ModkitError, OSError) as error:
            # The other files are still described.
            complain("inspect", error)
            status = 2
    if arguments.json:
        write(json.dumps([facts.to_dict() for facts in found], indent=2, allow_nan=False))
    elif found:
        show([table for facts in found for table in facts.tables()])
    return status
