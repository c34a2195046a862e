"""Loops and branches, built alike by modkit and by the reference, for comparison.

It runs in two places: in the tests, and under the reference's Python 3.8, so it knows nothing but
the standard library.
"""


class Row:
    """One graph and its inputs.

    Args:
        build: ``build(mx, name)`` returns a nested list of symbols, the outputs; ``name`` is for
            the loop.
        inputs: numbers by argument.
        steps: how many steps a ``while_loop`` takes: MXNet does not initialise the rows behind.
    """

    def __init__(self, build, inputs, steps=None):
        self.build, self.inputs, self.steps = build, inputs, steps


ROWS = {}


def row(steps=None, **inputs):
    """Register the decorated builder under its own name."""

    def register(build):
        ROWS[build.__name__] = Row(build, inputs, steps)
        return build

    return register


def flat(value):
    """The leaves of a nested list."""
    parts = value if isinstance(value, (list, tuple)) else ()
    return [leaf for part in parts for leaf in flat(part)] if parts is value else [value]


def built(mx, name):
    """The symbol of a row, and the form of what the function returned."""
    with mx.name.NameManager():
        made = ROWS[name].build(mx, name)
    return mx.sym.Group(flat(made)), form(made)


def form(value):
    """The nested list with 0 for each leaf."""
    return [form(x) for x in value] if isinstance(value, (list, tuple)) else 0


X = [[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]]


@row(x=X, s=[1.0, 2.0])
def product_and_sum(mx, name):
    x, s = map(mx.sym.var, "xs")
    return mx.sym.contrib.foreach(lambda a, b: (a * b, b + a), x, s, name=name)


@row(x=[1.0, 2.0, 4.0], s=[3.0])
def one_axis(mx, name):
    x, s = map(mx.sym.var, "xs")
    return mx.sym.contrib.foreach(lambda a, b: (a * b, b + a), x, [s][0], name=name)


@row(x=[X, X], y=[[2.0], [3.0]], s=[[0.5], [1.5], [2.5]], t=[0.1])
def lists(mx, name):
    x, y, s, t = map(mx.sym.var, "xyst")

    def body(rows, states):
        a, (b,) = rows
        total = mx.sym.broadcast_add(mx.sym.sum(a, axis=1, keepdims=True), states[1])
        return [a, [mx.sym.broadcast_mul(total, b)]], [total * states[0], states[1] + b]

    return mx.sym.contrib.foreach(body, [x, [y]], [s, t], name=name)


@row(x=X)
def no_states(mx, name):
    return mx.sym.contrib.foreach(lambda a, _: (mx.sym.exp(a), []), mx.sym.var("x"), [], name=name)


@row(x=X, s=[1.0, 2.0])
def no_outputs(mx, name):
    x, s = map(mx.sym.var, "xs")
    return mx.sym.contrib.foreach(lambda a, b: ([], [b[0] * a]), x, [s], name=name)


@row(x=X, s=[1.0, 2.0], w=[0.5, 0.25])
def from_outside(mx, name):
    x, s, w = map(mx.sym.var, "xsw")
    twice = mx.sym.broadcast_mul(x, mx.sym.reshape(w, shape=(1, 2)))
    last = mx.sym.slice_axis(twice, axis=0, begin=2, end=3)

    def body(a, b):
        c = a + mx.sym.reshape(last, shape=(2,)) * w
        return [c, s, last], c * b

    return mx.sym.contrib.foreach(body, twice, s * 2, name=name)


@row(x=[X, X], h=[[0.1, 0.2], [0.3, 0.4], [0.0, 0.0]], fc_weight=[[0.5, -0.5], [1.0, 0.25]],
     fc_bias=[0.1, 0.2], r_weight=[[0.3, 0.2], [0.1, -0.4]])  # fmt: skip
