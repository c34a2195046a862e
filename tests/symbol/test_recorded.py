"""Symbols against those of the reference, recorded by `tools/record_symbols.py`."""

import importlib.util
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from modkit import name, symbol
from modkit.attribute import AttrScope
from modkit.errors import MXNetError

HERE = Path(__file__).parent
RECORDED = json.loads((HERE.parent / "reference" / "symbols.json").read_text("utf-8"))["graphs"]
MX = SimpleNamespace(sym=symbol, name=name, AttrScope=AttrScope)


def _load_rows():
    spec = importlib.util.spec_from_file_location("symbol_graphs", HERE / "graphs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ROWS


ROWS = _load_rows()


@pytest.fixture(params=sorted(ROWS))
def case(request):
    """A row, the symbol that it builds, and what the reference said of it."""
    row = ROWS[request.param]
    with name.NameManager():
        return row, row.build(MX), {**RECORDED[request.param], "row": request.param}


def test_every_graph_is_recorded():
    assert set(ROWS) == set(RECORDED)


def test_names_are_those_of_the_reference(case):
    _, net, recorded = case
    children = net.get_children()
    found = {
        "name": net.name,
        "repr": repr(net),
        "arguments": net.list_arguments(),
        "outputs": net.list_outputs(),
        "auxiliary": net.list_auxiliary_states(),
        "inputs": net.list_inputs(),
        "internals": net.get_internals().list_outputs(),
        "children": children.list_outputs() if children is not None else None,
    }
    assert found == {key: recorded[key] for key in found}


def test_attributes_are_those_of_the_reference(case):
    _, net, recorded = case
    assert net.attr_dict() == recorded["attr_dict"]


def test_json_is_that_of_the_reference(case):
    _, net, recorded = case
    assert _without_rows(net.tojson()) == _without_rows(recorded["json"])


def _without_rows(text):
    # MXNet counts the workspaces of some operators among the outputs there.
    return re.sub(r'"node_row_ptr": \[[^]]*\]', "", text)


def test_json_of_the_reference_reads_back(case):
    _, _, recorded = case
    text = recorded["json"]
    assert _without_rows(symbol.load_json(text).tojson()) == _without_rows(text)


def test_debug_text_is_that_of_the_reference(case):
    _, net, recorded = case
    assert net.debug_str() == recorded["debug_str"]


def _ask(infer, given):
    try:
        return [[_plain(fact) for fact in each] for each in infer(**given)]
    except MXNetError:
        return "error"


def _plain(fact):
    return fact.__name__ if isinstance(fact, type) else list(fact) if fact is not None else None


SOLVED = {("concat", 2), ("slices", 1), ("squeezed_slices", 1)}
"""Questions that the reference refuses to answer, and modkit answers."""


def _agrees(found, recorded):
    """Whether all that the reference knows is the same; modkit may know more."""
    if "error" in (found, recorded):
        return found == recorded
    pairs = [p for f, r in zip(found, recorded, strict=True) for p in zip(f, r, strict=True)]
    return all(
        not r or (len(f) == len(r) and all(b in (0, a) for a, b in zip(f, r, strict=True)))
        for f, r in pairs
    )


def test_shapes_are_those_of_the_reference(case):
    row, net, recorded = case
    for i, given in enumerate(row.shapes):
        if (recorded["row"], i) not in SOLVED:
            found = _ask(net.infer_shape_partial, given)
            assert _agrees(found, recorded["shapes"][i]), (given, found, recorded["shapes"][i])


def test_types_are_those_of_the_reference(case):
    row, net, recorded = case
    found = [_ask(net.infer_type_partial, given) for given in row.types]
    assert found == recorded["types"]
