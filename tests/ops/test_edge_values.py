"""Operators at NaN, infinities, and parameters at the edge; the figures are MXNet 1.9.1's."""

import functools
import math
import re

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.ops.registry import OPS

nan, inf = float("nan"), float("inf")
LONG = np.zeros((3, 4000), np.float32)
LONG[1, 77] = LONG[2, 0] = nan
BOXES = np.array(
    [
        [-1, 0.9, 0.1, 0.1, 0.5, 0.5],
        [1, 0.8, 0.1, 0.1, 0.5, 0.5],
        [0, 0.7, 0.1, 0.1, 0.5, 0.5],
    ],
    np.float32,
)
SAMPLE, ALPHA = mx.nd.array([0.2, 0.8]), mx.nd.array([1, 2])
X, Y = mx.sym.Variable("x"), mx.sym.Variable("y")
COLUMN, SIX = mx.nd.array([1, 2, 3]), mx.nd.array(np.arange(1, 7).reshape(2, 3))
ROW = mx.nd.array(np.arange(6).reshape(1, 1, 6))

ZEROS = [[0, 0], [0, 0]]
NAN = mx.nd.array([[nan, 1], [2, 3]])
BY_0 = [
    *((name, [NAN, NAN]) for name in ("gemm2", "trmm", "trsm")),
    ("syrk", [NAN]),
]

VALUES = [
    # name, call, result
    *(
        (f"{name} by 0", functools.partial(getattr(mx.nd.linalg, name), *arrays, alpha=0), ZEROS)
        for name, arrays in BY_0
    ),
    ("gemm by 0", lambda: mx.nd.linalg.gemm(NAN, NAN, NAN, alpha=0, beta=0), ZEROS),
    ("max", lambda: mx.nd.max(mx.nd.array(LONG)), [nan]),
    ("max by axis", lambda: mx.nd.max(mx.nd.array(LONG), axis=1), [0, nan, nan]),
    ("min by axis", lambda: mx.nd.min(mx.nd.array(LONG), axis=1), [0, nan, nan]),
    ("max of float16", lambda: mx.nd.max(mx.nd.array([1, nan, 3], dtype="float16")), [nan]),
    ("sign", lambda: mx.nd.sign(mx.nd.array([nan, -2, 3])), [0, -1, 1]),
    ("take", lambda: mx.nd.take(COLUMN, mx.nd.array([nan, 2]), mode="raise"), [1, 3]),
    ("gather_nd", lambda: mx.nd.gather_nd(COLUMN, mx.nd.array([[nan, 2]])), [1, 3]),
    ("relu", lambda: mx.nd.relu(mx.nd.array([nan, -2, 3])), [nan, 0, 3]),
    (
        "one_hot of bytes",
        lambda: mx.nd.one_hot(mx.nd.array([1]), 2, on_value=300, off_value=-2, dtype="uint8"),
        [[254, 44]],
    ),
    ("arange of int32", lambda: mx.nd.arange(0, 3, 0.5, dtype="int32"), [0] * 6),
    ("arange of int64", lambda: mx.nd.arange(0.7, 5, 1.4, dtype="int64"), [0, 1, 2, 3]),
    ("arange of float32", lambda: mx.nd.arange(0, 3, 1.5), [0, 1.5]),
    ("dirichlet", lambda: mx.nd.random_pdf_dirichlet(SAMPLE, ALPHA), [1.6]),
    (
        "box_nms of background -1",
        lambda: mx.nd.contrib.box_nms(mx.nd.array(BOXES), id_index=0)[:, 1],
        [0.8, 0.7, -1],
    ),
    (
        "box_nms without classes",
        lambda: mx.nd.contrib.box_nms(mx.nd.array(BOXES))[:, 0],
        [-1, -1, -1],
    ),
    (
        "pooling of one axis with three pads",
        lambda: mx.nd.Pooling(ROW, kernel=(3,), pad=(2, 5, 5))[0, 0],
        [0, 1, 2, 3, 4, 5, 5, 5],
    ),
    (
        "DeformablePSROIPooling of infinity at the border",
        lambda: mx.nd.contrib.DeformablePSROIPooling(
            mx.nd.array([[[[inf]]]]),
            mx.nd.array([[0, 3, 3, 3, 3]]),
            spatial_scale=1.0,
            output_dim=1,
            group_size=1,
            pooled_size=1,
            no_trans=True,
        ),
        [[[[0]]]],
    ),
    (
        "PSROIPooling of infinity in the smaller bin",
        lambda: mx.nd.contrib.PSROIPooling(
            mx.nd.array([[[[0, 1, 2, inf]]]]),
            mx.nd.array([[0, 1, 0, 4, 0]]),
            spatial_scale=1,
            output_dim=1,
            pooled_size=2,
            group_size=1,
        )[0, 0, 0],
        [1.5, inf],
    ),
    (
        "ROIAlign of points outside beside infinity",
        lambda: mx.nd.contrib.ROIAlign(
            mx.nd.array([[[[0, inf]]]]),
            mx.nd.array([[0, 4, 0, 5, 1]]),
            pooled_size=(1, 1),
            spatial_scale=1,
            sample_ratio=1,
        )[0, 0, 0],
        [0],
    ),
    ("gather_nd of the last", lambda: mx.nd.gather_nd(COLUMN, mx.nd.array([[-1, 0]])), [3, 1]),
    ("empty of nothing", lambda: mx.nd.empty((0, 2)), np.zeros((0, 2))),
    ("full of nothing", lambda: mx.nd.full((0, 2), 1), np.zeros((0, 2))),
    ("array without axes", lambda: mx.nd.array(np.array(2.0)), 2),
    (
        "positions of no axes",
        lambda: mx.nd.contrib.index_array(mx.nd.array(np.array(2.0))),
        np.zeros(0, np.int64),
    ),
    ("positions of none", lambda: mx.nd.contrib.index_array(SAMPLE, axes=()), np.zeros((2, 0))),
    ("one element without axes", lambda: mx.nd.array([[3]]).reshape(()), 3),
    ("the same by the operator", lambda: mx.nd.reshape(mx.nd.array([[3]]), shape=()), 3),
    (
        "prelu by element",
        lambda: mx.nd.LeakyReLU(-SIX, SIX / 10, act_type="prelu"),
        -np.square(np.arange(1, 7).reshape(2, 3)) / 10,
    ),
    ("whole numbers: root", lambda: mx.nd.cbrt(mx.nd.array([8, 27], dtype="int32")), [2, 3]),
    ("whole numbers: exp", lambda: mx.nd.exp(mx.nd.array([16], dtype="int32")), [8886110]),
    ("whole numbers: tanh", lambda: mx.nd.tanh(mx.nd.array([18, 40], dtype="uint8")), [0, 1]),
    ("softmax of a NumPy type", lambda: mx.nd.softmax(ROW[0, 0, :1], dtype=np.float32), [1]),
]


