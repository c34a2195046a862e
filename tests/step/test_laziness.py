"""Laziness does not show: any order of calls gives what a module gives that runs each at once."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modkit as mx
from modkit.step.store import Slot
from tests.module.networks import batches, convnet, ready, values

BATCHES = batches(count=2, shape=(2, 6, 6))


class Trainee:
    """A module with what users do to one; each method gives what they see."""

    def __init__(self, *, at_once):
        self.module = ready(convnet(), BATCHES[0], momentum=0.9, wd=1e-3)
        self.metric = mx.metric.create("acc")
        self.at_once = at_once
        self.steps = 0

    def do(self, name):
        try:
            return getattr(self, name)()
        finally:
            if self.at_once:
                self.compute()

    def compute(self):
        """Run everything that was asked for."""
        bound = self.module._exec_group.bounds[0]
        for cells in (bound.arrays.shared, bound.arrays.aux, bound.arrays.grads):
            for cell in cells.values():
                cell.peek()
        if bound.last is not None:
            bound.last.run()

    @property
    def executor(self):
        return self.module._exec_group.execs[0]

    @property
    def batch(self):
        return BATCHES[self.steps % 2]

    def forward(self):
        self.steps += 1
        self.module.forward(self.batch, is_train=True)

    def infer(self):
        self.module.forward(self.batch, is_train=False)

    def backward(self):
        self.module.backward()

    def update(self):
        self.module.update()

    def count(self):
        self.module.update_metric(self.metric, self.batch.label)

    def step(self):
        self.forward()
        self.backward()
        self.update()
        self.count()

    def step_at_once(self):
        """As `fit` runs a batch."""
        self.steps += 1
        (sums,), stacked = self.module._train_on([self.batch], self.metric)
        self.metric.absorb(sums, stacked=stacked)

    def read_metric(self):
        return self.metric.get()[1]

    def read_weight(self):
        return self.executor.arg_dict["fc_weight"].asnumpy()

    def read_state(self):
        return [s.asnumpy() for s in self.module._updater.states.values()]

    def read_statistics(self):
        return self.executor.aux_dict["bn_moving_mean"].asnumpy()

    def read_gradient(self):
        return self.executor.grad_dict["conv_weight"].asnumpy()

    def read_output(self):
        return self.module.get_outputs()[0].asnumpy()

    def write_weight(self):
        self.executor.arg_dict["fc_weight"][:] = 0.1

    def shrink_weight(self):
        self.executor.arg_dict["conv_weight"][:] *= 0.5

    def write_statistics(self):
        self.executor.aux_dict["bn_moving_mean"][:] = 0.2

    def clear_gradient(self):
        self.executor.grad_dict["conv_weight"][:] = 0

    def set_params(self):
        args, aux = self.module.get_params()
        self.module.set_params({n: v * 0.9 for n, v in args.items()}, aux)


def assert_equal(got, wanted, where):
    """Compare what was seen: nothing, a number, arrays, or the name of an error."""
    if isinstance(got, str) or isinstance(wanted, str):
        assert got == wanted, where
        return
    got, wanted = jax.tree.leaves(got), jax.tree.leaves(wanted)
    assert len(got) == len(wanted), where
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=where)


CALLS = [
    n for n, f in vars(Trainee).items() if callable(f) and n not in ("__init__", "do", "compute")
]
FIRST = ["step", "step"]  # so that what follows meets a step that was handed on


ORDERS = [
    ["forward", "backward", "forward", "read_gradient"],
    ["forward", "write_weight", "backward", "update", "read_weight"],
    ["forward", "backward", "write_weight", "update", "read_gradient"],
    ["forward", "backward", "update", "write_weight", "step"],
    ["forward", "write_statistics", "backward", "update", "read_statistics"],
    ["forward", "backward", "update", "clear_gradient", "read_gradient", "step"],
    ["forward", "infer", "read_output", "backward", "read_gradient"],
    ["forward", "backward", "update", "backward", "read_gradient", "update"],
    ["forward", "write_weight", "backward", "backward", "read_gradient"],
    ["forward", "backward", "read_gradient", "shrink_weight", "backward", "update"],
    ["forward", "read_output", "backward", "read_gradient", "shrink_weight", "backward", "update"],
    ["infer", "shrink_weight", "backward", "read_gradient"],
    ["infer", "write_statistics", "backward", "read_gradient"],
    ["step", "read_state", "step", "read_state", "step", "read_weight", "step"],
    ["forward", "backward", "clear_gradient", "update", "read_weight"],
    ["step_at_once", "read_output", "read_metric", "backward", "read_gradient", "update", "step"],
    ["forward", "step_at_once", "step_at_once", "read_statistics", "write_weight", "step_at_once"],
    ["forward", "backward", "step_at_once", "read_state", "infer", "step_at_once", "read_output"],
    ["forward", "backward", "update", "step_at_once", "count", "read_metric", "set_params"],
]


def assert_laziness_does_not_show(calls):
    lazy, eager = Trainee(at_once=False), Trainee(at_once=True)
    for number, name in enumerate([*FIRST, *calls, "read_gradient", "read_statistics"]):
        outcomes = []
        for each in (lazy, eager):
            try:
                outcomes.append(each.do(name))
            except mx.base.MXNetError as error:
                outcomes.append(type(error).__name__)
        assert_equal(*outcomes, f"call {number}, {name}, of {calls}")
    for name, value in values(lazy.module).items():
        np.testing.assert_allclose(value, values(eager.module)[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("calls", ORDERS, ids="-".join)
def test_orders_of_calls(calls):
    assert_laziness_does_not_show(calls)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=15)
@given(st.lists(st.sampled_from(CALLS), max_size=10))
def test_any_order_of_calls(calls):
    assert_laziness_does_not_show(calls)


def test_the_states_that_are_read_are_those_that_a_step_makes():
    trainee = Trainee(at_once=False)
    trainee.step()
    first = trainee.read_state()
    assert len(first) == len(trainee.module._param_names)
    trainee.step()
    assert any((a != b).any() for a, b in zip(first, trainee.read_state(), strict=True))


def test_a_step_touches_no_cell_that_nobody_reads(monkeypatch):
    """The host's work for a step does not grow with the number of parameters."""
    touched = []
    for name in ("peek", "seen", "seen_on_host", "set"):
        true = getattr(Slot, name)
        monkeypatch.setattr(
            Slot,
            name,
            lambda slot, *args, true=true, **kw: touched.append(1) or true(slot, *args, **kw),
        )
    trainee = Trainee(at_once=False)
    trainee.step()
    touched.clear()
    store = trainee.module._exec_group.store
    for _ in range(3):
        before = store.state
        trainee.step()
        assert store.state is not before
        assert not touched
    trainee.read_weight()
    assert touched
    touched.clear()
    trainee.step()
    assert not touched
