"""Record quantized networks of Apache MXNet 1.9.1 for `tests/contrib/test_quantization.py`.

It runs under the reference's python, never under this project's::

    REFERENCE_PYTHON tools/record_quantization.py

and writes `tests/reference/quantization.json`: for each call the symbol file, the parameters of 8
bits, and what the network predicts, where the reference can run it on a CPU; and
`tests/reference/quantization_steps.json`: what the steps of such a call give.
"""

import importlib
import json
import logging
import os
import sys
from pathlib import Path

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "contrib"))


def main():
    """Write the file."""
    mx = importlib.import_module("mxnet")
    networks = importlib.import_module("quantized_networks")
    found = []
    for name, options in networks.CALLS:
        symbol = networks.NETWORKS[name][0](mx)
        arguments, states = networks.parameters(mx, symbol, name)
        given = dict(options, logger=logging.getLogger("record"))
        if options["calib_mode"] != "none":
            given["calib_data"] = networks.iterator(mx, name)
        quantized, params, states = mx.contrib.quant.quantize_model(
            symbol, arguments, states, **given
        )
        entry = {"network": name, "options": options, "symbol": json.loads(quantized.tojson())}
        entry["levels"] = {n: v.asnumpy().tolist() for n, v in params.items() if "_quantize" in n}
        entry["predictions"] = _predictions(mx, networks, name, quantized, params, states)
        found.append(entry)
    _write("quantization.json", found)
    _write("quantization_steps.json", {name: networks.step(mx, name) for name in networks.STEPS})


def _write(name, found):
    path = ROOT / "tests" / "reference" / name
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n")
    print(f"{name}: {len(found)} entries, {path.stat().st_size} bytes")


def _predictions(mx, networks, name, symbol, params, states):
    """The outputs for all data, or ``None`` where the reference cannot run the network."""
    data = networks.iterator(mx, name)
    module = mx.mod.Module(symbol)
    try:
        module.bind(data.provide_data, data.provide_label, for_training=False)
        module.set_params(params, states)
        return module.predict(data).asnumpy().tolist()
    except mx.MXNetError as error:
        print(f"{name}: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
        return None


if __name__ == "__main__":
    main()
