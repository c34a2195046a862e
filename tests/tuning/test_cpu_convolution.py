"""Convolutions in the forms for CPUs: values and gradients are those of XLA's own convolution."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import modkit.ops  # noqa: F401 - registers every operator
from modkit.ops.nn.convolution import Moves, by_xla
from modkit.ops.registry import get_op
from modkit.tuning.config import current
from modkit.tuning.cpu import conv_data_gradient
from modkit.tuning.cpu.convolution import convolve_last, deconvolve_last

LETTERS = {1: "W", 2: "HW", 3: "DHW"}
NO_PADS = ((0, 0), (0, 0))


def _by_xla(data, weight, moves, groups):
    space = LETTERS[data.ndim - 2]
    return lax.conv_general_dilated(
        data,
        weight,
        moves.stride,
        moves.pads,
        rhs_dilation=moves.dilate,
        dimension_numbers=(f"N{space}C", f"O{space}I", f"N{space}C"),
        feature_group_count=groups,
    )


def _arrays(*shapes, dtype="float32"):
    stream = np.random.RandomState(sum(map(sum, shapes)))
    return [jnp.asarray(stream.standard_normal(shape).astype(jnp.dtype(dtype))) for shape in shapes]


def _with_gradients(form, data, weight):
    """Traced: the result, and the gradients for one head."""
    result, pull = jax.vjp(form, data, weight)
    (head,) = _arrays(result.shape, dtype=result.dtype)
    return [result, *pull(head)]


def _run(form, *arrays):
    return jax.jit(lambda *traced: _with_gradients(form, *traced))(*arrays)


def _compare(data, weight, moves, groups, near=1e-5, dtype="float32"):
    @jax.jit  # one program compiles faster than two
    def both(x, w):
        wide = x.astype("float32"), w.astype("float32")
        return (
            _with_gradients(lambda x, w: convolve_last(x, w, moves, groups), x, w),
            _with_gradients(lambda x, w: _by_xla(x, w, moves, groups), *wide),
        )

    got, want = both(*_arrays(data, weight, dtype=dtype))
    for ours, theirs in zip(got, want, strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == dtype
        theirs = np.asarray(theirs)  # NumPy compiles nothing
        distance = np.linalg.norm(np.asarray(ours).astype("float32") - theirs)
        assert distance < near * np.linalg.norm(theirs)


@pytest.mark.parametrize(
    ("channels", "filters", "groups"),
    [(6, 6, 6), (6, 12, 6), (8, 12, 4), (64, 64, 4), (6, 4, 1)],
    ids=["channel", "channel_twice", "twos", "groups", "whole"],
)
@pytest.mark.parametrize(
    "moves",
    [
        Moves((1, 1), (1, 1), ((1, 1), (2, 2))),
        Moves((2, 3), (1, 1), NO_PADS),
        Moves((2, 1), (2, 1), ((1, 0), (2, -1))),
    ],
    ids=["padded", "far", "uneven"],
)
def test_two_axes(channels, filters, groups, moves):
    """For any groups, strides, padding and cropping."""
    _compare((3, 9, 10, channels), (filters, 3, 2, channels // groups), moves, groups)


FEW = [
    Moves((1, 1), (1, 1), ((1, 1), (2, 2))),
    Moves((2, 3), (1, 1), NO_PADS),
    Moves((2, 3), (3, 2), ((1, 0), (2, -1))),
]


@pytest.mark.parametrize("moves", FEW, ids=["padded", "far", "dilated"])
@pytest.mark.parametrize("kernel", [(3, 2), (1, 2), (5, 5), (9, 9)])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("samples", [1, 5])
def test_few_channels(channels, kernel, moves, samples):
    """Many places and few of them, kernels of few cells and of many, that some cells step over."""
    _compare((samples, 34, 33, channels), (6, *kernel, channels), moves, 1)


@pytest.mark.parametrize(
    ("data", "weight", "moves", "asked"),
    [
        ((5, 34, 33, 3), (8, 3, 3, 3), FEW[0], 1),
        ((1, 34, 33, 3), (8, 3, 3, 3), FEW[0], 2),
        ((5, 34, 33, 3), (8, 5, 5, 3), FEW[0], 2),
        ((1, 34, 33, 3), (8, 9, 9, 3), FEW[0], 3),
        ((1, 34, 33, 3), (8, 2, 2, 3), Moves((9, 9), (1, 1), NO_PADS), 2),
        ((2, 35, 34, 16), (5, 9, 9, 16), Moves((4, 4), (1, 1), NO_PADS), 4),
        ((5, 34, 33, 6), (8, 3, 3, 6), FEW[0], 3),
        ((5, 34, 33, 6), (8, 3, 3, 6), FEW[1], 2),
        ((2, 7, 7, 6), (8, 3, 3, 6), Moves((1, 1), (1, 1), NO_PADS), 2),
        ((2, 17, 17, 6), (8, 3, 3, 6), Moves((1, 1), (1, 1), NO_PADS), 3),
    ],
)
def test_where_xla_is_asked(data, weight, moves, asked):
    """For the weight's gradient, and for the other two where it is as fast as anything else."""
    run = jax.jit(lambda *each: _with_gradients(lambda x, w: convolve_last(x, w, moves), *each))
    assert run.lower(*_arrays(data, weight)).as_text().count("stablehlo.convolution") == asked


