"""The command ``modkit``: runs MXNet's programs unchanged, and looks into MXNet's files."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import jax

import modkit
from modkit.commands import COMMANDS
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
    given = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="modkit", description=_ABOUT)
    version = f"modkit {modkit.__version__} (MXNet {modkit.libinfo.__version__}, "
    parser.add_argument("--version", action="version", version=f"{version}JAX {jax.__version__})")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser(
        "run",
        help="run a program that imports mxnet",
        description=_RUN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="modkit run [-h] (script.py | -m module) [arguments ...]",
    )
    for each in COMMANDS:
        each.add_parser(commands)
    # argparse would take options that are meant for the program.
    if given[:1] == ["run"] and given[1:2] not in ([], ["-h"], ["--help"]):
        return _run(given[1:])
    arguments = parser.parse_args(given)
    return _run([]) if arguments.command == "run" else arguments.work(arguments)


def _run(program: list[str]) -> int:
    """Run a script or a module as ``python`` would, with ``mxnet`` being modkit."""
    as_module = program[:1] == ["-m"]
    program = program[1:] if as_module else program
    if not program or not (as_module or Path(program[0]).exists()):
        what = f"can't find {program[0]!r}" if program else "the name of a program is missing"
        print(f"modkit run: {what}", file=sys.stderr)
        return 2
    install()
    sys.argv = list(program)
    sys.path[0] = str(Path.cwd() if as_module else Path(program[0]).resolve().parent)
    try:
        if as_module:
            runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program[0], run_name="__main__")
    except Exception as error:
        frames = _own_frames(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        return 1
    return 0


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that started the program."""
    kept = frames
    while kept and kept.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        kept = kept.tb_next
    return kept or frames


if __name__ == "__main__":
    sys.exit(main())
