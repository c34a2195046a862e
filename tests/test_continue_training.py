"""Training goes on from MXNet 1.9.1's checkpoints as MXNet itself goes on.

`tools/record_continuing.py` made checkpoints after 20 steps and recorded the 50 steps that follow;
`reference/continuing/continuing.json` holds the rows.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.optimizer.states import loads

FOLDER = Path(__file__).parent / "reference" / "continuing"
MANIFEST = json.loads((FOLDER / "continuing.json").read_text())
ROWS = {row["name"]: row for row in MANIFEST["rows"]}
BEFORE, SNAPSHOTS = MANIFEST["before"], MANIFEST["snapshots"]
RTOL = 1e-3


def _npz(name):
    with np.load(FOLDER / f"{name}.npz") as stored:
        return dict(stored)


def _settings(row):
    """What the optimizer is made with, going on."""
    settings = {**row["params"], **row["again"]}
    if row["scheduler"] and row["keeps"] == "states":
        made = dict(row["scheduler"], base_lr=settings["learning_rate"])
        settings["lr_scheduler"] = getattr(mx.lr_scheduler, made.pop("name"))(**made)
    return settings


def _loaded(row, prefix=None, epoch=BEFORE, **changes):
    """A module from the checkpoint, with the optimizer and its states."""
    batches = _npz(f"batches-{row['net']}")
    module = mx.mod.Module.load(
        str(prefix or FOLDER / row["name"]),
        epoch,
        load_optimizer_states=True,
        context=[mx.cpu(i) for i in range(row["devices"])],
    )
    module.bind(
        [("data", batches["data"].shape[1:])], [("softmax_label", batches["data"].shape[1:2])]
    )
    settings = {**_settings(row), **changes}
    module.init_optimizer(optimizer=row["optimizer"], optimizer_params=settings)
    return module


def _updater(module):
    return module._kvstore._updater if module._update_on_kvstore else module._updater


def _train(module, row, first, steps):
    """Parameters and auxiliary states at the snapshots that these steps pass, by name."""
    batches, reached = _npz(f"batches-{row['net']}"), {}
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


def _assert_same_path(got, want, row):
    """Within `RTOL` of the largest move since the checkpoint, and of the value's own digits."""
    start = mx.nd.load(str(FOLDER / f"{row['name']}-{BEFORE:04d}.params"))
    start = {
        name.split(":")[1]: value.asnumpy().astype(np.float64) for name, value in start.items()
    }
    assert set(got) == set(want)
    for name, values in want.items():
        assert got[name].dtype == values.dtype
        digits = 2e-6 if values.dtype == np.float32 else np.finfo(values.dtype).eps
        for i, step in enumerate(SNAPSHOTS):
            np.testing.assert_allclose(
                got[name][i].astype(np.float64),
                values[i].astype(np.float64),
                rtol=digits,
                atol=RTOL * np.abs(values[i] - start[name]).max(),
                err_msg=f"{name}, {step} steps after the checkpoint",
            )


def _arrays(states):
    """The arrays of optimizer states, by index and place."""
    found = {}
    for index, state in states.items():
        parts = [state]
        while parts:
            part = parts.pop(0)
            if isinstance(part, list | tuple):
                parts = [*part, *parts]
            elif part is not None:
                found[index, len([k for k in found if k[0] == index])] = part.asnumpy()
    return found


def _assert_same_states(got, want):
    """The same layout, types and, within tolerance, numbers."""
    got, want = _arrays(got), _arrays(want)
    assert {k: (v.shape, v.dtype) for k, v in got.items()} == {
        k: (v.shape, v.dtype) for k, v in want.items()
    }
    for key, value in want.items():
        np.testing.assert_allclose(
            got[key], value, rtol=RTOL, atol=5 * RTOL * np.abs(value).max(), err_msg=str(key)
        )


@pytest.mark.parametrize("name", list(ROWS))
def test_training_goes_on(name):
    row = ROWS[name]
    module = _loaded(row)
    got = _train(module, row, 0, SNAPSHOTS[-1])
    _assert_same_path(got, _npz(f"{name}-reached"), row)
    assert module._update_on_kvstore is row["on_kvstore"]
    optimizer = _updater(module).optimizer
    assert optimizer.learning_rate == pytest.approx(row["learning_rate"], rel=1e-6)
    assert optimizer.num_update == row["num_update"]
    assert sorted(set(optimizer._index_update_count.values())) == row["counts"]
    after = (FOLDER / f"{name}-after.states").read_bytes()
    _assert_same_states(loads(_updater(module).get_states()), loads(after))


@pytest.mark.parametrize("name", ["sgd_momentum", "adam", "rmsprop", "sgd_float16", "kvstore"])
def test_our_own_checkpoint_in_between_changes_nothing(name, tmp_path):
    """Ten steps, a checkpoint of ours, and on from that: MXNet's path still."""
    row, prefix = ROWS[name], str(tmp_path / "x")
    module = _loaded(row)
    first = _train(module, row, 0, 10)
    module.save_checkpoint(prefix, 7, save_optimizer_states=True)
    module = _loaded(row, prefix, 7, begin_num_update=BEFORE + 10)
    second = _train(module, row, 10, SNAPSHOTS[-1] - 10)
    got = {key: np.concatenate([first[key], second[key]]) for key in first}
    _assert_same_path(got, _npz(f"{name}-reached"), row)


@pytest.mark.parametrize("name", ["kvstore_optimizer", "updater_optimizer"])
def test_an_optimizer_in_the_file_replaces_the_modules(name):
    """Its rate, schedule and counts are those that count, at the first step already."""
    row = ROWS[name]
    optimizer = _updater(_loaded(row)).optimizer
    assert optimizer.num_update == BEFORE
    assert set(optimizer._index_update_count.values()) == {BEFORE}
    assert optimizer.lr_scheduler.base_lr != row["again"]["learning_rate"]


@pytest.mark.parametrize(
    ("name", "other"), [("sgd_momentum", "sgd_forgetful"), ("adam", "adam_forgetful")]
)
def test_the_tolerance_tells_forgotten_counts_apart(name, other):
    """The comparison must be able to fail: without the counts the path is another one."""
    row = ROWS[name]
    got = _train(_loaded(row, begin_num_update=0), row, 0, SNAPSHOTS[-1])
    with pytest.raises(AssertionError, match="after the checkpoint"):
        _assert_same_path(got, _npz(f"{name}-reached"), row)
    assert ROWS[other]["again"] == {}


def test_states_of_another_optimizer_are_refused(tmp_path):
    """Momentum in place of Adam's two moments is a mistake, not something to train on with."""
    row, prefix = ROWS["adam_forgetful"], tmp_path / "x"
    for ending in ("-symbol.json", f"-{BEFORE:04d}.params"):
        Path(f"{prefix}{ending}").write_bytes((FOLDER / f"adam_forgetful{ending}").read_bytes())
    states = (FOLDER / f"sgd_forgetful-{BEFORE:04d}.states").read_bytes()
    Path(f"{prefix}-{BEFORE:04d}.states").write_bytes(states)
    with pytest.raises(mx.MXNetError, match="state"):
        _train(_loaded(row, prefix), row, 0, 1)
