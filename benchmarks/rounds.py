"""Rounds of workers of one network: in each, every worker runs the same number of steps."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import gpu, machine
from benchmarks.networks import NETWORKS
from benchmarks.peers import PEERS
from benchmarks.symbols import write
from benchmarks.turns import LeftOut, Process, environment, take_turns

CHECKED_STEPS = 2
TOLERANCE = 0.05
Say = Callable[[str], None]


class Worker(Process):
    """A process that runs one peer's steps."""

    def __init__(self, title: str, peer: str, variant: str, name: str, folder: Path):
        row = PEERS[peer]
        self.title, self.peer = title, peer
        python, self.version = interpreter(peer)
        started = time.perf_counter()
        super().__init__(
            [python, "-m", f"benchmarks.peers.{row.file}", str(folder), name, peer, variant],
            folder / f"{title}.err",
            environment(NETWORKS[name].device) | row.environment,
        )
        self.steps = NETWORKS[name].steps
        self._watched = folder / f"{title}.npz"
        try:
            self._first = self.ask({"run": 1})
        except BaseException:
            self.close()
            raise
        self.first_step_s = time.perf_counter() - started

    def check(self) -> float:
        """Run the remaining steps before peers are compared; returns the accuracy over all."""
        more = CHECKED_STEPS - 1
        rest = self.ask({"run": more})
        self.ask({"watch": str(self._watched)})
        return (self._first["accuracy"] + rest["accuracy"] * more) / CHECKED_STEPS

    def watched(self) -> dict[str, np.ndarray]:
        """The watched parameters, or outputs, after CHECKED_STEPS steps."""
        with np.load(self._watched) as arrays:
            return dict(arrays)


def interpreter(peer: str) -> tuple[str, str]:
    """The interpreter of a peer, and the version of the peer's package.

    Raises:
        LeftOut: the interpreter is not configured, or lacks the package.
    """
    row = PEERS[peer]
    python = os.environ.get(row.python) or sys.executable
    query = f"from importlib.metadata import version; print(version({row.needs!r}))"
    try:
        found = subprocess.run([python, "-c", query], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        hint = f" ({row.python} may name another Python)" if row.python else ""
        raise LeftOut(f"{python} has no {row.needs}{hint}") from None
    return python, found.stdout.strip()


def start(
    name: str, peers: list[str], folder: Path, running: ExitStack, say: Say
) -> tuple[list[Worker], dict[str, str]]:
    """Start the workers.

    Args:
        name: the network, saved in the folder by symbols.write.
        peers: keys of PEERS, including modkit.
        folder: exchange folder of the workers.
        running: closes the workers.
        say: called with a line of progress.

    Returns:
        The workers, and the reasons for which others are left out.

    Raises:
        LeftOut: modkit itself cannot run it.
    """
    workers: list[Worker] = []
    left_out: dict[str, str] = {}
    for peer in peers:
        for variant in PEERS[peer].variants(NETWORKS[name]):
            title = f"{peer} {variant}".strip()
            try:
                worker = Worker(title, peer, variant, name, folder)
            except LeftOut as reason:
                left_out[title] = str(reason)
                say(f"  {title}: left out: {reason}")
            else:
                running.callback(worker.close)
                workers.append(worker)
                say(f"  {title}: first step after {worker.first_step_s:.1f} s")
    if "modkit" in left_out:
        raise LeftOut(left_out["modkit"])
    return workers, left_out


def disagreement(
    worker: dict[str, np.ndarray], ours: dict[str, np.ndarray], first: dict[str, np.ndarray]
) -> float:
    """The largest relative distance between the results of two workers from equal parameters.

    For parameters their changes are compared.
    """

    def distance(name: str) -> float:
        change = ours[name] - first.get(name, 0.0)
        return float(np.linalg.norm(worker[name] - ours[name]) / np.linalg.norm(change))

    return max(distance(name) for name in ours)


def measure(name: str, peers: list[str], rounds: int, say: Say) -> dict[str, Any]:
    """The results of one network.

    Args:
        name: the network, a key of NETWORKS.
        peers: keys of PEERS.
        rounds: number of turns of each worker.
        say: called with a line of progress.

    Returns:
        The entry of results/speed.json.

    Raises:
        LeftOut: it requires a GPU and there is none; or modkit itself cannot run it.
    """
    if NETWORKS[name].device == "gpu" and not gpu():
        raise LeftOut("no GPU was found")
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as running:
        folder = Path(temporary)
        write(name, folder)
        workers, left_out = start(name, peers, folder, running, say)
        accuracy = {each.title: each.check() for each in workers}
        with np.load(folder / "arguments.npz") as arrays:
            first = dict(arrays)
        ours = workers[0].watched()
        apart = {each.title: disagreement(each.watched(), ours, first) for each in workers}
        for each in workers:
            _warm_up(each)
        take_turns(workers, rounds)
    for title, distance in apart.items():
        if not distance < TOLERANCE:
            say(f"  {title}: results differ from modkit's ({distance:.2g})")
    return {
        "machine": machine(),
        "steps": NETWORKS[name].steps,
        "left_out": left_out,
        "workers": {
            each.title: {
                "peer": each.peer,
                "version": each.version,
                "ms": [one["ms"] for one in each.rounds],
                "others": [one["others"] for one in each.rounds],
                "peak_mib": max(one["peak_mib"] for one in each.rounds),
                "first_step_s": each.first_step_s,
                "disagreement": apart[each.title],
                "accuracy": accuracy[each.title],
            }
            for each in workers
        },
    }


def _warm_up(worker: Worker) -> None:
    if steps := worker.steps // 4:  # otherwise the checked steps suffice
        worker.ask({"run": steps})
