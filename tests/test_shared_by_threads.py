"""Stores, gradients, files, iterators and modules that several threads share: nothing is lost."""

import copy
import pickle
import sys
import threading

import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.io import record_format
from modkit.metric import traced
from modkit.module import module as module_file
from modkit.module import steps
from modkit.ndarray import tape_gradients
from modkit.optimizer import eager_update
from modkit.step import bound
from modkit.step import store as step_store
from tests.module.networks import batches, mlp, ready
from tests.threads import run_all


class Overtaker:
    """Work of another thread that begins in the middle of a call, the first time.

    It gets as far as it can: to its end, where nothing makes it wait for that call.
    """

    def __init__(self, work):
        self._thread = threading.Thread(target=work)

    def after(self, call):
        """The call, after which the work begins."""

        def both(*args, **kwargs):
            result = call(*args, **kwargs)
            if self._thread.ident is None:
                self._thread.start()
                self._thread.join(0.03)
            return result

        return both

    def end(self):
        """Wait for the end of the work."""
        if self._thread.ident is None:
            self._thread.start()
        self._thread.join(60)
        assert not self._thread.is_alive()


def test_pushes_are_all_in_the_stored_value():
    store, out, one = mx.kv.create("local"), mx.nd.zeros((2,)), mx.nd.ones((2,))
    store.init("w", out)
    other = Overtaker(lambda: store.push("w", one))
    read = other.after(mx.nd.NDArray.asnumpy)
    store.set_updater(lambda key, total, stored: stored._set(total + mx.nd.array(read(stored))))
    store.push("w", one)
    other.end()
    store.pull("w", out)
    assert out.asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("device", [False, True])
def test_added_gradients_are_all_there(device, monkeypatch):
    x = mx.nd.array([1, 2])
    x.attach_grad("add")
    if device:
        x.grad.to_jax().block_until_ready()

    def add():
        with mx.autograd.record():
            y = x * 3
        y.backward()

    add()
    other = Overtaker(add)
    monkeypatch.setattr(tape_gradients, "needs_x64", other.after(tape_gradients.needs_x64))
    add()
    other.end()
    assert x.grad.asnumpy().tolist() == [9, 9]


@pytest.mark.slow  # two programs are compiled
def test_a_step_waits_for_the_update_of_a_module_that_shares_its_parameters(monkeypatch):
    (batch,) = batches(1)
    first = ready(mlp(), batch, momentum=0.9)
    second = mx.mod.Module(mlp())
    second.bind(first.data_shapes, first.label_shapes, shared_module=first)
    second.borrow_optimizer(first)

    def step():
        first.forward_backward(batch)
        first.update()
        mx.nd.waitall()

    other = Overtaker(step)
    monkeypatch.setattr(eager_update, "placed_on", other.after(eager_update.placed_on))
    second.forward_backward(batch)
    step()  # which runs the pass of the other module first: its update comes by itself
    second.update()
    other.end()
    assert first._optimizer.num_update == 3
    assert all(np.isfinite(v.asnumpy()).all() for v in first.get_params()[0].values())


@pytest.mark.parametrize("fused", [True, False], ids=["fit", "update"])
def test_states_move_to_one_of_two_threads_whose_modules_share_an_optimizer(fused, monkeypatch):
    (batch,) = batches(1)
    first = ready(mlp(), batch, momentum=1.0, learning_rate=1e-4)  # the states add up
    second = mx.mod.Module(mlp())
    second.bind(first.data_shapes, first.label_shapes)
    second.init_params(None, *first.get_params())
    second.borrow_optimizer(first)

    def step(module):
        if fused:
            assert module._train_on([batch], mx.metric.create("acc")) is not None
        else:
            module.forward_backward(batch)
            module.update()

    step(first)
    once = first._updater.states[0].asnumpy()
    step(second)
    store, release = second._exec_group.store, step_store.Store._release
    other = Overtaker(lambda: step(second))
    taken = other.after(release)
    monkeypatch.setattr(
        step_store.Store, "_release", lambda own, n: (taken if own is store else release)(own, n)
    )
    step(first)  # the other thread takes what this one has just made free
    other.end()
    for module in (first, second, first, second):
        step(module)
    np.testing.assert_allclose(first._updater.states[0].asnumpy(), 8 * once, 0.02, 1e-7)


