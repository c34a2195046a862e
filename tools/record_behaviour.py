"""Record how Apache MXNet 1.9.1 answers small questions: names, orders, paddings, sums, errors.

It runs under the reference's python and writes `tests/reference/behaviour.json`::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON tools/record_behaviour.py

Each question is a function of the package, `mx`, whose answer JSON can hold. A test imports this
file, which needs no MXNet for that, asks the same questions of this project, and compares.
"""

import collections
import importlib
import json
import logging
import platform
import random
import shutil
import struct
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import numpy as np

QUESTIONS = {}


def question(function):
    """Enter a function into the table under its name."""
    QUESTIONS[function.__name__] = function
    return function


def plain(value):
    """The value as JSON holds it: arrays as nested lists, tuples as lists, NaN as a word."""
    if hasattr(value, "asnumpy"):
        value = value.asnumpy()
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def refusal(function, *args, **kwargs):
    """The kinds of exception that a call raises, most special first; None if it raises none."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        builtin = [c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"]
        return builtin[0]
    return None


def small_net(mx, classes=3):
    """A linear classifier."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=classes, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def small_iterator(mx, count=10, batch=4, **settings):
    """An iterator over rows that name themselves."""
    data = np.arange(count * 2, dtype=np.float32).reshape(count, 2)
    label = np.arange(count, dtype=np.float32) % 3
    return mx.io.NDArrayIter(data, label, batch, **settings)


def small_module(mx, batch=4, **settings):
    """The linear classifier, bound, with weights that are written down here."""
    module = mx.mod.Module(small_net(mx), **settings)
    module.bind(data_shapes=[("data", (batch, 2))], label_shapes=[("softmax_label", (batch,))])
    weights = {
        "fc_weight": mx.nd.array([[0.1, 0.2], [-0.1, 0.05], [0.0, -0.2]]),
        "fc_bias": mx.nd.array([0.0, 0.1, -0.1]),
    }
    module.init_params(arg_params=weights, aux_params={})
    return module


@question
def automatic_names(mx):
    """Numbers run per operator, lower case; operators of arithmetic have names of their own."""
    with mx.name.NameManager():
        x = mx.sym.Variable("x")
        layers = [
            mx.sym.FullyConnected(x, num_hidden=1),
            mx.sym.FullyConnected(x, num_hidden=1),
            mx.sym.Activation(x, act_type="relu"),
            mx.sym.Convolution(x, kernel=(1, 1), num_filter=1),
            mx.sym.BatchNorm(x),
            mx.sym.SoftmaxOutput(x),
            mx.sym.LeakyReLU(x),
            mx.sym.Concat(x, x),
            mx.sym.Flatten(x),
            mx.sym.SliceChannel(x, num_outputs=2),
            mx.sym.Reshape(x, shape=(-1,)),
            mx.sym.broadcast_add(x, x),
            mx.sym.exp(x),
            mx.sym.dot(x, x),
            mx.sym.sum(x),
            mx.sym.elemwise_add(x, x),
            x + x,
            x - x,
            x * x,
            x / x,
            x + 1,
            1 - x,
            2 * x,
            1 / x,
            x**2,
            -x,
            x > 0,
        ]
        return [[layer.list_outputs(), layer.list_arguments()] for layer in layers]


@question
def private_attributes(mx):
    """Attributes of modules that programs of MXNet's time read and write."""
    names = (
        *("_data_names", "_label_names", "_state_names", "_fixed_param_names", "_param_names"),
        *("_aux_names", "_output_names", "_grad_req", "_work_load_list", "_compression_params"),
        *("_preload_opt_states", "_update_on_kvstore", "_params_dirty"),
        *("binded", "params_initialized", "optimizer_initialized"),
    )
    module = mx.mod.Module(small_net(mx))
    found = [[getattr(module, name) for name in names]]
    # A module of parameters without a file, as Module.load makes one.
    module._arg_params = {"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.array([1, 2, 3])}
    module._aux_params = {}
    module.params_initialized = True
    shapes = [("data", (4, 2))], [("softmax_label", (4,))]
    module.bind(*shapes)
    found.append([getattr(module, name) for name in names])
    found.append(plain(module._exec_group.execs[0].arg_dict))
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    batch = mx.io.DataBatch([mx.nd.ones((4, 2))], [mx.nd.array([0, 1, 2, 0])])
    module.forward_backward(batch)
    module.update()
    found.append(plain(module.get_params()[0]))
    found.append([getattr(module, name) for name in names])
    module._exec_group.execs[0].arg_dict["fc_bias"][:] = 7
    module._params_dirty = True
    found.append(plain(module.get_params()[0]["fc_bias"]))
    own = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.1))
    module._update_on_kvstore, module._updater, module._kvstore = False, own, None
    module.forward_backward(batch)
    module.update()
    found.append(plain(module.get_params()[0]["fc_bias"]))
    buckets = mx.mod.BucketingModule(lambda key: (small_net(mx), ("data",), ("softmax_label",)), 3)
    found.append([str(buckets._context), buckets._params_dirty, buckets._default_bucket_key])
    return found


@question
def labels_that_are_nan(mx):
    """NaN is no class: a miss, or an error."""
    labels = [mx.nd.array([0, float("nan"), 1])]
    outputs = [mx.nd.array([[0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])]
    same = [mx.nd.array([float("nan"), 1])]
    found = {}
    for name in ("acc", "top_k_accuracy", "f1", "mcc", "ce", "pcc"):
        metric = mx.metric.create(name, **({"top_k": 2} if "top" in name else {}))
        found[name] = [refusal(metric.update, labels, outputs), metric.get()[1]]
    metric = mx.metric.create("acc")
    metric.update(same, same)
    return found, metric.get()


@question
def composites_of_used_metrics(mx):
    """A composite of metrics that have counted keeps their counts, until it is reset."""
    metric = mx.metric.create("acc")
    metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.6, 0.4], [0.7, 0.3]])])
    both = mx.metric.CompositeEvalMetric([metric, "ce"])
    later = mx.metric.create([metric, metric])
    found = [both.get()[1], later.get()[1], metric.get()]
    both.reset()
    return [*found, metric.get()]


@question
def arrays_for_outputs_that_are_not_shown(mx):
    """A list ``out`` has an array for each output that is shown, or for each of all."""
    found = []
    for train in (False, True):
        images = mx.nd.array(np.arange(24).reshape(2, 3, 2, 2) % 7)
        vectors = [mx.nd.ones((3,)) * number for number in (1.0, 0.0, 0.1, 2.0)]
        out = [mx.nd.zeros((2, 3, 2, 2)), mx.nd.zeros((3,)), mx.nd.zeros((3,))]
        with mx.autograd.record(train_mode=train):
            made = mx.nd.BatchNorm(images, *vectors, out=out)
        found.append([made is out, out[0], out[1], out[2]])
        found.append(refusal(mx.nd.BatchNorm, images, *vectors, out=out[:2]))
    return found


@question
def values_of_metric_functions(mx):
    """A function's value is a number, or a sum and a count; others are refused."""
    found = []
    for value in ("3", (1, "a"), ("a", 1), [1, 2], {"a": 1}, None, True, np.float32(2), (3, 2)):
        metric = mx.metric.CustomMetric(lambda label, pred, value=value: value)
        kind = refusal(metric.update, [mx.nd.ones((2,))], [mx.nd.ones((2,))])
        found.append([kind, metric.get()[1]])
    return found


@question
def weights_of_float16(mx):
    """Optimizers that warn of float16 weights without float32 copies."""
    found = {}
    for name in ("sgd", "adam", "signum", "lamb", "rmsprop", "sgld", "ftml", "dcasgd"):
        for settings in ({}, {"multi_precision": True}):
            for dtype in ("float16", "float32", "float64"):
                optimizer = mx.optimizer.create(name, **settings)
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    optimizer.create_state_multi_precision(0, mx.nd.ones((2,), dtype=dtype))
                found[f"{name} {dtype} {settings}"] = len(seen)
    return found


@question
def executor_groups(mx):
    """Parameters, batches and shapes of a module's executor group, and of one made by hand."""
    net = small_net(mx)
    batch = mx.io.DataBatch([mx.nd.array([[1, 2], [3, 4], [5, 6], [7, 8]])], [mx.nd.zeros((4,))])
    module = small_module(mx)
    of_module = module._exec_group
    contexts, names = [mx.cpu(0), mx.cpu(1)], ["fc_weight", "fc_bias"]
    shapes = [("data", (4, 2))], [("softmax_label", (4,))]
    by_hand = type(of_module)(net, contexts, [1, 1], shapes[0], shapes[1], names, True, False)
    values = {n: v * 2 for n, v in module.get_params()[0].items()}
    held = {"fc_weight": mx.nd.zeros((3, 2)), "fc_bias": mx.nd.zeros((3,))}
    answers = {}
    for title, group in (("module", of_module), ("by hand", by_hand)):
        refused = [
            refusal(group.set_params, dict(values, other=mx.nd.ones((1,))), {}),
            refusal(group.get_params, {}, {}),
            refusal(group.decide_slices, [mx.io.DataDesc("data", (6, 2))]),
        ]
        group.set_params(dict(values, other=mx.nd.ones((1,))), {}, allow_extra=True)
        group.forward(batch)
        group.backward()
        answers[title] = {
            "refused": refused,
            "layouts": [group.data_layouts, group.label_layouts, group.output_layouts],
            "outputs": [
                group.num_outputs,
                group.get_outputs(True, 0, 1),
                group.get_output_shapes(),
            ],
            "gradients": [g.asnumpy() for g in group.grad_arrays[0]],
            "axes": group.decide_slices([mx.io.DataDesc("data", (4, 2))]),
            "sliced": [tuple(d.shape) for d in group._sliced_shape(group.data_shapes, 0, [0])],
        }
        group.get_params(held, {})
        answers[title]["parameters"] = dict(held)
        wider = [mx.io.DataDesc("data", (8, 2))], [mx.io.DataDesc("softmax_label", (8,))]
        group.reshape(*wider)
        answers[title]["reshaped"] = [group.batch_size, len(group.slices), group.data_layouts]
    answers["not for training"] = refusal(
        type(of_module)(net, contexts, [1, 1], shapes[0], None, names, False, False).backward
    )
    return answers


class Lines(logging.Handler):
    """Collects lines of the log with their levels."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        """Keep a line."""
        self.lines.append([record.levelname, record.getMessage()])


@question
def lines_of_the_log(mx):
    """Log lines of schedules, LBSGD and files of word vectors, from which programs read rates."""
    text = importlib.import_module(mx.__name__ + ".contrib.text")
    root, handler = logging.getLogger(), Lines()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        rate = mx.lr_scheduler.FactorScheduler(2, 0.5, stop_factor_lr=0.1, base_lr=0.5)
        rates = [rate(i) for i in range(9)]
        rate = mx.lr_scheduler.MultiFactorScheduler([2, 4], 0.5, base_lr=1)
        rates += [rate(i) for i in range(7)]
        mx.optimizer.create("lbsgd", warmup_strategy="power2", batch_scale=2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "vectors.txt"
            path.write_text("a 1 2\nb 3 4\n")
            text.embedding.CustomEmbedding(str(path))
            lines = [[level, line.replace(folder, "FOLDER")] for level, line in handler.lines]
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    return {"rates": rates, "lines": lines}


@question
def optimizers_of_svrg(mx):
    """`_SVRGOptimizer` updates by name; `_AssignmentOptimizer` sets weights to gradients."""
    importlib.import_module(mx.__name__ + ".contrib.svrg_optimization.svrg_optimizer")
    made = mx.optimizer.create(
        "_SVRGOptimizer", default_optimizer="sgd", learning_rate=0.1, momentum=0.9,
        param_idx2name={0: "w", 1: "w_full"},
    )  # fmt: skip
    answers = [type(made.default_opt).__name__, type(made.aux_opt).__name__, made.lr]
    for index in (0, 1):
        weight = mx.nd.ones((2,))
        state = made.create_state(index, weight)
        made.update(index, weight, mx.nd.array([3, 4]), state)
        answers += [weight.asnumpy(), state is None]
    answers.append(refusal(made.create_state, 2, mx.nd.ones((2,))))
    return answers


@question
def types_of_test_states(mx):
    """The test optimizer keeps its state in float32, whatever the weight's type is."""
    made = mx.optimizer.create("test", rescale_grad=0.5)
    answers = []
    for dtype in ("float16", "float64"):
        weight = mx.nd.ones((2,), dtype=dtype)
        state = made.create_state(0, weight)
        made.update(0, weight, mx.nd.ones((2,), dtype=dtype), state)
        answers += [np.dtype(state.dtype).name, state, weight, np.dtype(weight.dtype).name]
    return answers


