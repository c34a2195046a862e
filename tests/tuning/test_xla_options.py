"""Options of XLA for single programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit.ops  # noqa: F401 - registers every operator
from modkit.compile.program import Program
from modkit.ops.registry import get_op
from modkit.tuning import xla_options as compiler
from modkit.tuning.config import current
from tests.barriers import need_kept_barriers

LIBRARY, LEFT_OUT = "xla_cpu_experimental_ynn_fusion_type", "xla_disable_hlo_passes"
REDUCTIONS = {LIBRARY: "LIBRARY_FUSION_TYPE_REDUCE"}
PRODUCTS = {LIBRARY: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}
BARRIERS = {LEFT_OUT: "cse_barrier_expander"}
LEVEL, PIECES = "xla_backend_optimization_level", "xla_cpu_parallel_codegen_split_count"
EMITTERS = {"xla_cpu_use_fusion_emitters": "False"}
LLVM_0 = {LEVEL: "0", "xla_llvm_disable_expensive_passes": "True", PIECES: "1"}
LLVM_1 = {LEVEL: "1", PIECES: "1"}
TINY, LITTLE = LLVM_0 | EMITTERS, LLVM_1 | EMITTERS


@pytest.fixture(autouse=True)
def no_flags(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)


def _convolve(x, w):
    numbers = ("NHWC", "OHWI", "NHWC")
    y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=numbers)
    return jax.nn.softmax(y)


def _behind_a_barrier(x, w):
    return _convolve(jax.lax.optimization_barrier(x), w)


def convolution(samples=2, function=_behind_a_barrier):
    return jax.jit(function).lower(jnp.ones((samples, 5, 5, 2)), jnp.ones((3, 3, 3, 2)))


def convolution_alone():
    return convolution(function=_convolve)


def one_sample():
    return convolution(1)


def one_sample_alone():
    return convolution(1, _convolve)


def barrier():
    return jax.jit(lambda x: jax.lax.optimization_barrier(x + 1) * 2).lower(jnp.ones(4))


def softmax_and_barrier():
    return jax.jit(lambda x: jax.nn.softmax(jax.lax.optimization_barrier(x @ x))).lower(
        jnp.ones((512, 512))
    )


def gradients_of_one_sample():
    both = jax.grad(lambda x, w: _convolve(x, w)[..., 0].sum(), (0, 1))
    return jax.jit(both).lower(jnp.ones((1, 5, 5, 2)), jnp.ones((3, 3, 3, 2)))


def weight_gradient(samples=2):
    op = get_op("Convolution")
    attrs = op.parse({"kernel": (3, 3), "num_filter": 3})
    x, w = jnp.ones((samples, 64, 64, 2)), jnp.ones((3, 3, 3, 2))
    return jax.jit(
        jax.grad(lambda w: current().channels_last(op, attrs)(x, w, **attrs).sum())
    ).lower(w)


def weight_gradient_of_one_sample():
    return weight_gradient(1)


def softmax(size=512):
    return jax.jit(lambda x: jax.nn.softmax(x @ x)).lower(jnp.ones((size, size)))


def small_softmax():
    return softmax(32)


def product():
    return jax.jit(lambda x: jnp.exp(x @ x)).lower(jnp.ones((4, 4)))


def softmax_alone():
    return jax.jit(jax.nn.softmax).lower(jnp.ones((4, 4)))


def mean_of(count):
    """A program of two operations on so many elements, one on a number, and some that copy."""
    run = jax.jit(lambda x, y: (jnp.sin(x) * 2 + jnp.zeros(count), jnp.reshape(y + 1, (1, 1))))
    return lambda: run.lower(jnp.ones(count), 1.0)


def loop_of(length):
    """A loop over rows of 32 elements, which its operations have."""
    run = jax.jit(lambda x: jax.lax.scan(lambda c, y: (jnp.sin(c + y), c), x[0], x))
    return lambda: run.lower(jnp.ones((length, 32)))


def update(count, after=lambda weight: weight):
    """Adam's update of so many elements, and a function of the new weight."""
    adam, array = get_op("adam_update"), jax.ShapeDtypeStruct((count,), "float32")
    run = jax.jit(lambda *arrays: after(adam.call(arrays, adam.parse({"lr": 0.1}))[0][0]))
    return lambda: run.lower(*[array] * 4)


