"""Files of MXNet 1.9.1 open, run and are written back without MXNet.

`tools/record_artefacts.py` made the files in `reference/artefacts/` and says what they hold. Tests
with the marker `reference` run MXNet itself on what modkit wrote.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotSupportedError
from modkit.optimizer.states import dumps, loads
from tests import continuing

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tests" / "reference" / "artefacts"
MANIFEST = json.loads((FOLDER / "artefacts.json").read_text())
NETS = MANIFEST["nets"]
RUNS = [name for name in NETS if name != "unknown_operator"]
RTOL, ATOL = 1e-4, 1e-5
STATES = sorted(continuing.FOLDER.glob("*.states"))


def _npz(name):
    with np.load(FOLDER / f"{name}.npz") as stored:
        return dict(stored)


def _inputs(name):
    return {k.split(":")[1]: v for k, v in _npz(name).items() if k.startswith("input:")}


def _assert_outputs(name, got):
    want = [v for k, v in sorted(_npz(name).items()) if k.startswith("output:")]
    assert len(got) == len(want)
    for left, right in zip(got, want, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=RTOL, atol=ATOL)


def _module(name, prefix=None):
    """A module from a checkpoint, bound for the recorded inputs."""
    row, inputs = NETS[name], _inputs(name)
    labels = [n for n in row["labels"] if n in inputs]
    module = mx.mod.Module.load(
        str(prefix or FOLDER / name), row["epoch"], label_names=labels or None
    )
    module.bind(
        [("data", inputs["data"].shape)],
        [(n, inputs[n].shape) for n in labels] or None,
        for_training=False,
    )
    return module


def _run(module, name):
    inputs = _inputs(name)
    labels = [mx.nd.array(inputs[n]) for n in module.label_names]
    module.forward(mx.io.DataBatch([mx.nd.array(inputs["data"])], labels))
    return [out.asnumpy() for out in module.get_outputs()]


# ── Checkpoints ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", [n for n in RUNS if n != "feedforward"])
def test_a_checkpoint_computes_what_it_did(name):
    _assert_outputs(name, _run(_module(name), name))


@pytest.mark.parametrize("name", [n for n in RUNS if n != "feedforward"])
def test_a_checkpoint_is_written_back(name, tmp_path):
    prefix = str(tmp_path / name)
    _module(name).save_checkpoint(prefix, NETS[name]["epoch"])
    params = f"{name}-{NETS[name]['epoch']:04d}.params"
    wrote, had = mx.nd.load(str(tmp_path / params)), mx.nd.load(str(FOLDER / params))
    assert sorted(wrote) == sorted(had)
    for key, value in had.items():
        np.testing.assert_array_equal(wrote[key].asnumpy(), value.asnumpy())
    _assert_outputs(name, _run(_module(name, prefix), name))


@pytest.mark.parametrize(
    "path", [*sorted(p.name for p in FOLDER.glob("*.params")), "../files/list.params"]
)
def test_arrays_are_written_back_to_the_byte(path, tmp_path):
    mx.nd.save(str(tmp_path / "x.params"), mx.nd.load(str(FOLDER / path)))
    assert (tmp_path / "x.params").read_bytes() == (FOLDER / path).read_bytes()


@pytest.mark.parametrize("name", list(NETS))
def test_a_symbol_is_written_back(name):
    """All but a table that MXNet writes and never reads: it counts workspaces of operators too."""
    text = (FOLDER / f"{name}-symbol.json").read_text()
    wrote, had = (json.loads(t) for t in (mx.sym.load_json(text).tojson(), text))
    assert len(wrote.pop("node_row_ptr")) == len(had.pop("node_row_ptr"))
    assert wrote == had


def test_an_operator_that_modkit_lacks_is_named_when_the_net_is_run():
    _, args, _ = mx.model.load_checkpoint(str(FOLDER / "unknown_operator"), 3)
    text = (FOLDER / "unknown_operator-symbol.json").read_text()
    symbol = mx.sym.load_json(text.replace("_contrib_quantize_v2", "_contrib_quantized_rnn"))
    assert symbol.list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"]
    module = mx.mod.Module(symbol, label_names=None)
    says = "node 'narrow'.*'_contrib_quantized_rnn'|'_contrib_quantized_rnn'.*node 'narrow'"
    with pytest.raises(NotSupportedError, match=says):
        module.bind([("data", (4, 8))], for_training=False)
    start = symbol.get_internals()["fc1_output"]
    data = mx.nd.array(_inputs("unknown_operator")["data"])
    known = {n: args[n] for n in start.list_arguments() if n != "data"}
    (got,) = start.bind(mx.cpu(), {"data": data, **known}).forward()
    want = data.asnumpy() @ known["fc1_weight"].asnumpy().T + known["fc1_bias"].asnumpy()
    np.testing.assert_allclose(got.asnumpy(), want, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("name", list(MANIFEST["control_flow"]))
def test_control_flow_is_listed_and_written_back_to_the_byte(name):
    text = (FOLDER / f"{name}-symbol.json").read_text()
    symbol, want = mx.sym.load_json(text), MANIFEST["control_flow"][name]
    assert symbol.tojson() == text
    assert mx.sym.Group(list(symbol)).tojson() == text  # a copy has its loops too
    # The reference lists auxiliary states of a body as arguments, and cannot train them.
    assert want["auxiliary"] == []
    auxiliary = [n for n in want["arguments"] if "_moving_" in n]
    assert symbol.list_auxiliary_states() == auxiliary
    assert symbol.list_arguments() == [n for n in want["arguments"] if n not in auxiliary]
    assert symbol.list_outputs() == want["outputs"]
    assert symbol.get_internals().list_outputs() == want["internals"]


def test_feedforward():
    with pytest.warns(DeprecationWarning, match="FeedForward"):
        model = mx.model.FeedForward.load(str(FOLDER / "feedforward"), 3, numpy_batch_size=6)
    _assert_outputs("feedforward", [model.predict(_inputs("feedforward")["data"])])
    assert model.begin_epoch == 3


# ── Gluon ───────────────────────────────────────────────────────────────────────────────────


def test_what_gluon_exports_has_prefixes():
    assert {n.split(":")[0] for n in mx.nd.load(str(FOLDER / "gluon-0003.params"))} == {
        "arg",
        "aux",
    }
    assert mx.sym.load(str(FOLDER / "gluon-symbol.json")).list_auxiliary_states() == [
        "net_batchnorm0_running_mean",
        "net_batchnorm0_running_var",
    ]


def test_a_gluon_dictionary_is_a_modules_parameters():
    """A file of ``collect_params().save`` has the names of the exported net, without prefixes."""
    values = mx.nd.load(str(FOLDER / "gluon-dict.params"))
    module = _module("gluon")
    module.init_params(mx.init.Zero(), force_init=True)
    assert not np.allclose(_run(module, "gluon")[0], _npz("gluon")["output:0"])
    auxs = set(module.symbol.list_auxiliary_states())
    module.set_params(
        {n: v for n, v in values.items() if n not in auxs},
        {n: v for n, v in values.items() if n in auxs},
    )
    _assert_outputs("gluon", _run(module, "gluon"))


def test_parameters_of_a_gluon_block_keep_the_names_of_its_structure():
    """A file of ``save_parameters``, in the order of the dictionary."""
    block = mx.nd.load(str(FOLDER / "gluon-block.params"))
    assert list(block)[:4] == ["0.weight", "0.bias", "1.gamma", "1.beta"]
    named = mx.nd.load(str(FOLDER / "gluon-dict.params"))
    for value, want in zip(block.values(), named.values(), strict=True):
        np.testing.assert_array_equal(value.asnumpy(), want.asnumpy())


# ── Sparse arrays, records, states ──────────────────────────────────────────────────────────


def test_sparse_arrays():
    loaded = mx.nd.load(str(FOLDER / "sparse.params"))
    assert {name: value.stype for name, value in loaded.items()} == {
        "csr": "csr",
        "rows": "row_sparse",
        "cube": "row_sparse",
        "half": "csr",
        "dense": "default",
        "no elements": "csr",
        "no rows": "row_sparse",
    }
    for name, want in _npz("sparse").items():
        assert loaded[name].dtype == want.dtype
        np.testing.assert_array_equal(loaded[name].asnumpy(), want)


def _write_records(folder):
    """Copies of the record files, read and written record by record."""
    old = mx.recordio.MXIndexedRecordIO(
        str(FOLDER / "pictures.idx"), str(FOLDER / "pictures.rec"), "r"
    )
    new = mx.recordio.MXIndexedRecordIO(
        str(folder / "pictures.idx"), str(folder / "pictures.rec"), "w"
    )
    for key in old.keys:
        header, content = mx.recordio.unpack(old.read_idx(key))
        new.write_idx(key, mx.recordio.pack(header, content))
    plain = mx.recordio.MXRecordIO(str(folder / "plain.rec"), "w")
    for content in MANIFEST["plain_records"]:
        plain.write(bytes.fromhex(content))
    for each in (old, new, plain):
        each.close()


def test_records_are_read():
    records = mx.recordio.MXRecordIO(str(FOLDER / "plain.rec"), "r")
    assert [r.hex() for r in iter(records.read, None)] == MANIFEST["plain_records"]
    pictures = mx.recordio.MXIndexedRecordIO(
        str(FOLDER / "pictures.idx"), str(FOLDER / "pictures.rec"), "r"
    )
    assert pictures.keys == [0, 10, 20, 30, 40, 50]
    for i in (5, 0, 3):
        header, _ = mx.recordio.unpack(pictures.read_idx(10 * i))
        np.testing.assert_array_equal(header.label, _npz("pictures")["labels"][i])


def test_records_are_written_back_to_the_byte(tmp_path):
    _write_records(tmp_path)
    for name in ("pictures.rec", "pictures.idx", "plain.rec"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_the_list_and_the_index_fit_the_records():
    listed = mx.artefacts.describe(FOLDER / "pictures.lst")
    assert (listed.entries, listed.labels.width, listed.first) == (6, 2, "pictures/0.png")
    index = mx.artefacts.describe(FOLDER / "pictures.idx")
    assert (index.entries, index.wrong) == (6, 0)


def test_pictures_are_batches():
    pytest.importorskip("PIL")
    want = _npz("pictures")
    batches = list(
        mx.io.ImageRecordIter(
            path_imgrec=str(FOLDER / "pictures.rec"), path_imgidx=str(FOLDER / "pictures.idx"),
            data_shape=(3, 7, 7), batch_size=4, label_width=2, preprocess_threads=1,
            mean_r=10, mean_g=20, mean_b=30, scale=0.5,
        )
    )  # fmt: skip
    assert [b.pad for b in batches] == want["pad"].tolist()
    for batch, data, label in zip(batches, want["data"], want["label"], strict=True):
        np.testing.assert_allclose(batch.data[0].asnumpy(), data, rtol=1e-6)
        np.testing.assert_array_equal(batch.label[0].asnumpy(), label)


def _plain(value):
    """States with NumPy arrays, and optimizers as their attributes."""
    if isinstance(value, mx.nd.NDArray):
        return [str(value.dtype), value.asnumpy().tolist()]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, mx.optimizer.Optimizer | mx.lr_scheduler.LRScheduler):
        state = value.__getstate__() if hasattr(value, "param_dict") else vars(value)
        return type(value).__name__, _plain(dict(state))
    return value


@pytest.mark.parametrize("path", STATES, ids=[p.stem for p in STATES])
def test_states_survive_reading_and_writing(path):
    states = loads(path.read_bytes())
    assert _plain(loads(dumps(states))) == _plain(states)


# ── What MXNet makes of what we wrote ───────────────────────────────────────────────────────

AGAIN = ["sgd_momentum", "adam", "sgd_float16", "kvstore", "kvstore_optimizer", "updater_optimizer"]
FIRST = 10


@pytest.fixture(scope="module")
def reference():
    """The python that has MXNet."""
    python = os.environ.get("MODKIT_REFERENCE")
    if not python or not shutil.which(python):
        pytest.skip("needs MXNet 1.9.1: set MODKIT_REFERENCE to a python that has it")
    return python


def _write_continuing(folder):
    """Checkpoints after ten steps of ours from MXNet's."""
    for name in AGAIN:
        row, epoch = continuing.ROWS[name], continuing.BEFORE + FIRST
        module = continuing.loaded(row)
        continuing.train(module, row, 0, FIRST)
        module.save_checkpoint(str(folder / name), epoch, save_optimizer_states=True)
        if row["keeps"] == "optimizer":
            states = continuing.updater_of(module).get_states(dump_optimizer=True)
            (folder / f"{name}-{epoch:04d}.states").write_bytes(states)


