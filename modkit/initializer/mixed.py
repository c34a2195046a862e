"""Mixed and Load: initialization by a pattern of the name, or from loaded arrays."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from modkit import ndarray
from modkit.constructors import check_arguments
from modkit.errors import (
    FileFormatError,
    NameNotFoundError,
    ParameterError,
    ShapeError,
    instance_hint,
    nearest,
    wrong,
)
from modkit.ndarray import NDArray
from modkit.ndarray.files import plain_name

Init = Callable[[str, NDArray], None]


@check_arguments
class Mixed:
    """Applies the initializer of the first pattern that matches the beginning of the name.

    Args:
        patterns: regular expressions; a final ``".*"`` matches all remaining names.

    >>> bias, weight = mx.nd.empty((2,)), mx.nd.empty((2, 2))
    >>> initializer = mx.init.Mixed([".*bias", ".*"], [mx.init.Zero(), mx.init.One()])
    >>> initializer("fc_bias", bias)
    >>> initializer("fc_weight", weight)
    >>> print(bias.asnumpy(), weight.asnumpy()[0])
    [0. 0.] [1. 1.]
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Init]):
        for what, each in (("patterns", patterns), ("initializers", initializers)):
            if isinstance(each, str) or not isinstance(each, Collection):
                raise wrong(f"Mixed: {what}", each, "a list")
        for init in initializers:
            if not callable(init) or isinstance(init, type):
                raise wrong("Mixed: initializers", init, f"initializers{instance_hint(init)}")
        if len(patterns) != len(initializers):
            raise ParameterError(
                f"Mixed: got {len(patterns)} patterns and {len(initializers)} initializers, "
                "expected one initializer for each pattern"
            )
        try:
            self.map = list(zip(map(re.compile, patterns), initializers, strict=True))
        except (re.error, TypeError) as error:
            raise wrong("Mixed: patterns", patterns, f"regular expressions: {error}") from error

    def __repr__(self) -> str:
        return f"Mixed({[p.pattern for p, _ in self.map]!r}, {[i for _, i in self.map]!r})"

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fill the parameter ``name``.

        Raises:
            ParameterError: no pattern matches.
        """
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ParameterError(
            f"Parameter name {name} did not match any pattern of Mixed "
            f"({', '.join(repr(p.pattern) for p, _ in self.map)}). "
            'Add a pattern ".*" at the end, with a default initializer'
        )


class Load:
    """Initializes from a dictionary or a ``.params`` file.

    Args:
        param: the dictionary or the path; prefixes ``arg:`` and ``aux:`` of names are removed.
        default_init: initializer of missing names.
        verbose: log the source of each parameter.

    >>> initializer = mx.init.Load({"arg:fc_weight": mx.nd.ones((2,))}, default_init=mx.init.Zero())
    >>> weight, bias = mx.nd.empty((2,)), mx.nd.empty((2,))
    >>> initializer("fc_weight", weight)
    >>> initializer("fc_bias", bias)
    >>> print(weight.asnumpy(), bias.asnumpy())
    [1. 1.] [0. 0.]
    """

    def __init__(
        self,
        param: str | Path | Mapping[str, NDArray],
        default_init: Init | None = None,
        verbose: bool = False,
    ):
        source = "the dictionary"
        loaded: Any = param
        if isinstance(param, str | Path):
            source, loaded = str(param), ndarray.load(str(param))
        if not isinstance(loaded, Mapping):
            raise FileFormatError(f"{source}: got arrays without names, expected names for all")
        self._source = source
        self.param = {plain_name(n): v for n, v in loaded.items()}
        self.default_init, self.verbose = default_init, verbose

    def __repr__(self) -> str:
        return f"Load({self._source}, {len(self.param)} arrays, {self.default_init!r})"

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fill the parameter ``name``.

        Raises:
            ShapeError: the loaded array has a different shape.
            NameNotFoundError: the name is missing and there is no ``default_init``.
        """
        if name not in self.param:
            self._fill_missing(name, arr)
            return
        value = self.param[name]
        if tuple(value.shape) != tuple(arr.shape):
            raise ShapeError(
                f"Parameter {name} cannot be initialized from {self._source}: "
                f"got shape {tuple(value.shape)}, expected {tuple(arr.shape)}"
            )
        arr[:] = value
        if self.verbose:
            logging.info("Initialized %s by loading", name)

    def _fill_missing(self, name: str, arr: NDArray) -> None:
        if self.default_init is None:
            raise NameNotFoundError(
                f"Cannot initialize {name}: it is not in {self._source}."
                f"{nearest(name, self.param)} Give Load a default_init for such parameters"
            )
        self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by default", name)
