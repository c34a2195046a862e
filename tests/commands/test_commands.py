"""``modkit inspect``, ``summary``, ``plot``, ``convert``, ``export``, ``predict``, as called."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.artefacts import read_arrays
from modkit.cli import main
from modkit.commands import arguments, preprocessing, screen
from modkit.commands.screen import guarded
from tests.artefacts.files import images
from tests.symbol import dialects

MADE = Path(__file__).parents[1] / "reference" / "predictor"
SYMBOL, PARAMS = str(MADE / "convnet-symbol.json"), str(MADE / "convnet-0002.params")
PREFIX = str(MADE / "convnet")


@pytest.fixture
def run(capsys):
    """Call the command line: exit status, output and the lines of complaint."""

    def call(*words):
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:  # argparse
            status = end.code
        out, err = capsys.readouterr()
        return status, out, err.splitlines()

    return call


def fails(result, message):
    """Whether a command ended as for a mistake, with one line that has ``message`` in it."""
    status, out, complaint = result
    assert (status, out, len(complaint)) == (2, "", 1), result
    assert message in complaint[0] and complaint[0].startswith("modkit "), complaint


# ── inspect ─────────────────────────────────────────────────────────────────────────────────


def test_inspect(run):
    status, out, complaint = run("inspect", SYMBOL, PARAMS)
    assert (status, complaint) == (0, [])
    assert "  format      MXNet 1.9.1" in out.splitlines()
    assert "  arg:fc_weight       5x36     float32       180  720 B" in out.splitlines()
    assert "not finite" not in out
    assert "not finite" in run("inspect", PARAMS, "--stats")[1]


def test_inspect_as_json(run):
    status, out, _ = run("inspect", "--json", SYMBOL, PARAMS, MADE / "convnet-0002.states")
    assert status == 0
    assert [each["kind"] for each in json.loads(out)] == ["symbol", "params", "states"]


def test_inspect_an_onnx_model(run, tmp_path):
    onnx = pytest.importorskip("onnx")
    text = """
    <ir_version: 8, producer_name: "maker", opset_import: ["" : 13]>
    net (float[N, 3] x, float[3] w) => (float[N, 3] y) {
        a = Relu(x) b = Mul(a, w) c = Det(b) y = Relu(b)
    }
    """
    model, path = onnx.parser.parse_model(text), str(tmp_path / "net.onnx")
    weight = onnx.numpy_helper.from_array(np.ones(3, "float32"), "w")
    model.graph.initializer.append(weight)
    onnx.save(model, path)
    status, out, _ = run("inspect", path)
    assert status == 0
    assert "  inputs      x: float32 (N, 3)" in out.splitlines()
    assert "  Det          1  no" in out.splitlines()
    facts = json.loads(run("inspect", "--json", path)[1])[0]
    assert (facts["opset"], facts["producer"], facts["weights"]) == (13, "maker", 1)
    assert facts["outputs"] == ["y: float32 (N, 3)"]
    assert (facts["operators"], facts["missing"]) == ({"Relu": 2, "Det": 1, "Mul": 1}, {"Det": 1})
    (tmp_path / "cut.onnx").write_bytes((tmp_path / "net.onnx").read_bytes()[:-9])
    fails(run("inspect", tmp_path / "cut.onnx"), "cut.onnx' is no ONNX model")


def test_help_imports_no_jax():
    words = [["--help"], ["--version"], ["predict", "--help"], ["inspect"], ["launch", "--help"]]
    program = f"""
import sys
from modkit.cli import main
for words in {words}:
    try:
        main(words)
    except SystemExit:
        pass
raise SystemExit("jax" in sys.modules or "numpy" in sys.modules)
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=MADE.parents[2],
        check=False,
    )  # fmt: skip
    assert found.returncode == 0
    assert "convert arrays between .params, .npz and .safetensors" in found.stdout
    assert f"JAX {jax.__version__})" in found.stdout


def test_inspect_goes_on_after_a_bad_file(run, tmp_path):
    (tmp_path / "bad.rec").write_bytes(b"12345678")
    status, out, complaint = run("inspect", tmp_path / "bad.rec", "absent.params", images(tmp_path))
    assert status == 2
    assert "records   4" in out
    assert len(complaint) == 2
    assert "bad.rec: at byte 0: no record begins here" in complaint[0]
    assert complaint[1].startswith("modkit inspect: absent.params: there is no such file")
    fails(run("inspect", "absent.params"), "there is no such file")
    fails(run("inspect", tmp_path), "for files: modkit inspect")
    fails(run("inspect", os.devnull), "it is a device or a pipe, expected a file")
    status, out, _ = run("inspect", "--json", "absent.params")
    assert (status, json.loads(out)) == (2, [])


