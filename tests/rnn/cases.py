"""Cells and how they are unrolled: made alike with MXNet (Python 3.8) and with modkit."""

import json
import warnings
import zlib

import numpy as np

LENGTH, BATCH, CHANNELS = 3, 2, 4
PICTURE = (1, 2, 5, 4)


def _stack(mx, *cells, **kwargs):
    stack = mx.rnn.SequentialRNNCell(**kwargs)
    for cell in cells:
        stack.add(cell)
    return stack


def _bidirectional(mx, **kwargs):
    left, right = mx.rnn.LSTMCell(3, prefix="l_"), mx.rnn.GRUCell(3, prefix="r_")
    return mx.rnn.BidirectionalCell(left, right, **kwargs)


def _fused(mx, mode, **kwargs):
    return mx.rnn.FusedRNNCell(3, mode=mode, **kwargs)


def _shared(mx):
    params = mx.rnn.RNNParams("both_")
    return _stack(
        mx, mx.rnn.RNNCell(4, params=params), mx.rnn.RNNCell(4, prefix="second_", params=params)
    )


# name: (make the cell, keywords of unroll); "inputs": one symbol unless "list".
CASES = {
    "rnn": (lambda mx: mx.rnn.RNNCell(3), {}),
    "rnn_relu_merged": (lambda mx: mx.rnn.RNNCell(3, "relu"), {"merge_outputs": True}),
    "rnn_function": (lambda mx: mx.rnn.RNNCell(3, mx.sym.sin), {}),
    "rnn_time_first": (lambda mx: mx.rnn.RNNCell(3), {"layout": "TNC", "merge_outputs": True}),
    "rnn_list": (lambda mx: mx.rnn.RNNCell(3), {"inputs": "list", "merge_outputs": True}),
    "rnn_list_time_first": (
        lambda mx: mx.rnn.RNNCell(3),
        {"inputs": "list", "merge_outputs": True, "layout": "TNC"},
    ),
    "rnn_states": (lambda mx: mx.rnn.RNNCell(3), {"states": True}),
    "rnn_shared": (_shared, {}),
    "lstm": (lambda mx: mx.rnn.LSTMCell(3), {"merge_outputs": True}),
    "lstm_forget": (lambda mx: mx.rnn.LSTMCell(3, "a_", forget_bias=2.0), {"states": True}),
    "gru": (lambda mx: mx.rnn.GRUCell(3), {}),
    "fused_relu": (lambda mx: _fused(mx, "rnn_relu"), {}),
    "fused_tanh": (lambda mx: _fused(mx, "rnn_tanh", prefix="t_"), {"layout": "TNC"}),
    "fused_gru_list": (
        lambda mx: _fused(mx, "gru", get_next_state=True),
        {"inputs": "list", "layout": "TNC"},
    ),
    "fused_lstm": (
        lambda mx: _fused(mx, "lstm", num_layers=2, bidirectional=True, get_next_state=True),
        {},
    ),
    "fused_lstm_steps": (
        lambda mx: _fused(mx, "lstm", forget_bias=3.0),
        {"merge_outputs": False, "states": True},
    ),
    "unfused_lstm": (
        lambda mx: _fused(mx, "lstm", num_layers=2, bidirectional=True, dropout=0.3).unfuse(),
        {},
    ),
    "unfused_gru": (lambda mx: _fused(mx, "gru", num_layers=2, dropout=0.1).unfuse(), {}),
    "unfused_tanh": (lambda mx: _fused(mx, "rnn_tanh").unfuse(), {"merge_outputs": True}),
    "stack": (
        lambda mx: _stack(
            mx,
            mx.rnn.LSTMCell(4, prefix="l0_"),
            mx.rnn.DropoutCell(0.5),
            mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="g_")),
        ),
        {},
    ),
    "stack_merged": (
        lambda mx: _stack(mx, mx.rnn.GRUCell(4, prefix="a_"), mx.rnn.RNNCell(4, prefix="b_")),
        {"merge_outputs": True, "states": True},
    ),
    "bidirectional": (_bidirectional, {}),
    "bidirectional_merged": (
        lambda mx: _bidirectional(mx, output_prefix="both_"),
        {"merge_outputs": True},
    ),
    "bidirectional_time_first": (_bidirectional, {"merge_outputs": True, "layout": "TNC"}),
    "bidirectional_fused": (
        lambda mx: mx.rnn.BidirectionalCell(
            _fused(mx, "lstm", prefix="f_", get_next_state=True), _fused(mx, "gru", prefix="g_")
        ),
        {},
    ),
    "zoneout": (lambda mx: mx.rnn.ZoneoutCell(mx.rnn.RNNCell(3), 0.3, 0.2), {}),
    "zoneout_outputs": (lambda mx: mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(3), 0.3), {}),
    "zoneout_states": (
        lambda mx: mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(3), 0, 0.3),
        {"merge_outputs": True},
    ),
    "dropout": (lambda mx: mx.rnn.DropoutCell(0.3), {}),
    "dropout_list": (lambda mx: mx.rnn.DropoutCell(0.3), {"inputs": "list"}),
    "dropout_merged": (
        lambda mx: mx.rnn.DropoutCell(0.3),
        {"inputs": "list", "merge_outputs": True},
    ),
    "residual": (lambda mx: mx.rnn.ResidualCell(mx.rnn.RNNCell(4)), {}),
    "residual_merged": (
        lambda mx: mx.rnn.ResidualCell(mx.rnn.GRUCell(4)),
        {"merge_outputs": True},
    ),
    "residual_bidirectional": (
        lambda mx: mx.rnn.ResidualCell(
            mx.rnn.BidirectionalCell(mx.rnn.RNNCell(2, prefix="l_"), mx.rnn.RNNCell(2, prefix="r_"))
        ),
        {},
    ),
    "conv_rnn": (
        lambda mx: mx.rnn.ConvRNNCell(PICTURE, 3),
        {"inputs": "list", "picture": True},
    ),
    "conv_lstm": (
        lambda mx: mx.rnn.ConvLSTMCell(
            PICTURE,
            3,
            h2h_kernel=(3, 5),
            i2h_kernel=(3, 2),
            i2h_stride=(2, 1),
            i2h_pad=(0, 1),
            i2h_weight_initializer="xavier",
            i2h_bias_initializer=mx.init.LSTMBias(2.0),
            activation="tanh",
        ),
        {"inputs": "list", "picture": True},
    ),
    "conv_gru": (
        lambda mx: mx.rnn.ConvGRUCell(PICTURE, 3, h2h_dilate=(2, 1), prefix="c_"),
        {"picture": True},
    ),
}


