"""Registries of classes by name, the basis of ``mx.metric.create('acc')`` and similar."""

from __future__ import annotations

import inspect
import json
import reprlib
from collections.abc import Callable, Sequence
from typing import Any

from modkit.errors import NameNotFoundError, ParameterError, instance_hint, nearest, warn_caller
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

_REGISTRIES: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """A copy of the classes registered under ``base_class``, by lower-case name."""
    return dict(_REGISTRIES.get(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable[..., type]:
    """A decorator ``register(klass, name=None)`` for subclasses of ``base_class``.

    Another class under a name that is taken replaces the first one, with a warning, so that a
    notebook cell can be run twice.
    """
    registry = _REGISTRIES.setdefault(base_class, {})

    def register(klass: type, name: str | None = None) -> type:
        if not (isinstance(klass, type) and issubclass(klass, base_class)):
            raise ParameterError(
                f"register: got {klass!r}, expected a subclass of {base_class.__name__}"
            )
        key = (klass.__name__ if name is None else name).lower()
        if key in registry and registry[key] is not klass:
            warn_caller(
                f"new {nickname} {klass.__module__}.{klass.__name__} replaces {nickname} "
                f"{registry[key].__module__}.{registry[key].__name__} under the name {key!r}"
            )
        registry[key] = klass
        return klass

    register.__doc__ = f"Register a {nickname} class under its name, in lower case."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Callable[[type], type]]:
    """A decorator ``alias('name', ...)`` that registers a class under additional names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[type], type]:
        def decorate(klass: type) -> type:
            for name in aliases:
                register(klass, name)
            return klass

        return decorate

    return alias


def _parsed(text: str, nickname: str) -> tuple[str, dict[str, Any]]:
    """Name and arguments in JSON text: ``["name", {...}]``, or an object that has the name too."""
    try:
        value = json.loads(text)
        name, kwargs = (value.pop(nickname), value) if isinstance(value, dict) else value
        if not isinstance(name, str) or not isinstance(kwargs, dict):
            raise TypeError(f"got {name!r} and {kwargs!r}")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ParameterError(
            f"{nickname}: got {reprlib.repr(text)}, expected a name, or the JSON text of a name "
            'and its arguments, such as ["name", {"kwarg": 1}]'
        ) from error
    return name, kwargs


def call_text(made: object, first: Sequence[str] = (), last: Sequence[str] = ()) -> str:
    """``Class(name=value, ...)``, of the constructor's arguments that an object keeps by name."""
    own = [n for n in inspect.signature(type(made)).parameters if n in vars(made)]
    names = dict.fromkeys([*first, *own, *last])
    values = [f"{n}={vars(made)[n]!r}" for n in names if vars(made).get(n) is not None]
    return f"{type(made).__name__}({', '.join(values)})"


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function ``create(name_or_instance, *args, **kwargs)`` for the registered classes.

    The name may also be the JSON text ``'["name", {"kwarg": value}]'`` that MXNet writes.
    """
    registry = _REGISTRIES.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        if args:
            name, args = args[0], args[1:]
        else:
            name = kwargs.pop(nickname, None)
        if isinstance(name, base_class):
            if args or kwargs:
                raise ParameterError(
                    f"{nickname} is already an instance of {type(name).__name__}; "
                    "pass no further arguments"
                )
            return name
        if isinstance(name, dict):
            return create(**name)
        if not isinstance(name, str):
            raise ParameterError(
                f"{nickname}: got {name!r}, expected a registered name, or an instance of "
                f"{base_class.__name__}"
                f"{instance_hint(name)}"
            )
        if name.startswith(("[", "{")):
            named, kwargs = _parsed(name, nickname)
            try:
                return create(named, **kwargs)
            except TypeError as error:
                raise ParameterError(f"{nickname} {named!r}: {error}") from error
        if name.lower() not in registry:
            raise NameNotFoundError(
                f"{name!r} is not a registered {nickname}.{nearest(name.lower(), registry)} "
                f"Registered: {', '.join(sorted(registry))}"
            )
        return registry[name.lower()](*args, **kwargs)

    create.__doc__ = f"Create a {nickname} from its registered name, or return the instance given."
    return create
