"""A group of processes: the first failure ends all; output is copied line by line."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

_GRACE_S = 5.0
"""Time for a process to end by itself after the failure of another, before SIGKILL."""
_CHECKPOINT_S = 30.0
"""The same after Ctrl-C, after which each may write a checkpoint."""
_REMOTE_S = 40.0
"""The same on other machines, whose launchers end their own first."""

_SILENT_S = 2.0
"""Time after which a wait for their ends is announced."""


class Process:
    """A process, and a thread that copies its output line by line.

    Args:
        prefix: text before each line of output. Without one stderr is this process's.
        remote: its work is on another machine, and ends when its stdin is closed.

    Attributes:
        remote: likewise.
        lost: True if its output has a DistributedError: another worker may be the cause.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        prefix: str = "",
        remote: bool = False,
    ):
        self.name, self.remote, self._prefix, self.lost = name, remote, prefix, False
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE if remote else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if prefix else None,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches this process, which ends them
        )
        self.wait, self.poll = self._process.wait, self._process.poll
        self._copier = threading.Thread(target=self._copy, daemon=True)
        self._copier.start()

    def _copy(self) -> None:
        with self._process.stdout or contextlib.nullcontext(()) as lines:
            for line in lines:
                self.lost |= "DistributedError: " in line
                sys.stdout.write(f"{self._prefix}{line}")
                sys.stdout.flush()

    def finish(self, limit_s: float) -> None:
        """Copy what is left of the output of a process that has ended."""
        self._copier.join(limit_s)

    def request_end(self) -> None:
        """Let the process end in its own way."""
        if self._process.stdin is not None:  # of work on another machine
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        else:
            self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process and its children."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def run_all(starts: Sequence[Callable[[], Process]]) -> int:
    """Run processes until all have ended or one has failed. None is left then.

    Ctrl-C and SIGTERM end them, each in its own way; a second one by SIGKILL.

    Returns:
        0, or the status of the process that failed first; 130 after Ctrl-C.
    """
    processes: list[Process] = []
    signals: list[int] = []
    # A handler that raised could lose a process that is being started.
    before = {
        number: signal.signal(number, lambda own, _: signals.append(own))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        processes.extend(start() for start in starts if not signals)
        return 130 if signals else _wait(processes, signals)
    finally:
        _end(processes, signals)
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_stdin() -> None:
    """Interrupt this process when its stdin is closed: its caller has ended."""

    def read() -> None:
        while os.read(0, 1 << 12):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=read, daemon=True).start()


def _wait(processes: Sequence[Process], signals: Sequence[int]) -> int:
    """Wait until all processes have ended, or one has failed; its status."""
    running = set(processes)
    first: list[tuple[Process, int]] = []
    done = threading.Event()

    def watch(process: Process) -> None:
        if status := process.wait():
            first.append((process, status))
        running.remove(process)
        if status or not running:
            done.set()

    for process in processes:
        threading.Thread(target=watch, args=(process,), daemon=True).start()
    while not (done.wait(0.1) or signals):
        pass
    if not done.is_set():
        return 130
    if not first:
        return 0
    failed, status = _cause(first, running, signals)
    how = f"status {status}" if status > 0 else signal.Signals(-status).name
    sys.stderr.write(f"modkit launch: {failed.name} ended with {how}; the others are ended\n")
    return status if status > 0 else 128 - status


def _cause(
    failures: Sequence[tuple[Process, int]], running: set[Process], signals: Sequence[int]
) -> tuple[Process, int]:
    """The first failure that is not the loss of another worker, which may take longer to end."""
    end_s = time.monotonic() + _GRACE_S
    while True:
        wait = running and not signals and time.monotonic() < end_s
        for process, status in tuple(failures):
            process.finish(_GRACE_S)
            if not process.lost:
                return process, status
        if not wait:
            return failures[0]
        time.sleep(0.05)


def _end(processes: Sequence[Process], signals: Sequence[int]) -> None:
    """End the processes and their children that are still running."""
    before, began_s = len(signals), time.monotonic()
    limit_s = _CHECKPOINT_S if signals else _GRACE_S
    left = [process for process in processes if process.poll() is None]
    for process in left:
        limit_s = _REMOTE_S if process.remote else limit_s
        process.request_end()
    logged = False
    while any(process.poll() is None for process in left) and len(signals) == before:
        waited_s = time.monotonic() - began_s
        if waited_s > limit_s:
            break
        if waited_s > _SILENT_S and not logged:
            logged = True
            sys.stderr.write(
                f"modkit launch: waiting up to {limit_s:g} s for the workers to end; Ctrl-C ends "
                "them at once\n"
            )
        time.sleep(0.05)
    for process in left:
        if process.poll() is None:
            process.kill()
            process.wait()
    for process in processes:
        process.finish(1.0)
