"""Train an LSTM whose layers lie on different devices, by ``ctx_group`` and ``group2ctx``.

python recipes/model_parallel_lstm.py          # seed 0: all answers right, 0.1 by chance
python recipes/model_parallel_lstm.py --smoke  # in miniature, a few seconds

Nodes that are made inside ``AttrScope(ctx_group=...)`` belong to a group, and ``group2ctxs`` says
on which device a group runs. Each layer has its parameters, its optimizer states and its part of
the work on its own device; while one layer reads a word, the layer below can read the next. The
devices here are parts of one CPU; with ``mx.gpu(i)`` they are GPUs. Sequences of digits are read
one after the other, and after each the network says what the digit ``--back`` places ago was.
"""

import logging

import numpy as np
from command import command, options
from pictures import curves

import modkit as mx

DIGITS = 10


def group(name):
    """The scope of a group: its nodes and variables go to one device."""
    return mx.AttrScope(ctx_group=name)


def network(args):
    """Stacked LSTMs, a group each; the lookup is with the first, the loss with the last."""
    names = [f"layer{number}" for number in range(args.layers)]
    with group(names[0]):
        words = mx.sym.Embedding(
            mx.sym.Variable("data"), input_dim=DIGITS, output_dim=args.hidden, name="embedding"
        )
        words = mx.sym.SliceChannel(words, num_outputs=args.length, axis=1, squeeze_axis=True)
    cells, states, outputs = {}, {}, []
    for name in names:
        with group(name):
            cells[name] = mx.rnn.LSTMCell(args.hidden, prefix=f"{name}_")
            states[name] = cells[name].begin_state()
    for step in range(args.length):  # step by step, so that the layers can work side by side
        value = words[step]
        for name in names:
            with group(name):
                value, states[name] = cells[name](value, states[name])
        outputs.append(value)
    with group(names[-1]):
        net = mx.sym.FullyConnected(
            mx.sym.Concat(*outputs, dim=0), num_hidden=DIGITS, name="scores"
        )
        label = mx.sym.Reshape(mx.sym.transpose(mx.sym.Variable("softmax_label")), shape=(-1,))
        return mx.sym.SoftmaxOutput(net, label, ignore_label=-1, use_ignore=True, name="softmax")


def sequences(count, args, seed):
    """Random digits (count, length), and the digit ``back`` places before each; -1 is none."""
    digits = np.random.RandomState(seed).randint(0, DIGITS, (count, args.length))
    labels = np.full(digits.shape, -1)
    labels[:, args.back :] = digits[:, : -args.back]
    return mx.io.NDArrayIter(
        digits.astype(np.float32), labels.astype(np.float32), args.batch_size, True, "discard"
    )


def right(labels, probabilities):
    """The numbers of correct predictions and of labels other than -1."""
    labels = labels.T.reshape(-1)
    asked = labels >= 0
    return int((probabilities.argmax(1) == labels)[asked].sum()), int(asked.sum())


def main(arguments=None):
    """Train; returns the share of right answers about sequences that were not trained on."""
    parser = options(
        __doc__, "model_parallel_lstm", epochs=8, layers=2, hidden=64, length=12, back=3,
        samples=4000, batch_size=50, lr=0.01,
    )  # fmt: skip
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs, args.hidden, args.length, args.back, args.samples = 4, 32, 6, 1, 1000
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    contexts = {f"layer{number}": mx.cpu(number) for number in range(args.layers)}
    module = mx.mod.Module(network(args), group2ctxs=contexts)
    reached = []
    module.fit(
        sequences(args.samples, args, seed=args.seed + 1),
        sequences(args.samples // 4, args, seed=args.seed + 2),
        eval_metric=mx.metric.CustomMetric(right, name="right"),
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr, "rescale_grad": 1 / args.batch_size},
        initializer=mx.init.Xavier(),
        eval_end_callback=lambda param: reached.append(param.eval_metric.get()[1]),
        num_epoch=args.epochs,
    )
    curves(args.picture, {"LSTM": reached}, y="right answers", level=("chance", 1 / DIGITS))
    print(f"right answers: {reached[-1]:.4f}, by chance: {1 / DIGITS}")
    return reached[-1]


if __name__ == "__main__":
    command(main)
