"""group2ctx: what a group's variables and outputs are on."""

import jax

import modkit as mx


def test_arrays_are_on_the_context_of_their_group():
    with mx.AttrScope(ctx_group="one"):
        first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="a")
    with mx.AttrScope(ctx_group="two"):
        net = mx.sym.BatchNorm(mx.sym.FullyConnected(first, num_hidden=3, name="b"), name="bn")
    count = len(jax.local_devices(backend="cpu"))  # cpu(count) is the first device again
    groups = {"one": mx.cpu(count), "two": mx.cpu(2 * count)}
    executor = net.simple_bind(mx.cpu(0), group2ctx=groups, data=(2, 5))
    for name, array in executor.arg_dict.items():
        expected = groups["one" if name in first.list_arguments() else "two"]
        assert (name, array.context) == (name, expected)
        assert executor.grad_dict[name].context == expected
    assert {a.context for a in executor.aux_arrays} == {groups["two"]}
    assert executor.forward()[0].context == groups["two"]


def test_outputs_before_the_first_forward_are_where_those_after_it_are():
    x = mx.sym.Variable("x")
    executor = (x * 2).bind(mx.cpu(1), {"x": mx.nd.ones(2, mx.cpu(1))})
    before = executor.outputs[0]._cell.peek().devices()
    assert before == executor.forward()[0]._cell.peek().devices()
