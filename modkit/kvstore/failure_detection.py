"""Failure detection: a worker that ends or hangs is reported to all others by its rank."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import json
import logging
import os
import selectors
import socket
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import jax

from modkit.kvstore.relay import Relay

_GRACE_S = 3.0
"""Time for a sum that fails to raise by itself, before the process is ended."""
_BUSY = 0.1
"""Share of a core from which a worker counts as busy, not as hanging."""
_BUSY_FACTOR = 10
"""Factor of the time limit for a busy worker."""


class Report(NamedTuple):
    """The state of a worker.

    Attributes:
        entered: number of sums begun.
        waiting_s: time spent in the present sum; ``None`` outside of sums.
        load: share of a core in use.
        left: whether its program has ended.
        reported_s: time of the last report, on the clock of worker 0.
        doing: the last call begun.
        history: a checksum of all calls.
    """

    entered: int
    waiting_s: float | None
    load: float
    left: bool
    reported_s: float
    doing: str = ""
    history: int = 0


def failure_reason(reports: Mapping[int, Report], now_s: float, limit_s: float) -> str | None:
    """The reason why the workers cannot go on; ``None`` while they can."""
    for rank, report in reports.items():
        if now_s - report.reported_s > limit_s:
            return f"worker {rank} has not answered for {limit_s:g} s"
    first_at: dict[int, int] = {}
    for rank, report in reports.items():
        other = first_at.setdefault(report.entered, rank)
        if report.history != reports[other].history:
            return (
                f"worker {other} and worker {rank} have made different calls, of which number "
                f"{report.entered} is {reports[other].doing} and {report.doing}: all workers have "
                "to make the same calls, those that save optimizer states and checkpoints too"
            )
    waiting = {r: each for r, each in reports.items() if each.waiting_s is not None}
    if not waiting:
        return None
    first = max(waiting, key=lambda r: (waiting[r].entered, waiting[r].waiting_s))
    number, waited_s = waiting[first].entered, waiting[first].waiting_s or 0.0
    for rank, report in reports.items():
        if report.entered >= number:
            continue
        if report.left:
            return f"worker {rank} has ended, and worker {first} waits for it"
        if waited_s > limit_s * (_BUSY_FACTOR if report.load > _BUSY else 1):
            return (
                f"worker {rank} has not come to sum {number}, in which worker {first} has waited "
                f"for {waited_s:.0f} s"
            )
    return None


def _uncaught() -> BaseException | None:
    """The latest exception that ended a program, not only a thread of it."""
    return getattr(sys, "last_value", None)


class WorkerWatch:
    """Connections of worker 0 with all others, over which each reports its state.

    Worker 0 decides whether the training can go on, and sends the decision to all. A killed process
    closes its connection; a stopped one, or one on a machine that is gone, sends no report.

    Args:
        links: connections by rank: worker 0 has one to each other worker, the others to worker 0.
        limit_s: time without a report, or that others wait for a worker, until it is lost.
        relay: to JAX's coordinator.

    Attributes:
        failure: the reason why the workers cannot go on; ``None`` while they can.
    """

    def __init__(
        self,
        rank: int,
        links: Mapping[int, socket.socket],
        limit_s: float,
        relay: Relay | None = None,
    ):
        self.failure: str | None = None
        self._rank, self._links, self._limit_s = rank, dict(links), limit_s
        self._since_s, self._left = 0.0, False
        self._calls = 0, "", 0  # number, last, checksum: one tuple, which the thread reads
        self._failed, self._over = threading.Event(), threading.Event()
        self._reports: dict[int, Report] = {}
        self._relay = relay
        self._cpu = time.monotonic(), time.process_time()
        self._ended = False
        self._forked, self._status, self._uncaught = False, 0, None  # of a child
        for rank_, link in self._links.items():
            link.settimeout(limit_s)
            self._reports[rank_] = Report(0, None, 0.0, False, time.monotonic())
        self._thread = threading.Thread(target=self._run, name="modkit-watch", daemon=True)
        self._thread.start()
        atexit.register(self.leave)

    # ── For the main thread ─────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def waiting(self, doing: str) -> Iterator[None]:
        """The block of a sum over all workers, by its description."""
        entered, _, history = self._calls
        self._calls = entered + 1, doing, zlib.crc32(doing.encode(), history)
        self._since_s = time.monotonic()
        try:
            yield
        finally:
            self._since_s = 0.0

    def reason(self) -> str | None:
        """The reason why a sum failed; waits a moment for it."""
        self._failed.wait(_GRACE_S)
        return self.failure

    def leave(self) -> None:
        """At exit: wait until the programs of all workers have ended, and disconnect from JAX's.

        If one of the others cannot go on without this worker, the process ends with status 1. A
        forked child has neither the thread nor JAX's client, and ends with that of `sys.exit`, or
        with 1 after an uncaught exception.
        """
        if self._forked:
            end_process(self._status or int(_uncaught() is not self._uncaught))
        self._left = True
        while not (self._over.wait(0.1) or self._failed.is_set()):
            pass
        self._ended = True
        if self.failure is not None:
            sys.stderr.write(f"modkit: worker {self._rank}: {self.failure}\n")
            end_process(1)
        if self._relay is not None:
            self._relay.release()
        jax.distributed.shutdown()

    def abandon(self) -> None:
        """In a forked child: close its copies of the connections, and end without JAX's client.

        The client would disconnect the parent. While a child holds the connections, the others do
        not see that its parent has ended. Exit functions see no status, so `sys.exit`, ``exit``
        and ``quit`` note it. That of another SystemExit is lost, unless `modkit.compat.run` has
        started the program.
        """
        for link in self._links.values():
            link.close()
        self._forked, self._uncaught, leave = True, _uncaught(), sys.exit

        def noted(status: Any = None, /) -> NoReturn:
            self._status = status & 0xFF if isinstance(status, int) else int(status is not None)
            leave(status)

        sys.exit = builtins.exit = builtins.quit = noted

    # ── The thread ──────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        every_s = min(1.0, self._limit_s / 10)
        ready = selectors.DefaultSelector()
        pending = dict.fromkeys(self._links, b"")
        for rank, link in self._links.items():
            ready.register(link, selectors.EVENT_READ, rank)
        due_s = 0.0
        while not (self._failed.is_set() or self._over.is_set()):
            if (now_s := time.monotonic()) >= due_s or self._left:
                due_s = now_s + every_s
                self._report(self._own())
            for key, _ in ready.select(0.05 if self._left else max(0.0, due_s - now_s)):
                rank = key.data
                try:
                    content = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                except OSError:
                    content = b""
                if not content:
                    ready.unregister(key.fileobj)
                    if not self._over.is_set():
                        self._fail(f"worker {rank} has ended")
                    continue
                *lines, pending[rank] = (pending[rank] + content).split(b"\n")
                for line in lines:
                    self._receive(rank, json.loads(line))
            self._check_reports()
        if self.failure is not None:
            self._end_a_wait()

    def _own(self) -> Report:
        now_s, cpu_s = time.monotonic(), time.process_time()
        before_s, before_cpu_s = self._cpu
        self._cpu = now_s, cpu_s
        since_s = self._since_s
        entered, doing, history = self._calls
        return Report(
            entered,
            now_s - since_s if since_s else None,
            (cpu_s - before_cpu_s) / max(1e-3, now_s - before_s),
            self._left,
            now_s,
            doing,
            history,
        )

    def _report(self, own: Report) -> None:
        """Send the state to worker 0; worker 0 sends an empty message, as a sign of life."""
        if self._rank == 0:
            self._reports[0] = own
        self._send({"report": own} if self._rank else {})

    def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        for link in self._links.values():
            with contextlib.suppress(OSError):  # the reader notices a closed connection
                link.sendall(line)

    def _receive(self, rank: int, message: Mapping[str, Any]) -> None:
        now_s = time.monotonic()
        if rank == 0:
            self._reports[0] = self._reports[0]._replace(reported_s=now_s)
            if "failure" in message:
                self._fail(message["failure"])
            if message.get("over"):
                self._over.set()
        else:
            self._reports[rank] = Report(*message["report"])._replace(reported_s=now_s)

    def _check_reports(self) -> None:
        if self._failed.is_set():
            return
        reason = failure_reason(self._reports, time.monotonic(), self._limit_s)
        if reason is not None:
            self._fail(reason)
        elif self._rank == 0 and all(r.left for r in self._reports.values()):
            self._send({"over": True})
            self._over.set()

    def _fail(self, reason: str) -> None:
        if not self._failed.is_set():
            self.failure = reason
            if self._rank == 0:
                self._send({"failure": reason})
            self._failed.set()

    def _end_a_wait(self) -> None:
        """End the process if its sum does not raise: it waits for a worker that hangs."""
        since_s = self._since_s
        time.sleep(_GRACE_S)
        if since_s and self._since_s == since_s and not self._ended:
            sys.stderr.write(
                f"modkit: worker {self._rank}: DistributedError: {self.failure}; this worker "
                "cannot go on, and ends\n"
            )
            end_process(1)


def end_process(status: int) -> None:
    """End this worker without exit functions: those of JAX wait for other workers."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
