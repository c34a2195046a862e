"""What XLA is told about one program, where its own choice is known to be slow."""

from __future__ import annotations

import importlib.metadata
import re
from typing import Any

import jax

_REDUCTIONS_ONLY = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"}
"""Reductions, but not convolutions and products, go to XLA's new library for CPUs."""

_WITH_CONVOLUTIONS = {"0.10.2": _REDUCTIONS_ONLY}
"""By version of jaxlib: options for programs with convolutions on CPUs.

That library's convolutions of several samples keep one core of two waiting in 0.10.2: a step of
LeNet, batch 64, takes 21.7 ms, and 15.2 ms so told. Those of a single sample are faster with it
(LeNet 0.40 against 0.49 ms, ResNet-50 81 against 88), and 0.10.0, 0.10.1 and 0.12 gain nothing.
"""

_CONVOLUTION_OF_SEVERAL = re.compile(r"stablehlo\.convolution\(.*-> tensor<(?!1x)")


def options_for(text: str, platform: str) -> dict[str, str]:
    """Options for a program that JAX has lowered to ``text``, for devices of ``platform``."""
    options = _WITH_CONVOLUTIONS.get(importlib.metadata.version("jaxlib"), {})
    return options if platform == "cpu" and _CONVOLUTION_OF_SEVERAL.search(text) else {}


def compile_program(lowered: Any, options: dict[str, str]) -> Any:
    """The compiled program, with options where this XLA knows them."""
    try:
        return lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        if not any(name in str(error) for name in options):
            raise
        return lowered.compile()