@pytest.mark.parametrize(("call", "want"), [r[1:] for r in VALUES], ids=[r[0] for r in VALUES])
def test_values(call, want):
    made = call().asnumpy()
    np.testing.assert_allclose(made, want, rtol=0 if made.dtype.kind in "iu" else 1e-5)


def test_compiled_functions_of_whole_numbers_are_whole_but_for_rounding():
    """XLA's log2(8) and cbrt(3375) are below 3 and 15."""
    for name, values, want in (("log2", [8, 64], [3, 6]), ("cbrt", [3375, 27000], [15, 30])):
        made = jax.jit(OPS[name].fn)(np.array(values, np.int32))
        assert made.tolist() == want


def gradient(symbol, head, **arrays):
    """The gradient of ``x``."""
    given = {name: mx.nd.array(value) for name, value in arrays.items()}
    made = mx.nd.zeros(given["x"].shape)
    bound = symbol.bind(mx.cpu(), given, args_grad={"x": made}, grad_req={"x": "write"})
    bound.forward(is_train=True)
    bound.backward(mx.nd.array(head))
    return made.asnumpy()


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (mx.sym.relu, [nan, 0, 0, 1]),
        (functools.partial(mx.sym.Activation, act_type="relu"), [nan, 0, 0, 1]),
        (mx.sym.smooth_l1, [nan, -1, 0, 1]),
    ],
)
def test_gradients_that_are_nan_at_nan(make, want):
    got = gradient(make(mx.sym.Variable("x")), [1, 1, 1, 1], x=[nan, -1, 0, 2])
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("symbol", "want"),
    [
        (mx.sym.abs, [0, -1, 0, 1]),
        (lambda x: mx.sym.norm(mx.sym.expand_dims(x, axis=1), ord=1, axis=1), [0, -1, 0, 1]),
        (mx.sym.hard_sigmoid, [0, 0.2, 0.2, 0.2]),
        (lambda x: mx.sym.broadcast_maximum(x, mx.sym.zeros((4,))), [0, 0, 1, 1]),
        (lambda x: mx.sym.broadcast_minimum(mx.sym.zeros((4,)), x), [0, 1, 0, 0]),
        (lambda x: mx.sym.maximum(x, 0), [0, 0, 1, 1]),
    ],
)
def test_gradients_that_are_0_at_nan(symbol, want):
    x = mx.sym.Variable("x")
    got = gradient(symbol(x), [1, 1, 1, 1], x=[nan, -1, 0, 2])
    np.testing.assert_array_equal(got, np.float32(want))


