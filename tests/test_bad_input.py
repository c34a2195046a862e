"""Mistakes of users: each is answered early, by an error of the right class that says enough.

A row says what is done, the built-in class that a caller would catch, and pieces of the message:
what is wrong, where, what came, what was expected, what to do.
"""

import contextlib
import math
import traceback
from collections import namedtuple
from unittest.mock import Mock

import numpy as np
import pytest

import modkit as mx
from modkit.errors import MXNetError

# ── What the rows are about ─────────────────────────────────────────────────────────────────


def net():
    """Two layers and a loss, (N, 5) to (N, 3)."""
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc1")
    hidden = mx.sym.Activation(hidden, act_type="relu")
    hidden = mx.sym.FullyConnected(hidden, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(hidden, name="softmax")


def module(**settings):
    return mx.mod.Module(net(), **settings)


def bound(**settings):
    made = module(**settings)
    made.bind([("data", (4, 5))], [("softmax_label", (4,))])
    return made


def stateful():
    kept = mx.sym.var("data") + mx.sym.var("h")
    made = mx.mod.Module(kept, label_names=None, state_names=["h"])
    made.bind([("data", (2, 3))])
    made.init_params()
    return made


def initialised():
    made = bound()
    made.init_params()
    return made


def ready(**optimizer_params):
    made = initialised()
    made.init_optimizer(optimizer_params=optimizer_params)
    return made


def batch(data=(4, 5), label=(4,)):
    return mx.io.DataBatch([mx.nd.zeros(data)], None if label is None else [mx.nd.zeros(label)])


def executor(ctx=None, **shapes):
    return net().simple_bind(ctx or mx.cpu(), **(shapes or {"data": (2, 5)}))


def headless():
    """An executor of a network without a loss, after a forward pass."""
    made = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    made = made.simple_bind(mx.cpu(), x=(2, 3))
    made.forward(is_train=True)
    return made


def arrays(**shapes):
    given = {"data": (2, 5), "fc1_weight": (4, 5), "fc1_bias": (4,), "fc2_weight": (3, 4),
             "fc2_bias": (3,), "softmax_label": (2,)}  # fmt: skip
    return {name: mx.nd.zeros(shape) for name, shape in {**given, **shapes}.items() if shape}


class Diverged(mx.lr_scheduler.LRScheduler):
    """A schedule that goes wrong at the second update."""

    def __call__(self, num_update):
        return 0.1 if num_update < 2 else math.nan


def two_steps():
    made = ready(lr_scheduler=Diverged())
    for _ in range(2):
        made.forward_backward(batch())
        made.update()


def measured(name, labels, outputs):
    metric = mx.metric.create(name)
    metric.update([mx.nd.array(labels)], [mx.nd.array(outputs)])
    return metric.get()


def written(path, content):
    path.write_bytes(content)
    return str(path)


x = mx.sym.Variable("x")
rows = np.zeros((8, 5), np.float32)
graph = '{"nodes": [{"op": "%s", "name": "a", "inputs": %s}], "arg_nodes": [0], "heads": [[0, 0]]}'

SHAPES = [
    # what is done, the built-in class, what the message says
    (lambda: module().bind([("data", (4, 5))], [("softmax_label", (3,))]), ValueError,
     ["bind", "data (4, 5)", "softmax_label (3,)", "expected one batch size", "layout"]),
    (lambda: mx.mod.Module(mx.sym.SoftmaxOutput(mx.sym.Convolution(
        mx.sym.Variable("data"), kernel=(5, 5), num_filter=2, name="conv"), name="softmax"))
        .bind([("data", (1, 1, 3, 3))], [("softmax_label", (1,))]), ValueError,
     ["bind", "operator Convolution of node 'conv'", "kernel", "data (1, 1, 3, 3)", "pad more"]),
    (lambda: ready().forward(batch((4, 6))), ValueError,
     ["forward", "data (4, 6)", "bound for data (4, 5)", "'fc1_weight' has shape (4, 5)",
      "need (4, 6)"]),
    (lambda: ready().forward(batch((4, 5), (3,))), ValueError,
     ["forward", "softmax_label (3,)", "bound for", "expected one batch size"]),
    (lambda: ready().forward(mx.io.DataBatch([])), ValueError,
     ["forward", "got 0 data arrays", "expected 1: data"]),
    (lambda: ready().forward_backward(batch(label=None)), ValueError,
     ["backward", "training needs labels", "the batch has none", "expected softmax_label"]),
    (lambda: executor(data=(2, 5), softmax_label=(3,)), ValueError,
     ["simple_bind", "operator SoftmaxOutput of node 'softmax'", "(3,)", "(2,)"]),
    (lambda: (mx.sym.FullyConnected(x, num_hidden=3, name="left")
              + mx.sym.FullyConnected(x, num_hidden=4, name="right")).simple_bind(
        mx.cpu(), x=(2, 3)), ValueError,
     ["operator elemwise_add of node '_plus", "rhs: got shape (2, 4)", "expected (2, 3)",
      "x: (2, 3)"]),
    (lambda: net().bind(mx.cpu(), arrays(fc2_weight=(3, 9))), ValueError,
     ["bind", "node 'fc2'", "weight: got shape (3, 9)", "expected (3, 4)"]),
    (lambda: net().bind(mx.cpu(), arrays(), args_grad={"fc1_bias": mx.nd.zeros((9,))}), ValueError,
     ["bind", "gradient of 'fc1_bias'", "got shape (9,)", "expected (4,)"]),
    (lambda: executor(dat=(2, 5)), ValueError,
     ["simple_bind", "cannot decide the shape of data", "dat: (2, 5)", "Did you mean 'data'",
      "pass the shapes"]),
    (lambda: executor().forward(data=mx.nd.zeros((2, 6))), ValueError,
     ["forward", "'data'", "(2, 5)", "got (2, 6)", "reshape()"]),
    (lambda: headless().backward(mx.nd.ones((5, 5))), ValueError,
     ["backward", "'fc_output'", "got shape (5, 5)", "expected (2, 2)"]),
    (lambda: mx.nd.zeros((2, 3)) + mx.nd.zeros((4, 5)), ValueError,
     ["broadcast_add", "(2, 3) and (4, 5)", "expected sizes that agree"]),
    (lambda: mx.nd.zeros((2, 2)).__setitem__(slice(None), np.zeros(3)), ValueError,
     ["shape (3,)", "into an array of shape (2, 2)", "reshape"]),
    (lambda: mx.nd.zeros((2, 3)).reshape((4, 4)), ValueError, ["(2, 3)", "(4, 4)"]),
    (lambda: mx.nd.zeros((2,)).asscalar(), ValueError, ["asscalar", "(2,)", "one element"]),
    (lambda: bound(context=[mx.cpu(i) for i in range(4)]).bind(
        [("data", (3, 5))], [("softmax_label", (3,))], force_rebind=True), ValueError,
     ["batch of 3 samples", "4 devices", "larger batch or fewer devices"]),
    (lambda: mx.io.NDArrayIter(np.zeros((4, 2)), np.zeros(5), 2), ValueError,
     ["NDArrayIter", "'data': 4", "'softmax_label': 5"]),
    (lambda: mx.io.NDArrayIter(np.zeros((40, 2)).tolist(), np.zeros(40), 2), ValueError,
     ["NDArrayIter", "and 37 more: 2; 'softmax_label': 40", "np.array(list) is one"]),
    (lambda: bool(mx.nd.zeros((2, 3))), ValueError,
     ["truth value", "(2, 3)", "expected one element", "array.asnumpy().any()"]),
]  # fmt: skip

NAMES = [
    (lambda: mx.nd.Activaton(mx.nd.zeros((2,))), AttributeError,
     ["mx.ndarray has no function 'Activaton'", "Did you mean 'Activation'"]),
    (lambda: mx.sym.FullyConected(x, num_hidden=3), AttributeError,
     ["mx.symbol has no function 'FullyConected'", "Did you mean 'FullyConnected'"]),
    (lambda: mx.sym.linalg.gem2(x, x), AttributeError, ["linalg", "'gem2'", "'gemm2'"]),
    (lambda: mx.metric.create("acuracy"), ValueError,
     ["'acuracy' is not a registered metric", "Did you mean 'accuracy'", "Registered: acc"]),
    (lambda: mx.optimizer.create("adm"), ValueError,
     ["'adm' is not a registered optimizer", "Did you mean 'adam'", "Registered: "]),
    (lambda: initialised().init_optimizer(optimizer="adm"), ValueError, ["Did you mean 'adam'"]),
    (lambda: mx.init.create("xavie"), ValueError,
     ["'xavie' is not a registered initializer", "Did you mean 'xavier'"]),
    (lambda: mx.kv.create("dist_syn"), ValueError,
     ["kv.create", "no store 'dist_syn'", "Did you mean 'dist_sync'", "Known: local"]),
    (lambda: initialised().init_optimizer(kvstore="dist_syn"), ValueError,
     ["'dist_syn'", "'dist_sync'"]),
    (lambda: mx.kv.create("local").pull("w", out=mx.nd.zeros((2,))), ValueError,
     ["pull", "key 'w' was not initialised", "call init", "Known keys: none"]),
    (lambda: module(data_names=["dta"]), ValueError,
     ["data_names=['dta']", "no argument 'dta'", "Did you mean 'data'", "Its inputs: data"]),
    (lambda: module(fixed_param_names=["fc1_weigth"]), ValueError,
     ["fixed_param_names", "no argument 'fc1_weigth'", "Did you mean 'fc1_weight'"]),
    (lambda: module(state_names=["h"]), ValueError, ["state_names=['h']", "no argument 'h'"]),
    (lambda: stateful().set_states([mx.nd.zeros((2, 2))]), ValueError,
     ["set_states: 'h'", "got shape (2, 2)", "expected (2, 3)"]),
    (lambda: stateful().set_states([]), ValueError,
     ["set_states: got []", "expected a list of 1 states, for ['h']", "get_states()"]),
    (lambda: module().bind([("dat", (4, 5))]), ValueError,
     ["bind: data_shapes", "got ['dat']", "data_names=['data']"]),
    (lambda: headless().backward([[1, 2]]), ValueError,
     ["backward: the gradient of 'fc_output'", "got [1, 2]", "expected an NDArray", "mx.nd.array"]),
    (lambda: headless().backward(1.0), ValueError,
     ["backward: the gradient of 'fc_output'", "got 1.0", "expected an NDArray"]),
    (lambda: executor().forward(dat=mx.nd.zeros((2, 5))), TypeError,
     ["forward", "unknown argument 'dat'", "Did you mean 'data'", "Arguments: "]),
    (lambda: net().infer_shape(dat=(2, 5)), ValueError, ["infer_shape", "'dat'", "'data'"]),
    (lambda: net()["softmax"], ValueError, ["no output 'softmax'", "'softmax_output'"]),
    (lambda: mx.viz.print_summary(net(), (1, 3)), ValueError, ["shape: got (1, 3)", "{'data': (1"]),
    (lambda: net()["first"], ValueError,
     ["no output 'first'", "It has: softmax_output; get_internals() has"]),
    (lambda: net().get_internals()["fc1"], ValueError,
     ["no output 'fc1'", "Did you mean 'fc1_output'?"]),
    (lambda: net().bind(mx.cpu(), arrays(fc1_bias=None)), ValueError,
     ["bind", "'fc1_bias' is missing in args", "it has data", "expected an array for each of"]),
    (lambda: net().bind(mx.cpu(), [mx.nd.zeros((2, 5))]), ValueError,
     ["bind: args", "got 1 arrays", "expected 6: data"]),
    (lambda: mx.sym.BatchNorm(x, name="bn").bind(
        mx.cpu(), {n: mx.nd.zeros((2, 3)) for n in ("x", "bn_gamma", "bn_beta")}), ValueError,
     ["bind", "'bn_moving_mean' is missing in aux_states", "bn_moving_var"]),
    (lambda: bound().init_params(None, {"arg:fc1_bias": rows[0]}, allow_extra=True), ValueError,
     ["none for 'fc1_bias'", "are those of a file: mx.model.load_checkpoint()"]),
    (lambda: ready().set_params({"fc1_weight": mx.nd.zeros((4, 5))}, {}), RuntimeError,
     ["got 1 arrays, and none for 'fc1_bias', 'fc2_bias', 'fc2_weight'", "allow_missing=True"]),
    (lambda: ready().set_params({"fc1_wieght": mx.nd.zeros((4, 5))}, {}, True), ValueError,
     ["set_params", "'fc1_wieght' is not in the network", "'fc1_weight'", "allow_extra=True"]),
    (lambda: ready().set_params({"fc1_weight": mx.nd.zeros((9, 5))}, {}, True), ValueError,
     ["'fc1_weight'", "got shape (9, 5)", "expected (4, 5)", "another network"]),
    (lambda: ready().set_params({"fc1_weight": [1, 2]}, {}, True), TypeError,
     ["'fc1_weight'", "got list", "expected an NDArray"]),
    (lambda: mx.init.Uniform()(mx.init.InitDesc("strange"), mx.nd.zeros((2,))), ValueError,
     ["strange", "ends in none of weight, bias", "mx.sym.Variable(name, init="]),
    (lambda: module().fit(mx.io.NDArrayIter(rows, batch_size=4), num_epoch=1), ValueError,
     ["fit", "label 'softmax_label'", "provides no labels", "label_names"]),
    (lambda: module().fit(mx.io.NDArrayIter(rows, rows[:, 0], 4, label_name="y"), num_epoch=1),
     ValueError, ["label 'softmax_label'", "train_data provides y"]),
]  # fmt: skip

VALUES = [
    (lambda: mx.nd.Activation(mx.nd.zeros((2,)), act_typ="relu"), TypeError,
     ["Activation", "no parameter 'act_typ'", "Did you mean 'act_type'", "It takes: data"]),
    (lambda: mx.sym.FullyConnected(x, num_hiden=3), TypeError,
     ["FullyConnected", "no parameter 'num_hiden'", "'num_hidden'", "It takes: data, weight"]),
    (lambda: mx.sym.FullyConnected(x), ValueError,
     ["FullyConnected", "'num_hidden' is missing", "expected an int"]),
    (lambda: mx.sym.FullyConnected(x, num_hidden=-3), ValueError,
     ["FullyConnected: num_hidden", "got -3", "expected an int of 1 or more"]),
    (lambda: mx.nd.Activation(mx.nd.zeros((2,)), act_type="rel"), ValueError,
     ["Activation: act_type", "got 'rel'", "expected one of 'relu'"]),
    (lambda: mx.sym.Convolution(x, kernel="a", num_filter=3), ValueError,
     ["Convolution: kernel", "got 'a'", "expected a tuple of int"]),
    (lambda: mx.sym.Convolution(x, kernel=(2, 2), stride=(0, 1), num_filter=3).infer_shape(
        x=(1, 1, 4, 4)), ValueError, ["Convolution", "stride (0, 1)", "expected 1 or more"]),
    (lambda: mx.sym.relu(np.zeros((2, 2))), TypeError, ["relu: input 'data'", "got ndarray"]),
    (lambda: mx.nd.relu(x), TypeError, ["relu: input 'data'", "got Symbol"]),
    (lambda: mx.nd.FullyConnected(mx.nd.zeros((2, 3)), num_hidden=3, no_bias=True), ValueError,
     ["FullyConnected", "'weight' is missing", "expected data, weight"]),
    (lambda: mx.optimizer.create("sgd", momentun=0.9), ValueError,
     ["SGD", "no parameter 'momentun'", "Did you mean 'momentum'", "It takes: "]),
    (lambda: module().fit((np.ones((4, 5)), np.ones(4)), num_epoch=1, validation_split="a"),
     ValueError, ["fit: validation_split: got 'a' of type str", "a share between 0 and 1"]),
    (lambda: mx.profiler.set_state("go"), KeyError, ["set_state: got 'go', expected 'run'"]),
    (lambda: mx.profiler.profiler_set_config("x"), ValueError,
     ["profiler_set_config: mode: got 'x', expected one of 'all', 'symbolic', 'imperative'"]),
    (lambda: mx.profiler.Counter("x"), TypeError, ["Counter: got no name", "domain, name, value"]),
    (lambda: mx.profiler.Domain(1), TypeError, ["Domain: name: got 1, expected a text"]),
    (lambda: mx.profiler.Task("a", "b"), TypeError, ["Task: domain: got 'a', expected a Domain"]),
    (lambda: mx.profiler.Marker(None, "b"), TypeError, ["Marker: domain: got None"]),
    (lambda: mx.profiler.Domain("a").new_counter("b", "x"), ValueError,
     ["Counter 'b': value: got 'x', expected a whole number"]),
    (lambda: mx.profiler.Domain("a").new_counter("b").increment(None), TypeError,
     ["Counter 'b': delta: got None"]),
    (lambda: mx.nd.save("x.params", {1: mx.nd.ones(1)}), TypeError,
     ["save: got 1 among the names, expected str"]),
    (lambda: mx.nd.save("x.params", [1]), TypeError,
     ["save: got int among the arrays, expected NDArray"]),
    (lambda: mx.optimizer.SGD(learning_rte=0.1), TypeError,
     ["SGD", "Did you mean 'learning_rate'", "It takes: momentum, lazy_update, rescale_grad"]),
    (lambda: mx.io.ImageRecordIter("x.rec", data_shape=(3, 8, 8), batchsize=4), TypeError,
     ["ImageRecordIter: no parameter 'batchsize'", "'batch_size'", "label_name, ..."]),
    (lambda: mx.optimizer.SGD(momentum="0.9"), TypeError,
     ["SGD: momentum: got '0.9' of type str, expected a number"]),
    (lambda: mx.optimizer.NAG(None), TypeError, ["NAG: momentum: got None, expected a number"]),
    (lambda: mx.optimizer.create("adam", epsilon="tiny"), TypeError,
     ["Adam: epsilon: got 'tiny' of type str, expected a number"]),
    (lambda: mx.optimizer.create("adam", beta1="0.9"), TypeError,
     ["Adam: beta1: got '0.9' of type str, expected a number"]),
    (lambda: mx.optimizer.LBSGD(warmup_epochs="5"), TypeError,
     ["LBSGD: warmup_epochs: got '5' of type str, expected a number"]),
    (lambda: mx.init.Xavier(magnitude="two"), TypeError,
     ["Xavier: magnitude: got 'two' of type str, expected a number"]),
    (lambda: mx.rnn.RNNCell(3)(mx.sym.var("x"), None), TypeError,
     ["RNNCell: states: got None, expected 1, as begin_state() makes them"]),
    (lambda: mx.nd.random.exponential(lam=3), TypeError,
     ["exponential: no parameter 'lam'. The scale is 1 / lam. It takes: scale, shape"]),
    (lambda: mx.autograd.backward(None), TypeError,
     ["backward: heads: got None, expected an NDArray or a list of them"]),
    (lambda: mx.autograd.grad(mx.nd.ones(2), 5), TypeError, ["grad: variables: got 5, expected"]),
    (lambda: mx.autograd.backward(mx.nd.ones(2), 5), TypeError, ["head_grads: got 5, expected"]),
    (lambda: mx.init.Xavier(magnitude=-1), ValueError,
     ["Xavier: magnitude: got -1.0, expected 0 or more"]),
    (lambda: mx.init.Uniform(-0.1), ValueError, ["Uniform: scale: got -0.1, expected 0 or more"]),
    (lambda: mx.init.Normal(sigma=-1), ValueError, ["Normal: sigma: got -1, expected 0 or more"]),
    (lambda: mx.init.Xavier(rnd="gaussian"), TypeError,
     ["Xavier: no parameter 'rnd'", "Did you mean 'rnd_type'", "It takes: rnd_type, factor"]),
    (lambda: mx.optimizer.create("adam", beta=1), ValueError,
     ["Did you mean", "'beta1'? It takes: learning_rate",
      "param_idx2name, wd, clip_gradient, lr_scheduler, sym"]),
    (lambda: module(logger="x"), TypeError, ["Module: logger: got 'x'", "logging.Logger"]),
    (lambda: ready().fit(mx.io.NDArrayIter(rows, rows[:, 0], 4), num_epoch=1, monitor=5),
     TypeError, ["monitor: got 5", "expected a Monitor"]),
    (lambda: ready().save_checkpoint("x", "one"), TypeError, ["epoch: got 'one'", "x-0001.params"]),
    (lambda: ready().predict(mx.io.NDArrayIter(rows, batch_size=4), num_batch="a"), TypeError,
     ["num_batch: got 'a'", "expected a number of batches"]),
    (lambda: mx.callback.ClipGlobalNorm("1"), TypeError, ["ClipGlobalNorm: max_norm: got '1'"]),
    (lambda: mx.callback.Speedometer("32"), TypeError, ["Speedometer: batch_size: got '32'"]),
    (lambda: mx.callback.Speedometer(32, 0), ValueError, ["Speedometer: frequent: got 0"]),
    (lambda: mx.mon.Monitor("5"), TypeError, ["Monitor: interval: got '5'"]),
    (lambda: mx.mon.Monitor(0), ValueError, ["Monitor: interval: got 0"]),
    (lambda: mx.mon.Monitor(1, pattern="(("), ValueError,
     ["Monitor: pattern: got '(('", "regular expression", "position 1"]),
    (lambda: next(mx.io.DataIter()), NotImplementedError,
     ["DataIter has no iter_next()", "define next()", "iter_next() and getdata()"]),
    (lambda: mx.rnn.LSTMCell(4, prefix="a_").pack_weights({"b_i2h_i_weight": x}), KeyError,
     ["LSTMCell: no parameter 'a_i2h_i_weight'", "Did you mean 'b_i2h_i_weight'", "prefix"]),
    (lambda: mx.rnn.FusedRNNCell(4, prefix="a_").unpack_weights({}), KeyError,
     ["FusedRNNCell: no parameter 'a_parameters'"]),
    (lambda: mx.io.CSVIter("a.csv", data_shap=(1,), batch_size=2), TypeError,
     ["CSVIter: no parameter 'data_shap'", "Did you mean 'data_shape'"]),
    (lambda: mx.sym.Custom(x, op_typ="a"), ValueError,
     ["Custom: required parameter 'op_type'", "got 'op_typ'", "Did you mean 'op_type'"]),
    (lambda: module(fixed_param_names=["fc9_weight"]), ValueError,
     ["no argument 'fc9_weight'", "Its parameters: fc1_weight, fc1_bias, fc2_weight, fc2_bias"]),
    (lambda: mx.nd.sum(mx.nd.zeros((2, 3)), axis=3), ValueError,
     ["sum: got axis 3, expected one in [-2, 2)"]),
    (lambda: x + np.zeros((20, 4)), TypeError,
     ["_plus_scalar: got shape (20, 4) of type ndarray", "pass arrays as Variables"]),
    (lambda: mx.optimizer.create("sgd", learning_rate=math.nan), ValueError,
     ["learning rate", "got nan", "expected a finite number"]),
    (lambda: mx.optimizer.create("sgd").set_learning_rate(math.nan), ValueError, ["got nan"]),
    (two_steps, ValueError, ["learning rate", "got nan at update 2", "check", "lr_scheduler"]),
    (lambda: initialised().init_optimizer(optimizer_params="lr"), ValueError,
     ["optimizer_params", "got 'lr'", "expected a dictionary", "learning_rate"]),
    (lambda: bound().init_params("xavier"), TypeError,
     ["initializer", "got 'xavier'", "mx.init.Xavier()"]),
    (lambda: executor(grad_req="wirte", data=(2, 5)), ValueError,
     ["grad_req", "got 'wirte'", "'write', 'add' or 'null'"]),
    (lambda: measured("ce", [1, 5], [[0.1, 0.9], [0.2, 0.8]]), ValueError,
     ["cross-entropy", "1 label(s)", "not a class of the output", "got 5 in row 1",
      "expected integers from 0 to 1", "check the labels"]),
    (lambda: measured("ce", [math.nan, 5], [[0.1, 0.9], [0.2, 0.8]]), ValueError,
     ["cross-entropy", "2 label(s)", "got NaN or -inf in row 0"]),
    (lambda: measured("acc", [5, 1, 2], [[0.1, 0.9], [0.2, 0.8]]), ValueError,
     ["accuracy", "(3,)", "(2, 2)"]),
    (lambda: mx.io.DataBatch(mx.nd.zeros((2, 2))), AssertionError,
     ["DataBatch: data", "got NDArray", "expected a list of NDArrays"]),
    (lambda: mx.io.DataBatch([mx.nd.zeros((2, 2))], mx.nd.zeros((2,))), AssertionError,
     ["DataBatch: label", "expected a list"]),
    (lambda: ready().forward(mx.nd.zeros((4, 5))), TypeError,
     ["forward", "got NDArray", "expected a DataBatch", "mx.io.DataBatch([array])"]),
    (lambda: ready().forward(mx.io.DataBatch([[1, 2]])), TypeError,
     ["forward", "got list", "expected NDArrays", "mx.nd.array"]),
    (lambda: module().fit(5, num_epoch=1), TypeError,
     ["fit", "got int", "expected a DataIter", "(x, y)"]),
    (lambda: module().bind(5), TypeError, ["got 5", "expected a list of DataDesc"]),
    (lambda: module().bind([("data", "x")]), TypeError, ["got ('data', 'x')", "(name, shape)"]),
    (lambda: mx.mod.Module(None), TypeError, ["Module: symbol", "got NoneType", "Symbol"]),
    (lambda: module(context="cpu"), TypeError, ["Module: context", "got 'cpu'", "mx.cpu()"]),
    (lambda: module(context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1]), ValueError,
     ["work_load_list", "got 1 entries", "2 contexts"]),
    (lambda: bound(context=[mx.cpu(0), mx.cpu(1)], work_load_list=[0, 0]), ValueError,
     ["a batch of 4 samples", "2 devices", "work loads [0, 0]"]),
    (lambda: mx.io.NDArrayIter(rows, rows[:, 0], 0), ValueError, ["batch_size", "got 0"]),
    (lambda: mx.io.NDArrayIter(rows, batch_size=2, last_batch_handle="paad"), ValueError,
     ["last_batch_handle", "got 'paad'", "expected one of 'pad'"]),
    (lambda: mx.nd.zeros((2,), dtype="flot32"), TypeError,
     ["got 'flot32'", "expected an element type", "Did you mean 'float32'"]),
    (lambda: mx.nd.array([[1, 2], [3]]), TypeError, ["array", "list cannot become an array"]),
    (lambda: mx.Context("cuda", 0), ValueError, ["got device type 'cuda'", "expected one of cpu"]),
    (lambda: mx.Context(mx.AttrScope()), ValueError, ["got device type <modkit", "one of cpu"]),
]  # fmt: skip

