"""``mx.util``: helpers of MXNet, and its switches of NumPy semantics, which are always off."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from modkit.context import Context, gpu_memory_info, num_gpus
from modkit.errors import NotSupportedError, ParameterError

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
    if not isinstance(ctx, Context) or ctx.device_type != "gpu":
        raise ParameterError(f"get_cuda_compute_capability: got {ctx!r}, expected mx.gpu(i)")
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


def is_np_shape() -> bool:
    """Always ``False``: a size of 0 means unknown, and there are no arrays of shape ``()``."""
    return False


def is_np_array() -> bool:
    """Always ``False``: arrays are ``mx.nd`` arrays."""
    return False


def _refuse(what: str) -> NotSupportedError:
    return NotSupportedError(f"{what}: NumPy semantics are not supported. {_INSTEAD}")


def set_np_shape(active: bool) -> bool:
    """Return the previous state, ``False``; raise if ``active``."""
    if active:
        raise _refuse("set_np_shape(True)")
    return False


def np_shape(active: bool = True) -> contextlib.AbstractContextManager[None]:
    """A context without NumPy shapes; raise if ``active``."""
    if active:
        raise _refuse("np_shape()")
    return contextlib.nullcontext()


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
    """Do nothing: NumPy semantics are off."""


def use_np_shape(func: Any) -> Any:
    """Replace a function by one that raises when it is called; see `is_np_shape`."""
    return _refused(func, "use_np_shape")


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
