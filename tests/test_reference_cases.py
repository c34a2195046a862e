"""Behaviour beside MXNet 1.9.1, one row a case: heads, shapes, indices and attributes."""

import base64
import pickle

import numpy as np
import pytest

import modkit as mx
from modkit.compat import install, uninstall
from tools import compare_programs

X, Y = mx.sym.Variable("x"), mx.sym.Variable("y")
WRONG = mx.nd.ones((7,))


def gradient(net, head, forward=True, **shapes):
    """The gradient of ``x`` where every argument is 0.5."""
    bound = net.simple_bind(mx.cpu(), **shapes)
    for value in bound.arg_dict.values():
        value[:] = 0.5
    if forward:
        bound.forward(is_train=True)
    bound.backward(head)
    return bound.grad_dict["x"].asnumpy()


THIRD = np.array([[-2, 1, 1], [-2, 1, 1]], np.float32) / 3

IGNORED = [
    # net, shapes, the gradient that a head of another shape does not change
    (mx.sym.SoftmaxOutput(X, Y), {"x": (2, 3), "y": (2,)}, THIRD),
    (mx.sym.LinearRegressionOutput(X, Y), {"x": (2, 3), "y": (2, 3)}, 0),
    (mx.sym.LogisticRegressionOutput(X, Y), {"x": (2, 3), "y": (2, 3)}, 0.04082),
    (mx.sym.MakeLoss(X * 2), {"x": (2, 3)}, 2),
    (mx.sym.SVMOutput(X, Y), {"x": (2, 3), "y": (2,)}, [[-1, 3, 3], [-1, 3, 3]]),
    (mx.sym.BlockGrad(X), {"x": (2, 3)}, 0),
    (mx.sym.shape_array(X), {"x": (2, 3)}, 0),
    (mx.sym.size_array(X), {"x": (2, 3)}, 0),
    (mx.sym.topk(X, k=2), {"x": (2, 3)}, 0),
]


@pytest.mark.parametrize(("net", "shapes", "want"), IGNORED, ids=lambda v: str(v)[:30])
def test_losses_ignore_heads_of_another_shape(net, shapes, want):
    np.testing.assert_allclose(gradient(net, WRONG, **shapes), np.broadcast_to(want, (2, 3)),
                               atol=1e-4)  # fmt: skip


@pytest.mark.parametrize(
    "net", [X * 2, mx.sym.SoftmaxOutput(X, Y, out_grad=True), mx.sym.topk(X, k=2, ret_typ="value")]
)
def test_other_heads_must_fit(net):
    shapes = {"x": (2, 3), "y": (2,)} if "y" in net.list_arguments() else {"x": (2, 3)}
    with pytest.raises(mx.MXNetError, match=r"got shape \(7,\)"):
        gradient(net, WRONG, **shapes)


def test_indices_need_no_head():
    assert not gradient(mx.sym.topk(X, k=2, ret_typ="mask"), None, x=(2, 3)).any()
    with pytest.raises(mx.MXNetError, match="needs its gradient"):
        gradient(mx.sym.topk(X, k=2, ret_typ="value"), None, x=(2, 3))


def test_backward_without_forward():
    assert (gradient(X * Y, mx.nd.ones((2,)), forward=False, x=(2,), y=(2,)) == 0.5).all()
    with pytest.raises(mx.MXNetError, match="needs forward"):
        gradient(mx.sym.BatchNorm(X), mx.nd.ones((2, 3)), forward=False, x=(2, 3))


def test_simple_bind_ignores_other_keywords():
    bound = (X * 2).simple_bind(mx.cpu(), x=(2,), other=(3,), another=3)
    assert list(bound.arg_dict) == ["x"]


@pytest.mark.parametrize(
    ("net", "requests", "want"),
    [  # gradients come into the array in the order of list_arguments()
        (X * 3 + Y * 5, "write write", 5),
        (Y * 5 + X * 3, "write write", 3),
        (X * 3 + Y * 5, "write add", 8),
        (Y * 5 + X * 3, "write add", 3),
        (X * 3 + Y * 5, "add write", 5),
        (Y * 5 + X * 3, "add write", 8),
        (X * 3 + Y * 5, "add add", 9),
        (X * 3 + Y * 5, "null add", 6),
    ],
)
def test_one_array_for_the_gradients_of_two_arguments(net, requests, want):
    args, total = {"x": mx.nd.ones((2,)), "y": mx.nd.ones((2,))}, mx.nd.ones((2,))
    grad_req = dict(zip("xy", requests.split(), strict=True))
    bound = net.bind(mx.cpu(), args, {"x": total, "y": total}, grad_req)
    bound.forward(is_train=True)
    bound.backward(mx.nd.ones((2,)))
    assert (total.asnumpy() == want).all()


