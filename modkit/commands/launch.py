"""``modkit launch``: the workers of a distributed training, on this machine and others."""

from __future__ import annotations

import functools
import os
import random
import socket
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from modkit.commands import hosts
from modkit.commands.arguments import missing, program_of
from modkit.commands.processes import Process, end_with_stdin, run_all
from modkit.errors import ParameterError
from modkit.kvstore.launchers import COORDINATOR, PORTS, RANK, SIZE


def work(arguments: Namespace) -> int:
    """Run the workers until all have ended or one has failed.

    Returns:
        0, or the status of the worker that failed first; 130 after Ctrl-C.

    Raises:
        ParameterError: the arguments do not fit.
    """
    if reason := missing(program_of(arguments), arguments.as_module):
        raise ParameterError(reason)
    starts = _remote(arguments) if arguments.hosts else _local(arguments)
    if arguments.end_with_stdin:
        end_with_stdin()
    return run_all(starts)


def _local(arguments: Namespace) -> Sequence[Callable[[], Process]]:
    """The workers of this machine."""
    number = arguments.workers
    if number is None:
        raise ParameterError("the number of workers is missing: -n 2, or machines: -H node0,node1")
    ranks = arguments.ranks or range(number)
    if (arguments.ranks is None) != (arguments.coordinator is None):
        raise ParameterError("--ranks and --coordinator belong together")
    if ranks[-1] >= number:
        raise ParameterError(f"--ranks {ranks[0]}-{ranks[-1]}: there are {number} workers")
    coordinator = arguments.coordinator or f"127.0.0.1:{_free(arguments.port)}"
    command = [sys.executable, "-m", "modkit", "run"]
    if arguments.devices_per_worker:
        command += ["--devices", str(arguments.devices_per_worker)]
    command += _program(arguments)
    shared = {**os.environ, "PYTHONUNBUFFERED": "1", COORDINATOR: coordinator, SIZE: str(number)}
    return [
        functools.partial(
            Process, f"worker {rank}", command, {**shared, RANK: str(rank)}, f"[{rank}] "
        )
        for rank in ranks
    ]


def _remote(arguments: Namespace) -> Sequence[Callable[[], Process]]:
    """A ``modkit launch`` on each machine, for the workers there."""
    if arguments.ranks or arguments.coordinator:
        raise ParameterError("-H starts all workers, and takes no --ranks and no --coordinator")
    machines = hosts.machines(arguments.hosts, arguments.workers)
    # Free ports of another machine are unknown here: one above those that systems choose.
    port = arguments.port or random.SystemRandom().choice(PORTS)
    coordinator = hosts.coordinator(machines[0], port)
    variables = hosts.forwarded(os.environ, arguments.env)
    shared = ["-n", str(sum(machine.workers for machine in machines)), "--coordinator", coordinator]
    if arguments.devices_per_worker:
        shared += ["--devices-per-worker", str(arguments.devices_per_worker)]
    starts = []
    for machine in machines:
        ranks = f"{machine.first}-{machine.first + machine.workers - 1}"
        own = [*shared, "--ranks", ranks, "--end-with-stdin", *_program(arguments)]
        command = hosts.ssh(machine, own, variables)
        starts.append(
            functools.partial(Process, f"host {machine.host}", command, os.environ, remote=True)
        )
    return starts


def _program(arguments: Namespace) -> list[str]:
    program = program_of(arguments)
    return ["-m", *program] if arguments.as_module else program


def _free(port: int) -> int:
    """This port, or a free one for 0."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise ParameterError(
                f"port {port} of 127.0.0.1: {error}; take another --port, or leave it out"
            ) from error
        return listener.getsockname()[1]
