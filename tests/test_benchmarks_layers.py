"""The benchmark of single layers: what it runs, compares and writes, not how fast anything is."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from benchmarks import layers, report
from benchmarks.detection_work import ROWS as DETECTION
from benchmarks.detection_work import SIDES
from benchmarks.layers_work import ROWS, Held, Row, generator, layer

ROOT = Path(__file__).parents[1]
MACHINE = {"processor": "p", "cores": 2, "gpu": None, "jax": "0", "date": "2026-01-02"}


def kept_row(apart=None, failed=None, **ms):
    """A row of the results: milliseconds by library."""
    return {"machine": MACHINE, "ms": ms, "disagreement": apart, "failed": failed or {}}


@pytest.mark.parametrize("name", ROWS)
def test_each_row_is_a_symbol_whose_shapes_follow(name):
    row = ROWS[name]
    symbol = row.symbol(mx.sym)
    arguments, outputs, _ = symbol.infer_shape(**row.shapes)
    assert set(row.whole) <= set(row.shapes) <= set(symbol.list_arguments())
    assert set(symbol.list_arguments()) > set(row.whole)  # something has a gradient
    for shape in (*arguments, *outputs):
        assert shape and math.prod(shape) > 0
    for each in row.whole:
        drawn = row.draw(each, row.shapes[each])
        assert drawn.dtype == np.float32 and (drawn == np.round(drawn)).all()


@pytest.mark.parametrize("row", DETECTION, ids=lambda row: row.title)
def test_rows_of_detection_have_shapes_and_boxes(row):
    symbol = row.symbol(mx.sym)
    arguments, outputs, _ = symbol.infer_shape(**row.shapes)
    assert set(row.shapes) == set(symbol.list_arguments())
    assert all(math.prod(shape) > 0 for shape in (*arguments, *outputs))
    for name in SIDES.keys() & row.shapes.keys():
        left, top, right, bottom = np.moveaxis(row.draw(name, row.shapes[name])[..., -4:], -1, 0)
        assert (left <= right).all() and (top <= bottom).all() and right.max() > left.max()


def test_a_step_without_a_backward_pass(tmp_path):
    held = Held(mx, Row("relu", layer("relu"), {"data": (2, 3)}, trained=False))
    held.answer({"keep": str(tmp_path / "kept.npz")})
    with np.load(tmp_path / "kept.npz") as kept:
        assert set(kept) == {"output 0"}


def test_a_step_goes_forward_and_backward(tmp_path):
    shapes, size = {"a": (4, 2), "indices": (3,)}, (0, 4)
    row = Row("take", layer("take"), shapes, {"indices": size})
    held = Held(mx, row)
    assert held.answer({"run": 2})["ms"] > 0
    assert held.answer({"keep": str(tmp_path / "kept.npz")}) == {}
    a, indices = row.draw("a", (4, 2)), row.draw("indices", (3,)).astype(int)
    gradient = np.zeros_like(a)
    np.add.at(gradient, indices, generator("head0").standard_normal((3, 2)).astype(np.float32))
    with np.load(tmp_path / "kept.npz") as kept:
        assert set(kept) == {"output 0", "gradient of a"}
        np.testing.assert_array_equal(kept["output 0"], a[indices])
        np.testing.assert_allclose(kept["gradient of a"], gradient, rtol=1e-6)


def test_the_command_keeps_other_rows(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("above\n{}\nold\n{}\nbelow\n".format(*report.marks("layers")))
    earlier = {"machine": MACHINE, "rows": {"gru": kept_row(modkit=[2.0], mxnet=[3.0])}}
    (tmp_path / "layers.json").write_text(json.dumps(earlier))
    command = [sys.executable, "-m", "benchmarks.layers", "sequence_mask", "--rounds", "2"]
    ran = subprocess.run(
        [*command, "--results", str(tmp_path), "--readme", str(readme)],
        cwd=ROOT,
        env={**os.environ, "MODKIT_REFERENCE": "/no/python"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "only modkit's times: /no/python has no mxnet" in ran.stdout
    rows = json.loads((tmp_path / "layers.json").read_text())["rows"]
    assert rows["gru"] == earlier["rows"]["gru"]
    assert rows["sequence_mask"]["failed"] == {}
    assert len(rows["sequence_mask"]["ms"]["modkit"]) == 2
    assert rows["sequence_mask"]["steps"]["modkit"] >= 1
    page = readme.read_text()
    assert page.startswith("above\n") and page.endswith("below\n") and "old" not in page
    assert "| 2 GRU | 35x32x200 | 2 | 3 | 1.50 | 2026-01-02 |" in page
    assert "| SequenceMask | 35x32x200 |" in page


def test_an_unknown_layer_is_refused(capsys):
    with pytest.raises(SystemExit):
        layers.main(["relu", "elephant"])
    assert "not known: elephant; there are depthwise_3x3_56" in capsys.readouterr().err


def test_a_library_that_fails_or_is_slow_is_reported(tmp_path):
    nothing = tmp_path / "python"
    nothing.write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n")
    nothing.chmod(0o755)
    row = layers.measure("take", {"modkit": str(nothing)}, 1)
    assert row["failed"] == {"modkit": "it is broken"} and row["ms"] == {}
    nothing.write_text("#!/bin/sh\nexec sleep 60\n")
    row = layers.measure("take", {"mxnet": str(nothing)}, 1, limit_s=0.1)
    assert layers.remarks(row) == "MXNet: took longer than 0.1 s"


@pytest.mark.reference
def test_both_libraries_compute_the_same():
    reference = os.environ.get("MODKIT_REFERENCE")
    if not reference:
        pytest.skip("needs MXNet 1.9.1: set MODKIT_REFERENCE to a python that has it")
    row = layers.measure("take", {"modkit": sys.executable, "mxnet": reference}, 1)
    assert row["failed"] == {}
    assert row["disagreement"] < 1e-5
    assert layers.ratio(row) == row["ms"]["mxnet"][0] / row["ms"]["modkit"][0]


def test_the_table_begins_where_modkit_is_slowest():
    rows = {
        "relu": kept_row(0.0, modkit=[1.0, 2, 4], mxnet=[2.0, 6, 40]),  # of 2, 3 and 10
        "tanh": kept_row(0.25, modkit=[4.0], mxnet=[2.0]),
        "lrn": kept_row(failed={"mxnet": "a | b"}, modkit=[1.0]),
    }
    assert [line.split(" | ", 2)[0] for line in layers.page(rows).splitlines()[4:]] == [
        "| tanh", "| ReLU", "| LRN"
    ]  # fmt: skip
    assert "| 2 | 6 | 3.00 | 2026-01-02 |  |" in layers.page(rows)
    assert "| 0.50 | 2026-01-02 | results are 0.25 apart |" in layers.page(rows)
    assert "| 1 | – | – | 2026-01-02 | MXNet: a \\| b |" in layers.page(rows)


def test_distance_is_relative_and_the_greatest():
    theirs = {"a": np.array([3.0, 4]), "b": np.zeros(2)}
    assert layers.distance(theirs, theirs) == 0
    assert layers.distance({**theirs, "a": np.array([3.0, 4.5])}, theirs) == pytest.approx(0.1)
    assert layers.distance({**theirs, "a": np.zeros(3)}, theirs) == math.inf
    assert layers.distance({"b": np.zeros(2)}, theirs) == math.inf
    assert layers.distance({**theirs, "b": np.ones(2)}, theirs, drawn=True) is None
    nan = layers.distance({**theirs, "b": np.array([np.nan, 0])}, theirs)
    assert not nan < layers.TOLERANCE
