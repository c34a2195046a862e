"""group2ctx over several devices: the numbers of one device, each array on its own."""

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.step import segments

GROUPS = {"one": mx.cpu(1), "two": mx.cpu(2), "three": mx.cpu(3)}


def group(name):
    return mx.AttrScope(ctx_group=name)


def dense_layers():
    """Two groups, dropout and statistics in the first, a loss without a group."""
    with group("one"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="a")
        net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
        net = mx.sym.Dropout(net, p=0.3, name="drop")
    with group("two"):
        net = mx.sym.Dropout(mx.sym.FullyConnected(net, num_hidden=3, name="b"), name="drop2")
    return mx.sym.SoftmaxOutput(net, name="softmax"), {"data": (6, 5), "softmax_label": (6,)}


def recurrent_layers():
    """An LSTM a device, over three steps: weights are read by several segments of a device."""
    cells = {}
    for name in ("one", "two"):
        with group(name):
            cells[name] = mx.rnn.LSTMCell(7, prefix=f"{name}_")
    with group("one"):
        rows = mx.sym.Embedding(mx.sym.Variable("words"), input_dim=9, output_dim=4, name="embed")
        steps = mx.sym.SliceChannel(rows, axis=1, num_outputs=3, squeeze_axis=True)
    states, outs = {}, []
    for value in steps:
        for name, cell in cells.items():
            with group(name):
                value, states[name] = cell(value, states.get(name) or cell.begin_state())
        outs.append(value)
    with group("three"):
        net = mx.sym.FullyConnected(mx.sym.Concat(*outs, dim=0), num_hidden=9, name="decode")
        label = mx.sym.Reshape(mx.sym.transpose(mx.sym.Variable("label")), shape=(-1,))
    return mx.sym.SoftmaxOutput(net, label, name="softmax"), {"words": (3, 3), "label": (3, 3)}


def criss_cross():
    """Values that several devices read, whole-number ones too, and operators of no group."""
    x, free = mx.sym.Variable("x"), mx.sym.Variable("free")
    with group("one"):
        a = mx.sym.tanh(x * free, name="a")
        best = mx.sym.Cast(mx.sym.argmax(a, axis=1), dtype="int32", name="best")
        halves = mx.sym.SliceChannel(a, num_outputs=2, name="halves")
    with group("two"):
        b = mx.sym.broadcast_mul(mx.sym.exp(a), mx.sym.sum(halves[1], axis=1, keepdims=True))
        picked = mx.sym.pick(b, mx.sym.Cast(best, dtype="float32"), axis=1)
    with group("three"):
        c = mx.sym.sin(a) + b * free
    joined = mx.sym.broadcast_mul(c, mx.sym.expand_dims(picked, axis=1), name="joined") + a
    heads = [joined, halves[0], joined, x, mx.sym.BlockGrad(picked), b]
    return mx.sym.Group([mx.sym.MakeLoss(h) for h in heads[:3]] + heads[3:]), {
        "x": (4, 6), "free": (4, 6),
    }  # fmt: skip


NETWORKS = [dense_layers, recurrent_layers, criss_cross]


CLASSES = {"softmax_label": 3, "label": 9, "words": 9}
"""Inputs that are whole numbers, and how many there are."""


def filled(net, shapes, groups, grad_req="write"):
    executor = net.simple_bind(mx.cpu(0), grad_req=grad_req, group2ctx=groups, **shapes)
    random = np.random.RandomState(0)
    for name, array in sorted(executor.arg_dict.items()):
        numbers = random.uniform(-1, 1, array.shape)
        array[:] = np.floor((numbers + 1) / 2 * CLASSES[name]) if name in CLASSES else numbers
    for array in executor.grad_dict.values():
        if array is not None:
            array[:] = 0.5
    return executor


def ones_for(executor):
    return [mx.nd.full(o.shape, 0.5 + i) for i, o in enumerate(executor.outputs)]


def results(executor):
    grads = {f"{n}_grad": g.asnumpy() for n, g in executor.grad_dict.items() if g is not None}
    states = {n: a.asnumpy() for n, a in executor.aux_dict.items()}
    outs = {f"out{i}": o.asnumpy() for i, o in enumerate(executor.outputs)}
    return {**grads, **states, **outs}


def passes(executor, seed=3):
    """The results of passes in every order of calls."""
    found = []
    mx.random.seed(seed)
    for read_first in (False, True, False):
        executor.forward(is_train=True)
        if read_first:
            executor.outputs[0].asnumpy()
        executor.backward(ones_for(executor))
        found.append(results(executor))
    executor.forward(is_train=True)
    found.append(results(executor))
    executor.forward(is_train=False)
    found.append(results(executor))
    return found


