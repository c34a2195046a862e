"""``.params`` files against those that MXNet wrote, of every age, and against damage."""

import contextlib
import os
import struct
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import modkit as mx
from modkit.errors import FileFormatError, NotReadyError, NotSupportedError, ParameterError
from modkit.files import FileWindow
from modkit.ndarray.files import open_params
from modkit.ops.dtypes import DTYPE_CODES
from tests.io.records import ARRAYS

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "reference" / "files"
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
VALUE = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("name", ["named", "list", "one", "none", "empty"])
def test_written_as_mxnet_writes(name, tmp_path):
    again = tmp_path / "again.params"
    mx.nd.save(str(again), mx.nd.load(str(FILES / f"{name}.params")))
    assert again.read_bytes() == (FILES / f"{name}.params").read_bytes()


def test_read_what_mxnet_wrote():
    named = mx.nd.load(str(FILES / "named.params"))
    assert list(named) == [f"arg:{name}" for name in ARRAYS]
    for array, value in zip(named.values(), ARRAYS.values(), strict=True):
        assert array.dtype == value.dtype
        np.testing.assert_array_equal(array.asnumpy(), value)
    assert [a.shape for a in mx.nd.load(str(FILES / "empty.params"))] == [(0, 3), (2,)]
    assert mx.nd.load(str(FILES / "none.params")) == []
    assert len(mx.nd.load_frombuffer((FILES / "list.params").read_bytes())) == len(ARRAYS)


