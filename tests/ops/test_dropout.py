"""Dropout's random behaviour."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modkit.errors import ParameterError
from modkit.ops.registry import get_op

DROPOUT = get_op("Dropout")
ones = functools.partial(np.ones, dtype=np.float32)


def _dropout(data, seed=0, train=True, **attrs):
    parsed = DROPOUT.parse(attrs)

    @jax.jit
    def run(data):
        return DROPOUT.call([data], parsed, key=jax.random.key(seed), train=train)[0][0]

    return run(data)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_fraction_and_scale(p):
    output = np.asarray(_dropout(ones((200, 100)), p=p))
    np.testing.assert_allclose(np.unique(output), [0, 1 / (1 - p)], rtol=1e-6)
    assert abs((output == 0).mean() - p) < 0.015


def test_infinities_that_are_dropped_are_nan():
    """As in MXNet, which multiplies by 0."""
    output = np.asarray(_dropout(jnp.full((200,), jnp.inf), p=0.5))
    assert set(map(str, output.tolist())) == {"inf", "nan"}


@pytest.mark.parametrize(
    ("p", "kept"), [(2.0**-8, 996093), (0.3, 700000), (0.999, 1000), (1e-4, 999900)]
)
def test_fractions_near_the_ends(p, kept):
    output = _dropout(ones((1000, 1000)), p=p)
    assert abs((np.asarray(output) != 0).sum() - kept) < 5 * np.sqrt(1e6 * p * (1 - p))


def test_a_fraction_that_16_bits_would_miss():
    output = np.asarray(_dropout(ones((1000, 1000)), p=5e-6))
    assert 0 < (output == 0).sum() < 20


@pytest.mark.parametrize("shape", [(0, 3), (1,), (3, 5)])
def test_shapes_with_no_half_to_spare(shape):
    assert _dropout(ones(shape)).shape == shape


def test_the_two_places_of_a_word_do_not_follow_each_other():
    first, second = np.asarray(_dropout(ones(100_000)) != 0).reshape(2, -1)
    assert abs((first == second).mean() - 0.5) < 0.01


def test_gradient_has_the_same_mask():
    data = ones((20, 30))
    grad = jax.jit(jax.grad(lambda x: _dropout(x).sum()))(data)
    np.testing.assert_array_equal(grad, _dropout(data))


def test_nothing_outside_training_unless_always():
    data = jnp.arange(12.0)
    np.testing.assert_array_equal(_dropout(data, train=False), data)
    dropped = np.asarray(_dropout(data + 1, train=False, mode="always"))
    assert (dropped == 0).any()


def test_mask_is_shared_along_axes():
    output = np.asarray(_dropout(ones((40, 5, 30)), axes=(1, -1)))
    np.testing.assert_array_equal(output, np.broadcast_to(output[:, :1, :1], output.shape))
    assert len(np.unique(output[:, 0, 0])) == 2


def test_streams_follow_the_key_and_not_the_width_of_numbers():
    data = ones((30, 30))
    assert (np.asarray(_dropout(data, seed=1)) != np.asarray(_dropout(data, seed=2))).any()
    with jax.enable_x64(True):
        again = _dropout(ones((30, 30)))
    np.testing.assert_array_equal(again, _dropout(data))


def test_all_dropped():
    np.testing.assert_array_equal(_dropout(ones(5), p=1), np.full(5, np.nan))


@pytest.mark.parametrize("attrs", [{"p": -0.1}, {"p": 1.5}, {"axes": (2,)}])
def test_bad_parameters(attrs):
    with pytest.raises(ParameterError):
        _dropout(ones((2, 3)), **attrs)
