"""Update operators called eagerly: what they change in place; and those over several weights."""

import inspect
from collections.abc import Sequence

import numpy as np
import pytest

import modkit.ndarray as nd
import modkit.symbol as sym
from modkit.context import cpu
from modkit.errors import DTypeError, ParameterError, ShapeError


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


def test_whole_numbers_take_any_threshold():
    arrays = [nd.ones((2,), dtype="int64") for _ in range(4)]
    new = nd.ftrl_update(*arrays, lr=0.1, lamda1=1e30)
    assert new.asnumpy().tolist() == [0, 0]


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
        arrays += [nd.array([LRS]), nd.array(WDS)]  # of any shape
    else:
        params |= {"lrs": LRS, "wds": WDS}
    getattr(nd, name)(*arrays, out=[w for w, _ in made], **params)
    tolerance = 2e-3 if low == "float16" else 1e-5
    for i, (weight, held) in enumerate(made):
        np.testing.assert_allclose(weight.asnumpy(), weights[i], rtol=tolerance)
        assert str(weight.to_jax().dtype) == low
        for state, figures in changed.items():
            np.testing.assert_allclose(held[state].asnumpy(), figures[i], rtol=1e-3, atol=1e-5)


def test_preloaded_rates_have_any_shape():
    made = sym.preloaded_multi_sgd_update(*map(sym.Variable, "wglr"), num_weights=1)
    shapes, _, _ = made.infer_shape(w=(2, 3), l=(1, 1))
    assert shapes == [(2, 3), (2, 3), (1, 1), (1,)]


def test_as_many_of_each():
    with pytest.raises(ParameterError, match="got 2 arrays, 2 values of lr"):
        nd.multi_sgd_update(nd.ones((2,)), nd.ones((2,)), lrs=(0.1, 0.2), wds=(0, 0), num_weights=2)


W2, G2 = ([1.0, 2.0], [3.0]), ([0.5, -3.0], [4.0])
MEAN2, VAR2, MASTER2 = ([0.1, 0.2], [0.3]), ([0.3, 0.4], [0.5]), ([1.01, 2.02], [3.03])


def _two_weights(low="float32", masters=False):
    """Lists of weights, gradients, means, variances and perhaps master copies."""
    kinds = [(W2, low), (G2, low), (MEAN2, "float32"), (VAR2, "float32")]
    kinds += [(MASTER2, "float32")] * masters
    return [[nd.array(v, dtype=t) for v in values] for values, t in kinds]


def _check(arrays, figures, rtol=1e-5):
    for array, want in zip(arrays, figures, strict=True):
        np.testing.assert_allclose(array.asnumpy(), want, rtol=rtol, atol=1e-6)


