"""Quantized networks beside those that the reference makes of the same parameters."""

import functools
import json
from pathlib import Path

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.errors import ModkitError, NotSupportedError, ParameterError
from tests.contrib import quantized_networks as networks
from tests.xla_options import default_options

quantization, calibration = mx.contrib.quantization, mx.contrib.quantization.calibration
REFERENCE = Path(__file__).parents[1] / "reference"
RECORDED = json.loads((REFERENCE / "quantization.json").read_text())
STEPS = json.loads((REFERENCE / "quantization_steps.json").read_text())
RANGES = ("min_calib_range", "max_calib_range")


def _made(name, options):
    """The quantized network, made once: entropy searches for seconds in each tensor."""
    return _made_once(name, json.dumps(options, sort_keys=True))


@functools.cache
def _made_once(name, options):
    options = json.loads(options)
    symbol = networks.NETWORKS[name][0](mx)
    params = networks.parameters(mx, symbol, name)
    data = None if options.get("calib_mode") == "none" else networks.iterator(mx, name)
    with pytest.MonkeyPatch.context() as patch:
        if (
            options.get("calib_mode") == "entropy"
        ):  # XLA's own options run it in a fifth of the time
            fast = functools.partial(jax.jit, compiler_options=default_options() or None)
            patch.setattr(jax, "jit", fast)
        return quantization.quantize_model(symbol, *params, calib_data=data, **options)


def _predicted(name, symbol, params, states):
    data = networks.iterator(mx, name)
    module = mx.mod.Module(symbol)
    module.bind(data.provide_data, data.provide_label, for_training=False)
    module.set_params(params, states)
    return module.predict(data).asnumpy()


@functools.cache
def _float(name):
    symbol = networks.NETWORKS[name][0](mx)
    return _predicted(name, symbol, *networks.parameters(mx, symbol, name))


def _described(nodes):
    """Operators, names, inputs and parameters but the ranges; and the ranges."""
    plain, ranges = [], []
    for node in nodes:
        attrs = dict(node.get("attrs", {}))
        inputs = [[nodes[i]["name"], output] for i, output, *_ in node["inputs"]]
        ranges += [float(attrs.pop(name)) for name in RANGES if name in attrs]
        if node["op"] != "null":
            plain.append((node["op"], node["name"], inputs, attrs))
    return plain, ranges


def _each(entries):
    """The entries as parameters; those with entropy search long in each tensor."""
    return pytest.mark.parametrize(
        "entry",
        [
            pytest.param(
                entry,
                id=f"{entry['network']}-{entry['options']}",
                marks=[pytest.mark.slow] * (entry["options"]["calib_mode"] == "entropy"),
            )
            for entry in entries
        ],
    )


@_each(RECORDED)
def test_like_the_reference(entry):
    name, options = entry["network"], entry["options"]
    symbol, params, states = _made(name, options)
    got, ranges = _described(json.loads(symbol.tojson())["nodes"])
    want, known = _described(entry["symbol"]["nodes"])
    assert got == want
    # In the sparse histograms of the other network float32 rounds divergences otherwise.
    if name == "plain" or options["calib_mode"] != "entropy":
        np.testing.assert_allclose(ranges, known, rtol=1e-4, atol=1e-6)
    assert set(entry["levels"]) == {n for n in params if "_quantize" in n}
    for each, levels in entry["levels"].items():
        atol = 1 if each.endswith("_quantize") else 1e-6  # a half is rounded either way
        np.testing.assert_allclose(params[each].asnumpy(), levels, atol=atol)
    # In the other network the reference takes the range of uint8 for that of int8.
    if name == "plain":
        np.testing.assert_allclose(
            _predicted(name, symbol, params, states), entry["predictions"], atol=0.01
        )


# A calibrated range is what batch normalization needs, and uint8 has no negative numbers.
RUNNABLE = [
    e
    for e in RECORDED
    if (e["network"], e["options"]["calib_mode"]) != ("deep", "none")
    and e["options"].get("quantized_dtype") != "uint8"
]


@_each(RUNNABLE)
def test_symbol_files_of_the_reference_run_and_are_near_to_float32(entry, tmp_path):
    name = entry["network"]
    symbol = mx.sym.load_json(json.dumps(entry["symbol"]))
    _, params, states = _made(name, entry["options"])
    mx.model.save_checkpoint(str(tmp_path / "q"), 0, symbol, params, states)
    got = _predicted(name, *mx.model.load_checkpoint(str(tmp_path / "q"), 0))
    assert np.abs(got - _float(name)).max() < 0.06