ORDER = [
    (lambda: module().forward(batch()), ["forward() needs bind() and init_params() first"]),
    (lambda: bound().forward(batch()), ["forward() needs init_params() first"]),
    (lambda: module().init_params(), ["init_params() needs bind() first"]),
    (lambda: bound().init_optimizer(), ["init_optimizer() needs init_params() first"]),
    (lambda: initialised().update(), ["update() needs init_optimizer() first"]),
    (lambda: module().score(None, "acc"), ["score() needs bind() and init_params() first"]),
    (lambda: module().predict(None), ["predict() needs bind() and init_params() first",
                                      "first: bind([('data', (32, 8))])"]),
    (lambda: module().get_outputs(), ["get_outputs() needs bind() and init_params() first"]),
    (lambda: module().get_params(), ["get_params() needs bind() and init_params() first"]),
    (lambda: module().data_shapes, ["data_shapes needs bind() first"]),
    (lambda: ready().get_input_grads(), ["get_input_grads() needs bind(inputs_need_grad=True)"]),
    (lambda: ready().get_outputs()[0].asnumpy(), ["no value yet", "forward() comes first"]),
    (lambda: ready().backward(), ["backward() needs forward(is_train=True) first"]),
    (lambda: bound().save_optimizer_states("f"),
     ["save_optimizer_states() needs init_params() and init_optimizer() first"]),
    (lambda: ready().borrow_optimizer(module()), ["borrow_optimizer", "init_optimizer() first"]),
    (lambda: module().fit(mx.io.NDArrayIter(rows, rows[:, 0], 4)), ["fit() needs num_epoch"]),
]  # fmt: skip

