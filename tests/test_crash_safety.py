"""Writers that are killed, run out of room, or meet others: files are whole, or as they were."""

import contextlib
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit import artefacts
from modkit.checkpoint import load_checkpoint, save_checkpoint
from modkit.errors import FileAccessError, FileFormatError, MissingFileError, MXNetError
from modkit.files import atomic_write, parse_file
from modkit.ndarray.files import open_params
from tests.crash_writer import SHAPE, checkpoint, record, updater

ROOT = Path(__file__).resolve().parent.parent
MANY = int(os.environ.get("MODKIT_TEST_KILLS", "25"))  # tools/attack_kills.py sets it
KILLS = [pytest.param(5), pytest.param(MANY, marks=pytest.mark.slow, id="many")]


# ── Killed ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def kill():
    """Starts and kills a writer: ``kill(what, folder, seconds)``."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.crash_writer"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:

        def start_and_kill(what, folder, seconds):
            process.stdin.write(f"{what} {folder}\n")
            process.stdin.flush()
            writer = int(process.stdout.readline())
            time.sleep(seconds)
            os.kill(writer, signal.SIGKILL)
            assert process.stdout.readline() == "gone\n"

        yield start_and_kill
        process.stdin.close()


def the_number(arrays):
    """The number that all elements of all arrays are."""
    (number,) = {float(n) for array in arrays for n in np.unique(array.asnumpy())}
    return int(number)


def check_checkpoint(folder):
    """All files of the checkpoint are whole, each with one number in it."""
    symbol, args, aux = load_checkpoint(str(folder / "net"), 2)
    assert set(args) == {"a", "b"}
    assert args["a"].shape == SHAPE
    the_number([*args.values(), *aux.values()])
    number = symbol.attr_dict()["data"]["__number__"]
    assert symbol.list_outputs() == [f"fc{number}_output"]
    loaded = mx.optimizer.get_updater(mx.optimizer.create("test"))
    parse_file(folder / "net.states", loaded.set_states)
    the_number(loaded.states.values())
    assert type(loaded.optimizer) is mx.optimizer.SGD


@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_writer_leaves_checkpoints_that_load(tmp_path, kill, kills):
    first = str(tmp_path / "net")
    save_checkpoint(first, 1, None, {"a": mx.nd.full(SHAPE, -1)}, {})
    before = (tmp_path / "net-0001.params").read_bytes()
    chance = random.Random(kills)
    for _ in range(kills):
        kill("checkpoints", tmp_path, chance.uniform(0, 0.05))
        check_checkpoint(tmp_path)
        assert (tmp_path / "net-0001.params").read_bytes() == before
        for draft in tmp_path.glob(".*"):
            assert draft.suffix == ".tmp"
    save_checkpoint(first, 1, None, {"a": mx.nd.full(SHAPE, -1)}, {})
    checkpoint(tmp_path, 0)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_writer_leaves_records_that_were_written(tmp_path, kill, kills):
    chance = random.Random(kills)
    for _ in range(kills):
        kill("records", tmp_path, chance.uniform(0, 0.05))
        check_records(tmp_path)


def check_records(folder):
    """Records are whole up to where the writer was, and the index names no others."""
    if not (folder / "x.idx").exists():
        return
    read = []
    with mx.recordio.MXRecordIO(folder / "x.rec", "r") as file, contextlib.suppress(MXNetError):
        read.extend(iter(file.read, None))
    turn = read[0][0] if read else 0
    with mx.recordio.MXIndexedRecordIO(folder / "x.idx", folder / "x.rec", "r") as file:
        assert file.keys == list(range(len(file.keys)))
        assert len(file.keys) <= len(read)
        for number in file.keys:
            assert file.read_idx(number) == read[number]
    for number, content in enumerate(read):
        assert set(content) == {(turn + number) % 251}
        assert len(content) in {len(record(i)) for i in range(7)}


# ── No room, no rights ──────────────────────────────────────────────────────────────────────


def write_records(path):
    with mx.recordio.MXRecordIO(path, "w") as file:
        for number in range(10):
            file.write(record(number))


def write_states(path):
    states = updater(1).get_states()
    with atomic_write(path) as file:
        file.write(states)


ARRAYS = {"a": mx.nd.ones(SHAPE)}
NUMBERS = {"a": np.ones(SHAPE, np.float32)}
LONG = mx.sym.Variable("x" * 200_000)
WRITES = {
    "params": lambda path: mx.nd.save(path, ARRAYS),
    "symbol": LONG.save,
    "states": write_states,
    "npz": lambda path: artefacts.write_arrays(f"{path}.npz", NUMBERS),
    "safetensors": lambda path: artefacts.write_arrays(f"{path}.safetensors", NUMBERS),
}


@contextlib.contextmanager
def no_file_larger_than(size_bytes):
    """The system refuses to make larger files, as it does when a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("what", WRITES)
def test_a_full_disk_leaves_the_old_file(tmp_path, what):
    path = tmp_path / "x"
    WRITES[what](path)
    (written,) = tmp_path.iterdir()
    before = written.read_bytes()
    with (
        no_file_larger_than(65536),
        pytest.raises(FileAccessError, match=rf"{written.name}: cannot be written: File too large"),
    ):
        WRITES[what](path)
    assert written.read_bytes() == before
    assert list(tmp_path.iterdir()) == [written]


