"""Examples are run: those in docstrings, and the Python blocks of the README and of docs/."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import modkit

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = ["modkit", *(m.name for m in pkgutil.walk_packages(modkit.__path__, "modkit."))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def doctests(name):
    """The doctests of a module, by place."""
    module = importlib.import_module(name)
    return [t for t in doctest.DocTestFinder().find(module, name) if t.examples]


def run(test):
    """Fail with everything that a doctest printed."""
    said = []
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not failed, "".join(said)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [m for m in MODULES if not m.endswith("__main__")])
def test_examples_in_docstrings(name):
    for test in doctests(name):
        run(test)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples_in_pages(page):
    """The blocks of a page are one program; blocks with prompts are doctests."""
    scope = {"__name__": page.stem}
    text = page.read_text()
    for found in BLOCK.finditer(text):
        code, line = found[1], text[: found.start()].count("\n") + 1
        if code.lstrip().startswith(">>>"):
            parsed = doctest.DocTestParser().get_doctest(code, scope, page.name, str(page), line)
            run(parsed)
        else:
            exec(compile("\n" * line + code, str(page), "exec"), scope)


def test_examples_are_found_and_can_fail():
    assert len([t for m in MODULES if "__main__" not in m for t in doctests(m)]) > 5
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    with pytest.raises(AssertionError, match="Expected"):
        run(wrong)
    assert BLOCK.findall("a\n```python\nx = 1\n```\n") == ["x = 1\n"]