ABSENT = [
    (lambda: mx.gluon, AttributeError, ["mx.gluon is not part of modkit", "mx.mod.Module"]),
    (lambda: mx.np, AttributeError, ["mx.np is not part of modkit", "jax.numpy"]),
    (lambda: mx.nd.sparse.csr_matrx(np.zeros((2, 2))), AttributeError,
     ["mx.ndarray.sparse has no function 'csr_matrx'", "'csr_matrix'"]),
    (lambda: executor(stype_dict={"data": "csc"}, data=(2, 5)), ValueError,
     ["'csc'", "Did you mean 'csr'"]),
    (lambda: ready().prepare(batch(), sparse_row_id_fn=id), ValueError,
     ["sparse_row_id_fn", "got int", "dictionary"]),
    (lambda: mx.sym.load_json(graph % ("NoSuch", "[]")).simple_bind(mx.cpu()), NotImplementedError,
     ["node 'a'", "operator 'NoSuch'", "modkit does not have"]),
    (lambda: headless().backward(), ValueError,
     ["backward", "'fc_output' is not a loss", "pass out_grads", "MakeLoss"]),
]  # fmt: skip

GPU = [
    lambda ctx: module(context=ctx),
    lambda ctx: mx.nd.array([1], ctx=ctx),
    lambda ctx: mx.nd.zeros((1,)).as_in_context(ctx),
    lambda ctx: executor(ctx),
    lambda ctx: net().bind(ctx, arrays()),
]