@question
def gradients_in_monitors(mx):
    """Names, order and sums of the gradients that a monitor shows: heads, sums, inputs."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    relu, tanh = mx.sym.relu(x, name="r"), mx.sym.tanh(y, name="t")
    halves = mx.sym.SliceChannel(relu, num_outputs=2, name="sl")
    graphs = {
        "loss": mx.sym.MakeLoss(mx.sym.square(x, name="sq"), name="ml"),
        "twice": mx.sym.exp(relu, name="e") + mx.sym.log(relu, name="lg"),
        "added": mx.sym.exp(relu + tanh, name="e"),
        "subtracted": mx.sym.exp(relu - tanh, name="e"),
        "heads": mx.sym.Group([mx.sym.exp(relu, name="e"), mx.sym.log(relu, name="lg")]),
        "halves": mx.sym.elemwise_mul(halves[0], halves[1], name="m"),
        "shared": mx.sym.dot(x, y, name="d1") + mx.sym.dot(mx.sym.sqrt(y, name="s"), y, name="d2"),
        "itself": mx.sym.elemwise_mul(x, x, name="m"),
        "layers": mx.sym.SoftmaxOutput(
            mx.sym.FullyConnected(relu, num_hidden=2, name="fc"), y, name="out"
        ),
        "normalized": mx.sym.L2Normalization(mx.sym.SwapAxis(x, dim1=0, dim2=1, name="sw")),
    }
    answers = {}
    for title, graph in graphs.items():
        shapes = {"x": (2, 2), "y": (2,) if title == "layers" else (2, 2)}
        own = {n: s for n, s in shapes.items() if n in graph.list_arguments()}
        executor = graph.simple_bind(mx.cpu(), **own)
        for array in executor.arg_arrays:
            array[:] = np.arange(1, array.size + 1).reshape(array.shape) / 10
        monitor = mx.mon.Monitor(1, lambda array: array.sum())
        monitor.install(executor)
        monitor.tic()
        executor.forward(is_train=True)
        monitor.queue = []
        losses = title in ("loss", "layers")
        executor.backward(None if losses else [mx.nd.ones(o.shape) for o in executor.outputs])
        answers[title] = [[name, value.asscalar()] for _, name, value in monitor.queue]
    return answers


@question
def subclasses_of_bucketing_modules(mx):
    """A subclass that makes its modules by the attributes that MXNet's own class reads."""

    class Counted(mx.mod.BucketingModule):
        made = 0

        def switch_bucket(self, bucket_key, data_shapes, label_shapes=None):
            if bucket_key not in self._buckets:
                type(self).made += 1
                symbol, data_names, label_names = self._sym_gen(bucket_key)
                module = mx.mod.Module(
                    symbol, data_names, label_names, logger=self.logger, context=self._context,
                    work_load_list=self._work_load_list, state_names=self._state_names,
                    fixed_param_names=self._fixed_param_names, group2ctxs=self._group2ctxs,
                    compression_params=self._compression_params,
                )  # fmt: skip
                first = self._buckets[self._default_bucket_key]
                module.bind(data_shapes, label_shapes, shared_module=first)
                self._buckets[bucket_key] = module
            self._curr_module = self._buckets[bucket_key]
            self._curr_bucket_key = bucket_key

    def net(length):
        total = mx.sym.sum(mx.sym.Variable("data"), axis=1)
        scores = mx.sym.FullyConnected(total, num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(scores, name="softmax"), ["data"], ["softmax_label"]

    module = Counted(net, 3, context=[mx.cpu(0)], fixed_param_names=["fc_bias"])
    module.bind([("data", (2, 3, 2))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    for length in (3, 2, 3):
        shape = (2, length, 2)
        batch = mx.io.DataBatch(
            [mx.nd.ones(shape)], [mx.nd.array([0, 1])], bucket_key=length,
            provide_data=[("data", shape)], provide_label=[("softmax_label", (2,))],
        )  # fmt: skip
        module.forward(batch)
    answers = [
        Counted.made,
        sorted(module._buckets),
        module._fixed_param_names,
        module._state_names,
    ]
    answers += [module.get_outputs()[0], module._buckets[2]._fixed_param_names]
    module._reset_bind()
    answers += [module.binded, len(module._buckets), module._curr_module is None]
    return answers


@question
def executor_managers(mx):
    """Loops of the first releases: each device updates its own parameters; buckets share them."""
    manager_module = importlib.import_module(mx.__name__ + ".executor_manager")
    net, names = small_net(mx), ["fc_weight", "fc_bias"]
    start = {"fc_weight": mx.nd.array([[0.1, 0.2], [-0.1, 0.05], [0.0, -0.2]]),
             "fc_bias": mx.nd.array([0.0, 0.1, -0.1])}  # fmt: skip
    answers = {}
    for title, count in (("one device", 1), ("two devices", 2)):
        contexts = [mx.cpu(i) for i in range(count)]
        iterator = small_iterator(mx, count=8)
        manager = manager_module.DataParallelExecutorManager(
            net, contexts, iterator, net.list_arguments(), names, []
        )
        manager.set_params(start, {})
        update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.01, momentum=0.9))
        metric = mx.metric.Accuracy()
        for batch in iterator:
            manager.load_data_batch(batch)
            manager.forward(is_train=True)
            manager.backward()
            for i, weights in enumerate(manager.param_arrays):
                grads = manager.grad_arrays[i]
                total = sum((g.as_in_context(mx.cpu()) for g in grads[1:]), grads[0].copy())
                for k, weight in enumerate(weights):
                    update(i * count + k, total.as_in_context(weight.context), weight)
            manager.update_metric(metric, batch.label)
        result = {n: mx.nd.zeros(v.shape) for n, v in start.items()}
        manager.copy_to(result, {})
        answers[title] = [result, metric.get()[1], len(manager.execgrp.train_execs)]

    class Buckets(mx.io.NDArrayIter):
        default_bucket_key = 2

    iterator = Buckets(mx.nd.ones((4, 2)), mx.nd.zeros((4,)), 4)
    manager = manager_module.DataParallelExecutorManager(
        net,
        [mx.cpu()],
        iterator,
        net.list_arguments(),
        names,
        [],
        sym_gen=lambda key: small_net(mx),
    )
    manager.set_params(start, {})
    for key in (2, 3):
        batch = iterator.next()
        batch.bucket_key = key
        batch.provide_data, batch.provide_label = iterator.provide_data, iterator.provide_label
        manager.load_data_batch(batch)
        manager.forward()
        iterator.reset()
    answers["buckets"] = [
        sorted(manager.execgrp_bucket),
        manager.curr_execgrp.train_execs[0].outputs[0],
        refusal(manager.install_monitor, mx.mon.Monitor(1)),
    ]
    return answers


@question
def names_with_prefix(mx):
    """A Prefix goes before given and automatic names of layers, not of variables."""
    with mx.name.Prefix("net_"):
        x = mx.sym.Variable("x")
        y = mx.sym.FullyConnected(x, num_hidden=1, name="fc")
        return mx.sym.Activation(y, act_type="relu").get_internals().list_outputs()


@question
def output_names(mx):
    """Names of outputs of layers with several, of groups, and of internals."""
    x = mx.sym.Variable("x")
    split = mx.sym.SliceChannel(x, num_outputs=3, name="split")
    norm = mx.sym.BatchNorm(x, name="norm", output_mean_var=True)
    group = mx.sym.Group([split[1], mx.sym.exp(x, name="e"), x])
    return {
        "split": split.list_outputs(),
        "one": split[1].list_outputs(),
        "norm": norm.list_outputs(),
        "norm_internals": norm.get_internals().list_outputs(),
        "group": group.list_outputs(),
        "count": len(group),
        "children": mx.sym.exp(split[0]).get_children().list_outputs(),
        "names": [split.name, group.name, x.name],
    }


@question
def parameters_that_are_none(mx):
    """They are attributes of the node: MXNet reads no file without those that it requires."""
    x = mx.sym.Variable("x")
    made = {
        "slice_axis": mx.sym.slice_axis(x, axis=1, begin=0, end=None),
        "sum": mx.sym.sum(x, axis=None),
        "convolution": mx.sym.Convolution(x, num_filter=2, kernel=(1, 1), cudnn_tune=None),
        "concat": mx.sym.Concat(x, x, dim=1, name=None),
        "dropout": mx.sym.Dropout(x, p=0.5),
    }
    return {name: sorted(symbol.list_attr().items()) for name, symbol in made.items()}


@question
def attributes(mx):
    """Scopes give attributes to what is made inside; on layers the names need underscores."""
    with mx.AttrScope(ctx_group="dev1", __mood__="calm"):
        a = mx.sym.Variable("a", attr={"__mood__": "wild"}, lr_mult=2.0, shape=(2, 3))
        with mx.AttrScope(ctx_group="dev2"):
            b = mx.sym.FullyConnected(a, num_hidden=4, name="b", attr={"__size__": "four"})
    return {
        "a": a.list_attr(),
        "b": b.list_attr(),
        "all": b.attr_dict(),
        "one": [a.attr("__mood__"), b.attr("ctx_group"), a.attr("nothing")],
        "names": [a.attr("name"), b.attr("name"), mx.sym.Group([a, b]).attr("name")],
        "bare": refusal(mx.sym.FullyConnected, a, num_hidden=4, attr={"size": "four"}),
    }


def places(arrays):
    """The contexts of arrays, by name or in order."""
    if isinstance(arrays, dict):
        return {n: None if a is None else str(a.context) for n, a in arrays.items()}
    return [str(a.context) for a in arrays]


@question
def edited_parameters(mx):
    """Edits of arrays of `get_params` last until a step, and reach devices by way of set_params."""

    def edited(steps=0, contexts=1):
        module = small_module(mx, context=[mx.cpu(i) for i in range(contexts)])
        module.init_optimizer(kvstore=None)
        for batch in list(small_iterator(mx, 4)) * steps:
            module.forward_backward(batch)
            module.update()
        module.get_params()[0]["fc_bias"][:] = 7
        return module

    def biases(module):
        own, kept = module._exec_group.param_arrays[1][0], module.get_params()[0]["fc_bias"]
        return [own.asnumpy().tolist(), kept.asnumpy().tolist()]

    shapes = [("data", (4, 2))], [("softmax_label", (4,))]
    given, again, rebound, reshaped, stepped, stored = [edited() for _ in range(6)]
    given.set_params(*given.get_params())
    again.init_params(None, *again.get_params(), force_init=True)
    rebound.bind(*shapes, force_rebind=True)
    reshaped.reshape([("data", (2, 2))], [("softmax_label", (2,))])
    stepped.forward_backward(next(small_iterator(mx)))
    stepped.update()
    stored.init_optimizer("local", force_init=True)
    several = edited(contexts=2)
    several.init_optimizer("local", force_init=True)
    with tempfile.TemporaryDirectory() as folder:
        edited(steps=1).save_checkpoint(folder + "/m", 1)
        saved = mx.model.load_checkpoint(folder + "/m", 1)[1]["fc_bias"]
        loaded = mx.mod.Module.load(folder + "/m", 1)
        loaded._arg_params["fc_bias"][:] = 9
        loaded.bind(*shapes)
        loaded._arg_params["fc_bias"][:] = 10
    modules = {
        "edited": edited(),
        "after a step": edited(1),
        "set": given,
        "initialized": again,
        "bound again": rebound,
        "reshaped": reshaped,
        "one context": stored,
        "a store of two contexts": several,
        "loaded": loaded,
        "another step": stepped,
    }
    same = given.get_params()[0] is given.get_params()[0] is given._arg_params
    return [saved, same, {what: biases(module) for what, module in modules.items()}]


@question
def views_and_copies(mx):
    """Basic keys of contiguous elements are views, with new axes too; `tostype` always copies."""

    def kind(make):
        array = mx.nd.array(np.arange(12).reshape(3, 4))
        made = make(array)
        made[:] = 99
        return [list(made.shape), np.flatnonzero(array.asnumpy() == 99)]

    new = None
    keys = {
        "None": new,
        ":, None": (slice(None), new),
        "0, None": (0, new),
        "None, 0, 1": (new, 0, 1),
        "None, 1:2": (new, slice(1, 2)),
        "..., None": (Ellipsis, new),
        "None, None": (new, new),
        "None, ..., 1": (new, Ellipsis, 1),
        "0:1:2": slice(0, 1, 2),
        "2:1:-1": slice(2, 1, -1),
        "::2": slice(None, None, 2),
        "[0, 1]": [0, 1],
    }
    found = {text: kind(lambda array, key=key: array[key]) for text, key in keys.items()}
    sparse = [mx.nd.ones((2, 2)).tostype(stype) for stype in ("csr", "row_sparse")]
    same = [array.tostype(array.stype) is array for array in sparse]
    return {**found, "tostype": kind(lambda array: array.tostype("default")), "sparse": same}


@question
def parts_of_lines(mx):
    """Parts of LibSVM files have about equal numbers of bytes."""
    lines = [f"{i} 1:{10 ** (i % 4)}\n" for i in range(11)]
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/lines"
        Path(path).write_text("".join(lines))
        made = {"data_libsvm": path, "data_shape": (4,), "batch_size": 1}
        parts = [(k, count) for count in (1, 2, 3, 4) for k in range(count)]
        its = [mx.io.LibSVMIter(part_index=k, num_parts=count, **made) for k, count in parts]
        return [[batch.label[0].asscalar() for batch in it] for it in its]


@question
def binary_metrics_of_more_axes(mx):
    """F1 and MCC take classes along axis 1 of outputs of more axes."""
    values = np.random.RandomState(3)
    found = []
    for label, output in (((2, 2), (2, 2, 2)), ((3, 4), (3, 5, 4)), ((2, 2, 2), (2, 2, 2, 2))):
        arrays = mx.nd.array(values.randint(0, 2, label)), mx.nd.array(values.rand(*output))
        for metric in (mx.metric.F1(), mx.metric.MCC(), mx.metric.F1(average="micro")):
            metric.update([arrays[0]], [arrays[1]])
            found.append(metric.get()[1])
    short = [mx.nd.ones((4,))], [mx.nd.ones((2, 2, 2))]
    return [found, refusal(mx.metric.F1().update, *short)]


@question
def narrow_numbers(mx):
    """Numbers outside of 8 bits go around; a type of None is float32."""
    values, found = [1.7, -1.7, 300, -300, 70000, 127.5, 255.9, -0.5], []
    for kind in ("uint8", "int8"):
        array = mx.nd.array(values, dtype="float64")
        found += [array.astype(kind), mx.nd.full((1,), 300, dtype=kind)]
        found.append(mx.nd.full((1,), -1, dtype=kind))
    none = mx.nd.ones((1,), dtype="float64").astype(None)
    return [plain(found), np.dtype(none.dtype).name]


@question
def contexts_apart(mx):
    """Without a store each context trains parameters of its own; `get_params` has their mean."""
    shapes, weights = [("data", (4, 2))], [("softmax_label", (4,))]
    rule = {"learning_rate": 0.5, "momentum": 0.9}

    def module(others, **settings):
        made = small_module(mx, context=[mx.cpu(0), *map(mx.cpu, others)], **settings)
        made.init_optimizer(None, "sgd", rule)
        return made

    def train(made, steps=3, size=4):
        batches = list(small_iterator(mx, 12, size))
        for batch in batches[:steps]:
            made.forward_backward(batch)
            made.update()
        return made

    def arrays(made):
        return [plain(made._exec_group.param_arrays), plain(made.get_params()[0])]

    averaged, stored, reshaped = [train(module([1])) for _ in range(3)]
    averaged.set_params(*averaged.get_params())
    stored.init_optimizer("local", "sgd", rule, force_init=True)
    reshaped.reshape([("data", (2, 2))], [("softmax_label", (2,))])
    scored = train(module([1]))
    scored.forward(next(small_iterator(mx)), is_train=False)
    fitted = small_module(mx, context=[mx.cpu(0), mx.cpu(1)])
    fitted.fit(small_iterator(mx, 12), num_epoch=3, kvstore=None, optimizer_params=rule)
    other = mx.mod.Module(small_net(mx), context=[mx.cpu(0), mx.cpu(1)])
    other.bind([("data", (2, 2))], [("softmax_label", (2,))], shared_module=reshaped)
    with tempfile.TemporaryDirectory() as folder:
        train(module([1])).save_optimizer_states(folder + "/states")
        loaded = module([1])
        loaded.load_optimizer_states(folder + "/states")
    rebound = train(module([1]))
    rebound.get_params()
    rebound.bind(shapes, weights, force_rebind=True)
    return {
        "two": arrays(train(module([1]))),
        "of one device": arrays(train(module([8]))),
        "uneven": arrays(train(module([1], work_load_list=[1, 3]))),
        "go on": arrays(train(averaged)),
        "with a store": arrays(train(stored)),
        "of other shapes": arrays(train(reshaped, 1, 2)),
        "of another module": arrays(train(other, 1, 2)),
        "with states": arrays(train(loaded)),
        "bound again": arrays(train(rebound)),
        "fitted": arrays(fitted),
        "outputs": scored.get_outputs()[0],
    }


@question
def layouts_of_recurrent_networks(mx):
    """Shapes of outputs of unrolled cells; a fused one takes steps along axis 0 or 1."""

    def shape(make, layout):
        outputs, _ = make(3).unroll(2, mx.sym.Variable("d"), layout=layout, merge_outputs=True)
        return list(outputs.infer_shape(d=(2, 2, 2))[1][0])

    cells = mx.rnn.LSTMCell, mx.rnn.FusedRNNCell
    plain_shapes = [[shape(make, layout) for layout in ("NTC", "TNC")] for make in cells]
    refused = [refusal(shape, mx.rnn.FusedRNNCell, layout) for layout in ("NCT", "XYZ")]
    return [plain_shapes, shape(mx.rnn.LSTMCell, "NCT"), refused]


@question
def order_of_unpacked_weights(mx):
    """Names as files of `do_rnn_checkpoint` have them: the weight of a gate beside its bias."""
    joint = {f"g_{s}_{k}": mx.nd.ones((6, 2)) for k in ("weight", "bias") for s in ("h2h", "i2h")}
    cell = mx.rnn.GRUCell(2, prefix="g_")
    unpacked = cell.unpack_weights(dict(joint, fc_bias=mx.nd.ones(1)))
    return [list(unpacked), list(cell.pack_weights(unpacked))]


@question
def parameters_that_the_net_lacks(mx):
    """FeedForward trains without them, and does not predict."""
    extra, data = {"other": mx.nd.ones((1,))}, np.ones((4, 2))
    one = mx.model.FeedForward(
        small_net(mx), num_epoch=1, arg_params=extra, aux_params=extra, numpy_batch_size=2
    )
    one.fit(data, np.zeros(4))
    known = sorted(one.arg_params), sorted(one.aux_params)
    one.arg_params.update(extra)
    return [known, refusal(one.predict, data)]


GROUPS = {"one": 1, "two": 2}


@question
def group_contexts(mx):
    """Nodes of a group are on its context, and those of none beside their first input."""
    groups = {name: mx.cpu(i) for name, i in GROUPS.items()}
    x, v = mx.sym.Variable("x"), mx.sym.Variable("v")
    with mx.AttrScope(ctx_group="one"):
        y = x * 2
        z = mx.sym.Variable("z")
    with mx.AttrScope(ctx_group="two"):
        w = x * 3 + z
    made = mx.sym.zeros((2,))
    net = mx.sym.Group([y, w, y + w, x + w, w + x, made, made + w, v + y, z * 2])
    given = {"x": (2,), "v": (2,), "z": (2,)}
    executor = net.simple_bind(mx.cpu(0), grad_req="null", group2ctx=groups, **given)
    for name, value in (("x", 1), ("v", 5), ("z", 7)):
        executor.arg_dict[name][:] = value
    executor.forward()
    lacking = {"one": mx.cpu(1)}
    return {
        "arguments": places(executor.arg_dict),
        "outputs": places(executor.outputs),
        "values": [out.asnumpy() for out in executor.outputs],
        "a group is lacking": refusal(
            net.simple_bind, mx.cpu(0), grad_req="null", group2ctx=lacking, **given
        ),
        "no groups": places(net.simple_bind(mx.cpu(3), grad_req="null", **given).arg_dict),
    }


def two_layers(mx):
    """A network with a layer a group."""
    with mx.AttrScope(ctx_group="one"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="a")
        net = mx.sym.BatchNorm(net, name="norm", fix_gamma=False)
        net = mx.sym.Activation(net, act_type="tanh")
    with mx.AttrScope(ctx_group="two"):
        net = mx.sym.FullyConnected(net, num_hidden=3, name="b")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def groups_trained(mx, context, groups):
    """Where a module's arrays are, and its parameters after some steps."""
    module = mx.mod.Module(two_layers(mx), context=context, group2ctxs=groups)
    rows = np.linspace(-1, 1, 40).reshape(8, 5) ** 2
    data = mx.io.NDArrayIter(rows, np.arange(8) % 3, 8)
    module.bind(data.provide_data, data.provide_label)
    names = ("a_weight", "b_weight")
    weights = {n: np.cos(np.arange(20 - 8 * i)).reshape(-1, 5 - i) for i, n in enumerate(names)}
    weights = {n: mx.nd.array(w) for n, w in weights.items()}
    module.init_params(mx.init.Uniform(0), weights, allow_missing=True)
    module.init_optimizer(optimizer_params={"learning_rate": 0.3, "momentum": 0.9})
    for _ in range(6):
        data.reset()
        module.forward_backward(data.next())
        module.update()
    executors = module._exec_group.execs
    return {
        "arguments": [places(each.arg_dict) for each in executors],
        "gradients": [places(each.grad_dict) for each in executors],
        "states": [places(each.aux_dict) for each in executors],
        "outputs": [places(each.outputs) for each in executors],
        "joined": places(module.get_outputs()),
        "params": list(map(dict, module.get_params())),
    }


@question
def module_groups(mx):
    """A module with layers on several contexts, alone and as replicas."""
    groups = {name: mx.cpu(i) for name, i in GROUPS.items()}
    other = {"one": mx.cpu(3), "two": mx.cpu(0)}
    both = [mx.cpu(0), mx.cpu(1)]
    mixed = {"one": both, "two": mx.cpu(2)}
    return {
        "one": groups_trained(mx, mx.cpu(0), groups),
        "a list": groups_trained(mx, mx.cpu(0), [groups]),
        "replicas": groups_trained(mx, both, [groups, other]),
        "a list for a group": groups_trained(mx, both, mixed),
        "too few": refusal(groups_trained, mx, both, [groups]),
        "too many": refusal(groups_trained, mx, mx.cpu(0), {"one": both * 2, "two": both}),
        "no groups": refusal(groups_trained, mx, mx.cpu(0), 3),
    }


@question
def composition(mx):
    """A symbol called with another in place of its variable: by name only."""
    with mx.name.NameManager():
        inner = mx.sym.FullyConnected(mx.sym.Variable("z"), num_hidden=2, name="inner")
        outer = mx.sym.FullyConnected(mx.sym.Variable("w"), num_hidden=3, name="outer")
        by_name = outer(w=inner, name="joined")
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    groups = [
        mx.sym.Group([a, b]),
        mx.sym.Group([a, mx.sym.dot(a, b, name="product")]),
        outer.get_internals(),
    ]
    found = [net(**{net.list_arguments()[0]: mx.sym.Variable("new")}) for net in groups]
    return {
        "of groups that begin with a variable": [
            [net.list_arguments(), net.list_outputs()[:2]] for net in (*found, groups[0](a=b))
        ],
        "of a variable": refusal(a, a=b),
        "by_name": [by_name.list_arguments(), by_name.list_outputs()],
        "by_position": refusal(outer, inner),
        "unchanged": outer.list_arguments(),
    }


@question
def schedules(mx):
    """The rate at each count of updates."""
    counts = range(31)
    make = mx.lr_scheduler
    table = {
        "factor": make.FactorScheduler(step=5, factor=0.5, base_lr=1.0),
        "factor_stop": make.FactorScheduler(step=5, factor=0.5, base_lr=1.0, stop_factor_lr=0.2),
        "multifactor": make.MultiFactorScheduler(step=[3, 10, 20], factor=0.1, base_lr=1.0),
        "poly": make.PolyScheduler(max_update=20, base_lr=1.0, pwr=2, final_lr=0.1),
        "cosine": make.CosineScheduler(max_update=20, base_lr=1.0, final_lr=0.1),
        "factor_warm": make.FactorScheduler(
            step=5, factor=0.5, base_lr=1.0, warmup_steps=8, warmup_begin_lr=0.2
        ),
        "poly_warm": make.PolyScheduler(
            max_update=20, base_lr=1.0, warmup_steps=6, warmup_begin_lr=0.1
        ),
        "cosine_constant": make.CosineScheduler(
            max_update=20,
            base_lr=1.0,
            warmup_steps=6,
            warmup_begin_lr=0.1,
            warmup_mode="constant",
        ),
    }
    return {name: [schedule(n) for n in counts] for name, schedule in table.items()}


@question
def iterator_last_batch(mx):
    """Two epochs of ten rows by fours, for each way to treat the last batch."""
    answer = {}
    for policy in ("pad", "discard", "roll_over"):
        batches = small_iterator(mx, last_batch_handle=policy)
        epochs = []
        for _ in range(3):
            epochs.append([[b.data[0][:, 0], b.label[0], b.pad] for b in batches])
            batches.reset()
        answer[policy] = epochs
    return answer


@question
def iterator_descriptions(mx):
    """The descriptions of iterators; several arrays; names given and by default."""
    one = small_iterator(mx)
    many = mx.io.NDArrayIter(
        {"b": np.zeros((6, 2)), "a": np.zeros((6, 3, 1))},
        {"y": np.zeros((6,))},
        batch_size=3,
    )
    listed = mx.io.NDArrayIter([np.zeros((6, 2)), np.zeros((6, 3))], batch_size=3)
    described = {}
    for name, batches in (("one", one), ("many", many), ("listed", listed)):
        described[name] = [
            [[d.name, d.shape, np.dtype(d.dtype).name, d.layout] for d in batches.provide_data],
            [[d.name, d.shape] for d in batches.provide_label],
            batches.batch_size,
        ]
    return described


@question
def data_desc(mx):
    """DataDesc is a pair of name and shape, with more beside; the batch axis is where N is."""
    desc = mx.io.DataDesc("data", (2, 3), "float16", "NT")
    axis = mx.io.DataDesc.get_batch_axis
    return {
        "pair": list(desc),
        "more": [np.dtype(desc.dtype).name, desc.layout],
        "axes": [axis("NCHW"), axis("TNC"), axis(None)],
        "equal": mx.io.DataDesc("a", (1,)) == ("a", (1,)),
        "text": repr(mx.io.DataDesc("data", (2, 3))),
    }


@question
def resized_iterator(mx):
    """ResizeIter cuts and repeats; PrefetchingIter changes nothing."""
    longer = mx.io.ResizeIter(small_iterator(mx), 5)
    prefetched = mx.io.PrefetchingIter(small_iterator(mx))
    return {
        "longer": [b.data[0][:, 0] for b in longer],
        "prefetched": [[b.data[0][:, 0], b.pad] for b in prefetched],
    }


@question
def metrics(mx):
    """Names and values after two updates, the second with other labels."""
    rows = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.5, 0.4, 0.1]])
    binary = np.array([[0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9]])
    flat = np.array([[1.5], [2.0], [-0.5], [0.0]])
    cases = {
        "acc": (mx.metric.create("acc"), rows, ([0, 1, 1, 0], [2, 1, 2, 1])),
        "top_k": (mx.metric.create("top_k_accuracy", top_k=2), rows, ([1, 1, 1, 2], [2, 1, 2, 1])),
        "f1": (mx.metric.create("f1"), binary, ([0, 1, 1, 1], [0, 0, 0, 1])),
        "f1_micro": (mx.metric.F1(average="micro"), binary, ([0, 1, 1, 1], [0, 0, 0, 1])),
        "mcc": (mx.metric.create("mcc"), binary, ([0, 1, 1, 1], [0, 0, 0, 1])),
        "ce": (mx.metric.create("ce"), rows, ([0, 1, 1, 0], [2, 1, 2, 1])),
        "nll": (mx.metric.create("nll_loss"), rows, ([0, 1, 1, 0], [2, 1, 2, 1])),
        "perplexity": (
            mx.metric.Perplexity(ignore_label=0),
            rows,
            ([0, 1, 1, 0], [2, 1, 2, 1]),
        ),
        "mae": (mx.metric.create("mae"), flat, ([1, 2, 3, 4], [0, 0, 0, 0])),
        "mse": (mx.metric.create("mse"), flat, ([1, 2, 3, 4], [0, 0, 0, 0])),
        "rmse": (mx.metric.create("rmse"), flat, ([1, 2, 3, 4], [0, 0, 0, 0])),
        "pearsonr": (
            mx.metric.create("pearsonr"),
            flat,
            ([[1], [2], [3], [4]], [[4], [1], [0], [2]]),
        ),
        "loss": (mx.metric.create("loss"), flat, ([1, 2, 3, 4], [0, 0, 0, 0])),
        "composite": (mx.metric.create(["acc", "ce"]), rows, ([0, 1, 1, 0], [2, 1, 2, 1])),
    }
    answer = {}
    for name, (metric, predictions, labels) in cases.items():
        values = [metric.get()]
        for label in labels:
            metric.update([mx.nd.array(label)], [mx.nd.array(predictions)])
            values.append(metric.get())
        metric.reset()
        answer[name] = [*values, metric.get(), metric.get_name_value()]
    return answer


