"""Every reader of files that modkit has, with good files; `tests.answers` asks them bad ones."""

import atexit
import contextlib
import functools
import io
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import modkit as mx
from modkit import artefacts, cli
from modkit.artefacts.npz import read_npy
from modkit.commands.preprocessing import Preparation, read_picture
from modkit.errors import FileFormatError
from modkit.files import parse_file
from modkit.io.image_decoding import decoded
from modkit.io.mnist import read_idx
from modkit.ndarray.files import open_params

REFERENCE = Path(__file__).parent / "reference"
BYTE = r"at byte \d+"
LINE = r"line \d+"
JSON = "|".join(
    [
        r"line \d+ column", r"node \d+", "node '", "'heads'", "heads: ", "the graph", BYTE,
        "list of 'nodes'", "mxnet_version", "nested too",
    ]
)  # fmt: skip
# A damaged file may look like one of another kind, and have an error of that kind.
ANY = f"{BYTE}|{LINE}|{JSON}|first bytes|npz|safetensors"


@dataclass(frozen=True)
class Reader:
    """One way in which modkit reads a file.

    Attributes:
        name: of the reader.
        ending: of its files.
        read: reads the file at a path, and looks at all of it.
        seeds: makes the contents of good files.
        place: pattern of what an error says of the place, beside the file.
        beside: name of another file that it reads.
    """

    name: str
    ending: str
    read: Callable[[Path], object]
    seeds: Callable[[], list[bytes]]
    place: str
    beside: str = ""


# ── Good files ──────────────────────────────────────────────────────────────────────────────


def _files(*patterns):
    def contents():
        return [p.read_bytes() for each in patterns for p in sorted(REFERENCE.glob(each))]

    return functools.cache(contents)


def _made(ending, *writers):
    """Contents of the files that functions of a path write."""

    def contents():
        found = []
        for write in writers:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"made{ending}"
                write(path)
                found.append(path.read_bytes())
        return found

    return functools.cache(contents)


def _save_net(path):
    net = mx.sym.Variable("data", lr_mult=2)
    net = mx.sym.Convolution(net, kernel=(3, 3), num_filter=2, name="conv")
    net = mx.sym.BatchNorm(net, name="bn")
    parts = mx.sym.SliceChannel(net, num_outputs=2, name="cut")
    net = mx.sym.Concat(parts[0], parts[1], name="both")
    mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2), name="softmax").save(path)


def _save_loop(path):
    path.write_bytes((REFERENCE / "artefacts" / "while_loop-symbol.json").read_bytes())


def _write_old_net(path):
    """In the dialect of 0.8: ``param``, ``attr``, no auxiliary states, no version."""
    nodes = [
        {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1},
        {"op": "null", "param": {}, "name": "gamma", "inputs": [], "backward_source_id": -1},
        {"op": "null", "param": {}, "name": "beta", "inputs": [], "backward_source_id": -1},
        {"op": "BatchNorm", "param": {"eps": "0.001"}, "name": "bn", "inputs": [[0, 0], [1, 0],
         [2, 0]], "backward_source_id": -1, "attr": {"gamma_lr_mult": "2"}},
    ]  # fmt: skip
    path.write_text(json.dumps({"nodes": nodes, "arg_nodes": [0, 1, 2], "heads": [[3, 0]]}))


def _pack(path):
    header = mx.recordio.IRHeader(0, [1.0, 2.0], 3, 0)
    image = (np.arange(8 * 8 * 3) % 251).reshape(8, 8, 3).astype(np.uint8)
    with mx.recordio.MXRecordIO(path, "w") as file:
        for form in (".jpg", ".png"):
            file.write(mx.recordio.pack_img(header, image, img_fmt=form))


def _pack_boxes(path):
    box, other = [1, 0.1, 0.2, 0.5, 0.75], [0, 0.5, 0.5, 0.5, 0.9]  # without width
    image = (np.arange(8 * 9 * 3) % 251).reshape(8, 9, 3).astype(np.uint8)
    with mx.recordio.MXRecordIO(path, "w") as file:
        for number, (label, form) in enumerate([([4, 5, 9, 8, *box], ".jpg"),
                                                ([2, 5, *box, *other], ".png")]):  # fmt: skip
            header = mx.recordio.IRHeader(0, label, number, 0)
            file.write(mx.recordio.pack_img(header, image, img_fmt=form))


