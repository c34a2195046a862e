"""Modules that go on from the checkpoints in `reference/continuing/`, and where they get."""

import json
from pathlib import Path

import numpy as np

import modkit as mx

FOLDER = Path(__file__).parent / "reference" / "continuing"
MANIFEST = json.loads((FOLDER / "continuing.json").read_text())
ROWS = {row["name"]: row for row in MANIFEST["rows"]}
BEFORE, SNAPSHOTS = MANIFEST["before"], MANIFEST["snapshots"]
RTOL = 1e-3


def npz(name):
    with np.load(FOLDER / f"{name}.npz") as stored:
        return dict(stored)


def settings_of(row):
    """The arguments of the optimizer of a continued training."""
    settings = {**row["params"], **row["again"]}
    if row["scheduler"] and row["keeps"] == "states":
        made = dict(row["scheduler"], base_lr=settings["learning_rate"])
        settings["lr_scheduler"] = getattr(mx.lr_scheduler, made.pop("name"))(**made)
    return settings


def loaded(row, prefix=None, epoch=BEFORE, **changes):
    """A module from the checkpoint, with the optimizer and its states."""
    batches = npz(f"batches-{row['net']}")
    module = mx.mod.Module.load(
        str(prefix or FOLDER / row["name"]),
        epoch,
        load_optimizer_states=True,
        context=[mx.cpu(i) for i in range(row["devices"])],
    )
    module.bind(
        [("data", batches["data"].shape[1:])], [("softmax_label", batches["data"].shape[1:2])]
    )
    settings = {**settings_of(row), **changes}
    module.init_optimizer(optimizer=row["optimizer"], optimizer_params=settings)
    return module


def updater_of(module):
    return module._kvstore._updater if module._update_on_kvstore else module._updater


def train(module, row, first, steps):
    """Parameters and auxiliary states at the snapshots that these steps pass, by name."""
    batches, reached = npz(f"batches-{row['net']}"), {}
    for step in range(first, first + steps):
        data, label = (
            mx.nd.array(batches[name][(BEFORE + step) % MANIFEST["batches"]])
            for name in ("data", "softmax_label")
        )
        module.forward_backward(mx.io.DataBatch([data], [label]))
        module.update()
        if step + 1 in SNAPSHOTS:
            args, auxs = module.get_params()
            for name, value in {**args, **auxs}.items():
                reached.setdefault(name, []).append(value.asnumpy())
    return {name: np.stack(values) for name, values in reached.items()}


def assert_same_path(got, want, row, steps=SNAPSHOTS):
    """Within `RTOL` of the largest move since the checkpoint, and of the value's own digits."""
    start = mx.nd.load(str(FOLDER / f"{row['name']}-{BEFORE:04d}.params"))
    start = {
        name.split(":")[1]: value.asnumpy().astype(np.float64) for name, value in start.items()
    }
    assert set(got) == set(want)
    for name, values in want.items():
        assert got[name].dtype == values.dtype
        digits = 2e-6 if values.dtype == np.float32 else np.finfo(values.dtype).eps
        for i, step in enumerate(steps):
            np.testing.assert_allclose(
                got[name][i].astype(np.float64),
                values[i].astype(np.float64),
                rtol=digits,
                atol=RTOL * np.abs(values[i] - start[name]).max(),
                err_msg=f"{name}, {step} steps after the checkpoint",
            )
