"""Inputs and parameters of an operator, read from the signature of its function."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from modkit.errors import ParameterError, not_taken
from modkit.ops.parameters import Attrs, is_traced, parse_value, spelled, without_inert

_INJECTED = ("key", "train")


@dataclass(frozen=True, eq=False, kw_only=True)
class Schema:
    """The inputs and parameters of an operator.

    Attributes:
        types: annotations of the parameters.
        defaults: defaults of the parameters that have one.
        takes_key: the function takes a random key.
        takes_train: the function takes whether this is training.
        inert: parameters that are parsed and kept, not passed.
        when: for optional inputs (default ``None``), whether they exist: ``attrs -> bool``.
        variadic: the parameter that counts ``*args`` inputs (``"num_args"``).
        names: for a variadic operator, ``attrs -> names`` of its inputs; default ``arg0``, ...
        keeps_any: nodes keep attributes of unknown names, which have no effect, as in MXNet; those
            of operators without parameters do, too.
    """

    name: str
    inputs: tuple[str, ...]
    types: Mapping[str, Any]
    defaults: Attrs
    takes_key: bool
    takes_train: bool
    inert: tuple[str, ...]
    when: Mapping[str, Callable[[Attrs], bool]] = field(default_factory=dict)
    variadic: str | None = None
    names: Callable[[Attrs], Sequence[str]] | None = None
    keeps_any: bool = False

    @functools.cached_property
    def most_arguments(self) -> int:
        """The number of inputs and parameters that have names."""
        return len(self.inputs) + len(self.types)

    def input_names(self, attrs: Attrs) -> list[str]:
        """Names of the tensor inputs that exist for these attributes, auxiliary ones last."""
        if self.names:
            return list(self.names(attrs))
        if self.variadic:
            fixed = [n for n in self.inputs if self.exists(n, attrs)]
            return fixed + [f"arg{i}" for i in range(int(attrs.get(self.variadic) or 0))]
        return [n for n in self.inputs if self.exists(n, attrs)]

    def exists(self, name: str, attrs: Attrs) -> bool:
        """Whether the optional input ``name`` is there for these attributes."""
        return name not in self.when or bool(self.when[name](attrs))

    def takes(self, name: str) -> bool:
        """Whether there is a parameter of that name."""
        return name in self.types

    @property
    def ignores_unknown(self) -> bool:
        """Whether parameters of unknown names are ignored, as in MXNet, and no mistakes."""
        return self.keeps_any or not self.types

    def traced(self) -> tuple[str, ...]:
        """Names of the parameters that are arguments of the compiled program."""
        return tuple(n for n, kind in self.types.items() if is_traced(kind))

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Typed parameters from strings or values, with defaults filled in.

        Raises:
            ParameterError: a parameter that the operator does not take, a value that cannot be
                read, or a missing one that has no default.
        """
        parsed = dict(self.defaults)
        for name, value in given.items():
            if name not in self.types:
                if self.ignores_unknown:
                    continue
                raise not_taken(self.name, name, self.types)
            parsed[name] = parse_value(value, self.types[name], where=f"{self.name}: {name}")
        missing = [n for n in self.types if n not in parsed]
        if missing:
            raise ParameterError(
                f"{self.name}: required parameter {missing[0]!r} is missing "
                f"(expected {spelled(self.types[missing[0]])})"
            )
        return parsed


# ── Signatures ──────────────────────────────────────────────────────────────────────────────


def read_signature(fn: Callable[..., Any]) -> dict[str, Any]:
    """The fields of a `Schema` that follow from a function's signature."""
    kind = inspect.Parameter
    parameters = inspect.signature(fn).parameters.values()
    hints = {n: without_inert(hint) for n, hint in _hints(fn).items()}
    inert = tuple(n for n, (_, is_inert) in hints.items() if is_inert)
    injected = {p.name for p in parameters if p.name in _INJECTED and p.name not in inert}
    attrs = [p for p in parameters if p.kind is kind.KEYWORD_ONLY and p.name not in injected]
    return {
        "inputs": tuple(p.name for p in parameters if p.kind is kind.POSITIONAL_OR_KEYWORD),
        "types": {p.name: hints[p.name][0] if p.name in hints else Any for p in attrs},
        "defaults": {p.name: p.default for p in attrs if p.default is not kind.empty},
        "takes_key": "key" in injected,
        "takes_train": "train" in injected,
        "inert": inert,
    }


def _hints(fn: Any) -> dict[str, Any]:
    """Evaluated annotations. Each text is evaluated once in a module, as operators share most."""
    return {n: _evaluated(a, fn.__module__) for n, a in fn.__annotations__.items()}


@functools.cache
def _evaluated(annotation: Any, module: str) -> Any:
    one: Any = types.SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(one, vars(sys.modules[module]), include_extras=True)["it"]


def inherit(fn: Any, like: Callable[..., Any]) -> None:
    """Give ``fn``, a function with ``**given``, the parameters of another ahead of its own."""
    kind = inspect.Parameter
    own, other = (list(inspect.signature(f).parameters.values()) for f in (fn, like))
    tensors, inputs = (
        [p for p in each if p.kind is kind.POSITIONAL_OR_KEYWORD] for each in (own, other)
    )
    named = {p.name: p for p in (*other, *own) if p.kind is kind.KEYWORD_ONLY}
    fn.__signature__ = inspect.Signature([*(tensors or inputs), *named.values()])
    fn.__annotations__ = {
        **typing.get_type_hints(like, include_extras=True), **fn.__annotations__
    }  # fmt: skip


def with_schema(
    fn: Callable[..., Any],
    name: str,
    doc: str,
    tensors: Sequence[str] | None,
    attrs: Mapping[str, tuple[Any, Any]],
) -> Callable[..., Any]:
    """A function of a table row, with the signature that `op` reads its schema from.

    Args:
        fn: takes everything by keyword; tensors by position, if they are ``*data``. It may have a
            parameter ``key``.
        tensors: names of the tensor inputs; ``None`` for ``*data``.
        attrs: annotation and default of each parameter.
    """
    kind = inspect.Parameter
    parameters = [kind(n, kind.POSITIONAL_OR_KEYWORD) for n in tensors or ()]
    if tensors is None:
        parameters.append(kind("data", kind.VAR_POSITIONAL))
    if "key" in inspect.signature(fn).parameters:
        parameters.append(kind("key", kind.KEYWORD_ONLY))
    parameters += [kind(n, kind.KEYWORD_ONLY, default=d) for n, (_, d) in attrs.items()]
    made: Any = fn
    made.__name__, made.__doc__ = name.lstrip("_"), doc
    made.__annotations__ = {n: annotation for n, (annotation, _) in attrs.items()}
    made.__signature__ = inspect.Signature(parameters)
    return made
