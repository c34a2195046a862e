"""Options of XLA for single programs."""

import importlib.metadata

import jax
import jax.numpy as jnp
import pytest

from modkit.executor import compiler
from modkit.executor.program import Program


def _lowered(samples=2):
    def convolve(x, w):
        return jax.lax.conv(x, w, (1, 1), "SAME")

    return jax.jit(convolve).lower(jnp.ones((samples, 2, 5, 5)), jnp.ones((3, 2, 3, 3)))


def test_options_are_for_convolutions_on_cpus_of_one_version(monkeypatch):
    text = _lowered().as_text()
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.10.2")
    assert compiler.options_for(text, "cpu")
    assert not compiler.options_for(text, "gpu")
    assert not compiler.options_for(_lowered(samples=1).as_text(), "cpu")
    assert not compiler.options_for(jax.jit(jnp.tanh).lower(1.0).as_text(), "cpu")
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "0.10.1")
    assert not compiler.options_for(text, "cpu")


def test_xla_knows_the_options_of_this_version():
    options = compiler.options_for(_lowered().as_text(), "cpu")
    assert compiler.compile_program(_lowered(), options)(*_ones()).shape == (2, 3, 5, 5)
    if options:
        with pytest.raises(jax.errors.JaxRuntimeError, match="enum"):
            _lowered().compile(compiler_options=dict.fromkeys(options, "no such type"))


@pytest.mark.parametrize("options", [{"no_such_option": "1"}, {}])
def test_an_option_that_xla_does_not_know_is_left_out(options):
    compiled = compiler.compile_program(_lowered(), options)
    assert compiled(*_ones()).shape == (2, 3, 5, 5)


def test_programs_are_compiled_with_them(monkeypatch):
    asked = []

    def watch(text, platform):
        asked.append(platform)
        return {}

    monkeypatch.setattr("modkit.executor.program.options_for", watch)
    Program(jax.jit(jnp.sin), (object(),), "sine")(1.5)
    assert asked == ["cpu"]


def _ones():
    return jnp.ones((2, 2, 5, 5)), jnp.ones((3, 2, 3, 3))
