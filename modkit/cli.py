"""The command ``modkit``: runs MXNet's programs unchanged, and looks into MXNet's files."""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import modkit
from modkit.commands.arguments import missing, program_of
from modkit.commands.parsers import add_commands
from modkit.commands.screen import guarded

_ABOUT = "MXNet's Module API on JAX"


def main(argv: Sequence[str] | None = None) -> int:
    """The command line.

    Args:
        argv: arguments; default those of the process.

    Returns:
        The exit status. A program that is run ends the process as it would under ``python``.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    if not given:
        parser.exit(2, parser.format_help())
    arguments, unknown = parser.parse_known_args(given)
    if unknown:
        _refuse(parser, unknown, arguments)
    if arguments.command == "run":
        return _run(arguments)
    # The modules of commands import JAX: help and wrong options come first.
    command = importlib.import_module(f"modkit.commands.{arguments.command}")
    return guarded(arguments.command, command.work)(arguments)


@functools.cache
def _parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog="modkit", description=_ABOUT)
    parser.add_argument("--version", action=_Version, nargs=0, help="versions, of JAX too")
    add_commands(parser.add_subparsers(dest="command", metavar="command", required=True))
    return parser


class _Version(argparse.Action):
    """Writes the versions, which are looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *args: Any) -> None:
        mxnet, jax = modkit.libinfo.__version__, version("jax")
        sys.stdout.write(f"modkit {modkit.__version__} (MXNet {mxnet}, JAX {jax})\n")
        parser.exit()


def _refuse(parser: argparse.ArgumentParser, unknown: Sequence[str], arguments: Any) -> None:
    """End the process for options that no command has."""
    options, name = " ".join(unknown), arguments.command
    if not hasattr(arguments, "program"):
        parser.error(f"unrecognized arguments: {options}")
    parser.exit(
        2,
        f"modkit {name}: no option {options}; those of the program go after its name: "
        f"modkit {name} [options of {name}] script.py {options}\n",
    )


def _run(arguments: argparse.Namespace) -> int:
    program = program_of(arguments)
    if what := missing(program, arguments.as_module):
        print(f"modkit run: {what}", file=sys.stderr)
        return 2
    run = importlib.import_module("modkit.compat.run").run
    return run(program, arguments.as_module, arguments.shims, arguments.devices, arguments.maps)


if __name__ == "__main__":
    sys.exit(main())
