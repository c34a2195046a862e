"""foreach, while_loop and cond: beside the reference, beside unrolled networks, and in modules."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
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


@pytest.mark.parametrize("name", ["nested", "while_in_foreach", "choose_second"])
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
def test_a_module_trains_a_loop_as_the_unrolled_network(contexts):
    contexts = [mx.cpu(i) for i in range(contexts)]
    values, output = trained(network(True), contexts)
    want, wanted = trained(network(False), contexts)
    assert values.keys() == want.keys() >= {"bn_moving_mean", "bn_moving_var"}
    assert want["bn_moving_mean"].any()
    for name in want:
        np.testing.assert_allclose(values[name], want[name], rtol=1e-4, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(output, wanted, rtol=1e-4, atol=1e-5)
