"""Search for files that a reader answers wrongly: files with damage that keeps their structure.

    python tools/fuzz.py                              # every reader, ten minutes in all
    python tools/fuzz.py --inputs 2000000 --jobs 16   # so many in all, on 16 cores
    python tools/fuzz.py --reader states --minutes 5
    python tools/fuzz.py --coverage                   # led by what runs, with atheris

tests/answers.py says what a reader must do, and in what time and memory; a process may moreover
take 2 GiB and 20 s for an input. A file that is answered wrongly is kept in out/fuzz, named by
reader and error: make a test of it. ``--coverage`` needs the package atheris: pip install
'.[fuzz]'.
"""

import argparse
import collections
import hashlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / "out" / "fuzz"
MEMORY = Path("/dev/shm")
# Larger inputs say nothing new, and a second is long for them.
LONGEST_BYTES = 2**20
MOST_SECONDS, SPARE_BYTES = 20, 2**31
sys.path.insert(0, str(ROOT))


def main():
    """Fuzz the readers, each in processes of its own."""
    arguments = parse()
    if arguments.coverage and find_spec("atheris") is None:
        sys.exit(
            "tools/fuzz.py --coverage: the package atheris is not installed: pip install "
            "'.[fuzz]' (it has wheels for Linux)"
        )
    if arguments.one:
        work = fuzz_by_coverage if arguments.coverage else fuzz
        work(arguments.one, arguments.seconds, arguments.count, arguments.seed)
        return
    names = arguments.reader or reader_names()
    count = -(-arguments.inputs // len(names)) if arguments.inputs else 0
    seconds = 0 if count else max(60 * arguments.minutes * arguments.jobs / len(names), 1)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda name: run_one(name, seconds, count, arguments), names))
    print(f"{sum(tried for tried, _ in results)} inputs in all")
    sys.exit(any(failed for _, failed in results))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="in all (default 10)")
    parser.add_argument("--inputs", type=int, default=0, help="in all, however long it takes")
    parser.add_argument("--jobs", type=int, default=1, help="readers at a time (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="of the damage (default 0)")
    parser.add_argument("--reader", action="append", help="only this one; may be repeated")
    parser.add_argument("--coverage", action="store_true", help="let atheris choose the damage")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=30, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


def reader_names():
    from tests.readers import READERS

    return list(READERS)


def run_one(name, seconds, count, arguments):
    """The number of inputs that were tried, and whether one had a wrong result."""
    command = [sys.executable, __file__, "--one", name, "--seconds", str(seconds),
               "--count", str(count), "--seed", str(arguments.seed)]  # fmt: skip
    command += ["--coverage"] if arguments.coverage else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    counted = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr + done.stdout)
    tried = int(counted[1]) if counted else 0
    verdict = f"WRONG (exit {done.returncode})" if done.returncode else "fine"
    lines = [f"{name}: {tried} inputs, {verdict}"]
    if done.returncode:
        shown = done.stdout.splitlines() + done.stderr.splitlines()[-20:]
        lines += [line for line in shown if not re.match(r"#\d|0x|\\\\", line)]
    print("\n".join(lines), flush=True)
    return tried, bool(done.returncode)


# ── Damage that keeps the structure ─────────────────────────────────────────────────────────


def fuzz(name, seconds, count, seed):
    """Ask one reader about damaged files, for some time or some number of files."""
    from tests.answers import warm
    from tests.mutations import mutated
    from tests.readers import READERS

    warnings.simplefilter("ignore")
    warm()
    limit_process()
    reader, chance = READERS[name], random.Random(f"{name} {seed}")
    seeds, wrong, tried = reader.seeds(), collections.Counter(), 0
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        path = Path(folder) / f"damaged{reader.ending}"
        while tried < count or (not count and time.monotonic() < end):
            content = mutated(chance, reader, seeds)[:LONGEST_BYTES]
            path.write_bytes(content)
            reason = wrong_answer(reader, path)
            if reason:
                wrong[reason] += 1
                keep(name, reason, content)
            tried += 1
    for reason, times in wrong.most_common():
        print(f"  {times} times {reason}")
    print(f"number_of_executed_units: {tried}")
    sys.exit(bool(wrong))


def limit_process():
    """Let the process take a little more memory than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + SPARE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGALRM, late)


def late(*_):
    raise TimeoutError(f"more than {MOST_SECONDS} s")


def wrong_answer(reader, path):
    """Why an answer is wrong; ``None`` where it is not."""
    from tests.answers import ask

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        ask(reader, path)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).replace(str(path), 'FILE')}"[:160]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if grown > 20 * path.stat().st_size + 200 * 2**20:
        return f"took {grown} bytes more"
    return None


def keep(name, reason, content):
    FOUND.mkdir(parents=True, exist_ok=True)
    kind = re.sub(r"\W+", "-", f"{name}-{reason[:40]}")
    (FOUND / f"{kind}-{hashlib.sha1(content).hexdigest()[:8]}").write_bytes(content)


# ── Damage that coverage leads ──────────────────────────────────────────────────────────────


def fuzz_by_coverage(name, seconds, count, seed):
    """Fuzz one reader until the time is over; the process ends here."""
    import atheris

    with atheris.instrument_imports(include=["modkit"]):
        from tests.answers import ask, warm
        from tests.readers import READERS
    reader = READERS[name]
    warm()
    FOUND.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="modkit-", dir=MEMORY if MEMORY.is_dir() else None))
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, content in enumerate(reader.seeds()):
        (corpus / f"good{number}").write_bytes(content)
    path = folder / f"damaged{reader.ending}"

    def one_input(content):
        path.write_bytes(content)
        ask(reader, path)

    options = [
        f"-max_total_time={int(seconds)}", f"-runs={count or -1}", f"-seed={seed}",
        "-max_len=8192", "-print_final_stats=1", "-rss_limit_mb=6144",
        f"-timeout={MOST_SECONDS}", f"-artifact_prefix={FOUND}/{name.replace(' ', '-')}-",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
