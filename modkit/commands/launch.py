"""``modkit launch``: the workers of a distributed training, on this machine and others."""

from __future__ import annotations

import argparse
import functools
import os
import random
import socket
import sys
from argparse import Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from collections.abc import Callable, Sequence
from typing import Any

from modkit.commands import hosts
from modkit.commands.arguments import missing, positive, program_of
from modkit.commands.processes import Process, end_with_stdin, run_all
from modkit.errors import ParameterError
from modkit.kvstore.launchers import COORDINATOR, PORTS, RANK, SIZE

_ABOUT = """\
start a program as several workers, each as `modkit run` does:

  modkit launch -n 4 train.py --kv-store dist_sync
  modkit launch -n 2 --devices-per-worker 2 train.py --kv-store dist_sync
  modkit launch -H node0:4,node1:4 train.py --kv-store dist_sync

Lines of output begin with the number of the worker. The first worker that fails ends all others;
so does Ctrl-C. With -H they run on machines that ssh reaches without a password, in a folder and by
a Python of the same paths as here.
"""


def add_parser(commands: _SubParsersAction[Any]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "launch",
        help="start a program as several workers",
        description=_ABOUT,
        formatter_class=RawDescriptionHelpFormatter,
        usage="modkit launch [-n N] [-H HOSTS] [options] (script.py | -m module) [arguments ...]",
        allow_abbrev=False,
    )
    parser.add_argument("-n", dest="workers", type=positive, metavar="N",
                        help="number of workers")  # fmt: skip
    parser.add_argument("-H", dest="hosts", metavar="HOSTS",
                        help="machines, as a:2,b:2 or a file with one a line")  # fmt: skip
    parser.add_argument("--env", action="append", default=[], metavar="NAME[=VALUE]",
                        help="a variable for the workers of -H; those of modkit, JAX, XLA and NCCL "
                        "and PYTHONPATH are given to them in any case")  # fmt: skip
    parser.add_argument("--devices-per-worker", type=positive, metavar="D",
                        help="number of CPU devices that JAX shows in each worker")  # fmt: skip
    parser.add_argument("--port", type=_port, default=0, metavar="PORT",
                        help="of worker 0 (default: a free one)")  # fmt: skip
    parser.add_argument("--coordinator", metavar="HOST:PORT",
                        help="of worker 0, if it is on another machine")  # fmt: skip
    parser.add_argument("--ranks", type=_ranks, metavar="FIRST-LAST",
                        help="start these workers of all N; needs --coordinator")  # fmt: skip
    parser.add_argument("--end-with-stdin", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-m", dest="as_module", action="store_true", help="run a module by name")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(work=launch)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 <= int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a port below 65536")
    return int(text)


def _ranks(text: str) -> range:
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected numbers of workers such as 2-3")
    return range(int(first), int(last) + 1)


def launch(arguments: Namespace) -> int:
    """Run the workers until all have ended or one has failed.

    Returns:
        0, or the status of the worker that failed first; 130 after Ctrl-C; 2 for arguments that do
        not fit.
    """
    if what := missing(program_of(arguments), arguments.as_module):
        _say(f"modkit launch: {what}")
        return 2
    try:
        starts = _remote(arguments) if arguments.hosts else _local(arguments)
    except ParameterError as error:
        _say(f"modkit launch: {error}")
        return 2
    if arguments.end_with_stdin:
        end_with_stdin()
    return run_all(starts)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


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
        own = [
            "--ranks",
            f"{machine.first}-{machine.first + machine.workers - 1}",
            "--end-with-stdin",
        ]
        command = hosts.ssh(machine, [*shared, *own, *_program(arguments)], variables)
        starts.append(
            functools.partial(Process, f"host {machine.host}", command, os.environ, remote=True)
        )
    return starts


def _program(arguments: Namespace) -> list[str]:
    program = program_of(arguments)
    return ["-m", *program] if arguments.as_module else program


def _free(port: int) -> int:
    """This port, or a free one for 0.

    Raises:
        ParameterError: the port is in use.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise ParameterError(
                f"port {port} of 127.0.0.1: {error}; take another --port, or leave it out"
            ) from error
        return listener.getsockname()[1]
