"""Train a network on handwritten digits, with a checkpoint after every epoch.

python recipes/train_digits.py                             # LeNet, as `make train`: 0.990
python recipes/train_digits.py --network resnet --devices 2
python recipes/train_digits.py --resume                    # go on where Ctrl-C or a crash ended it
python recipes/train_digits.py --load-epoch 5 --epochs 20  # go on after epoch 5, as in MXNet
modkit launch -n 2 recipes/train_digits.py --kv-store dist_sync --batch-size 32  # two processes
"""

import logging
import random
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from command import command, options
from digits import VALIDATION, arrays, iterators
from networks import NETWORKS

import modkit as mx

mpl.use("Agg")
import matplotlib.pyplot as plt


def parse(arguments=None):
    """The parsed command line."""
    parser = options(__doc__, epochs=15, batch_size=64, lr=0.1)
    parser.add_argument("--network", choices=sorted(NETWORKS), help="default lenet")
    parser.add_argument("--devices", type=int, default=1, help="CPUs to split batches over")
    parser.add_argument("--gpus", help="GPUs to use instead, such as 0 or 0,1")
    parser.add_argument("--kv-store", default="local")
    parser.add_argument("--prefix", default="out/digits", help="where checkpoints go")
    parser.add_argument("--resume", action="store_true", help="go on in the middle of an epoch")
    parser.add_argument(
        "--load-epoch", type=int, help="go on after the checkpoint of this epoch, with its network"
    )
    args = parser.parse_args(arguments)
    if args.network and args.load_epoch is not None:
        parser.error(f"--network: the network is that of {args.prefix}-symbol.json; leave it out")
    if args.smoke:
        args.epochs = (args.load_epoch or 0) + 1
    args.network = args.network or ("lenet" if args.load_epoch is None else "loaded")
    return args


def interrupted(arguments):
    """The line after Ctrl-C: the command that goes on after the last batch."""
    if not any(checkpoints(parse(arguments)).glob("step-*")):
        return "interrupted before the first checkpoint; start it again"
    words = " ".join(dict.fromkeys([*arguments, "--resume"]))
    return f"interrupted; to go on: make train ARGS='{words}'"


def checkpoints(args):
    """The folder of the checkpoints for ``--resume``."""
    prefix = Path(args.prefix)
    return prefix.with_name(f"{prefix.name}-{args.network}-checkpoints")


def contexts(args):
    """The devices from the command line."""
    if args.gpus:
        return [mx.gpu(int(number)) for number in args.gpus.split(",")]
    return [mx.cpu(number) for number in range(args.devices)]


class History:
    """Accuracies by epoch, recorded by callbacks."""

    def __init__(self):
        self.train, self.validation = [], []

    def after_batch(self, param):
        """Record the running training accuracy."""
        self._latest = param.eval_metric.get()[1]

    def after_epoch(self, epoch, *_):
        """Record the training accuracy of the epoch."""
        self.train.append((epoch + 1, self._latest))

    def after_validation(self, param):
        """Record the validation accuracy."""
        self.validation.append((param.epoch + 1, param.eval_metric.get()[1]))


def store(args):
    """The store for ``fit``, and the part of each batch that this worker trains on."""
    if not args.kv_store.startswith("dist"):
        return args.kv_store, {}
    kv = mx.kv.create(args.kv_store)
    return kv, {"num_parts": kv.num_workers, "part_index": kv.rank}


def train(module, args, history, kv, part):
    """Run ``fit``, from the start or from a checkpoint."""
    train_iter, validation_iter = iterators(args.batch_size, **part)
    steps = train_iter.num_data // (args.batch_size * part.get("num_parts", 1))
    callbacks = [mx.callback.Checkpoint(checkpoints(args), overwrite=True)]
    if part.get("part_index", 0) == 0:  # the others would show the same
        callbacks.append(mx.callback.Curves(f"{args.prefix}-{args.network}-curves.png"))
        if sys.stderr.isatty():  # fit logs its own lines
            callbacks.append(mx.callback.Progress())
    begin = args.load_epoch or 0
    schedule = mx.lr_scheduler.FactorScheduler(step=5 * steps, factor=0.5, base_lr=args.lr)
    module.fit(
        train_iter,
        eval_data=validation_iter,
        eval_metric="acc",
        kvstore=kv,
        optimizer="sgd",
        optimizer_params={
            "learning_rate": args.lr, "momentum": 0.9, "wd": 1e-4, "lr_scheduler": schedule,
            "begin_num_update": begin * steps,
        },
        initializer=mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
        begin_epoch=begin,
        num_epoch=args.epochs,
        batch_end_callback=[mx.callback.Speedometer(args.batch_size, 20, auto_reset=False),
                            history.after_batch],
        epoch_end_callback=[
            history.after_epoch,
            mx.callback.module_checkpoint(module, args.prefix, save_optimizer_states=True),
        ],
        eval_end_callback=history.after_validation,
        callbacks=callbacks,
        resume=checkpoints(args) if args.resume else None,
    )  # fmt: skip


def draw(module, history, path, batch_size):
    """Plot accuracy by epoch, and validation images with their predictions."""
    _, validation_iter = iterators(batch_size)
    probabilities = module.predict(validation_iter).asnumpy()
    images, labels = (a[-VALIDATION:] for a in arrays())
    figure = plt.figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.2))
    axes = left.subplots()
    for name, values in (("training", history.train), ("validation", history.validation)):
        if values:
            axes.plot(*zip(*values, strict=True), marker="o", label=name)
    axes.set(xlabel="epoch", ylabel="accuracy", title="Accuracy")
    axes.grid(alpha=0.3)
    if history.train:
        axes.legend()
    said, labels = probabilities.argmax(1), labels.astype(int)
    order = np.argsort(said == labels, kind="stable")  # mistakes first
    for place, axis in zip(order, right.subplots(5, 8).flat, strict=False):
        axis.imshow(images[place, 0], cmap="gray_r")
        right_or_wrong = "tab:green" if said[place] == labels[place] else "tab:red"
        axis.set_title(f"{said[place]} ({labels[place]})", fontsize=8, color=right_or_wrong)
        axis.axis("off")
    right.suptitle("Prediction (label), mistakes first")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments=None):
    """Train and plot."""
    args = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    mx.random.seed(args.seed)  # first: JAX, which it imports, draws from NumPy's stream
    random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    prefix = Path(args.prefix)
    prefix.parent.mkdir(parents=True, exist_ok=True)
    kv, part = store(args)  # before anything is computed
    devices = contexts(args)
    if args.load_epoch is None:
        with mx.name.NameManager():  # names begin at 0, so that --resume finds the same network
            module = mx.mod.Module(NETWORKS[args.network](), context=devices)
    else:
        module = mx.mod.Module.load(
            args.prefix, args.load_epoch, load_optimizer_states=True, context=devices
        )
    history = History()
    train(module, args, history, kv, part)
    if part.get("part_index"):
        return history
    picture = prefix.with_name(f"{prefix.name}-{args.network}.png")
    draw(module, history, picture, args.batch_size)
    if history.validation:
        print(f"last validation accuracy: {history.validation[-1][1]:.4f}")
    print(f"checkpoints: {args.prefix}-*.params, picture: {picture}")
    return history


if __name__ == "__main__":
    command(main, interrupted)
