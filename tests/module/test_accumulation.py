"""``fit(accumulate=K)`` learns as one batch of K times the size does."""

import numpy as np
import pytest

import modkit as mx
from modkit.callback import ResumeError
from modkit.errors import ParameterError
from tests.module.networks import mlp, values

stream = np.random.RandomState(5)
X = stream.normal(size=(48, 10)).astype(np.float32)
Y = stream.randint(0, 4, 48).astype(np.float32)


def fit(size, module=None, count=48, **options):
    mx.random.seed(3)
    module = module or mx.mod.Module(mlp())
    options = {"optimizer": "adam", "optimizer_params": {"learning_rate": 0.05}, **options}
    data = mx.io.NDArrayIter(X[:count], Y[:count], size)
    module.fit(data, num_epoch=3, initializer=mx.init.Xavier(), **options)
    return values(module)


def assert_equal(got, want):
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("contexts", [[0], [0, 0], [0, 1]], ids=["one", "replicas", "devices"])
def test_k_batches_learn_as_one_large_one(contexts, optimizer):
    module = mx.mod.Module(mlp(), context=[mx.cpu(i) for i in contexts])
    updates = []
    options = {"optimizer": optimizer, "steps_per_call": 2}
    options["epoch_end_callback"] = lambda *_: updates.append(module._present_optimizer.num_update)
    assert_equal(fit(8, module, accumulate=2, **options), fit(16, optimizer=optimizer))
    assert updates == [3, 6, 9]


def test_what_is_left_at_the_end_of_an_epoch_is_an_update():
    counts = []
    module = mx.mod.Module(mlp())
    count = lambda p: counts.append(module._present_optimizer.num_update)  # noqa: E731
    fit(8, module, count=40, accumulate=2, batch_end_callback=count)
    assert module._present_optimizer.num_update == 9  # 2 + 2 + 1 batches, three times


def test_a_training_after_another_binding_updates_once_a_batch():
    module = mx.mod.Module(mlp())
    fit(8, module, accumulate=2)
    module.bind([("data", (8, 10))], [("softmax_label", (8,))], force_rebind=True)
    before = module._present_optimizer.num_update
    fit(8, module)
    assert module._present_optimizer.num_update - before == 3 * 6


def test_a_second_training_adds_to_no_old_gradients():
    one, other = mx.mod.Module(mlp()), mx.mod.Module(mlp())
    fit(8, one, accumulate=2)
    fit(16, other)
    assert_equal(fit(8, one, accumulate=2), fit(16, other))


def test_a_stopped_group_of_batches_is_dropped():
    class Stop(mx.callback.Callback):
        def on_batch_end(self, run):
            if run.batch == 1:
                run.stop_training()

    one, other = mx.mod.Module(mlp()), mx.mod.Module(mlp())
    fit(8, one, accumulate=2)
    fit(8, one, accumulate=2, callbacks=Stop())
    fit(8, other, accumulate=2)
    assert_equal(fit(8, one, accumulate=2), fit(8, other, accumulate=2))


def test_another_count_scales_gradients_anew():
    module = mx.mod.Module(mlp())
    for count in (4, 2, 1):
        fit(8, module, accumulate=count)
        assert module._optimizer.rescale_grad == 1 / (8 * count)


def test_buckets_add_up():
    def network(key):
        return mlp(), ["data"], ["softmax_label"]

    def train(size, **options):
        batches = [
            mx.io.DataBatch(
                [mx.nd.array(X[i : i + size])], [mx.nd.array(Y[i : i + size])], pad=0,
                bucket_key=i % 3, provide_data=[("data", (size, 10))],
                provide_label=[("softmax_label", (size,))],
            )
            for i in range(0, 48, size)
        ]  # fmt: skip
        module = mx.mod.BucketingModule(network, default_bucket_key=0)
        mx.random.seed(3)
        rate = {"learning_rate": 0.5}
        module.fit(batches, num_epoch=2, optimizer_params=rate, initializer=mx.init.Xavier(),
                   **options)  # fmt: skip
        return values(module)

    assert_equal(train(8, accumulate=3), train(24))


def test_what_cannot_add_up_is_refused():
    module = mx.mod.Module(mlp())
    fit(8, module)
    with pytest.raises(ParameterError, match=r"bound with grad_req='write'.*force_rebind"):
        fit(8, module, accumulate=2)
    fit(8, module, accumulate=2, force_rebind=True)
    with pytest.raises(ParameterError, match="accumulate: got 0"):
        fit(8, accumulate=0)


def test_a_scale_of_ones_own_stays():
    module = mx.mod.Module(mlp())
    fit(8, module, accumulate=2, optimizer_params={"rescale_grad": 0.25})
    assert module._present_optimizer.rescale_grad == 0.25


def test_an_optimizer_made_before_fit_is_scaled_too():
    def train(size, **options):
        module = mx.mod.Module(mlp())
        mx.random.seed(3)
        data = mx.io.NDArrayIter(X, Y, size)
        module.bind(data.provide_data, data.provide_label, grad_req="add" if options else "write")
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer_params={"learning_rate": 0.5})
        return fit(size, module, **options)

    assert_equal(train(8, accumulate=2), train(16))


def test_averages_and_rates_go_by_updates():
    parts = lambda: [mx.callback.EMA(0.8)]  # noqa: E731
    assert_equal(fit(8, accumulate=2, callbacks=parts()), fit(16, callbacks=parts()))
    few, large = mx.callback.LRFinder(batches=3), mx.callback.LRFinder(batches=3)
    fit(8, accumulate=2, callbacks=few, eval_metric="ce")
    fit(16, callbacks=large, eval_metric="ce")
    np.testing.assert_allclose(few.rates, large.rates)
    np.testing.assert_allclose(few.losses, large.losses, rtol=1e-5)


def test_a_checkpoint_of_another_count_is_refused(tmp_path):
    fit(8, accumulate=2, callbacks=mx.callback.Checkpoint(tmp_path))
    with pytest.raises(ResumeError, match="accumulate: the checkpoint has 2, this training 4"):
        fit(8, accumulate=4, resume=tmp_path)


def bound():
    module = mx.mod.Module(mlp())
    data = mx.io.NDArrayIter(X, Y, 8)
    module.bind(data.provide_data, data.provide_label, grad_req="add")
    module.init_params(mx.init.Xavier())
    return module


def test_a_scale_that_its_user_sets_later_stays():
    module = bound()
    module.init_optimizer()
    module._present_optimizer.rescale_grad = 1.0
    fit(8, module, accumulate=2)
    assert module._present_optimizer.rescale_grad == 1.0


def test_a_loaded_optimizer_is_scaled_anew():
    module, other = mx.mod.Module(mlp()), bound()
    fit(8, module, accumulate=2)
    other.init_optimizer(optimizer="adam")
    other._present_updater.set_states(module._present_updater.get_states(dump_optimizer=True))
    assert other._present_optimizer.rescale_grad == 1 / 16
    fit(8, other)
    assert other._present_optimizer.rescale_grad == 1 / 8
