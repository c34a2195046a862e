"""Calls of operators that take functions or classes of Python, or that arrays have alone.

`operator_runs.py` makes them on either side, of `mx.sym` and of `mx.nd`; it runs under the
reference's Python 3.8, too. ``PARAMETERS`` are those of the calls, in place of the schema's.
Loops and branches of ``DRAWN`` have random bodies.
"""

import functools

import numpy as np

DRAWN = ("drawn_foreach", "drawn_while_loop", "drawn_cond")
PARAMETERS = {
    **{name: [] for name in DRAWN},
    "_foreach": [("body", "{'sums', 'products', 'pairs', 'no_outputs', 'no_free', 'inner'}")],
    "_while_loop": [
        ("func", "{'sums', 'products', 'no_outputs'}"),
        ("limit", "float, required"),
        ("max_iterations", "int (non-negative), required"),
    ],
    "_cond": [("branches", "{'plain', 'lists', 'from_outside'}"), ("more", "boolean, required")],
    "_contrib_boolean_mask": [("axis", "int, optional")],
    "Custom": [("power", "int (non-negative), required"), ("two", "boolean, required")],
    "_contrib_dgl_graph_compact": [("num_hops", "int (non-negative), required")],
    "_contrib_dgl_csr_neighbor_uniform_sample": [("num_hops", "int (non-negative), required")],
    "_contrib_dgl_csr_neighbor_non_uniform_sample": [("num_hops", "int (non-negative), required")],
}


def function(mx, name, library):
    """The function that calls an operator; ``None`` for those that need no own one."""
    if name == "_contrib_boolean_mask":
        return library.contrib.boolean_mask
    make = {
        **{name: _drawn(name[len("drawn_") :]) for name in DRAWN},
        "_foreach": _foreach,
        "_while_loop": _while_loop,
        "_cond": _cond,
        "Custom": _custom,
        "_contrib_dgl_graph_compact": _compact,
        "_contrib_dgl_csr_neighbor_uniform_sample": _sample,
        "_contrib_dgl_csr_neighbor_non_uniform_sample": _sample,
    }
    return make[name](mx, library) if name in make else None


def _flat(value):
    """The leaves of a nested list."""
    nested = isinstance(value, (list, tuple))
    return [leaf for part in value for leaf in _flat(part)] if nested else [value]


def _joined(mx, library, made):
    """Outputs as what one call of an operator returns."""
    leaves = [leaf for leaf in _flat(made) if leaf is not None]
    return mx.sym.Group(leaves) if library is mx.sym else leaves


def _foreach(mx, library):
    def call(x, s, w, body):
        def inner(a, b):
            pairs = library.stack(a, b, axis=0)
            made, last = library.contrib.foreach(lambda c, d: (c * d, d + c), pairs, w)
            return made, last

        bodies = {
            "sums": lambda a, b: (a + b, b + a * w),
            "products": lambda a, b: ([a * b, [w]], b * a),
            "pairs": lambda a, b: (library.sin(a), library.tanh(b + a) * w),
            "no_outputs": lambda a, b: ([], b - a * w),
            "no_free": lambda a, b: (a * 2, library.maximum(a, b)),
            "inner": inner,
        }
        return _joined(mx, library, library.contrib.foreach(bodies[body], x, s))

    return call


def _while_loop(mx, library):
    def call(s, w, func, limit, max_iterations):
        funcs = {
            "sums": lambda i, s: (s + w, [i + 1, s + w]),
            "products": lambda i, s: ([s * i], [i + 1, s * w]),
            "no_outputs": lambda i, s: ([], [i + 1, s * w + i]),
        }
        start = library.slice_axis(w, axis=0, begin=0, end=1) * 0
        made, (count, last) = library.contrib.while_loop(
            lambda i, s: i < limit,
            lambda i, s: _broadcasting(library, funcs[func], i, s),
            [start, s],
            max_iterations=max_iterations,
        )
        # The reference does not initialise the rows behind the last step.
        lengths = library.broadcast_like(count, s)
        masked = [
            library.SequenceMask(each, sequence_length=lengths, use_sequence_length=True)
            for each in _flat(made)
        ]
        return _joined(mx, library, [masked, count, last])

    return call


def _broadcasting(library, func, i, s):
    """The step with its number as long as its state."""
    outputs, (_, state) = func(library.broadcast_like(i, s), s)
    return outputs, [i + 1, state]


