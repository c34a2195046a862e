"""``import mxnet``: every name of MXNet that modkit has is found where MXNet has it."""

import importlib
import sys

import numpy as np
import pytest

import modkit
from modkit.absent import ABSENT
from modkit.compat import install, uninstall
from modkit.compat.legacy import PLACES


@pytest.fixture
def mxnet():
    install()
    yield importlib.import_module("mxnet")
    uninstall()


def test_alias_is_modkit_with_the_version_of_mxnet(mxnet):
    assert mxnet.__version__ == "1.9.1"
    assert modkit.__version__ != "1.9.1"
    assert mxnet.nd is modkit.nd
    assert mxnet.mod.Module is modkit.mod.Module
    assert "sym" in dir(mxnet)
    assert modkit.__spec__.name == "modkit"


IMPORTS = [
    ("import mxnet.ndarray as nd", "nd is modkit.nd"),
    (
        "from mxnet import sym, io, metric, mod, init, nd",
        "(sym, io, metric, mod, init, nd) == "
        "(modkit.sym, modkit.io, modkit.metric, modkit.mod, modkit.init, modkit.nd)",
    ),
    (
        "from mxnet.base import MXNetError, py_str, mx_real_t, numeric_types, string_types",
        "MXNetError is modkit.MXNetError and py_str(b'a') == 'a' and mx_real_t is np.float32 "
        "and isinstance(np.int8(1), numeric_types) and string_types == (str,)",
    ),
    ("from mxnet.context import Context, cpu", "cpu(1) == Context('cpu', 1) == modkit.cpu(1)"),
    (
        "from mxnet.executor_manager import _split_input_slice",
        "_split_input_slice(4, [1, 1]) == [slice(0, 2), slice(2, 4)]",
    ),
    ("from mxnet.io.io import DataDesc", "DataDesc is modkit.io.DataDesc"),
    (
        "from mxnet.lr_scheduler import FactorScheduler",
        "FactorScheduler is modkit.lr_scheduler.FactorScheduler",
    ),
    ("from mxnet.metric import EvalMetric", "EvalMetric is modkit.metric.EvalMetric"),
    ("from mxnet.model import BatchEndParam", "BatchEndParam is modkit.model.BatchEndParam"),
    (
        "from mxnet.module.base_module import BaseModule",
        "issubclass(modkit.mod.Module, BaseModule)",
    ),
    (
        "from mxnet.module.executor_group import DataParallelExecutorGroup",
        "DataParallelExecutorGroup.__name__ == 'DataParallelExecutorGroup'",
    ),
    (
        "from mxnet.module.base_module import BaseModule, _as_list, _parse_data_desc",
        "BaseModule is modkit.mod.BaseModule and _as_list(None) == [None] "
        "and _parse_data_desc(['x'], [], [('x', (2,))], None)[0][0].shape == (2,)",
    ),
    (
        "from mxnet.ndarray.ndarray import NDArray, _DTYPE_NP_TO_MX, _STORAGE_TYPE_STR_TO_ID",
        "NDArray is modkit.nd.NDArray and _DTYPE_NP_TO_MX[np.float16] == 2 "
        "and _STORAGE_TYPE_STR_TO_ID['csr'] == 2",
    ),
    (
        "from mxnet import misc",  # rates as MXNet 1.9.1 gives them
        "list(map(misc.FactorScheduler(10, 0.5), (0, 9, 10, 35))) == [0.01, 0.01, 0.005, 0.00125]",
    ),
    (
        "from mxnet import nd, sym, model, io",  # private names, as MXNet's own modules have them
        "nd.ndarray._GRAD_REQ_MAP['add'] == 3 and nd.ndarray.waitall is nd.waitall "
        "and nd.ndarray._internal is nd._internal and sym.symbol._DTYPE_NP_TO_MX[np.int8] == 5 "
        "and sym.symbol.AttrScope is modkit.AttrScope and not hasattr(nd.ndarray, 'no_such') "
        "and model._create_sparse_kvstore('local')[1] "
        "and io._has_instance(io._init_data({'a': np.ones(2)}, False, 'd'), nd.NDArray)",
    ),
    (
        "from mxnet.ndarray.ndarray import _ufunc_helper, _storage_type, numeric_types",
        "_ufunc_helper(2, 3, None, max, None) == 3 and _storage_type(modkit.nd.ones((1,))) == 0 "
        "and isinstance(1.5, numeric_types)",
    ),
    (
        "from mxnet.module.executor_group import _prepare_group2ctxs, _merge_multi_context",
        "_prepare_group2ctxs(None, 2) == [None, None] "
        "and _merge_multi_context([[modkit.nd.ones((1, 2))] * 2], [1])[0].shape == (1, 4)",
    ),
    (
        "from mxnet.rnn.rnn_cell import _normalize_sequence, _cells_state_shape, LSTMCell",
        "[len(_normalize_sequence(2, modkit.sym.var('x'), 'TNC', m)[0]) for m in (True, False)] "
        "== [1, 2] and _cells_state_shape([LSTMCell(3)]) == [(0, 3), (0, 3)]",
    ),
    (
        "from mxnet.model import BASE_ESTIMATOR, _multiple_callbacks, get_updater, "
        "DataParallelExecutorManager",
        "BASE_ESTIMATOR is object and _multiple_callbacks([print], end='') is None and "
        "get_updater is modkit.opt.get_updater",
    ),
    (
        "from mxnet.ndarray import zeros, array, _internal as old; a, b = zeros(2), zeros((2, 2))",
        "(old._copyto(old._set_value(3.0, out=a), out=b[0]) is not None) and b.sum() == 6 and "
        "(old._onehot_encode(array([1, 0]), b, out=b) is b) and b[0, 1] == 1 and b.sum() == 2",
    ),
    (
        "from mxnet.ndarray.ndarray import *",
        "NDArray is modkit.nd.NDArray and zeros is modkit.nd.zeros and split_v2 and waitall",
    ),
    (
        "from mxnet.optimizer.optimizer import NDArray, clip, sgd_update, string_types",
        "NDArray is modkit.nd.NDArray and sgd_update is modkit.nd.sgd_update and string_types",
    ),
    ("from mxnet.optimizer.optimizer import SGD", "SGD is modkit.optimizer.SGD"),
    (
        "from mxnet.recordio import MXIndexedRecordIO",
        "MXIndexedRecordIO is modkit.recordio.MXIndexedRecordIO",
    ),
    (
        "import struct; from mxnet.recordio import pack, _IR_FORMAT, _IR_SIZE",
        "struct.unpack(_IR_FORMAT, pack((0, 2.0, 3, 4), b'ab')[:_IR_SIZE]) == (0, 2.0, 3, 4)",
    ),
    (
        "from mxnet.contrib.onnx.onnx2mx.import_model import import_model, get_model_metadata",
        "import_model is modkit.contrib.onnx.import_model and get_model_metadata",
    ),
    (
        "from mxnet.optimizer.optimizer import _flatten_list; from mxnet.metric import registry\n"
        "from mxnet.visualization import _str2tuple; from mxnet.ndarray import _GRAD_REQ_MAP",
        "_flatten_list([[1, 2], [3]]) == [1, 2, 3] and _str2tuple('(3, 2)') == ['3', '2'] "
        "and registry is modkit.registry and _GRAD_REQ_MAP['add'] == 3",
    ),
    ("from mxnet.rnn.rnn_cell import LSTMCell", "LSTMCell is modkit.rnn.LSTMCell"),
    ("from mxnet.symbol.symbol import Symbol", "Symbol is modkit.sym.Symbol"),
    (
        "from mxnet.test_utils import *",
        "np.ones and gzip.open and os.path and same(np.ones(2), np.ones(2)) "
        "and current_context() == modkit.cpu() and mx.nd is modkit.nd "
        "and ss.norm.cdf(0) == 0.5 and OrderedDict() == {} and 'symbolic' not in globals()",
    ),
    (
        "from mxnet._ctypes.ndarray import NDArrayBase, CachedOp\n"
        "from mxnet._ctypes.symbol import SymbolBase; from mxnet.contrib.amp import amp",
        "NDArrayBase is modkit.nd.NDArray and CachedOp is modkit.nd.CachedOp "
        "and SymbolBase is modkit.sym.Symbol and amp.convert_model",
    ),
    (
        "from mxnet.ndarray.ndarray import _new_alloc_handle, _new_empty_handle, NDArray, _LIB\n"
        "from mxnet.ndarray.sparse import _ndarray_cls, _csr_matrix_from_definition as parts\n"
        "made = NDArray(_new_alloc_handle((2, 3), modkit.cpu(), False, np.float64))",
        "made.shape == (2, 3) and made.dtype == np.float64 and not _new_empty_handle() "
        "and _ndarray_cls(made.handle) is made "
        "and parts([3], [1], [0, 1], (1, 2)).asnumpy().tolist() == [[0, 3]]",
    ),
    (
        "from mxnet.executor_manager import _bind_exec; from mxnet.model import Context\n"
        "net = modkit.sym.dot(modkit.sym.Variable('x'), modkit.sym.Variable('w', shape=(3, 1)))\n"
        "pool = {}; one = _bind_exec(net, Context('cpu'), {'x': (2, 3)}, ['w'], True)\n"
        "two = _bind_exec(net, Context('cpu'), {'x': (4, 3)}, ['w'], {'w'}, one, pool)\n"
        "one.arg_dict['w'][:] = 5",
        "(two.arg_dict['w'].asnumpy() == 5).all() and list(pool) == ['x'] "
        "and [e.grad_dict['x'] is None and e.grad_dict['w'].shape for e in (one, two)] "
        "== [(3, 1)] * 2",
    ),
    (
        "from mxnet.metric import _BinaryClassificationMetrics as counts; b = counts()\n"
        "for _ in 'ab': b.local_reset_stats(); b.update_binary_stats("
        "modkit.nd.array([1, 0]), modkit.nd.array([[.1, .9], [.2, .8]]))",
        "(b.precision, b.recall, b.total_examples, b.global_total_examples) == (0.5, 1, 2, 4) "
        "and b.reset_stats() is None and b.global_total_examples == 0",
    ),
    (
        "from mxnet.autograd import _RecordingStateScope as scope, is_recording, is_training\n"
        "with scope(None, True): seen = is_recording(), is_training()\n"
        "from mxnet.util import _NumpyShapeScope; from mxnet.engine import _BulkScope\n"
        "with _NumpyShapeScope(True), _BulkScope(1): seen += (modkit.is_np_shape(),)",
        "seen == (False, True, True)",
    ),
    (
        "from mxnet.image.image import _get_interp_method as method",
        "[method(9, s) for s in ((), (10, 10, 20, 20), (20, 20, 10, 10), (10, 20, 20, 10))] "
        "== [2, 2, 3, 1] and method(4) == 4 and 0 <= method(10) <= 4",
    ),
    (
        "from mxnet.io.utils import _slice_along_batch_axis as cut; import mxnet.module\n"
        "from mxnet.module.executor_group import _split_input_slice, _DTYPE_MX_TO_NP\n"
        "x = modkit.nd.ones((4, 3))",
        "[cut(x, slice(1, 3), axis).shape for axis in (0, 1, -1)] == [(2, 3), (4, 2), (4, 3)] "
        "and _split_input_slice(2, [1]) == [slice(0, 2)] and _DTYPE_MX_TO_NP[0] is np.float32",
    ),
    (
        "from mxnet.error import InternalError, register, register_error",
        "issubclass(InternalError, modkit.MXNetError) and register is register_error",
    ),
    ("from mxnet.util import getenv", "getenv is modkit.util.getenv"),
    (
        "import mxnet.runtime, mxnet.engine, mxnet.log, mxnet.libinfo, mxnet.profiler, mxnet.error",
        "all(getattr(mxnet, name) is getattr(modkit, name) "
        "for name in ('runtime', 'engine', 'log', 'libinfo', 'profiler')) "
        "and mxnet.error.MXNetError is modkit.MXNetError",
    ),
]