@pytest.mark.parametrize(
    ("symbol", "want"),
    [
        (mx.sym.softsign, [0, 0.25, 0]),
        (functools.partial(mx.sym.Activation, act_type="softsign"), [0, 0.25, 0]),
        (mx.sym.smooth_l1, [-1, 1, 1]),
    ],
)
def test_gradients_at_infinity(symbol, want):
    got = gradient(symbol(mx.sym.Variable("x")), [1, 1, 1], x=[-inf, 1, inf])
    np.testing.assert_array_equal(got, np.float32(want))


@pytest.mark.parametrize(("power", "want"), [(1, [1, 1]), (2, [0.6, 0.8])])
def test_gradient_of_what_no_window_covers_is_0_at_infinity(power, want):
    x = mx.sym.Variable("x")
    settings = {"kernel": (2,), "stride": (3,), "pad": (1,), "pool_type": "lp"}
    symbol = mx.sym.Pooling(x, p_value=power, **settings)  # of 0 and 1, of 3 and 4, of 6 and 0
    got = gradient(symbol, [[[1, 1, 1]]], x=[[[1, inf, 3, 4, nan, 6]]])
    np.testing.assert_allclose(got.ravel(), np.float32([1, 0, *want, 0, 1]), rtol=1e-6)


def test_second_gradient_of_relu_is_0_at_nan():
    x = mx.nd.array([nan, -1, 2])
    x.attach_grad()
    with mx.autograd.record():
        (first,) = mx.autograd.grad(mx.nd.relu(x), [x], create_graph=True)
    first.backward()
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


def test_gradient_of_a_slope_is_0_at_infinity():
    symbol = mx.sym.LeakyReLU(mx.sym.Variable("data"), mx.sym.Variable("x"), act_type="prelu")
    assert gradient(symbol, [[1, 1]], data=[[inf, -2]], x=[0.5]).tolist() == [-2]


def test_gradient_of_ctc_behind_the_last_step_is_0():
    x, y, n = map(mx.sym.Variable, ("x", "y", "n"))
    scores = np.random.RandomState(0).randn(4, 2, 5)
    scores[3, 0] = -inf
    loss = mx.sym.CTCLoss(x, y, data_lengths=n, use_data_lengths=True)
    got = gradient(loss, [1, 1], x=scores, y=[[1, 2], [3, 0]], n=[3, 4])
    assert got[3, 0].tolist() == [0] * 5
    np.testing.assert_allclose(got[0, 0], [-0.4609, -0.2558, 0.1029, 0.3635, 0.2503], atol=1e-4)


PIXELS = mx.nd.ones((1, 4, 1, 2))