def _cond(mx, library):
    def call(a, b, w, branches, more):
        first = library.sum(a)
        pred = first > library.sum(b) if more else first < library.sum(b)
        made = {
            "plain": (lambda: a * b, lambda: a - b),
            "lists": (lambda: [a + b, b], lambda: [a, b * b]),
            "from_outside": (lambda: a * w, lambda: w * 2 + b),
        }
        return _joined(mx, library, library.contrib.cond(pred, *made[branches]))

    return call


def _drawn(kind):
    """A loop or branch whose body is a random one; see ``_body``.

    Its parameters are the body's seed, the numbers of arrays that are data and states (others are
    free variables), of outputs, and of steps, that of a loop's limit, and whether the reference
    computes the graph of all steps instead.
    """

    def make(mx, library):
        def call(*arrays, data, states, unrolled, steps, limit, **more):
            loops = library.contrib
            if unrolled and mx.__name__ == "mxnet" and library is mx.sym:
                loops = _Unrolled(library, steps, limit)
            parts = list(arrays[:data]), list(arrays[data : data + states])
            build = {"foreach": _drawn_foreach, "while_loop": _drawn_while, "cond": _drawn_cond}
            body = functools.partial(_body, library, loops, steps, arrays[data + states :])
            made = build[kind](library, loops, body, *parts, steps=steps, limit=limit, **more)
            total = sum(library.sum(each) for each in arrays)  # each input is in the graph
            return _joined(mx, library, [made, total])

        return call

    return make


def _drawn_foreach(library, loops, body, rows, states, seed, outputs, **_):
    def step(row, state):
        made = body([*row, *state], seed, outputs + len(states))
        return made[:outputs], made[outputs:]

    return loops.foreach(step, rows, states)


def _drawn_while(library, loops, body, _, states, seed, outputs, steps, limit):
    def func(i, *state):
        made = body(state, seed, outputs + len(states))
        return made[:outputs], [i + 1, *made[outputs:]]

    row = library.slice_axis(states[0], axis=0, begin=0, end=1)
    start = library.sum(row) * 0
    made, last = loops.while_loop(
        lambda i, *_: i < limit, func, [start, *states], max_iterations=steps
    )
    # The reference does not initialise the rows behind the last step.
    count = library.broadcast_like(library.reshape(library.BlockGrad(last[0]), (1, 1)), row)
    lengths = library.reshape(count, (-1,))
    masked = [
        library.SequenceMask(each, sequence_length=lengths, use_sequence_length=True)
        for each in _flat(made)
    ]
    return [masked, last]


def _drawn_cond(library, loops, body, _, states, seed, outputs, **__):
    pred = library.sum(states[0]) > library.sum(states[-1] * 0.5)
    return loops.cond(
        pred, lambda: body(states, seed, outputs), lambda: body(states, seed + 1, outputs)
    )


class _Unrolled:
    """Loops and branches as the graphs of all their steps."""

    def __init__(self, library, steps, limit):
        self.library, self.steps, self.limit = library, steps, limit

    def foreach(self, body, data, states):
        made = []
        for i in range(self.steps):
            rows = [
                self.library.squeeze(
                    self.library.slice_axis(each, axis=0, begin=i, end=i + 1), axis=0
                )
                for each in data
            ]
            outputs, states = body(rows, states)
            made.append(outputs)
        return self._stacked(made), states

    def while_loop(self, cond, func, states, max_iterations):
        made = []
        for _ in range(min(self.limit, max_iterations)):
            outputs, states = func(*states)
            made.append(outputs)
        rest = max_iterations - len(made)
        made += [[self.library.zeros_like(each) for each in made[0]]] * rest
        return self._stacked(made), states

    def cond(self, pred, then_func, else_func):
        chosen = self.library.reshape(pred, (1, 1))
        return [
            self.library.broadcast_mul(a, chosen) + self.library.broadcast_mul(b, 1 - chosen)
            for a, b in zip(then_func(), else_func())  # noqa: B905 - Python 3.8
        ]

    def _stacked(self, made):
        return [self.library.stack(*each, axis=0) for each in zip(*made)]  # noqa: B905 - as above


UNARY = ("tanh", "sin", "sigmoid", "softsign", "arctan", "softmax")