@pytest.mark.parametrize(("line", "holds"), IMPORTS, ids=[line for line, _ in IMPORTS])
def test_imports(mxnet, line, holds):
    names = {"modkit": modkit, "np": np}
    exec(line, names)
    assert eval(holds, names), holds


def test_a_module_below_a_short_name_is_not_found(mxnet):
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'mxnet\.nd\.op'"):
        importlib.import_module("mxnet.nd.op")


def test_modules_are_the_same_objects(mxnet):
    imported = set(sys.modules)
    import mxnet.module.base_module
    import mxnet.symbol.symbol

    assert sys.modules["mxnet.module"] is modkit.module
    assert "mxnet.symbol" in imported  # einops takes a Symbol's type from there
    assert mxnet.symbol.symbol.Symbol is modkit.sym.Symbol
    assert modkit.module.__spec__.name == "modkit.module"
    assert mxnet.rnn.rnn_cell.LSTMCell is modkit.rnn.LSTMCell


@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_old_places_have_the_names_of_their_modules(mxnet, name, place):
    found, wanted = importlib.import_module(f"mxnet.{name}"), importlib.import_module(place)
    own = name.rpartition(".")[2]  # the import system sets it on the parent
    public = [each for each in dir(wanted) if not each.startswith("_") and each != own]
    assert public
    assert all(getattr(found, each) is getattr(wanted, each) for each in public)


