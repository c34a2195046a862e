"""Options of XLA for single programs."""

import importlib.metadata

import jax
import jax.numpy as jnp
import pytest

from modkit.executor import compiler
from modkit.executor.program import Program


def _convolution(samples=2):
    def convolve(x, w):
        return jax.nn.softmax(jax.lax.conv(x, w, (1, 1), "SAME"))

    return jax.jit(convolve).lower(jnp.ones((samples, 2, 5, 5)), jnp.ones((3, 2, 3, 3)))


def _softmax():
    return jax.jit(lambda x: jax.nn.softmax(x @ x)).lower(jnp.ones((4, 4)))


def _plain():
    return jax.jit(lambda x: jnp.tanh(x @ x)).lower(jnp.ones((4, 4)))


@pytest.mark.parametrize(
    ("version", "lowered", "library"),
    [
        ("0.10.2", _convolution(), "REDUCE"),
        ("0.10.2", _convolution(samples=1), None),
        ("0.10.2", _softmax(), "INDIVIDUAL_DOT"),
        ("0.10.2", _plain(), None),
        ("0.12.0.1", _convolution(), None),
        ("0.12.0.1", _softmax(), "INDIVIDUAL_DOT"),
        ("0.10.1", _convolution(), None),
        ("0.99.0", _softmax(), None),
    ],
)
def test_options_are_for_what_was_measured(version, lowered, library, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    options = compiler.options_for(lowered.as_text(), "cpu")
    assert options == ({compiler._LIBRARY: f"LIBRARY_FUSION_TYPE_{library}"} if library else {})
    assert not compiler.options_for(lowered.as_text(), "gpu")


@pytest.mark.parametrize("make", [_convolution, _softmax])
def test_xla_knows_the_options_of_this_version(make):
    options = compiler.options_for(make().as_text(), "cpu")
    make().compile(compiler_options=options)
    if options:
        with pytest.raises(jax.errors.JaxRuntimeError, match="enum"):
            make().compile(compiler_options=dict.fromkeys(options, "no such type"))


@pytest.mark.parametrize("options", [{"no_such_option": "1"}, {}])
def test_an_option_that_xla_does_not_know_is_left_out(options):
    assert compiler.compile_program(_softmax(), options)(jnp.ones((4, 4))).shape == (4, 4)


def test_programs_are_compiled_with_them(monkeypatch):
    asked = []

    def watch(text, platform):
        asked.append(platform)
        return {}

    monkeypatch.setattr("modkit.executor.program.options_for", watch)
    Program(jax.jit(jnp.sin), (object(),), "sine")(1.5)
    assert asked == ["cpu"]
