"""Programs in processes of their own, whose allocator nobody has set up."""

import json
import os
import subprocess
import sys
from pathlib import Path

from modkit.tuning import allocator
from tests.xla_options import cheap_flags

ROOT = Path(__file__).resolve().parent.parent


def answer(program, *arguments, **variables):
    """The JSON in the last line that a program prints, on a CPU and with environment variables.

    XLA's options are the cheap ones, but for an ``XLA_FLAGS`` among the variables.
    """
    env = {n: v for n, v in os.environ.items() if n not in allocator._VARIABLES}
    env["XLA_FLAGS"] = " ".join(cheap_flags())
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**env, "JAX_PLATFORMS": "cpu", **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
