"""`fit`, `score` and `predict` on the data that people have; one seed for everything."""

import random

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NameNotFoundError, ParameterError, ShapeError
from tests.module.networks import mlp, values
from tests.module.resuming import buckets, language, noisy

COUNT, SIZE = 20, 8
STREAM = np.random.RandomState(5)
X = STREAM.normal(size=(COUNT, 10)).astype(np.float32)
Y = STREAM.randint(0, 4, COUNT).astype(np.float32)


class Stopping(mx.mod.Module):
    """A module whose forward pass raises StopIteration."""

    def forward(self, data_batch, is_train=None):
        raise StopIteration("mine")


def test_a_stop_iteration_in_a_prediction_does_not_end_it_as_its_last_batch_does():
    module = Stopping(mlp())
    data = mx.io.NDArrayIter(X, Y, 5)
    module.bind(data.provide_data, data.provide_label)
    module.init_params()
    with pytest.raises(StopIteration, match="mine"):
        module.predict(data)
    with pytest.raises(mx.MXNetError, match=r"iter_predict: .* raised StopIteration"):
        list(module.iter_predict(data))


class Frame:
    """As much of a data frame of pandas as is read."""

    def __init__(self, content):
        self.content, self.shape = content, content.shape

    def to_numpy(self):
        return self.content


class Tensor:
    """As much of a tensor of PyTorch as is read."""

    def __init__(self, content):
        self.content, self.shape = content, content.shape

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.content


def pairs(kind=lambda v: v, join=tuple):
    return [join([kind(X[i : i + SIZE]), kind(Y[i : i + SIZE])]) for i in range(0, COUNT, SIZE)]


class Loader:
    """An iterable that begins anew, of batches with names."""

    def __iter__(self):
        return iter([{"data": x, "softmax_label": y} for x, y in pairs()])


def fit(data, module=None, **options):
    module = module or mx.mod.Module(mlp())
    mx.random.seed(3)
    module.fit(data, initializer=mx.init.Xavier(), **{"num_epoch": 2, **options})
    return module


def same(first, second):
    first, second = values(first), values(second)
    return all(np.array_equal(first[n], second[n]) for n in first)


ARRAYS = [
    (X, Y),
    {"data": X, "softmax_label": Y},
    (Frame(X), Frame(Y)),
    ({"data": X}, {"softmax_label": Y}),
    ([X], [Y]),
    (mx.nd.array(X), mx.nd.array(Y)),
    (Tensor(X), Tensor(Y)),
    (X.astype(np.float64), Y.astype(np.int64)),
]
BATCHES = [pairs(), pairs(join=list), pairs(Tensor), Loader(), pairs(mx.nd.array)]


@pytest.mark.parametrize("data", ARRAYS, ids=range(len(ARRAYS)))
def test_arrays_train_as_an_iterator_does(data):
    usual = fit(mx.io.NDArrayIter(X, Y, SIZE, last_batch_handle="roll_over"))
    assert same(fit(data, batch_size=SIZE, shuffle=False), usual)


@pytest.mark.parametrize("data", BATCHES, ids=range(len(BATCHES)))
def test_batches_train_as_an_iterator_does(data):
    usual = fit(pairs())
    assert same(fit(data), usual)


def test_scores_count_each_sample_once():
    module = fit((X, Y), batch_size=SIZE)
    said = module.predict({"data": X}).asnumpy()
    assert said.shape == (COUNT, 4)
    right = (said.argmax(1) == Y).mean()
    for data in [(X, Y), {"data": X, "softmax_label": Y}, pairs(), Loader()]:
        assert module.score(data, "acc") == [("accuracy", pytest.approx(right))]
    np.testing.assert_array_equal(module.predict(Frame(X)).asnumpy(), said)
    # Programs of other batch sizes round differently on some CPUs.
    np.testing.assert_allclose(module.predict([X[:SIZE], X[SIZE:]]).asnumpy(), said, rtol=1e-5)


def test_a_short_last_batch_leaves_the_size_of_later_ones(monkeypatch):
    module, sizes = fit((X, Y), batch_size=SIZE), []
    forward = module.forward

    def counted(batch, is_train):
        sizes.append(len(batch.data[0]))
        forward(batch, is_train)

    monkeypatch.setattr(module, "forward", counted)
    module.predict({"data": X})
    module.predict({"data": X})
    assert sizes == [8, 8, 4] * 2
    module.reshape([("data", (5, *X.shape[1:]))], [("softmax_label", (5,))])
    module.predict({"data": X})
    assert sizes[6:] == [5] * 4
    short = mx.io.DataBatch([mx.nd.array(X[:3])], [mx.nd.array(Y[:3])])
    module.forward(short, is_train=False)
    module.reshape([("data", (3, *X.shape[1:]))], [("softmax_label", (3,))])
    module.predict({"data": X[:9]})
    assert sizes[-3:] == [3] * 3


def test_the_last_samples_are_for_validation():
    class Look(mx.callback.Callback):
        def on_fit_end(self, run, error):
            self.run = run

    look = Look()
    module = fit((X, Y), batch_size=4, validation_split=0.2, callbacks=look)
    assert look.run.train_data.num_data == 16
    expected = module.score((X[16:], Y[16:]), "acc")[0][1]
    assert look.run.history[-1]["validation-accuracy"] == expected


