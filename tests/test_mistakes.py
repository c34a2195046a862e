"""Mistakes of users and their messages: each row graded by what, where, got, expected, do."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.cli import main
from modkit.lazy import AbsentError

X, Y = np.zeros((20, 4), "f"), np.zeros(20, "f")
x = mx.sym.Variable("data")
ones = mx.nd.ones


def net(name="softmax"):
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3, name="fc"), name=name)


def deep():
    hidden = x
    for i in range(3):
        hidden = mx.sym.FullyConnected(hidden, num_hidden=3, name=f"fc{i}")
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(hidden, num_hidden=3, name="fc"), name="softmax"
    )


def two_fc():
    hidden = mx.sym.FullyConnected(x, num_hidden=3, name="fc")
    return mx.sym.FullyConnected(hidden, num_hidden=3, name="fc")


def train(**options):
    return mx.io.NDArrayIter(X, Y, batch_size=5, **options)


def batch():
    return mx.io.DataBatch([ones((5, 4))], [mx.nd.zeros((5,))])


class Own(mx.metric.EvalMetric):
    """A metric without the constructor of its base."""

    def __init__(self, got=("own", 1.0)):
        self.got = got

    def reset(self):
        self.batches = 0

    def update(self, labels, preds):
        self.batches += 1

    def get(self):
        return self.got


def ready():
    module = mx.mod.Module(net())
    module.bind([("data", (5, 4))], [("softmax_label", (5,))])
    module.init_params()
    return module


def quiet(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def fit(data, module=None, **options):
    (module or mx.mod.Module(net())).fit(data, **{"num_epoch": 1, **options})


def fail(param):
    raise AssertionError("a batch was trained on")


def early(eval_data=None, **options):
    """`fit` with a mistake that is an error before its first batch."""
    fit(train(), batch_end_callback=fail, eval_data=eval_data, **options)


def keyed(x):
    """An iterator of the bucket 4."""
    data = mx.io.NDArrayIter(x, Y, 5)
    data.default_bucket_key = 4
    return data


class Once(mx.io.NDArrayIter):
    """An iterator that stays at its end."""

    def reset(self):
        pass


def bare(*absent):
    """An iterator of a user's own that lacks some attributes."""
    whole = {
        "batch_size": 5, "provide_data": train().provide_data,
        "provide_label": train().provide_label, "reset": lambda self: None,
        "next": lambda self: batch(), "__next__": lambda self: batch(),
        "__iter__": lambda self: self,
    }  # fmt: skip
    return type("Bare", (), {n: v for n, v in whole.items() if n not in absent})()


def unmade(kind):
    """An instance of a subclass whose constructor does not call that of its base."""
    return type("Bare", (kind,), {"__init__": lambda self: None})()


def padded(pad):
    """An iterator of one batch, with a padding of the user's own."""

    class Padded(mx.io.NDArrayIter):
        def next(self):
            made = super().next()
            made.pad = pad
            return made

    return Padded(X, Y, 5)


class Swapped(mx.io.NDArrayIter):
    """An iterator of two inputs in the other order."""

    provide_data = property(lambda self: mx.io.NDArrayIter.provide_data.fget(self)[::-1])


def two():
    """A module of two inputs."""
    both = mx.sym.Variable("a") + mx.sym.Variable("b")
    return mx.mod.Module(mx.sym.SoftmaxOutput(both, name="softmax"), ("a", "b"))


def unnamed_label():
    """A module that is bound for one sample, whose label is a parameter."""
    module = mx.mod.Module(net(), label_names=None)
    module.bind([("data", (1, 4))], for_training=False)
    module.init_params(arg_params={"softmax_label": mx.nd.zeros((1,))}, allow_missing=True)
    return module


def swapped(**options):
    """`init_params` with values of parameters given as those of auxiliary states."""
    own = quiet(ready).get_params()[0]
    ready().set_params({}, own, force_init=True, **options)


