"""Bound graphs whose sizes depend on values; the figures are those of MXNet 1.9.1."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, NotReadyError, ParameterError, ShapeError

data, mask, label = (mx.sym.Variable(n) for n in ("data", "mask", "label"))
rows = mx.sym.contrib.boolean_mask(data, mask, name="rows")
VALUES = np.arange(8, dtype=np.float32).reshape(4, 2)


def bound(symbol, request="write", **more):
    arrays = {"data": mx.nd.array(VALUES), "mask": mx.nd.array([1, 0, 1, 0]), **more}
    arrays = {n: arrays[n] for n in symbol.list_arguments()}
    return symbol.bind(mx.cpu(), arrays, {"data": mx.nd.ones((4, 2))}, grad_req=request)


@pytest.mark.parametrize(
    ("symbol", "output", "gradient"),
    [
        (rows, [[0, 1], [4, 5]], [[1, 1], [0, 0], [1, 1], [0, 0]]),
        (rows * 2, [[0, 2], [8, 10]], [[2, 2], [0, 0], [2, 2], [0, 0]]),
        (mx.sym.sum(rows * rows), [42], [[0, 2], [0, 0], [8, 10], [0, 0]]),
    ],
)
def test_outputs_and_gradients(symbol, output, gradient):
    executor = bound(symbol)
    for train in (True, False):
        (made,) = executor.forward(is_train=train)
        np.testing.assert_array_equal(made.asnumpy(), output)
        for times in (1, 2):
            executor.backward(times * mx.nd.ones(made.shape))
            np.testing.assert_array_equal(
                executor.grad_dict["data"].asnumpy(), times * np.array(gradient)
            )


def test_a_loss_needs_no_head_gradient_and_passes_have_sizes_of_their_own():
    values = [[0, 3, -4], [-1, 3, -1], [-1, 1, -2], [3, 0, 1], [2, 0, 0]]
    net = mx.sym.SoftmaxOutput(rows, mx.sym.contrib.boolean_mask(label, mask), name="softmax")
    gradient = mx.nd.zeros((5, 3))
    arrays = {
        "data": mx.nd.array(values),
        "mask": mx.nd.array([1, 0, 1, 0, 1]),
        "label": mx.nd.array([0, 1, 2, 0, 1]),
    }
    executor = net.bind(mx.cpu(), arrays, args_grad={"data": gradient})
    for chosen in ([1, 0, 1, 0, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]):
        executor.forward(is_train=True, mask=mx.nd.array(chosen))
        executor.backward()
        kept = np.flatnonzero(chosen)
        odds = np.exp(np.array(values)[kept])
        odds /= odds.sum(1, keepdims=True)
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), odds, rtol=1e-5)
        expected = np.zeros((5, 3))
        expected[kept] = odds - np.eye(3)[np.array([0, 1, 2, 0, 1])[kept]]
        np.testing.assert_allclose(gradient.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_gradients_add_up():
    executor = bound(mx.sym.contrib.boolean_mask(data * data, mask), "add")
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2, 2)))
    expected = 1 + 4 * VALUES * np.array([[1], [0], [1], [0]])
    np.testing.assert_array_equal(executor.grad_dict["data"].asnumpy(), expected)


def test_states_are_written_in_training():
    net = mx.sym.BatchNorm(rows, name="bn", momentum=0.5)
    states = {"bn_moving_mean": mx.nd.zeros((2,)), "bn_moving_var": mx.nd.ones((2,))}
    arrays = {"data": mx.nd.array(VALUES), "mask": mx.nd.array([1, 0, 1, 0])}
    arrays |= {"bn_gamma": mx.nd.ones((2,)), "bn_beta": mx.nd.zeros((2,))}
    executor = net.bind(mx.cpu(), arrays, grad_req="null", aux_states=states)
    executor.forward(is_train=False)
    assert states["bn_moving_mean"].asnumpy().tolist() == [0, 0]
    executor.forward(is_train=True)
    assert states["bn_moving_mean"].asnumpy().tolist() == [1, 1.5]


def test_eval_and_json():
    symbol = mx.sym.load_json((rows * 2).tojson())
    (made,) = symbol.eval(mx.cpu(), data=mx.nd.array(VALUES), mask=mx.nd.array([0, 1, 0, 0]))
    assert made.asnumpy().tolist() == [[4, 6]]


def test_shapes_are_not_inferred():
    with pytest.warns(UserWarning, match="does not follow"):
        assert rows.infer_shape(data=(4, 2), mask=(4,)) == (None, None, None)
    found = (rows * 2).infer_shape_partial(data=(4, 2), mask=(4,))
    assert found == ([(4, 2), (4,)], [()], [])
    assert rows.infer_type(data="float16", mask="int32")[1] == [np.float16]


def test_what_needs_the_sizes_first_is_refused():
    with pytest.raises(ShapeError, match=r"values decide the shape of 'rows', .*Symbol\.bind"):
        rows.simple_bind(mx.cpu(), data=(4, 2), mask=(4,))
    module = mx.mod.Module(mx.sym.MakeLoss(rows), ("data", "mask"), None)
    with pytest.raises(ShapeError, match=r"values decide the shape of 'rows'"):
        module.bind([("data", (4, 2)), ("mask", (4,))])
    executor = bound(rows)
    with pytest.raises(NotReadyError, match="forward"):
        executor.backward()
    executor.forward()
    with pytest.raises(ParameterError, match="'rows_output' is not a loss"):
        executor.backward()
    with pytest.raises(ShapeError, match="index: got shape"):
        bound(rows, mask=mx.nd.ones((3,))).forward()
    net = mx.sym.FullyConnected(rows, num_hidden=2)
    with pytest.raises(ShapeError, match=r"values decide the shape of 'rows'"):
        net.simple_bind(mx.cpu(), data=(4, 2), mask=(4,))


def test_outputs_have_names_after_the_first_pass_and_further_heads_are_ignored():
    executor = bound(rows)
    with pytest.raises(NotReadyError, match="output_dict needs forward"):
        executor.output_dict  # noqa: B018 - reading it raises
    executor.forward(is_train=True)
    assert list(executor.output_dict) == ["rows_output"]
    executor.backward([mx.nd.ones((2, 2)), mx.nd.ones((7, 7))])
    assert executor.grad_dict["data"].asnumpy().tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]
    assert executor.get_optimized_symbol().list_outputs() == ["rows_output"]


def test_reshape():
    executor = bound(rows)
    smaller = executor.reshape(data=(3, 2), mask=(3,))
    assert smaller.arg_dict["data"].asnumpy().tolist() == VALUES[:3].tolist()
    smaller.arg_dict["data"][:] = 9
    assert smaller.forward(is_train=True)[0].asnumpy().tolist() == [[9, 9], [9, 9]]
    smaller.backward(mx.nd.ones((2, 2)))
    assert executor.grad_dict["data"].asnumpy().tolist() == [[1, 1], [0, 0], [1, 1], [1, 1]]
    assert executor.arg_dict["data"].asnumpy().tolist() == [[9, 9], [9, 9], [9, 9], [6, 7]]
    assert executor.reshape(data=(5, 2), mask=(5,), allow_up_sizing=True).forward()
    with pytest.raises(ParameterError, match="allow_up_sizing=True"):
        executor.reshape(data=(5, 2), mask=(5,))
    with pytest.raises(ShapeError, match="do not decide the shape of 'mask'"):
        executor.reshape(data=(3, 2))


def test_a_users_operator_is_kept_with_its_node():
    class Counter(mx.operator.CustomOp):
        passes = 0

        def forward(self, is_train, req, in_data, out_data, aux):
            self.passes += 1
            self.assign(out_data[0], req[0], in_data[0] * 0 + self.passes)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * self.passes)

    @mx.operator.register("counter_of_passes")
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Counter()

    counted = mx.sym.Custom(data, op_type="counter_of_passes")
    net = mx.sym.Group([counted, mx.sym.BlockGrad(rows)])
    for _ in range(2):  # another executor has another operator
        executor = bound(net)
        for passes in (1, 2, 3):
            executor.forward(is_train=True)
            executor.backward([mx.nd.ones((4, 2)), None])
            assert executor.outputs[0].asnumpy().tolist() == [[passes] * 2] * 4
            assert executor.grad_dict["data"].asnumpy().tolist() == [[passes] * 2] * 4


X = np.arange(6, dtype=np.float32).reshape(2, 3)
BRANCHES = {
    "ranks": (lambda x: x * 2, lambda x: mx.sym.sum(x, axis=1)),
    "sizes": (lambda x: mx.sym.slice_axis(x, axis=0, begin=0, end=1), lambda x: x * 3),
}
RESULTS = {
    ("ranks", 1): ([[0, 2, 4], [6, 8, 10]], [[2, 2, 2], [2, 2, 2]]),
    ("ranks", 0): ([3, 12], [[1, 1, 1], [1, 1, 1]]),
    ("sizes", 1): ([[0, 1, 2]], [[1, 1, 1], [0, 0, 0]]),
    ("sizes", 0): ([[0, 3, 6], [9, 12, 15]], [[3, 3, 3], [3, 3, 3]]),
}


def branching(name):
    then, other = BRANCHES[name]
    x, p = mx.sym.Variable("x"), mx.sym.Variable("p")
    return mx.sym.contrib.cond(p, lambda: then(x), lambda: other(x))


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_may_have_results_of_other_shapes(name):
    symbol = branching(name)
    arrays = {"x": mx.nd.array(X), "p": mx.nd.array([1])}
    executor = symbol.bind(mx.cpu(), arrays, args_grad={"x": mx.nd.ones((2, 3))})
    for p in (1, 0):
        output, gradient = RESULTS[name, p]
        (made,) = executor.forward(is_train=True, p=mx.nd.array([p]))
        executor.backward(mx.nd.ones(made.shape))
        assert made.asnumpy().tolist() == output
        assert executor.grad_dict["x"].asnumpy().tolist() == gradient
        (made,) = (symbol + 1).eval(mx.cpu(), x=arrays["x"], p=mx.nd.array([p]))
        assert made.asnumpy().tolist() == (np.array(output) + 1).tolist()


def test_the_shape_of_such_branches_is_not_inferred():
    symbol = branching("sizes")
    with pytest.warns(UserWarning, match="does not follow"):
        assert (symbol + 1).infer_shape(x=(2, 3), p=(1,)) == (None, None, None)
    assert symbol.infer_shape_partial(x=(2, 3), p=(1,)) == ([(1,), (2, 3)], [()], [])
    with pytest.raises(ShapeError, match=r"values decide the shape of '_cond\d+'"):
        symbol.simple_bind(mx.cpu(), x=(2, 3), p=(1,))


# ── Monitors and groups ─────────────────────────────────────────────────────────────────────


def normalised(groups=None, fix_gamma=False):
    """A bound BatchNorm of rows, with its arrays on ``cpu(0)``."""
    with mx.AttrScope(ctx_group="last"):
        net = mx.sym.BatchNorm(rows, name="bn", momentum=0.5, fix_gamma=fix_gamma)
    arrays = {"bn_gamma": mx.nd.ones((2,)) * 2, "bn_beta": mx.nd.zeros((2,))}
    arrays |= {"data": mx.nd.array(VALUES), "mask": mx.nd.array([1, 0, 1, 0])}
    states = {"bn_moving_mean": mx.nd.zeros((2,)), "bn_moving_var": mx.nd.ones((2,))}
    grads = {n: mx.nd.zeros(arrays[n].shape) for n in ("data", "bn_gamma", "bn_beta")}
    return net.bind(mx.cpu(), arrays, grads, aux_states=states, group2ctx=groups)


def shown(executor, **options):
    """The calls of a monitor's callback in one training pass, as names and lists."""
    seen = []
    callback = lambda name, array: seen.append((name, (array * 1).asnumpy().tolist()))  # noqa: E731
    executor.set_monitor_callback(callback, **options)
    executor.forward(is_train=True)
    return seen


