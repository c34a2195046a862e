"""base, engine, libinfo, log, profiler, runtime, util: the small modules of MXNet."""

import array
import ctypes
import gzip
import json
import logging
import os
import re
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.errors import FileAccessError, NotReadyError, NotSupportedError, ParameterError
from tests.fresh import answer


def test_base_names():
    assert mx.base.py_str(b"ab") == "ab"
    assert mx.base.c_str("ab").value == b"ab"
    assert isinstance(3, mx.base.integer_types)
    assert isinstance(np.float32(3), mx.base.numeric_types)
    assert mx.base.mx_real_t is np.float32
    assert repr(mx.base._Null) == "_Null"
    assert mx.base._as_list(3) == [3]
    assert mx.base._as_list((3, 4)) == (3, 4)
    assert mx.base.MXNetError is mx.MXNetError
    assert list(mx.base.c_array(ctypes.c_int, [1, 2])) == [1, 2]
    assert list(mx.base.c_array_buf(ctypes.c_int, array.array("i", [3, 4]))) == [3, 4]
    with pytest.raises(AttributeError, match="C library"):
        mx.base._LIB.MXNDArrayCreate  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute"):
        mx.base.nothing  # noqa: B018


def test_graphs_are_divided_through_the_c_library_without_effect():
    from modkit.base import _LIB, SymbolHandle, c_str, c_str_array, check_call, mx_uint

    symbol, names = mx.sym.exp(mx.sym.Variable("a")) + 1, c_str_array(["exp"])
    out = SymbolHandle()
    call = _LIB.MXBuildSubgraphByOpNames
    check_call(call(symbol.handle, c_str("default"), mx_uint(1), names, ctypes.byref(out)))
    assert mx.sym.Symbol(out).tojson() == symbol.tojson()
    check_call(_LIB.MXSetSubgraphPropertyOpNames(c_str("default"), mx_uint(1), names))
    check_call(_LIB.MXRemoveSubgraphPropertyOpNamesV2(c_str("default")))
    with pytest.raises(mx.MXNetError, match="got -1"):
        check_call(-1)
    with pytest.raises(mx.errors.ParameterError, match="no present Symbol"):
        mx.sym.Symbol(mx.nd.ones((1,)).handle)


def test_data_folder(monkeypatch):
    monkeypatch.setenv("MXNET_HOME", "/somewhere")
    assert mx.base.data_dir() == "/somewhere"
    monkeypatch.delenv("MXNET_HOME")
    assert mx.base.data_dir() == mx.base.data_dir_default() == str(Path.home() / ".mxnet")


def test_metaclasses_and_class_properties():
    class Meta(type):
        kind = "meta"

    class Made(mx.base.with_metaclass(Meta, dict)):
        @mx.base.classproperty
        def label(cls):
            return cls.__name__.lower()

    assert Made.kind == "meta"
    assert issubclass(Made, dict)
    assert Made.label == "made"


def test_errors_are_registered():
    @mx.base.register_error
    class FooError(mx.MXNetError):
        pass

    assert mx.base.error_types.pop("FooError") is FooError


def test_bulk_size_is_remembered():
    before = mx.engine.set_bulk_size(10)
    with mx.engine.bulk(5):
        assert mx.engine.set_bulk_size(7) == 5
    assert mx.engine.set_bulk_size(before) == 10
    for wrong in ("5", 2.5, None):
        with pytest.raises(TypeError, match=f"set_bulk_size: got {wrong!r}, expected an integer"):
            mx.engine.set_bulk_size(wrong)
    with mx.engine.bulk(0):
        assert (mx.engine.steps_per_call(), mx.engine.set_bulk_size(0)) == (1, 0)
    with mx.engine.bulk(np.int64(2)):
        assert (mx.engine.steps_per_call(), mx.engine.set_bulk_size(2)) == (2, 2)
    for wrong in ("5", -1):
        with pytest.raises(ParameterError, match="an integer of at least 0"), mx.engine.bulk(wrong):
            pass
    assert mx.engine.set_bulk_size(before) == before


def test_environment_variables(monkeypatch):
    monkeypatch.setenv("MODKIT_TEST", "1")
    assert mx.util.getenv("MODKIT_TEST") == "1"
    mx.util.setenv("MODKIT_TEST", None)
    assert mx.util.getenv("MODKIT_TEST") is None
    mx.util.setenv("MODKIT_TEST", "2")
    assert os.environ["MODKIT_TEST"] == "2"


