"""Kill workers with SIGKILL at random moments, and compare what the restarted training ends with.

Run it from the root: ``.venv/bin/python -m tools.attack_workers [KILLS] [SEED] [MINUTES]``. A
training of four replicas runs as two workers with two or as four with one. One of them is killed in
its start, its steps or its exit; all others have to end with an error that names it. After some
kills it goes on to its end, as one, two or four processes, and has to end with the parameters,
statistics and metrics of the unbroken training, to rounding.
"""

import argparse
import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

REPLICAS, BATCH, STEPS = 4, 16, 9
LIMIT_S = 30
"""The limit of the watch. Errors have to come in this time, and processes end in 15 s more."""
_ERROR = re.compile(r"(DistributedError|modkit: worker \d+): .*")


class Trial:
    """Workers of one training in a folder.

    Args:
        folder: of its checkpoints; outputs lie beside it.
        size: number of processes.
    """

    def __init__(self, folder, size):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        self.outputs = [folder.parent / f"{folder.name}.{rank}.txt" for rank in range(size)]
        self.processes = []
        for rank, output in enumerate(self.outputs):
            address = {
                "MODKIT_COORDINATOR": f"127.0.0.1:{port}", "MODKIT_WORKERS": str(size),
                "MODKIT_RANK": str(rank), "MODKIT_DIST_TIMEOUT": str(LIMIT_S),
            }  # fmt: skip
            with output.open("w") as file:
                self.processes.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "tools.attack_workers", "worker", str(folder)],
                        stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
                        env={**os.environ, "JAX_PLATFORMS": "cpu", **(address if size > 1 else {})},
                    )
                )  # fmt: skip

    def steps(self, rank):
        """The number of batches that a worker has trained on."""
        return self.outputs[rank].read_text().count("\nstep ")

    def found(self, limit_s=300):
        """The results of all workers, which end by themselves."""
        for process, output in zip(self.processes, self.outputs, strict=True):
            if process.wait(limit_s):
                raise SystemExit(f"status {process.returncode}:\n{output.read_text()}")
        return [self.result(rank) for rank in range(len(self.processes))]

    def result(self, rank):
        """The figures that a worker printed at its end, or ``None``."""
        lines = [each for each in self.outputs[rank].read_text().splitlines() if each[:1] == "{"]
        return json.loads(lines[-1]) if lines else None

    def kill(self, victim, moments):
        """Kill a worker in its start, a step or its exit, and judge how the others end.

        Returns:
            ``(where it was killed, seconds until the last of the others had ended)``.
        """
        where = moments.choice(["start", "step", "step", "step", "exit"])
        if where == "start":
            time.sleep(moments.uniform(0, 8))
        else:
            step = STEPS if where == "exit" else moments.randint(1, STEPS)
            while self.processes[victim].poll() is None and self.steps(victim) < step:
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 0.5 if where == "exit" else 0.1))
        self.processes[victim].kill()
        begin = time.monotonic()
        for rank, process in enumerate(self.processes):
            left_s = max(0.1, begin + LIMIT_S + 15 - time.monotonic())
            try:
                process.wait(left_s)
            except subprocess.TimeoutExpired:
                self.fail(f"worker {rank} still runs {LIMIT_S + 15} s after worker {victim} died")
        took_s = time.monotonic() - begin
        for rank, process in enumerate(self.processes):
            if process.returncode == 0 and self.result(rank) is not None:
                where = "exit, too late" if self.result(victim) else where
                if where != "exit, too late":
                    self.fail(f"worker {rank} ended well without worker {victim}")
            elif rank != victim:
                self.judge(rank, victim, process.returncode)
        self.check_none_left()
        return where, took_s

    def judge(self, rank, victim, status):
        """Check the error of a worker that has ended since another was killed."""
        errors = [m.group() for m in _ERROR.finditer(self.outputs[rank].read_text())]
        named = any(re.search(rf"workers? (\[[\d, ]*)?\b{victim}\b", each) for each in errors)
        if status <= 0 or not named:
            self.fail(f"worker {rank}: status {status}, no error names worker {victim}: {errors}")

    def check_none_left(self):
        """Check that no process of the workers is there."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 0)
                self.fail(f"a process of the group {process.pid} is left")

    def end(self):
        """Kill what is left."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()

    def fail(self, reason):
        """Exit with the outputs of all workers."""
        texts = "\n".join(f"── worker {r} ──\n{o.read_text()}" for r, o in enumerate(self.outputs))
        raise SystemExit(f"{reason}\n{texts}")


def compare(found, wanted):
    """Compare parameters, statistics and the history of metrics."""
    for name, value in wanted["values"].items():
        np.testing.assert_allclose(found["values"][name], value, rtol=2e-4, atol=2e-5, err_msg=name)
    rows = zip(found["history"], wanted["history"], strict=True)
    for own, one in rows:
        np.testing.assert_allclose(list(own.values()), list(one.values()), rtol=2e-4)


def train(folder, size, trials):
    """Train to the end."""
    trials.append(Trial(folder, size))
    return trials[-1].found()


def attack(kills, seed, minutes=1e9, sizes=(2, 2, 4), last=(1, 2, 4)):
    """Kill workers so many times; a line of output for each."""
    moments = random.Random(seed)
    end = time.monotonic() + 60 * minutes
    trials, wheres, ends = [], Counter(), Counter()
    longest_s = done = trainings = 0
    with tempfile.TemporaryDirectory() as name:
        try:
            (wanted,) = train(Path(name) / "whole", 1, trials)
            while done < kills and time.monotonic() < end:
                trainings += 1
                folder = Path(name) / f"killed-{trainings}"
                for _ in range(min(moments.randint(1, 4), kills - done)):
                    size = moments.choice(sizes)
                    trials.append(Trial(folder, size))
                    victim = moments.randrange(size)
                    where, took_s = trials[-1].kill(victim, moments)
                    done, wheres[where], longest_s = (
                        done + 1, wheres[where] + 1, max(longest_s, took_s),
                    )  # fmt: skip
                    print(f"{done}: worker {victim} of {size}, {where}: {took_s:.1f} s", flush=True)
                    if where == "exit, too late":
                        break
                size = moments.choice(last)
                for found in train(folder, size, trials):
                    compare(found, wanted)
                ends[size] += 1
                print(f"training {trainings} ended as {size}: the same figures", flush=True)
        finally:
            for trial in trials:
                trial.end()
    print(
        f"{done} kills ({dict(wheres)}), {trainings} trainings that ended as {dict(ends)} "
        f"processes, the others ended within {longest_s:.1f} s"
    )


def worker(folder):
    """The training of a worker; prints its results."""
    import modkit as mx
    from tests.kvstore.dist_programs import whole

    size = int(os.environ.get("MODKIT_WORKERS", "1"))
    kv = mx.kv.create("dist_sync" if size > 1 else "local")
    found = whole(
        BATCH // size, kv, [mx.cpu(0)] * (REPLICAS // size), folder, size, kv.rank, says=True
    )
    print(f"\n{json.dumps(found)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker(sys.argv[2])
    else:
        parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
        parser.add_argument("kills", type=int, nargs="?", default=30, help="default 30")
        parser.add_argument("seed", type=int, nargs="?", default=0)
        parser.add_argument(
            "minutes", type=float, nargs="?", default=60, help="at most; default 60"
        )
        given = parser.parse_args()
        attack(given.kills, given.seed, given.minutes)
