"""Read with Apache MXNet 1.9.1 what modkit wrote, and compute from it.

`tests/test_artefacts.py` writes a folder of files, runs this program under the reference's python
with that folder as its argument, and compares what it wrote to `read.npz` there::

    MODKIT_REFERENCE=REFERENCE_PYTHON python -m pytest -m reference tests/test_artefacts.py
"""

import json
import sys
from pathlib import Path

import mxnet as mx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import record_artefacts
import record_continuing


def outputs_of(folder, name, row, inputs):
    """The outputs of a checkpoint's net."""
    symbol, args, auxs = mx.model.load_checkpoint(str(folder / name), row["epoch"])
    labels = [label for label in row["labels"] if label in inputs]
    if len(labels) < len(row["labels"]):
        inputs = dict(inputs, softmax_label=np.zeros(len(inputs["data"]), np.float32))
    return record_artefacts.outputs_of(symbol, args, auxs, inputs)


def go_on(folder, row, epoch, steps):
    """Train on from a checkpoint of modkit's: the parameters at the end."""
    batches = record_continuing.batches_of(row.net)
    contexts = [mx.cpu(i) for i in range(row.devices)]
    module = mx.mod.Module.load(
        str(folder / row.name), epoch, load_optimizer_states=True, context=contexts
    )
    record_continuing.bind(module, batches)
    again = dict(row.again)
    if "begin_num_update" in again:
        again["begin_num_update"] = epoch
    record_continuing.init_optimizer(module, record_continuing.replaced(row, again), again=True)
    record_continuing.run(module, batches, epoch, steps)
    args, auxs = module.get_params()
    return {name: value.asnumpy() for name, value in {**args, **auxs}.items()}


def main():
    """Read everything that the folder's `written.json` names."""
    folder = Path(sys.argv[1])
    written = json.loads((folder / "written.json").read_text())
    found = {}
    for name, row in written["nets"].items():
        with np.load(str(folder / f"{name}.npz")) as stored:
            inputs = {k.split(":")[1]: stored[k] for k in stored if k.startswith("input:")}
        for i, value in enumerate(outputs_of(folder, name, row, inputs)):
            found[f"{name}/{i}"] = value
    for name, value in mx.nd.load(str(folder / "sparse.params")).items():
        found[f"sparse/{name}/{value.stype}"] = value.asnumpy()
    rows = {row.name: row for row in record_continuing.ROWS}
    for name in written["continuing"]:
        reached = go_on(folder, rows[name], written["epoch"], written["steps"])
        found.update((f"continuing/{name}/{key}", value) for key, value in reached.items())
    records = mx.recordio.MXIndexedRecordIO(
        str(folder / "pictures.idx"), str(folder / "pictures.rec"), "r"
    )
    for key in records.keys:
        header, content = mx.recordio.unpack(records.read_idx(key))
        found[f"record/{key}/label"] = header.label
        found[f"record/{key}/content"] = np.frombuffer(content, np.uint8)
    plain = mx.recordio.MXRecordIO(str(folder / "plain.rec"), "r")
    for i, content in enumerate(iter(plain.read, None)):
        found[f"plain/{i}"] = np.frombuffer(content, np.uint8)
    np.savez(str(folder / "read.npz"), **found)


if __name__ == "__main__":
    main()
