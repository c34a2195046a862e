"""Trackers of experiments, beside stubs of the packages' interfaces and beside tensorboardX."""

import sys
import types

import numpy as np
import pytest

import modkit as mx
from modkit.callback import trackers
from modkit.errors import NotSupportedError
from tests.module.networks import convnet, mlp

X, Y = np.ones((16, 10), np.float32), np.zeros(16, np.float32)


def fit(part, symbol=None, x=X, **options):
    module = mx.mod.Module(mlp() if symbol is None else symbol)
    module.fit(mx.io.NDArrayIter(x, Y, 8), num_epoch=2, callbacks=[part], **options)


class Writer:
    """A stub of ``SummaryWriter``: the calls by name."""

    def __init__(self, folder):
        self.calls = []

    def __getattr__(self, name):
        if not name.startswith("add_") and name != "flush":
            raise AttributeError(name)
        return lambda *args: self.calls.append((name, *args))

    def of(self, kind):
        return [args for name, *args in self.calls if name == kind]


@pytest.fixture
def writers(monkeypatch):
    """tensorboardX is a stub, the other packages are not there."""
    for name in trackers.WRITERS:
        stub = types.SimpleNamespace(SummaryWriter=Writer) if name == "tensorboardX" else None
        monkeypatch.setitem(sys.modules, name, stub)


def test_tensorboard_gets_scalars_histograms_images_and_the_network(writers):
    part = mx.callback.TensorBoard("logs", every_n_batches=1, histograms=True, images=2)
    images = np.arange(16 * 36, dtype=np.float32).reshape(16, 1, 6, 6)
    fit(part, convnet(), images)
    ((_, shown, step),) = part.writer.of("add_images")
    np.testing.assert_allclose(shown, images[:2] / images[1].max())
    assert step == 1
    names = {(name, step) for name, _, step in part.writer.of("add_scalar")}
    assert {("train-accuracy", 2), ("learning_rate", 4), ("train-accuracy-by-batch", 3)} <= names
    histograms = {name for name, _, _ in part.writer.of("add_histogram")}
    assert any(name.endswith("_weight") for name in histograms)
    assert part.writer.of("add_text")[0][0] == "network"


def test_images_have_to_be_images(writers):
    with pytest.raises(NotSupportedError, match=r"'data' has shape \(2, 10\), expected images"):
        fit(mx.callback.TensorBoard("logs", images=2))


def test_event_files_of_tensorboardx(tmp_path):
    """Written by the package itself, and read back."""
    pytest.importorskip("tensorboardX", reason="the extra 'tensorboard' is not installed")
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.graph_pb2 import GraphDef

    fit(mx.callback.TensorBoard(tmp_path, histograms=True))
    (path,) = tmp_path.iterdir()
    data, at, events = path.read_bytes(), 0, []
    while at < len(data):  # records: length, checksum, content, checksum
        size = int.from_bytes(data[at : at + 8], "little")
        events.append(Event.FromString(data[at + 12 : at + 12 + size]))
        at += size + 16
    tags = {(value.tag, event.step) for event in events for value in event.summary.value}
    assert {("train-accuracy", 2), ("fc1_weight", 4)} <= tags
    (graph,) = [GraphDef.FromString(e.graph_def) for e in events if e.HasField("graph_def")]
    nodes = {node.name: list(node.input) for node in graph.node}
    assert nodes["fc1"] == ["data", "fc1_weight", "fc1_bias"]


class Wandb(types.ModuleType):
    """A stub of wandb: a run, ``init``, ``log``, ``finish``."""

    def __init__(self):
        super().__init__("wandb")
        self.run, self.calls = None, []

    def init(self, **options):
        self.run = options

    def log(self, values, step):
        self.calls.append((values, step))

    def finish(self, exit_code):
        self.run, self.ended = None, exit_code


def test_wandb(monkeypatch):
    stub = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", stub)
    part = mx.callback.WandB(project="p")
    fit(part)
    (first, _), (second, step) = stub.calls
    assert first["epoch"] == 0 and second["train-accuracy"] == 1.0 and step == 4
    assert (stub.run, stub.ended) == (None, 0)
    stub.init(mine=True)
    fit(part)
    assert stub.run == {"mine": True}


class Mlflow(types.ModuleType):
    """A stub of mlflow's fluent interface."""

    def __init__(self):
        super().__init__("mlflow")
        self.active, self.calls = None, []

    def active_run(self):
        return self.active

    def start_run(self, **options):
        self.active = options

    def log_params(self, params):
        self.params = params

    def log_metrics(self, values, step):
        self.calls.append((values, step))

    def end_run(self, status):
        self.active, self.ended = None, status


def test_mlflow(monkeypatch):
    stub = Mlflow()
    monkeypatch.setitem(sys.modules, "mlflow", stub)
    fit(mx.callback.MLflow(params={"size": 8}, run_name="r"))
    assert [step for _, step in stub.calls] == [2, 4] and stub.params == {"size": 8}
    assert (stub.active, stub.ended) == (None, "FINISHED")
    with pytest.raises(ZeroDivisionError):
        fit(mx.callback.MLflow(), batch_end_callback=lambda p: 1 / 0)
    assert stub.ended == "FAILED"


@pytest.mark.parametrize(
    ("make", "names", "text"),
    [
        (lambda: mx.callback.WandB(), ["wandb"], "pip install wandb"),
        (lambda: mx.callback.MLflow(), ["mlflow"], "pip install mlflow"),
        (lambda: mx.callback.TensorBoard("x"), trackers.WRITERS, r"pip install '\.\[tensorboard"),
    ],
)
def test_what_is_not_installed_is_named(monkeypatch, make, names, text):
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NotSupportedError, match=text):
        make()
