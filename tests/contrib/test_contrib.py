"""mx.contrib: word vectors, old gradients, loaders, event files, and what is not there."""

import sys
import types
from collections import Counter
from typing import ClassVar

import numpy as np
import pytest

import modkit as mx
from modkit import absent
from modkit.contrib.text import embedding

VECTORS = "a 0.1 0.2 0.3\nb 1 2 3\n<unk> 9 9 9\nC 4 5 6\n"


def test_operators_are_those_of_symbols_and_arrays():
    assert mx.contrib.nd is mx.contrib.ndarray is mx.nd.contrib
    assert mx.contrib.sym is mx.contrib.symbol is mx.sym.contrib


def test_tokens_are_counted():
    count = mx.contrib.text.utils.count_tokens_from_str
    text = " Life is great ! \n life is good . \n"
    assert count(text, " ", "\n", to_lower=True) == Counter(
        {"life": 2, "is": 2, "great": 1, "!": 1, "good": 1, ".": 1}
    )
    before = Counter({"life": 2})
    assert count("*Life*life*", r"\*", counter_to_update=before) is before
    assert before == {"life": 3, "Life": 1}


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({}, ["<unk>", "c", "b", "a", "z"]),
        ({"most_freq_count": 2}, ["<unk>", "c", "b"]),
        ({"min_freq": 2, "reserved_tokens": ["<pad>", "b"]}, ["<unk>", "<pad>", "b", "c"]),
        ({"unknown_token": "a"}, ["a", "c", "b", "z"]),
    ],
)
def test_vocabularies(options, tokens):
    made = mx.contrib.text.vocab.Vocabulary(Counter({"z": 1, "a": 1, "b": 2, "c": 3}), **options)
    assert made.idx_to_token == tokens
    assert made.to_tokens(made.to_indices(tokens)) == tokens
    assert made.to_indices("none of them") == 0
    assert len(made) == len(tokens) and made.token_to_idx[tokens[1]] == 1


@pytest.mark.parametrize(
    "bad", [{"min_freq": 0}, {"reserved_tokens": ["a", "a"]}, {"reserved_tokens": ["<unk>"]}]
)
def test_vocabularies_are_checked(bad):
    with pytest.raises(ValueError, match="expected"):
        mx.contrib.text.vocab.Vocabulary(Counter(), **bad)
    with pytest.raises(ValueError, match=r"expected 0 .. 0"):
        mx.contrib.text.vocab.Vocabulary().to_tokens([3])


def test_vectors_are_read_and_changed(tmp_path):
    (tmp_path / "v.txt").write_text(VECTORS)
    made = embedding.create("CustomEmbedding", pretrained_file_path=str(tmp_path / "v.txt"))
    assert made.idx_to_token == ["<unk>", "a", "b", "C"] and made.vec_len == 3
    rows = made.get_vecs_by_tokens(["b", "c", "A"], lower_case_backup=True).asnumpy()
    np.testing.assert_allclose(rows, [[1, 2, 3], [9, 9, 9], [0.1, 0.2, 0.3]], rtol=1e-6)
    assert made.get_vecs_by_tokens("a").shape == (3,)
    made.update_token_vectors(["a", "C"], mx.nd.array([[7, 7, 7], [8, 8, 8]]))
    assert made.idx_to_vec.asnumpy()[:, 0].tolist() == [9, 7, 1, 8]
    with pytest.raises(ValueError, match="'q' is unknown"):
        made.update_token_vectors("q", mx.nd.ones((3,)))
    with pytest.raises(ValueError, match=r"expected \(1, 3\)"):
        made.update_token_vectors("a", mx.nd.ones((2,)))
    with pytest.raises(AssertionError, match="got list, expected an NDArray"):
        made.update_token_vectors("a", [7, 7, 7])
    vocabulary = mx.contrib.text.vocab.Vocabulary(Counter({"b": 1, "q": 1}))
    both = embedding.CompositeEmbedding(vocabulary, [made, made])
    assert both.idx_to_vec.shape == (3, 6) and both.vec_len == 6
    assert both.get_vecs_by_tokens("b").asnumpy().tolist() == [1, 2, 3, 1, 2, 3]


