"""Compiler options of XLA for single programs that its defaults make slow."""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import math
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

_LIBRARY = "xla_cpu_experimental_ynn_fusion_type"
"""Fusion types that XLA compiles with its YNN library for CPUs; by default all supported ones."""

_LEFT_OUT, _ONLY = "xla_disable_hlo_passes", "xla_enable_hlo_passes_only"
"""HLO passes to skip, or the only ones to run; XLA aborts the process if both are set."""

_log = logging.getLogger(__name__)

_KEPT = {_LEFT_OUT: "cse_barrier_expander"}
"""Skips the pass that removes optimization barriers on CPUs, so that fusions stop at them."""

_REDUCTIONS = {_LIBRARY: "LIBRARY_FUSION_TYPE_REDUCE"}
_PRODUCTS = {_LIBRARY: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}


class Choice(NamedTuple):
    """Compiler options by kind of program.

    Attributes:
        convolutions: programs with convolutions of several samples.
        softmax: programs with a softmax and matrix products.
        barriers: programs with optimization barriers.
        few: programs whose operations have few elements: up to so many on average, in increasing
            order. Compiling these takes longer than thousands of runs.
        arithmetic: programs of elementwise arithmetic alone, as updates outside of a step.
    """

    convolutions: dict[str, str]
    softmax: dict[str, str]
    barriers: dict[str, str]
    few: Sequence[tuple[int, dict[str, str]]]
    arithmetic: dict[str, str]


_LEVEL = "xla_backend_optimization_level"
_EMITTERS = {"xla_cpu_use_fusion_emitters": "False"}
"""Kernels by XLA's older emitter: the newer one takes as long as LLVM, and gains where rows are
long. jaxlib 0.12 has no other."""
_IN_ONE_PIECE = {"xla_cpu_parallel_codegen_split_count": "1"}
_QUICKLY = {_LEVEL: "1", **_IN_ONE_PIECE}
_AT_ONCE = {_LEVEL: "0", "xla_llvm_disable_expensive_passes": "True", **_IN_ONE_PIECE}

_ON_CPUS = {
    "0.10.2": Choice(
        _REDUCTIONS, _PRODUCTS, _KEPT,
        few=((128, _AT_ONCE | _EMITTERS), (512, _QUICKLY | _EMITTERS)), arithmetic=_EMITTERS,
    ),
    "0.12.0": Choice({}, _PRODUCTS, _KEPT, few=((128, _AT_ONCE),), arithmetic={}),
}  # fmt: skip
"""Options by jaxlib version. Measured on two cores, ms a step by default and with these options.

Convolutions keep one core waiting in 0.10.2: LeNet, batch 64, 21.7 and 15.2. Those of a single
sample do not (prediction 0.40 and 0.49), and 0.10.0, 0.10.1 and 0.12 gain nothing. Barriers are
kept (``tuning/cpu/``): ResNet-20, batch 64, 212 and 192; with 0.12 202 and 184; predictions
of one sample, of ResNet-50 95 and 91, of LeNet the same. A product that is fused with the softmax
after it is computed more than once: an LSTM over 10,000 words 201 and 151 in 0.10.2, 172 and 144 in
0.12; 0.10.0 does not do that. Single products are no slower than none for small networks: an MLP
784-128-64-10, batch 64, 0.21 and 0.21 (0.25 and 0.20 beside other processes), 100-50-2, batch 20,
0.034 and 0.034; 784-512-512-10, batch 128, 3.0 and 2.3.

Programs of few elements: ``docs/performance.md`` has the figures of 0.10.2. With 0.12 the first
step takes 402 and 193 ms of processor time (MLP 10-16-4, batch 16), 1,781 and 870 (LSTM of 5 steps
and 8 units). Above 512 elements, steps would take up to a sixth longer in 0.10.2: MLP
100-100-100-10, batch 64, the first 449 and 264, later ones 0.23 and 0.26.

Arithmetic alone, in 0.10.2: compiling Adam's update of the parameters of ResNet-18 takes 2,800 and
1,100 ms of processor time, a run 50 and 46; SGD's with momentum 1,345 and 844, and 45 and 16.
"""

_BARRIER = "stablehlo.optimization_barrier"
_CONVOLUTION = "stablehlo.convolution"
# The batch is the first dimension of the first operand, in a weight's gradient too.
_CONVOLUTION_OF_SEVERAL = re.compile(r"stablehlo\.convolution\(.*: \(tensor<(?!1x)")
_WORKING = re.compile(
    r" = \"?stablehlo\.(?!constant|reshape|broadcast_in_dim|optimization_barrier|while).*"
)
"""Operations but for those that compute nothing."""
_OPERATION = re.compile(r" = \"?stablehlo\.(\w+)")
_ARITHMETIC = frozenset(
    ("abs", "add", "and", "broadcast_in_dim", "compare", "constant", "convert", "divide",
     "maximum", "minimum", "multiply", "negate", "not", "optimization_barrier", "or", "power",
     "reshape", "select", "sign", "slice", "sqrt", "subtract")
)  # fmt: skip
_SIZES = re.compile(r"tensor<((?:\d+x)+)")
_SOFTMAX = ("stablehlo.dot_general", "stablehlo.maximum", "stablehlo.exponential")


@functools.cache
def _version() -> str:
    try:
        return importlib.metadata.version("jaxlib")
    except importlib.metadata.PackageNotFoundError:  # for example in an archive
        return ""


def options_for(read: Callable[[], str], platform: str) -> dict[str, str]:
    """Options for a program on devices of ``platform``; ``read`` returns its HLO text.

    Options that the user has set in ``XLA_FLAGS`` are left out.
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
    mean = _mean_elements(text)
    fits = (options for most, options in choice.few if mean <= most)
    rest = choice.arithmetic if _ARITHMETIC.issuperset(_OPERATION.findall(text)) else {}
    return _by_kind(choice, text) | next(fits, rest)


def _by_kind(choice: Choice, text: str) -> dict[str, str]:
    kept = choice.barriers if _BARRIER in text else {}
    if _CONVOLUTION_OF_SEVERAL.search(text):
        return choice.convolutions | kept
    if _CONVOLUTION in text or not all(operation in text for operation in _SOFTMAX):
        return kept
    return choice.softmax | kept


def _elements(text: str) -> list[int]:
    """Numbers of elements of the arrays in a text."""
    return [math.prod(map(int, sizes.split("x")[:-1])) for sizes in _SIZES.findall(text)]


def _mean_elements(text: str) -> float:
    """Number of elements of the largest operand or result of an operation on arrays, on average.

    Slices count with their part. The length of a loop changes nothing: it repeats operations and
    their elements alike.
    """
    counts = [
        min(arrays) if "slice" in line else max(arrays)
        for line in _WORKING.findall(text)
        if (arrays := [count for count in _elements(line) if count > 1])
    ]
    return sum(counts) / max(1, len(counts))


_UNFIT = "opt-barrier"
"""In the message of XLA where a kept barrier lies within a small loop, which it then refuses."""


def compile_program(lowered: Any, options: dict[str, str]) -> Any:
    """Compile with options; without them if XLA does not know them, or cannot keep a barrier."""
    try:
        return lowered.compile(compiler_options=options or None)
    except jax.errors.JaxRuntimeError as error:
        if not options or not any(name in str(error) for name in (*options, _UNFIT)):
            raise
        _log.debug("XLA refuses an option: %s", error)
        rest = {n: v for n, v in options.items() if n != _LEFT_OUT} if _UNFIT in str(error) else {}
        return lowered.compile(compiler_options=rest or None)