@pytest.mark.parametrize("how", ["forward", "fit"])
def test_a_batch_of_another_shape_waits_for_the_pass_of_a_thread(how, monkeypatch):
    (batch,) = batches(1)
    few = mx.io.DataBatch([batch.data[0][:3]], [batch.label[0][:3]])
    module = ready(mlp(), batch)
    for each in (few, batch):  # so that a bind takes less time than the other thread has
        module.forward(each)
    other = Overtaker(lambda: module.forward(few, is_train=False))
    where, name = (module_file, "accepted") if how == "forward" else (steps, "take_over")
    monkeypatch.setattr(where, name, other.after(getattr(where, name)))
    if how == "forward":
        module.forward(batch, is_train=False)
    else:
        assert module._train_on([batch], mx.metric.create("acc")) is not None
        mx.nd.waitall()
    other.end()
    assert module.get_outputs()[0].asnumpy().shape == (3, 4)


def test_a_backward_pass_waits_for_the_bind_of_another_thread(monkeypatch):
    (batch,) = batches(1)
    few = mx.io.DataBatch([batch.data[0][:3]], [batch.label[0][:3]])
    module, found = ready(mlp(), batch), []
    module.forward(batch)

    def gradient():
        module.backward()
        found.append(module._exec_group.grad_arrays[0][0].asnumpy())

    other, bind = Overtaker(gradient), mx.mod.Module._fit_shapes
    monkeypatch.setattr(mx.mod.Module, "_fit_shapes", other.after(bind))
    module.forward(few)
    other.end()
    assert np.isfinite(found).all()


def test_a_value_read_by_one_of_two_trainers_outlives_the_step_of_the_other():
    (batch,) = batches(1)
    module, kept = ready(mlp(), batch, momentum=0.9), []

    def step():
        module.forward_backward(batch)
        module.update()
        kept.append(module._exec_group.store.params["fc1_weight"].peek())

    step()
    run_all([threading.Thread(target=step)])
    step()
    assert np.isfinite(np.asarray(kept[1])).all()


def test_a_value_read_by_a_thread_before_the_first_step_outlives_it():
    (batch,) = batches(1)
    module, kept = ready(mlp(), batch, momentum=0.9), []
    cell = module._exec_group.store.params["fc1_weight"]
    run_all([threading.Thread(target=lambda: kept.append(cell.peek()))])
    for _ in range(2):
        module.forward_backward(batch)
        module.update()
        run_all([threading.Thread(target=lambda: kept.append(cell.peek()))])
    assert all(np.isfinite(np.asarray(value)).all() for value in kept)


READS = {
    "asnumpy": lambda w: w.asnumpy(),
    "part": lambda w: w[0:3].asnumpy(),
    "reshaped": lambda w: w.reshape((-1,)).asnumpy(),
    "element": lambda w: float(w.reshape((-1,))[0]),
    "chosen": lambda w: w[[0, 1]].asnumpy(),
    "wait_to_read": lambda w: w.wait_to_read(),
}
READS_ALONE = {
    "product": lambda w: (w * 2).asnumpy(),
    "norm": lambda w: mx.nd.norm(w).asnumpy(),
    "pickle": lambda w: pickle.dumps(w),
}
"""Reads that cost a copy of the whole array where there are other threads."""


@pytest.mark.parametrize("alone", [False, True])
def test_values_that_are_copied_or_waited_for_cost_the_next_step_no_copy(alone, monkeypatch):
    (batch,) = batches(1)
    monkeypatch.setattr(step_store, "other_threads", lambda: not alone)
    module, copies = ready(mlp(), batch, momentum=0.9), []
    weight = module._exec_group.execs[0].arg_dict["fc1_weight"]
    made = step_store.copy_of
    monkeypatch.setattr(step_store, "copy_of", lambda value: copies.append(1) or made(value))

    def step():
        module.forward_backward(batch)
        module.update()
        mx.nd.waitall()

    step()  # which copies what was not made by a step
    for name, read in (READS | READS_ALONE if alone else READS).items():
        read(weight)
        del copies[:]
        step()
        assert copies == [], name


@pytest.mark.parametrize("kvstore", ["local", "a store"])
def test_no_step_ends_while_states_are_read(kvstore, tmp_path, monkeypatch):
    (batch,) = batches(1)
    store = mx.kv.create("local") if kvstore == "a store" else kvstore
    module = ready(mlp(), batch, momentum=0.9, kvstore=store)
    lock, free = module._exec_group.store.lock, []

    def try_lock():
        free.append(lock.acquire(blocking=False) and not lock.release())

    updater = module._present_updater
    plain = updater._plain
    monkeypatch.setattr(
        updater, "_plain", lambda *a: run_all([threading.Thread(target=try_lock)]) or plain(*a)
    )
    module.forward_backward(batch)
    module.update()
    module.save_optimizer_states(str(tmp_path / "states"))
    assert free == [False]


