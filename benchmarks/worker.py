"""The worker process: runs steps of one peer's network on request.

    python -m benchmarks.peers.FILE folder network peer variant

It answers each line of JSON with one: ``{"run": 100}`` with the time of 100 steps,
``{"watch": "file.npz"}`` after saving the compared arrays. It ends at the end of its input.
Compatible with Python 3.8.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.networks import HIDDEN, LAYERS, NETWORKS, Network


@dataclass(frozen=True)
class Case:
    """The configuration of a worker.

    Attributes:
        folder: the folder of the symbol and the parameters, from symbols.write.
        name: the network, a key of NETWORKS.
        peer: the peer, a key of PEERS.
        variant: the layout or the loop, for peers with several.
    """

    folder: Path
    name: str
    peer: str
    variant: str

    @property
    def network(self) -> Network:
        """The row of the table."""
        return NETWORKS[self.name]

    def load(self, file: str) -> dict[str, np.ndarray]:
        """``arguments`` or ``auxiliary``: the parameters by MXNet's names, in its layouts."""
        with np.load(str(self.folder / (file + ".npz"))) as arrays:
            return dict(arrays)

    def batches(self, layout: str = "NCHW") -> list[tuple[np.ndarray, np.ndarray]]:
        """The batches, with labels and words as int32; images in the given layout."""
        result = []
        for data, label in self.network.batches():
            if self.network.is_text:
                data = data.astype(np.int32)
            if self.network.is_convolutional and layout == "NHWC":
                data = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
            result.append((data, label.astype(np.int32)))
        return result

    def lstm_layers(self, arguments: dict[str, np.ndarray]) -> list[list[np.ndarray]]:
        """The fused parameter vector by layer: input and state weights, input and state biases.

        The gates are input, forget, cell, output; the weights of all layers precede the biases.
        """
        vector, wide = arguments["lstm_parameters"], 4 * HIDDEN
        sizes = [wide * HIDDEN] * (2 * LAYERS) + [wide] * (2 * LAYERS)
        parts = np.split(vector, np.cumsum(sizes)[:-1])
        weights = [part.reshape(wide, HIDDEN) for part in parts[: 2 * LAYERS]]
        biases = parts[2 * LAYERS :]
        return [[*weights[i : i + 2], *biases[i : i + 2]] for i in range(0, 2 * LAYERS, 2)]


@dataclass(frozen=True)
class Loop:
    """The functions of a peer for a case.

    Attributes:
        run: runs a number of steps, waits for the last, and returns the accuracy over them.
        watch: the watched parameters in MXNet's layout; the outputs of a network that predicts.
    """

    run: Callable[[int], float]
    watch: Callable[[], dict[str, np.ndarray]]


def _memory() -> dict[str, float]:
    """Resident memory now and at its highest, in MiB."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines() if line.startswith("Vm"))
    return {
        "rss_mib": int(fields["VmRSS"].split()[0]) / 1024,
        "peak_mib": int(fields["VmHWM"].split()[0]) / 1024,
    }


def _forget_peak() -> None:
    """Reset VmHWM, which excludes the memory of compilation."""
    Path("/proc/self/clear_refs").write_text("5")


def timed(run: Callable[[int], Any], steps: int) -> tuple[dict[str, float], Any]:
    """Run ``steps`` steps; their times, and their result."""
    started, used = time.perf_counter(), time.process_time()
    result = run(steps)
    elapsed_s, used_s = time.perf_counter() - started, time.process_time() - used
    return {"ms": elapsed_s / steps * 1e3, "elapsed_s": elapsed_s, "used_s": used_s}, result


def _answer(loop: Loop, message: dict[str, Any]) -> dict[str, Any]:
    if "watch" in message:
        np.savez(message["watch"], **loop.watch())
        _forget_peak()
        return {}
    took, accuracy = timed(loop.run, message["run"])
    return {**took, "accuracy": float(accuracy), **_memory()}


def answer_lines(prepare: Callable[[], Callable[[dict[str, Any]], dict[str, Any]]]) -> None:
    """Call ``prepare`` and answer each line with its result, until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of libraries goes to standard error
    answer = prepare()
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def serve(load: Callable[[Case], Loop]) -> None:
    """Load the case of the command line, and answer until the input ends."""
    folder, name, peer, variant = sys.argv[1:]
    case = Case(Path(folder), name, peer, variant)
    answer_lines(lambda: functools.partial(_answer, load(case)))
