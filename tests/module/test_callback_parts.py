"""Each callback object beside its definition."""

import csv
import io
import itertools
import json
import logging
import math
import re
from types import SimpleNamespace

import numpy as np
import optax
import pytest

import modkit as mx
from modkit.callback import checkpoint, progress
from modkit.errors import NameNotFoundError, NotReadyError, NotSupportedError, ParameterError
from tests.module.networks import mlp, values

COUNT, SIZE = 24, 8


def data(count=COUNT, size=SIZE):
    stream = np.random.RandomState(5)
    x = stream.normal(size=(count, 10)).astype(np.float32)
    y = stream.randint(0, 4, count).astype(np.float32)
    return mx.io.NDArrayIter(x, y, size)


def fit(*callbacks, module=None, seed=3, rate=0.5, **options):
    module = module or mx.mod.Module(mlp())
    mx.random.seed(seed)
    params = {"learning_rate": rate, "momentum": 0.9}
    options = {"num_epoch": 2, "optimizer_params": params, **options}
    callbacks = [*callbacks, *options.pop("callbacks", ())]
    module.fit(data(), callbacks=callbacks, initializer=mx.init.Xavier(), **options)
    return module


class Scripted(mx.callback.Callback):
    """Puts given values in place of the metric, and records what it sees after others."""

    def __init__(self, *series):
        self.series, self.rates, self.params, self.epochs = series, [], [], []

    def on_batch_end(self, run):
        self.params.append(values(run.module))

    def on_eval_end(self, run):
        run.end_validation([("x", self.series[run.epoch])])

    def on_epoch_end(self, run):
        self.epochs.append(run.epoch)
        self.rates.append(run.learning_rate)


def scripted(*series, part, num_epoch=None, **options):
    """Train with validation values ``series`` of the metric ``x``; what was seen."""
    seen = Scripted(*series)
    module = fit(
        seen, part, eval_data=data(), num_epoch=num_epoch or len(series), **options
    )  # fmt: skip
    return seen, module


@pytest.mark.parametrize(
    ("series", "options", "epochs"),
    [
        ([1, 2, 3, 3, 3, 9], {"patience": 2}, 5),
        ([3, 2, 2, 1, 1, 1], {"patience": 2, "mode": "min"}, 6),
        ([1, 1.05, 1.1, 1.15], {"patience": 2, "min_delta": 0.2}, 3),
        ([math.nan, math.nan, 1], {"patience": 2}, 2),
    ],
)
def test_early_stopping(series, options, epochs):
    part = mx.callback.EarlyStopping("validation-x", **options)
    seen, _ = scripted(*series, part=part)
    assert len(seen.epochs) == epochs


def test_early_stopping_restores_the_best():
    part = mx.callback.EarlyStopping("validation-x", patience=2, restore_best=True)
    seen, module = scripted(1, 5, 2, 2, part=part)
    assert part.best_epoch == 1
    best, now = seen.params[5], values(module)  # three batches an epoch
    assert all(np.array_equal(best[n], now[n]) for n in best)
    again = mx.callback.EarlyStopping("validation-x", patience=2, restore_best=True)
    again.load_state_dict(part.state_dict())
    assert (again.best, again.waited) == (5, 2)


def test_keep_best_writes_the_best_epoch(tmp_path):
    part = mx.callback.KeepBest(tmp_path / "new" / "net", "validation-x")
    seen, _ = scripted(1, 5, 2, part=part)
    kept = mx.nd.load(str(tmp_path / "new" / "net-best.params"))
    np.testing.assert_array_equal(kept["arg:fc1_weight"].asnumpy(), seen.params[5]["fc1_weight"])
    assert mx.sym.load(str(tmp_path / "new" / "net-symbol.json")).list_outputs()


