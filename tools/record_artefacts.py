"""Record files of Apache MXNet 1.9.1, and what it computes from them.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_artefacts

and writes `tests/reference/artefacts/`: checkpoints of small nets with their inputs and outputs,
graphs of control flow, what Gluon writes, sparse arrays, and record files with index and list.
`artefacts.json` says what is what. The fused recurrent operator needs oneDNN, so that the program
runs itself once more with it for that net.
"""

import json
import os
import struct
import subprocess
import sys
import zlib

import mxnet as mx
import numpy as np

from tools import reference

FOLDER = reference.FOLDER / "artefacts"
EPOCH = 3


# ── Nets ────────────────────────────────────────────────────────────────────────────────────


def mlp():
    """8-6-3."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def convnet():
    """Convolutions with and without bias, BatchNorm with a fixed and a free gamma, Dropout."""
    net = mx.sym.Variable("data")
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=4, pad=(1, 1), name="conv1")
    net = mx.sym.BatchNorm(net, name="bn1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    net = mx.sym.Pooling(net, kernel=(3, 3), stride=(2, 2), pool_type="max",
                         pooling_convention="full", name="pool1")  # fmt: skip
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=5, no_bias=True, name="conv2")
    net = mx.sym.BatchNorm(net, fix_gamma=False, eps=1e-4, momentum=0.8, name="bn2")
    net = mx.sym.LeakyReLU(net, slope=0.1, name="leaky2")
    net = mx.sym.Dropout(mx.sym.Flatten(net, name="flatten"), p=0.3, name="drop")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def unit(net, filters, stride, name):
    """A residual unit that normalises first."""
    start = mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, name=name + "_bn1")
    start = mx.sym.Activation(start, act_type="relu", name=name + "_relu1")
    shortcut = net
    if stride > 1:
        shortcut = mx.sym.Convolution(start, num_filter=filters, kernel=(1, 1),
                                      stride=(stride, stride), no_bias=True,
                                      name=name + "_shortcut")  # fmt: skip
    for i in (1, 2):
        start = mx.sym.Convolution(start, num_filter=filters, kernel=(3, 3), pad=(1, 1),
                                   stride=(stride, stride) if i == 1 else (1, 1), no_bias=True,
                                   workspace=256, name=f"{name}_conv{i}")  # fmt: skip
        if i == 1:
            start = mx.sym.BatchNorm(start, fix_gamma=False, eps=2e-5, name=name + "_bn2")
            start = mx.sym.Activation(start, act_type="relu", name=name + "_relu2")
    return start + shortcut


def resnet():
    """Three residual units on 12x12 pictures, with a global pooling."""
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), fix_gamma=True, eps=2e-5, name="bn_data")
    net = mx.sym.Convolution(net, num_filter=6, kernel=(3, 3), pad=(1, 1), no_bias=True,
                             name="conv0")  # fmt: skip
    net = unit(unit(unit(net, 6, 1, "stage1"), 8, 2, "stage2"), 10, 2, "stage3")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="bn1"), act_type="relu",
                            name="relu1")  # fmt: skip
    net = mx.sym.Pooling(net, global_pool=True, kernel=(7, 7), pool_type="avg", name="pool1")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=4, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lstm():
    """Two LSTM layers unrolled over five words."""
    data = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=11, output_dim=4, name="embed")
    cells = mx.rnn.SequentialRNNCell()
    cells.add(mx.rnn.LSTMCell(num_hidden=5, prefix="lstm_l0_"))
    cells.add(mx.rnn.LSTMCell(num_hidden=5, prefix="lstm_l1_"))
    outputs, _ = cells.unroll(5, inputs=data, merge_outputs=True)
    net = mx.sym.Reshape(outputs, shape=(-1, 5))
    net = mx.sym.FullyConnected(net, num_hidden=3, name="pred")
    label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
    return mx.sym.SoftmaxOutput(net, label, name="softmax")


def fused_rnn():
    """A GRU of two layers in both directions, in one operator."""
    data = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=11, output_dim=4, name="embed")
    cell = mx.rnn.FusedRNNCell(4, num_layers=2, mode="gru", bidirectional=True, prefix="gru_")
    outputs, _ = cell.unroll(5, inputs=data, merge_outputs=True, layout="NTC")
    net = mx.sym.FullyConnected(outputs, num_hidden=3, flatten=False, name="pred")
    net = mx.sym.Reshape(net, shape=(-1, 3))
    label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
    return mx.sym.SoftmaxOutput(net, label, name="softmax")


def two_outputs():
    """A shared trunk with a classifier, a regression, and the trunk's features."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh1")
    classes = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(net, num_hidden=3, name="fc_class"), name="softmax"
    )
    size = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(net, num_hidden=2, name="fc_size"), name="size"
    )
    return mx.sym.Group([classes, size, mx.sym.BlockGrad(net, name="features")])


