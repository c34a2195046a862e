"""The rule over all parameters at once: the same as eager updates, and one program."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import runs

import modkit.ndarray as nd
from modkit import lr_scheduler
from modkit import optimizer as opt
from modkit.context import cpu
from modkit.errors import ParameterError

MX = SimpleNamespace(lr_scheduler=lr_scheduler, nd=nd, optimizer=opt)
NAMES = tuple(name for name, _ in runs.PARAMS)
STEPS = 4


def _scaled(run):
    return run[0] == "lbsgd" and run[1].get("batch_scale", 1) > 1


# Those that fold gradients of several calls have no rule, and 64-bit ones need another scope. The
# rows with clipping are enough: the others differ in numbers only.
RUNS = [
    r
    for r in runs.RUNS
    if "clip_gradient" in r[1] and not _scaled(r) and r[2].get("dtype") != "float64"
]


@pytest.mark.filterwarnings("ignore:.*got a float16 weight")
@pytest.mark.parametrize("run", RUNS, ids=runs.run_id)
def test_same_as_eager_updates(run):
    dtype, count = run[2].get("dtype", "float32"), run[2].get("count", len(NAMES))
    names = NAMES[:count]
    eager, traced = runs.make(MX, run), runs.make(MX, run)
    updater = opt.get_updater(eager)
    weights = [nd.array(w, dtype=dtype) for w in runs.start()[:count]]
    rule = traced.tree_rule(names)
    assert hash(rule) == hash(traced.tree_rule(names))
    assert rule == traced.tree_rule(names)
    step = jax.jit(rule.update)
    params = {n: w.to_jax() for n, w in zip(names, weights, strict=True)}
    state = rule.init(params)
    for number in range(STEPS):
        grads = [nd.array(g, dtype=dtype) for g in runs.gradients(number)[:count]]
        updater(list(range(count)), grads, weights)
        by_name = {n: g.to_jax() for n, g in zip(names, grads, strict=True)}
        params, state = step(by_name, state, params, traced.hyper(range(count)))
    for i, name in enumerate(names):
        np.testing.assert_allclose(params[name], weights[i].asnumpy(), rtol=2e-6, atol=2e-6)
        kept = runs.flat(updater.states[i])
        leaves = jax.tree.leaves(state[name])
        assert [a.dtype for a in leaves] == [a.dtype for a in kept]
        for leaf, array in zip(leaves, kept, strict=True):
            np.testing.assert_allclose(leaf, array, rtol=1e-5, atol=2e-6)


def test_rows_belong_to_the_names_given_whatever_jit_does_to_the_dict():
    sgd = opt.create("sgd", learning_rate=1.0, param_idx2name={0: "z", 1: "a"})
    sgd.set_lr_mult({"z": 0.5, "a": 2.0})
    params = {"z": jnp.zeros(1), "a": jnp.zeros(1)}
    grads = {"z": jnp.ones(1), "a": jnp.ones(1)}
    rule = sgd.tree_rule(("z", "a"))
    new, _ = jax.jit(rule.update)(grads, rule.init(params), params, sgd.hyper([0, 1]))
    assert (float(new["z"][0]), float(new["a"][0])) == (-0.5, -2.0)
    eager, _ = sgd.tree_rule().update(grads, rule.init(params), params, sgd.hyper([0, 1]))
    assert (float(eager["z"][0]), float(eager["a"][0])) == (-0.5, -2.0)


def test_a_new_rate_compiles_nothing(compilations):
    adam = opt.create("adam", param_idx2name={0: "w_weight"})
    updater, weight, grad = opt.get_updater(adam), nd.ones((3,)), nd.ones((3,))
    updater(0, grad, weight)

    def more():
        for rate in (0.1, 0.2, 0.3):
            adam.set_learning_rate(rate)
            adam.rescale_grad = rate
            adam.wd = rate
            adam.set_lr_mult({"w_weight": rate})
            updater(0, grad, weight)

    assert compilations.during(more) == []


def test_equal_optimizers_share_programs(compilations):
    def train():
        updater = opt.get_updater(opt.create("rmsprop", gamma1=0.83))
        updater([0, 1], [nd.ones((3,)), nd.ones((4,))], [nd.ones((3,)), nd.ones((4,))])

    train()
    assert compilations.during(train) == []


def test_an_update_of_ones_own_has_no_rule():
    class Own(opt.Adam):
        def update(self, index, weight, grad, state):
            weight[:] = weight - grad

    class OwnState(opt.Adam):
        def create_state(self, index, weight):
            return super().create_state(index, weight)

    class OnlyNames(opt.SGD):
        """Nothing that matters."""

    assert Own().tree_rule() is None
    assert OwnState().tree_rule() is None
    assert OnlyNames().tree_rule() is not None
    weights = [nd.ones((2,)), nd.ones((2,))]
    grads = [nd.ones((2,)) * 0.25] * 2
    opt.get_updater(OwnState(learning_rate=0.5))([0, 1], grads, weights)
    assert weights[1].asnumpy() == pytest.approx(0.5, abs=1e-5)
    updater = opt.get_updater(Own())
    updater(0, grads[0], weights[0])
    assert weights[0].asnumpy() == pytest.approx(0.25, abs=1e-5)


# ── What the reference cannot record ────────────────────────────────────────────────────────


def test_sgld_adds_noise_of_variance_lr():
    sgld = opt.create("sgld", learning_rate=0.01, wd=0.3, rescale_grad=2, clip_gradient=3)
    weight = nd.ones((100_000,))
    opt.get_updater(sgld)(0, nd.ones((100_000,)) * 2, weight)
    values = weight.asnumpy()
    assert values.mean() == pytest.approx(1 - 0.005 * (3 + 0.3), abs=2e-3)
    assert values.std() == pytest.approx(0.1, rel=0.02)


def test_sgld_draws_anew_for_each_parameter_and_step():
    sgld = opt.create("sgld", learning_rate=0.01)
    updater, grads = opt.get_updater(sgld), [nd.zeros((8,))] * 2
    weights = [nd.zeros((8,)), nd.zeros((8,))]
    updater([0, 1], grads, weights)
    first = [w.asnumpy() for w in weights]
    assert not np.allclose(first[0], first[1])
    updater([0, 1], grads, weights)
    assert not np.allclose(weights[0].asnumpy(), 2 * first[0])


def test_sgld_needs_a_key():
    rule = opt.create("sgld").tree_rule()
    params = {"w": jnp.ones(2)}
    with pytest.raises(ParameterError, match="key"):
        rule.update(params, rule.init(params), params, jnp.ones((1, 3)))


def test_dcasgd_with_momentum():
    made = opt.create("dcasgd", momentum=0.8, lamda=0.3, learning_rate=0.1, wd=0.2)
    updater, weight = opt.get_updater(made), nd.array([1.0, -2.0])
    w = before = np.array([1.0, -2.0])
    v = np.zeros(2)
    for step in range(5):
        g = np.array([0.5, -1.0]) * (step + 1)
        v = 0.8 * v - 0.1 * (g + 0.2 * w + 0.3 * g * g * (w - before))
        before, w = w, w + v
        updater(0, nd.array(g), weight)
    np.testing.assert_allclose(weight.asnumpy(), w, rtol=1e-5)


def test_signum_without_momentum_decays():
    made = opt.create("signum", momentum=0.0, wd_lh=0.5, learning_rate=0.1)
    weight = nd.array([1.0, -2.0])
    opt.get_updater(made)(0, nd.array([3.0, 3.0]), weight)
    np.testing.assert_allclose(weight.asnumpy(), [0.95 - 0.1, -1.9 - 0.1], rtol=1e-6)


def test_lars_corrects_every_momentum_once_a_step():
    schedule = runs.make_schedule(MX, 0.1)
    many, one = (opt.create("lars", momentum=0.9, eta=0.5, lr_scheduler=schedule) for _ in range(2))
    together, apart = opt.get_updater(many), opt.get_updater(one)
    a, b = ([nd.ones((3,)) * (i + 1) for i in range(6)] for _ in range(2))
    for step in range(4):
        grads = [nd.ones((3,)) * (step + i) for i in range(6)]
        together(list(range(6)), grads, a)
        for i in range(6):
            apart(i, grads[i], b[i])
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x.asnumpy(), y.asnumpy(), rtol=1e-6)


def test_bfloat16_gets_a_master_copy():
    adam = opt.create("adam", multi_precision=True, learning_rate=1e-4)
    updater, weight = opt.get_updater(adam), nd.ones((2,), dtype="bfloat16")
    for _ in range(3):
        updater(0, nd.ones((2,), dtype="bfloat16"), weight)
    master, _ = updater.states[0]
    assert master.asnumpy() == pytest.approx(1 - 3e-4, abs=1e-6)
    assert str(weight.to_jax().dtype) == "bfloat16"


def test_weights_on_several_devices():
    updater = opt.get_updater(opt.create("sgd", momentum=0.5, learning_rate=1.0))
    weights = [nd.ones((2,), ctx=cpu(i)) for i in range(2)]
    updater([0, 1], [nd.ones((2,), ctx=cpu(1)) for _ in range(2)], weights)
    for i, w in enumerate(weights):
        assert w.context == cpu(i)
        assert w.to_jax().devices() == {cpu(i).jax_device}
        assert w.asnumpy().tolist() == [0, 0]
