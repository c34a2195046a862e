"""Compress digits to eight numbers with an autoencoder, beside principal components.

python recipes/autoencoder.py          # seed 0: error 0.0150, eight principal components 0.0245
python recipes/autoencoder.py --smoke  # in miniature, a few seconds

The label of an autoencoder is its data. The code is an output of an inner layer: a Module that is
bound to a part of the trained symbol, found by ``get_internals``, computes it.
"""

import logging

import numpy as np
from command import command, options
from digits import VALIDATION, arrays
from pictures import rows

import modkit as mx


def network(width, code):
    """An encoder and a decoder with one hidden layer each, and squared errors."""
    net = mx.sym.Variable("data")
    for name, size in (("encoder", width), ("code", code), ("decoder", width), ("image", 64)):
        net = mx.sym.FullyConnected(net, num_hidden=size, name=name)
        if name.endswith("coder"):
            net = mx.sym.Activation(net, act_type="tanh", name=f"{name}_tanh")
    return mx.sym.LinearRegressionOutput(net, mx.sym.Variable("label"), name="reconstruction")


def principal_components(train, validation, count):
    """The images after projection on the first directions of the training images."""
    mean = train.mean(0)
    directions = np.linalg.svd(train - mean, full_matrices=False)[2][:count]
    return (validation - mean) @ directions.T @ directions + mean


def main(arguments=None):
    """Train; returns the mean squared errors of validation images: of this, and of PCA."""
    parser = options(
        __doc__, "autoencoder", epochs=150, width=128, code=8, batch_size=64, lr=0.002
    )  # fmt: skip
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs, args.code, args.lr = 30, 4, 0.004
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    images = arrays()[0].reshape(-1, 64)
    train, validation = images[:-VALIDATION], images[-VALIDATION:]
    module = mx.mod.Module(network(args.width, args.code), label_names=["label"])
    steps = args.epochs * (len(train) // args.batch_size)
    module.fit(
        mx.io.NDArrayIter(train, {"label": train}, args.batch_size, True, "roll_over"),
        eval_metric="mse",
        optimizer="adam",
        optimizer_params={
            "learning_rate": args.lr, "rescale_grad": 1 / args.batch_size,
            "lr_scheduler": mx.lr_scheduler.CosineScheduler(steps, base_lr=args.lr),
        },
        initializer=mx.init.Xavier(),
        num_epoch=args.epochs,
    )  # fmt: skip
    held_out = mx.io.NDArrayIter(validation, {"label": validation}, args.batch_size)
    guesses = {"autoencoder": module.predict(held_out).asnumpy()}
    guesses["principal components"] = principal_components(train, validation, args.code)
    errors = [float(np.mean((guess - validation) ** 2)) for guess in guesses.values()]
    shown = {"images": validation} | {n: guess.clip(0, 1) for n, guess in guesses.items()}
    rows(args.picture, {name: each[:12].reshape(-1, 8, 8) for name, each in shown.items()})

    encoder = mx.mod.Module(module.symbol.get_internals()["code_output"], label_names=None)
    encoder.bind([("data", (VALIDATION, 64))], for_training=False)
    encoder.set_params(*module.get_params(), allow_extra=True)
    encoder.forward(mx.io.DataBatch([mx.nd.array(validation)]))
    print(f"the first code: {encoder.get_outputs()[0].asnumpy()[0].round(2)}")
    print(f"error: {errors[0]:.4f}, of as many principal components: {errors[1]:.4f}")
    return errors


if __name__ == "__main__":
    command(main)
