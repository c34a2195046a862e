"""Nets to be summarised and drawn: by the recorder under MXNet and by the tests."""

import contextlib
import io
import sys
import types


def convolutional(sym):
    """Every layer that has a face of its own."""
    net = sym.Variable("data")
    net = sym.Convolution(net, kernel=(3, 3), num_filter=4, name="conv")
    net = sym.BatchNorm(net, name="bn")
    net = sym.Activation(net, act_type="relu", name="relu")
    net = sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    net = sym.FullyConnected(sym.Flatten(net, name="flat"), num_hidden=10, name="fc")
    return sym.SoftmaxOutput(sym.Dropout(net, name="drop"), name="softmax")


def branching(sym):
    """Sums, joins, groups, no biases, and layers that MXNet does not count."""
    data = sym.Variable("data")
    one = sym.Convolution(data, kernel=(3, 3), num_filter=4, no_bias=True, pad=(1, 1), name="one")
    two = sym.Convolution(one, kernel=(3, 3), num_filter=4, num_group=2, pad=(1, 1), name="two")
    added = sym.elemwise_add(one, two, name="added")
    joined = sym.Concat(added, one, name="joined")
    up = sym.Deconvolution(joined, kernel=(2, 2), num_filter=3, name="up")
    leaky = sym.LeakyReLU(sym.LeakyReLU(up, act_type="prelu", name="prelu"),
                          act_type="leaky", name="leaky")  # fmt: skip
    pooled = sym.Pooling(leaky, global_pool=True, kernel=(1, 1), pool_type="avg", name="mean")
    net = sym.Reshape(pooled, shape=(-1, 3), name="flat")
    return sym.FullyConnected(net, num_hidden=5, no_bias=True, name="fc")


def recurrent(sym):
    """An embedding, and a layer with several outputs."""
    net = sym.Embedding(sym.Variable("tok"), input_dim=7, output_dim=3, name="emb")
    net = sym.RNN(sym.SwapAxis(net, dim1=0, dim2=1, name="sw"), state_size=4, num_layers=1,
                  mode="gru", name="rnn")  # fmt: skip
    parts = sym.SliceChannel(net, num_outputs=2, axis=2, name="parts")
    net = sym.elemwise_mul(parts[0], parts[1], name="gate")
    return sym.LinearRegressionOutput(net, name="lro")


def two_heads(sym):
    """A group."""
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=3, name="fc")
    return sym.Group(
        [sym.Activation(net, act_type="tanh", name="act"), sym.BlockGrad(net, name="b")]
    )


def long_names(sym):
    """Names longer than their column, and weights that are shared."""
    weight = sym.Variable("shared_weight")
    net = sym.FullyConnected(sym.Variable("data"), weight, num_hidden=4, name="first" * 12)
    return sym.FullyConnected(net, weight, num_hidden=4, name="second")


def maps(sym):
    """A FullyConnected layer over maps."""
    return sym.FullyConnected(sym.Variable("data"), num_hidden=5, name="fc")


def variable(sym):
    """No layer at all."""
    return sym.Variable("x")


NETS = {f.__name__: f for f in (convolutional, branching, recurrent, two_heads, long_names, maps,
                                variable)}  # fmt: skip

PICTURES = {"data": (2, 3, 12, 12)}
SUMMARIES = [
    ("convolutional", {"shape": PICTURES}),
    ("convolutional", {}),
    ("convolutional", {"shape": PICTURES, "line_length": 80, "positions": [0.3, 0.5, 0.8, 1.0]}),
    ("convolutional", {"shape": PICTURES, "line_length": 80, "positions": [30, 50, 70, 80]}),
    ("branching", {"shape": PICTURES}),
    ("recurrent", {"shape": {"tok": (2, 5)}}),
    ("two_heads", {"shape": {"data": (2, 6)}}),
    ("long_names", {"shape": {"data": (2, 4)}}),
    ("maps", {"shape": PICTURES}),
    ("variable", {"shape": {"x": (2, 3)}}),
]
PLOTS = [
    ("convolutional", {}),
    ("convolutional", {"shape": PICTURES, "title": "T", "save_format": "png",
                       "node_attrs": {"shape": "rect", "fixedsize": "false"}}),
    ("convolutional", {"shape": PICTURES, "hide_weights": False}),
    ("convolutional", {"shape": PICTURES, "dtype": {"data": "float16"}}),
    ("branching", {"shape": PICTURES}),
    ("recurrent", {"shape": {"tok": (2, 5)}}),
    ("two_heads", {}),
    ("maps", {"hide_weights": False}),
    ("variable", {}),
]  # fmt: skip


def summary(viz, sym, row):
    """The text that ``print_summary`` writes."""
    net, kwargs = row
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        viz.print_summary(NETS[net](sym), **kwargs)
    return text.getvalue()


class Drawing:
    """Stands for ``graphviz.Digraph`` and remembers what was drawn."""

    def __init__(self, name=None, comment=None, filename=None, directory=None, format=None):
        self.facts = {"name": name, "format": format, "nodes": [], "edges": []}

    def node(self, name, label=None, _attributes=None, **attrs):
        """Remember a node."""
        self.facts["nodes"].append([name, label, attrs])

    def edge(self, tail_name, head_name, label=None, _attributes=None, **attrs):
        """Remember an edge."""
        self.facts["edges"].append([tail_name, head_name, label, attrs])


def plot(viz, sym, row):
    """The graph drawn by ``plot_network``."""
    net, kwargs = row
    before = sys.modules.get("graphviz")
    sys.modules["graphviz"] = types.ModuleType("graphviz")
    sys.modules["graphviz"].Digraph = Drawing
    try:
        return viz.plot_network(NETS[net](sym), **kwargs).facts
    finally:
        del sys.modules["graphviz"]
        if before is not None:
            sys.modules["graphviz"] = before
