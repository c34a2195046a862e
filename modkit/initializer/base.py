"""Initializer, the base class: fills a parameter by its name or ``__init__`` attribute."""

from __future__ import annotations

import json
import logging
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from modkit import stream
from modkit.constructors import ChecksArguments
from modkit.errors import ModkitError, NotSupportedError, ParameterError, ShapeError, expect, wrong
from modkit.ndarray import NDArray
from modkit.registry import get_alias_func, get_create_func, get_register_func


class InitDesc(str):
    """The name of a parameter, with its attributes.

    Args:
        attrs: attributes of the variable; ``__init__`` selects the initializer.
        global_init: the fallback of initializers that contain another one (`FusedRNN`).
    """

    attrs: dict[str, str]
    global_init: Initializer | None

    def __new__(
        cls,
        name: str,
        attrs: Mapping[str, str] | None = None,
        global_init: Initializer | None = None,
    ) -> InitDesc:
        """A string with the additional attributes ``attrs`` and ``global_init``."""
        desc = super().__new__(cls, name)
        desc.attrs = dict(attrs or {})
        desc.global_init = global_init
        return desc


class Initializer(ChecksArguments):
    """Base class of initializers: ``init(InitDesc("fc1_weight"), array)`` fills the array.

    The ``__init__`` attribute of the description takes precedence. Otherwise the suffix of the
    name selects a method: ``weight`` the subclass's ``_init_weight``; ``bias``, ``beta``,
    ``moving_mean`` and similar, zeros; ``gamma``, ``moving_var`` and similar, ones. A custom
    subclass overrides ``_init_weight`` or any other ``_init_*``.

    Differs: suffixes such as ``moving_mean`` and ``moving_var`` select the value for an `InitDesc`
    too, in MXNet only for a plain string.

    Args:
        **kwargs: the arguments of the subclass, serialized by `dumps`.
    """

    def __init__(self, **kwargs: Any):
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] = _rms

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Initializer)
            and type(self) is type(other)
            and _jsonable(self._kwargs) == _jsonable(other._kwargs)
        )

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._kwargs.items())})"

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None
    ) -> Self:
        """Log each initialization; returns this initializer.

        Args:
            print_func: formats an array; default: its norm divided by the root of its size.
        """
        self._verbose = verbose
        self._print_func = print_func or _rms
        return self

    def dumps(self) -> str:
        """The initializer as JSON, an argument of `create`: ``["uniform", {"scale": 0.07}]``."""
        return json.dumps([type(self).__name__.lower(), _jsonable(self._kwargs)])

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fill the parameter ``desc``.

        Args:
            desc: an `InitDesc`, or a plain string. For a plain string the prefixes
                ``upsampling`` and ``stn_loc`` select special initializations.

        Raises:
            ParameterError: the name has no known suffix.
        """
        if not hasattr(arr, "shape"):
            raise wrong(f"{type(self).__name__}: the array of {desc!r}", arr, "an NDArray")
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            self._init_by_attribute(own, desc, arr)
            self._verbose_print(desc, own, arr)
        else:
            self._init_by_name(desc, arr)

    def _init_by_attribute(self, own: str, desc: InitDesc, arr: NDArray) -> None:
        """Fill according to an ``__init__`` attribute, which may come from a file."""
        where = f"variable {str(desc)!r}: __init__ {reprlib.repr(own)}"
        try:
            made = create(own)
        except (ModkitError, TypeError, ValueError, ArithmeticError) as error:
            raise ParameterError(f"{where}: {error}") from error
        try:
            made._init_weight(desc, arr)
        except ModkitError:
            raise
        except (TypeError, ValueError, ArithmeticError) as error:
            fault = f"cannot fill an array of shape {arr.shape}: {error}"
            raise ParameterError(f"{where} {fault}") from error

    def _init_by_name(self, name: str, arr: NDArray) -> None:
        for ending, method in _ENDINGS.items():
            if name.endswith(ending):
                getattr(self, method)(name, arr)
                self._verbose_print(name, ending, arr)
                return
        self._init_default(name, arr)

    def _legacy_init(self, name: str, arr: NDArray) -> None:
        expect(isinstance(name, str), "name must be string", name, "an InitDesc")
        if name.startswith("upsampling"):
            self._init_bilinear(name, arr)
        elif name.startswith("stn_loc") and name.endswith("weight"):
            self._init_zero(name, arr)
        elif name.startswith("stn_loc") and name.endswith("bias"):
            self._init_loc_bias(name, arr)
        else:
            self._init_by_name(name, arr)

    def _verbose_print(self, desc: str, init: str, arr: NDArray) -> None:
        if self._verbose:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def _init_bilinear(self, _: str | None, arr: NDArray) -> None:
        if len(arr.shape) != 4:
            raise ShapeError(f"bilinear: got shape {tuple(arr.shape)}, expected (O, I, H, W)")
        arr[:] = np.broadcast_to(bilinear(arr.shape[2], arr.shape[3]), arr.shape)

    def _init_loc_bias(self, _: str | None, arr: NDArray) -> None:
        if tuple(arr.shape) != (6,):
            raise ShapeError(f"stn_loc bias: got shape {tuple(arr.shape)}, expected (6,)")
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])

    def _init_zero(self, _: str | None, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, _: str | None, arr: NDArray) -> None:
        arr[:] = 1.0

    _init_bias = _init_beta = _init_quantized_bias = _init_zero
    _init_gamma = _init_one

    def _init_weight(self, name: Any, arr: NDArray, /) -> None:
        raise NotSupportedError(f"{type(self).__name__}: override _init_weight(name, array)")

    def _init_quantized_weight(self, _: str | None, arr: NDArray) -> None:
        arr[:] = stream.generator().integers(-127, 127, arr.shape, np.int32, endpoint=True)

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise ParameterError(
            f"Unknown initialization pattern for {name}: the name ends in none of "
            f"{', '.join(_ENDINGS)}. Give the variable an initializer of its own, "
            "mx.sym.Variable(name, init=mx.init.Zero()), or pass its value in arg_params"
        )


_ENDINGS = {
    "weight": "_init_weight",
    "bias": "_init_bias",
    "gamma": "_init_gamma",
    "beta": "_init_beta",
    "min": "_init_zero",
    "max": "_init_one",
    "weight_quantize": "_init_quantized_weight",
    "bias_quantize": "_init_quantized_bias",
    "moving_mean": "_init_zero",
    "running_mean": "_init_zero",
    "moving_var": "_init_one",
    "running_var": "_init_one",
    "moving_inv_var": "_init_zero",
    "moving_avg": "_init_zero",
}

register = get_register_func(Initializer, "initializer")
alias = get_alias_func(Initializer, "initializer")
create = get_create_func(Initializer, "initializer")


def bilinear(height: int, width: int) -> np.ndarray:
    """The kernel (height, width) of bilinear upsampling; the width determines the scale."""
    factor = np.ceil(width / 2.0)
    centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
    x, y = np.arange(width), np.arange(height)
    return np.outer(1 - abs(y / factor - centre), 1 - abs(x / factor - centre))


def _rms(arr: NDArray) -> str:
    value = arr.asnumpy().astype(np.float32)
    return str(np.float32(np.linalg.norm(value) / np.sqrt(value.size)))


def _jsonable(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with arrays as lists, for JSON."""

    def convert(value: Any) -> Any:
        if hasattr(value, "asnumpy"):
            value = value.asnumpy()
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else value

    return {k: convert(v) for k, v in kwargs.items()}
