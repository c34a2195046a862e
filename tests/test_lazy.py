"""Names that are imported when they are asked for: all of them come, and few come too early."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotSupportedError
from modkit.lazy import Names
from modkit.ops.registry import OPS

ROOT = Path(__file__).resolve().parent.parent


def in_a_fresh_process(program, **variables):
    """The output of a program, which is JSON."""
    command = [sys.executable, "-W", "error", "-c", f"import json, sys\n{program}"]
    env = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


RECORDS = """
from modkit.io import recordio
import modkit as mx
with recordio.MXIndexedRecordIO(sys.argv[0] + IDX, sys.argv[0] + REC, "w") as f:
    f.write_idx(3, recordio.pack(recordio.IRHeader(0, 1.0, 3, 0), b"data"))
with mx.recordio.MXIndexedRecordIO(sys.argv[0] + IDX, sys.argv[0] + REC, "r") as f:
    header, data = recordio.unpack(f.read_idx(3))
print(json.dumps([data.decode(), sorted({m.split(".")[0] for m in sys.modules})]))
"""


def test_record_files_need_no_jax(tmp_path):
    paths = f"IDX, REC = {str(tmp_path / 'a.idx')!r}, {str(tmp_path / 'a.rec')!r}\n"
    data, modules = in_a_fresh_process(paths + "sys.argv[0] = ''" + RECORDS)
    assert data == "data"
    assert "modkit" in modules
    assert not {"jax", "jaxlib", "optax"} & set(modules)


def test_importing_the_package_imports_nothing_else():
    program = "import modkit\nprint(json.dumps([m for m in sys.modules if '.' not in m]))"
    modules = in_a_fresh_process(program)
    assert "modkit" in modules
    assert not {"jax", "jaxlib", "numpy", "optax"} & set(modules)


IMPORTED = """
import gc
import numpy as np
import modkit as mx
np.random.seed(3)
collections = []
gc.callbacks.append(lambda phase, info: collections.append(info["generation"]))
mx.mod.Module
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("modkit.")}
old = len(gc.get_objects(2)) > 100_000
drawn = np.random.randint(1000)
print(json.dumps([collections, gc.isenabled(), gc.get_freeze_count(), old, drawn, sorted(rooms)]))
"""


def test_modules_are_imported_without_collections_and_without_rooms_above_them():
    *collector, drawn, rooms = in_a_fresh_process(IMPORTED)
    assert drawn == np.random.RandomState(3).randint(1000)  # JAX draws while it is imported
    assert collector == [[], True, 0, True]
    assert {"module", "symbol", "callback"} <= set(rooms)
    assert not {"artefacts", "commands", "contrib", "image", "onnx", "predictor"} & set(rooms)


def test_the_switch_of_the_tuning_leaves_the_collector_alone():
    collections, *_ = in_a_fresh_process(IMPORTED, MODKIT_TUNING="off")
    assert collections


OF_GRAPHS = {"_foreach", "_while_loop", "_cond"}
"""Operators over graphs, which come with symbols."""


@pytest.mark.parametrize("first", ["mx.sym", "mx.nd", "mx.mod", "mx.io.NDArrayIter"])
def test_whatever_is_asked_for_first_all_operators_are_there(first):
    program = f"import modkit as mx\n{first}\nfrom modkit.ops.registry import OPS\n"
    ours = set(OPS) | OF_GRAPHS
    assert len(ours) > 300
    found = set(in_a_fresh_process(f"{program}print(json.dumps(sorted(OPS)))"))
    assert found | OF_GRAPHS == ours


LOADED = """
import modkit as mx
loaded = mx.symbol.load_json({text!r})
print(json.dumps(loaded.list_outputs()))
"""


def test_a_graph_is_loaded_by_a_process_that_has_done_nothing_before():
    text = mx.sym.Activation(mx.sym.Variable("data"), act_type="relu", name="a").tojson()
    assert in_a_fresh_process(LOADED.format(text=text)) == ["a_output"]


@pytest.mark.parametrize("package", [mx, mx.io], ids=["mx", "mx.io"])
def test_every_name_is_there_is_listed_and_can_be_imported(package):
    names = package.__all__
    assert names == sorted(set(names)) and set(names) <= set(dir(package))
    scope = {}
    exec(f"from {package.__name__} import *", scope)
    for name in names:
        assert scope[name] is getattr(package, name)
    assert not [n for n in scope if n not in names and n != "__builtins__"]


@pytest.mark.parametrize("package", [mx, mx.io], ids=["mx", "mx.io"])
def test_the_stub_names_what_is_there(package):
    path = Path(package.__file__).with_suffix(".pyi")
    scope = {}
    exec(compile(ast.parse(path.read_text()), str(path), "exec"), scope)
    assert all(scope[n] is getattr(package, n) for n in package.__all__)


def test_short_names_are_the_modules():
    assert mx.nd is mx.ndarray and mx.sym is mx.symbol and mx.mod is mx.module
    assert mx.random is mx.nd.random and mx.recordio is mx.io.recordio


def test_wrong_names_are_answered():
    with pytest.raises(AttributeError, match=r"'modkit' has no attribute 'Modul'.*'module'"):
        mx.Modul  # noqa: B018
    with pytest.raises(AttributeError, match=r"'modkit\.io' has no attribute 'NDArrayIte'.*NDA"):
        mx.io.NDArrayIte  # noqa: B018
    with pytest.raises(ImportError, match="Modul"):
        exec("from modkit import Modul", {})


@pytest.mark.parametrize("name", ["gluon", "np"])
def test_what_is_left_out_says_so(name):
    with pytest.raises(NotSupportedError, match=f"mx.{name} is not part of modkit"):
        getattr(mx, name)
    assert not hasattr(mx, name)


def test_what_is_left_out_can_be_imported_and_says_so_when_used(monkeypatch):
    for name in ("gluon", "np", "npx"):  # their imports set them
        monkeypatch.setitem(vars(mx), name, None)
        monkeypatch.delitem(vars(mx), name)
        monkeypatch.delitem(sys.modules, f"modkit.{name}", raising=False)
    found = {}
    exec("from modkit import gluon, np, npx\nfrom modkit.gluon import nn\nimport modkit.np", found)
    exec("from modkit.gluon.nn import Block\nclass Net(Block): pass", found)
    for use in ("Net()", "nn.Dense(3)", "gluon.Trainer(1)", "np.zeros(1)", "npx.relu(1)"):
        with pytest.raises(NotSupportedError, match=r"^mx\.\S+ is not part of modkit.*: \w+"):
            eval(use, found)


def test_a_name_is_looked_for_once(monkeypatch):
    names = Names("modkit.lazy", {"made_up": "modkit.errors"}, {"json": ["JSONDecoder"]}, {})
    monkeypatch.setattr(mx.lazy, "made_up", None, raising=False)
    monkeypatch.setattr(mx.lazy, "JSONDecoder", None, raising=False)
    assert names.find("made_up") is mx.errors is mx.lazy.made_up
    assert names.find("JSONDecoder") is json.JSONDecoder is mx.lazy.JSONDecoder


def test_a_name_of_a_module_that_is_there_is_found_without_a_look_at_all_objects(monkeypatch):
    """The number of frozen objects takes 50 ms in a process that has frozen half a million."""
    monkeypatch.setattr("gc.get_freeze_count", lambda: pytest.fail("frozen objects are counted"))
    monkeypatch.setattr(mx.lazy, "JSONDecoder", None, raising=False)
    assert Names("modkit.lazy", {}, {"json": ["JSONDecoder"]}).find("JSONDecoder")


@pytest.mark.parametrize("name", ["lr_scheduler", "util", "base", "log", "profiler", "operator"])
def test_modules_list_their_own_names(name):
    module = getattr(mx, name)
    names = dir(module)
    foreign = {"Any", "annotations", "logging", "math", "np", "os", "jax", "Callable", "dir_of"}
    assert not foreign & set(names)
    assert "__name__" in names
    listed = json.loads((ROOT / "tests" / "public_names.json").read_text())["names"]
    assert set(listed.get(name, ())) <= set(names)
