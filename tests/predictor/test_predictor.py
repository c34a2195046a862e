"""Predictor: its numbers, batches of any size, what it is made of, threads, and mistakes."""

import copy
import pickle
import threading
from pathlib import Path

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.errors import ParameterError
from modkit.predictor import Predictor
from tests.module.networks import convnet, mlp, ready

RECORDED = Path(__file__).parents[1] / "reference" / "predictor"
DATA = {"data": (8, 10)}


def mlp_params(seed=5, hidden=16, classes=4):
    stream = np.random.RandomState(seed)
    shapes = {"fc1_weight": (hidden, 10), "fc1_bias": (hidden,),
              "fc2_weight": (classes, hidden), "fc2_bias": (classes,)}  # fmt: skip
    return {n: stream.normal(size=s).astype(np.float32) for n, s in shapes.items()}


def expected(x, params):
    """`mlp` in float64."""
    p = {n: v.astype(np.float64) for n, v in params.items()}
    hidden = np.tanh(x @ p["fc1_weight"].T + p["fc1_bias"])
    scores = hidden @ p["fc2_weight"].T + p["fc2_bias"]
    scores = np.exp(scores - scores.max(1, keepdims=True))
    return scores / scores.sum(1, keepdims=True)


def samples(count, *shape):
    return np.random.RandomState(count).normal(size=(count, *shape)).astype(np.float32)


@pytest.fixture(scope="module")
def predictor():
    return Predictor(mlp(), mlp_params(), DATA)


# ── Numbers ─────────────────────────────────────────────────────────────────────────────────


def test_a_checkpoint_of_mxnet_says_what_mxnet_says():
    recorded = np.load(RECORDED / "convnet.npz")
    made = Predictor.from_checkpoint(str(RECORDED / "convnet"), 2, {"data": (4, 2, 8, 8)})
    np.testing.assert_allclose(made.predict(recorded["x"]), recorded["y"], rtol=1e-5, atol=1e-6)


COUNTS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 21]
KINDS = ["numpy", "jax", "nd", "list"]


@pytest.mark.parametrize(
    ("count", "kind"), [(0, "numpy"), (0, "jax"), *((c, k) for c in COUNTS for k in KINDS)]
)
def test_batches_of_any_size(predictor, count, kind):
    x = samples(count, 10)
    given = {"numpy": lambda: x, "jax": lambda: jax.numpy.asarray(x),
             "nd": lambda: mx.nd.array(x), "list": lambda: x.tolist()}[kind]  # fmt: skip
    y = predictor.predict(given())
    assert y.shape == (count, 4) and y.dtype == np.float32
    if count:
        np.testing.assert_allclose(y, expected(x, mlp_params()), rtol=1e-5)
    (ahead,) = predictor.forward(given())
    assert isinstance(ahead, mx.nd.NDArray)
    np.testing.assert_allclose(ahead.asnumpy(), y, rtol=1e-6)


def test_it_agrees_with_a_module():
    batch = mx.io.DataBatch([mx.nd.array(samples(8, 3, 9, 9))], [mx.nd.zeros(8)])
    module = ready(convnet(), batch)
    module.forward_backward(batch)
    module.update()
    module.forward(batch, is_train=False)
    wanted = module.get_outputs()[0].asnumpy()
    made = Predictor(convnet(), module.get_params(), {"data": (8, 3, 9, 9)})
    np.testing.assert_allclose(made.predict(batch.data[0]), wanted, rtol=1e-5, atol=1e-6)


def test_what_it_gives_may_be_written_to(predictor):
    for count in (8, 3, 20):
        y = predictor.predict(samples(count, 10))
        y[:] = 0
    assert predictor.predict(samples(8, 10)).sum() == pytest.approx(8, rel=1e-5)


