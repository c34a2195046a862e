"""The benchmarks command in miniature: what it writes, not how fast anything is."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import growth, report
from benchmarks.__main__ import MEASURES, _chosen
from benchmarks.networks import NETWORKS
from benchmarks.peers import PEERS
from benchmarks.rounds import disagreement
from benchmarks.symbols import SYMBOLS
from benchmarks.turns import order

ROOT = Path(__file__).parents[1]


@pytest.fixture
def readme(tmp_path):
    """A page with the two marks."""
    file = tmp_path / "README.md"
    begin, end = report.marks("figures")
    file.write_text(f"above\n{begin}\nold\n{end}\nbelow\n")
    return file


SHORT = """
import dataclasses, sys
from benchmarks import turns
from benchmarks.__main__ import main
from benchmarks.networks import NETWORKS
turns.ATTEMPTS = 1
NETWORKS["mlp"] = dataclasses.replace(NETWORKS["mlp"], steps=20)
main(sys.argv[1:])
"""
"""The command with few steps, and no second time for a turn that other processes disturb."""


@pytest.mark.slow
def test_the_command_measures_and_keeps_figures(tmp_path, readme):
    ran = subprocess.run(
        [
            *(sys.executable, "-c", SHORT, "--only", "mlp", "--peers", "jax,mxnet"),
            *("--rounds", "1", "--python", "mxnet=/no/python"),
            *("--results", str(tmp_path), "--readme", str(readme)),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "mxnet: left out: /no/python" in ran.stdout
    kept = json.loads((tmp_path / "speed.json").read_text())
    assert list(kept) == ["mlp"]
    assert {"processor", "cores", "jax", "date"} <= set(kept["mlp"]["machine"])
    assert "/no/python" in kept["mlp"]["left_out"]["mxnet"]
    workers = kept["mlp"]["workers"]
    assert {row["peer"] for row in workers.values()} == {"modkit", "jax"}
    for row in workers.values():
        assert len(row["ms"]) == 1 and row["ms"][0] > 0
        assert row["peak_mib"] > 10
        assert row["disagreement"] < 1e-4
        assert row["accuracy"] == workers["modkit"]["accuracy"]
    page = readme.read_text()
    assert page.startswith("above\n") and page.endswith("below\n") and "old" not in page
    assert NETWORKS["mlp"].title in page


def test_an_unknown_network_is_refused():
    with pytest.raises(SystemExit, match="not known: alexnet; there are mlp, lenet"):
        _chosen("mlp,alexnet", MEASURES)


def result(**workers):
    """Results of one network: milliseconds by worker."""
    return {
        "machine": {"processor": "p", "cores": 2, "gpu": None, "jax": "0", "date": "2026-01-02"},
        "workers": {
            title.replace("_", " "): {
                "peer": title.partition("_")[0],
                "ms": ms,
                "peak_mib": 100.0,
                "first_step_s": 1.0,
            }
            for title, ms in workers.items()
        },
    }


def test_a_ratio_is_the_median_of_rounds_against_the_fastest_variant():
    one = result(modkit=[1, 2, 4], jax_NCHW=[9, 9, 9], jax_NHWC=[3, 4, 40])
    assert report.fastest(one, "jax") == "jax NHWC"
    assert report.ratio(one, "jax", "modkit") == 3  # of 3, 2 and 10
    assert report.ratio(one, "torch", "modkit") is None


def test_the_page_shows_every_network_of_the_results_with_its_aim(readme, tmp_path):
    results = {"mlp": result(modkit=[2.0], jax=[1.0]), "lenet": result(modkit=[1.0], torch=[4.0])}
    held = {"mlp": {"modkit": [100.0, 140.0, 101.5]}}
    results["growth"] = {"machine": results["mlp"]["machine"], "rss_mib": held}
    report.put(readme, "figures", report.page(results))
    page = readme.read_text()
    assert "| MLP 784-128-64-10, batch 64 | modkit | 102 | 1.5 |" in page
    assert "| MLP 784-128-64-10, batch 64 | 2 | 0.50 (0.95) | – | – | – | 2026-01-02 |" in page
    assert "| LeNet 28x28, batch 64 | 1 | – | – | – | 4.00 | 2026-01-02 |" in page
    pytest.importorskip("matplotlib", reason="needs matplotlib (pip install '.[recipes]')")
    report.draw(results, tmp_path / "speed.png")
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")


def test_disagreement_is_relative_to_what_training_changed():
    first, ours = {"w": np.array([100.0, 0])}, {"w": np.array([101.0, 0])}
    assert disagreement({"w": np.array([101.5, 0])}, ours, first) == pytest.approx(0.5)
    assert disagreement({"o": np.ones(4)}, {"o": np.ones(4)}, first) == 0


@pytest.mark.parametrize("name", NETWORKS)
def test_each_network_has_a_symbol_with_the_parameters_that_are_compared(name):
    network = NETWORKS[name]
    symbol = SYMBOLS[network.kind](network)
    assert set(network.watched) <= set(symbol.list_arguments())
    _, outputs, _ = symbol.infer_shape(data=network.data, softmax_label=network.label)
    assert outputs == [(np.prod(network.label), network.classes)]
    assert set(growth.STEPS) <= set(NETWORKS)
    assert {peer.removesuffix(" K=16") for peer in network.aims} <= set(PEERS)


@pytest.mark.parametrize("count", [2, 3])
def test_each_is_first_and_last_equally_often(count):
    orders = [order(count, number) for number in range(2 * count)]
    assert all(sorted(each) == list(range(count)) for each in orders)
    for place in (0, -1):
        assert sorted(each[place] for each in orders) == sorted(2 * list(range(count)))
