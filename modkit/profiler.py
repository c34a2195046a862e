"""``mx.profiler``: MXNet's profiler interface over ``jax.profiler``.

A trace is a file that MXNet's would be, and a directory of its name without ``.json``, which
TensorBoard and XProf display.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self

import jax

from modkit import fork
from modkit.constructors import ChecksArguments
from modkit.errors import (
    FileAccessError,
    NameNotFoundError,
    NotReadyError,
    NotSupportedError,
    expect,
    not_taken,
    one_of,
    wrong,
)
from modkit.files import atomic_write, named_errors
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

_SWITCHES = (
    "profile_all", "profile_symbolic", "profile_imperative", "profile_memory", "profile_api",
    "continuous_dump", "aggregate_stats",
)  # fmt: skip
_KNOWN = (
    *_SWITCHES, "profile_process", "profile_device", "filename", "dump_period",
    "gpu_memory_profile_filename_prefix",
)  # fmt: skip
_WORDS = {"true": True, "1": True, "false": False, "0": False}

_log = logging.getLogger(__name__)
_folder = "profile"
_traced = _folder
"""The folder of the trace that runs, or of the latest: `set_config` may have set another since."""
_running = _unwritten = _undumped = False
_times_ms: dict[str, dict[str, tuple[int, float, float, float]]] = {}
"""Number, sum, least and largest of the durations, by section of the table and by name."""
_lock = fork.lock()
"""Held while the state or the durations change."""
_aggregates = _imperative = False
"""Whether programs are timed while the profiler runs, and whether eager operators are too."""
aggregated: frozenset[str] = frozenset()
"""The kinds that are timed now: ``"programs"``, ``"operators"``."""
_CUSTOM = "Custom Operator"
_custom: ContextVar[str] = ContextVar("custom", default="")
"""The custom operator whose Python code runs."""


def set_config(**kwargs: Any) -> None:
    """Set the path of the trace, ``filename``, and what `dumps` has rows of.

    A trace is a file for ``chrome://tracing``, and a folder beside it, of the same name without
    ``.json``, for TensorBoard and XProf.

    With ``aggregate_stats=True`` programs of bound graphs are timed while the profiler runs, and
    so are eager operators, unless ``profile_imperative=False``. Each then waits for its results,
    which asynchronous runs do not; the first run of each includes the compilation.

    MXNet's other options are accepted without effect: a trace of JAX contains all events.

    Raises:
        ParameterError: not an option of MXNet, a switch that is neither True nor False, or a
            ``dump_period`` that is no number.
        NotSupportedError: another process than the worker.
    """
    global _folder, _aggregates, _imperative, aggregated
    for name in kwargs:
        if name not in _KNOWN:
            raise not_taken("set_config", name, _KNOWN)
    _need_worker("set_config", kwargs.get("profile_process", "worker"))
    on = {name: _switch(name, kwargs[name]) for name in _SWITCHES if name in kwargs}
    period = kwargs.get("dump_period", 1)
    try:
        float(str(period))
    except ValueError:
        raise wrong("set_config: dump_period", period, "seconds") from None
    _folder = str(kwargs.get("filename", _folder)).removesuffix(".json")
    _aggregates = on.get("aggregate_stats", False)
    _imperative = on.get("profile_all", False) or on.get("profile_imperative", True)
    aggregated = _present()


def _switch(name: str, value: Any) -> bool:
    word = str(value).lower()
    expect(word in _WORDS, f"set_config: {name}", value, "True or False")
    return _WORDS[word]


def _need_worker(where: str, process: str) -> None:
    if process != "worker":
        raise NotSupportedError(f"{where}: modkit has no server processes to profile")


def _present() -> frozenset[str]:
    if not (_running and _aggregates):
        return frozenset()
    return frozenset(["programs", "operators"] if _imperative else ["programs"])


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start (``"run"``) or stop (``"stop"``) a trace.

    Args:
        state: ``"run"`` or ``"stop"``.
        profile_process: ``"worker"``; there are no server processes.

    Raises:
        NameNotFoundError: an unknown state.
        NotSupportedError: another process.
        FileAccessError: the folder of the trace cannot be written. The profiler has stopped; JAX
            keeps that trace, and writes it before the next one starts.
    """
    global _running, _unwritten, _undumped, _traced, aggregated
    if state not in ("run", "stop"):
        raise NameNotFoundError(f"set_state: got {state!r}, expected 'run' or 'stop'")
    _need_worker("set_state", profile_process)
    with _lock:
        if (state == "run") is _running:
            return
        if state == "run":
            with named_errors(_folder, "written"):  # else the error comes with the trace
                Path(_folder).mkdir(parents=True, exist_ok=True)
            if _unwritten:
                _end_trace()
            jax.profiler.start_trace(_folder)
            _traced, _undumped = _folder, True
        _running = state == "run"
        aggregated = _present()
        if not _running:
            _unwritten = True
            _end_trace()
            _log.info(
                "profiler: wrote a trace into %s, and %s for chrome://tracing", _traced, _write()
            )


