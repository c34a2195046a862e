"""XLA options of the tests: cheap to compile with, or XLA's defaults with MODKIT_TESTS_XLA=default.

Compiling is most of what the tests do. Most programs are small and run once or a few times.
"""

import importlib.metadata
import os

OPTIONS = {
    "xla_backend_optimization_level": (0, 3),
    "xla_llvm_disable_expensive_passes": (True, False),
    "xla_cpu_parallel_codegen_split_count": (1, 32),
    "xla_cpu_use_fusion_emitters": (False, True),
}
"""Cheap value and XLA's default, by option."""

UNKNOWN = {"0.10": set(), "0.12": {"xla_cpu_use_fusion_emitters"}}
"""Options that XLA does not know, by versions of jaxlib that the others were tried with.

A small program compiles in 12 to 17 ms with 0.10, and in 20 to 30 with 0.12, whose fusion emitters
cannot be turned off.
"""


def _cheap() -> dict[str, tuple[int | bool, int | bool]]:
    """The options to set; none for an untried jaxlib: XLA exits where it does not know a flag."""
    version = ".".join(importlib.metadata.version("jaxlib").split(".")[:2])
    if version not in UNKNOWN or os.environ.get("MODKIT_TESTS_XLA") == "default":
        return {}
    return {name: values for name, values in OPTIONS.items() if name not in UNKNOWN[version]}


def cheap_flags() -> list[str]:
    """Arguments for ``XLA_FLAGS``."""
    return [f"--{name}={str(cheap).lower()}" for name, (cheap, _) in _cheap().items()]


def default_options() -> dict[str, int | bool]:
    """Options for one program that take back what `cheap_flags` sets."""
    return {name: default for name, (_, default) in _cheap().items()}
