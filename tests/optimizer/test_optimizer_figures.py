"""Every optimizer against what MXNet 1.9.1 did to the same weights with the same gradients."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import runs

import modkit.ndarray as nd
from modkit import lr_scheduler, optimizer

MX = SimpleNamespace(lr_scheduler=lr_scheduler, nd=nd, optimizer=optimizer)
REFERENCE = Path(__file__).resolve().parent.parent / "reference"
FIGURES = np.load(REFERENCE / "optimizers.npz")
TOLERANCE = {"float16": 2e-3, "float32": 2e-5, "float64": 2e-6}
NOT_IN_RUNS = {
    "_assignmentoptimizer": "see test_behaviour",
    "_svrgoptimizer": "see test_behaviour",
    "sgld": "random",
    "optaxoptimizer": "not MXNet's",
}


@pytest.mark.filterwarnings("ignore:.*got a float16 weight")
@pytest.mark.parametrize("run", runs.RUNS, ids=runs.run_id)
def test_same_weights_and_states_as_the_reference(run):
    path, states = runs.play(MX, run)
    name, tolerance = runs.run_id(run), TOLERANCE[run[2].get("dtype", "float32")]
    assert path.dtype == FIGURES[name + "/path"].dtype
    np.testing.assert_allclose(path, FIGURES[name + "/path"], rtol=tolerance, atol=tolerance)
    for i, arrays in enumerate(states):
        expected = [FIGURES[k] for k in sorted(FIGURES) if k.startswith(f"{name}/state{i}.")]
        assert len(arrays) == len(expected)
        for array, figure in zip(arrays, expected, strict=True):
            assert array.dtype == figure.dtype
            scale = max(1.0, float(np.abs(figure).max()))
            np.testing.assert_allclose(array, figure, rtol=tolerance, atol=tolerance * scale)


def test_every_optimizer_has_a_run():
    registered = {
        name
        for name, klass in optimizer.Optimizer.opt_registry.items()
        if klass.__module__.startswith("modkit.")
    }
    assert registered == {run[0] for run in runs.RUNS} | (set(NOT_IN_RUNS) & registered)


@pytest.mark.parametrize("run", runs.SAVED, ids=runs.saved_file)
def test_training_goes_on_from_states_that_mxnet_saved(run):
    file = runs.saved_file(run)
    updater = optimizer.get_updater(optimizer.create("test"))
    updater.set_states((REFERENCE / "optimizer_states" / file).read_bytes())
    assert type(updater.optimizer).__name__.lower() == run[0]
    weights, at = [], 0
    for begun in runs.start():
        part = FIGURES[file + "/middle"][at : at + begun.size].reshape(begun.shape)
        weights.append(nd.array(part, dtype=part.dtype))
        at += begun.size
    end = runs.play_on(MX, run, updater, weights, range(runs.BEFORE, runs.BEFORE + runs.AFTER))
    tolerance = TOLERANCE[run[2].get("dtype", "float32")]
    np.testing.assert_allclose(end, FIGURES[file + "/end"], rtol=tolerance, atol=tolerance)