def unknown_operator():
    """A net with an operator that modkit does not have."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
    net = mx.sym.contrib.quantize_v2(net, min_calib_range=-1.0, max_calib_range=1.0, name="narrow")
    return mx.sym.FullyConnected(mx.sym.cast(net[0], dtype="float32"), num_hidden=3, name="fc2")


ROWS, PICTURE, WORDS = (4, 8), (4, 3, 12, 12), (4, 5)
NETS = {
    # net: (builder, shape of the data, label names and shapes)
    "mlp": (mlp, ROWS, {"softmax_label": (4,)}),
    "convnet": (convnet, PICTURE, {"softmax_label": (4,)}),
    "resnet": (resnet, PICTURE, {"softmax_label": (4,)}),
    "lstm": (lstm, WORDS, {"softmax_label": (4, 5)}),
    "fused_rnn": (fused_rnn, WORDS, {"softmax_label": (4, 5)}),
    "two_outputs": (two_outputs, ROWS, {"softmax_label": (4,), "size_label": (4, 2)}),
    "unknown_operator": (unknown_operator, ROWS, {}),
}


def inputs_for(name, rng):
    """The data and labels of a net."""
    _, shape, label_shapes = NETS[name]
    data = rng.randint(0, 11, shape) if shape == WORDS else rng.randn(*shape)
    inputs = {"data": data.astype(np.float32)}
    for label, size in label_shapes.items():
        values = rng.randn(*size) if label == "size_label" else rng.randint(0, 3, size)
        inputs[label] = values.astype(np.float32)
    return inputs


def random_params(symbol, shapes, rng):
    """Values that are all different, so that a mix-up would show."""
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    args = {}
    for name, shape in zip(symbol.list_arguments(), arg_shapes):  # noqa: B905 - Python 3.8
        if name not in shapes:
            middle = 1.0 if name.endswith("gamma") else 0.0
            args[name] = mx.nd.array(rng.uniform(middle - 0.5, middle + 0.5, shape))
    auxs = {
        name: mx.nd.array(rng.uniform(0.5, 1.5, shape) - (not name.endswith("var")))
        for name, shape in zip(symbol.list_auxiliary_states(), aux_shapes)  # noqa: B905
    }
    return args, auxs


def outputs_of(symbol, args, auxs, inputs, train=False):
    """The outputs of a net."""
    module = mx.mod.Module(symbol, ["data"], [n for n in inputs if n != "data"] or None)
    labels = [(n, v.shape) for n, v in inputs.items() if n != "data"]
    module.bind([("data", inputs["data"].shape)], labels or None, for_training=train)
    module.init_params(arg_params=args, aux_params=auxs)
    batch = mx.io.DataBatch(
        [mx.nd.array(inputs["data"])], [mx.nd.array(inputs[n]) for n, _ in labels]
    )
    module.forward(batch, is_train=train)
    return [out.asnumpy() for out in module.get_outputs()]


def record_net(name):
    """A checkpoint, its inputs and its outputs; the row for the manifest."""
    rng = np.random.RandomState(zlib.crc32(name.encode()) % 2**31)
    symbol, inputs = NETS[name][0](), inputs_for(name, rng)
    args, auxs = random_params(symbol, {n: v.shape for n, v in inputs.items()}, rng)
    mx.model.save_checkpoint(str(FOLDER / name), EPOCH, symbol, args, auxs)
    outputs = outputs_of(symbol, args, auxs, inputs)
    arrays = {"input:" + n: v for n, v in inputs.items()}
    arrays.update((f"output:{i}", v) for i, v in enumerate(outputs))
    np.savez_compressed(str(FOLDER / (name + ".npz")), **arrays)
    return {"epoch": EPOCH, "data": "data", "labels": sorted(set(inputs) - {"data"})}


# ── Control flow ────────────────────────────────────────────────────────────────────────────


def foreach():
    """A loop over rows with weights, statistics, and a loop in it."""

    def inner(value, total):
        return value * 2, total + value

    def body(row, states):
        hidden = mx.sym.FullyConnected(row, num_hidden=3, name="fc")
        hidden = mx.sym.BatchNorm(hidden + states[0] * mx.sym.var("scale"), name="bn")
        doubled, _ = mx.sym.contrib.foreach(inner, hidden, states[0], name="columns")
        return [doubled, row + 1], [hidden]

    outputs, states = mx.sym.contrib.foreach(
        body, mx.sym.var("data"), [mx.sym.var("state")], name="rows"
    )
    return mx.sym.Group([*outputs, *states])


def while_loop():
    """A loop that ends by itself."""
    outputs, states = mx.sym.contrib.while_loop(
        lambda i, s: i <= 4,
        lambda i, s: ([mx.sym.BatchNorm(s, name="bn") * mx.sym.var("w")], [i + 1, s * 2]),
        [mx.sym.var("i"), mx.sym.var("s")],
        max_iterations=6,
    )
    return mx.sym.Group([*outputs, *states])


def cond():
    """A choice between two branches."""
    a, b = mx.sym.var("a"), mx.sym.var("b")
    net = mx.sym.contrib.cond(a * b < 5, lambda: (a + 5) * (b + 5), lambda: a - b)
    return mx.sym.Activation(net, act_type="relu", name="relu")


def record_control_flow():
    """Graphs in graphs, and what they list."""
    rows = {}
    for build in (foreach, while_loop, cond):
        symbol, name = build(), build.__name__
        symbol.save(str(FOLDER / (name + "-symbol.json")))
        rows[name] = {
            "arguments": symbol.list_arguments(),
            "auxiliary": symbol.list_auxiliary_states(),
            "outputs": symbol.list_outputs(),
            "internals": symbol.get_internals().list_outputs(),
        }
    return rows


# ── Gluon, FeedForward ──────────────────────────────────────────────────────────────────────


def record_gluon():
    """An exported pair, and the parameters by themselves in both ways that Gluon writes them."""
    mx.random.seed(3)
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            mx.gluon.nn.Conv2D(4, 3, padding=1),
            mx.gluon.nn.BatchNorm(),
            mx.gluon.nn.Activation("relu"),
            mx.gluon.nn.MaxPool2D(),
            mx.gluon.nn.Flatten(),
            mx.gluon.nn.Dense(5, activation="tanh"),
            mx.gluon.nn.Dense(3),
        )
    net.initialize(mx.init.Xavier())
    net.hybridize()
    data = mx.nd.array(np.random.RandomState(4).randn(4, 2, 6, 6))
    with mx.autograd.record():
        net(data)  # moves the statistics of the BatchNorm
    output = net(data)
    net.export(str(FOLDER / "gluon"), epoch=EPOCH)
    net.save_parameters(str(FOLDER / "gluon-block.params"))
    net.collect_params().save(str(FOLDER / "gluon-dict.params"))
    arrays = {"input:data": data.asnumpy(), "output:0": output.asnumpy()}
    np.savez_compressed(str(FOLDER / "gluon.npz"), **arrays)
    return {"epoch": EPOCH, "data": "data", "labels": []}


def record_feedforward():
    """The files of the estimator from before modules after two epochs."""
    rng = np.random.RandomState(5)
    data, label = rng.randn(20, 8).astype(np.float32), rng.randint(0, 3, 20)
    mx.random.seed(5)
    np.random.seed(5)  # noqa: NPY002 - what the iterator shuffles with
    model = mx.model.FeedForward(
        mlp(), num_epoch=2, learning_rate=0.1, numpy_batch_size=5, initializer=mx.init.Uniform(0.5)
    )
    model.fit(data, label)
    model.save(str(FOLDER / "feedforward"), EPOCH)
    arrays = {"input:data": data, "output:0": model.predict(data)}
    np.savez_compressed(str(FOLDER / "feedforward.npz"), **arrays)
    return {"epoch": EPOCH, "data": "data", "labels": ["softmax_label"]}


# ── Arrays, records ─────────────────────────────────────────────────────────────────────────


def record_sparse():
    """Sparse arrays beside dense ones."""
    dense = np.array([[0, 1.5, 0, -2], [0, 0, 0, 0], [3, 0, 0, 4]])
    arrays = {
        "csr": mx.nd.sparse.csr_matrix(dense, dtype="float32"),
        "rows": mx.nd.sparse.row_sparse_array(dense, dtype="float64"),
        "cube": mx.nd.sparse.row_sparse_array((np.ones((2, 2, 3)), [0, 3]), shape=(5, 2, 3)),
        "half": mx.nd.sparse.csr_matrix(dense, dtype="float16"),
        "dense": mx.nd.array(dense),
        "no elements": mx.nd.sparse.zeros("csr", (3, 4)),
        "no rows": mx.nd.sparse.zeros("row_sparse", (3, 4)),
    }
    mx.nd.save(str(FOLDER / "sparse.params"), arrays)
    np.savez_compressed(
        str(FOLDER / "sparse.npz"), **{name: value.asnumpy() for name, value in arrays.items()}
    )


def png(pixels):
    """A picture of height x width x 3 as PNG bytes, without loss."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)

    def chunk(kind, body):
        crc = zlib.crc32(kind + body) & 0xFFFFFFFF
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", crc)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


