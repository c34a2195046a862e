"""What XLA is told about one program, where its own choice is known to be slow."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import jax

_REDUCTIONS_ONLY = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"}
"""Reductions, but not convolutions and products, go to XLA's new library for CPUs."""

_WITH_CONVOLUTIONS = {"0.10.2": _REDUCTIONS_ONLY}
"""By version of jaxlib: options for programs with convolutions on CPUs.

That of 0.10.2 computes convolutions in one thread: a step of LeNet, batch 64, takes 21.7 ms, and
15.2 ms so told, on two cores; 0.10.0, 0.10.1 and 0.12 take 15 to 16 ms as they are, and no less
so told.
"""


def options_for(text: str, platform: str) -> dict[str, str]:
    """Options for a program that JAX has lowered to ``text``, for devices of ``platform``."""
    if platform != "cpu" or "stablehlo.convolution" not in text:
        return {}
    return _WITH_CONVOLUTIONS.get(importlib.metadata.version("jaxlib"), {})


def compile_program(lowered: Any, options: dict[str, str]) -> Any:
    """The compiled program, with options where this XLA knows them."""
    try:
        return lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        if not any(name in str(error) for name in options):
            raise
        return lowered.compile()
