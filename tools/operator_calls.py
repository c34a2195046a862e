"""Calls of operators that take functions or classes of Python, or that arrays have alone.

`operator_runs.py` makes them on either side, of `mx.sym` and of `mx.nd`; it runs under the
reference's Python 3.8, too. ``PARAMETERS`` are those of the calls, in place of the schema's.
"""

PARAMETERS = {
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
