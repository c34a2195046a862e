"""SIGKILL at random moments while checkpoints and records are written: none may be half.

    python -m tools.attack_kills --kills 200

Runs the tests of killed writers with that many kills for each writer.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pytest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="for each writer")
    os.environ["MODKIT_TEST_KILLS"] = str(parser.parse_args().kills)
    tests = Path(__file__).resolve().parents[1] / "tests" / "test_crash_safety.py"
    sys.exit(pytest.main([str(tests), "-q", "-m", "slow", "-k", "killed"]))


if __name__ == "__main__":
    main()
