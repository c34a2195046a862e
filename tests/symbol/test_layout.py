"""The layout pass: what a graph computes with channels last is what it computes without."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modkit import symbol as sym
from modkit.name import NameManager
from modkit.symbol.lower import lower

KEY = jax.random.key(0)


def _conv(data, filters, kernel=(3, 3), **attrs):
    return sym.Convolution(data, num_filter=filters, kernel=kernel, **attrs)


def _branches():
    data = sym.Variable("data")
    first = sym.Activation(_conv(data, 6, stride=(2, 2), pad=(1, 1)), act_type="relu")
    norm = sym.BatchNorm(first, fix_gamma=False)
    left = _conv(norm, 4, kernel=(1, 1))
    right = sym.Pooling(norm, kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type="max")
    both = sym.Concat(left, sym.LeakyReLU(right), dim=1)
    all_of_it = [sym.Pooling(both, global_pool=True, pool_type=kind) for kind in ("avg", "max")]
    return sym.Group([both, *all_of_it, norm])


def _residual():
    data = _conv(sym.Variable("data"), 5, pad=(1, 1))
    return (data + _conv(data, 5, kernel=(1, 1), no_bias=True)) * 2 - sym.sigmoid(data)


def _widened():
    """1x1 convolutions, strided too, with more channels going out than in, and with fewer."""
    data = _conv(sym.Variable("data"), 8, kernel=(1, 1), stride=(2, 2))
    return sym.Group([_conv(data, 2, kernel=(1, 1), no_bias=True), data])


def _strangers():
    """Operators between, that know MXNet's order of axes only."""
    data = sym.transpose(_conv(sym.Variable("data"), 4), axes=(0, 1, 3, 2))
    data = sym.LRN(_conv(data, 6, num_group=2, dilate=(2, 2)), nsize=3)
    return sym.softmax(sym.Flatten(sym.slice_axis(data, axis=1, begin=1, end=5)))


def _other_orders():
    """BatchNorm and Concat along height and width, and a product that is stretched."""
    data = _conv(sym.Variable("data"), 3)
    data = sym.Concat(sym.BatchNorm(data, axis=2), data, dim=-1)
    return sym.broadcast_mul(data, sym.mean(data, axis=(2, 3), keepdims=True))


def _shared_weight():
    weight = sym.Variable("w", shape=(3, 3, 3, 3))
    data = _conv(sym.Variable("data"), 3, weight=weight, no_bias=True, pad=(1, 1))
    return sym.Group([_conv(data, 3, weight=weight, no_bias=True), sym.sum(weight, axis=1)])


def _stretched():
    """A vector and images: the vector lies along the width, whatever the order."""
    return sym.broadcast_add(_conv(sym.Variable("data"), 3), sym.Variable("v", shape=(7,)))


def _lines_and_volumes():
    data = sym.Variable("data")
    line = sym.Convolution(sym.reshape(data, shape=(0, 0, -1)), num_filter=2, kernel=(3,))
    volume = sym.expand_dims(data, axis=1)
    return sym.Group([line, sym.Pooling(volume, kernel=(2, 2, 2))])


GRAPHS = [
    _branches,
    _residual,
    _widened,
    _strangers,
    _other_orders,
    _shared_weight,
    _stretched,
    _lines_and_volumes,
]


def _made(graph):
    with NameManager():
        symbol = graph()
    arguments, _, states = symbol.infer_shape(data=(2, 3, 9, 9))
    shapes = dict(zip(symbol.list_arguments(), arguments, strict=True))
    wrt = tuple(shapes)
    shapes |= dict(zip(symbol.list_auxiliary_states(), states, strict=True))
    stream = np.random.RandomState(3)
    values = {n: jnp.asarray(stream.rand(*s), jnp.float32) for n, s in shapes.items()}
    return lower(symbol), values, wrt


def _everything(lowered, values, wrt, channels_last, train):
    """Outputs, changed states, and gradients of all arguments under heads of many sizes."""

    def forward(some):
        return lowered.run({**values, **some}, KEY, train, channels_last=channels_last)[:2]

    chosen = {n: values[n] for n in wrt}
    outputs, pull, changed = jax.vjp(forward, chosen, has_aux=True)
    heads = [jnp.cos(jnp.arange(y.size, dtype=y.dtype)).reshape(y.shape) for y in outputs]
    return outputs, changed, pull(heads)[0]


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("graph", GRAPHS)
def test_nobody_sees_the_order(graph, train):
    lowered, values, wrt = _made(graph)
    want = jax.jit(lambda v: _everything(lowered, v, wrt, False, train))(values)
    got = jax.jit(lambda v: _everything(lowered, v, wrt, True, train))(values)
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)


def _operations(text, name):
    return [line for line in text.splitlines() if f"stablehlo.{name}" in line]


def test_images_stay_as_they_are_between_layers():
    lowered, values, _ = _made(_branches)

    def forward(values):
        return lowered.run(values, KEY, True, channels_last=True)[0][1]

    text = jax.jit(forward).lower(values).as_text()
    convolutions = _operations(text, "convolution")
    assert convolutions
    assert all("[b, 0, 1, f]" in line for line in convolutions)
    # The data and the two weights on their way in, the means on their way out.
    assert len(_operations(text, "transpose")) <= 4


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling_of_all_moves_no_image(kind):
    """Alone it runs in the order of its data; turning them took three times as long as it."""
    pooled = sym.Pooling(sym.Variable("data"), global_pool=True, pool_type=kind, name="pool")
    lowered, values = lower(pooled), {"data": jnp.ones((2, 3, 9, 9))}
    run = jax.jit(lambda v: lowered.run(v, KEY, True, channels_last=True)[0])
    assert not _operations(run.lower(values).as_text(), "transpose")


def test_the_1x1_convolution_is_a_product():
    lowered, values, _ = _made(_residual)
    run = jax.jit(lambda v: lowered.run(v, KEY, True, channels_last=True)[0])
    assert len(_operations(run.lower(values).as_text(), "dot_general")) == 1


def test_without_the_flag_the_order_is_the_users():
    lowered, values, _ = _made(_branches)
    text = jax.jit(lambda v: lowered.run(v, KEY, True)[0]).lower(values).as_text()
    assert not _operations(text, "transpose")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_products_of_16_bits(dtype):
    """1x1 convolutions in 16 bits: values and gradients, of the arrays' own type."""
    lowered, values, wrt = _made(_widened)
    narrow = {n: v.astype(dtype) for n, v in values.items()}
    want = jax.jit(lambda v: _everything(lowered, v, wrt, False, True))(narrow)
    got = jax.jit(lambda v: _everything(lowered, v, wrt, True, True))(narrow)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert a.dtype == b.dtype == dtype
        a, b = (x.astype(jnp.float32) for x in (a, b))
        assert jnp.linalg.norm(a - b) < 0.02 * jnp.linalg.norm(b)
