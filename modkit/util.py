"""``mx.util``: small helpers, and the switches of NumPy semantics, which are always off."""

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
    """Make a folder and those above it; it may be there."""
    Path(d).mkdir(parents=True, exist_ok=True)


def getenv(name: str) -> str | None:
    """An environment variable, or ``None``."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; ``None`` takes it away."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def get_gpu_count() -> int:
    """How many accelerators there are."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total memory of an accelerator, in bytes."""
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Context) -> int | None:
    """An NVIDIA GPU's compute capability, 90 for 9.0; ``None`` where JAX does not tell.

    Raises:
        ParameterError: not a GPU.
    """
    if not isinstance(ctx, Context) or ctx.device_type != "gpu":
        raise ParameterError(f"get_cuda_compute_capability: got {ctx!r}, expected mx.gpu(i)")
    text = getattr(ctx.jax_device, "compute_capability", None)
    return None if text is None else round(10 * float(text))


def set_module(module: str) -> Callable[[T], T]:
    """A decorator that says which module a function or class is of."""

    def decorate(made: T) -> T:
        if module is not None:
            made.__module__ = module
        return made

    return decorate


# ── NumPy semantics ─────────────────────────────────────────────────────────────────────────


def is_np_shape() -> bool:
    """Always ``False``: 0 is an unknown size, and nothing has the shape ``()``."""
    return False


def is_np_array() -> bool:
    """Always ``False``: arrays are ``mx.nd`` arrays."""
    return False


def _refuse(what: str) -> NotSupportedError:
    return NotSupportedError(f"{what}: NumPy semantics are not supported. {_INSTEAD}")


def set_np_shape(active: bool) -> bool:
    """``False``, which was the state; raise if it is to be on."""
    if active:
        raise _refuse("set_np_shape(True)")
    return False


def np_shape(active: bool = True) -> contextlib.AbstractContextManager[None]:
    """A scope without NumPy shapes; raise if they are to be on."""
    if active:
        raise _refuse("np_shape()")
    return contextlib.nullcontext()


def np_array(active: bool = True) -> contextlib.AbstractContextManager[None]:
    """A scope without NumPy arrays; raise if they are to be on."""
    if active:
        raise _refuse("np_array()")
    return contextlib.nullcontext()


def set_np(shape: bool = True, array: bool = True) -> None:
    """Raise, unless both are to be off."""
    if shape or array:
        raise _refuse("set_np()")


def reset_np() -> None:
    """Do nothing: NumPy semantics are off."""


def use_np_shape(func: Any) -> Any:
    """A function that raises when it is called: see `is_np_shape`."""
    return _refused(func, "use_np_shape")


def use_np_array(func: Any) -> Any:
    """A function that raises when it is called: see `is_np_array`."""
    return _refused(func, "use_np_array")


def use_np(func: Any) -> Any:
    """A function that raises when it is called: see `is_np_array`."""
    return _refused(func, "use_np")


def _refused(func: Any, decorator: str) -> Callable[..., Any]:
    """In place of what a decorator is on, so that a file can be imported for its other parts."""

    @functools.wraps(func, updated=())
    def refuse(*_: Any, **__: Any) -> Any:
        raise _refuse(f"{decorator} on {func.__qualname__}")

    return refuse
