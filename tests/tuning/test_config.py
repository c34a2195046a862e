"""`MODKIT_TUNING`: its words, and that every piece changes no number."""

import numpy as np
import pytest

from modkit.errors import ParameterError
from modkit.ops.registry import OPS
from modkit.tuning import config
from modkit.tuning.cpu.forms import FORMS
from modkit.tuning_switch import PIECES, VARIABLE
from tests.fresh import answer


@pytest.mark.parametrize(
    ("word", "pieces"),
    [("", PIECES), ("on", PIECES), ("off", ()), ("OFF", ()), ("xla", ["xla"]),
     ("xla, forms", ["xla", "forms"])],
)  # fmt: skip
def test_words(word, pieces, monkeypatch):
    monkeypatch.setenv(VARIABLE, word)
    assert config.current.__wrapped__().pieces == set(pieces)


def test_a_wrong_word(monkeypatch):
    monkeypatch.setenv(VARIABLE, "forms,heap")
    with pytest.raises(ParameterError, match="MODKIT_TUNING: got 'heap', expected 'on', 'off'"):
        config.current.__wrapped__()


def test_forms_are_of_operators():
    assert set(FORMS) <= {op.name for op in OPS.values()}
    off = config.Tuning(frozenset())
    assert all(off.form(OPS[n]) is None and off.channels_last(OPS[n], {}) is None for n in FORMS)


@pytest.mark.parametrize(
    ("pieces", "seconds", "times"), [(PIECES, 9, 1), (PIECES, 0.1, 0), ((), 9, 0)]
)
def test_memory_of_long_compilations_goes_back(pieces, seconds, times, monkeypatch):
    given = []
    monkeypatch.setattr(config, "give_back", lambda: given.append(1))
    config.Tuning(frozenset(pieces)).after_compilation(seconds)
    assert len(given) == times


NETWORKS = """
import json, sys
import numpy as np
import modkit as mx

def mlp():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
    return mx.sym.FullyConnected(mx.sym.Activation(net, act_type="relu"), num_hidden=4, name="fc2")

def convnet():
    net = mx.sym.Variable("data")
    for at, (kernel, groups) in enumerate([(5, 1), (3, 2), (3, 8), (1, 1)]):
        net = mx.sym.Convolution(net, kernel=(kernel,) * 2, pad=(kernel // 2,) * 2, num_filter=8,
                                 num_group=groups, name=f"conv{at}")
        net = mx.sym.Activation(mx.sym.BatchNorm(net, name=f"bn{at}"), act_type="relu")
    net = mx.sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pool_type="max")
    net = mx.sym.Deconvolution(net, kernel=(2, 2), stride=(2, 2), num_filter=4, name="up")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    return mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=4, name="fc")

def lstm():
    words = mx.sym.transpose(mx.sym.Variable("data"))
    words = mx.sym.Embedding(words, input_dim=20, output_dim=6, name="words")
    cell = mx.rnn.FusedRNNCell(8, num_layers=2, mode="lstm", prefix="lstm_")
    outputs, _ = cell.unroll(5, words, layout="TNC", merge_outputs=True)
    outputs = mx.sym.Flatten(mx.sym.transpose(outputs, axes=(1, 0, 2)))
    return mx.sym.FullyConnected(outputs, num_hidden=4, name="fc")

def unrolled():
    words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=20, output_dim=6, name="words")
    cells = mx.rnn.SequentialRNNCell()
    for at in range(2):
        cells.add(mx.rnn.LSTMCell(8, prefix=f"lstm{at}_"))
    outputs, _ = cells.unroll(9, words, merge_outputs=True)
    return mx.sym.FullyConnected(outputs, num_hidden=4, name="fc")

shapes = {"mlp": (6, 10), "convnet": (6, 3, 28, 27), "lstm": (6, 5), "unrolled": (6, 9)}
found = {}
for name, shape in shapes.items():
    stream = np.random.RandomState(0)
    data = stream.randint(0, 20, shape) if shape in [(6, 5), (6, 9)] else stream.randn(*shape)
    batch = mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(stream.randint(0, 4, 6))])
    module = mx.mod.Module(mx.sym.SoftmaxOutput(globals()[name](), name="softmax"))
    module.bind([("data", shape)], [("softmax_label", (6,))])
    module.init_params()
    module.set_params({n: mx.nd.array(stream.uniform(-0.3, 0.3, a.shape))
                       for n, a in sorted(module.get_params()[0].items())}, module.get_params()[1])
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    for _ in range(3):
        module.forward_backward(batch)
        module.update()
    args, aux = module.get_params()
    found[name] = {n: a.asnumpy().tolist() for n, a in {**args, **aux}.items()}
images = mx.nd.array(np.random.RandomState(1).randn(2, 4, 6, 5, 4))
weight = mx.nd.array(np.random.RandomState(2).randn(4, 2, 3, 3, 3))
found["eager"] = {"conv3d": mx.nd.Convolution(images, weight, kernel=(3,) * 3, num_filter=4,
                  num_group=2, no_bias=True).asnumpy().tolist()}
print(json.dumps(found))
"""


def test_a_tuned_and_a_plain_run_give_the_same_numbers():
    plain = answer(NETWORKS, MODKIT_TUNING="off", MODKIT_CACHE="off")
    # Options in XLA_FLAGS take precedence over the tuned ones.
    tuned = answer(NETWORKS, MODKIT_TUNING="on", MODKIT_CACHE="off", XLA_FLAGS="")
    assert list(plain) == ["mlp", "convnet", "lstm", "unrolled", "eager"]
    for name, arrays in plain.items():
        assert tuned[name].keys() == arrays.keys() and arrays
        for key, value in arrays.items():
            np.testing.assert_allclose(
                tuned[name][key], value, rtol=2e-4, atol=2e-5, err_msg=f"{name} {key}"
            )
