"""ONNX models: written from symbols and run by ONNX Runtime, read as symbols, and both."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import (
    FileFormatError,
    NameNotFoundError,
    NotSupportedError,
    ParameterError,
)  # fmt: skip
from modkit.onnx import importing
from tests.contrib.onnx_cases import CASES, Case
from tests.contrib.onnx_forms import FORMS

onnx = pytest.importorskip("onnx", reason="needs the package onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs the package onnxruntime")

REQUIRED = """
    Activation BatchNorm BlockGrad Cast Concat Convolution Crop Deconvolution Dropout Embedding
    Flatten FullyConnected InstanceNorm L2Normalization LRN LayerNorm LeakyReLU
    LogisticRegressionOutput MakeLoss Pad Pooling RNN ROIPooling Reshape SequenceMask
    SequenceReverse SliceChannel SoftmaxOutput SwapAxis UpSampling _arange
    _contrib_AdaptiveAvgPooling2D _contrib_BilinearResize2D _contrib_ROIAlign _contrib_arange_like
    _contrib_box_decode _contrib_box_nms _random_uniform_like _sample_multinomial
    _contrib_div_sqrt_dim _contrib_interleaved_matmul_selfatt_qk
    _contrib_interleaved_matmul_selfatt_valatt _copy _div_scalar _equal_scalar _greater_scalar
    _lesser_scalar _linalg_gemm2 _maximum _maximum_scalar _minimum _minimum_scalar _minus_scalar
    _mul_scalar _ones _plus_scalar _power _power_scalar _random_normal _random_uniform _rdiv_scalar
    _rminus_scalar _rnn_param_concat _split_v2 _zeros abs add_n arccos arcsin arctan argmax argmin
    argsort batch_dot broadcast_add broadcast_axis broadcast_div broadcast_equal broadcast_greater
    broadcast_greater_equal broadcast_lesser broadcast_lesser_equal broadcast_like
    broadcast_logical_and broadcast_logical_or broadcast_logical_xor broadcast_minimum
    broadcast_mod broadcast_mul broadcast_not_equal broadcast_power broadcast_sub broadcast_to ceil
    clip cos depth_to_space dot elemwise_add elemwise_div elemwise_mul elemwise_sub exp expand_dims
    floor gather_nd hard_sigmoid identity log log2 log_softmax logical_not max mean min negative
    norm one_hot ones_like prod reciprocal relu repeat reshape_like reverse shape_array sigmoid sin
    size_array slice slice_axis slice_like softmax space_to_depth sqrt square squeeze stack sum
    sum_axis take tan tanh tile topk transpose where zeros_like
"""
"""Names for which MXNet 1.9.1 has an ONNX form (``get_operator_support(13)``)."""


def bound(case):
    """Inputs, parameters and outputs of a case."""
    names = [n for n in case.net.list_arguments() if n in ("x", "y", "z")]
    shapes = dict(zip("xyz", case.shapes, strict=False))
    random = np.random.RandomState(0)
    executor = case.net.simple_bind(mx.cpu(), "null", **{n: shapes[n] for n in names})
    inputs = {n: (random.rand(*shapes[n]) * 0.98 + 0.01).astype("float32") for n in names}
    params = {}
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        if name in inputs:
            array[:] = inputs[name]
        elif not name.endswith("label"):
            array[:] = random.rand(*array.shape) + 0.1
            params[name] = array.copy()
    return inputs, params, [y.asnumpy() for y in executor.forward()]


def opened(path):
    """ONNX Runtime's session of a file, without its threads, which spin between calls."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def assert_equal(got, expected):
    for result, value in zip(got, expected, strict=True):
        assert result.shape == value.shape
        np.testing.assert_allclose(result, value, rtol=2e-4, atol=2e-5)


RUNS_FROM = {"Pooling full in padding": (1, 32)}
"""The release of ONNX Runtime tested that runs a case; 1.30 refuses paddings of a whole kernel."""


@pytest.mark.parametrize("name", CASES)
def test_operators(name, tmp_path):
    release = tuple(map(int, runtime.__version__.split(".")[:2]))
    if release < RUNS_FROM.get(name, release):
        pytest.skip(f"ONNX Runtime {runtime.__version__} refuses the model")
    case = CASES[name]
    inputs, params, expected = bound(case)
    path = str(tmp_path / "model.onnx")
    for dynamic in (case.dynamic, False):  # the static model is read below
        mx.onnx.export_model(
            case.net, params, [a.shape for a in inputs.values()], onnx_file_path=path,
            dynamic=dynamic,
        )  # fmt: skip
        session = opened(path)
        made = session.run(None, inputs)
        assert [y.dtype for y in made] == [y.dtype for y in expected]
        assert_equal(made, expected)
    if not case.read:
        return
    net, args, auxs = mx.contrib.onnx.import_model(path)
    given = {n: a for n, a in inputs.items() if n in net.list_arguments()}
    executor = net.simple_bind(mx.cpu(), "null", **{n: a.shape for n, a in given.items()})
    executor.copy_params_from(args, auxs)
    assert_equal([y.asnumpy() for y in executor.forward(**given)], expected)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int32"])
