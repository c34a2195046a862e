"""Descriptions of MXNet's files: each kind, as facts, as JSON and as text."""

import contextlib
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.artefacts import (
    ArraysFacts,
    IndexFacts,
    Labels,
    ListFacts,
    RecordsFacts,
    StatesFacts,
    SymbolFacts,
    describe,
    kind_of,
    read_arrays,
)
from modkit.errors import FileFormatError, MXNetError
from modkit.io import recordio
from tests.artefacts.files import ARRAYS, images, net, npy, part, written, zipped

REFERENCE = Path(__file__).parents[1] / "reference"
MADE = REFERENCE / "predictor"


# ── Kinds ───────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_known_by_its_beginning_or_else_by_its_name(tmp_path):
    kinds = {
        MADE / "convnet-symbol.json": "symbol",
        MADE / "convnet-0002.params": "params",
        MADE / "convnet-0002.states": "states",
        MADE / "convnet.npz": "npz",
        images(tmp_path): "records",
        tmp_path / "pictures.idx": "index",
        written(tmp_path, "x.safetensors"): "safetensors",
    }
    (tmp_path / "x.lst").write_text("0\t1\ta b.jpg\n")
    kinds[tmp_path / "x.lst"] = "list"
    for i, (path, kind) in enumerate(kinds.items()):
        assert kind_of(path) == kind
        nameless = tmp_path / f"nameless{i}"
        nameless.write_bytes(path.read_bytes())
        assert kind_of(nameless) == kind
    (tmp_path / "empty.params").write_bytes(b"")
    assert kind_of(tmp_path / "empty.params") == "params"


