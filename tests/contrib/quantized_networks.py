"""Networks to quantize, built by either library; it runs under the reference's Python 3.8 too."""

import json

import numpy as np

COUNT, BATCH = 32, 8


def plain(mx):
    """Affine maps alone, which the reference runs in 8 bits on CPUs."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
    x = mx.sym.Activation(x, act_type="relu", name="r1")
    x = mx.sym.FullyConnected(x, num_hidden=5, no_bias=True, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def deep(mx):
    """Convolution, batch normalization, a branch that is added, pooling, and affine maps."""
    data = mx.sym.Variable("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name="c1")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="bn1")
    x = mx.sym.Activation(x, act_type="relu", name="r1")
    side = mx.sym.Convolution(x, kernel=(1, 1), num_filter=4, no_bias=True, name="c2")
    x = mx.sym.elemwise_add(x, side, name="sum")
    x = mx.sym.concat(x, side, dim=1, name="both")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p1")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x, name="fl"), num_hidden=6, name="fc1")
    x = mx.sym.Activation(x, act_type="tanh", name="t1")
    x = mx.sym.FullyConnected(x, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


NETWORKS = {"plain": (plain, (10,)), "deep": (deep, (2, 6, 6))}

CALLS = [
    ("plain", {"calib_mode": "none"}),
    ("plain", {"calib_mode": "naive"}),
    ("plain", {"calib_mode": "naive", "quantized_dtype": "auto"}),
    ("plain", {"calib_mode": "entropy"}),
    ("plain", {"calib_mode": "entropy", "quantized_dtype": "auto", "num_calib_examples": 16}),
    ("plain", {"calib_mode": "naive", "excluded_sym_names": ["fc2"], "quantize_mode": "full"}),
    ("deep", {"calib_mode": "none", "quantize_mode": "full"}),
    ("deep", {"calib_mode": "naive", "num_calib_examples": 16}),
    ("deep", {"calib_mode": "naive", "quantized_dtype": "auto", "excluded_sym_names": ["c1"]}),
    ("deep", {"calib_mode": "naive", "quantized_dtype": "uint8", "quantize_mode": "full"}),
    ("deep", {"calib_mode": "entropy"}),
    ("deep", {"calib_mode": "naive", "excluded_op_names": ["FullyConnected"]}),
]
"""Networks, and arguments of ``quantize_model``."""


def images(name):
    """Data of a network, with labels."""
    data = np.random.RandomState(0).uniform(0, 1, (COUNT, *NETWORKS[name][1]))
    return data.astype("float32"), np.zeros(COUNT, "float32")


def iterator(mx, name):
    """Batches of a network's data."""
    return mx.io.NDArrayIter(*images(name), BATCH, label_name="softmax_label")


def parameters(mx, symbol, name):
    """Arguments and auxiliary states from fixed seeds."""
    shape = (BATCH, *NETWORKS[name][1])
    args, _, states = symbol.infer_shape(data=shape)
    stream = np.random.RandomState(1)
    found = {}
    for names, shapes in (
        (symbol.list_arguments(), args),
        (symbol.list_auxiliary_states(), states),
    ):
        for each, size in zip(names, shapes):  # noqa: B905 - Python 3.8
            low, high = (0.5, 1.5) if each.endswith(("gamma", "var")) else (-0.7, 0.8)
            values = stream.uniform(low, high, size).astype("float32")
            if each not in ("data", "softmax_label"):
                found[each] = mx.nd.array(values)
    arguments = {n: v for n, v in found.items() if n in symbol.list_arguments()}
    return arguments, {n: v for n, v in found.items() if n not in arguments}


def _histogram(low):
    values = np.maximum(np.random.RandomState(0).normal(size=2000), low).astype("float32")
    bound = abs(values).max()
    counts, edges = np.histogram(values, 801, (-bound, bound))
    return counts, edges, values.min(), values.max(), bound


HISTOGRAMS = {"signed": _histogram(-9), "positive": _histogram(0)}
RANGES = {"data": (0.0, 1.25), "fc1_output": (np.float32(-1.5), np.array([2.5], "float32"))}


class Own:
    """A collector of a user's."""

    def __init__(self):
        self.min_max_dict = {}

    def collect(self, name, arr):
        """Keep one range for each name."""
        self.min_max_dict[name.decode()] = (-1.0, 2.0)


def _attributes(symbol):
    nodes = json.loads(symbol.tojson())["nodes"]
    return {n["name"]: sorted(n.get("attrs", {}).items()) for n in nodes if "quantize" in n["op"]}


