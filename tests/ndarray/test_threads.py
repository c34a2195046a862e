"""Writes of several threads to different elements of one array: all of them are kept."""

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import modkit as mx
from modkit.ndarray import ndarray
from modkit.ndarray.in_place import exchange, overwritten
from modkit.step.bound import Pass
from modkit.step.store import Slot
from tests.threads import run_all

THREADS, WRITES = 4, 30


def by_key(array, row, value):
    array[row] = value


def by_view(array, row, value):
    array[row][:] = value


def by_sum(array, row, value):
    del value
    array[row] += 1


def by_places(array, row, value):
    array[[row], [0, 1, 2]] = value


def by_reshaped_view(array, row, value):
    array.reshape((-1,))[3 * row : 3 * row + 3][:] = value


def by_array(array, row, value):
    array[row] = mx.nd.full((3,), value)


WAYS = [by_key, by_view, by_sum, by_places, by_reshaped_view, by_array]


def plain():
    return mx.nd.zeros((THREADS, 3))


def from_host():
    return mx.nd.array(np.zeros((THREADS, 3), np.float32))


def of_module():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=THREADS, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.Zero())
    return module._exec_group.execs[0].arg_dict["fc_weight"]


@pytest.fixture(autouse=True)
def _frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("make", [plain, from_host, of_module])
@pytest.mark.parametrize("write", WAYS)
def test_no_write_is_lost(write, make):
    array, lost = make(), []

    def work(row):
        for value in range(1, WRITES + 1):
            write(array, row, value)
            if array[row].asnumpy().tolist() != [value] * 3:
                lost.append((row, value))

    run_all([threading.Thread(target=work, args=(row,)) for row in range(THREADS)])
    assert not lost
    assert array.asnumpy().tolist() == [[WRITES] * 3] * THREADS


def add_in_place(array):
    array += 1


def add_array(array):
    array += mx.nd.ones(array.shape)


def add_by_out(array):
    mx.nd.broadcast_add(array, mx.nd.ones(array.shape), out=array)


def update(array):
    mx.nd.sgd_update(array, -mx.nd.ones(array.shape), lr=1.0, out=array)


def add_to_a_row(array):
    array[1:2] += 1


SUMS = [add_in_place, add_array, add_by_out, update, add_to_a_row]


@pytest.mark.parametrize("make", [plain, from_host, of_module])
@pytest.mark.parametrize("add", SUMS)
def test_calls_that_overwrite_what_they_read_lose_nothing(add, make):
    array = make()
    add(array)
    before = array.asnumpy()[1].tolist()

    def work():
        for _ in range(WRITES):
            add(array)

    run_all([threading.Thread(target=work) for _ in range(THREADS)])
    assert array.asnumpy()[1].tolist() == [x + THREADS * WRITES for x in before]


def one_weight(weight, gradient, momentum):
    mx.nd.sgd_mom_update(weight, gradient, momentum, lr=1.0, momentum=1.0, out=weight)


def several_weights(weight, gradient, momentum):
    arrays, numbers = (weight, gradient, momentum), {"lrs": (1.0,), "wds": (0.0,)}
    mx.nd.multi_sgd_mom_update(*arrays, **numbers, momentum=1.0, num_weights=1, out=[weight])


@pytest.mark.parametrize("step", [one_weight, several_weights])
def test_arrays_that_one_call_overwrites_stay_together(step):
    weight, momentum, gradient = mx.nd.zeros((3,)), mx.nd.zeros((3,)), -mx.nd.ones((3,))

    def work():
        for _ in range(WRITES):
            step(weight, gradient, momentum)

    run_all([threading.Thread(target=work) for _ in range(THREADS)])
    steps = THREADS * WRITES
    assert momentum.asnumpy().tolist() == [steps] * 3
    assert weight.asnumpy().tolist() == [steps * (steps + 1) / 2] * 3


def test_a_slow_call_is_not_overtaken_for_ever():
    """A thread that writes all the time does not keep another one from its own write."""
    array, ended = mx.nd.ones((300, 300)), threading.Event()

    def write():
        while not ended.is_set():
            array[:] = 1

    def sort():
        try:
            for _ in range(3):
                mx.nd.sort(array, out=array)
        finally:
            ended.set()

    run_all([threading.Thread(target=write), threading.Thread(target=sort)])
    assert ended.is_set()


def test_locks_of_all_that_a_call_writes_are_taken_in_one_order():
    """A parameter's lock comes before that of a plain array, also if the call reads only that."""
    weight, momentum, gradient = of_module(), mx.nd.zeros((THREADS, 3)), mx.nd.ones((THREADS, 3))
    slot, plain, plan = weight._cell.root, momentum._cell.root, SimpleNamespace()
    plan.op, plan.changes = SimpleNamespace(on_host=False), [2]
    own, written = overwritten(plan, [gradient, gradient, momentum], [weight])
    assert own == {2: plain}
    assert {*written} == {slot, plain}


def test_a_value_that_became_pending_again_is_not_the_one_that_was_read():
    waits, versions, computed = [True, False], [None, 5], []

    class PendingAgain:
        lock = threading.RLock()
        is_pending = property(lambda _: waits.pop(0))

        def settle(self):
            pass

        def version(self):
            return versions.pop(0)

    cell = PendingAgain()

    def compute(kept=None):
        computed.append(kept)
        return None, None, None, [len(computed)]

    exchange({0: cell}, [cell], compute, lambda results: results)
    assert computed == [None, {}]
    assert not waits


def test_a_pending_pass_runs_without_the_locks_of_other_arrays(monkeypatch):
    """It may wait for another thread, which writes a plain array meanwhile."""
    weight = mx.sym.Variable("w", init=mx.init.One())
    module = mx.mod.Module(mx.sym.MakeLoss(weight * mx.sym.Variable("data")), label_names=None)
    module.bind([("data", (3,))])
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((3,))]), is_train=True)
    module.backward()
    gradient = module._exec_group.grad_arrays[0][0]
    weight, momentum, plain = mx.nd.ones((3,)), mx.nd.zeros((3,)), mx.nd.zeros((3,))
    other, ended, run = threading.Thread(target=plain.__setitem__, args=(0, 1)), [], Pass.run

    def waiting(self):
        other.start()
        other.join(1)
        ended.append(not other.is_alive())
        return run(self)

    monkeypatch.setattr(Pass, "run", waiting)
    monkeypatch.setattr(ndarray, "other_threads", lambda: 1)
    mx.nd.sgd_mom_update(weight, weight, momentum, lr=1.0, out=gradient)
    other.join()
    assert ended == [True]
    assert gradient.asnumpy().tolist() == [0, 0, 0]


def test_an_executor_reads_a_modules_arrays_while_another_thread_writes_them(monkeypatch):
    """The executor uses the module's lock."""
    weight = of_module()
    executor = (mx.sym.Variable("w") * 2).bind(mx.cpu(), {"w": weight})
    executor.forward()
    began, read = threading.Event(), Slot.snapshot

    def write():
        with weight._cell.lock:
            began.set()
            weight._cell.store.run()  # the executor's first pass too

    other = threading.Thread(target=write, daemon=True)

    def snapshot(self, reader):
        other.start()
        began.wait(0.03)
        return read(self, reader)

    monkeypatch.setattr(Slot, "snapshot", snapshot)
    second = threading.Thread(target=executor.forward, daemon=True)
    second.start()
    for each in (second, other):
        each.join(10)
        assert not each.is_alive()