FILES = [
    # content, how it is read, what the message says beside the file's name
    (b"{", mx.sym.load, ["not JSON", "line 1"]),
    (b"[]", mx.sym.load, ["expected an object with a list of 'nodes'"]),
    (graph.encode() % (b"null", b"[[5, 0]]"), mx.sym.load, ["'a' refers to node 5", "there are 1"]),
    (b"", mx.sym.load, ["the file is empty"]),
    (b"", mx.nd.load, ["the file is empty"]),
    (b"abc", mx.nd.load, ["at byte 0", "24 bytes", "3 more"]),
    (b"\0" * 200, mx.nd.load, ["at byte 0"]),
]


def said(work, kind):
    """The message of the error that ``work`` raises, which has to be of both classes."""
    with pytest.raises(MXNetError) as caught:
        work()
    assert isinstance(caught.value, kind), type(caught.value).__mro__
    return str(caught.value)


def words_of(value):
    return value[-1][0]


@pytest.mark.parametrize(
    ("work", "kind", "parts"),
    [pytest.param(*row, id=words_of(row)) for row in (*SHAPES, *NAMES, *VALUES, *ABSENT)],
)
def test_a_mistake_is_answered(work, kind, parts):
    message = said(work, kind)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(("work", "parts"), [pytest.param(*row, id=words_of(row)) for row in ORDER])