def test_comparisons_of_what_is_no_number(kind, tmp_path):
    names = ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")
    a, b = mx.sym.var("x"), mx.sym.var("y")
    pairs = [getattr(mx.sym, f"broadcast_{n}")(a, b) for n in names]
    numbers = [getattr(mx.sym._internal, f"_{n}_scalar")(a, scalar=1) for n in names]
    net, odd = mx.sym.Group([*pairs, *numbers]), 1 if kind == "int32" else np.nan
    x, y = np.array([odd, 1, 2, 0], kind), np.array([1, odd, 1, 1], kind)
    path = mx.onnx.export_model(net, {}, [(4,), (4,)], kind, str(tmp_path / "net.onnx"))
    expected = net.eval(ctx=mx.cpu(), x=mx.nd.array(x, dtype=kind), y=mx.nd.array(y, dtype=kind))
    for made, wanted in zip(opened(path).run(None, {"x": x, "y": y}), expected, strict=True):
        np.testing.assert_array_equal(made, wanted.asnumpy())


def unrolled(cell):
    steps = mx.sym.transpose(mx.sym.var("x"), axes=(1, 0, 2))
    outputs, _ = cell.unroll(3, steps, layout="TNC", merge_outputs=True)
    return outputs


@pytest.mark.parametrize(
    ("net", "axes"),
    [
        (unrolled(mx.rnn.LSTMCell(3, "lstm_")), (None, 3, 4)),
        (unrolled(mx.rnn.FusedRNNCell(3, 1, "gru", prefix="gru_")), (None, 3, 4)),
        (mx.sym.contrib.arange_like(mx.sym.var("x"), start=1, step=0.5, axis=1), ("N", "T", 4)),
        (mx.sym.sum(mx.sym.var("x"), axis=2) + mx.sym.ones((0, 0)), ("N", "T", 4)),
    ],
)  # fmt: skip
def test_constants_have_the_dynamic_sizes_of_inputs(net, axes, tmp_path):
    _, params, _ = bound(Case(net, [(2, 3, 4)]))
    path = str(tmp_path / "model.onnx")
    mx.onnx.export_model(
        net, params, [(2, 3, 4)], onnx_file_path=path, dynamic=True, dynamic_input_shapes=[axes]
    )
    x = np.ones((5, 7 if axes[1] == "T" else 3, 4), "float32")
    given = {"x": x, **params} if "x" in net.list_arguments() else {}
    expected = net.eval(ctx=mx.cpu(), **{n: mx.nd.array(a) for n, a in given.items()})
    assert_equal(opened(path).run(None, {"x": x}), [y.asnumpy() for y in expected])


def test_a_constant_whose_dynamic_size_is_that_of_two_axes_is_refused(tmp_path):
    net = mx.sym.var("x") + mx.sym.ones((0, 0))
    axes = {"dynamic": True, "dynamic_input_shapes": [("N", "T")]}
    path = str(tmp_path / "model.onnx")
    with pytest.raises(NotSupportedError, match="size that it needs is dynamic"):
        mx.onnx.export_model(net, {}, [(3, 3)], onnx_file_path=path, **axes)


def test_a_constant_whose_dynamic_size_is_rounded_is_refused(tmp_path):
    half = mx.sym.Pooling(mx.sym.var("x"), kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.UpSampling(half, scale=2, sample_type="nearest") + mx.sym.ones((0, 0, 0, 0))
    axes = {"dynamic": True, "dynamic_input_shapes": [(1, 1, None, 4)]}  # 2 * (H // 2)
    path = str(tmp_path / "model.onnx")
    with pytest.raises(NotSupportedError, match="that of no axis of an input"):
        mx.onnx.export_model(net, {}, [(1, 1, 6, 4)], onnx_file_path=path, **axes)


def test_random_operators(tmp_path):
    x = mx.sym.var("x")
    drawn = [
        mx.sym.sample_multinomial(x, shape=shape, dtype=dtype)
        for shape, dtype in ((4, "int32"), ((), "int32"), ((2, 3), "uint8"))
    ]
    uniform = mx.sym._internal._random_uniform_like(x, low=2, high=2.5)
    session = exported(mx.sym.Group([*drawn, uniform]), {}, [(2, 3)], tmp_path)
    *found, numbers = session.run(None, {"x": np.array([[0, 1, 0], [0, 0, 1]], "float32")})
    shapes = [(y.shape, y.dtype.name) for y in found]
    assert shapes == [((2, 4), "int32"), ((2,), "int32"), ((2, 2, 3), "uint8")]
    assert all((y[0] == 1).all() and (y[1] == 2).all() for y in found)
    assert numbers.shape == (2, 3)
    assert 2 <= numbers.min() < numbers.max() < 2.5


def test_operators_of_mxnet_have_a_form():
    ours = set(mx.onnx.get_operator_support())
    assert [n for n in REQUIRED.split() if mx.ops.registry.get_op(n).name not in ours] == []
    with pytest.raises(ParameterError, match="13"):
        mx.onnx.get_operator_support(7)


def digits():
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="bn"), act_type="relu")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def trained(net):
    module = mx.mod.Module(net)
    module.bind([("data", (2, 1, 8, 8))], [("softmax_label", (2,))])
    module.init_params(mx.init.Xavier())
    return module