# What MXNet made of these.
ADAMW_ONE = {"lr": 0.1, "eta": 0.5, "wd": 0.01, "clip_gradient": 1.0}
ADAMW_TWO = {"lrs": (0.1, 0.2), "wds": (0.01, 0.02), "etas": (0.5, 0.6)}
MOMENTS_ONE = [[0.115, 0.08], [0.2997625, 0.4006]]
MOMENTS_TWO = ([[0.115, 0.03], [0.47]], [[0.2997625, 0.40185], [0.5035]])
SKIPPED = [0.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize(
    ("scale", "weight", "moments"),
    [
        (0.5, [0.98449785, 1.98368013], MOMENTS_ONE),
        (-1.0, [0.99134821, 1.96788061], [[0.04, 0.28], [0.29995, 0.4006]]),
        (nd.array([0.5, 9.0]), [0.98449785, 1.98368013], MOMENTS_ONE),
        *[(scale, W2[0], [MEAN2[0], VAR2[0]]) for scale in SKIPPED],
    ],
    ids=str,
)
def test_adamw(scale, weight, moments):
    arrays = [each[0] for each in _two_weights()]
    new = nd.contrib.adamw_update(*arrays, scale, **ADAMW_ONE)
    _check([new, arrays[0], *arrays[2:]], [weight, W2[0], *moments])


@pytest.mark.parametrize(
    ("scale", "weight", "moments", "master"),
    [
        (0.5, [0.99462891, 2.00390625], MOMENTS_ONE, [0.99444783, 2.00358009]),
        *[(scale, [1.009766, 2.019531], [MEAN2[0], VAR2[0]], MASTER2[0]) for scale in SKIPPED],
    ],
    ids=str,
)
def test_adamw_in_16_bits(scale, weight, moments, master):
    arrays = [each[0] for each in _two_weights("float16", masters=True)]
    new = nd.contrib.mp_adamw_update(*arrays, scale, **ADAMW_ONE)
    assert new.dtype == np.float16
    _check([new, *arrays[2:]], [weight, *moments, master])


@pytest.mark.parametrize(
    ("scale", "params", "weights", "means"),
    [
        (0.5, {}, [[0.98449785, 1.98763371], [2.884516]], MOMENTS_TWO[0]),
        (
            nd.array([0.5]),
            {"clip_gradient": 1.0, "size": 2},
            [[0.98449785, 1.98368013], [2.90124035]],
            [[0.115, 0.08], [0.37]],
        ),
        (np.nan, {}, W2, MEAN2),
    ],
    ids=str,
)
def test_adamw_of_several_weights(scale, params, weights, means):
    lists = _two_weights()
    made = nd.contrib.multi_adamw_update(*lists, scale, out=lists[0], **ADAMW_TWO, **params)
    assert all(a is b for a, b in zip(made, lists[0], strict=True))
    _check([*made, *lists[2]], [*weights, *means])


def test_adamw_of_several_weights_in_16_bits():
    lists = _two_weights("float16", masters=True)
    made = nd.contrib.multi_mp_adamw_update(*lists, 0.5, **ADAMW_TWO)
    assert made[0].dtype == np.float16
    _check(made, [[0.99462891, 2.0078125], [2.9140625]])
    _check(lists[2] + lists[3], [*MOMENTS_TWO[0], *MOMENTS_TWO[1]])
    _check(lists[4], [[0.99444783, 2.00753379], [2.91415596]])


LAMB = {"step_count": (2, 3), "lrs": (0.1, 0.2), "wds": (0.01, 0.02)}


@pytest.mark.parametrize(
    ("params", "weights", "means"),
    [
        ({}, [[0.78859425, 2.07285333], [2.4]], [[0.14, -0.12], [0.67]]),
        (
            {"bias_correction": False, "clip_gradient": 1.0, "rescale_grad": 0.5},
            [[0.81383109, 1.87614059], [2.4]],
            [[0.115, 0.08], [0.37]],
        ),
        ({"lower_bound": 5.0}, [[0.52728236, 2.1629049], [2.0]], [[0.14, -0.12], [0.67]]),
        ({"upper_bound": 1.0}, [[0.90545648, 2.03258109], [2.8]], [[0.14, -0.12], [0.67]]),
    ],
    ids=str,
)
def test_lamb_of_several_weights(params, weights, means):
    lists = _two_weights()
    kinds = inspect.signature(nd.contrib.multi_lamb_update).parameters
    assert [kinds[n].annotation for n in ("step_count", "num_tensors")] == [Sequence[int], int]
    made = nd.contrib.multi_lamb_update(*lists, **LAMB, **params)
    _check([*made, *lists[2]], [*weights, *means])


def test_lamb_in_16_bits_reads_the_norm_of_the_stored_weights():
    lists = _two_weights("float16", masters=True)
    made = nd.contrib.multi_mp_lamb_update(*lists, out=lists[0], **LAMB)
    _check(made, [[0.79833984, 2.09179688], [2.4296875]])
    _check(lists[4], [[0.79837763, 2.09222174], [2.43]])


@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (2,)])
@pytest.mark.parametrize(
    ("name", "inputs", "params"),
    [
        ("sgd_mom_update", 3, {"lr": 0.1}),
        ("adam_update", 4, {"lr": 0.1}),
        ("lamb_update_phase1", 4, {"t": 1, "wd": 0}),
        ("_adamw_update", 4, {"lr": 0.1, "eta": 1.0}),
        ("_multi_adamw_update", 4, {"lrs": [0.1], "wds": [0], "etas": [1], "num_weights": 1}),
        ("multi_sgd_mom_update", 3, {"lrs": [0.1], "wds": [0], "num_weights": 1}),
    ],
)
def test_arrays_of_other_shapes_are_refused(name, inputs, params, shape):
    function = getattr(nd, name, None) or getattr(nd._internal, name)
    for at in range(1, inputs):
        arrays = [nd.ones((2, 2))] * inputs
        arrays[at] = nd.ones(shape)
        if "adamw" in name:
            arrays.append(nd.array([1.0]))
        with pytest.raises(ShapeError, match=rf"got shape \({shape[0]},.*, expected \(2, 2\)"):
            function(*arrays, **params)


