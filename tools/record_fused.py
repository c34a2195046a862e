"""Record networks that MXNet 1.9.1 fused for oneDNN, for `tests/symbol/test_onednn_nodes.py`.

It runs under the reference's python, never under this project's::

    REFERENCE_PYTHON tools/record_fused.py

and writes `tests/reference/fused.json`: for a network fused in float32 and one in 8 bits the symbol
file, the parameters, the data, and the outputs of the network and of its fused nodes.
"""

import importlib
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def main():
    """Write the file."""
    mx = importlib.import_module("mxnet")
    symbol = _network(mx)
    random = np.random.RandomState(3)
    data = random.uniform(-1, 1, (8, 3, 6, 6)).astype("float32")
    shapes, _, states = symbol.infer_shape(data=data.shape)
    arguments = dict(zip(symbol.list_arguments(), shapes))  # noqa: B905 - the python is 3.8
    del arguments["data"]
    arguments = {n: _drawn(mx, random, n, s) for n, s in arguments.items()}
    states = dict(zip(symbol.list_auxiliary_states(), states))  # noqa: B905
    states = {n: _drawn(mx, random, n, s) for n, s in states.items()}
    fused = symbol.get_backend_symbol("MKLDNN_QUANTIZE")
    quantized, *_ = mx.contrib.quantization.quantize_model(
        fused,
        arguments,
        states,
        calib_mode="naive",
        calib_data=mx.io.NDArrayIter(data, batch_size=2),
        num_calib_examples=8,
        quantized_dtype="auto",
        excluded_sym_names=["sg_mkldnn_fully_connected_0"],
    )
    networks = {"float32": fused, "8 bits": quantized.get_backend_symbol("MKLDNN_QUANTIZE")}
    found = {
        "data": data[:2].tolist(),
        "arguments": {n: v.asnumpy().tolist() for n, v in arguments.items()},
        "states": {n: v.asnumpy().tolist() for n, v in states.items()},
        "networks": {
            name: {
                "symbol": json.loads(network.tojson()),
                "outputs": _outputs(
                    mx, network, {**arguments, "data": mx.nd.array(data[:2])}, states
                ),
            }
            for name, network in networks.items()
        },
    }
    path = ROOT / "tests" / "reference" / "fused.json"
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes")


def _network(mx):
    """Convolutions with all that oneDNN fuses to them; the summand is a result of relu.

    A summand of int8 would make sums of uint8 overflow at 127 in the reference.
    """
    net = mx.sym.var("data")
    net = mx.sym.Convolution(net, num_filter=4, kernel=(3, 3), pad=(1, 1), no_bias=True, name="c0")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="bn0")
    first = mx.sym.Activation(net, act_type="relu", name="relu0")
    net = mx.sym.Convolution(first, num_filter=4, kernel=(1, 1), name="c1")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="bn1")
    net = mx.sym.Activation(mx.sym.elemwise_add(first, net), act_type="relu", name="relu1")
    net = mx.sym.Convolution(net, num_filter=2, kernel=(3, 3), name="c2")
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc")
    return mx.sym.Activation(net, act_type="tanh", name="tanh")


def _drawn(mx, random, name, shape):
    if name.endswith(("gamma", "var")):
        drawn = random.uniform(0.5, 1.5, shape)
    elif name.endswith("weight"):
        drawn = random.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
    else:
        drawn = random.normal(0, 0.1, shape)
    return mx.nd.array(drawn.astype("float32"))


def _outputs(mx, symbol, arguments, states):
    """By name what fused nodes give; training changes nothing in them."""
    inner = symbol.get_internals()
    shown = [n for n in inner.list_outputs() if "sg_mkldnn" in n and n.endswith("_output")]
    bound = mx.sym.Group([inner[n] for n in shown]).bind(mx.cpu(), arguments, aux_states=states)
    outputs = [array.asnumpy().tolist() for array in bound.forward(is_train=True)]
    return dict(zip(shown, outputs))  # noqa: B905


if __name__ == "__main__":
    main()
