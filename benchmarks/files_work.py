"""The worker process of `benchmarks.files`, for modkit or MXNet; compatible with Python 3.8.

    python benchmarks/files_work.py modkit folder 256

creates files of 256 MiB in the folder, then reads lines with a task and a number of repetitions,
and answers each with a line. With ``first`` instead of the size it loads the existing file once
and prints the seconds; with ``memory`` it loads and saves the file and prints the peak memory as
a multiple of the arrays.
"""

import importlib
import random
import sys
import time
from pathlib import Path

import numpy as np

ARRAYS = 64
RECORD_BYTES = 20_000


class Work:
    """The tasks, on files in a folder."""

    def __init__(self, package, folder, size_mib):
        self.mx = importlib.import_module(package)
        self.folder = Path(folder)
        self.params, self.one = str(self.folder / "x.params"), f"array{ARRAYS // 2}"
        self.rec, self.idx = str(self.folder / "x.rec"), str(self.folder / "x.idx")
        each = size_mib * 2**20 // ARRAYS // 4 // 256
        shape = (each, 256)
        self.arrays = {
            f"array{i}": self.mx.nd.array(np.full(shape, i, np.float32)) for i in range(ARRAYS)
        }
        self.records = min(size_mib * 2**20 // RECORD_BYTES, 10_000)
        self.order = list(range(self.records))
        random.Random(0).shuffle(self.order)
        self.save()
        self.write_records()

    def save(self):
        """Write all arrays."""
        self.mx.nd.save(self.params, self.arrays)

    def load(self):
        """Read all arrays."""
        arrays = self.mx.nd.load(self.params)
        self.mx.nd.waitall()
        assert len(arrays) == ARRAYS  # noqa: S101 - else the time means nothing

    def load_one(self):
        """Read one array; MXNet must read all of them."""
        if self.mx.__name__ == "mxnet":
            array = self.mx.nd.load(self.params)[self.one]
        else:
            with self.mx.nd.files.open_params(self.params) as params:
                array = params[self.one]
        array.wait_to_read()

    def write_records(self):
        """Write records and their index."""
        content = np.random.RandomState(0).bytes(RECORD_BYTES)  # like an image
        file = self.mx.recordio.MXIndexedRecordIO(self.idx, self.rec, "w")
        for number in range(self.records):
            file.write_idx(number, content)
        file.close()

    def read_records(self):
        """Read the records sequentially."""
        file = self.mx.recordio.MXRecordIO(self.rec, "r")
        count = sum(1 for _ in iter(file.read, None))
        file.close()
        assert count == self.records  # noqa: S101 - else the time means nothing

    def read_indexed(self):
        """Read the records by key, in random order; opening the index is part of it."""
        file = self.mx.recordio.MXIndexedRecordIO(self.idx, self.rec, "r")
        for number in self.order:
            file.read_idx(number)
        file.close()


def first_load(mx, path):
    """Seconds of the first load in this process."""
    mx.nd.array([1]).wait_to_read()
    started = time.perf_counter()
    arrays = mx.nd.load(path)
    mx.nd.waitall()
    answer(str(time.perf_counter() - started))
    return arrays


def memory(mx, path):
    """Peak memory of a load, and of a save after it."""
    mx.nd.array([1]).wait_to_read()
    before = peak_bytes()
    arrays = mx.nd.load(path)
    mx.nd.waitall()
    loaded = peak_bytes()
    mx.nd.save(path + ".again", arrays)
    size = sum(int(np.prod(a.shape)) * np.dtype(a.dtype).itemsize for a in arrays.values())
    Path(path + ".again").unlink()
    answer(f"{(loaded - before) / size} {(peak_bytes() - before) / size}")


def peak_bytes():
    """Peak resident memory of this process; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    # Not getrusage: its maximum is inherited from the parent process.
    return 1024 * int(next(n for n in lines if n.startswith("VmHWM")).split()[1])


ONCE = {"first": first_load, "memory": memory}


def main():
    package, folder, size_mib = sys.argv[1:]
    if size_mib in ONCE:
        ONCE[size_mib](importlib.import_module(package), str(Path(folder) / "x.params"))
        return
    work = Work(package, folder, int(size_mib))
    answer(f"ready {work.records}")
    for line in sys.stdin:
        task, times = line.split()
        for _ in range(int(times)):
            getattr(work, task)()
        answer("done")


def answer(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