REFUSED = [
    # name, call, words of the message
    (
        "gather_nd behind the end",
        lambda: mx.nd.gather_nd(COLUMN, mx.nd.array([[0, 3]])).asnumpy(),
        "indices: got 3 for axis 0, expected -3 .. 2",
    ),
    (
        "gather_nd before the beginning",
        lambda: mx.nd.gather_nd(COLUMN, mx.nd.array([[-4]])).asnumpy(),
        "indices: got -4 for axis 0, expected -3 .. 2",
    ),
    (
        "take behind the end",
        lambda: mx.nd.take(COLUMN, mx.nd.array([3]), mode="raise").asnumpy(),
        "indices: got 3, expected 0 .. 2",
    ),
    (
        "take before the beginning",
        lambda: mx.nd.take(COLUMN, mx.nd.array([-1]), mode="raise").asnumpy(),
        "indices: got -1, expected 0 .. 2",
    ),
    (
        "gather_nd at infinity",
        lambda: mx.nd.gather_nd(COLUMN, mx.nd.array([[-inf]])).asnumpy(),
        f"indices: got {-(2**31)} for axis 0, expected -3 .. 2",
    ),
    (
        "take at infinity",
        lambda: mx.nd.take(COLUMN, mx.nd.array([inf]), mode="raise").asnumpy(),
        f"indices: got {2**31 - 1}, expected 0 .. 2",
    ),
    (
        "potrf of an indefinite matrix beside one with NaN",
        lambda: mx.nd.linalg.potrf(mx.nd.array([[[nan, 0], [0, 1]], [[1, 2], [2, 1]]])).asnumpy(),
        "got a matrix of shape (2, 2, 2) without a Cholesky factor",
    ),
    ("two elements without axes", lambda: SAMPLE.reshape(()), "(2,) cannot become ()"),
    ("no shape", lambda: mx.nd.Reshape(SAMPLE), "Reshape: shape: got () for (2,)"),
    ("no sizes", lambda: COLUMN[:1].reshape(), "reshape: got no shape"),
    ("draws without axes", lambda: mx.nd.random.normal(shape=()), "_random_normal: got no shape"),
    *(
        (f"draws of shape {each!r}", functools.partial(draw, shape=each), "got no shape")
        for each in ([], "()", "[]", np.zeros(0))
        for draw in (mx.nd.random.normal, functools.partial(mx.nd.random.randint, 0, 5))
    ),
    ("zeros without axes", lambda: mx.nd.zeros(()), "zeros: got the shape ()"),
    ("ones without axes", lambda: mx.nd.ones(()), "ones: got the shape ()"),
    ("full without axes", lambda: mx.nd.full((), 1), "full: got the shape ()"),
    ("zeros of nothing", lambda: mx.nd.zeros((0, 1, 3)), "zeros: got the shape (0, 1, 3)"),
    ("ones of nothing", lambda: mx.nd.ones(0), "ones: got the shape 0"),
    ("csr zeros of nothing", lambda: mx.nd.zeros((0, 3), stype="csr"), "expected sizes of 1"),
    ("numbers below 0", lambda: mx.nd._internal._linspace(0, 1, num=-1), "num: got -1"),
    ("moveaxis of one twice", lambda: mx.nd.moveaxis(ROW, (0, 0), (0, 1)), "repeated axis"),
    ("moveaxis to one twice", lambda: mx.nd.moveaxis(ROW, (0, 1), (2, 2)), "repeated axis"),
    ("moveaxis to nowhere", lambda: mx.nd.moveaxis(ROW, 0, 5), "axis 5 is out of bounds"),
    ("keepdims", lambda: mx.nd.sum(PIXELS, keepdims=2), "keepdims: got 2, expected bool"),
    (
        "depth_to_space of nothing",
        lambda: mx.nd.depth_to_space(mx.nd.array(np.zeros((1, 4, 0, 2))), 2),
        "got shape (1, 4, 0, 2), expected sizes of 1 or more",
    ),
    (
        "box_nms by a coordinate",
        lambda: mx.nd.contrib.box_nms(mx.nd.array(BOXES), score_index=3),
        "score_index: got 3, which is one of the coordinates 2 .. 5",
    ),
    (
        "sparseness with a negative momentum",
        lambda: mx.nd.IdentityAttachKLSparseReg(mx.nd.ones((2, 3)), mx.nd.ones(3), momentum=-1),
        "momentum: got -1, expected a fraction from 0 to 1",
    ),
    (
        "randint of a NumPy float type",
        lambda: mx.nd.random.randint(0, 3, shape=(2,), dtype=np.float32),
        "dtype: got <class 'numpy.float32'>, expected one of 'int32', 'int64' or None",
    ),
]


