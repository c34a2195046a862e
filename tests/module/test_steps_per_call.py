"""Several batches by one call: the same numbers, and what callbacks see."""

import functools

import numpy as np
import pytest

import modkit as mx
from modkit import stream
from modkit.compile import program
from modkit.tuning.xla_options import compile_program
from tests.barriers import need_kept_barriers
from tests.module.networks import assert_same, values

CONTEXTS = {
    "one": lambda: mx.cpu(),
    "vmap": lambda: [mx.cpu(0), mx.cpu(4)],
    "pmap": lambda: [mx.cpu(0), mx.cpu(1)],
}
ROWS, BATCH = 76, 8  # nine whole batches, and one that is padded


def network():
    """A convolution, moving statistics, a fixed gamma and dropout."""
    net = mx.sym.Convolution(
        mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, no_bias=True, name="conv"
    )
    net = mx.sym.BatchNorm(net, name="bn")
    net = mx.sym.Dropout(mx.sym.Flatten(mx.sym.relu(net)), p=0.3, name="drop")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=4, name="fc"), name="softmax")


def iterator(**options):
    stream = np.random.RandomState(5)
    data = stream.normal(size=(ROWS, 2, 5, 5)).astype(np.float32)
    label = stream.randint(0, 4, ROWS).astype(np.float32)
    return mx.io.NDArrayIter(data, label, BATCH, **options)


