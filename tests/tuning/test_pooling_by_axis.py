"""Large windows of pooling, reduced axis by axis, beside XLA's windows."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.ops.nn.pooling import pooling
from modkit.ops.nn.windows import Windows, largest, lowest_finite
from modkit.symbol.lower import lower
from modkit.tuning.cpu.pooling import largest_by_cell, total_by_cell

CASES = {
    "7x7": ((2, 14, 14, 3), (1, 7, 7, 1), (1, 2, 2, 1), (0, 3, 3, 0), (2, 7, 7, 3)),
    "text": ((2, 30, 1, 4), (1, 30, 1, 1), (1, 1, 1, 1), (0, 0, 0, 0), (2, 1, 1, 4)),
    "rows": ((2, 8, 5, 4), (1, 8, 2, 1), (1, 1, 3, 1), (0, 0, 0, 0), (2, 1, 2, 4)),
    "long": ((2, 60, 5, 2), (1, 40, 3, 1), (1, 5, 1, 1), (0, 0, 1, 0), (2, 5, 5, 2)),
    "all": ((2, 4, 4, 4, 3), (1, 4, 4, 4, 1), (1,) * 5, (0,) * 5, (2, 1, 1, 1, 3)),
    "space": ((2, 6, 6, 6, 3), (1, 3, 3, 3, 1), (1, 2, 2, 2, 1), (0, 1, 1, 1, 0), (2, 3, 3, 3, 3)),
    "half": ((2, 7, 9, 3), (1, 7, 1, 1), (1, 1, 2, 1), (0, 0, 0, 0), (2, 1, 5, 3)),
    "apart": ((2, 7, 9, 3), (1, 5, 3, 1), (1, 1, 1, 2), (0, 0, 1, 0), (2, 3, 9, 2)),
    "edge": ((2, 7, 9, 3), (1, 4, 4, 1), (1, 1, 1, 1), (1, 0, 0, 0), (4, 4, 6, 3)),
    "steps": ((2, 9, 9, 3), (1, 1, 5, 1), (1, 2, 2, 1), (0, 0, 2, 0), (2, 5, 5, 3)),
}  # fmt: skip


def by_xla(x, windows):
    """Windows of padding alone have the lowest finite number."""
    return jnp.maximum(largest(x, windows), lowest_finite(x))


def drawn(name):
    shape, *windows = CASES[name]
    values = np.random.RandomState(0).randint(-4, 4, shape).astype(np.float32)
    return values, Windows(*windows)


@functools.partial(jax.jit, static_argnums=(0, 1))
def with_gradient(form, windows, x, ct):
    found, backward = jax.vjp(lambda x: form(x, windows), x)
    return found, backward(ct)[0]


@pytest.mark.parametrize("name", CASES)
def test_maxima_and_their_gradients_are_those_of_whole_windows(name):
    values, windows = drawn(name)  # many elements are equal: the first has the gradient
    ct = np.random.RandomState(1).randint(1, 9, windows.number).astype(np.float32)
    found = with_gradient(largest_by_cell, windows, values, ct)
    for ours, expected in zip(found, with_gradient(by_xla, windows, values, ct), strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("name", CASES)
def test_maxima_pass_over_nan(name):
    values, windows = drawn(name)
    values[values == 3] = np.nan
    numbers = np.nan_to_num(values, nan=np.finfo(np.float32).min)
    found, expected = (
        jax.jit(form, static_argnums=1)(x, windows)
        for form, x in ((largest_by_cell, values), (by_xla, numbers))
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", CASES)
def test_sums_are_those_of_whole_windows(name):
    values, windows = drawn(name)
    ct = np.ones(windows.number, np.float32)
    found, found_gradient = with_gradient(total_by_cell, windows, values, ct)
    padded = np.pad(values, windows.margins(values.shape))
    expected = np.zeros(windows.number, np.float32)
    gradient = np.zeros(padded.shape, np.float32)
    for at in np.ndindex(windows.number):
        window = tuple(
            slice(a * s, a * s + k)
            for a, s, k in zip(at, windows.stride, windows.size, strict=True)
        )
        expected[at] = padded[window].sum()
        gradient[window] += 1
    np.testing.assert_array_equal(found, expected)
    inside = tuple(
        slice(low, low + n)
        for (low, _), n in zip(windows.margins(values.shape), values.shape, strict=True)
    )
    np.testing.assert_array_equal(found_gradient, gradient[inside])


@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_pooling_over_three_axes_has_no_windows_of_xla(kind):
    net = mx.sym.Pooling(mx.sym.Variable("data"), kernel=(3, 3, 3), pool_type=kind, name="pool")
    values = np.random.RandomState(0).rand(1, 2, 5, 5, 5).astype(np.float32)
    form = jax.jit(lambda x: lower(net).run({"data": x}, None, True)[0][0])
    plain = pooling(jnp.asarray(values), kernel=(3, 3, 3), pool_type=kind)
    np.testing.assert_allclose(form(values), plain, rtol=1e-6)
    assert "reduce-window(" not in form.lower(values).compile().as_text()