@pytest.mark.parametrize("data", [b"", b"nothing known", b"\x80\x09", b"a\tb", b"\xff" * 20])
def test_a_file_that_is_nothing(tmp_path, data):
    path = tmp_path / "strange"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"strange: neither its first bytes"):
        describe(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        describe(tmp_path / "absent.params")
    with pytest.raises(FileFormatError, match="it is a folder, expected a file"):
        describe(tmp_path)


# ── Symbols ─────────────────────────────────────────────────────────────────────────────────


def test_a_symbol(tmp_path):
    path = tmp_path / "net-symbol.json"
    net().save(path)
    facts = describe(path)
    assert isinstance(facts, SymbolFacts)
    assert (facts.version, facts.attributes_field, facts.nodes) == ("1.9.1", "attrs", 19)
    assert facts.inputs == ("data",)
    assert facts.labels == ("answer",)
    assert facts.parameters == (
        "conv_weight", "conv_bias", "bn_gamma", "bn_beta", "act_gamma", "scale_weight",
        "fc_weight", "fc_bias",
    )  # fmt: skip
    assert facts.auxiliary == ("bn_moving_mean", "bn_moving_var")
    assert facts.outputs == ("softmax_output",)
    assert facts.operators["FullyConnected"] == 1 and sum(facts.operators.values()) == 7
    assert facts.missing == {}
    assert facts.size_bytes == path.stat().st_size
    assert json.loads(facts.to_json())["parameters"][0] == "conv_weight"
    assert "  format      MXNet 1.9.1\n" in facts.text()


def test_recurrent_states_are_inputs():
    facts = describe(REFERENCE / "trajectories" / "lstm-symbol.json")
    assert facts.inputs == ("data", "begin_h", "begin_c")
    assert next(iter(facts.operators)) == "Activation" and facts.operators["Activation"] == 20


def test_states_of_an_operator_are_inputs(tmp_path):
    net = mx.sym.RNN(*map(mx.sym.Variable, ("data", "p", "h", "c")), state_size=4, num_layers=1,
                     mode="lstm", name="rnn")  # fmt: skip
    net.save(tmp_path / "rnn-symbol.json")
    facts = describe(tmp_path / "rnn-symbol.json")
    assert (facts.inputs, facts.parameters) == (("data", "h", "c"), ("p",))


def altered(tmp_path, change):
    document = json.loads(net().tojson())
    change(document)
    path = tmp_path / "altered-symbol.json"
    path.write_text(json.dumps(document))
    return path


def test_operators_that_modkit_lacks(tmp_path):
    path = altered(tmp_path, lambda d: d["nodes"][-1].update(op="Unheard"))
    facts = describe(path)
    assert facts.missing == {"Unheard": 1}
    assert "not in modkit  Unheard" in facts.text()
    assert "Unheard            1  no" in facts.text()


def test_control_flow():
    facts = describe(REFERENCE / "artefacts" / "foreach-symbol.json")
    assert (facts.subgraphs, facts.missing) == (2, {})
    assert (facts.operators["FullyConnected"], facts.operators["BatchNorm"]) == (1, 1)
    assert facts.inputs == ("data", "state", "scale")
    assert "bn_moving_var" in facts.auxiliary
    assert ["subgraphs", "2"] in [line.split() for line in facts.text().splitlines()]


@pytest.mark.parametrize(("field", "version"), [("param", None), ("attr", None), ("attrs", 10400)])
def test_dialects(tmp_path, field, version):
    def older(document):
        document["attrs"] = {"mxnet_version": ["int", version]} if version else None
        if not version:
            del document["attrs"]
        for node in document["nodes"]:
            if "attrs" in node:
                node[field] = node.pop("attrs")

    facts = describe(altered(tmp_path, older))
    assert facts.attributes_field == field
    assert facts.version == ("1.4.0" if version else None)
    assert f"MXNet {'1.4.0' if version else '0.8 or older'}" in facts.text()


BROKEN_SYMBOLS = [
    ("{", "not JSON"),
    ("[]", "list of 'nodes'"),
    ('{"nodes": 3}', "list of 'nodes'"),
    ('{"nodes": [3]}', "node 0 is 3"),
    ('{"nodes": [{"name": "a", "inputs": []}]}', "node 0"),
    ('{"nodes": [{"op": "null", "name": "a", "inputs": [[0, 0]]}], "heads": [[0, 0]]}', "own"),
    ("\udcff", "UTF-8"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN_SYMBOLS)
def test_broken_symbols(tmp_path, text, message):
    path = tmp_path / "broken-symbol.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FileFormatError, match=rf"broken-symbol.json.*{message}"):
        describe(path)


# ── Arrays ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ["params", "npz", "safetensors"])
def test_arrays(tmp_path, ending):
    facts = describe(written(tmp_path, f"x.{ending}"))
    assert isinstance(facts, ArraysFacts)
    assert (facts.kind, facts.elements, facts.array_bytes) == (ending, 15, 24 + 16 + 24 + 2 + 4)
    found = {a.name: (a.shape, a.dtype, a.elements, a.size_bytes) for a in facts.arrays}
    assert found == {n: (a.shape, a.dtype.name, a.size, a.nbytes) for n, a in ARRAYS.items()}
    assert all(a.statistics is None for a in facts.arrays)


@pytest.mark.parametrize("ending", ["params", "npz", "safetensors"])
def test_statistics(tmp_path, ending):
    facts = describe(written(tmp_path, f"x.{ending}"), stats=True)
    found = {a.name: a.statistics for a in facts.arrays}
    weight, mean = found["arg:weight"], found["aux:mean"]
    assert (weight.minimum, weight.maximum, weight.mean, weight.not_finite) == (0, 5, 2.5, 0)
    assert (mean.minimum, mean.maximum, mean.mean, mean.not_finite) == (1.5, 1.5, 1.5, 2)
    assert found["arg:ids"].minimum == -(2**40)
    assert found["aux:flags"].mean == 0.5
    assert "not finite" in facts.text()


def test_statistics_of_nothing_and_of_large_numbers(tmp_path):
    arrays = {"none": np.zeros((0, 3), np.float32), "nan": np.full(2, np.nan, np.float32),
              "large": np.full(4, 1.7e308)}  # fmt: skip
    facts = describe(written(tmp_path, "x.npz", arrays), stats=True)
    none, nan, large = (a.statistics for a in facts.arrays)
    assert (none.minimum, none.mean, none.not_finite) == (None, None, 0)
    assert (nan.maximum, nan.not_finite) == (None, 2)
    assert large.mean == pytest.approx(1.7e308)
    assert json.loads(facts.to_json())["arrays"][1]["statistics"]["mean"] is None


def test_arrays_of_mxnet():
    facts = describe(MADE / "convnet-0002.params", stats=True)
    assert [a.name for a in facts.arrays][-2:] == ["aux:bn_moving_mean", "aux:bn_moving_var"]
    assert "arg: arguments         6 arrays, 269 elements" in facts.text()
    assert "aux: auxiliary states  2 arrays, 8 elements, 32 B" in facts.text()
    unnamed = describe(REFERENCE / "files" / "list.params")
    assert [a.name for a in unnamed.arrays] == [f"arr_{i}" for i in range(8)]


def test_sparse_arrays_are_described():
    facts = describe(MADE / "sparse.params", stats=True)
    found = [(a.name, a.storage, a.shape, a.dtype) for a in facts.arrays]
    assert found == [
        ("rows", "row_sparse", (4, 3), "float32"),
        ("csr", "csr", (4, 3), "float32"),
        ("dense", "default", (4, 3), "float32"),
    ]
    # 2 rows of 3 and 2 places; 6 values, 5 ends of rows and 6 columns; all 12.
    assert [a.size_bytes for a in facts.arrays] == [24 + 16, 24 + 40 + 48, 48]
    assert [a.statistics is None for a in facts.arrays] == [True, True, False]
    dense = read_arrays(MADE / "sparse.params")
    for name in ("rows", "csr"):
        np.testing.assert_array_equal(dense[name], dense["dense"])


@pytest.mark.parametrize("ending", ["params", "npz", "safetensors"])
def test_a_file_that_is_cut_anywhere_is_refused(tmp_path, ending):
    data = written(tmp_path, f"x.{ending}").read_bytes()
    path = tmp_path / f"cut.{ending}"
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(FileFormatError, match=f"cut.{ending}"):
            describe(path, stats=True)


BROKEN_NPZ = [
    ({"a.npy": b"text"}, "'a.npy' is not an array"),
    ({"a.npy": npy(np.ones(3), 140)}, r"float64 of shape \(3,\) takes 24 bytes, but it has 12"),
    ({"a.npy": npy(np.array([{}], object))}, "of type object, expected numbers"),
    ({"a.npy": npy(np.array(["x"]))}, "expected numbers"),
]


@pytest.mark.parametrize(("entries", "message"), BROKEN_NPZ)
def test_broken_npz(tmp_path, entries, message):
    with pytest.raises(FileFormatError, match=message):
        describe(zipped(tmp_path, "x.npz", entries))


def test_an_npz_that_promises_more_than_it_can_hold(tmp_path):
    path = zipped(tmp_path, "x.npz", {"a.npy": npy(np.zeros(1000))}, zipfile.ZIP_DEFLATED)
    data = path.read_bytes()
    huge = struct.pack("<I", 2**31)
    path.write_bytes(data.replace(struct.pack("<I", 8128), huge))
    with pytest.raises(FileFormatError, match="unpack to 2147483648"):
        describe(path)


# ── Optimizer states ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "optimizer", "layout"),
    [
        ("adam-float32", "Adam", "(array, array)"),
        ("sgd-float32", "SGD", "array"),
        ("sgd-float16", "SGD", "(array, array)"),
        ("rmsprop-float32", "RMSProp", "(array, array, array)"),
    ],
)
def test_states_with_their_optimizer(name, optimizer, layout):
    facts = describe(REFERENCE / "optimizer_states" / f"{name}.states")
    assert isinstance(facts, StatesFacts)
    assert (facts.optimizer, facts.scheduler) == (optimizer, None)
    assert facts.settings["num_update"] == 3 and "lr" in facts.settings
    assert [e.key for e in facts.entries] == ["0", "1", "2"]
    assert {e.layout for e in facts.entries} == {layout}
    assert optimizer.lower() in facts.fits
    assert facts.state_bytes == sum(a.size_bytes for e in facts.entries for a in e.arrays)
    json.loads(facts.to_json())


def test_states_without_their_optimizer():
    facts = describe(MADE / "convnet-0002.states", stats=True)
    assert (facts.optimizer, facts.settings) == (None, {})
    assert "sgd" in facts.fits and "adam" not in facts.fits
    assert facts.entries[0].arrays[0].shape == (4, 2, 3, 3)
    assert facts.entries[0].arrays[0].statistics.maximum > 0
    assert "optimizer       not in the file" in facts.text()


def test_states_with_a_scheduler_and_without_arrays(tmp_path):
    scheduler = mx.lr_scheduler.FactorScheduler(step=3)
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(lr_scheduler=scheduler))
    weight = mx.nd.ones((2,))
    updater(0, weight, weight)
    path = tmp_path / "x.states"
    path.write_bytes(updater.get_states(dump_optimizer=True))
    facts = describe(path)
    assert facts.scheduler == "FactorScheduler"
    assert [(e.layout, e.arrays) for e in facts.entries] == [("none", ())]
    assert "test" not in facts.fits and "sgd" in facts.fits


