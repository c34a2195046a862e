"""Tables of texts and numbers, formatted as plain text."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A heading, columns and rows.

    Attributes:
        rows: texts, one for each column.
        columns: headings; empty for a table of two columns without headings.
        right: indices of the right-aligned columns: numbers.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...] = ()
    right: frozenset[int] = frozenset()

    def text(self) -> str:
        """The table with its columns in line, two spaces apart.

        >>> rows = ("a", "1"), ("bc", "20")
        >>> print(Table("sizes", rows, ("name", "size"), frozenset({1})).text())
        sizes
          name  size
          a        1
          bc      20
        """
        lines = [*([self.columns] if self.columns else []), *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self.title, *(self._line(line, widths) for line in lines)])

    def _line(self, texts: Sequence[str], widths: Sequence[int]) -> str:
        cells = (
            text.rjust(width) if i in self.right else text.ljust(width)
            for i, (text, width) in enumerate(zip(texts, widths, strict=True))
        )
        return ("  " + "  ".join(cells)).rstrip()


def pairs(title: str, facts: Iterable[tuple[str, object]]) -> Table:
    """A table of names and values; values that are ``None`` or empty are left out.

    >>> print(pairs("net", [("nodes", 12), ("missing", None)]).text())
    net
      nodes  12
    """
    rows = [(name, str(value)) for name, value in facts if value is not None and value != ""]
    return Table(title, tuple(rows))


def operator_table(uses: Mapping[str, int], missing: Container[str], column: str) -> Table:
    """A table of operators with the numbers of their uses.

    Args:
        missing: operators with "no" in another column, which is left out without any.
    """
    rows = tuple((n, str(count), "no" if n in missing else "") for n, count in uses.items())
    columns = ("operator", "uses", column)
    if not any(row[2] for row in rows):
        rows, columns = tuple(row[:2] for row in rows), columns[:2]
    return Table("operators", rows, columns, frozenset({1}))


def bytes_text(size_bytes: float) -> str:
    """A size in bytes with a suitable unit.

    >>> bytes_text(12), bytes_text(3 * 2**20)
    ('12 B', '3.00 MiB')
    """
    if size_bytes < 1024:
        return f"{size_bytes:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        size_bytes /= 1024
        if size_bytes < 1024:
            return f"{size_bytes:.2f} {unit}"
    return f"{size_bytes / 1024:.2f} TiB"