def _end_trace() -> None:
    """End JAX's trace, which goes on where it cannot be written."""
    global _unwritten
    try:
        jax.profiler.stop_trace()
    except jax.errors.JaxRuntimeError as error:
        raise FileAccessError(f"{_traced}: cannot be written: {error}") from error
    _unwritten = False


def _write() -> Path:
    """Write the events of the latest trace to the configured file, as MXNet's profiler does."""
    path = Path(f"{_folder}.json")
    latest = max(Path(_traced).glob("plugins/profile/*/*.trace.json.gz"))
    content = gzip.decompress(latest.read_bytes())
    end = b"]}"
    with atomic_write(path) as file:  # JAX's last event is an empty one
        file.write(content.removesuffix(b",{}" + end).removesuffix(end) + end)
    return path


def timed(name: str, compute: Callable[[], Any]) -> Any:
    """Results of an operator or a program, whose time until they are computed becomes a row."""
    began_s = time.perf_counter()
    made = jax.block_until_ready(compute())
    custom = _custom.get()
    section, row = (_CUSTOM, f"{custom}::{name}") if custom else ("operator", name)
    _note(section, row, began_s)
    return made


@contextlib.contextmanager
def custom_operator(name: str) -> Iterator[None]:
    """A call of a custom operator's Python code: it has a row, and so has what it calls."""
    if "operators" not in aggregated:
        yield
        return
    began_s, token = time.perf_counter(), _custom.set(name)
    try:
        yield
    finally:
        _custom.reset(token)
        _note(_CUSTOM, f"{name}::pure_python", began_s)


def _note(section: str, name: str, began_s: float) -> None:
    """Add an interval, which ends now, to the table."""
    took_ms = 1e3 * (time.perf_counter() - began_s)
    with _lock:
        rows = _times_ms.setdefault(section, {})
        count, total, least, most = rows.get(name, (0, 0.0, took_ms, took_ms))
        rows[name] = count + 1, total + took_ms, min(least, took_ms), max(most, took_ms)


def pause(profile_process: str = "worker") -> None:
    """Equivalent to ``set_state("stop")``; `resume` starts another trace."""
    set_state("stop", profile_process)


