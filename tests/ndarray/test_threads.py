"""Writes of several threads to different elements of one array: all of them are kept."""

import sys
import threading

import numpy as np
import pytest

import modkit as mx
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