def fitted(train=None, *, where="one", metric="acc", optimizer="sgd", params=None, **options):
    """A module after two epochs, and what its callbacks saw."""
    module = mx.mod.Module(network(), context=CONTEXTS[where]())
    seen = []

    def callback(param):
        seen.append((param.epoch, param.nbatch, param.eval_metric.get()[1]))

    mx.random.seed(7)
    module.fit(
        train or iterator(),
        eval_metric=metric,
        optimizer=optimizer,
        optimizer_params=params or {"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-3},
        initializer=mx.init.Xavier(),
        batch_end_callback=callback,
        num_epoch=2,
        **options,
    )
    return module, seen


@functools.cache
def one_by_one(where="one"):
    """Values after steps that are calls of their own, and what callbacks saw."""
    module, seen = fitted(where=where)
    return values(module), seen


@pytest.mark.parametrize("where", CONTEXTS)
def test_the_same_numbers(where):
    (one, seen_one), (many, seen_many) = one_by_one(where), fitted(where=where, steps_per_call=4)
    assert_same(one, values(many), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen_one, seen_many, rtol=1e-6)


@pytest.mark.parametrize("optimizer", ["adam", "ftml", "sgld"])
def test_counts_rates_and_noise_go_on(optimizer):
    def schedule():
        return mx.lr_scheduler.FactorScheduler(step=3, factor=0.7)

    reached = []
    for steps in (1, 3):
        params = {"learning_rate": 0.01, "lr_scheduler": schedule()}
        module, _ = fitted(optimizer=optimizer, params=params, steps_per_call=steps)
        assert module._optimizer.num_update == 20
        reached.append(values(module))
    assert_same(*reached, rtol=1e-3, atol=1e-5)


def test_outputs_and_gradients_are_those_of_the_last_batch():
    one, many = fitted()[0], fitted(steps_per_call=5)[0]
    gradients = [[g[0].asnumpy() for g in m._exec_group.grad_arrays] for m in (one, many)]
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
    for module in (one, many):
        mx.random.seed(3)
        module.forward_backward(next(iterator()))
        module.update()
    shown = [m.get_outputs()[0].asnumpy() for m in (one, many)]
    np.testing.assert_allclose(*shown, rtol=1e-4, atol=1e-5)


def test_one_program_for_all_calls(compilations):
    programs = compilations.during(lambda: fitted(steps_per_call=5, metric="ce"))
    assert programs.count("steps") == 1
    assert "step" not in programs


def test_steps_in_a_row_need_the_room_of_one(monkeypatch):
    needed = {}

    def compiled(lowered, options):
        made = compile_program(lowered, options)
        need_kept_barriers(options)
        size = made.memory_analysis().temp_size_in_bytes
        needed[steps] = max(size, needed.get(steps, 0))
        return made

    monkeypatch.setattr(program, "compile_program", compiled)
    data, label = np.ones((64, 8, 24, 24), np.float32), np.zeros(64, np.float32)
    for steps in (1, 8):
        fitted(mx.io.NDArrayIter(data, label, BATCH), steps_per_call=steps)
    assert 0 < needed[8] < 1.5 * needed[1]


def test_bulk_is_the_same():
    expected = values(fitted(steps_per_call=5)[0])
    with mx.engine.bulk(5):
        module, _ = fitted()
    assert mx.engine.steps_per_call() == 1
    assert_same(values(module), expected, rtol=0, atol=0)


class Reusing(mx.io.DataIter):
    """Hands out the same arrays again and again, with other numbers in them."""

    def __init__(self, inner):
        super().__init__(inner.batch_size)
        self.inner = inner
        self.provide_data, self.provide_label = inner.provide_data, inner.provide_label
        self.data = [mx.nd.zeros(d.shape) for d in inner.provide_data]
        self.label = [mx.nd.zeros(d.shape) for d in inner.provide_label]

    def reset(self):
        self.inner.reset()

    def next(self):
        batch = self.inner.next()
        self.data[0][:], self.label[0][:] = batch.data[0], batch.label[0]
        return mx.io.DataBatch(self.data, self.label, pad=batch.pad)


def test_an_iterator_may_reuse_its_arrays():
    module, _ = fitted(Reusing(iterator()), steps_per_call=4)
    assert_same(values(module), one_by_one()[0], rtol=1e-4, atol=1e-5)


def test_what_cannot_go_together_goes_one_by_one(compilations):
    def share(label, pred):
        return float((pred.argmax(1) == label).mean())

    own = mx.metric.np(share)
    programs = compilations.during(lambda: fitted(metric=own, steps_per_call=4))
    assert "steps" not in programs
    (one, seen_one), (many, seen_many) = fitted(metric=own), fitted(metric=own, steps_per_call=4)
    assert_same(values(one), values(many))
    assert seen_one == seen_many


def test_an_update_of_ones_own_is_called_for_each_batch():
    class Counting(mx.mod.Module):
        updates = 0

        def update(self):
            self.updates += 1
            super().update()

    module = Counting(network())
    module.fit(iterator(), initializer=mx.init.Xavier(), num_epoch=1, steps_per_call=4)
    assert module.updates == 10


CALLS = ["forward_backward", "forward", "backward", "update", "update_metric", "prepare"]


@pytest.mark.parametrize("of", ["subclass", "class", "module"])
def test_a_method_of_ones_own_is_called_for_each_batch(of, monkeypatch):
    for name in CALLS:
        called, owner = [], mx.mod.Module if of == "class" else type("Own", (mx.mod.Module,), {})
        module = owner(network())
        true = getattr(module if of == "module" else owner, name)

        def own(*args, true=true, called=called, **options):
            called.append(1)
            return true(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(module if of == "module" else owner, name, own)
            module.fit(iterator(), initializer=mx.init.Xavier(), num_epoch=1)
        assert len(called) == 10 - (name == "prepare"), name


def test_a_monitor_that_is_installed_while_training_sees_the_batches_after_it():
    module, monitor = mx.mod.Module(network()), mx.mon.Monitor(1, pattern="fc_output")
    seen = []

    def callback(param):
        if param.nbatch == 2:
            module.install_monitor(monitor)
        seen.append(len(monitor.toc()))
        monitor.tic()

    module.fit(iterator(), num_epoch=1, batch_end_callback=callback)
    assert seen == [0] * 3 + [1] * 7


def test_settings_that_change_while_training_count_at_the_next_batch():
    """Momentum, rate, decay and frozen parameters; beside calls that are written out."""

    def change(optimizer, nbatch):
        if nbatch == 2:
            optimizer.momentum, optimizer.lr_mult["fc_bias"] = 0.5, 3.0
        elif nbatch == 4:
            optimizer.set_learning_rate(0.01)
            optimizer.wd = 0.1

    def prepared():
        mx.random.seed(7)
        module = mx.mod.Module(network())
        module.bind(iterator().provide_data, iterator().provide_label)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
        return module

    one, other = prepared(), prepared()
    mx.random.seed(7)
    for nbatch, batch in enumerate(iterator()):
        one.forward_backward(batch)
        one.update()
        one.update_metric(mx.metric.create("acc"), batch.label)
        change(one._optimizer, nbatch)
    mx.random.seed(7)
    other.fit(
        iterator(), num_epoch=1,
        batch_end_callback=lambda param: change(other._optimizer, param.nbatch),
    )  # fmt: skip
    assert_same(values(one), values(other), rtol=0, atol=0)


@pytest.mark.parametrize("steps", [0, -1, 2.5, True, "4"])
def test_a_number_that_is_none(steps):
    with pytest.raises(
        ValueError, match=r"steps_per_call: got .* expected an integer of at least 1"
    ):
        fitted(steps_per_call=steps)


@pytest.mark.parametrize(("steps", "done"), [(1, 5), (4, 4)])
def test_a_schedule_that_raises_counts_no_batch_of_its_call(steps, done):
    class Ending(mx.lr_scheduler.LRScheduler):
        def __call__(self, count):
            if count > 5:
                raise RuntimeError("ended")
            return 0.1

    module, drawn = mx.mod.Module(network()), []
    mx.random.seed(0)
    with pytest.raises(RuntimeError, match="ended"):
        module.fit(iterator(), num_epoch=1, steps_per_call=steps,
                   batch_end_callback=lambda _: drawn.append(stream.position()),
                   optimizer_params={"lr_scheduler": Ending()})  # fmt: skip
    assert stream.position() == drawn[-1]
    assert module._present_optimizer.num_update == done
    assert set(module._present_optimizer._index_update_count.values()) == {done}