@pytest.mark.parametrize("name", [*ABSENT, "gluon.nn"])
def test_absent_parts_can_be_imported_and_say_so_when_used(mxnet, name):
    imported = {}
    exec(f"import mxnet.{name}; from mxnet import {name.split('.')[0]} as absent", imported)
    says = rf"mx\.{name.split('.')[0]}\.Thing is not part of modkit"
    with pytest.raises(AttributeError, match=says):
        imported["absent"].Thing()
    exec(f"from mxnet.{name} import *; from mxnet.{name} import Thing", imported)
    with pytest.raises(modkit.MXNetError, match=r"\.Thing is not part of modkit"):
        imported["Thing"](3)
    exec("class Net(Thing): pass\nclass Deep(Net, dict): pass", imported)
    for made in (imported["Net"], imported["Deep"]):
        with pytest.raises(modkit.MXNetError, match=r"\.Thing is not part of modkit"):
            made()


def test_nothing_is_an_instance_of_an_absent_class(mxnet):
    from mxnet.gluon import HybridBlock

    assert not isinstance(mxnet.sym.Variable("a"), (mxnet.gluon.Block, HybridBlock))
    assert not issubclass(mxnet.sym.Symbol, HybridBlock)


def test_gluon_is_an_attribute_and_other_absent_modules_are_not(mxnet):
    exec("class Net(mx.gluon.nn.Block): pass", {"mx": mxnet})
    assert not hasattr(mxnet, "np") and not hasattr(modkit, "gluon")


