"""Kill trainings with SIGKILL at random moments until they end, and compare the bits.

Run it from the root: ``.venv/bin/python -m tools.attack_resume [KILLS] [SEED] [CASE ...]``. The
moments lie in the whole of a process: its start, a step, the writing of a checkpoint.
"""

import argparse
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


def drafts(folder):
    return list(folder.glob(".step-*.tmp"))


def killed(process, folder, after_s, in_write):
    """Kill a training after some seconds, or at the next checkpoint that is written then.

    Returns:
        The number of drafts that it leaves; ``None`` if it ended before.
    """
    try:
        process.wait(after_s)
        return None
    except subprocess.TimeoutExpired:
        pass
    while in_write and process.poll() is None and not drafts(folder):
        time.sleep(0.0005)
    process.kill()
    if process.wait() == 0:
        return None
    process.communicate()
    return len(drafts(folder))


def attack(case, kills, moments):
    """Kill trainings so many times, each until it ends; exits with an error if a bit differs.

    Every second kill waits for a checkpoint that is being written. Moments lie in the seconds of
    the latest training that was not killed: a machine that was busy may be free later.

    Returns:
        The number of trainings, and of kills that left a draft of a checkpoint.
    """
    with tempfile.TemporaryDirectory() as folder:
        whole, usual_s = timed(case, Path(folder) / "cold")
        whole, usual_s = timed(case, Path(folder) / "whole")
        done = trainings = in_writes = 0
        while done < kills:
            trainings += 1
            own = Path(folder) / f"killed-{trainings}"
            before, begin = done, time.monotonic()
            while True:
                process = started(case, own)
                left = None
                if done < kills:
                    after_s = moments.uniform(usual_s / 2, usual_s)
                    left = killed(process, own, after_s, done % 2)
                if left is None:
                    break
                done, in_writes = done + 1, in_writes + (left > 0)
            if finished(process) != whole:
                raise SystemExit(f"{case}: after {done} kills a training has other bits")
            if done == before:
                usual_s = time.monotonic() - begin
    return trainings, in_writes


def timed(case, folder):
    """The digest of an unbroken training, and its seconds."""
    begin = time.monotonic()
    return finished(started(case, folder)), time.monotonic() - begin


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kills", type=int, nargs="?", default=20, help="of each case; default 20")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"default all: {', '.join(CASES)}")
    given = parser.parse_args(arguments)
    if unknown := set(given.cases).difference(CASES):
        parser.error(f"no case {', '.join(sorted(unknown))}; there are: {', '.join(CASES)}")
    moments, kills = random.Random(given.seed), given.kills
    for case in given.cases or CASES:
        trainings, in_writes = attack(case, kills, moments)
        print(
            f"{case}: {kills} kills, {in_writes} in a write, {trainings} trainings, the same bits",
            flush=True,
        )


if __name__ == "__main__":
    main()
