"""Training goes on from MXNet 1.9.1's checkpoints as MXNet itself goes on.

`tools/record_continuing.py` made checkpoints after 20 steps and recorded the 50 steps that follow;
`reference/continuing/continuing.json` holds the rows.
"""

from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.optimizer.states import loads
from tests.continuing import (
    BEFORE,
    FOLDER,
    ROWS,
    RTOL,
    SNAPSHOTS,
    assert_same_path,
    loaded,
    npz,
    train,
    updater_of,
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
    module = loaded(row)
    got = train(module, row, 0, SNAPSHOTS[-1])
    assert_same_path(got, npz(f"{name}-reached"), row)
    assert module._update_on_kvstore is row["on_kvstore"]
    optimizer = updater_of(module).optimizer
    assert optimizer.learning_rate == pytest.approx(row["learning_rate"], rel=1e-6)
    assert optimizer.num_update == row["num_update"]
    assert sorted(set(optimizer._index_update_count.values())) == row["counts"]
    after = (FOLDER / f"{name}-after.states").read_bytes()
    _assert_same_states(loads(updater_of(module).get_states()), loads(after))


@pytest.mark.parametrize("name", ["sgd_momentum", "adam", "rmsprop", "sgd_float16", "kvstore"])
def test_our_own_checkpoint_in_between_changes_nothing(name, tmp_path):
    """Ten steps, a checkpoint of ours, and on from that: MXNet's path still."""
    row, prefix = ROWS[name], str(tmp_path / "x")
    module = loaded(row)
    first = train(module, row, 0, 10)
    module.save_checkpoint(prefix, 7, save_optimizer_states=True)
    module = loaded(row, prefix, 7, begin_num_update=BEFORE + 10)
    second = train(module, row, 10, SNAPSHOTS[-1] - 10)
    got = {key: np.concatenate([first[key], second[key]]) for key in first}
    assert_same_path(got, npz(f"{name}-reached"), row)


@pytest.mark.parametrize("name", ["kvstore_optimizer", "updater_optimizer"])
def test_an_optimizer_in_the_file_replaces_the_modules(name):
    """Its rate, schedule and counts are those that count, at the first step already."""
    row = ROWS[name]
    optimizer = updater_of(loaded(row)).optimizer
    assert optimizer.num_update == BEFORE
    assert set(optimizer._index_update_count.values()) == {BEFORE}
    assert optimizer.lr_scheduler.base_lr != row["again"]["learning_rate"]


@pytest.mark.parametrize(
    ("name", "other"), [("sgd_momentum", "sgd_forgetful"), ("adam", "adam_forgetful")]
)
def test_the_tolerance_tells_forgotten_counts_apart(name, other):
    """The comparison must be able to fail: without the counts the path is another one."""
    row = ROWS[name]
    got = train(loaded(row, begin_num_update=0), row, 0, SNAPSHOTS[-1])
    with pytest.raises(AssertionError, match="after the checkpoint"):
        assert_same_path(got, npz(f"{name}-reached"), row)
    assert ROWS[other]["again"] == {}


def test_states_of_another_optimizer_are_refused(tmp_path):
    """Momentum in place of Adam's two moments is a mistake, not something to train on with."""
    row, prefix = ROWS["adam_forgetful"], tmp_path / "x"
    for ending in ("-symbol.json", f"-{BEFORE:04d}.params"):
        Path(f"{prefix}{ending}").write_bytes((FOLDER / f"adam_forgetful{ending}").read_bytes())
    states = (FOLDER / f"sgd_forgetful-{BEFORE:04d}.states").read_bytes()
    Path(f"{prefix}-{BEFORE:04d}.states").write_bytes(states)
    with pytest.raises(mx.MXNetError, match="state"):
        train(loaded(row, prefix), row, 0, 1)
