"""Record how Apache MXNet 1.9.1 goes on training from its own checkpoints.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_continuing

and writes `tests/reference/continuing/`: for each row a checkpoint after 20 steps with its
optimizer states, what the parameters were 1, 10 and 50 steps later in a new module that was loaded
from it, and the optimizer states at the end; and `continuing.json`, which says what was run.
"""

import json
import sys
import zlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import mxnet as mx
import numpy as np

from tools import reference

FOLDER = reference.FOLDER / "continuing"
BATCH, BATCHES, CLASSES = 8, 5, 4
BEFORE, SNAPSHOTS = 20, (1, 10, 50)


@dataclass(frozen=True)
class Row:
    """One way to train, to save and to go on.

    `keeps` says what the states file holds: "states", as Module writes it, or "optimizer" too.
    `again` are optimizer settings that differ when training goes on.
    """

    name: str
    net: str
    optimizer: str
    params: dict
    scheduler: dict = field(default_factory=dict)
    devices: int = 1
    keeps: str = "states"
    again: dict = field(default_factory=dict)
    note: str = ""


COUNTED = {"begin_num_update": BEFORE}
FACTOR = {"name": "FactorScheduler", "step": 12, "factor": 0.6}
STEPS = {"name": "MultiFactorScheduler", "step": [15, 30, 45], "factor": 0.5}
COSINE = {"name": "CosineScheduler", "max_update": 60, "final_lr": 0.001}
ROWS = [
    Row("sgd_momentum", "mlp", "sgd", {"learning_rate": 0.1, "momentum": 0.9}, FACTOR,
        again=COUNTED),
    Row("sgd_forgetful", "mlp", "sgd", {"learning_rate": 0.1, "momentum": 0.9}, FACTOR,
        note="Without begin_num_update the schedule begins anew: the file has no counts."),
    Row("adam", "convnet", "adam", {"learning_rate": 0.01, "wd": 0.001}, again=COUNTED),
    Row("adam_forgetful", "mlp", "adam", {"learning_rate": 0.01},
        note="Without begin_num_update Adam corrects its moments as if they were new."),
    Row("rmsprop", "mlp", "rmsprop", {"learning_rate": 0.003, "gamma1": 0.9}, STEPS,
        again=COUNTED),
    Row("rmsprop_centered", "mlp", "rmsprop",
        {"learning_rate": 0.002, "gamma1": 0.9, "gamma2": 0.8, "centered": True}, again=COUNTED),
    Row("sgd_float16", "mlp16", "sgd",
        {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}, STEPS, again=COUNTED),
    Row("adam_float16", "mlp16", "adam", {"learning_rate": 0.01, "multi_precision": True},
        again=COUNTED),
    Row("kvstore", "mlp", "adam", {"learning_rate": 0.01}, FACTOR, devices=2, again=COUNTED),
    Row("kvstore_optimizer", "convnet", "sgd", {"learning_rate": 0.1, "momentum": 0.9}, STEPS,
        devices=2, keeps="optimizer", again={"learning_rate": 5.0, "momentum": 0.1},
        note="Rate, schedule and counts come from the file, not from init_optimizer."),
    Row("updater_optimizer", "mlp", "adam", {"learning_rate": 0.02}, COSINE, keeps="optimizer",
        again={"learning_rate": 5.0},
        note="Rate, schedule and counts come from the file, not from init_optimizer."),
]  # fmt: skip


def mlp():
    """10-16-4 with tanh."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh1")
    net = mx.sym.FullyConnected(net, num_hidden=CLASSES, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def mlp16():
    """The same with parameters of 16 bits; on a CPU the reference computes in 32."""

    def dense(net, hidden, name):
        half = (mx.sym.Variable(f"{name}_{part}", dtype="float16") for part in ("weight", "bias"))
        weight, bias = (mx.sym.Cast(each, dtype="float32") for each in half)
        return mx.sym.FullyConnected(net, weight, bias, num_hidden=hidden, name=name)

    net = dense(mx.sym.Variable("data"), 16, "fc1")
    net = dense(mx.sym.Activation(net, act_type="tanh", name="tanh1"), CLASSES, "fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def convnet():
    """A convolution with BatchNorm, without kinks."""
    net = mx.sym.Convolution(
        mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, no_bias=True, name="conv"
    )
    net = mx.sym.BatchNorm(net, fix_gamma=False, momentum=0.8, name="bn")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg", name="pool")
    net = mx.sym.FullyConnected(net, num_hidden=CLASSES, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


NETS = {
    "mlp": (mlp, (10,)),
    "mlp16": (mlp16, (10,)),
    "convnet": (convnet, (1, 6, 6)),
}


def batches_of(net):
    """Random inputs, and labels that a random linear map gives them."""
    rng, shape = np.random.RandomState(zlib.crc32(net.encode()) % 2**31), NETS[net][1]
    data = rng.randn(BATCHES, BATCH, *shape).astype(np.float32)
    teacher = rng.randn(int(np.prod(shape)), CLASSES)
    label = data.reshape(BATCHES, BATCH, -1).dot(teacher).argmax(-1).astype(np.float32)
    return {"data": data, "softmax_label": label}


def bind(module, batches):
    module.bind([("data", batches["data"].shape[1:])], [("softmax_label", (BATCH,))])


def init_optimizer(module, row, again):
    """With the row's optimizer; with the settings for going on where `again` is set."""
    settings = dict(row.params)
    if again:
        settings.update(row.again)
    if row.scheduler and not (again and row.keeps == "optimizer"):
        made = dict(row.scheduler, base_lr=settings["learning_rate"])
        settings["lr_scheduler"] = getattr(mx.lr_scheduler, made.pop("name"))(**made)
    module.init_optimizer(optimizer=row.optimizer, optimizer_params=settings)


