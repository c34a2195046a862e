"""Two-bit compression against figures of MXNet 1.9.1, and its one invariant."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modkit as mx
import modkit.kvstore as kv
import modkit.ndarray as nd
from modkit.context import cpu
from modkit.errors import DTypeError, NotSupportedError, ParameterError
from modkit.kvstore.compression import Compressor, TwoBit
from tests.module.networks import assert_same, batches, mlp

A, B, C = [0.2, 0.6, -0.7, -0.3], [0.5, -0.5, 1.2, 0.1], [3.0, -3.0, 0.0, 0.49]

# What the values of one push are, and what is pulled after each of four equal pushes.
FIGURES = [
    ([A], [[0, .5, -.5, 0], [0, .5, -.5, -.5], [.5, .5, -.5, 0], [0, .5, -.5, -.5]]),
    ([A, A], [[0, 1, -1, 0], [0, 1, -1, -1], [1, 1, -1, 0], [0, 1, -1, -1]]),
    ([A, B], [[.5, 0, 0, 0], [.5, 0, 0, -.5], [1, 0, 0, 0], [.5, 0, 0, -.5]]),
    ([A, B, C], [[1, -.5, 0, 0], [1, -.5, 0, 0], [1.5, -.5, 0, .5], [1, -.5, 0, 0]]),
]  # fmt: skip


def _store(threshold=0.5):
    made = kv.create("device")
    made.set_gradient_compression({"type": "2bit", "threshold": threshold})
    made.init("a", nd.zeros((4,)))
    return made


@pytest.mark.parametrize(("values", "sums"), FIGURES, ids=range(len(FIGURES)))
def test_same_sums_as_the_reference(values, sums):
    made, out = _store(), nd.zeros((4,))
    for expected in sums:
        made.push("a", [nd.array(v, ctx=cpu(i)) for i, v in enumerate(values)])
        made.pull("a", out=out)
        np.testing.assert_allclose(out.asnumpy(), expected, atol=1e-6)


def test_none_switches_it_off():
    made, out = _store(), nd.zeros((4,))
    made.set_gradient_compression({"type": "none"})
    made.push("a", nd.array(A))
    made.pull("a", out=out)
    np.testing.assert_allclose(out.asnumpy(), A)
    kv.create("local").set_gradient_compression({"type": "none"})


@settings(deadline=None)
@given(
    grads=st.lists(st.lists(st.integers(-64, 64), min_size=3, max_size=3), min_size=1, max_size=6),
    threshold=st.sampled_from([0.25, 0.5, 2.0]),
)
def test_nothing_is_lost(grads, threshold):
    """Results and residuals add up to the gradients."""
    rule, residual, came = TwoBit(threshold), jnp.zeros(3), np.zeros(3)
    for grad in grads:
        out, residual = rule(jnp.array(grad, jnp.float32) / 16, residual)
        assert set(np.abs(out).tolist()) <= {0.0, threshold}
        came += np.asarray(out)
    np.testing.assert_allclose(came + residual, np.sum(grads, 0) / 16, atol=1e-5)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"type": "1bit"}, "type: got '1bit'"),
        ({"threshold": 0.5}, "type: got None"),
        ({"type": "2bit", "threshold": 0}, "threshold: got 0"),
        ({"type": "2bit", "threshold": -1}, "threshold: got -1"),
        ({"type": "2bit", "threshold": "a"}, "threshold: got 'a'"),
        ({"type": "2bit", "x": 0}, "no parameter 'x'"),
        ("2bit", "expected a dict"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ParameterError, match=words):
        kv.create("device").set_gradient_compression(params)


def test_where_it_does_not_exist():
    with pytest.raises(NotSupportedError, match="'device'"):
        kv.create("local").set_gradient_compression({"type": "2bit"})
    made = kv.create("device")
    made.set_gradient_compression({"type": "2bit"})
    made.init("a", nd.zeros((2,), dtype="float16"))
    with pytest.raises(DTypeError, match="float32"):
        made.push("a", nd.ones((2,), dtype="float16"))


def test_an_update_that_raises_keeps_the_residuals():
    class Late(mx.lr_scheduler.LRScheduler):
        ready = False

        def __call__(self, count):
            if not self.ready:
                raise RuntimeError("not yet")
            return 0.1

    def trained(*, raises):
        (batch,), schedule = batches(1), Late()
        schedule.ready = not raises
        params = {"type": "2bit", "threshold": 0.01}
        module = mx.mod.Module(mlp(), context=[cpu(0), cpu(1)], compression_params=params)
        module.bind([("data", (8, 10))], [("softmax_label", (8,))])
        module.init_params(mx.init.One())
        module.init_optimizer("device", optimizer_params={"lr_scheduler": schedule})
        for _ in range(2):
            module.forward_backward(batch)
            if not schedule.ready:
                with pytest.raises(RuntimeError, match="not yet"):
                    module.update()
                schedule.ready = True
            module.update()
        kept = module._kvstore._compressor._residuals
        return {str(key): value for key, value in kept.items()}

    assert_same(trained(raises=True), trained(raises=False))


def test_an_updater_that_raises_keeps_the_residuals_of_what_it_has_not_updated():
    made, raises = _store(), ["y"]

    def update(key, total, stored):
        if key.decode() in raises:
            raise RuntimeError("not yet")
        stored._set(stored + total)

    keys, out = ["x", "y", "z"], [nd.zeros((1,)) for _ in range(3)]
    made.init(keys, out)
    made.set_updater(update)
    with pytest.raises(RuntimeError, match="not yet"):
        made.push(keys, [nd.ones((1,)) * 0.8] * 3)  # of which 0.3 is left
    raises.clear()
    made.push(keys, [nd.ones((1,)) * 0.2] * 3)
    made.pull(keys, out)
    assert [each.asscalar() for each in out] == [1, 0, 0]


def test_gradients_that_overflow_are_quantised_without_a_warning():
    rule, large = Compressor(TwoBit(0.5)), np.float32([3e38, -np.inf])
    assert rule("a", 0, large).tolist() == rule("a", 0, large).tolist() == [0.5, -0.5]


def test_large_gradients_on_the_host_go_to_the_device_once(monkeypatch):
    made, came = _store(), []
    made.init("x", nd.zeros((1 << 17,)))
    monkeypatch.setattr(Compressor, "__call__", lambda self, k, i, grad: came.append(grad) or grad)
    made.push("x", nd.array(np.ones(1 << 17)))
    assert isinstance(came[0], jax.Array)


@pytest.mark.parametrize("size", [3, 1 << 17])
def test_arrays_on_the_host_are_quantised_as_those_on_the_device(size):
    rule, rng = Compressor(TwoBit(0.5)), np.random.default_rng(0)
    device = Compressor(TwoBit(0.5))
    for _ in range(4):
        grad = rng.normal(size=size).astype(np.float32)
        made = rule("a", 0, grad)
        assert isinstance(made, np.ndarray) == (size == 3)
        np.testing.assert_array_equal(made, device("a", 0, jnp.asarray(grad)))