def recurrent(mx, name):
    def body(a, states):
        new = mx.sym.FullyConnected(a, num_hidden=2, name="fc")
        weight = mx.sym.var("r_weight")
        new = new + mx.sym.FullyConnected(states[0], weight, num_hidden=2, no_bias=True)
        new = mx.sym.Activation(new, act_type="tanh")
        return new, [new]

    return mx.sym.contrib.foreach(body, mx.sym.var("x"), [mx.sym.var("h")], name=name)


@row(x=X, s=[1.0], t=[2.0])
def nested(mx, name):
    x, s, t = map(mx.sym.var, "xst")

    def outer(a, b):
        return mx.sym.contrib.foreach(lambda c, d: (c * d + t, d + c * b), a, b, name="inner")

    return mx.sym.contrib.foreach(outer, x, s, name=name)


@row(steps=3, i=[1.0], s=[2.0])
def grow(mx, name):
    i, s = map(mx.sym.var, "is")
    return mx.sym.contrib.while_loop(
        lambda i, s: i < 4, lambda i, s: ([s * i], [i + 1, s * i]), [i, s], 7, name=name
    )


@row(steps=2, i=[1.0], s=[2.0, 3.0])
def cut_short(mx, name):
    i, s = map(mx.sym.var, "is")
    return mx.sym.contrib.while_loop(
        lambda i, s: i < 4, lambda i, s: (s, (i + 1, s * s)), [i, s], max_iterations=2, name=name
    )


@row(i=[5.0], s=[2.0])
def no_step(mx, name):
    i, s = map(mx.sym.var, "is")
    return mx.sym.contrib.while_loop(
        lambda i, s: i < 4, lambda i, s: (None, [i + 1, s * i]), [i, s], 3, name=name
    )


@row(steps=4, n=[0.25], w=[1.5], limit=[1.0])
def until_it_is_large(mx, name):
    n, w, limit = map(mx.sym.var, ["n", "w", "limit"])
    return mx.sym.contrib.while_loop(
        lambda n: mx.sym.broadcast_lesser(n, limit), lambda n: (n * w, n * w), n, 5, name=name
    )


@row(x=[[1.0], [2.0]], s=[1.0])
def while_in_foreach(mx, name):
    def body(a, b):
        _, (i, total) = mx.sym.contrib.while_loop(
            lambda i, t: i < 2.5, lambda i, t: ([], [i + 1, t * a]), [a, b], 3, name="inner"
        )
        return i, total

    return mx.sym.contrib.foreach(body, mx.sym.var("x"), mx.sym.var("s"), name=name)


def _choice(mx, name):
    a, b = map(mx.sym.var, "ab")
    return mx.sym.contrib.cond(
        mx.sym.sum(a) < mx.sym.sum(b), lambda: [a * b, [b]], lambda: [a - b, [a + 1]], name=name
    )


@row(a=[1.0, 2.0], b=[3.0, 4.0])
def choose_first(mx, name):
    return _choice(mx, name)


@row(a=[5.0, 6.0], b=[3.0, 4.0])
def choose_second(mx, name):
    return _choice(mx, name)


@row(x=X, w=[2.0, 3.0])
def cond_in_foreach(mx, name):
    w = mx.sym.var("w")

    def body(a, total):
        big = mx.sym.contrib.cond(
            mx.sym.sum(a) > 2.5, lambda: a * w, lambda: a + total, name="inner"
        )
        return big, total + big

    x = mx.sym.var("x")
    return mx.sym.contrib.foreach(body, x, mx.sym.zeros((2,)), name=name)


@row(x=[X, X], l_i2h_weight=[[0.1 * i - 0.3, 0.2] for i in range(8)],
     l_h2h_weight=[[0.05 * i, -0.1] for i in range(8)], l_i2h_bias=[0.1] * 8, l_h2h_bias=[0.2] * 8,
     h=[[0.0, 0.1]] * 3, c=[[0.2, 0.3]] * 3)  # fmt: skip
def lstm(mx, name):
    cell = mx.rnn.LSTMCell(2, prefix="l_")
    states = [mx.sym.var("h"), mx.sym.var("c")]
    return mx.sym.contrib.foreach(cell, mx.sym.var("x"), states, name=name)
