"""The functions of ``mx.nd.random`` and ``mx.sym.random``, one for each distribution.

Numbers as parameters go to the ``_random_*`` operators, arrays or symbols to ``_sample_*``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import ParameterError
from modkit.ops.random.distributions import DISTRIBUTIONS
from modkit.ops.random.sampling import check_randint

Call = Callable[[str, Sequence[Any], Mapping[str, Any]], Any]
"""Calls an operator: ``call(name, tensors, keywords)``."""

_REAL = frozenset((bool, int, float))


class RandomFunctions:
    """The functions, as methods: ``uniform``, ``normal`` and so on.

    Besides the parameters named here, each takes ``ctx`` and ``out`` for arrays, ``name`` and
    ``attr`` for symbols.

    Args:
        call: calls an operator by name.
        is_array: whether a parameter is a tensor there.
        shape: the shape where none is given.
        get_prob: the default of ``multinomial``.
    """

    def __init__(
        self,
        call: Call,
        is_array: Callable[[Any], bool],
        *,
        shape: tuple[int, ...] | None,
        get_prob: bool,
    ):
        self._call, self._is_array = call, is_array
        self._shape, self._get_prob = shape, get_prob

    def _draw(self, name: str, params: Sequence[Any], shape: Any, more: Mapping[str, Any]) -> Any:
        tensors = [self._is_array(p) for p in params]
        if all(tensors):
            return self._call(f"_sample_{name}", params, _only(shape=shape, **more))
        dist = DISTRIBUTIONS[name]
        numbers = [p.item() if isinstance(p, np.generic) else p for p in params]
        if not _REAL.issuperset(map(type, numbers)):
            kinds = ", ".join(type(p).__name__ for p in params)
            raise ParameterError(
                f"random {name}: got {kinds} for {', '.join(dist.params)}, "
                "expected numbers only, or arrays or symbols only"
            )
        dist.check(*numbers)
        named = dict(zip(dist.params, numbers, strict=True))
        shape = self._shape if shape is None else shape
        return self._call(f"_random_{name}", (), _only(shape=shape, **named, **more))

    def uniform(
        self,
        low: Any = 0,
        high: Any = 1,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Uniformly distributed numbers from ``low`` up to ``high``.

        Args:
            low: numbers, or arrays of one shape S.
            high: likewise.
            shape: of the result; with arrays, it follows S.
            dtype: default float32.
            ctx: the device.
            out: an array to write to.
            **kwargs: see `RandomFunctions`.
        """
        return self._draw(
            "uniform", (low, high), shape, {**kwargs, "dtype": dtype, "ctx": ctx, "out": out}
        )

    def normal(
        self,
        loc: Any = 0,
        scale: Any = 1,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Normally distributed numbers, by mean and standard deviation. See `uniform`."""
        return self._draw(
            "normal", (loc, scale), shape, {**kwargs, "dtype": dtype, "ctx": ctx, "out": out}
        )

    def randn(self, *shape: int, **kwargs: Any) -> Any:
        """``normal`` with the sizes as arguments: ``randn(2, 3, loc=0, scale=1)``."""
        loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
        return self.normal(loc, scale, shape or None, **kwargs)

    def gamma(
        self,
        alpha: Any = 1,
        beta: Any = 1,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Gamma distributed numbers of shape ``alpha`` and scale ``beta``. See `uniform`."""
        return self._draw(
            "gamma", (alpha, beta), shape, {**kwargs, "dtype": dtype, "ctx": ctx, "out": out}
        )

    def exponential(
        self,
        scale: Any = 1,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Exponentially distributed numbers of mean ``scale``. See `uniform`.

        Raises:
            ParameterError: ``scale`` is not above 0.
        """
        if not self._is_array(scale) and not scale > 0:
            raise ParameterError(f"random exponential: got scale={scale}, expected scale > 0")
        return self._draw(
            "exponential", (1.0 / scale,), shape, {**kwargs, "dtype": dtype, "ctx": ctx, "out": out}
        )

    def poisson(
        self,
        lam: Any = 1,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Poisson distributed counts of mean ``lam``. See `uniform`."""
        return self._draw(
            "poisson", (lam,), shape, {**kwargs, "dtype": dtype, "ctx": ctx, "out": out}
        )

    def negative_binomial(
        self,
        k: Any = 1,
        p: Any = 1,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Counts of failures before ``k`` successes of probability ``p``. See `uniform`."""
        return self._draw(
            "negative_binomial", (k, p), shape, {**kwargs, "dtype": dtype, "ctx": ctx, "out": out}
        )

    def generalized_negative_binomial(
        self,
        mu: Any = 1,
        alpha: Any = 1,
        shape: Any = None,
        dtype: Any = None,
        ctx: Any = None,
        out: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Counts of mean ``mu`` and variance ``mu + alpha * mu²``. See `uniform`."""
        return self._draw(
            "generalized_negative_binomial",
            (mu, alpha),
            shape,
            {**kwargs, "dtype": dtype, "ctx": ctx, "out": out},
        )

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
        shape = self._shape if shape is None else shape
        if isinstance(low, int) and isinstance(high, int):
            check_randint(low, high)
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
            out: an array to write to.
            dtype: element type of the indices.
            **kwargs: see `RandomFunctions`.
        """
        get_prob = self._get_prob if get_prob is None else get_prob
        given = _only(shape=shape, get_prob=get_prob, dtype=dtype, out=out, **kwargs)
        return self._call("_sample_multinomial", (data,), given)

    def shuffle(self, data: Any, **kwargs: Any) -> Any:
        """The rows of ``data``, along its first dimension, in random order."""
        return self._call("_shuffle", (data,), _only(**kwargs))

    def functions(self) -> dict[str, Callable[..., Any]]:
        """All of them by name, those of a like shape (``uniform_like``) too."""
        names = (*DISTRIBUTIONS, "randn", "randint", "multinomial", "shuffle")
        likes = {f"{name}_like": self._like(name) for name in DISTRIBUTIONS}
        return {name: getattr(self, name) for name in names} | likes

    def _like(self, name: str) -> Callable[..., Any]:
        def draw(data: Any, **kwargs: Any) -> Any:
            return self._call(f"_random_{name}_like", (data,), _only(**kwargs))

        draw.__name__ = f"{name}_like"
        draw.__doc__ = f"{DISTRIBUTIONS[name].doc} Of the shape and type of ``data``."
        return draw


def _only(**given: Any) -> dict[str, Any]:
    """Those that are not ``None``."""
    return {name: value for name, value in given.items() if value is not None}
