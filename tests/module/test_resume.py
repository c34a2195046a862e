"""Exact resume: a training that was ended anywhere goes on to the bits of an unbroken one."""

import functools
import json
import logging
import os
import random
import re
import signal
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.callback import checkpoint_folder as folders
from modkit.cli import main
from modkit.errors import FileFormatError
from tests.module.networks import convnet, mlp
from tests.module.resuming import CASES, COUNT, SIZE, arrays, noisy, train
from tools import attack_resume


class Ended(Exception):
    """Ends a training as a crash does: nothing is written any more."""


def end():
    raise Ended


@functools.cache
def unbroken(case, tmp):
    return train(case, Path(tmp) / f"whole-{case}")


@pytest.fixture(scope="module")
def tmp(tmp_path_factory):
    return str(tmp_path_factory.mktemp("resume"))


@pytest.mark.filterwarnings("ignore:init_optimizer. kvstore=None")
@pytest.mark.parametrize("case", CASES)
def test_an_interrupted_training_has_the_same_bits(case, tmp, tmp_path, caplog):
    for at in (5, 9):
        with pytest.raises(Ended):
            train(case, tmp_path, at=at, action=end)
    assert train(case, tmp_path) == unbroken(case, tmp)
    assert "of the checkpoint stays" not in caplog.text


def test_checkpoints_are_complete_and_as_many_as_kept(tmp_path):
    with pytest.raises(Ended):
        train("plain", tmp_path, at=13, action=end, asynchronous=False)
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == ["step-0000000008", "step-0000000010", "step-0000000012"]
    files = sorted(p.name for p in (tmp_path / names[-1]).iterdir())
    assert files == [
        "checkpoint.json", "model-0002.params", "model-0002.states", "model-symbol.json",
        "state.json", "state.npz",
    ]  # fmt: skip
    module = mx.mod.Module.load(str(tmp_path / names[-1] / "model"), 2, load_optimizer_states=True)
    module.bind([("data", (8, 10))], [("softmax_label", (8,))])
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})  # opens in MXNet's way
    assert module._present_optimizer.num_update == 12


def resumed(folder, size=8, epochs=1, callbacks=()):
    batches = mx.io.NDArrayIter(np.zeros((16, 10), "float32"), np.zeros(16, "float32"), size)
    with mx.name.NameManager():
        module = mx.mod.Module(mlp())
    module.fit(batches, num_epoch=epochs, callbacks=callbacks, resume=folder)


def test_a_resume_that_finds_nothing_is_a_warning(tmp_path, caplog):
    caplog.set_level(logging.INFO)

    def said():
        found = [
            (r.levelname, r.getMessage()) for r in caplog.records if "resume" in r.getMessage()
        ]
        caplog.clear()
        return found[0]

    resumed(tmp_path / "new", callbacks=[mx.callback.Checkpoint(tmp_path / "new")])
    assert said()[0] == "INFO"
    resumed(tmp_path / "nwe", callbacks=[mx.callback.Checkpoint(tmp_path / "other")])
    level, text = said()
    assert level == "WARNING"
    assert text.endswith(f"this folder, which does not exist; {tmp_path} has checkpoints in new")
    (tmp_path / "empty").mkdir()
    resumed(tmp_path / "empty")
    assert said()[1].endswith("No Checkpoint of callbacks writes to this folder")


def test_nothing_is_left_to_train(tmp_path, caplog):
    resumed(tmp_path, epochs=2, callbacks=[mx.callback.Checkpoint(tmp_path)])
    resumed(tmp_path, epochs=1)
    assert "nothing to train: the checkpoint is after 2 epochs, and num_epoch=1" in caplog.text


def test_another_batch_size_cannot_resume(tmp_path):
    resumed(tmp_path, callbacks=[mx.callback.Checkpoint(tmp_path)])
    with pytest.raises(mx.callback.ResumeError, match=r"batch_size=8, expected batch_size=4.* old"):
        resumed(tmp_path, size=4, epochs=2)


