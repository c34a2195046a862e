"""Parts of the tests of kept barriers."""

from collections.abc import Mapping

import jax
import pytest


def need_kept_barriers(options: Mapping[str, str]) -> None:
    """Skip where a program with barriers is given ``options`` that let XLA for CPUs drop them."""
    if jax.default_backend() == "cpu" and "xla_disable_hlo_passes" not in options:
        pytest.skip("this version of jaxlib drops barriers")
