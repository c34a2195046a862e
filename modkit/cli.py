"""The command ``modkit``: runs MXNet's programs unchanged."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

import modkit
from modkit.compat import install

_ABOUT = "MXNet's Module API on JAX"

_RUN = """\
run a program that says `import mxnet as mx`, over modkit:

  modkit run train_mnist.py --batch-size 64
  modkit run -m package.train --batch-size 64

Everything behind the program's name goes to the program.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The command line.

    Args:
        argv: arguments; default those of the process.

    Returns:
        The exit status. A program that is run ends the process as it would under ``python``.
    """
    parser = argparse.ArgumentParser(prog="modkit", description=_ABOUT)
    version = f"modkit {modkit.__version__} (MXNet {modkit.libinfo.__version__}, "
    parser.add_argument("--version", action="version", version=f"{version}JAX {jax.__version__})")
    commands = parser.add_subparsers(dest="command", metavar="command")
    run = commands.add_parser(
        "run",
        help="run a program that imports mxnet",
        description=_RUN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="modkit run [-h] (script.py | -m module) [arguments ...]",
    )
    run.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 2
    return _run(run, arguments.program)


def _run(parser: argparse.ArgumentParser, program: list[str]) -> int:
    """Run a script or a module as ``python`` would, with ``mxnet`` being modkit."""
    if program[:1] == ["--"]:
        program = program[1:]
    as_module = program[:1] == ["-m"]
    if as_module:
        program = program[1:]
    if not program:
        parser.error("the name of a program is missing")
    install()
    if as_module:
        sys.argv = list(program)
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        return 0
    script = Path(program[0])
    if not script.exists():
        print(f"modkit: can't open file {program[0]!r}: there is no such file", file=sys.stderr)
        return 2
    sys.argv = list(program)
    sys.path.insert(0, str(script.resolve().parent))
    runpy.run_path(program[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
