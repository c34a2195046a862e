"""The quick part of the tests has a row of each kind in each table."""

from pathlib import Path

import pytest

import tests.ops.conftest
from modkit.ops.registry import get_op
from tests import quick
from tests.ops.test_ops import TESTED_ELSEWHERE, _has_gradient
from tools import time_tests

TESTS = Path(__file__).parent
KINDS = {
    # table, kinds of a row
    "tests/io/test_scenarios.py::test_as_recorded": lambda row: [row["name"].partition("-")[0]],
    "tests/metric/test_metric.py::test_it_shows_what_mxnet_shows": lambda row: [row["case"].metric],
    "tests/ops/test_ops.py::test_numbers": lambda row: _operators(row["case"]),
    "tests/ops/test_ops.py::test_parameters_as_text": lambda row: _operators(row["case"]),
    "tests/ops/test_ops.py::test_shapes": lambda row: _operators(row["case"]),
    "tests/optimizer/test_optimizer_figures.py::test_same_weights_and_states_as_the_reference":
        lambda row: [row["run"][0]],
    "tests/test_fuzz_readers.py::test_good_files_are_read": lambda row: [row["name"]],
}  # fmt: skip


def _operators(case):
    name = get_op(case.op).name
    return [name, f"gradient of {name}"] if _has_gradient(case) else [name]


@pytest.fixture
def tests(request):
    """All collected tests, by function."""
    found = {}
    for item in request.config.stash[quick.EVERY_TEST]:
        found.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return found


@pytest.mark.parametrize("table", KINDS)
def test_each_kind_of_row_is_quick(table, tests):
    if table not in tests:
        pytest.skip("this run does not collect the table")
    kinds, kept = set(), set()
    for item in tests[table]:
        here = KINDS[table](item.callspec.params)
        kinds.update(here)
        kept.update([] if quick.is_slow(item) else here)
    assert kinds - kept == set()
    assert len(kinds) > 5


@pytest.mark.parametrize("name", sorted(set(TESTED_ELSEWHERE.values())))
def test_operators_outside_of_the_table_are_quick(name, tests):
    path = (TESTS / "ops" / name).resolve()
    assert path.exists()
    file = path.relative_to(TESTS.parent).as_posix()
    items = [
        item for each, found in tests.items() if each.startswith(f"{file}::") for item in found
    ]
    if not items:
        pytest.skip("this run does not collect the file")
    assert not all(map(quick.is_slow, items))


LISTED = {*quick.ONE_IN, *quick.ONE_SLOW_IN, *quick.SLOW}
LISTED |= {f"{file}::{name}" for file, names in quick.THOROUGH.items() for name in names}


@pytest.mark.parametrize("file", sorted({each.partition("::")[0] for each in LISTED}))
def test_what_is_listed_is_there(file, tests):
    text = (TESTS.parent / file).read_text()
    for each in LISTED:
        function, _, row = each.partition("[")
        path, _, name = function.partition("::")
        if path == file and name:
            assert f"def {name}(" in text, each
            if found := row and tests.get(function):
                assert each in {item.nodeid for item in found}


def test_what_is_quick_is_in_make_test(tests):
    for items in tests.values():
        for item in items:
            assert quick.is_slow(item) or not item.get_closest_marker("thorough"), item.nodeid


def test_ci_runs_what_make_test_leaves_out():
    root = TESTS.parent
    assert {"make test", "make thorough"} <= set((root / ".ci" / "run").read_text().splitlines())
    commands = (root / "Makefile").read_text()
    for mark in ('"not thorough"', "thorough", '"not slow"'):
        assert f"$(PYTEST) -m {mark} $(ARGS)" in commands


@pytest.mark.parametrize("entry", sorted({*quick.ONE_IN, *quick.ONE_SLOW_IN}))
def test_what_is_thinned_out_has_several_tests(entry, tests, request):
    """A table that became a single test, or has another name, would be thinned out no more."""
    file, _, name = entry.partition("::")
    here = {each: found for each, found in tests.items() if each.startswith(f"{file}::")}
    if not here or any("::" in argument for argument in request.config.args):
        pytest.skip("this run does not collect the whole file")
    assert sum(len(found) for each, found in here.items() if not name or each == entry) > 1


LIMIT_S = 0.01 * time_tests.TIMES_MEAN


@pytest.mark.parametrize(
    ("times", "listed", "found"),
    [
        ({"f::a": ("quick", 2 * LIMIT_S)}, [], ["f::a"]),
        ({"f::a": ("quick", 0.7 * LIMIT_S)}, [], []),
        ({"f::a": ("slow", 0.7 * LIMIT_S)}, ["f::a"], ["f::a"]),
        ({"f::a": ("slow", 0.4 * LIMIT_S)}, ["f::a"], []),
        ({"f::a": ("slow", 2 * LIMIT_S)}, [], []),  # by another mark
        ({}, ["f::a", "f::b[1]"], ["f::a", "f::b[1]"]),
        ({"f::kept": ("quick", 2 * LIMIT_S)}, [], []),
        ({"f::a[1]": ("quick", 0.0), "f::a[2]": ("quick", 2 * LIMIT_S)}, [], ["f::a[2]"]),
        ({"f::a[1]": ("quick", 2 * LIMIT_S)} | {"f::a[2]": ("quick", 2 * LIMIT_S)}, [], ["f::a"]),
        ({"f::a[1]": ("quick", 3 * LIMIT_S)} | {"f::a[2]": ("quick", 0.0)}, [], ["f::a"]),
        ({"f::a[1]": ("slow", 2 * LIMIT_S)} | {"f::a[2]": ("slow", 0.0)}, ["f::a"], ["f::a[1]"]),
    ],
)
def test_slow_tests_are_those_of_some_times_the_mean(times, listed, found):
    mean = {f"f::other[{i}]": ("quick", 0.01, 0.0) for i in range(10)}
    times = {name: (part, 0.01, alone) for name, (part, alone) in times.items()}
    assert time_tests.slow({**mean, **times}, listed, ["f::kept"]) == found
