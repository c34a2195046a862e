"""``modkit launch``: the workers of a distributed training on this machine."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from argparse import Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from typing import Any

from modkit.commands.arguments import missing, positive
from modkit.kvstore.launchers import COORDINATOR, RANK, SIZE

_ABOUT = """\
start a program as several workers on this machine, each as `modkit run` does:

  modkit launch -n 4 train.py --kv-store dist_sync
  modkit launch -n 2 --devices-per-worker 2 train.py --kv-store dist_sync

Lines of output begin with the number of the worker. The first worker that fails ends all others;
so does Ctrl-C.
"""
_GRACE_S = 5.0
"""Time between SIGTERM and SIGKILL."""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "launch",
        help="start a program as several workers",
        description=_ABOUT,
        formatter_class=RawDescriptionHelpFormatter,
        usage="modkit launch -n N [options] (script.py | -m module) [arguments ...]",
        allow_abbrev=False,
    )
    parser.add_argument("-n", dest="workers", type=positive, required=True, metavar="N",
                        help="number of workers")  # fmt: skip
    parser.add_argument("--devices-per-worker", type=positive, metavar="D",
                        help="number of CPU devices that JAX shows in each worker")  # fmt: skip
    parser.add_argument("--port", type=_port, default=0, metavar="PORT",
                        help="of worker 0, on 127.0.0.1 (default: a free one)")  # fmt: skip
    parser.add_argument("-m", dest="as_module", action="store_true", help="run a module by name")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(work=launch)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 <= int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a port below 65536")
    return int(text)


def launch(arguments: Namespace) -> int:
    """Run the workers until all have ended or one has failed.

    Returns:
        0, or the status of the worker that failed first; 130 after Ctrl-C.
    """
    program = arguments.program
    if what := missing(program, arguments.as_module):
        _say(f"modkit launch: {what}")
        return 2
    try:
        port = _free(arguments.port)
    except OSError as error:
        _say(f"modkit launch: port {arguments.port} of 127.0.0.1: {error}; take another --port, "
              "or leave it out")  # fmt: skip
        return 2
    command = [sys.executable, "-m", "modkit", "run"]
    if arguments.devices_per_worker:
        command += ["--devices", str(arguments.devices_per_worker)]
    command += ["-m", *program] if arguments.as_module else program
    shared = {COORDINATOR: f"127.0.0.1:{port}", SIZE: str(arguments.workers)}
    workers: list[_Worker] = []
    terminated = signal.signal(signal.SIGTERM, _interrupt)
    try:
        for rank in range(arguments.workers):
            own = {**os.environ, **shared, RANK: str(rank)}
            workers.append(_Worker(rank, command, own))
        return _wait(workers)
    except KeyboardInterrupt:
        return 130
    finally:
        _end(workers)
        signal.signal(signal.SIGTERM, terminated)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _free(port: int) -> int:
    """This port, or a free one for 0.

    Raises:
        OSError: the port is in use.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        return listener.getsockname()[1]


class _Worker:
    """A process, and a thread that copies its output line by line."""

    def __init__(self, rank: int, command: list[str], environment: dict[str, str]):
        self.rank = rank
        self.process = subprocess.Popen(
            command,
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches this process, which ends them
        )
        self.copier = threading.Thread(target=self._copy, daemon=True)
        self.copier.start()

    def _copy(self) -> None:
        for line in self.process.stdout or ():
            sys.stdout.write(f"[{self.rank}] {line}")
            sys.stdout.flush()


def _wait(workers: list[_Worker]) -> int:
    """Wait until all workers have ended or one has failed; its status."""
    running = {worker.process.pid: worker for worker in workers}
    ended = threading.Condition()
    first: list[_Worker] = []

    def watch(worker: _Worker) -> None:
        status = worker.process.wait()
        with ended:
            running.pop(worker.process.pid)
            if status:
                first.append(worker)
            ended.notify()

    for worker in workers:
        threading.Thread(target=watch, args=(worker,), daemon=True).start()
    with ended:
        while running and not first:
            ended.wait(1.0)  # a limit, so that Ctrl-C is handled
    if not first:
        return 0
    failed = first[0]
    failed.copier.join(_GRACE_S)
    status = failed.process.returncode
    how = f"status {status}" if status > 0 else signal.Signals(-status).name
    _say(f"modkit launch: worker {failed.rank} ended with {how}; the others are ended")  # fmt: skip
    return status if status > 0 else 128 - status


def _end(workers: list[_Worker]) -> None:
    """End the processes and their children that are still running."""
    for number, limit_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, None)):
        left = [worker for worker in workers if worker.process.poll() is None]
        for worker in left:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.process.pid, number)
        for worker in left:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(limit_s)
    for worker in workers:
        worker.copier.join(1.0)
