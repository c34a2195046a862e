"""Small files that ask for much: each is answered by an error, early and in little memory."""

import gc
import hashlib
import io
import json
import os
import struct
import threading
import time
import tracemalloc
import warnings
import zipfile
import zlib

import numpy as np
import pytest

import modkit as mx
from modkit import artefacts, cli
from modkit.compile.disk_cache import _MAGIC, DiskCache
from modkit.errors import FileFormatError, MXNetError, NotSupportedError, ParameterError, ShapeError
from modkit.visualization import plot_network

MIB = 2**20


def measured(work):
    """The result of a function, or its error; with the bytes that Python took meanwhile."""
    tracemalloc.start()
    try:
        result = work()
    except MXNetError as error:
        result = error
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, peak


# ── Images ──────────────────────────────────────────────────────────────────────────────────

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"


def png(width, height, color=2):
    """A whole PNG of zeros."""
    row = bytes(1 + width * (3 if color == 2 else 1))
    pack = zlib.compressobj(9)
    data = b"".join(pack.compress(row) for _ in range(height)) + pack.flush()
    chunks = [
        b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0),
        b"IDAT" + data,
        b"IEND",
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks
    )


@pytest.fixture
def predict(tmp_path, capsys):
    """Runs ``modkit predict`` on a net that gives its picture back; status and complaint."""
    net = mx.sym.mean(mx.sym.Variable("data"), axis=(1, 2, 3), name="mean")
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, net, {"unused": mx.nd.ones(1)}, {})

    def run(content, name="x.png", *words):
        path = tmp_path / name
        path.write_bytes(content)
        status = cli.main(["predict", str(tmp_path / "net"), "0", "--input", str(path), *words])
        return status, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("content", "words", "says"),
    [
        (lambda: EPS, (), "not a picture: no image: not JPEG, PNG"),
        (lambda: png(9000, 9000, 0), (), "so few bytes cannot be 9000 x 9000 pixels"),
        (lambda: png(4_000_000, 1), ("--short", "256"), "cut it first"),
    ],
    ids=["eps", "large", "long"],
)
def test_pictures_that_ask_for_much(predict, monkeypatch, content, words, says):
    pytest.importorskip("PIL")
    monkeypatch.setattr("subprocess.Popen", lambda *a, **k: pytest.fail(f"starts {a}"))
    picture = content()
    (status, complaint), peak = measured(lambda: predict(picture, "x.png", *words))
    assert (status, says in complaint) == (2, True), complaint
    assert peak < 20 * len(picture) + 200 * MIB


def test_an_image_record_that_is_scaled_to_much(tmp_path):
    pytest.importorskip("PIL")
    with mx.recordio.MXRecordIO(tmp_path / "x.rec", "w") as file:
        file.write(mx.recordio.pack((0, 1.0, 0, 0), png(2_000_000, 1)))
    batches = mx.io.ImageRecordIter(tmp_path / "x.rec", (3, 64, 64), 1, resize=256)
    with pytest.raises(FileFormatError, match="cut it first"):
        next(batches)


# ── Arrays ──────────────────────────────────────────────────────────────────────────────────


def npy(header, content=b"", version=1):
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header + content


