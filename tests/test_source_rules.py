"""Rules about the package's text: no waits, private JAX, global settings, prints, loose ends."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "modkit"
SOURCES = {p.relative_to(PACKAGE).as_posix(): p for p in sorted(PACKAGE.rglob("*.py"))}
WAITS = {"block_until_ready", "device_get", "effects_barrier", "item", "asnumpy", "asscalar",
         "wait_to_read"}  # fmt: skip

ALLOWED = {
    # file: (what it may call, why)
    "ndarray/ndarray.py": ({"asnumpy", "asscalar", "block_until_ready"}, "the reading of an array"),
    "ndarray/creation.py": (
        {"asnumpy", "block_until_ready", "effects_barrier"}, "waitall; indices given as an array",
    ),
    "ndarray/indexing.py": ({"asnumpy"}, "an index that is an array is read on the host"),
    "operator/numpy_op.py": ({"asnumpy"}, "an operator in Python computes on the host"),
    "compat/shims/functions.py": ({"item"}, "np.asscalar, of NumPy's arrays"),
    "contrib/io.py": ({"asnumpy"}, "a last batch is filled up on the host"),
    "contrib/text/embedding.py": ({"asnumpy"}, "tables of word vectors are made on the host"),
    "ndarray/custom.py": ({"asnumpy"}, "an operator in Python gets its inputs on the host"),
    "ndarray/contrib_functions.py": ({"asnumpy"}, "the size depends on the mask"),
    "ndarray/array_format.py": ({"asnumpy"}, "arrays are written to files"),
    "ndarray/overloads.py": ({"asnumpy"}, "a histogram whose range is that of the data"),
    "metric/traced.py": ({"device_get", "item"}, "get() reads the sums"),
    "metric/regression.py": ({"item"}, "get() adds sums that are on the host"),
    "metric/base.py": ({"asnumpy"}, "metrics over NumPy arrays, as users write them"),
    "monitor.py": ({"asnumpy", "asscalar"}, "a Monitor prints numbers"),
    "profiler.py": ({"block_until_ready"}, "the time of an operator ends with its results"),
    "step/placement.py": ({"block_until_ready"}, "an operator in Python must not stall a CPU"),
    "tuning/in_flight.py": ({"block_until_ready"}, "a large step waits for the one before"),
    "kvstore/dist.py": ({"asnumpy"}, "rows of sparse arrays are indices of the host"),
    "kvstore/workers.py": ({"block_until_ready"}, "a lost worker is an error of this sum"),
    "step/replicas.py": ({"block_until_ready"}, "bounds the steps in flight on a CPU"),
    "callback/checkpoint_folder.py": ({"item"}, "a NumPy number in a state"),
    "io/image_record.py": ({"asnumpy"}, "the mean image, as it is read from its file"),
    "module/feedforward.py": ({"asnumpy"}, "predict() returns NumPy arrays; labels given as one"),
    "ndarray/control_flow.py": ({"asscalar"}, "an eager loop or branch reads its condition"),
    "initializer/base.py": ({"asnumpy"}, "a verbose initializer; arrays among its parameters"),
    "contrib/quantization/calibration.py": ({"asnumpy"}, "ranges of data, by batch"),
    "initializer/rnn.py": ({"asnumpy"}, "packs initial weights, once"),
    "ops/random/frontend.py": ({"item"}, "a NumPy number as a parameter"),
    "optimizer/states.py": ({"item"}, "states as they are read from a file"),
    "constructors.py": ({"item"}, "an array of one number as a number"),
}  # fmt: skip
ALLOWED_FOLDERS = (
    "test_utils/",  # comparing numbers is what it is for
    "onnx/",  # arrays are written to files and read from them
    "image/",  # augmenters read and write pixels on the host
)


SETS_SETTINGS = {
    "kvstore/workers.py": "for the duration of jax.distributed.initialize",
    "compat/run.py": "`modkit run --devices`, before JAX starts",
    "util.py": "mx.util.setenv",
}
"""Files that set variables of the environment or JAX's settings, and why."""


@pytest.fixture(scope="module")
def trees():
    """The parsed sources, by file."""
    return {name: ast.parse(path.read_text(), str(path)) for name, path in SOURCES.items()}


def attributes(tree):
    """Names that are looked up or called on something, docstrings and messages left out."""
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}