shapes = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(shapes, st.sampled_from(sorted(DTYPE_CODES.values()))), max_size=4),
    st.booleans(),
)
def test_any_arrays_come_back(tmp_path, arrays, named):
    made = [mx.nd.full(shape, 2, dtype=dtype) for shape, dtype in arrays]
    data = {f"name {i}": a for i, a in enumerate(made)} if named else made
    mx.nd.save(tmp_path / "x", data)
    again = mx.nd.load(tmp_path / "x")
    if named and made:
        assert list(again) == list(data)
        again = list(again.values())
    assert [(a.shape, a.dtype) for a in again] == [(a.shape, a.dtype) for a in made]
    for one, other in zip(again, made, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def record(kind, value=VALUE, code=0, device=(1, 0)):
    """An array record of any age."""
    shape = value.shape
    if kind == "legacy":
        head = struct.pack(f"<I{len(shape)}I", len(shape), *shape)
    else:
        stype = b"" if kind == V1 else struct.pack("<i", 0)
        head = struct.pack("<I", kind) + stype
        head += struct.pack(f"<I{len(shape)}q", len(shape), *shape)
    return head + struct.pack("<iii", *device, code) + value.tobytes()


def listed(*records, names=()):
    """A file of these records."""
    texts = [struct.pack("<Q", len(n)) + n for n in names]
    return (
        struct.pack("<QQQ", 0x112, 0, len(records)) + b"".join(records)
        + struct.pack("<Q", len(names)) + b"".join(texts)
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["legacy", V1, V2, V3])
@pytest.mark.parametrize("device", [(1, 0), (1, 3), (2, 0), (3, 0)])
def test_every_kind_of_record_from_every_device(kind, device):
    (array,) = mx.nd.load_frombuffer(listed(record(kind, device=device)))
    np.testing.assert_array_equal(array.asnumpy(), VALUE)
    assert array.context.jax_device is not None


def test_kinds_may_be_mixed_and_what_follows_is_not_read():
    buffer = listed(record("legacy"), record(V1), record(V2), names=(b"a", b"b", b"c"))
    assert list(mx.nd.load_frombuffer(buffer + b"more")) == ["a", "b", "c"]


_V2_HEAD = struct.pack("<IiI", V2, 0, 2)


@pytest.mark.parametrize(
    ("buffer", "says"),
    [
        (b"", "at byte 0: the file is empty"),
        (b"junk" * 8, "at byte 0: not a file of arrays"),
        (struct.pack("<QQQ", 0x112, 0, 2**60), "at byte 24: the kind of array 0"),
        (listed(record(V2))[:-1], "at byte 88: the number of names"),
        (listed(record(V2))[:-10][:70], "array 0 of shape .2, 3. and type float32 takes 24"),
        (listed(record(V2, code=99)), "at byte 60: array 0 has the unknown element type 99"),
        (listed(record(V2), names=(b"a", b"b")), "at byte 88: 2 names for 1 arrays"),
        (listed(record(V2), names=(b"\xff",)), "name 0 is not UTF-8"),
        (listed(_V2_HEAD + struct.pack("<qq", 2**40, 2**40) + bytes(12)), "impossible shape"),
        (listed(_V2_HEAD + struct.pack("<qq", 0, 2**63 - 1) + bytes(12)), "impossible shape"),
        (listed(_V2_HEAD + struct.pack("<qq", -1, -1) + bytes(12)), "impossible shape"),
        (listed(_V2_HEAD + struct.pack("<qq", 2**20, 2**20) + bytes(12)), "takes 4398046511104"),
        (listed(struct.pack("<IiI", V2, 0, 2**31 - 1)), "2147483647 dimensions"),
        (listed(struct.pack("<IiI", V2, 0, 0)), "empty"),
        (listed(struct.pack("<Iii", V3, 0, -1)), "empty"),
        (listed(struct.pack("<Ii", V2, 7)), "at byte 28: array 0 has the unknown storage type 7"),
        (listed(struct.pack("<I", 0xF993FAC0)), "at byte 24: .*0xf993fac0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_files(tmp_path, buffer, says):
    path = tmp_path / "x.params"
    path.write_bytes(buffer)
    with pytest.raises(FileFormatError, match=rf"x\.params: .*{says}"):
        mx.nd.load(str(path))


@settings(deadline=None)
@given(st.data())
def test_no_damage_gives_another_error(data):
    whole = (FILES / "named.params").read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    with contextlib.suppress(FileFormatError, NotSupportedError):
        mx.nd.load_frombuffer((whole[:at] + bytes([byte]) + whole[at + 1 :])[:cut])


@pytest.mark.parametrize("bad", [1, "x", np.ones(2), (mx.nd.ones(2),), [np.ones(2)], {1: 2}])
def test_what_is_not_saved(tmp_path, bad):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(ParameterError, match="expected"):
        mx.nd.save(str(path), bad)
    assert path.read_bytes() == b"old"


def test_what_is_not_loaded(tmp_path):
    with pytest.raises(TypeError, match="expected a path"):
        mx.nd.load(3)
    with pytest.raises(TypeError, match="expected bytes"):
        mx.nd.load_frombuffer("x")
    with pytest.raises(mx.MXNetError, match="no such file"):
        mx.nd.load(str(tmp_path / "gone"))
    with pytest.raises(NotSupportedError, match="only local files"):
        mx.nd.load("s3://bucket/x.params")


def test_a_crash_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x"
    mx.nd.save(path, mx.nd.ones(3))
    before = path.read_bytes()

    def fail(_):
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        mx.nd.save(path, mx.nd.zeros(30))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_loading_takes_little_more_memory_than_the_arrays(tmp_path):
    path = tmp_path / "x"
    one = mx.nd.ones((1 << 20,))
    mx.nd.save(path, [one] * 4)
    tracemalloc.start()
    arrays = mx.nd.load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    total = sum(a.size * 4 for a in arrays)
    assert peak < 1.3 * total


# ── One array of many ───────────────────────────────────────────────────────────────────────


def test_arrays_of_an_open_file_are_those_that_load_gives(tmp_path):
    for name in ("named", "list", "one", "none", "empty"):
        path = FILES / f"{name}.params"
        whole = mx.nd.load(str(path))
        whole = whole if isinstance(whole, dict) else dict(enumerate(whole))
        with open_params(path) as params:
            assert list(params) == list(whole)
            assert len(params) == len(whole)
            for key, array in whole.items():
                assert (params[key].dtype, params[key].context) == (array.dtype, array.context)
                np.testing.assert_array_equal(params[key].asnumpy(), array.asnumpy())
                assert params.record(key).shape == array.shape
                assert params.record(key).dtype == array.dtype


def test_a_sparse_array_of_an_open_file():
    with open_params(FILES / "csr.params") as params:
        (array,) = params.values()
        assert array.stype == "csr"


def test_only_what_is_asked_for_is_read(tmp_path, monkeypatch):
    path = tmp_path / "x"
    mx.nd.save(path, {f"a{i}": mx.nd.full((1000, 1000), i) for i in range(8)})
    counted = []
    read = FileWindow.read_into

    def counting(window, begin, target):
        counted.append(len(target))
        read(window, begin, target)

    monkeypatch.setattr(FileWindow, "read_into", counting)
    tracemalloc.start()
    with open_params(path) as params:
        assert sum(counted) < 40_000
        array = params["a3"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert set(array.asnumpy().ravel()) == {3}
    assert sum(counted) < 4_040_000
    assert peak < 4_500_000


def test_mistakes_with_an_open_file(tmp_path):
    path = tmp_path / "x.params"
    mx.nd.save(path, {"weight": mx.nd.ones(2)})
    with open_params(path) as params:
        with pytest.raises(KeyError, match=r"x\.params: there is no array 'wieght'.*'weight'"):
            params["wieght"]
        kept = params["weight"]
    assert kept.asnumpy().tolist() == [1, 1]
    with pytest.raises(NotReadyError, match=r"x\.params: the file is closed"):
        params["weight"]
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FileFormatError, match=r"x\.params: at byte"):
        open_params(path)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        open_params(tmp_path / "gone")
    with pytest.raises(TypeError, match="open_params: got int for fname"):
        open_params(3)


def test_threads_share_an_open_file(tmp_path):
    path = tmp_path / "x"
    mx.nd.save(path, [mx.nd.full((100, 100), i) for i in range(20)])
    with open_params(path) as params, ThreadPoolExecutor(4) as pool:
        read = pool.map(lambda i: set(params[i % 20].asnumpy().ravel()), range(200))
        assert list(read) == [{i % 20} for i in range(200)]


def test_shapes_without_elements_that_are_too_large(tmp_path):
    for shape in ((0, 2**61), (2**62, 0), (0, 2**32, 2**31)):
        with pytest.raises(FileFormatError, match="impossible shape"):
            mx.nd.load_frombuffer(listed(_empty(shape)))


def _empty(shape):
    sizes = struct.pack(f"<I{len(shape)}q", len(shape), *shape)
    return struct.pack("<Ii", V2, 0) + sizes + struct.pack("<iii", 1, 0, 0)


# ── Large files ─────────────────────────────────────────────────────────────────────────────

BIG_SHAPE = (2**15 + 1, 2**16)  # more than 2 GiB
MARKS = {0: 1, 2**31 - 1: 2, 2**31: 3, 2**31 + 2**16 - 1: 4}


def _write_big(path):
    """Bytes, nearly all 0 and so not on the disk, and behind them a few numbers."""
    head = struct.pack("<QQQ", 0x112, 0, 2)
    head += struct.pack("<IiI2qiii", V2, 0, 2, *BIG_SHAPE, 1, 0, 3)
    with path.open("wb") as file:
        file.write(head)
        for place, value in MARKS.items():
            file.seek(len(head) + place)
            file.write(bytes([value]))
        file.seek(len(head) + BIG_SHAPE[0] * BIG_SHAPE[1])
        file.write(struct.pack("<IiIqiii3f", V2, 0, 1, 3, 1, 0, 0, 1, 2, 3))
        file.write(struct.pack("<QQ3sQ4s", 2, 3, b"big", 4, b"last"))


def test_one_array_behind_two_gigabytes(tmp_path):
    _write_big(tmp_path / "x")
    with open_params(tmp_path / "x") as params:
        assert params.record("big").shape == BIG_SHAPE
        assert params["last"].asnumpy().tolist() == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.skipif(
    "MODKIT_LARGE" not in os.environ, reason="needs 7 GiB of memory: set MODKIT_LARGE=1"
)
def test_more_than_two_gigabytes_are_loaded_and_saved(tmp_path):
    _write_big(tmp_path / "x")
    mx.nd.save(tmp_path / "y", mx.nd.load(tmp_path / "x"))
    assert (tmp_path / "y").stat().st_size == (tmp_path / "x").stat().st_size
    loaded = mx.nd.load(tmp_path / "y")
    assert list(loaded) == ["big", "last"]
    assert loaded["last"].asnumpy().tolist() == [1, 2, 3]
    (places,) = np.nonzero(loaded["big"].asnumpy().reshape(-1))
    assert places.tolist() == list(MARKS)
    assert loaded["big"].asnumpy().reshape(-1)[places].tolist() == list(MARKS.values())


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_memory_is_that_of_the_arrays(tmp_path):
    """In a process of its own, whose most memory the system knows."""
    made = [mx.nd.full((2**20,), i) for i in range(24)]
    made.append(mx.nd.ones((2**24,)))
    mx.nd.save(tmp_path / "x.params", {f"a{i}": each for i, each in enumerate(made)})
    command = [sys.executable, "benchmarks/files_work.py", "modkit", str(tmp_path), "memory"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    loaded, saved = map(float, done.stdout.split())
    assert 0.9 < loaded < 1.2 and 0.9 < saved < 1.2
