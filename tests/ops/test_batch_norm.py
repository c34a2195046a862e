"""The rounding error of the gradient of batch normalisation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.ops.registry import get_op

AXES, EPS = (0, 2, 3), 1e-5


def _gradients(data, head):
    """Of data, gamma and beta, where gamma is 1 and beta 0."""
    op = get_op("BatchNorm")
    attrs = op.parse({"fix_gamma": False, "eps": EPS})
    zeros, ones = jnp.zeros(data.shape[1]), jnp.ones(data.shape[1])

    def normalised(data, gamma, beta):
        return op.call([data, gamma, beta, zeros, ones], attrs, train=True)[0][0]

    return jax.jit(lambda *tensors: jax.vjp(normalised, *tensors)[1](head))(data, ones, zeros)


def _exactly(data, head):
    """The same by Ioffe and Szegedy, 2015, section 3, in float64."""
    data, head = np.float64(data), np.float64(head)
    mean, var = data.mean(AXES, keepdims=True), data.var(AXES, keepdims=True)
    inverse = 1 / np.sqrt(var + EPS)
    normal = (data - mean) * inverse
    along = (head * normal).mean(AXES, keepdims=True)
    data_grad = (head - head.mean(AXES, keepdims=True) - normal * along) * inverse
    return data_grad, (head * normal).sum(AXES), head.sum(AXES)


@pytest.mark.parametrize(
    ("mean", "head_mean", "off"),
    [(0, 0, 1e-6), (0, 1, 1e-6), (10, 0, 1e-5), (10, 1, 2e-4), (1000, 0, 1e-3)],
)
def test_rounding_of_the_gradient_grows_with_the_mean_only(mean, head_mean, off):
    stream = np.random.default_rng(0)
    data = stream.standard_normal((16, 5, 28, 28), np.float32) + np.float32(mean)
    head = stream.standard_normal(data.shape, np.float32) + np.float32(head_mean)
    off *= 1 if jax.__version_info__ > (0, 10, 0) else 20  # its sums on CPUs have one accumulator
    for got, want in zip(_gradients(data, head), _exactly(data, head), strict=True):
        assert np.abs(got - want).max() < off * np.abs(want).max()


@pytest.mark.parametrize("name", ["BatchNorm", "BatchNorm_v1", "SyncBatchNorm"])
@pytest.mark.parametrize(("fixed", "kept"), [(True, [1, 1, 1]), (False, [2, 3, 4])])
def test_an_eager_call_writes_1_into_a_fixed_gamma(name, fixed, kept):
    """As MXNet 1.9.1 does, in training and outside."""
    gamma, zeros = mx.nd.array([2, 3, 4]), mx.nd.zeros(3)
    function = getattr(mx.nd, name, None) or getattr(mx.nd.contrib, name)
    function(mx.nd.ones((2, 3, 2, 2)), gamma, zeros, zeros, mx.nd.ones(3), fix_gamma=fixed)
    assert gamma.asnumpy().tolist() == kept


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_elements_without_eps_are_beta(dtype):
    """Figures of MXNet 1.9.1."""
    data = mx.nd.array([[1, 3], [2, 3]], dtype=dtype)
    gamma, beta = mx.nd.ones(2, dtype=dtype), mx.nd.full(2, 0.9, dtype=dtype)
    mean, var = mx.nd.full(2, 3, dtype=dtype), mx.nd.zeros(2, dtype=dtype)
    for variable in (data, gamma, beta):
        variable.attach_grad()
    with mx.autograd.record():
        made, _, inverse = mx.nd.BatchNorm(
            data, gamma, beta, mean, var, eps=0, fix_gamma=False, output_mean_var=True
        )
    made.backward(mx.nd.array([[1, 2], [3, 4]], dtype=dtype))
    np.testing.assert_allclose(made.asnumpy(), [[-0.1, 0.9], [1.9, 0.9]], rtol=1e-6)
    np.testing.assert_allclose(inverse.asnumpy(), [2, 0], rtol=1e-6)
    np.testing.assert_allclose(data.grad.asnumpy(), np.zeros((2, 2)), atol=1e-6)
    np.testing.assert_allclose(gamma.grad.asnumpy(), [2, 0], rtol=1e-6)
    np.testing.assert_allclose(beta.grad.asnumpy(), [4, 6], rtol=1e-6)
    mean, var = mx.nd.full(2, 3, dtype=dtype), mx.nd.zeros(2, dtype=dtype)
    made = mx.nd.BatchNorm(data, gamma, beta, mean, var, eps=0)  # in prediction they divide by 0
    assert np.isnan(made.asnumpy()[:, 1]).all()
