"""Metrics with batches to feed them: run by the recorder under MXNet and by the tests."""

import zlib
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Case:
    """A metric, and a function from a random generator to one update's labels and outputs."""

    name: str
    metric: str
    batch: object
    kwargs: dict = field(default_factory=dict)
    updates: tuple = (6, 6, 4)
    global_differs: str = ""
    """Why `get_global` is not MXNet's, if it is not."""

    def batches(self):
        """Labels and outputs of each update, as float32 NumPy arrays."""
        random = np.random.RandomState(zlib.crc32(self.name.encode()) % 2**31)
        for size in self.updates:
            labels, preds = self.batch(random, size)
            yield [_typed(x) for x in labels], [_typed(x) for x in preds]


def _typed(x):
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype in (np.float64, np.int64) else x


def probabilities(r, *shape, axis=-1):
    """Positive numbers with a sum of one along ``axis``."""
    p = r.uniform(0.05, 1, shape)
    return p / p.sum(axis=axis, keepdims=True)


def classes(k, *rest):
    """Labels below ``k`` of shape (N, *rest), with outputs (N, k, *rest)."""

    def batch(r, n):
        return [r.randint(0, k, (n, *rest))], [probabilities(r, n, k, *rest, axis=1)]

    return batch


def last_axis(k, *rest):
    """Labels of shape (N, *rest) below ``k``, with flat outputs (N * rest, k)."""

    def batch(r, n):
        count = n * int(np.prod(rest, dtype=int))
        return [r.randint(0, k, (n, *rest))], [probabilities(r, count, k)]

    return batch


def numbers(*rest, spread=1.0):
    """Real labels and outputs of shape (N, *rest), correlated a little."""

    def batch(r, n):
        label = r.normal(0, spread, (n, *rest))
        return [label], [0.5 * label + r.normal(0, spread, (n, *rest))]

    return batch


def twice(batch):
    """Two labels and two outputs in each update."""

    def both(r, n):
        (a, x), (b, y) = batch(r, n), batch(r, n + 1)
        return a + b, x + y

    return both


def fixed(labels, preds):
    """The same values in every update."""
    return lambda _r, _n: ([np.array(labels)], [np.array(preds)])


def column(batch):
    """Labels of shape (N, 1)."""

    def changed(r, n):
        labels, preds = batch(r, n)
        return [x.reshape(-1, 1) for x in labels], preds

    return changed


def typed(batch, label_type, pred_type):
    """Other element types."""

    def changed(r, n):
        labels, preds = batch(r, n)
        return [x.astype(label_type) for x in labels], [x.astype(pred_type) for x in preds]

    return changed


