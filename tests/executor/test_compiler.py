"""Options of XLA for single programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modkit.executor import compiler
from modkit.executor.program import Program


@pytest.fixture(autouse=True)
def no_flags(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)


def _convolve(x, w):
    numbers = ("NHWC", "OHWI", "NHWC")
    y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers)
    return jax.nn.softmax(y)


def convolution(samples=2):
    return jax.jit(_convolve).lower(jnp.ones((samples, 5, 5, 2)), jnp.ones((3, 3, 3, 2)))


def one_sample():
    return convolution(samples=1)


def gradients_of_one_sample():
    both = jax.grad(lambda x, w: _convolve(x, w)[..., 0].sum(), (0, 1))
    return jax.jit(both).lower(jnp.ones((1, 5, 5, 2)), jnp.ones((3, 3, 3, 2)))


def softmax(size=512):
    return jax.jit(lambda x: jax.nn.softmax(x @ x)).lower(jnp.ones((size, size)))


def small_softmax():
    return softmax(511)


def product():
    return jax.jit(lambda x: jnp.exp(x @ x)).lower(jnp.ones((4, 4)))


def softmax_alone():
    return jax.jit(jax.nn.softmax).lower(jnp.ones((4, 4)))


@pytest.mark.parametrize(
    ("version", "make", "library"),
    [
        ("0.10.2", convolution, "REDUCE"),
        ("0.10.2", one_sample, None),
        ("0.10.2", gradients_of_one_sample, None),
        ("0.10.2", softmax, "INDIVIDUAL_DOT"),
        ("0.10.2", small_softmax, ""),
        ("0.10.2", product, None),
        ("0.10.2", softmax_alone, None),
        ("0.12.0.1", convolution, None),
        ("0.12.0.1", softmax, "INDIVIDUAL_DOT"),
        ("0.12.0.1", small_softmax, ""),
        ("0.10.1", convolution, None),
        ("0.99.0", softmax, None),
    ],
)
def test_options_are_for_what_was_measured(version, make, library, monkeypatch):
    monkeypatch.setattr(compiler, "_version", lambda: version)
    options = compiler.options_for(make().as_text, "cpu")
    named = f"LIBRARY_FUSION_TYPE_{library}" if library else library
    assert options == ({} if library is None else {compiler._LIBRARY: named})
    assert not compiler.options_for(make().as_text, "gpu")


def test_the_users_choice_is_left_alone(monkeypatch):
    monkeypatch.setattr(compiler, "_version", lambda: "0.10.2")
    monkeypatch.setenv("XLA_FLAGS", f"--{compiler._LIBRARY}=LIBRARY_FUSION_TYPE_DOT")
    assert not compiler.options_for(softmax().as_text, "cpu")


@pytest.mark.parametrize("make", [convolution, softmax, small_softmax])
def test_xla_knows_the_options_of_this_version(make):
    options = compiler.options_for(make().as_text, "cpu")
    if not options:
        pytest.skip("this version of jaxlib has none")
    make().compile(compiler_options=options)
    with pytest.raises(jax.errors.JaxRuntimeError, match="enum"):
        make().compile(compiler_options=dict.fromkeys(options, "no such type"))


@pytest.mark.parametrize("options", [{"no_such_option": "1"}, {}])
def test_an_option_that_xla_does_not_know_is_left_out(options):
    assert compiler.compile_program(softmax(4), options)(jnp.ones((4, 4))).shape == (4, 4)


@pytest.mark.parametrize("argument", [np.float32(1.5), jnp.float32(1.5)])
def test_programs_are_compiled_with_them(argument, monkeypatch):
    asked, given = [], []

    def choose(read, platform):
        asked.append(platform)
        return {"some": "option"}

    def compile_program(lowered, options):
        given.append(options)
        return lowered.compile()

    monkeypatch.setattr("modkit.executor.program.options_for", choose)
    monkeypatch.setattr("modkit.executor.program.compile_program", compile_program)
    Program(jax.jit(jnp.sin), (object(),), "sine")(argument)
    assert (asked, given) == (["cpu"], [{"some": "option"}])