@pytest.mark.parametrize("size", [0, -1])
def test_shapes_of_constants_are_inferred(size):
    net = mx.sym.elemwise_add(X, mx.sym.ones((size, size)))
    assert net.infer_shape(x=(2, 3))[1] == [(2, 3)]


OUTSIDE = [mx.nd.array([0, 5]), [0, 5], np.array([0, -5]), (slice(0, 1), [4])]


@pytest.mark.parametrize("key", OUTSIDE, ids=str)
def test_indices_outside_are_refused(key):
    with pytest.raises(IndexError, match="is outside axis"):
        _ = mx.nd.ones((3, 4))[key]


def test_masks_and_lists_inside_are_taken():
    a = mx.nd.array(np.arange(12).reshape(3, 4))
    assert a[[0, -3], [3, -4]].asnumpy().tolist() == [3, 0]
    assert a[np.array([True, False, True])].shape == (2, 4)


def test_buckets_begin_their_names_again():
    def generate(key):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    shapes = [("data", (2, 3))], [("softmax_label", (2,))]
    module = mx.mod.BucketingModule(generate, default_bucket_key=3)
    module.bind(*shapes)
    module.init_params()
    module.switch_bucket(4, *shapes)
    assert set(module.get_params()[0]) == {"fullyconnected0_bias", "fullyconnected0_weight"}


def test_update_counts_begin_where_they_are_set():
    adam = mx.optimizer.Adam(learning_rate=0.1)
    adam.begin_num_update = adam.num_update = 10
    weight = mx.nd.ones(2)
    adam.update(0, weight, mx.nd.ones(2), adam.create_state(0, weight))
    np.testing.assert_allclose(weight.asnumpy(), 0.9518, atol=1e-4)
    assert adam.num_update == 11


def test_scopes_are_assigned():
    before = mx.AttrScope.current
    mx.AttrScope.current = mx.AttrScope(group="a")
    try:
        assert mx.sym.Variable("v").attr("group") == "a"
        assert mx.AttrScope._current.value is mx.AttrScope.current
    finally:
        mx.AttrScope.current = before
    names, mx.name.NameManager.current = mx.name.NameManager.current, mx.name.Prefix("p_")
    try:
        assert mx.sym.relu(X).name == "p_relu0"
    finally:
        mx.name.NameManager.current = names


def test_dlpack_of_an_array_shares_its_value():
    a = mx.nd.ones((2,))
    b = mx.nd.from_dlpack(a.to_dlpack_for_write())
    b += 1
    assert a.asnumpy().tolist() == [2, 2]


def test_from_numpy_makes_its_argument_read_only():
    a = np.ones((4, 4), np.float32)
    with pytest.raises(ValueError, match="C-contiguous"):
        mx.nd.from_numpy(a.T[::2])
    assert mx.nd.from_numpy(a.T[::2], zero_copy=False).shape == (2, 4)
    assert mx.nd.from_numpy(a).shape == (4, 4) and not a.flags.writeable


def test_feedforward_leaves_extra_parameters_out():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    given = {"fc_weight": mx.nd.ones((2, 3)), "other": mx.nd.ones((2,))}
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    with pytest.warns(DeprecationWarning):
        made = mx.model.FeedForward(net, arg_params=given, allow_extra_params=True)
        strict = mx.model.FeedForward(net, arg_params=given, num_epoch=1)
    assert list(made.arg_params) == ["fc_weight"]
    with pytest.raises(ValueError, match="other"):
        strict.predict(np.ones((4, 3)))


def test_monitors_of_executor_groups():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.One())
    monitor = mx.mon.Monitor(1, pattern="fc_output")
    module._exec_group.install_monitor(monitor)
    monitor.tic()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]), is_train=True)
    assert [name for _, name, _ in monitor.toc()] == ["fc_output"]


