"""Small questions, as `tools/record_behaviour.py` asked them of MXNet 1.9.1: the same answers."""

import json
import math
import warnings
from pathlib import Path

import pytest

import modkit as mx
from tools import record_behaviour

ROOT = Path(__file__).resolve().parent
ANSWERS = json.loads((ROOT / "reference" / "behaviour.json").read_text())["answers"]

DIFFERENCES = {
    # what was asked: (MXNet's answer, ours, why)
    "initial_values.bn_moving_mean": (
        "ValueError",
        [[0.0, 0.0], [0.0, 0.0]],
        "moving statistics start by their name too, so that files without __init__ load",
    ),
    "initial_values.bn_moving_var": (
        "ValueError",
        [[1.0, 1.0], [1.0, 1.0]],
        "the same",
    ),
    **{
        f"own_methods_in_loops.buckets {at}": (
            "set_params init_params 0 allow_missing arg_params aux_params force_init initializer",
            "set_params init_params 0 allow_extra allow_missing arg_params aux_params force_init "
            "initializer",
            "allow_extra of a BucketingModule's set_params reaches init_params; MXNet drops it",
        )
        for at in ("fit[15]", "again[15]")
    },
}


def kinds(function, *args, **kwargs):
    """All built-in classes of the exception that a call raises: a caller may catch any of them."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        plain = ("Exception", "BaseException", "object")
        names = [c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"]
        return " ".join(n for n in names if n not in plain)
    return None


def differences(theirs, ours, path):
    """Each ``(path, theirs, ours)`` that is not the same."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        for key, value in theirs.items():
            yield from differences(value, ours[key], f"{path}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(one, other, f"{path}[{i}]")
    elif not same(theirs, ours):
        yield path, theirs, ours


def same(theirs, ours):
    """Equal words and flags, near numbers, an exception that can be caught as theirs."""
    if isinstance(theirs, str) and theirs.endswith("Error") and isinstance(ours, str):
        return theirs in ours.split()
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (theirs, ours))
    return math.isclose(theirs, ours, rel_tol=1e-4, abs_tol=1e-6) if numbers else theirs == ours


@pytest.mark.parametrize("name", sorted(record_behaviour.QUESTIONS))
def test_the_answer_is_the_same(name, monkeypatch):
    monkeypatch.setattr(record_behaviour, "refusal", kinds)
    monkeypatch.setenv("MXNET_ENGINE_TYPE", "NaiveEngine")  # as the answers were recorded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # several questions do what is warned of
        ours = record_behaviour.plain(record_behaviour.QUESTIONS[name](mx))
    found = list(differences(ANSWERS[name], ours, name))
    known = [(p, a, b) for p, (a, b, _) in DIFFERENCES.items() if p.startswith(name + ".")]
    assert sorted(found, key=str) == sorted(known, key=str)


def test_the_table_is_complete():
    assert set(ANSWERS) == set(record_behaviour.QUESTIONS)
    assert {path.split(".")[0] for path in DIFFERENCES} <= set(ANSWERS)


def test_a_difference_is_seen():
    assert list(differences({"a": [1.0, 2]}, {"a": [1.0, 3]}, "q")) == [("q.a[1]", 2, 3)]
    assert list(differences([1], [1, 2], "q")) == [("q", [1], [1, 2])]
    assert not same("ValueError", "RuntimeError") and same("ValueError", "RuntimeError ValueError")