def resume(profile_process: str = "worker") -> None:
    """Equivalent to ``set_state("run")``."""
    set_state("run", profile_process)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Stop and write the trace; with ``finished=False`` it keeps running.

    Raises:
        NotReadyError: the profiler has not run since the last dump.
        NotSupportedError: another process than the worker.
    """
    global _undumped
    _need_worker("dump", profile_process)
    if not _undumped:
        raise NotReadyError('dump: the profiler has not run; set_state("run") comes first')
    if finished:
        set_state("stop")
        _undumped = False


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """Tables of durations: of operators, tasks, frames and events.

    Rows of operators need ``set_config(aggregate_stats=True)``. A bound graph runs as one program,
    or as one for each pass, and so has a row for each program and none for its operators: their
    shares are in the trace, which TensorBoard and Perfetto display. The backward pass of
    `mx.autograd` has a row, too. The row ``NAME::pure_python`` is the Python code of a custom
    operator; operators called in it have their usual rows.

    Differs: there are no rows of markers, counters, memory, and calls of MXNet's C functions.

    Args:
        reset: forget the intervals so far.
        format: ``"table"`` or ``"json"``.
        sort_by: ``"total"``, ``"avg"``, ``"min"``, ``"max"`` (milliseconds) or ``"count"``.

    Raises:
        ParameterError: an unknown format or order, or a switch that is neither True nor False.
    """
    columns = ["Count", "Total", "Min", "Max", "Avg"]
    for name, value, known in (
        ("reset", reset, (True, False)),
        ("ascending", ascending, (True, False)),
        ("format", format, ("table", "json")),
        ("sort_by", sort_by, tuple(map(str.lower, columns))),
    ):
        one_of(f"dumps: {name}", value, known)
    with _lock:
        sections = {section: dict(times) for section, times in _times_ms.items()}
        if reset:
            _times_ms.clear()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for section, times in sorted(sections.items()):
        rows = [
            (name, dict(zip(columns, (*figures, figures[1] / figures[0]), strict=True)))
            for name, figures in times.items()
        ]
        rows.sort(key=lambda row: row[1][sort_by.capitalize()], reverse=not ascending)
        found[section] = dict(rows)
    if format == "json":
        units = {"Time": "ms", "Memory": "kB"}
        return json.dumps({"Time": found, "Memory": {}, "Unit": units})
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    for section, rows in found.items():
        lines += [section, "=" * 17, *_HEAD]
        for name, row in rows.items():
            times = "".join(f"{row[c]:>17.4f}" for c in columns[1:])
            lines.append(f"{name:<25}{row['Count']:>16}{times}")
        lines.append("")
    return "\n".join([*lines, ""])


_TITLES = ("Name", "Total Count", "Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")
_HEAD = tuple(
    f"{name:<25}{count:>16}" + "".join(f"{each:>17}" for each in rest)
    for name, count, *rest in (_TITLES, ["-" * len(title) for title in _TITLES])
)
"""The first lines of each table, as MXNet 1.9.1 prints them."""


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """`set_config` of MXNet before 1.3, with the switch ``profile_MODE``."""
    modes = [name.removeprefix("profile_") for name in _SWITCHES if name.startswith("profile_")]
    one_of("profiler_set_config: mode", mode, modes)
    set_config(**{f"profile_{mode}": True}, filename=filename)


def profiler_set_state(state: str = "stop") -> None:
    """`set_state` of MXNet before 1.3."""
    set_state(state)


def dump_profile() -> None:
    """`dump` of MXNet before 1.3."""
    dump()


class _Named(ChecksArguments):
    """An object whose text is its name."""

    def __init__(self, name: str):
        expect(isinstance(name, str), f"{type(self).__name__}: name", name, "a text")
        self.name = name

    def __str__(self) -> str:
        return self.name


class Domain(_Named):
    """A namespace of tasks, frames, counters and markers."""

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


def _need_domain(made: _Named, domain: Any) -> None:
    name = type(made).__name__
    expect(isinstance(domain, Domain), f"{name}: domain", domain, "a Domain, as Domain('mine')")


class Event(_Named):
    """A named interval of the trace, from `start` to `stop`."""

    def __init__(self, name: str):
        super().__init__(name)
        self._section = "event"
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
            _note(self._section, self.name, self._began_s)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


class Task(Event):
    """An `Event` of a domain."""

    def __init__(self, domain: Domain, name: str):
        super().__init__(name)
        _need_domain(self, domain)
        self.domain, self._section = domain, str(domain)


class Frame(Task):
    """A repeated `Task`, such as one iteration."""

    def __init__(self, domain: Domain, name: str):
        super().__init__(domain, name)
        self._section = f"{domain},frame"


_SCOPES = ("global", "process", "thread", "task", "marker")


class Marker(_Named):
    """A named instant of the trace."""

    def __init__(self, domain: Domain, name: str):
        super().__init__(name)
        _need_domain(self, domain)
        self.domain = domain

    def mark(self, scope: str = "process") -> None:
        """Record the current time; ``scope`` becomes part of the name.

        Raises:
            ParameterError: not one of ``"global"``, ``"process"``, ``"thread"``, ``"task"`` and
                ``"marker"``.
        """
        expect(scope in _SCOPES, "mark: scope", scope, f"one of {', '.join(_SCOPES)}")
        with jax.profiler.TraceAnnotation(f"{self.domain}:{self.name} ({scope})"):
            pass


class Counter(_Named):
    """A named whole number, readable as ``value``; it does not appear in JAX's traces."""

    def __init__(self, domain: Domain, name: str, value: Any = None):
        super().__init__(name)
        _need_domain(self, domain)
        self.domain = domain
        self.set_value(0 if value is None else value)

    def set_value(self, value: Any) -> None:
        """Set the value; ParameterError for what `int` does not take."""
        self.value = self._whole("value", value)

    def increment(self, delta: Any = 1) -> None:
        """Add to the value."""
        self.value += self._whole("delta", delta)

    def decrement(self, delta: Any = 1) -> None:
        """Subtract from the value."""
        self.value -= self._whole("delta", delta)

    def _whole(self, what: str, number: Any) -> int:
        try:
            return int(number)
        except (TypeError, ValueError, OverflowError) as error:
            raise wrong(f"Counter {self.name!r}: {what}", number, "a whole number") from error

    def __iadd__(self, delta: float) -> Self:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Self:
        self.decrement(delta)
        return self
