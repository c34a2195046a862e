"""Graph files of all versions, broken ones, and ones with operators that modkit lacks."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modkit import symbol as sym
from modkit.errors import FileFormatError, NotSupportedError
from modkit.symbol.lower import lower

HERE = Path(__file__).parent
RECORDED = json.loads((HERE.parent / "reference" / "symbols.json").read_text("utf-8"))["dialects"]


def _load_documents():
    spec = importlib.util.spec_from_file_location("symbol_dialects", HERE / "dialects.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DIALECTS = _load_documents()


def _without_versions(text):
    # What follows a node's number and output counts writes; MXNet keeps it as it stands in a file.
    text = re.sub(r'"node_row_ptr": \[[^]]*\]', "", text)
    return re.sub(r"(\[\d+, \d+), \d+\]", r"\1]", text)


def test_every_document_is_recorded():
    assert set(RECORDED) == set(DIALECTS.DOCUMENTS)


@pytest.mark.parametrize("name", sorted(DIALECTS.DOCUMENTS))
def test_documents_are_read_as_the_reference_reads_them(name):
    text, recorded = json.dumps(DIALECTS.DOCUMENTS[name]), RECORDED[name]
    if recorded == "error":
        with pytest.raises(FileFormatError):
            sym.load_json(text)
        return
    net = sym.load_json(text)
    assert _without_versions(net.tojson()) == _without_versions(recorded["json"])
    assert net.attr_dict() == recorded["attr_dict"]


def test_heads_may_be_missing():
    document = DIALECTS.relu()
    del document["heads"], document["arg_nodes"]
    assert sym.load_json(json.dumps(document)).list_outputs() == ["r_output"]


def test_control_dependencies_are_dropped():
    document = DIALECTS.relu()
    document["nodes"][1]["control_deps"] = [0]
    assert "control_deps" not in sym.load_json(json.dumps(document)).tojson()


def test_a_cycle_is_refused():
    nodes = [
        DIALECTS.node("Activation", "p", [[1, 0]], attrs={"act_type": "relu"}),
        DIALECTS.node("Activation", "q", [[0, 0]], attrs={"act_type": "relu"}),
    ]
    with pytest.raises(FileFormatError, match="needs its own output"):
        sym.load_json(json.dumps(DIALECTS.graph(nodes, [[1, 0]])))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": [3]}, "node 0 is 3"),
        ({"nodes": [{"op": "null"}]}, "got op 'null' and name None"),
        ({"heads": [[0]]}, r"got \[0\]"),
        ({"heads": [[0, -1, 0]]}, r"\[0, -1, 0\]"),
        ({"heads": [[0, 1, 0]]}, "refers to output 1 of node 'data', which has 1"),
        ({"heads": [[1, 10**20, 0]]}, "refers to output 1[0]{20} of node 'r', which has 1"),
        ({"heads": 3}, "heads: got 3"),
        ({"heads": [[1, False]]}, r"heads: got \[1, False\]"),
        ({"attrs": {"mxnet_version": 3}}, "mxnet_version: got 3"),
    ],
)
def test_errors_say_what_is_wrong(change, message):
    with pytest.raises(FileFormatError, match=message):
        sym.load_json(json.dumps({**DIALECTS.relu(), **change}))


@pytest.mark.parametrize(
    ("op_name", "attrs", "message"),
    [
        ("Concat", {"num_args": "1000000000000"}, "num_args=1000000000000, expected 1 at most"),
        ("SliceChannel", {"num_outputs": "1000000000000"}, "num_outputs=1.*, expected 65536"),
        ("multi_sgd_update", {"num_weights": "9" * 12, "lrs": "1", "wds": "1"}, "num_weights=9"),
        ("Activation", {"act_type": "(" * 9999}, "act_type"),
        ("Pooling", {"kernel": "-" * 99999}, "kernel"),
        ("Pooling", {"kernel": "1+" * 9999 + "1"}, "kernel"),
        (
            "Pooling",
            {"kernel": "(2, 2)", "stride": "(1,)"},
            r"node 1 \('y'\): .*stride: got \(1,\)",
        ),
    ],
)
def test_numbers_that_cannot_be_meant(op_name, attrs, message):
    nodes = [DIALECTS.node("null", "x", []), DIALECTS.node(op_name, "y", [[0, 0]], attrs=attrs)]
    with pytest.raises(FileFormatError, match=message):
        sym.load_json(json.dumps(DIALECTS.graph(nodes, [[1, 0]])))


def test_a_number_of_inputs_that_nothing_reads_may_be_any():
    net = sym.UpSampling(sym.var("x"), sym.var("w"), scale=2, sample_type="bilinear", num_args=4)
    assert sym.load_json(net.tojson()).list_arguments() == ["x", "w"]


@pytest.mark.parametrize(
    "text", ['{"nodes":' + "[" * 10**5, '{"nodes": [%s]}' % ("[" * 900 + "]" * 900)]
)
def test_text_nested_too_deeply(text):
    with pytest.raises(FileFormatError, match="JSON text: "):
        sym.load_json(text)


def test_half_a_character_is_refused():
    text = json.dumps(DIALECTS.relu())
    assert sym.load_json(text.replace('"r"', r'"\ud83d\ude00"')).name == "\U0001f600"
    with pytest.raises(FileFormatError, match=r"half a character: line 1 column \d+"):
        sym.load_json(text.replace('"r"', r'"\ud83d"'))


def test_text_that_is_not_json_names_the_file(tmp_path):
    path = tmp_path / "broken-symbol.json"
    path.write_text("hello")
    with pytest.raises(FileFormatError, match=r"broken-symbol\.json: not JSON"):
        sym.load(str(path))
    path.write_bytes(b"\xff")
    with pytest.raises(FileFormatError, match="not UTF-8 at byte 0"):
        sym.load(path)
    with pytest.raises(FileNotFoundError, match="missing"):
        sym.load(tmp_path / "missing-symbol.json")


def test_missing_inputs_are_refused_in_newer_files():
    with pytest.raises(FileFormatError, match="has 3 inputs, expected 5"):
        sym.load_json(json.dumps(DIALECTS.without_statistics(10901)))


FOREACH = {
    "num_args": "2", "num_outputs": "1", "num_out_data": "1", "in_data_locs": "[0]",
    "in_state_locs": "[]", "remain_locs": "[]",
}  # fmt: skip


def _loop(*subgraphs, op="_foreach"):
    attrs = {"act_type": "relu"} if op == "Activation" else FOREACH
    nodes = [
        DIALECTS.variable("data"),
        DIALECTS.node(op, "loop", [[0, 0, 0]], attrs=attrs, subgraphs=list(subgraphs)),
    ]
    return DIALECTS.graph(nodes, [[1, 0, 0]], 10901)


def test_subgraphs_are_kept():
    net = sym.load_json(json.dumps(_loop(_loop(DIALECTS.relu()), DIALECTS.relu(), op="_Unheard")))
    assert net.list_outputs() == ["loop_output"]
    with pytest.raises(NotSupportedError, match="operator '_Unheard', which modkit does not have"):
        lower(net)
    inner = json.loads(sym.load_json(net.tojson()).tojson())["nodes"][1]["subgraphs"]
    assert [each["nodes"][1]["op"] for each in inner] == ["_foreach", "Activation"]
    assert inner[0]["nodes"][1]["subgraphs"][0]["nodes"][1]["name"] == "r"
    called = net(data=sym.Variable("other"))
    assert called.list_arguments() == ["other"] and '"subgraphs"' in called.tojson()


@pytest.mark.parametrize(
    ("subgraphs", "reason"),
    [
        ([3], r"node 1 \('loop'\): a subgraph: expected an object"),
        ([{"nodes": [], "heads": [[0, 0]]}], "a subgraph: 'heads' refers to node 0"),
        ([{"nodes": [], "extra": 1}], "a subgraph: the graph has a field 'extra'"),
        (3, "got subgraphs 3, expected a list"),
        ([], "'loop' of operator '_foreach' has 0 subgraphs, expected 1"),
        ([DIALECTS.relu()] * 2, "'loop' of operator '_foreach' has 2 subgraphs, expected 1"),
    ],
)
def test_broken_subgraphs_are_refused(subgraphs, reason):
    document = _loop()
    document["nodes"][1]["subgraphs"] = subgraphs
    with pytest.raises(FileFormatError, match=reason):
        sym.load_json(json.dumps(document))


def test_subgraphs_nested_too_deeply_are_refused():
    document = DIALECTS.relu()
    for _ in range(40):
        document = _loop(document)
    with pytest.raises(FileFormatError, match="nested more than 32 deep"):
        sym.load_json(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"num_args": "3"}, "got num_args=3, expected 2: 1 inputs and 1 subgraphs"),
        ({"in_data_locs": "[1]"}, r"\[1\] for 1 inputs and a body of 1 variables"),
        ({"in_data_locs": "[]", "remain_locs": "[0]"}, "got no data, expected one array or more"),
        ({"num_out_data": "2"}, "num_outputs=1 and a subgraph of 1 outputs, expected 2 of both"),
        ({"num_outputs": "2"}, "num_outputs=2 and a subgraph of 1 outputs, expected 1 of both"),
        ({"num_outputs": "99999999"}, "expected 1 of both"),
        ({"in_data_locs": "x"}, "in_data_locs: got 'x', expected a tuple of int"),
        ({"num_outputs": None}, "required parameter 'num_outputs' is missing"),
        ({"speed": "3"}, "no parameter 'speed'"),
    ],
)
def test_parameters_that_do_not_fit_the_subgraph_are_refused(change, reason):
    document = _loop(DIALECTS.relu())
    attrs = {**FOREACH, **change}
    document["nodes"][1]["attrs"] = {n: v for n, v in attrs.items() if v is not None}
    with pytest.raises(FileFormatError, match=reason):
        sym.load_json(json.dumps(document))


def test_an_operator_without_loops_has_no_subgraphs():
    with pytest.raises(FileFormatError, match="'Activation' has 1 subgraphs, expected none"):
        sym.load_json(json.dumps(_loop(DIALECTS.relu(), op="Activation")))


def _foreign():
    nodes = [
        DIALECTS.variable("data"),
        DIALECTS.node("FlyingCarpet", "carpet", [[0, 0, 0]], attrs={"speed": "3"}),
        DIALECTS.node("Activation", "act", [[1, 1, 0]], attrs={"act_type": "relu"}),
    ]
    return DIALECTS.graph(nodes, [[2, 0, 0]], 10901)


def test_unknown_operators_can_be_listed_and_saved():
    net = sym.load_json(json.dumps(_foreign()))
    assert net.list_arguments() == ["data"]
    assert net.attr_dict()["carpet"] == {"speed": "3"}
    saved = json.loads(net.tojson())
    assert [n["op"] for n in saved["nodes"]] == ["null", "FlyingCarpet", "Activation"]
    assert saved["nodes"][2]["inputs"] == [[1, 1, 0]]


@pytest.mark.parametrize(
    "use", [lambda n: n.infer_shape(data=(2, 3)), lambda n: n.infer_type(), lower]
)
def test_unknown_operators_cannot_be_used(use):
    with pytest.raises(NotSupportedError, match="'carpet' is of operator 'FlyingCarpet'"):
        use(sym.load_json(json.dumps(_foreign())))


def test_files_read_back(tmp_path):
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=3, name="ünï")
    path = tmp_path / "net-symbol.json"
    net.save(str(path))
    assert sym.load(str(path)).tojson() == net.tojson() == path.read_text("utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["net-symbol.json"]


def test_casts_can_be_kept():
    net = sym.relu(sym.amp_cast(sym.Variable("a"), dtype="float16", name="cast"))
    assert "amp_cast" not in net.tojson()
    assert "amp_cast" in net.tojson(remove_amp_cast=False)
    assert net.get_internals()["cast_output"].list_outputs() == ["cast_output"]


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


@st.composite
def graphs(draw):
    """A random graph of a few nodes."""
    made = [sym.Variable(draw(TEXT), attr={f"__{draw(TEXT)}__": draw(TEXT)}) for _ in range(2)]
    for number in range(draw(st.integers(0, 6))):
        left, right = (made[draw(st.integers(0, len(made) - 1))] for _ in range(2))
        kind = draw(st.sampled_from(["add", "scalar", "slice", "norm"]))
        if kind == "add":
            made.append(left + right)
        elif kind == "scalar":
            made.append(left * draw(st.floats(allow_nan=False, allow_infinity=False)))
        elif kind == "slice":
            made += list(sym.SliceChannel(left, num_outputs=2, name=f"s{number}"))
        else:
            made.append(sym.BatchNorm(left, name=f"n{number}", eps=0.1))
    return sym.Group(draw(st.lists(st.sampled_from(made), min_size=1, max_size=3)))


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_any_graph_reads_back(net):
    again = sym.load_json(net.tojson())
    assert again.tojson() == net.tojson()
    assert again.list_inputs() == net.list_inputs()
    assert again.list_outputs() == net.list_outputs()
    assert again.attr_dict() == net.attr_dict()