MISTAKES = [
    (
        "quiet(swapped)",
        "ParameterError",
        "'fc_bias'",
        "is given in aux_params",
        "expected in arg_params",
        "are the two swapped?",
    ),
    (
        "swapped(allow_missing=True)",
        "ParameterError",
        "'fc_",
        "is given in aux_params",
        "expected in arg_params",
        "are the two swapped?",
    ),
    (
        "unnamed_label().forward(mx.io.DataBatch([ones((5, 4))]))",
        "ShapeError",
        "bound for data (1, 4): parameter 'softmax_label'",
        "has shape (1,), but these inputs need (5,)",
        "it is a label of the network",
        "make Module(..., label_names=['softmax_label']), or use mx.Predictor",
    ),
    (
        "two_fc().simple_bind(mx.cpu(), data=(5, 3))",
        "ParameterError",
        "an input of FullyConnected 'fc'",
        "got two variables with the name 'fc_weight'",
        "expected a name for each",
        "give an operator another name=",
    ),
    # code, what: the exception; then parts of its text: where, got, expected, what to do
    (
        "mx.io.NDArrayIter((X, X), Y)",
        "ParameterError",
        "NDArrayIter: data",
        "got a tuple",
        "expected an array, a list or a dictionary of them",
        "np.array(...) of it is one",
    ),
    (
        "mx.mon.Monitor(1, mx.nd.ones((2,)))",
        "ParameterError",
        "Monitor: stat_func",
        "got NDArray",
        "expected a function of an NDArray, or None",
        "",
    ),
    (
        "mx.mon.Monitor(1).install(net())",
        "ParameterError",
        "Monitor.install",
        "got Symbol",
        "expected an executor",
        "install_monitor(monitor) watches its own",
    ),
    (
        "mx.cpu('a')",
        "ParameterError",
        "Context: device_id",
        "got 'a'",
        "expected a whole number",
        "expected",
    ),
    (
        "mx.sym.var('a', attr='b')",
        "ParameterError",
        "attr",
        "got 'b'",
        "expected a dictionary of names and strings",
        "expected",
    ),
    (
        "mx.io.NDArrayIter(X, Y, batch_size=5.0)",
        "ParameterError",
        "NDArrayIter",
        "got 5.0",
        "expected an integer of at least 1",
        "",
    ),
    (
        "mx.io.NDArrayIter(X, Y, batch_size=0)",
        "ParameterError",
        "NDArrayIter",
        "got 0",
        "expected an integer of at least 1",
        "",
    ),
    (
        'mx.io.NDArrayIter(X, Y, batch_size="5")',
        "ParameterError",
        "NDArrayIter",
        "got '5'",
        "expected an integer of at least 1",
        "",
    ),
    (
        "mx.io.NDArrayIter(X, Y[:7], batch_size=5)",
        "ShapeError",
        "NDArrayIter",
        "'data': 20; 'softmax_label': 7",
        "expected one number",
        "along axis 0 of each array",
    ),
    (
        "mx.io.NDArrayIter(None, Y, batch_size=5)",
        "ParameterError",
        "NDArrayIter",
        "got nothing",
        "expected at least one array",
        "",
    ),
    (
        "mx.io.NDArrayIter(3, Y, batch_size=5)",
        "ParameterError",
        "NDArrayIter",
        "'data'",
        "expected an NDArray, a NumPy array, an h5py",
        "",
    ),
    (
        'mx.io.NDArrayIter(X, Y, batch_size=5, last_batch_handle="drop")',
        "ParameterError",
        "NDArrayIter",
        "got 'drop'",
        "expected one of 'pad', 'discard', 'roll_over'",
        "",
    ),
    (
        'mx.io.NDArrayIter(np.array(["a", "b"]), batch_size=1)',
        "DTypeError",
        "array",
        "'a'",
        "cannot become an array of float32: could not",
        "",
    ),
    (
        'mx.io.CSVIter(data_csv="missing.csv", data_shape=(4,), batch_size=5)',
        "MissingFileError",
        "missing.csv",
        "",
        "",
        "",
    ),
    (
        'mx.io.ImageDetRecordIter("x.rec", (3, 4, 4), 2, min_crop_scales=(0.5,), '
        "max_crop_scales=(0.2,))",
        "ParameterError",
        "ImageDetRecordIter: min_crop_scales and max_crop_scales",
        "got 0.5 and 0.2",
        "expected 0 <= min < max <= 1",
        "",
    ),
    (
        "mx.io.NDArayIter",
        "AttributeError",
        "module 'modkit.io'",
        "'NDArayIter'",
        "",
        "Did you mean 'NDArrayIter'",
    ),
    (
        "mx.rtc",
        "AbsentError",
        "mx.rtc",
        "",
        "is not part of modkit, which is MXNet's Module",
        "write an operator with modkit",
    ),
    (
        "mx.gluon",
        "AbsentError",
        "mx.gluon",
        "",
        "is not part of modkit, which is MXNet's Module",
        "write the network as a Symbol",
    ),
    (
        "mx.np",
        "AbsentError",
        "mx.np",
        "",
        "is not part of modkit, which is MXNet's Module",
        "use NumPy, jax",
    ),
    ("mx.symbols", "AttributeError", "module 'modkit'", "'symbols'", "", "Did you mean 'symbol'"),
    (
        "mx.sym.FullyConected(x, num_hidden=3)",
        "UnknownFunctionError",
        "mx.symbol",
        "'FullyConected'",
        "",
        "Did you mean 'FullyConnected'",
    ),
    (
        "mx.nd.rleu(ones((2,)))",
        "UnknownFunctionError",
        "mx.ndarray",
        "'rleu'",
        "",
        "Did you mean 'relu'",
    ),
    (
        "mx.sym.FullyConnected(x)",
        "ParameterError",
        "FullyConnected",
        "'num_hidden'",
        "expected an int of 1 or more)",
        "",
    ),
    (
        'mx.sym.FullyConnected(x, num_hidden="many")',
        "ParameterError",
        "FullyConnected",
        "got 'many'",
        "expected an int of 1 or more",
        "",
    ),
    (
        "mx.sym.FullyConnected(x, num_hidden=3, no_bais=True)",
        "ParameterError",
        "FullyConnected",
        "'no_bais'",
        "It takes: data, weight, bias, num_hidden",
        "Did you mean 'no_bias'",
    ),
    (
        "mx.sym.FullyConnected(x, num_hidden=-1)",
        "ParameterError",
        "FullyConnected",
        "got -1",
        "expected an int of 1 or more",
        "",
    ),
    (
        'mx.sym.Activation(x, act_type="rleu")',
        "ParameterError",
        "Activation",
        "got 'rleu'",
        "expected one of 'relu', 'sigmoid', 'softrelu",
        "",
    ),
    (
        "mx.sym.Convolution(x, kernel=(3, 3), num_filter=4).infer_shape(data=(5, 4))",
        "ShapeError",
        "infer_shape",
        "got data of shape (5",
        "expected 4 axes (NCHW) for a kernel of 2",
        "",
    ),
    (
        'mx.sym.Pooling(x, kernel=(2, 2), pool_type="mean")',
        "ParameterError",
        "Pooling",
        "got 'mean'",
        "expected one of 'max', 'avg', 'sum', 'lp'",
        "",
    ),
    (
        'mx.sym.Concat(x, mx.sym.Variable("y"), dim=1).infer_shape(data=(2, 3), y=(3, 4))',
        "ShapeError",
        "infer_shape",
        "input 1: got shape (3, 4)",
        "expected that of input 0, (2, 3) except at axis 1",
        "",
    ),
    (
        "mx.sym.Concat(x, np.ones((2, 3)))",
        "ParameterError",
        "Concat: input 1",
        "got ndarray",
        "expected a Symbol",
        "functions of arrays are in mx.nd",
    ),
    (
        "mx.nd.Concat(mx.nd.ones((2, 3)), x)",
        "ParameterError",
        "Concat: input 1",
        "got Symbol",
        "expected an NDArray",
        "functions of symbols are in mx.sym",
    ),
    (
        'mx.sym.FullyConnected("data", num_hidden=3)',
        "ParameterError",
        "FullyConnected",
        "'data'",
        "expected an array or symbol",
        "",
    ),
    ("mx.sym.Variable(3)", "ParameterError", "Variable", "got name 3", "expected a string", ""),
    (
        "mx.sym.Group([1, 2])",
        "ParameterError",
        "Group",
        "got [1, 2]",
        "expected a list of symbols",
        "",
    ),
    ('mx.sym.load_json("not json")', "FileFormatError", "JSON text", "", "", ""),
    ('mx.sym.load("missing-symbol.json")', "MissingFileError", "missing-symbol", "", "", ""),
    (
        'net()["nothing_output"]',
        "NameNotFoundError",
        "<Symbol softmax>",
        "'nothing_output'",
        "",
        "Did you mean 'softmax_output'",
    ),
    (
        "net().bind(mx.cpu(), {})",
        "ParameterError",
        "bind",
        "'data'",
        "expected an array for each of: data, fc_weight,",
        "it has none, expected an array for each of:",
    ),
    (
        "net().simple_bind(mx.cpu())",
        "ShapeError",
        "simple_bind",
        "",
        "",
        "pass the shapes of all data inputs and labels",
    ),
    (
        "net().simple_bind(mx.cpu(), dota=(5, 4))",
        "ShapeError",
        "simple_bind",
        "'dota'",
        "",
        "pass the shapes of all data inputs and labels",
    ),
    (
        'fit(train(), mx.mod.Module(deep()), arg_params={"fc_bias": ones((3,))})',
        "MissingParameterError",
        "'fc0_bias', 'fc0_weight', 'fc1_bias', 'fc1_weight', 'fc2_bias' and 2 more",
        "got 1 arrays",
        "",
        "Give each a value",
    ),
    (
        "mx.io.NDArrayIter(X, np.array(list('abcd') * 5), 5)",
        "DTypeError",
        "NDArrayIter: label 'softmax_label'",
        "it has texts (dtype <U1)",
        "array of float32",
        "number them, classes for instance by names, numbers = np.unique(texts, ",
    ),
    (
        "mx.io.NDArrayIter({'d': np.array(['a', 2] * 10, object)}, Y, 5)",
        "DTypeError",
        "NDArrayIter: data 'd'",
        "it has texts (dtype object)",
        "array of float32: could not convert string to float: 'a'",
        "number them, classes for instance by names, numbers = np.unique(texts, ",
    ),
    (
        "mx.io.NDArrayIter(X, Y.tolist(), 5)",
        "ParameterError",
        "NDArrayIter: label",
        "got float",
        "expected an NDArray, a NumPy array",
        "make one array of a list of numbers: np.array(list)",
    ),
    (
        "fit(list(zip(X, Y)))",
        "ParameterError",
        "fit: train_data",
        "got batches whose 'softmax_label' is one number",
        "expected arrays with a row a sample",
        "give all samples as arrays, (x, y), with batch_size",
    ),
    # metrics
    (
        "fit(train(), eval_metric=Own(3.0))",
        "ParameterError",
        "Own.get",
        "got 3.0",
        "expected (name, value)",
        "check its return statement",
    ),
    (
        'fit(train(), eval_metric=Own(("own",)))',
        "ParameterError",
        "Own.get",
        "got ('own',)",
        "expected (name, value)",
        "check its return statement",
    ),
    (
        "early(eval_metric=lambda pred: 1.0)",
        "ParameterError",
        "CustomMetric: feval",
        "got a function of (pred)",
        "expected a function of label and output",
        "def feval(label, pred)",
    ),
    (
        "fit(train(), eval_metric=lambda label, pred: pred[0])",
        "ParameterError",
        "the metric's function returned",
        "got array([",
        "expected a number or (sum, number of instances)",
        "check its return statement",
    ),
    (
        "fit(train(), eval_metric=object())",
        "ParameterError",
        "metric",
        "got <object object",
        "expected a registered name, or an instance of EvalMetric",
        "",
    ),
    # texts for numbers
    (
        'fit(train(), optimizer_params={"learning_rate": "0.1"})',
        "ParameterError",
        "learning rate",
        "got '0.1' of type str",
        "expected a finite number",
        "check learning_rate",
    ),
    (
        'mx.optimizer.SGD(begin_num_update="7")',
        "ParameterError",
        "begin_num_update",
        "got '7' of type str",
        "expected a finite number",
        "",
    ),
    (
        'mx.optimizer.Adam(beta1="0.9")',
        "ParameterError",
        "Adam: beta1",
        "got '0.9' of type str",
        "expected a number",
        "",
    ),
    (
        'mx.lr_scheduler.MultiFactorScheduler(step=["1"])',
        "ParameterError",
        "MultiFactorScheduler: step",
        "got '1' of type str",
        "expected a finite number",
        "",
    ),
    (
        'mx.metric.TopKAccuracy(top_k="5")',
        "ParameterError",
        "TopKAccuracy: top_k",
        "got '5' of type str",
        "expected a number",
        "",
    ),
    (
        'mx.init.Normal("0.1")',
        "ParameterError",
        "Normal: sigma",
        "got '0.1' of type str",
        "expected a number",
        "",
    ),
    (
        'mx.init.Constant("one")("a_weight", ones((2,)))',
        "ParameterError",
        "the value to write",
        "got 'one', which is text",
        "expected numbers",
        "",
    ),
    (
        'mx.io.ResizeIter(train(), "3")',
        "ParameterError",
        "ResizeIter: size",
        "got '3' of type str",
        "expected a whole number",
        "",
    ),
    (
        'fit(train(), num_epoch="1")',
        "ParameterError",
        "fit: num_epoch",
        "got '1' of type str",
        "expected a whole number",
        "",
    ),
    # Python's operators and numbers: MXNet's errors are TypeErrors too
    ("ones((2,)) @ ones((2,))", "DTypeError", "a @ b", "NDArray", "as in", "use mx.nd.dot(a, b)"),
    ("ones((2,)) // 2", "DTypeError", "a // b", "NDArray", "as in", "use mx.nd.floor(a / b)"),
    ("2 // ones((2,))", "DTypeError", "a // b", "NDArray", "as in", "use mx.nd.floor(a / b)"),
    ("X[:2] @ ones((2,))", "DTypeError", "a @ b", "NDArray", "as in", "use mx.nd.dot(a, b)"),
    ("divmod(x, 2)", "DTypeError", "divmod(a, b)", "Symbol", "as in", "use mx.sym.floor(a / b)"),
    ("x << 1", "DTypeError", "a << b", "Symbol", "as in", "use a * 2**b"),
    (
        "ones((2,)) & 1",
        "DTypeError",
        "a & b",
        "NDArray",
        "as in",
        "use mx.nd.broadcast_logical_and(a, b)",
    ),
    ("~ones((2,))", "DTypeError", "~a", "NDArray", "as in", "mx.nd.logical_not(a)"),
    ("x @ x", "DTypeError", "a @ b", "Symbol", "as in", "use mx.sym.dot(a, b)"),
    ("float(x)", "DTypeError", "<Symbol data>", "is no number", "eval(...)", "mx.sym.sqrt(a)"),
    ("round(x)", "DTypeError", "<Symbol data>", "is no number", "eval(...)", "mx.sym.sqrt(a)"),
    ("np.add(x, x)", "DTypeError", "<Symbol data>", "is no number", "eval(...)", "as Variables"),
    (
        "float(ones((2, 2)))",
        "ShapeError",
        "asscalar",
        "got shape (2, 2)",
        "expected one element",
        "mx.nd.sqrt(a) computes on each",
    ),
    (
        "mx.nd.array([3], dtype='int32') * '2'",
        "DTypeError",
        "mul",
        "got a str",
        "expected an NDArray or a number",
        "make an array of it: mx.nd.array(...)",
    ),
    (
        "b'2' * mx.nd.array([3], dtype='int32')",
        "DTypeError",
        "mul",
        "got a bytes",
        "expected an NDArray or a number",
        "make an array of it: mx.nd.array(...)",
    ),
    (
        "ones((2,)) * [1, 2]",
        "DTypeError",
        "mul",
        "got a list",
        "expected an NDArray or a number",
        "make an array of it: mx.nd.array(...)",
    ),
    (
        "ones((2, 3)) + ones((4, 5))",
        "ShapeError",
        "broadcast_add",
        "got shapes (2, 3) and (4, 5)",
        "expected sizes that agree, counted from the",
        "",
    ),
    (
        "mx.nd.dot(ones((2, 3)), ones((4, 5)))",
        "ShapeError",
        "dot",
        "got shapes (2, 3) and (4, 5)",
        "expected axis 1 of the first and axis 0 of the",
        "",
    ),
    (
        "ones((2, 3)).reshape((7,))",
        "ShapeError",
        "reshape: (2, 3) cannot become (7,)",
        "= 7 elements",
        "expected 6",
        "",
    ),
    (
        "mx.metric.np(lambda y, p: None, name='err').update([ones((4,))], [ones((4,))])",
        "ParameterError",
        "err",
        "got None",
        "expected a number",
        "return",
    ),
    (
        "mx.metric.np(lambda y, p: (1, 2, 3), name='err').update([ones((4,))], [ones((4,))])",
        "ParameterError",
        "err",
        "got (1, 2, 3)",
        "(sum, number of instances)",
        "return",
    ),
    (
        "ones((2, 3))[5]",
        "IndexError",
        "index 5",
        "(2, 3)",
        "is outside axis 0 of an array of shape (2, 3)",
        "",
    ),
    (
        'mx.nd.array([1, 2], dtype="float23")',
        "DTypeError",
        "element type",
        "'float23'",
        "expected an element type",
        "Did you mean 'float32'",
    ),
    (
        "ones((2, 3)).asscalar()",
        "ShapeError",
        "asscalar",
        "got shape (2, 3)",
        "expected one element",
        "",
    ),
    ("bool(ones((2, 3)))", "ShapeError", "the truth value of an array", "(2, 3)", "", ""),
    ('mx.nd.load("missing.params")', "MissingFileError", "missing.params", "", "", ""),
    ("mx.gpu(3).jax_device", "DeviceError", "gpu", "'jax[cuda12]'", "", "Use mx"),
    (
        'mx.Context("gpuu", 0)',
        "NameNotFoundError",
        "Context",
        "got device type 'gpuu'",
        "expected one of cpu, gpu, cpu_pinned",
        "",
    ),
    ("mx.mod.Module(3)", "ParameterError", "Module", "got int", "expected a Symbol", ""),
    (
        'mx.mod.Module(net(), data_names=["dota"])',
        "ParameterError",
        "Module(..., data_names",
        "'dota'",
        "Its inputs: data, softmax_label",
        "Did you mean 'data'",
    ),
    (
        "mx.mod.Module(net(), context=[])",
        "ParameterError",
        "Module",
        "got []",
        "expected a Context such as mx",
        "",
    ),
    (
        "mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)], work_load_list=[1])",
        "ParameterError",
        "work_load_list",
        "got 1",
        "",
        "",
    ),
    (
        'mx.mod.Module(net(), fixed_param_names=["fc_wieght"])',
        "ParameterError",
        "Module(..., fixed_param_names",
        "'fc_wieght'",
        "Its parameters: fc_weight, fc_bias",
        "Did you mean 'fc_weight'",
    ),
    (
        'mx.mod.Module(net(), compute_dtype="float8")',
        "ParameterError",
        "compute_dtype",
        "got 'float8'",
        "expected one of 'float32', 'bfloat16",
        "",
    ),
    (
        "mx.mod.Module(net()).forward(batch())",
        "NotReadyError",
        "forward()",
        "",
        "needs bind() and init_params() first",
        "",
    ),
    (
        "mx.mod.Module(net()).init_params()",
        "NotReadyError",
        "init_params()",
        "",
        "needs bind() first",
        "",
    ),
    (
        "mx.mod.Module(net()).init_optimizer()",
        "NotReadyError",
        "init_optimizer()",
        "",
        "needs bind() and init_params() first",
        "",
    ),
    (
        'mx.mod.Module(net()).score(train(), "acc")',
        "NotReadyError",
        "score()",
        "",
        "needs bind() and init_params() first",
        "",
    ),
    (
        "mx.mod.Module(net()).get_params()",
        "NotReadyError",
        "get_params()",
        "",
        "needs bind() and init_params() first",
        "",
    ),
    (
        'mx.mod.Module(net()).bind([("dota", (5, 4))])',
        "ParameterError",
        "bind",
        "got ['dota']",
        "the module was made with data_names=['data']",
        "give the iterator these names, as NDArrayIter({'data': array}, ...)",
    ),
    (
        'mx.mod.Module(x + mx.sym.var("y"), ["data"], []).bind([("data", (5, 4)), ("y", (5, 4))])',
        "ParameterError",
        "bind",
        "got ['data', 'y']",
        "the module was made with data_names=['data']",
        "make it with Module(..., data_names=['data', 'y'])",
    ),
    (
        'mx.mod.Module(net()).bind([("data", (5,))], [("softmax_label", (4,))])',
        "ShapeError",
        "bind",
        "got data (5,), softmax_label (4,)",
        "expected one batch size for all data and labels",
        "DataDesc(..., layout=) says which axis it is",
    ),
    (
        "mx.mod.Module(net()).fit(train())",
        "NotReadyError",
        "fit()",
        "",
        "needs num_epoch, the number of epochs to train",
        "",
    ),
    (
        "fit(train(), steps_per_call=0)",
        "ParameterError",
        "fit",
        "got 0",
        "expected an integer of at least 1",
        "",
    ),
    (
        "mx.mod.Module(net()).fit(X, Y, num_epoch=1)",
        "ParameterError",
        "fit",
        "the network has the label 'softmax_label'",
        "train_data provides no labels",
        "no labels; give arrays with their labels: fit((data, label), ...); or",
    ),
    (
        "mx.mod.Module(net()).fit(5, num_epoch=1)",
        "ParameterError",
        "fit: train_data",
        "got int",
        "expected a DataIter, a pair (x, y)",
        "an iterable of batches",
    ),
    (
        'fit(train(), optimizer="adm")',
        "NameNotFoundError",
        "'adm' is not a registered optimizer",
        "'adm'",
        "Registered: adadelta, adagrad, adam, adamax",
        "Did you mean 'adam'",
    ),
    (
        'fit(train(), optimizer="sgd", optimizer_params={"lr": 1})',
        "ParameterError",
        "SGD",
        "'lr'",
        "It takes: momentum, lazy_update, rescale_grad",
        "",
    ),
    (
        'fit(train(), eval_metric="acuracy")',
        "NameNotFoundError",
        "'acuracy' is not a registered metric",
        "'acuracy'",
        "Registered: acc, accuracy, caffe, ce",
        "Did you mean 'accuracy'",
    ),
    (
        "fit(train(), initializer=mx.init.Xavier)",
        "ParameterError",
        "initializer",
        "got the class Xavier",
        "expected an instance of it: mx",
        "",
    ),
    (
        'fit(train(), initializer="xavier")',
        "ParameterError",
        "initializer",
        "got 'xavier'",
        "expected an Initializer such as mx",
        "",
    ),
    (
        'fit(train(), kvstore="dist_sync")',
        "NotReadyError",
        "kv.create",
        "no launcher has started",
        "needs several processes",
        "run `modkit launch -n 2 train.py`",
    ),
    (
        'fit(train(), kvstore="dist_syn")',
        "ParameterError",
        "kv.create",
        "'dist_syn'",
        "Known: local, device, nccl, local_update_cpu",
        "Did you mean 'dist_sync'",
    ),
    (
        'fit(train(), arg_params={"fc_weight": ones((9, 9))}, allow_missing=True)',
        "ShapeError",
        "parameter",
        "'fc_weight'",
        "expected (3, 4)",
        "is it of another network, or of another input",
    ),
    (
        'fit(train(), arg_params={"fc_weight": ones((3, 4))})',
        "MissingParameterError",
        "none for 'fc_bias'",
        "got 1 arrays",
        "",
        "Give each a value",
    ),
    (
        "fit(train(), arg_params=[1])",
        "ParameterError",
        "arg_params",
        "got list",
        "expected a dictionary of name to NDArray",
        "",
    ),
    (
        "mx.mod.Module(net()).fit(mx.io.NDArrayIter(X, batch_size=5), num_epoch=1)",
        "ParameterError",
        "fit",
        "'softmax_label'",
        "has the label 'softmax_label', and train_data",
        "give train_data labels of that name, or state their names",
    ),
    (
        'fit(mx.io.NDArrayIter(X, Y, 50, last_batch_handle="discard"))',
        "ParameterError",
        "fit",
        "has no batch",
        "20 samples are fewer than a batch of 50, which last_batch_handle='discard' drops",
        "",
    ),
    (
        "fit(mx.io.NDArrayIter(X[:0], Y[:0], 5))",
        "ParameterError",
        "fit: train_data",
        "has no batch: it has 0 samples",
        "",
        "",
    ),
    (
        "fit(Once(X, Y, 5), num_epoch=2)",
        "ParameterError",
        "fit: train_data",
        "has no batch in epoch 1",
        "its reset() has to go back to the first batch",
        "",
    ),
    (
        "early(mx.io.NDArrayIter(X[:, :3], Y, 10))",
        "ShapeError",
        "fit: eval_data",
        "got data (10, 3)",
        "expected inputs of the network bound for data (5, 4), softmax_label (5,)",
        "",
    ),
    (
        "fit(mx.io.NDArrayIter(X, Y, 10), mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)]), "
        "batch_end_callback=fail, eval_data=mx.io.NDArrayIter(X[:, :3], Y, 10))",
        "ShapeError",
        "fit: eval_data: got data (10, 3)",
        "fc_weight has the shape (3, 4), and these data need (3, 3)",
        "",
        "",
    ),
    (
        "fit(keyed(X), mx.mod.BucketingModule(lambda key: (net(), ['data'], "
        "['softmax_label']), 4), batch_end_callback=fail, eval_data=keyed(X[:, :3]))",
        "ShapeError",
        "fit: eval_data: got data (5, 3)",
        "fc_weight has the shape (3, 4), and these data need (3, 3)",
        "",
        "",
    ),
    (
        "early(mx.io.NDArrayIter(X, batch_size=5))",
        "ParameterError",
        "fit: eval_data",
        "got no labels",
        "expected softmax_label, which the metric 'accuracy' compares with the outputs",
        "",
    ),
    (
        "early(train(), validation_metric='foo')",
        "NameNotFoundError",
        "fit: validation_metric",
        "'foo'",
        "",
        "",
    ),
    (
        "fit(mx.io.NDArrayIter({'a': X, 'b': X}, Y, 5), two(), batch_end_callback=fail, "
        "eval_data=Swapped({'a': X, 'b': X}, Y, 5))",
        "ParameterError",
        "fit: eval_data",
        "provide_data has the order ['b', 'a']",
        "bound for ['a', 'b']",
        "NDArrayIter sorts",
    ),
    (
        "early(callbacks=mx.callback.EarlyStopping('train-acc'))",
        "NameNotFoundError",
        "EarlyStopping: monitor",
        "no metric 'train-acc'",
        "There will be: train-accuracy; those of validation need eval_data",
        "Did you mean 'train-accuracy'",
    ),
    (
        "early(train(), validation_metric=['mse', 'mae'], "
        "callbacks=mx.callback.KeepBest('best', 'val-mse'))",
        "NameNotFoundError",
        "KeepBest: monitor",
        "no metric 'val-mse'",
        "There will be: train-accuracy, validation-mse, validation-mae",
        "",
    ),
    (
        "mx.callback.do_checkpoint('prefix', 'often')",
        "ParameterError",
        "do_checkpoint: period",
        "'often'",
        "expected a number of epochs",
        "",
    ),
    (
        "fit(train(), callbacks=[mx.callback.Speedometer(32)])",
        "ParameterError",
        "fit: callbacks",
        "an object of Speedometer",
        "expected objects of mx.callback.Callback",
        "go to batch_end_callback",
    ),
    (
        "fit(train(), epoch_end_callback=mx.callback.Speedometer(5))",
        "ParameterError",
        "fit: epoch_end_callback",
        "got Speedometer(param)",
        "expected a function of (epoch, symbol, arg_params, aux_params)",
        "it goes to batch_end_callback",
    ),
    (
        "mx.sym.FullyConnected(x, 10)",
        "ParameterError",
        "FullyConnected: input 'weight'",
        "got int",
        "expected an array or symbol",
        "parameters go by name, as num_hidden=10",
    ),
    (
        "fit(train(), epoch_end_callback=mx.callback.do_checkpoint('absent/m'))",
        "MissingFileError",
        "do_checkpoint: prefix",
        "'absent/m'",
        "there is no folder absent",
        "make it before fit",
    ),
    (
        "Path('f').touch() or early(callbacks=mx.callback.Checkpoint('f/g'))",
        "FileAccessError",
        "Checkpoint: folder: f/g",
        "cannot be written",
        "",
        "",
    ),
    (
        "ready().save_checkpoint('m', 1) or mx.mod.Module.load('m', 1, load_optimizer_states=True)",
        "MissingFileError",
        "Module.load: load_optimizer_states",
        "m-0001.states: there is no such file",
        "",
        "save_checkpoint(..., save_optimizer_states=True) writes it",
    ),
    (
        'quiet(lambda: fit(train(label_name="out_label"), mx.mod.Module(net("out"))))',
        "ParameterError",
        "init_params",
        "'out_label'",
        "the module was made with",
        "make it with Module(...",
    ),
    (
        'fit(mx.io.NDArrayIter(X, Y, 5, label_name="target"))',
        "ParameterError",
        "fit",
        "'softmax_label'",
        "has the label 'softmax_label', and train_data",
        "give train_data labels of that name, or state their names",
    ),
    (
        'ready().score(mx.io.NDArrayIter(X, batch_size=5), "acc")',
        "ShapeError",
        "a metric",
        "got a batch without labels",
        "expected labels to compare outputs with",
        "give the iterator labels, NDArrayIter(data",
    ),
    (
        'ready().score(train(), "acuracy")',
        "NameNotFoundError",
        "'acuracy' is not a registered metric",
        "'acuracy'",
        "Registered: acc, accuracy, caffe, ce",
        "Did you mean 'accuracy'",
    ),
    (
        'ready().predict("images")',
        "ParameterError",
        "predict",
        "got str",
        "expected a DataIter or an array",
        "",
    ),
    (
        "ready().forward(mx.io.DataBatch([ones((5, 7))], [ones((5,))]))",
        "ShapeError",
        "forward",
        "got a batch of data (5, 7), softmax_label (5,)",
        "the module is bound for data (5, 4)",
        "shapes of inputs may change only where",
    ),
    (
        "ready().backward()",
        "NotReadyError",
        "backward()",
        "",
        "needs forward(is_train=True) first",
        "",
    ),
    ("ready().update()", "NotReadyError", "update()", "", "needs init_optimizer() first", ""),
    (
        'ready().set_params({"fc_weight": ones((3, 4))}, {})',
        "MissingParameterError",
        "none for 'fc_bias'",
        "got 1 arrays",
        "",
        "Give each a value",
    ),
    (
        'ready().set_params({"fc_bais": ones((3,))}, {}, allow_missing=True)',
        "ParameterError",
        "set_params",
        "'fc_bais'",
        "",
        "Did you mean 'fc_bias'",
    ),
    (
        'ready().save_optimizer_states("x.states")',
        "NotReadyError",
        "save_optimizer_states()",
        "",
        "needs init_optimizer() first",
        "",
    ),
    ('mx.mod.Module.load("missing", 3)', "MissingFileError", "missing-symbol", "", "", ""),
    (
        "mx.mod.BucketingModule(net, default_bucket_key=None)",
        "MissingBucketError",
        "BucketingModule",
        "",
        "",
        "",
    ),
    (
        'mx.metric.create("top_k_acc")',
        "ParameterError",
        "top_k",
        "got 1",
        "expected more than 1",
        "use Accuracy for 1",
    ),
    (
        'mx.metric.create(["acc", 3])',
        "ParameterError",
        "metric",
        "got 3",
        "expected a registered name",
        "",
    ),
    (
        'mx.metric.create("acc").update([ones((5,))], [ones((4, 3))])',
        "ShapeError",
        "accuracy",
        "",
        "do not fit outputs of shape (4, 3): 5 labels",
        "",
    ),
    (
        'mx.optimizer.create("sgd", momentm=0.9)',
        "ParameterError",
        "SGD",
        "'momentm'",
        "It takes: momentum, lazy_update, rescale_grad",
        "Did you mean 'momentum'",
    ),
    (
        'mx.optimizer.create("sgd", learning_rate="fast")',
        "ParameterError",
        "learning rate",
        "got 'fast'",
        "expected a finite number",
        "check learning_rate, set_learning_rate and the",
    ),
    (
        "mx.lr_scheduler.FactorScheduler(step=0)",
        "ParameterError",
        "FactorScheduler",
        "got 0",
        "expected 1 or more",
        "",
    ),
    (
        "mx.lr_scheduler.FactorScheduler(step=10, factor=2.0)",
        "ParameterError",
        "FactorScheduler",
        "got 2.0",
        "expected at most 1",
        "",
    ),
    (
        "mx.lr_scheduler.MultiFactorScheduler(step=[10, 5])",
        "ParameterError",
        "MultiFactorScheduler",
        "got [10, 5]",
        "expected rising numbers",
        "",
    ),
    (
        'mx.init.Xavier(rnd_type="normal")',
        "ParameterError",
        "rnd_type",
        "got 'normal'",
        "expected one of uniform, gaussian",
        "",
    ),
    (
        'mx.init.create("xavir")',
        "NameNotFoundError",
        "'xavir' is not a registered initializer",
        "'xavir'",
        "Registered: bilinear, constant, fusedrnn",
        "Did you mean 'xavier'",
    ),
    (
        'mx.kv.create("dist_syn")',
        "ParameterError",
        "kv.create",
        "'dist_syn'",
        "Known: local, device, nccl, local_update_cpu",
        "Did you mean 'dist_sync'",
    ),
    (
        "mx.kv.create(3)",
        "ParameterError",
        "kv.create",
        "got 3",
        "expected a string such as 'local'",
        "",
    ),
    (
        'mx.Predictor(net(), ({}, {}), {"data": (5, 4)})',
        "ParameterError",
        "Predictor",
        "got neither a shape nor values for fc",
        "expected shapes of data in input_shapes",
        "{'data': (1, 3, 224, 224)}",
    ),
    ('mx.recordio.MXRecordIO("missing.rec", "r")', "MissingFileError", "missing.rec", "", "", ""),
    (
        'mx.recordio.MXRecordIO("x.rec", "rw")',
        "ParameterError",
        "MXRecordIO",
        "got 'rw'",
        "expected 'r' or 'w'",
        "",
    ),
    (
        'mx.recordio.unpack(b"abc")',
        "FileFormatError",
        "unpack",
        "got 3 bytes",
        "expected at least 24",
        "",
    ),
    ("mx.viz.print_summary(3)", "DTypeError", "print_summary", "got int", "", ""),
    (
        "mx.viz.print_summary(net(), positions=[0.4, 1.0])",
        "ParameterError",
        "print_summary: positions",
        "got [0.4, 1.0]",
        "expected a list of the ends of 4 columns",
        "",
    ),
    ('mx.model.load_checkpoint("missing", 1)', "MissingFileError", "missing-symbol", "", "", ""),
    (
        "mx.mod.Module(net(), context=mx.cpu)",
        "ParameterError",
        "Module: context",
        "got <function cpu",
        "expected a Context",
        "such as mx.cpu()",
    ),
    (
        "mx.mod.Module(net(), label_names='softmax_label')",
        "ParameterError",
        "label_names",
        "got 'softmax_label'",
        "expected a list",
        "['softmax_label']",
    ),
    (
        "fit(train(), batch_end_callback=mx.callback.EarlyStopping('loss'))",
        "ParameterError",
        "fit: batch_end_callback",
        "got EarlyStopping(monitor='loss'",
        "expected a function",
        "objects go to callbacks=[...]",
    ),
    (
        "mx.mod.Module(net()).bind([('data', (5, 4))], [('y', (5,))])",
        "ParameterError",
        "bind: label_shapes",
        "got ['y']",
        "the network's label is 'softmax_label'",
        "give the iterator label_name='softmax_label'",
    ),
    (
        "net().optimize_for(None)",
        "ParameterError",
        "backend",
        "got None",
        "expected a name",
        "",
    ),
    (
        "fit(train(), batch_end_callback=mx.callback.Speedometer)",
        "ParameterError",
        "fit: batch_end_callback",
        "got the class Speedometer",
        "expected a function of (param)",
        "make one: Speedometer(...)",
    ),
    (
        "fit(train(), epoch_end_callback=mx.callback.do_checkpoint)",
        "ParameterError",
        "fit: epoch_end_callback",
        "got do_checkpoint(prefix",
        "expected a function of (epoch, symbol, arg_params, aux_params)",
        "",
    ),
    *(
        (
            f"fit(train(), batch_end_callback=[fail, {saves}])",
            "ParameterError",
            "fit: batch_end_callback",
            "got a function of epochs",
            "expected a function of (param)",
            "it goes to epoch_end_callback",
        )
        for saves in (
            "mx.callback.do_checkpoint('q')",
            "mx.callback.module_checkpoint(ready(), 'q')",
            "mx.rnn.do_rnn_checkpoint(mx.rnn.LSTMCell(3), 'q')",
        )
    ),
    (
        "fit(train(), resume=True)",
        "ResumeError",
        "resume: True",
        "got bool",
        "expected the folder of a Checkpoint",
        "",
    ),
    (
        "mx.sym.Dropout(mx.sym.Variable('x'), p=1.5)",
        "ParameterError",
        "Dropout: p",
        "got 1.5,",
        "expected a fraction from 0 to 1",
        "",
    ),
    *(
        (call, "ParameterError", *where, "got 3", "expected a function", "")
        for call, *where in (
            ("mx.mod.BucketingModule(3, 8)", "BucketingModule: sym_gen"),
            ("mx.sym.contrib.foreach(3, x, [])", "foreach: body"),
            ("mx.nd.contrib.foreach(3, mx.nd.ones((2, 2)), [])", "foreach: body"),
            ("mx.sym.contrib.while_loop(3, len, [x], 2)", "while_loop: cond"),
            ("mx.nd.contrib.while_loop(len, 3, [mx.nd.ones(1)], 2)", "while_loop: func"),
            ("mx.sym.contrib.cond(x, len, 3)", "cond: else_func"),
            ("mx.nd.contrib.cond(mx.nd.ones(1), len, 3)", "cond: else_func"),
        )
    ),
    (
        "mx.rnn.SequentialRNNCell().add(mx.rnn.LSTMCell)",
        "ParameterError",
        "SequentialRNNCell",
        "got LSTMCell",
        "expected a cell such as mx.rnn.LSTMCell(8)",
        "",
    ),
    *(
        (call, "ParameterError", call.partition("(")[0][7:], "got 3", "expected a cell", "")
        for call in (
            "mx.rnn.ResidualCell(3)",
            "mx.rnn.ZoneoutCell(3)",
            "mx.rnn.SequentialRNNCell().add(3)",
            "mx.rnn.BidirectionalCell(3, mx.rnn.LSTMCell(3))",
        )
    ),
    (
        "mx.metric.np(3)",
        "ParameterError",
        "CustomMetric: feval",
        "got 3",
        "expected a function of label and output",
        "",
    ),
    (
        "mx.metric.np(lambda label, pred: '0.5').update([ones(2)], [ones(2)])",
        "ParameterError",
        "custom(<lambda>)",
        "got '0.5'",
        "expected a number or (sum, number of instances)",
        "check its return statement",
    ),
    (
        "fit(train(), optimizer=mx.optimizer.SGD)",
        "ParameterError",
        "optimizer",
        "got <class",
        "expected a registered name such as 'sgd', or an instance",
        "call it: SGD(...)",
    ),
    (
        "mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler)",
        "ParameterError",
        "lr_scheduler",
        "got <class",
        "expected an instance",
        "call it: FactorScheduler(...)",
    ),
    (
        "mx.mod.Module(net()).fit(train(), num_epoch='3')",
        "ParameterError",
        "num_epoch",
        "got '3'",
        "expected a whole number",
        "",
    ),
    (
        "fit(train(), optimiser='adam')",
        "ParameterError",
        "fit",
        "no parameter 'optimiser'",
        "It takes: train_data, eval_data",
        "Did you mean 'optimizer'",
    ),
    (
        "fit(train(), learning_rate=0.1)",
        "ParameterError",
        "fit",
        "no parameter 'learning_rate'",
        "It takes: train_data, eval_data",
        "Give optimizer_params={'learning_rate': ...}",
    ),
    (
        "mx.mod.Module(two_fc(), ctx=mx.cpu())",
        "ParameterError",
        "Module",
        "no parameter 'ctx'",
        "It takes: symbol, data_names",
        "Did you mean 'context'?",
    ),
    (
        "mx.io.NDArrayIter(X, Y, batchsize=5)",
        "ParameterError",
        "NDArrayIter",
        "no parameter 'batchsize'",
        "It takes: data, label, batch_size",
        "Did you mean 'batch_size'?",
    ),
    (
        "mx.lr_scheduler.FactorScheduler(steps=5)",
        "ParameterError",
        "FactorScheduler",
        "no parameter 'steps'",
        "It takes: step, factor",
        "Did you mean 'step'",
    ),
    (
        "mx.metric.Perplexity()",
        "ParameterError",
        "Perplexity",
        "got no ignore_label",
        "It takes: ignore_label, axis",
        "",
    ),
    (
        "mx.metric.create('acc', axes=1)",
        "ParameterError",
        "Accuracy",
        "no parameter 'axes'",
        "It takes: axis, name",
        "Did you mean 'axis'",
    ),
    (
        "mx.init.Mixed(['.*'])",
        "ParameterError",
        "Mixed",
        "got no initializers",
        "It takes: patterns, initializers",
        "",
    ),
    (
        "fit(train(), optimizer_params={'lr': 0.1})",
        "ParameterError",
        "SGD",
        "no parameter 'lr'",
        "It takes: ",
        "Did you mean 'learning_rate'?",
    ),
    (
        "mx.sym.Convolution(x, kernel=3, num_filter=2).infer_shape(data=(1, 2, 8, 8))",
        "ShapeError",
        "Convolution",
        "got data of shape (1, 2, 8, 8)",
        "expected 3 axes (NCW) for a kernel of 1 size",
        "for these data it has 2, such as (3, 3)",
    ),
    (
        "fit((np.array([['u']] * 9), Y[:9]))",
        "DTypeError",
        "data 'data'",
        "could not convert string",
        "array of float32",
        "",
    ),
    (
        "fit((X.tolist(), Y.tolist()))",
        "ParameterError",
        "fit: train_data",
        "got a batch of type tuple",
        "expected an array, a pair",
        "make arrays of lists: np.array(...)",
    ),
    (
        "fit((X[:0], Y[:0]))",
        "ParameterError",
        "fit: train_data",
        "got 0 samples",
        "",
        "",
    ),
    (
        "fit(train(), eval_data='valid')",
        "ParameterError",
        "fit: eval_data",
        "got 'valid'",
        "expected a DataIter",
        "",
    ),
    (
        "mx.mod.BucketingModule(lambda key: net(), 5).bind([('data', (5, 4))])",
        "ParameterError",
        "BucketingModule: sym_gen",
        "got Symbol",
        "expected (symbol, data_names, label_names)",
        "",
    ),
    (
        "mx.mod.Module.load('m', '1')",
        "ParameterError",
        "epoch",
        "got '1'",
        "expected the number in the file's name",
        "1 for m-0001.params",
    ),
    (
        "mx.mod.Module.load('m-0001.params', 1)",
        "ParameterError",
        "prefix",
        "got 'm-0001.params'",
        "expected the part before '-symbol.json'",
        "",
    ),
    (
        "mx.sym.relu(ones(3))",
        "ParameterError",
        "relu: input 'data'",
        "got NDArray",
        "expected a Symbol",
        "functions of arrays are in mx.nd",
    ),
    (
        "mx.nd.relu(x)",
        "ParameterError",
        "relu: input 'data'",
        "got Symbol",
        "expected an NDArray",
        "functions of symbols are in mx.sym",
    ),
    (
        'fit(bare("reset"))',
        "ParameterError",
        "fit: train_data",
        "which has no reset",
        "expected an iterator of batches",
        "mx.io.DataIter",
    ),
    (
        'fit(bare("provide_label"))',
        "ParameterError",
        "fit: train_data",
        "which has no provide_label",
        "expected an iterator of batches",
        "",
    ),
    (
        'fit(bare("__iter__"))',
        "ParameterError",
        "fit: train_data",
        "which has no __iter__",
        "expected an iterator of batches",
        "",
    ),
    (
        'fit(bare("__next__"))',
        "ParameterError",
        "fit: train_data",
        "iter() returned non-iterator",
        "expected an iterator of batches",
        "",
    ),
    (
        'early(bare("reset"))',
        "ParameterError",
        "fit: eval_data",
        "which has no reset",
        "expected an iterator of batches",
        "",
    ),
    (
        'fit(bare("provide_data", "next", "__next__"))',
        "ParameterError",
        "fit: train_data",
        "iter() returned non-iterator",
        "expected an iterator of batches",
        "",
    ),
    (
        'ready().score(bare("reset"), "acc")',
        "ParameterError",
        "score: eval_data",
        "which has no reset",
        "expected an iterator of batches",
        "",
    ),
    (
        'ready().predict(bare("provide_data", "next", "__next__"))',
        "ParameterError",
        "predict: eval_data",
        "iter() returned non-iterator",
        "expected an iterator of batches",
        "",
    ),
    (
        'list(ready().iter_predict(bare("reset")))',
        "ParameterError",
        "iter_predict: eval_data",
        "which has no reset",
        "expected an iterator of batches",
        "",
    ),
    (
        "ready().predict(batch())",
        "ParameterError",
        "predict: eval_data",
        "got DataBatch",
        "expected a DataIter or an array",
        "a DataBatch is for forward()",
    ),
    (
        'mx.io.ResizeIter(bare("next"), 3)',
        "ParameterError",
        "ResizeIter: data_iter",
        "which has no next",
        "expected an iterator of batches",
        "",
    ),
    (
        'mx.io.PrefetchingIter(bare("provide_data"))',
        "ParameterError",
        "PrefetchingIter: iters",
        "which has no provide_data",
        "expected an iterator of batches",
        "",
    ),
    (
        "ready().predict(padded(1.5))",
        "ParameterError",
        "predict: pad of a batch",
        "got 1.5",
        "expected a number of samples, 0 or more",
        "",
    ),
    (
        'ready().predict(padded("a"))',
        "ParameterError",
        "predict: pad of a batch",
        "got 'a'",
        "expected a number of samples, 0 or more",
        "",
    ),
    (
        "quiet(lambda: net().infer_shape(data=None))",
        "ParameterError",
        "infer_shape: 'data'",
        "got None",
        "expected a tuple of ints",
        "leave an unknown shape out",
    ),
    (
        'fit(train(), eval_metric="top_k_accuracy")',
        "ParameterError",
        "TopKAccuracy: top_k",
        "got 1",
        "expected more than 1",
        "mx.metric.TopKAccuracy(top_k=5)",
    ),
    (
        "mx.metric.Accuracy().update([None], [ones((5, 3))])",
        "ParameterError",
        "accuracy",
        "got labels NoneType and outputs of shape (5, 3)",
        "expected arrays of numbers",
        "",
    ),
    (
        'mx.metric.Accuracy().update(["a"], ["b"])',
        "ParameterError",
        "accuracy",
        "got labels str and outputs str",
        "expected arrays of numbers",
        "",
    ),
    (
        "mx.metric.Loss().update(None, None)",
        "ParameterError",
        "loss",
        "outputs NoneType",
        "expected arrays of numbers",
        "",
    ),
    (
        "mx.metric.RMSE().update([ones((5,))], [None])",
        "ParameterError",
        "rmse",
        "outputs NoneType",
        "expected arrays of numbers",
        "",
    ),
    (
        "mx.metric.Accuracy().update_dict([ones((5,))], [ones((5, 3))])",
        "ParameterError",
        "accuracy: labels",
        "got list",
        "expected a dictionary of arrays by name",
        "",
    ),
    (
        "mx.metric.Accuracy(output_names=3)",
        "ParameterError",
        "Accuracy: output_names",
        "got 3",
        "expected a list of names",
        "",
    ),
    (
        "mx.metric.Perplexity(0, axis=7).update([ones((5,))], [ones((5, 3))])",
        "ShapeError",
        "perplexity",
        "axis 7 is out of range for outputs of shape (5, 3)",
        "",
        "",
    ),
    (
        "mx.metric.CompositeEvalMetric(3)",
        "ParameterError",
        "CompositeEvalMetric: metrics",
        "got 3",
        "expected a list of metrics",
        "",
    ),
    (
        'mx.metric.CompositeEvalMetric("acc")',
        "ParameterError",
        "CompositeEvalMetric: metrics",
        "got 'acc'",
        "expected a list of metrics",
        "",
    ),
    (
        'mx.metric.CompositeEvalMetric(["acc"]).get_metric("a")',
        "ParameterError",
        "CompositeEvalMetric: index",
        "got 'a'",
        "expected an integer",
        "",
    ),
    (
        "unmade(mx.metric.EvalMetric).get()",
        "NotReadyError",
        "Bare",
        "has no sum_metric",
        "",
        "call super().__init__(name)",
    ),
    (
        'ready().update_metric("acc", [ones((5,))])',
        "ParameterError",
        "update_metric: eval_metric",
        "got 'acc'",
        "expected an EvalMetric",
        'mx.metric.create("acc")',
    ),
    (
        "mx.callback.Speedometer(5)(None)",
        "ParameterError",
        "Speedometer: param",
        "got None",
        "expected mx.callback.BatchEndParams(",
        "",
    ),
    (
        "mx.callback.ProgressBar(5)(3)",
        "ParameterError",
        "ProgressBar: param",
        "got 3",
        "expected mx.callback.BatchEndParams(",
        "",
    ),
    (
        "mx.callback.log_train_metric(5)(None)",
        "ParameterError",
        "log_train_metric: param",
        "got None",
        "expected mx.callback.BatchEndParams(",
        "",
    ),
    (
        "mx.callback.LogValidationMetricsCallback()(None)",
        "ParameterError",
        "LogValidationMetricsCallback: param",
        "got None",
        "expected mx.callback.BatchEndParams(",
        "",
    ),
    (
        "mx.callback.ProgressBar(0)",
        "ParameterError",
        "ProgressBar: total",
        "got 0",
        "expected a number of batches, 1 or more",
        "",
    ),
    (
        'mx.callback.ProgressBar("a")',
        "ParameterError",
        "ProgressBar: total",
        "got 'a'",
        "expected a number",
        "",
    ),
    (
        "mx.callback.log_train_metric(0)",
        "ParameterError",
        "log_train_metric: period",
        "got 0",
        "expected a number of batches, 1 or more",
        "",
    ),
    (
        'mx.callback.log_train_metric("a")',
        "ParameterError",
        "log_train_metric: period",
        "got 'a'",
        "expected a number of batches, 1 or more",
        "",
    ),
    (
        'mx.callback.do_checkpoint("p")("a", None, {}, {})',
        "ParameterError",
        "do_checkpoint: iter_no",
        "got 'a'",
        "expected the number of the epoch",
        "",
    ),
    (
        'mx.callback.do_checkpoint("p")(0, None, 3, {})',
        "ParameterError",
        "p-0001.params: arg_params",
        "got 3",
        "expected a dictionary of NDArrays by name",
        "",
    ),
    (
        'mx.callback.module_checkpoint(net(), "p")',
        "ParameterError",
        "module_checkpoint: mod",
        "got <Symbol softmax>",
        "expected a Module",
        "",
    ),
    (
        'mx.callback.module_checkpoint(mx.mod.Module, "p")',
        "ParameterError",
        "module_checkpoint: mod",
        "got Module",
        "expected a Module",
        "call it: Module(...)",
    ),
    (
        'ready().score(train(), "acc", batch_end_callback=3)',
        "ParameterError",
        "score: batch_end_callback",
        "got 3",
        "expected a function of (param)",
        "",
    ),
    (
        'ready().score(train(), "acc", score_end_callback="a")',
        "ParameterError",
        "score: score_end_callback",
        "got 'a'",
        "expected a function of (param)",
        "",
    ),
    (
        "fit(train(), monitor=mx.mon.Monitor)",
        "ParameterError",
        "monitor",
        "got Monitor",
        "expected a Monitor",
        "mx.mon.Monitor(10)",
    ),
    (
        'mx.optimizer.create("sgd", param_idx2name={0: 3})',
        "ParameterError",
        "param_idx2name[0]",
        "got 3",
        "expected the name of a parameter",
        "",
    ),
    *(
        (
            f"mx.optimizer.create({name!r}, learning_rate=mx.lr_scheduler.PolyScheduler(9))",
            "ParameterError",
            "learning",
            "got PolyScheduler(",
            "expected a",
            "give it as lr_scheduler",
        )
        for name in ("sgd", "adam")
    ),
    (
        "mx.optimizer.create('sgd', learning_rate=lambda count: 0.1)",
        "ParameterError",
        "learning rate",
        "got <function",
        "expected a finite number",
        "a schedule of optax goes to its optimizer",
    ),
    (
        'mx.optimizer.create("sgd", sym=3)',
        "ParameterError",
        "sym",
        "got 3",
        "expected a Symbol",
        "",
    ),
    (
        'mx.optimizer.create("sgd", param_dict=3)',
        "ParameterError",
        "param_dict",
        "got 3",
        "expected a dict from index to parameter",
        "",
    ),
    (
        'mx.optimizer.create("sgd", param_dict={0: 3})',
        "ParameterError",
        "param_dict[0]",
        "got 3",
        "expected an object with lr_mult and wd_mult",
        "",
    ),
    (
        "mx.optimizer.SGD().update(0, None, ones((2,)), None)",
        "ParameterError",
        "SGD: weight",
        "got NoneType",
        "expected an NDArray",
        "",
    ),
    (
        "mx.optimizer.SGD().update(0, X, ones((2,)), None)",
        "ParameterError",
        "SGD: weight",
        "got ndarray",
        "expected an NDArray",
        "",
    ),
    (
        "mx.optimizer.SGD().update([0, 1], [ones((2,))], [ones((2,))], [None])",
        "ParameterError",
        "SGD: update",
        "got 1 for the weights of 2 indices",
        "expected a list of as many",
        "",
    ),
    (
        "mx.optimizer.SGD().update([0], ones((2,)), [ones((2,))], [None])",
        "ParameterError",
        "SGD: update",
        "got NDArray for the weights of 1 indices",
        "expected a list of as many",
        "",
    ),
    (
        "mx.optimizer.SGD(momentum=0.9).create_state(0, X)",
        "ParameterError",
        "SGD: weight",
        "got ndarray",
        "expected an NDArray",
        "",
    ),
    (
        "mx.optimizer.Adam().create_state_multi_precision(0, None)",
        "ParameterError",
        "Adam: weight",
        "got NoneType",
        "expected an NDArray",
        "",
    ),
    (
        "mx.optimizer.SGD(momentum=0.9).update(0, ones((2,)), ones((2,)), 3)",
        "ParameterError",
        "update: state",
        "got 3",
        "expected that of create_state()",
        "",
    ),
    (
        "mx.optimizer.get_updater(mx.optimizer.SGD())(0, ones((2,)), None)",
        "ParameterError",
        "update: weight",
        "got NoneType",
        "expected an NDArray",
        "updater(index, grad, weight)",
    ),
    (
        "fit(train(), optimizer=unmade(mx.optimizer.SGD))",
        "NotReadyError",
        "Bare",
        "has no rescale_grad",
        "",
        "call super().__init__(...)",
    ),
    (
        "fit(train(), optimizer_params={3: 1})",
        "ParameterError",
        "optimizer_params",
        "got {3: 1}",
        "expected a dictionary such as",
        "",
    ),
    (
        "ready().borrow_optimizer(3)",
        "ParameterError",
        "borrow_optimizer: shared_module",
        "got 3",
        "expected a Module",
        "",
    ),
    (
        'mx.lr_scheduler.FactorScheduler(2)("a")',
        "ParameterError",
        "FactorScheduler: num_update",
        "got 'a'",
        "expected a number",
        "",
    ),
    (
        'mx.lr_scheduler.MultiFactorScheduler([1, 2])("a")',
        "ParameterError",
        "MultiFactorScheduler: num_update",
        "got 'a'",
        "expected a number",
        "",
    ),
    (
        "mx.lr_scheduler.CosineScheduler(10)(None)",
        "ParameterError",
        "CosineScheduler: num_update",
        "got None",
        "expected a number",
        "",
    ),
    (
        "mx.io.PrefetchingIter(train(), rename_data=[3])",
        "ParameterError",
        "PrefetchingIter: new names",
        "got 3",
        "expected a dictionary by the old names",
        "",
    ),
    (
        "mx.io.DataDesc.get_batch_axis(3)",
        "ParameterError",
        "DataDesc: layout",
        "got 3",
        "expected a text",
        "",
    ),
    (
        "mx.io.CSVIter(data_csv=3, data_shape=(1,), batch_size=1)",
        "ParameterError",
        "the name of a file",
        "got 3",
        "expected a str or a Path",
        "",
    ),
    (
        "mx.io.MNISTIter(image=3)",
        "ParameterError",
        "the name of a file",
        "got 3",
        "expected a str or a Path",
        "",
    ),
    (
        "mx.io.ImageRecordIter(path_imgrec=3, data_shape=(3, 2, 2), batch_size=1)",
        "ParameterError",
        "the name of a file",
        "got 3",
        "expected a str or a Path",
        "",
    ),
    (
        'mx.recordio.MXRecordIO(3, "r")',
        "ParameterError",
        "the name of a file",
        "got 3",
        "expected a str or a Path",
        "",
    ),
    (
        'mx.recordio.pack(3, b"a")',
        "ParameterError",
        "pack: header",
        "got 3",
        "expected IRHeader(flag, label, id, id2)",
        "",
    ),
    (
        'mx.recordio.pack((0, 1), b"a")',
        "ParameterError",
        "pack: header",
        "got (0, 1)",
        "expected IRHeader(flag, label, id, id2)",
        "",
    ),
    (
        'mx.init.Xavier()("w_weight", None)',
        "ParameterError",
        "Xavier: the array of 'w_weight'",
        "got None",
        "expected an NDArray",
        "",
    ),
    ("mx.init.Mixed(3, 4)", "ParameterError", "Mixed: patterns", "got 3", "expected a list", ""),
    (
        'mx.init.Mixed(["("], [mx.init.One()])',
        "ParameterError",
        "Mixed: patterns",
        "got ['(']",
        "expected regular expressions",
        "",
    ),
    (
        'mx.init.Mixed(["a"], [mx.init.One])',
        "ParameterError",
        "Mixed: initializers",
        "got One",
        "expected initializers",
        "call it: One(...)",
    ),
    (
        'mx.optimizer.get_updater("sgd")',
        "ParameterError",
        "Updater: optimizer",
        "got 'sgd'",
        "expected an Optimizer",
        'mx.optimizer.create("sgd")',
    ),
    (
        "mx.optimizer.get_updater(mx.optimizer.SGD)",
        "ParameterError",
        "Updater: optimizer",
        "got SGD",
        "expected an Optimizer",
        "",
    ),
]


