"""Requests that `benchmarks.imperative` sends to a worker process, and the worker's replies.

Runs in modkit's Python, in MXNet's 3.8 and in PyTorch's.
"""

import sys
import time
from pathlib import Path

NEW = "five calls with a new shape"


def resident_mb():
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def growth_mb(new_shape, count):
    """MB by which ``count`` new shapes, of three calls each, grow the process."""
    for n in range(1, 100):
        new_shape(n, 2)
    before = resident_mb()
    for n in range(count):
        new_shape(n % 2500 + 1, 3 + n // 2500)
    return resident_mb() - before


def serve(calls, finish):
    """Run the call of each line "title, tab, count" and print its seconds, or that it is none."""
    for line in sys.stdin:
        title, count = line.rstrip("\n").split("\t")
        call = calls.get(title)
        if call is None:
            print("none", flush=True)
            continue
        started = time.perf_counter()
        for _ in range(int(count)):
            call()
        finish()
        print(time.perf_counter() - started, flush=True)


def answer(arguments, calls, programs, new_shape, finish):
    """Serve ``calls``, run ``program NAME``, or print the growth by ``memory COUNT`` new shapes.

    Args:
        arguments: the command line after the library's name.
        calls: a function that makes the calls, by title.
        programs: functions that give an array, by name.
        new_shape: a function of a number of rows and of columns that runs three calls.
        finish: a function that waits for all calls.
    """
    if arguments[0] == "calls":
        serve(calls(), finish)
    elif arguments[0] == "memory":
        print(growth_mb(new_shape, int(arguments[1])))
    elif arguments[1] in programs:
        print(float(programs[arguments[1]]()))
    else:
        print("none")
