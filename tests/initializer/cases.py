"""Initializers whose values are not random: run by the recorder under MXNet and by the tests."""

import numpy as np

BILINEAR = [(1, 1, 4, 4), (2, 3, 5, 5), (1, 1, 3, 3), (1, 1, 2, 4), (1, 1, 4, 2), (3, 1, 1, 1)]

FUSED = [
    # mode, layers, bidirectional, inputs, hidden
    ("lstm", 1, False, 3, 2),
    ("lstm", 2, True, 2, 1),
    ("gru", 2, True, 3, 2),
    ("gru", 1, False, 1, 3),
    ("rnn_tanh", 1, True, 3, 2),
    ("rnn_relu", 3, False, 2, 2),
]
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}

DUMPS = [
    "Zero()", "One()", "Constant(3)", "Uniform()", "Uniform(0.1)", "Normal()", "Normal(2)",
    "Xavier()", "Xavier('gaussian', 'in', 2.34)", "MSRAPrelu()", "MSRAPrelu('in', 0.1)",
    "Orthogonal()", "Orthogonal(1, 'normal')", "Bilinear()", "LSTMBias()", "LSTMBias(2.0)",
    "FusedRNN(Xavier(), 3, 2, 'lstm')", "FusedRNN(None, 3, 2, 'gru', True, 2.0)",
    "Initializer(a=3)", "Constant(np.array([1.0, 2.0]))",
]  # fmt: skip


def fused_size(mode, layers, bidirectional, inputs, hidden):
    """Length of the parameter vector of the RNN operator."""
    sides = 2 if bidirectional else 1
    widths = [inputs] + [hidden * sides] * (layers - 1)
    return sum(sides * GATES[mode] * hidden * (w + hidden + 2) for w in widths)


def numbered(init):
    """An initializer class that fills the n-th weight with 100 n + its own index.

    Args:
        init: the module of initializers.
    """

    class Numbered(init.Initializer):
        """Keeps the names and shapes that it was given."""

        def __init__(self):
            super().__init__()
            self.seen, self.count = [], 0

        def __call__(self, desc, arr):
            """Remember, then dispatch."""
            self.seen.append([str(desc), list(arr.shape)])
            super().__call__(desc, arr)

        def _init_weight(self, _, arr):
            self.count += 1
            arr[:] = 100 * self.count + np.arange(int(np.prod(arr.shape))).reshape(arr.shape)

    return Numbered()
