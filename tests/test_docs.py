"""Examples are run: those in docstrings, and the Python and shell blocks of README and docs/."""

import doctest
import fnmatch
import functools
import importlib
import inspect
import pkgutil
import re
import shlex
import shutil
import tomllib
import types
from pathlib import Path

import pytest

import modkit
from modkit.cli import main
from tools import list_differences

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
MODULES = ["modkit", *(m.name for m in pkgutil.walk_packages(modkit.__path__, "modkit."))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def doctests(name):
    """The doctests of a module, by place; ``mx`` is modkit in all of them."""
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder()
    return [t for t in finder.find(module, name, extraglobs={"mx": modkit}) if t.examples]


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


WITHOUT = {
    "BaseModule", "EvalMetric", "Initializer", "InitDesc", "Optimizer", "PythonModule",  # bases
    "Caffe", "Torch", "ccSGD", "Test",  # other names, tests
    "FusedRNN", "Monitored", "PythonLossModule", "SGLD",
}  # fmt: skip
"""Public classes without an example."""


@pytest.mark.parametrize("room", ["mod", "metric", "optimizer", "init", "mon"])
def test_every_public_class_has_an_example(room):
    classes = [c for c in vars(getattr(modkit, room)).values() if isinstance(c, type)]
    names = {"mod": "module", "init": "initializer", "mon": "monitor"}
    own = [c for c in classes if c.__module__.startswith(f"modkit.{names.get(room, room)}")]
    public = [c for c in own if not c.__name__.startswith("_") and c.__name__ not in WITHOUT]
    assert public
    assert not [c.__name__ for c in public if ">>>" not in (c.__doc__ or "")]


def undocumented(name):
    """Public methods of a module's public classes for which ``help`` has no text."""
    kinds = types.FunctionType | property | functools.cached_property | classmethod | staticmethod
    for klass in vars(importlib.import_module(name)).values():
        if not isinstance(klass, type) or klass.__module__ != name or klass.__name__[0] == "_":
            continue
        for method, value in vars(klass).items():
            own = method == getattr(value, "__name__", method)  # not a function as a default
            public = isinstance(value, kinds) and own and method[0] != "_"
            if public and not inspect.getdoc(getattr(klass, method)):
                yield f"{klass.__name__}.{method}"


@pytest.mark.parametrize("name", [m for m in MODULES if not m.endswith("__main__")])
def test_every_public_method_is_documented_or_overrides_one_that_is(name):
    assert not list(undocumented(name))


def run_page(page):
    """Run the blocks of a page as one program and return its variables.

    Blocks with prompts are doctests, and shell blocks commands of modkit's.
    """
    scope = {"__name__": page.stem}
    text = page.read_text()
    for found in BLOCK.finditer(text):
        code, line = found[2], text[: found.start()].count("\n") + 1
        if found[1] == "sh":
            for command in code.splitlines():
                program, *words = shlex.split(command)
                assert (program, main(words)) == ("modkit", 0), command
        elif code.lstrip().startswith(">>>"):
            parsed = doctest.DocTestParser().get_doctest(code, scope, page.name, str(page), line)
            run(parsed)
        else:
            exec(compile("\n" * line + code, str(page), "exec"), scope)
    return scope


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_examples_in_pages(page):
    run_page(page)


def test_examples_in_the_readme(tmp_path, capsys, caplog):
    """The figures of both trainings hold; the layers below the new head stay as they were."""
    pytest.importorskip("sklearn", reason="needs scikit-learn (pip install '.[recipes]')")
    shutil.copytree(ROOT / "recipes" / "pretrained", tmp_path / "recipes" / "pretrained")
    caplog.set_level("INFO")
    scope = run_page(README)
    said = capsys.readouterr().out
    for words in ("format      MXNet 1.9.1", "arg:conv1_weight", "conv2(Convolution)",
                  "softmax_output\n  sample", "Ranked(class_id=0", "'relu3_output'"):  # fmt: skip
        assert words in said
    text = README.read_text()
    stated = [
        float(re.search(pattern, text)[1])
        for pattern in (r"`\[\('accuracy', ([\d.]+)\)\]`", r"# about ([\d.]+)")
    ]
    printed = re.findall(r"^\[\('accuracy', ([\d.]+)\)\]$", said, re.MULTILINE)
    first = re.compile(r"Epoch\[0\] Train-accuracy=([\d.]+)")
    logged, quoted = (float(first.search(each)[1]) for each in (caplog.text, text))
    assert logged == pytest.approx(quoted, abs=0.01)
    assert min(stated) > 0.9
    assert [float(score) for score in printed] == pytest.approx(stated, abs=0.03)
    ignored = (ROOT / ".gitignore").read_text().split()
    for made in {f"/{p.name}" for p in tmp_path.iterdir()} - {"/recipes"}:
        assert any(fnmatch.fnmatch(made, pattern) for pattern in ignored), made
    old, lower = scope["args"], scope["lower"]
    net, tuned, _ = modkit.model.load_checkpoint("holes", 3)
    assert tuned["new_weight"].shape == (2, 64) and "fc2_weight" not in tuned
    same = [n for n in old if n in tuned and (old[n].asnumpy() == tuned[n].asnumpy()).all()]
    assert same == lower and len(lower) == 4
    assert net.attr_dict()["new_weight"]["__lr_mult__"] == "10"


def test_the_readme_lists_what_is_there():
    """Every recipe, iterator and extra, and files that exist."""
    text = README.read_text()
    recipes = {str(p.relative_to(ROOT)) for p in (ROOT / "recipes").rglob("*.py")}
    for path in recipes - {"recipes/command.py", "recipes/digits.py", "recipes/pictures.py"}:
        assert f"[`{path}`]({path})" in text
    bases = {"DataIter", "MXDataIter"}
    for name in {n for n in modkit.io.__all__ if n.endswith("Iter")} - bases:
        assert name in text, name
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in set(extras["optional-dependencies"]) - {"dev", "fuzz"}:
        assert f"| `{extra}` |" in text
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_page_of_differences_lists_the_docstrings():
    assert (ROOT / "docs" / "differences.md").read_text() == list_differences.page(), (
        "python tools/list_differences.py writes the page"
    )


def test_examples_are_found_and_can_fail():
    assert len([t for m in MODULES if "__main__" not in m for t in doctests(m)]) > 5
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    with pytest.raises(AssertionError, match="Expected"):
        run(wrong)
    assert BLOCK.findall("a\n```python\nx = 1\n```\n") == [("python", "x = 1\n")]