def test_a_store_of_the_users_own_saves_states_without_a_lock(monkeypatch):
    (batch,), free = batches(1), []
    store = mx.kv.create("local")
    module = ready(mlp(), batch, momentum=0.9, kvstore=store)
    lock = module._exec_group.store.lock

    def save(path):
        run_all([threading.Thread(target=lambda: free.append(lock.acquire(timeout=5)))])

    monkeypatch.setattr(store, "save_optimizer_states", save)
    module.save_optimizer_states("states")
    assert free == [True]


def test_records_of_a_shared_file_are_whole(tmp_path, monkeypatch):
    index, path = str(tmp_path / "x.idx"), str(tmp_path / "x.rec")
    with mx.recordio.MXIndexedRecordIO(index, path, "w") as writer:
        other = Overtaker(lambda: writer.write_idx(1, b"one" * 9))
        writer.tell = other.after(writer.tell)
        writer.write_idx(0, b"none")
        other.end()
    with mx.recordio.MXIndexedRecordIO(index, path, "r") as reader:
        assert (reader.read_idx(1), reader.read_idx(0)) == (b"one" * 9, b"none")
        other = Overtaker(lambda: reader.read_idx(1))
        reader.seek = other.after(reader.seek)
        assert reader.read_idx(0) == b"none"
        other.end()
    with mx.recordio.MXRecordIO(path, "r") as reader:
        found = []
        other = Overtaker(lambda: found.append(reader.read()))
        header = other.after(record_format.read_header)
        monkeypatch.setattr(record_format, "read_header", header)
        found.append(reader.read())
        other.end()
    assert sorted(found) == [b"none", b"one" * 9]


def test_the_places_of_a_shared_file_are_those_of_records(tmp_path):
    path = tmp_path / "x.rec"
    with mx.recordio.MXRecordIO(path, "w") as writer:
        for content in (b"", b"one"):
            writer.write(content)
    with mx.recordio.MXRecordIO(path, "r") as reader:
        other, found = Overtaker(lambda: found.append(reader.read())), []
        reader._handle = other.after(reader._handle)
        assert reader.places() == ([0, 8], 20)
        other.end()
        assert found == [b""] and reader.read() == b"one"


def test_a_file_that_a_thread_opens_again_is_opened_once_at_a_time(tmp_path):
    path = tmp_path / "x.rec"
    with mx.recordio.MXRecordIO(path, "w") as writer:
        writer.write(b"one")
    with mx.recordio.MXRecordIO(path, "r") as reader:
        other, found = Overtaker(lambda: found.append(reader.read())), []
        reader.close = other.after(reader.close)
        reader.open()
        other.end()
        assert found == [b"one"]


def test_a_shallow_copy_of_a_reader_has_a_lock_of_its_own(tmp_path):
    path = tmp_path / "x.rec"
    with mx.recordio.MXRecordIO(path, "w") as writer:
        writer.write(b"one")
    with mx.recordio.MXRecordIO(path, "r") as reader, copy.copy(reader) as other:
        assert other._turn is not reader._turn
        assert reader.read() == other.read() == b"one"


def test_each_batch_goes_to_one_thread():
    numbers, found = np.arange(4), []
    iterator = mx.io.PrefetchingIter(mx.io.NDArrayIter(numbers, numbers, 2))

    def take():
        found.append(iterator.next().label[0].asnumpy().tolist())

    other = Overtaker(take)
    iterator.iter_next = other.after(iterator.iter_next)
    take()
    other.end()
    assert sorted(found) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("call", ["next", "reset"])
def test_each_image_goes_to_one_batch(call, tmp_path):
    pytest.importorskip("PIL")
    path = str(tmp_path / "x.rec")
    with mx.recordio.MXRecordIO(path, "w") as writer:
        for number in range(4):
            image = np.zeros((4, 4, 3), np.uint8)
            writer.write(mx.recordio.pack_img((0, number, number, 0), image, 9, ".png"))
    iterator, found = mx.image.ImageIter(2, (3, 4, 4), path_imgrec=path), []

    def take():
        found.append(iterator.next().label[0].asnumpy().tolist())

    other = Overtaker(iterator.reset if call == "reset" else take)
    iterator.next_sample = other.after(iterator.next_sample)
    take()
    other.end()
    if call == "reset":
        take()
    assert sorted(found) == [[0, 1], [0, 1] if call == "reset" else [2, 3]]  # of either thread


