"""Batch normalisation whose statistics span replicas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit.ops  # noqa: F401 - registers every operator
from modkit.ops.nn.batch_norm import REPLICAS
from modkit.ops.registry import get_op

NAMES = ("data", "gamma", "beta", "moving_mean", "moving_var")


def _tensors():
    stream = np.random.RandomState(0)
    vectors = [stream.rand(3).astype("f") for _ in NAMES[1:]]
    return [jnp.asarray(a) for a in (stream.randn(6, 3, 2).astype("f") * 2 + 1, *vectors)]


def _run(name, tensors, **attrs):
    op = get_op(name)
    given = {"fix_gamma": False, **attrs}
    if name != "BatchNorm":
        given["key"] = "k"
    outputs, aux = op.call(tensors, op.parse(given), train=True)
    return outputs[0], aux


def _mapped(tensors, **attrs):
    halves = tensors[0].reshape(2, 3, 3, 2)
    return jax.vmap(
        lambda data: _run("_contrib_SyncBatchNorm", [data, *tensors[1:]], **attrs),
        axis_name=REPLICAS,
    )(halves)


def test_replicas_share_statistics():
    """Two replicas with half of the batch each are one with all of it."""
    tensors = _tensors()
    want, states = jax.jit(lambda *t: _run("BatchNorm", t))(*tensors)
    got, moved = jax.jit(lambda *t: _mapped(t, ndev=2))(*tensors)
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=1e-5, atol=1e-5)
    for name in ("moving_mean", "moving_var"):
        for each in moved[name]:
            np.testing.assert_allclose(each, states[name], rtol=1e-5)


def test_gradients_cross_replicas():
    """The gradient of the data is that of the whole batch."""
    tensors = _tensors()
    head = jnp.asarray(np.random.RandomState(1).randn(6, 3, 2).astype("f"))

    def whole(data):
        return (_run("BatchNorm", [data, *tensors[1:]])[0] * head).sum()

    def halves(data):
        return (_mapped([data, *tensors[1:]], ndev=2)[0].reshape(head.shape) * head).sum()

    want, got = (jax.jit(jax.grad(total))(tensors[0]) for total in (whole, halves))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mapped", [True, False])
def test_one_device_keeps_to_its_batch(mapped):
    """With ``ndev=1``, or where there are no replicas, it is `BatchNorm`."""

    def both(*tensors):
        if not mapped:
            alike = _run("_contrib_SyncBatchNorm", tensors, ndev=4), _run("BatchNorm", tensors)
            return [outputs for outputs, _ in alike]
        parts = [tensors[0][:3], tensors[0][3:]]
        want = jnp.stack([_run("BatchNorm", [p, *tensors[1:]])[0] for p in parts])
        return _mapped(tensors, ndev=1)[0], want

    got, want = jax.jit(both)(*_tensors())
    np.testing.assert_allclose(got, want, rtol=1e-6)