ROWS = [[0, 1], [4, 5]]


def test_a_monitor_sees_the_outputs_of_each_node():
    executor = bound(rows * 2)
    first = (b"rows_output", ROWS)
    with mx.autograd.record():  # what the callback computes is not recorded
        seen = shown(executor)
    assert [seen[0], seen[1][1], len(seen)] == [first, [[0, 2], [8, 10]], 2]
    executor.backward(mx.nd.ones((2, 2)))
    assert executor.grad_dict["data"].asnumpy().tolist() == [[2, 2], [0, 0], [2, 2], [0, 0]]
    executor.set_monitor_callback(None)
    count = len(seen)
    executor.forward()
    executor.backward(mx.nd.ones((2, 2)))
    assert len(seen) == count


def test_a_monitor_sees_the_inputs_as_the_node_read_them():
    seen = dict(shown(normalised(), monitor_all=True))
    assert seen[b"rows_data"] == seen[b"data"] == VALUES.tolist()
    assert seen[b"rows_output"] == seen[b"bn_data"] == ROWS
    assert seen[b"bn_moving_mean"] == [0, 0]
    assert list(seen)[-1] == b"bn_output"  # its mean and variance are hidden
    assert [name for name, _ in shown(bound(rows * 2), monitor_all=True)][-2:] == [
        b"_mulscalar0_input0", b"_mulscalar0_output",
    ]  # fmt: skip


