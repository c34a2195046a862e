"""The examples that learners of the Symbol and Module API meet first, with the figures they print.

Each figure is what MXNet 1.9.1 printed when it ran this very file.
"""

import numpy as np
import pytest

import modkit as mx

SOFTMAX_OF_BIAS = [0.00378404, 0.07600445, 0.07600445, 0.07600445, 0.20660152, 0.5616011]


def _array(values):
    return mx.nd.array(np.array(values, np.float32))


def _assert_equal(array, values):
    np.testing.assert_allclose(array.asnumpy(), values, rtol=1e-6)


class TestTwiceAPlusB:
    """`d = 2*a + b`, bound by shapes."""

    def bind(self):
        a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
        d = 2 * a + b
        return d, d.simple_bind(ctx=mx.cpu(), a=(2, 2), b=(2, 2))

    def test_the_symbol_lists_what_it_needs(self):
        d, executor = self.bind()
        assert d.list_arguments() == ["a", "b"]
        assert len(d.list_outputs()) == 1
        assert d.list_auxiliary_states() == []
        assert sorted(executor.arg_dict) == ["a", "b"]
        assert sorted(executor.grad_dict) == ["a", "b"]
        assert [array.shape for array in executor.arg_arrays] == [(2, 2), (2, 2)]
        assert executor.aux_arrays == []

    def test_simple_bind_begins_at_zero(self):
        _, executor = self.bind()
        for array in executor.arg_arrays + executor.grad_arrays:
            _assert_equal(array, np.zeros((2, 2)))
        _assert_equal(executor.forward()[0], np.zeros((2, 2)))

    def test_copy_params_from_then_forward_then_backward(self):
        _, executor = self.bind()
        executor.copy_params_from({"a": _array([[1, 2], [3, 4]]), "b": _array([[5, 6], [7, 8]])})
        (out,) = executor.forward(is_train=True)
        _assert_equal(out, [[7, 10], [13, 16]])
        _assert_equal(executor.outputs[0], [[7, 10], [13, 16]])
        executor.backward(mx.nd.ones((2, 2)))
        _assert_equal(executor.grad_dict["a"], [[2, 2], [2, 2]])
        _assert_equal(executor.grad_dict["b"], [[1, 1], [1, 1]])

    def test_copy_params_from_copies(self):
        """Later writes to the source do not reach the executor."""
        _, executor = self.bind()
        source = {"a": _array([[1, 2], [3, 4]]), "b": mx.nd.zeros((2, 2))}
        executor.copy_params_from(source)
        source["a"][:] = 100
        _assert_equal(executor.forward()[0], [[2, 4], [6, 8]])

    def test_copy_params_from_refuses_an_unknown_name(self):
        _, executor = self.bind()
        with pytest.raises(ValueError, match="c"):
            executor.copy_params_from({"c": mx.nd.ones((2, 2))})
        executor.copy_params_from(
            {"a": mx.nd.ones((2, 2)), "c": mx.nd.ones((2, 2))}, allow_extra_params=True
        )
        _assert_equal(executor.arg_dict["a"], np.ones((2, 2)))

    def test_forward_takes_new_values_by_name(self):
        _, executor = self.bind()
        (out,) = executor.forward(a=mx.nd.ones((2, 2)), b=mx.nd.ones((2, 2)) * 5)
        _assert_equal(out, np.full((2, 2), 7))
        _assert_equal(executor.arg_dict["b"], np.full((2, 2), 5))


