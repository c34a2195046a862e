"""What commands write: tables, drawn by rich on a terminal, plain text elsewhere."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

from modkit.artefacts import Table


def show(tables: Sequence[Table]) -> None:
    """Write tables to the standard output.

    On a terminal they are drawn by the rich package, where that is installed. Elsewhere they are
    plain text with columns in line, for other programs to read.
    """
    if sys.stdout.isatty() and _drawn(tables):
        return
    write("\n\n".join(table.text() for table in tables))


def write(text: str) -> None:
    """Write text and a line end to the standard output."""
    sys.stdout.write(text + "\n")


def screen_width() -> int:
    """How many characters fit into a line; no end of them where the output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize


def _drawn(tables: Sequence[Table]) -> bool:
    """Whether rich is there and has drawn them."""
    try:
        from rich.console import Console
    except ImportError:
        return False
    console = Console()
    for table in tables:
        console.print(_rich(table))
    return True


def _rich(table: Table) -> Any:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    # Text, not str: what comes from a file must not be read as rich's markup.
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