def test_the_best_of_a_validation_by_averages_is_the_average(tmp_path):
    ema = mx.callback.EMA(0.5, at_end=False)
    keep = mx.callback.KeepBest(tmp_path / "net", "validation-x")
    stop = mx.callback.EarlyStopping("validation-x", patience=1, restore_best=True)
    averages = []

    class Copies(mx.callback.Callback):
        def on_eval_end(self, run):
            averages.append({n: v.asnumpy() for n, v in ema.params().items()})

    _, module = scripted(1, 5, 2, part=keep, callbacks=[stop, Copies(), ema])
    kept = mx.nd.load(str(tmp_path / "net-best.params"))
    for name, value in values(module).items():
        np.testing.assert_array_equal(value, averages[1][name])
        np.testing.assert_array_equal(kept[f"arg:{name}"].asnumpy(), value)


@pytest.mark.parametrize("schedule", [None, mx.lr_scheduler.FactorScheduler(step=100)])
def test_the_rate_falls_on_a_plateau(schedule):
    part = mx.callback.ReduceLROnPlateau("validation-x", factor=0.5, patience=2, min_lr=0.2)
    seen = Scripted(1, 1, 1, 1, 1, 2)
    options = {"learning_rate": 0.8, **({"lr_scheduler": schedule} if schedule else {})}
    module = mx.mod.Module(mlp())
    module.fit(data(), data(), callbacks=[part, seen], num_epoch=6, optimizer_params=options)
    assert seen.rates == [0.8, 0.8, 0.4, 0.4, 0.2, 0.2]


def test_cooldown_epochs_do_not_count():
    part = mx.callback.ReduceLROnPlateau("validation-x", factor=0.5, patience=1, cooldown=2)
    seen = Scripted(1, 1, 1, 1, 1, 1)
    module = mx.mod.Module(mlp())
    module.fit(
        data(), data(), callbacks=[part, seen], num_epoch=6,
        optimizer_params={"learning_rate": 0.8},
    )  # fmt: skip
    assert seen.rates == [0.8, 0.4, 0.4, 0.4, 0.2, 0.2]


def test_a_second_training_does_not_begin_in_the_cooldown_of_the_first():
    part = mx.callback.ReduceLROnPlateau("validation-x", factor=0.5, patience=1, cooldown=3)
    for _ in range(2):
        seen = Scripted(1, 1)
        mx.mod.Module(mlp()).fit(
            data(), data(), callbacks=[part, seen], num_epoch=2,
            optimizer_params={"learning_rate": 0.8},
        )  # fmt: skip
        assert seen.rates == [0.8, 0.4]


def test_a_missing_metric_is_named():
    with pytest.raises(NameNotFoundError, match=r"'validation-accuracy'.*train-accuracy"):
        fit(mx.callback.EarlyStopping())


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: mx.callback.EarlyStopping(mode="up"), "mode: got 'up'"),
        (lambda: mx.callback.EarlyStopping(patience=0), "patience: got 0"),
        (lambda: mx.callback.EarlyStopping(min_delta=-1), "min_delta: got -1"),
        (lambda: mx.callback.ReduceLROnPlateau(factor=2), "factor: got 2"),
        (lambda: mx.callback.EMA(1.0), r"decay: got 1\.0"),
        (lambda: mx.callback.EMA("1"), "decay: got '1' of type str, expected a number"),
        (lambda: mx.callback.Checkpoint("x", every=2), "Did you mean 'every_n_epochs'"),
        (lambda: mx.callback.SWA(-1), "first_epoch: got -1"),
        (lambda: mx.callback.Checkpoint("x", keep=-1), "keep: got -1"),
        (lambda: mx.callback.Checkpoint("x", share=0), "share: got 0"),
        (lambda: mx.callback.LRFinder(1, 0.1), "rates 1 to 0.1"),
        (lambda: mx.callback.TerminateOnNaN(0), "every_n_batches: got 0"),
        (lambda: mx.callback.CSVLogger("x", 0), "every_n_batches: got 0"),
        (lambda: mx.callback.Progress(-1), "refresh_s: got -1"),
    ],
)
def test_bad_arguments_are_refused(make, text):
    with pytest.raises(ParameterError, match=text):
        make()