class TestUpdateLoop:
    """`val -= grad` writes into the executor's own arrays; `val = val - grad` does not."""

    def bind(self):
        x = mx.sym.Variable("x")
        loss = mx.sym.MakeLoss(mx.sym.square(x))
        executor = loss.simple_bind(ctx=mx.cpu(), x=(3,))
        executor.copy_params_from({"x": _array([1, 2, 4])})
        return executor

    def test_in_place_update_is_seen(self):
        executor = self.bind()
        for _ in range(3):
            executor.forward(is_train=True)
            executor.backward()
            for value, grad in zip(executor.arg_arrays, executor.grad_arrays, strict=True):
                value -= 0.25 * grad
        _assert_equal(executor.arg_dict["x"], [0.125, 0.25, 0.5])
        _assert_equal(executor.forward()[0], [0.015625, 0.0625, 0.25])

    def test_slice_assignment_is_seen(self):
        executor = self.bind()
        executor.forward(is_train=True)
        executor.backward()
        value, grad = executor.arg_dict["x"], executor.grad_dict["x"]
        value[:] = value - 0.25 * grad
        _assert_equal(executor.forward()[0], [0.25, 1, 4])

    def test_a_new_name_is_not_seen(self):
        executor = self.bind()
        for _ in range(3):
            executor.forward(is_train=True)
            executor.backward()
            for value, grad in zip(executor.arg_arrays, executor.grad_arrays, strict=True):
                value = value - 0.25 * grad
        _assert_equal(value, [0.5, 1, 2])
        _assert_equal(executor.arg_dict["x"], [1, 2, 4])
        _assert_equal(executor.forward()[0], [1, 4, 16])

    def test_a_network_learns_in_place(self):
        """A straight line, found by the plainest loop there is."""
        data, label = mx.sym.Variable("data"), mx.sym.Variable("label")
        line = mx.sym.FullyConnected(data, num_hidden=1, name="line")
        line = mx.sym.LinearRegressionOutput(line, label, name="fit")
        executor = line.simple_bind(ctx=mx.cpu(), data=(4, 1), label=(4, 1))
        executor.arg_dict["data"][:] = _array([[0], [1], [2], [3]])
        executor.arg_dict["label"][:] = _array([[1], [3], [5], [7]])
        weights = {"line_weight", "line_bias"}
        for _ in range(300):
            executor.forward(is_train=True)
            executor.backward()
            for name in weights:
                executor.arg_dict[name] -= 0.1 * executor.grad_dict[name]
        np.testing.assert_allclose(executor.arg_dict["line_weight"].asnumpy(), [[2]], atol=1e-3)
        np.testing.assert_allclose(executor.arg_dict["line_bias"].asnumpy(), [1], atol=1e-3)


class TestSumTimesC:
    """`(a + b) * c`, bound to arrays, with a gradient for `a` alone."""

    def bind(self, **gradients):
        a, b, c = (mx.sym.Variable(name) for name in "abc")
        args = {"a": _array([1]), "b": _array([2]), "c": _array([3])}
        return ((a + b) * c).bind(mx.cpu(), args, args_grad=gradients)

    def test_gradient_for_one_argument(self):
        grad = mx.nd.zeros((1,))
        executor = self.bind(a=grad)
        (out,) = executor.forward(is_train=True)
        _assert_equal(out, [9])
        executor.backward(mx.nd.ones((1,)))
        _assert_equal(grad, [3])
        assert executor.grad_dict["a"] is not None
        assert executor.grad_dict["b"] is None
        assert executor.grad_dict["c"] is None

    def test_gradient_for_all(self):
        grads = {name: mx.nd.zeros((1,)) for name in "abc"}
        executor = self.bind(**grads)
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((1,)))
        _assert_equal(grads["a"], [3])
        _assert_equal(grads["b"], [3])
        _assert_equal(grads["c"], [3])
        assert [grad.asscalar() for grad in executor.grad_arrays] == [3, 3, 3]

    def test_positional_arguments_and_add(self):
        a, b, c = (mx.sym.Variable(name) for name in "abc")
        symbol = (a + b) * c
        assert symbol.list_arguments() == ["a", "b", "c"]
        args = [_array([1]), _array([2]), _array([3])]
        grads = [_array([10]), None, _array([10])]
        executor = symbol.bind(
            mx.cpu(), args, args_grad=grads, grad_req={"a": "add", "b": "null", "c": "write"}
        )
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((1,)))
        _assert_equal(grads[0], [16])
        _assert_equal(grads[2], [3])

    def test_the_bound_arrays_are_the_executors(self):
        """A write to an array that was bound is seen by the next forward."""
        a, b, c = (mx.sym.Variable(name) for name in "abc")
        args = [_array([1]), _array([2]), _array([3])]
        executor = ((a + b) * c).bind(mx.cpu(), args)
        args[2][:] = 10
        _assert_equal(executor.forward()[0], [30])


