"""The import graph of modkit: its rooms, their sizes, and the cycles among them.

    .venv/bin/python tools/import_graph.py [FOLDER]

A room is a folder or a file directly below ``modkit/``. Imports inside functions and imports for
type checkers count too, but for ``SANCTIONED``. FOLDER holds another copy of ``modkit/``, such as
that of an earlier commit.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SANCTIONED = {("modkit.symbol.symbol", "modkit.executor")}
"""``Symbol.bind`` and ``simple_bind`` make an executor, which stands above symbols."""

Edges = Mapping[str, set[str]]


def sources(folder: Path) -> dict[str, Path]:
    """The files of the package by their dotted names."""
    found = {}
    for path in sorted((folder / "modkit").rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """The files of the package that each of its files imports."""
    edges: dict[str, set[str]] = {}
    for name, path in files.items():
        wanted = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                wanted |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{a.name}" for a in node.names}
                wanted |= {x if x in files else node.module for x in inner}
        edges[name] = {x for x in wanted & files.keys() if (name, x) not in SANCTIONED} - {name}
    return edges


def room(name: str) -> str:
    """The folder or file below ``modkit/`` that a file belongs to."""
    return ".".join(name.split(".")[:2])


def rooms(edges: Edges) -> dict[str, set[str]]:
    """The rooms that each room imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, targets in edges.items():
        found[room(name)] |= {room(x) for x in targets} - {room(name), "modkit"}
    found.pop("modkit", None)
    return dict(found)


def cycles(edges: Edges) -> list[list[str]]:
    """The sets of more than one node that reach each other, largest first."""
    reached = {node: _reachable(edges, node) for node in edges}
    found = {
        tuple(sorted(other for other in reached[node] if node in reached.get(other, ())))
        for node in edges
        if node in reached[node]
    }
    return sorted(map(list, found), key=lambda nodes: (-len(nodes), nodes))


def _reachable(edges: Edges, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = edges.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def room_lines(files: Mapping[str, Path]) -> Counter[str]:
    """Lines of Python by room."""
    counts: Counter[str] = Counter()
    for name, path in files.items():
        counts[room(name)] += len(path.read_text().splitlines())
    return counts


def main(folders: Iterable[str]) -> int:
    """Print the figures; 1 if there is a cycle."""
    files = sources(Path(next(iter(folders), ROOT)))
    edges = imports(files)
    counts = room_lines(files)
    (largest, lines), total = counts.most_common(1)[0], counts.total()
    print(f"{len(rooms(edges))} rooms, {len(files)} files, {total} lines")
    print(f"largest room: {largest}, {lines} lines, {lines / total:.0%}")
    by_kind = {"rooms": cycles(rooms(edges)), "files": cycles(edges)}
    for kind, found in by_kind.items():
        print(f"cycles of {kind}: {len(found)}")
        for each in found:
            print("   ", " ".join(each))
    return 1 if any(by_kind.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
