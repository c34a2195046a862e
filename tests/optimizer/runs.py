"""Runs of optimizers: the table, and how a run is made with ``mx`` being MXNet or modkit.

Plain standard library and NumPy, so that the recorder can import it under the reference's Python.
"""

import math

import numpy as np

STEPS = 24
PARAMS = (("fc_weight", (3, 4)), ("fc_bias", (4,)), ("bn_gamma", (4,)))

_FULL = {"wd": 0.05, "clip_gradient": 0.8, "rescale_grad": 0.7}


def _both(name, **params):
    """The row as it is, and with weight decay, clipping and rescaling."""
    return [(name, params, {}), (name, {**params, **_FULL}, {})]


# optimizer, its parameters, options of the run
RUNS = [
    *_both("sgd"),
    *_both("sgd", momentum=0.9),
    *_both("ccsgd", momentum=0.5),
    *_both("nag"),
    *_both("nag", momentum=0.9),
    *_both("signum"),
    *_both("signum", momentum=0.0),
    *_both("signum", momentum=0.7, wd_lh=0.1),
    *_both("adam"),
    *_both("adam", beta1=0.8, beta2=0.95, epsilon=1e-3),
    *_both("adamax"),
    *_both("adamax", beta1=0.8, beta2=0.9),
    *_both("nadam"),
    *_both("nadam", beta1=0.8, beta2=0.95, epsilon=1e-3, schedule_decay=0.02),
    *_both("rmsprop"),
    *_both("rmsprop", gamma1=0.8, epsilon=1e-3, clip_weights=0.5),
    *_both("rmsprop", centered=True),
    *_both("rmsprop", centered=True, gamma1=0.95, gamma2=0.7, epsilon=1e-3, clip_weights=0.5),
    *_both("adagrad"),
    *_both("adagrad", eps=0.01),
    *_both("adadelta"),
    *_both("adadelta", rho=0.8, epsilon=1e-2),
    *_both("ftrl"),
    *_both("ftrl", lamda1=0.3, beta=0.5),
    *_both("ftml"),
    *_both("ftml", beta1=0.8, beta2=0.9, epsilon=1e-3),
    *_both("lamb"),
    *_both("lamb", bias_correction=False, beta1=0.8, beta2=0.95, epsilon=1e-3),
    *_both("lamb", lower_bound=0.5, upper_bound=1.5),
    *_both("dcasgd"),
    *_both("dcasgd", lamda=0.3),
    ("groupadagrad", {}, {"count": 1}),
    ("groupadagrad", {"clip_gradient": 0.8, "rescale_grad": 0.7, "eps": 0.1}, {"count": 1}),
    *_both("test"),
    *_both("lbsgd"),
    *_both("lbsgd", momentum=0.9, warmup_epochs=1, updates_per_epoch=8, batch_scale=4),
    *_both("lbsgd", warmup_strategy="power2", warmup_epochs=2, updates_per_epoch=8, batch_scale=2),
    *_both("lbsgd", warmup_strategy="sqrt", warmup_epochs=2, updates_per_epoch=8, batch_scale=2,
           begin_epoch=1, num_epochs=3),
    *_both("lbsgd", momentum=0.5, warmup_strategy="lars"),
    ("lars", {}, {"together": True}),
    ("lars", _FULL, {"together": True}),
    ("lars", {**_FULL, "momentum": 0.9, "eta": 0.1, "eps": 0.01}, {"together": True}),
    ("lars", {"momentum": 0.9, "eta": 0.5, "momentum_correction": False}, {}),
    ("lars", {"wd": 0.1, "eta": 0.1, "rescale_grad": -0.5}, {"together": True}),
    # rates and multipliers
    ("sgd", {"momentum": 0.9, "learning_rate": 0.2}, {"rate": "set"}),
    ("adam", {"learning_rate": 0.02, "wd": 0.1}, {"rate": "set"}),
    ("sgd", {"momentum": 0.9, **_FULL}, {"mult": True}),
    ("adam", {**_FULL}, {"mult": True}),
    ("ftrl", {**_FULL}, {"mult": True}),
    ("sgd", {"momentum": 0.9, **_FULL}, {"together": True}),
    ("adam", {**_FULL, "begin_num_update": 7}, {}),
    ("nadam", {**_FULL, "begin_num_update": 7}, {}),
    # 16-bit weights
    *[
        (name, {**params, **_FULL, "multi_precision": True}, {"dtype": "float16"})
        for name, params in (
            ("sgd", {}),
            ("sgd", {"momentum": 0.9}),
            ("nag", {}),
            ("nag", {"momentum": 0.9}),
            ("adam", {}),
            ("lamb", {}),
            ("rmsprop", {}),
            ("ftml", {}),
            ("signum", {}),
        )
    ],
    ("lars", {**_FULL, "momentum": 0.9, "multi_precision": True},
     {"dtype": "float16", "together": True}),
    ("sgd", {"momentum": 0.9, **_FULL}, {"dtype": "float16"}),
    ("sgd", {"momentum": 0.9, **_FULL}, {"dtype": "float64"}),
    ("adam", {**_FULL, "multi_precision": True}, {}),
]  # fmt: skip


