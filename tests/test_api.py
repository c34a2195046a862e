"""Public names: none leaves unnoticed, and what MXNet has and modkit has not is in one table."""

import fnmatch
import inspect
import json
import re
from pathlib import Path

import pytest

import modkit
from modkit.absent import AbsentName
from tools import record_api

ROOT = Path(__file__).resolve().parent
MXNET = json.loads((ROOT / "reference" / "api.json").read_text())["names"]
FROZEN = json.loads((ROOT / "public_names.json").read_text())["names"]
ROW = re.compile(r"^\| (`mx.*?) \| (`.*?) \| (.+?) \|$", re.MULTILINE)
TABLE = [
    (re.findall(r"`mx\.?(.*?)`", where), re.findall(r"`(.*?)`", names), why)
    for where, names, why in ROW.findall((ROOT.parent / "docs" / "missing.md").read_text())
]


def has(thing, name):
    """Whether a module, a class or the instances of a class have a public name."""
    declared = inspect.getmro(thing) if isinstance(thing, type) else ()
    if any(name in inspect.get_annotations(c) for c in declared):
        return True
    return not isinstance(getattr(thing, name, AbsentName("", "")), AbsentName)


def lacking(place):
    """MXNet's names at a place that modkit has not."""
    thing = record_api.find(modkit, place)
    return {n for n in MXNET[place] if thing is None or not has(thing, n)}


def explained(place):
    """Patterns of the table's rows for a place."""
    return [pattern for places, names, _ in TABLE if place in places for pattern in names]


@pytest.mark.parametrize("place", sorted(MXNET))
def test_what_is_missing_is_in_the_table(place):
    patterns = explained(place)
    strange = [n for n in lacking(place) if not any(fnmatch.fnmatchcase(n, p) for p in patterns)]
    assert not strange, f"add to docs/missing.md, with the reason: mx.{place}: {sorted(strange)}"


@pytest.mark.parametrize(("places", "names", "why"), TABLE, ids=lambda v: str(v)[:40])
def test_what_is_in_the_table_is_missing(places, names, why):
    assert why.strip()
    for place in places:
        assert place in MXNET, f"no such place: mx.{place}"
    missing = {n for place in places for n in lacking(place)}
    for pattern in names:
        assert fnmatch.filter(missing, pattern), f"mx.{places}: {pattern} is there: drop the row"


@pytest.mark.parametrize("place", sorted(FROZEN))
def test_no_public_name_has_left(place):
    thing = record_api.find(modkit, place)
    gone = [n for n in FROZEN[place] if thing is None or not has(thing, n)]
    assert not gone, f"mx.{place}: {gone} left: say so in CHANGELOG.md, and see below"


def test_every_public_name_is_in_the_list():
    now = record_api.public_names(modkit)
    new = {p: sorted(set(names) - set(FROZEN.get(p, ()))) for p, names in now.items()}
    assert not any(new.values()), (
        "freeze new names: .venv/bin/python tools/record_api.py modkit: "
        f"{ {p: n for p, n in new.items() if n} }"
    )


def test_arrays_symbols_and_modules_are_no_batches():
    """Programs of MXNet's time tell batches from arrays by their attributes."""
    x = modkit.sym.Variable("x")
    for thing in (modkit.nd.ones((2,)), x, modkit.mod.Module(x, ["x"], None)):
        assert not any(hasattr(thing, name) for name in ("data", "label", "index"))


def test_names_are_looked_for():
    assert len(TABLE) > 9 and len(MXNET) > 80 and len(FROZEN) > 70
    assert has(modkit.executor.Executor, "arg_dict") and not has(modkit.executor.Executor, "arg")
    assert "gluon" in lacking("") and "Module" not in lacking("mod")
