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
    """Kill a training up to so many times; how many it survived. Exits if a bit differs."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        whole = finished(started(case, Path(folder) / "whole"))
        usual_s = time.monotonic() - begin
        done = 0
        while done < kills:
            process = started(case, Path(folder) / "killed")
            try:
                process.wait(moments.uniform(usual_s / 3, usual_s))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                done += 1
                continue
            break
        else:
            process = started(case, Path(folder) / "killed")
        if finished(process) != whole:
            raise SystemExit(f"{case}: after {done} kills the training has other bits")
    return done


def main(kills=20, seed=0, *cases):
    moments = random.Random(int(seed))
    for case in cases or CASES:
        print(f"{case}: the same bits after {attack(case, int(kills), moments)} kills", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