def message(error):
    """The text of an exception in one line."""
    return " ".join(str(error).split())


@pytest.mark.parametrize(("code", "what", "where", "got", "expected", "do"), MISTAKES)
def test_a_mistake_has_its_message(tmp_path, monkeypatch, code, what, where, got, expected, do):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((mx.MXNetError, AttributeError, IndexError)) as caught:
        eval(code)
    assert what in [each.__name__ for each in type(caught.value).__mro__]
    for part in (where, got, expected, do):
        assert part in message(caught.value)


def test_grades():
    """Every message says what and where; the shares of those that say more do not fall."""
    parts = zip(*MISTAKES, strict=True)
    shares = [sum(map(bool, column)) / len(MISTAKES) for column in parts]
    _, what, where, got, expected, do = shares
    assert len(MISTAKES) >= 100 and what == where == 1
    assert got >= 0.73 and expected >= 0.78 and do >= 0.40
    assert sum(bool(expected or do) for *_, expected, do in MISTAKES) / len(MISTAKES) >= 0.88


@pytest.mark.parametrize("notation", ["a @ b", "a // b", "a << b", "a >> b", "a & b", "a | b"])
def test_functions_named_for_operators_compute_them(notation):
    values = {"a": np.array([[7, 3], [9, 5]]), "b": np.array([[1, 1], [1, 0]])}
    arrays = {name: mx.nd.array(value + (notation == "a // b")) for name, value in values.items()}
    wanted = eval(notation, {name: a.asnumpy().astype(int) for name, a in arrays.items()})
    for names, kinds in ((arrays, mx.nd), ({n: mx.sym.Variable(n) for n in values}, mx.sym)):
        with pytest.raises(TypeError) as error:
            eval(notation, dict(names))
        made = eval(str(error.value).partition("; use ")[2], {**names, "mx": mx})
        made = made if kinds is mx.nd else made.eval(**arrays)[0]
        assert np.array_equal(made.asnumpy() != 0, wanted != 0)
        assert notation in ("a & b", "a | b") or np.array_equal(made.asnumpy(), wanted)


