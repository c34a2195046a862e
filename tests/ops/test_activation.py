"""Activations beyond their table: derivatives that are wrong in the reference, random slopes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from modkit.errors import DTypeError
from modkit.ops.registry import get_op

LEAKY = get_op("LeakyReLU")
KEY = jax.random.key(3)


def _leaky(data, train=False, **attrs):
    return LEAKY.call([data], LEAKY.parse(attrs), key=KEY, train=train)[0]


def test_selu_gradient_is_the_derivative():
    data = jnp.array([-3.0, -1.0, -0.1, 0.2, 2.0])
    check_grads(lambda x: _leaky(x, act_type="selu")[0], (data,), order=1, rtol=1e-2)


def test_elu_gradient_stays_finite_far_out():
    grad = jax.grad(lambda x: _leaky(x, act_type="elu")[0].sum())(jnp.array([1e4, -1e4]))
    np.testing.assert_array_equal(grad, [1, 0])


def test_random_slopes_in_training():
    data = -jnp.ones((50, 40))
    attrs = {"act_type": "rrelu", "lower_bound": 0.2, "upper_bound": 0.6}
    output, slopes = _leaky(data, train=True, **attrs)
    np.testing.assert_array_equal(output, -slopes)
    assert slopes.min() >= 0.2
    assert slopes.max() < 0.6
    assert abs(slopes.mean() - 0.4) < 0.02
    assert len(np.unique(slopes)) > 1900
    grad = jax.grad(lambda x: _leaky(x, train=True, **attrs)[0].sum())(data)
    np.testing.assert_array_equal(grad, slopes)


def test_mean_slope_otherwise():
    output, slopes = _leaky(-jnp.ones(3), act_type="rrelu", lower_bound=0.2, upper_bound=0.6)
    np.testing.assert_allclose(output, [-0.4] * 3, rtol=1e-6)
    np.testing.assert_allclose(slopes, [0.4] * 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("data", "gamma", "expected"),
    [((2, 3, 4), None, (3,)), ((2, 3), (1,), (1,)), (None, (5,), (5,)), ((2, 0), None, None)],
)
def test_shape_of_gamma(data, gamma, expected):
    attrs = LEAKY.parse({"act_type": "prelu"})
    ins, outs = LEAKY.partial([data, gamma], [None], attrs)
    assert ins == [data, expected]
    assert outs == [data]


@pytest.mark.parametrize("name", ["Activation", "LeakyReLU", "softmax", "Dropout"])
def test_whole_numbers_are_refused(name):
    op = get_op(name)
    attrs = op.parse({"act_type": "relu"} if name == "Activation" else {})
    with pytest.raises(DTypeError, match=name):
        op.call([jnp.ones(3, jnp.int32)], attrs, key=KEY)