@pytest.mark.parametrize(("call", "words"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused(call, words):
    with pytest.raises(mx.MXNetError) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: mx.nd.zeros(()),
        lambda: mx.nd.full((), 2),
        lambda: mx.nd.random.uniform(shape=()),
        lambda: mx.nd.random.randint(0, 5, shape=()),
        lambda: mx.sym.ones(()).bind(mx.cpu(), {}).forward()[0],
        lambda: mx.sym.random.normal(shape=()).bind(mx.cpu(), {}).forward()[0],
    ],
)
def test_np_shape_allows_arrays_without_axes(make):
    with mx.util.np_shape(True):
        assert make().asnumpy().shape == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [("softmax", 1), ("softmin", 1), ("log_softmax", 0), ("SoftmaxActivation", 1)],
)
def test_softmax_of_one_number(name, value):
    """MXNet 1.9.1's."""
    with mx.util.np_shape(True):
        number, slope = mx.nd.full((), 0.5), mx.nd.full((), 0.625)
        bound = getattr(mx.sym, name)(X).bind(mx.cpu(), {"x": number}, {"x": slope})
        assert bound.forward(is_train=True)[0].asnumpy() == np.full((), value)
        bound.backward(mx.nd.ones(()))
        assert slope.asnumpy() == np.zeros(())


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "nansum", "norm"])
def test_a_reduced_number_keeps_no_axes(name):
    """MXNet 1.9.1's: (1,) without ``keepdims``."""
    run = getattr(mx.nd, name)
    with mx.util.np_shape(True):
        for kept, shape in ((True, ()), (False, (1,))):
            assert run(mx.nd.full((), 2), keepdims=kept).shape == shape
            assert getattr(mx.sym, name)(X, keepdims=kept).infer_shape(x=())[1] == [shape]


def test_gradients_of_no_labels_by_batch():
    with mx.util.np_shape(True):
        data, slope = mx.nd.zeros((2, 0, 2)), mx.nd.zeros((2, 0, 2))
        given = {"x": data, "y": mx.nd.zeros((2, 0))}
        net = mx.sym.SoftmaxOutput(X, Y, preserve_shape=True, normalization="batch")
        bound = net.bind(mx.cpu(), given, {"x": slope})
        bound.forward(is_train=True)
        bound.backward()
        assert slope.asnumpy().shape == (2, 0, 2)


def test_sizes_that_are_not_a_shape_may_be_0():
    made = mx.nd._internal
    assert made._eye(N=0, M=5).shape == (0, 5) and made._linspace(0, 1, num=0).shape == (0,)
    with mx.util.np_shape(True):
        assert mx.nd.slice_axis(mx.nd.zeros((0, 3)), axis=0, begin=1, end=-3).shape == (0, 3)
        part = mx.sym.slice_axis(mx.sym.Variable("x"), axis=0, begin=1, end=-3)
        assert part.infer_shape(x=(0, 3))[1] == [(0, 3)]
        resize = mx.nd.contrib.BilinearResize2D
        assert resize(mx.nd.zeros((0, 0, 0, 0)), height=3, width=2).shape == (0, 0, 3, 2)
        pool = mx.nd.contrib.AdaptiveAvgPooling2D
        assert np.isnan(pool(mx.nd.zeros((1, 1, 0, 4)), output_size=2).asnumpy()).all()
        sampled = mx.nd.BilinearSampler(mx.nd.zeros((1, 1, 0, 1)), mx.nd.zeros((1, 2, 1, 4)))
        assert sampled.asnumpy().tolist() == [[[[0, 0, 0, 0]]]]
        given = [mx.nd.zeros(s) for s in ((0, 1, 3, 3), (0, 8, 2, 2), (1, 1, 2, 2))]
        settings = {"kernel": (2, 2), "num_filter": 1, "no_bias": True}
        assert mx.nd.contrib.DeformableConvolution(*given, **settings).shape == (0, 1, 2, 2)
        assert mx.sym.contrib.fft(X).infer_shape(x=(0, 4))[1] == [(0, 8)]
        given = mx.nd.zeros((5, 2, 8)), mx.nd.zeros((4, 0, 5))
        context = mx.nd.contrib.interleaved_matmul_encdec_valatt(*given, heads=2)
        assert context.shape == (0, 2, 4)
        assert mx.nd.khatri_rao(mx.nd.zeros((3, 0)), mx.nd.zeros((4, 0))).shape == (12, 0)
        vectors, values = mx.nd.linalg.syevd(mx.nd.zeros((2, 0, 0)))
        assert (vectors.shape, values.shape) == ((2, 0, 0), (2, 0))


def test_a_weight_without_axes_keeps_its_shape():
    with mx.util.np_shape(True):
        weight, norm = mx.nd.ones(()), mx.nd.ones(1)
        assert mx.nd.lamb_update_phase2(weight, weight, norm, norm, lr=0.5).shape == ()


def test_the_sign_of_nan_is_0():
    """MXNet 1.9.1's."""
    for function in (mx.nd.sign, mx.nd.contrib.sign_ste):
        assert function(mx.nd.array([nan, -2, 0])).asnumpy().tolist() == [0, -1, 0]


