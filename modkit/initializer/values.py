"""Constant and random initializers: Zero, One, Constant, Uniform, Normal, Xavier, ..."""

from __future__ import annotations

import math
import mmap
import sys
from typing import Any, Literal

import numpy as np

from modkit import stream
from modkit.errors import ShapeError, expect
from modkit.initializer.base import Initializer, alias, register
from modkit.ndarray import NDArray
from modkit.ndarray.storage import aligned
from modkit.ndarray.tape import modes

_LARGE = 1 << 20
"""Bytes from which on the memory of random numbers is not the C library's."""


@register
@alias("zeros")
class Zero(Initializer):
    """Zeros.

    >>> weight = mx.nd.empty((2, 3))
    >>> mx.init.Zero()("fc_weight", weight)
    >>> print(weight.asnumpy())
    [[0. 0. 0.]
     [0. 0. 0.]]
    """

    def __init__(self) -> None:
        super().__init__()

    _init_weight = Initializer._init_zero


@register
@alias("ones")
class One(Initializer):
    """Ones.

    >>> weight = mx.nd.empty((2, 3))
    >>> mx.init.One()("fc_weight", weight)
    >>> print(weight.asnumpy())
    [[1. 1. 1.]
     [1. 1. 1.]]
    """

    def __init__(self) -> None:
        super().__init__()

    _init_weight = Initializer._init_one


@register
class Constant(Initializer):
    """A constant value.

    Args:
        value: a number, or an array that broadcasts to the parameter's shape.

    >>> weight = mx.nd.empty((2, 3))
    >>> mx.init.Constant(0.5)("fc_weight", weight)
    >>> print(weight.asnumpy())
    [[0.5 0.5 0.5]
     [0.5 0.5 0.5]]
    """

    def __init__(self, value: Any):
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, _: str | None, arr: NDArray) -> None:
        arr[:] = np.asarray(self.value) if isinstance(self.value, list | tuple) else self.value


@register
class Uniform(Initializer):
    """Uniform random numbers between ``-scale`` and ``scale``.

    >>> weight = mx.nd.empty((200, 300))
    >>> mx.init.Uniform(0.1)("fc_weight", weight)
    >>> bool(abs(weight).max() <= 0.1)
    True
    """

    def __init__(self, scale: float = 0.07):
        expect(scale >= 0, "Uniform: scale", scale, "0 or more")
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _: str | None, arr: NDArray) -> None:
        _fill(arr, _random("uniform", arr.shape, self.scale))


@register
class Normal(Initializer):
    """Normal random numbers of mean 0 and standard deviation ``sigma``.

    >>> weight = mx.nd.empty((200, 300))
    >>> mx.init.Normal(0.1)("fc_weight", weight)
    >>> round(float(weight.asnumpy().std()), 2)
    0.1
    """

    def __init__(self, sigma: float = 0.01):
        expect(sigma >= 0, "Normal: sigma", sigma, "0 or more")
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _: str | None, arr: NDArray) -> None:
        _fill(arr, _random("gaussian", arr.shape, self.sigma))


@register
class Orthogonal(Initializer):
    """A matrix whose rows, or columns if they are fewer, are orthogonal with norm ``scale``.

    Args:
        scale: norm of the rows or columns.
        rand_type: distribution of the random matrix that is orthogonalized, ``"uniform"`` or
            ``"normal"``.

    >>> weight = mx.nd.empty((2, 3))
    >>> mx.init.Orthogonal(scale=1)("fc_weight", weight)
    >>> print(abs(mx.nd.dot(weight, weight.T)).asnumpy().round(3))
    [[1. 0.]
     [0. 1.]]
    """

    def __init__(self, scale: float = 1.414, rand_type: Literal["uniform", "normal"] = "uniform"):
        _check("rand_type", rand_type, ("uniform", "normal"))
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, name: str | None, arr: NDArray) -> None:
        _check_matrix("Orthogonal", name, arr)
        start = _random(
            "uniform" if self.rand_type == "uniform" else "gaussian",
            (arr.shape[0], math.prod(arr.shape[1:])),
            1.0,
        )
        left, _, right = np.linalg.svd(start, full_matrices=False)
        matrix = left if left.shape == start.shape else right
        arr[:] = self.scale * matrix.reshape(arr.shape)


