"""What XLA is told about one program, where its own choice is known to be slow."""

from __future__ import annotations

import importlib.metadata
import re
from typing import Any, NamedTuple

import jax

_LIBRARY = "xla_cpu_experimental_ynn_fusion_type"
"""Which parts of a program XLA hands to its new library for CPUs; by default all that it takes."""

_REDUCTIONS = {_LIBRARY: "LIBRARY_FUSION_TYPE_REDUCE"}
_PRODUCTS = {_LIBRARY: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}


class Choice(NamedTuple):
    """Options for programs with convolutions of several samples, and for those with a softmax."""

    convolutions: dict[str, str]
    softmax: dict[str, str]


_ON_CPUS = {"0.10.2": Choice(_REDUCTIONS, _PRODUCTS), "0.12.0": Choice({}, _PRODUCTS)}
"""By version of jaxlib. Measured on two cores, ms a step as it is and so told.

Convolutions keep one core waiting in 0.10.2: LeNet, batch 64, 21.7 and 15.2. Those of a single
sample do not (prediction 0.40 and 0.49), and 0.10.0, 0.10.1 and 0.12 gain nothing. A product that
is fused with the softmax after it is computed more than once: an LSTM over 10,000 words 201 and
151 in 0.10.2, 172 and 144 in 0.12; 0.10.0 does not do that.
"""

_CONVOLUTION = "stablehlo.convolution"
_CONVOLUTION_OF_SEVERAL = re.compile(r"stablehlo\.convolution\(.*-> tensor<(?!1x)")
_EXPONENTIAL = "stablehlo.exponential "


def options_for(text: str, platform: str) -> dict[str, str]:
    """Options for a program that JAX has lowered to ``text``, for devices of ``platform``."""
    version = ".".join(importlib.metadata.version("jaxlib").split(".")[:3])
    choice = _ON_CPUS.get(version)
    if choice is None or platform != "cpu":
        return {}
    if _CONVOLUTION_OF_SEVERAL.search(text):
        return choice.convolutions
    return choice.softmax if _EXPONENTIAL in text and _CONVOLUTION not in text else {}


def compile_program(lowered: Any, options: dict[str, str]) -> Any:
    """The compiled program, with options where this XLA knows them."""
    try:
        return lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        if not any(name in str(error) for name in options):
            raise
        return lowered.compile()