def test_without_a_command_the_help_lists_them(run):
    status, out, complaint = run()
    assert (status, out) == (2, "") and "run a program that imports mxnet" in " ".join(complaint)


def test_on_a_terminal_tables_are_drawn(monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    table = mx.artefacts.Table("a [bold]title", (("[red]x", "1"),), ("name", "size"))
    screen.show([table])
    out = capsys.readouterr().out
    assert "─" in out and "[bold]" in out and "[red]x" in out
    monkeypatch.setitem(sys.modules, "rich.console", None)
    screen.show([table])
    assert capsys.readouterr().out == "a [bold]title\n  name    size\n  [red]x  1\n"


def test_on_a_narrow_terminal_nothing_is_lost(monkeypatch, capsys, run):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    row = ("a_long_name_of_a_weight", "1234567890")
    screen.show([mx.artefacts.Table("title", (row,), ("name", "size"), frozenset({1}))])
    said = capsys.readouterr().out
    assert "…" not in said
    cells = [line.split() for line in said.splitlines() if line.startswith("  ")]
    assert "".join(cell[0] for cell in cells[1:] if cell).startswith(row[0])
    monkeypatch.setenv("COLUMNS", "72")
    assert {len(line) for line in run("summary", SYMBOL)[1].splitlines() if line[0] == "_"} == {72}


def test_a_reader_that_has_seen_enough():
    program = f"from modkit.cli import main; raise SystemExit(main(['inspect', '{PARAMS}']))"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=MADE.parents[2],
    ) as process:  # fmt: skip
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


# ── summary and plot ────────────────────────────────────────────────────────────────────────


def test_summary(run):
    status, out, complaint = run("summary", SYMBOL, "--shape", "data=1,2,8,8", "--width", 80)
    assert (status, complaint) == (0, [])
    lines = out.splitlines()
    assert lines[1].startswith("Layer (type)") and len(lines[0]) == 80
    assert lines[-2:] == ["Total params: 269", "_" * 80]


def test_summary_counts_what_mxnet_leaves_out_and_notes_data_without_a_batch_axis(run, tmp_path):
    net = mx.sym.LeakyReLU(mx.sym.Variable("data"), act_type="prelu", name="act")
    path = str(tmp_path / "net-symbol.json")
    mx.sym.FullyConnected(net, num_hidden=3, name="fc").save(path)
    status, out, complaint = run("summary", path, "--shape", "data=1,4")
    assert (status, complaint) == (0, [])
    assert "Total params: 15" in out
    assert out.splitlines()[-1].startswith("19 numbers in the 3 arrays of parameters; Total params")
    mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc").save(path)
    (note,) = run("summary", path, "--shape", "data=10")[2]
    assert "10 samples of one value" in note and note.endswith("--shape data=1,10")


def test_summary_of_wrong_shapes(run):
    fails(run("summary", SYMBOL, "--shape", "data=1,2"), "node 'conv'")
    fails(run("summary", SYMBOL, "--shape", "dat=1,2,8,8"), "Did you mean 'data'")
    fails(run("summary", "absent-symbol.json"), "there is no such file")
    fails(run("summary", PARAMS), "of kind 'params', expected a -symbol.json")
    status, _, complaint = run("summary", SYMBOL, "--shape", "data=a")
    assert status == 2
    assert "got 'data=a', expected a name and sizes" in complaint[-1]


def test_plot_as_text_for_dot(run, tmp_path):
    pytest.importorskip("graphviz")
    path = tmp_path / "net.dot"
    assert run("plot", SYMBOL, "-o", path, "--shape", "data=1,2,8,8", "--title", "t") == (0, "", [])
    text = path.read_text()
    assert text.startswith("digraph t {") and "conv -> data" in text and "2x8x8" in text
    assert "conv_weight" not in text
    run("plot", SYMBOL, "-o", path, "--weights")
    assert "conv_weight" in path.read_text()