def _body(library, loops, steps, free, values, seed, count):
    """``count`` results of 1 to 6 random smooth operators on square matrices.

    One of them is at times a loop or a branch of its own.
    """
    stream, values = np.random.RandomState(seed), [*values, *free]
    nested = has_inner(seed)
    for at in range(stream.randint(1, 7)):
        drawn = (values[stream.randint(len(values))] for _ in range(3))
        kind = stream.randint(12)
        if nested and not at:
            values.append(_inner(library, loops, steps, kind, *drawn))
        else:
            values.append(_one(library, kind, *drawn))
    recent = values[-4:]
    # The reference sums gradients of an output wrongly that another one is as well.
    made = [recent[stream.randint(len(recent))] * (1 - 0.125 * i) for i in range(count)]
    return [made[0] + sum(values) * 0.125, *made[1:]] if made else []  # each is to be used


def _one(library, kind, a, b, c):
    """The result of one operator."""
    if kind < len(UNARY):
        return getattr(library, UNARY[kind])(a)
    others = (
        lambda: a + b,
        lambda: a - b * c,
        lambda: a * b,
        lambda: library.dot(a, b) * 0.5,
        lambda: library.broadcast_mul(a, library.sum(b, axis=1, keepdims=True)),
        lambda: a * 0.5 + 0.25,
    )
    return others[kind - len(UNARY)]()


def has_inner(seed):
    """Whether there is a loop or branch in a body."""
    return seed % 5 == 0


def _inner(library, loops, steps, kind, a, b, c):
    """The result of a loop over two matrices, or of a branch."""
    if kind % 2:
        pred = library.sum(a) > library.sum(b)
        return _flat(loops.cond(pred, lambda: [library.tanh(a) * c], lambda: [a - b * c]))[0]
    pairs = library.stack(*[a, b, c, a][:steps], axis=0)
    made, (last,) = loops.foreach(
        lambda rows, states: ([rows[0] * states[0]], [library.sin(states[0] + rows[0] * b)]),
        [pairs],
        [c],
    )
    return last + library.sum(made[0], axis=0)


def _custom(mx, library):
    class Powers(mx.operator.CustomOp):
        def __init__(self, power):
            super().__init__()
            self.power = power

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] ** self.power * in_data[1])
            if len(out_data) > 1:
                self.assign(out_data[1], req[1], in_data[0] + in_data[1])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            x, y = in_data
            slope = self.power * x ** max(self.power - 1, 0)
            more = out_grad[1] if len(out_grad) > 1 else 0
            self.assign(in_grad[0], req[0], out_grad[0] * slope * y + more)
            self.assign(in_grad[1], req[1], out_grad[0] * x**self.power + more)

    @mx.operator.register("drawn_powers")
    class Prop(mx.operator.CustomOpProp):
        def __init__(self, power, two):
            super().__init__(need_top_grad=True)
            self.power, self.two = int(power), two == "True"

        def list_arguments(self):
            return ["x", "y"]

        def list_outputs(self):
            return ["a", "b"] if self.two else ["a"]

        def infer_shape(self, in_shape):
            return [in_shape[0]] * 2, [in_shape[0]] * (1 + self.two), []

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Powers(self.power)

    def call(*inputs, **attrs):
        return library.Custom(*inputs, op_type="drawn_powers", **attrs)

    return call


def _sampled(library, arrays, num_hops):
    """The results of a sampler that takes every edge, so that they do not depend on draws."""
    names = {2: "dgl_csr_neighbor_uniform_sample", 3: "dgl_csr_neighbor_non_uniform_sample"}
    sample = getattr(library.contrib, names[len(arrays)])
    most = arrays[0].shape[0]
    return sample(*arrays, num_hops=num_hops, num_neighbor=most, max_num_vertices=most)


def _sample(mx, library):
    def call(*arrays, num_hops):
        vertices, graph, *others = _sampled(library, arrays, num_hops)
        count = int(vertices.asnumpy()[-1])  # the reference does not initialise what is behind
        return [vertices[:count], graph, *[each[:count] for each in others]]

    return call


def _compact(mx, library):
    def call(graph, seeds, num_hops):
        vertices, sample, _ = _sampled(library, (graph, seeds), num_hops)
        size = (int(vertices.asnumpy()[-1]),)
        return library.contrib.dgl_graph_compact(
            sample, vertices, graph_sizes=size, return_mapping=False
        )

    return call
