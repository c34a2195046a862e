"""Arguments that do not fit are refused; quantization passes no gradient."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, ParameterError, ShapeError
from modkit.ops.registry import op


def _csr():
    return mx.nd.sparse.csr_matrix(np.eye(3, dtype="float32"))


@pytest.mark.parametrize("given", [{"min_calib_range": -1.0}, {"max_calib_range": 1.0}])
@pytest.mark.parametrize("operator", ["quantize_v2", "requantize"])
def test_one_end_of_a_calibrated_range_is_refused(operator, given):
    arrays = [mx.nd.ones((2, 3))]
    if operator == "requantize":
        arrays = [mx.nd.ones((2, 3), dtype="int32"), mx.nd.array([-1.0]), mx.nd.array([1.0])]
    with pytest.raises(ParameterError, match="expected both or neither"):
        getattr(mx.nd.contrib, operator)(*arrays, **given)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (4, 1)])
def test_a_sparse_matrix_times_an_array_that_does_not_fit_is_refused(shape):
    with pytest.raises(ShapeError):
        mx.nd.sparse.broadcast_mul(_csr(), mx.nd.ones(shape))


def test_a_sparse_slice_with_fewer_ends_than_begins_is_refused():
    with pytest.raises(mx.base.MXNetError):
        mx.nd.sparse.slice(_csr(), begin=(0, 1), end=(2,))


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("quantize", "float32"),
        ("quantize_v2", "float32"),
        ("dequantize", "int8"),
        ("quantized_flatten", "int8"),
    ],
)
def test_quantization_passes_no_gradient(operator, kind):
    """MXNet 1.9.1 gives zeros too."""
    data = mx.nd.array(np.array([[-1, 0.5], [2, 3]]), dtype=kind)
    inputs = [data]
    if operator != "quantize_v2":
        inputs += [mx.nd.array([-1.0]), mx.nd.array([3.0])]
    floats = [x for x in inputs if x.dtype == np.float32]
    for x in floats:
        x.attach_grad()
    with mx.autograd.record():
        outputs = getattr(mx.nd.contrib, operator)(*inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    heads = [o for o in outputs if o.dtype == np.float32]
    mx.autograd.backward(
        heads, [mx.nd.array([2.0**i]).broadcast_to(o.shape) for i, o in enumerate(heads)]
    )
    for x in floats:
        np.testing.assert_array_equal(x.grad.asnumpy(), np.zeros(x.shape))


def _empty(shape, dtype="float32"):
    return mx.nd.array(np.zeros(shape), dtype=dtype)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 4), (0, 3, 4)])
def test_nothing_matches_nothing(shape):
    rows, columns = mx.nd.contrib.bipartite_matching(_empty(shape), threshold=0.1)
    assert (rows.shape, columns.shape) == (shape[:-1], (*shape[:-2], shape[-1]))
    assert (rows.asnumpy() == -1).all()
    assert (columns.asnumpy() == -1).all()


@pytest.mark.parametrize("operator", ["quantize_v2", "requantize"])
def test_an_empty_array_has_no_range_of_its_own(operator):
    ends = [mx.nd.array([-1.0]), mx.nd.array([1.0])]
    arrays = [_empty((0, 3))]
    if operator == "requantize":
        arrays = [_empty((0, 3), "int32"), *ends]
    run = getattr(mx.nd.contrib, operator)
    with pytest.raises(ShapeError, match="has no range"):
        run(*arrays)
    assert run(*arrays, min_calib_range=-1.0, max_calib_range=1.0)[0].shape == (0, 3)


@pytest.mark.parametrize("shape", [(0, 2, 4, 4), (1, 2, 0, 4)])
def test_regions_of_images_without_pixels_are_refused(shape):
    with pytest.raises(ShapeError, match="no pixels"):
        mx.nd.contrib.ROIAlign(
            _empty(shape), mx.nd.zeros((2, 5)), pooled_size=(2, 2), spatial_scale=1.0
        )


@pytest.mark.parametrize("limit", [0.0, -0.5])
def test_anchors_that_no_overlap_makes_background_are_refused(limit):
    arrays = [mx.nd.ones(shape) for shape in ((1, 2, 4), (1, 1, 5), (1, 2, 2))]
    run = mx.nd.contrib.MultiBoxTarget
    with pytest.raises(ParameterError, match=f"negative_mining_thresh: got {limit:g} with"):
        run(*arrays, negative_mining_ratio=3.0, negative_mining_thresh=limit)
    assert run(*arrays, negative_mining_thresh=limit)[2].shape == (1, 2)


def test_regions_of_another_type_than_the_image_are_refused():
    with pytest.raises(DTypeError, match="rois: got float64"):
        mx.nd.contrib.ROIAlign(
            mx.nd.ones((1, 1, 4, 4)),
            mx.nd.zeros((1, 5), dtype="float64"),
            pooled_size=(2, 2),
            spatial_scale=1.0,
        )


@pytest.mark.parametrize(
    "bounds",
    [{"begin": (0, 0, 0), "end": (1, 1, 1)}, {"begin": (0,), "end": (2,), "step": (1, 1, 1)}],
)
def test_a_sparse_slice_of_more_axes_is_refused(bounds):
    with pytest.raises(ParameterError):
        mx.nd.sparse.slice(_csr(), **bounds)


def test_a_sparse_slice_without_bounds_is_the_whole():
    whole = mx.nd.sparse.slice(_csr(), begin=(), end=())
    np.testing.assert_array_equal(whole.asnumpy(), np.eye(3))


def _none(*shape):
    return mx.nd.array(np.zeros(shape))


@pytest.mark.parametrize("ends", [(0, 0), (0, 1), (1, 0)])
def test_ranges_without_elements_are_refused(ends):
    levels = mx.nd.array([[1, 2]], dtype="int8")
    with (
        mx.util.np_shape(True),
        pytest.raises(ShapeError, match=r"got shape \(0,\), expected \(1,"),
    ):
        mx.nd.contrib.quantized_flatten(levels, *map(_none, ends))


def test_marks_without_branching_ratios_are_refused():
    ones = mx.nd.ones
    times = [ones((2, 3)), mx.nd.zeros((2, 3), dtype="int32"), ones((2,)), ones((2,))]
    with mx.util.np_shape(True):
        with pytest.raises(ShapeError, match=r"alpha: got shape \(0,\), expected \(1,\)"):
            mx.nd.contrib.hawkesll(ones((2, 1)), _none(0), ones((1,)), ones((2, 1)), *times)
        marks = [_none(2, 0), _none(0), _none(0), _none(2, 0)]
        assert mx.nd.contrib.hawkesll(*marks, *times)[1].shape == (2, 0)


def test_rows_without_a_power_law_are_refused():
    for stype, known in (("row_sparse", "'uniform'$"), ("csr", "'uniform', 'powerlaw'$")):
        with pytest.raises(AssertionError, match=f"distribution of {stype}: .*expected {known}"):
            mx.test_utils.rand_sparse_ndarray((4, 3), stype, 0.5, distribution="other")
    with pytest.raises(AssertionError, match="distribution of row_sparse: got 'powerlaw'"):
        mx.test_utils.rand_sparse_ndarray((4, 3), "row_sparse", 0.5, distribution="powerlaw")


@pytest.mark.parametrize(("kind", "value"), [("uint8", -1.5), ("int8", 300), ("int32", np.nan)])
def test_padding_that_the_type_does_not_hold_is_refused(kind, value):
    with pytest.raises(ParameterError, match=f"constant_value: got {value}"):
        data = mx.nd.ones((2,), dtype=kind)
        mx.nd.Pad(data, mode="constant", pad_width=(0, 1), constant_value=value)


def _taken(library, x, i):
    return library.batch_take(x, i)


def _counted(library, x):
    return library.histogram(x, bins=2, range=(0.0, 4.0))[0]


def _active(library, x):
    low = library.sum(x)
    levels = library.Cast(x, dtype="int8")
    return library.contrib.quantized_act(levels, low, low + 1, act_type="relu")[0]


UNDIFFERENTIABLE = [
    # a function of (library, x, i), and the operator that refuses, or MXNet's gradient of x
    (_taken, "batch_take"),
    (lambda library, x, i: library.argmax_channel(x) + library.sum(x, axis=1), "argmax_channel"),
    (lambda library, x, i: library.shuffle(x), "_shuffle"),
    (lambda library, x, i: library.khatri_rao(x, x), "khatri_rao"),
    (lambda library, x, i: library.BlockGrad(_taken(library, x, i)) + library.sum(x, axis=1), 1),
    (lambda library, x, i: library.one_hot(_taken(library, x, i), depth=3), 0),
    # results of whole numbers
    (lambda library, x, i: _counted(library, x), "_histogram"),
    (lambda library, x, i: library.Cast(_counted(library, x), dtype="float32"), "_histogram"),
    (lambda library, x, i: library.contrib.allclose(x, x), "_contrib_allclose"),
    (lambda library, x, i: _active(library, x), "_contrib_quantized_act"),
    (lambda library, x, i: library.shuffle(library.Cast(x, dtype="int32")), "_shuffle"),
    (lambda library, x, i: library.shape_array(x), 0),
]


@pytest.mark.parametrize(("call", "expected"), UNDIFFERENTIABLE)
@pytest.mark.parametrize("library", [mx.nd, mx.sym])
def test_operators_that_mxnet_does_not_differentiate_refuse_gradients(library, call, expected):
    x, i = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([0, 1], dtype="int32")
    x.attach_grad()
    if library is mx.nd:
        with mx.autograd.record():
            backward = call(mx.nd, x, i).backward
    else:
        net = call(mx.sym, mx.sym.Variable("x"), mx.sym.Variable("i"))
        given = {"x": x, "i": i}
        bound = net.bind(
            mx.cpu(), {n: given[n] for n in net.list_arguments()}, args_grad={"x": x.grad}
        )
        heads = [mx.nd.ones_like(o) for o in bound.forward(is_train=True)]

        def backward():
            bound.backward(heads)
            x.grad.wait_to_read()

    if not isinstance(expected, str):
        backward()
        assert x.grad.asnumpy().tolist() == [[expected] * 2] * 2
        return
    with pytest.raises(mx.base.MXNetError, match=f"^{expected}: got a gradient .*BlockGrad"):
        backward()


def test_an_update_is_not_differentiated():
    weight, grad = mx.nd.ones((2,)), mx.nd.ones((2,))
    grad.attach_grad()
    with mx.autograd.record():
        made = mx.nd.sgd_update(weight, grad, lr=0.1)
    with pytest.raises(mx.base.MXNetError, match=r"^sgd_update: got a gradient"):
        made.backward()


@pytest.mark.parametrize(
    ("field", "message"),
    [("elementwis", r"op\('new'\): no field 'elementwis'. Did you mean 'elementwise'"),
     ("takes_key", "no field 'takes_key'")],
)  # fmt: skip
def test_an_operator_with_an_unknown_field_is_refused(field, message):
    with pytest.raises(ParameterError, match=message):
        op("new", precision="alike", **{field: True})