def test_texts_of_numbers_are_parsed_where_mxnet_does():
    array = mx.nd.zeros((2, 2))
    mx.init.Constant("0.1")("a_weight", array)
    assert np.all(array.asnumpy() == np.float32(0.1))
    assert mx.init.Xavier(magnitude="3").magnitude == 3


def test_arrays_are_rounded_and_formatted():
    assert round(mx.nd.array([1.26, -2.34]), 1).asnumpy() == pytest.approx([1.3, -2.3])
    assert round(mx.nd.array([1.26, -2.34]), None).asnumpy().tolist() == [1, -2]
    assert f"{mx.nd.array([2.345]):.2f}" == "2.35" and f"{ones((1,))}" == str(ones((1,)))


@pytest.mark.parametrize("name", ["rtc", "torch", "th", "library"])
def test_absent_names_say_what_to_use(name):
    with pytest.raises(AbsentError, match=r"not part of modkit.* (use|write)"):
        getattr(mx, name)


class Misspelt(mx.callback.Callback):
    def on_epoch_ends(self, run):
        """Never called."""


WARNINGS = [
    (
        lambda: fit(train(), callbacks=[Misspelt()]),
        r"Misspelt\.on_epoch_ends is no event, .* Did you mean 'on_epoch_end'",
    ),
    (
        lambda: fit(mx.io.NDArrayIter(X, Y + 7, 5)),
        r"got 7, expected a class from 0 to 2.* trains no class: .*\. Increase num",
    ),
    (
        lambda: fit(mx.io.NDArrayIter(X, Y - 1, 5)),
        "got -1, expected a class from 0 to 2.* trains no class: .*Number the classes from 0",
    ),
    (
        lambda: fit(mx.io.NDArrayIter(X, Y + 0.5, 5)),
        r"got 0\.5, expected a class from 0 to 2.* cut off: the sample trains class 0\. Round",
    ),
    (
        lambda: fit(mx.io.NDArrayIter(X, Y * np.nan, 5)),
        r"got nan, expected a class from 0 to 2.* trains no class: .*Remove NaN",
    ),
    (lambda: fit(mx.io.NDArrayIter(X, np.eye(3)[Y.astype(int)], 5)), "got one-hot rows"),
    (
        lambda: ready().init_params(
            mx.init.One(), {}, {"fc_bias": ones((3,))}, allow_missing=True, force_init=True
        ),
        "'fc_bias' is given in aux_params, expected in arg_params",
    ),
    (lambda: fit(mx.io.NDArrayIter(X, Y, 50)), "has 20 samples, fewer than a batch of 50"),
    (lambda: fit(mx.io.NDArrayIter(X * np.nan, Y, 5)), "output' is NaN after batch 1"),
]


