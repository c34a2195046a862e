"""Exits: processes that end while a prefetch thread computes, and each ends with status 0.

    python tools/attack_exits.py                    # 40 processes
    python tools/attack_exits.py --exits 8 --seed 3

Each process makes a `PrefetchingIter` over an iterator that computes on the device, reads a few
batches, and reaches the end of its program after a random time, while the thread is inside JAX.
Some of them raise an exception instead, which is status 1. Any other status is a finding: a daemon
thread that comes back from JAX after the interpreter has ended aborts the process (status -6).
The longest exit is reported too, since the exit waits for the thread.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence

PROGRAM = '''
import sys, time
import numpy as np
import modkit as mx

class Computing(mx.io.DataIter):
    """Batches that several eager calls compute."""

    def __init__(self):
        super().__init__(64)
        self.provide_data, self.provide_label = [mx.io.DataDesc("data", (64, 64))], []

    def next(self):
        value = mx.nd.array(np.ones((64, 64), np.float32))
        for _ in range(200):
            value = mx.nd.dot(value, value) * 1e-3
        value.wait_to_read()
        return mx.io.DataBatch([value], [], 0)

batches = mx.io.PrefetchingIter(Computing())
for _ in range(int(sys.argv[1])):
    batches.next()
time.sleep(float(sys.argv[2]))
print("end", flush=True)
if sys.argv[3] == "raises":
    raise SystemExit(1)
'''


def exit_status(batches: int, delay_s: float, raises: bool) -> tuple[int, float, str]:
    """Status of a process, the seconds from the end of its program to its exit, and its errors."""
    command = [sys.executable, "-c", PROGRAM, str(batches), str(delay_s)]
    process = subprocess.Popen(
        [*command, "raises" if raises else "returns"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    with process:
        if process.stdout is None or process.stderr is None:
            raise RuntimeError("the process has no pipes")
        process.stdout.readline()
        began = time.monotonic()
        errors = process.stderr.read()
        return process.wait(120), time.monotonic() - began, errors


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the exits; the number of findings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--exits", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    draw, findings, longest = random.Random(options.seed), 0, 0.0
    for number in range(options.exits):
        raises = number % 4 == 3
        case = (draw.randrange(4), draw.random() * 0.05, raises)
        status, seconds, errors = exit_status(*case)
        longest = max(longest, seconds)
        if status != raises:
            findings += 1
            print(f"exit {number} {case}: status {status}\n{errors}")
    print(f"{options.exits} exits, {findings} findings, longest {longest:.2f} s")
    return findings


if __name__ == "__main__":
    sys.exit(min(main(), 1))