@question
def custom_metric(mx):
    """A function as a metric: it has the function's name, and may give a sum and a count."""

    def furthest(label, pred):
        return float(np.abs(label - pred[:, 0]).max())

    def total(label, pred):
        return float(label.sum()), label.size

    answer = []
    for metric in (mx.metric.np(furthest), mx.metric.CustomMetric(total, name="total")):
        for label in ([1, 2], [3, 8]):
            metric.update([mx.nd.array(label)], [mx.nd.array([[0.0], [1.0]])])
        answer.append(metric.get())
    return answer


@question
def prediction_leaves_the_padding_out(mx):
    """`predict` joins batches and drops the padding; `iter_predict` and `score` know of it too."""
    module, batches = small_module(mx), small_iterator(mx)
    joined = module.predict(batches)
    parts = module.predict(batches, merge_batches=False)
    pieces = [
        [[o.shape for o in outputs], i, batch.pad]
        for outputs, i, batch in module.iter_predict(batches)
    ]
    return {
        "joined": joined,
        "parts": [[o.shape for o in outputs] for outputs in parts],
        "iterated": pieces,
        "two_batches": module.predict(batches, num_batch=2).shape,
        "score": module.score(batches, "acc"),
        "score_of_two": module.score(batches, ["acc", "ce"], num_batch=2),
    }


@question
def fit_calls_back_in_order(mx):
    """The calls of `fit`, with their counts, over two epochs and a validation set."""
    calls = []

    def batch_end(param):
        name, value = param.eval_metric.get()
        calls.append(["batch", param.epoch, param.nbatch, name, round(value, 5)])

    def epoch_end(epoch, symbol, args, aux):
        calls.append(["epoch", epoch, symbol.list_outputs(), sorted(args), sorted(aux)])

    def eval_batch_end(param):
        calls.append(["eval batch", param.epoch, param.nbatch])

    def eval_end(param):
        calls.append(["eval", param.epoch, param.nbatch, round(param.eval_metric.get()[1], 5)])

    small_module(mx).fit(
        small_iterator(mx),
        eval_data=small_iterator(mx, count=6, batch=4),
        optimizer_params={"learning_rate": 0.01},
        num_epoch=3,
        begin_epoch=1,
        batch_end_callback=[batch_end],
        epoch_end_callback=epoch_end,
        eval_end_callback=eval_end,
        eval_batch_end_callback=eval_batch_end,
    )
    return calls


@question
def training_with_padding(mx):
    """Three updates, the last on a padded batch: the padding counts, and the rate is per batch."""
    module = small_module(mx)
    module.init_optimizer(optimizer_params={"learning_rate": 0.01})
    for batch in small_iterator(mx):
        module.forward_backward(batch)
        module.update()
    args, _ = module.get_params()
    return args


@question
def gradients_of_inputs(mx):
    """Gradients of the inputs where asked for; a fixed parameter stays."""
    batch = small_iterator(mx).next()
    module = mx.mod.Module(small_net(mx), fixed_param_names=["fc_bias"])
    module.bind(
        data_shapes=[("data", (4, 2))],
        label_shapes=[("softmax_label", (4,))],
        inputs_need_grad=True,
    )
    source = small_module(mx)
    module.set_params(*source.get_params())
    module.forward_backward(batch)
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    before = module.get_params()[0]["fc_bias"].asnumpy()
    module.update()
    return {
        "input": module.get_input_grads()[0],
        "weight": module.get_params()[0]["fc_weight"],
        "bias_stays": bool((before == module.get_params()[0]["fc_bias"].asnumpy()).all()),
    }


@question
def numbers_as_text(mx):
    """Weights after an update by an optimizer whose parameters are texts, as of a YAML file."""
    found = {}
    for name, settings in (
        ("sgd", {"clip_gradient": "0.2", "rescale_grad": "2"}),
        ("adam", {"epsilon": "1e-3", "clip_gradient": "0.2"}),
        ("rmsprop", {"gamma1": ".5", "gamma2": ".7", "epsilon": "1e-3", "clip_weights": "0.3"}),
        ("ftrl", {"lamda1": "0.1", "beta": "2"}),
        ("signum", {"wd_lh": "0.1"}),
        ("lamb", {"lower_bound": "0.1", "upper_bound": "1", "epsilon": "1e-3"}),
    ):
        optimizer = mx.optimizer.create(name, learning_rate=0.1, **settings)
        weight = mx.nd.array([0.5, -0.3, 0.1])
        state = optimizer.create_state(0, weight)
        optimizer.update(0, weight, mx.nd.array([0.1, -0.4, 0.3]), state)
        found[name] = weight
    return found


@question
def heads_of_contexts(mx):
    """Gradients of outputs that are no losses, by their shapes, on one context and on two."""
    found = {}
    for count in (1, 2):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
        contexts = [mx.cpu(i) for i in range(count)]
        module = mx.mod.Module(net, label_names=None, context=contexts)
        module.bind([("data", (4, 2))], inputs_need_grad=True)
        module.init_params(mx.init.One())
        module.forward(mx.io.DataBatch([mx.nd.ones((4, 2))], []), is_train=True)
        for shape in ((4, 3), (7, 7), (4, 7), (3, 4), (12,)):
            head = [mx.nd.ones(shape)]

            def read(module=module, head=head):
                module.backward(head)
                return module.get_input_grads()[0].asnumpy()

            found[f"{count} {shape}"] = refusal(read)
        module.backward([mx.nd.ones((4, 3))])
        found[f"{count} gradient"] = module.get_input_grads()[0]
    return found


@question
def symbols_of_buckets(mx):
    """`load_dict` has the symbols of its dictionary, and the names that ``sym_gen`` gives."""

    def generate(length, factor=1):
        data = mx.sym.Variable("data")
        net = mx.sym.FullyConnected(mx.sym.sum(data * factor, axis=1, keepdims=True), num_hidden=2)
        return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]

    def describe(length):
        return [mx.io.DataDesc("data", (2, length))], [mx.io.DataDesc("softmax_label", (2,))]

    with mx.name.NameManager():
        first = generate(3, 5)[0]
    name = first.list_arguments()[1][: -len("_weight")]
    values = {f"{name}_weight": np.array([[0.1], [0.3]]), f"{name}_bias": np.array([0.1, 0.2])}

    def named(length):
        with mx.name.NameManager():
            return generate(length)

    module = mx.mod.BucketingModule.load_dict(
        {3: first},
        named,
        3,
        arg_params={key: mx.nd.array(value) for key, value in values.items()},
        aux_params={},
    )
    module.bind(*describe(3))
    outputs = []
    for length in (3, 2):
        data, label = describe(length)
        module.forward(
            mx.io.DataBatch(
                [mx.nd.ones((2, length))],
                [mx.nd.array([0, 1])],
                bucket_key=length,
                provide_data=data,
                provide_label=label,
            ),
            is_train=False,
        )
        outputs.append(module.get_outputs()[0].asnumpy())
    return outputs


@question
def order_of_calls(mx):
    """The errors when a step is left out."""
    module = mx.mod.Module(small_net(mx))
    answer = {
        "init_params": refusal(module.init_params),
        "forward": refusal(module.forward, small_iterator(mx).next()),
        "get_params": refusal(module.get_params),
        "shapes": refusal(lambda: module.data_shapes),
        "unknown data": refusal(mx.mod.Module, small_net(mx), data_names=["other"]),
        "unknown fixed": refusal(mx.mod.Module, small_net(mx), fixed_param_names=["other"]),
    }
    module.bind(data_shapes=[("data", (4, 2))], label_shapes=[("softmax_label", (4,))])
    answer["bound"] = [module.binded, module.params_initialized, module.optimizer_initialized]
    answer["init_optimizer"] = refusal(module.init_optimizer)
    answer["missing"] = refusal(
        module.init_params, arg_params={}, aux_params={}, allow_missing=False
    )
    module.init_params()
    answer["update"] = refusal(module.update)
    answer["extra"] = refusal(module.set_params, {"odd": mx.nd.zeros((1,))}, {}, True)
    return answer


@question
def stores(mx):
    """Sums of what is pushed; an updater; keys as numbers and as words; several keys at once."""
    ones = mx.nd.ones((2,))
    store = mx.kv.create("local")
    store.init(3, ones)
    out = mx.nd.zeros((2,))
    answer = {"type": store.type, "rank": store.rank, "workers": store.num_workers}
    store.pull(3, out=out)
    answer["initial"] = out.asnumpy()
    store.push(3, [ones, ones * 2, ones * 3])
    store.pull(3, out=out)
    answer["sum"] = out.asnumpy()
    store.push(3, ones * 7)
    store.pull(3, out=out)
    answer["replaced"] = out.asnumpy()
    words = mx.kv.create("device")
    words.init(["a", "b"], [ones, ones * 4])
    words._set_updater(lambda key, pushed, stored: stored.__iadd__(pushed * 10))
    words.push(["a", "b"], [[ones, ones], [ones, ones * 2]])
    first, second = mx.nd.zeros((2,)), mx.nd.zeros((2,))
    words.pull(["a", "b"], out=[first, second])
    answer["updated"] = [first, second]
    answer["unknown"] = refusal(words.pull, "c", out=out)
    answer["unknown type"] = refusal(mx.kv.create, "nothing")
    return answer


@question
def array_semantics(mx):
    """Views, copies, types of results, division and comparison."""
    base = mx.nd.array(np.arange(12).reshape(3, 4))
    row, part, turned = base[1], base[0:2], base.reshape((4, 3))
    row[:] = -1
    part[0] = 7
    answer = {"written_through": base.asnumpy(), "reshaped_sees": turned.asnumpy()}
    picked = base[mx.nd.array([0, 2])]
    picked[:] = 100
    answer["picked_is_a_copy"] = base.asnumpy()
    whole = mx.nd.array([7, -7], dtype="int32")
    answer.update(
        types={
            "list": np.dtype(mx.nd.array([1, 2]).dtype).name,
            "float64": np.dtype(mx.nd.array(np.zeros(2)).dtype).name,
            "int64": np.dtype(mx.nd.array(np.zeros(2, np.int64)).dtype).name,
            "compared": np.dtype((base > 1).dtype).name,
            "divided": np.dtype((whole / 2).dtype).name,
        },
        divided=whole / 2,
        remainder=mx.nd.array([7, -7, 7.5]) % mx.nd.array([3, 3, -2]),
        remainder_of_number=10 % mx.nd.array([3, -3]),
        compared=mx.nd.array([1, 2, 3]) >= 2,
        equal=mx.nd.array([1, 2]) == mx.nd.array([1, 3]),
        truth=[bool(mx.nd.array([0.5])), refusal(bool, mx.nd.array([1, 2]))],
        scalar=mx.nd.array([2.5]).asscalar(),
        refused=refusal(mx.nd.array([1, 2]).asscalar),
        text=repr(mx.nd.array([[1, 2], [3, 4]])),
        length=len(base),
        rows=[list(r.shape) for r in base],
    )
    return answer