def test_plot_calls_dot(run, tmp_path, monkeypatch):
    graphviz = pytest.importorskip("graphviz")
    path = tmp_path / "net.svg"
    asked = []

    def pipe(self, format):
        asked.append(format)
        return b"<svg/>"

    monkeypatch.setattr(graphviz.Digraph, "pipe", pipe)
    assert run("plot", SYMBOL, "-o", path)[0] == 0
    assert (path.read_bytes(), asked) == (b"<svg/>", ["svg"])


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs graphviz: apt install graphviz")
def test_plot_draws(tmp_path):
    """In a process, so that dot's own complaints would show."""
    pytest.importorskip("graphviz")

    def plot(*words):
        command = [sys.executable, "-m", "modkit", "plot", SYMBOL, *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=MADE.parents[2])
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    plot("-o", str(tmp_path / "net.svg"), "--shape", "data=1,2,8,8")
    drawn = ElementTree.parse(tmp_path / "net.svg")
    groups = drawn.iter("{http://www.w3.org/2000/svg}g")
    titles = {g[0].text for g in groups if g.get("class") == "node"}
    parameters = {name.partition(":")[2] for name in read_arrays(PARAMS)}
    assert titles == {n.name for n in mx.sym.load(SYMBOL).graph.nodes} - parameters
    plot("-o", str(tmp_path / "net.png"))
    content = (tmp_path / "net.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n") and len(content) > 2000


def test_plot_without_what_it_needs(run, tmp_path, monkeypatch):
    path = tmp_path / "net.svg"
    monkeypatch.setenv("PATH", str(tmp_path))
    fails(run("plot", SYMBOL, "-o", path), "the program dot, which is not installed")
    monkeypatch.setitem(sys.modules, "graphviz", None)
    fails(run("plot", SYMBOL, "-o", path), "pip install '.[viz]'")
    fails(run("plot", SYMBOL, "-o", tmp_path / "net.txt"), "the ending says no format")
    assert list(tmp_path.iterdir()) == []


# ── convert ─────────────────────────────────────────────────────────────────────────────────


def test_convert_there_and_back(run, tmp_path):
    for ending in ("npz", "safetensors", "params"):
        assert run("convert", PARAMS, tmp_path / f"a.{ending}") == (
            0, f"{tmp_path}/a.{ending}: 8 arrays, 1.08 KiB\n", []
        )  # fmt: skip
        assert run("convert", tmp_path / f"a.{ending}", tmp_path / "b.params")[0] == 0
        found, wanted = mx.nd.load(str(tmp_path / "b.params")), mx.nd.load(PARAMS)
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            np.testing.assert_array_equal(found[name].asnumpy(), value.asnumpy())


def test_convert_strips_prefixes_and_puts_them_back(run, tmp_path):
    run("convert", PARAMS, tmp_path / "bare.npz", "--strip")
    assert {"fc_weight", "bn_moving_var"} <= set(read_arrays(tmp_path / "bare.npz"))
    run("convert", tmp_path / "bare.npz", tmp_path / "back.params", "--symbol", SYMBOL)
    assert read_arrays(tmp_path / "back.params").keys() == read_arrays(PARAMS).keys()


def test_convert_refuses(run, tmp_path):
    out = tmp_path / "x.npz"
    fails(run("convert", MADE / "convnet-0002.states", out), "of kind 'states'")
    fails(run("convert", "absent.params", out), "there is no such file")
    fails(run("convert", PARAMS, tmp_path / "x.txt"), "the ending '.txt'")
    fails(run("convert", PARAMS, tmp_path / "no" / "x.npz"), "no/x.npz")
    np.savez(out, **{"arg:a": np.ones(2), "aux:a": np.ones(2)})
    fails(run("convert", out, tmp_path / "y.npz", "--strip"), "would be called 'a'")
    np.savez(out, fc_weigh=np.ones(2))
    fails(run("convert", out, tmp_path / "y.npz", "--symbol", SYMBOL), "Did you mean 'fc_weight'")
    assert not (tmp_path / "y.npz").exists()
    assert run("convert", PARAMS, out, "--strip", "--symbol", SYMBOL)[0] == 2


def test_convert_an_old_net(run, tmp_path):
    old, new = tmp_path / "old-symbol.json", tmp_path / "new-symbol.json"
    old.write_text(json.dumps(dialects.DOCUMENTS["statistics missing, 0.8"]))
    assert run("convert", old, new) == (0, f"{new}: 6 nodes\n", [])
    assert json.loads(new.read_text())["attrs"] == {"mxnet_version": ["int", 10901]}
    assert mx.sym.load(new).list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    fails(run("convert", old, tmp_path / "x.npz"), "a net is written to a -symbol.json")
    fails(run("convert", old, new, "--strip"), "--strip and --symbol are for files of arrays")
    fails(run("convert", PARAMS, new), "the ending '.json' says no kind of file of arrays")