_ARRAYS = {"arg:w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones((2,), np.int64)}
_PARAMS = _files("files/*.params")
_SYMBOLS = _made(".json", _save_net, _write_old_net, _save_loop)
_STATES = _files("optimizer_states/adam-*.states", "optimizer_states/sgd-float16.states")
_RECORDS = _files("files/*.rec")
_INDEXES = _files("files/*.idx")


def _texts(*texts):
    return lambda: [text.encode() for text in texts]


# ── Readers ─────────────────────────────────────────────────────────────────────────────────


def _open_params(path):
    with open_params(path) as params:
        return [params[name] for name in params]


def _load_symbol(path):
    net = mx.sym.load(path)
    again = mx.sym.load_json(net.tojson())
    assert again.tojson() == net.tojson()
    return net.list_arguments(), net.list_auxiliary_states(), net.list_outputs(), net.attr_dict()


def _load_states(path):
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    parse_file(path, updater.set_states)
    return updater.states


def _read_records(path):
    with mx.recordio.MXRecordIO(path, "r") as file:
        file.places()
        return list(iter(file.read, None))


def _read_indexed(path):
    records = REFERENCE / "files" / "indexed.rec"
    with mx.recordio.MXIndexedRecordIO(path, records, "r") as file:
        return [file.read_idx(key) for key in file.keys]


def _read_images(path):
    batches = mx.io.ImageRecordIter(path, (3, 8, 8), 1, label_width=2, preprocess_threads=1)
    return [batch.label[0].asnumpy() for batch in batches]


def _read_boxes(path):
    batches = mx.io.ImageDetRecordIter(
        path, (3, 8, 8), 1, resize_mode="fit", rand_mirror_prob=0.5, preprocess_threads=1
    )
    return [(batch.data[0].asnumpy(), batch.label[0].asnumpy()) for batch in batches]


def _change_boxes(path):
    batches = mx.image.ImageDetIter(1, (3, 8, 8), str(path), rand_crop=0.5, rand_mirror=True)
    return [(batch.data[0].asnumpy(), batch.label[0].asnumpy()) for batch in batches]


@functools.cache
def _boxed():
    """A file of records that stays, for readers of lists."""
    folder = tempfile.mkdtemp(prefix="modkit-records-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "boxed.rec"
    _pack_boxes(path)
    return path


def _read_list(path):
    batches = mx.io.ImageRecordIter(
        _boxed(), (3, 8, 8), 1, path_imglist=path, label_width=2, preprocess_threads=1
    )
    return [batch.label[0].asnumpy() for batch in batches]


def _describe(path):
    facts = artefacts.describe(path, stats=True)
    return facts.to_json(), facts.text()


def _csv(path):
    return list(mx.io.CSVIter(path, (3,), batch_size=2))


def _libsvm(path):
    return list(mx.io.LibSVMIter(path, (8,), path, (8,), batch_size=2))


def _command(*words):
    """Runs a command of ``modkit``; what it complains of is an error."""
    out, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaints):
        status = cli.main(list(words))
    if status:
        raise FileFormatError(f"{words[1]}: {complaints.getvalue()}")


def _images(path):
    image = (np.arange(9 * 8 * 3) % 251).reshape(9, 8, 3).astype(np.uint8)
    decoded(mx.recordio.pack_img((0, 0, 0, 0), image)[24:]).save(path, path.suffix[1:].upper())


_PICTURES = [
    _made(ending, _images) for ending in (".png", ".jpeg", ".bmp", ".gif", ".tiff", ".webp")
]
_NPY = _made(".npy", lambda path: np.save(path, np.ones((2, 3), np.float32)))
_NPZ = _made(".npz", lambda path: np.savez(path, **_ARRAYS), lambda path: np.savez_compressed(path))
_SAFE = _made(".safetensors", lambda path: artefacts.write_arrays(path, _ARRAYS))
_IDX3 = [bytes((0, 0, 8, 3)) + bytes((0, 0, 0, 2)) * 3 + bytes(8)]

READERS = {
    each.name: each
    for each in [
        Reader("params", ".params", mx.nd.load, _PARAMS, BYTE),
        Reader("open_params", ".params", _open_params, _PARAMS, BYTE),
        Reader("symbol", "-symbol.json", _load_symbol, _SYMBOLS, JSON),
        Reader("states", ".states", _load_states, _STATES, BYTE),
        Reader("records", ".rec", _read_records, _RECORDS, BYTE),
        Reader("index", ".idx", _read_indexed, _INDEXES, f"{LINE}|{BYTE}", "indexed.rec"),
        Reader("images", ".rec", _read_images, _made(".rec", _pack), BYTE),
        Reader("boxes", ".rec", _read_boxes, _made(".rec", _pack_boxes), BYTE),
        Reader(
            "changed boxes",
            ".rec",
            _change_boxes,
            _made(".rec", _pack_boxes),
            f"{BYTE}|record \\d+",
        ),
        Reader(
            "image list",
            ".lst",
            _read_list,
            _texts("0\t1\t2.5\ta.jpg\n1\t0\t-1\tb.jpg\n"),
            f"{LINE}|{BYTE}",
            "boxed.rec",
        ),
        Reader("mnist", "-ubyte", lambda path: read_idx(str(path), 3), lambda: _IDX3, BYTE),
        Reader("csv", ".csv", _csv, _texts("1,2,3\n4,5,6\n", "1e3,-2,nan\n"), ""),
        Reader("libsvm", ".txt", _libsvm, _texts("1 0:2 3:4\n0 7:1e3\n"), LINE),
        Reader("npz", ".npz", artefacts.read_arrays, _NPZ, ""),
        Reader("safetensors", ".safetensors", artefacts.read_arrays, _SAFE, ""),
        Reader(
            "picture",
            ".png",
            lambda path: read_picture(str(path), Preparation()),
            lambda: [content for made in _PICTURES for content in made()],
            "",
        ),
        Reader("npy", ".npy", read_npy, _NPY, ""),
        Reader("summary", ".json", lambda path: _command("summary", str(path)), _SYMBOLS, ""),
        Reader(
            "summary of shapes",
            ".json",
            lambda path: _command("summary", str(path), "--shape", "data=1,3,8,8"),
            _made(".json", _save_net),
            "",
        ),
        Reader("describe symbol", ".json", _describe, _SYMBOLS, ANY),
        Reader("describe params", ".params", _describe, _PARAMS, ANY),
        Reader("describe states", ".states", _describe, _STATES, ANY),
        Reader("describe records", ".rec", _describe, _RECORDS, ANY),
        Reader("describe index", ".idx", _describe, _INDEXES, ANY),
        Reader("describe list", ".lst", _describe, _texts("0\t1\ta.jpg\n1\t0\tb.jpg\n"), ANY),
    ]
}
