"""Lowering: the graph as a pure function, its names, its keys and its cache."""

import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modkit import symbol as sym
from modkit.attribute import AttrScope
from modkit.context import cpu
from modkit.errors import MXNetError, ParameterError
from modkit.name import NameManager
from modkit.ndarray import ones
from modkit.symbol import evaluate
from modkit.symbol.lower import lower, streams_of
from modkit.symbol.row_sparse import Factor, row_sources

KEY = jax.random.key(0)


def _ones(**shapes):
    return {n: jnp.ones(s) for n, s in shapes.items()}


def _mlp(name="fc", hidden=3, **attrs):
    with NameManager():
        net = sym.FullyConnected(sym.Variable("data", **attrs), num_hidden=hidden, name=name)
        return sym.softmax(net, name="out")


def test_runs_under_jit_and_grad():
    lowered = lower(_mlp())
    values = _ones(data=(2, 4), fc_weight=(3, 4), fc_bias=(3,))

    @jax.jit
    def loss(weight):
        outputs, *_ = lowered.run({**values, "fc_weight": weight}, KEY, True)
        return (outputs[0] ** 2).sum()

    weight = np.random.RandomState(0).uniform(-1, 1, (3, 4)).astype(np.float32)
    got = jax.grad(loss)(weight)
    wide = weight.astype(np.float64)
    step = np.zeros((3, 4))
    step[1, 2] = 1e-6

    def exact(w):
        score = np.ones((2, 4)) @ w.T + 1
        odds = np.exp(score) / np.exp(score).sum(1, keepdims=True)
        return (odds**2).sum()

    slope = (exact(wide + step) - exact(wide - step)) / 2e-6
    np.testing.assert_allclose(got[1, 2], slope, rtol=1e-3)


def test_names():
    out = _mlp()
    lowered = lower(sym.Group([sym.BatchNorm(out, name="bn"), out]))
    assert lowered.aux_names == ("bn_moving_mean", "bn_moving_var")
    assert lowered.output_names == ("bn_output", "out_output")


def test_a_chain_of_any_length_is_searched_for_rows_that_are_read():
    net = sym.Variable("x")
    for _ in range(1500):
        net = sym.negative(net)
    steps = lower(sym.dot(sym.Variable("csr"), net)).steps
    assert row_sources(steps, {len(steps) - 1}) == {"x": Factor("csr")}


def test_the_work_for_lookups_that_follow_each_other_grows_with_their_number():
    class Counted(tuple):
        reads = 0

        def __getitem__(self, at):
            Counted.reads += 1
            return super().__getitem__(at)

    def reads(count):
        numbers, weight = sym.Variable("numbers"), sym.Variable("weight")
        for _ in range(count):
            found = sym.Embedding(numbers, weight, input_dim=5, output_dim=5, sparse_grad=True)
            numbers = sym.argmax(found, axis=1)
        Counted.reads = 0
        assert not row_sources(Counted(lower(numbers).steps), {2 * count + 1})["weight"].repeatable
        return Counted.reads

    assert reads(80) < 3 * reads(40)


def test_equal_graphs_are_lowered_once():
    assert lower(_mlp()) is lower(_mlp(lr_mult=2))
    assert lower(_mlp()).structure == lower(_mlp()).structure
    assert lower(_mlp()) is not lower(_mlp(hidden=4))
    assert lower(_mlp()) is not lower(_mlp(name="other"))
    with AttrScope(ctx_group="dev1"):
        placed = _mlp()
    assert lower(placed) is not lower(_mlp())
    assert {s.group for s in lower(placed).steps} == {"dev1"}


def test_attributes_set_after_lowering_count():
    net = _mlp()
    before = lower(net)
    net.get_internals()["fc_output"]._set_attr(num_hidden="5")
    assert lower(net) is not before


def test_auxiliary_states_come_back_by_variable_name():
    net = sym.BatchNorm(sym.Variable("x"), moving_mean=sym.Variable("m"), name="bn", momentum=0.5,
                        fix_gamma=False)  # fmt: skip
    values = _ones(x=(4, 2), bn_gamma=(2,), bn_beta=(2,), m=(2,), bn_moving_var=(2,))
    _, changed, *_ = lower(net).run({**values, "x": 3 * values["x"]}, KEY, True)
    assert set(changed) == {"m", "bn_moving_var"}
    np.testing.assert_allclose(changed["m"], [2, 2])
    assert lower(net).run(values, KEY, False)[1] == {}


def test_a_shared_state_is_updated_in_turn():
    mean = sym.Variable("m")
    data = sym.Variable("x")
    first = sym.BatchNorm(data, moving_mean=mean, name="a", momentum=0.5)
    second = sym.BatchNorm(data, moving_mean=mean, name="b", momentum=0.5)
    net = sym.Group([first, second])
    values = {n: jnp.ones(2) for n in net.list_inputs()}
    _, changed, *_ = lower(net).run({**values, "x": jnp.full((4, 2), 5.0)}, KEY, True)
    np.testing.assert_allclose(changed["m"], [4, 4])