def test_a_checkpoint_becomes_a_model_and_again_a_module(tmp_path):
    module = trained(digits())
    module.save_checkpoint(str(tmp_path / "net"), 1)
    path = str(tmp_path / "net.onnx")
    made = mx.onnx.export_model(
        str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0001.params"), [(2, 1, 8, 8)],
        onnx_file_path=path, dynamic=True, run_shape_inference=True,
    )  # fmt: skip
    assert made == path
    assert mx.contrib.onnx.get_model_metadata(path) == {
        "input_tensor_data": [("data", (0, 1, 8, 8), 1)],
        "output_tensor_data": [("softmax", (0, 3))],
    }
    images = np.random.RandomState(0).rand(5, 1, 8, 8).astype("float32")
    session = opened(path)
    (expected,) = session.run(None, {"data": images})
    net, args, auxs = mx.contrib.onnx.import_model(path)
    again = mx.mod.Module(net, data_names=["data"], label_names=None)
    again.bind([("data", (5, 1, 8, 8))], for_training=False)
    again.set_params(args, auxs)
    found = again.predict(mx.io.NDArrayIter(images, batch_size=5))
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5)
    assert list(auxs) == ["bn_moving_mean", "bn_moving_var"]


def test_labels_that_a_loss_reads_through_other_nodes_are_no_inputs(tmp_path):
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    net = mx.sym.Reshape(mx.sym.FullyConnected(data, num_hidden=6, name="fc"), shape=(-1, 3))
    net = mx.sym.SoftmaxOutput(net, mx.sym.Reshape(label, shape=(-1,)), name="softmax")
    params = {"fc_weight": mx.nd.ones((6, 4)), "fc_bias": mx.nd.ones(6)}
    path = mx.onnx.export_model(net, params, [(2, 4)], onnx_file_path=str(tmp_path / "net.onnx"))
    (found,) = opened(path).run(None, {"data": np.ones((2, 4), "float32")})
    np.testing.assert_allclose(found, np.full((4, 3), 1 / 3), rtol=1e-6)


@pytest.mark.parametrize("form", ["plain", "prefixed", "two"])
def test_parameters_in_every_form(form, tmp_path):
    args, auxs = trained(digits()).get_params()
    params = {
        "plain": {**args, **auxs},
        "prefixed": {f"arg:{n}": a for n, a in args.items()}
        | {f"aux:{n}": a for n, a in auxs.items()},
        "two": [args, auxs],
    }[form]
    path = mx.onnx.export_model(
        digits(), params, [(2, 1, 8, 8), (2,)], onnx_file_path=str(tmp_path / "net.onnx")
    )
    names = {t.name for t in onnx.load(path).graph.initializer}
    assert {"conv_weight", "bn_beta", "bn_moving_var", "fc_bias"} <= names


