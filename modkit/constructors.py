"""Checks of arguments: names, and the numbers that constructors take."""

from __future__ import annotations

import contextlib
import functools
import inspect
import numbers
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from modkit.errors import ParameterError, expect, nearest, not_taken, typed

Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])


def check_keywords(function: Function) -> Function:
    """Have a function, method or constructor report names of arguments that it does not take.

    The error, a ParameterError that is a TypeError too, lists the names that it takes; for an
    argument of an optimizer it shows the ``optimizer_params`` to give.
    """
    takes = dict.fromkeys(inspect.signature(function).parameters)
    takes.pop("self", None)
    makes = function.__name__ == "__init__"

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in takes:
                passed_on = name in _OF_OPTIMIZERS and "optimizer_params" in takes
                hint = f" Give optimizer_params={{{name!r}: ...}}." if passed_on else None
                if makes:
                    known = constructor_parameters(type(args[0]))
                    raise not_taken(type(args[0]).__name__, name, known, hint=hint)
                raise not_taken(function.__name__, name, takes, hint=hint)
        return function(*args, **kwargs)

    return cast(Function, checked)


_OF_OPTIMIZERS = ("learning_rate", "momentum", "wd", "lr_scheduler", "clip_gradient")
"""Arguments of optimizers that are often given to `fit` or `init_optimizer` itself."""


def schedule_hint(value: object) -> str:
    """The hint for a schedule in place of a rate, and for one of optax as an lr_scheduler."""
    if not callable(value) or isinstance(value, type):
        return ""
    if hasattr(value, "base_lr"):
        return "; give it as lr_scheduler"
    return "; a schedule of optax goes to its optimizer: optax.adam(schedule)"


def check_arguments(klass: Class) -> Class:
    """Check the arguments of a class's constructor before it runs; a decorator.

    A ParameterError that names the class reports unknown names, missing arguments, and values that
    are no numbers for parameters annotated as numbers. There an array of one element counts as its
    number. Text of a number is parsed for the parameters in `_PARSED`. Classes outside modkit are
    left alone.
    """
    init = vars(klass).get("__init__")
    if init is None or not klass.__module__.startswith("modkit."):
        return klass
    every = [*inspect.signature(init).parameters.values()][1:]
    parameters = {p.name: p for p in every if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    closed = len(parameters) == len(every)
    known = parameters if closed else [*parameters, "..."]
    annotations = {n: str(p.annotation) for n, p in parameters.items()}
    kinds = {n: each for n, each in annotations.items() if each in NUMBERS}
    places = {at for at, p in enumerate(every) if p.name in kinds and p.kind != p.KEYWORD_ONLY}
    required = {name for name, p in parameters.items() if p.default is p.empty}

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        made = type(self).__name__
        args = tuple(number_of(v) if at in places else v for at, v in enumerate(args))
        kwargs = {n: number_of(v) if n in kinds else v for n, v in kwargs.items()}
        given = [*zip(parameters, args, strict=False), *kwargs.items()]
        missing = required.difference(name for name, _ in given)
        for name, value in given:
            if name not in parameters and (closed or nearest(name, missing)):
                raise not_taken(made, name, constructor_parameters(type(self)) if closed else known)
            if name in kwargs and name in _PARSED and isinstance(value, str):
                with contextlib.suppress(ValueError):
                    kwargs[name] = value = float(value)
            optional = value is None and "None" in kinds.get(name, "")
            if name in kinds and not (is_number(value) or optional):
                hint = schedule_hint(value) if name == "learning_rate" else ""
                raise ParameterError(f"{made}: {name}: got {typed(value)}, expected a number{hint}")
        if lacking := [name for name in parameters if name in missing]:
            raise ParameterError(
                f"{made}: got no {' and no '.join(lacking)}. It takes: {', '.join(known)}"
            )
        init(self, *args, **kwargs)

    setattr(klass, "__init__", checked)  # noqa: B010 - pyright refuses the assignment
    return klass


def constructor_parameters(klass: type) -> list[str]:
    """The parameters of a constructor, with those of base classes that get its ``**kwargs``."""
    takes: list[str] = []
    for each in klass.__mro__:
        if "__init__" in vars(each):
            parameters = [*inspect.signature(vars(each)["__init__"]).parameters.values()][1:]
            takes += [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
            if not any(p.kind == p.VAR_KEYWORD for p in parameters):
                break
    return [*dict.fromkeys(takes)]


class ChecksArguments:
    """Base of modkit's classes whose constructors, and those of subclasses, check arguments."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_arguments(cls)


_PARSED = frozenset(
    ("rescale_grad", "clip_gradient", "epsilon", "gamma1", "gamma2", "clip_weights", "lamda1",
     "beta", "wd_lh", "lower_bound", "upper_bound", "magnitude")
)  # fmt: skip
"""Parameters that may be the text of a number, as YAML reads ``1e-8`` as text: MXNet converts
Xavier's magnitude, and passes those of optimizers on to an operator, which parses them."""

NUMBERS = ("float", "int", "float | None", "int | None")
"""Annotations of parameters that are numbers."""


def number_of(value: Any) -> Any:
    """A value; of an array of a single number, that number, which can be hashed."""
    if isinstance(value, np.generic) or getattr(value, "size", 0) != 1:
        return value
    return np.asarray(value).item()


def is_number(value: Any) -> bool:
    """Whether a value is a real number, or an array of a single one."""
    return isinstance(value, numbers.Real) or getattr(value, "size", 0) == 1


def check_at_least(name: str, what: str, value: Any, lowest: int) -> int:
    """``value``; a ParameterError unless it is an integer of at least ``lowest``."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    fits = whole and int(value) >= lowest
    expect(fits, f"{name}: {what}", value, f"an integer of at least {lowest}")
    return int(value)
