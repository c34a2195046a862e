"""foreach, while_loop and cond: beside the reference, beside unrolled networks, and in modules."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, NotSupportedError, ParameterError, ShapeError
from modkit.symbol.lower import Lowered
from tests.fresh import answer
from tests.symbol import loops

RECORDED = json.loads((Path(loops.__file__).parents[1] / "reference/control_flow.json").read_text())

built = functools.cache(functools.partial(loops.built, mx))
"""Once a process: the names of subgraphs count on."""

S = mx.sym.contrib


def run(symbol, inputs, *, heads=None):
    """Outputs, and gradients for head gradients 1, 2, ..."""
    arrays = {n: mx.nd.array(v) for n, v in inputs.items()}
    grads = {n: mx.nd.zeros_like(v) for n, v in arrays.items()}
    executor = symbol.bind(mx.cpu(), arrays, args_grad=grads)
    outputs = executor.forward(is_train=True)
    executor.backward(
        [mx.nd.ones_like(y) * (i + 1) for i, y in enumerate(outputs)] if heads is None else heads
    )
    return [y.asnumpy() for y in outputs], {n: g.asnumpy() for n, g in grads.items()}


def check(symbol, name):
    """Compare outputs and gradients with what the reference recorded."""
    outputs, grads = run(symbol, loops.ROWS[name].inputs)
    want, steps = RECORDED[name], loops.ROWS[name].steps
    if want["values"] is None:  # it fails; see the unrolled networks
        return
    if steps is not None:
        assert not outputs[0][steps:].any()
        outputs[0] = outputs[0][:steps]
    for got, value in zip(outputs, want["values"], strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-6)
        assert got.shape == np.shape(value)
    if want["grads"] is None:  # it fails; see the unrolled networks
        return
    assert grads.keys() == want["grads"].keys()
    for each, value in want["grads"].items():
        np.testing.assert_allclose(grads[each], value, rtol=1e-5, atol=1e-5)


def document(text):
    """A graph without the field that counts workspaces, in subgraphs too."""

    def without(graph):
        graph.pop("node_row_ptr")
        for node in graph["nodes"]:
            for each in node.get("subgraphs", ()):
                without(each)
        return graph

    return without(json.loads(text))


def test_every_graph_is_recorded():
    assert RECORDED.keys() == loops.ROWS.keys()


@pytest.mark.parametrize("name", loops.ROWS)
def test_graphs_are_those_of_the_reference(name):
    symbol, form = built(name)
    want = RECORDED[name]
    assert document(symbol.tojson()) == document(want["json"])
    assert form == want["form"]
    assert symbol.list_arguments() == want["arguments"]
    assert symbol.list_outputs() == want["outputs"]


@pytest.mark.parametrize("name", loops.ROWS)
def test_outputs_and_gradients_are_those_of_the_reference(name):
    check(built(name)[0], name)


@pytest.mark.parametrize("name", ["recurrent", "choose_second"])
def test_files_of_the_reference_run(name):
    symbol = mx.sym.load_json(RECORDED[name]["json"])
    check(symbol, name)
    assert document(symbol.tojson()) == document(RECORDED[name]["json"])


# ── Beside unrolled networks ────────────────────────────────────────────────────────────────


def rows_of(x, count):
    parts = mx.sym.split(x, num_outputs=count, axis=0, squeeze_axis=True)
    return [parts[i] for i in range(count)]


def stacked(parts):
    return mx.sym.stack(*parts, axis=0)


def unrolled_nested():
    x, s, t = map(mx.sym.var, "xst")
    outer = []
    total = s
    for a in rows_of(x, 3):
        inner = []
        start = total
        for c in rows_of(mx.sym.reshape(a, shape=(2, 1)), 2):
            inner.append(c * total + t)
            total = total + c * start
        outer.append(stacked(inner))
    return mx.sym.Group([stacked(outer), total])


def unrolled_while():
    n, w, limit = map(mx.sym.var, ["n", "w", "limit"])
    made = []
    for _ in range(4):
        n = n * w
        made.append(n)
    return mx.sym.Group([stacked([*made, mx.sym.zeros((1,))]), n + 0 * limit])


def unrolled_while_in_foreach():
    x, s = map(mx.sym.var, "xs")
    made, total = [], s
    for a, first in zip(rows_of(x, 2), (1, 2), strict=True):
        i = a
        for _ in range(first, 3):
            i, total = i + 1, total * a
        made.append(i)
    return mx.sym.Group([stacked(made), total])


def unrolled_cond_in_foreach():
    x, w = map(mx.sym.var, "xw")
    total, made = mx.sym.zeros((2,)), []
    for a, is_large in zip(rows_of(x, 3), (True, False, True), strict=True):
        made.append(a * w if is_large else a + total)
        total = total + made[-1]
    return mx.sym.Group([stacked(made), total])


@pytest.mark.parametrize(
    ("name", "unrolled"),
    [
        ("nested", unrolled_nested),
        ("until_it_is_large", unrolled_while),
        ("while_in_foreach", unrolled_while_in_foreach),
        ("cond_in_foreach", unrolled_cond_in_foreach),
    ],
)
def test_what_the_reference_cannot_run_is_as_unrolled(name, unrolled):
    assert RECORDED[name]["grads"] is None
    inputs = loops.ROWS[name].inputs
    for got, want in zip(run(built(name)[0], inputs), run(unrolled(), inputs), strict=True):
        got, want = (list(x.values()) if isinstance(x, dict) else x for x in (got, want))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# ── Modules ─────────────────────────────────────────────────────────────────────────────────


def normalised(a, states):
    """A step with weights, statistics and random numbers."""
    hidden = mx.sym.FullyConnected(a, num_hidden=3, name="fc") + states
    hidden = mx.sym.BatchNorm(hidden, name="bn", fix_gamma=False, momentum=0.5)
    return hidden, hidden * 0.5


def network(in_a_loop, steps=4):
    x, s = mx.sym.var("data"), mx.sym.zeros((0, 3))
    if in_a_loop:
        made, state = S.foreach(normalised, x, s)
    else:
        outputs, state = [], s
        shared = {
            n: mx.sym.var(n)
            for n in ("fc_weight", "fc_bias", "bn_gamma", "bn_beta", "bn_moving_mean")
        } | {"bn_moving_var": mx.sym.var("bn_moving_var", init=mx.init.One())}
        for i, a in enumerate(rows_of(x, steps)):
            hidden = mx.sym.FullyConnected(
                a, shared["fc_weight"], shared["fc_bias"], num_hidden=3, name=f"fc{i}"
            )
            rest = [v for n, v in shared.items() if n.startswith("bn")]
            hidden = mx.sym.BatchNorm(
                hidden + state, *rest, name=f"bn{i}", fix_gamma=False, momentum=0.5
            )
            outputs.append(hidden)
            state = hidden * 0.5
        made = stacked(outputs)
    net = mx.sym.mean(made, axis=0) + state
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(net, num_hidden=2, name="out"), name="softmax"
    )


def trained(symbol, contexts, rounds=2):
    rng = np.random.RandomState(3)
    batches = [
        mx.io.DataBatch(
            [mx.nd.array(rng.rand(4, 8, 5))], [mx.nd.array(rng.randint(0, 2, 8).astype("f"))]
        )
        for _ in range(rounds)
    ]
    module = mx.mod.Module(symbol, context=contexts)
    module.bind(
        [mx.io.DataDesc("data", (4, 8, 5), layout="TNC")], [mx.io.DataDesc("softmax_label", (8,))]
    )
    mx.random.seed(5)
    names = ("fc_weight", "fc_bias", "bn_gamma", "bn_beta", "out_weight", "out_bias")
    shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(data=(4, 8, 5))[0], strict=True))
    values = {n: mx.nd.array(rng.rand(*shapes[n])) for n in names}
    module.init_params(mx.init.Zero(), values)
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.3, "momentum": 0.9})
    for batch in batches:
        module.forward_backward(batch)
        module.update()
    module.forward(batches[0], is_train=False)
    args, auxs = module.get_params()
    return {n: v.asnumpy() for n, v in {**args, **auxs}.items()}, module.get_outputs()[0].asnumpy()


@pytest.mark.slow
@pytest.mark.parametrize("contexts", [1, 2], ids=["one", "replicas"])
def test_a_module_trains_a_loop_as_the_unrolled_network(contexts, monkeypatch):
    # A loop writes states in the order of its steps, an unrolled network from the last one on.
    monkeypatch.setattr(Lowered, "writers", lambda *_: None)
    contexts = [mx.cpu(i) for i in range(contexts)]
    values, output = trained(network(True), contexts)
    want, wanted = trained(network(False), contexts)
    assert values.keys() == want.keys() >= {"bn_moving_mean", "bn_moving_var"}
    assert want["bn_moving_mean"].any()
    for name in want:
        np.testing.assert_allclose(values[name], want[name], rtol=1e-4, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(output, wanted, rtol=1e-4, atol=1e-5)


# ── Errors ──────────────────────────────────────────────────────────────────────────────────

a, b = mx.sym.var("a"), mx.sym.var("b")
two = mx.sym.split(a, num_outputs=2, name="two")


def sum_of(x, s):
    return x + s, s


def less(i):
    return i < 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: S.foreach(sum_of, 3, a), "foreach: data: got 3 of type int, expected one Symbol"),
        (lambda: S.foreach(sum_of, a, 4), "foreach: init_states: got 4"),
        (lambda: S.foreach(sum_of, [], a), "data: got no symbols"),
        (lambda: S.foreach(sum_of, two, a), "got a symbol of 2 outputs"),
        (lambda: S.foreach(sum_of, a, a), "2 variables of the body have the name 'a-0'"),
        (lambda: S.foreach(lambda x, s: x, a, b), "expected a pair"),
        (lambda: S.foreach(lambda x, s: (3, s), a, b), "outputs of the body: got 3"),
        (lambda: S.foreach(lambda x, s: (x, x), a, [b]), "states of the body: got 1 of the form 0"),
        (lambda: S.foreach(lambda x, s: (x, [s[0]] * 2), a, [b]), "got 2 of the form"),
        (lambda: S.foreach(lambda x, s: (s, s), a, b), r"data 0 \('a-0'\) is not used"),
        (lambda: S.foreach(lambda x, s: (x, x), a, b), r"init_states 0 \('b-0'\) is not used"),
        (lambda: S.foreach(lambda x, s: (two, s), a, b), "body: got a symbol of 2 outputs"),
        (
            lambda: S.foreach(lambda x, s: (mx.sym.BatchNorm(x, moving_mean=s), s), a, b),
            "takes its loop variable 'b-0' as an auxiliary state",
        ),
        (lambda: S.while_loop(less, lambda i: (i, i), a), "max_iterations: got None"),
        (lambda: S.while_loop(less, lambda i: (i, i), a, 0), "max_iterations: got 0"),
        (lambda: S.while_loop(less, lambda i: (i, i), a, "x"), "max_iterations: got 'x'"),
        (lambda: S.while_loop(less, lambda i: (i, i), a, 0.5), "max_iterations: got 0.5"),
        (lambda: S.while_loop(less, lambda i: (i, i), [], 3), "loop_vars: got none"),
        (lambda: S.while_loop(less, lambda i: (i, i), 3, 3), "loop_vars: got 3"),
        (lambda: S.while_loop(lambda i: 3, lambda i: (i, i), a, 3), "cond returned 3"),
        (lambda: S.while_loop(lambda i: two, lambda i: (i, i), a, 3), "cond returned <Symbol two>"),
        (lambda: S.while_loop(less, lambda i: i, a, 3), "expected a pair"),
        (lambda: S.while_loop(less, lambda i: (3, i), a, 3), "outputs of func: got 3"),
        (lambda: S.while_loop(less, lambda i: (i, [i, i]), a, 3), "returned 2 loop_vars"),
        (lambda: S.while_loop(less, lambda i: (i, b), a, 3), None),
        (
            lambda: S.while_loop(lambda i, s: i < 4, lambda i, s: (i, [i, i]), [a, b], 3),
            r"loop_vars 1 \('b-0'\) is not used by func",
        ),
        (lambda: S.cond(3, lambda: a, lambda: b), "pred: got 3"),
        (lambda: S.cond([a, a], lambda: a, lambda: b), "pred: got "),
        (lambda: S.cond([], lambda: a, lambda: b), "pred: got "),
        (lambda: S.cond(two, lambda: a, lambda: b), "expected a Symbol of one output"),
        (lambda: S.cond(a, lambda: [a], lambda: [a, b]), "got 1 outputs of then_func and 2 of"),
        (lambda: S.cond(a, list, list), "got 0 outputs of then_func and 0 of"),
        (lambda: S.cond(a, lambda: 3, lambda: b), "outputs of then_func: got 3"),
        (lambda: mx.sym._internal._foreach(), "required parameter|no graphs to run"),
    ],
)
def test_what_does_not_fit_is_refused(make, message):
    if message is None:  # a variable may change to what comes from outside
        assert mx.sym.Group(list(make())).list_arguments() == ["a", "b"]
        return
    with pytest.raises(ParameterError, match=message):
        make()


def test_numbers_of_steps_are_cut_off_and_a_condition_may_be_in_a_list():
    steps, last = S.while_loop(lambda i: i < 9, lambda i: (i, i + 1), a, 2.5)
    found, _ = run(mx.sym.Group([steps, last]), {"a": np.float32([0])})
    np.testing.assert_array_equal(found[0], [[0], [1]])
    np.testing.assert_array_equal(found[1], [2])
    for value, want in ((0, 3), (1, 5)):
        made = S.cond([a], lambda: b, lambda: b - 2)
        found, _ = run(made, {"a": np.float32([value]), "b": np.float32([5])})
        np.testing.assert_array_equal(found[0], [want])


def test_a_body_that_raises_leaves_its_scope():
    with pytest.raises(ZeroDivisionError):
        S.foreach(lambda x, s: 1 / 0, a, b)
    assert mx.AttrScope.current.get(None) == {}


@pytest.mark.parametrize(
    ("make", "shapes", "message"),
    [
        (lambda: S.foreach(sum_of, a, b), {"a": (3, 2), "b": (3,)}, "'_plus.*got shape"),
        (
            lambda: S.foreach(lambda x, s: (x[0] + x[1], s), [a, b], mx.sym.var("s")),
            {"a": (3, 2), "b": (2, 2), "s": (1,)},
            "number of steps",
        ),
        (
            lambda: S.foreach(lambda x, s: (x, mx.sym.concat(s, s, dim=0)), a, b),
            {"a": (3, 2), "b": (2,)},
            "Concat: got 4 elements along axis 0, expected 2",
        ),
        (lambda: S.while_loop(less, lambda i: (i, i + 1), a, 3), {"a": (2,)}, "the condition: got"),
        (lambda: [S.cond(a < b, lambda: a, lambda: b)], {"a": (2,), "b": (2,)}, "the condition: "),
        (
            lambda: [S.cond(a, lambda: b, lambda: two[0])],
            {"a": (1, 2), "b": (3, 1)},
            "values decide",
        ),
        (
            lambda: [S.cond(a, lambda: b, lambda: mx.sym.dot(b, b, name="inner"))],
            {"a": (1,), "b": (2, 3)},
            "operator dot of node 'inner'",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused(make, shapes, message):
    with pytest.raises(ShapeError, match=message):
        mx.sym.Group(loops.flat(make())).simple_bind(mx.cpu(), **shapes).forward()[0].asnumpy()


def test_types_that_do_not_fit_are_refused():
    net = mx.sym.Group(list(S.foreach(lambda x, s: (x, mx.sym.cast(s, "float16")), a, b)))
    with pytest.raises(DTypeError, match="b-0: got float32, expected float16"):
        net.infer_type(b="float32")


def test_python_in_a_body_is_refused():
    @mx.operator.register("in_a_loop")
    class Prop(mx.operator.CustomOpProp):
        pass

    outputs, _ = S.foreach(lambda x, s: (mx.sym.Custom(x, op_type="in_a_loop"), s), a, [])
    with pytest.raises(NotSupportedError, match="its body calls Python"):
        outputs.simple_bind(mx.cpu(), a=(2, 3))


# ── Inference, random numbers, files ────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"a": (4,)}, ([(4,), (1,)], [(4, 1), (1,)], [])),
        ({"a": (4, 2)}, ([(4, 2), (2,)], [(4, 2), (2,)], [])),
        ({"a": (0, 2)}, ([(0, 2), (2,)], [(0, 2), (2,)], [])),
        ({"a": (4, 2), "b": (0,)}, ([(4, 2), (2,)], [(4, 2), (2,)], [])),
    ],
)
def test_shapes_go_through_a_loop(given, want):
    net = mx.sym.Group(list(S.foreach(lambda x, s: (x * s, s + x), a, b)))
    assert net.infer_shape_partial(**given) == want  # MXNet 1.9.1's
    types = net.infer_type_partial(a="float16")
    assert types == ([np.float16] * 2, [np.float16] * 2, [])


def test_shapes_go_back_from_what_follows():
    """And through while_loop and cond, in which MXNet infers none."""
    outputs, _ = S.foreach(lambda x, s: (x * s, s + x), a, b)
    assert (outputs + mx.sym.zeros((4, 2))).infer_shape_partial()[0] == [(4, 2), (2,)]
    loop = mx.sym.Group(list(S.while_loop(less, lambda i: (i, i + 1), a, 7)))
    assert loop.infer_shape(a=(1,)) == ([(1,)], [(7, 1), (1,)], [])
    assert loop.infer_type(a="float64")[1] == [np.float64] * 2
    choice = S.cond(mx.sym.sum(a) < 3, lambda: a * b, lambda: a - b)
    assert choice.infer_shape(a=(3, 2)) == ([(3, 2), (3, 2)], [(3, 2)], [])


def test_each_step_draws_its_own_numbers():
    outputs, _ = S.foreach(lambda x, s: (mx.sym.Dropout(x, p=0.5), s), a, [])
    (made,), grads = run(outputs, {"a": np.ones((4, 32))})
    assert set(made.ravel()) == {0, 2}
    assert len({tuple(r) for r in made.tolist()}) == 4
    np.testing.assert_array_equal(made, grads["a"])


def test_integers_count_the_steps():
    outputs, (i, s) = S.while_loop(
        lambda i, s: i < 3, lambda i, s: (s * 2, [i + 1, s * 2]), [a, b], 4
    )
    net = mx.sym.Group([outputs, i, s])
    executor = net.simple_bind(
        mx.cpu(), a=(1,), b=(2,), type_dict={"a": "int32"}, grad_req={"a": "null", "b": "write"}
    )
    executor.arg_dict["b"][:] = 1
    outputs, i, s = executor.forward(is_train=True)
    assert (i.dtype, i.asnumpy().tolist(), s.asnumpy().tolist()) == (np.int32, [3], [8, 8])
    executor.backward([mx.nd.zeros((4, 2)), mx.nd.zeros((1,), dtype="int32"), mx.nd.ones((2,))])
    assert executor.grad_dict["b"].asnumpy().tolist() == [8, 8]


def sequence(steps):
    """An LSTM over a sequence, for `BucketingModule`."""
    cell = mx.rnn.LSTMCell(3, prefix="l_")
    begin = [mx.sym.zeros((0, 3)), mx.sym.zeros((0, 3))]
    data = mx.sym.swapaxes(mx.sym.var("data"), dim1=0, dim2=1)
    _, (hidden, _) = S.foreach(cell, data, begin)
    net = mx.sym.FullyConnected(hidden, num_hidden=2, name="out")
    return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)


@pytest.mark.slow
def test_buckets_share_a_loops_weights(tmp_path):
    module = mx.mod.BucketingModule(sequence, default_bucket_key=4)
    label = [("softmax_label", (2,))]
    module.bind([("data", (2, 4, 5))], label)
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    first = None
    for steps in (4, 2, 3, 4):
        batch = mx.io.DataBatch(
            [mx.nd.ones((2, steps, 5))], [mx.nd.zeros((2,))], bucket_key=steps,
            provide_data=[("data", (2, steps, 5))], provide_label=label,
        )  # fmt: skip
        module.forward_backward(batch)
        module.update()
        first = first or float(module.get_outputs()[0].asnumpy()[0, 0])
    assert module.get_outputs()[0].asnumpy()[0, 0] > first
    mx.model.save_checkpoint(str(tmp_path / "loop"), 1, sequence(4)[0], *module.get_params())
    loaded = mx.mod.Module.load(str(tmp_path / "loop"), 1)
    loaded.bind([("data", (2, 4, 5))], label, for_training=False)
    module.forward(batch, is_train=False)
    loaded.forward(batch, is_train=False)
    np.testing.assert_array_equal(*(m.get_outputs()[0].asnumpy() for m in (module, loaded)))


def test_a_loop_computes_in_16_bits():
    symbol = built("recurrent")[0]
    inputs = loops.ROWS["recurrent"].inputs
    module = mx.mod.Module(symbol, ["x", "h"], None, compute_dtype="bfloat16")
    descs = [mx.io.DataDesc("x", (2, 3, 2), layout="TNC"), mx.io.DataDesc("h", (3, 2))]
    module.bind(descs, for_training=False)
    module.init_params(arg_params={n: mx.nd.array(v) for n, v in inputs.items() if len(n) > 1})
    module.forward(mx.io.DataBatch([mx.nd.array(inputs["x"]), mx.nd.array(inputs["h"])]))
    got = module.get_outputs()[0].asnumpy()
    want = np.array(RECORDED["recurrent"]["values"][0])
    np.testing.assert_allclose(got, want, atol=0.02)
    assert np.abs(got - want).max() > 1e-5


def test_operators_of_a_users_own_are_part_of_the_cache_key():
    plain, other = (
        S.foreach(lambda x, s, n=n: (x * n, s), a, [], name=f"key{n}")[0] for n in (2, 3)
    )
    keys = [mx.symbol.lower.lower(net).structure for net in (plain, other, other)]
    assert keys[0] != keys[1] == keys[2]


def test_dropout_in_a_loop_compiles_with_xlas_default_options():
    """A kept optimization barrier in a small loop is one that XLA refuses."""
    program = """
