"""Windows seen cell by cell against XLA's own loop, the gradients of ties too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modkit.ops.nn.pooling import windows_of
from modkit.ops.nn.windows import PLAIN
from modkit.tuning.cpu.pooling import BY_CELL

SHAPES = [
    # data, kernel, stride, pad, convention
    ((2, 8, 8, 3), (2, 2), (2, 2), (0, 0), "valid"),
    ((2, 9, 7, 3), (3, 3), (2, 2), (1, 1), "valid"),
    ((2, 9, 8, 3), (3, 2), (2, 3), (1, 0), "full"),
    ((1, 6, 5, 2), (5, 5), (1, 1), (2, 2), "valid"),
    ((1, 5, 5, 2), (2, 2), (3, 3), (1, 1), "full"),
    ((1, 7, 7, 2), (6, 6), (1, 1), (0, 0), "valid"),
]


def _case(shape, kernel, stride, pad, convention):
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, "pooling_convention": convention}
    return windows_of(shape, {**attrs, "layout": "NHWC", "global_pool": False})


def _both(form, kind, data, windows, head):
    made, pull = jax.vjp(lambda x: getattr(form, kind)(x, windows), data)
    return made, pull(head)[0]


def _compiled(form, kind, data, windows, head):
    return jax.jit(lambda x, h: _both(form, kind, x, windows, h), compiler_options=QUICK)(
        data, head
    )


QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""Compile in half the time: each row is run once, and is small."""


@pytest.mark.parametrize("kind", ["largest", "total"])
@pytest.mark.parametrize(
    ("row", "dtype"),
    [*((row, "float32") for row in SHAPES), (SHAPES[1], "float16"), (SHAPES[1], "bfloat16")],
)
def test_as_plain(row, dtype, kind):
    windows, stream = _case(*row), np.random.RandomState(0)
    # Few different values: ties in most windows. Small whole numbers, whose sums are exact.
    data = jnp.asarray(stream.randint(-2, 2, row[0]), dtype)
    head = jnp.asarray(stream.randint(-2, 3, windows.number), dtype)
    want, got = (_compiled(form, kind, data, windows, head) for form in (PLAIN, BY_CELL))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.astype("float32"), b.astype("float32"))


@pytest.mark.parametrize("form", [PLAIN, BY_CELL])
def test_nan_is_passed_over(form):
    """As in MXNet 1.9.1; a window without numbers has the lowest finite one."""
    nan, inf = np.nan, np.inf
    rows = [[nan, 3, nan, 4], [nan, -inf, nan, nan], [-inf] * 4, [inf, nan, inf, 0]]
    data = jnp.asarray(rows, "float32").reshape(4, 2, 2, 1)
    windows = _case(data.shape, (2, 2), (2, 2), (0, 0), "valid")
    made, grad = _compiled(form, "largest", data, windows, jnp.ones((4, 1, 1, 1)))
    lowest = np.finfo("float32").min
    assert made.ravel().tolist() == [4, lowest, lowest, inf]
    want = [[0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    np.testing.assert_array_equal(np.where(made > lowest, grad, 0).reshape(4, 4), want)


def test_the_first_of_equals_has_the_gradient():
    windows = _case((1, 2, 2, 1), (2, 2), (2, 2), (0, 0), "valid")
    data, head = jnp.ones((1, 2, 2, 1)), jnp.ones((1, 1, 1, 1))
    _, grad = _compiled(BY_CELL, "largest", data, windows, head)
    assert grad.ravel().tolist() == [1, 0, 0, 0]
