"""Worker processes that run in turn.

All others are stopped by SIGSTOP, so that none of their threads spins. A turn during which other
processes used the machine is repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS

ROOT = Path(__file__).parents[1]
DISTURBED = 0.1  # of a core, on average
ATTEMPTS = 4


def command(name: str, doc: str | None) -> argparse.ArgumentParser:
    """A parser of the arguments of ``python -m benchmarks.name``, with the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def pythons(*others: str) -> dict[str, str]:
    """The interpreter of each library: this one; MXNet's where ``MODKIT_REFERENCE`` names it.

    Args:
        others: names of peers in `benchmarks.peers` whose interpreters are wanted too, where
            their variables name them.
    """
    named = {name: os.environ.get(PEERS[name].python) for name in ("mxnet", *others)}
    return {"modkit": sys.executable, **{name: path for name, path in named.items() if path}}


class LeftOut(Exception):
    """A measurement is not possible on this machine; the message is the reason."""


class Process:
    """A worker process, stopped between turns.

    Attributes:
        steps: number of steps of a turn.
        rounds: its answer for each turn.
    """

    def __init__(
        self, command: list[str], errors: Path, environment: dict[str, str], root: Path = ROOT
    ):
        self.steps = 1
        self.rounds: list[dict[str, Any]] = []
        self._errors = errors.open("w+")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=root,
            env=environment,
        )

    def ask(self, message: dict[str, Any], limit_s: float | None = None) -> dict[str, Any]:
        """Resume the process for one message and stop it again.

        Returns:
            Its answer.

        Raises:
            LeftOut: it exceeded the limit, or ended; with the last line of its error output.
        """
        assert self._process.stdin and self._process.stdout  # noqa: S101
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            if not select.select([self._process.stdout], [], [], limit_s)[0]:
                self._process.kill()
                raise LeftOut(f"took longer than {limit_s:g} s")
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            self._errors.seek(0)
            errors = self._errors.read().strip().splitlines()
            raise LeftOut(errors[-1] if errors else f"ended with {self._process.returncode}")
        self._process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()


def environment(device: str) -> dict[str, str]:
    """Environment variables of a process that computes on ``cpu`` or ``gpu``."""
    own = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "3"}
    own["OMP_NUM_THREADS"] = str(os.cpu_count())  # MXNet's default is half as many
    own["JAX_PLATFORMS"] = "cpu" if device == "cpu" else "cuda,cpu"
    own["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.15"  # several share the GPU
    return os.environ | own


def _busy_s() -> float:
    """Busy processor seconds of this machine since boot."""
    try:
        user, nice, system = Path("/proc/stat").read_text().split()[1:4]
    except OSError:
        return 0.0
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def _turn(worker: Process) -> dict[str, Any]:
    """One turn, repeated up to ATTEMPTS times if other processes used the machine meanwhile."""
    turns = []
    for _ in range(ATTEMPTS):
        busy = _busy_s()
        turn = worker.ask({"run": worker.steps})
        others_s = _busy_s() - busy - turn["used_s"]
        turns.append(turn | {"others": max(0.0, others_s / turn["elapsed_s"])})
        if turns[-1]["others"] < DISTURBED:
            break
    return min(turns, key=lambda turn: turn["others"])


def order(count: int, number: int) -> list[int]:
    """The order of workers in a round; over many rounds each is first, and last, equally often."""
    shift = number // 2 % max(1, count)
    shifted = [*range(shift, count), *range(shift)]
    return shifted if number % 2 else shifted[::-1]


def take_turns(workers: Sequence[Process], rounds: int) -> None:
    """Run the rounds and append each worker's answers to its ``rounds``."""
    for number in range(rounds):
        for place in order(len(workers), number):
            workers[place].rounds.append(_turn(workers[place]))
