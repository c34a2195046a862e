"""3x3 convolutions in tiles: the numbers of XLA's own form, and no more room than told."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit.ops  # noqa: F401 - registers every operator
from modkit.executor import compiler
from modkit.ops import conv_tiles
from modkit.ops.conv_last import convolve_last
from modkit.ops.conv_tiles import tiled, tiled_data_gradient, tiled_weight_gradient
from modkit.ops.conv_whole import by_xla, over_all
from modkit.ops.moves import Moves
from tests.barriers import need_kept_barriers

ONE = (1, 1)
SAME = Moves(ONE, ONE, (ONE, ONE))
PADS = [((0, 0), (0, 0)), (ONE, ONE), ((2, 0), (1, 2)), ((3, 1), (-1, 0))]


def _draw(*shapes):
    stream = np.random.default_rng(3)
    return [stream.standard_normal(shape, np.float32) for shape in shapes]


def _plain(data, weight, pads):
    return by_xla(data, weight, Moves(ONE, ONE, pads))


@functools.partial(jax.jit, static_argnums=3)
def _all_three(data, weight, head, pads):
    return (
        tiled(data, weight, pads),
        tiled_data_gradient(head, weight, pads),
        tiled_weight_gradient(data, head, pads),
    )


def _heads(data, weight, pads):
    return jax.eval_shape(lambda *each: _plain(*each, pads), data, weight).shape


def _check(samples=3, space=(6, 9), channels=5, filters=4, pads=SAME.pads):
    data, weight = _draw((samples, *space, channels), (filters, 3, 3, channels))
    (head,) = _draw(_heads(data, weight, pads))
    result, pull = jax.vjp(lambda *each: _plain(*each, pads), data, weight)
    for got, want in zip(_all_three(data, weight, head, pads), (result, *pull(head)), strict=True):
        assert got.shape == want.shape
        assert np.linalg.norm(got - want) < 2e-6 * np.linalg.norm(want)


@pytest.mark.parametrize("pads", PADS, ids=str)
@pytest.mark.parametrize("space", [(6, 9), (7, 4), (3, 5)], ids=str)
def test_values_and_gradients(space, pads):
    """Even and odd numbers of results; pads that differ, and that cut data off."""
    _check(space=space, pads=pads)


@pytest.mark.parametrize(("samples", "parts"), [(6, 3), (5, 3), (1, 1)])
def test_samples_that_go_one_part_after_another(samples, parts, monkeypatch):
    monkeypatch.setattr(conv_tiles, "_ROOM", 2 * 15 * 5)
    assert conv_tiles.part_count(samples, (6, 9), 5) == parts
    _check(samples)


@pytest.mark.parametrize("weight_too", [True, False])
def test_gradients_of_a_convolution(weight_too):
    """As `convolve_last` chooses, with pads that differ."""
    pads = ((2, 0), (1, 2))
    data, weight = _draw((4, 14, 14, 128), (128, 3, 3, 128))
    assert _count(data.shape, weight.shape, Moves(ONE, ONE, pads)) == 0

    def gradients(form):
        def run(data, weight):
            result, pull = jax.vjp(form, data, weight)
            made = (result, *pull(jnp.cos(result)))
            return made if weight_too else made[:2]

        return jax.jit(run)(data, weight)

    got = gradients(lambda *each: convolve_last(*each, Moves(ONE, ONE, pads)))
    for ours, theirs in zip(got, gradients(lambda *each: _plain(*each, pads)), strict=True):
        assert np.linalg.norm(ours - theirs) < 2e-5 * np.linalg.norm(theirs)


def test_what_is_not_finite_stays_where_it_is():
    """But for the weight's gradient, where it may reach all nine cells of its channels."""
    data, weight = _draw((1, 7, 8, 3), (2, 3, 3, 3))
    data[0, 3, 4, 1] = np.nan
    result = tiled(data, weight, SAME.pads)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(_plain(data, weight, SAME.pads)))
    by_weight = tiled_weight_gradient(data, np.ones_like(result), SAME.pads)
    assert np.isnan(by_weight[..., 1]).all()
    assert np.isfinite(np.delete(by_weight, 1, -1)).all()


def test_what_pads_cut_off_is_not_seen():
    pads = (ONE, (1, -1))
    data, weight = _draw((1, 6, 9, 3), (2, 3, 3, 3))
    data[:, :, -1] = np.nan
    (head,) = _draw(_heads(data, weight, pads))
    result, _, by_weight = _all_three(data, weight, head, pads)
    assert np.isfinite(result).all()
    assert np.isfinite(by_weight).all()


