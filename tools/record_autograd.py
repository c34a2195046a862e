"""Record what Apache MXNet 1.9.1's autograd computes, for `tests/autograd/test_reference.py`.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_autograd

and writes `tests/reference/autograd.json`: the arrays that each program of
`tests/autograd/cases.py` returns, the programs that are refused, and values and derivatives of
operators.
"""

import json

import mxnet as mx
import numpy as np

from tests.autograd.cases import CURVED, PROGRAMS, REFUSED, SMOOTH, curved, smooth
from tools.reference import FOLDER, need_environment, versions


def plain(found):
    if found is None:
        return None
    if isinstance(found, dict):
        return {name: plain(each) for name, each in found.items()}
    if isinstance(found, (list, tuple)):
        return [plain(each) for each in found]
    array = found.asnumpy() if hasattr(found, "asnumpy") else found
    return np.asarray(array, float).round(7).tolist()


def is_refused(program):
    try:
        program(mx)
    except Exception:
        return True
    finally:
        mx.autograd.set_recording(False)
        mx.autograd.set_training(False)
    return False


def firsts(name):
    """Outputs and first derivatives; ``None`` where the reference has none without oneDNN."""
    found = curved(mx, name)
    if "second" in found:
        raise SystemExit(f"{name} has second derivatives: it belongs to SMOOTH")
    return {n: found[n] for n in ("value", "first")} if "first" in found else None


def main():
    need_environment()
    wrong = [name for name, program in REFUSED.items() if not is_refused(program)]
    if wrong:
        raise SystemExit(f"not refused: {wrong}")
    document = {
        "made by": "tools/record_autograd.py",
        **versions(mx),
        "refused": sorted(REFUSED),
        "programs": {name: plain(program(mx)) for name, program in PROGRAMS.items()},
        "curved": {name: plain(firsts(name)) for name in CURVED},
        "smooth": {name: plain(smooth(mx, name)) for name in SMOOTH},
    }
    path = FOLDER / "autograd.json"
    path.write_text(json.dumps(document, indent=0).replace("\n", " ").replace("}, ", "},\n") + "\n")
    print(f"{len(PROGRAMS)} programs, {len(REFUSED)} refused, {len(SMOOTH)} operators: {path}")


if __name__ == "__main__":
    main()
