"""Imperative gradients beside those that MXNet 1.9.1 computed, and refusals where it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.ndarray import node_by_node
from modkit.ops import get_op
from tests.autograd.cases import (
    CURVED,
    KINKED,
    PROGRAMS,
    REFUSED,
    SMOOTH,
    curved,
    directions,
    rows,
    smooth,
)

REFERENCE = json.loads(
    (Path(__file__).resolve().parents[1] / "reference" / "autograd.json").read_text()
)

WRONG_SIGN = ("arcsinh", "arccosh")
"""MXNet's second derivatives of these are of the opposite sign; d²/dx² arccosh(x) is negative."""


@pytest.fixture(autouse=True)
def modes():
    """Every test begins and ends outside of recording."""
    yield
    mx.autograd.set_recording(False)
    mx.autograd.set_training(False)


@pytest.fixture(params=["nodes", "whole"])
def by(request, monkeypatch):
    """Gradients node by node, or of one program, as of structures that come often."""
    if request.param == "whole":
        monkeypatch.setattr(node_by_node.Steps, "run", lambda *_: None)


def check(found, expected):
    assert len(found) == len(expected) > 0
    for got, want in zip(found, expected, strict=True):
        got = got.asnumpy() if hasattr(got, "asnumpy") else got
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("by")
def test_programs(name):
    check(PROGRAMS[name](mx), REFERENCE["programs"][name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_mxnet_refuses(name):
    assert name in REFERENCE["refused"]
    with pytest.raises(mx.MXNetError):
        REFUSED[name](mx)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.usefixtures("by")
def test_derivatives(name):
    found, expected = smooth(mx, name), REFERENCE["smooth"][name]
    check([found["value"]], [expected["value"]])
    check(found["first"], expected["first"])
    assert "second" in found
    if "second" in expected:
        sign = -1 if name in WRONG_SIGN else 1
        check(found["second"], [sign * np.array(each) for each in expected["second"]])


@pytest.mark.parametrize("name", CURVED)
def test_derivatives_of_rows(name):
    """First ones beside MXNet's, second ones beside differences of the first."""
    found, expected = curved(mx, name), REFERENCE["curved"][name]
    if expected is not None:
        check(found["value"], expected["value"])
        check(found["first"], expected["first"])
    if name in KINKED:
        return
    exact = curved(mx, name, "float64")["second"]
    steps = directions(name, exact)
    slope = sum((each.asnumpy() * step).sum() for each, step in zip(exact, steps, strict=True))
    step = 1e-4
    ahead, behind = (curved(mx, name, "float64", s)["sum"].asscalar() for s in (step, -step))
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-7)


def test_every_operator_with_a_second_derivative_has_a_row():
    known, missing = {get_op(name) for name in (*SMOOTH, *CURVED)}, []
    for row in (row for table in rows.load().values() for row in table):
        op = get_op(row.op)
        if (
            op in known
            or op.takes_key
            or op.gradient in ("loss", "refused")
            or not row.differentiated(row.arrays())
        ):
            continue
        known.add(op)
        if any(abs(each.asnumpy()).max() > 0 for each in curved(mx, row.op).get("second", ())):
            missing.append(row.op)
    assert not missing
