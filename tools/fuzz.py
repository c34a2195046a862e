"""Search for files that a reader answers wrongly, led by what they make modkit's code do.

    python tools/fuzz.py                       # every reader, ten minutes in all
    python tools/fuzz.py --minutes 60 --reader states --reader symbol

What is asked of a reader is in tests/answers.py. A file that a reader answers wrongly is kept in
out/fuzz; make a test of it. Needs the package atheris: pip install 'modkit[fuzz]'.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / "out" / "fuzz"
MEMORY = Path("/dev/shm")
# Larger inputs say nothing new, and a second is long for them.
LONGEST_BYTES = 8192
sys.path.insert(0, str(ROOT))


def main():
    """Fuzz the readers one after another, each in a process of its own."""
    arguments = parse()
    if find_spec("atheris") is None:
        sys.exit(
            "tools/fuzz.py: the package atheris is not installed: pip install 'modkit[fuzz]' "
            "(it has wheels for Linux; without it, search by hypothesis: "
            "pytest -m slow tests/test_fuzz_readers.py)"
        )
    if arguments.one:
        fuzz(arguments.one, arguments.seconds)
        return
    names = arguments.reader or reader_names()
    seconds = max(int(60 * arguments.minutes / len(names)), 1)
    results = [run_one(name, seconds) for name in names]
    print(f"{sum(tried for tried, _ in results)} inputs in all")
    sys.exit(any(failed for _, failed in results))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="in all (default 10)")
    parser.add_argument("--reader", action="append", help="only this one; may be repeated")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=30, help=argparse.SUPPRESS)
    return parser.parse_args()


def reader_names():
    from tests.readers import READERS

    return list(READERS)


def run_one(name, seconds):
    """How many inputs were tried, and whether one was answered wrongly."""
    command = [sys.executable, __file__, "--one", name, "--seconds", str(seconds)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    counted = re.search(r"number_of_executed_units:\s*(\d+)", done.stderr)
    tried = int(counted[1]) if counted else 0
    verdict = f"WRONG (exit {done.returncode})" if done.returncode else "fine"
    print(f"{name}: {tried} inputs in {seconds} s, {verdict}")
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if not re.match(r"#\d|0x|\\\\", line)]
        print("\n".join(lines[-60:]))
    sys.stdout.flush()
    return tried, bool(done.returncode)


def fuzz(name, seconds):
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
        f"-max_total_time={seconds}", f"-max_len={LONGEST_BYTES}", "-print_final_stats=1",
        "-rss_limit_mb=6144", "-timeout=20", f"-artifact_prefix={FOUND}/{name.replace(' ', '-')}-",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