def imports(tree):
    """Dotted names of everything imported, and of every attribute chain."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{a.name}" for a in node.names)
        elif isinstance(node, ast.Attribute | ast.Subscript):
            yield dotted(node)


def dotted(node):
    """An expression as text, but for its indices and arguments."""
    match node:
        case ast.Attribute():
            return f"{dotted(node.value)}.{node.attr}"
        case ast.Subscript():
            return f"{dotted(node.value)}[]"
        case ast.Call():
            return f"{dotted(node.func)}()"
    return getattr(node, "id", "")


def test_nothing_waits_for_the_device_but_where_it_must(trees):
    assert "runtime.py" in SOURCES
    for name, tree in trees.items():
        if not name.startswith(ALLOWED_FOLDERS):
            allowed, _ = ALLOWED.get(name, (set(), ""))
            assert attributes(tree) & WAITS <= allowed, f"{name} waits; where it must, say why"


def test_every_leave_to_wait_is_used(trees):
    for name, (words, _) in ALLOWED.items():
        assert words <= attributes(trees[name]), name


def test_no_private_jax_and_no_global_settings(trees):
    for name, tree in trees.items():
        for found in imports(tree):
            assert not re.search(r"\bjax\._src|\bjaxlib\b", found), (name, found)
            if name not in SETS_SETTINGS:
                assert not re.match(r"jax\.config\.update|os\.environ\[", found), (name, found)


def test_operators_loop_so_that_traces_for_numpy_keep_the_loop():
    unrolled = re.compile(r"(?<![`\w])(?:jax\.)?lax\.(?:scan|map|fori_loop|while_loop)\b(?!`)")
    where = [
        f"{name}:{number}"
        for name, path in SOURCES.items()
        if name.startswith(("ops/", "symbol/")) and name != "ops/loops.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if unrolled.search(line)
    ]
    assert not where, f"use modkit.ops.loops: {where}"


def test_only_the_command_line_prints(trees):
    calls = {
        name
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    }
    assert calls <= {"cli.py", "cli/__init__.py"}


def texts():
    """Every text file that is written by hand."""
    for folder in ("modkit", "recipes", "benchmarks", "tools", "docs", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".pyi"):
                yield path
    yield from ROOT.glob("*.md")


def test_no_loose_ends_without_a_number():
    word = "TO" + "DO|FIX" + "ME|XX" + "X"
    for path in texts():
        for line in path.read_text().splitlines():
            if re.search(rf"\b({word})\b", line):
                assert re.search(rf"\b({word})\b\(#\d+\)", line), f"{path}: {line.strip()}"


IMPORT = """
import json, sys
import jax
modules, settings = set(sys.modules), dict(jax.config.values)
from modkit import *
changed = [k for k, v in jax.config.values.items() if settings.get(k) != v]
print(json.dumps({"modules": sorted(set(sys.modules) - modules), "changed": changed}))
"""


@pytest.fixture(scope="module")
def imported():
    """Effects of importing all of modkit after ``import jax``, where JAX cannot find any device."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={"PATH": "", "JAX_PLATFORMS": "none such"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_changes_no_setting_and_asks_for_no_device(imported):
    assert imported["changed"] == []


def test_importing_brings_little_but_the_package_itself(imported):
    strange = [
        name
        for name in imported["modules"]
        if name.split(".")[0] not in {"modkit", *sys.stdlib_module_names}
        and not re.match(r"jax(\._src)?\.(scipy|third_party|ad_checkpoint|experimental)\b", name)
    ]
    assert strange == []
    assert len([n for n in imported["modules"] if n.split(".")[0] != "modkit"]) < 40


WORK = """
import jax
settings = dict(jax.config.values)
import numpy as np
import modkit as mx
mx.nd.array([1], dtype="float64").asnumpy()
mx.nd.array([2**40], dtype="int64").asnumpy()
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
net = mx.sym.SoftmaxOutput(net, name="softmax")
mx.mod.Module(net).fit(mx.io.NDArrayIter(np.ones((4, 2)), np.ones(4), 2), num_epoch=1)
assert dict(jax.config.values) == settings
assert jax.numpy.arange(2.0).dtype == "float32"
"""


def test_work_leaves_the_settings_alone():
    done = subprocess.run(
        [sys.executable, "-c", WORK], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