@question
def initial_values(mx):
    """Those initial values that are not random, by the name of the parameter."""
    answer = {}
    names = ("fc_weight", "fc_bias", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var")
    for name in names:
        array = mx.nd.ones((2, 2)) * 5
        refused = refusal(mx.init.Constant(3), mx.init.InitDesc(name), array)
        answer[name] = refused or array
    array = mx.nd.zeros((8,))
    mx.init.LSTMBias(forget_bias=2.0)(mx.init.InitDesc("x_weight"), array)
    answer["lstm_bias"] = array
    array = mx.nd.zeros((1, 1, 4, 4))
    mx.init.Bilinear()(mx.init.InitDesc("x_weight"), array)
    answer["bilinear"] = array
    mixed = mx.init.Mixed(["bias", ".*"], [mx.init.Zero(), mx.init.One()])
    for name in ("a_bias", "a_weight"):
        array = mx.nd.ones((2,)) * 5
        mixed(mx.init.InitDesc(name), array)
        answer["mixed " + name] = array
    answer["unknown name"] = refusal(
        mx.init.Uniform(), mx.init.InitDesc("strange"), mx.nd.zeros((2,))
    )
    answer["text"] = mx.init.Xavier(magnitude=2).dumps()
    return answer


@question
def multipliers(mx):
    """Whose weights decay, and at which rate each parameter learns."""
    names = dict(enumerate(("fc_weight", "fc_bias", "bn_gamma", "bn_beta", "embed", "x_weight")))
    optimizer = mx.optimizer.create(
        "sgd", learning_rate=1.0, wd=0.5, param_idx2name=names, rescale_grad=0.0
    )
    optimizer.set_lr_mult({"x_weight": 0.5})
    update = mx.optimizer.get_updater(optimizer)
    answer = {}
    for index, name in names.items():
        weight = mx.nd.ones((1,))
        update(index, mx.nd.ones((1,)), weight)
        answer[name] = weight
    optimizer.set_wd_mult({"fc_bias": 2.0})
    update(1, mx.nd.ones((1,)), weight)
    answer["bias with decay"] = weight
    return answer


@question
def buckets(mx):
    """A BucketingModule: the parameters are one set, whichever bucket trained them."""

    def generate(length):
        data = mx.sym.Variable("data")
        rows = mx.sym.Embedding(data, input_dim=5, output_dim=2, name="embed")
        net = mx.sym.FullyConnected(mx.sym.sum(rows, axis=1), num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]

    def describe(length):
        data = [mx.io.DataDesc("data", (2, length))]
        return data, [mx.io.DataDesc("softmax_label", (2,))]

    module = mx.mod.BucketingModule(generate, default_bucket_key=4)
    module.bind(*describe(4))
    values = {
        "embed_weight": np.linspace(-1, 1, 10).reshape(5, 2),
        "fc_weight": np.array([[0.5, -0.2], [0.1, 0.3]]),
        "fc_bias": np.array([0.1, 0.0]),
    }
    module.init_params(arg_params={key: mx.nd.array(value) for key, value in values.items()})
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    outputs = []
    for length in (4, 2, 3, 4):
        data, label = describe(length)
        batch = mx.io.DataBatch(
            [mx.nd.array(np.arange(2 * length).reshape(2, length) % 5)],
            [mx.nd.array([0, 1])],
            bucket_key=length,
            provide_data=data,
            provide_label=label,
        )
        module.forward_backward(batch)
        module.update()
        outputs.append(module.get_outputs()[0].asnumpy())
    return {"outputs": outputs, "params": module.get_params()[0]}


@question
def what_callbacks_can_read(mx):
    """The ``locals`` of a callback: names that users read, and their values."""
    module = mx.mod.Module(small_net(mx))
    iterator = small_iterator(mx, count=8)
    fitted, scored = [], []

    def batch_end(param):
        known = param.locals
        names = ("epoch", "nbatch", "num_epoch", "begin_epoch", "end_of_batch", "optimizer",
                 "optimizer_params", "monitor", "kvstore", "validation_metric")  # fmt: skip
        fitted.append({name: known[name] for name in names})
        fitted[-1]["own"] = [
            known["self"] is module,
            known["train_data"] is known["eval_data"] is iterator,
            known["eval_metric"] is param.eval_metric,
            known["data_batch"].data[0].shape,
            known["tic"] > 0,
            known["data_iter"] is iterator,
            known["next_data_batch"] is known["data_batch"],
            [value for _, value in known.get("eval_name_vals", ())] == [param.eval_metric.get()[1]],
            known["batch_end_callback"] is batch_end,
        ]
        fitted[-1]["given"] = {
            name: known[name]
            for name in ("arg_params", "aux_params", "allow_missing", "force_rebind", "force_init",
                         "sparse_row_id_fn", "epoch_end_callback", "eval_end_callback",
                         "eval_batch_end_callback")
        }  # fmt: skip

    def eval_end(param):
        known = param.locals
        names = ("epoch", "nbatch", "num_batch", "reset", "actual_num_batch")
        scored.append({name: known[name] for name in names})
        scored[-1]["own"] = [known["self"] is module, known["eval_data"] is iterator]
        scored[-1]["own"] += [known["eval_batch"].data[0].shape]
        scored[-1]["own"] += [known["batch_end_callback"] is eval_end]
        scored[-1]["own"] += [known["score_end_callback"], known["sparse_row_id_fn"]]

    module.fit(iterator, iterator, num_epoch=1, batch_end_callback=batch_end)
    module.score(iterator, "acc", batch_end_callback=eval_end)
    return {"fit": fitted, "score": scored}


@question
def arrays_of_a_group(mx):
    """Arrays of a module as programs find them: with a fixed parameter, and for inference."""
    fixed = mx.mod.Module(small_net(mx), fixed_param_names=["fc_weight"])
    fixed.bind([("data", (4, 2))], [("softmax_label", (4,))])
    fixed.init_params(mx.init.One())
    group = fixed._exec_group
    inference = mx.mod.Module(small_net(mx))
    inference.bind([("data", (4, 2))], [("softmax_label", (4,))], for_training=False)
    inference.init_params(mx.init.One())
    return {
        "before bind": mx.mod.Module(small_net(mx))._arg_params,
        "args": fixed._arg_params,
        "aux": fixed._aux_params,
        "params": [[array.shape for array in each] for each in group.param_arrays],
        "grads": [[getattr(array, "shape", None) for array in each] for each in group.grad_arrays],
        "grads of inference": inference._exec_group.grad_arrays,
        "backward of inference": refusal(inference.backward),
        "prepare before bind": refusal(mx.mod.Module(small_net(mx)).prepare, None),
    }


@question
def refused_names(mx):
    """Names that nothing is registered under."""
    return {
        "metric": refusal(mx.metric.create, "nonsense"),
        "metric None": refusal(mx.metric.create, None),
        "metric 5": refusal(mx.metric.create, 5),
        "initializer": refusal(mx.initializer.create, "nonsense"),
        "initializer 5": refusal(mx.initializer.create, 5),
        "optimizer": refusal(mx.optimizer.create, "nonsense"),
        "context": refusal(mx.Context, "nonsense"),
        "context 7": refusal(mx.Context, 7),
        "seed of a context": refusal(mx.random.seed, 1, ctx="nonsense"),
    }


@question
def refused_arguments(mx):
    """Arguments that are of a wrong kind, or do not go together."""
    array, desc = mx.nd.ones((2, 3)), mx.init.InitDesc("fc_weight")
    load = mx.init.Load({"fc_weight": mx.nd.ones((2,))})
    empty = mx.mod.Module(small_net(mx))
    empty.bind([("data", (4, 2))], [("softmax_label", (4,))])
    return {
        "no values, no initializer": refusal(empty.init_params, None),
        "nothing to set": refusal(empty.set_params, None, None),
        "seed": refusal(mx.random.seed, 3.5),
        "value": refusal(mx.nd.full, (2,), "a"),
        "index by a word": refusal(lambda: array["a"]),
        "index by a float": refusal(lambda: array[1.5]),
        "index outside": refusal(lambda: array[5]),
        "no shape": refusal(array.reshape),
        "nothing to join": refusal(mx.nd.concatenate, []),
        "array and number": refusal(mx.nd.random.uniform, mx.nd.zeros((2,)), 1),
        "number for an input": refusal(mx.nd.exp, 5),
        "mixed without initializers": refusal(mx.init.Mixed, ["a"], []),
        "loaded shape": refusal(load, desc, mx.nd.ones((3,))),
        "nothing loaded": refusal(load, mx.init.InitDesc("other_weight"), mx.nd.ones((3,))),
        "top 1": refusal(mx.metric.TopKAccuracy, 1),
        "labels without outputs": refusal(
            mx.metric.create("ce").update, [mx.nd.array([0, 1, 0])], [mx.nd.ones((2, 2))]
        ),
        "no iterators": refusal(mx.io.PrefetchingIter, []),
        "no data": refusal(mx.io.NDArrayIter, []),
        "work loads": refusal(
            mx.mod.Module, small_net(mx), context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1]
        ),
        "batch sizes": refusal(
            mx.mod.Module(small_net(mx)).bind, [("data", (4, 2))], [("softmax_label", (5,))]
        ),
        "gradient for a loss": refusal(mx.mod.PythonLossModule().backward, [array]),
        "unknown meta": refusal(
            mx.mod.SequentialModule().add, mx.mod.Module(small_net(mx)), nonsense=True
        ),
    }


@question
def shapes_from_the_output(mx):
    """Of operators that keep the shape: the input's, from what the output is added to."""
    whole = mx.sym.Variable("whole", shape=(2, 3))
    names = ("softmin", "log_softmax", "SoftmaxActivation", "relu", "BlockGrad", "clip")
    answers = {}
    for name in names:
        limits = {"a_min": 0, "a_max": 1} if name == "clip" else {}
        made = getattr(mx.sym, name)(mx.sym.Variable("x"), **limits) + whole
        answers[name] = made.infer_shape_partial()[0]
    return answers


@question
def refused_by_the_core(mx):
    """Refusals of MXNet's core: its own error, with any other class."""
    error = mx.base.MXNetError
    calls = {
        "word": lambda: mx.nd.ones("a"),
        "negative": lambda: mx.nd.ones(-1),
        "fraction": lambda: mx.nd.ones((2.5,)),
        "nothing": lambda: mx.nd.ones(None),
        "no inputs": lambda: mx.sym.Concat(dim=0),
        "range": lambda: mx.nd.arange("a"),
        "points": lambda: mx.nd.linspace(0, 1, -1),
    }
    answers = {}
    for name, call in calls.items():
        try:
            call()
        except error:
            answers[name] = "MXNetError"
    return answers


@question
def states_of_frozen_layers(mx):
    """Moving statistics and a fixed gamma after two updates, by the parameters that are frozen."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc0")
    net = mx.sym.BatchNorm(net, name="bn0")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn1", fix_gamma=False)
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    layers = [["fc0_weight", "fc0_bias"], ["bn0_gamma", "bn0_beta"], ["fc1_weight", "fc1_bias"]]
    random = np.random.RandomState(0)
    batch = mx.io.DataBatch([mx.nd.array(random.rand(4, 3))], [mx.nd.array([0, 1, 1, 0])])
    answers = {}
    for frozen in ([], layers[0] + layers[1], layers[1], sum(layers, ["bn1_gamma", "bn1_beta"])):
        module = mx.mod.Module(net, fixed_param_names=frozen)
        module.bind([("data", (4, 3))], [("softmax_label", (4,))])
        module.init_params(mx.init.One())
        arguments, states = module.get_params()
        arguments["fc0_weight"][:] = [[1, 2, 3], [0.5, 0, -1]]
        arguments["bn0_gamma"][:] = 2.5
        module.set_params(arguments, states)
        module.init_optimizer()
        for _ in range(2):
            module.forward_backward(batch)
            module.update()
        found = {**module.get_params()[0], **module.get_params()[1]}
        kept = {n: v for n, v in found.items() if "moving" in n or n == "bn0_gamma"}
        answers[" ".join(frozen)] = {n: v.asnumpy().round(3) for n, v in sorted(kept.items())}
    return answers


_LOSSES = {
    "MakeLoss": lambda F, x, label: F.MakeLoss(x * 2, grad_scale=0.5),
    "make_loss": lambda F, x, label: F.make_loss(x * 2),
    "SoftmaxOutput": lambda F, x, label: F.SoftmaxOutput(x, label),
    "LinearRegressionOutput": lambda F, x, label: F.LinearRegressionOutput(x, F.ones((2, 3))),
    "SVMOutput": lambda F, x, label: F.SVMOutput(x, label),
}

_STOPS = {
    "BlockGrad": lambda F, y, x: F.BlockGrad(y),
    "BlockGrad(square)": lambda F, y, x: F.BlockGrad(F.square(y)),
    "square(BlockGrad)": lambda F, y, x: F.square(F.BlockGrad(y)),
    "argmax": lambda F, y, x: F.argmax(y, axis=1),
    "greater": lambda F, y, x: y > 0.1,
    "sign": lambda F, y, x: F.sign(y),
    "zeros_like": lambda F, y, x: F.zeros_like(y),
    "shape_array": lambda F, y, x: F.shape_array(y),
    "one_hot": lambda F, y, x: F.one_hot(F.argmax(y, axis=1), 3),
    "topk": lambda F, y, x: F.topk(y, k=1),
    "concat": lambda F, y, x: F.concat(F.BlockGrad(y), x * 3, dim=1),
    "times 0": lambda F, y, x: y * 0,
}


@question
def losses_behind_stops(mx):
    """Sums of gradients of losses where all that reads them stops gradients."""
    weights = np.arange(1, 7).reshape(2, 3)
    values = np.array([[0.5, -0.25, 1.5], [2.0, 0.1, -0.7]], np.float32)
    label = mx.nd.array([1, 0])
    answers = {}
    for loss, of in _LOSSES.items():
        for stop, behind in _STOPS.items():
            x = mx.sym.Variable("x")
            head = behind(mx.sym, of(mx.sym, x, mx.sym.Variable("label")), x)
            given = {"x": mx.nd.array(values), "label": label}
            given = {name: given[name] for name in head.list_arguments()}
            grad = mx.nd.zeros((2, 3))
            executor = head.bind(mx.cpu(), given, {"x": grad})
            executor.forward(is_train=True)
            executor.backward([mx.nd.ones(y.shape, dtype=y.dtype) for y in executor.outputs])
            array = mx.nd.array(values)
            array.attach_grad()
            with mx.autograd.record():
                output = behind(mx.nd, of(mx.nd, array, label), array)
            output.backward()
            found = [(g.asnumpy() * weights).sum().round(3) for g in (grad, array.grad)]
            answers[f"{loss} {stop}"] = found
    return answers


@question
def losses_behind_stops_in_networks(mx):
    """The same over several devices, recomputed, in an unrolled network and in a module."""

    def gradients(head, **settings):
        executor = head.simple_bind(mx.cpu(), x=(2, 3), w=(3, 3), **settings)
        executor.arg_dict["x"][:] = [[0.5, -0.25, 1.5], [2.0, 0.1, -0.7]]
        executor.arg_dict["w"][:] = [[0.5, -0.1, 0.2], [0.3, 0.4, -0.2], [0.1, 0.0, 0.6]]
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(y.shape) for y in executor.outputs])
        return {name: executor.grad_dict[name].asnumpy().round(4) for name in "xw"}

    x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    answers = {}
    with mx.AttrScope(ctx_group="a"):
        loss = mx.sym.MakeLoss(mx.sym.dot(x, w))
        other = mx.sym.relu(x)
    with mx.AttrScope(ctx_group="b"):
        heads = [mx.sym.BlockGrad(mx.sym.square(loss)), other * 2]
    groups = {"a": mx.cpu(0), "b": mx.cpu(1)}
    answers["group2ctx"] = gradients(mx.sym.Group(heads), group2ctx=groups)
    with mx.AttrScope(force_mirroring="True"):
        again = mx.sym.MakeLoss(mx.sym.tanh(mx.sym.dot(x, w)))
    answers["recomputed"] = gradients(mx.sym.BlockGrad(again) * 2)
    state, losses = x, []
    for i in range(10):
        state = mx.sym.FullyConnected(state, w, no_bias=True, num_hidden=3, name=f"step{i}")
        loss = mx.sym.LinearRegressionOutput(state, mx.sym.ones((2, 3)), name=f"loss{i}")
        losses.append(mx.sym.BlockGrad(loss))
    answers["unrolled"] = gradients(mx.sym.concat(*losses, dim=0))
    scores = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    loss = mx.sym.SoftmaxOutput(scores, mx.sym.Variable("softmax_label"))
    module = mx.mod.Module(mx.sym.BlockGrad(mx.sym.log(loss)), context=[mx.cpu(0), mx.cpu(1)])
    iterator = small_iterator(mx, count=8)
    module.bind(iterator.provide_data, iterator.provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    for batch in iterator:
        module.forward_backward(batch)
        module.update()
    answers["module"] = {n: v.asnumpy().round(4) for n, v in sorted(module.get_params()[0].items())}
    return answers


@question
def mixed_precision_graphs(mx):
    """Nodes of graphs that `mx.contrib.amp` converts: operator, name, inputs, declared type."""
    amp = importlib.import_module(mx.__name__ + ".contrib.amp")
    data, label = mx.sym.Variable("data"), mx.sym.Variable("label")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="c0")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="bn"), act_type="relu", name="r0")
    side = mx.sym.Convolution(net, kernel=(1, 1), num_filter=4, no_bias=True, name="c1")
    net = mx.sym.elemwise_add(net, side, name="add")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc")
    halves = mx.sym.SliceChannel(net, num_outputs=3, name="sp")
    soft = mx.sym.Activation(net, act_type="softrelu", name="soft")
    joined = mx.sym.Concat(halves[0], data, name="cat")
    half = mx.sym.Activation(net, act_type="tanh", name="half")
    net = mx.sym.Group([mx.sym.SoftmaxOutput(net, label, name="out"), soft, joined, half])
    settings = {
        "plain": {},
        "excluded": {"excluded_sym_names": ["c1"]},
        "parameters": {"data_names": ["data", "label"], "cast_optional_params": True},
        "declared": {"data_names": ["data", "label"]},
        "lists": {
            "target_dtype_ops": ["SliceChannel"],
            "fp32_ops": ["FullyConnected", "SoftmaxOutput"],
            "conditional_fp32_ops": [("Activation", "act_type", ["tanh"])],
        },
    }
    answers = {}
    for name, given in settings.items():
        text = amp.convert_symbol(net, **given).tojson(remove_amp_cast=False)
        nodes = json.loads(text)["nodes"]
        answers[name] = [
            " ".join(
                [n["op"], n["name"], n.get("attrs", {}).get("__dtype__", ""), "<"]
                + ["{}:{}".format(nodes[i]["name"], k) for i, k, _ in n["inputs"]]
            )
            for n in nodes
        ]
    converted = amp.convert_symbol(net)
    answers["heads that are saved"] = json.loads(converted.tojson())["heads"]
    answers["outputs"] = converted.list_outputs()
    arguments = {n: mx.nd.ones((2,)) for n in net.list_arguments() if n not in ("data", "label")}
    states = {n: mx.nd.ones((2,)) for n in net.list_auxiliary_states()}
    for optional in (False, True):
        _, arguments, states = amp.convert_model(
            net, arguments, states, cast_optional_params=optional
        )
        found = {**arguments, **states}
        answers[f"types {optional}"] = {n: found[n].dtype.__name__ for n in sorted(found)}
    layer = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    layer = mx.sym.SoftmaxOutput(layer, label, name="out")
    for name in ("plain", "declared", "parameters"):
        half = amp.convert_symbol(layer, **settings[name])
        bound = half.simple_bind(mx.cpu(), grad_req="null", data=(2, 3))
        answers[f"bound {name}"] = [array.dtype.__name__ for array in bound.arg_arrays]
    return answers


def ask(mx):
    """Every answer of the package, as JSON holds it."""
    return {name: plain(function(mx)) for name, function in sorted(QUESTIONS.items())}


@question
def gradients_of_whole_numbers(mx):
    """Executors pass gradients through whole numbers, in their types."""
    sym, found = mx.sym, {}
    x, u = sym.Variable("x"), sym.Variable("u")
    cast = sym.Cast(x, dtype="int32")
    cases = {
        "argument": (x * 2, {"x": "int32"}),
        "two arguments": (x * x * u, {"x": "int32"}),
        "bytes": (0 - x * 2, {"x": "uint8"}),
        "long": (x * 2, {"x": "int64"}),
        "cast": (cast, {}),
        "cast that is read": (sym.Group([cast, cast * 3]), {}),
        "back": (sym.Cast(cast * 3, dtype="float32") * 0.5, {}),
        "sum": (sym.Cast(sym.sum(cast), dtype="float32") * 0.5, {}),
        "square": (sym.Cast(sym.square(cast), dtype="float32") * 0.5, {}),
        "loss": (sym.MakeLoss(sym.Cast(cast * 3, dtype="float32")), {}),
        "places": (sym.take(u, cast), {}),
        "statistics beside": (sym.Cast(cast, dtype="float32") + sym.BatchNorm(x), {}),
    }
    for name, (net, types) in cases.items():
        shapes = {n: (3, 1) for n in net.list_arguments() if n in "xu"}
        executor = net.simple_bind(mx.cpu(), grad_req="add", type_dict=types or None, **shapes)
        for array in executor.arg_dict.values():
            array[:] = 3.5
        executor.forward(is_train=True)
        heads = [
            (mx.nd.array(np.arange(1, y.size + 1) * 1.5).reshape(y.shape)).astype(y.dtype)
            for y in executor.outputs
        ]
        for _ in range(2):
            executor.backward(heads)
        found[name] = [executor.outputs, [executor.grad_dict[n] for n in sorted(shapes)]]
    return found


@question
def refused_arrays(mx):
    """Arrays that cannot be made, and results that do not fit ``out``."""
    nd = mx.nd
    x, wide = nd.ones((2, 3)), nd.ones((2, 3), dtype="float64")
    whole, csr = x.astype("int32"), x.tostype("csr")
    calls = {
        "out of another type": lambda: nd.exp(x, out=wide),
        "out of whole numbers": lambda: nd.exp(x, out=whole),
        "two for one": lambda: nd.exp(x, out=[nd.ones((2, 3)), nd.ones((2, 3))]),
        "none for one": lambda: nd.exp(x, out=[]),
        "two for three": lambda: nd.split(x, 3, out=[nd.ones((2, 1))] * 2),
        "out that a row fits": lambda: nd.sum(x, axis=0, out=nd.ones((2, 3))),
        "ones of another type": lambda: nd.ones((2,), out=nd.ones((2,), dtype="float64")),
        "eye of another type": lambda: nd.eye(2, out=nd.ones((2, 2), dtype="float64")),
        "full of another type": lambda: nd.full((2,), 3, out=nd.ones((2,), dtype="float64")),
        "zeros with an argument more": lambda: nd.zeros((2,), foo=1),
        "ones with an argument more": lambda: nd.ones((2,), foo=1),
        "backward": lambda: nd.arange(0, 5, -1),
        "nowhere": lambda: nd.arange(0),
        "no step": lambda: nd.arange(0, 5, 0),
        "no repetition": lambda: nd.arange(0, 5, repeat=0),
        "fewer than none": lambda: nd.arange(0, 5, repeat=-1),
        "eye below 0": lambda: nd.eye(-1),
        "depth below 0": lambda: nd.one_hot(nd.array([0, 1]), depth=-1),
        "two types joined": lambda: nd.concatenate([x, wide]),
        "places of floats": lambda: nd.batch_take(x, nd.array([0, 1])),
        "csr by another type": lambda: nd.dot(csr, nd.ones((3, 1), dtype="float64")),
        "text written": lambda: x.__setitem__(slice(None), "a"),
        "statistics of whole numbers": lambda: mx.sym.BatchNorm(mx.sym.var("a")).infer_type(
            "int32"
        ),
        "three axes into two": lambda: x.__setitem__(slice(None), nd.ones((1, 2, 3))),
        "three axes of NumPy into two": lambda: x.__setitem__(slice(None), np.ones((1, 2, 3))),
    }
    return {name: refusal(call) for name, call in calls.items()}


@question
def numbers_that_make_arrays(mx):
    """Functions that create arrays read their numbers as operators do: texts, too."""
    calls = {
        "linspace": [
            (0, 10, 5, end) for end in (20, 0, "x", None, 2.5, "False", "true", "0", True, [1])
        ] + [("0", "1", "5"), (0, 1, 5.0), (0, None, 5)],
        "arange": [
            ("0", "5"), (0, 5, "2"), (0, 5, None), (0, 5, 1, "2"), (0, 5, 1, 2.0), (True,),
            (0, 5, 1, True), (5.5,), (3, None), (7, 0, -2.5),
        ],
        "eye": [("2",), (2, "3", "1"), (2, -1), (2, None), (2, 3, -1), (2.5,), (True,)],
        "zeros": [("(1, 2)",), ("2",), ("x",), (("2",),), ("(0,)",)],
        "ones": [("(1, 2)",)],
        "full": [("2", 1), ((True,), 1)],
    }  # fmt: skip
    found = {}
    for name, rows in calls.items():
        make = getattr(mx.nd, name)
        for row in rows:
            error = refusal(lambda make=make, row=row: make(*row))
            found[name + repr(row)] = "refused" if error else make(*row)
    return found


@question
def nothing_written(mx):
    """A value without elements is written into no elements, also where the other axes differ."""
    found = {}
    for name, key, value in (
        ("rows, list", slice(0, 0), []),
        ("rows, array", slice(0, 0), np.zeros((0,))),
        ("rows, rows", slice(0, 0), np.zeros((0, 3))),
        ("rows after the last", slice(5, None), []),
        ("rows, scalar", slice(0, 0), 7),
        ("a row", slice(0, 1), []),
        ("all", slice(None), []),
        ("too many", slice(0, 0), [1, 2]),
    ):
        x = mx.nd.arange(6).reshape((2, 3))
        found[name] = refusal(lambda x=x, key=key, value=value: x.__setitem__(key, value)), x
    return found


@question
def refused_draws(mx):
    """Draws by operators' own names check their numbers too."""
    nd = mx.nd
    calls = {
        "low above high": lambda: nd.random_uniform(low=1, high=0, shape=(2,)),
        "scale": lambda: nd.random_normal(scale=-1, shape=(2,)),
        "alpha": lambda: nd.random_gamma(alpha=-1, shape=(2,)),
        "beta": lambda: nd.random_gamma(alpha=1, beta=0, shape=(2,)),
        "rate": lambda: nd.random_exponential(lam=0, shape=(2,)),
        "mean": lambda: nd.random_poisson(lam=-1, shape=(2,)),
        "chance": lambda: nd.random_negative_binomial(k=1, p=-0.5, shape=(2,)),
        "spread": lambda: nd.random_generalized_negative_binomial(mu=1, alpha=-1, shape=(2,)),
        "size below 0": lambda: nd.random.uniform(0, 1, (2, -1)),
        "size 0": lambda: nd.random.uniform(0, 1, 0),
        "twice": lambda: nd.random.uniform(0, 1, (2,), low=3),
        "one too many": lambda: nd.random.normal(0, 1, (2,), "float32", None, None, 5),
        "whole numbers": lambda: nd.random.uniform(0, 1, out=nd.ones((2,), dtype="int32")),
        "another type": lambda: nd.random.uniform(
            0, 1, (2,), dtype="float32", out=nd.ones((2,), dtype="float64")
        ),
    }
    return {name: refusal(call) for name, call in calls.items()}


