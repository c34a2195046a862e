"""SVRGModule against MXNet 1.9.1's figures."""

import numpy as np
import pytest

import modkit as mx
from modkit.contrib.svrg_optimization import SVRGModule

X = np.random.RandomState(0).rand(96, 3).astype(np.float32)
Y = (X @ [1, -2, 3] + 1).astype(np.float32)
SGD = {"optimizer": "sgd", "optimizer_params": {"learning_rate": 0.1}}


def made(update_freq, rows=96, context=None):
    data = mx.io.NDArrayIter(X[:rows], Y[:rows], batch_size=8, label_name="lr_label")
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.Variable("lr_label"))
    module = SVRGModule(net, label_names=["lr_label"], context=context, update_freq=update_freq)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.One())
    return module, data


def weight(module):
    return module.get_params()[0]["fc_weight"].asnumpy()[0]


def test_one_update():
    module, data = made(2)
    module.init_optimizer(**SGD)
    module.update_full_grads(data)
    want = [-2.63066, -0.19099, -4.05473]
    np.testing.assert_allclose(module._param_dict[0]["fc_weight"].asnumpy()[0], want, atol=1e-4)
    data.reset()
    module.forward_backward(data.next())
    module.update()
    np.testing.assert_allclose(weight(module), [1.03288, 1.00239, 1.05068], atol=1e-5)
    module.forward_backward(data.next())
    module.update()
    np.testing.assert_allclose(weight(module), [1.05948, 1.00066, 1.09597], atol=1e-5)


def test_two_contexts_train_as_one():
    weights = []
    for contexts in ([mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]):
        module, data = made(1, 16, contexts)
        module.fit(data, num_epoch=2, eval_metric="mse", **SGD)
        weights.append(weight(module))
    np.testing.assert_allclose(*weights, rtol=1e-5)
    shares = [each["fc_weight"].asnumpy() for each in module._param_dict]
    np.testing.assert_array_equal(*shares)  # MXNet 1.9.1: of the sum over the contexts


@pytest.mark.parametrize("optimizer", ["adam", mx.optimizer.Adam(learning_rate=0.1)])
def test_the_optimizer_is_inside_of_that_of_svrg(optimizer):
    module, _ = made(2)
    module.init_optimizer(optimizer=optimizer, optimizer_params={"learning_rate": 0.1})
    outer = module._optimizer
    assert type(outer).__name__ == "_SVRGOptimizer"
    assert isinstance(outer.default_opt, mx.optimizer.Adam) and outer.default_opt.lr == 0.1


def test_an_optimizer_that_stays_is_compared_with_what_is_given(caplog):
    module, _ = made(2)
    for name in ("sgd", "sgd", "adam"):
        module.init_optimizer(optimizer=name, optimizer_params={"learning_rate": 0.1})
    same, other = caplog.messages
    assert same == "optimizer already initialized, ignoring..."
    assert "default_optimizer='adam' has no effect; 'sgd' stays." in other
    with pytest.raises(ValueError, match=r"no parameter 'optimiser'\. Did you mean 'optimizer'"):
        module.init_optimizer(optimiser="sgd")


@pytest.mark.parametrize(
    ("update_freq", "epochs", "rows", "want"),
    [
        (1, 1, 16, [1.0624, 1.00189, 1.09591]),
        (2, 2, 8, [1.02275, 0.99056, 1.09596]),
        (2, 2, 16, [1.10467, 0.98479, 1.1693]),
    ],
)
def test_fit(update_freq, epochs, rows, want):
    module, data = made(update_freq, rows)
    module.fit(data, num_epoch=epochs, eval_metric="mse", **SGD)
    np.testing.assert_allclose(weight(module), want, atol=1e-5)


@pytest.mark.parametrize("bad", [0, None, 1.5, True])
def test_update_freq_is_checked(bad):
    with pytest.raises(ValueError, match="update_freq"):
        SVRGModule(mx.sym.Variable("data"), label_names=None, update_freq=bad)


def test_full_gradients_that_are_interrupted_leave_those_from_before():
    module, data = made(1, 16)
    module.init_optimizer(**SGD)
    module.update_full_grads(data)
    kept = weight(module._mod_aux), module._param_dict[0]["fc_weight"].asnumpy()[0]
    data.reset()
    module.forward_backward(data.next())
    module.update()

    class Broken(mx.io.NDArrayIter):
        def next(self):
            if self.cursor:
                raise KeyError("a file is gone")
            return super().next()

    broken = Broken(X, Y, batch_size=8, label_name="lr_label")
    with pytest.raises(KeyError, match="gone"):
        module.update_full_grads(broken)
    now = weight(module._mod_aux), module._param_dict[0]["fc_weight"].asnumpy()[0]
    np.testing.assert_array_equal(now, kept)
    assert not np.array_equal(weight(module), kept[0])


@pytest.mark.parametrize("first", [True, False])
def test_interrupted_where_they_are_kept_they_leave_those_from_before(first, monkeypatch):
    module, data = made(1, 16)
    module.init_optimizer(**SGD)
    if not first:
        module.update_full_grads(data)
    before = [{n: g.asnumpy().tolist() for n, g in each.items()} for each in module._param_dict]
    old = None if first else weight(module._mod_aux)
    data.reset()
    module.forward_backward(data.next())
    module.update()
    accumulate = module._accumulate_kvstore

    def interrupted(key, value):
        if key == "fc_bias":
            raise KeyboardInterrupt
        accumulate(key, value)

    monkeypatch.setattr(module, "_accumulate_kvstore", interrupted)
    with pytest.raises(KeyboardInterrupt):
        module.update_full_grads(data)
    now = [{n: g.asnumpy().tolist() for n, g in each.items()} for each in module._param_dict]
    assert now == before
    assert first or np.array_equal(weight(module._mod_aux), old)
    data.reset()
    module.forward_backward(data.next())
    module.update()
