"""One kill of `tools.attack_workers`, and what it accepts."""

import re

import pytest

from tools import attack_workers


@pytest.mark.dist
@pytest.mark.slow
def test_a_killed_worker_is_named_and_the_training_goes_on_as_one_process(capsys):
    attack_workers.attack(1, seed=5, sizes=[2], last=[1])
    text = capsys.readouterr().out
    assert re.search(r"1: worker [01] of 2, (start|step|exit)", text)
    assert "training 1 ended as 1: the same figures" in text
