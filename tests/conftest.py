"""What all tests share: four simulated CPU devices, seeds from the test's name."""

import os
import zlib

FLAG = "--xla_force_host_platform_device_count"
if FLAG not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}=4".strip()

import jax
import numpy as np
import pytest

from modkit import random


@pytest.fixture(autouse=True)
def _seeded(request):
    """NumPy's and modkit's streams start from the test's name."""
    seed = zlib.crc32(request.node.nodeid.encode())
    np.random.seed(seed)  # noqa: NPY002 - what iterators shuffle with
    random.seed(seed)


def pytest_collection_modifyitems(items):
    """Tests that need an accelerator are skipped where there is none."""
    if jax.default_backend() == "cpu":
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="needs an accelerator that JAX shows"))


class Compilations:
    """How many programs XLA compiled since `since`."""

    def __init__(self):
        self.count = 0
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event, duration_s, **_):
        self.count += event == "/jax/core/compile/backend_compile_duration"

    def during(self, work):
        """How many while ``work()`` ran."""
        before = self.count
        work()
        return self.count - before


_compilations = Compilations()


@pytest.fixture
def compilations():
    """Counts what XLA compiles."""
    return _compilations
