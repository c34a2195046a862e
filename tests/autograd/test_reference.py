"""Imperative gradients beside those that MXNet 1.9.1 computed, and refusals where it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.ndarray import node_by_node
from tests.autograd.cases import PROGRAMS, REFUSED, SMOOTH, smooth

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
