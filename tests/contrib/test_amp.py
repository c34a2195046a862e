"""``mx.contrib.amp``: converted models compute what they computed, from files and memory."""

import numpy as np
import pytest

import modkit as mx
from modkit.contrib import amp
from modkit.errors import DTypeError, ParameterError


def _net():
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="c0")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="bn"), act_type="relu")
    net = mx.sym.FullyConnected(mx.sym.broadcast_add(net, net.mean()), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _model():
    net, stream = _net(), np.random.RandomState(1)
    shapes, _, states = net.infer_shape(data=(2, 1, 6, 6))
    names = zip(net.list_arguments(), shapes, strict=True)
    args = {n: mx.nd.array(stream.normal(0, 0.3, s)) for n, s in names if "_" in n}
    del args["softmax_label"]
    aux = {n: mx.nd.ones(s) for n, s in zip(net.list_auxiliary_states(), states, strict=True)}
    return net, args, aux, stream.normal(0, 1, (2, 1, 6, 6)).astype("float32")


def _scores(net, args, aux, data):
    module = mx.mod.Module(net)
    module.bind([("data", data.shape)], [("softmax_label", (2,))], for_training=False)
    module.set_params(args, aux)
    module.forward(mx.io.DataBatch([mx.nd.array(data)], [mx.nd.zeros((2,))]))
    return module.get_outputs()[0].asnumpy()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("optional", [False, True])
def test_a_converted_model_computes_in_16_bits(dtype, optional, tmp_path):
    net, args, aux, data = _model()
    want = _scores(net, args, aux, data)
    half, args, aux = amp.convert_model(net, args, aux, dtype, cast_optional_params=optional)
    kinds = {n: v.dtype.__name__ for n, v in args.items()}
    assert kinds["fc_weight"] == (dtype if optional else "float32")
    assert kinds["bn_gamma"] == "float32"
    inner = half.get_internals()
    types = dict(zip(inner.list_outputs(), inner.infer_type(data="float32")[1], strict=True))
    assert np.dtype(types["fc_output"]).name == dtype
    got = _scores(half, args, aux, data)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, atol=0.02)
    assert np.abs(got - want).max() > 1e-6  # it did compute in 16 bits
    half.save(str(tmp_path / "half.json"), remove_amp_cast=False)
    again = mx.sym.load(str(tmp_path / "half.json"))
    np.testing.assert_array_equal(_scores(again, args, aux, data), got)
    plain = mx.sym.load_json(half.tojson())  # without casts
    if not optional:
        np.testing.assert_allclose(_scores(plain, args, aux, data), want, rtol=1e-6)


def test_a_parameter_that_float32_reads_too_is_cast_for_it():
    weight, data = mx.sym.Variable("w"), mx.sym.Variable("data")
    scores = mx.sym.FullyConnected(data, weight, num_hidden=2, no_bias=True, name="fc")
    net = mx.sym.Group([scores, mx.sym.exp(weight, name="e")])
    half = amp.convert_symbol(net, data_names=["data"], cast_optional_params=True)
    types = half.infer_type(data="float32")
    assert [np.dtype(t).name for t in types[0]] == ["float32", "float16"]
    assert [np.dtype(t).name for t in types[1]] == ["float32", "float32"]


@pytest.mark.parametrize("optional", [False, True])
def test_types_do_not_follow_from_the_casts_behind(optional):
    """A weight that is reshaped before its cast stays float32, and so does an index's row."""
    data, weight = mx.sym.Variable("data"), mx.sym.Variable("w")
    net = mx.sym.FullyConnected(data, weight.reshape((3, 2)), num_hidden=3, no_bias=True, name="f")
    rows = mx.sym.one_hot(mx.sym.argmax(net, axis=1), 3)
    net = mx.sym.FullyConnected(rows, num_hidden=2, no_bias=True, name="g")
    args = {"w": mx.nd.full((6,), 1e5), "g_weight": mx.nd.ones((2, 3))}
    half, args, _ = amp.convert_model(net, args, {}, cast_optional_params=optional)
    kinds = {name: array.dtype.__name__ for name, array in args.items()}
    assert kinds == {"w": "float32", "g_weight": "float16" if optional else "float32"}
    assert args["w"].asnumpy()[0] == 1e5
    (found,) = half.eval(data=mx.nd.ones((1, 2)), **args)
    assert found.dtype == np.float32 and found.asnumpy().tolist() == [[1, 1]]


@pytest.mark.parametrize("given, error, words", [
    ({"target_dtype": "float64"}, DTypeError, "float16 or bfloat16"),
    ({"fp32_ops": "exp"}, ParameterError, "fp32_ops: got 'exp', expected a list"),
    ({"target_dtype_ops": ["FulyConnected"]}, ParameterError, "FullyConnected"),
    ({"target_dtype_ops": ["exp"]}, ParameterError, "exp in two of target_dtype_ops, fp32_ops"),
    ({"target_dtype_ops": ["dot"]}, ParameterError, "widest type"),
    ({"conditional_fp32_ops": [("RNN", "mode", ["lstm"])]}, ParameterError, "RNN in two"),
    ({"conditional_fp32_ops": [("Activation", "act_type")]}, ParameterError, "list of values"),
])  # fmt: skip
def test_wrong_arguments(given, error, words):
    with pytest.raises(error, match=words):
        amp.convert_symbol(_net(), **given)


def test_lists_have_every_operator_once():
    lists = (
        amp.list_lp16_ops,
        amp.list_fp32_ops,
        amp.list_widest_type_cast,
        amp.list_lp16_fp32_ops,
    )
    names = [name for of in lists for name in of("float16")]
    assert sorted(names) == sorted(mx.ops.registry.OPS)
    assert amp.list_conditional_fp32_ops("float16")[0] == ("Activation", "act_type", ["softrelu"])
    assert set(amp.list_loss_output_functions("float16")) < set(amp.list_fp32_ops("float16"))
    with pytest.raises(NotImplementedError, match="compute_dtype"):
        amp.init()