def test_a_quadratic_function_is_infinite_at_infinities():
    """MXNet 1.9.1's."""
    found = mx.nd.contrib.quadratic(mx.nd.array([np.inf, -np.inf]), a=2.0, b=-2.0, c=3.0)
    assert found.asnumpy().tolist() == [np.inf, np.inf]


def test_boxes_compete_by_whole_class_numbers():
    """MXNet 1.9.1's: cut off towards zero, but for the comparison with the background's."""
    boxes = mx.nd.array([[0, 0.9, 0, 0, 1, 1], [0.5, 0.8, 0, 0, 1, 1]])
    for background, expected in ((-1, [0, -1]), (0, [0.5, -1])):
        settings = {"overlap_thresh": 0.2, "id_index": 0, "background_id": background}
        found = mx.nd.contrib.box_nms(boxes, **settings)
        np.testing.assert_allclose(found.asnumpy()[:, 0], expected)


def test_rows_that_are_not_stored_are_not_divided():
    """MXNet 1.9.1's."""
    rows = mx.nd.array([[0, 0, 0], [1, 0, 2]]).tostype("row_sparse")
    found = mx.nd._internal._scatter_elemwise_div(rows, rows)
    np.testing.assert_array_equal(found.asnumpy(), [[0, 0, 0], [1, nan, 1]])


def test_infinite_slopes_reach_no_singular_matrix():
    """MXNet 1.9.1's."""
    data = mx.nd.array([[1, 2], [2, 4]])
    data.attach_grad()
    with mx.autograd.record():
        logarithm = mx.nd.linalg.slogdet(data)[1]
        squared = logarithm * logarithm + logarithm
    squared.backward()
    assert data.grad.asnumpy().tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("scores", "linear", "expected"),
    [([0.2, -0.3, 0.5], True, [1, 1, 1]), ([nan, 0.5, 2], False, [0, 3, 6])],
)
def test_nan_in_svm_output(scores, linear, expected):
    """MXNet 1.9.1's gradient: with a label of NaN every class is a wrong one; 0 of a NaN score."""
    scores = mx.nd.array([scores])
    scores.attach_grad()
    with mx.autograd.record():
        out = mx.nd.SVMOutput(scores, mx.nd.array([nan]), use_linear=linear)
    out.backward()
    assert scores.grad.asnumpy().tolist() == [expected]


def test_one_number_has_no_rows():
    with mx.util.np_shape(True), pytest.raises(mx.MXNetError, match=r"got shape \(\)"):
        mx.nd.ones(()).tostype("row_sparse")


def test_levels_without_elements_are_flattened():
    with mx.util.np_shape(True):
        data, end = mx.nd.zeros((0, 5, 0), dtype="int8"), mx.nd.ones((1,))
        assert mx.nd.contrib.quantized_flatten(data, end, end)[0].shape == (0, 0)


@pytest.mark.parametrize(
    "check", [mx.nd.all_finite, functools.partial(mx.nd.multi_all_finite, num_arrays=1)]
)
def test_finite_answers_are_multiplied(check):
    """MXNet 1.9.1's."""
    cases = [(1, 0), (1, 1), (nan, 0), (nan, 1)]
    outs = [mx.nd.array([before]) for _, before in cases]
    for (x, _), out in zip(cases, outs, strict=True):
        assert check(mx.nd.array([x, 2]), init_output=False, out=out) is out
    assert [out.asscalar() for out in outs] == [0, 1, 0, 0]
    assert check(mx.nd.ones(2), init_output=False, out=outs[:1])[0].asscalar() == 0
    with pytest.raises(mx.MXNetError, match="out: got float16, expected float32"):
        check(mx.nd.ones(2), init_output=False, out=outs[0].astype("float16"))
    with pytest.raises(mx.MXNetError, match="needs out="):
        check(mx.nd.ones(2), init_output=False)
    assert mx.nd.all_finite(mx.nd.ones(2), False, out=outs[1]).asscalar() == 1


def test_an_axis_without_elements_has_none_to_take():
    words = "take: got indices of shape (2,) from an axis without elements, axis 1 of shape (2, 0)"
    with mx.util.np_shape(True):
        with pytest.raises(mx.MXNetError, match=re.escape(words)):
            mx.nd.take(mx.nd.zeros((2, 0)), mx.nd.array([0, 1]), axis=1)
        assert mx.nd.take(mx.nd.zeros((2, 0)), mx.nd.zeros((0,)), axis=1).shape == (2, 0)


