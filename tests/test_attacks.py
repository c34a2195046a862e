"""Short forms of the attacks in tools/ that no other test runs; docs/reliability.md names them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import attack_threads

ROOT = Path(__file__).resolve().parent.parent


def attack(name, *arguments):
    """Run an attack in a process of its own; its memory and devices are no other test's."""
    command = [sys.executable, "-m", f"tools.{name}", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", ["eager", "slices", *(pytest.param(n, marks=pytest.mark.slow) for n in
                                  ("readers", "replicas", "modules"))]
)  # fmt: skip
def test_threads_lose_nothing(name):
    errors, counts = attack_threads.ATTACKS[name](0.5)
    assert not errors
    assert all(counts)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["pmap", "mesh"])
def test_steps_on_several_devices_do_not_stop_each_other(by):
    found = attack("attack_replicas", "--devices", "4", "--steps", "60", "--by", by)
    assert "steps on 4 devices by" in found and "no deadlock" in found


@pytest.mark.slow
def test_memory_does_not_grow_with_steps_shapes_and_buckets():
    found = attack("attack_long", "--steps", "300", "--shapes", "60", "--buckets", "3")
    assert found.count("growth") == 3
