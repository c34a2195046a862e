"""Train a language model on sentences of many lengths, with one LSTM graph for each bucket.

python recipes/lstm_language_model.py          # seed 0, Python 3.11: perplexity 99, unigrams 285
python recipes/lstm_language_model.py --smoke  # in miniature, a few seconds

A BucketSentenceIter pads each sentence to the next of a few lengths, and a BucketingModule has one
graph for each length; all graphs share their parameters. Padding counts neither in the loss
(``use_ignore``) nor in the perplexity. The text is Python's own language reference.
"""

import logging
import random
import re
from pydoc_data import topics

import numpy as np
from command import command, options
from pictures import curves

import modkit as mx

UNKNOWN, PADDING = "<unknown>", "<padding>"


def sentences(count, longest):
    """Lists of words of the language reference, in an order that is random and fixed."""
    text = "\n\n".join(topics.topics[name] for name in sorted(topics.topics))
    found = re.split(r"(?<=[.:])\s+|\n\n+", text)
    words = [re.findall(r"[a-z']+|[.,:]", sentence.lower()) for sentence in found]
    words = [each for each in words if 4 <= len(each) <= longest]
    unique = list(map(list, dict.fromkeys(map(tuple, words))))
    np.random.RandomState(0).shuffle(unique)
    return unique[:count]


def encoded(texts, words):
    """Sentences as numbers: the most frequent ``words`` have their own, 0 is padding."""
    names, counts = np.unique(np.concatenate(texts), return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")][:words]
    numbers = {PADDING: 0, UNKNOWN: 1} | {str(word): n for n, word in enumerate(kept, 2)}
    return [[numbers.get(word, 1) for word in text] for text in texts], len(numbers)


def unigrams(train, validation, size):
    """The perplexity of a model that knows nothing but how frequent each word is."""
    counts = np.bincount(np.concatenate(train), minlength=size) + 1
    return np.exp(-np.mean(np.log(counts / counts.sum())[np.concatenate(validation)]))


def network(args, size):
    """A function from the bucket to its graph, which predicts each next word."""

    def graph(length):
        data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
        net = mx.sym.Embedding(data, input_dim=size, output_dim=args.hidden, name="embedding")
        lstm = mx.rnn.FusedRNNCell(args.hidden, num_layers=1, mode="lstm", prefix="lstm_")
        net, _ = lstm.unroll(length, net, layout="TNC", merge_outputs=True)
        net = mx.sym.Dropout(mx.sym.reshape(net, (-1, args.hidden)), p=0.3)
        net = mx.sym.FullyConnected(net, num_hidden=size, name="decoder")
        net = mx.sym.SoftmaxOutput(
            net, mx.sym.reshape(label, (-1,)), use_ignore=True, ignore_label=0,
            normalization="valid", name="softmax",
        )  # fmt: skip
        return net, ["data"], ["softmax_label"]

    return graph


def main(arguments=None):
    """Train; returns the perplexity of sentences that were not trained on, and of unigrams."""
    parser = options(
        __doc__, "lstm_language_model", epochs=6, sentences=6000, words=1500, hidden=128,
        batch_size=32, lr=0.005,
    )  # fmt: skip
    parser.add_argument("--buckets", type=int, nargs="*", default=[10, 20, 30, 40])
    args = parser.parse_args(arguments)
    if args.smoke:
        args.epochs, args.sentences, args.words, args.hidden = 5, 2000, 200, 32
        args.buckets, args.lr = [10, 20], 0.01
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    mx.random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002 - what it shuffles sentences with
    random.seed(args.seed)  # what BucketSentenceIter shuffles batches with
    texts, size = encoded(sentences(args.sentences, args.buckets[-1]), args.words)
    kept = len(texts) * 9 // 10
    train, validation = (
        mx.rnn.BucketSentenceIter(part, args.batch_size, args.buckets, 0, layout="TN")
        for part in (texts[:kept], texts[kept:])
    )
    module = mx.mod.BucketingModule(network(args, size), train.default_bucket_key)
    reached = []
    module.fit(
        train,
        validation,
        eval_metric=mx.metric.Perplexity(ignore_label=0),
        optimizer="adam",
        optimizer_params={"learning_rate": args.lr, "rescale_grad": 1.0, "clip_gradient": 1.0},
        initializer=mx.init.Xavier(),
        eval_end_callback=lambda param: reached.append(param.eval_metric.get()[1]),
        num_epoch=args.epochs,
    )
    simple = unigrams(texts[:kept], texts[kept:], size)
    curves(args.picture, {"LSTM": reached}, y="validation perplexity", level=("unigrams", simple))
    print(f"validation perplexity: {reached[-1]:.1f}, of unigrams: {simple:.1f}")
    return reached[-1], simple


if __name__ == "__main__":
    command(main)
