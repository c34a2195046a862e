"""Operators of 8-bit arrays that the reference does not run on CPUs, and exact sums."""

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, NotSupportedError, ParameterError, ShapeError
from modkit.ops.quantized import layers, products

C = mx.nd.contrib


def _end(value):
    return np.array([value], np.float32)


def _product(operator, data, weight, *ends, **attrs):
    """A layer without bias, by one program."""
    return jax.jit(lambda x, w, *ends: operator(x, w, None, *ends, **attrs))(data, weight, *ends)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution_is_near_to_that_of_the_numbers(dtype, groups):
    stream = np.random.RandomState(0)
    lowest, full = (-1, 127.5) if dtype == "int8" else (0, 255.5)
    data = stream.uniform(2 * lowest, 2, (2, 4, 6, 5)).astype("float32")
    weight = stream.uniform(-0.5, 0.5, (6, 4 // groups, 3, 3)).astype("float32")
    bias = stream.uniform(-1, 1, 6).astype("float32")
    attrs = {"kernel": (3, 3), "pad": (1, 0), "stride": (1, 2), "num_filter": 6}
    attrs["num_group"] = groups
    want = mx.nd.Convolution(*map(mx.nd.array, (data, weight, bias)), **attrs).asnumpy()
    levels = [np.rint(data * full / 2).astype(dtype)]
    levels += [np.rint(x * 127 / b).astype("int8") for x, b in ((weight, 0.5), (bias, 1))]
    ends = [_end(x) for x in (2 * lowest, 2, -0.5, 0.5, -1, 1)]
    sums, low, high = jax.jit(lambda *a: products.quantized_conv(*a, **attrs))(*levels, *ends)
    assert sums.dtype == "int32"
    assert low[0] == -high[0]
    np.testing.assert_allclose(sums * (high[0] / 2147483647), want, atol=0.05)


def test_sums_are_exact_however_many_channels_there_are():
    stream = np.random.RandomState(0)
    data = stream.randint(120, 128, (2, 3000)).astype("int8")
    weight = stream.randint(120, 128, (3, 3000)).astype("int8")
    ends = [_end(x) for x in (-1, 1, -1, 1)]
    attrs = {"num_hidden": 3, "no_bias": True}
    got, _, _ = _product(products.quantized_fully_connected, data, weight, *ends, **attrs)
    want = data.astype("int64") @ weight.T.astype("int64")
    assert want.min() > 2**24
    np.testing.assert_array_equal(got, want)
    images = data[:, :2700].reshape(2, 300, 3, 3)
    kernels = weight[:, :2700].reshape(3, 300, 3, 3)
    attrs = {"kernel": (3, 3), "num_filter": 3, "no_bias": True}
    got, _, _ = _product(products.quantized_conv, images, kernels, *ends, **attrs)
    want = data[:, :2700].astype("int64") @ weight[:, :2700].T.astype("int64")
    np.testing.assert_array_equal(np.asarray(got)[:, :, 0, 0], want)


DATA = {"int8": [45, -60, -39, 103, -12, 127, 15, -118], "uint8": [108, 12, 218, 87, 70, 0, 1, 129]}
GAMMA = [0.55143, 0.54619, 0.67702, 0.77591]
BETA = [0.51681, 0.98448, 0.6605, 0.61063]
MEAN = [0.57063, 0.54863, 0.99202, 0.63017]
VAR = [0.76851, 0.72396, 0.54978, 0.67616]


def test_batch_normalization_is_that_of_the_reference():
    """The figures are MXNet 1.9.1's; its row would need auxiliary states amid the inputs."""
    data = np.array(DATA["int8"], "int8").reshape(1, 4, 2, 1)
    arrays = [np.array(x, np.float32) for x in (GAMMA, BETA, MEAN, VAR)]
    ranges = {"min_calib_range": -3.0, "max_calib_range": 1.5}
    (levels, low, high), aux = jax.jit(
        lambda *inputs: layers.quantized_batch_norm(*inputs, fix_gamma=False, **ranges)
    )(data, *arrays, _end(-2), _end(2))
    assert np.ravel(levels).tolist() == [26, -18, 10, 71, -18, 67, 10, -73]
    assert (low[0], high[0], levels.dtype, aux) == (-3, 1.5, "int8", {})


def test_a_number_makes_the_way_there_and_back():
    data = mx.nd.array(np.linspace(-3, 3, 50))
    back = C.dequantize(*C.quantize_v2(data)).asnumpy()
    np.testing.assert_allclose(back, data.asnumpy(), atol=3 / 127)
    levels, low, high = C.quantize_v2(data, out_type="auto", min_calib_range=0, max_calib_range=3)
    assert (levels.dtype, low.asscalar(), high.asscalar()) == (np.uint8, 0, 3)


def test_levels_of_uint8_stay_and_count():
    """MXNet 1.9.1 reads them as int8 in an activation, and adds nothing for them."""
    levels = mx.nd.array([0, 3, 250], dtype="uint8")
    ends = mx.nd.zeros(1), mx.nd.ones(1)
    assert C.quantized_act(levels, *ends, act_type="relu")[0].asnumpy().tolist() == [0, 3, 250]
    total, _, high = C.quantized_elemwise_add(levels, levels, *ends, *ends)
    numbers = total.asnumpy() * (high.asscalar() / 2147483647)
    np.testing.assert_allclose(numbers, [0, 6 / 255.5, 500 / 255.5], rtol=1e-5, atol=1e-6)


I8, F = mx.nd.ones((2, 4), dtype="int8"), mx.nd.ones((2, 4))
ENDS = mx.nd.zeros(1), mx.nd.ones(1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: C.quantize(I8, *ENDS), DTypeError, "floating point"),
        (lambda: C.dequantize(F, *ENDS), DTypeError, "int8 or uint8"),
        (lambda: C.requantize(I8, *ENDS), DTypeError, "int32"),
        (lambda: C.quantized_act(I8, *ENDS, act_type="tanh"), ParameterError, "'relu'"),
        (
            lambda: C.quantized_pooling(
                I8.reshape((1, 2, 2, 2)), *ENDS, kernel=(1, 1), pool_type="sum"
            ),
            ParameterError,
            "'max' or 'avg'",
        ),
        (
            lambda: C.quantized_batch_norm(
                I8, *(mx.nd.ones(4) for _ in range(4)), *ENDS
            ),
            ParameterError,
            "calib_mode",
        ),
        (
            lambda: C.quantized_fully_connected(
                I8, I8[:, :3], *(), min_data=ENDS[0], max_data=ENDS[1],
                min_weight=ENDS[0], max_weight=ENDS[1], num_hidden=2, no_bias=True,
            ),
            ShapeError,
            "expected (2, 4)",
        ),
        (
            lambda: products.quantized_conv(
                np.ones((1, 2, 2, 4), "int8"), np.ones((2, 1, 1, 4), "int8"), None, *ENDS, *ENDS,
                kernel=(1, 1), num_filter=2, no_bias=True, layout="NHWC",
            ),
            NotSupportedError,
            "channels first",
        ),
        (lambda: C.quantized_concat(I8, I8, num_args=2), ParameterError, "two ends"),
        (
            lambda: C.calibrate_entropy(mx.nd.ones(10), mx.nd.ones(11)),
            ShapeError,
            "an odd K",
        ),
        (
            lambda: C.calibrate_entropy(mx.nd.ones(11), mx.nd.ones(12)),
            ParameterError,
            "num_quantized_bins=255",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("numbers", "attrs", "want", "ends"),
    [
        ([1, NAN, -3], {}, [42, 127, -128], (-3, 3)),
        ([1, NAN, -3], {"out_type": "uint8"}, [85, 0, 0], (-3, 1)),
        ([NAN, NAN], {}, [127, 127], (-3.4028235e38, 3.4028235e38)),
        ([NAN, NAN], {"out_type": "uint8"}, [0, 0], (3.4028235e38, -3.4028235e38)),
        ([1, INF, -2], {}, [0, 127, 0], (-INF, INF)),
        ([1, NAN], {"min_calib_range": -3, "max_calib_range": 2}, [42, 127], (-3, 3)),
        ([-127.5, -3.5, -0.5, 0.5, 2.5, 126.5], {}, [-128, -4, 0, 0, 2, 126], (-127.5, 127.5)),
        ([255.5, 0.5, 1.5, 2.5], {"out_type": "uint8"}, [255, 0, 2, 2], (0.5, 255.5)),
    ],
)
def test_levels_of_nan_and_of_halves(numbers, attrs, want, ends):
    """Figures of MXNet 1.9.1."""
    for made in (
        C.quantize_v2(mx.nd.array(numbers), **attrs),
        mx.sym.contrib.quantize_v2(mx.sym.Variable("x"), **attrs).eval(x=mx.nd.array(numbers)),
    ):
        levels, low, high = (x.asnumpy() for x in made)
        assert levels.tolist() == want
        np.testing.assert_array_equal(np.ravel([low, high]), np.float32(ends))


def test_sums_as_levels_have_halves_to_even():
    """Figures of MXNet 1.9.1."""
    sums = mx.nd.array([-254, -7, -5, -3, -1, 1, 3, 5, 7, 253, 254], dtype="int32")
    half = 0.5 * 2147483647
    levels, *_ = C.requantize(
        sums, _array(-half), _array(half), min_calib_range=-127.0, max_calib_range=127.0
    )
    assert levels.asnumpy().tolist() == [-127, -4, -2, -2, 0, 0, 2, 2, 4, 126, 127]


def _array(value):
    return mx.nd.array([value])


@pytest.mark.parametrize("count", [-1, NAN, INF])
def test_counts_that_are_none_are_refused(count):
    edges = mx.nd.array(np.linspace(-2, 2, 10))
    made = C.calibrate_entropy(mx.nd.array([1, count, *[2] * 7]), edges, num_quantized_bins=5)
    with pytest.raises(ParameterError, match=f"hist: got a count of {count}"):
        made[0].asnumpy()


def test_joined_ranges_have_one_element_each():
    a, one, two = mx.nd.zeros((2, 3), dtype="int8"), mx.nd.ones((1,)), mx.nd.ones((2,))
    with pytest.raises(ShapeError, match=r"range of shape \(2,\), expected \(1,\)"):
        C.quantized_concat(a, a, one, two, one, one, num_args=2)


def test_joined_levels_between_two_are_rounded_to_even():
    wide, narrow = (mx.nd.array([[26, -58, 13]], dtype="int8") for _ in range(2))
    ends = [mx.nd.array([x]) for x in (-2.0, 2.0, -0.5, 0.5)]
    made = C.quantized_concat(wide, narrow, *ends, num_args=2)[0]
    assert made.asnumpy().tolist() == [[26, -58, 13, 6, -14, 3]]


def test_products_without_a_bias_take_their_inputs_by_position():
    data, weight = mx.nd.array([[1, 2]], dtype="int8"), mx.nd.array([[3, 4]], dtype="int8")
    ends = [mx.nd.array([-1]), mx.nd.array([1])] * 2
    attrs = {"num_hidden": 1, "no_bias": True}
    assert C.quantized_fully_connected(data, weight, *ends, **attrs)[0].asscalar() == 11
    net = mx.sym.contrib.quantized_fully_connected(*map(mx.sym.Variable, "abcdef"), **attrs)
    assert net.list_arguments() == list("abcdef")
