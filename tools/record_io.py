"""Record what Apache MXNet 1.9.1's iterators hand out and its files hold, for `tests/io`.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_io

and writes `tests/reference/io.json`, a row for each scenario of `tests/io/scenarios.py`, and to
`tests/reference/files` the records and arrays of `tests/io/records.py` as MXNet writes them.
"""

import json
import tempfile

import mxnet as mx
import numpy as np

from tests.io.records import ARRAYS, HEADERS, RECORDS
from tests.io.scenarios import SCENARIOS
from tools.reference import FOLDER, need_environment, versions

FILES = FOLDER / "files"


def shown(scenario):
    """The result of the scenario, or that it failed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return scenario(mx, folder)
        except mx.base.MXNetError:
            return "fails"


def record_files():
    """Record files and array files."""
    writer = mx.recordio.MXRecordIO(str(FILES / "plain.rec"), "w")
    for record in RECORDS:
        writer.write(record)
    writer.close()
    writer = mx.recordio.MXIndexedRecordIO(
        str(FILES / "indexed.idx"), str(FILES / "indexed.rec"), "w"
    )
    for number, (header, data) in enumerate(HEADERS):
        writer.write_idx(3 * number, mx.recordio.pack(mx.recordio.IRHeader(*header), data))
    writer.close()

    arrays = {n: mx.nd.array(v, dtype=v.dtype) for n, v in ARRAYS.items()}
    mx.nd.save(str(FILES / "named.params"), {f"arg:{n}": a for n, a in arrays.items()})
    mx.nd.save(str(FILES / "list.params"), list(arrays.values()))
    mx.nd.save(str(FILES / "one.params"), arrays["float32"])
    mx.nd.save(str(FILES / "none.params"), [])
    mx.nd.save(str(FILES / "csr.params"), [mx.nd.sparse.csr_matrix(np.eye(3))])
    rows = mx.nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2))
    mx.nd.save(str(FILES / "row_sparse.params"), [rows])
    with mx.util.np_shape(True):
        mx.nd.save(str(FILES / "empty.params"), [mx.nd.zeros((0, 3)), mx.nd.ones((2,))])


def main():
    need_environment()
    FILES.mkdir(exist_ok=True)
    record_files()
    document = {"made by": "tools/record_io.py", **versions(mx)}
    rows = ",\n".join(
        json.dumps(n) + ": " + json.dumps(shown(s), separators=(",", ":"))
        for n, s in SCENARIOS.items()
    )
    text = json.dumps({**document, "shown": 0}).replace("0}", "{\n" + rows + "\n}}")
    json.loads(text)
    path = FOLDER / "io.json"
    path.write_text(text + "\n")
    print(f"{len(SCENARIOS)} scenarios, {len(text)} bytes: {path}")


if __name__ == "__main__":
    main()