def test_the_profiler_starts_once(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(mx.profiler, "_folder", str(tmp_path / "trace"))
    monkeypatch.setattr(mx.profiler, "_write", lambda: "")
    monkeypatch.setattr("jax.profiler.stop_trace", started.pop)
    other = Overtaker(lambda: mx.profiler.set_state("run"))
    monkeypatch.setattr("jax.profiler.start_trace", other.after(started.append))
    mx.profiler.set_state("run")
    other.end()
    mx.profiler.set_state("stop")
    assert not started


def _on_a_device(metric):
    """An update of one right and one wrong class, which stays pending."""
    sums = metric.fused()([jnp.array([0.0, 0.0])], [jnp.eye(2)])
    return lambda: metric.absorb(sums)


def test_pending_updates_of_a_metric_count_once(monkeypatch):
    metric = mx.metric.Accuracy()
    update = _on_a_device(metric)
    update()
    other = Overtaker(metric.get)
    monkeypatch.setattr(traced, "_fetched", other.after(traced._fetched))
    assert metric.get() == ("accuracy", 0.5)
    other.end()
    assert (metric.sum_metric, metric.num_inst) == (1, 2)


def test_no_update_of_a_metric_waits_for_another_threads_device(monkeypatch):
    metric = mx.metric.Accuracy()
    update = _on_a_device(metric)
    update()
    other = Overtaker(update)
    fetched = traced._fetched

    def waits(updates):
        other.end()  # while this thread waits for the device
        return fetched(updates)

    monkeypatch.setattr(traced, "_fetched", waits)
    assert metric.get_global() == ("accuracy", 0.5)
    assert metric.num_inst == 4


@pytest.mark.parametrize("name", ["acc", "f1", "ce", "pearsonr", mx.metric.np(lambda y, p: 1.0)])
def test_all_updates_of_a_metric_are_in_its_totals(name, monkeypatch):
    metric, labels = mx.metric.create(name), np.array([0.0, 1.0])
    outputs = labels if metric.name == "pearsonr" else np.array([[0.9, 0.1], [0.2, 0.8]])

    def update():
        metric.update([labels], [outputs])

    update()
    once = metric.num_inst
    other = Overtaker(update)
    custom = isinstance(metric, mx.metric.CustomMetric)
    owner, field = (mx.metric.CustomMetric, "num_inst") if custom else (traced.Totals, "count")

    def write(self, count):
        vars(self)[field] = count

    read = other.after(lambda self: vars(self)[field])
    monkeypatch.setattr(owner, field, property(read, write), raising=False)
    update()
    other.end()
    assert metric.num_inst == metric.global_num_inst == 3 * once


def test_all_updates_are_counted(fast_switches):
    optimizer = mx.optimizer.SGD()

    def update():
        for _ in range(300):
            optimizer._update_count(0)
            optimizer._update_count([1, 2])

    run_all([threading.Thread(target=update) for _ in range(3)])
    assert dict(optimizer._index_update_count) == {0: 900, 1: 900, 2: 900}
    assert optimizer.num_update == 900


@pytest.mark.parametrize("where", ["on_host", "compiled"])
def test_no_update_of_a_shared_weight_is_lost(where, monkeypatch):
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
    weight, one = mx.nd.zeros((2,)), mx.nd.ones((2,))
    update(0, one, weight)
    if where == "compiled":
        weight.to_jax().block_until_ready()
    other = Overtaker(lambda: update(0, one, weight))
    call = getattr(eager_update._Call, where)
    monkeypatch.setattr(eager_update._Call, where, other.after(call))
    wait = threading.Event()
    bystander = threading.Thread(target=wait.wait)  # so that there are several threads
    bystander.start()
    update(0, one, weight)
    other.end()
    wait.set()
    bystander.join(60)
    assert weight.asnumpy().tolist() == [-1 - 1.5 - 1.75] * 2


def test_an_update_that_is_taken_back_leaves_the_counts_of_others():
    optimizer = mx.optimizer.SGD()
    optimizer._update_count(0)
    optimizer._update_count(1)
    optimizer._update_count(1)  # another thread's, after the first begins
    optimizer._uncount((0,), 0)
    assert dict(optimizer._index_update_count) == {0: 0, 1: 2} and optimizer.num_update == 2


@pytest.fixture
def fast_switches():
    """Threads take turns after every few operations."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_batch_is_computed_before_a_module_holds_its_lock(monkeypatch):
    """Two threads whose modules read each other's outputs would wait for each other."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    first, second = (mx.mod.Module(net, label_names=None) for _ in range(2))
    for module in (first, second):
        module.bind([("data", (2, 3))], for_training=False)
        module.init_params()
    first.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    run, held = bound.Pass.run, []

    def noting(self, *args):
        held.append(second._exec_group.store.lock._is_owned())
        return run(self, *args)

    monkeypatch.setattr(bound.Pass, "run", noting)
    second.forward(mx.io.DataBatch(first.get_outputs()))
    assert held == [False]


def test_a_monitor_is_called_without_the_lock_of_a_module():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params()
    lock, held = module._exec_group.store.lock, []
    monitor = mx.mon.Monitor(1, lambda x: held.append(lock._is_owned()) or x)
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    assert held and not any(held)
