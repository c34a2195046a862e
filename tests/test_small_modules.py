"""base, engine, libinfo, log, profiler, runtime, util: the small modules of MXNet."""

import json
import logging
import os
import re
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotSupportedError, ParameterError
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
    with pytest.raises(AttributeError, match="C library"):
        mx.base._LIB  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute"):
        mx.base.nothing  # noqa: B018


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


def test_environment_variables(monkeypatch):
    monkeypatch.setenv("MODKIT_TEST", "1")
    assert mx.util.getenv("MODKIT_TEST") == "1"
    mx.util.setenv("MODKIT_TEST", None)
    assert mx.util.getenv("MODKIT_TEST") is None
    mx.util.setenv("MODKIT_TEST", "2")
    assert os.environ["MODKIT_TEST"] == "2"


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
    text = path.read_text()
    assert text[0] == "I"
    assert text.endswith("] seen 3\n")
    assert "unseen" not in text
    for handler in logger.handlers[:]:
        handler.close()
        logger.removeHandler(handler)
    assert mx.log.get_logger() is logging.getLogger()
    with pytest.warns(DeprecationWarning):
        assert mx.log.getLogger() is logging.getLogger()


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
    with pytest.raises(KeyError, match="'run'"):
        mx.profiler.set_state("walk")
    with pytest.raises(ParameterError, match="profile_all"):
        mx.profiler.set_config(profile_al=True)
    assert re.search(r"^task +1( +\d+\.\d{4}){4}$", mx.profiler.dumps(), re.MULTILINE)
    assert json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]["task"]["count"] == 1
    assert "task" not in mx.profiler.dumps()
    with pytest.raises(ParameterError, match="expected table or json"):
        mx.profiler.dumps(format="xml")


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
logging.getLogger("jax._src.any").warning("a warning")
logging.getLogger("modkit.any").debug("own")
print(json.dumps(records))
"""


@pytest.mark.parametrize(
    ("level", "switch", "shown"),
    [(0, "off", {"WARNING"}), (0, "on", {"DEBUG", "WARNING"}), (10, "off", {"DEBUG", "WARNING"})],
)
def test_debug_records_of_jax_are_hidden_unless_wanted(level, switch, shown):
    records = answer(f"LEVEL = {level}\n{LOGGED}", MODKIT_JAX_LOGS=switch)
    assert {how for name, how in records if name == "jax"} - {"INFO"} == shown
    assert ["modkit", "DEBUG"] in records