class TestSoftmaxOutput:
    """A layer whose output is its bias: zero weights, six classes."""

    def bind(self, **settings):
        fc = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc")
        symbol = mx.sym.SoftmaxOutput(fc, name="softmax", **settings)
        executor = symbol.simple_bind(ctx=mx.cpu(), data=(1, 3))
        executor.copy_params_from({"fc_bias": _array([1, 4, 4, 4, 5, 6])}, None)
        return symbol, executor

    def test_arguments(self):
        symbol, executor = self.bind()
        names = ["data", "fc_weight", "fc_bias", "softmax_label"]
        assert symbol.list_arguments() == names
        assert symbol.list_outputs() == ["softmax_output"]
        shapes = [(1, 3), (6, 3), (6,), (1,)]
        assert [array.shape for array in executor.arg_arrays] == shapes

    def test_probabilities(self):
        _, executor = self.bind()
        (out,) = executor.forward()
        np.testing.assert_allclose(out.asnumpy(), [SOFTMAX_OF_BIAS], rtol=1e-5)
        assert out.asnumpy().sum() == pytest.approx(1, abs=1e-6)

    def test_gradient_is_the_distance_from_the_label(self):
        """No head gradient is given, and the label's own gradient is not asked for."""
        _, executor = self.bind()
        executor.arg_dict["data"][:] = _array([[1, 2, 0]])
        executor.forward(is_train=True, softmax_label=_array([4]))
        executor.backward()
        expected = np.array(SOFTMAX_OF_BIAS) - np.eye(6)[4]
        np.testing.assert_allclose(executor.grad_dict["fc_bias"].asnumpy(), expected, rtol=1e-5)
        np.testing.assert_allclose(
            executor.grad_dict["fc_weight"].asnumpy(), np.outer(expected, [1, 2, 0]), rtol=1e-5
        )

    def test_head_gradient_is_not_looked_at(self):
        _, executor = self.bind()
        executor.forward(is_train=True, softmax_label=_array([4]))
        executor.backward(mx.nd.ones((1, 6)) * 1000)
        expected = np.array(SOFTMAX_OF_BIAS) - np.eye(6)[4]
        np.testing.assert_allclose(executor.grad_dict["fc_bias"].asnumpy(), expected, rtol=1e-5)

    def test_grad_scale_scales_the_gradient_alone(self):
        _, executor = self.bind(grad_scale=0.5)
        (out,) = executor.forward(is_train=True, softmax_label=_array([4]))
        executor.backward()
        np.testing.assert_allclose(out.asnumpy(), [SOFTMAX_OF_BIAS], rtol=1e-5)
        expected = (np.array(SOFTMAX_OF_BIAS) - np.eye(6)[4]) / 2
        np.testing.assert_allclose(executor.grad_dict["fc_bias"].asnumpy(), expected, rtol=1e-5)


class TestBackwardOfTheOutput:
    """`c = 2*a + b`, and `backward` given the output itself: 8, 14 and 4, 7."""

    def bind(self):
        a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
        c = 2 * a + b
        self.grads = {"a": mx.nd.zeros((2,)), "b": mx.nd.zeros((2,))}
        args = {"a": _array([1, 2]), "b": _array([2, 3])}
        return c.bind(mx.cpu(), args, args_grad=self.grads)

    def test_backward_of_out(self):
        executor = self.bind()
        (out,) = executor.forward(is_train=True)
        _assert_equal(out, [4, 7])
        executor.backward(out)
        _assert_equal(self.grads["a"], [8, 14])
        _assert_equal(self.grads["b"], [4, 7])

    def test_backward_of_a_list(self):
        executor = self.bind()
        out = executor.forward(is_train=True)
        executor.backward(out)
        _assert_equal(executor.grad_arrays[0], [8, 14])
        _assert_equal(executor.grad_arrays[1], [4, 7])

    def test_backward_without_reading_the_output(self):
        """The output is taken as a head gradient before anyone has looked at it."""
        executor = self.bind()
        executor.forward(is_train=True)
        executor.backward(executor.outputs[0])
        _assert_equal(self.grads["a"], [8, 14])
        _assert_equal(executor.outputs[0], [4, 7])


