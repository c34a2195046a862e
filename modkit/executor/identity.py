"""What a compiled program is, in words that mean the same in every process: keys of the store."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

_PACKAGE = __name__.split(".")[0]


class NotDescribable(Exception):
    """A function depends on something whose text is not known: a user's own code, an object."""


@runtime_checkable
class Describable(Protocol):
    """What can say which of its facts decide a program."""

    def facts(self) -> tuple[Any, ...]:
        """Values that are equal wherever the programs are, and only there."""
        ...


def describe(value: Any) -> str:
    """A text that is the same in every process for values that make the same program.

    Functions are known by their name and by what they close over; their code by `surroundings`.

    Raises:
        NotDescribable: it is, or holds, something that modkit has not defined.
    """
    return "".join(_words(value))


def _words(value: Any) -> Iterator[str]:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        yield f"{type(value).__name__}:{value!r};"
    elif isinstance(value, np.dtype):
        yield f"dtype:{value.str}:{value.name};"
    elif isinstance(value, tuple | list):
        yield f"{_name(type(value))}["
        for part in value:
            yield from _words(part)
        yield "]"
    elif isinstance(value, Mapping):
        yield f"{_name(type(value))}{{"
        for key, part in value.items():
            yield from _words(key)
            yield from _words(part)
        yield "}"
    elif isinstance(value, type):
        yield f"class:{_name(value)};"
    elif isinstance(value, FunctionType):
        yield from _function_words(value)
    elif isinstance(value, Describable):
        yield f"{_name(type(value))}("
        yield from _words(value.facts())
        yield ")"
    elif dataclasses.is_dataclass(value):
        yield f"{_name(type(value))}("
        for field in dataclasses.fields(value):
            yield from _words(getattr(value, field.name))
        yield ")"
    else:
        raise NotDescribable(repr(type(value)))


def _function_words(function: FunctionType) -> Iterator[str]:
    code: CodeType = function.__code__
    # Functions of one name may stand in one scope, one after the other.
    yield f"def:{_name(function)}:{code.co_firstlineno}("
    for cell in function.__closure__ or ():
        yield from _words(cell.cell_contents)
    yield from _words(function.__defaults__)
    yield from _words(function.__kwdefaults__)
    yield ")"


def _name(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or ""
    if module not in ("builtins", "types", "collections") and module.split(".")[0] != _PACKAGE:
        raise NotDescribable(f"{module}.{getattr(thing, '__qualname__', thing)}")
    return f"{module}.{thing.__qualname__}"


@functools.cache
def _versions() -> str:
    """Modkit's own text, and everything that makes machine code of it."""
    root = Path(__file__).resolve().parent.parent
    sources = [(p, p.stat()) for p in sorted(root.rglob("*.py"))]
    if not sources:
        raise NotDescribable(str(root))  # in an archive
    own = [f"{p.relative_to(root)} {s.st_size} {s.st_mtime_ns}" for p, s in sources]
    needed = [f"{n} {importlib.metadata.version(n)}" for n in ("jax", "jaxlib", "numpy")]
    return "\n".join([sys.version, *needed, *own, _processor()])


def _processor() -> str:
    """The machine's processor and all that it can do: programs are made for it alone."""
    about = Path("/proc/cpuinfo")
    wanted = ("model name", "flags", "Features", "CPU part", "cpu family", "model\t", "stepping")
    lines = about.read_text().splitlines() if about.exists() else []
    return "\n".join([platform.machine(), platform.processor(),
                      *sorted({n for n in lines if n.startswith(wanted)})])  # fmt: skip


def setting(name: str) -> Any:
    """A setting of JAX as it is for this thread now."""
    return getattr(jax.config, name, None)


def surroundings(device: Any) -> str:
    """What decides a program besides its function: versions, settings of JAX, the device."""
    settings = [f"{name}={setting(name)!r}" for name in sorted(jax.config.values)]
    flags = [f"{n}={os.environ.get(n)!r}" for n in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")]
    where = (device.platform, device.device_kind, device.id, jax.device_count(),
             getattr(device.client, "platform_version", ""))  # fmt: skip
    return "\n".join([_versions(), *settings, *flags, repr(where)])


def digest(*texts: str) -> str:
    """A key of texts."""
    made = hashlib.sha256()
    for text in texts:
        data = text.encode()
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.hexdigest()