@pytest.mark.parametrize(
    ("version", "make", "wanted"),
    [
        ("0.10.2", convolution, REDUCTIONS | BARRIERS | LITTLE),
        ("0.10.2", convolution_alone, REDUCTIONS | LITTLE),
        ("0.10.2", one_sample, BARRIERS | TINY),
        ("0.10.2", one_sample_alone, TINY),
        ("0.10.2", barrier, BARRIERS | TINY),
        ("0.10.2", softmax_and_barrier, PRODUCTS | BARRIERS),
        ("0.10.2", gradients_of_one_sample, TINY),
        ("0.10.2", weight_gradient, REDUCTIONS | BARRIERS),
        ("0.10.2", weight_gradient_of_one_sample, BARRIERS),
        ("0.10.2", softmax, PRODUCTS),
        ("0.10.2", small_softmax, PRODUCTS),
        ("0.10.2", product, TINY),
        ("0.10.2", softmax_alone, TINY),
        ("0.10.2", mean_of(128), TINY),
        ("0.10.2", mean_of(129), LITTLE),
        ("0.10.2", mean_of(512), LITTLE),
        ("0.10.2", mean_of(513), {}),
        ("0.10.2", loop_of(50), TINY),
        ("0.10.2", update(512), LITTLE),
        ("0.10.2", update(513), EMITTERS),
        ("0.10.2", update(513, jnp.sum), {}),
        ("0.12.0.1", update(513), {}),
        ("0.12.0.1", mean_of(128), LLVM_0),
        ("0.12.0.1", mean_of(129), {}),
        ("0.12.0.1", convolution, BARRIERS),
        ("0.12.0.1", convolution_alone, {}),
        ("0.12.0.1", barrier, BARRIERS | LLVM_0),
        ("0.12.0.1", softmax, PRODUCTS),
        ("0.12.0.1", small_softmax, PRODUCTS),
        ("0.10.1", convolution, {}),
        ("0.99.0", softmax, {}),
    ],
)
def test_options_are_for_what_was_measured(version, make, wanted, monkeypatch):
    monkeypatch.setattr(compiler, "_version", lambda: version)
    assert compiler.options_for(make().as_text, "cpu") == wanted
    assert not compiler.options_for(make().as_text, "gpu")


def test_the_users_choice_is_left_alone(monkeypatch):
    monkeypatch.setattr(compiler, "_version", lambda: "0.10.2")
    monkeypatch.setenv("XLA_FLAGS", f"--{LIBRARY}=LIBRARY_FUSION_TYPE_DOT")
    assert not compiler.options_for(softmax().as_text, "cpu")
    assert compiler.options_for(convolution().as_text, "cpu") == (BARRIERS | LITTLE)
    monkeypatch.setenv("XLA_FLAGS", f"--xla_dump_to=dumps/{LIBRARY} --{LIBRARY}_of=none")
    assert compiler.options_for(softmax().as_text, "cpu") == PRODUCTS
    monkeypatch.setenv("XLA_FLAGS", f"--{LEFT_OUT}=fusion")
    assert compiler.options_for(convolution().as_text, "cpu") == REDUCTIONS | LITTLE
    monkeypatch.setenv("XLA_FLAGS", f"--{LEVEL}=3")
    assert compiler.options_for(mean_of(1)().as_text, "cpu").keys() == TINY.keys() - {LEVEL}
    monkeypatch.setenv("XLA_FLAGS", "--xla_enable_hlo_passes_only=fusion")
    assert compiler.options_for(convolution().as_text, "cpu") == REDUCTIONS | LITTLE


@pytest.mark.parametrize("make", [convolution, softmax])
def test_xla_knows_the_options_of_this_version(make):
    options = compiler.options_for(make().as_text, "cpu")
    if not options:
        pytest.skip("this version of jaxlib has none")
    make().compile(compiler_options=options)
    if LIBRARY in options:
        with pytest.raises(jax.errors.JaxRuntimeError, match="enum"):
            make().compile(compiler_options={LIBRARY: "no such type"})


def _convolutions(data, weight, square):
    """One of 3x3 and one of 1x1, each over what is read once more for its weight's gradient."""
    op = get_op("Convolution")
    for each, size in ((weight, 3), (square, 1)):
        attrs = op.parse({"kernel": (size, size), "num_filter": 8, "pad": (size // 2,) * 2})
        run = current().channels_last(op, attrs)
        data = run(jnp.maximum(data * 3 - 1, 0), each, **attrs)
    return data


def test_barriers_of_convolutions_are_kept():
    stream = np.random.default_rng(0)
    shapes = (8, 6, 6, 8), (8, 3, 3, 8), (8, 1, 1, 8)
    args = [stream.standard_normal(shape, np.float32) for shape in shapes]
    grads = jax.jit(jax.grad(lambda *args: jnp.square(_convolutions(*args)).sum(), (0, 1, 2)))
    lowered = grads.lower(*args)
    options = compiler.options_for(lowered.as_text, "cpu")
    need_kept_barriers(options)
    kept, dropped = lowered.compile(compiler_options=options), lowered.compile()
    assert (kept.as_text().count(" opt-barrier("), dropped.as_text().count(" opt-barrier(")) == (
        8,
        0,
    )
    for got, want in zip(kept(*args), dropped(*args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


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

    monkeypatch.setattr("modkit.tuning.config.options_for", choose)
    monkeypatch.setattr("modkit.compile.program.compile_program", compile_program)
    Program(jnp.sin, (object(),), "sine")(argument)
    assert (asked, given) == (["cpu"], [{"some": "option"}])