OUTSIDE = [
    lambda: mx.nd.gather_nd(COLUMN, mx.nd.array([[3]])).asnumpy(),
    lambda: mx.nd.take(COLUMN, mx.nd.array([3]), mode="raise").asnumpy(),
]


@pytest.mark.parametrize("call", OUTSIDE)
def test_an_index_outside_is_an_index_error(call):
    with pytest.raises(IndexError):
        call()


WITHOUT_HEADS = [
    *(f(X, Y) for f in (mx.sym.broadcast_equal, mx.sym.broadcast_lesser_equal)),
    *(f(X, Y) for f in (mx.sym.broadcast_logical_and, mx.sym.broadcast_greater)),
    *(X == Y, X != Y, X > 1, X <= 1, mx.sym.logical_not(X)),
    *(f(X) for f in (mx.sym.shape_array, mx.sym.size_array, mx.sym.argsort)),
    *(f(X) for f in (mx.sym.floor, mx.sym.ceil, mx.sym.round, mx.sym.rint)),
    *(f(X) for f in (mx.sym.trunc, mx.sym.fix, mx.sym.zeros_like, mx.sym.ones_like)),
    *(f(X, axis=0) for f in (mx.sym.argmax, mx.sym.argmin)),
    mx.sym.one_hot(X, depth=3),
]


@pytest.mark.parametrize("symbol", WITHOUT_HEADS, ids=lambda s: s.name)
def test_backward_of_constant_pieces_needs_no_heads(symbol):
    given = {n: mx.nd.array([1, 2]) for n in symbol.list_arguments()}
    made = {n: mx.nd.ones(2) for n in given}
    bound = symbol.bind(mx.cpu(), given, args_grad=made)
    bound.forward(is_train=True)
    bound.backward()
    assert [g.asnumpy().tolist() for g in made.values()] == [[0, 0]] * len(made)


@pytest.mark.parametrize("symbol", [mx.sym.sign(X), mx.sym.sort(X), X + Y], ids=lambda s: s.name)
def test_backward_of_others_needs_heads(symbol):
    given = {n: mx.nd.array([1, 2]) for n in symbol.list_arguments()}
    bound = symbol.bind(mx.cpu(), given, args_grad={n: mx.nd.ones(2) for n in given})
    bound.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match="needs its gradient"):
        bound.backward()


def test_symbols_given_to_an_operator_without_inputs_do_not_enter():
    with pytest.warns(UserWarning, match="takes no inputs, so the symbols data do not enter"):
        drawn = mx.sym.random.normal(data=X, shape=(2,))
    assert (drawn.list_arguments(), drawn.infer_shape()) == ([], ([], [(2,)], []))


NAMES = [("value", ["t_output0"]), ("both", ["t_output0", "t_output1"]), ("mask", ["t_output"])]


@pytest.mark.parametrize(("kind", "names"), NAMES)
def test_names_of_topk(kind, names):
    assert mx.sym.topk(mx.sym.Variable("d"), ret_typ=kind, name="t").list_outputs() == names


def test_partly_known_shapes():
    a, b = map(mx.sym.Variable, "ab")
    scattered = mx.sym.scatter_nd(a, b, shape=(2, 2))
    assert scattered.infer_shape_partial()[1] == [(2, 2)]
    cast = mx.sym.amp_multicast(a, b, num_outputs=2)
    assert cast.infer_shape_partial(a=(2, 3)) == ([(2, 3), ()], [(2, 3), ()], [])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: mx.nd.concat(a, a, dim=None), "dim: got None, expected int"),
        (lambda a: mx.nd.sgd_update(a, a, lr=None), "lr: got None, expected float"),
        (lambda a: mx.nd.ftml_update(a, a, a, a, a, lr=1, t=2.5), "t: got 2.5, expected int"),
        (lambda a: mx.nd.lamb_update_phase1(a, a, a, a, wd=0, t="1e1"), "t: got 1e1, expected int"),
        (
            lambda a: mx.nd._internal._multi_lamb_update(
                a, a, a, a, learning_rates=(1,), wds=(0,), step_count=(1.5,), num_tensors=1
            ),
            r"step_count: got \(1.5,\), expected a tuple of int",
        ),
    ],
)
def test_none_and_fractions_are_no_numbers_there(call, words):
    with pytest.raises(mx.base.MXNetError, match=words):
        call(mx.nd.ones((2,)))


