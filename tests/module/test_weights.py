"""Weights of samples and classes; gradients clipped together; parameters frozen for some epochs."""

import itertools

import jax
import numpy as np
import optax
import pytest

import modkit as mx
from modkit.errors import NotSupportedError, ParameterError, ShapeError
from tests.module.networks import mlp, values

stream = np.random.RandomState(5)
X = stream.normal(size=(24, 10)).astype(np.float32)
Y = stream.randint(0, 4, 24).astype(np.float32)
W = stream.randint(0, 4, 24).astype(np.float32)


def weighted_loss():
    """The lines of docs/training.md: the gradient of each row times its weight."""
    rows = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    held = mx.sym.BlockGrad(rows)
    weight = mx.sym.expand_dims(mx.sym.Variable("sample_weight"), axis=1)
    rows = held + mx.sym.broadcast_mul(rows - held, weight)
    return mx.sym.SoftmaxOutput(rows, name="softmax")


def fit(data, symbol=None, size=24, **options):
    labels = ["softmax_label", "sample_weight"] if symbol is None else ["softmax_label"]
    module = mx.mod.Module(weighted_loss() if symbol is None else symbol, label_names=labels)
    mx.random.seed(3)
    options = {"num_epoch": 3, "optimizer_params": {"learning_rate": 0.5}, **options}
    module.fit(data, batch_size=size, shuffle=False, initializer=mx.init.Xavier(), **options)
    return module


def close(one, other):
    one, other = values(one), values(other)
    for name in one:
        np.testing.assert_allclose(one[name], other[name], rtol=2e-5, atol=1e-6)


def test_a_weight_counts_as_often_as_its_sample_does():
    repeated = (np.repeat(X, W.astype(int), 0), np.repeat(Y, W.astype(int)))
    plain = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc"), name="softmax"
    )
    rate = {"learning_rate": 0.5, "rescale_grad": 1 / 24}
    once = fit((X, Y), sample_weight=W, optimizer_params=rate)
    close(once, fit(repeated, plain, int(W.sum()), optimizer_params=rate))
    assert (
        once.score((X, Y), "acc")[0][1]
        == fit((X, Y, W)[:2], sample_weight=W).score({"data": X, "softmax_label": Y}, "acc")[0][1]
    )


def test_weights_by_class_are_weights_of_samples():
    by_class = np.where(Y == 2, 5, np.where(Y == 1, 0.5, 1))
    close(fit((X, Y), class_weight={2: 5, 1: 0.5}), fit((X, Y), sample_weight=by_class))
    both = fit((X, Y), class_weight={2: 5, 1: 0.5}, sample_weight=W, validation_split=0.25)
    close(both, fit((X, Y), sample_weight=W * by_class, validation_split=0.25))
    close(fit((X, Y)), fit({"data": X, "softmax_label": Y, "sample_weight": np.ones(24)}))


def test_weights_that_no_loss_takes_are_refused():
    with pytest.raises(NotSupportedError, match="no input 'sample_weight'"):
        fit((X, Y), mlp(), sample_weight=W)
    with pytest.raises(NotSupportedError, match="class_weight: the network"):
        fit((X, Y), mlp(), class_weight={0: 1})
    with pytest.raises(ShapeError, match="'sample_weight': 3"):
        fit((X, Y), sample_weight=W[:3])
    module = mx.mod.Module(mlp())
    with pytest.raises(ParameterError, match="sample_weight: only for arrays"):
        module.fit([(X, Y)], num_epoch=1, sample_weight=W)


@pytest.mark.parametrize("contexts", [[0], [0, 1]], ids=["one", "two"])
@pytest.mark.parametrize("count", [1, 2], ids=["", "accumulated"])
def test_gradients_are_clipped_as_by_optax(contexts, count):
    def train(*callbacks, **options):
        module = mx.mod.Module(mlp(), context=[mx.cpu(i) for i in contexts])
        mx.random.seed(3)
        module.fit(
            mx.io.NDArrayIter(X, Y, 8), num_epoch=3, initializer=mx.init.Xavier(),
            callbacks=list(callbacks), accumulate=count, **options,
        )  # fmt: skip
        return module

    clip = mx.callback.ClipGlobalNorm(0.1)
    ours = train(clip, optimizer="sgd", optimizer_params={"learning_rate": 0.5})
    theirs = train(optimizer=optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(0.5)))
    close(ours, theirs)
    loose = train(mx.callback.ClipGlobalNorm(1e3), optimizer_params={"learning_rate": 0.5})
    close(loose, train(optimizer_params={"learning_rate": 0.5}))
    moved = np.sqrt(sum(np.square(v).sum() for v in jax.tree.leaves(values(ours))))
    assert moved > 0 and ours._present_optimizer._clip_norm is None


def test_clipping_is_refused_where_it_cannot_be():
    with pytest.raises(ParameterError, match="max_norm: got 0"):
        mx.callback.ClipGlobalNorm(0)
    with pytest.raises(NotSupportedError, match=r"optax\.clip_by_global_norm"):
        fit(
            (X, Y),
            mlp(),
            optimizer=optax.sgd(0.1),
            optimizer_params=(),
            callbacks=[mx.callback.ClipGlobalNorm(1)],
        )


def test_parameters_are_frozen_from_one_epoch_until_another():
    seen = []

    class Look(mx.callback.Callback):
        def on_epoch_end(self, run):
            seen.append(values(run.module))

    freeze = mx.callback.Freeze("fc1_*", from_epoch=1, until_epoch=3)
    fit((X, Y), mlp(), size=8, num_epoch=4, callbacks=[freeze, Look()])
    moves = [
        not np.array_equal(a["fc1_weight"], b["fc1_weight"]) for a, b in itertools.pairwise(seen)
    ]
    assert moves == [False, False, True]
