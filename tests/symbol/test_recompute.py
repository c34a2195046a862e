"""Results that are computed again in the backward pass: the same numbers from less memory."""

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.step.placement import OneContext
from modkit.step.programs import Programs
from modkit.symbol import recompute
from modkit.symbol.lower import lower
from modkit.tuning.xla_options import compile_program, options_for
from tests.module.networks import assert_same, batches, ready, values


def tower(units=6):
    """Convolution, normalisation, activation, a way past them, and dropout; statistics change."""
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(1, 1), num_filter=8, name="conv")
    for i in range(units):
        inner = mx.sym.BatchNorm(net, fix_gamma=bool(i % 2), name=f"bn{i}")
        inner = mx.sym.Activation(inner, act_type="relu", name=f"relu{i}")
        inner = mx.sym.Activation(inner * 0.5, act_type="tanh", name=f"tanh{i}")
        inner = mx.sym.Convolution(
            inner, kernel=(3, 3), pad=(1, 1), num_filter=8, no_bias=True, name=f"conv{i}"
        )
        net = net + inner
    net = mx.sym.Dropout(mx.sym.Flatten(net), p=0.3, name="drop")
    net = mx.sym.FullyConnected(net, num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def trained(symbol, steps=4):
    data = batches(steps, shape=(3, 6, 6))
    module = ready(symbol, data[0], momentum=0.9)
    for batch in data:
        module.forward_backward(batch)
        module.update()
    return {**values(module), "out": module.get_outputs()[0].asnumpy()}


def test_numbers_are_the_same(monkeypatch):
    plain = trained(tower(2))
    monkeypatch.setenv(recompute.SWITCH, "1")
    assert lower(tower(2)).structure.recomputed
    assert_same(plain, trained(tower(2)), rtol=1e-4, atol=1e-5)


def test_numbers_are_the_same_where_outputs_are_read_first(monkeypatch):
    data = batches(1, shape=(3, 6, 6))[0]
    found = []
    for word in ("0", "1"):
        monkeypatch.setenv(recompute.SWITCH, word)
        module = ready(tower(), data)
        module.forward(data, is_train=True)
        outputs = module.get_outputs()[0].asnumpy()
        module.backward()
        module.update()
        found.append({"out": outputs, **values(module)})
    assert_same(*found)


def residual_bytes(symbol, monkeypatch, word):
    """The residuals of the forward pass, without the arguments themselves."""
    monkeypatch.setenv(recompute.SWITCH, word)
    shapes, _, aux = symbol.infer_shape(data=(8, 3, 16, 16))
    lowered = lower(symbol)
    named = zip(symbol.list_arguments(), shapes, strict=True)
    args = {n: np.ones(s, np.float32) for n, s in named}
    auxs = {n: np.ones(s, np.float32) for n, s in zip(lowered.aux_names, aux, strict=True)}
    names = tuple(n for n in args if n not in ("data", "softmax_label"))
    programs = Programs(lowered, names, True, OneContext(mx.cpu()))

    def residuals(args):
        _, pullback, _ = programs.differentiate({**args, **auxs}, np.array([0, 1], np.uint32))
        return jax.tree.leaves(pullback)

    leaves = jax.eval_shape(residuals, args)
    own = {s for s in shapes if s}
    return sum(x.size * x.dtype.itemsize for x in leaves if x.shape not in own)


def test_half_of_the_memory_goes(monkeypatch):
    plain = residual_bytes(tower(), monkeypatch, "0")
    again = residual_bytes(tower(), monkeypatch, "1")
    assert 0 < again < 0.5 * plain


def test_the_compiled_step_needs_less_memory(monkeypatch):
    needed = {}
    for word in ("0", "1"):
        monkeypatch.setenv(recompute.SWITCH, word)
        symbol = tower(units=12)
        shapes, _, aux = symbol.infer_shape(data=(8, 3, 16, 16))
        lowered = lower(symbol)
        args = {
            n: np.ones(s, np.float32) for n, s in zip(symbol.list_arguments(), shapes, strict=True)
        }
        auxs = {n: np.ones(s, np.float32) for n, s in zip(lowered.aux_names, aux, strict=True)}
        programs = Programs(lowered, tuple(args)[1:-1], True, OneContext(mx.cpu()))

        def gradients(args, auxs=auxs, programs=programs):
            words = np.array([0, 1], np.uint32)
            outputs, pullback, _ = programs.differentiate({**args, **auxs}, words)
            return pullback(outputs)

        lowered = jax.jit(gradients).lower(args)
        options = options_for(lowered.as_text, jax.default_backend())
        kept = "xla_disable_hlo_passes" in options or jax.__version_info__ >= (0, 12)
        if jax.default_backend() == "cpu" and not kept:
            pytest.skip("XLA schedules what is computed again as if it were kept")
        compiled = compile_program(lowered, options)
        needed[word] = compiled.memory_analysis().temp_size_in_bytes
    assert needed["1"] < 0.7 * needed["0"]


def again(symbol):
    lowered = lower(symbol)
    return {lowered.steps[i].name for i in lowered.structure.recomputed}


def test_what_costs_little_is_computed_again(monkeypatch):
    assert again(tower(1)) == set()
    monkeypatch.setenv(recompute.SWITCH, "1")
    names = again(tower(1))
    assert {"bn0", "relu0", "tanh0"} <= names
    assert not {"conv", "conv0", "drop", "fc"} & names


def test_one_node_can_ask_for_it():
    x = mx.sym.Variable("data")
    net = mx.sym.Activation(x, act_type="tanh", name="plain")
    net = mx.sym.Activation(net, act_type="tanh", attr={"force_mirroring": "True"}, name="forced")
    with mx.AttrScope(force_mirroring="True"):
        net = mx.sym.FullyConnected(net, num_hidden=2, name="fc")
        net = mx.sym.Dropout(net, name="drop")
    assert again(net) == {"forced", "fc"}


def test_the_setting_is_read_when_a_graph_is_bound(monkeypatch):
    symbol = tower()
    plain = lower(symbol)
    monkeypatch.setenv(recompute.SWITCH, "1")
    assert lower(symbol) is not plain
    monkeypatch.setenv(recompute.SWITCH, "0")
    assert lower(symbol) is plain


def test_parts_hand_over_what_later_ones_read():
    # 0 and 1 are variables, 2 writes 1; 3 and 5 are kept.
    reads = [None, None, (0, 1), (2,), (3, 1), (4, 2)]
    writes = [(), (), (1,), (), (), ()]
    made = recompute.parts(reads, writes, [5], [2, 4])
    assert [(p.nodes, p.entering, p.leaving) for p in made] == [
        ((2, 3), (0, 1), (1, 2, 3)),
        ((4, 5), (1, 2, 3), (5,)),
    ]
    assert recompute.parts(reads, writes, [5], []) == (
        recompute.Part((2, 3, 4, 5), (0, 1), (5,), frozenset()),
    )


def test_the_work_of_cutting_a_graph_grows_with_its_nodes(monkeypatch):
    compared = []

    class Counted(frozenset):
        def __contains__(self, node):
            compared.append(1)
            return super().__contains__(node)

        def isdisjoint(self, nodes):
            compared.append(len(nodes))
            return super().isdisjoint(nodes)

        def intersection(self, nodes):
            compared.append(len(nodes))
            return super().intersection(nodes)

    monkeypatch.setattr(recompute, "frozenset", Counted, raising=False)
    recompute.parts([None, *((i,) for i in range(500))], [()] * 501, [500], [])
    assert 500 < sum(compared) < 500 * 6
