"""The functions of ``mx.nd.random`` and ``mx.sym.random``, one for each distribution.

Numbers as parameters go to the ``_random_*`` operators, arrays or symbols to ``_sample_*``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError, not_taken
from modkit.ops.random.distributions import DISTRIBUTIONS, PLAIN_NUMBERS

Call = Callable[[str, Sequence[Any], Mapping[str, Any]], Any]
"""Calls an operator: ``call(name, tensors, keywords)``."""

_TYPES = {"shape": int | tuple[int, ...] | None, "dtype": Any, "ctx": Context | None}

_DOCS = {"exponential": "Exponentially distributed numbers of mean ``scale``, which is above 0."}


class RandomFunctions:
    """Makes the functions: ``uniform``, ``normal`` and so on.

    Besides the parameters named here, each takes ``ctx`` and ``out`` for arrays, ``name`` and
    ``attr`` for symbols.

    Args:
        call: calls an operator by name.
        array: the class of tensors: NDArray or Symbol.
        shape: the shape where none is given.
        get_prob: the default of ``multinomial``.
    """

    def __init__(self, call: Call, array: type, *, shape: tuple[int, ...] | None, get_prob: bool):
        self._call, self._array = call, array
        self._shape, self._get_prob = shape, get_prob
        self._normal = self._distribution("normal")

    def _draw(self, name: str, params: Sequence[Any], shape: Any, more: Mapping[str, Any]) -> Any:
        dist = DISTRIBUTIONS[name]
        if not PLAIN_NUMBERS.issuperset(map(type, params)):
            if all(isinstance(p, self._array) for p in params):
                return self._call(f"_sample_{name}", params, _only(shape=shape, **more))
            kinds = ", ".join(type(p).__name__ for p in params)
            params = [p.item() if isinstance(p, np.generic) else p for p in params]
            if not PLAIN_NUMBERS.issuperset(map(type, params)):
                raise ParameterError(
                    f"random {name}: got {kinds} for {', '.join(dist.params)}, "
                    "expected numbers only, or arrays or symbols only"
                )
        given = dict(zip(dist.params, params, strict=True))
        shape = self._shape if shape is None and more.get("out") is None else shape
        return self._call(f"_random_{name}", (), given | _only(shape=shape, **more))

    def randint(
        self,
        low: int,
        high: int,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Uniformly distributed whole numbers from ``low`` up to, not including, ``high``."""
        shape = self._shape if shape is None and out is None else shape
        given = _only(low=low, high=high, shape=shape, dtype=dtype, ctx=ctx, out=out, **kwargs)
        return self._call("_random_randint", (), given)

    def multinomial(
        self,
        data: Any,
        shape: Any = None,
        get_prob: bool | None = None,
        out: Any = None,
        dtype: Any = "int32",
        **kwargs: Any,
    ) -> Any:
        """Indices drawn with the probabilities in the last dimension of ``data``.

        Args:
            data: rows that sum to 1.
            shape: how many indices to draw for each row; one if left out.
            get_prob: whether to return the logarithms of their probabilities too.
            dtype: element type of the indices.
            **kwargs: see `RandomFunctions`.
        """
        get_prob = self._get_prob if get_prob is None else get_prob
        dtype = dtype or "float64"  # as NumPy reads it
        given = _only(shape=shape, get_prob=get_prob, dtype=dtype, out=out, **kwargs)
        return self._call("_sample_multinomial", (data,), given)

    def shuffle(self, data: Any, **kwargs: Any) -> Any:
        """The rows of ``data``, along its first dimension, in random order."""
        return self._call("_shuffle", (data,), _only(**kwargs))

    def functions(self) -> dict[str, Callable[..., Any]]:
        """All of them by name, those of a like shape (``uniform_like``) too."""
        names = ("randn", "randint", "multinomial", "shuffle")
        made = {name: self._distribution(name) for name in DISTRIBUTIONS}
        likes = {f"{name}_like": self._like(name) for name in DISTRIBUTIONS}
        return made | {name: getattr(self, name) for name in names} | likes

    def _distribution(self, name: str) -> Callable[..., Any]:
        """``name(*parameters, shape=None, dtype=None, ctx=None, out=None, **kwargs)``."""
        dist = DISTRIBUTIONS[name]
        defaults = {"scale": 1.0} if name == "exponential" else dist.params
        order = (*defaults, "shape", "dtype", "ctx", "out")
        kind = inspect.Parameter
        numbers = dict.fromkeys(defaults, float | self._array)
        types = {**numbers, **_TYPES, "out": self._array | None}
        given = [
            kind(n, kind.POSITIONAL_OR_KEYWORD, default=defaults.get(n), annotation=types[n])
            for n in order
        ]
        more = kind("kwargs", kind.VAR_KEYWORD, annotation=Any)
        signature = inspect.Signature([*given, more], return_annotation=self._array)

        def draw(*args: Any, **kwargs: Any) -> Any:
            count = len(args) + len(kwargs)
            kwargs.update(zip(order, args, strict=False))
            if len(kwargs) != count:  # too many, or one by position and by name
                _require_fit(name, signature, args, kwargs)
            params = [kwargs.pop(n, default) for n, default in defaults.items()]
            if "dtype" in kwargs:
                kwargs["dtype"] = kwargs["dtype"] or "float64"
            if name == "exponential":
                if "lam" in kwargs:
                    raise not_taken("exponential", "lam", order, hint=" The scale is 1 / lam.")
                params = [self._rate(*params)]
            return self._draw(name, params, kwargs.pop("shape", None), kwargs)

        made: Any = draw
        made.__name__ = made.__qualname__ = name
        made.__signature__ = signature
        made.__doc__ = f"""{_DOCS.get(name, dist.doc)}

Numbers, or arrays of one shape S, are the parameters. ``shape`` is that of the result; with
arrays, it follows S. ``dtype`` is float32 if it is left out, and float64, as in NumPy, for
``None``; ``ctx`` is the device, ``out`` an array to write to, whose shape and type are then the
defaults.
"""
        return made

    def _rate(self, scale: Any) -> Any:
        """The rate of an exponential distribution."""
        if not isinstance(scale, self._array) and scale == 0:
            raise ParameterError("random exponential: got scale=0, expected scale > 0")
        return 1.0 / scale

    def randn(self, *shape: int, **kwargs: Any) -> Any:
        """``normal`` with the sizes as arguments: ``randn(2, 3, loc=0, scale=1)``."""
        loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
        return self._normal(loc, scale, shape or None, **kwargs)

    def _like(self, name: str) -> Callable[..., Any]:
        def draw(data: Any, *params: Any, **kwargs: Any) -> Any:
            numbers = [*params, *(v for n, v in kwargs.items() if n != "out")]
            if any(isinstance(each, self._array) for each in numbers):
                raise ParameterError(
                    f"random {name}_like: got an array as a parameter, expected numbers; "
                    f"random.{name} takes arrays"
                )
            return self._call(f"_random_{name}_like", (data, *params), _only(**kwargs))

        draw.__name__ = draw.__qualname__ = f"{name}_like"
        draw.__annotations__ = {
            "data": self._array,
            "params": float,
            "kwargs": Any,
            "return": self._array,
        }
        draw.__doc__ = f"{DISTRIBUTIONS[name].doc} Of the shape and type of ``data``."
        return draw