VIEW = """
<ir_version: 8, opset_import: ["" : 13]> net (float[N, 3, 8, 8] x) => (float[N, 5] y) {
    conv = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w)
    pool = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(conv)
    shape = Shape(pool)
    zero = Constant<value_int = 0>()
    batch = Gather(shape, zero)
    axis = Constant<value_ints = [0]>()
    first = Unsqueeze(batch, axis)
    rest = Constant<value_ints = [-1]>()
    target = Concat<axis = 0>(first, rest)
    flat = Reshape(pool, target)
    y = Gemm<transB = 1>(flat, w2, b)
}
"""
ATTENTION = """
<ir_version: 8, opset_import: ["" : 17]> net (float[N, T, 6] x) => (float[N, T, 6] y) {
    q = MatMul(x, w)
    shape = Shape(q)
    start = Constant<value_ints = [0]>()
    stop = Constant<value_ints = [2]>()
    outer = Slice(shape, start, stop)
    heads = Constant<value_ints = [2, 3]>()
    apart = Concat<axis = 0>(outer, heads)
    q4 = Reshape(q, apart)
    query = Transpose<perm = [0, 2, 1, 3]>(q4)
    key = Transpose<perm = [0, 2, 3, 1]>(q4)
    scores = MatMul(query, key)
    root = Constant<value_float = 1.7320508>()
    scaled = Div(scores, root)
    weights = Softmax<axis = -1>(scaled)
    found = MatMul(weights, query)
    back = Transpose<perm = [0, 2, 1, 3]>(found)
    width = Constant<value_ints = [6]>()
    whole = Concat<axis = 0>(outer, width)
    joined = Reshape(back, whole)
    sum = Add(joined, x)
    y = LayerNormalization<axis = -1>(sum, gamma, beta)
}
"""
OLD = """
<ir_version: 3, opset_import: ["" : 9]> net (float[2, 3, 4] x) => (float[2, 12] y) {
    a = Unsqueeze<axes = [1]>(x)
    b = Squeeze<axes = [1]>(a)
    c = Clip<min = 0.2, max = 0.7>(b)
    d = Slice<starts = [0], ends = [9999999], axes = [2]>(c)
    e = ReduceSum<axes = [1], keepdims = 1>(d)
    f = Add(d, e)
    g = Flatten(f)
    y = Softmax<axis = 1>(g)
}
"""
OTHERS = """
<ir_version: 8, opset_import: ["" : 13]> net (float[2, 4, 6, 6] x) => (float[2, 4, 6, 6] y) {
    two = Constant<value_float = 2.0>()
    p = MaxPool<kernel_shape = [3, 3], auto_pad = "SAME_UPPER", strides = [1, 1]>(x)
    q = AveragePool<kernel_shape = [2, 2], pads = [0, 0, 1, 1], count_include_pad = 1>(p)
    r = HardSigmoid(q)
    s = Pow(r, two)
    t = Mod<fmod = 1>(s, two)
    u = Round(t)
    v = ReduceL2<axes = [1], keepdims = 1>(u)
    small = Less(x, v)
    w = Where(small, t, two)
    zoom = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>()
    wide = Resize<mode = "nearest", nearest_mode = "floor",
                  coordinate_transformation_mode = "asymmetric">(w, , zoom)
    part = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(wide)
    m = Mean(part, q)
    y = Max(m, u)
}
"""


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        (VIEW, {"w": (4, 3, 3, 3), "w2": (5, 64), "b": (5,)}),
        (ATTENTION, {"w": (6, 6), "gamma": (6,), "beta": (6,)}),
        (OLD, {}),
        (OTHERS, {}),
    ],
    ids=["view", "attention", "old", "others"],
)
def test_models_of_other_exporters(text, weights, tmp_path):
    path, random = str(tmp_path / "model.onnx"), np.random.RandomState(0)
    model = onnx.parser.parse_model(text)
    for name, shape in weights.items():
        array = random.randn(*shape).astype("float32")
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, path)
    ((name, declared, _),) = mx.contrib.onnx.get_model_metadata(path)["input_tensor_data"]
    x = random.randn(*(s or 3 for s in declared)).astype("float32")
    session = opened(path)
    expected = session.run(None, {name: x})
    net, args, auxs = mx.contrib.onnx.import_model(path)
    assert set(weights) <= set(args)
    executor = net.simple_bind(mx.cpu(), "null", **{name: x.shape})
    executor.copy_params_from(args, auxs)
    assert_equal([y.asnumpy() for y in executor.forward(**{name: x})], expected)


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_exporters(name, tmp_path):
    form, path = FORMS[name], str(tmp_path / "model.onnx")
    model = onnx.parser.parse_model(form.text)
    for key, array in form.weights.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, key))
    onnx.save(model, path)
    session = opened(path)
    expected = session.run(None, form.given)
    net, args, auxs = mx.contrib.onnx.import_model(path)
    assert net.list_outputs()[0] == f"{model.graph.output[0].name}_output"
    given = {n: a.astype("f") if a.dtype == bool else a for n, a in form.given.items()}
    executor = net.simple_bind(mx.cpu(), "null", **{n: a.shape for n, a in given.items()})
    executor.copy_params_from(args, auxs)
    arrays = {n: mx.nd.array(a, dtype=a.dtype) for n, a in given.items()}
    found = [y.asnumpy() for y in executor.forward(**arrays)]
    rtol, atol = (2e-4, 2e-5) if expected[0].dtype != np.float16 else (2e-3, 2e-3)
    for made, wanted in zip(found, expected, strict=True):
        assert (made.shape, made.dtype) == (wanted.shape or (1,), wanted.dtype)
        np.testing.assert_allclose(made, wanted, rtol=rtol, atol=atol)