def test_ema_is_the_average_by_hand():
    ema, seen = mx.callback.EMA(0.8), Scripted()
    module = fit(ema, seen, num_epoch=2)
    expected = seen.params[0]
    for params in seen.params[1:]:
        expected = {n: 0.8 * expected[n] + 0.2 * params[n] for n in expected}
    now = values(module)
    for name in expected:
        np.testing.assert_allclose(now[name], expected[name], rtol=1e-5, atol=1e-7)


def test_swa_is_the_mean_over_epochs():
    swa, seen = mx.callback.SWA(first_epoch=1), Scripted()
    module = fit(swa, seen, num_epoch=4)
    ends = seen.params[2::3][1:]
    for name, value in values(module).items():
        mean = np.mean([p[name] for p in ends], axis=0)
        np.testing.assert_allclose(value, mean, rtol=1e-5, atol=1e-7)


def test_validation_sees_the_average_and_training_does_not():
    class Look(mx.callback.Callback):
        def on_eval_begin(self, run):
            self.inside = values(run.module)

    ema, look, plain = mx.callback.EMA(0.9, at_end=False), Look(), mx.callback.Callback()
    with_ema = fit(ema, look, eval_data=data())
    without = fit(plain, eval_data=data())
    for name, value in values(without).items():
        np.testing.assert_array_equal(values(with_ema)[name], value)
        assert not np.array_equal(look.inside[name], value)
    np.testing.assert_array_equal(look.inside["fc1_bias"], ema.params()["fc1_bias"].asnumpy())


def test_ema_needs_each_batch():
    with pytest.raises(NotSupportedError, match="steps_per_call=1"):
        fit(mx.callback.EMA(), steps_per_call=2)
    with pytest.raises(NotReadyError, match="no average yet"):
        mx.callback.EMA().params()


class ByHand(mx.optimizer.Optimizer):
    """A user's own optimizer, which moves parameters whatever their gradients are."""

    def update(self, index, weight, grad, state):
        self._update_count(index)
        weight -= self._get_lr(index)


FROZEN = {
    "momentum": {"optimizer_params": {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.1}},
    "replicas": {"context": [mx.cpu(0), mx.cpu(0)]},
    "chunks": {"steps_per_call": 3},
    "accumulated": {"accumulate": 2},
    "own": {"optimizer": ByHand(rescale_grad=1 / SIZE), "optimizer_params": ()},
    "optax": {"optimizer": optax.adam(0.01), "optimizer_params": ()},
}


@pytest.mark.parametrize("case", FROZEN)
def test_frozen_parameters_keep_their_bits(case):
    options, seen = dict(FROZEN[case]), Scripted()
    module = mx.mod.Module(mlp(), context=options.pop("context", None))
    freeze = mx.callback.Freeze("fc1_*", from_epoch=1, until_epoch=3)
    fit(freeze, mx.callback.Freeze("fc1_bias", 0), seen, module=module, num_epoch=4, **options)
    ends = seen.params[2::3]
    for name in ends[0]:
        moved = [not np.array_equal(a[name], b[name]) for a, b in itertools.pairwise(ends)]
        assert moved == [not name.startswith("fc1_")] * 2 + [True], name
    assert not module._present_optimizer._frozen_names


def test_a_freeze_of_unknown_names_is_refused():
    with pytest.raises(NameNotFoundError, match="fc9"):
        fit(mx.callback.Freeze("fc9"))
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc0")
    both = mx.mod.SequentialModule().add(mx.mod.Module(net, label_names=[]))
    both.add(mx.mod.Module(mlp()), take_labels=True, auto_wiring=True)
    with pytest.raises(NotSupportedError, match="SequentialModule has no optimizer of its own"):
        fit(mx.callback.Freeze("fc1_*"), module=both)


