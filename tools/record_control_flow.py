"""Record loops and branches of Apache MXNet 1.9.1 for `tests/symbol/test_control_flow.py`.

It runs under the reference's python, never under this project's::

    REFERENCE_PYTHON tools/record_control_flow.py

and writes `tests/reference/control_flow.json`: for each graph of `tests/symbol/loops.py` its JSON,
names, outputs, and the gradients of all inputs for the head gradients 1, 2, ..., ``null``
for those at which it fails: the gradients of some nested loops, and loops in which shapes of others
are inferred.
"""

import importlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def record(mx, loops, name):
    """All figures of one graph."""
    symbol, form = loops.built(mx, name)
    arrays = {n: mx.nd.array(v) for n, v in loops.ROWS[name].inputs.items()}
    grads = {n: mx.nd.zeros_like(v) for n, v in arrays.items()}
    values = found = None
    try:
        outputs = symbol.bind(mx.cpu(), arrays).forward(is_train=True)
        values = [y.asnumpy() for y in outputs]
        steps = loops.ROWS[name].steps
        if steps is not None:  # the first output is the one that is stacked
            values[0] = values[0][:steps]
        values = [v.tolist() for v in values]
        executor = symbol.bind(mx.cpu(), arrays, args_grad=grads)
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones_like(y) * (i + 1) for i, y in enumerate(outputs)])
        found = {n: g.asnumpy().tolist() for n, g in grads.items()}
    except mx.MXNetError:
        print("fails:", name)
    return {
        "json": symbol.tojson(),
        "form": form,
        "arguments": symbol.list_arguments(),
        "outputs": symbol.list_outputs(),
        "values": values,
        "grads": found,
    }


def main():
    """Write the file."""
    sys.path.insert(0, str(ROOT / "tests" / "symbol"))
    mx, loops = importlib.import_module("mxnet"), importlib.import_module("loops")
    rows = {name: record(mx, loops, name) for name in loops.ROWS}
    path = ROOT / "tests" / "reference" / "control_flow.json"
    path.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
