"""Train a factorization machine on who likes what, with csr batches and row-sparse weights.

python recipes/factorization_machine.py          # seed 0: validation accuracy 0.959
python recipes/factorization_machine.py --smoke  # in miniature, a few seconds
python recipes/factorization_machine.py --people 900000 --things 100000  # speed only: too many

The data are drawn: a person has tastes, a thing has qualities, and a person likes a thing where
both agree. A sample is one-hot, so a csr row stores two of all features. Scores that add a number
for each person and each thing cannot tell (0.5); products of factors can. A step reads the rows of
the weights that its batch names, and writes no others, however many there are.
"""

import logging

import numpy as np
from command import command, options
from pictures import curves

import modkit as mx


def parse(arguments=None):
    """The parsed command line."""
    parser = options(
        __doc__, "factorization_machine", people=600, things=400, samples=60_000, factors=8,
        epochs=8, batch_size=500, lr=0.05,
    )  # fmt: skip
    args = parser.parse_args(arguments)
    if args.smoke:
        args.people, args.things, args.samples, args.epochs = 120, 80, 12_000, 6
    return args


def drawn(args):
    """Samples as a csr array (samples, people + things), and labels (samples, 1)."""
    random = np.random.RandomState(args.seed)
    tastes, qualities = random.randn(args.people, 3), random.randn(args.things, 3)
    people = random.randint(0, args.people, args.samples)
    things = random.randint(0, args.things, args.samples)
    likes = (tastes[people] * qualities[things]).sum(1) > 0
    columns = np.stack([people, args.people + things], 1).reshape(-1)
    ends = np.arange(0, 2 * args.samples + 1, 2)
    shape = args.samples, args.people + args.things
    samples = mx.nd.sparse.csr_matrix((np.ones(len(columns), "float32"), columns, ends), shape)
    return samples, likes.astype("float32")[:, None]


def machine(features, factors):
    """Rendle, Factorization Machines (2010), as a logistic model.

    The sum over pairs of features ``<v_i, v_j> x_i x_j`` is ``(|x V|² - x² · |V|²) / 2``.
    """
    x = mx.sym.Variable("data", stype="csr")
    small = mx.init.Normal(0.1)
    v = mx.sym.Variable("v", shape=(features, factors), stype="row_sparse", init=small)
    w = mx.sym.Variable("w", shape=(features, 1), stype="row_sparse", init=mx.init.Zero())
    bias = mx.sym.Variable("bias", shape=(1,), init=mx.init.Zero())
    linear = mx.sym.broadcast_add(mx.sym.sparse.dot(x, w), bias)
    whole = mx.sym.sum(mx.sym.square(mx.sym.sparse.dot(x, v)), axis=1, keepdims=True)
    own = mx.sym.sparse.dot(mx.sym.square(x), mx.sym.sum(mx.sym.square(v), axis=1, keepdims=True))
    score = linear + 0.5 * (whole - own)
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("likes"), name="probability")


def right(labels, probabilities):
    """The share of samples whose probability is on the right side."""
    return float(((probabilities > 0.5) == (labels > 0.5)).mean())


def main(arguments=None):
    """Train; returns the accuracy on samples that were not trained on."""
    args = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    samples, labels = drawn(args)
    kept = args.samples * 5 // 6
    train, validation = (
        mx.io.NDArrayIter(
            {"data": samples[part]}, {"likes": labels[part]}, args.batch_size,
            shuffle=shuffle, last_batch_handle="discard",
        )
        for part, shuffle in ((slice(None, kept), True), (slice(kept, None), False))
    )  # fmt: skip
    network = machine(args.people + args.things, args.factors)
    module = mx.mod.Module(network, data_names=["data"], label_names=["likes"])
    metric, reached = mx.metric.CustomMetric(right, name="accuracy"), []
    module.fit(
        train,
        validation,
        eval_metric=metric,
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr, "rescale_grad": 1 / args.batch_size},
        eval_end_callback=lambda param: reached.append(param.eval_metric.get()[1]),
        num_epoch=args.epochs,
    )
    lines, level = {"factorization machine": reached}, ("chance", 0.5)
    curves(args.picture, lines, y="validation accuracy", level=level)
    print(f"validation accuracy: {reached[-1]:.4f}")
    return reached[-1]


if __name__ == "__main__":
    command(main)