class Evil:
    def __reduce__(self):
        return print, ("run",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x04garbage", "not a pickle"),
        (b"", "not a pickle"),
        (pickle.dumps(Evil()), "print is not allowed"),
        (pickle.dumps([1]), "got list, expected a state for each parameter"),
    ],
)
def test_broken_states(tmp_path, data, message, capsys):
    path = tmp_path / "broken.states"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=rf"broken.states: .*{message}"):
        describe(path)
    assert capsys.readouterr().out == ""


# ── Records ─────────────────────────────────────────────────────────────────────────────────


def test_records_of_pictures(tmp_path):
    facts = describe(images(tmp_path))
    assert isinstance(facts, RecordsFacts)
    assert facts.records == 4
    assert (facts.smallest_bytes, facts.largest_bytes) == (24 + 4, 24 + 3 + 30)
    assert facts.record_bytes == 4 * 24 + 4 + 3 + 4 + 3 + 60
    assert facts.labels == Labels(width=1, minimum=0.0, maximum=3.0, distinct=3)
    assert facts.contents == {"PNG": 2, "JPEG": 2}
    assert facts.index == str(tmp_path / "pictures.idx")
    (tmp_path / "pictures.idx").unlink()
    assert describe(facts.path).index is None


def test_records_with_several_labels(tmp_path):
    facts = describe(images(tmp_path, labels=([1, 2], [3, 4, 9])))
    assert facts.labels == Labels(width=None, minimum=1.0, maximum=9.0, distinct=2)
    assert "several widths, 1 to 9, 2 distinct" in facts.text()