@pytest.mark.parametrize(("work", "words"), WARNINGS, ids=[words for _, words in WARNINGS])
def test_what_trains_nothing_is_a_warning(work, words):
    with pytest.warns(UserWarning, match=words):
        work()


def test_a_folder_that_a_callback_may_make_is_a_warning(tmp_path):
    folder = tmp_path / "made"
    saves = mx.callback.do_checkpoint(f"{folder}/m")
    with pytest.warns(UserWarning, match="do_checkpoint: prefix: got .* there is no folder"):
        fit(
            train(),
            batch_end_callback=lambda param: folder.mkdir(exist_ok=True),
            epoch_end_callback=saves,
        )
    assert (folder / "m-0001.params").exists()


class Bare:
    """Validation data that say nothing of themselves."""

    def __init__(self):
        self._own = train()
        self.reset, self.next = self._own.reset, self._own.next

    def __iter__(self):
        return iter(self._own)


class Renamed(mx.metric.EvalMetric):
    """A metric whose value has another name than the metric."""

    def update(self, labels, preds):
        self.sum_metric, self.num_inst = 1.0, 1

    def get_name_value(self):
        return [("one" if self.num_inst else "none", 1.0)]


NO_MISTAKES = [
    {"eval_data": train, "eval_metric": Own(), "batch_end_callback": mx.callback.Speedometer(5, 1)},
    {"eval_data": Bare},
    {"eval_data": lambda: mx.io.NDArrayIter(X, Y, 10)},
    {"eval_data": lambda: mx.io.NDArrayIter(X, batch_size=5), "validation_metric": "loss"},
    {
        "eval_data": train,
        "validation_metric": Renamed("own"),
        "callbacks": mx.callback.EarlyStopping("validation-one"),
    },
]