class TestAnArrayThatChanges:
    """`y = x + 1`, with `x` written between two forwards."""

    def bind(self):
        x = mx.nd.ones((2, 3))
        y = mx.sym.Variable("x") + 1
        return x, y.bind(mx.cpu(), {"x": x})

    def test_each_forward_reads_the_array_as_it_is(self):
        x, executor = self.bind()
        _assert_equal(executor.forward()[0], np.full((2, 3), 2))
        x[:] = 5
        _assert_equal(executor.forward()[0], np.full((2, 3), 6))
        x += 1
        _assert_equal(executor.forward()[0], np.full((2, 3), 7))
        x[0] = 0
        _assert_equal(executor.forward()[0], [[1, 1, 1], [7, 7, 7]])

    def test_a_write_after_forward_leaves_its_output(self):
        x, executor = self.bind()
        (out,) = executor.forward()
        x[:] = 5
        _assert_equal(out, np.full((2, 3), 2))
        _assert_equal(executor.outputs[0], np.full((2, 3), 2))


class TestInference:
    """Shapes and types of everything, from the data's alone."""

    def net(self):
        net = mx.sym.Variable("data")
        net = mx.sym.FullyConnected(net, num_hidden=128, name="fc1")
        net = mx.sym.Activation(net, act_type="relu", name="relu1")
        net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
        return mx.sym.SoftmaxOutput(net, name="out")

    names = ("data", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias", "out_label")

    def test_infer_shape(self):
        net = self.net()
        args, outputs, aux = net.infer_shape(data=(100, 784))
        assert tuple(net.list_arguments()) == self.names
        assert args == [(100, 784), (128, 784), (128,), (10, 128), (10,), (100,)]
        assert outputs == [(100, 10)]
        assert aux == []

    def test_infer_shape_of_a_convolution(self):
        net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=8, name="conv")
        net = mx.sym.BatchNorm(net, name="bn")
        args, outputs, aux = net.infer_shape(data=(2, 3, 32, 32))
        names = ["data", "conv_weight", "conv_bias", "bn_gamma", "bn_beta"]
        assert net.list_arguments() == names
        assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
        assert args == [(2, 3, 32, 32), (8, 3, 3, 3), (8,), (8,), (8,)]
        assert outputs == [(2, 8, 30, 30)]
        assert aux == [(8,), (8,)]

    def test_infer_shape_partial(self):
        """An unknown batch size is 0, and everything that does not need it is known."""
        args, outputs, aux = self.net().infer_shape_partial(data=(0, 784))
        assert args == [(0, 784), (128, 784), (128,), (10, 128), (10,), (0,)]
        assert outputs == [(0, 10)]
        assert aux == []

    def test_infer_shape_partial_of_nothing(self):
        args, outputs, _ = self.net().infer_shape_partial()
        assert args == [()] * len(self.names)
        assert outputs == [()]

    def test_too_little_to_infer_from(self):
        """Nothing is known of `data`: a warning names it, and there are no shapes."""
        with pytest.warns(UserWarning, match="data"):
            assert self.net().infer_shape(fc1_weight=(128, 784)) == (None, None, None)

    @pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
    def test_infer_type(self, dtype):
        args, outputs, aux = self.net().infer_type(data=dtype)
        assert len(args) == len(self.names)
        assert {np.dtype(t) for t in args} == {np.dtype(dtype)}
        assert [np.dtype(t) for t in outputs] == [np.dtype(dtype)]
        assert aux == []

    def test_simple_bind_makes_what_was_inferred(self):
        executor = self.net().simple_bind(ctx=mx.cpu(), data=(100, 784))
        assert tuple(executor.arg_dict) == self.names
        assert executor.arg_dict["fc1_weight"].shape == (128, 784)
        assert {np.dtype(array.dtype) for array in executor.arg_arrays} == {np.dtype("float32")}
        assert executor.outputs[0].shape == (100, 10)