def test_records_of_mxnet():
    facts = describe(REFERENCE / "files" / "plain.rec")
    file = recordio.MXRecordIO(REFERENCE / "files" / "plain.rec", "r")
    sizes = []
    while (record := file.read()) is not None:
        sizes.append(len(record))
    # Some of them hold the magic number, and so have several parts.
    assert (facts.records, facts.record_bytes) == (len(sizes), sum(sizes))
    assert (facts.smallest_bytes, facts.largest_bytes) == (min(sizes), max(sizes))
    assert facts.labels is None


def test_no_records(tmp_path):
    (tmp_path / "x.rec").write_bytes(b"")
    facts = describe(tmp_path / "x.rec")
    assert (facts.records, facts.smallest_bytes, facts.labels) == (0, None, None)


BROKEN_RECORDS = [
    (part(0, b"abc")[:5], "at byte 0: the file ends within a record's header"),
    (part(0, b"abc")[:-1], "at byte 0: a record takes 4 bytes, but 3 are left"),
    (part(0, b"abc") + part(0, b"x", magic=7), "at byte 12: no record begins here: 0x7"),
    (part(2, b"abc"), "begins with a later part"),
    (part(1, b"abc"), "at byte 0: a record has no last part"),
    (part(1, b"abc") + part(0, b"x"), "at byte 12: a record has no last part"),
]