def assert_same(got, expected):
    for i, (mine, theirs) in enumerate(zip(got, expected, strict=True)):
        assert mine.keys() == theirs.keys()
        for name, value in theirs.items():
            np.testing.assert_allclose(
                mine[name], value, rtol=1e-5, atol=2e-6, err_msg=f"{name} of pass {i}"
            )


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("network", NETWORKS, ids=lambda f: f.__name__)
def test_numbers_are_those_of_one_device(network, grad_req):
    net, shapes = network()
    alone, spread = (passes(filled(net, shapes, g, grad_req)) for g in (None, GROUPS))
    assert_same(spread, alone)


def test_only_some_gradients():
    net, shapes = dense_layers()
    requests = {"a_weight": "add", "bn_gamma": "write", "data": "null"}
    alone, spread = (passes(filled(net, shapes, g, requests)) for g in (None, GROUPS))
    assert set(spread[0]) >= {"a_weight_grad", "bn_gamma_grad"}
    assert "b_weight_grad" not in spread[0]
    assert_same(spread, alone)


def test_everything_is_where_its_group_is():
    net, shapes = dense_layers()
    executor = filled(net, shapes, GROUPS)
    executor.forward(is_train=True)
    executor.backward()
    places = {"softmax_label": 0, "b_weight": 2, "b_bias": 2}
    for name, array in [*executor.arg_dict.items(), *executor.aux_dict.items()]:
        assert_on(array, places.get(name, 1))
    for name, array in executor.grad_dict.items():
        assert_on(array, places.get(name, 1))
    assert_on(executor.outputs[0], 2)


def assert_on(array, number):
    assert array.context == mx.cpu(number)
    assert array.to_jax().devices() == {mx.cpu(number).jax_device}


def test_operators_without_a_group_run_beside_their_first_input():
    """As in MXNet 1.9.1, which was asked; zeros that nobody reads are on the executor's context."""
    x, v = mx.sym.Variable("x"), mx.sym.Variable("v")
    with group("one"):
        y = x * 2
    with group("two"):
        z = x * 3
    made = mx.sym.zeros((2,))
    heads = [y, z, y + z, x + z, z + x, made, made + z, v + z, mx.sym.zeros((2,))]
    net = mx.sym.Group(heads)
    executor = net.simple_bind(mx.cpu(0), group2ctx=GROUPS, x=(2,), v=(2,))
    places = [1, 2, 1, 0, 2, 2, 2, 0, 0]
    executor.arg_dict["x"][:] = 1
    for output, place in zip(executor.forward(), places, strict=True):
        assert_on(output, place)
    np.testing.assert_array_equal(executor.outputs[2].asnumpy(), 5)


def test_a_group_without_a_context_is_an_error():
    net, shapes = dense_layers()
    with pytest.raises(RuntimeError, match="of group 'two', which it has not"):
        net.simple_bind(mx.cpu(0), group2ctx={"one": mx.cpu(1)}, **shapes)
    net.simple_bind(mx.cpu(0), group2ctx={}, **shapes)


def test_bound_arrays_may_be_elsewhere():
    net, shapes = dense_layers()
    expected = passes(filled(net, shapes, None))
    other = filled(net, shapes, None)
    given = net.bind(
        mx.cpu(0), other.arg_dict, other.grad_dict, "write", other.aux_dict, group2ctx=GROUPS
    )
    assert_same(passes(given), expected)


def test_each_program_is_compiled_once(compilations):
    net, shapes = recurrent_layers()
    executor = filled(net, shapes, GROUPS)

    def step():
        executor.forward(is_train=True)
        executor.backward()
        return results(executor)

    first = [n for n in compilations.during(step) if n in ("forward_kept", "backward", "forward")]
    # embed and the first layer's first step; a segment a layer and step; the decoder
    assert first.count("forward_kept") == first.count("backward") == 3 * 2 + 1
    assert compilations.during(step) == []
    again = filled(net, shapes, GROUPS)
    assert compilations.during(lambda: (again.forward(is_train=True), again.backward(),
                                        results(again))) == []  # fmt: skip