def test_lists_of_one_length():
    lists = _two_weights()
    lists[2].pop()
    with pytest.raises(ParameterError, match=r"got lists of \[2, 2, 1, 2\]"):
        nd.contrib.multi_lamb_update(*lists, **LAMB)
    with pytest.raises(ParameterError, match="expected as many"):
        nd.contrib.multi_adamw_update([], [], [], [], 1.0, **ADAMW_TWO)


def test_the_scale_is_of_float32():
    arrays = [each[0] for each in _two_weights()]
    with pytest.raises(DTypeError, match="rescale_grad: got float16, expected float32"):
        nd.contrib.adamw_update(*arrays, nd.ones((1,), dtype="float16"), **ADAMW_ONE)


def test_adamw_as_a_symbol():
    names = ("w", "g", "m", "v")
    symbol = sym.contrib.adamw_update(*map(sym.Variable, names), 0.5, **ADAMW_ONE)
    values = {n: each[0] for n, each in zip(names, _two_weights(), strict=True)}
    executor = symbol.bind(
        cpu(),
        {n: values[n] for n in symbol.list_arguments()},
        aux_states={n: values[n] for n in symbol.list_auxiliary_states()},
    )
    _check(executor.forward(), [[0.98449785, 1.98368013]])


def test_adagrad_by_rows():
    """The formula by hand: MXNet has it for row-sparse gradients only."""
    weight, grad = nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([[0.5, -3.0], [1.0, 2.0]])
    history = nd.array([[0.1], [0.2]])
    params = {"lr": 0.1, "rescale_grad": 0.5, "clip_gradient": 1.0}
    new = nd.contrib.group_adagrad_update(weight, grad, history, **params)
    clipped = np.array([[0.25, -1.0], [0.5, 1.0]])
    sums = np.array([[0.1], [0.2]]) + (clipped**2).mean(1, keepdims=True)
    _check([history, new], [sums, weight.asnumpy() - 0.1 * clipped / np.sqrt(sums + 1e-5)])
    with pytest.raises(ShapeError, match=r"history: got shape \(2, 2\), expected \(2, 1\)"):
        nd.contrib.group_adagrad_update(weight, grad, weight, lr=0.1)
    with pytest.raises(ShapeError, match="expected 2 or more axes"):
        nd.contrib.group_adagrad_update(nd.ones((2,)), nd.ones((2,)), nd.ones((2,)), lr=0.1)


def test_arrays_are_reset():
    arrays = [nd.array([1.0, 2.0]), nd.array([3.0], dtype="float16")]
    assert nd.reset_arrays(*arrays, num_arrays=2) == []
    _check(arrays, [[0, 0], [0]])
    assert arrays[1].dtype == np.float16
    with pytest.raises(ParameterError, match="got 2 inputs, expected 3"):
        nd.reset_arrays(*arrays, num_arrays=3)


def test_group_adagrad_by_a_row_sparse_gradient_leaves_other_rows_alone():
    """MXNet's figures; with this epsilon a dense update of the second row is NaN."""
    weight, history = nd.ones((2, 2)), nd.ones((2, 1)) * 0.5
    grad = nd.array([[1.0, 2.0], [0.0, 0.0]]).tostype("row_sparse")
    nd.contrib.group_adagrad_update(weight, grad, history, out=weight, lr=0.1, epsilon=-1)
    _check([weight, history], [[[0.92928934, 0.85857862], [1.0, 1.0]], [[3.0], [0.5]]])
