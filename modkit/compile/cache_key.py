"""Keys of compiled programs, which are the same in every process: cache keys of the disk cache."""

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

from modkit.tuning.config import current

_PACKAGE = __name__.split(".")[0]


class NotDescribable(Exception):
    """A function closes over a value that has no cache key, such as a user's own object."""


@runtime_checkable
class Describable(Protocol):
    """An object that contributes to the cache key of the programs compiled from it."""

    def cache_key_parts(self) -> tuple[Any, ...]:
        """Values that are equal if and only if the compiled programs are."""
        ...


def describe(value: Any) -> str:
    """A text that is the same in every process for values that make the same program.

    A function is represented by its name and the values that it closes over; `surroundings`
    covers its code.

    Raises:
        NotDescribable: the value is, or contains, an object of a class defined outside modkit.
    """
    return "".join(_parts(value))


def _parts(value: Any) -> Iterator[str]:
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        yield f"{type(value).__name__}:{value!r};"
    elif isinstance(value, np.dtype):
        yield f"dtype:{value.str}:{value.name};"
    elif isinstance(value, tuple | list | frozenset):
        yield f"{_name(type(value))}["
        texts = map(describe, value)  # a set has another order in each process
        yield from sorted(texts) if isinstance(value, frozenset) else texts
        yield "]"
    elif isinstance(value, Mapping):
        yield f"{_name(type(value))}{{"
        for key, part in value.items():
            yield from _parts(key)
            yield from _parts(part)
        yield "}"
    elif isinstance(value, type):
        yield f"class:{_name(value)};"
    elif isinstance(value, FunctionType):
        yield from _function_parts(value)
    elif isinstance(value, functools.partial) and isinstance(value.func, FunctionType):
        yield "partial("
        yield from _parts((value.func, value.args, value.keywords))
        yield ")"
    elif isinstance(value, Describable):
        yield f"{_name(type(value))}("
        yield from _parts(value.cache_key_parts())
        yield ")"
    elif dataclasses.is_dataclass(value):
        yield f"{_name(type(value))}("
        for field in dataclasses.fields(value):
            yield from _parts(getattr(value, field.name))
        yield ")"
    else:
        raise NotDescribable(repr(type(value)))


def _function_parts(function: FunctionType) -> Iterator[str]:
    code: CodeType = function.__code__
    # One scope may define several functions of the same name: the line tells them apart.
    yield f"def:{_name(function)}:{code.co_firstlineno}("
    for cell in function.__closure__ or ():
        yield from _parts(cell.cell_contents)
    yield from _parts(function.__defaults__)
    yield from _parts(function.__kwdefaults__)
    yield ")"


def _name(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or ""
    if module not in ("builtins", "types", "collections") and module.split(".")[0] != _PACKAGE:
        raise NotDescribable(f"{module}.{getattr(thing, '__qualname__', thing)}")
    return f"{module}.{thing.__qualname__}"


@functools.cache
def _versions() -> str:
    """Versions of modkit's source files, Python, JAX and NumPy, and the processor."""
    root = Path(__file__).resolve().parent.parent
    sources = [(p, p.stat()) for p in sorted(root.rglob("*.py"))]
    if not sources:
        raise NotDescribable(str(root))  # in an archive
    own = [f"{p.relative_to(root)} {s.st_size} {s.st_mtime_ns}" for p, s in sources]
    needed = [f"{n} {importlib.metadata.version(n)}" for n in ("jax", "jaxlib", "numpy")]
    return "\n".join([sys.version, *needed, *own, _processor()])


def _processor() -> str:
    """Model and features of the processor: compiled programs run on no other."""
    about = Path("/proc/cpuinfo")
    wanted = ("model name", "flags", "Features", "CPU part", "cpu family", "model\t", "stepping")
    lines = about.read_text().splitlines() if about.exists() else []
    return "\n".join([platform.machine(), platform.processor(),
                      *sorted({n for n in lines if n.startswith(wanted)})])  # fmt: skip


def setting(name: str) -> Any:
    """The current value of a JAX setting in this thread."""
    return getattr(jax.config, name, None)


def surroundings(device: Any) -> str:
    """Versions, JAX settings, tuning and device; NotDescribable if modkit is in an archive."""
    return f"{_versions()}\n{process_settings(device)}"


def process_settings(device: Any) -> str:
    """Cache key parts that can change within a process: JAX settings, flags, tuning, device."""
    settings = [f"{name}={setting(name)!r}" for name in sorted(jax.config.values)]
    flags = [f"{n}={os.environ.get(n)!r}" for n in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")]
    where = (device.platform, device.device_kind, device.id, jax.device_count(),
             getattr(device.client, "platform_version", ""))  # fmt: skip
    tuned = ",".join(sorted(current().pieces))
    return "\n".join([*settings, *flags, tuned, repr(where)])


def digest(*texts: str) -> str:
    """The SHA-256 digest of texts, each prefixed by its length."""
    made = hashlib.sha256()
    for text in texts:
        data = text.encode()
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.hexdigest()
