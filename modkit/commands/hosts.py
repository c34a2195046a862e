"""Machines on which `modkit launch` starts workers by ssh."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from modkit.errors import ParameterError, expect
from modkit.kvstore.launchers import COORDINATOR, RANK, SIZE

_FORWARDED = ("MODKIT_", "MXNET_", "JAX_", "XLA_", "NCCL_", "GLOO_", "OMP_", "TF_CPP_", "CUDA_")
"""Beginnings of the names of variables that workers on other machines get too."""
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Machine(NamedTuple):
    """The workers of one machine.

    Attributes:
        host: its name for ssh, which may begin with ``user@``.
        first: the lowest number of its workers.
    """

    host: str
    first: int
    workers: int


def machines(text: str, workers: int | None) -> list[Machine]:
    """The workers of each machine.

    Args:
        text: ``a,b`` or ``a:2,b:2``, or the path of a file with a machine a line (``a``, ``a:2`` or
            ``a slots=2``).
        workers: number of all workers; by default one for each machine without a number.

    Raises:
        ParameterError: a machine or a number of workers that cannot be.

    >>> [tuple(each) for each in machines("a,user@b", 4)]
    [('a', 0, 2), ('user@b', 2, 2)]
    """
    names = _lines(text) if Path(text).is_file() else text.split(",")
    hosts = [_host(name.strip()) for name in names]
    counts = [count or 1 for _, count in hosts]
    if workers is not None and not any(count for _, count in hosts):
        if workers % len(hosts):
            raise ParameterError(
                f"-n {workers} does not divide by {len(hosts)} machines; name the number of each, "
                "such as -H a:2,b:1"
            )
        counts = [workers // len(hosts)] * len(hosts)
    if workers not in (None, sum(counts)):
        raise ParameterError(f"-n {workers}: the machines of -H have {sum(counts)} workers")
    near = [name.rpartition("@")[2] in _LOCAL for name, _ in hosts]
    if near[0] and not all(near):
        raise ParameterError(
            f"-H: worker 0 runs on {hosts[0][0]!r}, a name that other machines cannot use; give "
            "the name of this machine"
        )
    firsts = [sum(counts[:i]) for i in range(len(counts))]
    return [Machine(h, f, c) for (h, _), f, c in zip(hosts, firsts, counts, strict=True)]


def _lines(path: str) -> list[str]:
    lines = [line.partition("#")[0].strip() for line in Path(path).read_text().splitlines()]
    return [":".join(line.replace("slots=", " ").split()) for line in lines if line]


def _host(text: str) -> tuple[str, int]:
    """A name and a number of workers, 0 if there is none."""
    name, _, count = text.partition(":")
    counted = text == name or (count.isdecimal() and int(count))
    expected = "the name of a machine, perhaps with a number of workers: node0:2"
    expect(name and name[0] != "-" and counted, "-H", text, expected)
    return name, int(count or 0)


def coordinator(machine: Machine, port: int) -> str:
    """The address of worker 0 for the workers of all machines."""
    name = machine.host.rpartition("@")[2]
    return f"{'127.0.0.1' if name in _LOCAL else name}:{port}"


def forwarded(environment: Mapping[str, str], named: Sequence[str]) -> dict[str, str]:
    """The variables that workers on other machines get.

    Args:
        named: more of them, as ``NAME``, or ``NAME=value``.

    Raises:
        ParameterError: a name that is not in the environment.
    """
    found = {
        name: value
        for name, value in environment.items()
        if (name.startswith(_FORWARDED) or name == "PYTHONPATH")
        and name not in (COORDINATOR, SIZE, RANK)
    }
    for each in named:
        name, equals, value = each.partition("=")
        if not name.isidentifier() or not (equals or name in environment):
            raise ParameterError(f"--env {each}: expected a variable that is set, or NAME=value")
        found[name] = value if equals else environment[name]
    return found


def ssh(machine: Machine, arguments: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """The command to run ``modkit launch`` on another machine; ParameterError without ``ssh``."""
    if shutil.which("ssh") is None:
        raise ParameterError(
            "-H: this machine has no ssh; install it, or start the workers by hand"
        )
    given = [f"{name}={value}" for name, value in variables.items()]
    command = ["env", *given, sys.executable, "-m", "modkit", "launch", *arguments]
    remote = f"cd {shlex.quote(str(Path.cwd()))} && exec {shlex.join(command)}"
    options = ("BatchMode=yes", "ServerAliveInterval=15")  # no question; a machine that is gone
    return ["ssh", *(text for o in options for text in ("-o", o)), machine.host, remote]
