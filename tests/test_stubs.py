"""The stub files are what the registry says, and have every function that the packages have."""

import ast
import inspect

import pytest

import modkit as mx
from modkit.ops.frontend import FLUENT
from tools import make_stubs


def test_stubs_are_up_to_date():
    for path, text in make_stubs.made().items():
        assert path.read_text() == text, "run: .venv/bin/python tools/make_stubs.py"


def test_stubs_have_every_method():
    tree = ast.parse((make_stubs.ROOT / "modkit" / "ops" / "methods.pyi").read_text())
    known = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    assert known == set(FLUENT) - {"split_v2"}
    assert all(hasattr(mx.nd.NDArray, n) and hasattr(mx.sym.Symbol, n) for n in FLUENT)


@pytest.mark.parametrize("module", [mx.nd, mx.sym], ids=["nd", "sym"])
def test_stubs_have_every_public_function(module):
    tree = ast.parse(
        (make_stubs.ROOT / f"{module.__name__.replace('.', '/')}/__init__.pyi").read_text()
    )
    known = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    imported = {a.asname for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    functions = {n for n, f in vars(module).items() if inspect.isfunction(f) and n[0] != "_"}
    assert functions <= known.keys() | imported
    for space in {"contrib", "linalg", "image", "sparse"} - imported:
        inside = {f.name for f in known[space].body if isinstance(f, ast.FunctionDef)}
        made = {n for n, f in vars(getattr(module, space)).items() if inspect.isfunction(f)}
        assert inside == made - {"__getattr__"}


def test_a_number_of_outputs_that_hangs_on_a_parameter_has_no_type():
    nd, sym = make_stubs.WORLDS
    ops = make_stubs.OPS
    results = {n: make_stubs.result(ops[n], nd) for n in ("relu", "SliceChannel", "moments")}
    assert results == {"relu": "NDArray", "SliceChannel": "Any", "moments": "list[NDArray]"}
    assert make_stubs.result(ops["SliceChannel"], sym) == "Symbol"