@question
def draws_of_other_types(mx):
    """Without a shape and type a draw has those of ``out``; the type None is float64."""
    nd, random = mx.nd, mx.nd.random
    drawn = random.uniform(0, 1, out=nd.zeros((50,)))
    wide = random.normal(0, 1, out=nd.zeros((2, 25), dtype="float64"))
    whole = random.randint(0, 1000, out=nd.zeros((50,), dtype="int64"))
    named = nd.random_uniform(out=nd.zeros((50,)))
    return {
        "all equal": [len(set(a.asnumpy().ravel().tolist())) > 40 for a in (drawn, wide, named)],
        "whole": [len(set(whole.asnumpy().tolist())) > 25, np.dtype(whole.dtype).name],
        "rounded": float(abs(wide - wide.astype("float32").astype("float64")).max().asscalar()) > 0,
        "None": [
            np.dtype(a.dtype).name
            for a in (
                random.uniform(dtype=None),
                random.randn(2, dtype=None),
                random.gamma(1, 1, (2,), None),
                random.uniform(nd.zeros((2,)), nd.ones((2,)), dtype=None),
                random.multinomial(nd.array([0.5, 0.5]), dtype=None),
            )
        ],
    }


@question
def keywords_of_fit(mx):
    """`fit` calls a user's module by keyword, so that one with ``**kwargs`` reads them."""
    calls = []

    class Least(mx.mod.BaseModule):
        data_names, output_names = ["data"], ["out"]
        data_shapes, label_shapes = [("data", (2, 3))], [("y", (2,))]
        output_shapes = (("out", (2,)),)

        def bind(self, *args, **kwargs):
            calls.append(["bind", len(args), sorted(kwargs)])
            self.binded = True

        def init_params(self, *args, **kwargs):
            calls.append(["init_params", len(args), sorted(kwargs)])
            self.params_initialized = True

        def init_optimizer(self, *args, **kwargs):
            calls.append(["init_optimizer", len(args), sorted(kwargs)])
            self.optimizer_initialized = True

        def get_params(self):
            return {}, {}

        def set_params(self, *args, **kwargs):
            pass

        def get_outputs(self, merge_multi_context=True):
            return [mx.nd.ones((2,))]

        def update_metric(self, eval_metric, labels, pre_sliced=False):
            eval_metric.update(labels, self.get_outputs())

        forward = backward = update = prepare = set_params

    rows = mx.io.NDArrayIter(np.ones((4, 3)), np.ones(4), 2, label_name="y")
    Least().fit(rows, eval_metric="mse", num_epoch=1)
    return calls


@question
def own_methods_in_loops(mx):
    """Methods of a user's class that the loops call, their callers and their keywords."""
    batch = ["prepare", "forward", "backward", "forward_backward", "update", "update_metric"]
    first = ["bind", "init_params", "init_optimizer", "install_monitor", "set_params"]
    names = [*batch, *first, "score", "iter_predict"]
    calls, callers = [], [""]

    def observed(name, own):
        def method(self, *args, **kwargs):
            calls.append(" ".join([callers[-1], name, str(len(args)), *sorted(kwargs)]).strip())
            callers.append(name)
            try:
                return own(self, *args, **kwargs)
            finally:
                callers.pop()

        return method

    def of(kind):
        return type(kind.__name__, (kind,), {n: observed(n, getattr(kind, n)) for n in names})

    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    modules = {
        "one": of(mx.mod.Module)(net),
        "buckets": of(mx.mod.BucketingModule)(
            lambda _: (net, ["data"], ["softmax_label"]), default_bucket_key=3
        ),
    }
    loops = {
        "fit": lambda m, rows: m.fit(rows(), rows(), num_epoch=1),
        "again": lambda m, rows: m.fit(rows(), rows(), num_epoch=1),
        "score": lambda m, rows: m.score(rows(), "acc"),
        "predict": lambda m, rows: m.predict(rows()),
        "iter_predict": lambda m, rows: list(m.iter_predict(rows())),
    }
    answers = {}
    for name, module in modules.items():
        key = 3 if name == "buckets" else None
        for loop, run in loops.items():
            del calls[:]
            run(module, lambda key=key: _two_batches(mx, key))
            answers[name + " " + loop] = list(calls)
    return answers


def _two_batches(mx, key):
    """An iterator of two batches of a bucket."""
    data, label = [mx.io.DataDesc("data", (2, 3))], [mx.io.DataDesc("softmax_label", (2,))]

    class Rows(mx.io.DataIter):
        default_bucket_key, provide_data, provide_label, left = key, data, label, 2

        def reset(self):
            self.left = 2

        def next(self):
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return mx.io.DataBatch(
                [mx.nd.ones((2, 3))], [mx.nd.zeros((2,))], pad=0, bucket_key=key,
                provide_data=data, provide_label=label,
            )  # fmt: skip

    return Rows(2)


@question
def heads_of_losses(mx):
    """A loss ignores a gradient of its output, whatever its shape."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    batch = mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.array([0, 1])])
    answers = {}
    for shape in ((2, 3), (3, 2), (6,), (2, 5)):
        module.forward(batch, is_train=True)
        module.backward([mx.nd.ones(shape)])
        answers[str(shape)] = module._exec_group.grad_arrays[1][0]
    return answers


@question
def powers_in_place(mx):
    """``x **= 2`` makes another array; ``x *= 2`` writes into this one."""
    x = mx.nd.array([2, 3])
    other = x
    x **= 2
    x *= 2
    return {"x": x, "other": other}


@question
def batches_after_full_gradients(mx):
    """`update_full_grads` leaves the iterator at its end."""
    svrg = importlib.import_module(f"{mx.__name__}.contrib.svrg_optimization.svrg_module")
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc"), name="lin"
    )
    rows = mx.io.NDArrayIter(np.ones((4, 3)), np.ones(4), 2, label_name="lin_label")
    module = svrg.SVRGModule(net, label_names=["lin_label"], update_freq=2)
    module.bind(rows.provide_data, rows.provide_label)
    module.init_params()
    module.init_optimizer()
    module.update_full_grads(rows)
    return len(list(rows))


@question
def ftrl_and_nan(mx):
    """A gradient that is NaN shows in the weight."""
    ftrl = mx.optimizer.create("ftrl")
    weight, gradient = mx.nd.array([0.5, -0.3]), mx.nd.array([np.nan, 0.1])
    ftrl.update(0, weight, gradient, ftrl.create_state(0, weight))
    return weight


@question
def signs_of_what_is_not_finite(mx):
    """Updates by the sign of a gradient, of which NaN has none."""
    gradient = mx.nd.array([np.nan, np.inf, -1.0, 0.0])
    found = {}
    for momentum in (0.0, 0.9):
        weight = mx.nd.array([1.0, 2.0, 3.0, 4.0])
        signum = mx.optimizer.create("signum", momentum=momentum, learning_rate=0.1)
        signum.update(0, weight, gradient, signum.create_state(0, weight))
        found[str(momentum)] = weight
    found["signsgd_update"] = mx.nd.signsgd_update(mx.nd.ones(4), gradient, lr=0.1)
    return found


@question
def rows_of_a_filled_array(mx):
    """A number in the place of all values is stored in each row, zero too."""
    found = []
    for value in (0, 2):
        rows = mx.nd.sparse.row_sparse_array((np.ones((1, 2)), [1]), shape=(3, 2))
        rows[:] = value
        found.append([rows.indices, rows.data])
    return found


@question
def a_loaded_network_with_other_parameters(mx):
    """Files with arrays that the network lacks: when the module refuses them."""
    weights = {"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.zeros((3,))}
    other, found = {"other": mx.nd.zeros((3,))}, []
    for args, auxs in ((dict(weights, **other), {}), (weights, other)):
        with tempfile.TemporaryDirectory() as folder:
            mx.model.save_checkpoint(f"{folder}/net", 1, small_net(mx), args, auxs)
            module = mx.mod.Module.load(f"{folder}/net", 1)
        shapes = [("data", (4, 2))], [("softmax_label", (4,))]
        found.append(refusal(module.bind, *shapes))
    return found


@question
def arguments_of_one_name(mx):
    """Prediction with a network, two variables of which have one name and one array."""
    net = mx.sym.var("data")
    for name in ("first", "second"):
        net = mx.sym.FullyConnected(net, mx.sym.var("w"), num_hidden=2, no_bias=True, name=name)
    arrays = {"data": mx.nd.array([[1, 2], [3, 4]]), "w": mx.nd.array([[1, 2], [0, 1]])}
    grad = mx.nd.zeros((2, 2))
    executor = net.bind(mx.cpu(), arrays, {"data": grad})
    found = [executor.forward(is_train=True)[0].asnumpy(), len(executor.arg_arrays)]
    executor.backward(mx.nd.ones((2, 2)))
    listed = [arrays[name] for name in net.list_arguments()]
    found += [grad, net.bind(mx.cpu(), listed).forward()[0], net.eval(ctx=mx.cpu(), **arrays)[0]]
    return found


@question
def requests_of_some(mx):
    """Gradients of a module that was bound with requests for some of its arguments."""
    found = []
    for given in ({"fc_weight": "add"}, {"data": "null"}, {"fc_bias": "null", "data": "add"}):
        module = mx.mod.Module(small_net(mx))
        shapes = [("data", (2, 2))], [("softmax_label", (2,))]
        module.bind(*shapes, inputs_need_grad=True, grad_req=given)
        module.init_params(mx.init.One())
        batch = mx.io.DataBatch([mx.nd.array([[1, 2], [3, 4]])], [mx.nd.array([0, 2])])
        for _ in range(2):
            module.forward_backward(batch)
        grads = [array for (array,) in module._exec_group.grad_arrays]
        found.append([grads, module.get_input_grads()])
    return found


@question
def weighted_lines(mx):
    """Lines of a LIBSVM file whose labels are followed by weights."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines"
        path.write_text("1:0.5 0:1 2:3\n-2:7 1:2\n3 2:5\n")
        (batch,) = mx.io.LibSVMIter(data_libsvm=str(path), data_shape=(3,), batch_size=3)
    return batch.data + batch.label