def test_element_types():
    x, params = samples(3, 10), mlp_params()
    wanted = expected(x, params)
    for dtype, rtol in (("float16", 2e-2), ("bfloat16", 2e-1), ("float64", 1e-12)):
        y = Predictor(mlp(), params, DATA, dtype=dtype).predict(x)
        assert y.dtype == jax.numpy.dtype(dtype)
        np.testing.assert_allclose(y.astype(np.float64), wanted, rtol=rtol)
    wide = {n: v.astype(np.float64) for n, v in params.items()}
    assert Predictor(mlp(), wide, DATA).predict(x).dtype == np.float64
    for given in (x.astype(np.float64), (x * 10).astype(np.int64), x.astype(">f4")):
        assert Predictor(mlp(), params, DATA).predict(given).dtype == np.float32


def test_batch_normalisation_keeps_float32_under_float16():
    batch = mx.io.DataBatch([mx.nd.array(samples(8, 3, 9, 9))], [mx.nd.zeros(8)])
    params = ready(convnet(), batch).get_params()
    whole = Predictor(convnet(), params, {"data": (8, 3, 9, 9)})
    half = Predictor(convnet(), params, {"data": (8, 3, 9, 9)}, dtype="float16")
    x = batch.data[0]
    assert half.predict(x).dtype == np.float16
    np.testing.assert_allclose(half.predict(x), whole.predict(x), atol=5e-3)


# ── Sizes ───────────────────────────────────────────────────────────────────────────────────


def test_few_sizes_are_compiled(compilations):
    made = Predictor(mlp(hidden=17), mlp_params(hidden=17), {"data": (6, 10)})
    assert made.sizes == (1, 2, 4, 6)

    def ask():
        for count in range(1, 20):
            made.predict(samples(count, 10))

    assert compilations.during(ask) == ["predict"] * 4
    assert compilations.during(ask) == []
    other = Predictor(mlp(hidden=17), mlp_params(6, hidden=17), {"data": (6, 10)})
    assert compilations.during(lambda: other.predict(samples(5, 10))) == []


def test_warm_up_compiles_everything(compilations):
    made = Predictor(mlp(hidden=19), mlp_params(hidden=19), {"data": (4, 10)})
    assert compilations.during(made.warm_up).count("predict") == 3
    assert compilations.during(lambda: [made.predict(samples(n, 10)) for n in (1, 2, 3, 9)]) == []


def test_samples_on_the_second_axis():
    data = mx.sym.Variable("data")
    net = mx.sym.FullyConnected(data, num_hidden=3, flatten=False, name="fc")
    weight = samples(3, 5)
    shapes = [mx.io.DataDesc("data", (7, 4, 5), layout="TNC")]
    made = Predictor(net, {"fc_weight": weight, "fc_bias": np.zeros(3, np.float32)}, shapes)
    for count in (1, 3, 4, 10):
        x = np.random.RandomState(count).normal(size=(7, count, 5)).astype(np.float32)
        np.testing.assert_allclose(made.predict(x), x @ weight.T, rtol=1e-4, atol=1e-6)


