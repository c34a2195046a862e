"""Collect the sections ``Differs:`` of docstrings in `docs/differences.md`; a test compares.

python tools/list_differences.py            # writes the page
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import modkit
from modkit.ops.registry import OPS

ROOT = Path(modkit.__file__).parent
PAGE = ROOT.parent / "docs" / "differences.md"
HEAD = """\
# Deliberate differences from MXNet 1.9.1

Names, files and numbers are MXNet's. Where MXNet 1.9.1 is plainly defective, or a compiled program
cannot do the same, modkit differs, and the docstring has a section `Differs:`. This page lists
those sections; `python tools/list_differences.py` writes it. Names that modkit lacks are in
[missing.md](missing.md).

`modkit run` puts back names that Python and NumPy have dropped. It does not put back the syntax and
built-in functions of Python 2, nor the arithmetic of NumPy 1, for which NumPy 2 has no switch:

| program | NumPy 1 | NumPy 2 |
|---|---|---|
| `np.float32(1) + 1.5` | a float64 | a float32 |
| `np.float32(0.1) == 0.1` | False | True |
| `np.uint8(200) + 100` | 300 | 44, with a warning |
| `np.array([1], "uint8") + 300` | of uint16 | an error |
| `np.uint8(-1)`, `np.array([-1], "uint8")` | 255 | an error |
| `float(a)`, `"%f" % a` for an array of shape (1,) | a number | an error, from NumPy 2.4 on |
| `np.load(path)` of a pickled array | loads (before 1.16.3) | an error |

After an error of these kinds `modkit run` names the change that the program needs.
"""
PLACES = (
    "", "mod", "io", "nd", "nd.sparse", "nd.contrib", "sym", "sym.contrib", "metric", "optimizer",
    "initializer", "lr_scheduler", "kvstore", "rnn", "image", "callback", "operator", "autograd",
    "profiler", "model", "mon", "registry", "contrib.amp", "contrib.svrg_optimization",
    "contrib.text.embedding",
)  # fmt: skip
FAMILY = re.compile(r"^_(contrib|image|linalg|sparse|random)_")


def section(doc: str | None) -> str:
    """The text of a docstring's section ``Differs:`` in one line; empty where it has none."""
    lines = inspect.cleandoc(doc or "").splitlines()
    for at, line in enumerate(lines):
        if line.startswith("Differs:"):
            rest = [line.removeprefix("Differs:")]
            for following in lines[at + 1 :]:
                if not following.strip():
                    break
                rest.append(following)
            text = " ".join(" ".join(rest).split()).replace("``", "`")
            return text[:1].upper() + text[1:]
    if "Differs:" in (doc or ""):
        raise ValueError(f"Differs: begins no line, so that the page would lack it: {doc}")
    return ""


def operators() -> Iterator[tuple[str, str]]:
    """Operators with the section: pairs of the name under ``mx.nd`` and ``mx.sym``, and section."""
    for op in set(OPS.values()):
        text = section(op.doc)
        if text:
            yield FAMILY.sub(r"\1.", op.name).lstrip("_"), text


def defined(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Public classes and functions of a file with the section: qualified name and section."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            name = prefix + node.name
            text = section(ast.get_docstring(node))
            if text:
                yield name, text
            yield from defined(node, name + ".")


def public_name(module: str, qualified: str) -> str:
    """``mx.mod.BaseModule.fit`` for a function of a file; for a base class, its first subclass."""
    outer, _, rest = qualified.partition(".")
    thing = getattr(importlib.import_module(module), outer)
    places = []
    for place in PLACES:
        where: Any = modkit
        for part in filter(None, place.split(".")):
            where = getattr(where, part)
        if getattr(where, outer, None) is thing:
            return ".".join(filter(None, ("mx", place, outer, rest)))
        places.append((place, where))
    for place, where in places:
        for name in dir(where):
            each = getattr(where, name)
            if inspect.isclass(each) and inspect.isclass(thing) and issubclass(each, thing):
                return ".".join(filter(None, ("mx", place, name, rest)))
    raise LookupError(f"{module}.{qualified} has a section Differs: and no public name")


def rows() -> dict[str, list[tuple[str, str]]]:
    """Rows of the page by heading."""
    rest = []
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        if parts[0] != "ops":
            module = ".".join(("modkit", *parts)).removesuffix(".__init__")
            for qualified, text in defined(ast.parse(file.read_text(encoding="utf-8"))):
                rest.append((public_name(module, qualified), text))
    return {  # the operators last: `public_name` imports the files that register some of them
        "Modules, arrays, and all other classes and functions": sorted(rest, key=_name),
        "Operators": sorted(operators(), key=_name),
    }


def _name(row: tuple[str, str]) -> str:
    return row[0].lower()


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for heading, entries in rows().items():
        parts.append(f"## {heading}\n\n| name | difference |\n|---|---|")
        parts[-1] += "".join(f"\n| `{name}` | {text} |" for name, text in entries) + "\n"
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