def flat(value):
    """Nested lists as one."""
    if not isinstance(value, (list, tuple)):
        return [value]
    return [leaf for part in value for leaf in flat(part)]


def unroll(mx, name):
    """The cell, and the group of its outputs and last states."""
    make, how = CASES[name]
    how = dict(how)
    inputs = mx.sym.Variable("data")
    if how.pop("inputs", None) == "list":
        inputs = [mx.sym.Variable(f"x{i}") for i in range(LENGTH)]
    how.pop("picture", None)
    with mx.name.NameManager(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = make(mx)
        if how.pop("states", None):
            how["begin_state"] = cell.begin_state(func=mx.sym.Variable)
        outputs, states = cell.unroll(LENGTH, inputs, **how)
    return cell, mx.sym.Group(flat([outputs, states])), (outputs, states)


def input_shapes(name, arguments):
    """Shapes of the data."""
    _, how = CASES[name]
    step = (BATCH, *PICTURE[1:]) if how.get("picture") else (BATCH, CHANNELS)
    if how.get("inputs") == "list":
        shapes = {f"x{i}": step for i in range(LENGTH)}
    elif how.get("layout") == "TNC":
        shapes = {"data": (LENGTH, *step)}
    else:
        shapes = {"data": (step[0], LENGTH, *step[1:])}
    return {n: s for n, s in shapes.items() if n in arguments}


def numbers(name, shape):
    """Fixed numbers for an array of that name."""
    return np.random.RandomState(zlib.crc32(name.encode())).uniform(-1, 1, shape).astype("float32")


def structure(net):
    """Nodes as (operator, name, attributes, inputs), in the order of the JSON; and heads."""
    graph = json.loads(net.tojson())
    nodes = graph["nodes"]
    described = [
        [n["op"], n["name"], n.get("attrs", {}), [[nodes[i[0]]["name"], i[1]] for i in n["inputs"]]]
        for n in nodes
    ]
    return {"nodes": described, "heads": [[nodes[h[0]]["name"], h[1]] for h in graph["heads"]]}


def run(mx, name):
    """Outputs, gradients and the shapes of everything, for fixed numbers."""
    cell, net, (outputs, _) = unroll(mx, name)
    arguments = net.list_arguments()
    shapes, out_shapes, _ = net.infer_shape(**input_shapes(name, arguments))
    sizes = {n: shapes[i] for i, n in enumerate(arguments)}
    args = {n: mx.nd.array(numbers(n, s)) for n, s in sizes.items()}
    grads = {n: mx.nd.zeros(s) for n, s in sizes.items()}
    executor = net.bind(mx.cpu(), args, args_grad=grads)
    executor.forward(is_train=False)
    plain = [o.asnumpy() for o in executor.outputs]
    random = any(n[0] == "Dropout" for n in structure(net)["nodes"])
    if not random:
        executor.forward(is_train=True)
        executor.backward([mx.nd.array(h) for h in _head_gradients(net, out_shapes)])
    facts = {
        "structure": structure(net),
        "arguments": {n: list(s) for n, s in sizes.items()},
        "outputs": [list(s) for s in out_shapes],
        "merged": not isinstance(outputs, list),
        "states": [[list(i["shape"]), i["__layout__"]] for i in cell.state_info],
        "unpacked": {} if name == "rnn_shared" else _unpacked(cell, args),
        "random": random,
    }
    figures = {f"out{i}": v for i, v in enumerate(plain)}
    if not random:
        figures.update(("grad_" + n, g.asnumpy()) for n, g in grads.items())
    return facts, figures


def _head_gradients(net, shapes):
    """Fixed numbers; 0 for an output that comes again, of which MXNet counts only the last."""
    heads = structure(net)["heads"]
    made = [numbers(f"head{i}", s) for i, s in enumerate(shapes)]
    return [0 * g if heads[i] in heads[i + 1 :] else g for i, g in enumerate(made)]


def _unpacked(cell, args):
    unpacked = sorted(cell.unpack_weights(dict(args)).items())
    return {n: list(v.shape) for n, v in unpacked if n not in args}


SENTENCES = [
    [int(w) for w in np.random.RandomState(i).randint(1, 9, size=1 + i * 7 % 6)] for i in range(30)
]

ITERATORS = {
    "default": {"batch_size": 3},
    "buckets": {
        "batch_size": 2, "buckets": [5, 3], "invalid_label": 0, "layout": "TN", "dtype": "int32",
        "data_name": "d", "label_name": "l",
    },
    "empty_buckets": {"batch_size": 4, "buckets": [2, 4, 6, 40]},
}  # fmt: skip


def batches(mx, name):
    """Two epochs of an iterator."""
    import random

    random.seed(3)
    np.random.seed(4)  # noqa: NPY002 - the iterator uses the global generator
    made = mx.rnn.BucketSentenceIter(SENTENCES, **ITERATORS[name])
    epochs = []
    for _ in range(2):
        epochs.append(
            [
                {
                    "key": batch.bucket_key,
                    "pad": batch.pad,
                    "data": batch.data[0].asnumpy().tolist(),
                    "label": batch.label[0].asnumpy().tolist(),
                    "dtype": np.dtype(batch.data[0].dtype).name,
                    "provide": [
                        [d.name, list(d.shape), d.layout]
                        for d in batch.provide_data + batch.provide_label
                    ],
                }
                for batch in made
            ]
        )
        made.reset()
    return {
        "buckets": made.buckets,
        "key": made.default_bucket_key,
        "provide": [[d.name, list(d.shape), d.layout] for d in made.provide_data],
        "epochs": epochs,
    }
