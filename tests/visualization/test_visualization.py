"""Tables and pictures of nets, against what MXNet says of the same nets."""

import json
import sys
import warnings
from pathlib import Path

import pytest

import modkit as mx
from modkit import symbol as sym
from modkit import visualization as viz
from modkit.visualization.summary import summary_table
from tests.visualization.cases import NETS, PICTURES, PLOTS, SUMMARIES, plot, summary

RECORDED = json.loads(
    (Path(__file__).parents[1] / "reference" / "visualization.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(("row", "recorded"), [*zip(SUMMARIES, RECORDED["summaries"], strict=True)])
def test_print_summary(row, recorded):
    assert summary(viz, sym, row).splitlines() == recorded


@pytest.mark.parametrize(("row", "recorded"), [*zip(PLOTS, RECORDED["plots"], strict=True)])
def test_plot_network(row, recorded):
    drawn = json.loads(json.dumps(plot(viz, sym, row)))
    assert drawn["nodes"] == recorded["nodes"]
    assert drawn == recorded


def test_a_real_picture():
    graphviz = pytest.importorskip("graphviz")
    picture = viz.plot_network(NETS["maps"](sym), title="T", shape=PICTURES)
    assert isinstance(picture, graphviz.Digraph)
    assert 'fc -> data [label="3x12x12"' in picture.source
    assert (picture.name, picture.format) == ("T", "pdf")


def test_a_colon_in_a_name_is_no_port_of_an_edge():
    pytest.importorskip("graphviz")
    net = sym.FullyConnected(sym.Variable("in:0"), num_hidden=3, name="fc:1")
    picture = viz.plot_network(net)
    first, second, edge = (part.split(" [")[0].strip() for part in picture.body)
    assert edge == f"{second} -> {first}"
    assert 'label="in:0"' in picture.source


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[viz\]'"):
        viz.plot_network(NETS["maps"](sym))


def test_an_operator_of_the_users():
    text = sym.Variable("data").tojson()
    graph = json.loads(text)
    graph["nodes"].append(
        {"op": "Custom", "name": "mine", "attrs": {"op_type": "bend"}, "inputs": [[0, 0, 0]]}
    )
    graph["heads"] = [[1, 0, 0]]
    drawn = _drawn(sym.load_json(json.dumps(graph)))
    assert drawn["nodes"][1][:2] == ["mine", "bend"]


def test_casts_of_mixed_precision_are_left_out():
    def net(data):
        return sym.FullyConnected(data, num_hidden=2, name="fc") + 1

    data = sym.Variable("data")
    with mx.name.NameManager():
        plain = net(data)
    with mx.name.NameManager():
        cast = net(sym.amp_cast(data, dtype="float16", name="cast"))
    kwargs = {"shape": {"data": (2, 3)}}
    assert summary_table(cast, **kwargs) == summary_table(plain, **kwargs)
    assert _drawn(cast, **kwargs) == _drawn(plain, **kwargs)


def _drawn(net, **kwargs):
    NETS["here"] = lambda _: net
    try:
        return plot(viz, sym, ("here", kwargs))
    finally:
        del NETS["here"]


def test_names_that_repeat_are_told():
    data = sym.FullyConnected(sym.Variable("data"), num_hidden=3, name="fc")
    net = sym.FullyConnected(data, num_hidden=3, name="fc")
    with pytest.warns(RuntimeWarning, match="Repeated names: fc_weight,fc_bias,fc"):
        _drawn(net)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _drawn(data)


@pytest.mark.parametrize("show", [viz.print_summary, viz.plot_network])
def test_mistakes(show):
    with pytest.raises(TypeError, match="must be a Symbol, got int"):
        show(3)
    net = NETS["convolutional"](sym)
    for given in ({}, {"softmax_label": (3,)}, {"data": (2, 3, 0, 12)}):
        with pytest.raises(ValueError, match="Input shape is incomplete"):
            show(net, shape=given)
    with pytest.raises(ValueError, match="datax"):
        show(net, shape={"datax": (1, 2)})
