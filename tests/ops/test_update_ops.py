"""Update operators called eagerly: what they change in place; and those over several weights."""

import numpy as np
import pytest

import modkit.ndarray as nd
from modkit.errors import ParameterError


def test_states_change_in_place_and_the_weight_where_out_says_so():
    weight, mom = nd.array([1.0, 2.0]), nd.array([0.5, 0.5])
    new = nd.sgd_mom_update(weight, nd.ones((2,)), mom, lr=0.1, momentum=0.9)
    np.testing.assert_allclose(new.asnumpy(), [1.35, 2.35], rtol=1e-6)
    np.testing.assert_allclose(mom.asnumpy(), [0.35, 0.35], rtol=1e-6)
    assert weight.asnumpy().tolist() == [1, 2]
    made = nd.sgd_mom_update(weight, nd.ones((2,)), mom, out=weight, lr=0.1, momentum=0.9)
    assert made is weight
    np.testing.assert_allclose(weight.asnumpy(), [1.215, 2.215], rtol=1e-6)


def test_a_state_can_be_a_view():
    states = nd.zeros((2, 2))
    nd.adam_update(nd.ones((2,)), nd.ones((2,)), states[0], states[1], lr=0.1)
    np.testing.assert_allclose(states.asnumpy(), [[0.1, 0.1], [0.001, 0.001]], rtol=1e-4)


def test_a_new_rate_compiles_nothing(compilations):
    weight = nd.ones((2,))

    def step(rate):
        nd.sgd_update(weight, weight, out=weight, lr=rate, wd=rate)
        nd.multi_sgd_update(weight, weight, out=[weight], lrs=(rate,), wds=(rate,))

    step(0.5)
    assert compilations.during(lambda: [step(r) for r in (0.1, 0.2)]) == []


def test_the_rate_is_required():
    with pytest.raises(ParameterError, match="'lr' is missing"):
        nd.sgd_update(nd.ones((2,)), nd.ones((2,)))


def test_mixed_precision_lamb_updates_the_copy():
    weight, master = nd.array([1, 2], dtype="float16"), nd.array([1.5, 2.5])
    norms = nd.array([5.0]), nd.array([2.0])
    new = nd.mp_lamb_update_phase2(weight, nd.ones((2,)), *norms, master, lr=0.1)
    assert (new.dtype, new.asnumpy().tolist()) == (np.float16, [1.25, 2.25])
    assert master.asnumpy().tolist() == [1.25, 2.25]


W, G, M = (
    ([1.0, -2.0], [0.3, 0.4, -0.5]),
    ([0.5, -0.1], [2.0, -3.0, 0.2]),
    ([0.1, 0.2], [-0.3, 0.4, 0.5]),
)
LRS, WDS = (0.1, 0.2), (0.01, 0.02)
COMMON = {"num_weights": 2, "rescale_grad": 0.5, "clip_gradient": 0.6}
PLAIN = [[0.974, -1.993], [0.1788, 0.5184, -0.518]]
WITH_MOM = [[1.064, -1.813], [-0.0912, 0.8784, -0.068]]
MOMENTA = [[0.064, 0.187], [-0.3912, 0.4784, 0.432]]

# What MXNet made of these.
MULTI = [
    ("sgd", (), PLAIN, {}),
    ("sgd_mom", ("mom",), WITH_MOM, {"mom": MOMENTA}),
    ("mp_sgd", ("weight32",), PLAIN, {"weight32": PLAIN}),
    ("mp_sgd_mom", ("mom", "weight32"), WITH_MOM, {"mom": MOMENTA, "weight32": WITH_MOM}),
]


@pytest.mark.parametrize("preloaded", [False, True])
@pytest.mark.parametrize(("kind", "states", "weights", "changed"), MULTI)
def test_several_weights(kind, states, weights, changed, preloaded):
    low = "float16" if kind.startswith("mp") else "float32"
    made, arrays = [], []
    for i in range(2):
        held = {s: nd.array(M[i] if s == "mom" else W[i]) for s in states}
        made.append((nd.array(W[i], dtype=low), held))
        arrays += [made[i][0], nd.array(G[i], dtype=low), *held.values()]
    params = {**COMMON, "momentum": 0.9} if "mom" in states else dict(COMMON)
    name = f"multi_{kind}_update"
    if preloaded:
        name = f"preloaded_{name}"
        arrays += [nd.array(LRS), nd.array(WDS)]
    else:
        params |= {"lrs": LRS, "wds": WDS}
    getattr(nd, name)(*arrays, out=[w for w, _ in made], **params)
    tolerance = 2e-3 if low == "float16" else 1e-5
    for i, (weight, held) in enumerate(made):
        np.testing.assert_allclose(weight.asnumpy(), weights[i], rtol=tolerance)
        assert str(weight.data.dtype) == low
        for state, figures in changed.items():
            np.testing.assert_allclose(held[state].asnumpy(), figures[i], rtol=1e-3, atol=1e-5)


def test_as_many_of_each():
    with pytest.raises(ParameterError, match="got 2 arrays, 2 rates"):
        nd.multi_sgd_update(nd.ones((2,)), nd.ones((2,)), lrs=(0.1, 0.2), wds=(0, 0), num_weights=2)
