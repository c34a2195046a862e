"""XLA options of the tests: cheap to compile with, or XLA's defaults with MODKIT_TESTS_XLA=default.

Compiling is most of what the tests do. Most programs are small and run once or a few times.
"""

import importlib.metadata
import os

OPTIONS = {
    "xla_backend_optimization_level": (0, 3),
    "xla_llvm_disable_expensive_passes": (True, False),
    "xla_cpu_use_fusion_emitters": (False, True),
}
"""Cheap value and XLA's default, by option of jaxlib 0.10."""


def cheap_flags() -> list[str]:
    """Arguments for ``XLA_FLAGS``; none with another jaxlib: XLA exits where it knows no flag."""
    known = importlib.metadata.version("jaxlib").startswith("0.10.")
    if not known or os.environ.get("MODKIT_TESTS_XLA") == "default":
        return []
    return [f"--{name}={str(cheap).lower()}" for name, (cheap, _) in OPTIONS.items()]


def default_options() -> dict[str, int | bool]:
    """Options for one program that take back what `cheap_flags` sets."""
    return {name: default for name, (_, default) in OPTIONS.items()} if cheap_flags() else {}
