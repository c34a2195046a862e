"""Input beside the step: what is asked for when, and what is copied."""

import threading
import tracemalloc

import numpy as np
import pytest

import modkit as mx
from tests.module.networks import assert_same, convnet, mlp, values

ROWS = 40


def numbers(size=8, shape=(10,), **kwargs):
    stream = np.random.RandomState(6)
    data = stream.normal(size=(ROWS, *shape)).astype(np.float32)
    return mx.io.NDArrayIter(data, stream.randint(0, 4, ROWS), size, **kwargs)


def bound(symbol, train, context=None):
    module = mx.mod.Module(symbol, context=context or mx.cpu())
    module.bind(train.provide_data, train.provide_label)
    mx.random.seed(3)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    return module


def as_arrays(batch):
    """The batch with arrays of its own on the device."""
    return mx.io.DataBatch(
        [mx.nd.array(a.asnumpy()) for a in batch.data],
        [mx.nd.array(a.asnumpy()) for a in batch.label],
        batch.pad,
    )


def trained(train, context, change=lambda batch: batch):
    module, metric = bound(mlp(), train, context), mx.metric.create("acc")
    for batch in map(change, train):
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
    return values(module), metric.get()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    "context",
    [[mx.cpu(0)], [mx.cpu(1)], [mx.cpu(0), mx.cpu(1)], [mx.cpu(0)] * 2,
     [mx.cpu(0), mx.cpu(1), mx.cpu(2)]],
    ids=["one", "another", "pmap", "vmap", "uneven"],
)  # fmt: skip
def test_batches_train_as_arrays_of_the_device_do(context, shuffle):
    reached = []
    for change in (lambda batch: batch, as_arrays):
        np.random.seed(8)  # noqa: NPY002 - the generator that iterators use
        reached.append(trained(numbers(shuffle=shuffle), context, change))
    assert_same(reached[0][0], reached[1][0])
    assert reached[0][1] == reached[1][1]


def test_a_step_takes_the_rows_as_they_are():
    """Nothing of a batch is put on the device apart from the program that reads it."""
    train = numbers()
    module, metric = bound(mlp(), train), mx.metric.create("acc")
    batch = train.next()
    module.forward_backward(batch)
    module.update()
    module.update_metric(metric, batch.label)
    assert metric.get()[1] >= 0
    assert all(array._cell.rows is not None for array in (*batch.data, *batch.label))


@pytest.mark.parametrize("context", [mx.cpu(0), mx.cpu(1)])
def test_one_program_for_data_from_the_host_and_from_the_device(compilations, context):
    train = numbers()
    module, metric = bound(mlp(hidden=13), train, context), mx.metric.create("acc")

    def step(batch):
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)

    first, second = train.next(), train.next()
    arrays = as_arrays(second)
    assert compilations.during(lambda: step(first)) == ["step"]
    assert compilations.during(lambda: (step(arrays), step(second))) == []


@pytest.mark.parametrize("context", [mx.cpu(0), mx.cpu(1)])
def test_a_net_without_parameters_runs_where_the_module_is(context):
    module = mx.mod.Module(mx.sym.relu(mx.sym.Variable("data")), label_names=None, context=context)
    train = numbers()
    module.bind(train.provide_data)
    module.init_params()
    module.forward(mx.io.DataBatch(train.next().data), is_train=False)
    (output,) = module.get_outputs()
    assert output.to_jax().devices() == {context.jax_device}


@pytest.mark.parametrize("aligned", [True, False])
def test_batches_in_order_are_windows_on_the_data(aligned):
    train = numbers(shape=(16,) if aligned else (10,))
    whole = np.asarray(train.data[0][1].to_jax())
    for batch in train:
        assert np.shares_memory(batch.data[0]._cell.rows, whole)


def test_writing_into_a_batch_between_forward_and_update():
    train = numbers()
    modules = [bound(mlp(), train) for _ in range(2)]
    batch = train.next()
    for module, spoil in zip(modules, (False, True), strict=True):
        module.forward(batch, is_train=True)
        if spoil:
            batch.data[0][:] = 0
        module.backward()
        module.update()
    assert_same(*map(values, modules), rtol=0, atol=0)
    assert train.data[0][1].asnumpy()[:8].any()


