"""Several small arrays as one, and back."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.metric import traced
from modkit.metric.packed import Packed, pack, unpack
from modkit.metric.statistics import Classes, Mean
from modkit.metric.traced import LabelError


def on_host(value):
    return jax.tree.map(np.asarray, value)


@pytest.mark.parametrize(
    "tree",
    [
        Mean(np.float32(-0.0), np.int32(7), np.int32(-(2**31))),
        Mean(np.float32(np.nan), np.int32(0), np.uint32(2**32 - 1)),
        Classes(np.arange(5, dtype="i"), np.full(5, 1e-45, "f")),
        (np.zeros((0, 3), "f"), np.ones((2, 3), "i")),
    ],
)
def test_every_bit_comes_back(tree):
    packed = jax.jit(pack)(tree)
    assert len(jax.tree.leaves(packed)) == 1
    (back,) = unpack([on_host(packed)])
    assert type(back) is type(tree)
    for got, wanted in zip(back, tree, strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("tree", [(np.float32(1),), (np.float16(1), np.float32(2)), ()])
def test_what_one_array_cannot_hold_stays_as_it_is(tree):
    packed = jax.jit(pack)(tree)
    assert not isinstance(packed, Packed)
    assert jax.tree.leaves(packed) == list(tree)


def test_values_of_several_kinds_keep_their_order():
    means = [Mean(jnp.float32(i), jnp.int32(i), jnp.int32(0)) for i in range(4)]
    values = [pack(means[0]), pack(means[1]), 5, pack(Classes(jnp.arange(2), jnp.arange(2)))]
    first, second, third, fourth, last = unpack(on_host([*values, pack(means[3])]))
    assert (first.total, second.count, third, last.total) == (0, 1, 5, 3)
    assert fourth.pred.tolist() == [0, 1]


def test_replicas_have_a_row_each():
    packed = jax.jit(jax.vmap(lambda x: pack(Mean(x, jnp.int32(3), jnp.int32(0)))))(
        jnp.arange(2, dtype=jnp.float32)
    )
    rows = [Packed(packed.layout, (words,)) for words in np.asarray(packed.words)]
    assert [(m.total, m.count) for m in unpack(rows)] == [(0, 3), (1, 3)]


def test_updates_behind_a_wrong_label_are_kept():
    metric = mx.metric.create("ce")
    good = mx.nd.array([[0.5, 0.5]] * 4).to_jax()
    for label in (0, 7, 1, 0):
        metric.update([mx.nd.array([label] * 4)], [good])
    with pytest.raises(LabelError):
        metric.get()
    assert metric.num_inst == 12


def test_updates_of_an_accelerator_share_transfers(monkeypatch):
    """Of as many as `CHUNK` that are alike, one; where one differs, each has its own."""
    monkeypatch.setattr(traced, "_readable_in_place", lambda value: False)
    monkeypatch.setattr(traced, "CHUNK", 3)
    fetched, get = [], jax.device_get
    monkeypatch.setattr(jax, "device_get", lambda tree: fetched.append(tree) or get(tree))

    def update(i, dtype="int32"):
        return (Mean(jnp.float32(i), jnp.asarray(2, dtype), jnp.int32(0)),), False

    updates = [update(i) for i in range(7)]
    got = traced._fetched(updates)
    assert [float(mean.total) for (mean,) in got] == list(range(7))
    assert [len(jax.tree.leaves(tree)) for tree in fetched] == [3, 3, 3]
    fetched.clear()
    got = traced._fetched([*updates[:3], update(3, "int16"), *updates[4:6], (5, False)])
    assert [float(each[0].total) for each in got[:-1]] == list(range(6))
    assert got[-1] == 5
    assert [len(jax.tree.leaves(tree)) for tree in fetched] == [3, 3 * 3 + 1]
