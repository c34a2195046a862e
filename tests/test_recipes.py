"""The recipes, in miniature, as a user runs them."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

# Found and not imported: that takes seconds in every process that collects tests.
if not all(map(importlib.util.find_spec, ("sklearn", "matplotlib"))):
    pytest.skip("needs pip install '.[recipes]'", allow_module_level=True)

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
    for name in ("command", "digits", "networks", "pictures", "symbols", "symbols.resnet"):
        sys.modules.pop(name, None)


@pytest.fixture
def undrawn(recipe, monkeypatch):
    """`train_digits` without its picture of 41 plots, which takes longer than an epoch."""
    module = recipe("train_digits")
    monkeypatch.setattr(module, "draw", lambda *_: None)
    return module


def test_train_digits_learns_draws_and_resumes(recipe, tmp_path, monkeypatch):
    train = recipe("train_digits")
    prefix = str(tmp_path / "d")
    history = train.main(["--epochs", "4", "--prefix", prefix, "--network", "mlp"])
    assert [e for e, _ in history.validation] == [1, 2, 3, 4]
    assert history.validation[-1][1] > 0.95  # 0.977
    assert (tmp_path / "d-mlp.png").read_bytes().startswith(b"\x89PNG")
    assert {p.name for p in tmp_path.glob("*.params")} == {f"d-{e:04d}.params" for e in range(1, 5)}
    monkeypatch.setattr(train, "draw", lambda *_: None)
    resumed = train.main(["--epochs", "5", "--load-epoch", "4", "--prefix", prefix])
    assert [e for e, _ in resumed.validation] == [5]
    assert resumed.validation[-1][1] > 0.95  # 0.969
    with pytest.raises(SystemExit):
        train.main(["--network", "resnet", "--load-epoch", "5", "--prefix", prefix])


def test_the_same_seed_gives_the_same_accuracy(undrawn, tmp_path):
    arguments = ["--epochs", "2", "--prefix", str(tmp_path / "s")]
    reached = [undrawn.main(arguments).validation for _ in range(2)]
    np.testing.assert_array_equal(*reached)


@pytest.mark.parametrize("network", ["lenet", pytest.param("resnet", marks=pytest.mark.slow)])
def test_two_devices(undrawn, tmp_path, network):
    options = ["--smoke", "--devices", "2", "--network", network]
    history = undrawn.main([*options, "--prefix", str(tmp_path / "t")])
    assert history.validation[-1][1] > 0.6


def test_module_api_by_hand(recipe):
    assert recipe("module_api").main(["--smoke"]) > 0.96  # 0.979


@pytest.fixture
def smoke(recipe, tmp_path):
    """Runs a recipe in miniature: what it returns, after it has drawn its picture."""

    def run(name, *options):
        picture = tmp_path / f"{name}.png"
        result = recipe(name).main(["--smoke", "--picture", str(picture), *options])
        assert picture.read_bytes().startswith(b"\x89PNG")
        return result

    return run


def test_a_factorization_machine_learns_what_no_linear_model_can(smoke):
    assert smoke("factorization_machine") > 0.97  # 0.984


def test_a_quantized_network_is_smaller_and_nearly_as_good(smoke, tmp_path):
    """Ranges by entropy take long to search for: `contrib/test_quantization.py` has them."""
    results = smoke("quantize", "--calib-mode", "naive", "--prefix", str(tmp_path / "q"))
    (plain, size), (quantized, small) = results["float32"], results["8 bits"]
    assert plain > 0.86  # 0.888
    assert quantized > plain - 0.02
    assert small < size / 3
    assert smoke("quantize", "--calib-mode", "naive", "--prefix", str(tmp_path / "q")) == results


@pytest.mark.slow
def test_a_language_model_learns_more_than_how_frequent_words_are(smoke):
    perplexity, unigrams = smoke("lstm_language_model")
    assert perplexity < 0.72 * unigrams  # 0.685


def test_factors_of_known_pixels_predict_the_missing_ones(smoke):
    error, means = smoke("matrix_factorization")
    assert error < 0.9 * means  # 0.873


def test_an_autoencoder_reconstructs_about_as_well_as_principal_components(smoke):
    error, components = smoke("autoencoder")
    assert error < 1.07 * components  # 1.034


def test_two_losses_train_one_network(smoke):
    accuracies = smoke("multi_task")
    assert list(accuracies) == ["digit", "hole"]
    assert min(accuracies.values()) > 0.96  # 0.974


def test_convolutions_over_words_tell_sentences_apart(smoke):
    assert smoke("text_cnn") > 0.68  # 0.713, of the commonest class 0.388


def test_sentences_do_not_depend_on_the_order_of_sets(recipe, monkeypatch):
    text_cnn = recipe("text_cnn")
    monkeypatch.setattr(text_cnn, "PARTS", ["linalg"])
    found = []
    for words in ("'one', 'two'", "'two', 'one'"):
        text = f"Some words of a sentence with ``{{{words}}}``"
        monkeypatch.setattr("scipy.linalg.det.__doc__", text)
        found.append(text_cnn.sentences())
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_generator_draws_the_digits_that_are_wanted(smoke):
    share, spread = smoke("gan")
    assert share > 0.9  # 0.942
    assert spread > 0.09  # 0.111: not one image a digit


def test_a_custom_loss_trains_intervals(smoke):
    assert smoke("custom_operator") == pytest.approx(0.697, abs=0.03)


def test_a_checkpoint_of_the_reference_needs_few_images_for_another_task(smoke):
    accuracies = smoke("fine_tuning")
    assert accuracies["fine-tuned"] > 0.93  # 0.967
    assert accuracies["from nothing"] < accuracies["fine-tuned"] - 0.1


def test_layers_of_an_lstm_train_on_different_devices(smoke):
    assert smoke("model_parallel_lstm") > 0.97  # 0.998


def test_a_policy_learns_to_balance(smoke):
    learned, at_first = smoke("policy_gradient")
    assert at_first < 30
    assert learned > 100  # 158


def start(recipe, *arguments):
    """A recipe as a process."""
    return subprocess.Popen(
        [sys.executable, str(RECIPES / f"{recipe}.py"), *arguments],
        env=os.environ | {"PYTHONPATH": str(RECIPES.parent)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_errors_of_recipes_are_one_line_and_debug_shows_more(recipe, tmp_path, monkeypatch, capsys):
    train = recipe("train_digits")
    arguments = ["train_digits.py", "--load-epoch", "7", "--prefix", str(tmp_path / "x")]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit, match="2"):
        train.command(train.main, train.interrupted)
    said = capsys.readouterr().err
    assert "x-symbol.json" in said
    assert said.startswith("train_digits: ") and said.count("\n") == 1
    monkeypatch.setattr(sys, "argv", [*arguments, "--debug"])
    with pytest.raises(FileNotFoundError, match=r"x-symbol\.json"):
        train.command(train.main, train.interrupted)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_in_the_command_that_goes_on(undrawn, tmp_path):
    arguments = "--epochs", "10000", "--network", "mlp", "--prefix", str(tmp_path / "x")
    with start("train_digits", *arguments) as process:
        for line in process.stderr:
            if "x-0002.states" in line:
                process.send_signal(signal.SIGINT)
                break
        *_, last = process.stderr
    assert process.returncode == 130
    assert last.startswith("train_digits: interrupted; to go on: make train ARGS='--epochs 10000")
    assert last.endswith(" --resume'\n")
    words = ["--epochs", "3", *arguments[2:], "--resume"]
    assert undrawn.main(words).validation[-1][0] >= 3


def test_resume_ends_with_the_same_digits(recipe, tmp_path):
    module = recipe("resume")
    whole = module.main(["--folder", str(tmp_path / "whole"), "--epochs", "2"])
    with pytest.raises(SystemExit):
        module.main(["--folder", str(tmp_path / "r"), "--epochs", "2", "--stop-at", "30"])
    assert module.main(["--folder", str(tmp_path / "r"), "--epochs", "2"]) == whole
