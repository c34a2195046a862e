"""One large training step in flight at a time on a CPU: steps share one block of scratch memory.

JAX allocates the scratch memory of a run when the run is enqueued, while the previous run still
holds its own. A training step depends on the results of the previous one, so waiting for it costs
only the time of one dispatch, and halves the scratch memory. Before the first runs of a program
all free pages are returned to the system: those freed by compilation and initialization, and the
scratch memory of the previous run, until the long-lived blocks have settled.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from typing import Any

import jax

from modkit.tuning.allocator import give_back

LARGE = 32 << 20
"""Bytes of scratch memory from which on runs are serialized."""


_FIRST_RUNS = 3
"""Runs of a program that return free pages first. ResNet-50, batch 16: 3.8 to 2.2 GB."""


class InFlight:
    """Serializes runs of compiled programs over all threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may run another
        self._last: jax.Array | None = None

    def run(self, compiled: Callable[..., Any], args: tuple[Any, ...], first: bool) -> Any:
        """Wait for the previous run, and start this one."""
        with self._lock:
            before, self._last = self._last, None
            if before is not None:
                # Donated or failed results are ignored here; reading them raises.
                with contextlib.suppress(RuntimeError):
                    before.block_until_ready()
            if first:
                give_back()
            results = compiled(*args)
            self._last = min(jax.tree.leaves(results), key=lambda each: each.nbytes, default=None)
        return results


_in_flight = InFlight()


def one_in_flight(compiled: Any) -> Callable[..., Any]:
    """A compiled program whose runs are serialized if it needs much scratch memory."""
    try:
        scratch = compiled.memory_analysis().temp_size_in_bytes
    except (AttributeError, NotImplementedError, jax.errors.JaxRuntimeError):
        return compiled  # its backend reports no memory sizes
    if scratch < LARGE:
        return compiled
    runs = itertools.count()
    return lambda *args: _in_flight.run(compiled, args, first=next(runs) < _FIRST_RUNS)