@question
def orders_of_a_file(mx):
    """The names that a loaded module lists and saves, whose file has another order."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.MakeLoss(mx.sym.BatchNorm(net, name="bn"))
    with tempfile.TemporaryDirectory() as folder:
        prefix, shapes = str(Path(folder) / "m"), [("data", (2, 3))]
        net.save(prefix + "-symbol.json")
        names = ["aux:bn_moving_var", "aux:bn_moving_mean", "arg:bn_beta", "arg:bn_gamma"]
        arrays = {name: mx.nd.ones((2,)) for name in [*names, "arg:fc_bias"]}
        arrays["arg:fc_weight"] = mx.nd.ones((2, 3))
        mx.nd.save(prefix + "-0001.params", arrays)
        module = mx.mod.Module.load(prefix, 1, label_names=None)
        module.bind(shapes)
        found = [list(map(list, module.get_params()))]
        module.init_optimizer()
        module.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))], None))
        module.update()
        module.save_checkpoint(prefix, 2)
        found.append(list(mx.nd.load(prefix + "-0002.params")))
        module.set_params(*module.get_params())
        module.bind(shapes, force_rebind=True)
        found.append(list(map(list, module.get_params())))
    return found


@question
def parts_of_a_batch(mx):
    """Batches of iterators over another one that return data of their own."""

    def summed(kind, *args):
        class Tenfold(kind):
            def getdata(self):
                return [10 * array for array in super().getdata()]

        batches = list(Tenfold(mx.io.NDArrayIter(np.arange(6.0), np.arange(6.0), 2), *args))
        return [[b.data[0].asnumpy().sum(), b.label[0].asnumpy().sum(), b.pad] for b in batches]

    return [summed(mx.io.ResizeIter, 4), summed(mx.io.PrefetchingIter)]


@question
def private_names(mx):
    """Names that programs of MXNet's own use though they are private."""
    svrg = importlib.import_module(mx.__name__ + ".contrib.svrg_optimization.svrg_module")
    net = small_net(mx)
    found = [net._infer_shape_impl(False, data=(4, 2)), net._infer_shape_impl(True)]
    found += [net._infer_type_impl(True), mx.model.BatchEndParam(1, 2, 3, 4).__class__.__name__]
    buckets = mx.mod.BucketingModule(lambda _: (net, ["data"], ["softmax_label"]), 1)
    buckets.bind([("data", (4, 2))], [("softmax_label", (4,))])
    monitor = mx.mon.Monitor(1)
    found.append(buckets._monitor)
    buckets.install_monitor(monitor)
    found.append(buckets._monitor is monitor)
    module = svrg.SVRGModule(net, update_freq=1, context=[mx.cpu(0), mx.cpu(1)])
    arrays = [mx.nd.array([value]) for value in (3, 1, 0.5)]
    found += [module._ctx_len, module._svrg_grads_update_rule(*arrays), arrays]
    module.bind([("data", (4, 2))], [("softmax_label", (4,))])
    module.init_params()
    module.init_optimizer()
    module._accumulate_kvstore("fc_bias", [mx.nd.ones((3,)) for _ in range(4)])
    found.append([each["fc_bias"] for each in module._param_dict])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "r")
        records = mx.recordio.MXRecordIO(path, "w")
        records.write(b"one")
        found.append(refusal(records.read))
        records.pid = -1
        found += [refusal(records._check_pid), refusal(records.write, b"two")]
        records.close()
        records = mx.recordio.MXRecordIO(path, "r")
        records.pid = -1
        found += [refusal(records.read), records._check_pid(allow_reset=True)]
        found.append(records.read().decode())
        records.close()
    return found


@question
def fresh_gradients(mx):
    """Whether ``backward`` has written a gradient since a program marked it as read."""
    x = mx.nd.ones((2,))
    found = [x._fresh_grad, refusal(setattr, x, "_fresh_grad", True)]
    x.attach_grad()
    for fresh in (None, False, True):
        if fresh is not None:
            x._fresh_grad = fresh
        found.append(x._fresh_grad)
        with mx.autograd.record():
            total = (x * 2).sum()
        found += [x._fresh_grad, total._fresh_grad]
        total.backward()
        found.append(x._fresh_grad)
    mx.autograd.mark_variables([x], [mx.nd.zeros((2,))])
    return [int(each) if each in (0, 1) else each for each in [*found, x._fresh_grad]]


@question
def rates_of_a_schedule(mx):
    """The schedule's rate gives way to an optimizer's own, but not to Ftrl's."""
    found = []
    for name in ("sgd", "adam", "ftrl", "signum", "nadam"):
        for settings in ({}, {"learning_rate": 0.7}):
            schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = mx.optimizer.create(name, lr_scheduler=schedule, **settings)
            weight = mx.nd.array([1, -1])
            state = made.create_state(0, weight)
            for _ in range(4):
                made.update(0, weight, mx.nd.array([0.5, 2]), state)
            found.append([name, schedule.base_lr, made.learning_rate, weight.asnumpy()])
    return found


@question
def refused_iterators_of_csr(mx):
    """A csr array fills no last batch; the others it gives, in order or shuffled."""
    rows = mx.nd.array(np.eye(5, 3)).tostype("csr")
    found = []
    for last in ("pad", "roll_over", "discard"):
        made = [
            ((rows,), {"shuffle": True}),
            (({"a": rows, "b": mx.nd.ones((5, 1))},), {}),
            ((mx.nd.ones((5, 1)), rows), {}),
        ]
        for arrays, settings in made:
            settings = dict(settings, batch_size=2, last_batch_handle=last)
            found.append(refusal(mx.io.NDArrayIter, *arrays, **settings))
    return found


@question
def refused_word_vectors(mx):
    """Files of word vectors that are missing or malformed, and what is no vocabulary."""
    text = importlib.import_module(mx.__name__ + ".contrib.text")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        for title, lines in {
            "again": "a 1 2\nb 3 4\na 5 6\n", "short": "a 1 2\nb 3\n", "longer": "a 1 2\nb 3 4 5\n",
            "shorter": "a 1 2 3\nb 4 5\n", "words": "a x y\n",
        }.items():  # fmt: skip
            path.write_text(lines)
            for delimiter in (" ", "\t"):
                found[f"{title}{delimiter}"] = refusal(
                    text.embedding.CustomEmbedding, str(path), delimiter
                )
        path.write_text("a 1 2\n")
        good = text.embedding.CustomEmbedding(str(path))
        found["missing"] = refusal(text.embedding.CustomEmbedding, str(path) + "x")
    words = text.vocab.Vocabulary()
    found["no counter"] = refusal(text.vocab.Vocabulary, ["a"])
    for title, parts in {"no parts": [1], "no part": 1, "mixed": [good, "a"], "": []}.items():
        found[title] = refusal(text.embedding.CompositeEmbedding, words, parts)
    found["no vocabulary"] = refusal(text.embedding.CompositeEmbedding, 1, [good])
    return found


@question
def embeddings_of_a_class_of_ones_own(mx):
    """Word vectors read by the methods that a subclass has for it, also for a vocabulary."""
    text = importlib.import_module(mx.__name__ + ".contrib.text")

    class Mine(text.embedding._TokenEmbedding):
        def __init__(self, path, vocabulary=None, **kwargs):
            super().__init__(**kwargs)
            self._load_embedding(path, " ", mx.nd.ones)
            self._build_embedding_for_vocabulary(vocabulary)

    counts = collections.Counter(["b", "q", "q"])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        found.append(refusal(Mine, str(path)))
        path.write_text("a 1 2\nb 3 4\nc 5 6\n")
        found.append(refusal(Mine, str(path), 1))
        for words in (
            None,
            text.vocab.Vocabulary(counts),
            text.vocab.Vocabulary(counts, unknown_token="a", reserved_tokens=["c"]),
        ):
            mine = Mine(str(path), words)
            found += [mine.token_to_idx, mine.idx_to_vec, mine.vec_len]
            found += [mine.unknown_token, mine.reserved_tokens]
            if words is not None:
                found.append(text.embedding.CompositeEmbedding(words, [mine, mine]).idx_to_vec)
                whole = Mine(str(path))
                found.append(text.embedding.CompositeEmbedding(words, whole).idx_to_vec)
    return found


@question
def refused_views_of_sparse_arrays(mx):
    """Sparse arrays have no views; an array that is copied to itself stays."""
    array = mx.nd.array([[0, 1], [2, 0]])
    found = []
    for stype in ("csr", "row_sparse"):
        sparse = array.tostype(stype)
        found += [refusal(sparse.reshape, (4,)), refusal(sparse.reshape, shape=(1, -1))]
        found.append(mx.nd.reshape(sparse, shape=(4,)))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        array.copyto(array)
    return [*found, array, [each.category.__name__ for each in seen]]


@question
def refused_writes_of_sparse_parts(mx):
    """The parts of a sparse array cannot be replaced, and none is a number."""
    found = {}
    for stype, parts in {"csr": ("data", "indices", "indptr"),
                         "row_sparse": ("data", "indices")}.items():  # fmt: skip
        sparse = mx.nd.ones((1, 1)).tostype(stype)
        refused = [refusal(setattr, sparse, part, mx.nd.ones((1,))) for part in parts]
        found[stype] = [*refused, refusal(sparse.asscalar), sparse]
    return found


@question
def onehot_encoded_rows(mx):
    """An index outside has a row of zeros; a fraction is cut."""
    return mx.nd.onehot_encode(mx.nd.array([1, -1, 2.7, 5]), mx.nd.ones((4, 3)))


@question
def tolerances_of_almost_equal(mx):
    """`almost_equal` allows as much for each element type; `assert_almost_equal` does not."""
    found = []
    for dtype in ("float16", "float32", "float64"):
        for start, step in ((1, 1e-3), (1, 3e-4), (0, 1e-4), (0, 1e-21)):
            pair = np.full(1, start, dtype), np.full(1, start + step, np.float64)
            refused = refusal(mx.test_utils.assert_almost_equal, *pair)
            found.append([bool(mx.test_utils.almost_equal(*pair)), refused])
    return found


@question
def filled_narrow_numbers(mx):
    """A number that 8 bits do not hold goes around where it fills a part of an array too."""
    ones = mx.nd.ones((2, 2), dtype="uint8")
    lengths = mx.nd.array([1, 2])
    found = []
    for value in (-1, 300):
        found.append(mx.nd.SequenceMask(ones, lengths, True, value))
        set_part = mx.nd._internal._slice_assign_scalar
        found.append(set_part(ones, scalar=value, begin=(0, 0), end=(1, 2)))
    return found


@question
def attributes_by_keyword(mx):
    """A scope overrides the keywords of a layer, and `attr` both."""
    x = mx.sym.Variable("x")
    with mx.AttrScope(ctx_group="one", __mood__="calm"):
        by_keyword = mx.sym.relu(x, name="a", __mood__="wild", lr_mult=5, __own__=1)
        by_both = mx.sym.relu(x, name="b", attr={"__mood__": "slow"}, __mood__="wild")
    return [by_keyword.list_attr(), by_both.list_attr()]


@question
def executors_without_requests(mx):
    """``simple_bind`` takes None for no gradients; ``bind`` and modules refuse it."""
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    executor = net.simple_bind(mx.cpu(), None, x=(1, 2))
    module = mx.mod.Module(net, ["x"], None)
    return [
        executor.grad_dict,
        refusal(net.simple_bind, mx.cpu(), ["write"], x=(1, 2)) is not None,
        refusal(net.bind, mx.cpu(), executor.arg_dict, grad_req=None) is not None,
        refusal(module.bind, [("x", (1, 2))], grad_req=None),
    ]


@question
def requests_of_a_module(mx):
    """Requests of single arguments hold for data, labels and fixed parameters too."""
    batch = mx.io.DataBatch([mx.nd.array([[1, 2], [3, 4]])], [mx.nd.array([0, 1])])
    named = {"data": "write", "fc_weight": "add"}
    found = []
    for request in (named, {"softmax_label": "write"}, ["write", "write", "null", "null"], "add"):
        module = mx.mod.Module(small_net(mx), fixed_param_names=["fc_weight"])
        module.bind([("data", (2, 2))], [("softmax_label", (2,))], grad_req=request)
        module.init_params(mx.init.Constant(0.1))
        module.init_optimizer(optimizer_params={"learning_rate": 1.0})
        for _ in range(2):
            module.forward_backward(batch)
            module.update()
        gradients = module._exec_group.execs[0].grad_dict
        given = {name: each for name, each in gradients.items() if each is not None}
        found.append([given, module.get_params()[0]])
    return found


@question
def gradients_of_reshaped_executors(mx):
    """Whether an argument has a gradient, in an executor and in one that it was reshaped to."""
    net, found = small_net(mx), []
    for request in ("write", "null", {"fc_weight": "add"}, ["write", "null", "add", "null"]):
        shapes, _, _ = net.infer_shape(data=(4, 2))
        arrays = [[mx.nd.ones(shape) for shape in shapes] for _ in range(2)]
        whole = net.bind(mx.cpu(), *arrays, grad_req=request)
        part = whole.reshape(data=(2, 2), softmax_label=(2,))
        found.append([[g is not None for g in each.grad_arrays] for each in (whole, part)])
    return [*found, refusal(whole.reshape, data=4) is not None]


@question
def batches_without_a_key(mx):
    """Batches whose bucket key is None have a bucket of their own."""
    keys = []

    def net_of(key):
        keys.append(key)
        scores = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        return (
            mx.sym.SoftmaxOutput(scores * (key or 1), name="softmax"),
            ["data"],
            ["softmax_label"],
        )

    module = mx.mod.BucketingModule(net_of, 3)
    shapes = [("data", (2, 2))], [("softmax_label", (2,))]
    module.bind(*shapes)
    module.init_params(
        None, {"fc_weight": mx.nd.array([[1, 2], [3, 1]]), "fc_bias": mx.nd.ones(2)}, {}
    )
    arrays = [mx.nd.array([[1, 2], [3, 4]]) / 8], [mx.nd.array([0, 1])]
    found = []
    for key, given in ((None, shapes), (3, shapes), (None, (None, None))):
        module.forward(
            mx.io.DataBatch(*arrays, bucket_key=key, provide_data=given[0], provide_label=given[1])
        )
        found.append(module.get_outputs()[0].asnumpy())
    return [found, keys[-1]]


@question
def batches_of_feedforward(mx):
    """Batches that are left after some were predicted; a predictor at the end of its data."""
    given = {"fc_weight": mx.nd.ones((3, 2)), "fc_bias": mx.nd.ones(3)}
    model = mx.model.FeedForward(small_net(mx), arg_params=given, aux_params={})
    data = small_iterator(mx, 10, 2)
    found = []
    for count in (1, 9):
        rows = len(model.predict(data, num_batch=count))
        found.append([rows, sum(1 for _ in data)])
    return [*found, refusal(model.predict, data, reset=False)]


@question
def updates_without_training(mx):
    """An update of a module that is bound without training, with an optimizer of its own or not."""
    found = []
    for store in (None, mx.kv.create("local")):
        module = mx.mod.Module(small_net(mx))
        module.bind([("data", (4, 2))], [("softmax_label", (4,))], for_training=False)
        module.init_params(mx.init.One())
        module.init_optimizer(store)
        found.append(refusal(module.update) is not None)
    return found


@question
def records_as_text(mx):
    """The header of a record, as it is printed."""
    return repr(mx.recordio.IRHeader(0, 2.5, 3, 4))


@question
def parameters_before_their_values(mx):
    """Names and shapes that a bound module has for parameters, before it has values for them."""
    module = mx.mod.Module(mx.sym.BatchNorm(small_net(mx).get_internals()["fc_output"], name="bn"))
    before = [module._arg_params, module._aux_params]
    module.bind(data_shapes=[("data", (4, 2))])
    found = [module._arg_params, module._aux_params]
    shapes = [{name: array.shape for name, array in each.items()} for each in found]
    return [before, shapes, module.params_initialized]


@question
def partly_known_sizes(mx):
    """Outputs of inputs with sizes that are not known, which are 0."""
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    found = []
    shapes = ((2, 3), (0, 3), (2, 0), (0, 0), (1, 3), (2, 1), (0,), (1, 0, 4), (2, 0, 1), (0, 0, 0))
    for both in (mx.sym.broadcast_add(x, y), mx.sym.broadcast_equal(x, y)):
        for one in shapes:
            for other in shapes:
                refused = refusal(both.infer_shape_partial, x=one, y=other)
                found.append(refused or str(both.infer_shape_partial(x=one, y=other)[1]))
    layers = (
        mx.sym.Convolution(x, kernel=(3, 3), num_filter=64),
        mx.sym.BatchNorm(x),
        mx.sym.softmax(x),
        mx.sym.sum(x, axis=1, keepdims=True),
    )
    found += [str(layer.infer_shape_partial(x=(0, 512, 0, 0))) for layer in layers]
    wide = mx.sym.Convolution(x, kernel=(2,), dilate=(512,), num_filter=8)
    return [*found, str(wide.infer_shape_partial(x=(0, 64, 0)))]


@question
def unequal_parts(mx):
    """The first of so many parts are longer by 1, but ``mx.nd.split_v2`` wants equal ones."""
    found = []
    for size, count in ((7, 4), (5, 3), (6, 3), (9, 2)):
        data = mx.nd.arange(size * 2).reshape((size, 2))
        symbol = mx.sym.split_v2(mx.sym.Variable("a"), count)
        executor = symbol.simple_bind(mx.cpu(), a=data.shape)
        outputs = executor.forward(is_train=True, a=data)
        executor.backward([output * (i + 1) for i, output in enumerate(outputs)])
        found.append([symbol.infer_shape(a=data.shape)[1], outputs, executor.grad_dict["a"]])
        found.append(mx.nd._internal._split_v2(data, indices=(), sections=count, axis=0))
    data = mx.nd.ones((7, 2))
    squeezed = mx.sym.split_v2(mx.sym.Variable("a"), 4, squeeze_axis=True)
    return [
        *found,
        refusal(mx.nd.split_v2, data, 4),
        refusal(data.split_v2, 4),
        refusal(squeezed.infer_shape, a=(7, 2)),
        squeezed.infer_shape(a=(4, 2))[1],
    ]


@question
def arrays_to_fill(mx):
    """``out`` of zeros, ones and eye has their shape; that of ``full`` any. ``:`` needs no axis."""
    found = []
    for make, size in ((mx.nd.zeros, (2, 3)), (mx.nd.ones, (2, 3)), (mx.nd.eye, 2)):
        for shape in ((2, 3), (2, 2), (2, 2, 3), (6,), (1, 3)):
            out = mx.nd.full(shape, 9)
            found.append([refusal(make, size, out=out), out])
    out = mx.nd.zeros((2,))
    mx.nd.full((2, 2), 3, out=out)
    with mx.np_shape():
        scalar = mx.nd.ones(())
        scalar[:] = 4
        none = [scalar[:].shape, scalar[:], refusal(lambda: scalar[1:]), refusal(lambda: scalar[0])]
    return [*found, out, none]


