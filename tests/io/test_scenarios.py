"""Every iterator against the batches that MXNet handed out."""

import json
from pathlib import Path

import pytest

import modkit as mx
from tests.io.scenarios import SCENARIOS

RECORDED = json.loads(
    (Path(__file__).parents[1] / "reference" / "io.json").read_text(encoding="utf-8")
)["shown"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_as_recorded(name, tmp_path):
    seen = json.loads(json.dumps(SCENARIOS[name](mx, tmp_path)))
    assert seen == RECORDED[name]


def test_all_are_recorded():
    assert set(RECORDED) == set(SCENARIOS)