# ── predict ─────────────────────────────────────────────────────────────────────────────────


def test_predict_arrays(run, tmp_path):
    recorded = np.load(MADE / "convnet.npz")
    np.save(tmp_path / "x.npy", recorded["x"])
    (tmp_path / "labels.txt").write_text("cat\ndog\ncow\nhen\nowl\n")
    status, out, complaint = run(
        "predict", PREFIX, 2, "--input", tmp_path / "x.npy", "--top-k", 1, "--json",
        "--labels", tmp_path / "labels.txt", "--save", tmp_path / "y.npz",
        "--shape", "data=4,2,8,8",
    )  # fmt: skip
    assert (status, complaint) == (0, [])
    saved = read_arrays(tmp_path / "y.npz")
    np.testing.assert_allclose(saved["softmax_output"], recorded["y"], rtol=1e-5, atol=1e-6)
    (entry,) = json.loads(out)
    assert (entry["name"], entry["shape"]) == ("softmax_output", [11, 5])
    best = recorded["y"].argmax(1)
    assert [row[0]["class_id"] for row in entry["top"]] == list(best)
    names = ["cat", "dog", "cow", "hen", "owl"]
    assert [row[0]["label"] for row in entry["top"]] == [names[i] for i in best]
    status, out, _ = run("predict", PREFIX, 2, "--input", f"data={tmp_path / 'x.npy'}")
    assert status == 0
    assert out.splitlines()[1].split() == ["sample", "score", "class"]
    assert len(out.splitlines()) == 2 + 11 * 5


def picture_net(folder, channels=3):
    """A checkpoint that gives back its input, and one number for each channel."""
    data = mx.sym.Variable("data")
    mean = mx.sym.mean(data, axis=(2, 3))
    net = mx.sym.Group([mx.sym.identity(data, name="same"), mx.sym.identity(mean, name="mean")])
    mx.model.save_checkpoint(str(folder / "net"), 0, net, {"unused": mx.nd.ones(channels)}, {})
    return folder / "net"


def saved_picture(folder, height=6, width=8, mode="RGB"):
    """A picture whose red grows from left to right and whose green is 40, losslessly."""
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0], pixels[..., 1] = np.arange(width) * 10, 40
    image.fromarray(pixels).convert(mode).save(folder / "p.png")
    return folder / "p.png", pixels


def test_predict_a_picture(run, tmp_path):
    net, (path, pixels) = picture_net(tmp_path), saved_picture(tmp_path)

    def ask(*words):
        status, _, complaint = run("predict", net, 0, "--input", path, *words,
                                   "--save", tmp_path / "y.npz")  # fmt: skip
        assert (status, complaint) == (0, [])
        return read_arrays(tmp_path / "y.npz")["same_output"]

    maps = pixels.astype(np.float32).transpose(2, 0, 1)
    np.testing.assert_array_equal(ask(), maps[None])
    np.testing.assert_array_equal(ask("--bgr"), maps[None, ::-1])
    changed = ask("--mean", "10,20,30", "--std", "2", "--scale", "0.5")
    shift = np.float32([10, 20, 30]).reshape(3, 1, 1)
    np.testing.assert_allclose(changed[0], (maps - shift) / 2 * 0.5)
    turned = ask("--bgr", "--mean", "10,20,30")
    np.testing.assert_allclose(turned[0], maps[::-1] - shift)
    assert ask("--size", "4,3").shape == (1, 3, 4, 3)
    assert ask("--shape", "data=7,3,5,5").shape == (1, 3, 5, 5)
    middle = ask("--short", "6", "--size", "4")[0]
    np.testing.assert_array_equal(middle, maps[:, 1:5, 2:6])
    grey = ask("--shape", "data=1,1,6,8")
    assert grey.shape == (1, 1, 6, 8)
    light = np.tensordot(np.float32([0.299, 0.587, 0.114]), maps, 1)
    np.testing.assert_allclose(grey[0, 0], light, atol=1)


def test_predict_shows_other_outputs_by_their_spread(run, tmp_path):
    net, (path, _) = picture_net(tmp_path), saved_picture(tmp_path)
    status, out, _ = run("predict", net, 0, "--input", path)
    assert status == 0
    assert out.splitlines()[:3] == [
        "same_output",
        "  shape    min  max  mean",
        "  1x3x6x8    0   70    25",
    ]


