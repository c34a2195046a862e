"""Output of commands: tables, drawn by rich on a terminal, and errors of users in one line."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from modkit.errors import ModkitError

if TYPE_CHECKING:
    from modkit.artefacts import Table


def show(tables: Sequence[Table]) -> None:
    """Write tables to the standard output.

    On a terminal they are drawn by the rich package, if it is installed; elsewhere they are plain
    text with aligned columns.
    """
    if sys.stdout.isatty() and _drawn(tables):
        return
    write("\n\n".join(table.text() for table in tables))


def write(text: str) -> None:
    """Write text and a line end to the standard output."""
    sys.stdout.write(text + "\n")


def screen_width() -> int:
    """The number of characters in a line; without bound where the output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def _drawn(tables: Sequence[Table]) -> bool:
    """True if rich is installed and has drawn them."""
    try:
        from rich.console import Console
    except ImportError:
        return False
    console = Console()
    for table in tables:
        console.print(rich_table(table))
    return True


def rich_table(table: Table) -> Any:
    """The table as one of rich's, which must be installed."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    # Text, not str: rich would interpret markup in a text from a file.
    drawn = RichTable(
        title=Text(table.title, style="bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_header=bool(table.columns),
    )
    heads = table.columns or ("", "")
    for i, head in enumerate(heads):
        drawn.add_column(Text(head), justify="right" if i in table.right else "left",
                         overflow="fold")  # fmt: skip
    for row in table.rows:
        drawn.add_row(*map(Text, row))
    return drawn


Command = Callable[[Namespace], int | None]


def guarded(name: str, work: Command) -> Callable[[Namespace], int]:
    """Run a command, and report errors of its arguments or files in one line.

    Other exceptions are bugs of modkit and propagate.

    Args:
        work: the command; returns an exit status, or ``None`` for 0.
    """

    def run(arguments: Namespace) -> int:
        try:
            status = work(arguments) or 0
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has closed the pipe; without this Python reports it again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (ModkitError, OSError) as error:
            complain(name, error)
            return 2
        return status

    return run


def complain(name: str, error: Exception | str) -> None:
    """Write an error, or a note, as one line."""
    sys.stderr.write(f"modkit {name}: {' '.join(str(error).split())}\n")
