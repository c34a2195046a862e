"""Record the public names of Apache MXNet 1.9.1's modules and classes; or list this project's.

It runs under the reference's python and writes `tests/reference/api.json`, names only::

    REFERENCE_PYTHON tools/record_api.py

or under this project's, and writes `tests/public_names.json`, the list that a test holds the
project to::

    .venv/bin/python tools/record_api.py modkit
"""

import importlib
import inspect
import json
import sys
from pathlib import Path

MODULES = (
    "", "attribute", "autograd", "base", "callback", "context", "contrib", "contrib.amp",
    "contrib.autograd", "contrib.io", "contrib.onnx", "contrib.quantization",
    "contrib.svrg_optimization", "contrib.tensorboard", "contrib.text",
    "contrib.text.embedding", "contrib.text.utils", "contrib.text.vocab", "engine", "error",
    "executor", "executor_manager", "image", "initializer", "io", "kvstore", "libinfo", "log",
    "lr_scheduler", "metric", "mod", "model", "monitor", "name", "nd", "nd.contrib",
    "nd.image", "nd.linalg", "nd.random", "nd.sparse", "onnx", "operator", "optimizer",
    "profiler", "random", "recordio", "registry", "rnn", "runtime", "sym", "sym.contrib",
    "sym.image", "sym.linalg", "sym.random", "sym.sparse", "test_utils", "util", "viz",
)  # fmt: skip

CLASSES = (
    "AttrScope", "Context", "callback.Speedometer", "callback.ProgressBar", "executor.Executor",
    "init.InitDesc", "init.Initializer", "init.Mixed", "io.DataBatch", "io.DataDesc",
    "io.DataIter", "io.NDArrayIter", "io.PrefetchingIter", "io.ResizeIter", "kvstore.KVStore",
    "kvstore.KVStoreBase", "lr_scheduler.LRScheduler", "lr_scheduler.FactorScheduler",
    "lr_scheduler.MultiFactorScheduler", "lr_scheduler.PolyScheduler",
    "lr_scheduler.CosineScheduler", "metric.CompositeEvalMetric", "metric.CustomMetric",
    "metric.EvalMetric", "metric.F1", "mod.BaseModule", "mod.BucketingModule", "mod.Module",
    "mod.PythonLossModule", "mod.PythonModule", "mod.SequentialModule", "model.FeedForward",
    "monitor.Monitor", "name.NameManager", "name.Prefix", "nd.NDArray", "operator.CustomOp",
    "operator.CustomOpProp", "optimizer.Optimizer", "optimizer.SGD", "optimizer.Updater",
    "recordio.MXIndexedRecordIO", "recordio.MXRecordIO", "rnn.BaseRNNCell", "rnn.BidirectionalCell",
    "rnn.BucketSentenceIter", "rnn.FusedRNNCell", "rnn.LSTMCell", "rnn.RNNParams",
    "rnn.SequentialRNNCell", "sym.Symbol",
)  # fmt: skip


def find(package, place):
    """The module or class at a dotted place, or None."""
    thing = package
    for part in filter(None, place.split(".")):
        thing = getattr(thing, part, None)
    return thing


def of_module(module, package):
    """Public functions, classes and modules that belong to a module, and not to what it uses."""
    own = package.__name__ if module is package else module.__name__
    theirs = package.__name__ == "mxnet"
    names = []
    for name in dir(module):
        if name.startswith("_"):
            continue
        value = getattr(module, name)
        if inspect.ismodule(value):
            belongs = module is package and value.__name__.startswith(own) and theirs
        else:
            belongs = callable(value) and str(getattr(value, "__module__", "")).startswith(own)
        if belongs or name in getattr(module, "__all__", ()):
            names.append(name)
    return sorted(names)


def public_names(package):
    """Public names by place: ``""`` is the package, ``"mod.Module"`` a class, and so on.

    Classes that are not in `CLASSES` have the members alone that they do not inherit.
    """
    found = {}
    for place in ("amp", "svrg_optimization"):  # which no package imports
        importlib.import_module(f"{package.__name__}.contrib.{place}")
    for place in MODULES:
        module = find(package, place)
        if module is None:
            continue
        found[place] = of_module(module, package)
        for name in found[place]:
            cls = getattr(module, name)
            own = [n for n in vars(cls) if not n.startswith("_")] if inspect.isclass(cls) else []
            if own and place:
                found[f"{place}.{name}"] = sorted(own)
    for place in CLASSES:
        cls = find(package, place)
        if cls is not None:
            found[place] = sorted(n for n in dir(cls) if not n.startswith("_"))
    return found


def main(argv):
    """Write the names of MXNet, or of the package that is named."""
    package = importlib.import_module(argv[1] if len(argv) > 1 else "mxnet")
    document = {"package": package.__name__, "names": public_names(package)}
    if package.__name__ == "mxnet":
        document["version"] = package.__version__
        path = "reference/api.json"
    else:
        path = "public_names.json"
    tests = Path(__file__).resolve().parent.parent / "tests"
    (tests / path).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
