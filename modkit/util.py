"""``mx.util``: helpers of MXNet, and its switches of NumPy semantics: shapes, but not arrays."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from modkit.context import Context, gpu_memory_info, num_gpus
from modkit.errors import NotSupportedError, expect
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

T = TypeVar("T")

_INSTEAD = "modkit is MXNet's Module API, with mx.nd and mx.sym; use NumPy or jax.numpy beside it"


def makedirs(d: str | os.PathLike[str]) -> None:
    """Create a directory and its parents; it may exist."""
    Path(d).mkdir(parents=True, exist_ok=True)


def getenv(name: str) -> str | None:
    """An environment variable, or ``None``."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; ``None`` removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def get_gpu_count() -> int:
    """Number of accelerators."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total memory of an accelerator, in bytes."""
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Context) -> int | None:
    """The compute capability of an NVIDIA GPU, 90 for 9.0; ``None`` if JAX does not report it.

    Raises:
        ParameterError: ``ctx`` is not a GPU.
    """
    is_gpu = isinstance(ctx, Context) and ctx.device_type == "gpu"
    expect(is_gpu, "get_cuda_compute_capability", ctx, "mx.gpu(i)")
    text = getattr(ctx.jax_device, "compute_capability", None)
    return None if text is None else round(10 * float(text))


def set_module(module: str) -> Callable[[T], T]:
    """A decorator that sets ``__module__`` of a function or class."""

    def decorate(made: T) -> T:
        if module is not None:
            made.__module__ = module
        return made

    return decorate


# ── NumPy semantics ─────────────────────────────────────────────────────────────────────────


class _Shapes(threading.local):
    """Whether NumPy's shapes are on, a thread each."""

    active = False


_shapes = _Shapes()


def is_np_shape() -> bool:
    """Whether shapes are NumPy's: ``()`` has no axes, a size of 0 is none, and -1 is unknown.

    Otherwise ``()`` is a shape, and 0 a size, that is not known.
    """
    return _shapes.active


def is_np_array() -> bool:
    """Always ``False``: arrays are ``mx.nd`` arrays."""
    return False


def _refuse(what: str) -> NotSupportedError:
    return NotSupportedError(f"{what}: NumPy semantics are not supported. {_INSTEAD}")


def set_np_shape(active: bool) -> bool:
    """Turn NumPy's shapes on or off in this thread; returns the previous state."""
    before, _shapes.active = _shapes.active, bool(active)
    return before


@contextlib.contextmanager
def np_shape(active: bool = True) -> Iterator[None]:
    """A context, or a decorator, with NumPy's shapes, or without them.

    >>> with mx.np_shape():
    ...     mx.nd.zeros(()).shape
    ()
    """
    before = set_np_shape(active)
    try:
        yield
    finally:
        set_np_shape(before)


def np_array(active: bool = True) -> contextlib.AbstractContextManager[None]:
    """A context without NumPy arrays; raise if ``active``."""
    if active:
        raise _refuse("np_array()")
    return contextlib.nullcontext()


def set_np(shape: bool = True, array: bool = True) -> None:
    """Raise unless both arguments are false."""
    if shape or array:
        raise _refuse("set_np()")


def reset_np() -> None:
    """Turn NumPy semantics off."""
    set_np_shape(False)


def use_np_shape(func: Any) -> Any:
    """A function that runs with NumPy's shapes; a class of which all methods do."""
    if not isinstance(func, type):
        return np_shape()(func)
    for name, value in vars(func).copy().items():
        if isinstance(value, staticmethod | classmethod):
            setattr(func, name, type(value)(np_shape()(value.__func__)))
        elif callable(value) and not isinstance(value, type):
            setattr(func, name, np_shape()(value))
    return func


def use_np_array(func: Any) -> Any:
    """Replace a function by one that raises when it is called; see `is_np_array`."""
    return _refused(func, "use_np_array")


def use_np(func: Any) -> Any:
    """Replace a function by one that raises when it is called; see `is_np_array`."""
    return _refused(func, "use_np")


def _refused(func: Any, decorator: str) -> Callable[..., Any]:
    """A function that raises when called; decorating does not raise, so modules stay importable."""

    @functools.wraps(func, updated=())
    def refuse(*_: Any, **__: Any) -> Any:
        raise _refuse(f"{decorator} on {func.__qualname__}")

    return refuse