def test_unknown_modules_are_not_found(mxnet):
    with pytest.raises(ModuleNotFoundError, match=r"mxnet\.modul"):
        importlib.import_module("mxnet.modul")


def test_installing_twice_and_taking_back():
    install()
    install()
    assert "mxnet" not in sys.modules  # programs look whether they come before it
    assert importlib.import_module("mxnet").nd is modkit.nd
    uninstall()
    uninstall()
    assert not [n for n in sys.modules if n.partition(".")[0] == "mxnet"]
    assert not hasattr(modkit.nd.ndarray, "waitall") and not hasattr(modkit.io, "_has_instance")
    assert importlib.util.find_spec("mxnet") is None


def test_another_mxnet_is_not_replaced(monkeypatch):
    monkeypatch.setitem(sys.modules, "mxnet", type(sys)("mxnet"))
    with pytest.raises(modkit.MXNetError, match="imported already"):
        install()


def test_arguments_of_one_name_are_found(mxnet):
    from mxnet.executor_manager import _check_arguments

    a, b = mxnet.sym.Variable("a"), mxnet.sym.Variable("a")
    _check_arguments(a + 1)
    with pytest.raises(ValueError, match=r"\['a'\] occur more than once"):
        _check_arguments(a + b)


def test_batch_is_cut_as_by_mxnet(mxnet):
    from mxnet.executor_manager import _split_input_slice

    assert _split_input_slice(7, [1, 2]) == [slice(0, 2), slice(2, 7)]