def test_counts_of_optax_go_on_behind_a_freeze():
    """With the counts of a frozen parameter the corrections of Adam would begin anew."""

    class Counts(mx.callback.Callback):
        def on_epoch_end(self, run):
            states = run.module._updater.states
            self.seen = [int(s[0].count.asnumpy()) for s in states.values()]

    counts = Counts()
    freeze = mx.callback.Freeze("fc1_*", until_epoch=1)
    fit(freeze, counts, num_epoch=2, kvstore=None, optimizer=optax.adam(0.01), optimizer_params=())
    assert counts.seen == [6] * 4


def test_parameters_are_frozen_until_fit_ends():
    module = fit(mx.callback.Freeze("fc1_*"), num_epoch=1)
    before = values(module)
    module.forward_backward(data().next())
    module.update()
    assert all((before[name] != value).any() for name, value in values(module).items())


def test_the_warning_of_nan_names_the_callers_line():
    bad = mx.io.NDArrayIter(np.full((8, 10), np.nan, np.float32), np.zeros(8, np.float32), 8)
    with pytest.warns(UserWarning, match="output 'softmax_output' is NaN") as seen:
        mx.mod.Module(mlp()).fit(bad, num_epoch=1)
    assert seen[0].filename == __file__


def test_fit_calls_no_get_outputs_of_a_users_own():
    class Own(mx.mod.Module):
        def get_outputs(self, merge_multi_context=True):
            raise AssertionError

    fit(module=Own(mlp()), num_epoch=1)
    sequence = mx.mod.SequentialModule().add(Own(mlp()), take_labels=True)
    fit(module=sequence, num_epoch=1)


def test_outputs_that_are_infinite_on_purpose_are_no_error():
    mask = mx.sym.BlockGrad(mx.sym.log(mx.sym.zeros((2,))), name="mask")
    module = mx.mod.Module(mx.sym.Group([mlp(), mask]))
    module.fit(data(), num_epoch=1, eval_metric="loss", callbacks=mx.callback.TerminateOnNaN())
    assert np.isinf(module.get_outputs()[1].asnumpy()).all()


@pytest.mark.filterwarnings("ignore:fit. parameter")
def test_not_finite_is_named():
    x = np.ones((COUNT, 10), np.float32)
    x[SIZE + 3] = np.nan
    bad = mx.io.NDArrayIter(x, np.zeros(COUNT, np.float32), SIZE)
    module = mx.mod.Module(mlp())
    with pytest.raises(
        mx.callback.NotFiniteError, match=r"output 'softmax_output' is NaN .* batch 2 of epoch 0"
    ):
        module.fit(bad, num_epoch=1, callbacks=[mx.callback.TerminateOnNaN()])
    huge = {"learning_rate": 3e38, "rescale_grad": 1e3}
    with pytest.raises(
        mx.callback.NotFiniteError, match=r"parameter 'fc1_weight' is not .* batch 1 "
    ):
        fit(mx.callback.TerminateOnNaN(), optimizer_params=huge)


def test_outputs_of_a_module_without_their_names_have_numbers():
    class Own(mx.mod.BaseModule):
        bind = init_params = init_optimizer = lambda self, *_, **__: vars(self).update(made)
        backward = update = set_params = update_metric = lambda self, *_, **__: None
        get_params, forward = lambda self: ({}, {}), lambda self, batch, **_: None

        def get_outputs(self, merge_multi_context=True):
            return [mx.nd.ones((1,)), mx.nd.array([np.nan])]

    made = dict.fromkeys(("binded", "params_initialized", "optimizer_initialized"), True)
    with pytest.raises(mx.callback.NotFiniteError, match="output number 1 is NaN"):
        Own().fit(data(), num_epoch=1, callbacks=[mx.callback.TerminateOnNaN()])
    with pytest.raises(NotImplementedError, match="Own has no output_shapes; its author"):
        Own().output_shapes  # noqa: B018