def test_fewer_samples_than_a_batch_are_one_batch():
    assert fit((X, Y)).data_shapes[0].shape == (COUNT, 10)


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        ({"data": X, "label": Y}, NameNotFoundError, "'label' is only in the data"),
        ({"softmax_label": Y}, NameNotFoundError, "'data' is only in the network"),
        ((X, Y[:5]), ShapeError, "'softmax_label': 5"),
        (([X, X], Y), ParameterError, "got 2 arrays, expected 1: data"),
        ([], ParameterError, "without a batch"),
        ([object()], ParameterError, "a batch of type object"),
    ],
)
def test_wrong_data_names_the_column(data, error, text):
    with pytest.raises(error, match=text):
        fit(data)


@pytest.mark.parametrize("size", [0, -1, 1.5, "8"])
def test_a_wrong_batch_size_is_named(size):
    with pytest.raises(ParameterError, match=r"fit: batch_size: got .*an integer of at least 1"):
        fit((X, Y), batch_size=size)


def test_options_for_arrays_are_refused_elsewhere():
    for option in ({"batch_size": 4}, {"shuffle": True}, {"validation_split": 0.5}):
        with pytest.raises(ParameterError, match=f"fit: {next(iter(option))}: only for arrays"):
            fit(pairs(), **option)
    with pytest.raises(ParameterError, match="validation_split: got 1"):
        fit((X, Y), validation_split=1)


def test_a_generator_is_read_once():
    with pytest.raises(ParameterError, match="generator can be read only once"):
        fit(batch for batch in pairs())
    fit((batch for batch in pairs()), num_epoch=1)


@pytest.mark.parametrize("context", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]], ids=["one", "two"])
@pytest.mark.parametrize("prefetch", [False, True])
def test_one_seed_decides_everything(context, prefetch):
    symbol = noisy()

    def train(seed):
        random.random()
        np.random.shuffle(np.arange(3))  # noqa: NPY002 - other streams than the last time
        data = mx.io.NDArrayIter(X, Y, SIZE, shuffle=True)
        module = mx.mod.Module(symbol, context=context)
        module.fit(
            mx.io.PrefetchingIter(data) if prefetch else data, num_epoch=2, seed=seed,
            initializer=mx.init.Xavier(),
        )  # fmt: skip
        return module

    assert same(train(4), train(4))
    assert not same(train(4), train(5))


def test_one_seed_decides_the_order_of_sentences():
    def train():
        module = mx.mod.BucketingModule(language, default_bucket_key=6)
        module.fit(buckets(), num_epoch=1, seed=2, eval_metric=mx.metric.Perplexity(0))
        return module

    assert same(train(), train())


def test_evaluation_data_as_an_array_and_a_generator():
    x, y = np.ones((8, 10), np.float32), np.zeros(8, np.float32)
    module = mx.mod.Module(mlp())
    with pytest.raises(ParameterError, match="eval_data and validation_split"):
        module.fit((x, y), eval_data=(x, y), validation_split=0.5, num_epoch=1)
    module.fit((x, y), eval_data={"data": x, "softmax_label": y}, num_epoch=1, batch_size=4)
    batches = ((x[i : i + 4], y[i : i + 4]) for i in (0, 4))
    assert module.score(batches, "acc")[0][0] == "accuracy"


class Dataset:
    """As much of a dataset of Hugging Face as is read: columns, formats, slices."""

    column_names = ("data", "softmax_label")

    def __init__(self, of=np.ndarray.tolist):
        self.of = of

    def with_format(self, kind):
        assert kind == "numpy"
        return Dataset(np.asarray)

    def __len__(self):
        return COUNT

    def __getitem__(self, rows):
        return {"data": self.of(X[rows]), "softmax_label": self.of(Y[rows])}


class Streamed:
    """As much of an iterable dataset of Hugging Face as is read."""

    column_names = None

    def with_format(self, kind):
        assert kind == "numpy"
        return self

    def __iter__(self):
        raise AssertionError("samples one by one")

    def iter(self, batch_size):
        for at in range(0, COUNT, batch_size):
            rows = slice(at, at + batch_size)
            yield {"data": X[rows], "softmax_label": Y[rows]}


class Grain:
    """As much of grain's datasets as is read: an iterator of its own for each pass."""

    class Pass:
        def __init__(self):
            self.at = 0

        def __iter__(self):
            return self

        def __next__(self):
            if self.at >= COUNT:
                raise StopIteration
            rows, self.at = slice(self.at, self.at + SIZE), self.at + SIZE
            return {"data": X[rows], "softmax_label": Y[rows]}

        def get_state(self):
            return {"next_index": self.at}

    def __iter__(self):
        return Grain.Pass()


def test_datasets_of_other_libraries():
    columns = fit((X, Y), batch_size=SIZE, shuffle=False)
    assert same(fit(Dataset(), batch_size=SIZE, shuffle=False), columns)
    batches = fit(pairs())
    assert same(fit(Streamed(), batch_size=SIZE), batches)
    assert same(fit(Grain()), batches)
    for data in (Dataset(), Streamed(), Grain()):
        assert batches.score(data, "acc") == batches.score((X, Y), "acc")
        fit((X, Y), batch_size=SIZE, eval_data=data)
    with pytest.raises(ParameterError, match="shuffle: only for arrays"):
        fit(Streamed(), shuffle=True)


def test_arrays_of_a_bucketing_module_keep_their_labels():
    module = mx.mod.BucketingModule(lambda key: (mlp(), ["data"], ["softmax_label"]), 0)
    module.fit({"data": X, "softmax_label": Y}, num_epoch=1)
    assert module.label_shapes[0].name == "softmax_label"
