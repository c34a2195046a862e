"""Results and refusals that random cases showed to differ from MXNet 1.9.1; its figures."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, ParameterError, ShapeError

C, X = mx.nd.contrib, mx.sym.Variable("x")


def _internal(name):
    return getattr(mx.sym._internal, name)


@pytest.mark.parametrize(
    ("kind", "is_int", "scalar", "dtype", "values"),
    [
        ("int32", False, 2.5, np.float64, [3.5, 2.5]),
        ("uint8", False, 0.5, np.float64, [1.5, 0.5]),
        ("int32", True, 2.5, np.int32, [3, 2]),
        ("bool", True, 2, np.int64, [3, 2]),
    ],
)
def test_whole_numbers_and_a_scalar_have_the_inferred_type_in_graphs(
    kind, is_int, scalar, dtype, values
):
    net = _internal("_plus_scalar")(X, scalar=scalar, is_int=is_int)
    found = net.bind(mx.cpu(), {"x": mx.nd.array([1, 0], dtype=kind)}).forward()[0]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.asnumpy(), values)


@pytest.mark.parametrize(
    ("like", "attrs", "first"),
    [
        ([], {"center_crop": True, "offset": (1,), "h_w": (2, 3)}, [6, 7, 8]),
        ([mx.nd.ones((1, 1, 2, 3))], {"h_w": (2,), "offset": (1, 2)}, [7, 8, 9]),
    ],
)
def test_a_crop_reads_no_offset_in_the_middle_and_no_size_beside_a_second_array(like, attrs, first):
    images = mx.nd.arange(25).reshape((1, 1, 5, 5))
    found = mx.nd.Crop(images, *like, num_args=1 + len(like), **attrs)
    np.testing.assert_array_equal(found[0, 0, 0].asnumpy(), first)


@pytest.mark.parametrize(
    ("values", "counts"), [([-4, 0, 1], [0, 1, 1]), ([2, 2, 1], [0, 0, 3]), (range(5), [0, 1, 2])]
)
def test_a_histogram_of_whole_numbers_has_whole_edges(values, counts):
    data = mx.nd.array(np.array(values), dtype="int32")
    found, edges = mx.nd.histogram(data, bins=3, range=(0, 2))
    np.testing.assert_array_equal(found.asnumpy(), counts)
    np.testing.assert_array_equal(edges.asnumpy(), [0, 0, 1, 2])


@pytest.mark.parametrize(
    ("shape", "gradient"), [((4,), 1), ((2, 3), 0.5), ((2, 2, 3), 0.25), ((2, 2, 3, 4), 1 / 12)]
)
def test_a_made_loss_divides_by_all_sizes_but_the_last(shape, gradient):
    data = mx.nd.ones(shape)
    data.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.MakeLoss(data, normalization="batch")
    loss.backward()
    np.testing.assert_allclose(data.grad.asnumpy(), gradient, 1e-6)


@pytest.mark.parametrize("operator", ["_sample_normal", "_sample_gamma", "_sample_uniform"])
def test_the_first_parameter_gives_the_shape_of_the_second(operator):
    net = _internal(operator)(X, mx.sym.Variable("y"), shape=(4,))
    assert net.infer_shape(x=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3, 4)], [])


@pytest.mark.parametrize("operator", ["quantize", "dequantize", "requantize"])
def test_ends_of_ranges_are_inferred(operator):
    net = getattr(mx.sym.contrib, operator)(X, mx.sym.Variable("low"), mx.sym.Variable("high"))
    assert net.infer_shape(x=(2, 3))[0] == [(2, 3), (1,), (1,)]


@pytest.mark.parametrize(
    ("start", "step", "values"),
    [(5, 0.5, [5, 5, 5, 5]), (1.5, 1.5, [1, 2, 3, 4]), (-1.5, -0.5, [-1, -1, -1, -1])],
)
def test_a_range_like_whole_numbers_has_whole_steps(start, step, values):
    found = C.arange_like(mx.nd.ones(4, dtype="int32"), start=start, step=step)
    np.testing.assert_array_equal(found.asnumpy(), values)


def test_an_identity_matrix_of_no_columns_is_square():
    assert mx.nd._internal._eye(N=2, M=-3).asnumpy().tolist() == [[1, 0], [0, 1]]


def test_the_part_that_is_assigned_is_inferred():
    net = _internal("_slice_assign")(X, mx.sym.Variable("part"), begin=(0, 1), end=(2, 3))
    assert net.infer_shape(x=(3, 4))[0] == [(3, 4), (2, 2)]


def test_an_image_is_resized_like_one_of_another_type():
    like = mx.nd.ones((1, 1, 5, 1))
    found = C.BilinearResize2D(mx.nd.ones((1, 2, 3, 3), dtype="float16"), like, mode="like")
    assert (found.shape, found.dtype) == ((1, 2, 5, 1), np.float16)


def test_negative_sections_are_none():
    parts = mx.nd._internal._split_v2(mx.nd.ones((4, 2)), indices=(0, 1, 3), axis=0, sections=-1)
    assert [p.shape for p in parts] == [(1, 2), (2, 2), (1, 2)]


def test_position_sensitive_pooling_leaves_more_channels_unread():
    stream = np.random.RandomState(0)
    data = stream.rand(1, 11, 4, 4).astype("float32")
    rois = mx.nd.array([[0, 0, 0, 3, 3]])
    attrs = {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 2, "group_size": 2}
    want = C.PSROIPooling(mx.nd.array(data[:, :8]), rois, **attrs).asnumpy()
    got = C.PSROIPooling(mx.nd.array(data), rois, **attrs).asnumpy()
    np.testing.assert_array_equal(got, want)
    attrs |= {"no_trans": True, "sample_per_part": 2}
    want = C.DeformablePSROIPooling(mx.nd.array(data[:, :8]), rois, **attrs).asnumpy()
    got = C.DeformablePSROIPooling(mx.nd.array(data), rois, **attrs).asnumpy()
    np.testing.assert_array_equal(got, want)


def test_a_product_of_levels_as_numbers_passes_no_gradient_to_its_ranges():
    ends = [mx.nd.array([v]) for v in (-1.0, 1.0, -2.0, 2.0)]
    for end in ends:
        end.attach_grad()
    levels = mx.nd.ones((2, 2), dtype="int8")
    with mx.autograd.record():
        found = C.quantized_elemwise_mul(levels, levels, *ends, enable_float_output=True)
    found.backward()
    assert [float(e.grad.asnumpy()[0]) for e in ends] == [0, 0, 0, 0]


ROWS, WHOLE = mx.nd.ones((4, 6)), mx.nd.ones((2, 3), dtype="int32")
REFUSED = {
    "variances of MultiBoxDetection": (
        ParameterError,
        lambda: C.MultiBoxDetection(
            mx.nd.ones((1, 2, 3)), mx.nd.ones((1, 12)), mx.nd.ones((1, 3, 4)), variances=(0.1, 1, 2)
        ),
    ),
    "ratios of MultiBoxPrior": (
        ParameterError,
        lambda: C.MultiBoxPrior(mx.nd.ones((1, 3, 2, 2)), ratios=(1, -0.5)),
    ),
    "id_index": (ParameterError, lambda: C.box_nms(ROWS, id_index=1, score_index=1)),
    "places in rows": (ParameterError, lambda: C.box_nms(ROWS, score_index=6)),
    "spatial_scale: got -0.5": (
        ParameterError,
        lambda: mx.nd.ROIPooling(
            mx.nd.ones((1, 1, 4, 4)), mx.nd.ones((1, 5)), pooled_size=(2, 2), spatial_scale=-0.5
        ),
    ),
    "spatial_scale: got 1.5": (
        ParameterError,
        lambda: C.ROIAlign(
            mx.nd.ones((1, 1, 4, 4)), mx.nd.ones((1, 5)), pooled_size=(2, 2), spatial_scale=1.5
        ),
    ),
    "spatial_scale: got 2.0": (
        ParameterError,
        lambda: C.RROIAlign(
            mx.nd.ones((1, 1, 4, 4)), mx.nd.ones((1, 6)), pooled_size=(2, 2), spatial_scale=2.0
        ),
    ),
    "smooth_alpha": (
        ParameterError,
        lambda: mx.nd.SoftmaxOutput(mx.nd.ones((2, 3)), mx.nd.ones(2), smooth_alpha=2.0),
    ),
    "height=-3": (
        ParameterError,
        lambda: C.BilinearResize2D(mx.nd.ones((1, 1, 4, 4)), height=-3, width=2),
    ),
    "pad: got": (
        ParameterError,
        lambda: C.quantized_pooling(
            mx.nd.ones((1, 1, 4, 4), dtype="int8"),
            mx.nd.array([-1.0]),
            mx.nd.array([1.0]),
            kernel=(2, 2),
            pad=(2, 1),
        ),
    ),
    "expected sizes": (
        ShapeError,
        lambda: mx.nd._internal._sample_uniform(mx.nd.ones(2), mx.nd.ones(2), shape=(2, -2)),
    ),
    "Crop: h_w: got": (
        ParameterError,
        lambda: mx.nd.Crop(mx.nd.ones((1, 1, 4, 4)), h_w=(2, 3, 1)),
    ),
    "Crop: offset: got": (
        ParameterError,
        lambda: mx.nd.Crop(mx.nd.ones((1, 1, 4, 4)), h_w=(2, 3), offset=(1,)),
    ),
    "MakeLoss: got data": (DTypeError, lambda: mx.nd.MakeLoss(WHOLE)),
    "_random_normal_like": (DTypeError, lambda: mx.nd._internal._random_normal_like(WHOLE)),
    "queries_keys_values: got data": (
        DTypeError,
        lambda: C.interleaved_matmul_selfatt_qk(mx.nd.ones((2, 1, 6), dtype="int64"), heads=2),
    ),
}


NOTHING = {
    "got data of shape (2, 0), expected one element or more along the axes (1,)": lambda: mx.nd.max(
        mx.nd.zeros((2, 0)), axis=1
    ),
    "UpSampling: got images of (0, 3), expected sizes of 1 or more": lambda: mx.nd.UpSampling(
        mx.nd.zeros((1, 2, 0, 3)), scale=2, sample_type="nearest"
    ),
    "MultiBoxPrior: got data of shape (1, 2, 0, 3)": lambda: C.MultiBoxPrior(
        mx.nd.zeros((1, 2, 0, 3))
    ),
    "Proposal: got cls_prob (1, 2, 0, 3), which has no positions; expected H": lambda: C.Proposal(
        mx.nd.zeros((1, 2, 0, 3)),
        mx.nd.zeros((1, 4, 0, 3)),
        mx.nd.zeros((1, 3)),
        scales=(1,),
        ratios=(1,),
    ),
    "image.resize: got data of shape (0, 4, 3), expected H and W from 1": lambda: (
        mx.nd.image.resize(mx.nd.zeros((0, 4, 3)), size=2)
    ),
    "foreach: data: got no rows": lambda: C.foreach(
        lambda row, state: (row, state), mx.nd.ones(()), mx.nd.ones(())
    ),
    "offset: got 0 for matrices of 0 rows, expected a row or more": lambda: (
        mx.nd.linalg.extractdiag(mx.nd.zeros((0, 0)))
    ),
    "Pooling: got data of shape (1, 2, 0) with global_pool=True": lambda: mx.nd.Pooling(
        mx.nd.zeros((1, 2, 0)), global_pool=True, kernel=(1,)
    ),
    "got data (1, 1, 0, 4), which has no pixels; expected an image or more": lambda: C.ROIAlign(
        mx.nd.zeros((1, 1, 0, 4)), mx.nd.ones((1, 5)), pooled_size=(2, 2), spatial_scale=1.0
    ),
}


@pytest.mark.parametrize("words", NOTHING)
def test_arrays_without_elements_are_refused_in_words(words):
    with mx.np_shape(), pytest.raises((ShapeError, ParameterError)) as e:
        NOTHING[words]()
    assert words in str(e.value)


def test_arrays_without_elements_are_normalized_and_differentiated():
    """MXNet 1.9.1's shapes."""
    with mx.np_shape():
        one = mx.nd.ones(2)
        assert mx.nd.GroupNorm(mx.nd.zeros((0, 4, 3)), one, one, num_groups=2).shape == (0, 4, 3)
        ends = [mx.nd.ones(1)] * 4
        data, weight = (mx.nd.zeros(shape, dtype="int8") for shape in ((0, 6), (3, 6)))
        settings = {"num_hidden": 3, "no_bias": True}
        assert C.quantized_fully_connected(data, weight, *ends, **settings)[0].shape == (0, 3)
        scores = mx.nd.zeros((4, 0))
        scores.attach_grad()
        with mx.autograd.record():
            out = mx.nd.SVMOutput(scores, mx.nd.zeros(4))
        out.backward()
        assert scores.grad.shape == (4, 0)


