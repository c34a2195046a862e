"""Rows by a mask; the results are those of MXNet 1.9.1."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotSupportedError, ShapeError

mask_rows = mx.nd.contrib.boolean_mask

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize(
    ("mask", "dtype", "kept"),
    [
        ([0, 1, 0, 2], "float32", [1, 3]),
        ([0, 1, 0, 2], "int32", [1, 3]),
        ([0, 1, 0, 1], "bool", [1, 3]),
        ([0, 1, 0, 1], "float16", [1, 3]),
        ([0, 0.5, -1, np.nan], "float32", [1, 2, 3]),
        ([0, 0, 0, 0], "uint8", []),
    ],
)
@pytest.mark.parametrize("kind", ["float32", "float16", "int8", "bool"])
def test_rows_of_nonzero_masks_are_kept(mask, dtype, kept, kind):
    data = mx.nd.array(ROWS, dtype=kind)
    got = mask_rows(data, mx.nd.array(mask, dtype=dtype))
    assert (got.shape, got.dtype) == ((len(kept), 3), data.dtype)
    np.testing.assert_array_equal(got.asnumpy(), data.asnumpy()[kept])


def test_arrays_of_other_axes_and_a_target():
    line = mask_rows(data=mx.nd.array([1, 2, 3]), index=mx.nd.array([0, 1, 1]), axis=0)
    np.testing.assert_array_equal(line.asnumpy(), [2, 3])
    out = mx.nd.zeros((1, 3, 4))
    cubes = mx.nd.arange(24).reshape((2, 3, 4))
    assert mask_rows(cubes, mx.nd.array([0, 1]), out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), np.arange(12, 24).reshape(1, 3, 4))


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_gradients_return_to_the_rows(grad_req):
    data, mask = mx.nd.array(ROWS), mx.nd.array([0, 1, 0, 2])
    data.attach_grad(grad_req)
    for _ in range(2):
        with mx.autograd.record():
            loss = (mask_rows(data, mask) ** 2).sum()
        loss.backward()
    times = 2 if grad_req == "add" else 1
    want = [[0, 0, 0], [6, 8, 10], [0, 0, 0], [18, 20, 22]]
    np.testing.assert_array_equal(data.grad.asnumpy(), times * np.float32(want))


def test_no_rows_have_no_gradient():
    data = mx.nd.array(ROWS)
    data.attach_grad()
    data.grad[:] = 7
    with mx.autograd.record():
        none = mask_rows(data, mx.nd.zeros((4,)))
    none.backward()
    np.testing.assert_array_equal(data.grad.asnumpy(), np.zeros((4, 3)))


def test_other_masks_and_axes_are_refused():
    data = mx.nd.array(ROWS)
    for mask in ([0, 1, 0], [0, 1, 0, 1, 1], [[0, 1, 0, 1]]):
        with pytest.raises(ShapeError, match=r"index: got shape .* expected \(4,\)"):
            mask_rows(data, mx.nd.array(mask))
    for axis in (1, -1):
        with pytest.raises(NotSupportedError, match=f"axis: got {axis}, expected 0"):
            mask_rows(data, mx.nd.array([0, 1, 0]), axis=axis)
