"""The allocator is set up once, by a module or a large executor bound for training on a CPU."""

import pytest

import modkit as mx
from modkit.errors import ParameterError
from modkit.tuning import allocator
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
import logging
import numpy as np
import modkit as mx
from modkit.tuning import allocator
lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage())
logging.getLogger("modkit").addHandler(handler)
logging.getLogger("modkit").setLevel(logging.INFO)
how, rows = sys.argv[2], int(sys.argv[3])
net = mx.sym.Dropout(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=99, name="fc"))
shapes = {"data": (rows, 99), "fc_weight": (99, 99), "fc_bias": (99,)}
arrays = {n: mx.nd.zeros(s) for n, s in shapes.items()}
module = mx.mod.Module(net, label_names=None, context=mx.cpu())
data = mx.io.NDArrayIter(np.ones((rows, 99), np.float32), batch_size=rows)
if how == "training":
    for _ in range(2):
        module.bind(data.provide_data, force_rebind=True)
    module.init_params()
    module.forward(data.next())
    module.get_outputs()[0].asnumpy()
elif how == "an executor":
    net.simple_bind(mx.cpu(), **shapes).forward()[0].asnumpy()
else:
    prefetched = mx.io.PrefetchingIter(data)
    module.bind(prefetched.provide_data, for_training=False)
    module.init_params()
    module.predict(prefetched).asnumpy()
    net.simple_bind(mx.cpu(), **shapes).forward()[0].asnumpy()
    net.bind(mx.cpu(), arrays).forward()[0].asnumpy()
    mx.nd.dot(arrays["fc_weight"], arrays["fc_weight"]).asnumpy()
    del arrays["data"]
    mx.Predictor(net, arrays, {"data": (rows, 99)}).predict(np.zeros((rows, 99)))
    mx.nd.load(sys.argv[1] + ".params"), mx.cpu().jax_device, mx.num_gpus()
lines = [line for line in lines if "MODKIT_ALLOCATOR" in line]
print(json.dumps([allocator._kept, heaps(), lines]))
"""


def run(tmp_path, how="training", rows=8, **variables):
    """The results of `keep_pages`, the number of arenas, and the lines in the log.

    It trains a network for ``rows`` samples of 99 numbers, binds an executor, or uses all else.
    """
    mx.nd.save(str(tmp_path / "info.xml.params"), [mx.nd.ones(3)])
    return answer(PROGRAM, str(tmp_path / "info.xml"), how, str(rows), **variables)


@glibc
def test_nothing_but_training_sets_it_up(tmp_path):
    kept, arenas, lines = run(tmp_path, "everything else")
    assert (kept, lines) == ([], []) and arenas > 1


@glibc
@pytest.mark.parametrize(
    ("rows", "wanted", "one"), [(8, "keep", False), (30_000, "keep", True), (8, "large", True)]
)
def test_training_keeps_pages_and_says_so_once(tmp_path, rows, wanted, one):
    kept, arenas, lines = run(tmp_path, rows=rows, MODKIT_ALLOCATOR=wanted)
    assert kept == [True] and (arenas == 1) == one
    (line,) = lines
    assert ("one heap" in line) == one and "MODKIT_ALLOCATOR=system" in line


@glibc
def test_a_large_executor_with_gradients_keeps_pages(tmp_path):
    kept, _, lines = run(tmp_path, "an executor", rows=30_000)
    assert kept == [True] and len(lines) == 1


@glibc
@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [("MODKIT_ALLOCATOR", "system", [False]), ("MODKIT_TUNING", "off", []),
     ("MODKIT_TUNING", "xla,forms", []), ("MALLOC_ARENA_MAX", "2", [False]),
     ("MALLOC_TRIM_THRESHOLD_", "1000000", [False]),
     ("GLIBC_TUNABLES", "glibc.malloc.arena_max=2", [False])],
)  # fmt: skip
def test_it_can_be_left_alone(tmp_path, name, value, kept):
    assert run(tmp_path, **{name: value})[::2] == [kept, []]


@pytest.fixture
def asked(monkeypatch):
    """The calls of `mallopt`, before the first one, in surroundings where that works."""
    for name in (*allocator._VARIABLES, "GLIBC_TUNABLES", allocator.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(allocator, "_may_have_accelerator", lambda: False)
    monkeypatch.setattr(allocator, "_kept", [])
    called = []

    class Libc:
        def __init__(self, name):
            assert name is None

        def malloc_trim(self, pad):
            called.append(("trim", pad))

        def mallopt(self, *arguments):
            called.append(arguments)
            return 1

    monkeypatch.setattr(allocator.ctypes, "CDLL", Libc)
    monkeypatch.setattr(allocator, "_is_glibc", lambda: True)
    return called


@pytest.mark.parametrize(
    ("made", "wanted", "settings"),
    [(1 << 30, "keep", [(-8, 1), (-4, 0), (-1, -1)]),
     (1 << 20, "keep", [(-4, 0), (-1, -1)]), (1 << 20, "large", [(-8, 1), (-4, 0), (-1, -1)])],
)  # fmt: skip
def test_what_is_set_is_decided_once(asked, monkeypatch, made, wanted, settings):
    monkeypatch.setenv(allocator.VARIABLE, wanted)
    assert allocator.keep_pages(made)
    assert asked == settings
    assert allocator.keep_pages(1 << 40)
    assert asked == settings


@pytest.mark.parametrize("reason", ["_is_set_up", "_may_have_accelerator"])
def test_reasons_to_leave_it_alone(asked, monkeypatch, reason):
    monkeypatch.setattr(allocator, reason, lambda: True)
    assert not allocator.keep_pages(1)
    assert asked == []


def test_other_systems_and_libraries_are_left_alone(asked, monkeypatch):
    monkeypatch.setattr(allocator, "_is_glibc", lambda: False)
    assert not allocator.keep_pages(1)
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
        allocator.keep_pages(1)
    assert asked == []


def test_free_pages_go_back_only_where_they_are_kept(asked, monkeypatch):
    allocator.give_back()
    assert asked == []
    allocator.keep_pages(1)
    allocator.give_back()
    assert asked[-1] == ("trim", 0)


HOLES = """
import ctypes, json
from modkit.tuning import allocator
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
usage = allocator._function(libc.mallinfo2, allocator._Usage)
allocator.keep_pages(1 << 30)
blocks = [libc.malloc(size) for size in [100_000] * 400 + [3 << 20] for _ in (0, 1)]
for block in blocks[::2]:
    libc.free(block)  # each between two blocks that stay
before = usage()
allocator.fill_holes()
after = usage()
large = libc.malloc(3 << 20)
print(json.dumps([before.fordblks - before.keepcost, after.fordblks - after.keepcost,
                  large < blocks[-1]]))
"""


@glibc
def test_free_blocks_of_a_compilation_are_filled_and_large_ones_stay():
    before, after, large_is_reused = answer(HOLES, JAX_PLATFORMS="cpu")
    assert before > 400 * 100_000
    assert after < before - 390 * 100_000
    assert large_is_reused
