"""What is done to glibc's heap: holes are taken, and a large block keeps its place."""

import itertools

import pytest

import modkit.heap
from modkit import allocator
from tests.fresh import answer


def _has_mallinfo2():
    return allocator._is_glibc() and allocator._heap() is not None


pytestmark = pytest.mark.skipif(
    not _has_mallinfo2(), reason="memory does not come from glibc >= 2.33"
)

BEGIN = """
import ctypes, json, sys
from modkit import allocator
MiB = 1 << 20
assert allocator.keep_pages()
heap = allocator.one_heap()
libc = ctypes.PyDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.posix_memalign.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t]
def new(size):
    block = libc.malloc(ctypes.c_size_t(size))
    ctypes.memset(block, 1, size)
    return block
def memory(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))
def free():
    info = heap._info()
    return info.fordblks - info.keepcost
def keep_small(count):
    # A thread keeps up to 7 free blocks of each small size. One that an aligned block leaves of a
    # larger one, and that is kept so, stays in the way of the next large block.
    for size in range(24, 120, 16):
        taken = [libc.malloc(size) for _ in range(8 + count)]  # those that it has, and then some
        for small in taken[8:]:
            libc.free(small)
"""


def run(program, **variables):
    """What a program prints after `BEGIN`."""
    return answer(BEGIN + program, **{"MODKIT_ALLOCATOR": "large", **variables})


HOLES = """
blocks = [new(33_000 + 17 * n % 90_000) for n in range(2000)]
SIZE = 60 * MiB + 700_000
large, _ = new(SIZE), new(100_000)
for block in blocks[::2]:
    libc.free(block)
libc.free(large)
before = free(), memory("VmRSS"), heap._info().uordblks
heap.take_holes()
after = free(), memory("VmRSS"), heap._info().uordblks
print(json.dumps([before, after, heap.place(SIZE) == large]))
"""


def test_holes_are_taken_and_their_pages_given_back():
    before, after, large_stays = run(HOLES)
    large = 60 * 2**20 + 700_000
    taken = before[0] - after[0]
    assert before[0] - large > 50e6
    assert 0 <= after[0] - large < 15e6  # what is left of each is less than the least size
    assert before[1] - after[1] > taken / 2  # whole pages of what is 33 to 123 kB
    assert after[2] - before[2] == pytest.approx(before[0] - after[0], abs=1e6)  # no more taken
    assert large_stays


ROOM = """
SIZE = 300 * MiB
keep_small(3)  # so some moves, as after a compilation
block = ctypes.c_void_p()
room = heap.room(SIZE, 0)
other = []
begun = memory("VmRSS")
places = []
for step in range(24):
    if make:
        room.make()
    assert libc.posix_memalign(block, 64, SIZE) == 0
    places.append(block.value)
    ctypes.memset(block, step, SIZE)
    libc.free(block)
    if step in (0, 1):  # what lies in the hole from now on
        other += [new(300_000) for _ in range(400)]
kept = max(places[16:]) - min(places[16:]) < SIZE // 4
print(json.dumps([memory("VmHWM") - begun, kept, room._moves]))
"""


def test_a_block_that_has_to_move_gives_its_pages_back_first():
    grown, kept, moves = run("make = True\n" + ROOM)
    assert grown < 600e6  # 315 MB, and 240 MB of the others; else 1.2 GB or more
    assert kept
    assert 1 < moves < 10
    plain, _, _ = run("make = False\n" + ROOM)
    assert plain > grown + 280e6


class Places:
    """A heap whose block lies at the next of these places, whenever it is looked for."""

    def __init__(self, places):
        self._places, self.given_back = iter(places), 0

    def place(self, size):
        del size
        return next(self._places)

    def give_back(self):
        self.given_back += 1

    def make_huge(self, size):
        del size


def moves(monkeypatch, looks, places, runs):
    """How often a room of 1000 bytes moves in so many runs, with so many looks at each."""
    monkeypatch.setattr(modkit.heap, "_PAUSES_S", (0,) * looks)
    heap = Places(places)
    room = modkit.heap.Room(heap, 1000, 0)
    for _ in range(runs):
        room.make()
    return heap.given_back


def test_a_block_that_comes_back_a_little_late_is_waited_for(monkeypatch):
    here, there = 4096, 9000
    assert moves(monkeypatch, 4, [here, there, there, here + 250], runs=2) == 1
    assert moves(monkeypatch, 2, [here, there, there, there], runs=2) == 2


def test_a_block_that_never_comes_back_moves_no_more_after_a_while(monkeypatch):
    """Each time takes pages from others."""
    assert moves(monkeypatch, 1, itertools.count(4096, 4096), runs=40) == 12


PAGES = """
seen = []
heap._madvise = lambda *arguments: seen.append(arguments)
heap._advise(0x30001, 0x30000, 0x10000, 4)
heap._advise(0x30001, 0x1ffff, 0x10000, 4)
heap._advise(0x30001, 0x10000, 0x10000, 4)
print(json.dumps(seen))
"""


def test_only_whole_pages_of_a_block_are_given_back():
    assert run(PAGES) == [[0x40000, 0x20000, 4], [0x40000, 0x10000, 4]]


TRAIN = """
import numpy as np
import modkit as mx
from modkit.executor import in_turn
made = []
init = in_turn.InTurn.__init__
in_turn.InTurn.__init__ = lambda self, *args: (made.append(args), init(self, *args))[1]
if AS_IT_IS:
    in_turn.LARGE = 1 << 60
data = mx.sym.Variable("data")
hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=4096), act_type="relu")
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=3), name="softmax")
rng = np.random.default_rng(0)
x, y = rng.standard_normal((9000, 8), np.float32), rng.integers(0, 3, 9000)
mx.random.seed(1)
module = mx.mod.Module(net)
batches = mx.io.NDArrayIter(x, y, batch_size=3000)
module.fit(batches, num_epoch=3, initializer=mx.init.Uniform(0.1))
params, _ = module.get_params()
print(json.dumps([len(made), {n: float(v.norm().asscalar()) for n, v in params.items()}]))
"""


def test_training_in_turn_gives_the_same():
    in_turn, params = run("AS_IT_IS = False\n" + TRAIN, MODKIT_CACHE="off")
    as_it_is, same = run("AS_IT_IS = True\n" + TRAIN, MODKIT_CACHE="off")
    assert (in_turn, as_it_is) == (1, 0)
    assert params == pytest.approx(same, rel=1e-6)