def test_what_comes_first_is_said(work, parts):
    message = said(work, AssertionError)
    for part in parts:
        assert part in message


@pytest.mark.skipif(mx.num_gpus() > 0, reason="there is an accelerator")
@pytest.mark.parametrize("work", GPU)
def test_a_device_that_is_not_there(work):
    message = said(lambda: work(mx.gpu(0)), RuntimeError)
    for part in ("gpu(0)", "JAX finds here: none", "mx.cpu()", "install"):
        assert part in message


@pytest.mark.parametrize(("content", "read", "parts"), FILES)
def test_a_damaged_file(tmp_path, content, read, parts):
    path = written(tmp_path / "damaged", content)
    message = said(lambda: read(path), ValueError)
    for part in (path, *parts):
        assert part in message


@pytest.mark.parametrize("read", [mx.sym.load, mx.nd.load])
def test_a_cut_or_missing_file(tmp_path, read):
    path = tmp_path / "cut"
    mx.nd.save(str(path), {"a": mx.nd.zeros((3, 3))}) if read is mx.nd.load else net().save(
        str(path)
    )
    path.write_bytes(path.read_bytes()[:-20])
    assert str(path) in said(lambda: read(str(path)), ValueError)
    missing = str(tmp_path / "missing")
    assert missing in said(lambda: read(missing), FileNotFoundError)