def test_inspect_shows_a_folder(tmp_path, capsys):
    with pytest.raises(Ended):
        train("plain", tmp_path, at=9, action=end, asynchronous=False)
    damage(tmp_path / "step-0000000008" / "state.npz", "changed")
    assert main(["inspect", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"step-0000000008 .* state.npz: got .* damaged", text)
    assert re.search(r"step-0000000006 +1 +0 +6 .* complete", text)
    assert re.search(r"step-0000000006: from here a training goes on\n  optimizer +SGD", text)
    assert main(["inspect", "--json", str(tmp_path / "step-0000000006")]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["checkpoints"][0]["step"]) == ("checkpoints", 6)
    (tmp_path / "empty").mkdir()
    assert main(["inspect", str(tmp_path / "empty")]) == 2
    assert "a folder without checkpoints" in capsys.readouterr().err


def damage(path, kind):
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:-7])
    elif kind == "changed":
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    else:
        path.unlink()


@pytest.mark.parametrize("kind", ["cut", "changed", "missing"])
def test_a_damaged_newest_checkpoint_is_passed_over(kind, tmp, tmp_path, caplog):
    with pytest.raises(Ended):
        train("plain", tmp_path, at=9, action=end, asynchronous=False)
    for number, name in enumerate(["checkpoint.json", "model-0001.params"]):
        damage(folders.checkpoints(tmp_path)[number] / name, kind)
    assert folders.newest(tmp_path).manifest["step"] == 4
    assert train("plain", tmp_path) == unbroken("plain", tmp)
    assert caplog.text.count("passed over") >= 2


def test_checkpoints_of_which_none_is_complete_are_kept(tmp_path):
    """Files of parameters may be intact: the training that would replace them does not begin."""
    own = [mx.callback.Checkpoint(tmp_path)]
    resumed(tmp_path, epochs=2, callbacks=own)
    for path in folders.checkpoints(tmp_path):
        damage(path / "state.json", "missing")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        FileFormatError, match=r"2 checkpoints, none .*state\.json.* another folder"
    ):
        resumed(tmp_path, epochs=2, callbacks=own)
    assert sorted(tmp_path.rglob("*")) == before


