"""Record symbols of Apache MXNet 1.9.1 for `tests/symbol/test_recorded.py`.

It runs under the reference's python, never under this project's::

    REFERENCE_PYTHON -m tools.record_symbols

and writes `tests/reference/symbols.json`: for each graph of `tests/symbol/graphs.py` its names,
attributes, JSON, and inferred shapes and types; and for each file of `tests/symbol/dialects.py`
what it becomes.
"""

import contextlib
import importlib
import io
import json
import os

from tools.reference import ENVIRONMENT, FOLDER


def ask(infer, given, error):
    """The result of an inference, ``"error"`` where it refuses."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return [list(each) for each in infer(**given)]
    except error:
        return "error"


def record(mx, row):
    """All answers about one graph."""
    with mx.name.NameManager():
        symbol = row.build(mx)
    types = [
        answer if answer == "error" else [[t and t.__name__ for t in each] for each in answer]
        for answer in (ask(symbol.infer_type_partial, g, mx.MXNetError) for g in row.types)
    ]
    children = symbol.get_children()
    return {
        "name": symbol.name,
        "repr": repr(symbol),
        "arguments": symbol.list_arguments(),
        "outputs": symbol.list_outputs(),
        "auxiliary": symbol.list_auxiliary_states(),
        "inputs": symbol.list_inputs(),
        "internals": symbol.get_internals().list_outputs(),
        "children": children.list_outputs() if children is not None else None,
        "attr_dict": symbol.attr_dict(),
        "debug_str": symbol.debug_str(),
        "json": symbol.tojson(),
        "shapes": [ask(symbol.infer_shape_partial, g, mx.MXNetError) for g in row.shapes],
        "types": types,
    }


def read(mx, document):
    """A document read and written again, ``"error"`` where the reference refuses it."""
    try:
        symbol = mx.sym.load_json(json.dumps(document))
    except mx.MXNetError:
        return "error"
    return {"json": symbol.tojson(), "attr_dict": symbol.attr_dict()}


def main():
    os.environ.update(ENVIRONMENT)
    mx = importlib.import_module("mxnet")
    rows = importlib.import_module("tests.symbol.graphs").ROWS
    found = {"made by": "tools/record_symbols.py, MXNet " + mx.__version__, "graphs": {}}
    for name, row in rows.items():
        found["graphs"][name] = record(mx, row)
    documents = importlib.import_module("tests.symbol.dialects").DOCUMENTS
    found["dialects"] = {name: read(mx, document) for name, document in documents.items()}
    target = FOLDER / "symbols.json"
    target.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(rows)} graphs")


if __name__ == "__main__":
    main()
