"""Recurrent cells: graphs, shapes, outputs and gradients are MXNet's."""

import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotReadyError, NotSupportedError, ParameterError

REFERENCE = Path(__file__).resolve().parent.parent / "reference"


def _load_cases():
    spec = importlib.util.spec_from_file_location("rnn_cases", Path(__file__).with_name("cases.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cases = _load_cases()
EXPECTED = json.loads((REFERENCE / "rnn.json").read_text())
FIGURES = np.load(REFERENCE / "rnn.npz")

# MXNet 1.9.1 makes every unfused LSTM with a forget bias of 1; this one is plain there, too.
assert set(EXPECTED["cells"]) == set(cases.CASES)


@pytest.mark.parametrize("name", cases.CASES)
def test_cell_is_the_reference(name):
    facts, figures = cases.run(mx, name)
    expected = EXPECTED["cells"][name]
    assert facts.pop("structure") == expected.pop("structure")
    assert json.loads(json.dumps(facts)) == expected
    recorded = [key for key in FIGURES.files if key.startswith(name + "/")]
    assert {f"{name}/{key}" for key in figures} == set(recorded)
    for key, value in figures.items():
        np.testing.assert_allclose(
            value, FIGURES[f"{name}/{key}"], rtol=1e-4, atol=1e-5, err_msg=key
        )


@pytest.mark.parametrize("name", cases.ITERATORS)
def test_sentence_iterator_is_the_reference(name):
    assert cases.batches(mx, name) == EXPECTED["iterators"][name]


@pytest.mark.parametrize("name", [n for n in cases.CASES if n != "rnn_shared"])
def test_weights_unpack_and_pack(name):
    cell, net, _ = cases.unroll(mx, name)
    shapes, _, _ = net.infer_shape(**cases.input_shapes(name, net.list_arguments()))
    args = {
        n: mx.nd.array(cases.numbers(n, s))
        for n, s in zip(net.list_arguments(), shapes, strict=True)
    }
    unpacked = cell.unpack_weights(args)
    packed = cell.pack_weights(unpacked)
    assert packed.keys() == args.keys()
    for key, value in args.items():
        np.testing.assert_array_equal(packed[key].asnumpy(), value.asnumpy())


def test_fused_and_unfused_agree():
    fused = mx.rnn.FusedRNNCell(3, num_layers=2, mode="gru", bidirectional=True, prefix="g_")
    whole, _ = fused.unroll(2, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    plain, _ = fused.unfuse().unroll(2, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    data = mx.nd.array(cases.numbers("data", (2, 2, 4)))
    vector = mx.nd.array(cases.numbers("g", whole.infer_shape(data=(2, 2, 4))[0][1]))
    weights = fused.unfuse().pack_weights(fused.unpack_weights({"g_parameters": vector}))
    a = whole.eval(mx.cpu(), data=data, g_parameters=vector)[0]
    b = plain.eval(mx.cpu(), data=data, **weights)[0]
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def test_zoneout_draws_in_training_only():
    cell = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(64), zoneout_outputs=0.5)
    outputs, _ = cell.unroll(1, [mx.sym.Variable("data")])
    executor = outputs[0].simple_bind(mx.cpu(), data=(8, 4))
    for name, value in executor.arg_dict.items():
        value[:] = cases.numbers(name, value.shape)
    assert (executor.forward()[0].asnumpy() != 0).all()
    zeros = (executor.forward(is_train=True)[0].asnumpy() == 0).mean()
    assert 0.4 < zeros < 0.6


def test_lstm_bias_is_initialised():
    cell = mx.rnn.LSTMCell(2, forget_bias=3.0)
    net, _ = cell.unroll(1, mx.sym.Variable("data"), merge_outputs=True)
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 1, 3))], for_training=False)
    module.init_params(mx.init.Xavier())
    bias = module.get_params()[0]["lstm_i2h_bias"].asnumpy()
    np.testing.assert_array_equal(bias, [0, 0, 3, 3, 0, 0, 0, 0])