def test_files_of_vectors_are_checked(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("a 1 2\nb 1 2 3\n")
    with pytest.raises(mx.MXNetError, match="line 2: got 3 numbers for 'b', expected 2"):
        embedding.CustomEmbedding(str(path))
    path.write_text("2 2\na 1 2\na 3 4\n")
    with pytest.warns(UserWarning, match="skipped"):
        made = embedding.CustomEmbedding(str(path), init_unknown_vec=mx.nd.ones)
    assert made.idx_to_vec.asnumpy().tolist() == [[1, 1], [1, 2]]
    path.write_text("2 2\na 1 2\nb 1 2 3\nc\nd x\n")
    with (
        pytest.warns(UserWarning, match="line 1") as noted,  # and no other, as in MXNet 1.9.1
        pytest.raises(AssertionError, match="line 3: got 3 numbers for 'b', expected 2"),
    ):
        embedding.CustomEmbedding(str(path))
    assert len(noted) == 1
    with pytest.raises(FileNotFoundError, match="download it"):
        embedding.GloVe("glove.6B.50d.txt", embedding_root=str(tmp_path))
    for made, name in ((embedding.GloVe, "glove.840B.300d"), (embedding.FastText, "wiki.simple")):
        with pytest.raises(FileNotFoundError, match=name):  # MXNet 1.9.1's defaults
            made(embedding_root=str(tmp_path))
    with pytest.raises(mx.MXNetError, match="no file"):
        embedding.FastText("none", embedding_root=str(tmp_path))
    sizes = [name.split(".")[1] for name in embedding.get_pretrained_file_names("glove")]
    assert sizes == ["42B", *["6B"] * 4, "840B", *["twitter"] * 4]
    names = embedding.get_pretrained_file_names("fasttext")
    assert len(set(names)) == len(names) == 327  # MXNet 1.9.1
    assert [names[at] for at in (0, 8, 10, 172, 213, 326)] == [
        "crawl-300d-2M.vec", "wiki.am.vec", "wiki.an.vec", "wiki.multi.ar.vec",
        "wiki-news-300d-1M-subword.vec", "wiki.zu.vec",
    ]  # fmt: skip
    assert {"wiki.zh_yue.vec", "wiki.multi.vi.vec", "wiki-news-300d-1M-subword.vec"} < set(names)
    assert set(embedding.get_pretrained_file_names()) == {"glove", "fasttext"}
    with pytest.raises(mx.MXNetError, match="no embedding"):
        embedding.get_pretrained_file_names("word2vec")

    @embedding.register
    class OfOurs(embedding.TokenEmbedding):
        pretrained_file_name_sha1: ClassVar = {"ours.txt": "0"}

    assert embedding.get_pretrained_file_names("ofours") == ["ours.txt"]


def test_old_gradients():
    grads, loss = mx.contrib.autograd.grad_and_loss(lambda x, y: x * x * y)(
        mx.nd.array([2, 3]), mx.nd.array([5, 7])
    )
    assert loss.asnumpy().tolist() == [20, 63]
    assert [g.asnumpy().tolist() for g in grads] == [[20, 42], [4, 9]]
    (by_y,) = mx.contrib.autograd.grad(lambda x, y: x * y, argnum=1)(
        mx.nd.ones(1) * 4, mx.nd.ones(1)
    )
    assert by_y.asscalar() == 4
    x = mx.nd.ones((1,))
    x.attach_grad()
    for scope in (mx.contrib.autograd.train_section, mx.contrib.autograd.test_section):
        assert scope.__doc__.startswith("A scope")
        with mx.contrib.autograd.TrainingStateScope(scope is mx.contrib.autograd.test_section):
            found = mx.autograd.is_recording(), mx.autograd.is_training()
            with scope():
                assert found != (mx.autograd.is_recording(), mx.autograd.is_training())
    before = mx.contrib.autograd.set_is_training(True)
    assert mx.autograd.is_recording() and mx.autograd.is_training()
    y = 3 * x
    mx.contrib.autograd.set_is_training(before)
    mx.contrib.autograd.compute_gradient([y])
    assert x.grad.asscalar() == 3 and not mx.autograd.is_recording()


def test_loops_become_iterators():
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    pairs = [(rows[:2], rows[:2, 0]), (rows[2:4], rows[2:4, 0]), (rows[4:], rows[4:, 0])]
    made = mx.contrib.io.DataLoaderIter(pairs)
    for _ in range(2):
        batches = list(made)
        assert [b.pad for b in batches] == [0, 0, 1]
        assert batches[2].data[0].asnumpy().tolist() == [[8, 9], [0, 0]]
        made.reset()
    assert made.provide_data[0] == ("data", (2, 2))
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1),
        mx.sym.Variable("softmax_label"),
    )
    mx.mod.Module(net).fit(made, num_epoch=1, eval_metric="mse")
    with pytest.raises(mx.MXNetError, match="no batch"):
        mx.contrib.io.DataLoaderIter([])


def test_metrics_are_written_as_events(monkeypatch):
    seen = []
    writer = types.SimpleNamespace(
        add_scalar=lambda *row, global_step: seen.append((*row, global_step))
    )
    fake = types.SimpleNamespace(SummaryWriter=lambda folder: writer)
    monkeypatch.setitem(sys.modules, "mxboard", fake)
    made = mx.contrib.tensorboard.LogMetricsCallback("logs", prefix="train")
    metric = mx.metric.create("acc")
    metric.update([mx.nd.array([1])], [mx.nd.array([[0, 1]])])
    for epoch in (0, 0, 1):  # MXNet 1.9.1 gives the epoch as the step to each batch
        made(types.SimpleNamespace(eval_metric=metric, epoch=epoch))
    assert seen == [("train-accuracy", 1.0, epoch) for epoch in (0, 0, 1)]
    for name in ("mxboard", "tensorboardX", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(mx.MXNetError, match="install one of"):
        mx.contrib.tensorboard.LogMetricsCallback("logs")


@pytest.mark.parametrize(
    ("module", "name"),
    [("amp", "init"), ("onnx", "import_to_gluon")],
)
def test_absent_parts_say_so_when_called(module, name):
    found = getattr(getattr(mx.contrib, module), name)
    assert isinstance(found, absent.AbsentName)
    with pytest.raises(mx.MXNetError, match=rf"mx.contrib.{module}.{name} is not part of modkit"):
        found(1)
    assert not hasattr(getattr(mx.contrib, module), "no_such_name")
