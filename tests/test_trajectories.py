"""Training by every optimizer passes through the parameters that MXNet 1.9.1 passed through.

`tools/record_trajectories.py` made the figures; `reference/trajectories.json` holds the rows.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import modkit as mx

REFERENCE = Path(__file__).parent / "reference"
MANIFEST = json.loads((REFERENCE / "trajectories.json").read_text())
RTOL = 1e-3
QUICK = {"mlp", "mlp_multipliers"}
QUICK_ROWS = {("sgd_momentum", "lenet"), ("two_devices", "lenet"), ("adam", "lstm")}

DEFECTS = {
    "lbsgd": "MXNet keeps the first gradient by reference, and adds the second batch's twice",
}


def _parameters():
    """Every row; those on larger nets are slow, but for three."""
    for row in MANIFEST["rows"]:
        quick = row["net"] in QUICK or (row["name"], row["net"]) in QUICK_ROWS
        marks = [] if quick else [pytest.mark.slow]
        if row["name"] in DEFECTS:
            marks.append(pytest.mark.xfail(reason=DEFECTS[row["name"]], strict=True))
        yield pytest.param(row, id=f"{row['name']}-{row['net']}", marks=marks)


def _find(name, net):
    (row,) = (r for r in MANIFEST["rows"] if (r["name"], r["net"]) == (name, net))
    return row


def _load(path, prefix):
    """The arrays of an npz file whose names begin with the prefix, without it."""
    with np.load(path) as stored:
        return {key[len(prefix) :]: stored[key] for key in stored if key.startswith(prefix)}


def _start(net, kind):
    """The initial values of a net: its `batch`, `arg` or `aux` arrays."""
    return _load(REFERENCE / "trajectories" / f"{net}-start.npz", f"{kind}:")


def _reached(row):
    """The values of the reference at the row's snapshots, by name."""
    path = REFERENCE / "trajectories" / f"{row['net']}-reached.npz"
    return _load(path, f"{row['name']}/")


def _optimizer_params(row):
    params = dict(row["optimizer_params"])
    if row["lr_scheduler"]:
        settings = dict(row["lr_scheduler"], base_lr=params["learning_rate"])
        params["lr_scheduler"] = getattr(mx.lr_scheduler, settings.pop("name"))(**settings)
    return params


def _module(row):
    """The row's module, bound, at its starting values, with its optimizer."""
    net, batches = row["net"], _start(row["net"], "batch")
    data_names, label_names = MANIFEST["data_names"][net], ["softmax_label"]
    context = [mx.cpu(i) for i in range(row["devices"])] if row["devices"] > 1 else mx.cpu()
    module = mx.mod.Module(
        mx.sym.load(str(REFERENCE / "trajectories" / f"{net}-symbol.json")),
        data_names=data_names,
        label_names=label_names,
        context=context,
    )
    module.bind(
        data_shapes=[(name, batches[name].shape[1:]) for name in data_names],
        label_shapes=[(name, batches[name].shape[1:]) for name in label_names],
    )
    module.init_params(
        arg_params={key: mx.nd.array(value) for key, value in _start(net, "arg").items()},
        aux_params={key: mx.nd.array(value) for key, value in _start(net, "aux").items()},
    )
    module.init_optimizer(optimizer=row["optimizer"], optimizer_params=_optimizer_params(row))
    return module


def _train(row):
    """Train by the row: name to values at its snapshots, stacked; and the last output."""
    module, batches = _module(row), _start(row["net"], "batch")
    reached = {}
    for step in range(row["snapshots"][-1]):
        inputs = {k: mx.nd.array(v[step % MANIFEST["batches"]]) for k, v in batches.items()}
        label = inputs.pop("softmax_label")
        data = [inputs[name] for name in MANIFEST["data_names"][row["net"]]]
        module.forward_backward(mx.io.DataBatch(data=data, label=[label]))
        module.update()
        if step + 1 in row["snapshots"]:
            args, aux = module.get_params()
            for key, value in {**args, **aux}.items():
                reached.setdefault(key, []).append(value.asnumpy())
    output = module.get_outputs()[0].asnumpy()
    return {key: np.stack(values) for key, values in reached.items()}, output


def _assert_same_path(got, want, start, snapshots):
    """Within `RTOL` of the largest move in each array, at each snapshot."""
    assert set(got) == set(want)
    for key, values in want.items():
        if key in MANIFEST["fixed_gammas"]:
            continue
        for i, step in enumerate(snapshots):
            np.testing.assert_allclose(
                got[key][i],
                values[i],
                rtol=2e-6,
                atol=RTOL * np.abs(values[i] - start[key]).max(),
                err_msg=f"{key} after {step} steps",
            )


@pytest.mark.parametrize("row", list(_parameters()))
def test_trajectory(row):
    want = _reached(row)
    want_output = want.pop("output")
    start = {**_start(row["net"], "arg"), **_start(row["net"], "aux")}
    got, output = _train(row)
    _assert_same_path(got, want, start, row["snapshots"])
    np.testing.assert_allclose(output, want_output, rtol=RTOL, atol=RTOL * want_output.max())


@pytest.mark.parametrize("rows", [("sgd", "sgd_momentum"), ("nag", "adam"), ("lars", "lamb")])
def test_the_tolerance_tells_rows_apart(rows):
    """The comparison must be able to fail: no two optimizers pass as each other."""
    want, other = (_reached(_find(name, "mlp")) for name in rows)
    want.pop("output")
    other.pop("output")
    with pytest.raises(AssertionError, match="after 1"):
        _assert_same_path(other, want, _start("mlp", "arg"), MANIFEST["rows"][0]["snapshots"])


def test_two_devices_follow_one():
    """Two devices with half the batch each go where one goes with all of it."""
    one, two = _reached(_find("sgd_momentum", "mlp")), _find("two_devices", "mlp")
    one.pop("output")
    got, _ = _train(two)
    _assert_same_path(got, one, _start("mlp", "arg"), two["snapshots"][:2])


@pytest.mark.parametrize("name", ["sgd_momentum", pytest.param("adam", marks=pytest.mark.slow)])
def test_fixed_gamma_is_one_before_the_update(name):
    """Each training pass sets a BatchNorm's fixed gamma to 1; decay then moves it from there."""
    row = _find(name, "lenet_smooth")
    want, (got, _) = _reached(row), _train(row)
    for key in MANIFEST["fixed_gammas"]:
        np.testing.assert_allclose(got[key], want[key], rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "drift"),
    [
        ({"wd": 0.1}, -0.02 * (3 + 0.1 * 2)),
        ({"wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 1.0}, -0.02 * (1 + 0.1 * 2)),
    ],
)
def test_sgld_drifts_and_spreads(settings, drift):
    """Langevin noise cannot be compared; its mean, -lr/2 g, and its spread, √lr, can."""
    mx.random.seed(1)
    count, lr = 200_000, 0.04
    weight = mx.nd.ones((count,)) * 2
    update = mx.optimizer.get_updater(mx.optimizer.create("sgld", learning_rate=lr, **settings))
    update(0, mx.nd.ones((count,)) * 3, weight)
    moved = weight.asnumpy().astype(np.float64) - 2
    standard_error = lr**0.5 / count**0.5
    assert moved.mean() == pytest.approx(drift, abs=5 * standard_error)
    assert moved.std() == pytest.approx(lr**0.5, rel=0.01)
