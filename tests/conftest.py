"""What all tests share: four simulated CPU devices, no cache, seeds from the test's name."""

import os
import zlib

FLAG = "--xla_force_host_platform_device_count"
if FLAG not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}=4".strip()

os.environ["MODKIT_CACHE"] = "off"  # tests that want one name a folder

import jax  # noqa: E402 - the flag has to be set first
import numpy as np  # noqa: E402
import pytest  # noqa: E402

from modkit import random  # noqa: E402


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
    """The programs that XLA compiled, by name."""

    def __init__(self):
        self._names = []
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event, duration_s, fun_name="", **_):
        if event == "/jax/core/compile/backend_compile_duration":
            self._names.append(fun_name.removeprefix("jit(").removesuffix(")"))

    def during(self, work, primitives=False):
        """Their names while ``work()`` ran; ``primitives``: JAX's own one-primitive ones too."""
        before = len(self._names)
        work()
        return [n for n in self._names[before:] if primitives or n not in PRIMITIVES]


PRIMITIVES = {"broadcast_in_dim", "convert_element_type", "copy"}
_compilations = Compilations()


@pytest.fixture
def compilations():
    """Counts what XLA compiles."""
    return _compilations