def test_imported_nodes_keep_their_names_and_inputs_their_types(tmp_path):
    model = one_node("a = Relu(x) y = Pow(a, e)", {"e": np.array([2])})
    model.graph.node[1].name = "squares"
    onnx.save(model, tmp_path / "model.onnx")
    net, args, _ = mx.contrib.onnx.import_model(tmp_path / "model.onnx")
    # Recorded from MXNet: a node with a name keeps it; others get automatic ones there.
    assert net.list_outputs() == ["squares_output"]
    assert args["e"].dtype == np.int64
    ids = one_node("y = Abs(x)", kind="int64", out="int64")
    onnx.save(ids, tmp_path / "ids.onnx")
    net, _, _ = mx.contrib.onnx.import_model(tmp_path / "ids.onnx")
    assert net.infer_type() == ([np.int64], [np.int64], [])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda p: (mx.sym.erfinv(mx.sym.Variable("data")), {}, [(2,)]), NotSupportedError,
         "no ONNX form of the operators erfinv"),
        (lambda p: (digits(), {}, [(2, 1, 8, 8)]), NameNotFoundError, "bn_moving_mean"),
        (lambda p: (digits(), p, None), ParameterError, "a shape for each of"),
        (lambda p: (mx.sym.var("a") + mx.sym.var("a"), {}, [(2,)]), ParameterError,
         "several variables with the names"),
        (lambda p: (digits(), p, [(2, 1, 8, 8)] * 3), ParameterError,
         r"got \[.*\], expected a shape for each of \['data'\]"),
        (lambda p: (digits(), p, [(2, 1, 8, 8)], ["float32"] * 2), ParameterError, "2 types"),
        (lambda p: (digits(), 5, [(2, 1, 8, 8)]), ParameterError, "params is int"),
        (lambda p: (mx.sym.topk(mx.sym.Variable("data"), ret_typ="mask"), {},
                    [(2, 1, 8, 8)]), NotSupportedError, "ret_typ='mask'"),
    ],
    ids=["operator", "state", "no shapes", "names", "shapes", "types", "params", "parameter"],
)  # fmt: skip
def test_refused_exports(call, error, match, tmp_path):
    args, auxs = trained(digits()).get_params()
    path = tmp_path / "net.onnx"
    with pytest.raises(error, match=match):
        mx.onnx.export_model(*call({**args, **auxs}), onnx_file_path=str(path))
    assert not path.exists()


def test_dynamic_sizes_that_a_graph_does_not_take(tmp_path):
    with pytest.raises(ParameterError, match="dynamic=True"):
        mx.onnx.export_model(mx.sym.Variable("x") + 1, {}, [(2,)], dynamic_input_shapes=[(None,)])
    with pytest.raises(ParameterError, match="in_types is a dictionary"):
        mx.onnx.export_model(mx.sym.Variable("x") + 1, {}, [(2,)], {"x": "float32"})
    with pytest.raises(NotSupportedError, match="int32 has no"):
        mx.onnx.export_model(mx.sym.smooth_l1(mx.sym.Variable("x"), scalar=1), {}, [(2,)], "int32")
    net = mx.sym.broadcast_to(mx.sym.Variable("data"), shape=(2, 4))
    with pytest.raises(ParameterError, match="dynamic_input_shapes"):
        mx.onnx.export_model(net, {}, [(2, 1)], dynamic=True, onnx_file_path=str(tmp_path / "n"))
    with pytest.raises(ParameterError, match="for each axis"):
        mx.onnx.export_model(net, {}, [(2, 1)], dynamic=True, dynamic_input_shapes=[(None,)])