def test_a_label_name_that_the_network_lacks_warns():
    with pytest.warns(UserWarning, match=r"no argument 'softmax_lable'\. Did you mean 'softmax_la"):
        module(label_names=["softmax_lable"])


def test_names_of_the_package_have_suggestions():
    with pytest.raises(AttributeError, match="Did you mean 'module'"):
        mx.modul  # noqa: B018


def test_a_missing_epoch_names_those_that_exist(tmp_path):
    for epoch in (1, 3):
        initialised().save_checkpoint(str(tmp_path / "model"), epoch)
    message = said(lambda: mx.model.load_checkpoint(str(tmp_path / "model"), 11), FileNotFoundError)
    assert "model-0011.params: there is no such file" in message and message.endswith(": 1, 3")


def test_a_missing_file_names_the_nearest_of_those_beside_it(tmp_path, monkeypatch):
    initialised().save_checkpoint(str(tmp_path / "model"), 1)
    for read, nearest in (
        (lambda: mx.nd.load(str(tmp_path / "modle-0001.params")), "'model-0001.params'"),
        (lambda: mx.sym.load(str(tmp_path / "model-symbl.json")), "'model-symbol.json'"),
        (lambda: mx.sym.load(str(tmp_path / "model")), "'model-0001.params', 'model-symbol.json'?"),
        (lambda: mx.model.load_checkpoint(str(tmp_path / "modle"), 1), "'model-symbol.json'"),
        (lambda: mx.io.CSVIter(str(tmp_path / "model.csv"), (1,), batch_size=1), "'model-"),
    ):
        assert f"Did you mean {nearest}" in said(read, FileNotFoundError)
    message = said(lambda: mx.nd.load(str(tmp_path / "x-0001.params")), FileNotFoundError)
    assert message.endswith("there is no such file")
    folder = tmp_path / "none"
    message = said(lambda: mx.nd.load(str(folder / "x.params")), FileNotFoundError)
    assert message.endswith(f"no such file; nor is there the folder {folder}")
    monkeypatch.setattr("os.scandir", Mock(side_effect=PermissionError))
    assert said(lambda: mx.nd.load(str(tmp_path / "x")), FileNotFoundError).endswith("such file")