def test_a_picture_is_turned_as_the_camera_was_held(tmp_path):
    image = pytest.importorskip("PIL.Image")
    picture = image.fromarray(np.zeros((2, 5, 3), np.uint8))
    exif = image.Exif()
    exif[0x0112] = 6  # a quarter turn
    picture.save(tmp_path / "p.jpg", exif=exif)
    assert preprocessing.read_picture(tmp_path / "p.jpg", preprocessing.Preparation()).shape == (
        1,
        3,
        5,
        2,
    )


def test_predict_shows_regressions_as_they_are(run, tmp_path):
    prefix, recorded = MADE.parent / "artefacts" / "two_outputs", MADE.parent / "artefacts"
    with np.load(recorded / "two_outputs.npz") as stored:
        np.save(tmp_path / "x.npy", stored["input:data"])
        classes, sizes = stored["output:0"], stored["output:1"]
    status, out, _ = run("predict", prefix, 3, "--input", tmp_path / "x.npy", "--json")
    assert status == 0
    found = json.loads(out)
    assert [row[0]["class_id"] for row in found[0]["top"]] == list(classes.argmax(1))
    np.testing.assert_allclose(found[1]["values"], sizes, rtol=1e-5)
    _, out, _ = run("predict", prefix, 3, "--input", tmp_path / "x.npy")
    lines = out.splitlines()
    assert lines[lines.index("size_output") + 1].split() == ["sample", "0", "1"]


def test_numbers_that_json_lacks_are_null(run, tmp_path):
    prefix = MADE.parent / "artefacts" / "two_outputs"
    with np.load(MADE.parent / "artefacts" / "two_outputs.npz") as stored:
        np.save(tmp_path / "x.npy", np.full_like(stored["input:data"], np.nan))
    status, out, _ = run("predict", prefix, 3, "--input", tmp_path / "x.npy", "--json")
    assert status == 0
    assert "NaN" not in out
    assert json.loads(out)[0]["top"][0][0]["score"] is None


def test_predict_says_how_to_size_a_picture(run, tmp_path):
    path, _ = saved_picture(tmp_path)
    fails(run("predict", PREFIX, 2, "--input", path, "--shape", "data=1,2,8,8"), "1 or 3 channels")
    prefix = MADE.parent / "artefacts" / "convnet"
    complaint = "--size sets the height and width of a picture, and --shape data=1,1,H,W its chan"
    fails(run("predict", prefix, 3, "--input", path), complaint)
    assert run("predict", prefix, 3, "--input", path, "--size", "12")[0] == 0


def test_predict_reads_grey_pictures_for_one_channel(run, tmp_path):
    path, _ = saved_picture(tmp_path)
    first = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=2, name="c")
    weights = {"c_weight": mx.nd.ones((2, 1, 3, 3)), "c_bias": mx.nd.zeros(2)}
    mx.model.save_checkpoint(str(tmp_path / "grey"), 0, first, weights, {})
    assert run("predict", tmp_path / "grey", 0, "--input", path)[0] == 0
    np.save(tmp_path / "labels.npy", np.zeros(5, np.float32))
    status, _, complaint = run("predict", tmp_path / "grey", 0, "--input", tmp_path / "labels.npy")
    assert status == 2 and "labels.npy: " in complaint[0] and "picture" not in complaint[0]


