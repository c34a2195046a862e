"""The recipes, in miniature, as a user runs them."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn (pip install 'modkit[recipes]')")
pytest.importorskip("matplotlib", reason="needs matplotlib (pip install 'modkit[recipes]')")

RECIPES = Path(__file__).parents[1] / "recipes"


@pytest.fixture
def recipe(monkeypatch):
    """Loads a recipe by name, beside its helpers."""
    monkeypatch.syspath_prepend(str(RECIPES))

    def load(name):
        spec = importlib.util.spec_from_file_location(f"recipe_{name}", RECIPES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in ("digits", "networks", "symbols", "symbols.resnet"):
        sys.modules.pop(name, None)


def test_train_digits_learns_draws_and_resumes(recipe, tmp_path):
    train = recipe("train_digits")
    prefix = str(tmp_path / "d")
    history = train.main(["--epochs", "4", "--prefix", prefix, "--network", "mlp"])
    assert [e for e, _ in history.validation] == [1, 2, 3, 4]
    assert history.validation[-1][1] > 0.9
    assert (tmp_path / "d-mlp.png").read_bytes().startswith(b"\x89PNG")
    assert {p.name for p in tmp_path.glob("*.params")} == {f"d-{e:04d}.params" for e in range(1, 5)}
    resumed = train.main(["--epochs", "5", "--load-epoch", "4", "--prefix", prefix])
    assert [e for e, _ in resumed.validation] == [5]
    assert resumed.validation[-1][1] > 0.9


def test_the_same_seed_gives_the_same_accuracy(recipe, tmp_path):
    train = recipe("train_digits")
    reached = [
        train.main(["--epochs", "2", "--prefix", str(tmp_path / "s")]).validation for _ in range(2)
    ]
    np.testing.assert_array_equal(*reached)


@pytest.mark.parametrize("network", ["lenet", pytest.param("resnet", marks=pytest.mark.slow)])
def test_two_devices(recipe, tmp_path, network):
    options = ["--epochs", "2", "--devices", "2", "--network", network]
    history = recipe("train_digits").main([*options, "--prefix", str(tmp_path / "t")])
    assert history.validation[-1][1] > 0.6


def test_module_api_by_hand(recipe):
    assert recipe("module_api").main(["--epochs", "4"]) > 0.9