def test_an_error_of_an_eager_call_ends_the_traceback():
    """JAX adds no note after it, and the frames of its trace are left out."""
    with pytest.raises(ValueError, match=r"dot: got shapes \(2, 3\) and \(2, 3\)") as caught:
        mx.nd.dot(mx.nd.zeros((2, 3)), mx.nd.zeros((2, 3)))
    lines = traceback.format_exception(caught.value)
    assert lines[-1].startswith("modkit.errors.ShapeError: dot: got shapes")
    assert __file__ in lines[1] and len(lines) <= 9


def test_an_error_of_a_metric_in_the_step_has_no_note_of_jax():
    with pytest.raises(ValueError, match="top_k is 9") as caught:
        batches = mx.io.NDArrayIter(rows, rows[:, 0], 4)
        module().fit(batches, num_epoch=1, eval_metric=mx.metric.TopKAccuracy(9))
    assert "JAX has removed" not in "".join(traceback.format_exception(caught.value))


def test_an_error_of_a_bind_has_no_note_of_jax():
    """Those of its causes, which a traceback prints too, are removed."""
    with pytest.raises(ValueError, match=r"got shape \(2, 3\)") as caught:
        mx.sym.linalg.potrf(mx.sym.var("a")).simple_bind(mx.cpu(), a=(2, 3))
    assert "JAX has removed" not in "".join(traceback.format_exception(caught.value))


