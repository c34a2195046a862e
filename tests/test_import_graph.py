"""Imports among the files of modkit make no cycle, and docs/design.md has every room."""

import re

import pytest

from tools import import_graph

FILES = import_graph.sources(import_graph.ROOT)


@pytest.fixture(scope="module")
def imports():
    return import_graph.imports(FILES)


def test_files_import_each_other_one_way(imports):
    assert len(FILES) > 200
    assert import_graph.cycles(imports) == []
    assert import_graph.cycles(import_graph.rooms(imports)) == []


def test_the_map_has_every_room(imports):
    """In the order in which they may import each other: none imports one above it."""
    text = (import_graph.ROOT / "docs" / "design.md").read_text()
    table = re.findall(r"^\| `([\w.]+/?)` \| (.+) \|$", text, re.MULTILINE)
    order = [f"modkit.{row.removesuffix('.py').removesuffix('/')}" for row, _ in table]
    edges = import_graph.rooms(imports)
    assert sorted(order) == sorted(edges.keys() - {"modkit.__main__"})
    for row, _ in table:
        assert (import_graph.ROOT / "modkit" / row).is_dir() == row.endswith("/")
    upward = [
        f"{name} -> {target}"
        for name in order
        for target in edges[name]
        if order.index(target) < order.index(name)
    ]
    assert upward == []


@pytest.mark.parametrize(
    ("edges", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, [["a", "b", "c"]]),
        ({"a": {"b"}, "b": {"a"}, "c": {"d", "a"}, "d": {"c"}}, [["a", "b"], ["c", "d"]]),
    ],
)
def test_cycles_are_found(edges, found):
    assert import_graph.cycles(edges) == found


def test_imports_in_functions_and_for_type_checkers_count(tmp_path):
    package = tmp_path / "modkit"
    (package / "low").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "low" / "__init__.py").touch()
    (package / "low" / "inner.py").write_text("def f():\n    from modkit.high import g\n")
    (package / "high.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from modkit.low import inner\n"
    )
    edges = import_graph.imports(import_graph.sources(tmp_path))
    assert import_graph.cycles(edges) == [["modkit.high", "modkit.low.inner"]]
    assert import_graph.cycles(import_graph.rooms(edges)) == [["modkit.high", "modkit.low"]]