@pytest.mark.filterwarnings("ignore:init_optimizer. kvstore=None")
@pytest.mark.parametrize("kvstore", [None, "local"])
def test_states_of_a_module(tmp_path, kvstore):
    path = tmp_path / "x.states"
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=50, name="fc")
    module = mx.mod.Module(
        mx.sym.SoftmaxOutput(net, name="softmax"), context=[mx.cpu(0), mx.cpu(1)]
    )
    module.bind([("data", (4, 500))], [("softmax_label", (4,))])
    module.init_params()
    module.init_optimizer(kvstore, "sgd", {"momentum": 0.9})
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 500))], [mx.nd.zeros((4,))]))
    module.update()
    module.save_optimizer_states(str(path))
    before = path.read_bytes()
    with no_file_larger_than(65536), pytest.raises(FileAccessError, match=r"x\.states: cannot be"):
        module.save_optimizer_states(str(path))
    assert path.read_bytes() == before
    module.load_optimizer_states(str(path))
    path.write_bytes(before[:-50])
    with pytest.raises(FileFormatError, match=r"x\.states: optimizer states: at byte \d+"):
        module.load_optimizer_states(str(path))


def test_a_full_disk_in_the_middle_of_records(tmp_path):
    path = tmp_path / "x.rec"
    with (
        no_file_larger_than(120_000),
        pytest.raises(FileAccessError, match=r"x\.rec: cannot be written: File too large"),
    ):
        write_records(path)
    with mx.recordio.MXRecordIO(path, "r") as file:
        assert [file.read(), file.read()] == [record(0), record(1)]
        with pytest.raises(FileFormatError, match="at byte 100020"):
            file.read()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("what", ["params", "symbol", "states", "records"])
def test_a_full_device(what):
    write = {**WRITES, "records": write_records}[what]
    with pytest.raises(FileAccessError, match=r"/dev/full: cannot be written: No space left"):
        write("/dev/full")


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize(
    ("place", "kind", "says"),
    [
        ("gone/x", MissingFileError, "there is no such folder"),
        ("file/x", FileAccessError, "cannot be written: Not a directory"),
    ],
)
def test_a_folder_that_is_none(tmp_path, what, place, kind, says):
    (tmp_path / "file").touch()
    with pytest.raises(kind, match=rf"x.*: {says}"):
        WRITES[what](tmp_path / place)
    with pytest.raises(MXNetError):
        write_records(tmp_path / place)


def test_a_folder_in_the_place_of_the_file(tmp_path):
    with pytest.raises(FileAccessError, match="cannot be written: Is a directory"):
        mx.nd.save(tmp_path, ARRAYS)
    with pytest.raises(FileAccessError, match="cannot be read: Is a directory"):
        mx.nd.load(tmp_path)


_IN_A_FOLDER_WITHOUT_RIGHTS = """
import os, sys, modkit as mx
mx.nd.ones(3), mx.sym.Variable("x")  # imports, while everything can be read
if os.geteuid() == 0:  # whom no missing right stops
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for write in (lambda p: mx.nd.save(p, [mx.nd.ones(3)]), mx.sym.Variable("x").save):
    for name in ("new", "old"):
        try:
            write(os.path.join(sys.argv[1], name))
        except mx.MXNetError as error:
            assert isinstance(error, OSError)
            print(error)
        else:
            print("written")
"""


def test_a_folder_that_cannot_be_written_to():
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "old").write_bytes(b"old")
        folder.chmod(0o555)
        command = [sys.executable, "-c", _IN_A_FOLDER_WITHOUT_RIGHTS, place]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        folder.chmod(0o755)
        expected = [f"{place}/{n}: cannot be written: Permission denied" for n in ("new", "old")]
        assert done.stdout.splitlines() == expected * 2, done.stderr
        assert (folder / "old").read_bytes() == b"old"


def test_permissions_stay(tmp_path):
    path = tmp_path / "x"
    mx.nd.save(path, ARRAYS)
    path.chmod(0o440)
    mx.nd.save(path, [mx.nd.zeros(2)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o440
    assert mx.nd.load(path)[0].shape == (2,)


# ── Several at once ─────────────────────────────────────────────────────────────────────────


def test_several_writers_and_a_reader(tmp_path):
    path, over = tmp_path / "x.params", threading.Event()
    mx.nd.save(path, {"a": mx.nd.full(SHAPE, 0), "b": mx.nd.full(SHAPE, 0)})

    def write(number):
        arrays = {name: mx.nd.full(SHAPE, number) for name in ("a", "b")}
        while not over.is_set():
            mx.nd.save(path, arrays)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    try:
        seen = {the_number(mx.nd.load(path).values()) for _ in range(40)}
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert seen <= set(range(5))
    assert [p.name for p in tmp_path.iterdir()] == ["x.params"]


def test_an_open_file_stays_the_one_that_was_opened(tmp_path):
    path = tmp_path / "x.params"
    mx.nd.save(path, {"a": mx.nd.full(SHAPE, 1)})
    with open_params(path) as params:
        mx.nd.save(path, {"a": mx.nd.full(SHAPE, 2)})
        assert the_number([params["a"]]) == 1
    assert the_number(mx.nd.load(path).values()) == 2


def test_a_file_that_others_cut_while_it_is_read(tmp_path):
    path = tmp_path / "x.params"
    mx.nd.save(path, {"a": mx.nd.full(SHAPE, 1)})
    with open_params(path) as params:
        os.truncate(path, 1000)
        with pytest.raises(FileFormatError, match="at byte 1000: the file ends here, but had"):
            params["a"].wait_to_read()
    write_records(tmp_path / "x.rec")
    with mx.recordio.MXRecordIO(tmp_path / "x.rec", "r") as file:
        os.truncate(tmp_path / "x.rec", 30_000)
        with pytest.raises(FileFormatError, match="at byte 30000: a record has 50000 bytes"):
            file.read()
