"""Processor time of tests: a plugin of pytest that records it, and a command that lists slow tests.

    python -m pytest -n 2 -p tools.time_tests --times out/all.json
    python -m pytest -n 2 -p tools.time_tests --times out/quick.json -m "not slow"
    python -m tools.time_tests out/all.json out/quick.json

The second run finds tests that pay for what others, left out, made for them. The command prints
what each part of the tests takes, with its dearest functions, and writes `tests/slow_tests.txt`,
which `tests/quick.py` reads. A test is slow that takes, with the fixtures that it shares,
`TIMES_MEAN` times the mean of `make test`, on any machine; a listed one stays slow until it takes
half of that. Tests that no run has timed stay as they are. Those that the quick part leaves out
otherwise are not listed, nor those of the tables in `tests/test_quick.py`, which have a row of each
kind.
"""

import argparse
import json
import resource
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Generator
from pathlib import Path
from typing import Any

import pytest

TIMES_MEAN = 5
LIST = Path(__file__).resolve().parent.parent / "tests" / "slow_tests.txt"
PARTS = ("thorough", "slow", "quick")
"""The first whose mark a test has is its part."""

_START, _THERE = pytest.StashKey[float](), pytest.StashKey[float]()
_SHARED: dict[str, float] = {}
"""The setup's time of each fixture that several tests share, by name."""
_FOUND: dict[str, tuple[str, float, float]] = {}
"""Part, own seconds, and those with all shared fixtures, by test."""


def processor_s() -> float:
    """Processor time of this process, of all its threads, and of the children it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--times``."""
    parser.addoption("--times", type=Path, required=True, help="the file to write")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Notes when a test starts, and the shared fixtures that are there."""
    names = getattr(item, "fixturenames", ())
    item.stash[_THERE] = sum(_SHARED.get(name, 0.0) for name in names)
    item.stash[_START] = processor_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Times the fixtures that tests share."""
    del request
    start = processor_s()
    result = yield
    if fixturedef.scope != "function":
        _SHARED[fixturedef.argname] = processor_s() - start
    return result


def pytest_fixture_post_finalizer(fixturedef: pytest.FixtureDef[Any]) -> None:
    """Forgets a fixture that is no longer there."""
    _SHARED.pop(fixturedef.argname, None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds part and seconds to the report of a test's end, which a worker of xdist sends."""
    report = yield
    if call.when == "teardown":
        part = next(p for p in PARTS if item.get_closest_marker(p) or p == PARTS[-1])
        own = processor_s() - item.stash[_START]
        report.user_properties.append(("time", (part, own, own + item.stash[_THERE])))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keeps what a report has."""
    for name, value in report.user_properties if report.when == "teardown" else ():
        if name == "time":
            part, own, alone = value  # type: ignore[misc]
            _FOUND[report.nodeid] = part, round(own, 3), round(alone, 3)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the file, in the process that the others report to."""
    if not hasattr(session.config, "workerinput"):
        path = session.config.option.times
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_FOUND, indent=0))


def slow(
    times: dict[str, tuple[str, float, float]], listed: Collection[str], kept: Collection[str]
) -> list[str]:
    """The list of slow tests, by name; a function whose tests are all slow is one entry.

    So is one of whose tests the first alone is slow, by far: the others share what it made.

    Args:
        times: what `_FOUND` has.
        listed: the list before.
        kept: functions that are not listed.
    """
    limit = TIMES_MEAN * statistics.mean(own for part, own, _ in times.values() if part != PARTS[0])
    rows = defaultdict(list)
    for test in times:
        rows[test.partition("[")[0]].append(test)
    found = {each for each in listed if each.partition("[")[0] not in rows}
    for function in rows.keys() - set(kept):
        here = []
        for test in rows[function]:
            part, _, seconds = times[test]
            if {function, test} & set(listed):
                here += [test] * (seconds > limit / 2)
            elif part == "quick":
                here += [test] * (seconds > limit)
        first = rows[function][0]
        shared = here == [first] and times[first][2] > 2 * limit
        found.update([function] if shared or len(here) == len(rows[function]) else here)
    return sorted(found)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, usage="%(prog)s FILE...")
    parser.add_argument("files", nargs="+", type=Path, help="of runs; the last one counts")
    times = {}
    for path in parser.parse_args().files:
        times |= json.loads(path.read_text())
    for part in PARTS:
        here = {test: s for test, (its, s, _) in times.items() if its == part}
        print(f"{part}: {sum(here.values()):.0f} s in {len(here)} tests")
        functions = Counter()
        for test, seconds in here.items():
            functions[test.partition("[")[0]] += seconds
        for function, seconds in functions.most_common(20):
            print(f"  {seconds:6.1f} s  {function}")
    from tests.test_quick import KINDS  # it imports all tables of operators

    listed = LIST.read_text().splitlines() if LIST.exists() else []
    LIST.write_text("".join(f"{each}\n" for each in slow(times, listed, KINDS)))


if __name__ == "__main__":
    main()