def test_a_monitor_sees_the_gradients_of_each_node():
    executor = bound(mx.sym.sum(mx.sym.elemwise_mul(rows, rows, name="sq"), name="loss"))
    seen, by_rows = shown(executor), [[0, 4], [0, 0], [16, 20], [0, 0]]
    for _ in range(2):
        del seen[:]
        executor.backward(mx.nd.array([2]))
        assert seen == [
            (b"_head_grad_0_id_output", [2]),
            (b"loss_backward_output", [[2, 2], [2, 2]]),
            (b"sq_backward_output0", [[0, 2], [8, 10]]),
            (b"sq_backward_output1", [[0, 2], [8, 10]]),
            (b"sum_grad_output", [[0, 4], [16, 20]]),
            (b"rows_backward_output0", by_rows),
            (b"rows_backward_output1", [0, 0, 0, 0]),
        ]
        assert executor.grad_dict["data"].asnumpy().tolist() == by_rows


def test_a_monitor_that_raises_leaves_the_outputs():
    executor = bound(rows)

    def callback(name, array):
        raise KeyboardInterrupt

    executor.set_monitor_callback(callback)
    with pytest.raises(KeyboardInterrupt):
        executor.forward(is_train=True)
    assert executor.outputs[0].asnumpy().tolist() == ROWS
    with pytest.raises(KeyboardInterrupt):
        executor.backward(mx.nd.ones((2, 2)))
    assert executor.grad_dict["data"].asnumpy().tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]


