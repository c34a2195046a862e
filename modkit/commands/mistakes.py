"""A user's mistake: one line on the standard error and exit status 2, without a traceback."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable

from modkit.errors import ModkitError

Command = Callable[[Namespace], int | None]


def guarded(name: str, work: Command) -> Callable[[Namespace], int]:
    """A command that reports what is wrong with its arguments or files in one line.

    Other exceptions are mistakes of modkit's and come through.

    Args:
        name: of the command.
        work: what it does; gives an exit status, or ``None`` for 0.
    """

    def run(arguments: Namespace) -> int:
        try:
            status = work(arguments) or 0
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever read the output has seen enough; Python would complain once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (ModkitError, OSError) as error:
            complain(name, error)
            return 2
        return status

    return run


def complain(name: str, error: Exception) -> None:
    """Write an error as one line."""
    sys.stderr.write(f"modkit {name}: {' '.join(str(error).split())}\n")