def _masked(r, n):
    labels = r.randint(0, 4, (n,))
    labels[: n // 2] = -1
    return [labels], [probabilities(r, n, 4)]


def _with_nans(r, n):
    scores = probabilities(r, n, 4)
    for _ in range(2):
        scores[np.arange(n), r.randint(0, 4, (n,))] = np.nan
    return [r.randint(0, 4, (n,))], [scores]


def _classes_ahead(r, n):
    return [r.randint(0, 3, (n, 2))], [probabilities(r, n, 2, 3)]


def _growing(r, n):
    return [r.randint(0, 2 + 3 * (n < 5), (n,))], [probabilities(r, n, 2)]


def _extra_classes(r, n):
    return [r.randint(0, 2, (n,))], [probabilities(r, n, 4)]


NO_GLOBAL = "MXNet does not keep the global total of this average"
BINARY, MULTI, REAL = classes(2), classes(4), numbers()
MICRO = {"average": "micro"}

CASES = [
    Case("acc", "acc", MULTI),
    Case("acc name", "accuracy", MULTI, {"name": "top1"}),
    Case("acc two outputs", "acc", twice(MULTI)),
    Case("acc column labels", "acc", column(MULTI)),
    Case("acc picture", "acc", classes(3, 5)),
    Case("acc last axis", "acc", _classes_ahead, {"axis": 2}),
    Case("acc negative axis", "acc", _classes_ahead, {"axis": -1}),
    Case("acc of classes", "acc", lambda r, n: ([r.randint(0, 3, n)], [r.uniform(0, 3, n)])),
    Case("acc types", "acc", typed(MULTI, "int32", "float16")),
    Case("acc one", "acc", MULTI, updates=(1, 1)),
    Case("top 2", "top_k_acc", classes(6), {"top_k": 2}),
    Case("top 3", "top_k_accuracy", classes(6), {"top_k": 3, "name": "top"}),
    Case("top 2 of NaNs", "top_k_acc", _with_nans, {"top_k": 2}),
    Case("top all", "topkaccuracy", MULTI, {"top_k": 4}),
    Case("top column", "top_k_acc", column(classes(6)), {"top_k": 3}),
    Case("top two", "top_k_acc", twice(classes(6)), {"top_k": 3}),
    Case("f1", "f1", BINARY),
    Case("f1 micro", "f1", BINARY, MICRO),
    Case("f1 two", "f1", twice(BINARY)),
    Case("f1 two micro", "f1", twice(BINARY), MICRO),
    Case("f1 more outputs", "f1", _extra_classes),
    Case("f1 none", "f1", fixed([0, 0, 0], [[1, 0], [1, 0], [1, 0]])),
    Case("f1 all", "f1", fixed([1, 1, 1], [[0, 1], [0, 1], [0, 1]])),
    Case("f1 other labels", "f1", fixed([1, 7, 7, 1], [[1, 2], [1, 0], [0, 1], [1, 3]])),
    Case("mcc", "mcc", BINARY),
    Case("mcc micro", "mcc", BINARY, MICRO),
    Case("mcc two", "mcc", twice(BINARY)),
    Case("mcc two micro", "mcc", twice(BINARY), MICRO),
    Case("mcc more outputs", "mcc", _extra_classes, MICRO),
    Case("mcc none", "mcc", fixed([0, 0, 0], [[1, 0], [1, 0], [1, 0]])),
    Case("mcc all", "mcc", fixed([1, 1, 1], [[0, 1], [0, 1], [0, 1]])),
    Case("pcc", "pcc", MULTI),
    Case("pcc binary", "pcc", BINARY),
    Case("pcc two", "pcc", twice(MULTI)),
    Case("pcc growing", "pcc", _growing),
    Case("pcc one class", "pcc", fixed([0, 0], [[1, 0], [1, 0]])),
    Case("pcc of classes", "pcc", lambda r, n: ([r.randint(0, 5, n)], [r.randint(0, 5, n)])),
    Case("perplexity", "perplexity", MULTI, {"ignore_label": None}),
    Case("perplexity ignore", "perplexity", MULTI, {"ignore_label": 0}),
    Case("perplexity masked", "perplexity", _masked, {"ignore_label": -1}),
    Case("perplexity sequence", "perplexity", last_axis(5, 3), {"ignore_label": 0}),
    Case("perplexity two", "perplexity", twice(MULTI), {"ignore_label": 2}),
    Case("perplexity all ignored", "perplexity", fixed([0, 0], [[0.5, 0.5]] * 2),
         {"ignore_label": 0}),
    Case("perplexity zero", "perplexity", fixed([1], [[1, 0]]), {"ignore_label": None}),
    Case("perplexity outside", "perplexity", fixed([7, -3], [[0.25, 0.75], [0.1, 0.9]]),
         {"ignore_label": None}),
    Case("perplexity axis 0", "perplexity",
         lambda r, _n: ([r.randint(0, 3, 3)], [probabilities(r, 3, 3, axis=0)]),
         {"ignore_label": None, "axis": 0}),
    *(
        Case(f"{name} {what}", name, batch)
        for name in ("mae", "mse", "rmse")
        for what, batch in (
            ("vector", REAL),
            ("matrix", numbers(3)),
            ("cube", numbers(2, 3)),
            ("column label", column(REAL)),
            ("broadcast", lambda r, n: ([r.normal(size=n)], [r.normal(size=(n, 3))])),
            ("two", twice(REAL)),
            ("integers", typed(numbers(spread=9), "int32", "int32")),
            ("double", typed(REAL, "float32", "float16")),
        )
    ),
    *(
        case
        for name in ("ce", "nll_loss")
        for case in (
            Case(name, name, MULTI),
            Case(f"{name} eps", name, MULTI, {"eps": 0.1}),
            Case(f"{name} column", name, column(MULTI)),
            Case(f"{name} sequence", name, last_axis(5, 3)),
            Case(f"{name} two", name, twice(MULTI)),
            Case(f"{name} zero", name, fixed([1], [[1, 0]])),
            Case(f"{name} negative", name, fixed([-1, 0], [[0.3, 0.7], [0.3, 0.7]])),
        )
    ),
    Case("crossentropy", "crossentropy", MULTI, {"name": "x"}),
    Case("pearsonr", "pearsonr", REAL),
    Case("pearsonr matrix", "pearsonr", numbers(3)),
    Case("pearsonr two", "pearsonr", twice(REAL)),
    Case("pearsonr far from zero", "pearsonr",
         lambda r, n: ([100 + r.normal(size=n)], [r.normal(size=n) - 50])),
    Case("pearsonr constant", "pearsonr", fixed([0.1] * 6, [1, 2, 3, 4, 5, 6])),
    Case("pearsonr one", "pearsonr", REAL, updates=(1, 1)),
    Case("pearsonr micro", "pearsonr", REAL, MICRO, updates=(6, 6),
         global_differs=NO_GLOBAL),
    Case("pearsonr micro uneven", "pearsonr", numbers(3), MICRO, updates=(5, 2),
         global_differs=NO_GLOBAL),
    Case("pearsonr micro two", "pearsonr", twice(REAL), MICRO, updates=(6, 2),
         global_differs=NO_GLOBAL),
    Case("loss", "loss", REAL),
    Case("loss matrix", "loss", numbers(3)),
    Case("loss two", "loss", twice(REAL)),
    Case("torch", "torch", REAL),
    Case("caffe", "caffe", REAL),
]  # fmt: skip

RESET_LOCAL_AFTER = 2
"""Number of updates before `reset_local`."""


def run(metric, case, wrap):
    """Values of ``metric`` after every update, after `reset_local` and after `reset`.

    Args:
        metric: of this case.
        case: its batches.
        wrap: makes an array for the metric from a NumPy array.
    """
    shown = []

    def show():
        shown.append([list(metric.get()), list(metric.get_global()), float(metric.num_inst)])

    show()
    for index, (labels, preds) in enumerate(case.batches()):
        if index == RESET_LOCAL_AFTER:
            metric.reset_local()
            show()
        metric.update([wrap(x) for x in labels], [wrap(x) for x in preds])
        show()
    metric.reset()
    show()
    return shown