def test_whole_numbers_are_exact():
    """Halves and sums of them are no numbers that round."""
    draw = np.random.default_rng(4).integers
    data, weight = (draw(-9, 9, shape).astype(np.float32) for shape in ((2, 6, 5, 8), (8, 3, 3, 8)))
    head = draw(-9, 9, _heads(data, weight, SAME.pads)).astype(np.float32)
    result, pull = jax.vjp(lambda *each: _plain(*each, SAME.pads), data, weight)
    got = _all_three(data, weight, head, SAME.pads)
    for ours, theirs in zip(got, (result, *pull(head)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rounding_is_small():
    data, weight = _draw((4, 14, 14, 128), (128, 3, 3, 128))
    (head,) = _draw((4, 14, 14, 128))
    with jax.enable_x64(True):
        wide = [jnp.asarray(each, jnp.float64) for each in (data, weight)]
        result, pull = jax.vjp(lambda *each: _plain(*each, SAME.pads), *wide)
        exact = [np.asarray(e) for e in (result, *pull(jnp.asarray(head, jnp.float64)))]
    for got, want in zip(_all_three(data, weight, head, SAME.pads), exact, strict=True):
        assert np.linalg.norm(got - want) < 8e-7 * np.linalg.norm(want)


def _count(data, weight, moves=SAME, dtype="float32"):
    """How many convolutions XLA is asked for, by a result and both gradients."""

    def run(data, weight):
        result, pull = jax.vjp(lambda *each: convolve_last(*each, moves), data, weight)
        return result, pull(jnp.ones_like(result))

    arrays = (jax.ShapeDtypeStruct(shape, dtype) for shape in (data, weight))
    return jax.jit(run).lower(*arrays).as_text().count("stablehlo.convolution")


@pytest.mark.parametrize(
    ("data", "weight", "moves", "asked"),
    [
        ((4, 14, 14, 128), (128, 3, 3, 128), SAME, 0),
        ((4, 14, 13, 128), (256, 3, 3, 128), SAME, 0),
        ((3, 14, 14, 128), (128, 3, 3, 128), SAME, 3),
        ((4, 14, 14, 127), (128, 3, 3, 127), SAME, 3),
        ((4, 14, 14, 128), (127, 3, 3, 128), SAME, 3),
        ((4, 14, 14, 128), (128, 3, 2, 128), SAME, 3),
        ((4, 14, 14, 128), (128, 3, 3, 128), Moves(ONE, (2, 2), SAME.pads), 3),
        ((8, 28, 28, 128), (128, 3, 3, 128), Moves((2, 2), ONE, SAME.pads), 2),
        ((1, 520, 520, 128), (128, 3, 3, 128), SAME, 3),
        ((16, 258, 258, 128), (128, 3, 3, 128), Moves(ONE, ONE, ((0, 0), (0, 0))), 3),
        ((9, 162, 162, 128), (128, 3, 3, 128), SAME, 0),
        ((0, 14, 14, 128), (128, 3, 3, 128), SAME, 2),
    ],
)
def test_where_they_are_used(data, weight, moves, asked):
    assert _count(data, weight, moves) == asked


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_would_round_the_sums(dtype):
    assert _count((4, 14, 14, 128), (128, 3, 3, 128), dtype=dtype) == 3


def _scratch(run, *arrays):
    """What a program needs meanwhile, as a multiple of its first array."""
    lowered = jax.jit(run).lower(*arrays)
    options = compiler.options_for(lowered.as_text, "cpu")
    need_kept_barriers(options)
    made = compiler.compile_program(lowered, options)
    return made.memory_analysis().temp_size_in_bytes / arrays[0].nbytes


def _images():
    return jnp.ones((8, 28, 28, 128)), jnp.ones((128, 3, 3, 128))


@pytest.mark.parametrize(("by", "kept"), [((0, 1), 3), (0, 2)], ids=["both", "data"])
def test_sums_are_not_kept_for_the_backward_pass(by, kept):
    """A layer keeps what ReLU saw, and its data for its weight; the sums are four times those."""

    def run(data, weights):
        for weight in weights:
            data = jnp.maximum(over_all(data, weight, SAME), 0)
        return data.sum()

    data, weight = _images()
    few, many = (_scratch(jax.grad(run, by), data, [weight] * n) for n in (4, 8))
    assert many - few < 4 * kept


def test_parts_share_the_room_of_one(monkeypatch):
    whole = _scratch(lambda *each: tiled(*each, SAME.pads), *_images())
    monkeypatch.setattr(conv_tiles, "_ROOM", 2 * 14 * 14 * 128)
    parts = _scratch(lambda *each: tiled(*each, SAME.pads), *_images())
    assert parts < 0.7 * whole