def _close(got, want, atol):
    if isinstance(want, dict):
        assert list(got) == list(want)
        for key, each in want.items():
            _close(got[key], each, 1 if key.endswith("_quantize") else atol)
    elif isinstance(want, list):
        assert len(got) == len(want)
        for ours, theirs in zip(got, want, strict=True):
            _close(ours, theirs, atol)
    elif isinstance(want, str):
        assert got == want
    else:
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=atol)


@pytest.mark.parametrize("name", STEPS)
def test_steps_like_the_reference(name):
    assert list(STEPS) == list(networks.STEPS)
    _close(networks.step(mx, name), STEPS[name], 1e-6)


def test_none_of_the_layers_of_a_quantized_network_are_float32():
    symbol, params, _ = _made("deep", {"calib_mode": "naive"})
    kinds = [node.op_name for node in symbol.graph.nodes if not node.is_variable]
    assert {"_contrib_quantized_conv", "_contrib_quantized_batch_norm"} <= set(kinds)
    assert kinds.count("_contrib_quantized_conv") == 2
    assert not {"Convolution", "FullyConnected", "BatchNorm"} & set(kinds)
    weights = [v for n, v in params.items() if n.endswith("weight_quantize")]
    assert len(weights) == 4
    assert {v.dtype for v in weights} == {np.int8}


def test_ranges_collected_by_a_monitor():
    symbol = networks.deep(mx)
    arguments, states = networks.parameters(mx, symbol, "deep")
    quantized, params, states, collector = quantization.quantize_graph(
        symbol, arguments, states, calib_mode="naive", quantize_mode="smart"
    )
    data, _ = networks.images("deep")
    executor = symbol.simple_bind(mx.cpu(), data=(networks.BATCH, *data.shape[1:]), grad_req="null")
    executor.copy_params_from(arguments, states)
    executor.set_monitor_callback(collector.collect, monitor_all=True)
    for start in range(0, networks.COUNT, networks.BATCH):
        executor.forward(data=mx.nd.array(data[start : start + networks.BATCH]))
        executor.outputs[0].wait_to_read()
    done, _, _ = quantization.calib_graph(quantized, params, states, collector, "naive")
    want, _, _ = _made("deep", {"calib_mode": "naive"})
    (nodes, ranges), (expected, near) = (
        _described(json.loads(each.tojson())["nodes"]) for each in (done, want)
    )
    assert nodes == expected
    np.testing.assert_allclose(ranges, near, rtol=1e-5)  # of NumPy, and of a compiled program


def test_histograms_grow_by_bins_of_the_same_width():
    counts, edges = np.histogram([0.5, -0.2], 4, (-1, 1))
    wider = quantization.combine_histogram((counts, edges, -0.2, 0.5, 1), [1.7, 0.1], 0.1, 1.7, 1.7)
    assert wider.counts.tolist() == [0, 0, 0, 1, 1, 1, 0, 1]
    assert (wider.low, wider.high, wider.threshold) == (-0.2, 1.7, 2)
    np.testing.assert_allclose(np.diff(wider.edges), 0.5)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"calib_mode": "fast"}, ParameterError, "'naive'"),
        ({"quantized_dtype": "int4"}, ParameterError, "int8"),
        ({"quantize_mode": "all"}, ParameterError, "smart"),
        ({"quantize_granularity": "channel-wise"}, NotSupportedError, "tensor-wise"),
        ({"excluded_sym_names": "fc1"}, ParameterError, "a list of names"),
        ({"excluded_sym_names": ["fc3"]}, ParameterError, "fc"),
        ({"calib_mode": "customize"}, ParameterError, "expected a collector"),
    ],
)
def test_bad_arguments_are_refused(options, error, words):
    with pytest.raises(error) as caught:
        _made("plain", {"calib_mode": "naive", **options})
    assert words in str(caught.value)


def test_calibration_needs_data_and_finite_numbers():
    symbol = networks.plain(mx)
    arguments, states = networks.parameters(mx, symbol, "plain")
    with pytest.raises(ParameterError, match="expected a DataIter"):
        quantization.quantize_model(symbol, arguments, states)
    arguments["fc1_weight"][0, 0] = np.nan
    data = networks.iterator(mx, "plain")
    with pytest.raises(ModkitError, match="'fc1_output'"):
        quantization.quantize_model(symbol, arguments, states, calib_mode="naive", calib_data=data)
    collector = quantization.quantize_graph(symbol, arguments, states)[3]
    with pytest.raises(ParameterError, match="has read no tensor"):
        quantization.calib_graph(symbol, arguments, states, collector)