def test_predict_refuses(run, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.zeros((1, 2, 8, 8), np.float32))
    np.save(tmp_path / "object.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.jpg").write_text("no picture")
    (tmp_path / "labels.txt").write_text("cat\n")
    path, _ = saved_picture(tmp_path)
    x = tmp_path / "x.npy"

    def ask(*words, epoch=2):
        return run("predict", PREFIX, epoch, *words)

    (note,) = ask("--input", x, "--top-k", 20)[2]
    assert note.startswith("modkit predict: --top-k 20: ") and "has 5 classes" in note
    fails(ask("--input", x, epoch=3), "convnet-0003.params: there is no such file")
    fails(ask("--input", f"dat={x}"), "no input 'dat'. Did you mean 'data'?")
    fails(ask("--input", x, "--input", x), "'data' is given twice")
    fails(ask("--input", tmp_path / "absent.npy"), "absent.npy: there is no such file")
    fails(ask("--input", tmp_path / "absent.jpg"), "absent.jpg: there is no such file")
    fails(ask("--input", tmp_path / "object.npy"), "not an array of numbers")
    fails(ask("--input", tmp_path / "text.jpg"), "text.jpg: not a picture")
    fails(ask("--input", x, "--shape", "data=1,2,9,9"), "(1, 2, 8, 8), expected (any, 2, 9, 9)")
    fails(ask("--input", x, "--shape", "dta=1,2,8,8"), "no input 'dta'. Did you mean 'data'?")
    fails(ask("--input", x, "--labels", tmp_path / "labels.txt"), "got 1 labels for the 5 classes")
    fails(ask("--input", x, "--labels", "absent.txt"), "absent.txt: there is no such file")
    fails(ask("--input", x, "--top-k", "0"), "expected at least 1")
    fails(ask("--input", x, "--save", tmp_path / "y.txt"), "the ending '.txt'")
    fails(ask("--input", path, "--shape", "data=1,2,8,8"), "1 or 3 channels, got 2")
    fails(ask("--input", path, "--mean", "1,2"), "--mean: got 2 numbers for 3 channels")
    fails(ask("--input", path, "--std", "0"), "--std: got 0")
    fails(ask("--input", path, "--short", "5", "--size", "9"), "too small to cut 9 by 9")
    for words in (("--size", "8"), ("--short", "8"), ("--mean", "1"), ("--std", "2"),
                  ("--scale", "2"), ("--bgr",)):  # fmt: skip
        fails(ask("--input", x, *words), f"{words[0]}: is for pictures, and")
    fails(ask("--input", x, "--ctx", "gpu(99)"), "gpu(99)")
    fails(ask("--input", "data="), "--input data=: got no file, expected NAME=FILE")
    for words in (("--ctx", "abacus"), ("--short", "-3")):
        status, out, complaint = ask("--input", path, *words)
        assert (status, out) == (2, "") and f"argument {words[0]}: got" in complaint[-1]
    monkeypatch.setitem(sys.modules, "PIL", None)
    fails(ask("--input", path), "pip install '.[image]'")


def test_predict_wants_every_input(run, tmp_path):
    net = mx.sym.Variable("a") + mx.sym.Variable("b")
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, net, {"unused": mx.nd.ones(1)}, {})
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    x = tmp_path / "x.npy"
    fails(run("predict", tmp_path / "net", 0, "--input", x), "which input? The net takes a, b")
    fails(run("predict", tmp_path / "net", 0, "--input", f"a={x}"), "'b' is missing; give b=FILE")
    status, out, _ = run("predict", tmp_path / "net", 0, "--input", f"a={x}", "--input", f"b={x}")
    assert status == 0 and out.splitlines()[2].split() == ["0", "2", "0"]


# ── Arguments and mistakes ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((arguments.named_shape, t) for t in ("data", "data=", "=1", "data=0,1", "data=1,x")),
        *((arguments.count, t) for t in ("", "-1", "x", "1.5")),
        *((arguments.numbers, t) for t in ("", "1,,2", "a")),
        *((arguments.picture_size, t) for t in ("", "1,2,3", "0", "-3,4", "x")),
    ],
)
def test_arguments_that_cannot_be_read(read, text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"got .*, expected "):
        read(text)


def test_mistakes_of_ours_are_not_hidden():
    def broken(_):
        raise KeyError("ours")

    with pytest.raises(KeyError):
        guarded("x", broken)(argparse.Namespace())


# ── export ──────────────────────────────────────────────────────────────────────────────────


def test_export(run, tmp_path):
    pytest.importorskip("onnx", reason="needs the package onnx")
    path = tmp_path / "net.onnx"
    assert run("export", PREFIX, 2, path, "--shape", "data=1,2,8,8", "--dynamic") == (
        0, f"wrote {path}\n", [],
    )  # fmt: skip
    data = mx.contrib.onnx.get_model_metadata(path)["input_tensor_data"]
    assert data == [("data", (0, 2, 8, 8), 1)]


def test_export_of_wrong_arguments(run, tmp_path):
    path = tmp_path / "net.onnx"
    fails(run("export", PREFIX, 2, path), "--shape data=1,3,224,224")
    fails(run("export", PREFIX, 2, path, "--shape", "dat=1,2,8,8"), "Did you mean 'data'")
    fails(run("export", PREFIX, 2, path, "--shape", "data=1,2"), "node 'conv'")
    assert not path.exists()


def test_export_of_a_network_without_inputs(run, tmp_path):
    pytest.importorskip("onnx", reason="needs the package onnx")
    prefix, path = tmp_path / "constant", tmp_path / "net.onnx"
    mx.model.save_checkpoint(str(prefix), 1, mx.sym.relu(mx.sym.var("w")), {"w": mx.nd.ones(3)}, {})
    assert run("export", prefix, 1, path) == (0, f"wrote {path}\n", [])