def test_random_numbers_follow_the_name_not_the_place():
    def drop(name, deep):
        net = sym.relu(sym.Variable("x")) if deep else sym.Variable("x")
        lowered = lower(sym.Dropout(net, name=name))
        assert lowered.takes_key
        return np.asarray(lowered.run(_ones(x=(64,)), KEY, True)[0][0])

    np.testing.assert_array_equal(drop("d", False), drop("d", True))
    assert (drop("d", False) != drop("e", False)).any()


@pytest.mark.parametrize(
    ("attrs", "shape", "want"),
    [
        ({"start": 3}, (4,), [3, 4, 5, 6]),
        ({"start": 1, "step": 0.5}, (2, 2), [[1, 1.5], [2, 2.5]]),
        ({"start": 1, "step": -1, "repeat": 2}, (5,), [1, 1, 0, 0, -1]),
        ({"start": 1, "repeat": 4}, (2,), [1, 1]),
        ({"start": 2.7, "step": 1.6, "dtype": "int32"}, (3,), [2, 3, 4]),
    ],
)
def test_a_range_without_an_end_has_the_shape_that_its_reader_decides(attrs, shape, want):
    dtype = attrs.get("dtype", "float32")
    like = sym.Cast(sym.Variable("like"), dtype=dtype)
    net = sym.load_json((like * 0 + sym.arange(infer_range=True, **attrs)).tojson())
    assert net.infer_shape(like=shape)[1] == [shape]
    executor = net.bind(cpu(), {"like": ones(shape)})
    assert executor.forward()[0].asnumpy().tolist() == want
    alone = sym.arange(infer_range=True, **attrs)
    for undecided in (alone, sym.concat(alone, sym.ones(2, dtype=dtype), dim=0)):
        with pytest.raises(MXNetError, match=r"shape of _?arange\d \(of operator _arange\)"):
            undecided.eval()


def test_open_shapes_are_filled_in():
    net = sym.zeros((0, 3)) + sym.Variable("a") + sym.ones(())
    outputs, *_ = lower(net).run(_ones(a=(2, 3)), KEY, False)
    np.testing.assert_array_equal(outputs[0], np.full((2, 3), 2))


def test_nodes_are_named_in_the_program():
    lowered = lower(_mlp())
    text = jax.jit(lambda v: lowered.run(v, KEY, False)[0]).lower(
        _ones(data=(2, 4), fc_weight=(3, 4), fc_bias=(3,))
    )
    assert "fc/" in text.as_text(debug_info=True)


def test_missing_values_are_named():
    with pytest.raises(ParameterError, match="'fc_bias'"):
        lower(_mlp()).run(_ones(data=(2, 4), fc_weight=(3, 4)), KEY, False)


def test_errors_name_the_node():
    with pytest.raises(MXNetError, match=r"node 'fc' with inputs float32\[2, 4\]"):
        lower(_mlp()).run(_ones(data=(2, 4), fc_weight=(3, 5), fc_bias=(3,)), KEY, False)


def test_64_bit_parameters_are_noticed():
    assert lower(sym.Cast(sym.Variable("x"), dtype="float64")).needs_x64
    assert not lower(_mlp()).needs_x64


def test_later_attributes_do_not_reach_what_is_lowered():
    net = sym.FullyConnected(sym.Variable("a"), num_hidden=3, no_bias=True, name="f")
    whole = net + sym.zeros((0, 3))
    lowered = lower(whole)
    net._set_attr(num_hidden="5")
    outputs, *_ = lowered.run(_ones(a=(2, 4), f_weight=(3, 4)), KEY, False)
    assert outputs[0].shape == (2, 3)


def test_a_variable_that_is_summed_over_axes_of_more_than_a_matrix():
    net = sym.sum(sym.Variable("x"), axis=(1, -1), keepdims=True)
    executor = net.simple_bind(cpu(), x=(2, 3, 4, 5))
    executor.arg_dict["x"][:] = 1
    assert executor.forward()[0].asnumpy().tolist() == [[[[15]] * 4]] * 2


def test_readers_of_labels_that_are_cast_are_traced_once(monkeypatch):
    call, traced = evaluate._call, []

    def traces(node, *args, **options):
        traced.append(node.name)
        return call(node, *args, **options)

    monkeypatch.setattr(evaluate, "_call", traces)
    with NameManager():
        fc = sym.FullyConnected(sym.Variable("data"), num_hidden=3)
        label = sym.Cast(sym.Variable("label"), dtype="int32")
        executor = sym.SoftmaxOutput(fc, label, name="loss").simple_bind(
            cpu(), data=(2, 4), label=(2,), grad_req={"data": "write", "label": "null"}
        )
    executor.forward(is_train=True)
    executor.backward()
    executor.grad_dict["data"].wait_to_read()
    assert traced.count("loss") == 1


def test_nodes_of_one_name_draw_apart():
    assert streams_of(["d", "e", "d"], before=["e"])[0] == zlib.crc32(b"d")
    assert len({*streams_of(["d", "e", "d"]), *streams_of(["d", "e"], before="dde")}) == 5
    x = sym.Variable("x")
    masks = sym.Group([sym.Dropout(x, name="d"), sym.Dropout(x, name="d")])
    first, second = lower(masks).run(_ones(x=(40,)), KEY, True).outputs
    assert not np.array_equal(first, second)