def replaced(row, again):
    """The row with other settings for going on."""
    return replace(row, again=again)


def updater_of(module):
    return module._kvstore._updater if module._update_on_kvstore else module._updater


def run(module, batches, first, steps, reached=None):
    """Train some steps; keep what is reached at the snapshots."""
    for step in range(steps):
        at = (first + step) % BATCHES
        data, label = (mx.nd.array(batches[name][at]) for name in ("data", "softmax_label"))
        module.forward_backward(mx.io.DataBatch([data], [label]))
        module.update()
        if reached is not None and step + 1 in SNAPSHOTS:
            args, auxs = module.get_params()
            for name, value in list(args.items()) + list(auxs.items()):
                reached.setdefault(name, []).append(value.asnumpy())


def start(row, batches):
    """A module at fixed values."""
    symbol, rng = NETS[row.net][0](), np.random.RandomState(9)
    contexts = [mx.cpu(i) for i in range(row.devices)]
    module = mx.mod.Module(symbol, context=contexts)
    bind(module, batches)
    shapes, _, _ = symbol.infer_shape(data=batches["data"].shape[1:])
    types, _, _ = symbol.infer_type(data="float32")
    args = {
        name: mx.nd.array(rng.uniform(-0.5, 0.5, shape) + name.endswith("gamma"), dtype=dtype)
        for name, shape, dtype in zip(symbol.list_arguments(), shapes, types)  # noqa: B905
        if name not in batches
    }
    module.init_params(mx.init.One(), arg_params=args, allow_missing=True)
    init_optimizer(module, row, again=False)
    return module


def record(row):
    """A checkpoint, and what comes of it; the row for the manifest."""
    batches, prefix = batches_of(row.net), str(FOLDER / row.name)
    module = start(row, batches)
    run(module, batches, 0, BEFORE)
    module.save_checkpoint(prefix, BEFORE, save_optimizer_states=row.keeps == "states")
    if row.keeps == "optimizer":
        states = updater_of(module).get_states(dump_optimizer=True)
        Path(f"{prefix}-{BEFORE:04d}.states").write_bytes(states)
        if module._update_on_kvstore:
            module._kvstore.save_optimizer_states(
                f"{prefix}-{BEFORE:04d}.states", dump_optimizer=True
            )
    straight = {}
    run(module, batches, BEFORE, SNAPSHOTS[-1], straight)
    contexts = [mx.cpu(i) for i in range(row.devices)]
    loaded = mx.mod.Module.load(prefix, BEFORE, load_optimizer_states=True, context=contexts)
    bind(loaded, batches)
    init_optimizer(loaded, row, again=True)
    reached = {}
    run(loaded, batches, BEFORE, SNAPSHOTS[-1], reached)
    reached = {name: np.stack(values) for name, values in reached.items()}
    Path(prefix + "-after.states").write_bytes(updater_of(loaded).get_states())
    np.savez_compressed(prefix + "-reached.npz", **reached)
    optimizer = updater_of(loaded).optimizer
    apart = max(
        float(np.abs(v.astype(float) - np.stack(straight[n]).astype(float)).max())
        for n, v in reached.items()
    )
    line = dict(
        asdict(row),
        learning_rate=optimizer.learning_rate,
        num_update=optimizer.num_update,
        counts=sorted(set(optimizer._index_update_count.values())),
        on_kvstore=bool(loaded._update_on_kvstore),
        apart_from_going_straight_on=apart,
    )
    sys.stdout.write(
        f"{row.name:20} {line['learning_rate']:.4f} {line['num_update']} {apart:.2e}\n"
    )
    return line


def main():
    """Record every row."""
    reference.need_environment()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for net in NETS:
        np.savez_compressed(str(FOLDER / f"batches-{net}.npz"), **batches_of(net))
    manifest = {
        "made_by": "tools/record_continuing.py",
        "versions": reference.versions(mx),
        "batch_size": BATCH,
        "batches": BATCHES,
        "before": BEFORE,
        "snapshots": SNAPSHOTS,
        "rows": [record(row) for row in ROWS],
    }  # fmt: skip
    (FOLDER / "continuing.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