@pytest.mark.parametrize(
    ("kernel", "stride", "pads"),
    [
        ((9, 9), (4, 4), NO_PADS),
        ((3, 3), (2, 2), ((1, 1), (1, 1))),
        ((8, 4), (4, 4), ((2, 2), (0, 1))),
        ((2, 5), (3, 3), ((0, 0), (-1, 2))),
        ((5, 1), (1, 2), ((3, 0), (0, 0))),
        ((17, 3), (8, 1), ((4, 4), (1, 1))),
    ],
)
def test_gradients_by_phases_of_the_stride(kernel, stride, pads):
    moves = Moves(stride, (1, 1), pads)
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((5, *kernel, 16)).astype("f")
    cotangent = rng.standard_normal((2, *moves.counts((35, 34), kernel), 5)).astype("f")
    pullback = jax.vjp(lambda x: by_xla(x, weight, moves), jnp.empty((2, 35, 34, 16)))[1]
    made = conv_data_gradient.by_phases(jnp.asarray(cotangent), weight, moves, (35, 34))
    np.testing.assert_allclose(made, pullback(cotangent)[0], rtol=1e-5, atol=2e-5)


def test_phases_are_chosen_for_large_kernels_of_few_filters():
    """And col2im for others: it adds few products, or long ones."""

    def chosen(kernel, stride, filters):
        moves = Moves((stride, stride), (1, 1), NO_PADS)
        results = jnp.empty((2, *moves.counts((35, 34), (kernel, kernel)), filters))
        weight = jnp.empty((filters, kernel, kernel, 16))
        given = jnp.empty((2, 35, 34, 16)), weight, results, moves
        assert conv_data_gradient.col2im_is_faster(*given)
        return conv_data_gradient.phases_are_faster(*given)

    assert chosen(9, 4, 5)
    assert not chosen(4, 2, 5)
    assert not chosen(9, 4, 96)


@pytest.mark.parametrize(("kernel", "stride", "channels"), [(4, 2, 16), (3, 2, 2), (5, 4, 16)])
def test_an_infinite_number_reaches_what_depends_on_it(kernel, stride, channels):
    """MXNet 1.9.1: 49 infinities for 4x4 by 2 over (16, 16), and no NaN."""
    moves = Moves((stride, stride), (1, 1), ((1, 1), (1, 1)))
    data, weight = jnp.ones((1, 16, 16, channels)), np.ones((16, kernel, kernel, channels), "f")
    one = np.zeros_like(weight)
    weight[0, 0, 0, 0], one[0, 0, 0, 0] = np.inf, 1

    @jax.jit
    def gradient(weight, infinite=0.0):
        result, pull = jax.vjp(lambda x: convolve_last(x, weight, moves), data)
        return pull(jnp.ones_like(result).at[0, 1, 1, 0].add(infinite))[0]

    by_cotangent = np.asarray(gradient(np.abs(one) + 1, np.inf))
    assert np.isposinf(by_cotangent).any(-1).sum() == kernel**2
    assert not np.isnan(by_cotangent).any()
    np.testing.assert_array_equal(np.isposinf(gradient(weight)), gradient(one) > 0)
    assert not np.isnan(gradient(weight)).any()
    assert (gradient(one) > 0).sum() == 49 or kernel != 4