def test_devices_folders_and_modules_of_names(tmp_path):
    assert (str(mx.cpu_pinned(1)), mx.Context(mx.cpu(1))) == ("cpu_pinned(1)", mx.cpu(1))
    assert str(mx.tpu(2)) == "tpu(2)"
    for _ in range(2):
        mx.util.makedirs(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()
    assert mx.util.set_module("there")(lambda: None).__module__ == "there"
    assert mx.util.set_module(None)(test_base_names).__module__ == __name__
    with pytest.raises(ParameterError, match=r"got cpu\(0\), expected mx.gpu"):
        mx.util.get_cuda_compute_capability(mx.cpu())
    with pytest.raises(mx.MXNetError, match=r"gpu\(0\)"):
        mx.util.get_gpu_memory(0)
    assert mx.util.get_gpu_count() == 0
    assert repr(mx.runtime.Features())[:8] in ("[✔ CUDA,", "[✖ CUDA,")


def test_numpy_arrays_are_off():
    assert not mx.is_np_array()
    with mx.np_array(False):
        pass
    for call in (mx.np_array, lambda: mx.util.set_np(), lambda: mx.use_np(int)()):
        with pytest.raises(NotSupportedError, match="NumPy semantics"):
            call()


def test_features():
    features = mx.runtime.Features()
    assert features.is_enabled("lapack")
    assert not features.is_enabled("TVM_OP")
    assert features.is_enabled("CUDA") == bool(mx.num_gpus())
    assert str(features["TENSORRT"]) == "✖ TENSORRT"
    assert len(mx.runtime.feature_list()) == len(features) == 32
    with pytest.raises(RuntimeError, match="LAPACK"):
        features.is_enabled("lapak")


def test_versions():
    assert mx.libinfo.__version__ == "1.9.1"
    with pytest.raises(NotSupportedError):
        mx.libinfo.find_lib_path()


def test_loggers(tmp_path):
    path = tmp_path / "log.txt"
    logger = mx.log.get_logger("modkit.test", filename=str(path), level=mx.log.INFO)
    assert mx.log.get_logger("modkit.test") is logger
    logger.info("seen %d", 3)
    logger.debug("unseen")
    assert path.read_text() == "seen 3\n"
    for handler in logger.handlers[:]:
        handler.close()
        logger.removeHandler(handler)
    assert mx.log.get_logger() is logging.getLogger()
    with pytest.warns(DeprecationWarning):
        assert mx.log.getLogger() is logging.getLogger()


def test_lines_of_logs_leave_what_records_carry():
    logger = mx.log.get_logger("modkit.streamed")
    (handler,) = logger.handlers
    record = logging.makeLogRecord({"msg": "m %d", "args": (1,), "levelname": "INFO", "begin": 3})
    assert re.fullmatch(r"(\x1b\S+)?I\d{4} [\d:]{8} .*:\d+\](\x1b\S+)? m 1", handler.format(record))
    assert vars(record)["begin"] == 3
    logger.removeHandler(handler)


def test_profiler_writes_a_trace(tmp_path):
    mx.profiler.set_config(profile_all=True, filename=str(tmp_path / "trace.json"))
    domain = mx.profiler.Domain("mine")
    counter = domain.new_counter("count", 3)
    mx.profiler.set_state("run")
    with domain.new_task("task"):
        mx.nd.ones((2,)).asnumpy()
    domain.new_marker("here").mark()
    counter += 2
    counter.decrement()
    mx.profiler.dump()
    assert counter.value == 4
    assert list((tmp_path / "trace").rglob("*.xplane.pb"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "task" in {event["name"] for event in events} and all("ph" in e for e in events)
    with pytest.raises(mx.MXNetError, match="'elsewhere', expected one of global, process"):
        domain.new_marker("there").mark("elsewhere")
    with pytest.raises(NotReadyError, match="dump: the profiler has not run"):  # since the dump
        mx.profiler.dump()
    with pytest.raises(KeyError, match="'run'"):
        mx.profiler.set_state("walk")
    with pytest.raises(ParameterError, match="profile_all"):
        mx.profiler.set_config(profile_al=True)
    with pytest.raises(ParameterError, match="profile_all: got 'yes', expected True or False"):
        mx.profiler.set_config(profile_all="yes")
    with pytest.raises(NotSupportedError, match="set_config: modkit has no server processes"):
        mx.profiler.set_config(profile_process="server")
    assert re.search(r"^task +1( +\d+\.\d{4}){4}$", mx.profiler.dumps(), re.MULTILINE)
    found = json.loads(mx.profiler.dumps(reset=True, format="json"))
    assert found["Time"]["mine"]["task"]["Count"] == 1
    assert found["Memory"] == {}
    assert found["Unit"] == {"Time": "ms", "Memory": "kB"}  # MXNet 1.9.1
    assert "task" not in mx.profiler.dumps()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mx.profiler.dumps(format="xml"), "format: got 'xml', expected one of 'table'"),
        (lambda: mx.profiler.dumps(sort_by=None), "sort_by: got None, expected one of 'count'"),
        (lambda: mx.profiler.dumps(sort_by="TOTAL"), "sort_by: got 'TOTAL'"),
        (lambda: mx.profiler.dumps(reset=2), r"dumps: reset: got 2, expected one of True, False"),
        (lambda: mx.profiler.dumps(ascending="False"), "ascending: got 'False', expected"),
        (lambda: mx.profiler.set_config(dump_period="x"), "dump_period: got 'x', expected sec"),
        (lambda: mx.profiler.set_config(dump_period=True), "dump_period: got True"),
        (lambda: mx.profiler.profiler_set_config("x"), "mode: got 'x', expected one of 'all'"),
        (
            lambda: mx.profiler.Counter(mx.profiler.Domain("d"), "c", "x"),
            "value: got 'x', expected a whole",
        ),
    ],
)
def test_profiler_refusals(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_counters_count_whole_numbers():
    counter = mx.profiler.Counter(mx.profiler.Domain("d"), "c", 2.5)
    counter += 1.9
    assert counter.value == 3  # int(), as in MXNet
    counter -= 2.9
    assert (counter.value, str(counter)) == (1, "c")


def test_names_of_before_1_3_and_pauses_start_and_stop(tmp_path, no_trace):
    profiler, states = mx.profiler, []
    profiler.profiler_set_config("all", str(tmp_path / "old.json"))
    for call in (
        lambda: profiler.profiler_set_state("run"), profiler.pause, profiler.resume,
        lambda: profiler.dump(finished=False), profiler.dump_profile,
    ):  # fmt: skip
        call()
        states.append(mx.profiler._running)
    assert states == [True, False, True, True, False]
    frame = profiler.Domain("video").new_frame("first")
    with frame:
        pass
    assert "video,frame" in profiler.dumps(reset=True)


@pytest.fixture
def no_trace(monkeypatch):
    monkeypatch.setattr(jax.profiler, "start_trace", lambda folder: None)
    monkeypatch.setattr(jax.profiler, "stop_trace", lambda: None)
    monkeypatch.setattr(mx.profiler, "_write", lambda: None)
    mx.profiler.dumps(reset=True)
    yield
    mx.profiler.set_state("stop")
    mx.profiler.set_config()


def test_a_trace_that_cannot_be_written_is_refused_before_it_starts(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(mx.profiler, "_folder", str(tmp_path / "file" / "trace"))
    monkeypatch.setattr("jax.profiler.start_trace", pytest.fail)
    with pytest.raises(FileAccessError, match="trace: cannot be written: Not a directory"):
        mx.profiler.set_state("run")
    mx.profiler.set_state("stop")


def test_a_trace_that_cannot_be_written_has_ended(tmp_path, monkeypatch):
    def fail():
        if folder.is_file():
            raise jax.errors.JaxRuntimeError("is not a directory")

    folder, started = tmp_path / "trace", []
    monkeypatch.setattr(mx.profiler, "_folder", str(folder))
    monkeypatch.setattr(mx.profiler, "_write", lambda: None)
    monkeypatch.setattr("jax.profiler.start_trace", started.append)
    monkeypatch.setattr("jax.profiler.stop_trace", fail)
    mx.profiler.set_state("run")
    folder.rmdir()
    folder.touch()
    with pytest.raises(FileAccessError, match="trace: cannot be written: is not a directory"):
        mx.profiler.set_state("stop")
    mx.profiler.set_state("stop")
    folder.unlink()
    mx.profiler.set_state("run")
    mx.profiler.set_state("stop")
    assert len(started) == 2


def test_a_trace_goes_to_the_file_that_is_set_when_it_ends(tmp_path, monkeypatch):
    def trace(folder):
        part = Path(folder, "plugins", "profile", "now")
        part.mkdir(parents=True)
        (part / "host.trace.json.gz").write_bytes(gzip.compress(b'{"traceEvents":[{}]}'))

    monkeypatch.setattr(mx.profiler, "_folder", str(tmp_path / "first"))
    monkeypatch.setattr("jax.profiler.start_trace", trace)
    monkeypatch.setattr("jax.profiler.stop_trace", lambda: None)
    mx.profiler.set_state("run")
    mx.profiler.set_config(filename=str(tmp_path / "second.json"))
    mx.profiler.set_state("stop")
    assert (tmp_path / "second.json").read_text() == '{"traceEvents":[{}]}'


# MXNet 1.9.1: whether eager calls and bound graphs have rows, by options beside aggregate_stats.
@pytest.mark.parametrize("options, eager, bound", [
    ({}, True, True),
    ({"profile_all": True}, True, True),
    ({"profile_imperative": True}, True, True),
    ({"profile_symbolic": True}, True, True),
    ({"profile_symbolic": False}, True, True),
    ({"profile_imperative": False}, False, True),
    ({"profile_all": "False", "profile_imperative": "0"}, False, True),
    ({"aggregate_stats": False}, False, False),
])  # fmt: skip
def test_profiler_counts_operators_and_programs(options, eager, bound, no_trace):
    x, w = mx.nd.ones((2, 2)), mx.nd.ones((2, 2))
    w.attach_grad()
    net = mx.sym.tanh(mx.sym.var("x"), name="t")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="s"), ["x"], ["s_label"])
    module.bind([("x", (2, 2))], [("s_label", (2,))])
    module.init_params()
    executor = net.simple_bind(mx.cpu(), x=(2, 2))

    def work():
        for _ in range(3):
            mx.nd.relu(mx.nd.dot(x, x))
        with mx.autograd.record():
            y = mx.nd.exp(w)
        y.backward()
        for _ in range(2):
            executor.forward(is_train=True)[0].wait_to_read()
            executor.backward(x)
            executor.grad_dict["x"].wait_to_read()
        module.forward(mx.io.DataBatch([x]), is_train=False)
        module.get_outputs()[0].wait_to_read()

    mx.profiler.set_config(**{"aggregate_stats": True, **options})
    work()
    began_s = time.perf_counter()
    mx.profiler.set_state("run")
    work()
    mx.profiler.set_state("stop")
    took_ms = 1e3 * (time.perf_counter() - began_s)
    work()
    table = mx.profiler.dumps()
    rows = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"].get("operator", {})
    ops = {"dot": 3, "relu": 3, "exp": 1, "backward exp": 1}
    programs = {"forward t_output": 2, "backward t_output": 2}
    programs["forward s_output"] = 1
    want = (ops if eager else {}) | (programs if bound else {})
    assert {name: row["Count"] for name, row in rows.items()} == want
    for name, row in rows.items():
        assert 0 < row["Min"] <= row["Avg"] <= row["Max"] <= row["Total"] <= took_ms
        assert row["Avg"] * row["Count"] == pytest.approx(row["Total"])
        assert re.search(rf"^{name} +{row['Count']}( +\d+\.\d{{4}}){{4}}$", table, re.MULTILINE)
    assert not want or "\noperator\n=================\nName  " in table