def test_gamma_of_whole_numbers_is_a_factorial():
    n = np.arange(1, 14)
    want = [float(math.factorial(i - 1)) for i in n]
    for dtype in ("int32", "int64"):
        assert mx.nd.gamma(mx.nd.array(n, dtype=dtype)).asnumpy().tolist() == want


def test_tile_by_none():
    assert mx.nd.tile(mx.nd.ones((2, 3)), reps=None).shape == (2, 3)


SLICES = [
    # operator, parameters, shape of the data, shape of the result
    ("slice", {"begin": (0, 1), "end": (2, 3)}, (0, 5), (0, 2)),
    ("slice", {"begin": (0, 1), "end": (2, 3)}, (0, 5, 0), (0, 2, 0)),
    ("slice", {"begin": (None, 1), "end": (None, 3)}, (5, 0), (5, 0)),
    ("slice", {"begin": (0, 1), "end": (-1, 3)}, (5, 0), (4, 0)),
    ("slice", {"begin": (0, 1), "end": (2, 3), "step": (1, 2)}, (0, 5), (0, 1)),
    ("slice_axis", {"axis": 0, "begin": 1, "end": 3}, (0, 5), (0, 5)),
    ("slice_axis", {"axis": 1, "begin": 1, "end": 3}, (0, 5), (0, 2)),
]


@pytest.mark.parametrize(("name", "params", "data", "result"), SLICES)
def test_slices_of_unknown_axes_are_unknown(name, params, data, result):
    sliced = getattr(mx.sym, name)(X, **params)
    assert sliced.infer_shape_partial(x=data) == ([data], [result], [])


METHODS = [
    ("flatten", {}, (2, 3)),
    ("squeeze", {}, (2, 3)),
    ("expand_dims", {"axis": 0}, (1, 2, 1, 3)),
]


@pytest.mark.parametrize(("name", "given", "shape"), METHODS)
def test_a_method_inplace_gives_a_view(name, given, shape):
    array = mx.nd.zeros((2, 1, 3))
    copy, view = (getattr(array, name)(inplace=i, **given) for i in (False, True))
    copy[:] = 1
    assert (array.asnumpy() == 0).all()
    view[:] = 2
    assert (array.asnumpy() == 2).all()
    assert copy.shape == view.shape == shape


def test_broadcasting_methods_add_leading_axes():
    array = mx.nd.array([1, 2, 3])
    for made in (array.broadcast_to((2, 3)), array.broadcast_like(mx.nd.zeros((2, 3)))):
        assert made.asnumpy().tolist() == [[1, 2, 3]] * 2


def test_regions_of_images_without_pixels():
    with mx.util.np_shape():
        made = mx.nd.ROIPooling(
            mx.nd.zeros((2, 3, 4, 0)), mx.nd.zeros((1, 5)), pooled_size=(2, 2), spatial_scale=1.0
        )
    assert made.asnumpy().tolist() == [[[[0, 0], [0, 0]]] * 3]


MULTICAST = [
    # Types of the inputs, of the results, and with `cast_narrow`: MXNet's.
    ("float64 float16", "float64 float64", "float64 float16"),
    ("float64 float32", "float64 float32", "float64 float32"),
    ("float16 float64", "float16 float64", "float16 float64"),
    ("int32 float16", "int32 int32", "int32 float16"),
    ("int32 float32", "int32 float32", "int32 float32"),
    ("float16 int32", "float16 int32", "float16 int32"),
    ("float64 float16 float32", "float64 float32 float32", "float64 float16 float16"),
    ("int32 float64 float16", "int32 float64 int32", "int32 float64 float16"),
    ("float32 int32 float16", "float32 int32 float32", "float16 int32 float16"),
]


@pytest.mark.parametrize(("types", "wide", "narrow"), MULTICAST)
def test_types_of_amp_multicast(types, wide, narrow):
    types = types.split()
    arrays = [mx.nd.array([1.5], dtype=t) for t in types]
    inputs = [mx.sym.Variable(f"x{i}") for i in range(len(types))]
    given = {f"x{i}": t for i, t in enumerate(types)}
    for expected, options in ((wide, {}), (narrow, {"cast_narrow": True})):
        options = {"num_outputs": len(types), **options}
        made = mx.nd.amp_multicast(*arrays, **options)
        assert [np.dtype(x.dtype).name for x in made] == expected.split()
        found = mx.sym.amp_multicast(*inputs, **options).infer_type(**given)[1]
        assert [np.dtype(x).name for x in found] == expected.split()