def test_refused_models(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    with pytest.raises(FileFormatError, match="no ONNX model"):
        mx.contrib.onnx.import_model(str(path))
    text = """
    <ir_version: 8, opset_import: ["" : 13]> net (float[2, 3] x) => (float[2, 3] y) {
        y = Det(x)
    }
    """
    onnx.save(onnx.parser.parse_model(text), path)
    with pytest.raises(NotSupportedError, match=r"node 'y' \(Det\): symbols have no form"):
        mx.contrib.onnx.import_model(str(path))
    with pytest.raises(FileNotFoundError):
        mx.contrib.onnx.import_model(str(tmp_path / "absent.onnx"))
    with pytest.raises(NotSupportedError, match="Gluon"):
        mx.contrib.onnx.import_to_gluon(str(path), mx.cpu())


def exported(net, params, shapes, tmp_path, **kwargs):
    """A session of ONNX Runtime for a graph."""
    path = mx.onnx.export_model(
        net, params, shapes, onnx_file_path=str(tmp_path / "net.onnx"), **kwargs
    )
    return opened(path)


@pytest.mark.parametrize("name", ["fc_flatten", "constant", "relu"])
def test_variables_keep_their_names(name, tmp_path):
    net = mx.sym.FullyConnected(
        mx.sym.relu(mx.sym.var("x"), name="relu") * 2, num_hidden=3, name="fc"
    )
    net = mx.sym.broadcast_add(net, mx.sym.var(name))
    params = {"fc_weight": mx.nd.ones((3, 8)), "fc_bias": mx.nd.ones(3), name: mx.nd.ones((2, 3))}
    (found,) = exported(net, params, [(2, 2, 4)], tmp_path).run(
        None, {"x": np.ones((2, 2, 4), "f")}
    )
    np.testing.assert_allclose(found, np.full((2, 3), 18))


def test_half_precision(tmp_path):
    net = mx.sym.BatchNorm(mx.sym.var("x"), name="bn", eps=0.0, fix_gamma=False)
    args = {"bn_gamma": mx.nd.ones(3) * 2, "bn_beta": mx.nd.ones(3)}
    auxs = {"bn_moving_mean": mx.nd.ones(3), "bn_moving_var": mx.nd.ones(3)}
    session = exported(net, [args, auxs], [(2, 3)], tmp_path, in_types=np.float16)
    (found,) = session.run(None, {"x": np.full((2, 3), 4, np.float16)})
    np.testing.assert_allclose(found, np.full((2, 3), 7, np.float16))


def test_inference_of_shapes_copies_no_large_weight(tmp_path, monkeypatch):
    path, sizes, infer = str(tmp_path / "net.onnx"), [], importing._with_shapes

    def counted(model):
        sizes.append(model.ByteSize())
        return infer(model)

    monkeypatch.setattr(importing, "_with_shapes", counted)
    model = one_node("y = Add(a, c)", shape="100, 20")
    value = onnx.numpy_helper.from_array(np.ones((100, 20), "float32"), "w")
    model.graph.initializer.append(value)
    constant = onnx.helper.make_node("Constant", [], ["c"], value=value)
    model.graph.node.insert(0, constant)
    model.graph.node.insert(1, onnx.helper.make_node("Mul", ["x", "w"], ["a"]))
    onnx.save(model, path)
    net, args, _ = mx.contrib.onnx.import_model(path)
    assert max(sizes) < 1000
    (y,) = net.bind(mx.cpu(), {"x": mx.nd.ones((100, 20)), **args}).forward()
    assert (y == 2).asnumpy().all()


def sizes_of_images():
    x = mx.sym.var("x")
    half = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    joined = mx.sym.Concat(mx.sym.UpSampling(half, scale=2, sample_type="nearest"), x, dim=1)
    small = mx.sym.Pooling(x, kernel=(8, 8), stride=(8, 8), pool_type="max")
    return {
        "joined again": (joined, (1, 3, 32, 32), (1, 3, None, None), (1, 3, 48, 64)),
        "rows": (mx.sym.Reshape(x, shape=(-1, 2, 3)), (2, 3), (None, 3), (4, 3)),
        "table": (mx.sym.slice_like(mx.sym.arange(0, 1000), x), (50,), (None,), (999,)),
        "all": (mx.sym.Pooling(x, kernel=(2, 2), pool_type="max"), (8, 3, 224, 224),
                (None, 3, None, None), (1, 3, 2, 4)),
        "strides": (mx.sym.Reshape(small, shape=(0, -1)), (1, 3, 8, 8), (1, 3, None, 8),
                    (1, 3, 24, 8)),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["joined again", "rows", "table", "all", "strides"])
def test_dynamic_sizes(name, tmp_path):
    net, shape, dynamic, other = sizes_of_images()[name]
    session = exported(net, {}, [shape], tmp_path, dynamic=True, dynamic_input_shapes=[dynamic])
    for each in (shape, other):
        x = np.random.RandomState(0).rand(*each).astype("float32")
        expected = net.eval(ctx=mx.cpu(), x=mx.nd.array(x))[0].asnumpy()
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)


@pytest.mark.parametrize(
    ("shapes", "dynamic", "match"),
    [
        ([(2, 3)], [(5, 3)], "expected None, a name or 2 in place of 5"),
        ([(2, 3)], [(-1, 3)], "in place of -1"),
        ([(2.5, 3)], None, "expected a tuple of whole numbers"),
        ([4], None, "got 4 for the input 'x'"),
    ],
)
def test_refused_sizes(shapes, dynamic, match, tmp_path):
    path = tmp_path / "net.onnx"
    with pytest.raises(ParameterError, match=match):
        mx.onnx.export_model(
            mx.sym.relu(mx.sym.var("x")), {}, shapes, onnx_file_path=str(path),
            dynamic=dynamic is not None, dynamic_input_shapes=dynamic,
        )  # fmt: skip
    assert not path.exists()


def test_what_onnx_cannot_hold_leaves_no_file(tmp_path):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    for net, given, match in (
        (x + 300, {"in_types": np.uint8}, "uint8 has no 300"),
        (mx.sym.floor(x), {"in_types": np.int32}, "unsupported type: tensor.int32"),
        (mx.sym.broadcast_like(x, y, lhs_axes=(0,), rhs_axes=(0,)),
         {"dynamic": True, "dynamic_input_shapes": [(1, 3), (None, 3)]}, "a size that it makes"),
    ):  # fmt: skip
        shapes = [(1, 3), (4, 3)][: len(net.list_arguments())]
        with pytest.raises(NotSupportedError, match=match):
            mx.onnx.export_model(net, {}, shapes, onnx_file_path=str(tmp_path / "n"), **given)
    assert list(tmp_path.iterdir()) == []