@pytest.mark.parametrize("kernel", [(5, 5), (6, 3)])
def test_small_images_that_are_not_padded(kernel):
    """The data's gradient is that of a product."""
    _compare((3, 8, 7, 6), (4, *kernel, 6), Moves((1, 1), (1, 1), NO_PADS), 1)


@pytest.mark.parametrize(("dtype", "near"), [("float16", 4e-4), ("bfloat16", 3e-3)])
@pytest.mark.parametrize(
    ("data", "weight", "moves"),
    [((5, 34, 33, 1), (6, 5, 5, 1), FEW[0]), ((2, 16, 15, 6), (6, 5, 5, 6), FEW[1])],
)
def test_sums_in_16_bits(data, weight, moves, dtype, near):
    """Of slices, and of parts of the product: they are rounded once."""
    _compare(data, weight, moves, 1, near, dtype)


@pytest.mark.parametrize("channels", [3, 6])
def test_no_samples(channels):
    """The result has none either."""
    arrays = _arrays((0, 9, 9, channels), (4, 3, 3, channels))
    got = _run(lambda x, w: convolve_last(x, w, Moves((2, 2), (1, 1), NO_PADS)), *arrays)
    assert [each.shape for each in got] == [(0, 4, 4, 4), (0, 9, 9, channels), (4, 3, 3, channels)]


def test_whole_numbers_are_exact():
    """They are not summed in float32."""
    data, weight = jnp.full((5, 34, 33, 3), 20_000_001), jnp.ones((2, 3, 3, 3), int)
    result = convolve_last(data, weight, Moves((1, 1), (1, 1), NO_PADS))
    assert (result == 27 * 20_000_001).all()


def test_a_step_of_32_compiles_in_no_more_operations_than_another():
    """FCN-32s: a transposed convolution 64x64 by 32."""
    moves = Moves((32, 32), (1, 1), ((16, 16), (16, 16)))
    run = jax.jit(lambda *each: deconvolve_last(*each, moves, 1))
    assert len(run.lower(*_arrays((1, 2, 2, 3), (3, 64, 64, 3))).as_text().splitlines()) < 50


def _xla_convolutions(data, weight, moves):
    """The lines of XLA's convolutions, with gradients."""
    run = jax.jit(lambda *each: _with_gradients(lambda x, w: convolve_last(x, w, moves), *each))
    text = run.lower(*_arrays(data, weight)).as_text()
    return [line for line in text.splitlines() if "stablehlo.convolution" in line]


@pytest.mark.parametrize("stride", [1, 2])
def test_kernels_larger_than_the_data(stride):
    """XLA has its fast form for data no smaller than the kernel: they are padded before."""
    case = (8, 5, 6, 8), (8, 9, 7, 8), Moves((stride, stride), (1, 1), ((4, 4), (3, 3)))
    _compare(*case, 1)
    assert "pad = [[0, 0], [0, 0]]" in _xla_convolutions(*case)[0]
    assert stride > 1 or all("pad = [[0, 0], [0, 0]]" in each for each in _xla_convolutions(*case))


@pytest.mark.parametrize(("samples", "strips"), [(1, 9), (2, 9), (4, 3), (8, 1)])
def test_weight_gradients_of_few_samples(samples, strips):
    """Strips of images are samples: XLA reads samples as channels, and took twice as long."""
    case = (samples, 9, 7, 16), (16, 3, 3, 16), FEW[0]
    _compare(*case, 1)
    *_, line = _xla_convolutions(*case)
    assert f"(tensor<{samples * strips}x" in line


def test_few_channels_over_three_axes():
    """The taps along the first axis are channels of one convolution."""
    case = (2, 6, 5, 7, 3), (4, 3, 3, 3, 3), Moves((2, 1, 1), (1, 1, 1), ((1, 1),) * 3)
    _compare(*case, 1)
    assert len(_xla_convolutions(*case)) == 3


