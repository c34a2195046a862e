"""What XLA is told about one program, where its own choice is known to be slow."""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import math
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax

_LIBRARY = "xla_cpu_experimental_ynn_fusion_type"
"""Which parts of a program XLA hands to its new library for CPUs; by default all that it takes."""

_LEFT_OUT, _ONLY = "xla_disable_hlo_passes", "xla_enable_hlo_passes_only"
"""Passes that XLA leaves out, or the only ones that it runs; given both, it ends the process."""

_log = logging.getLogger(__name__)

_KEPT = {_LEFT_OUT: "cse_barrier_expander"}
"""XLA for CPUs drops barriers before it fuses. Without that pass it fuses nothing over them."""

_NOTHING = {_LIBRARY: ""}
_REDUCTIONS = {_LIBRARY: "LIBRARY_FUSION_TYPE_REDUCE"}
_PRODUCTS = {_LIBRARY: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}


class Choice(NamedTuple):
    """Options for programs with convolutions of several samples, and for those with a softmax.

    Of the latter, ``small`` is for those whose products have fewer than `_LARGE` numbers. Any
    program may have barriers.
    """

    convolutions: dict[str, str]
    softmax: dict[str, str]
    small: dict[str, str]
    barriers: dict[str, str]


_LARGE = 1 << 18

_ON_CPUS = {
    "0.10.2": Choice(_REDUCTIONS, _PRODUCTS, _NOTHING, _KEPT),
    "0.12.0": Choice({}, _PRODUCTS, _NOTHING, _KEPT),
}
"""By version of jaxlib. Measured on two cores, ms a step as it is and so told.

Convolutions keep one core waiting in 0.10.2: LeNet, batch 64, 21.7 and 15.2. Those of a single
sample do not (prediction 0.40 and 0.49), and 0.10.0, 0.10.1 and 0.12 gain nothing. Barriers are
kept (``ops/conv_whole.py``): ResNet-20, batch 64, 212 and 192; with 0.12 202 and 184; predictions
of one sample, of ResNet-50 95 and 91, of LeNet the same. A product that is fused with the softmax
after it is computed more than once: an LSTM over 10,000 words 201 and 151 in 0.10.2, 172 and 144 in
0.12; 0.10.0 does not do that. Where the products are small, what the library does with them takes
longer than it saves: an MLP 784-128-64-10, batch 64, 0.64 with single products and 0.56 with
nothing, 100-50-2, batch 20, 0.29 and 0.26. Larger ones gain or make no difference: 784-512-512-10,
batch 128, 5.6 and 5.4; 784-1024-1024-1024-10, batch 256, 30.6 and 37.3.
"""

_BARRIER = "stablehlo.optimization_barrier"
_CONVOLUTION = "stablehlo.convolution"
# Samples are the first dimension of the first factor, also where it gives a weight's gradient.
_CONVOLUTION_OF_SEVERAL = re.compile(r"stablehlo\.convolution\(.*: \(tensor<(?!1x)")
_PRODUCT = re.compile(r"stablehlo\.dot_general.*")
_SIZES = re.compile(r"tensor<((?:\d+x)+)")
_SOFTMAX = ("stablehlo.dot_general", "stablehlo.maximum", "stablehlo.exponential")


@functools.cache
def _version() -> str:
    try:
        return importlib.metadata.version("jaxlib")
    except importlib.metadata.PackageNotFoundError:  # packed into one file, say
        return ""


def options_for(read: Callable[[], str], platform: str) -> dict[str, str]:
    """Options for a program for devices of ``platform``; ``read`` gives the text it is lowered to.

    Without those about which ``XLA_FLAGS`` has a choice of the user's.
    """
    choice = _ON_CPUS.get(".".join(_version().split(".")[:3]))
    if choice is None or platform != "cpu":
        return {}
    flags = os.environ.get("XLA_FLAGS", "").split()
    chosen = {flag.lstrip("-").partition("=")[0] for flag in flags}
    if _ONLY in chosen:
        chosen.add(_LEFT_OUT)
    return {n: v for n, v in _chosen(choice, read()).items() if n not in chosen}


def _chosen(choice: Choice, text: str) -> dict[str, str]:
    kept = choice.barriers if _BARRIER in text else {}
    if _CONVOLUTION_OF_SEVERAL.search(text):
        return choice.convolutions | kept
    if _CONVOLUTION in text or not all(operation in text for operation in _SOFTMAX):
        return kept
    return (choice.softmax if _largest_in_products(text) >= _LARGE else choice.small) | kept


def _largest_in_products(text: str) -> int:
    """How many numbers the largest array has that goes into a product or comes out of one."""
    sizes = _SIZES.findall(" ".join(_PRODUCT.findall(text)))
    return max((math.prod(map(int, each.split("x")[:-1])) for each in sizes), default=0)


def compile_program(lowered: Any, options: dict[str, str]) -> Any:
    """The compiled program, with options where this XLA knows them."""
    try:
        return lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        if not any(name in str(error) for name in options):
            raise
        _log.debug("XLA does not know an option: %s", error)
        return lowered.compile()