def test_feedforward_takes_iterables():
    class Batches:
        batch_size, provide_data, provide_label = 4, [("data", (4, 3))], [("score", (4,))]

        def __iter__(self):
            for i in range(3):
                yield mx.io.DataBatch([mx.nd.ones((4, 3)) * i], [mx.nd.ones((4,))], pad=0)

        def reset(self):
            pass

    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.Variable("score"))
    for options in ({}, {"epoch_size": 5}):
        with pytest.warns(DeprecationWarning):
            made = mx.model.FeedForward(net, num_epoch=2, learning_rate=0.01, **options)
        seen = []
        made.fit(Batches(), eval_data=Batches(), eval_metric="mse", batch_end_callback=seen.append)
        assert len(seen) == 2 * options.get("epoch_size", 3)
    assert made.predict(Batches()).shape == (12, 1)


PICKLED = (
    "gAJ9cQAoWAEAAAB3cQFjbXhuZXQubmRhcnJheS5uZGFycmF5Ck5EQXJyYXkKcQJOhXEDUnEEfXEFWAYAAABoYW5kbGVxBm"
    "NfX2J1aWx0aW5fXwpieXRlYXJyYXkKcQdjX2NvZGVjcwplbmNvZGUKcQhYPgAAAMOJw7rCk8O5AAAAAAIAAAACAAAAAAAA"
    "AAIAAAAAAAAAAQAAAAAAAAAAAAAAAADCgD8AAABAAABAQAAAwoBAcQlYBgAAAGxhdGluMXEKhnELUnEMhXENUnEOc2JYAQ"
    "AAAGlxD2gCaANScRB9cRFoBmgHaAhYKAAAAMOJw7rCk8O5AAAAAAEAAAABAAAAAAAAAAEAAAAAAAAABAAAAAUAAABxEmgK"
    "hnETUnEUhXEVUnEWc2J1Lg=="
)
"""A dictionary of two arrays as MXNet 1.9.1 pickles it, by protocol 2."""


def test_pickles_of_mxnet_are_read():
    install()
    try:
        made = pickle.loads(base64.b64decode(PICKLED))
    finally:
        uninstall()
    assert made["w"].asnumpy().tolist() == [[1, 2], [3, 4]]
    assert made["i"].dtype == np.int32 and made["i"].asnumpy().tolist() == [5]
    again = pickle.loads(pickle.dumps(made["w"]))
    assert again.asnumpy().tolist() == [[1, 2], [3, 4]]
    with pytest.raises(mx.MXNetError, match="pickle"):
        mx.nd.ones((1,)).__setstate__({"handle": b"\x01\x02"})
    state, other = made["i"].__getstate__(), mx.nd.NDArray.__new__(mx.nd.NDArray)
    assert list(state) == ["handle"] and type(state["handle"]) is bytearray
    other.__setstate__(state)
    assert other.dtype == np.int32 and other.asnumpy().tolist() == [5]


def test_subclasses_of_sgd_override_its_implementation():
    calls = []

    class Halved(mx.optimizer.SGD):
        def _update_impl(self, indices, weights, grads, states, multi_precision=False):
            calls.append((type(indices), multi_precision))
            super()._update_impl(indices, weights, [g / 2 for g in grads], states, multi_precision)

    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    module = mx.mod.Module(mx.sym.MakeLoss(net), label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer=Halved(learning_rate=1.0, rescale_grad=0.5))
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    module.update()
    assert module.get_params()[0]["fc_weight"].asnumpy().tolist() == [[0.5, 0.5, 0.5]]
    assert calls == [(tuple, False)]


@pytest.mark.parametrize("shape", [mx.nd.ones((2, 3)), np.ones((2, 3)), mx.nd.array([2, 3])])
def test_an_array_is_no_shape(shape):
    module = mx.mod.Module(mx.sym.FullyConnected(X, num_hidden=2), ["x"], None)
    with pytest.raises(TypeError, match="expected the shape itself"):
        module.bind([("x", shape)])


def test_rows_of_several_keys_are_pulled():
    store = mx.kv.create("local")
    store.init("a", mx.nd.ones((4, 2)))
    outs = [mx.nd.sparse.zeros("row_sparse", (4, 2)) for _ in range(2)]
    rows = [[mx.nd.array([1]), mx.nd.array([0])], [mx.nd.array([2]), mx.nd.array([2])]]
    store.row_sparse_pull(["a", "a"], out=[outs, outs], row_ids=rows)
    assert outs[0].asnumpy().tolist() == [[0, 0], [0, 0], [1, 1], [0, 0]]


