"""Every optimizer against what MXNet 1.9.1 did to the same weights with the same gradients."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import runs

from modkit import lr_scheduler, nd, optimizer

MX = SimpleNamespace(lr_scheduler=lr_scheduler, nd=nd, optimizer=optimizer)
FIGURES = np.load(Path(__file__).resolve().parent.parent / "reference" / "optimizers.npz")
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "float64": 2e-6}


@pytest.mark.parametrize("run", runs.RUNS, ids=runs.run_id)
def test_same_weights_and_states_as_the_reference(run):
    path, states = runs.play(MX, run)
    name, tolerance = runs.run_id(run), TOLERANCE[run[2].get("dtype", "float32")]
    np.testing.assert_allclose(path, FIGURES[name + "/path"], rtol=tolerance, atol=tolerance)
    for i, arrays in enumerate(states):
        for j, array in enumerate(arrays):
            expected = FIGURES[f"{name}/state{i}.{j}"]
            assert array.dtype == expected.dtype
            scale = max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(
                array, expected, rtol=tolerance, atol=tolerance * scale
            )
