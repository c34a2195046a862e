"""The allocator is told once, before the first device, and only where that is wanted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from modkit import allocator
from modkit.errors import ParameterError

ROOT = Path(__file__).resolve().parent.parent
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
import modkit as mx
from modkit import allocator
from modkit.io import recordio
mx.mod.Module
told = allocator.keep_pages.cache_info().misses
mx.nd.dot(mx.nd.ones((99, 99)), mx.nd.ones((99, 99))).asnumpy()
print(json.dumps([told, allocator.keep_pages(), heaps()]))
"""


def told(tmp_path, **variables):
    """Whether it was told at import, whether in the end, and how many arenas there are."""
    env = {n: v for n, v in os.environ.items() if n not in allocator._VARIABLES}
    env.pop("XLA_FLAGS", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path / "info.xml")],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**env, "JAX_PLATFORMS": "cpu", **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@glibc
def test_threads_that_compute_share_one_arena(tmp_path):
    assert told(tmp_path) == [0, True, 1]


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
    """`keep_pages` as it is before the first call, in surroundings where it works."""
    for name in (*allocator._VARIABLES, "GLIBC_TUNABLES", allocator.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(allocator, "_may_have_accelerator", lambda: False)
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


def test_three_values_are_set(asked):
    assert allocator.keep_pages.__wrapped__()
    assert asked == [(-8, 1), (-4, 0), (-1, -1)]


@pytest.mark.parametrize("reason", ["_is_set_up", "_may_have_accelerator"])
def test_reasons_to_leave_it_alone(asked, monkeypatch, reason):
    monkeypatch.setattr(allocator, reason, lambda: True)
    assert not allocator.keep_pages.__wrapped__()
    assert asked == []


def test_other_systems_and_libraries_are_left_alone(asked, monkeypatch):
    monkeypatch.setattr(allocator, "_is_glibc", lambda: False)
    assert not allocator.keep_pages.__wrapped__()
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
        allocator.keep_pages.__wrapped__()
    assert asked == []