def _require_fit(
    name: str, signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise ParameterError for an argument too many, and for one given by position and by name."""
    try:
        signature.bind(*args)
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise ParameterError(f"random {name}: {error}; it takes {signature}") from error


def _only(**given: Any) -> dict[str, Any]:
    """Those that are not ``None``."""
    return {name: value for name, value in given.items() if value is not None}


def zipfian(
    uniform: Callable[..., Any], true_classes: Any, num_sampled: int, range_max: int
) -> tuple[Any, Any, Any]:
    """Draws, and expected numbers of occurrences; see `modkit.ndarray.contrib.rand_zipfian`.

    Args:
        uniform: the function of that name, of arrays or of symbols.
        true_classes: an array or a symbol.
        range_max: the number of classes.

    Raises:
        ParameterError: ``range_max`` or ``num_sampled`` is below 1.
    """
    if range_max < 1 or num_sampled < 1:
        raise ParameterError(
            f"rand_zipfian: got num_sampled={num_sampled}, range_max={range_max}, expected 1 or "
            "more of both"
        )
    scale = math.log(range_max + 1)
    drawn = uniform(0, scale, shape=(num_sampled,), dtype="float64")
    sampled = (drawn.exp() - 1).astype("int64") % range_max

    def expected(classes: Any) -> Any:
        number = classes.astype("float64")
        return ((number + 2) / (number + 1)).log() / scale * num_sampled

    return sampled, expected(true_classes), expected(sampled)