@pytest.mark.parametrize("kernel", [(2, 7), (5, 2), (5, 7), (5, 1), (1, 1)])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_kernels_as_large_as_the_data(kernel, groups):
    """Along one axis, along both, and for each group by itself."""
    moves = Moves((1, 2), (1, 1), NO_PADS)
    _compare((3, 5, 7, 6), (6, *kernel, 6 // groups), moves, groups)


def test_a_kernel_as_large_as_the_data_that_is_padded():
    """It covers the data in one place of several."""
    _compare((2, 3, 5, 4), (6, 3, 5, 4), Moves((1, 1), (1, 1), ((1, 1), (0, 2))), 1)


def test_a_large_kernel_for_each_channel():
    """A convolution for each, as there would be too many slices."""
    _compare((2, 10, 12, 4), (4, 9, 8, 1), Moves((1, 1), (1, 1), ((4, 4), (3, 3))), 4)


@pytest.mark.parametrize("moves", FEW)
def test_many_filters_of_each_channel(moves):
    _compare((3, 9, 10, 2), (32, 3, 2, 1), moves, 2)


@pytest.mark.parametrize("groups", [1, 3, 6])
@pytest.mark.parametrize("kernel", [(3, 3, 2), (1, 1, 1), (3, 1, 1)])
def test_three_axes(groups, kernel):
    """As many convolutions over two axes as the kernel is deep."""
    moves = Moves((2, 1, 1), (2, 1, 2), ((2, 1), (1, 1), (1, 0)))
    _compare((2, 6, 5, 7, 6), (6, *kernel, 6 // groups), moves, groups)


def test_three_axes_in_16_bits():
    """Parts of the sum are too large for the type."""
    data = jnp.asarray([60000, -60000, 0], "float16").reshape(1, 3, 1, 1, 1)
    weight = jnp.full((1, 3, 1, 1, 1), 2, "float16")
    assert convolve_last(data, weight, Moves((1,) * 3, (1,) * 3, ((0, 0),) * 3)).item() == 0


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_one_axis(groups):
    """An axis of one cell before it."""
    _compare((2, 9, 6), (6, 3, 6 // groups), Moves((2,), (1,), ((1, 1),)), groups)


@pytest.mark.parametrize(("dtype", "near"), [("float16", 4e-4), ("bfloat16", 3e-3)])
@pytest.mark.parametrize("groups", [6, 2])
def test_16_bits(dtype, near, groups):
    """Sums of slices are computed in float32, and rounded once."""
    moves = Moves((1, 1), (1, 1), ((3, 3), (3, 3)))
    _compare((2, 9, 9, 6), (6, 7, 7, 6 // groups), moves, groups, near, dtype)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
def test_deconvolution(groups, stride):
    """It is the transpose of the convolution, and its gradients are that of the transpose."""
    moves = Moves(stride, (1, 2), ((1, 0), (1, 1)))
    data, weight = _arrays((2, 5, 4, 4), (4, 3, 2, 6 // groups if groups < 4 else 1))
    channels = weight.shape[-1] * groups
    space = moves.spans(data.shape[1:3], weight.shape[1:3])

    def plain(x, w):
        image = jnp.zeros((2, *space, channels))
        return jax.vjp(lambda each: _by_xla(each, w, moves, groups), image)[1](x)[0]

    got = _run(lambda x, w: deconvolve_last(x, w, moves, groups), data, weight)
    for ours, theirs in zip(got, _run(plain, data, weight), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["Convolution", "Deconvolution"])
@pytest.mark.parametrize("layout", ["NCW", "NCHW", "NHWC", "NCDHW", "NDHWC"])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_an_operator_by_itself(name, layout, groups):
    """In any layout, with gradients, it is on a CPU what it is elsewhere."""
    rank = len(layout) - 2
    op = get_op(name)
    form = current().form(op)
    attrs = op.parse(
        {"kernel": (3,) * rank, "stride": (2,) * rank, "pad": (1,) * rank, "num_filter": 4}
        | {"num_group": groups, "no_bias": True, "layout": layout}
    )
    turn = (lambda a: np.moveaxis(a, 1, -1)) if layout[-1] == "C" else np.asarray
    data, weight = map(turn, _arrays((2, 4, *(6, 5, 7)[:rank]), (4, 4 // groups, *(3,) * rank)))

    def both(*arrays):
        return _with_gradients(lambda x, w: op.call([x, w], attrs, fn=form)[0][0], *arrays)

    traced = jax.jit(both).trace(data, weight)
    there = traced.lower(lowering_platforms=("tpu",)).as_text()
    assert f"feature_group_count = {groups} " in there
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lax, "platform_dependent", lambda *args, default, **_: default(*args))
        elsewhere = jax.jit(lambda *arrays: both(*arrays))(data, weight)
    for ours, theirs in zip(traced.lower().compile()(data, weight), elsewhere, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["Convolution", "Deconvolution"])
def test_whole_numbers(name):
    """In both forms for CPUs; they have no gradient, by which the transpose is computed."""
    op = get_op(name)
    attrs = op.parse({"kernel": (3, 3), "stride": (2, 2), "num_filter": 4, "no_bias": True})
    arrays = [np.round(8 * np.asarray(a)) for a in _arrays((2, 5, 6, 4), (4, 3, 3, 4))]
    for form in (current().channels_last(op, attrs), current().form(op)):
        run = jax.jit(lambda *given, form=form: op.call(given, attrs, fn=form)[0][0])
        whole, wide = (run(*(a.astype(kind) for a in arrays)) for kind in ("int32", "float32"))
        assert whole.dtype == "int32"
        np.testing.assert_array_equal(whole, wide)
        arrays = [np.moveaxis(a, -1, 1) for a in arrays]


@pytest.mark.parametrize("groups", [4, 128])
@pytest.mark.parametrize("name", ["Convolution", "Deconvolution"])
def test_xla_is_asked_for_no_groups(name, groups):
    """Its own forms of these, and of their gradients, took up to a hundred times as long."""
    op = get_op(name)
    attrs = op.parse(
        {"kernel": (3, 3), "pad": (1, 1), "num_filter": 128, "num_group": groups, "no_bias": True}
    )
    form = current().channels_last(op, attrs)
    arrays = _arrays((2, 8, 8, 128), (128, 3, 3, 128 // groups))
    text = jax.jit(lambda x, w: _with_gradients(lambda *a: form(*a, **attrs), x, w)).lower(*arrays)
    counts = [line for line in text.as_text().splitlines() if "_group_count" in line]
    assert all("batch_group_count = 1 " in n and "feature_group_count = 1 " in n for n in counts)
    assert len(counts) == (0 if groups == 128 else 3 * groups)


def test_a_covered_axis_is_not_padded_in_the_gradient():
    """A kernel of 300 words' numbers: the gradient of the data took 22 s."""
    moves = Moves((1, 1), (1, 1), NO_PADS)
    arrays = _arrays((2, 20, 30, 1), (8, 5, 30, 1))

    def text(form):
        return jax.jit(lambda *each: _with_gradients(form, *each)).lower(*arrays).as_text()

    assert "[29, 29]" not in text(lambda x, w: convolve_last(x, w, moves))
    assert "[29, 29]" in text(lambda x, w: _by_xla(x, w, moves, 1))


@pytest.mark.parametrize(("samples", "rows"), [(1, 11), (5, 3), (7, 11)])
def test_slices_that_are_added_cover_the_data(samples, rows):
    """Also where sizes have no divisor in common with the parts that are tried first."""
    moves = Moves((1, 1), (1, 1), ((1, 1), (1, 1)))
    _compare((samples, rows, 4, 2), (2, 3, 3, 1), moves, 2)


@pytest.mark.parametrize("kernel", [1, 3, 5, 7])
@pytest.mark.parametrize("name", ["Convolution", "Deconvolution"])
@pytest.mark.parametrize(("channels", "groups"), [(32, 4), (8, 8)], ids=["groups", "depthwise"])
def test_what_is_not_finite_stays_in_its_group(name, kernel, channels, groups):
    """In the data, the weight or the head, forward and in both gradients."""
    op, each = get_op(name), channels // groups
    attrs = op.parse(
        {"kernel": (kernel,) * 2, "pad": (kernel // 2,) * 2, "num_filter": channels}
        | {"num_group": groups, "no_bias": True}
    )
    form = current().channels_last(op, attrs)
    arrays = _arrays((2, 9, 9, channels), (channels, kernel, kernel, each), (2, 9, 9, channels))

    @jax.jit
    def run(x, w, head):
        result, pull = jax.vjp(lambda *a: form(*a, **attrs), x, w)
        return [result, *pull(head)]

    places = [(0, 4, 4, 0), (0, 0, 0, 0), (0, 4, 4, 0)]  # each in the first group
    for bad, (at, place) in itertools.product([np.nan, np.inf], enumerate(places)):
        spoilt = [np.array(a) for a in arrays]
        spoilt[at][place] = bad
        y, by_data, by_weight = (np.isfinite(made) for made in run(*spoilt))
        assert not (y[..., :each].all() and by_weight[:each].all()), bad
        assert y[..., each:].all() and by_data[..., each:].all(), bad
        assert by_weight[each:].all(), bad