def test_shapes_that_the_whole_graph_decides():
    """``zeros((0, 3))`` on one device, whose first size is known on another."""
    with group("one"):
        begin = mx.sym.zeros((0, 3), name="begin") + 1
    with group("two"):
        net = begin * mx.sym.Variable("x")
    executor = net.simple_bind(mx.cpu(0), group2ctx=GROUPS, x=(4, 3))
    executor.arg_dict["x"][:] = 3
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), np.full((4, 3), 3))
    smaller = executor.reshape(x=(2, 3))
    np.testing.assert_array_equal(smaller.forward()[0].asnumpy(), np.full((2, 3), 3))


def test_reshape_and_shared_arrays():
    net, shapes = dense_layers()
    executor = filled(net, shapes, GROUPS)
    smaller = executor.reshape(data=(2, 5), softmax_label=(2,))
    assert smaller.arg_dict["b_weight"] is executor.arg_dict["b_weight"]
    assert_on(smaller.forward()[0], 2)
    assert_on(smaller.arg_dict["data"], 1)
    shared = net.simple_bind(
        mx.cpu(0), group2ctx=GROUPS, shared_exec=executor, shared_arg_names=["b_bias"],
        shared_buffer={}, **shapes,
    )  # fmt: skip
    executor.arg_dict["b_bias"][:] = 7
    np.testing.assert_array_equal(shared.arg_dict["b_bias"].asnumpy(), 7)


def test_a_state_that_a_later_segment_reads_is_the_new_one():
    with group("one"):
        mean = mx.sym.Variable("bn_moving_mean")
        net = mx.sym.BatchNorm(mx.sym.Variable("data"), moving_mean=mean, name="bn", momentum=0.5)
    with group("two"):
        net = mx.sym.broadcast_add(net, mx.sym.expand_dims(mean, axis=0))
    found = []
    for groups in (None, GROUPS):
        executor = net.simple_bind(mx.cpu(0), group2ctx=groups, data=(4, 2))
        executor.arg_dict["data"][:] = np.arange(8).reshape(4, 2)
        executor.forward(is_train=True)
        found.append(results(executor))
    assert_same(found[1:], found[:1])
    assert (found[1]["bn_moving_mean"] != 0).all()


def test_what_several_segments_read_moves_once(monkeypatch):
    with group("one"):
        a = mx.sym.tanh(mx.sym.Variable("x"))
    with group("two"):
        b = mx.sym.exp(a)
    with group("one"):
        c = mx.sym.sin(b)
    with group("two"):
        net = c + a
    moves, move = [], segments.placed_on

    def counted(value, device):
        moves.extend([device] * (value.devices() != {device}))
        return move(value, device)

    monkeypatch.setattr(segments, "placed_on", counted)
    executor = net.simple_bind(mx.cpu(0), group2ctx=GROUPS, x=(2,))
    executor.forward()[0].asnumpy()
    assert moves == [mx.cpu(i).jax_device for i in (2, 1, 2)]


def test_monitors_see_the_same():
    net, shapes = dense_layers()
    seen = []
    for groups in (None, GROUPS):
        executor = filled(net, shapes, groups)
        mine = {}
        executor.set_monitor_callback(
            lambda name, array, mine=mine: mine.__setitem__(name.decode(), array.asnumpy()),
            monitor_all=True,
        )
        mx.random.seed(5)
        executor.forward(is_train=True)
        executor.backward()
        seen.append(mine)
    assert "b_backward_output0" in seen[1]
    assert list(seen[1]) == list(seen[0])
    assert_same(seen[1:], seen[:1])


def test_a_failure_leaves_the_states_as_they_were():
    net, shapes = dense_layers()
    executor = filled(net, shapes, GROUPS)
    before = executor.aux_dict["bn_moving_mean"].asnumpy()
    executor.arg_dict["b_weight"]._cell.set(jax.numpy.zeros((2, 2)))
    executor.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match="node 'b'"):
        executor.outputs[0].asnumpy()
    np.testing.assert_array_equal(executor.aux_dict["bn_moving_mean"].asnumpy(), before)


def test_nodes_of_one_name_have_the_streams_of_the_whole_graph():
    x, nets = mx.sym.Variable("x"), {}
    for name in ("one", "two"):
        with group(name):
            nets[name] = mx.sym.Dropout(x, name="same")
    net, found = mx.sym.Group([nets["two"], nets["one"], *nets.values()]), []
    for spread in (None, GROUPS):
        mx.random.seed(3)
        executor = net.bind(mx.cpu(), {"x": mx.nd.ones((40,))}, group2ctx=spread)
        found.append([y.asnumpy().tolist() for y in executor.forward(is_train=True)])
    assert found[0] == found[1] and found[0][0] != found[0][1]
