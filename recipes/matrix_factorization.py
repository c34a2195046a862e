"""Fill in the missing pixels of digits by matrix factorization, with row-sparse embeddings.

python recipes/matrix_factorization.py          # seed 0: error 0.2083, of means 0.272
python recipes/matrix_factorization.py --smoke  # in miniature, a few seconds

A matrix has a row for each of 1,797 images and a column for each of 64 pixels; half of its entries
are missing: a fifth of all is the test, the others chose the options. An entry is modelled as a
product of the factors of its row and of its column, plus a number for each. The gradient of an
Embedding with ``sparse_grad`` has the rows that the batch names; a lazy update reads and writes
those rows only.
"""

import logging

import numpy as np
from command import command, options
from digits import arrays
from pictures import rows

import modkit as mx


def factors(name, count, size):
    """The factors and the bias of each index of a batch: (N, size) and (N, 1)."""
    index = mx.sym.Variable(name)
    looked_up = []
    for part, width in (("factors", size), ("bias", 1)):
        weight = mx.sym.Variable(
            f"{name}_{part}_weight", stype="row_sparse", init=mx.init.Normal(0.1)
        )
        looked_up.append(
            mx.sym.Embedding(
                index, weight, input_dim=count, output_dim=width, sparse_grad=True,
                name=f"{name}_{part}_of_batch",
            )
        )  # fmt: skip
    return looked_up


def network(images, pixels, size):
    """Koren, Bell and Volinsky, Matrix Factorization Techniques (2009), with squared errors."""
    (image, image_bias), (pixel, pixel_bias) = (
        factors("image", images, size), factors("pixel", pixels, size),
    )  # fmt: skip
    entry = mx.sym.sum(image * pixel, axis=1, keepdims=True) + image_bias + pixel_bias
    return mx.sym.LinearRegressionOutput(entry, mx.sym.Variable("entry"), name="model")


def main(arguments=None):
    """Train; returns the root mean squared errors of the test: of this, and of means."""
    parser = options(
        __doc__, "matrix_factorization", epochs=20, images=1797, factors=10, batch_size=500,
        lr=0.01, wd=1e-4,
    )  # fmt: skip
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs, args.images, args.factors, args.lr = 25, 200, 4, 0.03
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    matrix = arrays()[0][: args.images].reshape(args.images, -1)
    drawn = np.random.RandomState(args.seed).rand(*matrix.shape)
    test, known = drawn < 0.2, (drawn >= 0.2) & (drawn < 0.7)

    def entries(mask, **how):
        image, pixel = map(np.float32, np.nonzero(mask))
        data = {"image": image, "pixel": pixel}
        return mx.io.NDArrayIter(data, {"entry": matrix[mask][:, None]}, args.batch_size, **how)

    module = mx.mod.Module(network(*matrix.shape, args.factors), ["image", "pixel"], ["entry"])
    module.fit(
        entries(known, shuffle=True, last_batch_handle="discard"),
        eval_metric="rmse",
        optimizer="adam",
        optimizer_params={
            "learning_rate": args.lr, "wd": args.wd, "rescale_grad": 1 / args.batch_size,
        },
        num_epoch=args.epochs,
    )  # fmt: skip
    completed = matrix.copy()
    completed[~known] = module.predict(entries(~known)).asnumpy()[:, 0]
    means = np.where(known, matrix, 0).sum(0) / known.sum(0)
    error, simple = (
        float(np.sqrt(np.mean((guess - matrix)[test] ** 2)))
        for guess in (completed, np.broadcast_to(means, matrix.shape))
    )
    square = (-1, 8, 8)
    shown = {
        "known": np.where(known, matrix, 0.5), "completed": completed.clip(0, 1), "true": matrix,
    }  # fmt: skip
    rows(args.picture, {name: each[:12].reshape(square) for name, each in shown.items()})
    print(f"error of the test's pixels: {error:.4f}, of means: {simple:.4f}")
    return error, simple


if __name__ == "__main__":
    command(main)