def test_damage_in_any_file_of_a_checkpoint_is_seen(tmp_path):
    """Each file cut, missing, or with one byte changed, at its begin, middle or end."""
    with pytest.raises(Ended):
        train("plain", tmp_path, at=5, action=end, asynchronous=False)
    newest, before = folders.checkpoints(tmp_path)[:2]
    for path in sorted(newest.iterdir()):
        whole = path.read_bytes()
        changed = [bytearray(whole) for _ in range(3)]
        for place, content in zip((0, len(whole) // 3, -1), changed, strict=True):
            content[place] ^= 0x10
        for content in (*changed, whole[:-1], whole[:1], b"", whole + b"x", None):
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content)
            assert folders.newest(tmp_path).path == before, (path.name, content)
        path.write_bytes(whole)
    assert folders.newest(tmp_path).path == newest


def test_another_network_or_optimizer_is_refused_with_a_list(tmp_path):
    with pytest.raises(Ended):
        train("plain", tmp_path, at=5, action=end)

    def resume(symbol, **options):
        mx.mod.Module(symbol).fit(arrays(), num_epoch=3, resume=tmp_path, **options)

    with pytest.raises(mx.callback.ResumeError) as caught:
        resume(mlp(hidden=17), optimizer="adam")
    lines = str(caught.value).splitlines()
    assert any("FullyConnected fc1" in line and "'17'" in line for line in lines)
    assert "  optimizer class: the checkpoint has 'SGD', this training 'Adam'" in lines
    assert "  network shapes fc1_bias: the checkpoint has '(16,)', this training '(17,)'" in lines
    with pytest.raises(mx.callback.ResumeError, match=r"momentum: the checkpoint has '0\.9'"):
        resume(mlp())
    with pytest.raises(mx.callback.ResumeError) as caught:
        resume(mlp(name="fc7"))
    first, node, *lines = str(caught.value).splitlines()
    assert "names of nodes differ" in first and "name the nodes, or make" in first
    assert node.startswith("  network node ") and "fc71_weight" in node
    assert not [line for line in lines if "network" in line]


def test_optimizer_parameters_that_stay_are_logged(tmp_path, caplog):
    """The checkpoint's decay, clipping, rate and schedule go on; the log has what has no effect."""

    class Sets(mx.callback.Callback):
        def on_fit_begin(self, run):
            found.append(vars(run.optimizer).copy())
            run.optimizer.wd = 0.5

    def fit(epochs, *callbacks, **options):
        caplog.clear()
        with mx.name.NameManager():
            module = mx.mod.Module(mlp())
        module.fit(arrays(), num_epoch=epochs, callbacks=callbacks, resume=folder, optimizer_params=
                   {"learning_rate": 0.1, **options})  # fmt: skip
        return [
            (r.levelname, r.getMessage().partition(";")[0].partition("optimizer ")[2])
            for r in caplog.records if "stays" in r.getMessage()
        ]  # fmt: skip

    found = []
    caplog.set_level(logging.INFO)
    folder = tmp_path / "rate"
    write = mx.callback.Checkpoint(folder)
    assert fit(1, write, wd=0.25) == []
    assert fit(2, write, Sets(), wd=0.125, clip_gradient=1.0, learning_rate=0.2) == [
        ("WARNING", "clip_gradient: None of the checkpoint stays, where fit is given 1.0"),
        ("INFO", "learning_rate: 0.1 of the checkpoint stays, where fit is given 0.2"),
        ("WARNING", "wd: 0.25 of the checkpoint stays, where fit is given 0.125"),
    ]
    assert (found[0]["wd"], found[0]["clip_gradient"], found[0]["lr"]) == (0.25, None, 0.1)
    assert fit(3, wd=0.5) == []  # set by the callback

    folder = tmp_path / "schedule"
    factor = functools.partial(mx.lr_scheduler.FactorScheduler, factor=0.5)
    assert fit(1, mx.callback.Checkpoint(folder), lr_scheduler=factor(2)) == []
    assert fit(2, lr_scheduler=factor(2)) == []
    assert fit(2, lr_scheduler=factor(3)) == [
        ("WARNING", "lr_scheduler step: 2 of the checkpoint stays, where fit is given 3")
    ]


def test_other_data_is_refused(tmp_path):
    with pytest.raises(Ended):
        train("plain", tmp_path, at=5, action=end)
    few = mx.io.NDArrayIter(np.zeros((8, 10), np.float32), np.zeros(8), 8, shuffle=True)
    with pytest.raises(mx.callback.ResumeError, match="num_data=44, expected num_data=8"):
        mx.mod.Module(mlp()).fit(
            few, num_epoch=3, resume=tmp_path, optimizer_params={
                "learning_rate": 0.1, "momentum": 0.9, "lr_scheduler": mx.lr_scheduler.
                FactorScheduler(3)})  # fmt: skip


def test_data_of_another_kind_is_refused(tmp_path):
    x, y = np.zeros((8, 10), np.float32), np.zeros(8, np.float32)
    for name, rows in (("x", x), ("y", y)):
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",")
    csv = functools.partial(
        mx.io.CSVIter, data_csv=f"{tmp_path}/x.csv", data_shape=(10,),
        label_csv=f"{tmp_path}/y.csv", batch_size=4,
    )  # fmt: skip
    kinds = {
        "NDArrayIter": lambda: mx.io.NDArrayIter(x, y, 4),
        "list": lambda: [(x[:4], y[:4]), (x[4:], y[4:])],
        "CSVIter": csv,
        "PrefetchingIter": lambda: mx.io.PrefetchingIter(csv()),
        "ResizeIter": lambda: mx.io.ResizeIter(mx.io.NDArrayIter(x, y, 4), 2),
    }

    def fit(kind, epochs, **options):
        with mx.name.NameManager():
            module = mx.mod.Module(mlp())
        module.fit(kinds[kind](), num_epoch=epochs, **options)

    for before in kinds:
        folder = tmp_path / before
        fit(before, 1, callbacks=[mx.callback.Checkpoint(folder)])
        for now in kinds:
            if now == before:
                fit(now, 1, resume=folder)
                continue
            words = f"the checkpoint is of data from {before}, and this is {now}. Give"
            with pytest.raises(mx.callback.ResumeError, match=words):
                fit(now, 2, resume=folder)


