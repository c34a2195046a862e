"""The folder of compiled programs: whole entries or none, nobody else's, and not too many."""

import os
import stat
from pathlib import Path

import pytest

from modkit.compile import disk_cache as stores
from modkit.compile.disk_cache import DiskCache
from modkit.errors import FileAccessError

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners here")
CONTENT = bytes(range(256)) * 40


@pytest.fixture
def store(tmp_path):
    return DiskCache(tmp_path / "programs")


def entry(store):
    (path,) = store.folder.iterdir()
    return path


def test_what_was_written_is_read(store):
    assert store.read("a") is None
    store.write("a", CONTENT)
    assert store.read("a") == CONTENT
    assert store.read("b") is None
    store.write("a", b"")
    assert store.read("a") == b""
    store.forget("a")
    assert store.read("a") is None


@posix
def test_nobody_else_may_look_or_write(store):
    store.write("a", CONTENT)
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry(store).stat().st_mode) == 0o600


def damages(data):
    yield "empty", b""
    yield "garbage", os.urandom(len(data))
    yield "another version", data.replace(b"program 1", b"program 0")
    yield "longer", data + b"x"
    for length in (1, len(data) // 2, len(data) - 1):
        yield f"cut at {length}", data[:length]
    for at in (0, 20, 60, len(data) - 1):
        yield f"bit at {at}", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_a_damaged_entry_is_as_none_and_goes(store):
    store.write("a", CONTENT)
    whole = entry(store).read_bytes()
    names = []
    for name, damaged in damages(whole):
        path = store.folder / "a.program"
        path.write_bytes(damaged)
        path.chmod(0o600)
        assert store.read("a") is None, name
        assert not path.exists(), name
        names.append(name)
    assert len(names) > 10
    path.write_bytes(whole)
    assert store.read("a") == CONTENT


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(store, caplog, mode):
    store.write("a", CONTENT)
    store.folder.chmod(mode)
    again = DiskCache(store.folder)
    assert not again.usable and again.read("a") is None
    again.write("b", CONTENT)
    assert not (store.folder / "b.program").exists()
    assert "others may write there" in caplog.text and str(store.folder) in caplog.text


@posix
def test_a_folder_that_others_may_replace_is_not_used(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert not DiskCache(tmp_path / "open" / "programs").usable
    (tmp_path / "open").chmod(0o1777)  # as /tmp is
    assert DiskCache(tmp_path / "open" / "programs").usable


@posix
def test_what_belongs_to_somebody_else_is_not_read(store, monkeypatch):
    store.write("a", CONTENT)
    somebody_else = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody_else)
    assert not DiskCache(store.folder).usable
    assert store.usable and store.read("a") is None  # the folder was seen before


@posix
def test_an_entry_that_others_may_write_to_is_not_read(store):
    store.write("a", CONTENT)
    entry(store).chmod(0o666)
    assert store.read("a") is None


@posix
def test_links_and_folders_are_no_entries(store, tmp_path):
    store.write("a", CONTENT)
    target = tmp_path / "elsewhere"
    entry(store).rename(target)
    (store.folder / "a.program").symlink_to(target)
    (store.folder / "b.program").mkdir()
    assert store.read("a") is None and store.read("b") is None
    assert target.exists()


def test_the_ones_that_were_not_used_for_longest_go_first(tmp_path):
    content = os.urandom(1000)  # does not pack
    store = DiskCache(tmp_path / "programs", limit_bytes=3500)
    for age, key in enumerate("cba"):
        store.write(key, content)
        os.utime(store.folder / f"{key}.program", (1000 + age, 1000 + age))
    assert store.read("c") == content  # now the last that was used
    store.write("d", content)
    assert sorted(p.stem for p in store.folder.iterdir()) == ["a", "c", "d"]
    assert sum(p.stat().st_size for p in store.folder.iterdir()) <= 3500


def test_drafts_of_killed_processes_go_too(tmp_path):
    store = DiskCache(tmp_path / "programs", limit_bytes=3000)
    store.write("a", os.urandom(1000))
    draft = store.folder / ".b.program.123.tmp"
    draft.write_bytes(bytes(2500))
    os.utime(draft, (1000, 1000))
    store.write("c", os.urandom(1000))
    assert sorted(p.name for p in store.folder.iterdir()) == ["a.program", "c.program"]


def test_no_room_and_no_rights_are_one_warning(store, monkeypatch, tmp_path, caplog):
    def full(path):
        raise FileAccessError(f"{path}: no room")

    monkeypatch.setattr(stores, "atomic_write", full)
    for key in "ab":
        store.write(key, CONTENT)
        assert store.read(key) is None
    (tmp_path / "file").write_text("x")
    assert not DiskCache(tmp_path / "file").usable
    faults = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert [text.partition(": ")[2] for text in faults] == [
        f"compiled programs are not kept, so that every run compiles anew: {fault}; name another "
        "folder in MODKIT_CACHE, or switch the cache off: MODKIT_CACHE=off"
        for fault in (
            f"{store.folder / 'a.program'}: no room",
            f"[Errno 17] File exists: '{tmp_path / 'file'}'",
        )
    ]


@pytest.fixture
def environment(monkeypatch):
    for name in ("MODKIT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    return monkeypatch


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "/home/me/.cache/modkit/programs"),
        ({"XDG_CACHE_HOME": "/caches"}, "/caches/modkit/programs"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/modkit/programs"),
        ({"MODKIT_CACHE": "/here"}, "/here"),
        ({"MODKIT_CACHE": "~/here", "XDG_CACHE_HOME": "/caches"}, "/home/me/here"),
        ({"MODKIT_CACHE": "here"}, Path.cwd() / "here"),
        ({"MODKIT_CACHE": "~no-such-user/here"}, None),
        ({"MODKIT_CACHE": "off"}, None),
        ({"MODKIT_CACHE": "OFF"}, None),
    ],
)
def test_where_it_is(environment, variables, folder):
    for name, value in variables.items():
        environment.setenv(name, value)
    made = stores.default_cache.__wrapped__()
    assert (made and made.folder) == (folder and Path(folder))


def test_a_folder_that_cannot_be_found_is_a_warning(environment, caplog):
    def gone():
        raise FileNotFoundError("no working directory")

    environment.setattr(os, "getcwd", gone)
    for named, fault in (("here", "no working directory"), ("~no-such-user", "home")):
        environment.setenv("MODKIT_CACHE", named)
        assert stores.default_cache.__wrapped__() is None
        assert f"MODKIT_CACHE={named}: compiled programs are not kept" in caplog.messages[-1]
        assert fault in caplog.messages[-1]
    assert len(caplog.messages) == 2


def test_small_writes_do_not_weigh_all_entries_each_time(tmp_path, monkeypatch):
    store, seen = DiskCache(tmp_path / "programs", limit_bytes=64_000), []
    weighed = Path.lstat
    monkeypatch.setattr(Path, "lstat", lambda path: (seen.append(path), weighed(path))[1])
    for number in range(30):
        store.write(str(number), os.urandom(100))
    assert 1 < len(seen) < 1 + 10 + 20 + 30, "at the first, and after each 1,000 bytes"
    for number in range(100):
        store.write(f"large {number}", os.urandom(900))
    assert sum(p.stat().st_size for p in store.folder.iterdir()) <= 66_000