# ── What a mistake leaves behind ────────────────────────────────────────────────────────────


def test_a_refused_batch_leaves_the_module_as_it_was():
    made = ready(learning_rate=0.1)
    given = mx.io.DataBatch([mx.nd.ones((4, 5))], [mx.nd.zeros((4,))])
    made.forward(given, is_train=False)
    before = made.get_outputs()[0].asnumpy()
    for wrong in (batch((4, 6)), batch((4, 5), (3,)), batch((4, 6)), batch((2, 5, 2), (2,))):
        with contextlib.suppress(MXNetError):
            made.forward(wrong)
            pytest.fail("the batch was taken")
        assert made.data_shapes == [("data", (4, 5))]
        assert made.label_shapes == [("softmax_label", (4,))]
    made.forward(given, is_train=False)
    np.testing.assert_array_equal(made.get_outputs()[0].asnumpy(), before)
    made.forward_backward(given)
    made.update()


def test_parameters_of_a_wrong_shape_leave_the_others_as_they_were():
    made = ready()
    before = {n: v.asnumpy() for n, v in made.get_params()[0].items()}
    wrong = {n: mx.nd.ones(v.shape) for n, v in before.items()} | {"fc2_weight": mx.nd.ones((9, 9))}
    said(lambda: made.set_params(wrong, {}), ValueError)
    for name, value in made.get_params()[0].items():
        np.testing.assert_array_equal(value.asnumpy(), before[name])


def test_mistakes_come_before_anything_is_compiled(compilations):
    def mistakes():
        for work, _, _ in (*NAMES, *ABSENT[:3]):
            with contextlib.suppress(MXNetError):
                work()

    mistakes()
    assert compilations.during(mistakes) == []


def test_numbers_of_numpy_are_numbers():
    for number in (np.float32(0.5), np.array(0.5), np.array([0.5])):
        for made in (mx.optimizer.SGD(number, wd=number), mx.optimizer.SGD(momentum=number)):
            made.rule()  # which is looked up by its numbers
            assert made.momentum == 0.5
    assert mx.optimizer.RMSProp(clip_weights=None, learning_rate=None).lr == 0.01


def test_whatever_has_data_is_a_batch():
    batch_of = namedtuple("batch_of", ["data"])
    made = initialised()
    made.forward(batch_of([mx.nd.zeros((4, 5))]), is_train=False)
    assert made.get_outputs()[0].shape == (4, 3)
    made.forward(batch_of([mx.nd.zeros((2, 5))]), is_train=False)
    assert made.get_outputs()[0].shape == (2, 3)
