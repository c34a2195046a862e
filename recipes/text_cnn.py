"""Classify sentences by a convolutional network over words: which part of SciPy is it about?

python recipes/text_cnn.py          # seed 0, SciPy 1.17: accuracy 0.831, commonest class 0.388
python recipes/text_cnn.py --smoke  # in miniature, a few seconds

A sentence is padded to a fixed number of words, and its embedded words are an image of one
channel. Kernels as wide as the image read three, four or five words at once; a maximum over the
sentence keeps the strongest answer of each. The sentences are those of SciPy's documentation. A
function's are all for training, for validation, which chose the options, or for the test.
"""

import importlib
import logging
import re

import numpy as np
from command import command, options
from pictures import curves

import modkit as mx

PARTS = "signal", "special", "ndimage", "linalg"


def sentences():
    """Words of sentences with the number of their part: for training, validation and test.

    SciPy prints sets, in another order in each process; they are left out.
    """
    random, seen, found = np.random.RandomState(0), set(), ([], [], [])
    for label, part in enumerate(PARTS):
        library = importlib.import_module(f"scipy.{part}")
        for name in sorted(library.__all__):
            drawn = random.rand()
            use = 1 if drawn < 0.2 else 2 if drawn >= 0.8 else 0
            text = re.sub(r"``{.*?}``", "", getattr(library, name).__doc__ or "")
            for sentence in re.split(r"[.:]\s+|\n\s*\n", text):
                words = re.findall(r"[a-z]{2,}", sentence.lower())
                if len(words) >= 6 and tuple(words) not in seen:
                    seen.add(tuple(words))
                    found[use].append((words, label))
    return found


def numbered(samples, numbers, length):
    """Sentences as an array (samples, length): 0 is padding, 1 an unknown word."""
    rows = np.zeros((len(samples), length), np.float32)
    for row, (words, _) in zip(rows, samples, strict=True):
        kept = [numbers.get(word, 1) for word in words[:length]]
        row[: len(kept)] = kept
    return rows, np.array([label for _, label in samples], np.float32)


def network(words, size, filters):
    """Kim, Convolutional Neural Networks for Sentence Classification (2014)."""
    net = mx.sym.Embedding(
        mx.sym.Variable("data"), input_dim=words, output_dim=size, name="embedding"
    )
    image = mx.sym.expand_dims(net, axis=1)
    strongest = []
    for height in (3, 4, 5):
        net = mx.sym.Convolution(
            image, kernel=(height, size), num_filter=filters, name=f"read{height}"
        )
        net = mx.sym.Activation(net, act_type="relu")
        strongest.append(mx.sym.Pooling(net, kernel=(1, 1), global_pool=True, pool_type="max"))
    net = mx.sym.Dropout(mx.sym.Flatten(mx.sym.Concat(*strongest, dim=1)), p=0.5)
    net = mx.sym.FullyConnected(net, num_hidden=len(PARTS), name="scores")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main(arguments=None):
    """Train; returns the accuracy on sentences of functions that nothing else reads."""
    parser = options(
        __doc__, "text_cnn", epochs=6, length=24, words=3000, size=32, filters=32, batch_size=50,
        lr=0.002,
    )  # fmt: skip
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs, args.length, args.size, args.filters, args.lr = 1, 16, 16, 8, 0.01
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what NDArrayIter shuffles with
    samples = sentences()
    names, counts = np.unique(np.concatenate([w for w, _ in samples[0]]), return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")][: args.words]
    numbers = {str(word): number for number, word in enumerate(kept, 2)}
    arrays = [numbered(part, numbers, args.length) for part in samples]
    train = mx.io.NDArrayIter(*arrays[0], args.batch_size, True, "discard")
    validation, test = (
        mx.io.NDArrayIter(*part, args.batch_size, False, "discard") for part in arrays[1:]
    )
    commonest = np.bincount(arrays[2][1].astype(int)).max() / len(arrays[2][1])
    reached = []
    module = mx.mod.Module(network(len(numbers) + 2, args.size, args.filters))
    module.fit(
        train,
        validation,
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr, "rescale_grad": 1 / args.batch_size},
        initializer=mx.init.Mixed(["embedding", ".*"], [mx.init.Normal(0.3), mx.init.Xavier()]),
        eval_end_callback=lambda param: reached.append(param.eval_metric.get()[1]),
        num_epoch=args.epochs,
    )
    ((_, accuracy),) = module.score(test, "acc")
    level = "the commonest class", commonest
    curves(args.picture, {"text CNN": reached}, y="validation accuracy", level=level)
    print(f"test accuracy: {accuracy:.4f}, of the commonest class: {commonest:.4f}")
    return accuracy


if __name__ == "__main__":
    command(main)
