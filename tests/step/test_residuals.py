"""Residuals between forward and backward: a pullback is found by another trace where it is lost."""

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.compile import program
from modkit.errors import NotSupportedError
from modkit.interpreter.tracing import for_numpy
from modkit.step.across_devices import by_mesh
from modkit.step.placement import OneContext
from modkit.step.programs import Programs, programs_for
from modkit.step.replicas import DistinctDevices
from modkit.step.residuals import Pullbacks
from modkit.symbol.lower import lower
from tests.module.networks import batches, convnet, mlp, ready, values


@pytest.fixture(autouse=True)
def uncached(monkeypatch):
    monkeypatch.setattr(program, "default_cache", lambda: None)
    programs_for.cache_clear()
    yield
    programs_for.cache_clear()


def trained(network, contexts, shape, lose):
    """Parameters after a step whose outputs are read before ``backward``."""
    programs_for.cache_clear()
    batch = batches(1, shape=shape)[0]
    module = ready(network, batch, context=contexts)
    module.forward(batch, is_train=True)
    module.get_outputs()[0].asnumpy()
    lose()
    module.backward()
    module.update()
    return values(module)


@pytest.mark.parametrize(
    ("contexts", "by"),
    [([0], None), ([0, 0], None), ([0, 1], None), ([0, 1], by_mesh)],
    ids=["one device", "vmap", "pmap", "mesh"],
)
def test_a_lost_pullback_is_traced_again(monkeypatch, contexts, by):
    if by:
        monkeypatch.setattr(DistinctDevices, "by", by)
    found, traced = [], Pullbacks._traced_again

    def init(self, function, make=Pullbacks.__init__):
        make(self, function)
        found.append(self)

    monkeypatch.setattr(Pullbacks, "__init__", init)
    again = []
    monkeypatch.setattr(
        Pullbacks, "_traced_again", lambda self, key: (again.append(key), traced(self, key))[1]
    )
    work = convnet(), [mx.cpu(n) for n in contexts], (2, 5, 5)
    whole = trained(*work, lambda: None)
    assert again == []
    lost = trained(*work, lambda: [each._structures.clear() for each in found])
    assert len(again) == 1
    for name, value in whole.items():
        np.testing.assert_array_equal(value, lost[name], err_msg=name)


def arguments(rows):
    shapes = mlp().infer_shape(data=(rows, 3))[0]
    names = mlp().list_arguments()
    return {n: np.ones(s, np.float32) for n, s in zip(names, shapes, strict=True)}


def kept(train, wrt, rows=2):
    """Residuals of `mlp`, for the differentiated arguments ``wrt``."""
    programs = Programs(lower(mlp()), wrt, train, OneContext(mx.cpu()))
    key = np.zeros(2, np.uint32)
    return programs, programs.forward_kept(arguments(rows), {}, {}, key)


def test_derivatives_that_differ_share_no_structure():
    cases = [(True, ("fc1_weight",)), (True, ("fc2_weight",)), (True, ("fc1_weight",), 4)]
    structures = [jax.tree.structure(kept(*case)[1][2]) for case in cases]
    assert len(set(structures)) == len(cases)
    assert jax.tree.structure(kept(*cases[0])[1][2]) == structures[0]


def test_a_compiled_pass_from_the_disk_cache_is_differentiated_by_numpy():
    programs, (_, _, residuals) = kept(True, ("fc1_weight",))
    found = jax.tree.structure(programs._pullbacks.pullback(residuals))
    programs._pullbacks._structures.clear()  # as in a process that has only loaded the program
    with for_numpy():
        assert jax.tree.structure(programs._pullbacks.pullback(residuals)).num_leaves == (
            found.num_leaves
        )


@pytest.mark.parametrize("loss", ["SoftmaxOutput", "LogisticRegressionOutput"])
def test_a_loss_keeps_its_result_and_not_its_input(loss):
    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc")
    lowered = lower(getattr(mx.sym, loss)(scores, mx.sym.var("label")))
    programs = Programs(lowered, ("fc_weight", "fc_bias"), True, OneContext(mx.cpu()))
    label = (3,) if loss == "SoftmaxOutput" else (3, 5)
    shapes = {"data": (3, 2), "fc_weight": (5, 2), "fc_bias": (5,), "label": label}
    arrays = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    outputs, _, residuals = programs.forward_kept(arrays, {}, {}, np.zeros(2, np.uint32))
    of_scores = [each for each in residuals.arrays if each.shape == (3, 5)]
    kept = of_scores if loss == "SoftmaxOutput" else of_scores[:-1]  # labels are kept too
    assert len(kept) == 1
    assert any(np.array_equal(each, outputs[0]) for each in of_scores)


def test_many_shapes_are_bounded(monkeypatch):
    monkeypatch.setattr("modkit.step.residuals._MOST", 2)
    programs = Programs(lower(mlp()), ("fc1_weight",), True, OneContext(mx.cpu()))
    key = np.zeros(2, np.uint32)
    results = [programs.forward_kept(arguments(n), {}, {}, key) for n in (1, 2, 3)]
    assert len(programs._pullbacks._structures) == 2
    for outputs, _, residuals in results:
        assert programs.backward(residuals, outputs, None, {})["fc1_weight"].shape == (16, 3)


def test_the_backward_pass_is_compiled_after_many_shapes_that_numpy_ran():
    x = mx.sym.var("x")
    network = mx.sym.dot(x, x, transpose_b=True)
    executors = [network.simple_bind(mx.cpu(), x=(rows, 2)) for rows in range(1, 19)]
    for executor in executors:
        executor.arg_arrays[0][:] = 3
        executor.forward(is_train=True)[0].wait_to_read()
    heads = mx.nd.ones((1, 1))
    with jax.debug_infs(True):  # a setting of `BY_JIT`
        executors[0].backward(heads)
        assert executors[0].grad_arrays[0].asnumpy().tolist() == [[6, 6]]


def test_another_derivative_is_refused():
    programs, (outputs, _, residuals) = kept(True, ("fc1_weight",))
    other = Programs(lower(mlp()), ("fc2_weight",), True, OneContext(mx.cpu()))
    with pytest.raises(NotSupportedError, match=r"backward\(\): .*run forward\(\) again"):
        other.backward(residuals, outputs, None, {})
    assert programs.backward(residuals, outputs, None, {}).keys() == {"fc1_weight"}
