"""Callback objects of `fit`: events in order, metrics, stopping, and errors as they are."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import ParameterError
from tests.module.networks import mlp


class Recorder(mx.callback.Callback):
    """The names of the events, with the position."""

    def __init__(self):
        self.events, self.seen = [], []

    def on_fit_begin(self, run):
        self.events.append("fit")

    def on_epoch_begin(self, run):
        self.events.append(f"epoch {run.epoch}")

    def on_batch_end(self, run):
        self.events.append(f"batch {run.batch} of {run.step}")
        self.seen.append(run.metrics)

    def on_eval_begin(self, run):
        self.events.append("eval")

    def on_eval_end(self, run):
        self.events.append("scored")
        self.seen.append(run.metrics)

    def on_epoch_end(self, run):
        self.events.append(f"end {run.epoch}")

    def on_fit_end(self, run, error):
        self.events.append(error)


def data(count=24, size=8, shuffle=False):
    stream = np.random.RandomState(5)
    x = stream.normal(size=(count, 10)).astype(np.float32)
    y = stream.randint(0, 4, count).astype(np.float32)
    return mx.io.NDArrayIter(x, y, size, shuffle=shuffle)


def fit(*callbacks, module=None, **options):
    module = module or mx.mod.Module(mlp())
    options = {"num_epoch": 2, "optimizer_params": {"learning_rate": 0.5}, **options}
    module.fit(data(), callbacks=list(callbacks), **options)
    return module


def test_events_come_in_order():
    recorder = Recorder()
    fit(recorder, eval_data=data(), num_epoch=1)
    batches = [f"batch {n} of {n}" for n in (1, 2, 3)]
    expected = ["fit", "epoch 0", *batches, "eval", "scored", "end 0", None]
    assert recorder.events == expected
    assert list(recorder.seen[0]) == ["train-accuracy"]
    assert list(recorder.seen[-1]) == ["train-accuracy", "validation-accuracy"]


def test_a_run_shows_rate_speed_and_history():
    class Look(mx.callback.Callback):
        def on_fit_end(self, run, error):
            self.run = run

    look = Look()
    module = fit(look)
    run = look.run
    assert (run.module, run.epoch, run.batch, run.step) == (module, 1, 3, 6)
    assert (run.learning_rate, run.num_epoch) == (0.5, 2)
    assert run.samples_per_s > 0
    assert [(row["epoch"], 0 <= row["train-accuracy"] <= 1) for row in run.history] == [
        (0, True), (1, True),
    ]  # fmt: skip


@pytest.mark.parametrize(("steps", "trained"), [(1, 2), (3, 3)])
def test_stop_training_ends_behind_the_batch_or_its_chunk(steps, trained):
    class Stop(Recorder):
        def on_batch_end(self, run):
            super().on_batch_end(run)
            if run.step == 2:
                run.stop_training()

    stop = Stop()
    fit(stop, steps_per_call=steps, num_epoch=2)
    batches = [e for e in stop.events if e and e.startswith("batch")]
    assert len(batches) == trained
    ended = ["end 0"] if trained == 3 else []  # the epoch was complete
    assert stop.events == ["fit", "epoch 0", *batches, *ended, None]


def test_stop_at_an_epochs_end_and_train_on():
    class Stop(Recorder):
        def on_epoch_end(self, run):
            super().on_epoch_end(run)
            run.stop_training()

    stop = Stop()
    module = fit(stop, num_epoch=5)
    assert stop.events[-2:] == ["end 0", None]
    fit(stop, module=module)


@pytest.mark.parametrize(
    "where", ["on_fit_begin", "on_epoch_begin", "on_batch_end", "on_eval_end", "on_epoch_end"]
)
@pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt(), StopIteration()])
def test_errors_reach_the_caller_as_they_are(where, error):
    class Fails(mx.callback.Callback):
        pass

    def fail(self, run):
        raise error

    setattr(Fails, where, fail)
    recorder, module = Recorder(), mx.mod.Module(mlp())
    with pytest.raises(type(error)) as caught:
        fit(recorder, Fails(), module=module, eval_data=data())
    assert caught.value is error
    assert recorder.events[-1] is error
    fit(module=module)  # which stays usable


def test_every_callback_ends_where_one_raises_at_the_end():
    class Fails(mx.callback.Callback):
        def on_fit_end(self, run, error):
            raise RuntimeError("mine")

    recorder = Recorder()
    with pytest.raises(RuntimeError, match="mine"):
        fit(Fails(), recorder)
    assert recorder.events[-1] is None


def test_a_function_is_refused():
    with pytest.raises(ParameterError, match="batch_end_callback"):
        fit(lambda run: None)


def test_a_callback_that_can_be_called_is_a_function_too():
    class Both(mx.callback.Callback):
        batches = 0

        def __call__(self, param):
            self.batches += 1

    both = Both()
    fit(batch_end_callback=both)
    assert both.batches


@pytest.mark.parametrize("given, words", [
    (mx.callback.Speedometer(4), "got an object of Speedometer, .* go to batch_end_callback"),
    (print, "got <built-in function print>.*functions, .* go to batch_end_callback"),
    (mx.callback.Timer, r".*Timer'>, expected .*; call it: Timer\(...\)"),
    ([mx.callback.Timer], r".*Timer'>, expected .*; call it: Timer\(...\)"),
    ("timer", "got 'timer'"),
    (3, "got 3"),
])  # fmt: skip
def test_callbacks_that_are_none(given, words):
    with pytest.raises(ParameterError, match=f"fit: callbacks: {words}"):
        mx.mod.Module(mlp()).fit(data(), num_epoch=1, callbacks=given)