def test_monitor_collects_them():
    executor, monitor = bound(rows), mx.mon.Monitor(1, lambda array: array.sum())
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    assert [(name, float(text)) for _, name, text in monitor.toc()] == [
        ("rows_output", 10), ("data", 28), ("mask", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("fix_gamma", [False, True])
def test_groups_are_on_their_devices(fix_gamma):
    one, two = normalised(fix_gamma=fix_gamma), normalised({"last": mx.cpu(1)}, fix_gamma)
    for executor in (one, two):
        executor.forward(is_train=True)
        executor.backward(mx.nd.array([[1, 2], [3, 4]]))
    assert (one.outputs[0].context, two.outputs[0].context) == (mx.cpu(0), mx.cpu(1))
    assert two.outputs[0]._cell.get().devices() == {mx.cpu(1).jax_device}
    for name in ("arg_dict", "grad_dict", "aux_dict"):
        for key, array in getattr(two, name).items():
            if array is not None:
                assert array.context == mx.cpu(0), key
                np.testing.assert_array_equal(
                    array.asnumpy(), getattr(one, name)[key].asnumpy(), key
                )
    assert two.aux_dict["bn_moving_mean"].asnumpy().tolist() == [1, 1.5]
    two.forward(is_train=False)
    assert two.aux_dict["bn_moving_mean"].asnumpy().tolist() == [1, 1.5]


@pytest.mark.parametrize("is_train", [False, True])
def test_a_state_on_the_device_of_a_group_is_that_of_the_graph(is_train):
    """Operators of optimizers write their states in inference, too."""
    data, mask, weight, grad = map(mx.sym.Variable, ("data", "mask", "weight", "grad"))
    with mx.AttrScope(ctx_group="g"):
        updated = mx.sym.sgd_mom_update(weight, grad, mx.sym.Variable("mom"), lr=0.1, momentum=0.9)
    net = mx.sym.Group([mx.sym.contrib.boolean_mask(data, mask), updated])
    given = {"data": mx.nd.ones((4, 3)), "mask": mx.nd.array([1, 0, 1, 1])}
    given |= {"weight": mx.nd.ones((3,)), "grad": mx.nd.ones((3,)), "mom": mx.nd.zeros((3,))}
    args = {n: given[n] for n in net.list_arguments()}
    aux = {n: given[n] for n in net.list_auxiliary_states()}
    executor = net.bind(mx.cpu(), args, None, "null", aux, group2ctx={"g": mx.cpu(1)})
    executor.forward(is_train=is_train)
    np.testing.assert_allclose(given["mom"].asnumpy(), [-0.1] * 3, rtol=1e-6)


def test_reshape_keeps_groups():
    with mx.AttrScope(ctx_group="last"):
        net = rows * 2
    arrays = {"data": mx.nd.array(VALUES), "mask": mx.nd.array([1, 0, 1, 0])}
    executor = net.bind(mx.cpu(), arrays, group2ctx={"last": mx.cpu(1)})
    assert executor.reshape(data=(3, 2), mask=(3,)).forward()[0].context == mx.cpu(1)


def test_a_group_without_a_device_is_refused():
    with pytest.raises(ParameterError, match="'last', which it has not"):
        normalised({"first": mx.cpu(1)})


# ── Bodies ──────────────────────────────────────────────────────────────────────────────────

x, m, p, s = (mx.sym.Variable(n) for n in "xmps")
kept = mx.sym.contrib.boolean_mask(x, m)


def step(row, state):
    return row * state, state + row


def steps_of(rows):
    return mx.sym.Group(list(mx.sym.contrib.foreach(step, rows, s)))


def while_of(body, start):
    outputs, last = mx.sym.contrib.while_loop(
        lambda i, v: i < 2,
        lambda i, v: (body(v), [i + 1, v * 3]),
        [mx.sym.Variable("i"), start],
        max_iterations=3,
    )
    return mx.sym.Group([outputs, *last])


NESTED = {
    "a loop in a branch": (
        mx.sym.contrib.cond(
            p,
            lambda: mx.sym.contrib.foreach(lambda row, _: (row * 2, []), x, [])[0],
            lambda: mx.sym.sum(x),
        ),
        {"p": [1]},
        [[[0, 2, 4], [6, 8, 10]]],
        [[2, 2, 2], [2, 2, 2]],
    ),
    "a mask beside a loop": (
        mx.sym.Group([kept, steps_of(x)]),
        {"m": [1, 0]},
        [[[0, 1, 2]], [[0, 1, 2], [3, 8, 15]], [4, 6, 8]],
        [[6, 7, 8], [2, 3, 4]],
    ),
    "a loop over what a mask leaves": (
        steps_of(kept),
        {"m": [1, 1]},
        [[[0, 1, 2], [3, 8, 15]], [4, 6, 8]],
        [[5, 6, 7], [2, 3, 4]],
    ),
    # In MXNet the rows behind the last step are not initialised, nor those of the gradient that a
    # mask in a branch leaves out, and a mask in a loop has a gradient of one step alone.
    "a while loop after a mask": (
        while_of(lambda v: v * 2, mx.sym.sum(kept)),
        {"m": [1, 1]},
        [[[30], [90], [0]], [2], [135]],
        [[17, 17, 17], [17, 17, 17]],
    ),
    "a mask in a while loop": (
        while_of(lambda v: mx.sym.sum(mx.sym.contrib.boolean_mask(x, m)) + v, mx.sym.sum(x)),
        {"m": [0, 1]},
        [[[27], [57], [0]], [2], [135]],
        [[13, 13, 13], [15, 15, 15]],
    ),
    "a mask in a branch": (
        mx.sym.contrib.cond(
            mx.sym.sum(m) > 0,
            lambda: mx.sym.sum(mx.sym.contrib.boolean_mask(x, m)),
            lambda: mx.sym.sum(x),
        ),
        {"m": [0, 1]},
        [[12]],
        [[0, 0, 0], [1, 1, 1]],
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_bodies(name):
    symbol, more, outputs, gradient = NESTED[name]
    arrays = {"x": X, "s": [1, 1, 1], "i": [0], **more}
    arrays = {n: mx.nd.array(arrays[n]) for n in symbol.list_arguments()}
    executor = symbol.bind(mx.cpu(), arrays, args_grad={"x": mx.nd.zeros((2, 3))})
    made = executor.forward(is_train=True)
    executor.backward([mx.nd.ones(each.shape) for each in made])
    assert [each.asnumpy().tolist() for each in made] == outputs
    assert executor.grad_dict["x"].asnumpy().tolist() == gradient


def test_a_loop_without_a_step():
    arrays = {"x": mx.nd.array(X), "m": mx.nd.zeros(2), "s": mx.nd.ones(3)}
    outputs, last = steps_of(kept).eval(mx.cpu(), **arrays)
    assert outputs.shape == (0, 3)
    assert last.asnumpy().tolist() == [1, 1, 1]
    arrays["i"] = arrays.pop("s")[:1] + 1
    outputs, _, last = while_of(lambda v: v * 2, mx.sym.sum(kept)).eval(mx.cpu(), **arrays)
    assert outputs.asnumpy().tolist() == [[0], [0], [0]]
    assert last.asnumpy().tolist() == [0]


def test_sizes_in_bodies_are_refused_where_they_are_needed_first():
    inner = NESTED["a mask in a branch"][0]
    with pytest.raises(ShapeError, match=r"values decide the shape of 'boolean_mask"):
        inner.simple_bind(mx.cpu(), x=(2, 3), m=(2,))
    nested = mx.sym.contrib.cond(
        m,
        lambda: mx.sym.sum(mx.sym.contrib.cond(p, lambda: x, lambda: mx.sym.sum(x))),
        lambda: mx.sym.sum(x),
    )
    with pytest.raises(ShapeError, match=r"values decide the shape of '_cond\d+'"):
        nested.simple_bind(mx.cpu(), x=(2, 3), m=(1,), p=(1,))
    rows_of_each, _ = mx.sym.contrib.foreach(
        lambda row, _: (mx.sym.contrib.boolean_mask(row, row), []), x, []
    )
    with pytest.raises(ShapeError, match=r"node '_foreach\d+': .*got shape \(3,\)"):
        rows_of_each.eval(mx.cpu(), x=mx.nd.array(X))


def test_loops_check_rows_and_states():
    x, z, s = (mx.sym.Variable(n) for n in ("x", "z", "s"))
    chosen = mx.sym.contrib.boolean_mask(x, mask)

    def forward(made):
        arrays = {"x": mx.nd.array(VALUES), "z": mx.nd.ones((3, 2)), "s": mx.nd.ones((2, 2)),
                  "mask": mx.nd.array([1, 0, 1, 0])}  # fmt: skip
        made.bind(mx.cpu(), {n: arrays[n] for n in made.list_arguments()}).forward()

    pairs, _ = mx.sym.contrib.foreach(lambda rows, old: (rows[0] + rows[1], old), [chosen, z], [])
    with pytest.raises(ShapeError, match=r"got \[2, 3\] rows, expected 2 in each"):
        forward(pairs)
    _, halved = mx.sym.contrib.foreach(
        lambda row, old: (row, mx.sym.cast(old, "float16")), chosen, s
    )
    with pytest.raises(DTypeError, match=r"new state 0: got float16, expected float32"):
        forward(halved)
