"""Losses beyond their table: head gradients, label types, shapes, auxiliary states."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from modkit.errors import NotSupportedError, ShapeError
from modkit.ops import registry
from modkit.ops.registry import get_op, op

DATA = np.random.RandomState(1).uniform(-1, 1, (4, 3)).astype(np.float32)
HEAD = np.random.RandomState(2).uniform(-1, 1, (4, 3)).astype(np.float32)
CLASSES = np.array([0, 2, 1, 1], np.float32)

LOSSES = [
    ("SoftmaxOutput", CLASSES),
    ("LinearRegressionOutput", HEAD),
    ("MAERegressionOutput", HEAD),
    ("LogisticRegressionOutput", HEAD),
    ("SVMOutput", CLASSES),
]


def _gradients(name, arrays, head, **attrs):
    """Gradients of all inputs, under the compiler as an executor has it."""
    op = get_op(name)

    def run(arrays):
        return op.call(arrays, op.parse(attrs), key=jax.random.key(0), train=True)[0][0]

    def both(arrays, head):
        return jax.vjp(run, arrays)[1](head)[0]

    return jax.jit(both)([jnp.asarray(a) for a in arrays], jnp.asarray(head))


def test_the_mean_absolute_error_falls_where_data_equals_label():
    """MXNet 1.9.1 on CPUs: minus at equal numbers and NaN."""
    data = np.array([[1, 2, 3, np.nan, np.inf, 0, -0.0]], np.float32)
    label = np.array([[1, 1, 4, 1, np.inf, 0, 0]], np.float32)
    found, _ = _gradients("MAERegressionOutput", [data, label], np.ones_like(data))
    np.testing.assert_allclose(found, np.array([[-1, 1, -1, -1, -1, -1, -1]]) / 7)


@pytest.mark.parametrize(("name", "label"), LOSSES, ids=[n for n, _ in LOSSES])
def test_head_gradient_is_ignored_and_labels_get_none(name, label):
    first, of_label = _gradients(name, [DATA, label], HEAD)
    np.testing.assert_array_equal(first, _gradients(name, [DATA, label], 0 * HEAD)[0])
    assert np.abs(first).max() > 0.01
    np.testing.assert_array_equal(of_label, np.zeros_like(label))
    assert get_op(name).gradient == "loss"


@pytest.mark.parametrize("loss", [True, lambda attrs: attrs["flag"]])
def test_users_register_losses_by_a_word(monkeypatch, loss):
    monkeypatch.setattr(registry, "OPS", {})
    flags = {"flag": True}, {"flag": False}
    op("mine", precision="float32", loss=loss)(lambda data: data)
    entry = get_op("mine")
    found = [(entry.ignores_cotangent(a), entry.has_own_gradient(a)) for a in flags]
    assert found == [(True, True), (loss is True, loss is True)]


def test_make_loss_ignores_its_head():
    np.testing.assert_array_equal(_gradients("MakeLoss", [DATA], HEAD)[0], np.ones_like(DATA))


@pytest.mark.parametrize("name", ["SoftmaxOutput", "SVMOutput", "softmax_cross_entropy"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_labels_may_be_whole_numbers(name, dtype):
    op = get_op(name)
    head = np.ones(1 if name == "softmax_cross_entropy" else (4, 3), np.float32)

    @jax.jit
    def gradient(data, head):
        labels = CLASSES.astype(dtype)
        _, pull = jax.vjp(lambda x: op.call([x, labels], op.parse({}))[0][0], data)
        return pull(head)[0]

    expected = _gradients(name, [DATA, CLASSES], head)[0]
    np.testing.assert_allclose(gradient(DATA, head), expected, rtol=1e-6)


@pytest.mark.parametrize("label", [CLASSES, np.abs(HEAD)], ids=["classes", "probabilities"])
@pytest.mark.parametrize("attrs", [{}, {"normalization": "valid", "use_ignore": True}])
def test_out_grad_multiplies_by_the_head(label, attrs):
    plain = _gradients("SoftmaxOutput", [DATA, label], HEAD, **attrs)[0]
    scaled = _gradients("SoftmaxOutput", [DATA, label], HEAD, out_grad=True, **attrs)[0]
    np.testing.assert_allclose(scaled, plain * HEAD, rtol=1e-6)


SOFTMAX_LABELS = [
    ({}, (4, 3), None, (4,)),
    ({}, (4, 3), (4,), (4,)),
    ({}, (4, 3), (4, 3), (4, 3)),
    ({}, (4, 3), (4, 1), ShapeError),
    ({}, (4, 3), (5,), ShapeError),
    ({}, (4, 3, 2), None, (4, 3)),
    ({}, (0, 3), None, (0,)),
    ({}, (0, 3), (4,), (4,)),
    ({"multi_output": True}, (4, 3), None, (4, 1)),
    ({"multi_output": True}, (4, 3, 2, 5), None, (4, 10)),
    ({"multi_output": True}, (4, 3, 2, 5), (4, 2, 5), (4, 2, 5)),
    ({"multi_output": True}, (4, 3, 2, 5), (4, 1, 2, 5), (4, 1, 2, 5)),
    ({"multi_output": True}, (4, 3, 2, 5), (4, 6), ShapeError),
    ({"preserve_shape": True}, (4, 3, 2, 5), None, (4, 3, 2)),
    ({"preserve_shape": True}, (4, 3, 2, 5), (4, 10), ShapeError),
]
REGRESSION_LABELS = [
    ({}, (4, 3), None, (4, 3)),
    ({}, (4, 1), None, (4,)),
    ({}, (4, 1), (4, 1), (4, 1)),
    ({}, (4,), None, (4,)),
    ({}, (4,), (4, 1), (4, 1)),
    ({}, (4, 1, 1), None, (4, 1, 1)),
    ({}, (4, 3), (4, 1), ShapeError),
    ({}, (4, 3), (12,), ShapeError),
    ({}, (0, 3), None, None),
]
ROWS = [("SoftmaxOutput", *row) for row in SOFTMAX_LABELS]
ROWS += [("LinearRegressionOutput", *row) for row in REGRESSION_LABELS]


@pytest.mark.parametrize(("name", "attrs", "data", "label", "expected"), ROWS)
def test_label_shapes(name, attrs, data, label, expected):
    """As the reference infers them."""
    op = get_op(name)
    attrs = op.parse(attrs)
    if expected is ShapeError:
        with pytest.raises(ShapeError, match="label"):
            op.partial([data, label], [None], attrs)
        return
    ins, outs = op.partial([data, label], [None], attrs)
    assert ins == [data, expected]
    assert outs == [data]


def test_regression_takes_a_flat_label():
    flat, column = np.float32([1, 2, 3, 4]), DATA[:, :1]
    grad = _gradients("LinearRegressionOutput", [column, flat], column)[0]
    np.testing.assert_allclose(grad, column - flat[:, None], rtol=1e-6)


def test_sparseness_penalty():
    """Figures from MXNet 1.9.1, whose average moves when the gradient is made."""
    op = get_op("IdentityAttachKLSparseReg")
    attrs = op.parse({"sparseness_target": 0.3, "penalty": 0.5, "momentum": 0.6})
    data = jnp.array([[0.2, 0.4, 0.9], [0.6, 0.1, 0.5]])
    average = jnp.array([0.5, 0.2, 0.7])
    head = jnp.array([[1, 2, 3], [-1, 0, 0.5]])

    def run(data):
        (output,), new = op.call([data, average], attrs, train=True)
        return output, new["moving_avg"]

    output, pull, moved = jax.vjp(run, data, has_aux=True)
    np.testing.assert_array_equal(output, data)
    np.testing.assert_allclose(moved, [0.46, 0.22, 0.7], rtol=1e-6)
    expected = [[1.322061, 1.7669, 3.952381], [-0.677939, -0.2331, 1.452381]]
    np.testing.assert_allclose(pull(head)[0], expected, rtol=1e-5)
    _, still = op.call([data, average], attrs, train=False)
    np.testing.assert_array_equal(still["moving_avg"], average)


def _ctc(arrays, **attrs):
    op = get_op("CTCLoss")
    return jax.jit(lambda *arrays: op.call(arrays, op.parse(attrs))[0][0])(*arrays)


def test_ctc_label_lengths_alone():
    data = np.random.RandomState(4).uniform(-1, 1, (6, 2, 5)).astype(np.float32)
    label = np.array([[1, 2, 3], [4, 1, 2]])
    got = _ctc([data, label, np.array([3, 1])], use_label_lengths=True)
    np.testing.assert_allclose(got, _ctc([data, np.array([[1, 2, 3], [4, 0, 0]])]), rtol=1e-6)


def test_ctc_without_an_alignment():
    data = jnp.asarray(np.random.RandomState(4).uniform(-1, 1, (2, 1, 5)).astype(np.float32))
    label = np.array([[1, 1]])
    value, grad = jax.jit(jax.value_and_grad(lambda d: _ctc([d, label]).sum()))(data)
    assert value == 0
    np.testing.assert_array_equal(grad, np.zeros_like(data))


@pytest.mark.parametrize("use_ignore", [False, True])
def test_labels_of_softmax_output_that_are_no_class(use_ignore):
    """MXNet 1.9.1 cuts fractions off; NaN and infinity are no class, and are not ignored."""
    label = np.array([0.9, 1.5, np.nan, np.inf], np.float32)
    got, _ = _gradients("SoftmaxOutput", [np.zeros_like(DATA), label], HEAD, use_ignore=use_ignore)
    want = np.full((4, 3), 1 / 3) - [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_softmax_activation_gradient_is_the_derivative():
    op = get_op("SoftmaxActivation")
    data = jnp.asarray(np.random.RandomState(5).uniform(-1, 1, (2, 3, 4)).astype(np.float32))
    check_grads(lambda x: op.call([x], op.parse({}))[0][0], (data,), order=1, rtol=1e-2)


def test_softmax_of_nothing_is_zeros_with_a_finite_gradient():
    op = get_op("softmax")
    lengths = jnp.array([0, 2, 9, 1])
    run = lambda x: op.call([x, lengths], op.parse({"use_length": True}))[0][0]  # noqa: E731
    np.testing.assert_array_equal(run(jnp.asarray(DATA))[0], np.zeros(3))
    grad = jax.grad(lambda x: (run(x) * HEAD).sum())(jnp.asarray(DATA))
    np.testing.assert_array_equal(grad[0], np.zeros(3))
    assert np.isfinite(grad).all()


@pytest.mark.parametrize("name", ["log_softmax", "softmin"])
def test_length_where_there_is_no_such_input(name):
    op = get_op(name)
    with pytest.raises(NotSupportedError, match="softmax\\(data, length"):
        op.call([DATA], op.parse({"use_length": True}))
