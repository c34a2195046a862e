"""Description of a ``.states`` file: the optimizer, if it was saved, and a state per parameter."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from modkit import ndarray
from modkit.artefacts.arrays import ArrayFacts, array_facts, array_table
from modkit.artefacts.base import Facts
from modkit.artefacts.stored import Stored
from modkit.artefacts.table import Table, bytes_text, pairs
from modkit.errors import FileFormatError, listed
from modkit.files import parse_file
from modkit.lr_scheduler import LRScheduler
from modkit.ndarray import NDArray
from modkit.optimizer import Optimizer
from modkit.optimizer.states import loads


@dataclass(frozen=True)
class StateFacts:
    """The state of one parameter.

    Attributes:
        key: index or name of the parameter.
        layout: the nesting of its arrays: ``"none"``, ``"array"``, ``"(array, array)"``.
        arrays: one after another.
    """

    key: str
    layout: str
    arrays: tuple[ArrayFacts, ...]


@dataclass(frozen=True)
class StatesFacts(Facts):
    """A ``.states`` file.

    Attributes:
        optimizer: class of the optimizer; ``None`` where it was not saved with its states.
        settings: its rates, counts and other plain settings.
        scheduler: class of its learning-rate scheduler.
        fits: names of the optimizers whose states have these layouts.
        entries: a state for each parameter.
        state_bytes: of all arrays.
    """

    optimizer: str | None
    settings: dict[str, Any]
    scheduler: str | None
    fits: tuple[str, ...]
    entries: tuple[StateFacts, ...]
    state_bytes: int

    def tables(self) -> list[Table]:
        """A table of facts, one of the settings and one of the arrays."""
        facts = [
            ("optimizer", self.optimizer or "not in the file"),
            ("scheduler", self.scheduler),
            ("laid out as by", listed(self.fits) if self.optimizer is None else None),
            ("states", f"{len(self.entries)}, {bytes_text(self.state_bytes)}"),
        ]
        found = [self._of_file(facts)]
        if self.settings:
            found.append(pairs("settings", self.settings.items()))
        arrays = [a for entry in self.entries for a in entry.arrays]
        return [*found, array_table(arrays)] if arrays else found


def describe_states(path: str, size_bytes: int, stats: bool) -> StatesFacts:
    """Describe a ``.states`` file without running any code in it.

    Raises:
        FileFormatError: it is not such a file, or contains an unexpected object.
    """
    states = parse_file(path, loads)
    optimizer = None
    if isinstance(states, tuple) and len(states) == 2 and isinstance(states[1], Optimizer):
        states, optimizer = states
    if not isinstance(states, dict):
        raise FileFormatError(
            f"{path}: at byte 0: got {type(states).__name__}, expected a state for each parameter"
        )
    entries = tuple(_entry(key, state, stats) for key, state in states.items())
    settings = {} if optimizer is None else _settings(optimizer)
    scheduler = getattr(optimizer, "lr_scheduler", None)
    return StatesFacts(
        path=path,
        kind="states",
        size_bytes=size_bytes,
        optimizer=None if optimizer is None else type(optimizer).__name__,
        settings=settings,
        scheduler=type(scheduler).__name__ if isinstance(scheduler, LRScheduler) else None,
        fits=_fitting({entry.layout for entry in entries}),
        entries=entries,
        state_bytes=sum(a.size_bytes for e in entries for a in e.arrays),
    )


def _entry(key: Any, state: Any, stats: bool) -> StateFacts:
    name = key.decode(errors="replace") if isinstance(key, bytes) else str(key)
    arrays = tuple(_array(f"{name}{at}", each, stats) for at, each in _arrays(state, ""))
    return StateFacts(name, _layout(state), arrays)


def _array(name: str, value: NDArray, stats: bool) -> ArrayFacts:
    host = np.asarray(value)
    return array_facts(
        Stored(name, host.shape, host.dtype.name, "default", host.nbytes, lambda: host), stats
    )


def _arrays(state: Any, at: str) -> Iterator[tuple[str, NDArray]]:
    """The arrays of a state with their paths: ``[0]``, ``[1]``, ``[1][0]``."""
    if isinstance(state, NDArray):
        yield at, state
    elif isinstance(state, tuple | list):
        for i, part in enumerate(state):
            yield from _arrays(part, f"{at}[{i}]")


def _layout(state: Any) -> str:
    if isinstance(state, tuple | list):
        return f"({', '.join(map(_layout, state))})"
    if isinstance(state, NDArray):
        return "array"
    return "none" if state is None else type(state).__name__


def _settings(optimizer: Optimizer) -> dict[str, Any]:
    plain = (bool, int, float, str)
    return {
        name: value
        for name, value in sorted(vars(optimizer).items())
        if not name.startswith("_") and isinstance(value, plain)
    }


def _fitting(layouts: set[str]) -> tuple[str, ...]:
    """The optimizers that make states of all these layouts."""
    layouts = layouts - {"none"} or layouts
    known = Optimizer.opt_registry.items()
    return tuple(sorted(n for n, k in known if layouts and layouts <= _layouts_of(k)))


@functools.cache
def _layouts_of(klass: type[Optimizer]) -> frozenset[str]:
    """The layouts of `_samples`."""
    return frozenset(map(_layout, _samples(klass)))


def _samples(klass: type[Optimizer]) -> Iterator[Any]:
    """States of an optimizer with and without options, and with a 16-bit weight."""
    weight = ndarray.zeros((2, 3))
    choices: list[dict[str, Any]] = [{}, {"momentum": 0.9}, {"centered": True}]
    for options in choices:
        try:
            optimizer: Any = klass(**options)
        except TypeError:  # it has no such option
            continue
        yield optimizer.create_state(0, weight)
        optimizer.multi_precision = True
        yield optimizer.create_state_multi_precision(0, weight.astype("float16"))