def test_names_in_monitors():
    """MXNet 1.9.1; no gradients of nodes that no differentiated argument reaches."""
    net = mx.sym.Pooling(mx.sym.relu(X, name="act") + 1, global_pool=True, name="pool")
    net = mx.sym.FullyConnected(net, name="fc", num_hidden=1)
    bound = net.simple_bind(mx.cpu(), x=(1, 1, 2, 2), grad_req={"fc_weight": "write"})
    seen = []
    bound.set_monitor_callback(lambda name, value: seen.append(name.decode()), monitor_all=True)
    bound.forward(is_train=True)
    bound.backward(mx.nd.ones((1, 1)))
    plus = net.get_internals().list_outputs()[2].removesuffix("_output")
    assert seen == [
        "x", "act_input0", "act_output", f"{plus}_input0", f"{plus}_output",
        "pool_data", "pool_output", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias",
        "fc_output", "_head_grad_0_id_output",
        "fc_backward_output0", "fc_backward_output1", "fc_backward_output2",
    ]  # fmt: skip


def loss_behind_a_reshape():
    loss = mx.sym.reshape(mx.sym.SoftmaxOutput(X * 2, Y), shape=(1, 2, 3))
    return mx.sym.Group([loss, mx.sym.BlockGrad(X + 1) * 2])


def test_heads_are_needed_where_a_gradient_flows_through_them():
    shapes = {"x": (2, 3), "y": (2,)}
    np.testing.assert_allclose(
        gradient(loss_behind_a_reshape(), None, **shapes), 2 * np.broadcast_to(THIRD, (2, 3)), 1e-5
    )
    both = mx.sym.Group([loss_behind_a_reshape(), mx.sym.reshape(X, shape=(-1,))])
    with pytest.raises(mx.MXNetError, match=r"'reshape.*' is not a loss"):
        gradient(both, None, **shapes)
    bound = both.simple_bind(mx.cpu(), grad_req={"x": "null", "y": "write"}, **shapes)
    bound.grad_dict["y"][:] = 1  # which the gradient overwrites with zeros
    bound.forward(is_train=True)
    bound.backward()
    assert not bound.grad_dict["y"].asnumpy().any()


def cast(net, *dtypes):
    for dtype in dtypes:
        net = mx.sym.Cast(net, dtype=dtype)
    return net


CASTS = [
    # net, the gradients at 0.6, 1.7 and 2.9 for cotangents 1.5, 3 and 4.5
    (cast(X * 2, "int32", "float32") * 3, [8, 18, 26]),
    (cast(X, "uint8", "float32"), [1, 3, 4]),
    (cast(X, "int64", "float32") * 2.5, [3, 7, 11]),
    (cast(X, "int32", "int8", "float32"), [1, 3, 4]),
    (cast(X, "float16", "float32"), [1.5, 3, 4.5]),
    (cast(mx.sym.round(X), "int32", "float32"), [0, 0, 0]),
]


@pytest.mark.parametrize(("net", "want"), CASTS)
def test_gradients_go_through_a_cast_to_whole_numbers_and_back(net, want):
    bound = net.simple_bind(mx.cpu(), x=(3,))
    bound.arg_dict["x"][:] = np.array([0.6, 1.7, 2.9])
    bound.forward(is_train=True)
    bound.backward(mx.nd.array([1.5, 3, 4.5]))
    np.testing.assert_array_equal(bound.grad_dict["x"].asnumpy(), want)


def test_casts_through_other_types_are_not_merged_into_one_loop():
    ends = ["uint8" if i % 2 else "int32" for i in range(12)]
    net = mx.sym.concat(*(mx.sym.tanh(cast(X, end, "float32") / 9) for end in ends), dim=0)
    bound = net.simple_bind(mx.cpu(), x=(1,))
    bound.arg_dict["x"][:] = 256.5
    got = bound.forward()[0].asnumpy()
    np.testing.assert_allclose(got, np.tanh([0 if i % 2 else 256 / 9 for i in range(12)]))


def test_a_comparison_of_programs_says_how_many_lines_it_has():
    class Kind:
        ENDS = ()

    refused = "error", ["ValueError"], "ValueError", "no"
    lines = ["a = 1", "with a: pass", "a"]
    assert compare_programs.first_difference(lines, [1, 2, 3], [1, 2, 3], Kind) == (3, None)
    values = [1, refused, 3]
    assert compare_programs.first_difference(lines, values, [1, refused, 4], Kind) == (2, None)
    assert compare_programs.first_difference(lines, values, [1, ("crash", 1)], Kind) == (1, None)
    assert compare_programs.first_difference(lines, [1, 2, 3], [2, 2, 3], Kind)[0] == 0
