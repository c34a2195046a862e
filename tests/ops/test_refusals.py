"""Arguments that do not fit are refused; quantization passes no gradient."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import ParameterError, ShapeError


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


def test_a_negative_group_size_is_refused():
    with pytest.raises(ParameterError, match="group_size: got -2"):
        mx.nd.contrib.PSROIPooling(
            mx.nd.zeros((1, 8, 4, 4)),
            mx.nd.zeros((2, 5)),
            spatial_scale=1.0,
            output_dim=2,
            pooled_size=2,
            group_size=-2,
        )


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