def test_lr_finder_sweeps_and_restores(tmp_path):
    finder = mx.callback.LRFinder(1e-4, 10, batches=9, path=tmp_path / "a" / "lr.png")
    module = fit(num_epoch=1)
    before, updates = values(module), module._present_optimizer.num_update
    fit(finder, module=module, num_epoch=9, eval_metric="ce")
    np.testing.assert_allclose(finder.rates, np.geomspace(1e-4, 10, 9)[: len(finder.rates)])
    assert len(finder.losses) == len(finder.rates) > 3
    assert finder.suggestion in finder.rates
    assert (tmp_path / "a" / "lr.png").read_bytes().startswith(b"\x89PNG")
    after = values(module)
    assert all(np.array_equal(before[n], after[n]) for n in before)
    assert module._present_optimizer.num_update == updates
    assert module._present_optimizer.lr == 0.5


def test_rows_of_epochs_and_batches(tmp_path):
    table, lines = tmp_path / "new" / "log.csv", tmp_path / "log.jsonl"
    parts = mx.callback.CSVLogger(table, 2), mx.callback.JSONLines(lines)
    module = fit(*parts, eval_data=data())
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [(r["epoch"], r["batch"], r["step"]) for r in rows] == [
        ("0", "2", "2"), ("0", "3", "3"), ("1", "1", "4"), ("1", "3", "6"), ("1", "3", "6"),
    ]  # fmt: skip
    assert rows[0]["validation-accuracy"] == "" != rows[1]["validation-accuracy"]
    read = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [r["epoch"] for r in read] == [0, 1]
    assert read[1]["train-accuracy"] == float(rows[-1]["train-accuracy"])
    assert read[1]["learning_rate"] == 0.5
    fit(*parts, module=module, num_epoch=1)  # a new training replaces the files
    assert len(lines.read_text().splitlines()) == 1


def test_logs_of_an_interrupted_training_are_those_of_an_unbroken_one(tmp_path):
    class End(Exception):
        pass

    class Ends(mx.callback.Callback):
        def on_batch_end(self, run):
            if run.step == 8:
                raise End

    def train(folder, *more):
        with mx.name.NameManager():
            module = mx.mod.Module(mlp())
        mx.random.seed(3)
        parts = [
            mx.callback.CSVLogger(folder / "a.csv", 1), mx.callback.JSONLines(folder / "b", 1),
            mx.callback.EMA(0.9), mx.callback.SWA(1), mx.callback.Freeze("fc1_bias", 2),
            mx.callback.EarlyStopping("train-accuracy", restore_best=True),
            mx.callback.Checkpoint(folder / "c", every_n_batches=4), *more,
        ]  # fmt: skip
        module.fit(data(), num_epoch=4, callbacks=parts, resume=folder / "c")
        return module

    (tmp_path / "whole").mkdir()
    whole = values(train(tmp_path / "whole"))
    with pytest.raises(End):
        train(tmp_path, Ends())
    with (tmp_path / "b").open("ab") as file:
        file.write(b"x" * 9999)  # rows behind the checkpoint
    parts = values(train(tmp_path))
    for name in ("a.csv", "b"):
        assert (tmp_path / name).read_text() == (tmp_path / "whole" / name).read_text()
    assert all(np.array_equal(whole[n], parts[n]) for n in whole)


def test_a_log_that_was_cut_is_refused(tmp_path):
    log = mx.callback.JSONLines(tmp_path / "log")
    log.load_state_dict({"size": 100})
    run = mx.callback.Run(None, None, None, None, range(1))
    run.resumed = True
    with pytest.raises(ParameterError, match="has 0 bytes, expected at least the 100"):
        log.on_fit_begin(run)


def test_timer_has_a_row_for_each_epoch(caplog):
    caplog.set_level(logging.INFO)
    timer = mx.callback.Timer()
    fit(timer, eval_data=data())
    assert [row["epoch"] for row in timer.rows] == [0, 1]
    assert all(row["train_s"] > 0 and row["eval_s"] > 0 for row in timer.rows)
    assert timer.rows[1]["samples_per_s"] > 0
    assert caplog.text.count("samples/s") == 2