def test_an_input_may_be_named_as_a_conversion_is():
    x = mx.sym.Variable("x_quantize")
    net = mx.sym.FullyConnected(x, num_hidden=2, no_bias=True, name="fc_quantize")
    params = {"fc_quantize_weight": mx.nd.ones((2, 3))}
    made, params, _ = quantization.quantize_model(
        net, params, {}, data_names=["x_quantize"], label_names=None, calib_mode="none"
    )
    (y,) = made.eval(ctx=mx.cpu(), x_quantize=mx.nd.ones((1, 3)), **params)
    np.testing.assert_allclose(y.asnumpy(), 3, rtol=1e-2)


def test_networks_of_gluon_are_refused():
    with pytest.raises(NotSupportedError, match="Gluon"):
        quantization.quantize_net(None)


@pytest.mark.parametrize("first", [[0.0, 0, 0], [], [1e-30, -1e-30]])
def test_a_first_batch_without_a_range_leaves_that_of_the_others(first):
    collector = calibration.LayerHistogramCollector()
    stream = np.random.RandomState(0)
    values = stream.normal(size=1000).astype("float32")
    for batch in (first, values[:500], values[500:]):
        collector.collect("x", mx.nd.array(np.array(batch, np.float32)))
    alone = calibration.LayerHistogramCollector()
    alone.collect("x", mx.nd.array(values))
    found, want = (
        calibration.get_optimal_thresholds(c.hist_dict, "int8")["x"][1] for c in (collector, alone)
    )
    assert len(collector.hist_dict["x"].counts) < 9 * calibration.BINS
    assert collector.hist_dict["x"].counts.sum() == len(first) + 1000
    assert abs(found - want) < 0.25 * want


@pytest.mark.parametrize("kind", ["_LayerHistogramCollector", "_LayerOutputMinMaxCollector"])
@pytest.mark.parametrize("at", [0, 1])
def test_a_batch_with_nan_is_refused_by_name(kind, at):
    collector = getattr(quantization, kind)(7)
    batches = [mx.nd.array([1.0, 2.0]), mx.nd.array([1.0, 2.0])]
    batches[at][0] = np.nan
    with pytest.raises(ModkitError, match="tensor 'x' has the range nan"):
        for batch in batches:
            collector.collect("x", batch)


def test_counts_with_more_than_31_bits_have_the_threshold_of_their_shares():
    counts, edges = np.array([5, 6, 7, 8, 9, 8, 7, 6, 5.0]), mx.nd.array(np.linspace(-1, 1, 10))
    found, want = (
        mx.nd.contrib.calibrate_entropy(mx.nd.array(c), edges, num_quantized_bins=3)
        for c in (counts * 1e9, counts)
    )
    for got, expected in zip(found, want, strict=True):
        np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=1e-4)


CONVERSIONS = {
    # the node after it that makes 8 bits, as in MXNet 1.9.1: what stands between two affine maps
    "r_0_quantize": lambda x: mx.sym.relu(x, name="r"),
    "r_output_quantize": lambda x: mx.sym.softmax(x, name="r"),
    "r_output1_quantize": lambda x: mx.sym.SliceChannel(x, num_outputs=2, name="r")[1],
    "_mulscalar0_0_quantize": lambda x: x * 2.0,
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_the_name_of_a_conversion(name):
    with mx.name.NameManager():
        x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
        x = mx.sym.FullyConnected(CONVERSIONS[name](x), num_hidden=2, name="fc2")
    shapes = zip(x.list_arguments(), x.infer_shape(data=(2, 3))[0], strict=True)
    params = {n: mx.nd.ones(shape) for n, shape in shapes if n != "data"}
    data = mx.io.NDArrayIter(np.ones((2, 3), "float32"), batch_size=2)
    made, _, _ = quantization.quantize_model(x, params, {}, calib_mode="naive", calib_data=data)
    attrs = made.attr_dict()
    assert [n for n in attrs if n.endswith("_quantize")] == ["data_quantize", name]
    assert RANGES[0] in attrs[name]