def test_a_large_model_is_written_again(tmp_path, monkeypatch):
    monkeypatch.setattr("modkit.onnx.files._LARGEST", 10)
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=300, no_bias=True, name="fc")
    params, sizes = {"fc_weight": mx.nd.ones((300, 300))}, []
    for _ in range(2):
        session = exported(net, params, [(1, 300)], tmp_path)
        sizes.append((tmp_path / "net.onnx.data").stat().st_size)
    assert sizes == [360000] * 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.onnx", "net.onnx.data"]
    (found,) = session.run(None, {"x": np.ones((1, 300), "float32")})
    np.testing.assert_allclose(found, np.full((1, 300), 300))
    with pytest.raises(FileNotFoundError, match="no such folder"):
        mx.onnx.export_model(net, params, [(1, 300)], onnx_file_path=str(tmp_path / "a" / "n"))


def one_node(body, weights=None, shape="2, 3", kind="float", out="float"):
    """An ONNX model ``x -> y``."""
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 18]> net ({kind}[{shape}] x) => ({out}[] y)'
        f" {{ {body} }}"
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    for name, array in (weights or {}).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), name))
    return model


FEW = {
    "one hot": (
        one_node("y = OneHot(x, d, v)", {"d": np.int64(5), "v": np.array([0, 1], "f")}, "6",
                 "int64"),
        np.array([0, 4, 7, -1, -6, 5]),
    ),
    "infinity": (
        one_node("a = IsInf<detect_positive = 0>(x) y = Cast<to = 1>(a)", shape="3"),
        np.array([np.inf, -np.inf, 1], "float32"),
    ),
    "expand": (
        one_node("y = Expand(x, s)", {"s": np.array([2, 1, 3])}, "2, 1", "int64", "int64"),
        np.array([[1], [2]]),
    ),
    "floats": (
        one_node("a = Constant<value_floats = [1.0, 2.0, 3.0]>() y = Add(x, a)"),
        np.ones((2, 3), "float32"),
    ),
    "log of sums": (
        one_node("y = ReduceLogSumExp(x, a)", {"a": np.array([1])}),
        np.array([[1000, 1000, 1000], [-1000, -1000, -999]], "float32"),
    ),
    "ceil": (
        one_node(
            "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode ="
            " 1>(x)", shape="1, 1, 5, 5",
        ),
        np.arange(25, dtype="float32").reshape(1, 1, 5, 5),
    ),
    "flatten": (one_node("y = Flatten<axis = 2>(x)"), np.ones((2, 3), "float32")),
    "slice from before the axis": (
        one_node("y = Slice(x, s, e, a, t)",
                 {"s": np.array([-5]), "e": np.array([-9]), "a": np.array([1]),
                  "t": np.array([-1])}),
        np.arange(6, dtype="float32").reshape(2, 3),
    ),
    "uneven split": (
        one_node("a, b = Split<axis = 1, num_outputs = 2>(x) y = Concat<axis = 1>(b, a)"),
        np.arange(6, dtype="float32").reshape(2, 3),
    ),
    "choice": (
        one_node("a = Greater(x, p) y = Where(a, p, q)", {"p": np.int64(1), "q": np.int64(2)},
                 kind="int64", out="int64"),
        np.arange(6).reshape(2, 3),
    ),
    "truth": (
        one_node("a = Less(x, p) b = And(a, q) y = Cast<to = 1>(b)",
                 {"p": np.float32(3), "q": np.array([True, False, True])}),
        np.arange(6, dtype="float32").reshape(2, 3),
    ),
    "equal truth": (
        one_node("a = Less(x, p) b = Equal(a, q) y = Cast<to = 1>(b)",
                 {"p": np.float32(3), "q": np.array(True)}),
        np.arange(6, dtype="float32").reshape(2, 3),
    ),
    "remainder": (
        one_node("y = Mod<fmod = 1>(x, b)", {"b": np.array([0.1, 0.3, 7], "f")}),
        np.array([[1, -1, 6], [0.9, 3, -22]], "float32"),
    ),
    "log of sums of nothing": (
        one_node("y = ReduceLogSumExp(x, a)", {"a": np.array([1])}),
        np.array([[-np.inf, -np.inf, -np.inf], [1, np.inf, -np.inf]], "float32"),
    ),
    "norm of zeros": (
        one_node("y = LpNormalization(x)"), np.array([[0, 0, 0], [1, 2, 3]], "float32")
    ),
    "norms of any sign": (
        one_node("a = LpPool<kernel_shape = [2, 2], p = 3>(x) b = GlobalLpPool<p = 1>(x)"
                 " y = Add(a, b)", shape="1, 1, 3, 3"),
        np.arange(-4, 5, dtype="float32").reshape(1, 1, 3, 3),
    ),
    "axes of a resize": (
        one_node('y = Resize<mode = "linear", axes = [3, 2]>(x, , s)',
                 {"s": np.array([2, 3], "f")}, "1, 1, 3, 4"),
        np.arange(12, dtype="float32").reshape(1, 1, 3, 4),
    ),
    "sizes backwards": (
        one_node("s = Shape(x) t = Slice(s, b, e, , b) y = Reshape(x, t)",
                 {"b": np.array([-1]), "e": np.array([-9])}, "N, 3"),
        np.arange(6, dtype="float32").reshape(2, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FEW)
def test_unusual_nodes(name, tmp_path):
    model, x = FEW[name]
    path = str(tmp_path / "model.onnx")
    onnx.save(model, path)
    session = opened(path)
    (expected,) = session.run(None, {"x": x})
    net, args, auxs = mx.contrib.onnx.import_model(path)
    executor = net.simple_bind(mx.cpu(), "null", type_dict={"x": x.dtype}, x=x.shape)
    executor.copy_params_from(args, auxs)
    (found,) = executor.forward(x=mx.nd.array(x, dtype=x.dtype))
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("body", "weights", "shape", "match"),
    [
        ('y = Resize<mode = "cubic">(x, , s)', {"s": [1, 1, 2, 2]}, "1, 1, 3, 3", "mode='cubic'"),
        ('y = Resize<mode = "linear">(x, , s)', {"s": [1, 1, 1.5, 1.5]}, "1, 1, H, W", "linear"),
        ('y = Einsum<equation = "ii">(x)', {}, "3, 3", "a letter that occurs twice"),
        ("a = NonZero(x) y = Cast<to = 1>(a)", {}, "3", "the size of its result depends on data"),
        ('y = Resize<mode = "linear", antialias = 1>(x, , s)', {"s": [1, 1, 0.5, 0.5]},
         "1, 1, 8, 8", "linear"),
        ("y, m, v = BatchNormalization<training_mode = 1>(x, s, s, s, s)", {"s": [1, 2, 3]},
         "2, 3", "training_mode=1"),
        ("a, m = Dropout(x) y = Cast<to = 1>(m)", {}, "2, 3", "'m' is an optional output"),
        ('y = Pad<mode = "wrap">(x, p)', {"p": [0, 1, 0, 1]}, "2, 3", "mode='wrap'"),
        ("y = Cast<to = 8>(x)", {}, "2, 3", "element type object"),
        ('y = Einsum<equation = "...ij,...jk->...ik">(x, w)', {"w": [[[1], [2]]] * 3}, "1, 4, 2",
         "ellipses of other sizes"),
        ('y = Resize<mode = "linear", keep_aspect_ratio_policy = "not_larger">(x, , , s)',
         {"s": [1, 1, 6, 6]}, "1, 1, 3, 4", "not_larger"),
        ("y = If(c) <then_branch = g () => (float[2, 3] a) { a = Relu(x) },"
         " else_branch = h () => (float[2, 3] b) { b = Abs(x) }>", {"c": True}, "2, 3",
         "graphs in a node"),
    ],
)  # fmt: skip
def test_nodes_that_symbols_lack(body, weights, shape, match, tmp_path):
    path = str(tmp_path / "model.onnx")
    onnx.save(one_node(body, {n: np.array(a, "f") for n, a in weights.items()}, shape), path)
    with pytest.raises(NotSupportedError, match=match):
        mx.contrib.onnx.import_model(path)


def test_negative_positions_on_an_open_axis(tmp_path):
    path = str(tmp_path / "model.onnx")
    onnx.save(one_node("y = Gather<axis = 1>(x, i)", {"i": np.array([-1])}, "N, L"), path)
    with pytest.raises(NotSupportedError, match="negative positions on axis 1"):
        mx.contrib.onnx.import_model(path)


def test_the_name_of_a_node_without_its_first_output(tmp_path):
    model = one_node("y, a = LSTM<hidden_size = 3>(x, w, w)", {"w": np.ones((1, 12, 3), "f")},
                     "4, 2, 3")  # fmt: skip
    model.graph.node[0].output[:] = ["", "y"]
    path = str(tmp_path / "model.onnx")
    onnx.save(model, path)
    assert mx.contrib.onnx.import_model(path)[0].list_outputs() == ["y_state_output"]


def test_two_recurrent_nodes_of_one_name(tmp_path):
    model = one_node(
        "a = LSTM<hidden_size = 3>(x, w, r) b = Squeeze(a, one) y = LSTM<hidden_size = 3>(b, r, w)",
        {"w": np.ones((1, 12, 3), "f"), "r": np.ones((1, 12, 3), "f"), "one": np.array([1])},
        "4, 2, 3",
    )
    for node in model.graph.node:
        node.name = "lstm"
    path = str(tmp_path / "model.onnx")
    onnx.save(model, path)
    net, args, _ = mx.contrib.onnx.import_model(path)
    assert sorted(args) == ["a_parameters", "y_parameters"]
    assert net.infer_shape(x=(4, 2, 3))[1] == [(4, 1, 2, 3)]