def run_id(run):
    """A readable name of a row, unique in the table."""
    name, params, options = run
    parts = [f"{k}={v}" for k, v in sorted({**params, **options}.items())]
    return "-".join([name, *parts])


def make_schedule(mx, base_lr):
    """A rate that changes at every update, up and down."""

    class Wave(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            return self.base_lr * (1 + 0.5 * math.sin(num_update))

    return Wave(base_lr)


def gradients(step):
    """The gradients of one step, the same for everybody."""
    rng = np.random.RandomState(1000 + step)
    return [rng.normal(0.2, 1, shape).astype("float32") for _, shape in PARAMS]


def start():
    """The weights at the start."""
    rng = np.random.RandomState(7)
    return [rng.normal(0, 1, shape).astype("float32") for _, shape in PARAMS]


def make(mx, run):
    """The optimizer of a row."""
    name, params, options = run
    names = {i: n for i, (n, _) in enumerate(PARAMS)}
    params = dict(params, param_idx2name=names)
    if options.get("rate") != "set":
        params["lr_scheduler"] = make_schedule(mx, 0.05)
        params["learning_rate"] = 0.05
    optimizer = mx.optimizer.create(name, **params)
    if options.get("mult"):
        optimizer.set_lr_mult({"fc_bias": 0.3, 2: 1.7})
        optimizer.set_wd_mult({"fc_weight": 0.5, "fc_bias": 2.0})
    return optimizer


def play(mx, run):
    """The weights after each step, (STEPS, sizes added), and the last states, by index."""
    options = run[2]
    dtype = options.get("dtype", "float32")
    optimizer = make(mx, run)
    updater = mx.optimizer.get_updater(optimizer)
    count = options.get("count", len(PARAMS))
    weights = [mx.nd.array(w, dtype=dtype) for w in start()[:count]]
    path = []
    for step in range(STEPS):
        grads = [mx.nd.array(g, dtype=dtype) for g in gradients(step)[:count]]
        if options.get("rate") == "set" and step % 5 == 4:
            optimizer.set_learning_rate(optimizer.learning_rate * 0.6)
        if options.get("together"):
            updater(list(range(len(weights))), grads, weights)
        else:
            for i, w in enumerate(weights):
                updater(i, grads[i], w)
        path.append(np.concatenate([w.asnumpy().ravel() for w in weights]))
    return np.array(path), [flat(updater.states[i]) for i in range(len(weights))]


def flat(state):
    """The arrays of a state, from left to right, ``None`` left out."""
    if state is None:
        return []
    if isinstance(state, (list, tuple)):
        return [a for s in state for a in flat(s)]
    return [state.asnumpy()]


SAVED = [
    ("sgd", {"momentum": 0.9, **_FULL}, {}),
    ("adam", dict(_FULL), {}),
    ("nadam", dict(_FULL), {}),
    ("rmsprop", {"centered": True}, {}),
    ("sgd", {"momentum": 0.9, "multi_precision": True, **_FULL}, {"dtype": "float16"}),
]
"""Runs whose states are saved in the middle."""

BEFORE, AFTER = 3, 4
"""Steps before and after saving."""


def play_on(mx, run, updater, weights, steps):
    """Update through these steps; the weights afterwards."""
    dtype = run[2].get("dtype", "float32")
    for step in steps:
        for i, g in enumerate(gradients(step)):
            updater(i, mx.nd.array(g, dtype=dtype), weights[i])
    return np.concatenate([w.asnumpy().ravel() for w in weights])


def saved_file(run):
    """The name of the file that a run of ``SAVED`` is saved in."""
    dtype = run[2].get("dtype", "float32")
    return f"{run[0]}-{dtype}.states"