def test_timer_tells_validation_from_training(monkeypatch):
    timer, clock = mx.callback.Timer(), iter([10.0, 20.0, 23.0, 40.0])
    run = mx.callback.Run(None, None, None, None, range(1))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    for hook in ("fit_begin", "eval_begin", "eval_end", "epoch_end"):
        getattr(timer, f"on_{hook}")(run)
    assert (timer.rows[0]["train_s"], timer.rows[0]["eval_s"]) == (27, 3)


def test_curves_are_drawn_after_each_epoch(tmp_path):
    class Look(mx.callback.Callback):
        sizes: list = []  # noqa: RUF012

        def on_epoch_end(self, run):
            self.sizes.append((tmp_path / "new" / "c.png").stat().st_size)

    fit(mx.callback.Curves(tmp_path / "new" / "c.png"), Look(), eval_data=data())
    assert len(Look.sizes) == 2
    assert (tmp_path / "new" / "c.png").read_bytes().startswith(b"\x89PNG")


def test_progress_is_lines_where_there_is_no_terminal(caplog):
    caplog.set_level(logging.INFO)
    fit(mx.callback.Progress())
    assert [r.message[:13] for r in caplog.records if r.name.endswith("progress")] == [
        "Epoch[0] of 2", "Epoch[1] of 2",
    ]  # fmt: skip