def test_checkpoint_of_a_fused_net_loads_into_the_unfused_one(tmp_path):
    fused = mx.rnn.FusedRNNCell(3, prefix="f_")
    net, _ = fused.unroll(2, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    vector = mx.nd.array(cases.numbers("v", net.infer_shape(data=(2, 1, 4))[0][1]))
    prefix = str(tmp_path / "net")
    mx.rnn.do_rnn_checkpoint(fused, prefix, period=2)(0, net, {"f_parameters": vector}, {})
    assert not list(tmp_path.iterdir())
    mx.rnn.do_rnn_checkpoint([fused], prefix, period=2)(1, net, {"f_parameters": vector}, {})
    _, again, _ = mx.rnn.load_rnn_checkpoint([fused], prefix, 2)
    np.testing.assert_array_equal(again["f_parameters"].asnumpy(), vector.asnumpy())
    _, plain, aux = mx.rnn.load_rnn_checkpoint(fused.unfuse(), prefix, 2)
    assert sorted(plain) == [
        "f_l0_h2h_bias", "f_l0_h2h_weight", "f_l0_i2h_bias", "f_l0_i2h_weight"
    ]  # fmt: skip
    assert aux == {}


def test_old_unroll_makes_its_inputs():
    with pytest.warns(UserWarning, match="cell.unroll"):
        outputs, _ = mx.rnn.rnn_unroll(mx.rnn.RNNCell(3), 2, input_prefix="in_")
    assert mx.sym.Group(outputs).list_arguments()[0] == "in_t0_data"


def test_batch_first_is_warned_of():
    with pytest.warns(UserWarning, match="TNC"):
        mx.rnn.FusedRNNCell(3).unroll(2, mx.sym.Variable("data"))


def test_conv_gru_cuts_channels_in_every_layout():
    cell = mx.rnn.ConvGRUCell((1, 4, 4, 2), 3, conv_layout="NHWC")
    output, _ = cell(mx.sym.Variable("data"), cell.begin_state())
    assert output.infer_shape(data=(2, 4, 4, 2))[1] == [(2, 4, 4, 3)]


def test_a_cell_may_replace_the_convolutions_of_its_gates():
    class Cell(mx.rnn.ConvLSTMCell):
        def _conv_forward(self, inputs, states, name):
            from_input, from_state = super()._conv_forward(inputs, states, name)
            return from_input, from_state * 0

    cell = Cell((1, 2, 4, 4), 3)
    output, _ = cell(mx.sym.Variable("data"), cell.begin_state())
    assert any("mulscalar" in name for name in output.get_internals().list_outputs())


MISTAKES = {
    "too few inputs": (
        lambda: mx.rnn.LSTMCell(3).unroll(3, [mx.sym.Variable("a")]),
        ParameterError,
        "number of inputs: got 1, expected 3",
    ),
    "a group": (
        lambda: mx.rnn.LSTMCell(3).unroll(
            2, mx.sym.Group([mx.sym.Variable("a"), mx.sym.Variable("b")])
        ),
        ParameterError,
        "group of 2",
    ),
    "no inputs": (lambda: mx.rnn.LSTMCell(3).unroll(3, None), ParameterError, "inputs None"),
    "a step of all": (
        lambda: mx.rnn.FusedRNNCell(3)(mx.sym.Variable("a"), []),
        NotImplementedError,
        "unroll",
    ),
    "zoneout of all": (
        lambda: mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(3)),
        NotSupportedError,
        "unfuse",
    ),
    "an unknown mode": (lambda: mx.rnn.FusedRNNCell(3, mode="lstmm"), ParameterError, "rnn_relu"),
    "an even kernel": (
        lambda: mx.rnn.ConvRNNCell((1, 2, 4, 4), 3, h2h_kernel=(2, 2)),
        ParameterError,
        "odd",
    ),
    "a rate": (lambda: mx.rnn.DropoutCell("much"), ParameterError, "number"),
    "a vector of no size": (
        lambda: mx.rnn.FusedRNNCell(3).unpack_weights({"lstm_parameters": mx.nd.ones((101,))}),
        ValueError,
        "101 elements",
    ),
    "no parameters": (
        lambda: mx.rnn.LSTMCell(3).unpack_weights({}),
        KeyError,
        "There are: none; check",
    ),
    "params twice": (
        lambda: mx.rnn.SequentialRNNCell(params=mx.rnn.RNNParams("p_")).add(
            mx.rnn.LSTMCell(3, params=mx.rnn.RNNParams("q_"))
        ),
        ParameterError,
        "one of the two",
    ),
    "a layout": (
        lambda: mx.rnn.BucketSentenceIter([[1]], 1, layout="XX"),
        ParameterError,
        "'TN'",
    ),
    "a batch of none": (
        lambda: mx.rnn.BucketSentenceIter([[1]], 0),
        ParameterError,
        "batch_size: got 0, expected an integer of at least 1",
    ),
    "one state of two": (
        lambda: mx.rnn.LSTMCell(3)(mx.sym.Variable("x"), [mx.sym.Variable("h")]),
        ParameterError,
        "LSTMCell: states: got 1, expected 2",
    ),
    "an unknown word": (
        lambda: mx.rnn.encode_sentences([["a"]], vocab={"b": 1}),
        KeyError,
        "'a'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_answered(name):
    call, error, words = MISTAKES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error, match=words):
            call()


def test_a_modified_cell_begins_no_states():
    inner = mx.rnn.LSTMCell(3)
    outer = mx.rnn.ResidualCell(inner)
    with pytest.raises(NotReadyError, match="ZoneoutCell"):
        inner.begin_state()
    assert [s.name for s in outer.begin_state()] == ["lstm_begin_state_0", "lstm_begin_state_1"]
    names = [s.name for s in outer.begin_state(func=mx.sym.Variable)]
    assert names == ["lstm_begin_state_2", "lstm_begin_state_3"]


def test_unknown_words_share_a_number():
    encoded, vocab = mx.rnn.encode_sentences(
        [["a", "x"], ["y", "a"]], vocab={"a": 5}, unknown_token="?", start_label=7
    )
    assert (encoded, vocab) == ([[5, 7], [7, 5]], {"a": 5, "?": 7})


def test_states_have_the_shapes_of_the_cell_whatever_is_given():
    """As in MXNet, where programs pass the batch's shape, for a fused cell, too."""
    cell = mx.rnn.FusedRNNCell(4, mode="gru", prefix="p_")
    (state,) = cell.begin_state(func=mx.sym.zeros, shape=(2, 4), dtype="float16")
    assert state.list_attr()["shape"] == "(1, 0, 4)"
    assert state.list_attr()["dtype"] == "float16"


def test_methods_of_own_cells_get_what_mxnet_gives_them():
    class Own(mx.rnn.RNNCell):
        def begin_state(self):
            return super().begin_state()

        def unroll(self, length, **options):
            return super().unroll(length, **options)

    x = mx.sym.Variable("x")
    cells = [Own(3, prefix=prefix) for prefix in ("a_", "b_", "c_")]
    outputs, _ = mx.rnn.BidirectionalCell(*cells[:2]).unroll(2, inputs=x)
    assert len(outputs) == 2
    state = cells[2].begin_state()
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.ResidualCell(cells[2]))
    assert len(stack.unroll(2, inputs=x, begin_state=state)[0]) == 2