def test_errors_of_regression_for_classes_are_a_warning():
    with pytest.warns(UserWarning, match=r"'mse': got label 'softmax_label' of shape \(5,.*'acc'"):
        fit(train(), eval_metric=["acc", "mse"])


@pytest.mark.parametrize("options", NO_MISTAKES)
def test_what_fits_is_no_mistake(options):
    fit(train(), **{**options, "eval_data": options["eval_data"]()})


def test_ignored_labels_are_no_mistake():
    data = mx.sym.FullyConnected(x, num_hidden=3, name="fc")
    loss = mx.sym.SoftmaxOutput(data, use_ignore=True, ignore_label=-1, name="softmax")
    fit(mx.io.NDArrayIter(X, Y - 1, 5), mx.mod.Module(loss))


def test_pandas_objects_are_arrays():
    class Series:
        """A column whose index is by label, as that of pandas."""

        shape, dtype = (20,), np.dtype("float64")

        def __getitem__(self, key):
            raise KeyError(key)

        def to_numpy(self):
            return np.arange(20.0)

    found = mx.io.NDArrayIter(X, Series(), batch_size=20, shuffle=True).next()
    assert sorted(found.label[0].asnumpy()) == list(range(20))


def test_commands_refuse_what_has_no_answer(tmp_path, monkeypatch, capsys):
    """Inputs without a sample, and a table without shapes prints no total."""
    monkeypatch.chdir(tmp_path)
    ready().save_checkpoint("m", 1)
    np.save("none.npy", X[:0])
    Path("empty.npy").touch()
    for path, words in (("none.npy", "no sample to predict for"), ("empty.npy", "empty.npy")):
        assert main(["predict", "m", "1", "--input", path]) == 2
        assert words in capsys.readouterr().err
    assert main(["summary", "m-symbol.json"]) == 0
    said = capsys.readouterr().out
    assert "Total params" not in said and "unknown; give --shape data=" in said
    assert main(["summary", "m-symbol.json", "--shape", "data=1,4"]) == 0
    assert "Total params: 15" in capsys.readouterr().out
    assert main(["summary", "m-symbol.json", "--shape", "dota=1,4"]) == 2
