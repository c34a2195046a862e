"""What XLA is told about one program, where its own choice is known to be slow."""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

_LIBRARY = "xla_cpu_experimental_ynn_fusion_type"
"""Which parts of a program XLA hands to its new library for CPUs; by default all that it takes."""

_log = logging.getLogger(__name__)

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
# A weight's gradient, whose result has no samples, does not count: its dimensions are [f, 0, 1, b].
_CONVOLUTION_OF_SEVERAL = re.compile(r"stablehlo\.convolution\(.*->\[b,.*-> tensor<(?!1x)")
_SOFTMAX = ("stablehlo.dot_general", "stablehlo.maximum", "stablehlo.exponential")


@functools.cache
def _version() -> str:
    try:
        return importlib.metadata.version("jaxlib")
    except importlib.metadata.PackageNotFoundError:  # packed into one file, say
        return ""


def options_for(read: Callable[[], str], platform: str) -> dict[str, str]:
    """Options for a program for devices of ``platform``; ``read`` gives the text it is lowered to.

    None where the user has made a choice about that library in ``XLA_FLAGS``.
    """
    choice = _ON_CPUS.get(".".join(_version().split(".")[:3]))
    if choice is None or platform != "cpu" or _LIBRARY in os.environ.get("XLA_FLAGS", ""):
        return {}
    text = read()
    if _CONVOLUTION_OF_SEVERAL.search(text):
        return choice.convolutions
    if _CONVOLUTION in text or not all(operation in text for operation in _SOFTMAX):
        return {}
    return choice.softmax


def compile_program(lowered: Any, options: dict[str, str]) -> Any:
    """The compiled program, with options where this XLA knows them."""
    try:
        return lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        if not any(name in str(error) for name in options):
            raise
        _log.debug("XLA does not know an option: %s", error)
        return lowered.compile()