@pytest.mark.parametrize("late", [False, True])
def test_arrays_on_the_host_are_read_from_there_once(late):
    """By the program; a second pass places them. A write before it runs is not seen."""
    rows = [mx.nd.array(np.full((8, 10), n, np.float32)) for n in (1, 2)]
    if late:  # a result of NumPy's, written in place by its only owner
        rows = [a + 0 for a in rows]
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True)
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (8, 10))], for_training=False)
    module.init_params(mx.init.One())
    for turn in range(3):
        for n, each in enumerate(rows, 1):
            module.forward(mx.io.DataBatch([each]), is_train=False)
            each += 5
            assert module.get_outputs()[0].asnumpy().tolist() == [[10.0 * n]] * 8, turn
            assert each._cell.is_on_host
            each -= 5
    same = mx.io.DataBatch([rows[0]])
    for on_host in (True, False, False):
        module.forward(same, is_train=False)
        assert module.get_outputs()[0].asnumpy()[0, 0] == 10
        assert rows[0]._cell.is_on_host is on_host


def test_a_shuffled_epoch_copies_a_batch_at_a_time():
    data = np.zeros((4000, 1000), np.float32)
    train = mx.io.NDArrayIter(mx.nd.array(data), None, 20, shuffle=True)
    del data
    train.next()
    tracemalloc.start()
    for batch in train:
        del batch
    train.reset()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 20 * 1000 * 4  # four batches, of 200


class Told(mx.io.DataIter):
    """Passes batches on, and says which it was asked for."""

    def __init__(self, inner, tell, wait=lambda number: None):
        super().__init__(inner.batch_size)
        self.inner, self.tell, self.wait, self.number = inner, tell, wait, 0
        self.provide_data, self.provide_label = inner.provide_data, inner.provide_label

    def next(self):
        self.number += 1
        self.tell(self.number)
        self.wait(self.number)
        return self.inner.next()

    def reset(self):
        self.number = 0
        self.inner.reset()


class Read(mx.metric.Accuracy):
    """Accuracy that says when somebody waits for it."""

    def get(self):
        self.events.append("read")
        return super().get()


def test_fit_asks_for_the_next_batch_once_the_step_runs_and_before_anybody_waits():
    events = []
    module = mx.mod.Module(mlp())

    def asked(number):
        last = module._exec_group.bounds[0].last
        started = number == 1 or (last is not None and last.settled)
        events.append(f"batch {number}" if started else f"batch {number} before the step")

    metric = Read()
    metric.events = events
    module.fit(
        Told(numbers(), asked), num_epoch=1, eval_metric=metric,
        batch_end_callback=lambda param: param.eval_metric.get(),
    )  # fmt: skip
    steps = ROWS // 8
    wanted = ["batch 1"]
    for number in range(2, steps + 2):
        wanted += [f"batch {number}", "read"]
    reads = [e for i, e in enumerate(events) if e != "read" or events[i - 1] != "read"]
    assert reads == wanted


@pytest.mark.parametrize("joined", [1, 2])
def test_a_slow_iterator_works_while_the_step_does(joined):
    """The batch after the next is begun before this one's callback, and may take longer."""
    steps = ROWS // 8
    begun, used = ([threading.Event() for _ in range(steps + 2)] for _ in range(2))
    late = []

    def wait(number):  # for the step that runs while this batch is being made
        if number >= 3 and not used[number - 2].wait(timeout=30):
            late.append(f"batch {number} was not made beside a step")

    def after(param):
        number = param.nbatch + 1
        used[number].set()
        if number + 2 <= steps + 1 and not begun[number + 2].wait(timeout=30):
            late.append(f"batch {number + 2} was not begun beside step {number}")

    train = Told(numbers(), lambda number: begun[number].set(), wait)
    other = mx.io.NDArrayIter(np.ones((ROWS, 2)), None, 8, data_name="data2")
    prefetched = mx.io.PrefetchingIter([train, other][:joined])
    net = mlp()
    names = ["data", "data2"][:joined]
    if joined == 2:
        net = mx.sym.Group([net, mx.sym.BlockGrad(mx.sym.Variable("data2"))])
    module = mx.mod.Module(net, data_names=names)
    module.fit(prefetched, num_epoch=1, batch_end_callback=after, eval_metric=mx.metric.Loss())
    assert late == []


def test_file_iterators_give_rows_too(tmp_path):
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.arange(24).reshape(8, 3), delimiter=",")
    batch = mx.io.CSVIter(str(path), (3,), batch_size=4).next()
    assert batch.data[0]._cell.rows.tolist() == batch.data[0].asnumpy().tolist()


def test_convolutions_too():
    train = numbers(shape=(2, 6, 6))
    first, second = bound(convnet(), train), bound(convnet(), train)
    for batch in train:
        for module, each in ((first, batch), (second, as_arrays(batch))):
            module.forward_backward(each)
            module.update()
    assert_same(values(first), values(second))