def test_discarded_sentences_are_counted_on_stdout(capsys):
    """MXNet prints the count there too."""
    mx.rnn.BucketSentenceIter([[1, 2, 3], [1, 2], [3, 4], [4, 5, 6, 7]], 2, buckets=[2, 3])
    assert capsys.readouterr().out == (
        "WARNING: discarded 1 sentences longer than the largest bucket.\n"
    )


def test_names_of_gates_are_of_the_types_that_programs_add_to():
    names = {"rnn_relu": [""], "lstm": ["_i", "_f", "_c", "_o"], "gru": ["_r", "_z", "_o"]}
    for mode, gates in names.items():
        assert mx.rnn.FusedRNNCell(3, mode=mode)._gate_names == gates
    assert mx.rnn.RNNCell(3)._gate_names == ("",)
    assert mx.rnn.LSTMCell(3)._gate_names == names["lstm"]
    assert mx.rnn.GRUCell(3)._gate_names == names["gru"]


def test_a_dropout_cell_returns_the_states_that_it_is_given():
    cell, x = mx.rnn.DropoutCell(0.5), mx.sym.Variable("x")
    for states in (None, (), [x]):
        assert cell(x, states)[1] is states  # as in MXNet 1.9.1


def test_a_fused_cell_whose_gates_have_other_names():
    """Names of weights are those of MXNet 1.9.1."""

    class Renamed(mx.rnn.FusedRNNCell):
        @property
        def _gate_names(self):
            return {"gru": ["_a", "_b", "_c"], "rnn_tanh": ["_x"]}[self._mode]

    for mode, size, gates in (("gru", 36, "abc"), ("rnn_tanh", 12, "x")):
        cell = Renamed(2, mode=mode, prefix="p_")
        given = mx.nd.arange(size)
        parts = cell.unpack_weights({"p_parameters": given})
        assert list(parts) == [
            f"p_l0_{source}_{gate}_{kind}"
            for kind in ("weight", "bias") for source in ("i2h", "h2h") for gate in gates
        ]  # fmt: skip
        packed = cell.pack_weights(parts)["p_parameters"]
        assert packed.asnumpy().tolist() == given.asnumpy().tolist()


def test_a_stack_of_cells_makes_one_step():
    """The numbers are MXNet 1.9.1's."""
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.RNNCell(2, prefix="a_"))
    stack.add(mx.rnn.ResidualCell(mx.rnn.RNNCell(2, prefix="b_")))
    output, states = stack(mx.sym.Variable("x"), [mx.sym.Variable("s0"), mx.sym.Variable("s1")])
    net = mx.sym.Group([output, *states])
    assert net.list_outputs() == [
        "b_t0_out_plus_residual_output", "a_t0_out_output", "b_t0_out_output",
    ]  # fmt: skip
    executor = net.simple_bind(mx.cpu(), x=(1, 2), s0=(1, 2), s1=(1, 2))
    for i, name in enumerate(sorted(executor.arg_dict)):
        executor.arg_dict[name][:] = 0.1 * (i + 1)
    got = [value.asnumpy().tolist() for value in executor.forward()]
    np.testing.assert_allclose(got, [[[1.9266] * 2], [[0.9275] * 2], [[0.9992] * 2]], atol=6e-5)


def test_parameters_are_of_the_stack_or_of_its_cells():
    shared = mx.rnn.RNNParams("p_")
    shared.get("weight")
    stack, dropout = mx.rnn.SequentialRNNCell(params=shared), mx.rnn.DropoutCell(0.5)
    stack.add(dropout)  # which has none
    assert [*dropout.params._params] == ["p_weight"]
    with pytest.raises(ParameterError, match="got params for it and for its inner RNNCell"):
        stack.add(mx.rnn.RNNCell(2, prefix="a_"))