def test_progress_is_a_bar_on_a_terminal(monkeypatch):
    console = pytest.importorskip("rich.console")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(progress.sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(console.Console, "is_terminal", True)
    fit(mx.callback.Progress(refresh_s=0))
    shown = progress.sys.stderr.getvalue()
    assert "Epoch[1] of 2" in shown
    assert "3/3" in shown
    assert "train-accuracy" in shown
    assert not progress.bar_on(None).live.auto_refresh  # no thread beside the training


@pytest.mark.parametrize(
    ("width", "values"),
    [
        (40, "…"),
        (60, "acc 0.601  ce 1.091 …"),
        (80, "acc 0.601  ce 1.091  val-acc 0.612"),
        (124, "train-accuracy 0.6006  train-cross-entropy 1.0905  validation-accuracy 0.6122"),
        (140, "train-accuracy 0.6006  train-cross-entropy 1.0905  validation-accuracy 0.6122  "
              "9,000 samples/s"),
    ],
)  # fmt: skip
def test_a_narrow_bar_keeps_epoch_and_time(monkeypatch, width, values):
    console = pytest.importorskip("rich.console")
    shown = io.StringIO()
    terminal = console.Console(file=shown, width=width, force_terminal=True, color_system=None)
    monkeypatch.setattr(progress, "_bar", lambda: progress.bar_on(terminal))
    metrics = {"train-accuracy": 0.6006, "train-cross-entropy": 1.0905,
               "validation-accuracy": 0.6122}  # fmt: skip
    run = SimpleNamespace(
        epoch=0, num_epoch=3, batch=7, last_batch=False, samples_per_s=9000.0,
        metrics=metrics, train_data=mx.io.NDArrayIter(np.zeros((320, 1)), None, 32),
    )  # fmt: skip
    part = mx.callback.Progress()
    part.on_fit_begin(run)
    part.on_batch_end(run)
    line = shown.getvalue().splitlines()[-1]
    part.on_fit_end(run, None)
    assert "Epoch[0] of 3 ━" in line
    assert re.search(r"[━╸╺] +7/10 -:--:-- ", line)
    assert line.rstrip().endswith(f"-:--:-- {values}")


def test_checkpoints_of_an_earlier_training_are_replaced_on_request_only(tmp_path):
    fit(mx.callback.Checkpoint(tmp_path, keep=1), num_epoch=4)
    with pytest.raises(mx.MXNetError, match=r"of an earlier fit.*step-0000000012; go"):
        fit(mx.callback.Checkpoint(tmp_path, keep=1), num_epoch=1)
    assert [p.name for p in tmp_path.glob("step-*")] == ["step-0000000012"]
    both = [mx.callback.Checkpoint(tmp_path), mx.callback.Checkpoint(tmp_path / "b")]
    fit(*both, num_epoch=5, resume=tmp_path)  # of one training, since a name goes on with it
    fit(*both, num_epoch=6, resume=tmp_path)
    assert {p.name for p in (tmp_path / "b").glob("step-*")} == {
        "step-0000000015",
        "step-0000000018",
    }
    fit(mx.callback.Checkpoint(tmp_path, keep=1, overwrite=True), num_epoch=1)
    assert [p.name for p in tmp_path.glob("step-*")] == ["step-0000000003"]


def test_the_writing_thread_takes_a_share_of_the_time(tmp_path, monkeypatch):
    """A write computes for 5 ms, a batch takes 100: behind a write the thread rests for 245 ms."""
    now_s, computed_s = [0.0], itertools.count(step=0.005)
    clock = SimpleNamespace(monotonic=lambda: now_s[0], thread_time=lambda: next(computed_s))
    monkeypatch.setattr(checkpoint, "time", clock)
    part = mx.callback.Checkpoint(tmp_path, every_n_batches=1, keep=0)
    marked = []

    class Clock(mx.callback.Callback):
        order = 3

        def on_batch_end(self, run):
            part._writing.result()
            now_s[0] += 0.1
            marked.append(run.marking)

    mx.mod.Module(mlp()).fit(data(96), num_epoch=1, callbacks=[part, Clock()])
    written = [p.name for p in sorted(tmp_path.glob("step-*"))]
    assert written == [f"step-{step:010d}" for step in (1, 5, 9, 12)]
    assert [i for i, on in enumerate(marked, 1) if on] == [4, 8, 12]  # before it can be written


def test_a_synchronous_checkpoint_that_is_interrupted_does_not_hang(tmp_path, monkeypatch):
    checkpoint = mx.callback.Checkpoint(tmp_path, asynchronous=False)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("modkit.callback.checkpoint_folder.write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(checkpoint, num_epoch=1)


def test_callbacks_forget_an_earlier_training():
    part = mx.callback.EarlyStopping("validation-x", "max", patience=1)
    scripted(5, 4, part=part)
    seen, _ = scripted(1, 2, part=part)
    assert (seen.epochs, part.best) == ([0, 1], 2)


def test_a_finder_that_cannot_begin_says_why():
    module = mx.mod.Module(mlp())
    with pytest.raises(NotSupportedError, match="lr_scheduler"):
        fit(
            mx.callback.LRFinder(),
            module=module,
            optimizer_params={
                "learning_rate": 0.1,
                "lr_scheduler": mx.lr_scheduler.FactorScheduler(step=3),
            },
        )


def test_a_finder_refuses_checkpoints_and_metrics_that_grow(tmp_path):
    with pytest.raises(ParameterError, match="eval_metric: got 'accuracy'"):
        fit(mx.callback.LRFinder())
    checkpoint = mx.callback.Checkpoint(tmp_path)
    for options in ({"callbacks": [checkpoint]}, {"resume": tmp_path}):
        with pytest.raises(NotSupportedError, match="leave out Checkpoint and resume"):
            fit(mx.callback.LRFinder(), eval_metric="ce", **options)


def test_a_finder_takes_losses_of_any_name():
    def error(label, pred):
        return abs(label - pred.argmax(1)).mean()

    options = {"num_epoch": 1, "eval_metric": mx.metric.np(error, "vaccine_loss")}
    finder = mx.callback.LRFinder(batches=2)
    fit(finder, **options)
    assert len(finder.losses) == 2
    for wrong, name in (
        (mx.metric.Accuracy(name="loss"), "got 'loss', which grows"),
        (mx.metric.create(["f1", "ce"]), "got 'f1', which grows"),
        (mx.metric.CompositeEvalMetric(), "got none"),
    ):
        with pytest.raises(ParameterError, match=f"eval_metric: {name}"):
            fit(mx.callback.LRFinder(), eval_metric=wrong)


def test_two_averages_leave_the_training_alone():
    ema, swa = (kind(at_end=False) for kind in (mx.callback.EMA, mx.callback.SWA))
    alone = values(fit(eval_data=data()))
    for averages in ((ema, swa), (swa, ema)):
        beside = values(fit(*averages, eval_data=data()))
        assert all(np.array_equal(alone[n], beside[n]) for n in alone)


@pytest.mark.parametrize(
    ("part", "text"),
    [(mx.callback.ClipGlobalNorm(2.0), "ClipGlobalNorm(max_norm=2.0)"),
     (mx.callback.Freeze("fc1*"), "Freeze(names=['fc1*'], from_epoch=0)"),
     (mx.callback.EMA(0.9), "EMA(decay=0.9, at_end=True)"),
     (mx.callback.SWA(2), "SWA(first_epoch=2, at_end=True)"),
     (mx.callback.LRFinder(batches=9), "LRFinder(lowest=1e-06, highest=1.0, batches=9, "),
     (mx.callback.ReduceLROnPlateau("x"), "ReduceLROnPlateau(monitor='x', mode='max', "),
     (mx.callback.EarlyStopping("x"), "EarlyStopping(monitor='x', mode='max', ")],
)  # fmt: skip
def test_workers_compare_callbacks_that_change_a_training(part, text):
    assert part.collective() == {"parameters": repr(part)} and text in repr(part)


def test_each_worker_may_have_its_own_logs(tmp_path):
    for part in (mx.callback.CSVLogger(tmp_path / "a"), mx.callback.Progress(), Scripted()):
        assert part.collective() is None


def test_counts_of_optax_go_on_with_another_number_of_devices(monkeypatch):
    """The frozen parameters are the first, and their counts are 0."""
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    freeze = mx.callback.Freeze("fc1_*", until_epoch=2)

    options = {"kvstore": "device", "optimizer": optax.adam(0.01), "optimizer_params": ()}
    many = mx.mod.Module(mlp(), context=[mx.cpu(0), mx.cpu(1)])
    fit(freeze, module=many, num_epoch=1, **options)
    one = mx.mod.Module(mlp())
    one.bind([("data", (SIZE, 10))], [("softmax_label", (SIZE,))])
    one.init_params(mx.init.Xavier())
    one.init_optimizer(kvstore=None, optimizer=optax.adam(0.01))
    one.load_state_dict(many.state_dict())
    fit(module=one, num_epoch=1, **options)
    assert {int(s[0].count.asnumpy()) for s in one._present_updater.states.values()} == {6}


@pytest.mark.parametrize("case", ["adam", "clipped", "optax", "own"])
@pytest.mark.parametrize("kvstore", ["local", None])
def test_all_parameters_can_be_frozen(case, kvstore):
    seen, options = Scripted(), {"kvstore": kvstore, "optimizer": "adam", "optimizer_params": ()}
    if case in ("optax", "own"):
        options["optimizer"] = FROZEN[case]["optimizer"]
    clip = [mx.callback.ClipGlobalNorm(0.5)] if case == "clipped" else []
    fit(mx.callback.Freeze("*", until_epoch=1), *clip, seen, num_epoch=2, **options)
    ends = seen.params[2::3]
    for name, start in seen.params[0].items():
        np.testing.assert_array_equal(ends[0][name], start)
        assert not np.array_equal(ends[1][name], start)


def test_fit_takes_a_subclass_that_computes_by_itself():
    class Own(mx.mod.Module):
        def forward(self, data_batch, is_train=None):
            self.made = [mx.nd.softmax(data_batch.data[0][:, :4] * self.factor)]

        def get_outputs(self, merge_multi_context=True):
            return self.made

        def backward(self, out_grads=None):
            pass

        update = backward

        def update_metric(self, eval_metric, labels, pre_sliced=False):
            eval_metric.update(labels, self.made)

    module = Own(mlp())
    module.factor = 1
    module.fit(data(), num_epoch=1)
    module.factor = np.nan
    with pytest.warns(UserWarning, match="output 'softmax_output' is NaN"):
        module.fit(data(), num_epoch=1)