def header(shape="(2,)", descr="'<f4'"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()


NPY = {
    "no numbers": npy(header(descr="'|O'"), bytes(8)),
    "fields": npy(header(descr="[('a', '<f4')]"), bytes(8)),
    "token": npy(b"{'descr': '<f4', 'shape': (2,), 'x': '''\n", bytes(8)),
    "brackets": npy(b"(" * 9000, bytes(8)),
    "deep": npy(b"-" * 9999 + b"1", bytes(8)),
    "large": npy(header("(2305843009213693952,)"), bytes(8)),
    "beyond": npy(header("(9223372036854775808, 0)"), bytes(8)),
    "negative": npy(header("(-1, -8)"), bytes(32)),
    "long header": npy(b"{" + b" " * 10**7, version=2),
    "cut": npy(header("(20000,)"), bytes(8)),
    "truth": npy(header("(True, 2)"), bytes(8)),
    "not a tuple": npy(header("2"), bytes(8)),
    "archive": b"PK\x03\x04" + bytes(60),
    "empty": b"",
}


@pytest.mark.parametrize("what", NPY)
def test_npy_files_that_ask_for_much(predict, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (status, complaint), peak = measured(lambda: predict(NPY[what], "x.npy"))
    assert status == 2
    assert "x.npy: not an array of numbers" in complaint
    assert peak < 8 * MIB + 4 * len(NPY[what])


def archive(path, content, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr("a.npy", content)
    return path


@pytest.mark.parametrize("what", [each for each in NPY if each != "long header"])
def test_entries_of_npz_files_that_ask_for_much(tmp_path, what):
    path = archive(tmp_path / "x.npz", NPY[what])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for work in (artefacts.read_arrays, lambda p: artefacts.describe(p, stats=True)):
            error, peak = measured(lambda work=work: work(path))
            assert isinstance(error, FileFormatError)
            assert peak < 8 * MIB


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_npz_files_that_numpy_does_not_write(tmp_path, method):
    path = archive(tmp_path / "x.npz", npy(header(), bytes(8)), method)
    for place in range(path.stat().st_size):
        damaged = bytearray(path.read_bytes())
        damaged[place] ^= 0xFF
        (tmp_path / "y.npz").write_bytes(damaged)
        with pytest.raises(FileFormatError):
            artefacts.read_arrays(tmp_path / "y.npz")


def test_a_small_npz_of_many_zeros(tmp_path):
    path, count = tmp_path / "x.npz", 75_000_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, made.open("a.npy", "w") as entry:
        entry.write(npy(header(f"({count},)")))
        for _ in range(count // 10**6):
            entry.write(bytes(4 * 10**6))
    assert path.stat().st_size < MIB
    facts, peak = measured(lambda: artefacts.describe(path, stats=True))
    assert facts.arrays[0].statistics == artefacts.Statistics(0.0, 0.0, 0.0, 0)
    assert peak < 20 * MIB
    error, peak = measured(lambda: artefacts.read_arrays(path))
    assert isinstance(error, NotSupportedError) and "np.savez" in str(error)
    assert peak < 2 * MIB


@pytest.mark.parametrize("packed", [False, True])
def test_statistics_in_pieces_are_those_of_the_whole(tmp_path, packed):
    values = np.random.default_rng(0).normal(3, 2, (300, 4000)).astype(np.float32)
    values[7, 8], values[9, :5] = np.nan, np.inf
    (np.savez_compressed if packed else np.savez)(tmp_path / "x.npz", a=values)
    found = artefacts.describe(tmp_path / "x.npz", stats=True).arrays[0].statistics
    finite = values[np.isfinite(values)].astype(np.float64)
    assert (found.minimum, found.maximum, found.not_finite) == (finite.min(), finite.max(), 6)
    assert found.mean == pytest.approx(finite.mean(), rel=1e-12)


def test_sparse_parameters_that_are_made_dense(tmp_path):
    """64 MiB, or 1024 times what they take."""
    for count, fits in ((2**24, True), (2**24 + 1, False)):
        row = mx.nd.sparse.row_sparse_array(([[1.0]], [3]), shape=(count, 1))
        mx.nd.save(str(tmp_path / "x.params"), {"arg:w": row})
        if fits:
            assert artefacts.read_arrays(tmp_path / "x.params")["arg:w"].shape == (count, 1)
            continue
        error, peak = measured(lambda: artefacts.read_arrays(tmp_path / "x.params"))
        assert isinstance(error, NotSupportedError) and "x.params" in str(error)
        assert f"of shape ({count}, 1) take 12 bytes here" in str(error)
        assert peak < MIB


def test_npy_files_of_either_order(predict, tmp_path):
    values = np.arange(24, dtype=">f8").reshape(2, 3, 2, 2)
    for each in (values, np.asfortranarray(values)):
        content = io.BytesIO()
        np.save(content, each)
        words = ("--save", str(tmp_path / "y.npz"))
        assert predict(content.getvalue(), "x.npy", *words)[0] == 0
        found = artefacts.read_arrays(tmp_path / "y.npz")["mean_output"]
        np.testing.assert_allclose(found, values.mean((1, 2, 3)))


def test_libsvm_lines_stay_sparse(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("1 0:1\n" * 100)
    batches = mx.io.LibSVMIter(data_libsvm=str(path), data_shape=(10**9,), batch_size=10)
    assert next(batches).data[0].stype == "csr"


# ── Parameters of operators ─────────────────────────────────────────────────────────────────

HUGE = 2**40
OPERATORS = {
    # An operator, its parameters, the shapes of its inputs.
    "RNN": ({"state_size": 2, "num_layers": 100_000, "mode": "lstm"}, [(2, 2, 2)]),
    "Convolution": ({"kernel": (3, 3), "pad": (HUGE, HUGE), "num_filter": 1}, [(1, 1, 4, 4)]),
    "Pooling": ({"kernel": (3, 3), "pad": (HUGE, HUGE)}, [(1, 1, 4, 4)]),
    "Deconvolution": ({"kernel": (3, 3), "stride": (HUGE, HUGE), "num_filter": 4}, [(1, 2, 4, 4)]),
    "one_hot": ({"depth": HUGE}, [(3,)]),
    "repeat": ({"repeats": HUGE}, [(3,)]),
    "tile": ({"reps": (HUGE, HUGE)}, [(3,)]),
    "broadcast_to": ({"shape": (HUGE, HUGE)}, [(1, 1)]),
    "FullyConnected": ({"num_hidden": 2**62}, [(3, 3)]),
    "UpSampling": ({"scale": 2**30, "sample_type": "nearest"}, [(1, 1, 4, 4)]),
    "dot": ({"transpose_b": True}, [(2**30, 1), (2**30, 1)]),
    "relu": ({}, [(2**62, 2**62)]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_parameters_that_ask_for_much(name):
    attrs, shapes = OPERATORS[name]
    inputs = [mx.sym.Variable(f"x{i}") for i in range(len(shapes))]
    net = getattr(mx.sym, name)(*inputs, **attrs)
    begun = time.thread_time()
    with pytest.raises(MXNetError, match=r"fewer than 2\*\*40|256 at most"):
        net.infer_shape(**{f"x{i}": shape for i, shape in enumerate(shapes)})
    assert time.thread_time() - begun < 10


@pytest.mark.parametrize("name", ["one_hot", "broadcast_to", "tile"])
def test_arrays_that_no_machine_holds(name):
    attrs, shapes = OPERATORS[name]
    with pytest.raises(ShapeError, match=r"fewer than 2\*\*40"):
        getattr(mx.nd, name)(*(mx.nd.ones(shape) for shape in shapes), **attrs).wait_to_read()


@pytest.mark.parametrize("content", [b"]" * 10**7, b"]" + b"]a" * 5 * 10**6], ids=range(2))
def test_states_of_brackets(tmp_path, content):
    (tmp_path / "x.states").write_bytes(b"\x80\x04" + content + b".")
    begun = time.thread_time()
    with pytest.raises(FileFormatError, match="more than 2097152 instructions"):
        artefacts.describe(tmp_path / "x.states")
    assert time.thread_time() - begun < 10


def test_a_large_graph_is_built_without_collections():
    nodes = [{"op": "null", "name": "x", "inputs": []}]
    nodes += [{"op": "Flatten", "name": f"n{i}", "inputs": [[i, 0]]} for i in range(20_000)]
    text = json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[20_000, 0]]})
    before = [each["collections"] for each in gc.get_stats()]
    net = mx.sym.load_json(text)
    after = [each["collections"] for each in gc.get_stats()]
    deadline = time.monotonic() + 30
    while not gc.isenabled() and time.monotonic() < deadline:
        time.sleep(
            0.01
        )  # a thread that another test left may be in a trace, with the collector paused
    assert gc.isenabled()
    assert sum(after) - sum(before) <= 20
    assert net.list_outputs() == ["n19999_output"]


# ── Attributes of variables ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    ["(" * 300 + ")" * 300, "-" * 10**5 + "1", "(" * 10**5, "1e400", "(1e999,)", "9" * 5000, "x",
     "{}[0]", "(2, 'a')", f"({2**70},)", "(1.5, None)"],
    ids=range(11),
)  # fmt: skip
def test_shapes_of_variables_that_are_none(text):
    net = mx.sym.Variable("x", attr={"__shape__": text}) + 1
    with pytest.raises(ShapeError, match=r"__shape__|elements"):
        net.infer_shape()


@pytest.mark.parametrize(
    "text",
    ["[", "[1]", '["uniform"]', '["uniform", 3]', '["uniform", {"scal": 1}]', "[" * 10**5, "{}",
     '{"initializer": 3}', '["uniform", {"scale": "a"}]',
     '["constant", {"value": {}}]', '["lstmbias", {"forget_bias": []}]', '["nosuch", {}]',
     '[["uniform", {}], {}]', '["load", {"param": 3}]'],
    ids=range(14),
)  # fmt: skip
def test_initializers_of_variables_that_are_none(text):
    data = mx.sym.Variable("data")
    weight = mx.sym.Variable("w", attr={"__init__": text})
    net = mx.sym.FullyConnected(data, weight, no_bias=True, num_hidden=4)
    module = mx.mod.Module(net, label_names=[])
    module.bind([("data", (2, 3))])
    with pytest.raises(MXNetError):
        module.init_params()


def test_an_initializer_that_is_none_names_the_variable():
    with pytest.raises(ParameterError, match=r"variable 'w': __init__ .*scale: got 'a'"):
        desc = mx.init.InitDesc("w", {"__init__": '["uniform", {"scale": "a"}]'})
        mx.init.Uniform()(desc, mx.nd.zeros((2,)))


def test_a_plot_of_an_operator_that_says_no_name():
    pytest.importorskip("graphviz")
    nodes = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "Custom", "name": "mine", "inputs": [[0, 0, 0]]},
    ]
    text = json.dumps({"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]})
    assert "mine" in plot_network(mx.sym.load_json(text)).source


# ── Names ───────────────────────────────────────────────────────────────────────────────────


NAMED_READERS = {
    "csv": lambda path: mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=1),
    "libsvm": lambda path: mx.io.LibSVMIter(data_libsvm=path, data_shape=(2,), batch_size=1),
    "mnist": lambda path: mx.io.MNISTIter(image=path, label=path),
    "vectors": lambda path: mx.contrib.text.embedding.CustomEmbedding(path),
    "onnx": lambda path: mx.contrib.onnx.import_model(path),
    "model": lambda path: mx.Predictor(path, {}, {"data": (1,)}),
}


@pytest.mark.parametrize("reader", NAMED_READERS)
def test_a_path_that_cannot_be_read_is_named(reader, tmp_path):
    if reader == "onnx":
        pytest.importorskip("onnx")
    for name in (tmp_path, tmp_path / "gone", tmp_path / ("x" * 300), f"{tmp_path}/a\0b"):
        with pytest.raises(MXNetError) as caught:
            NAMED_READERS[reader](str(name))
        assert str(tmp_path) in str(caught.value)


# ── The store of compiled programs ──────────────────────────────────────────────────────────


def test_a_pipe_in_the_store_is_not_waited_for(tmp_path):
    store = DiskCache(tmp_path / "programs")
    store.write("a", b"content")
    path = store._path("a")
    path.unlink()
    os.mkfifo(path)
    path.chmod(0o600)
    thread = threading.Thread(target=store.read, args=("a",), daemon=True)
    thread.start()
    thread.join(5)
    hung = thread.is_alive()
    if hung:
        path.write_bytes(b"")
    assert not hung
    store.write("a", b"content")
    assert store.read("a") == b"content"


def test_a_right_digest_over_damaged_content(tmp_path):
    store = DiskCache(tmp_path / "programs")
    store.write("a", b"content")
    damaged = zlib.compress(b"content")[:-3]
    store._path("a").write_bytes(_MAGIC + hashlib.sha256(damaged).digest() + damaged)
    assert store.read("a") is None
    assert not store._path("a").exists()
