"""Record training trajectories of Apache MXNet 1.9.1 for `tests/test_trajectories.py`.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_trajectories

and writes `tests/reference/trajectories.json`, which says what was run, and the folder
`tests/reference/trajectories/`: for each net its symbol, its starting point with the batches, and
the parameters that each row of the table reached. With `--check` nothing is written: every row is
run again, in whatever environment, and compared with what was recorded.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import mxnet as mx
import numpy as np

from tools.reference import ENVIRONMENT, FOLDER, need_environment, versions

COMMAND = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items()) + (
    " REFERENCE_PYTHON -m tools.record_trajectories"
)
BATCH, BATCHES, CLASSES = 8, 5, 4
STEPS, SNAPSHOTS = 50, (1, 10, 50)
RTOL = 1e-3
FIXED_GAMMAS = ("bn2_gamma",)
PERTURBATION = 1e-6


@dataclass(frozen=True)
class Row:
    """One way to train: an optimizer with its settings, and the nets it is recorded on."""

    name: str
    optimizer: str
    params: dict
    scheduler: dict = field(default_factory=dict)
    nets: tuple = ("mlp", "lenet_smooth", "lstm")
    devices: int = 1
    snapshots: tuple = SNAPSHOTS
    note: str = ""
    rates: dict = field(default_factory=dict)
    """Learning rates for nets that need another one than `params` gives."""


MLP = ("mlp",)
ALL = ("mlp", "lenet", "lenet_smooth", "lstm")
FACTOR = {"name": "FactorScheduler", "step": 10, "factor": 0.5}
ROWS = [
    Row("sgd", "sgd", {"learning_rate": 0.2}),
    Row("sgd_momentum", "sgd", {"learning_rate": 0.05, "momentum": 0.9}, nets=ALL),
    Row(
        "sgd_wd_clip",
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.02, "clip_gradient": 0.02},
    ),
    Row("nag", "nag", {"learning_rate": 0.05, "momentum": 0.9, "wd": 0.01}),
    Row("nag_plain", "nag", {"learning_rate": 0.2, "wd": 0.01, "clip_gradient": 0.02}, nets=MLP),
    Row("signum", "signum", {"learning_rate": 0.004, "momentum": 0.9, "wd_lh": 0.02, "wd": 0.01}),
    Row("signsgd", "signum", {"learning_rate": 0.004, "momentum": 0.0, "wd": 0.01}, nets=MLP),
    Row("adam", "adam", {"learning_rate": 0.01, "wd": 0.01}),
    Row(
        "adam_clip",
        "adam",
        {
            "learning_rate": 0.01,
            "beta1": 0.8,
            "beta2": 0.99,
            "epsilon": 1e-3,
            "wd": 0.02,
            "clip_gradient": 0.02,
        },
        nets=MLP,
    ),
    Row("adamax", "adamax", {"learning_rate": 0.01, "wd": 0.01}),
    Row(
        "nadam",
        "nadam",
        {"learning_rate": 0.01, "wd": 0.01},
        note="Its momentum schedule moves once per parameter, not once per step: order matters.",
    ),
    Row("rmsprop", "rmsprop", {"learning_rate": 0.005, "gamma1": 0.9, "wd": 0.01}),
    Row(
        "rmsprop_centered",
        "rmsprop",
        {"learning_rate": 0.002, "gamma1": 0.9, "gamma2": 0.8, "centered": True, "wd": 0.01},
    ),
    Row(
        "rmsprop_clip_weights",
        "rmsprop",
        {"learning_rate": 0.005, "clip_weights": 0.4, "clip_gradient": 0.05, "epsilon": 1e-4},
        nets=MLP,
    ),
    Row("adagrad", "adagrad", {"learning_rate": 0.03, "wd": 0.01}),
    Row(
        "adadelta",
        "adadelta",
        {"rho": 0.9, "epsilon": 1e-4, "wd": 0.01},
        note="Takes no notice of the learning rate.",
    ),
    Row(
        "ftrl",
        "ftrl",
        {"learning_rate": 0.05, "lamda1": 0.002, "beta": 0.002, "wd": 0.02},
        note="A small beta, or the first step would take every weight to nearly 0.",
    ),
    Row("ftml", "ftml", {"learning_rate": 0.01, "wd": 0.01}),
    Row("lamb", "lamb", {"learning_rate": 0.01, "wd": 0.01}),
    Row(
        "lamb_bounds",
        "lamb",
        {
            "learning_rate": 0.01,
            "wd": 0.2,
            "lower_bound": 0.5,
            "upper_bound": 1.0,
            "bias_correction": False,
        },
        nets=MLP,
    ),
    Row("lars", "lars", {"learning_rate": 0.2, "momentum": 0.9, "eta": 0.05, "wd": 0.01}),
    Row(
        "lars_factor",
        "lars",
        {"learning_rate": 0.2, "momentum": 0.9, "eta": 0.05, "wd": 0.01},
        FACTOR,
        nets=MLP,
        note="The rate falls, so momentum_correction matters.",
    ),
    Row("dcasgd", "dcasgd", {"learning_rate": 0.2, "lamda": 0.5, "wd": 0.01}),
    Row(
        "lbsgd",
        "lbsgd",
        {
            "learning_rate": 0.05,
            "momentum": 0.9,
            "wd": 0.01,
            "warmup_strategy": "linear",
            "batch_scale": 2,
            "updates_per_epoch": 5,
            "warmup_epochs": 2,
        },
        nets=MLP,
        note="Gradients of two steps are added; with batch_scale=2 odd steps change nothing.",
    ),
    Row(
        "lbsgd_lars",
        "lbsgd",
        {"learning_rate": 0.3, "momentum": 0.9, "wd": 0.01, "warmup_strategy": "lars"},
        nets=MLP,
    ),
    Row("sgd_factor", "sgd", {"learning_rate": 0.1, "momentum": 0.9}, FACTOR),
    Row("adam_factor", "adam", {"learning_rate": 0.02}, FACTOR, nets=("mlp", "lenet_smooth")),
    Row(
        "sgd_factor_warmup",
        "sgd",
        {"learning_rate": 0.2, "wd": 0.01},
        {
            "name": "FactorScheduler",
            "step": 10,
            "factor": 0.5,
            "stop_factor_lr": 0.04,
            "warmup_steps": 8,
            "warmup_begin_lr": 0.01,
        },
        nets=MLP,
    ),
    Row(
        "sgd_multifactor",
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9},
        {"name": "MultiFactorScheduler", "step": [7, 20, 31], "factor": 0.4},
        nets=MLP,
    ),
    Row(
        "sgd_poly",
        "sgd",
        {"learning_rate": 0.3},
        {"name": "PolyScheduler", "max_update": 40, "pwr": 2, "final_lr": 0.01},
        nets=MLP,
    ),
    Row(
        "sgd_cosine",
        "sgd",
        {"learning_rate": 0.3},
        {
            "name": "CosineScheduler",
            "max_update": 40,
            "final_lr": 0.01,
            "warmup_steps": 5,
            "warmup_mode": "constant",
            "warmup_begin_lr": 0.05,
        },
        nets=MLP,
    ),
    Row(
        "sgd_multipliers",
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.02},
        nets=("mlp_multipliers",),
        note="lr_mult and wd_mult are attributes of the symbol's variables.",
    ),
    Row(
        "two_devices",
        "sgd",
        {"learning_rate": 0.05, "momentum": 0.9},
        nets=("mlp", "lenet", "lenet_smooth"),
        devices=2,
        snapshots=(1, 10, 20),
        note=(
            "context=[cpu(0), cpu(1)], four samples each; auxiliary states as get_params gives "
            "them. Here get_params gives the fixed gamma that the net began with, not 1."
        ),
    ),
]
NOT_RECORDED = {
    "sgld": "Its noise cannot be compared. The test checks the mean and the spread of one update.",
    "dcasgd with momentum": "The reference stops: it takes the truth value of the momentum array.",
    "groupadagrad": "The reference takes matrices only, so it trains no net that has a bias.",
}


def mlp():
    """10-16-4 with tanh."""
    net = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(net, num_hidden=16, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh1")
    net = mx.sym.FullyConnected(net, num_hidden=CLASSES, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def mlp_multipliers():
    """The MLP, with a rate and a decay of its own for three of its parameters."""
    weight1 = mx.sym.Variable("fc1_weight", lr_mult=0.5, wd_mult=2.0)
    bias1 = mx.sym.Variable("fc1_bias", lr_mult=2.0, wd_mult=1.0)
    weight2 = mx.sym.Variable("fc2_weight", wd_mult=0.0)
    net = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(net, weight=weight1, bias=bias1, num_hidden=16, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh1")
    net = mx.sym.FullyConnected(net, weight=weight2, num_hidden=CLASSES, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet(activation="relu", pooling="max"):
    """Two convolutions with BatchNorm on 8x8 images.

    No bias before a BatchNorm: its gradient is rounding noise, which Adam and its like enlarge.
    """
    net = mx.sym.Variable("data")
    net = mx.sym.Convolution(
        net, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True, name="conv1"
    )
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="bn1")
    net = mx.sym.Activation(net, act_type=activation, name="act1")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type=pooling, name="pool1")
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=6, no_bias=True, name="conv2")
    net = mx.sym.BatchNorm(net, eps=1e-3, momentum=0.8, name="bn2")
    net = mx.sym.Activation(net, act_type="tanh", name="act2")
    net = mx.sym.Flatten(net, name="flatten")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="act3")
    net = mx.sym.FullyConnected(net, num_hidden=CLASSES, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet_smooth():
    """The LeNet without kinks: a relu or a maximum that flips within rounding parts the paths."""
    return lenet("tanh", "avg")


WORDS, EMBEDDED, HIDDEN, LENGTH = 12, 5, 6, 4


def lstm():
    """An LSTM unrolled by hand over four words, one label a word; begins from given states."""
    weights = {
        name: mx.sym.Variable(f"lstm_{name}")
        for name in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
    }
    embedded = mx.sym.Embedding(
        mx.sym.Variable("data"), input_dim=WORDS, output_dim=EMBEDDED, name="embed"
    )
    words = mx.sym.SliceChannel(
        embedded, num_outputs=LENGTH, axis=1, squeeze_axis=True, name="words"
    )
    c, h = mx.sym.Variable("begin_c"), mx.sym.Variable("begin_h")
    hidden = []
    for step in range(LENGTH):
        i2h = mx.sym.FullyConnected(
            words[step],
            weight=weights["i2h_weight"],
            bias=weights["i2h_bias"],
            num_hidden=4 * HIDDEN,
            name=f"t{step}_i2h",
        )
        h2h = mx.sym.FullyConnected(
            h,
            weight=weights["h2h_weight"],
            bias=weights["h2h_bias"],
            num_hidden=4 * HIDDEN,
            name=f"t{step}_h2h",
        )
        gates = mx.sym.SliceChannel(i2h + h2h, num_outputs=4, name=f"t{step}_gates")
        write, keep, show = (
            mx.sym.Activation(gates[i], act_type="sigmoid", name=f"t{step}_{name}")
            for i, name in ((0, "write"), (1, "keep"), (3, "show"))
        )
        new = mx.sym.Activation(gates[2], act_type="tanh", name=f"t{step}_new")
        c = keep * c + write * new
        h = show * mx.sym.Activation(c, act_type="tanh", name=f"t{step}_tanh")
        hidden.append(h)
    joined = mx.sym.Concat(*hidden, dim=0, name="joined")
    scores = mx.sym.FullyConnected(joined, num_hidden=CLASSES, name="fc")
    label = mx.sym.transpose(mx.sym.Variable("softmax_label"), name="label_by_word")
    label = mx.sym.Reshape(label, shape=(-1,), name="label_flat")
    return mx.sym.SoftmaxOutput(scores, label, name="softmax")


def image_batches(shape, rng):
    """Random inputs, and labels that a random linear map gives them."""
    data = rng.randn(BATCHES, BATCH, *shape).astype(np.float32)
    teacher = rng.randn(int(np.prod(shape)), CLASSES)
    label = data.reshape(BATCHES, BATCH, -1).dot(teacher).argmax(-1).astype(np.float32)
    return {"data": data, "softmax_label": label}


def word_batches(rng):
    """Random words; the label of each depends on it and on the word before."""
    words = rng.randint(0, WORDS, (BATCHES, BATCH, LENGTH))
    before = np.roll(words, 1, axis=-1)
    before[..., 0] = 0
    states = {name: np.zeros((BATCHES, BATCH, HIDDEN), np.float32) for name in STATES}
    label = ((words + before) % CLASSES).astype(np.float32)
    return dict(data=words.astype(np.float32), softmax_label=label, **states)


STATES = ("begin_c", "begin_h")
NETS = {
    "mlp": (mlp, lambda rng: image_batches((10,), rng), ("data",), 1),
    "mlp_multipliers": (mlp_multipliers, lambda rng: image_batches((10,), rng), ("data",), 1),
    "lenet": (lenet, lambda rng: image_batches((1, 8, 8), rng), ("data",), 4),
    "lenet_smooth": (lenet_smooth, lambda rng: image_batches((1, 8, 8), rng), ("data",), 4),
    "lstm": (lstm, word_batches, ("data", *STATES), 6),
}


@dataclass(frozen=True)
class Start:
    """A net, its batches (input name to an array of `BATCHES` batches), and where it starts."""

    symbol: mx.sym.Symbol
    data_names: tuple
    batches: dict
    args: dict
    aux: dict


def make_start(name):
    """Build a net with its batches and starting values, the same ones each time."""
    build, make_batches, data_names, seed = NETS[name]
    rng = np.random.RandomState(seed)
    symbol, batches = build(), make_batches(rng)
    shapes, _, aux_shapes = symbol.infer_shape(**{k: v.shape[1:] for k, v in batches.items()})
    shapes = dict(zip(symbol.list_arguments(), shapes))  # noqa: B905 - runs on Python 3.8 too
    args = {}
    for key, shape in shapes.items():
        if key.endswith("gamma"):
            args[key] = rng.uniform(0.8, 1.2, shape).astype(np.float32)
        elif key not in batches:
            wide = 0.5 if len(shape) == 2 else 0.3
            args[key] = rng.uniform(-wide, wide, shape).astype(np.float32)
    aux_shapes = dict(zip(symbol.list_auxiliary_states(), aux_shapes))  # noqa: B905
    aux = {k: np.full(s, float(k.endswith("var")), np.float32) for k, s in aux_shapes.items()}
    return Start(symbol, data_names, batches, args, aux)


def perturbed(start, seed):
    """The same start with each parameter off by up to one part in a million."""
    rng = np.random.RandomState(seed)
    args = {
        key: (value * (1 + PERTURBATION * rng.uniform(-1, 1, value.shape))).astype(np.float32)
        for key, value in start.args.items()
    }
    return Start(start.symbol, start.data_names, start.batches, args, start.aux)


def optimizer_params(row, net):
    """The arguments of the optimizer, with a scheduler object where the row has one."""
    params = dict(row.params)
    if net in row.rates:
        params["learning_rate"] = row.rates[net]
    if row.scheduler:
        settings = dict(row.scheduler, base_lr=params["learning_rate"])
        params["lr_scheduler"] = getattr(mx.lr_scheduler, settings.pop("name"))(**settings)
    return params


def train(row, net, start):
    """Train by the row; returns name to its values at the row's snapshots, stacked.

    `output` is the last training output; the other names are parameters and auxiliary states.
    """
    labels = ("softmax_label",)
    context = [mx.cpu(i) for i in range(row.devices)] if row.devices > 1 else mx.cpu()
    module = mx.mod.Module(start.symbol, start.data_names, labels, context=context)
    module.bind(
        data_shapes=[(name, start.batches[name].shape[1:]) for name in start.data_names],
        label_shapes=[(name, start.batches[name].shape[1:]) for name in labels],
    )
    module.init_params(
        arg_params={key: mx.nd.array(value) for key, value in start.args.items()},
        aux_params={key: mx.nd.array(value) for key, value in start.aux.items()},
    )
    module.init_optimizer(optimizer=row.optimizer, optimizer_params=optimizer_params(row, net))
    reached = {}
    for step in range(row.snapshots[-1]):
        inputs = {k: mx.nd.array(v[step % BATCHES]) for k, v in start.batches.items()}
        batch = mx.io.DataBatch([inputs[k] for k in start.data_names], [inputs[k] for k in labels])
        module.forward_backward(batch)
        module.update()
        if step + 1 in row.snapshots:
            args, aux = module.get_params()
            for key, value in {**args, **aux}.items():
                reached.setdefault(key, []).append(value.asnumpy())
    reached = {key: np.stack(values) for key, values in reached.items()}
    reached["output"] = module.get_outputs()[0].asnumpy()
    return reached


def share_of_tolerance(got, want, start):
    """The share of the test's tolerance that the worst value uses; above 1 the test would fail.

    The tolerance is `RTOL` of the largest move in the array, with room for float32's rounding of
    the value; for outputs `RTOL` of the value instead. Fixed gammas have a test of their own.
    """
    worst = 0.0
    for key, value in want.items():
        if key in FIXED_GAMMAS:
            continue
        begin = {**start.args, **start.aux}.get(key)
        moved = np.abs(value if begin is None else value - begin)
        axes = None if begin is None else tuple(range(1, value.ndim))
        allowed = RTOL * moved.max(axes, keepdims=True) + (2e-6 + RTOL * (begin is None)) * np.abs(
            value
        )
        off = np.abs(got[key] - value)
        worst = max(worst, float(np.max(off / np.maximum(allowed, 1e-30))))
    return worst


def describe(row, net, start, reached):
    """The row's line in the manifest, with how far it moved and how stable it is."""
    last = {key: value[-1] for key, value in reached.items() if key in start.args}
    moves = {k: float(np.abs(v - start.args[k]).max()) for k, v in last.items()}
    finite = all(np.isfinite(v).all() for v in reached.values())
    sensitivity = max(
        share_of_tolerance(train(row, net, perturbed(start, seed)), reached, start)
        for seed in (1, 2, 3)
    )
    settings = {k: v for k, v in optimizer_params(row, net).items() if k != "lr_scheduler"}
    return {
        "name": row.name,
        "net": net,
        "optimizer": row.optimizer,
        "optimizer_params": settings,
        "lr_scheduler": row.scheduler,
        "devices": row.devices,
        "snapshots": list(row.snapshots),
        "finite": finite,
        "largest_move": max(moves.values()),
        "unmoved": sorted(key for key, move in moves.items() if move == 0),
        "share_of_tolerance_when_perturbed": sensitivity,
        "note": row.note,
    }


