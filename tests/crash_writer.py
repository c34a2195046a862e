"""Writes files without end, to be killed: ``python -m tests.crash_writer``.

For each line on its input, what to write and a folder, a process is forked that writes there,
again and again, every time the next number: into a checkpoint, optimizer states and a graph, or
into a file of records with its index. The process's number is printed when it has begun.
"""

import itertools
import os
import sys
from pathlib import Path

import modkit as mx
from modkit.checkpoint import save_checkpoint
from modkit.files import atomic_write

SHAPE = (400, 500)


def net(number):
    """A small graph with a number in it."""
    data = mx.sym.Variable("data", attr={"__number__": str(number)})
    return mx.sym.FullyConnected(data, num_hidden=3, name=f"fc{number}")


def updater(number):
    """An updater whose state is a number, everywhere."""
    made = mx.optimizer.get_updater(mx.optimizer.create("sgd", momentum=0.9))
    made.states = {0: mx.nd.full(SHAPE, number), 1: mx.nd.full(SHAPE, number)}
    made.states_synced = {0: True, 1: True}
    return made


def record(number):
    """A record that tells its number in each of its bytes."""
    return bytes([number % 251]) * (50_000 + number % 7)


def checkpoint(folder, number):
    """Write the second checkpoint, whose arrays are a number everywhere."""
    arrays = {name: mx.nd.full(SHAPE, number) for name in ("a", "b")}
    save_checkpoint(str(folder / "net"), 2, net(number), arrays, {"c": mx.nd.full((3,), number)})
    states = updater(number).get_states(dump_optimizer=True)
    with atomic_write(folder / "net.states") as file:
        file.write(states)


def write_checkpoints(folder, begun):
    """Write checkpoints until the end."""
    checkpoint(folder, 0)
    begun()
    for number in itertools.count(1):
        checkpoint(folder, number)


def write_records(folder, begun):
    """Write records until the end."""
    begun()
    for turn in itertools.count():
        with mx.recordio.MXIndexedRecordIO(folder / "x.idx", folder / "x.rec", "w") as file:
            for number in range(200):
                file.write_idx(number, record(turn + number))


WRITERS = {"checkpoints": write_checkpoints, "records": write_records}


def say(line):
    """Print a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main():
    """Fork a writer for each line, and wait for its end."""
    for line in sys.stdin:
        what, folder = line.split()
        child = os.fork()
        if not child:
            WRITERS[what](Path(folder), lambda: say(str(os.getpid())))
        os.waitpid(child, 0)
        say("gone")


if __name__ == "__main__":
    main()
