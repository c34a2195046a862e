"""The allocator is told once, before the first device, and only where that is wanted."""

import pytest

import modkit as mx
from modkit import allocator
from modkit.errors import ParameterError
from tests.fresh import answer

glibc = pytest.mark.skipif(not allocator._is_glibc(), reason="the C library is not glibc")

# glibc writes one <heap> for each arena; threads that compute get one each, if they may.
PROGRAM = """
import ctypes, json, os, sys
def heaps():
    libc = ctypes.CDLL(None)
    libc.fdopen.restype = ctypes.c_void_p
    libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.fflush.argtypes = [ctypes.c_void_p]
    path = sys.argv[1]
    libc.malloc_info(0, (stream := libc.fdopen(os.open(path, os.O_RDWR | os.O_CREAT), b"w")))
    libc.fflush(stream)
    return open(path).read().count("<heap nr=")
import numpy as np
import modkit as mx
from modkit import allocator
from modkit.io import recordio
how, rows = sys.argv[2], int(sys.argv[3])
net = mx.sym.Dropout(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=99, name="fc"))
shapes = {"data": (rows, 99), "fc_weight": (99, 99), "fc_bias": (99,)}
arrays = {n: mx.nd.zeros(s) for n, s in shapes.items()}
# Nothing of this is to make JAX start its threads.
module = mx.mod.Module(net, label_names=None, context=mx.cpu())
data = mx.io.NDArrayIter(np.ones((rows, 99), np.float32), batch_size=rows)
data.provide_data
mx.nd.array([1, 2]), mx.nd.load(sys.argv[1] + ".params")
told = len(allocator._told)
if how == "prefetching":
    data = mx.io.PrefetchingIter(data)
if how in ("module", "prefetching"):
    module.bind(data.provide_data)
    module.init_params()
    module.predict(data).asnumpy()
elif how == "simple_bind":
    net.simple_bind(mx.cpu(), **shapes).forward()[0].asnumpy()
elif how == "bind":
    net.bind(mx.cpu(), arrays).forward()[0].asnumpy()
elif how == "predictor":
    del arrays["data"]
    mx.Predictor(net, arrays, {"data": (rows, 99)}).predict(np.zeros((rows, 99)))
else:
    mx.nd.dot(arrays["fc_weight"], arrays["fc_weight"]).asnumpy()
print(json.dumps([told, allocator.keep_pages(), heaps()]))
"""


def told(tmp_path, how="operator", rows=8, **variables):
    """Whether it was told before it computed, whether in the end, and how many arenas there are.

    It multiplies matrices, or runs a network for ``rows`` samples of 99 numbers.
    """
    mx.nd.save(str(tmp_path / "info.xml.params"), [mx.nd.ones(3)])
    return answer(PROGRAM, str(tmp_path / "info.xml"), how, str(rows), **variables)


@glibc
@pytest.mark.parametrize("how", ["operator", "prefetching"])
def test_threads_share_one_arena_where_none_knows_a_network(tmp_path, how):
    assert told(tmp_path, how) == [0, True, 1]


@glibc
@pytest.mark.parametrize("how", ["module", "simple_bind", "bind", "predictor"])
def test_a_small_network_that_comes_first_leaves_threads_their_arenas(tmp_path, how):
    before, now, arenas = told(tmp_path, how)
    assert (before, now) == (0, True)
    assert arenas > 1


@glibc
@pytest.mark.parametrize(("rows", "wanted"), [(30_000, "keep"), (8, "large")])
def test_a_large_network_and_who_expects_one_get_one_arena(tmp_path, rows, wanted):
    assert told(tmp_path, "module", rows, MODKIT_ALLOCATOR=wanted) == [0, True, 1]


@glibc
def test_it_can_be_left_alone(tmp_path):
    before, now, arenas = told(tmp_path, MODKIT_ALLOCATOR="system")
    assert (before, now) == (0, False)
    assert arenas > 1


@glibc
@pytest.mark.parametrize(
    ("name", "value"),
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_TRIM_THRESHOLD_", "1000000"),
     ("GLIBC_TUNABLES", "glibc.malloc.arena_max=2")],
)  # fmt: skip
def test_what_the_user_has_set_up_stays(tmp_path, name, value):
    assert told(tmp_path, **{name: value})[1] is False


@pytest.fixture
def asked(monkeypatch):
    """What `mallopt` is told, before the first call, in surroundings where that works."""
    for name in (*allocator._VARIABLES, "GLIBC_TUNABLES", allocator.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(allocator, "_may_have_accelerator", lambda: False)
    monkeypatch.setattr(allocator, "_told", [])
    monkeypatch.setattr(allocator, "_one_arena", [])
    called = []

    class Libc:
        def __init__(self, name):
            assert name is None

        def mallopt(self, *arguments):
            called.append(arguments)
            return 1

    monkeypatch.setattr(allocator.ctypes, "CDLL", Libc)
    monkeypatch.setattr(allocator, "_is_glibc", lambda: True)
    return called


@pytest.mark.parametrize(
    ("made", "wanted", "settings"),
    [(None, "keep", [(-8, 1), (-4, 0), (-1, -1)]), (1 << 30, "keep", [(-8, 1), (-4, 0), (-1, -1)]),
     (1 << 20, "keep", [(-4, 0), (-1, -1)]), (1 << 20, "large", [(-8, 1), (-4, 0), (-1, -1)])],
)  # fmt: skip
def test_what_is_set_is_decided_once(asked, monkeypatch, made, wanted, settings):
    monkeypatch.setenv(allocator.VARIABLE, wanted)
    assert allocator.keep_pages(made)
    assert asked == settings
    assert bool(allocator._one_arena) == (len(settings) == 3)
    assert allocator.keep_pages(1 << 40)
    assert allocator.keep_pages()
    assert asked == settings


@pytest.mark.parametrize("reason", ["_is_set_up", "_may_have_accelerator"])
def test_reasons_to_leave_it_alone(asked, monkeypatch, reason):
    monkeypatch.setattr(allocator, reason, lambda: True)
    assert not allocator.keep_pages()
    assert asked == []


def test_other_systems_and_libraries_are_left_alone(asked, monkeypatch):
    monkeypatch.setattr(allocator, "_is_glibc", lambda: False)
    assert not allocator.keep_pages()
    assert asked == []


def test_what_glibc_is(monkeypatch):
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    assert not allocator._is_glibc()
    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.os, "confstr", lambda name: "glibc 2.36")
    assert allocator._is_glibc()
    monkeypatch.setattr(allocator.os, "confstr", lambda name: None)
    assert not allocator._is_glibc()

    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(allocator.os, "confstr", unknown)
    assert not allocator._is_glibc()


def test_an_accelerator_is_thought_of_by_its_plug_in(monkeypatch):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.setattr(allocator.importlib.metadata, "entry_points", lambda group: [group])
    assert allocator._may_have_accelerator()
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert not allocator._may_have_accelerator()


def test_a_wrong_word_is_answered(asked, monkeypatch):
    monkeypatch.setenv(allocator.VARIABLE, "tcmalloc")
    with pytest.raises(ParameterError, match=r"MODKIT_ALLOCATOR: got 'tcmalloc', expected 'keep'"):
        allocator.keep_pages()
    assert asked == []
