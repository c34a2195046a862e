"""Set-up of all tests: four simulated CPU devices, XLA options, cache, seeds from test names."""

import gc
import os
import signal
import zlib

from tests.xla_options import cheap_flags

given = os.environ.get("XLA_FLAGS", "").split()
names = {flag.partition("=")[0] for flag in given}
wanted = ["--xla_force_host_platform_device_count=4", *cheap_flags()]
os.environ["XLA_FLAGS"] = " ".join(
    [*given, *(flag for flag in wanted if flag.partition("=")[0] not in names)]
)

CACHED = os.environ.setdefault("MODKIT_CACHE", "off") != "off"

import hypothesis  # noqa: E402 - the flags have to be set first
import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

import modkit  # noqa: E402
from modkit import random  # noqa: E402
from modkit.compile import program  # noqa: E402
from modkit.name import NameManager  # noqa: E402
from tests import quick  # noqa: E402

if CACHED:  # `make cached`
    program.KEEP_FROM_S = 0.0  # programs of tests compile fast

KEPT = 600
"""Programs that JAX's caches keep from one file to the next."""

os.fsync = lambda descriptor: None
"""Files of tests need not outlive a loss of power. What a killed process has written stays."""

hypothesis.settings.register_profile("tests", deadline=None)  # machines are slow at times
hypothesis.settings.load_profile("tests")


@pytest.fixture(autouse=True)
def _seeded(request):
    """NumPy's and modkit's streams start from the test's name, and automatic names from 0.

    A name is part of a program's cache key and of a random operator's stream: neither depends on
    the tests before.
    """
    seed = zlib.crc32(request.node.nodeid.encode())
    np.random.seed(seed)  # noqa: NPY002 - what iterators shuffle with
    random.seed(seed)
    NameManager.current = NameManager()


@pytest.fixture(autouse=True, scope="module")
def _freed():
    """Frees modkit's programs behind each file, and JAX's when there are many.

    Those of JAX are freed for their memory. Files share some, like those of single primitives.
    """
    yield
    modkit.cache_clear()
    if _compilations.kept > KEPT:
        jax.clear_caches()
        _compilations.kept = 0


@pytest.fixture
def ctrl_c():
    """Python's own handler of SIGINT, which a process that runs in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config, items):
    """Marks what the quick part leaves out; skips what needs an accelerator that is not there."""
    config.stash[quick.EVERY_TEST] = list(items)
    quick.mark(items)
    if jax.default_backend() == "cpu":
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs an accelerator that JAX shows"))


def pytest_collection_finish():
    """Takes what collecting has made, half a million objects, out of each collection of garbage.

    Tracing allocates so much that CPython's threshold of 700 objects costs 5 % of all tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)


class Compilations:
    """The programs that XLA compiled, by name."""

    def __init__(self):
        self._names = []
        self.kept = 0  # since JAX's caches were cleared
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event, duration_s, fun_name="", **_):
        if event == "/jax/core/compile/backend_compile_duration":
            self.kept += 1
            self._names.append(fun_name.removeprefix("jit(").removesuffix(")"))

    def during(self, work, primitives=False):
        """Their names while ``work()`` ran; ``primitives``: JAX's own one-primitive ones too."""
        before = len(self._names)
        work()
        return [n for n in self._names[before:] if primitives or n not in PRIMITIVES]


PRIMITIVES = {"broadcast_in_dim", "convert_element_type", "copy"}
_compilations = Compilations()


@pytest.fixture
def compilations(monkeypatch):
    """Counts what XLA compiles, without programs from the disk or of other tests."""
    modkit.cache_clear()
    monkeypatch.setattr(program, "default_cache", lambda: None)
    program._compiled_here.clear()
    return _compilations
