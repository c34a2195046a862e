"""Devices: MXNet's ``cpu(i)`` and ``gpu(i)`` over JAX's devices."""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from modkit.errors import DeviceError, NameNotFoundError, wrong
from modkit.fork import process
from modkit.lazy import dir_of
from modkit.scope import Scope, Scoped

__dir__ = dir_of(__name__)


class _WithDefault(Scoped):
    """The class of `Context`, whose attribute ``default_ctx`` is the present context."""

    default_ctx = Scoped.current


class Context(Scope, metaclass=_WithDefault):
    """A device that arrays live on; ``with mx.gpu(0):`` makes it the default.

    ``cpu(i)`` is the i-th CPU device of JAX; where JAX shows fewer, ``cpu(i)`` shares a device
    (as MXNet's CPU contexts all do). ``gpu(i)`` is the i-th accelerator of any kind.

    Args:
        device_type: ``"cpu"``, ``"gpu"``, ``"tpu"``, ``"cpu_pinned"``, ``"cpu_shared"``, or a
            Context to copy.
        device_id: which one, from 0.
    """

    devtype2str: ClassVar[dict[int, str]] = {
        1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared", 6: "tpu",
    }  # fmt: skip
    devstr2type: ClassVar[dict[str, int]] = {name: code for code, name in devtype2str.items()}

    _default_ctx: ClassVar[Any]

    __slots__ = ("device_id", "device_typeid")

    def __init__(self, device_type: str | Context, device_id: int = 0):
        # A str comes first: the outermost context is made before the class is bound to its name.
        if not isinstance(device_type, str) and isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
            return
        if device_type not in self.devstr2type:
            raise NameNotFoundError(
                f"Context: got device type {device_type!r}, expected one of "
                f"{', '.join(self.devstr2type)}"
            )
        self.device_typeid = self.devstr2type[device_type]
        try:
            self.device_id = int(device_id)
        except (TypeError, ValueError, OverflowError):
            raise wrong("Context: device_id", device_id, "a whole number") from None

    @property
    def default_ctx(self) -> Context:
        """The present context, as of the class."""
        return current_context()

    @property
    def device_type(self) -> str:
        """The device's kind, as a string."""
        return self.devtype2str[self.device_typeid]

    @property
    def _is_cpu(self) -> bool:
        """True for ``cpu``, ``cpu_pinned`` and ``cpu_shared``, and for kinds mapped to them."""
        return self.device_typeid in _on_cpu

    def _check(self) -> None:
        """Check that the accelerator exists.

        CPUs are not checked, since that would make JAX start its threads.

        Raises:
            DeviceError: there is no such accelerator.
        """
        if not self._is_cpu:
            _ = self.jax_device

    @property
    def jax_device(self) -> Any:
        """The JAX device behind this context.

        Raises:
            DeviceError: there is no such accelerator.
            NotSupportedError: in a child that was forked after JAX had started.
        """
        process.start()
        if self._is_cpu:
            devices = jax.local_devices(backend="cpu")
            return devices[self.device_id % len(devices)]
        devices = _accelerators()
        if not 0 <= self.device_id < len(devices):
            raise DeviceError(
                f"{self!r}: accelerators that JAX finds here: {len(devices) or 'none'}. "
                "Use mx.cpu() (an unchanged script: `modkit run --map gpu=cpu script.py`), or "
                "install the jaxlib for your device (pip install 'jax[cuda12]' for NVIDIA)."
            )
        return devices[self.device_id]

    def empty_cache(self) -> None:
        """Do nothing: JAX returns memory to its pool by itself."""

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Context)
            and self.device_typeid == other.device_typeid
            and self.device_id == other.device_id
        )

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    @classmethod
    def _outermost(cls) -> Context:
        return cls("cpu", 0)


Context._default_ctx = Context._current  # MXNet's name
_on_cpu = {code for code, kind in Context.devtype2str.items() if kind.startswith("cpu")}
"""The kinds of contexts on CPU devices, by their codes."""


def _map_device(kind: str, onto: str) -> None:
    """Place one kind of contexts on the devices of another: ``gpu(i)`` on the i-th CPU device.

    Contexts keep their names. ``num_gpus()`` counts CPU devices while ``"gpu"`` is mapped to them.

    Args:
        kind: the kind to map: ``"cpu"``, ``"gpu"`` or ``"tpu"``.
        onto: the kind whose devices are used; ``kind`` itself ends the mapping.
    """
    for each in (kind, onto):
        if each not in ("cpu", "gpu", "tpu"):
            raise NameNotFoundError(f"--map: got {each!r}, expected cpu, gpu or tpu")
    code = Context.devstr2type[kind]
    if onto == "cpu":
        _on_cpu.add(code)
    else:
        _on_cpu.discard(code)


def _accelerators() -> list[Any]:
    return [d for d in jax.local_devices() if d.platform != "cpu"]


def cpu(device_id: int = 0) -> Context:
    """The CPU context ``cpu(device_id)``."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """The same as ``cpu``: JAX manages pinned memory by itself."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """The accelerator context ``gpu(device_id)``."""
    return Context("gpu", device_id)


def tpu(device_id: int = 0) -> Context:
    """The accelerator context ``tpu(device_id)``; the same device as ``gpu(device_id)``."""
    return Context("tpu", device_id)


def num_gpus() -> int:
    """The number of accelerators that JAX shows in this process."""
    return len(jax.local_devices(backend="cpu") if gpu()._is_cpu else _accelerators())


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total memory of an accelerator, in bytes."""
    stats = gpu(device_id).jax_device.memory_stats() or {}
    total = stats.get("bytes_limit", 0)
    return total - stats.get("bytes_in_use", 0), total


def current_context() -> Context:
    """The context of the innermost ``with``, else ``cpu(0)``."""
    return Context._current.entered[-1]