def record_records():
    """Six pictures with two labels each in a record file, with its index and its list."""
    rng = np.random.RandomState(6)
    pixels = rng.randint(0, 256, (6, 7, 7, 3)).astype(np.uint8)
    labels = rng.randint(0, 9, (6, 2)).astype(np.float32)
    prefix = str(FOLDER / "pictures")
    writer = mx.recordio.MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "w")
    lines = []
    for i, (picture, label) in enumerate(zip(pixels, labels)):  # noqa: B905 - Python 3.8
        writer.write_idx(10 * i, mx.recordio.pack(mx.recordio.IRHeader(0, label, 10 * i, 0),
                                                  png(picture)))  # fmt: skip
        lines.append(f"{10 * i}\t{label[0]:f}\t{label[1]:f}\tpictures/{i}.png\n")
    writer.close()
    (FOLDER / "pictures.lst").write_text("".join(lines))
    plain = mx.recordio.MXRecordIO(str(FOLDER / "plain.rec"), "w")
    # The magic number inside a record makes MXNet cut it into parts.
    contents = [b"", b"abc", struct.pack("<I", 0xCED7230A) * 3 + b"x", bytes(range(256)) * 5]
    for content in contents:
        plain.write(content)
    plain.close()
    read = mx.io.ImageRecordIter(
        path_imgrec=prefix + ".rec", path_imgidx=prefix + ".idx", data_shape=(3, 7, 7),
        batch_size=4, label_width=2, preprocess_threads=1, mean_r=10, mean_g=20, mean_b=30,
        scale=0.5,
    )  # fmt: skip
    batches = [(b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad) for b in read]
    np.savez_compressed(
        str(FOLDER / "pictures.npz"),
        pixels=pixels,
        labels=labels,
        data=np.stack([b[0] for b in batches]),
        label=np.stack([b[1] for b in batches]),
        pad=np.array([b[2] for b in batches]),
    )
    return [content.hex() for content in contents]


# ── All of them ─────────────────────────────────────────────────────────────────────────────


def main():
    """Record everything; or one net only, where its name is given."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 1:
        record_net(sys.argv[1])
        return 0
    reference.need_environment()
    rows = {}
    for name in NETS:
        if name == "fused_rnn":
            environment = dict(os.environ, MXNET_MKLDNN_ENABLED="1")
            subprocess.run([sys.executable, "-m", __spec__.name, name], env=environment, check=True)
            rows[name] = {"epoch": EPOCH, "data": "data", "labels": ["softmax_label"]}
        else:
            rows[name] = record_net(name)
    rows["gluon"] = record_gluon()
    rows["feedforward"] = record_feedforward()
    record_sparse()
    manifest = {
        "made_by": "tools/record_artefacts.py",
        "versions": reference.versions(mx),
        "nets": rows,
        "control_flow": record_control_flow(),
        "plain_records": record_records(),
    }  # fmt: skip
    (FOLDER / "artefacts.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
