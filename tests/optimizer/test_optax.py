"""An optax transformation in the place of an optimizer, against optax itself."""

import jax
import numpy as np
import optax
import pytest

import modkit.ndarray as nd
from modkit import optimizer as opt
from modkit.errors import ParameterError, ShapeError
from modkit.lr_scheduler import FactorScheduler, PolyScheduler

NAMES = {0: "b", 1: "a"}
START = {"b": np.array([1.0, 2.0], "float32"), "a": np.ones((2, 2), "float32")}

TRANSFORMS = [
    optax.sgd(0.1, momentum=0.9),
    optax.adam(0.1),
    optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(optax.cosine_decay_schedule(0.1, 5))),
    optax.adamw(0.1, mask=lambda params: {n: n != "b" for n in params}),
    optax.lion(0.01),
    optax.inject_hyperparams(optax.sgd)(learning_rate=0.1),
]


def _gradients(step):
    rng = np.random.default_rng(step)
    return {n: rng.normal(size=w.shape).astype("float32") for n, w in START.items()}


def _by_optax(transform, steps, rescale=1.0):
    @jax.jit
    def updated(grads, state, params):
        updates, state = transform.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    params, state = START, transform.init(START)
    for step in range(steps):
        grads = {n: g * np.float32(rescale) for n, g in _gradients(step).items()}
        params, state = updated(grads, state, params)
    return params


@pytest.mark.parametrize("transform", TRANSFORMS, ids=range(len(TRANSFORMS)))
def test_same_as_optax(transform):
    made = opt.create(transform, param_idx2name=NAMES, rescale_grad=0.5)
    expected = _by_optax(transform, 4, rescale=0.5)
    updater = opt.get_updater(made)
    weights = [nd.array(START[n]) for n in NAMES.values()]
    traced = opt.create(transform, param_idx2name=NAMES, rescale_grad=0.5)
    rule = traced.tree_rule(tuple(NAMES.values()))
    params, state, step_of = dict(START), rule.init(START), jax.jit(rule.update)
    for step in range(4):
        if step == 2:  # half of it from saved states
            saved = updater.get_states(dump_optimizer=True)
            updater = opt.get_updater(opt.create(transform))
            updater.set_states(saved)
        grads = _gradients(step)
        updater(list(NAMES), [nd.array(grads[n]) for n in NAMES.values()], weights)
        params, state = step_of(grads, state, params, traced.hyper(list(NAMES)))
    for weight, name in zip(weights, NAMES.values(), strict=True):
        np.testing.assert_allclose(weight.asnumpy(), expected[name], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(params[name], expected[name], rtol=1e-5, atol=1e-6)


def test_one_at_a_time():
    updater = opt.get_updater(opt.create(optax.adam(0.1), param_idx2name=NAMES))
    weights = {n: nd.array(w) for n, w in START.items()}
    for step in range(3):
        for i, name in NAMES.items():
            updater(i, nd.array(_gradients(step)[name]), weights[name])
    for name, expected in _by_optax(optax.adam(0.1), 3).items():
        np.testing.assert_allclose(weights[name].asnumpy(), expected, rtol=1e-5)


def test_rates_and_multipliers_scale_the_steps():
    made = opt.create(
        optax.sgd(1.0), param_idx2name=NAMES, lr_scheduler=PolyScheduler(4, 0.5, pwr=1),
        learning_rate=0.5,
    )  # fmt: skip
    made.set_lr_mult({"a": 0.0, "b": 2.0})
    weights = [nd.zeros((1,)), nd.zeros((1,))]
    updater = opt.get_updater(made)
    updater([0, 1], [nd.ones((1,))] * 2, weights)
    assert [w.asscalar() for w in weights] == [-0.75, 0.0]
    rule, params = made.tree_rule(("b", "a")), {"b": np.zeros(1, "f4"), "a": np.zeros(1, "f4")}
    grads = {"b": np.ones(1, "f4"), "a": np.ones(1, "f4")}
    new, _ = jax.jit(rule.update)(grads, rule.init(params), params, made.hyper([0, 1]))
    assert (float(new["b"][0]), float(new["a"][0])) == (-0.5, 0.0)
    assert opt.create(optax.sgd(1.0)).learning_rate == 1.0


def test_what_belongs_into_the_transformation():
    with pytest.raises(ParameterError, match=r"'wd'; put it into the transformation"):
        opt.create(optax.sgd(0.1), wd=0.1)


def test_states_of_another_transformation_are_refused():
    updater = opt.get_updater(opt.create(optax.adam(0.1)))
    updater(0, nd.ones((2,)), nd.ones((2,)))
    other = opt.get_updater(opt.create(optax.sgd(0.1, momentum=0.9)))
    other.set_states(updater.get_states())
    with pytest.raises(ShapeError, match="another transformation"):
        other(0, nd.ones((2,)), nd.ones((2,)))


def test_a_saved_optimizer_needs_one_with_a_transformation():
    saved = opt.get_updater(opt.create(optax.adam(0.1))).get_states(dump_optimizer=True)
    with pytest.raises(ParameterError, match="the same transformation, got SGD"):
        opt.get_updater(opt.create("sgd")).set_states(saved)


def test_a_new_rate_compiles_nothing(compilations):
    made = opt.create(optax.rmsprop(0.1))
    updater, weight = opt.get_updater(made), nd.ones((3,))
    updater(0, nd.ones((3,)), weight)

    def more():
        for rate in (0.1, 0.2):
            made.set_learning_rate(rate)
            updater(0, nd.ones((3,)), weight)

    assert compilations.during(more) == []


def test_a_schedule_that_raises_counts_no_update():
    class Broken(PolyScheduler):
        def __call__(self, num_update):
            raise ZeroDivisionError

    made = opt.create(optax.sgd(1.0), lr_scheduler=Broken(4, 0.5))
    with pytest.raises(ZeroDivisionError):
        made.hyper([0])
    assert made.num_update == 0


@pytest.mark.parametrize(("options", "rate"), [({}, 1), ({"base_lr": 0.5}, 0.5)])
def test_a_schedule_gives_the_rate(options, rate):
    made = opt.create(optax.sgd(1.0), lr_scheduler=FactorScheduler(4, **options))
    assert made.learning_rate == rate
