"""Fine-tune a network that Apache MXNet trained: its layers, a new head, a few images.

python recipes/fine_tuning.py          # seed 0: validation accuracy 0.972, from nothing 0.753
python recipes/fine_tuning.py --smoke  # in miniature, a few seconds

The files in ``recipes/pretrained`` are MXNet 1.9.1's checkpoint of a network that tells ten digits
apart (``tools/record_pretrained.py``). ``get_internals`` cuts it at its last hidden layer, a new
head says whether a digit has a hole, ``fixed_param_names`` freezes the convolutions, and 40 other
images train the rest. The same network with new weights is trained on the same images beside it.
The options were chosen by images that are in neither.
"""

import logging
from pathlib import Path

import numpy as np
from command import command, options
from digits import VALIDATION, arrays
from pictures import accuracies

import modkit as mx

PRETRAINED = 700  # images that the pretrained network was trained on
PREFIX = Path(__file__).parent / "pretrained" / "digits"


def holes(count):
    """Images and whether their digit has a hole: ``count`` to train on, and the validation."""
    images, digits = arrays()
    labels = np.isin(digits, (0, 6, 8, 9)).astype(np.float32)
    parts = slice(PRETRAINED, PRETRAINED + count), slice(-VALIDATION, None)
    return [(images[part], labels[part]) for part in parts]


def with_new_head(symbol, classes):
    """The graph up to its last hidden layer, and a dense layer with scores of other classes."""
    features = symbol.get_internals()["relu3_output"]
    scores = mx.sym.FullyConnected(features, num_hidden=classes, name="new")
    return mx.sym.SoftmaxOutput(scores, name="softmax")


def trained(network, data, args, **how):
    """The validation accuracy after each epoch; ``how`` goes to the module or to its start."""
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    train, held_out = data
    reached = []
    module = mx.mod.Module(network, fixed_param_names=how.pop("fixed_param_names", None))
    module.fit(
        mx.io.NDArrayIter(*train, args.batch_size, shuffle=True),
        mx.io.NDArrayIter(*held_out, args.batch_size),
        optimizer_params={"learning_rate": args.lr, "momentum": 0.9},
        initializer=mx.init.Xavier(),  # of what arg_params lacks: the new head, or all
        eval_end_callback=lambda param: reached.append(param.eval_metric.get()[1]),
        num_epoch=args.epochs,
        **how,
    )
    return reached


def main(arguments=None):
    """Train twice; returns the validation accuracies: fine-tuned, and from nothing."""
    parser = options(__doc__, "fine_tuning", epochs=20, images=40, batch_size=10, lr=0.02)
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs = 10
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    symbol, arg_params, aux_params = mx.model.load_checkpoint(PREFIX, 12)
    network = with_new_head(symbol, classes=2)
    data = holes(args.images)
    reached = {
        "fine-tuned": trained(
            network, data, args,
            arg_params={n: v for n, v in arg_params.items() if n in network.list_arguments()},
            aux_params=aux_params,
            allow_missing=True,
            fixed_param_names=[name for name in arg_params if name.startswith("conv")],
        ),
        "from nothing": trained(network, data, args),
    }  # fmt: skip
    return accuracies(args.picture, reached)


if __name__ == "__main__":
    command(main)
