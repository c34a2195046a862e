"""Record what MXNet 1.9.1's optimizers do to three small weights, for tests/optimizer.

Run it with a Python that has MXNet:

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
    OMP_NUM_THREADS=1 python tools/record_optimizers.py
"""

import pickle
import sys
from pathlib import Path

import mxnet as mx
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "optimizer"))

import runs  # noqa: E402 - found through the line above


def main():
    """Write tests/reference/optimizers.npz and the states files."""
    figures = {}
    for run in runs.RUNS:
        name = runs.run_id(run)
        path, states = runs.play(mx, run)
        figures[name + "/path"] = path
        for i, arrays in enumerate(states):
            for j, array in enumerate(arrays):
                figures[f"{name}/state{i}.{j}"] = array
    record_states(figures)
    out = ROOT / "tests" / "reference" / "optimizers.npz"
    np.savez_compressed(str(out), **figures)
    sys.stderr.write(f"{out}: {len(figures)} arrays, {out.stat().st_size} bytes\n")


def record_states(figures):
    """Write tests/reference/optimizer_states/*.states, and what becomes of the weights."""
    folder = ROOT / "tests" / "reference" / "optimizer_states"
    folder.mkdir(exist_ok=True)
    for name, params, options in runs.SAVED:
        run = (name, dict(params, learning_rate=0.05), dict(options, rate="set"))
        updater = mx.optimizer.get_updater(runs.make(mx, run))
        dtype = options.get("dtype", "float32")
        weights = [mx.nd.array(w, dtype=dtype) for w in runs.start()]
        middle = runs.play_on(mx, run, updater, weights, range(runs.BEFORE))
        file = runs.saved_file(run)
        (folder / file).write_bytes(updater.get_states(dump_optimizer=True))
        figures[file + "/middle"] = middle
        steps = range(runs.BEFORE, runs.BEFORE + runs.AFTER)
        figures[file + "/end"] = runs.play_on(mx, run, updater, weights, steps)
    record_protocols(folder)


def record_protocols(folder):
    """Write the same states and optimizer in each way of pickling that MXNet's Pythons had."""
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)
    made = mx.optimizer.create("adam", lr_scheduler=schedule, param_idx2name={0: "fc_weight"})
    updater = mx.optimizer.get_updater(made)
    for _ in range(3):
        for key in (0, "name"):
            updater(key, mx.nd.array([[0.5, 0.25]]), mx.nd.array([[1.0, -2.0]]))
    for protocol in range(5):
        data = pickle.dumps((updater.states, updater.optimizer), protocol)
        (folder / f"adam-protocol{protocol}.states").write_bytes(data)


if __name__ == "__main__":
    main()