def test_outputs_without_a_row_for_each_sample_are_computed_from_the_batch_as_it_is():
    data = mx.sym.Variable("data")
    net = mx.sym.Group([mx.sym.mean(data, axis=0, name="mean"), data * 2])
    made = Predictor(net, {}, {"data": (4, 3)})
    assert made.sizes == ()
    for count in (1, 3, 4, 9):
        x = samples(count, 3)
        mean, double = made.predict(x)
        np.testing.assert_allclose(mean, x.mean(0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(double, x * 2)


def test_rows_of_time_steps_are_not_cut():
    # (N, T, C) to (N T, C), and to (T N, C): which one it is cannot be told from the shapes.
    data = mx.sym.Variable("data")
    net = mx.sym.Reshape(mx.sym.transpose(data, axes=(1, 0, 2)), shape=(-1, 2), name="rows")
    made = Predictor(net, {}, {"data": (4, 3, 2)})
    for count in (1, 3, 4, 6):
        x = samples(count, 3, 2)
        np.testing.assert_array_equal(made.predict(x), x.transpose(1, 0, 2).reshape(-1, 2))


def test_a_graph_that_names_the_size_runs_at_that_size():
    net = mx.sym.Reshape(mx.sym.Variable("data"), shape=(4, 6), name="flat")
    made = Predictor(net, {}, {"data": (4, 2, 3)})
    assert made.sizes == (4,)
    for count in (1, 4, 7):
        x = samples(count, 2, 3)
        np.testing.assert_array_equal(made.predict(x), x.reshape(count, 6))


def test_an_input_that_has_no_samples():
    net = mx.sym.broadcast_add(mx.sym.Variable("data"), mx.sym.Variable("shift"))
    made = Predictor(net, {}, {"data": (4, 3), "shift": (1, 3)})
    for count in (1, 4, 9):
        x, shift = samples(count, 3), samples(1, 3)
        np.testing.assert_allclose(made.predict({"shift": shift, "data": x}), x + shift)


def test_reshape_keeps_the_parameters(predictor):
    other = predictor.reshape({"data": (2, 10)})
    assert other.sizes == (1, 2)
    x = samples(5, 10)
    np.testing.assert_allclose(other.predict(x), predictor.predict(x), rtol=1e-5)
    held = [id(v) for v in predictor._params.values()]
    assert [id(v) for v in other._params.values()] == held


COPIES = {
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_predict_as_it_does(copied, predictor):
    made, x = copied(predictor), samples(5, 10)
    assert repr(made) == repr(predictor)
    np.testing.assert_array_equal(made.predict(x), predictor.predict(x))
    assert copied(made).input_shapes == predictor.input_shapes


# ── What it is made of ──────────────────────────────────────────────────────────────────────


def forms(folder):
    params = mlp_params()
    arrays = {f"arg:{n}": mx.nd.array(v) for n, v in params.items()}
    mlp().save(folder / "net-symbol.json")
    mx.nd.save(folder / "net-0007.params", arrays)
    np.savez(folder / "net.npz", **params)
    return {
        "symbol and arrays": (mlp(), params),
        "prefixed names": (mlp(), arrays),
        "a pair": (mlp(), ({n: mx.nd.array(v) for n, v in params.items()}, {})),
        "text": (mlp().tojson(), params),
        "paths": (folder / "net-symbol.json", folder / "net-0007.params"),
        "an npz": (str(folder / "net-symbol.json"), str(folder / "net.npz")),
        "too many arrays": (mlp(), {**params, "other_weight": np.zeros(3)}),
    }


def test_it_is_made_of_many_things(tmp_path):
    x = samples(5, 10)
    for name, (net, params) in forms(tmp_path).items():
        y = Predictor(net, params, DATA).predict(x)
        np.testing.assert_allclose(y, expected(x, mlp_params()), rtol=1e-5, err_msg=name)
    made = Predictor.from_checkpoint(str(tmp_path / "net"), 7, [("data", (8, 10))])
    np.testing.assert_allclose(made.predict(x), expected(x, mlp_params()), rtol=1e-5)


def test_shapes_from_the_net_itself(tmp_path):
    data = mx.sym.Variable("data", shape=(4, 3))
    net = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    mx.model.save_checkpoint(
        str(tmp_path / "net"),
        1,
        net,
        {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones(2)},
        {},
    )
    made = Predictor.from_checkpoint(str(tmp_path / "net"), 1)
    assert made.input_shapes == {"data": (4, 3)}
    np.testing.assert_allclose(made.predict(np.ones((1, 3))), [[4, 4]])


def test_what_it_says_of_itself(predictor):
    assert predictor.input_names == ("data",)
    assert predictor.output_names == ("softmax_output",)
    assert repr(predictor) == "<Predictor data: (8, 10) -> softmax_output @cpu(0)>"


def test_an_array_may_be_refilled_after_forward():
    made = Predictor(mx.sym.Variable("data") * 2, {}, {"data": (64, 40960)})
    made.warm_up()
    x = np.ones((64, 40960), np.float32)
    (y,) = made.forward(x)
    x[:] = 7
    assert (y.asnumpy() == 2).all()


def test_training_on_does_not_show():
    batch = mx.io.DataBatch([mx.nd.array(samples(8, 10))], [mx.nd.zeros(8)])
    module = ready(mlp(), batch)
    module.forward_backward(batch)
    module.update()  # its results are nobody's but the module's
    executor = module._exec_group.execs[0]
    handles = {n: a for n, a in executor.arg_dict.items() if n.startswith("fc")}
    made = Predictor(mlp(), handles, DATA)
    before = made.predict(batch.data[0])
    for _ in range(3):  # the step's buffers are donated
        module.forward_backward(batch)
        module.update()
    np.testing.assert_array_equal(made.predict(batch.data[0]), before)
    after = Predictor(mlp(), module.get_params(), DATA).predict(batch.data[0])
    assert np.abs(after - before).max() > 1e-3


# ── Labels and random numbers ───────────────────────────────────────────────────────────────


def labelled(name):
    data, label = mx.sym.Variable("data"), mx.sym.Variable("answer")
    dense = mx.sym.FullyConnected(data, num_hidden=2, no_bias=True, name="fc")
    if name == "LinearRegressionOutput":
        return mx.sym.LinearRegressionOutput(dense, label, name="out")
    if name == "reshaped label":
        return mx.sym.SoftmaxOutput(dense, mx.sym.Reshape(label, shape=(-1,)), name="out")
    if name == "two losses":
        losses = [mx.sym.SVMOutput(dense, label), mx.sym.MAERegressionOutput(dense, label)]
        return mx.sym.Group(losses)
    if name == "multi_output":
        maps = mx.sym.Reshape(dense, shape=(-1, 2, 1))
        return mx.sym.SoftmaxOutput(maps, label, multi_output=True, name="out")
    return mx.sym.MakeLoss(dense, name="out")


@pytest.mark.parametrize(
    "name",
    ["LinearRegressionOutput", "reshaped label", "two losses", "multi_output", "MakeLoss"],
)
def test_loss_layers_need_no_labels(name):
    weight, x = samples(2, 3), samples(3, 3)
    made = Predictor(labelled(name), {"fc_weight": weight}, {"data": (4, 3)})
    assert made.input_names == ("data",)
    y = made.predict(x)
    y = y[0] if isinstance(y, list) else y
    scores = x @ weight.T
    soft = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    wanted = soft if name in ("reshaped label", "multi_output") else scores
    np.testing.assert_allclose(y.reshape(3, 2), wanted, rtol=1e-5)


def test_labels_that_are_given_are_not_read():
    shapes = {"data": (8, 10), "softmax_label": (8,)}
    made = Predictor(mlp(), mlp_params(), shapes)
    assert made.input_names == ("data",)
    x = samples(3, 10)
    y = made.predict({"data": x, "softmax_label": np.full(3, np.nan)})
    np.testing.assert_allclose(y, expected(x, mlp_params()), rtol=1e-5)


def test_a_label_that_the_outputs_depend_on_is_an_input():
    data, label = mx.sym.Variable("data"), mx.sym.Variable("label")
    made = Predictor(mx.sym.elemwise_mul(data, label), {}, {"data": (4, 3), "label": (4, 3)})
    np.testing.assert_array_equal(
        made.predict({"data": np.full((2, 3), 2), "label": np.full((2, 3), 5)}), np.full((2, 3), 10)
    )


def test_random_numbers_are_drawn_anew_and_only_where_needed(predictor):
    net = mx.sym.Dropout(mx.sym.Variable("data"), mode="always", name="drop")
    noisy = Predictor(net, {}, {"data": (4, 100)})
    first, second = noisy.predict(np.ones((4, 100))), noisy.predict(np.ones((4, 100)))
    assert set(np.unique(first)) == {0, 2} and (first != second).any()
    mx.random.seed(3)
    wanted = mx.nd.random.uniform(shape=(3,)).asnumpy()
    mx.random.seed(3)
    predictor.predict(samples(3, 10))
    np.testing.assert_array_equal(mx.nd.random.uniform(shape=(3,)).asnumpy(), wanted)


# ── The best classes ────────────────────────────────────────────────────────────────────────


def test_top_k(predictor):
    x = samples(3, 10)
    scores = expected(x, mlp_params())
    for k, labels in ((2, None), (9, ["cat", "dog", "cow", "hen"])):
        for row, best in zip(scores, predictor.top_k(x, k, labels), strict=True):
            order = np.argsort(-row)[:k]
            assert [b.class_id for b in best] == list(order)
            assert [b.score for b in best] == pytest.approx(row[order], rel=1e-5)
            assert [b.label for b in best] == [labels[i] if labels else None for i in order]


def test_equal_scores_come_in_the_order_of_classes():
    ranked = mx.predictor.rank(np.array([[1.0, 2.0] * 40]), 60)
    assert [r.class_id for r in ranked[0]] == [*range(1, 80, 2), *range(0, 40, 2)]


# ── Threads ─────────────────────────────────────────────────────────────────────────────────


def test_any_number_of_threads_may_ask(compilations):
    made = Predictor(mlp(hidden=23), mlp_params(hidden=23), DATA)
    params, wrong = mlp_params(hidden=23), []

    def ask(number):
        for count in (1, 8, 3, 5, 11, 8):  # in sizes of 1, 4 and 8
            x = samples(count + 20 * number, 10)
            if not np.allclose(made.predict(x), expected(x, params), rtol=1e-4):
                wrong.append((number, count))

    def everybody():
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert compilations.during(everybody) == ["predict"] * 3
    assert wrong == []


def test_threads_of_64_bits_and_of_32(predictor):
    wide = Predictor(mlp(), mlp_params(), DATA, dtype="float64")
    seen = {"wide": set(), "narrow": set()}

    def ask(name, made):
        for _ in range(30):
            seen[name].add(str(made.predict(samples(8, 10)).dtype))

    threads = [
        threading.Thread(target=ask, args=a) for a in (("wide", wide), ("narrow", predictor))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"wide": {"float64"}, "narrow": {"float32"}}


# ── Mistakes ────────────────────────────────────────────────────────────────────────────────

X = np.zeros((2, 10), np.float32)
ASKED_WRONGLY = [
    ({"dta": X}, mx.errors.NameNotFoundError, "no input 'dta'. Did you mean 'data'"),
    ({}, mx.errors.ParameterError, "input 'data' is missing"),
    (X[:, :9], mx.errors.ShapeError, r"got shape \(2, 9\), expected \(any, 10\)"),
    (X[0], mx.errors.ShapeError, r"got shape \(10,\), expected \(any, 10\)"),
    ([["a"] * 10], mx.errors.ParameterError, "expected numbers"),
    ([[1], [2, 3]], mx.errors.ShapeError, "rows of different lengths"),
    (None, mx.errors.ParameterError, "expected numbers"),
]


@pytest.mark.parametrize(("x", "error", "message"), ASKED_WRONGLY)
def test_wrong_inputs(predictor, x, error, message):
    with pytest.raises(error, match=message):
        predictor.predict(x)


def test_inputs_of_different_lengths():
    net = mx.sym.Variable("a") + mx.sym.Variable("b")
    made = Predictor(net, {}, {"a": (4, 3), "b": (4, 3)})
    with pytest.raises(mx.errors.ShapeError, match="different numbers of samples: 'a' 2, 'b' 3"):
        made.predict({"a": np.ones((2, 3)), "b": np.ones((3, 3))})
    with pytest.raises(mx.errors.ParameterError, match="one array for the inputs a, b"):
        made.predict(np.ones((2, 3)))


def without(name):
    return {n: v for n, v in mlp_params().items() if n != name}


MADE_WRONGLY = [
    ((mlp, without("fc1_bias"), DATA), mx.errors.ParameterError, "nor values for fc1_bias"),
    ((mlp, mlp_params(), {"dat": (8, 10)}), mx.errors.NameNotFoundError, "mean 'data'"),
    ((mlp, mlp_params(), {}), mx.errors.ParameterError, "nor values for data"),
    ((mlp, mlp_params(), (8, 10)), mx.errors.ParameterError, "input_shapes: got"),
    ((mlp, mlp_params(), {"data": (8, 11)}), mx.errors.ShapeError,
     r"'fc1_weight': got shape \(16, 10\), but for .* it should be \(16, 11\)"),
    ((mlp, mlp_params(), {"data": (0, 10)}), mx.errors.ShapeError, "'data': got .* 1 or more"),
    ((mlp, mlp_params(), {"data": (-1, 10)}), mx.errors.ShapeError, "'data': got .* 1 or more"),
    ((mlp, 3, DATA), mx.errors.ParameterError, "params: got int"),
    ((mlp, [mx.nd.ones(2)], DATA), mx.errors.ParameterError, "params: got list"),
    ((mlp, ({"fc1_bias": X}, {"fc1_bias": X}), DATA), mx.errors.ParameterError, "there twice"),
    ((mlp, {**mlp_params(), "fc1_bias": ["a"]}, DATA), mx.errors.ParameterError, "'fc1_bias'"),
    ((lambda: 3, {}, DATA), mx.errors.ParameterError, "symbol: got int"),
    ((lambda: "{", {}, DATA), mx.errors.FileFormatError, "not JSON"),
    ((lambda: "no.json", {}, DATA), FileNotFoundError, "no.json"),
    ((mlp, "no.params", DATA), FileNotFoundError, "no.params"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "error", "message"), MADE_WRONGLY)
def test_wrong_parts(given, error, message):
    net, params, shapes = given
    with pytest.raises(error, match=message):
        Predictor(net(), params, shapes)


def test_parameters_of_several_types():
    params = {**mlp_params(), "fc1_bias": np.zeros(16)}
    with pytest.raises(mx.errors.DTypeError, match=r"float64, expected float32.*dtype="):
        Predictor(mlp(), params, DATA)
    assert Predictor(mlp(), params, DATA, dtype="float32").predict(X).dtype == np.float32


def test_an_operator_that_modkit_lacks():
    text = mlp().tojson().replace('"Activation"', '"Unheard"')
    with pytest.raises(mx.errors.NotSupportedError, match="node 'tanh' is of operator 'Unheard'"):
        Predictor(text, mlp_params(), DATA)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"k": 0}, mx.errors.ParameterError, "expected at least 1"),
        ({"labels": ["a"]}, mx.errors.ParameterError, "got 1 labels for the 4 classes"),
    ],
)
def test_wrong_ranks(predictor, arguments, error, message):
    with pytest.raises(error, match=message):
        predictor.top_k(X, **arguments)


def test_only_scores_are_ranked():
    made = Predictor(mx.sym.Variable("data") * 2, {}, {"data": (2, 3, 4)})
    with pytest.raises(mx.errors.ShapeError, match=r"has shape \(1, 3, 4\), expected \(samples"):
        made.top_k(np.ones((1, 3, 4)))


def test_arguments_of_one_name_are_one_parameter():
    net = mx.sym.Variable("data")
    for name in ("first", "second"):
        weight = mx.sym.Variable("w")
        net = mx.sym.FullyConnected(net, weight, num_hidden=2, no_bias=True, name=name)
    weights = {"w": mx.nd.array([[1, 2], [0, 1]])}
    found = mx.predictor.Predictor(net, weights, {"data": (1, 2)}).predict([[1, 2]])
    assert found.tolist() == [[9, 2]]
    own = [mx.nd.ones((1, 2)), mx.nd.ones((2, 2)), mx.nd.zeros((2, 2))]
    with pytest.raises(ParameterError, match="two variables with the name 'w'"):
        net.bind(mx.cpu(), own)