import json
import modkit as mx
a = mx.sym.Variable("a")
outputs, _ = mx.sym.contrib.foreach(lambda x, s: (mx.sym.Dropout(x, p=0.5), s), a, [])
executor = outputs.simple_bind(mx.cpu(), a=(4, 32))
made = executor.forward(is_train=True, a=mx.nd.ones((4, 32)))[0].asnumpy()
print(json.dumps(sorted(set(made.ravel().tolist()))))
"""
    assert answer(program, XLA_FLAGS="", MODKIT_CACHE="off") == [0, 2]


def test_values_of_one_name_enter_bodies_apart():
    x, p, i = map(mx.sym.Variable, ("x", "p", "i"))
    u, v = mx.sym.exp(x, name="same"), mx.sym.negative(x, name="same")
    chosen = S.cond(p, lambda: u + 0, lambda: v + 0)
    looped, _ = S.while_loop(
        lambda i: i < 2 + mx.sym.sum(0 * u), lambda i: (i + mx.sym.sum(v), i + 1), i, 2
    )
    given = {"x": mx.nd.ones((2,)), "p": mx.nd.zeros((1,)), "i": mx.nd.zeros((1,))}
    outputs = mx.sym.Group([chosen, looped]).bind(mx.cpu(), given).forward()
    assert [y.asnumpy().tolist() for y in outputs] == [[-1, -1], [[-2], [-1]]]


def test_variables_of_one_name_enter_branches_as_one():
    def branch():
        return mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")

    chosen = S.cond(mx.sym.Variable("p"), branch, lambda: branch() * 2)
    assert chosen.list_arguments() == ["p", "x", "fc_weight", "fc_bias"]


def test_nodes_of_one_name_draw_apart_in_a_body_and_in_its_condition():
    def drawn(_):
        return mx.sym.random.uniform(shape=(8,), name="drawn")

    rows, _ = S.foreach(lambda x, s: ([drawn(x) + x, drawn(x) + x], s), mx.sym.zeros((1, 8)), [])
    first, second = mx.sym.Group(rows).bind(mx.cpu(), {}).forward()
    assert (first != second).asnumpy().all()
    _, last = S.while_loop(
        lambda found: mx.sym.max(mx.sym.abs(drawn(found) - found)) > 0,
        lambda found: ([], drawn(found) + 0 * found),
        mx.sym.zeros((8,)),
        1,
    )
    test = (
        "_while_loop with equal draws of the condition and of the body ends with their difference"
    )
    assert last.bind(mx.cpu(), {}).forward()[0].asnumpy().all(), test


def test_types_of_branches_and_of_a_condition():
    p, x, y = map(mx.sym.Variable, "pxy")
    net = mx.sym.contrib.cond(p, lambda: x * 2, lambda: y + 1)
    half, single = np.float16, np.float32
    for known in ({"x": half}, {"y": half}):
        assert net.infer_type(**known)[:2] == ([single, half, half], [half])
    net = mx.sym.contrib.cond(p < x, lambda: x * 2, lambda: y + 1)
    assert net.infer_type(p=single)[:2] == ([single] * 3, [single])