@question
def names_of_arguments(mx):
    """Functions by hand have names of their own, and those of random numbers positions."""
    x, y = mx.nd.array([1, 2, 3]), mx.nd.zeros((2, 3))
    row = x.reshape((1, 3))
    grad = mx.nd.zeros((3,))
    mx.contrib.autograd.mark_variables([x], [grad])
    with mx.contrib.autograd.train_section():
        z = x * x
    mx.contrib.autograd.backward(outputs=[z], out_grads=[mx.nd.array([1, 2, 3])])
    likes = {
        "uniform": (2, 3),
        "normal": (0, 1),
        "gamma": (1, 2),
        "exponential": (2,),
        "poisson": (2,),
        "negative_binomial": (2, 0.5),
        "generalized_negative_binomial": (2, 0.5),
    }
    drawn = {}
    for name, numbers in likes.items():
        symbol = getattr(mx.sym.random, name + "_like")(mx.sym.Variable("x"), *numbers)
        drawn[name] = list(symbol.attr_dict().values())
    one = mx.nd.random.uniform_like(y, 2, 2)
    return [
        mx.nd.power(base=x, exp=2),
        mx.nd.power(2, exp=x),
        refusal(mx.nd.power, lhs=x, rhs=x),
        row.broadcast_like(other=y),
        mx.nd.broadcast_like(row, y, lhs_axes=(0,)),
        mx.nd.broadcast_like(row, y, rhs_axes=(0,)),
        grad,
        drawn,
        one,
    ]


@question
def methods_for_arrays(mx):
    """``inplace`` is for arrays; a symbol's method takes it, and writes its defaults down."""
    a = mx.sym.Variable("a")
    with mx.name.NameManager():
        made = [
            a.squeeze(),
            a.squeeze(1),
            a.squeeze(axis=(0, 1), inplace=True),
            a.expand_dims(1, inplace=True),
            a.flatten(True),
            a.flatten(inplace=False, name="f"),
            a.diag(),
            a.diag(1, axis1=0, axis2=1),
        ]
    return [[symbol.list_outputs(), symbol.attr_dict()] for symbol in made]


@question
def checks_of_symbols(mx):
    """Lists of values may be longer than the names, and expected ones shorter."""
    tu = mx.test_utils
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    a, b = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    both, product = mx.sym.Group([x + y, x * y]), x * y
    norm = mx.sym.BatchNorm(x, fix_gamma=False, name="n")
    values = {"x": np.ones((2, 2)), "n_gamma": np.ones(2), "n_beta": np.zeros(2)}
    states = [mx.nd.array([0, 1], dtype="float64"), mx.nd.array([1, 1], dtype="float64")]
    wanted = [[[1, 0], [1, 0]]]
    few = {"density": 1, "rsp_indices": np.array([1, 2]), "data_init": 2}
    doubled = [
        tu.rand_sparse_ndarray((4, 2), kind, modifier_func=lambda v: v * 2, **few)[0]
        for kind in ("csr", "row_sparse")
    ]
    return [
        tu.check_symbolic_forward(both, [a, b, a], [a + b]),
        tu.check_symbolic_forward(product, [a, b], [a * b, a]),
        refusal(tu.check_symbolic_forward, both, [a, b], [a + b, a]),
        tu.check_symbolic_backward(product, [a, b, b], [a], [a * b]),
        tu.check_symbolic_backward(product, [a, b], [a, a], [a * b, a * a, b]),
        tu.check_symbolic_forward(norm, values, np.array(wanted), aux_states=states, rtol=1e-2),
        tu.compare_ndarray_tuple((states[0], states[1]), (states[0],)),
        refusal(tu.collapse_sum_like, np.ones((2, 3)), (2, 2)),
        refusal(tu.collapse_sum_like, np.ones(3), (2, 3)),
        tu.collapse_sum_like(np.ones((2, 3)), (1,)),
        refusal(tu.rand_sparse_ndarray, (2, 2), "csr", density=1.5),
        refusal(tu.rand_sparse_ndarray, (2, 2), "csr", density=-1),
        doubled,
    ]


@question
def arrays_of_random_helpers(mx):
    """Random arrays of `test_utils` draw from NumPy's generator, in MXNet's order."""
    tu, found = mx.test_utils, []

    def drawn(function, *args, **kwargs):
        np.random.seed(3)  # noqa: NPY002 - MXNet's helpers draw from NumPy's generator
        found.append([function(*args, **kwargs), np.random.rand()])  # noqa: NPY002

    drawn(tu.random_sample, [5, 6, 7, 8], 3)
    drawn(tu.rand_ndarray, (4, 3), "csr", 0.5)
    drawn(tu.rand_ndarray, (2, 5), "csr", 0.3, dtype="float64")
    drawn(tu.rand_ndarray, (4, 3), "row_sparse", 0.5, modifier_func=lambda v: v * 2)
    drawn(tu.rand_ndarray, (4, 3), "csr", 0.5, modifier_func=lambda v: v * 2)
    drawn(tu.rand_ndarray, (3, 9), "csr", 0.5, distribution="powerlaw")
    drawn(tu.rand_ndarray, (10, 6), "csr", 0.7, distribution="powerlaw")
    for shape in ((4, 3), (4, 16)):
        refused = tu.rand_ndarray, shape, "csr", 0.5
        found.append(refusal(*refused, distribution="powerlaw"))
    found.append(refusal(tu.random_sample, [1, 2], 3))
    square = mx.sym.square(mx.sym.Variable("x")).simple_bind(mx.cpu(), x=(3,))
    points = [np.array([1, 2, 3], dtype) for dtype in ("float32", "float64")]
    return [*found, *(tu.numeric_grad(square, {"x": point})["x"] for point in points)]


@question
def arguments_of_array_iterators(mx):
    """A tuple is neither an array nor a list of them, and a pair is none."""
    rows = np.ones((2, 2), np.float32)
    given = (
        *((rows, rows), [("data", rows)], [("data", mx.nd.array(rows))], [[1, 2], [3, 4]]),
        *({"a": rows, "b": [1, 2]}, {1: rows}, "a", 3),
    )
    found = [refusal(mx.io.NDArrayIter, each) for each in given]
    return [*found, refusal(mx.io.NDArrayIter, rows, (rows, rows))]


@question
def labels_with_fractions(mx):
    """F1 and MCC cut fractions of labels off, and see two classes then."""
    outputs = [mx.nd.array([[0.3, 0.7], [0.7, 0.3], [0.3, 0.7], [0.7, 0.3], [0.7, 0.3]])]
    found = []
    for name in ("f1", "mcc"):
        for labels in ([0, 0.25, 0.5, 0.75, 1], [0, 1, 1, 0, 1.9], [-0.5, 0, 0.3, 1, 1]):
            metric = mx.metric.create(name)
            found.append([refusal(metric.update, [mx.nd.array(labels)], outputs), metric.get()[1]])
        wrong = mx.nd.array([0, 1, 2, 0, 1])
        found.append(refusal(mx.metric.create(name).update, [wrong], outputs))
    return found


@question
def momentum_that_changes(mx):
    """Weights and states when the momentum changes, becomes 0, and comes back."""
    found = {}
    for name in ("sgd", "nag", "signum"):
        optimizer = mx.optimizer.create(name, learning_rate=0.1, momentum=0.9)
        updater, weight = mx.optimizer.get_updater(optimizer), mx.nd.ones(2)
        seen = found[name] = []
        for momentum in (0.9, 0.8, 0, 0, 0.5):
            optimizer.momentum = momentum
            updater(0, weight * 2, weight)
            seen.append([weight.asnumpy().tolist(), updater.states[0].asnumpy().tolist()])
    return found


UNUSUAL_SETTINGS = (
    ("adagrad", {"clip_gradient": 0}, {}),
    ("adagrad", {"clip_gradient": 1.5}, {}),
    ("groupadagrad", {"clip_gradient": 0}, {}),
    ("sgd", {"momentum": 0.5, "wd": 0.1}, {"momentum": 0.0}),
    ("nag", {"momentum": 0.0, "wd": 0.1}, {}),
    ("signum", {"momentum": 0.5, "wd": 0.1}, {"momentum": 0.0}),
    ("nag", {"momentum": 0.5, "wd": 0.1}, {"momentum": 0.0}),
)


@question
def rows_in_unusual_settings(mx):
    """Row-sparse gradients with a clip of 0, and after the momentum was set to 0."""
    found = []
    for name, options, changes in UNUSUAL_SETTINGS:
        optimizer = mx.optimizer.create(name, learning_rate=0.1, **options)
        updater, weight = mx.optimizer.get_updater(optimizer), mx.nd.array([[1, 2], [3, 4], [5, 6]])
        for step in (1, 2, 3):
            grad = mx.nd.sparse.row_sparse_array(([[step, 2 * step]], [1]), shape=(3, 2))
            updater(0, grad, weight)
            for key, value in changes.items():
                setattr(optimizer, key, value)
        found.append([weight.copy(), updater.states[0]])
    return found


@question
def modules_in_unusual_settings(mx):
    """The same for a table of a network, whose rows 0 and 2 are not read."""
    x = mx.sym.Variable("x")
    net = mx.sym.Embedding(x, input_dim=3, output_dim=2, sparse_grad=True, name="table")
    net = mx.sym.MakeLoss(mx.sym.sum(mx.sym.square(net), axis=(1, 2)))
    found, batch = [], mx.io.DataBatch([mx.nd.array([[1, 1]])], None)
    for name, options, changes in (UNUSUAL_SETTINGS[0], UNUSUAL_SETTINGS[-1]):
        module = mx.mod.Module(net, ["x"], None)
        module.bind([("x", (1, 2))], None)
        table = mx.nd.array([[1, 2], [3, 4], [5, 6]])
        module.init_params(arg_params={"table_weight": table})
        optimizer = mx.optimizer.create(name, learning_rate=0.1, rescale_grad=1, **options)
        module.init_optimizer(None, optimizer)
        for _ in range(2):
            module.forward_backward(batch)
            module.update()
            for key, value in changes.items():
                setattr(optimizer, key, value)
        found.append(module.get_params()[0]["table_weight"])
    return found


@question
def rates_within_lists(mx):
    """In a list each parameter has the rate of its own call, where the counts differ."""
    found = {}
    for name in ("signum", "sgd", "nag", "lamb", "adam", "rmsprop", "adagrad", "ftml", "lars"):
        schedule = mx.lr_scheduler.PolyScheduler(6, base_lr=0.3)
        optimizer = mx.optimizer.create(name, lr_scheduler=schedule)
        updater = mx.optimizer.get_updater(optimizer)
        weights = [mx.nd.ones((2,)) for _ in range(3)]
        for indices in ([1], [0, 1], [2, 0], [2, 0, 1]):
            gradients = [mx.nd.array([0.5, 0.25]) for _ in indices]
            updater(indices, gradients, [weights[i] for i in indices])
        found[name] = [weights, optimizer.num_update, updater.aggregate_updates]
    return found


@question
def labels_without_a_file(mx):
    """Without a file of labels each sample of a CSVIter has the number 0."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "data.csv"))
        Path(path).write_text("1,2\n3,4\n")
        for shape in ((1,), (2,), (2, 3)):
            given = {"data_csv": path, "data_shape": (2,), "label_shape": shape, "batch_size": 2}
            iterator = mx.io.CSVIter(**given)
            found.append([tuple(iterator.provide_label[0]), iterator.next().label[0]])
    return found


@question
def image_iterators_past_the_end(mx):
    """An image iterator begins anew without a reset, unless it pads or discards the last batch."""
    head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes(6)) * 2)
    parts = [(b"IHDR", head), (b"IDAT", pixels), (b"IEND", b"")]
    image = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(v)) + n + v + struct.pack(">I", zlib.crc32(n + v)) for n, v in parts
    )
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(5):
            Path(folder, f"{i}.png").write_bytes(image)
        listed = [[float(i), f"{i}.png"] for i in range(5)]
        for handle in ("pad", "discard", "roll_over"):
            for batch in (1, 2, 5):
                iterator = mx.image.ImageIter(
                    batch, (3, 2, 2), imglist=listed, path_root=folder, last_batch_handle=handle
                )
                found += [[[b.label[0], b.pad] for b in iterator] for _ in range(3)]
    return found


@question
def writes_at_new_axes(mx):
    """A value without the new axes of the key is broadcast to the elements as they lie."""
    values = {
        "row": [1, 2, 3, 4],
        "column": [[1], [2], [3], [4]],
        "all": np.arange(1, 17).reshape(4, 4),
    }
    keys = {
        "last": (Ellipsis, None),
        "middle": (slice(None), None),
        "both": (slice(None), None, slice(None), None),
        "reversed": (slice(None, None, -1), None),
        "one row": (1, Ellipsis, None),
        "rows": ([0, 2], Ellipsis, None),
        "pairs": ([0, 1, 2, 3], None, [1, 3, 0, 2]),
    }
    found = {}
    for where, key in keys.items():
        for what, value in values.items():
            array = mx.nd.zeros((4, 4))
            refused = refusal(array.__setitem__, key, mx.nd.array(value))
            numbers = array.asnumpy().astype(int).ravel()
            found[f"{what} to {where}"] = refused or " ".join(map(str, numbers))
    return found


@question
def softmax_output_of_one_axis(mx):
    """With preserve_shape a vector is one distribution, and its label has all probabilities."""
    data, label = mx.nd.array([1, 2, 3]), mx.nd.array([0, 0.25, 0.75])
    found = []
    for options in ({}, {"grad_scale": 3.0}, {"use_ignore": True, "ignore_label": 0}):
        data.attach_grad()
        with mx.autograd.record():
            made = mx.nd.SoftmaxOutput(data, label, preserve_shape=True, **options)
        made.backward()
        found.append([made, data.grad])
    net = mx.sym.SoftmaxOutput(mx.sym.var("x"), mx.sym.var("label"), preserve_shape=True)
    return [*found, str(net.infer_shape(x=(3,), label=(3,)))]


class CountsCalls:
    """A schedule whose rate depends on the number of its calls."""

    def __init__(self):
        self.base_lr, self.calls = 0.1, []

    def __call__(self, num_update):
        """The rate of this call."""
        self.calls.append(num_update)
        return 0.1 / len(self.calls)


@question
def schedules_called_by_updaters(mx):
    """An updater calls a schedule for each parameter, or for four of one type."""
    found = {}
    for name in ("sgd", "nag", "adam", "adadelta", "lamb", "lars", "lbsgd", "test"):
        made = mx.optimizer.create(name, lr_scheduler=CountsCalls())
        updater = mx.optimizer.get_updater(made)
        mixed = name in ("sgd", "nag", "lamb")
        types = ["float32", "float64" if mixed else "float32"] * 3
        weights = [mx.nd.ones((2, 1), dtype=each) for each in types]
        for _ in range(2):
            updater(list(range(6)), [mx.nd.ones((2, 1), dtype=t) for t in types], weights)
        found[name] = [made.lr_scheduler.calls, plain([w.asnumpy()[0, 0] for w in weights])]
    return found


@question
def schedules_called_at_unequal_counts(mx):
    """The number of updates is that when the parameter's own update is counted."""
    found = {}
    weights = [mx.nd.ones((2,)) for _ in range(6)]
    for name, options in (("sgd", {}), ("lbsgd", {}), ("lbsgd", {"batch_scale": 2})):
        made = mx.optimizer.create(name, lr_scheduler=CountsCalls(), **options)
        updater = mx.optimizer.get_updater(made)
        for index in ("d", "d", "f", "f", "f"):
            updater(index, mx.nd.ones((2,)), weights["abcdef".index(index)])
        for order in ("abcdef", "fedcba"):
            updater(
                list(order), [mx.nd.ones((2,))] * 6, [weights["abcdef".index(i)] for i in order]
            )
        found[name + str(options)] = [made.lr_scheduler.calls, made.num_update]
    made = mx.optimizer.SGD(lr_scheduler=CountsCalls())
    made.update(list(range(6)), weights, [mx.nd.ones((2,))] * 6, [None] * 6)
    return [found, made.lr_scheduler.calls]


def trained_by(mx, made, kvstore=None, devices=1, steps=1, reading=False):
    """A schedule's calls, and six weights that an optimizer trained; reading before a last step."""
    net = mx.sym.Variable("data")
    for which in "abcdef":
        net = mx.sym.broadcast_add(net, mx.sym.Variable(which + "_weight", shape=(1, 2)))
    contexts = [mx.cpu(i) for i in range(devices)]
    module = mx.mod.Module(mx.sym.MakeLoss(net), label_names=[], context=contexts)
    module.bind([("data", (2, 2))])
    module.init_params(mx.init.One())
    module.init_optimizer(kvstore, made)
    for step in range(steps):
        module.forward_backward(mx.io.DataBatch([mx.nd.zeros((2, 2))]))
        if reading and step == steps - 1:
            module.get_outputs()[0].asnumpy()
        module.update()
    weights = module.get_params()[0]
    weights = [weights[which + "_weight"][0, 0].asscalar() for which in "abcdef"]
    return made.lr_scheduler.calls, weights


@question
def schedules_called_by_modules(mx):
    """A store updates each parameter by its key, and no lists."""

    def trained(name, *args, **kwargs):
        made = mx.optimizer.create(name, lr_scheduler=CountsCalls(), rescale_grad=0.5)
        return trained_by(mx, made, *args, **kwargs)

    found = {}
    found["a store for two contexts"] = trained("sgd", "local", 2)[0]
    found["a store for one context"] = trained("sgd", mx.kv.create("local"))[0]
    found["lbsgd"] = trained("lbsgd")[0]
    found["adadelta"] = trained("adadelta")[0]
    return [found, *trained("sgd", steps=2)]


@question
def schedules_called_by_methods(mx):
    """Overridden rates and counts are those of a parameter, or of four of one type."""

    def doubled(base):
        class Doubled(base):
            def _get_lrs(self, indices):
                return [2 * rate for rate in super()._get_lrs(indices)]

        return Doubled

    class One(mx.optimizer.Adam):
        def _get_lr(self, index):
            return 2 * super()._get_lr(index)

    class Counts(mx.optimizer.SGD):
        def _update_count(self, index):
            super()._update_count(index)
            self.num_update += 10

    def made(kind):
        return kind(lr_scheduler=CountsCalls(), rescale_grad=0.5)

    mine = doubled(mx.optimizer.SGD)
    found = [
        trained_by(mx, made(mine), steps=2, reading=True),
        trained_by(mx, made(mine), mx.kv.create("local"), steps=2),
        trained_by(mx, made(Counts), steps=2),
    ]
    for kind in (doubled(mx.optimizer.LARS), One):
        own = made(kind)
        weights = [mx.nd.ones((1, 2)) for _ in range(6)]
        mx.optimizer.get_updater(own)(list(range(6)), [mx.nd.ones((1, 2))] * 6, weights)
        found.append([own.lr_scheduler.calls, [w.asnumpy()[0, 0] for w in weights]])
    return found