def test_the_loop_of_the_first_releases(mxnet):
    """MXNet 1.9.1's `DataParallelExecutorManager` with its private helpers."""
    from mxnet.executor_manager import DataParallelExecutorManager
    from mxnet.model import _initialize_kvstore, _update_params, _update_params_on_kvstore

    mx = mxnet
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    x, y = np.eye(4, dtype=np.float32), np.array([0, 1, 0, 1])
    names, results = ["fc_weight", "fc_bias"], []
    for on_kvstore in (False, True):
        it = mx.io.NDArrayIter(x, y, 4)
        manager = DataParallelExecutorManager(net, [mx.cpu()], it, net.list_arguments(), names, [])
        with pytest.raises(mx.base.MXNetError, match="load_data_batch"):
            manager.forward()
        monitor = mx.mon.Monitor(1, pattern="fc_output")
        manager.install_monitor(monitor)
        start = {"fc_weight": mx.nd.zeros((2, 4)), "fc_bias": mx.nd.zeros((2,))}
        manager.set_params(start, {})
        store = mx.kv.create("local")
        _initialize_kvstore(store, manager.param_arrays, start, names, on_kvstore)
        sgd = mx.optimizer.SGD(learning_rate=0.5)
        if on_kvstore:
            store.set_optimizer(sgd)
        update = mx.optimizer.get_updater(sgd)
        monitor.tic()
        for _ in range(10):
            it.reset()
            batch = it.next()
            manager.load_data_batch(batch)
            manager.forward(is_train=True)
            manager.backward()
            arrays = manager.param_arrays, manager.grad_arrays
            if on_kvstore:
                _update_params_on_kvstore(*arrays, store, names)
            else:
                _update_params(*arrays, update, 1, store, names)
        assert {name for _, name, _ in monitor.toc()} == {"fc_output"}
        metric = mx.metric.Accuracy()
        manager.update_metric(metric, batch.label)
        assert metric.get() == ("accuracy", 1.0)
        manager.copy_to(start, {})
        results.append(start["fc_weight"].asnumpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)
    assert np.abs(results[0]).max() > 0.5
    with pytest.raises(ValueError, match="one for each device"):
        DataParallelExecutorManager(net, [mx.cpu()], it, [], names, [], work_load_list=[1, 2])


@pytest.mark.parametrize("name", ["ndarray.ndarray.sparse_array", "symbol.symbol.attrs"])
def test_modules_with_private_names_are_no_packages(mxnet, name):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"modkit.{name}")


def test_private_names_of_iterators_and_images(mxnet):
    from mxnet import image
    from mxnet.image.detection import DetAugmenter
    from mxnet.image.image import _get_interp_method
    from mxnet.io.io import _init_data

    assert issubclass(DetAugmenter, object) and mxnet.img.imresize is image.imresize
    assert [_get_interp_method(9, (8, 8, *size)) for size in ((9, 9), (7, 7), (9, 7))] == [2, 3, 1]
    assert (_get_interp_method(9), _get_interp_method(4)) == (2, 4)
    made = _init_data({"b": np.ones(2), "a": mxnet.nd.ones(3)}, False, "data")
    assert [(name, array.shape) for name, array in made] == [("a", (3,)), ("b", (2,))]
    assert _init_data([], True, "data") == []
    with pytest.raises(ValueError, match="no arrays"):
        _init_data(None, allow_empty=False, default_name="data")