@pytest.mark.parametrize(("data", "message"), BROKEN_RECORDS)
def test_broken_records(tmp_path, data, message):
    path = tmp_path / "broken.rec"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=rf"broken.rec: .*{message}"):
        describe(path)


# ── Indices and lists ───────────────────────────────────────────────────────────────────────


def test_an_index(tmp_path):
    images(tmp_path)
    facts = describe(tmp_path / "pictures.idx")
    assert isinstance(facts, IndexFacts)
    assert (facts.entries, facts.first_key, facts.last_key, facts.repeated) == (4, "0", "3", 0)
    assert (facts.records, facts.wrong) == (str(tmp_path / "pictures.rec"), 0)
    assert "fits the records  yes" in facts.text()


def test_an_index_that_does_not_fit(tmp_path):
    images(tmp_path)
    (tmp_path / "pictures.idx").write_text("0\t0\n0\t4\n7\t10000\n")
    facts = describe(tmp_path / "pictures.idx")
    assert (facts.wrong, facts.repeated) == (2, 1)
    assert "2 entries point to no record of it" in facts.text()
    (tmp_path / "pictures.rec").unlink()
    alone = describe(tmp_path / "pictures.idx")
    assert (alone.records, alone.wrong) == (None, None)


def test_a_list(tmp_path):
    path = tmp_path / "x.lst"
    path.write_text("5\t1.0\tcats/a b.jpg\n6\t2.0\tdogs/b.jpg\n\n6\t0\tx.jpg\n")
    facts = describe(path)
    assert isinstance(facts, ListFacts)
    assert (facts.entries, facts.first, facts.repeated) == (3, "cats/a b.jpg", 1)
    assert facts.labels == Labels(width=1, minimum=0.0, maximum=2.0, distinct=3)


def test_labels_that_json_cannot_hold(tmp_path):
    (tmp_path / "x.lst").write_text("0\tinf\ta.jpg\n")
    facts = describe(tmp_path / "x.lst")
    assert facts.labels.maximum == np.inf
    assert json.loads(facts.to_json())["labels"]["maximum"] is None


BROKEN_TEXTS = [
    ("x.idx", "0\t0\n1 5\n", "line 2: got '1 5', expected a key, a tab and a number"),
    ("x.idx", "0\t-4\n", "line 1: got"),
    ("x.lst", "0\t1\ta.jpg\n1\tb\tb.jpg\n", "line 2: got"),
    ("x.lst", "0\ta.jpg\n", "line 1: got"),
    ("x.lst", "a\t1\ta.jpg\n", "line 1: .* expected a number, labels and a path"),
    ("x.lst", "0\t1\ta\n\udcff\t1", "after line .: not UTF-8"),
]


@pytest.mark.parametrize(("name", "text", "message"), BROKEN_TEXTS)
def test_broken_texts(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FileFormatError, match=rf"{name}: {message}"):
        describe(path)


def test_damage_of_any_byte_is_refused_or_described(tmp_path):
    """No damage makes anything but an error of ours."""
    stream = np.random.RandomState(0)
    paths = [
        MADE / "convnet-0002.params", MADE / "convnet-0002.states", MADE / "convnet-symbol.json",
        images(tmp_path), written(tmp_path, "x.npz"), written(tmp_path, "x.safetensors"),
    ]  # fmt: skip
    for path in paths:
        data = path.read_bytes()
        damaged = tmp_path / f"damaged{path.suffix}"
        for _ in range(60):
            changed = bytearray(data)
            for at in stream.randint(0, len(data), 3):
                changed[at] = stream.randint(256)
            damaged.write_bytes(changed)
            with contextlib.suppress(MXNetError):
                describe(damaged, stats=True).to_json()
