"""Kill trainings with SIGKILL at random moments until they end, and compare the bits.

Run it from the root: ``.venv/bin/python -m tools.attack_resume [KILLS] [SEED] [CASE ...]``. The
moments lie in the whole of a process: its start, a step, the writing of a checkpoint.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.module.resuming import CASES


def started(case, folder):
    command = [sys.executable, "-m", "tests.module.resuming", case, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def finished(process):
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"a training ended with status {process.returncode}")
    return output.strip()


def attack(case, kills, moments):
    """Kill trainings so many times, each until it ends; exits with an error if a bit differs.

    Returns:
        The number of trainings.
    """
    with tempfile.TemporaryDirectory() as folder:
        whole, usual_s = timed(case, Path(folder) / "cold")
        whole, usual_s = timed(case, Path(folder) / "whole")
        done = trainings = 0
        while done < kills:
            trainings += 1
            while True:
                process = started(case, Path(folder) / f"killed-{trainings}")
                try:
                    process.wait(moments.uniform(usual_s / 2, usual_s) if done < kills else None)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    done += 1
                    continue
                break
            if finished(process) != whole:
                raise SystemExit(f"{case}: after {done} kills a training has other bits")
    return trainings


def timed(case, folder):
    """The digest of an unbroken training, and its seconds."""
    begin = time.monotonic()
    return finished(started(case, folder)), time.monotonic() - begin


def main(kills=20, seed=0, *cases):
    moments = random.Random(int(seed))
    for case in cases or CASES:
        trainings = attack(case, int(kills), moments)
        print(f"{case}: {kills} kills, {trainings} trainings, the same bits", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