@pytest.mark.parametrize("words", REFUSED)
def test_refused_as_there(words):
    error, call = REFUSED[words]
    with pytest.raises(error, match=words.split(" of ")[0]):
        call()


MATRIX = np.arange(12).reshape(3, 4)
NONE = [
    # operator, inputs, parameters, the shape of the result
    ("slice", [MATRIX], {"begin": (0, 1), "end": (2, 3), "step": None}, (2, 2)),
    ("slice_like", [MATRIX, MATRIX[:2, :2]], {"axes": None}, (3, 4)),
    ("Dropout", [MATRIX], {"axes": None}, (3, 4)),
    ("Reshape", [MATRIX], {"shape": (2, -1), "target_shape": None}, (2, 6)),
    (
        "Deconvolution",
        [np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2))],
        {"kernel": (2, 2), "num_filter": 1, "target_shape": None},
        (1, 1, 4, 4),
    ),
]


@pytest.mark.parametrize(("operator", "inputs", "attrs", "shape"), NONE)
def test_parameters_that_are_none(operator, inputs, attrs, shape):
    """MXNet 1.9.1's shapes."""
    assert getattr(mx.nd, operator)(*map(mx.nd.array, inputs), **attrs).shape == shape
    names = [mx.sym.Variable(n) for n in "xy"[: len(inputs)]]
    net = getattr(mx.sym, operator)(*names, **attrs)
    given = {n.name: a.shape for n, a in zip(names, inputs, strict=True)}
    assert mx.sym.load_json(net.tojson()).infer_shape(**given)[1] == [shape]


def test_a_constant_without_a_shape_has_that_of_the_graph():
    """MXNet 1.9.1's."""
    assert (_internal("_zeros")(shape=None) + X).infer_shape(x=(2, 3))[1] == [(2, 3)]


def test_bools_add_up_and_are_negated_as_int64():
    bools = mx.nd.array([1, 0, 1], dtype="bool")
    for found, wanted in ((mx.nd.cumsum(bools), [1, 1, 2]), (-bools, [-1, 0, -1])):
        assert (found.dtype, found.asnumpy().tolist()) == (np.int64, wanted)
