"""Workers in turn: a round gives each the same number of steps, in an order that changes.

Those whose turn it is not are stopped, so that no thread of theirs spins.
"""

from __future__ import annotations

import json
import os
import signal
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

ROOT = Path(__file__).parents[1]
CHECKED_STEPS = 2
TOLERANCE = 0.05
DISTURBED = 0.1  # of a core, on average
ATTEMPTS = 4
Say = Callable[[str], None]


class LeftOut(Exception):
    """A peer that cannot be measured here, with the reason."""


class Worker:
    """A process that runs one peer's steps, and stands still between rounds."""

    def __init__(self, title: str, peer: str, variant: str, name: str, folder: Path):
        row = PEERS[peer]
        self.title, self.peer = title, peer
        python, self.version = interpreter(peer)
        self.rounds: list[dict[str, Any]] = []
        started = time.perf_counter()
        self._errors = (folder / f"{title}.err").open("w+")
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.peers.{row.file}", str(folder), name, peer, variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=_environment(NETWORKS[name].device) | row.environment,
        )
        self._watched = folder / f"{title}.npz"
        try:
            self._first = self.ask({"run": 1})
        except BaseException:
            self.close()
            raise
        self.first_step_s = time.perf_counter() - started

    def check(self) -> float:
        """Complete the steps after which peers are compared; the accuracy over them."""
        more = CHECKED_STEPS - 1
        rest = self.ask({"run": more})
        self.ask({"watch": str(self._watched)})
        return (self._first["accuracy"] + rest["accuracy"] * more) / CHECKED_STEPS

    def watched(self) -> dict[str, np.ndarray]:
        """What stands for its state after CHECKED_STEPS steps."""
        with np.load(self._watched) as arrays:
            return dict(arrays)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Let the worker go on, answer, and stand still again.

        Raises:
            LeftOut: its process has ended; the last line that it wrote says why.
        """
        assert self._process.stdin and self._process.stdout  # noqa: S101
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            self._errors.seek(0)
            said = self._errors.read().strip().splitlines()
            raise LeftOut(said[-1] if said else f"ended with {self._process.returncode}")
        self._process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()


def _environment(device: str) -> dict[str, str]:
    own = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "3"}
    own["OMP_NUM_THREADS"] = str(os.cpu_count())  # MXNet takes half as many by itself
    own["JAX_PLATFORMS"] = "cpu" if device == "cpu" else "cuda,cpu"
    own["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.15"  # several share the GPU
    return os.environ | own


def interpreter(peer: str) -> tuple[str, str]:
    """The Python that a peer runs in, and the version of what it runs.

    Raises:
        LeftOut: it is not named, or lacks what the peer needs.
    """
    row = PEERS[peer]
    python = os.environ.get(row.python) or sys.executable
    asked = f"from importlib.metadata import version; print(version({row.needs!r}))"
    try:
        found = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        hint = f" ({row.python} may name another Python)" if row.python else ""
        raise LeftOut(f"{python} has no {row.needs}{hint}") from None
    return python, found.stdout.strip()


def start(
    name: str, peers: list[str], folder: Path, running: ExitStack, say: Say
) -> tuple[list[Worker], dict[str, str]]:
    """The workers that take part, and why others are left out.

    Args:
        name: the network, which symbols.write has put into the folder.
        peers: keys of PEERS; modkit must be one.
        folder: where workers read and write.
        running: closes the workers.
        say: takes a line of progress.

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
    """The greatest relative distance between what two workers made of the same start.

    Of parameters it is their change that is compared; of outputs, the outputs.
    """

    def distance(name: str) -> float:
        change = ours[name] - first.get(name, 0.0)
        return float(np.linalg.norm(worker[name] - ours[name]) / np.linalg.norm(change))

    return max(distance(name) for name in ours)


def measure(name: str, peers: list[str], rounds: int, say: Say) -> dict[str, Any]:
    """Everything that is known of one network, as it is kept in the results.

    Args:
        name: the network, a key of NETWORKS.
        peers: keys of PEERS.
        rounds: how often each worker has its turn.
        say: takes a line of progress.

    Raises:
        LeftOut: it needs a GPU, and there is none; or modkit itself cannot run it.
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
        _take_turns(workers, NETWORKS[name].steps, rounds)
    for title, distance in apart.items():
        if not distance < TOLERANCE:
            say(f"  {title}: computes something else than modkit ({distance:.2g})")
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


def _busy_s() -> float:
    """Processor seconds that this machine has worked since it started."""
    try:
        user, nice, system = Path("/proc/stat").read_text().split()[1:4]
    except OSError:
        return 0.0
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK")


def _turn(worker: Worker, steps: int) -> dict[str, Any]:
    """One turn; again, a few times, where other processes took a share of the machine meanwhile."""
    turns = []
    for _ in range(ATTEMPTS):
        busy = _busy_s()
        turn = worker.ask({"run": steps})
        others_s = _busy_s() - busy - turn["used_s"]
        turns.append(turn | {"others": max(0.0, others_s / turn["elapsed_s"])})
        if turns[-1]["others"] < DISTURBED:
            break
    return min(turns, key=lambda turn: turn["others"])


def _warm_up(worker: Worker, steps: int) -> None:
    if steps:  # otherwise the steps that were checked have been enough
        worker.ask({"run": steps})


def _take_turns(workers: list[Worker], steps: int, rounds: int) -> None:
    for worker in workers:
        _warm_up(worker, steps // 4)
    for number in range(rounds):
        shift = number % max(1, len(workers))
        order = workers[shift:] + workers[:shift]
        for worker in order if number % 2 else reversed(order):
            worker.rounds.append(_turn(worker, steps))