def test_an_ended_training_trains_no_more(tmp, tmp_path):
    assert train("plain", tmp_path) == unbroken("plain", tmp)
    assert train("plain", tmp_path) == unbroken("plain", tmp)


def test_a_training_that_was_stopped_is_at_its_end(tmp_path):
    def fit():
        seen = []
        stop = mx.callback.EarlyStopping("train-accuracy", patience=1, min_delta=9)
        count = Counts(seen)
        module = mx.mod.Module(mlp())
        module.fit(
            arrays(), num_epoch=9, seed=1, resume=tmp_path,
            callbacks=[stop, count, mx.callback.Checkpoint(tmp_path)],
        )  # fmt: skip
        return len(seen), module.get_params()[0]["fc1_weight"].asnumpy()

    (first, one), (second, other) = fit(), fit()
    assert (first, second) == (12, 0)  # two epochs of six batches
    np.testing.assert_array_equal(one, other)


class Counts(mx.callback.Callback):
    def __init__(self, seen):
        self.seen = seen

    def on_batch_end(self, run):
        self.seen.append(run.step)


class Noise(mx.io.DataIter):
    """Draws from NumPy's global stream in ``next``."""

    provide_data = (mx.io.DataDesc("data", (SIZE, 10)),)
    provide_label = (mx.io.DataDesc("softmax_label", (SIZE,)),)

    def __init__(self):
        super().__init__(SIZE)
        self.reset()

    def reset(self):
        self.left = 4

    def next(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        x = np.random.normal(size=(SIZE, 10))  # noqa: NPY002
        return mx.io.DataBatch([mx.nd.array(x)], [mx.nd.zeros(SIZE)], pad=0)


class Shuffled:
    """An iterable whose passes draw their order from NumPy's global stream."""

    def __iter__(self):
        stream = np.random.RandomState(5)
        x = stream.normal(size=(COUNT, 10)).astype(np.float32)
        for i in np.random.permutation(COUNT // SIZE):  # noqa: NPY002
            yield x[i * SIZE : (i + 1) * SIZE], np.full(SIZE, i % 4, np.float32)


def clipped():
    import optax

    return optax.chain(optax.clip_by_global_norm(0.5), optax.adam(0.1))


@pytest.mark.parametrize("at", [2, 4, 5])
@pytest.mark.parametrize("data", [Noise, Shuffled])
@pytest.mark.parametrize("options", [{}, {"accumulate": 3}], ids=["", "accumulated"])
def test_streams_of_a_users_data_go_on(data, options, at, tmp_path):
    def fit(folder, seed, end=None):
        np.random.seed(seed)  # noqa: NPY002
        mx.random.seed(seed)
        module = mx.mod.Module(mlp())
        stop = [Stops(end)] if end else []
        checkpoint = mx.callback.Checkpoint(folder, every_n_batches=1, asynchronous=False)
        try:
            module.fit(data(), num_epoch=3, optimizer=clipped(), resume=folder,
                       callbacks=[checkpoint, *stop], **options)  # fmt: skip
        except Ended:
            return None
        return module.get_params()[0]["fc1_weight"].asnumpy()

    fit(tmp_path / "a", 1, at)
    np.testing.assert_array_equal(fit(tmp_path / "a", 99), fit(tmp_path / "b", 1))


class Draws(mx.callback.Callback):
    """Draws from the global streams wherever a training begins or goes on."""

    def __init__(self, module, metric):
        module.load_state_dict = self.before(module.load_state_dict)
        metric.load_state_dict = self.before(metric.load_state_dict)

    def before(self, call):
        return lambda state: self.load_state_dict(state) or call(state)

    def on_fit_begin(self, run):
        self.load_state_dict({})

    def load_state_dict(self, state):
        np.random.rand()  # noqa: NPY002
        mx.nd.random.uniform().asnumpy()


@pytest.mark.parametrize("at", [2, 4, 5])
def test_states_that_draw_while_they_are_restored_leave_the_streams(at, tmp_path):
    def fit(folder, seed, end=None):
        np.random.seed(seed)  # noqa: NPY002
        mx.random.seed(seed)
        module, metric = mx.mod.Module(noisy()), mx.metric.create("acc")
        stop = [Stops(end)] if end else []
        checkpoint = mx.callback.Checkpoint(folder, every_n_batches=1, asynchronous=False)
        try:
            module.fit(Noise(), num_epoch=2, eval_metric=metric, resume=folder,
                       callbacks=[checkpoint, Draws(module, metric), *stop])  # fmt: skip
        except Ended:
            return None
        return module.get_params()[0]["fc1_weight"].asnumpy()

    fit(tmp_path / "a", 1, at)
    np.testing.assert_array_equal(fit(tmp_path / "a", 99), fit(tmp_path / "b", 1))


class Stops(mx.callback.Callback):
    """Ends behind the checkpoint of a batch, or of an epoch."""

    order = 9

    def __init__(self, at):
        self.at = at

    def on_batch_end(self, run):
        if run.step == self.at and not run.last_batch:
            end()

    def on_epoch_end(self, run):
        if run.step == self.at:
            end()


def test_an_optimizer_that_cannot_be_saved_is_refused_before_training(tmp_path):
    optimizer = mx.optimizer.SGD(rescale_grad=1 / SIZE)
    optimizer.schedule_of_mine = object()
    with pytest.raises(mx.errors.NotSupportedError, match="cannot save object"):
        mx.mod.Module(mlp()).fit(
            arrays(), num_epoch=1, optimizer=optimizer,
            callbacks=[mx.callback.Checkpoint(tmp_path), Stops(0)],
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_on_the_disk_before_the_checkpoint_that_counts_on_it(tmp_path, monkeypatch):
    order = []
    log = mx.callback.JSONLines(tmp_path / "log", every_n_batches=1)
    monkeypatch.setattr(log, "sync", lambda: order.append("log"))
    write = folders.write
    monkeypatch.setattr(folders, "write", lambda *a: (order.append("checkpoint"), write(*a)))
    train("plain", tmp_path / "c", epochs=1, every=None, more=[log])
    assert order == ["log", "checkpoint"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_training_once_a_checkpoint_is_written(number, tmp, tmp_path, caplog):
    def own(number, frame):
        raise Ended(number)

    before = signal.signal(number, own)
    try:
        with pytest.raises(Ended):
            train(
                "dropout", tmp_path, at=4, action=lambda: os.kill(os.getpid(), number), every=None
            )
        assert signal.getsignal(number) is own
    finally:
        signal.signal(number, before)
    newest = folders.newest(tmp_path)
    assert newest.manifest["step"] == 5
    last = f"{newest.path} is written; to go on: fit(..., resume={str(tmp_path)!r})"
    assert caplog.messages[-1] == last
    assert train("dropout", tmp_path, every=None) == unbroken("dropout", tmp)


@pytest.mark.usefixtures("ctrl_c")
def test_a_second_signal_ends_at_once(tmp_path):
    def twice():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train("plain", tmp_path, at=4, action=twice, every=None)
    assert folders.newest(tmp_path) is None


def test_other_number_of_replicas_goes_on_to_rounding(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    symbol = convnet()
    rate = {"learning_rate": 0.1}

    def fit(context, epochs):
        module = mx.mod.Module(symbol, context=context)
        module.fit(
            arrays((1, 6, 6)), num_epoch=epochs, resume=tmp_path, optimizer_params=rate,
            callbacks=[mx.callback.Checkpoint(tmp_path)],
        )  # fmt: skip
        return module

    first = fit([mx.cpu(0), mx.cpu(0)], 1)
    second = fit(mx.cpu(), 1)  # nothing left to train
    assert "2 replicas, and goes on with 1, to rounding" in caplog.text
    for one, other in zip(first.get_params(), second.get_params(), strict=True):
        for name in one:
            np.testing.assert_allclose(one[name].asnumpy(), other[name].asnumpy(), rtol=1e-6)
    fit([mx.cpu(0), mx.cpu(1)], 2)


@pytest.mark.filterwarnings("ignore:init_optimizer. kvstore=None")
def test_contexts_that_trained_apart_go_on_apart(tmp_path):
    def fit(kvstore, contexts=2):
        module = mx.mod.Module(mlp(), context=[mx.cpu(0)] * contexts)
        module.fit(
            arrays(), num_epoch=1, resume=tmp_path, kvstore=kvstore,
            callbacks=[mx.callback.Checkpoint(tmp_path)],
        )  # fmt: skip

    fit(None)
    with pytest.raises(
        ValueError, match=r"of 2 contexts that train apart .* contexts that train as"
    ):
        fit("device")
    with pytest.raises(ValueError, match="the module has 4 contexts that train apart"):
        fit(None, 4)


def test_gradients_that_are_added_to_go_on(tmp_path):
    def fit(folder, epochs):
        np.random.seed(3)  # noqa: NPY002
        mx.random.seed(3)
        module, data = mx.mod.Module(mlp()), arrays()
        module.bind(data.provide_data, data.provide_label, grad_req="add")
        module.init_params(mx.init.Xavier())
        last = mx.callback.Checkpoint(folder, asynchronous=False)
        module.fit(data, num_epoch=epochs, callbacks=[last], resume=folder)
        return module.get_params()[0]["fc1_weight"].asnumpy()

    fit(tmp_path / "a", 1)
    np.testing.assert_array_equal(fit(tmp_path / "a", 2), fit(tmp_path / "b", 2))


def test_a_full_disk_is_a_warning_and_an_error_at_the_end(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "_fill", full)
    with (
        pytest.warns(UserWarning, match="No space left on device; the training goes on"),
        pytest.raises(mx.MXNetError, match="No space left on device"),
    ):
        train("plain", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_module_without_a_state_is_refused_before_training(tmp_path):
    module = mx.mod.SequentialModule()
    module.add(mx.mod.Module(mlp()), take_labels=True)
    with pytest.raises(mx.errors.NotSupportedError, match="SequentialModule has no state_dict"):
        module.fit(arrays(), num_epoch=1, callbacks=[mx.callback.Checkpoint(tmp_path)])


def test_kills_find_their_moments_on_a_machine_that_was_slow_before(monkeypatch):
    def killed(process, folder, after_s, in_write):
        seconds.append(after_s)
        assert len(seconds) < 5, "trainings end before every moment"
        return 1 if after_s < 10 else None

    seconds = []
    monkeypatch.setattr(attack_resume, "timed", lambda case, folder: ("bits", 100.0))
    monkeypatch.setattr(attack_resume, "started", lambda case, folder: None)
    monkeypatch.setattr(attack_resume, "finished", lambda process: "bits")
    monkeypatch.setattr(attack_resume, "killed", killed)
    assert attack_resume.attack("plain", 2, random.Random(0)) == (2, 2)


@pytest.mark.slow
@pytest.mark.dist
def test_killed_at_random_moments_it_ends_with_the_same_bits():
    """The short form of ``tools/attack_resume.py``."""
    assert attack_resume.attack("dropout", 2, random.Random(2))[0] >= 1
