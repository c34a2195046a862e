"""Environment, versions and folder of the programs that record Apache MXNet 1.9.1.

They run under its python, in this project's folder, in the environment that its build needs::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_metrics
"""

import os
import platform
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "reference"
ENVIRONMENT = {
    "MXNET_SUBGRAPH_BACKEND": "NONE",
    "MXNET_MKLDNN_ENABLED": "0",
    "MXNET_ENGINE_TYPE": "NaiveEngine",
    "OMP_NUM_THREADS": "1",
}


def need_environment():
    """End the program unless it runs in the environment of the figures."""
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        raise SystemExit(f"this build of the reference needs its environment: {ENVIRONMENT}")


def versions(mx):
    """The versions that made the figures."""
    return {
        "mxnet": mx.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