@register
class Xavier(Initializer):
    """Random numbers scaled by fan-in and fan-out (Glorot initialization).

    The scale is ``sqrt(magnitude / factor)``. For a weight (O, I, ...) with K kernel taps the
    factor is the fan-in ``I K`` ("in"), the fan-out ``O K`` ("out") or their mean ("avg").

    Args:
        rnd_type: ``"uniform"`` in ``[-scale, scale]``, or ``"gaussian"`` with standard deviation
            ``scale``.
        factor_type: ``"avg"``, ``"in"`` or ``"out"``.
        magnitude: the numerator of the scale.

    >>> weight = mx.nd.empty((2, 3))
    >>> mx.init.Xavier()("fc_weight", weight)
    >>> bool(abs(weight).max() <= (3 / 2.5) ** 0.5)  # the mean of 3 inputs and 2 outputs
    True
    """

    def __init__(
        self,
        rnd_type: Literal["uniform", "gaussian"] = "uniform",
        factor_type: Literal["avg", "in", "out"] = "avg",
        magnitude: float = 3,
    ):
        _check("rnd_type", rnd_type, ("uniform", "gaussian"))
        _check("factor_type", factor_type, ("avg", "in", "out"))
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type, self.factor_type = rnd_type, factor_type
        self.magnitude = size = float(magnitude)
        expect(size >= 0, f"{type(self).__name__}: magnitude", size, "0 or more")

    def _init_weight(self, name: str | None, arr: NDArray) -> None:
        _check_matrix("Xavier", name, arr)
        kernel = math.prod(arr.shape[2:])
        fan_out, fan_in = arr.shape[0] * kernel, arr.shape[1] * kernel
        factor = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        scale = math.sqrt(self.magnitude / factor[self.factor_type])
        _fill(arr, _random(self.rnd_type, arr.shape, scale))


@register
class MSRAPrelu(Xavier):
    """He initialization for PReLU: Gaussian `Xavier` with magnitude ``2 / (1 + slope²)``.

    Args:
        factor_type: ``"avg"``, ``"in"`` or ``"out"``.
        slope: slope of PReLU for negative inputs; 0 for ReLU.

    >>> weight = mx.nd.empty((300, 200))
    >>> mx.init.MSRAPrelu()("fc_weight", weight)
    >>> round(float(weight.asnumpy().std()), 2)
    0.09
    """

    def __init__(self, factor_type: Literal["avg", "in", "out"] = "avg", slope: float = 0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """The kernel of bilinear upsampling, for the weight (O, I, H, W) of a Deconvolution.

    >>> weight = mx.nd.empty((1, 1, 4, 4))
    >>> mx.init.Bilinear()("up_weight", weight)
    >>> print(weight.asnumpy()[0, 0, 1])
    [0.1875 0.5625 0.5625 0.1875]
    """

    def __init__(self) -> None:
        super().__init__()

    _init_weight = Initializer._init_bilinear


def _random(kind: str, shape: tuple[int, ...], scale: float) -> np.ndarray:
    """Random float32 numbers: uniform in ``[-scale, scale]``, or normal times ``scale``."""
    draw, made = stream.generator(), _fresh(shape)
    if kind == "uniform":
        draw.random(out=made, dtype=np.float32)
        made *= 2
        made -= 1
    else:
        draw.standard_normal(out=made, dtype=np.float32)
    made *= np.float32(scale)
    return made


def _fill(arr: NDArray, values: np.ndarray) -> None:
    """Replace the value of an array by one that nothing else refers to."""
    if modes.recording:
        arr[:] = values
    else:
        arr._take(values)


def _fresh(shape: tuple[int, ...]) -> np.ndarray:
    """An uninitialized float32 array; the system gets back the memory of a large one.

    A device gets a copy of it to train, and the C library may keep what is freed.
    """
    size = math.prod(shape) * 4
    if size < _LARGE or sys.platform == "win32":
        return aligned(shape, np.float32)
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no room for {size} bytes, float32 of shape {shape}") from error
    return np.frombuffer(memory, np.float32).reshape(shape)


def _check(what: str, got: str, choices: tuple[str, ...]) -> None:
    expect(got in choices, what, got, f"one of {', '.join(choices)}")


def _check_matrix(kind: str, name: str | None, arr: NDArray) -> None:
    if len(arr.shape) < 2:
        raise ShapeError(
            f"{kind} initializer cannot be applied to {name}: got shape {tuple(arr.shape)}, "
            "expected at least 2 dimensions. Give the variable an initializer of its own"
        )
