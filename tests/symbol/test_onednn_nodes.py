"""Networks that MXNet fused for oneDNN, beside figures that it recorded."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.errors import FileFormatError, NotSupportedError

RECORDED = json.loads(
    (Path(__file__).parents[1] / "reference" / "fused.json").read_text(encoding="utf-8")
)


def _arrays(values):
    return {name: mx.nd.array(value) for name, value in values.items()}


@pytest.mark.parametrize("name", ["float32", "8 bits"])
def test_fused_networks_give_recorded_outputs(name):
    recorded = RECORDED["networks"][name]
    net = mx.sym.load_json(json.dumps(recorded["symbol"]))
    inner = mx.sym.load_json(net.tojson()).get_internals()
    listed = inner.list_outputs()
    # Quantization here calls a node's first output ..._output0.
    shown = [n if n in listed else f"{n}0" for n in recorded["outputs"]]
    arguments = _arrays({**RECORDED["arguments"], "data": RECORDED["data"]})
    states = _arrays(RECORDED["states"])
    bound = mx.sym.Group([inner[n] for n in shown]).bind(mx.cpu(), arguments, aux_states=states)
    outputs = [array.asnumpy() for array in bound.forward(is_train=True)]
    for array, (node, value) in zip(outputs, recorded["outputs"].items(), strict=True):
        if array.dtype == np.float32:
            np.testing.assert_allclose(array, value, atol=1e-6 if name == "float32" else 0.1)
        else:
            apart = np.abs(array.astype(int) - np.array(value))
            # Weights rounded to 8 bits move a level by up to 2 here.
            assert apart.max() <= 2, node
            assert apart.mean() < 0.5, node
    for state, value in _arrays(RECORDED["states"]).items():
        np.testing.assert_array_equal(states[state].asnumpy(), value.asnumpy())


def _changed(change):
    document = copy.deepcopy(RECORDED["networks"]["8 bits"]["symbol"])
    node = next(n for n in document["nodes"] if n["op"] == "_sg_mkldnn_conv")
    change(node)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda node: node["inputs"].pop(), "7 inputs and 1 subgraphs, expected one subgraph"),
        (lambda node: node.pop("subgraphs"), "8 inputs and 0 subgraphs, expected one subgraph"),
    ],
)
def test_subgraphs_that_do_not_fit_are_refused(change, reason):
    with pytest.raises(FileFormatError, match=reason):
        mx.sym.load_json(_changed(change))


def test_quantized_products_without_a_calibrated_range_cannot_be_run():
    net = mx.sym.load_json(_changed(lambda node: node["attrs"].pop("max_calib_range")))
    with pytest.raises(
        NotSupportedError, match="'quantized_sg_mkldnn_conv_bn_act_0' is of operator"
    ):
        net.simple_bind(mx.cpu(), data=(2, 3, 6, 6))