@question
def schedules_called_for_rows(mx):
    """Row-sparse gradients beside dense ones are in the same calls."""
    made = mx.optimizer.SGD(lr_scheduler=CountsCalls())
    updater, weights = mx.optimizer.get_updater(made), [mx.nd.ones((3, 2)) for _ in range(6)]
    for _ in range(2):
        types = ["default", "row_sparse", "default"] * 2
        updater(list(range(6)), [mx.nd.ones((3, 2)).tostype(t) for t in types], weights)
    return [made.lr_scheduler.calls, [w.asnumpy()[0, 0] for w in weights]]


@question
def numbers_in_arrays(mx):
    """An optimizer's numbers may be NumPy arrays without axes."""
    found = {}
    for name in ("momentum", "clip_gradient", "rescale_grad"):
        updater = mx.optimizer.get_updater(mx.optimizer.SGD(**{name: np.array(0.5)}))
        weight = mx.nd.ones((2,))
        for _ in range(2):
            updater(0, mx.nd.ones((2,)), weight)
        found[name] = weight
    return found


@question
def parameters_that_are_dirty(mx):
    """The flag of values on the devices that are newer than those of get_params."""
    module = small_module(mx)
    module.init_optimizer()
    batch = mx.io.DataBatch([mx.nd.ones((4, 2))], [mx.nd.array([0, 1, 2, 0])])
    found = [module._params_dirty]

    def trained(then=None):
        module.forward_backward(batch)
        module.update()
        if then is not None:
            then()
        found.append(module._params_dirty)

    trained()
    trained(module.get_params)
    trained(module._sync_params_from_devices)
    trained(lambda: module.init_params(force_init=True))
    trained(module.init_params)
    trained(lambda: module.init_optimizer(force_init=True))
    trained()
    module.set_params(*module.get_params())
    found.append(module._params_dirty)
    module.set_params({"fc_weight": mx.nd.ones((3, 2))}, {}, allow_missing=True)
    found.append(module._params_dirty)
    module = mx.mod.Module(small_net(mx))

    def note(*_):
        found.append(module._params_dirty)

    module.fit(small_iterator(mx, 8), num_epoch=1, batch_end_callback=note, epoch_end_callback=note)
    note()
    module = mx.mod.BucketingModule(lambda key: (small_net(mx), ["data"], ["softmax_label"]), 1)
    shapes = [("data", (4, 2))], [("softmax_label", (4,))]
    module.bind(*shapes)
    module.init_params()
    module.init_optimizer()
    for key in (1, 2, 1):
        some = {"bucket_key": key, "provide_data": shapes[0], "provide_label": shapes[1]}
        batch = mx.io.DataBatch(batch.data, batch.label, **some)
        trained()
        trained(module.get_params)
    return found


def png(pixels):
    """A picture (H, W, 3) as PNG bytes, without loss."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    ]
    chunks = [
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@question
def sizes_of_scaled_pictures(mx):
    """Scaled edges are cut to whole pixels; the limits of edges work on their own."""
    folder = tempfile.mkdtemp()
    prefix = str(Path(folder) / "pictures")
    writer = mx.recordio.MXIndexedRecordIO(prefix + ".idx", prefix + ".rec", "w")
    for at, (height, width) in enumerate([(23, 31), (100, 40), (17, 19)]):
        y, x = np.mgrid[:height, :width]
        pixels = np.stack([x * 6, y * 2, x + y], -1).astype(np.uint8)
        header = mx.recordio.IRHeader(0, float(at), at, 0)
        writer.write_idx(at, mx.recordio.pack(header, png(pixels)))
    writer.close()
    found = {}
    for name, settings in {
        "min": {"min_img_size": 24},
        "max": {"max_img_size": 18},
        "both": {"min_img_size": 24, "max_img_size": 30},
        "half": {"min_random_scale": 0.5, "max_random_scale": 0.5},
        "three quarters": {"min_random_scale": 0.75, "max_random_scale": 0.75},
        "58 of 100": {"min_random_scale": 0.58, "max_random_scale": 0.58},
    }.items():
        iterator = mx.io.ImageRecordIter(
            path_imgrec=prefix + ".rec", data_shape=(3, 16, 16), batch_size=3,
            preprocess_threads=1, **settings
        )  # fmt: skip
        found[name] = iterator.next().data[0].asnumpy()[:, :, 3::6, 2::6].ravel()
    shutil.rmtree(folder)
    return found


@question
def sizes_of_detection_parts(mx):
    """The width of a part or canvas follows from its height; a part keeps the area's range."""
    image, label = mx.nd.zeros((60, 60, 3), dtype="uint8"), np.array([[0, 0.0, 0.0, 1.0, 1.0]])
    found = []
    for height, width in ((69.2, 75.6), (70.6, 90.5), (75.6, 69.2), (66.5, 77.5)):
        ratio, area = width / height, height * width / 3600
        pad = mx.image.DetRandomPadAug((ratio, ratio), (area, area))
        found.append(pad(image, label)[0].shape)
    for area in (0.1, 0.25):
        crop = mx.image.DetRandomCropAug(0.0, (1, 1), (area, area), 0.0)
        found.append(crop(image, label)[0].shape)
    return found


@question
def detection_parts_by_seed(mx):
    """Parts and canvases of successive draws, and the number that is drawn after them."""
    image, found = mx.nd.zeros((50, 60, 3), dtype="uint8"), {}
    label = np.array([[0, 0.1, 0.1, 0.6, 0.7], [1, 0.5, 0.3, 0.9, 0.8]])
    for ratio in ((1, 1), (0.5, 2), (0.4, 0.5)):
        for area in ((0.05, 1.0), (0.25, 0.5), (0.9, 1.0), (1.0, 3.0), (2.0, 2.0)):
            kind = mx.image.DetRandomPadAug if area[1] > 1 else mx.image.DetRandomCropAug
            augment = kind(aspect_ratio_range=ratio, area_range=area, max_attempts=20)
            random.seed(5)
            draws = [augment(image, label.copy()) for _ in range(6)]
            parts = [(part.shape[:2], boxes[0]) for part, boxes in draws]
            found[str((ratio, area))] = parts, random.random()
    flips = [mx.image.DetHorizontalFlipAug(p) for p in (0, 1, 0.5)]
    select = mx.image.DetRandomSelectAug(flips, skip_prob=0.3)
    random.seed(5)
    found["select"] = [select(image, label.copy())[1][0] for _ in range(12)], random.random()
    return found


@question
def arrays_as_parameters_of_draws_alike(mx):
    """Draws of the shape of an array take numbers only."""
    data, number = mx.nd.ones((2,)), mx.nd.ones((2,))
    names = {"uniform": "low", "normal": "loc", "gamma": "alpha", "exponential": "lam",
             "poisson": "lam", "negative_binomial": "k"}  # fmt: skip
    made = {name: getattr(mx.nd.random, name + "_like") for name in names}
    return [refusal(made[n], data, **{parameter: number}) for n, parameter in names.items()]


@question
def writes_with_more_axes(mx):
    """First axes of size 1 of a value are dropped, where the key has new axes too."""
    none, rows = (Ellipsis, None), (slice(None), None)
    cases = {
        "last": [none, (1, 3, 1), (1, 1, 3), (1, 3, 3), (1, 1, 3, 3)],
        "middle": [rows, (1, 3, 1), (1, 3, 3)],
        "list": [([0, 1, 2], None), (1, 3, 1), (1, 1, 3, 3)],
        "part": [(slice(0, 2), Ellipsis, None), (1, 3, 1)],
        "reversed": [(slice(None, None, -1), None), (1, 1, 3, 3)],
    }
    found = {}
    for name, (key, *shapes) in cases.items():
        for shape in shapes:
            array = mx.nd.zeros((3, 3))
            array[key] = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
            found[f"{name} {shape}"] = " ".join(map(str, array.asnumpy().astype(int).ravel()))
    array = mx.nd.zeros((3, 3))
    array[none] = mx.nd.array([[[1], [2], [3]]])
    return [found, array]


@question
def slices_of_no_axes(mx):
    """Any slice writes the element of an array without axes; the whole ones read it."""
    found = {}
    with mx.util.np_shape(True):
        for key in (slice(None, None, 1), slice(None, 1), slice(None, None, -1), slice(5, 9)):
            array = mx.nd.zeros(())
            array[key] = 7
            found[str(key)] = [array, refusal(lambda a=array, k=key: a[k])]
    return found


@question
def sums_of_arrays_collapsed(mx):
    """collapse_sum_like takes an NDArray too, if the shape has fewer elements."""
    array, collapse = mx.nd.arange(6).reshape((2, 3)), mx.test_utils.collapse_sum_like
    return [collapse(array, shape) for shape in ((1, 3), (2, 1))]


@question
def shapes_declared_and_given(mx):
    """A given shape with an unknown size yields to the one that the variable declares."""
    found = {}
    for numpy_shapes in (False, True):
        for given in ((2, 3), (2, -1), (2, 0), (-1, -1), (2,)):
            for declared in ((2, 3), (-1, 3), (2, 4, 5), (2, 0)):
                x = mx.sym.Variable("x", shape=declared)
                with mx.util.np_shape(numpy_shapes):
                    shapes = [f(x=given)[1] for f in (x.infer_shape_partial, x.infer_shape)]
                found[f"{numpy_shapes} {given} {declared}"] = shapes
    return found


@question
def symbols_that_say_little(mx):
    """Shapes of shapes, an operator alone in words, and mistakes of several kinds at once."""
    x = mx.sym.Variable("x")
    seen = []

    class Alike(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["one", "other"]

        def infer_shape(self, shapes):
            seen.append(str([list(shape) for shape in shapes]))
            return [shapes[0]] * 2, [shapes[0]], []

    mx.operator.register("recorded_alike")(Alike)
    both = mx.sym.Custom(x, mx.sym.Variable("y"), op_type="recorded_alike", name="both")
    with mx.util.np_shape(True):
        custom = {str(s): both.infer_shape(x=s) for s in ((), (0,), (0, 3), (2,))}
    return {
        "shape_array": [x.shape_array().infer_shape_partial()[1], x.size_array().infer_shape()],
        "ranks": x.shape_array().infer_shape_partial(x=(2, 0, 0))[1],
        "alone": [s.debug_str() for s in (mx.sym.zeros((2,)), mx.sym.eye(3), x)],
        "stype": refusal(mx.sym.Variable, "x", stype="odd"),
        "no shape, no such name": refusal(x.infer_shape, absent="(2, 3)"),
        "no type, no such name": refusal(x.infer_type, absent=3),
        "custom": custom,
        "custom, unknown sizes": both.infer_shape_partial(x=(2, 0))[1],
        "custom saw": "[[2, -1], []]" in seen and "[[0, 3], []]" in seen,
    }


@question
def parts_of_imperative_programs(mx):
    """Contexts of gradients, lists beside arrays, counts and edges, and rows for NaN."""
    here, there = (mx.nd.array([1, 2], ctx=mx.cpu(i)) for i in range(2))
    for each in (here, there):
        each.attach_grad()
    with mx.autograd.record():
        product = (here * here).as_in_context(mx.cpu(1)) * there
    gradients = mx.autograd.grad(product, [here, there])
    counts = {
        "number": mx.nd.histogram(here, bins=3),
        "range": mx.nd.histogram(here, bins=3, range=(0, 4)),
        "edges": mx.nd.histogram(here, bins=mx.nd.array([0, 2, 5])),
    }
    numbers = [0, 1, float("nan"), -1, 0.7, -0.5, 1e10, float("inf")]
    return {
        "contexts": [[str(each.context), each] for each in gradients],
        "equal to a list": refusal(lambda: here == [1, 2]),
        "unlike a tuple": refusal(lambda: here != (1, 2)),
        "histograms": {name: [type(found).__name__, *found] for name, found in counts.items()},
        "one_hot": [
            mx.nd.one_hot(mx.nd.array(numbers, dtype=d), 2) for d in ("float32", "float64")
        ],
    }


@question
def refused_calls_and_ignored_parameters(mx):
    """Names that refused calls count, what regression losses ignore, updates of nothing."""
    x, dense, found = mx.sym.Variable("x"), mx.sym.FullyConnected, {}
    calls = {
        "true": lambda: x + True,
        "no symbol": lambda: dense(3, num_hidden=1),
        "no symbols": lambda: mx.sym.Concat(1, 2),
        "no inputs": mx.sym.Concat,
        "too many": lambda: dense(x, x, x, x, num_hidden=1),
        "twice": lambda: dense(x, data=x, num_hidden=1),
        "unknown": lambda: dense(x, num_hidden=1, units=2),
        "no number": lambda: dense(x, num_hidden="two"),
        "missing": lambda: dense(x),
    }
    for name, call in calls.items():
        with mx.name.NameManager():
            refusal(call)
            found[name] = [(x + 1).name, dense(x, num_hidden=1).name, mx.sym.Concat(x, x).name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = mx.sym.MAERegressionOutput(x, scale=2, name="loss")
    module = mx.mod.Module(dense(x, num_hidden=1), ["x"], None)
    module.bind([("x", (2, 3))], grad_req="null")
    module.init_params()
    module.init_optimizer()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]), is_train=False)
    module.update()
    found["loss"] = mx.sym.load_json(loss.tojson()).attr_dict()
    return [found, module._optimizer.num_update]


@question
def kept_states(mx):
    """States stay when the bucket, the batch size or the module with shared arrays changes."""

    def net(length):
        total = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True)
        state = mx.sym.Variable("state")
        scores = mx.sym.FullyConnected(total + state, num_hidden=2, name="fc")
        outputs = [mx.sym.SoftmaxOutput(scores, name="softmax"), mx.sym.BlockGrad(state + 1)]
        return mx.sym.Group(outputs), ["data"], ["softmax_label"]

    found = []
    for contexts in ([mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]):
        module = mx.mod.BucketingModule(net, 3, state_names=["state"], context=contexts)
        module.bind([("data", (2, 3))], [("softmax_label", (2,))])
        module.init_params(mx.init.One())
        module.set_states(value=0)
        for length in (3, 2, 3, 4):
            batch = mx.io.DataBatch(
                [mx.nd.ones((2, length))], [mx.nd.zeros((2,))], bucket_key=length,
                provide_data=[("data", (2, length))], provide_label=[("softmax_label", (2,))],
            )  # fmt: skip
            module.forward(batch)
            found.append(plain(module.get_outputs()[1]))
            module.set_states(states=[module.get_outputs(False)[1]])
    sums = mx.sym.broadcast_add(mx.sym.Variable("data"), mx.sym.Variable("state", shape=(1, 3)))
    module = mx.mod.Module(sums, label_names=None, state_names=["state"])
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params()
    module.set_states(value=5)
    for size in (2, 4, 1):
        module.forward(mx.io.DataBatch([mx.nd.zeros((size, 3))]))
        found.append(module.get_outputs()[0])
    other = mx.mod.Module(mx.sym.negative(sums), label_names=None, state_names=["state"])
    other.bind([("data", (1, 3))], for_training=False, shared_module=module)
    other.set_states(value=7)
    return found + module.get_states(False)[0]


@question
def default_rules_of_custom_operators(mx):
    """Arguments keep the shapes and types that are given; the outputs have the first one's."""

    @mx.operator.register("tail_of_sum")
    class Prop(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["data", "tail"]

        def create_operator(self, ctx, shapes, dtypes):
            return Op()

    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            sums = mx.nd.broadcast_add(in_data[0], in_data[1].astype(in_data[0].dtype))
            self.assign(out_data[0], req[0], sums)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0])
            self.assign(in_grad[1], req[1], mx.nd.sum(out_grad[0], axis=0, keepdims=True))

    net = mx.sym.Custom(
        data=mx.sym.Variable("data"), tail=mx.sym.Variable("tail"), op_type="tail_of_sum"
    )
    executor = net.simple_bind(mx.cpu(), data=(2, 3), tail=(1, 3))
    executor.arg_dict["tail"][:] = 2
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 3)))
    eager = mx.nd.Custom(
        mx.nd.ones((2, 3)), mx.nd.ones((1, 3), dtype="float64"), op_type="tail_of_sum"
    )
    types = net.infer_type(data="float64", tail="float32")[:2]
    return [
        net.infer_shape(data=(2, 3), tail=(1, 3)),
        [[np.dtype(each).name for each in part] for part in types],
        executor.outputs[0], executor.grad_dict["tail"], eager,
    ]  # fmt: skip


@question
def base_modules_without_names(mx):
    """A subclass of BaseModule that does all by itself trains in `fit`."""
    calls = []

    class Own(mx.mod.BaseModule):
        def bind(self, *args, **kwargs):
            self.binded = True

        def init_params(self, *args, **kwargs):
            self.params_initialized = True

        def init_optimizer(self, *args, **kwargs):
            self.optimizer_initialized = True

        def get_params(self):
            return {}, {}

        def set_params(self, *args, **kwargs):
            pass

        def forward(self, data_batch, is_train=None):
            self.outputs = [data_batch.data[0] * 2]

        def get_outputs(self, merge_multi_context=True):
            return self.outputs

        def backward(self, out_grads=None):
            calls.append("backward")

        def update(self):
            calls.append("update")

        def update_metric(self, eval_metric, labels, pre_sliced=False):
            eval_metric.update(labels, self.outputs)
            calls.append(eval_metric.get()[1])

    data = mx.io.NDArrayIter(np.eye(4, 2), np.arange(4) % 2, 2)
    Own().fit(data, eval_data=data, num_epoch=1, eval_metric="acc")
    return calls


@question
def what_old_programs_read(mx):
    """Private members of cells and scopes."""
    cell = mx.rnn.FusedRNNCell(2, 2, mode="gru", bidirectional=True, prefix="g_")
    vector = mx.nd.arange(180)
    parts = cell._slice_weights(vector, 3, 2)
    parts["g_l0_i2h_r_weight"][:] = -1
    conv = mx.rnn.ConvLSTMCell(input_shape=(1, 3, 8, 8), num_hidden=4)
    return [
        cell._num_gates, conv._num_gates, list(parts), parts["g_r1_h2h_o_bias"], vector[:8],
        mx.AttrScope(ctx_group="a")._attr,
    ]  # fmt: skip


def main():
    """Ask the reference and write its answers."""
    mx = importlib.import_module("mxnet")
    versions = {"python": platform.python_version(), "mxnet": mx.__version__}
    manifest = {
        "made_by": "tools/record_behaviour.py",
        "versions": dict(versions, numpy=np.__version__),
        "answers": ask(mx),
    }
    root = Path(__file__).resolve().parent.parent
    text = json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False)
    (root / "tests" / "reference" / "behaviour.json").write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
