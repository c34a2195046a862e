"""``mx.profiler``: MXNet's profiler interface over ``jax.profiler``.

A trace is a directory with the name of MXNet's file without ``.json``; TensorBoard and Perfetto
display it.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any, Self

import jax

from modkit.errors import NotSupportedError, ParameterError, nearest

_KNOWN = (
    "profile_all", "profile_symbolic", "profile_imperative", "profile_memory", "profile_api",
    "profile_process", "profile_device", "filename", "continuous_dump", "dump_period",
    "aggregate_stats", "gpu_memory_profile_filename_prefix",
)  # fmt: skip

_log = logging.getLogger(__name__)
_folder = "profile"
_running = False
_times_ms: dict[str, tuple[int, float, float, float]] = {}
"""Number, sum, least and largest of the durations by name."""
_times_lock = threading.Lock()


def set_config(**kwargs: Any) -> None:
    """Set the path of the trace, ``filename``.

    MXNet's other options are accepted without effect: a trace of JAX contains all events.

    Raises:
        ParameterError: not an option of MXNet.
    """
    global _folder
    for name in kwargs:
        if name not in _KNOWN:
            raise ParameterError(
                f"set_config: no parameter {name!r}.{nearest(name, _KNOWN)} "
                f"It takes: {', '.join(_KNOWN)}"
            )
    _folder = str(kwargs.get("filename", _folder)).removesuffix(".json")


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start (``"run"``) or stop (``"stop"``) a trace.

    Args:
        state: ``"run"`` or ``"stop"``.
        profile_process: ``"worker"``; there are no server processes.

    Raises:
        ParameterError: an unknown state.
        NotSupportedError: another process.
    """
    global _running
    if state not in ("run", "stop"):
        raise StateError(f"set_state: got {state!r}, expected 'run' or 'stop'")
    if profile_process != "worker":
        raise NotSupportedError("set_state: modkit has no server processes to profile")
    if state == "run" and not _running:
        jax.profiler.start_trace(_folder)
    elif state == "stop" and _running:
        jax.profiler.stop_trace()
        _log.info("profiler: wrote a trace into %s", _folder)
    _running = state == "run"


class StateError(ParameterError, KeyError):
    """A state that is neither ``"run"`` nor ``"stop"``."""


def pause(profile_process: str = "worker") -> None:
    """Equivalent to ``set_state("stop")``; `resume` starts another trace."""
    set_state("stop", profile_process)


def resume(profile_process: str = "worker") -> None:
    """Equivalent to ``set_state("run")``."""
    set_state("run", profile_process)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Stop and write the trace; with ``finished=False`` it keeps running."""
    if finished:
        set_state("stop", profile_process)


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """A table of the durations of tasks, frames and events.

    Differs: operators, markers and counters are not in it; operators are in the trace, which
    TensorBoard and Perfetto display.

    Args:
        reset: forget the intervals so far.
        format: ``"table"`` or ``"json"``.
        sort_by: ``"total"``, ``"avg"``, ``"min"``, ``"max"`` (milliseconds) or ``"count"``.
        ascending: smallest first.

    Raises:
        ParameterError: an unknown format or order.
    """
    columns = ("count", "total", "min", "max", "avg")
    if format not in ("table", "json") or sort_by not in columns:
        raise ParameterError(
            f"dumps: got format={format!r}, sort_by={sort_by!r}, expected table or json, and one "
            f"of {', '.join(columns)}"
        )
    with _times_lock:
        times = dict(_times_ms)
        if reset:
            _times_ms.clear()
    rows = {
        name: dict(zip(columns, (*figures, figures[1] / figures[0]), strict=True))
        for name, figures in times.items()
    }
    order = sorted(rows, key=lambda name: rows[name][sort_by], reverse=not ascending)
    if format == "json":
        return json.dumps({"Time": {name: rows[name] for name in order}, "Unit": "ms"})
    head = f"{'Name':<40}" + "".join(f"{c.capitalize():>14}" for c in columns)
    lines = [
        f"{name:<40}{rows[name]['count']:>14}"
        + "".join(f"{rows[name][c]:>14.4f}" for c in columns[1:])
        for name in order
    ]
    return "\n".join(["Profile Statistics (times in ms)", head, *lines, ""])


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """`set_config` of MXNet before 1.3; ``mode`` does not matter: a trace contains all events."""
    del mode
    set_config(filename=filename)


def profiler_set_state(state: str = "stop") -> None:
    """`set_state` of MXNet before 1.3."""
    set_state(state)


def dump_profile() -> None:
    """`dump` of MXNet before 1.3."""
    dump()


class Domain:
    """A namespace of tasks, frames, counters and markers."""

    def __init__(self, name: str):
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """A counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A marker of this domain."""
        return Marker(self, name)


class Event:
    """A named interval of the trace, from `start` to `stop`."""

    def __init__(self, name: str):
        self.name = name
        self._annotation: Any = None
        self._began_s = 0.0

    def start(self) -> None:
        """Begin the interval."""
        self._began_s = time.perf_counter()
        self._annotation = jax.profiler.TraceAnnotation(self.name)
        self._annotation.__enter__()

    def stop(self) -> None:
        """End the interval."""
        if self._annotation is not None:
            self._annotation.__exit__(None, None, None)
            self._annotation = None
            took_ms = 1e3 * (time.perf_counter() - self._began_s)
            with _times_lock:
                count, total, least, most = _times_ms.get(self.name, (0, 0.0, took_ms, took_ms))
                _times_ms[self.name] = (
                    count + 1, total + took_ms, min(least, took_ms), max(most, took_ms)
                )  # fmt: skip

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.name


class Task(Event):
    """An `Event` of a domain."""

    def __init__(self, domain: Domain, name: str):
        super().__init__(name)
        self.domain = domain


class Frame(Task):
    """A repeated `Task`, such as one iteration."""


class Marker:
    """A named instant of the trace."""

    def __init__(self, domain: Domain, name: str):
        self.domain, self.name = domain, name

    def mark(self, scope: str = "process") -> None:
        """Record the current time; ``scope`` becomes part of the name."""
        with jax.profiler.TraceAnnotation(f"{self.domain}:{self.name} ({scope})"):
            pass

    def __str__(self) -> str:
        return self.name


class Counter:
    """A named number, readable as ``value``; it does not appear in JAX's traces."""

    def __init__(self, domain: Domain, name: str, value: float | None = None):
        self.domain, self.name = domain, name
        self.value = 0 if value is None else value

    def set_value(self, value: float) -> None:
        """Set the value."""
        self.value = value

    def increment(self, delta: float = 1) -> None:
        """Add to the value."""
        self.value += delta

    def decrement(self, delta: float = 1) -> None:
        """Subtract from the value."""
        self.value -= delta

    def __iadd__(self, delta: float) -> Self:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Self:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name