def _collected(mx, collector, examples=None):
    """The examples that a collector reads of the second half of the data, and what it holds."""
    symbol = plain(mx)
    module, data = mx.mod.Module(symbol), iterator(mx, "plain")
    module.bind(data.provide_data, data.provide_label, for_training=False)
    module.set_params(*parameters(mx, symbol, "plain"))
    for _ in range(2):
        next(data)
    quantization = mx.contrib.quantization
    count = quantization._collect_layer_statistics(module, data, collector, examples)
    return count, getattr(collector, "hist_dict", None) or collector.min_max_dict


def _calibrated(mx, mode, collector):
    """A network calibrated with the parameters of float32."""
    symbol = plain(mx)
    arguments, states = parameters(mx, symbol, "plain")
    quantization = mx.contrib.quantization
    quantized, _, _, kept = quantization.quantize_graph(
        symbol, arguments, states, calib_mode=mode, LayerOutputCollector=collector
    )
    kept = collector or kept
    if mode == "entropy":
        kept.hist_dict = {"fc1_output": HISTOGRAMS["positive"]}
    else:
        kept.min_max_dict = RANGES
    done, found, _ = quantization.calib_graph(quantized, arguments, states, kept, mode, "auto")
    return _attributes(done), found


def _symbol(mx, **options):
    symbol, names = mx.contrib.quantization._quantize_symbol(plain(mx), mx.cpu(), **options)
    return symbol.list_arguments(), names, _attributes(symbol)


def _params(mx, ranges):
    symbol = plain(mx)
    quantized, _ = mx.contrib.quantization._quantize_symbol(
        symbol, mx.cpu(), offline_params=["fc1_weight"]
    )
    quantized = mx.sym.Group([quantized, mx.sym.Variable("own_min"), mx.sym.Variable("own_max")])
    arguments, _ = parameters(mx, symbol, "plain")
    return mx.contrib.quantization._quantize_params(quantized, arguments, ranges)


def _ranged(mx, ranges):
    symbol, _ = mx.contrib.quantization._quantize_symbol(plain(mx), mx.cpu())
    return _attributes(mx.contrib.quantization._calibrate_quantized_sym(symbol, ranges))


_LAYERS = ["data", "fc1_output", "fc2_output"]

STEPS = {
    "smooth": lambda q, _: q._smooth_distribution(np.array([0, 1, 2.5, 0, 3, 0])),
    "smooth full": lambda q, _: q._smooth_distribution(np.array([[1, 2], [3, 4]]), eps=0.5),
    "threshold": lambda q, _: q._get_optimal_threshold(HISTOGRAMS["signed"], "int8", 31),
    "threshold of uint8": lambda q, _: q._get_optimal_threshold(HISTOGRAMS["positive"], "auto", 31),
    "thresholds": lambda q, _: q._get_optimal_thresholds(dict(HISTOGRAMS), "int8", 31),
    "thresholds of uint8": lambda q, _: q._get_optimal_thresholds(dict(HISTOGRAMS), "uint8", 31),
    "extremes": lambda q, mx: _collected(mx, q._LayerOutputMinMaxCollector("int8", _LAYERS)),
    "histograms": lambda q, mx: _collected(mx, q._LayerHistogramCollector(7, _LAYERS), 8),
    "own collector": lambda q, mx: _collected(mx, Own(), 3),
    "symbol": lambda _, mx: _symbol(mx),
    "symbol, offline": lambda _, mx: _symbol(
        mx, offline_params=["fc1_weight", "fc1_bias"], quantized_dtype="auto"
    ),
    "symbol, excluded": lambda _, mx: _symbol(
        mx, excluded_symbols=["fc1", "none"], excluded_operators=["Convolution"]
    ),
    "params": lambda _, mx: _params(mx, {}),
    "params, ranges": lambda _, mx: _params(mx, {"own": (3.0, 4.0)}),
    "ranges": lambda _, mx: _ranged(mx, RANGES),
    "no ranges": lambda _, mx: _ranged(mx, {}),
    "naive": lambda _, mx: _calibrated(mx, "naive", None),
    "entropy": lambda _, mx: _calibrated(mx, "entropy", None),
    "customize": lambda _, mx: _calibrated(mx, "customize", Own()),
    "pair": lambda q, _: q._load_params(({"a": np.ones(2)}, {"b": np.zeros(1)})),
    "sym": lambda q, mx: q._load_sym(plain(mx)).list_arguments(),
}
"""The steps of ``quantize_model``, by the names that MXNet has for them."""


def step(mx, name):
    """The result of a step as JSON."""
    return _json(STEPS[name](mx.contrib.quantization, mx))


def _json(value):
    if isinstance(value, dict):
        return {key: _json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json(each) for each in value]
    value = value.asnumpy() if hasattr(value, "asnumpy") else value
    return value if isinstance(value, str) else np.asarray(value).tolist()