@pytest.fixture(scope="module")
def read_by_mxnet(reference, tmp_path_factory):
    """Results that MXNet computed from all files that modkit wrote."""
    folder = tmp_path_factory.mktemp("written")
    for name in RUNS:
        symbol, args, auxs = mx.model.load_checkpoint(str(FOLDER / name), 3)
        mx.model.save_checkpoint(str(folder / name), 3, symbol, args, auxs)
        shutil.copy(FOLDER / f"{name}.npz", folder)
    mx.nd.save(str(folder / "sparse.params"), mx.nd.load(str(FOLDER / "sparse.params")))
    _write_records(folder)
    _write_continuing(folder)
    written = {
        "nets": {n: NETS[n] for n in RUNS},
        "continuing": AGAIN,
        "epoch": continuing.BEFORE + FIRST,
        "steps": continuing.SNAPSHOTS[-1] - FIRST,
    }
    (folder / "written.json").write_text(json.dumps(written))
    # The fused recurrent operator needs oneDNN; the rest does without its shortcuts.
    environment = {
        **os.environ, "MXNET_SUBGRAPH_BACKEND": "NONE", "MXNET_ENGINE_TYPE": "NaiveEngine",
        "OMP_NUM_THREADS": "1", "MXNET_STORAGE_FALLBACK_LOG_VERBOSE": "0",
    }  # fmt: skip
    done = subprocess.run(
        [reference, str(ROOT / "tools" / "read_artefacts.py"), str(folder)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(folder / "read.npz") as stored:
        return dict(stored)


def _under(found, prefix):
    return {k[len(prefix) :]: v for k, v in found.items() if k.startswith(prefix)}


@pytest.mark.reference
@pytest.mark.parametrize("name", RUNS)
def test_mxnet_computes_the_same_from_our_checkpoint(name, read_by_mxnet):
    found = _under(read_by_mxnet, f"{name}/")
    _assert_outputs(name, [found[key] for key in sorted(found)])


@pytest.mark.reference
@pytest.mark.parametrize("name", AGAIN)
def test_mxnet_trains_on_from_our_checkpoint(name, read_by_mxnet):
    """Ten steps of ours and forty of MXNet's end where fifty of MXNet's did."""
    got = _under(read_by_mxnet, f"continuing/{name}/")
    want = continuing.npz(f"{name}-reached")
    row, last = continuing.ROWS[name], continuing.SNAPSHOTS[-1:]
    continuing.assert_same_path(
        {k: v[None] for k, v in got.items()}, {k: v[-1:] for k, v in want.items()}, row, last
    )


@pytest.mark.reference
def test_mxnet_reads_our_sparse_arrays(read_by_mxnet):
    got = _under(read_by_mxnet, "sparse/")
    loaded = mx.nd.load(str(FOLDER / "sparse.params"))
    assert set(got) == {f"{name}/{value.stype}" for name, value in loaded.items()}
    for name, value in loaded.items():
        np.testing.assert_array_equal(got[f"{name}/{value.stype}"], value.asnumpy())


@pytest.mark.reference
def test_mxnet_reads_our_records(read_by_mxnet):
    contents = [bytes.fromhex(c) for c in MANIFEST["plain_records"]]
    assert [read_by_mxnet[f"plain/{i}"].tobytes() for i in range(len(contents))] == contents
    for i, label in enumerate(_npz("pictures")["labels"]):
        np.testing.assert_array_equal(read_by_mxnet[f"record/{10 * i}/label"], label)