def record(folder):
    """Run every row and write the symbols, starts, results and the manifest."""
    where = folder / "trajectories"
    where.mkdir(parents=True, exist_ok=True)
    starts = {net: make_start(net) for net in NETS}
    results = {net: {} for net in NETS}
    lines = []
    for row in ROWS:
        for net in row.nets:
            reached = train(row, net, starts[net])
            line = describe(row, net, starts[net], reached)
            lines.append(line)
            results[net].update({f"{row.name}/{key}": v for key, v in reached.items()})
            say(
                f"{row.name:22}{net:16} move {line['largest_move']:.2e} "
                f"unmoved {line['unmoved']} finite {line['finite']} "
                f"perturbed {line['share_of_tolerance_when_perturbed']:.3f}"
            )
    for net, start in starts.items():
        start.symbol.save(str(where / f"{net}-symbol.json"))
        arrays = {f"batch:{key}": value for key, value in start.batches.items()}
        arrays.update({f"arg:{key}": value for key, value in start.args.items()})
        arrays.update({f"aux:{key}": value for key, value in start.aux.items()})
        np.savez_compressed(where / f"{net}-start.npz", **arrays)
        np.savez_compressed(where / f"{net}-reached.npz", **results[net])
    manifest = {
        "made_by": "tools/record_trajectories.py",
        "command": COMMAND,
        "versions": versions(mx),
        "batch_size": BATCH,
        "batches": BATCHES,
        "fixed_gammas": list(FIXED_GAMMAS),
        "data_names": {net: list(start.data_names) for net, start in starts.items()},
        "not_recorded": NOT_RECORDED,
        "rows": lines,
    }
    (folder / "trajectories.json").write_text(json.dumps(manifest, indent=1) + "\n")


def check(folder):
    """Run every row again and say how much of the tolerance each uses; returns the worst."""
    worst = 0.0
    for row in ROWS:
        for net in row.nets:
            start = make_start(net)
            with np.load(folder / "trajectories" / f"{net}-reached.npz") as stored:
                prefix = row.name + "/"
                want = {k[len(prefix) :]: stored[k] for k in stored if k.startswith(prefix)}
            share = share_of_tolerance(train(row, net, start), want, start)
            worst = max(worst, share)
            say(f"{row.name:22}{net:16} uses {share:.3f} of the tolerance")
    return worst


def say(line):
    """Write one line to the terminal."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main():
    """Parse the command line, then record or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--check", action="store_true", help="compare a new run with the files")
    options = parser.parse_args()
    if options.check:
        return int(check(options.folder) > 1)
    need_environment()
    record(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