class Increment(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 3)


@mx.operator.register("profiled_increment")
class IncrementProperties(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Increment()


def test_profiler_counts_the_operators_of_custom_operators(no_trace):
    mx.profiler.set_config(aggregate_stats=True)
    mx.profiler.set_state("run")
    x = mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="profiled_increment")
    y.backward()
    x.grad.asnumpy()
    rows = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]["Custom Operator"]
    name, called = "profiled_increment", ("pure_python", "_plus_scalar", "_mul_scalar")
    assert (
        sorted(rows)
        == sorted(  # MXNet 1.9.1 has them, and rows of its own copies
            [f"{name}::{each}" for each in called[:2]]
            + [f"_backward_{name}::{each}" for each in called[::2]]
        )
    )
    assert {row["Count"] for row in rows.values()} == {1}


LOGGED = """
import json, logging, os
records = []
class Kept(logging.Handler):
    def emit(self, record):
        records.append((record.name.split(".")[0], record.levelname))
logging.basicConfig(level=logging.DEBUG, handlers=[Kept()])
import modkit as mx
if LEVEL:
    logging.getLogger("jax").setLevel(LEVEL)
mx.nd.ones((2,)).asnumpy()
mx.image.imdecode(open(IMAGE, "rb").read())  # Pillow logs each chunk of a PNG
logging.getLogger("jax._src.any").warning("a warning")
logging.getLogger("modkit.any").debug("own")
print(json.dumps(records))
"""


@pytest.mark.parametrize(
    ("level", "switch", "shown"),
    [(0, "off", {"WARNING"}), (0, "on", {"DEBUG", "WARNING"}), (10, "off", {"DEBUG", "WARNING"})],
)
def test_debug_records_of_libraries_are_hidden_unless_wanted(level, switch, shown, tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("RGB", (2, 2)).save(tmp_path / "two.png")
    start = f"LEVEL = {level}\nIMAGE = {str(tmp_path / 'two.png')!r}\n"
    records = answer(start + LOGGED, MODKIT_JAX_LOGS=switch)
    assert not [how for name, how in records if name == "PIL"]
    assert {how for name, how in records if name == "jax"} - {"INFO"} == shown
    assert ["modkit", "DEBUG"] in records
