"""Convolution and deconvolution that the reference does not run, or not right, on CPUs.

The figures are those of the definition, summed cell by cell in float64.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.errors import ShapeError
from modkit.ops.registry import get_op

SPACES = {1: "W", 2: "HW", 3: "DHW"}


def _strided(start, stride, count):
    return tuple(
        slice(a, a + s * (n - 1) + 1, s) for a, s, n in zip(start, stride, count, strict=True)
    )


def _convolve(data, weight, stride, dilate, pad, groups):
    """Channels first."""
    rank = data.ndim - 2
    padded = np.pad(data.astype(np.float64), [(0, 0), (0, 0), *[(p, p) for p in pad]])
    reach = [d * (k - 1) + 1 for d, k in zip(dilate, weight.shape[2:], strict=True)]
    count = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, stride, strict=True)]
    out = np.zeros((len(data), len(weight), *count))
    width, filters = weight.shape[1], len(weight) // groups
    for group in range(groups):
        source = padded[:, group * width : (group + 1) * width]
        chosen = slice(group * filters, (group + 1) * filters)
        for cell in np.ndindex(weight.shape[2:]):
            start = [c * d for c, d in zip(cell, dilate, strict=True)]
            moved = source[(slice(None), slice(None), *_strided(start, stride, count))]
            taps = weight[(chosen, slice(None), *cell)]
            out[:, chosen] += np.moveaxis(np.tensordot(moved, taps, ([1], [1])), -1, 1)
    assert out.ndim == rank + 2
    return out


def _deconvolve(data, weight, stride, dilate, groups):
    """Channels first, nothing cut."""
    kernel, size = weight.shape[2:], data.shape[2:]
    full = [
        s * (n - 1) + d * (k - 1) + 1
        for s, n, d, k in zip(stride, size, dilate, kernel, strict=True)
    ]
    filters, width = weight.shape[1], data.shape[1] // groups
    out = np.zeros((len(data), filters * groups, *full))
    for group, cell in itertools.product(range(groups), np.ndindex(kernel)):
        source = slice(group * width, (group + 1) * width)
        start = [c * d for c, d in zip(cell, dilate, strict=True)]
        taps = weight[(source, slice(None), *cell)].astype(np.float64)
        sent = np.moveaxis(np.tensordot(data[:, source], taps, ([1], [0])), -1, 1)
        chosen = slice(group * filters, (group + 1) * filters)
        out[(slice(None), chosen, *_strided(start, stride, size))] += sent
    return out


def _run(name, arrays, **given):
    op = get_op(name)
    return op.call([jnp.asarray(a) for a in arrays], op.parse(given))[0][0]


def _last(array):
    """Channels last."""
    return np.moveaxis(array, 1, -1)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution_channels_last(rank, groups):
    """The weight has the same order of axes as the data."""
    stream = np.random.RandomState(rank * 10 + groups)
    sizes, kernel = (5, 6, 4)[:rank], (3, 2, 2)[:rank]
    data = stream.randn(2, 4, *sizes).astype(np.float32)
    weight = stream.randn(6, 4 // groups, *kernel).astype(np.float32)
    bias = stream.randn(6).astype(np.float32)
    numbers = {"stride": (2, 1, 1)[:rank], "dilate": (1, 2, 1)[:rank], "pad": (1, 0, 1)[:rank]}
    want = _convolve(data, weight, **numbers, groups=groups)
    want += bias.reshape(-1, *[1] * rank)
    got = _run(
        "Convolution",
        [_last(data), _last(weight), bias],
        num_filter=6,
        kernel=kernel,
        num_group=groups,
        layout=f"N{SPACES[rank]}C",
        **numbers,
    )
    np.testing.assert_allclose(got, _last(want), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["NCW", "NCHW", "NHWC", "NCDHW", "NDHWC"])
@pytest.mark.parametrize("groups", [1, 2])
def test_deconvolution_with_dilation(layout, groups):
    """In every layout, against the definition; cut by ``pad`` and lengthened by ``adj``."""
    rank = len(layout) - 2
    stream = np.random.RandomState(rank * 10 + groups)
    data = stream.randn(2, 4, *(3, 4, 3)[:rank]).astype(np.float32)
    kernel = (3, 2, 3)[:rank]
    weight = stream.randn(4, 3, *kernel).astype(np.float32)
    stride, dilate, pad = (2, 3, 2)[:rank], (2, 1, 2)[:rank], (1, 0, 2)[:rank]
    whole = _deconvolve(data, weight, stride, dilate, groups)
    whole = np.pad(whole, [(0, 0), (0, 0), *[(0, 1)] * rank])
    want = whole[(..., *[slice(p, n - p) for p, n in zip(pad, whole.shape[2:], strict=True)])]
    turn = _last if layout[-1] == "C" else np.asarray
    got = _run(
        "Deconvolution",
        [turn(data), turn(weight)],
        num_filter=3 * groups,
        kernel=kernel,
        num_group=groups,
        stride=stride,
        dilate=dilate,
        pad=pad,
        adj=(1,) * rank,
        layout=layout,
    )
    np.testing.assert_allclose(got, turn(want), rtol=1e-4, atol=1e-5)


def test_deconvolution_is_the_transpose_of_convolution():
    """The gradient of a convolution in its data is the deconvolution with the same weight."""
    stream = np.random.RandomState(1)
    data, weight = stream.randn(1, 2, 9).astype("f"), stream.randn(3, 2, 3).astype("f")
    attrs = {"kernel": (3,), "stride": (2,), "dilate": (2,)}
    made, pull = jax.vjp(
        lambda x: _run("Convolution", [x, weight], num_filter=3, no_bias=True, **attrs), data
    )
    head = stream.randn(*made.shape).astype("f")
    back = _run("Deconvolution", [head, weight], num_filter=2, **attrs)
    np.testing.assert_allclose(back, pull(jnp.asarray(head))[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "shape", "attrs", "words"),
    [
        ("Convolution", (2, 4, 8), {"kernel": (3, 3), "num_filter": 2}, "expected 4 axes"),
        (
            "Convolution",
            (2, 3, 8, 8),
            {"kernel": (3, 3), "num_filter": 2, "num_group": 2},
            "multiple",
        ),
        ("Convolution", (2, 2, 2, 8), {"kernel": (3, 3), "num_filter": 2}, "reaches over 3"),
        ("Convolution", (2, 2, 8, 8), {"kernel": (3, 3), "num_filter": 2, "pad": (1,)}, "2 values"),
        ("Convolution", (2, 2, 8, 8), {"kernel": (3, 3), "num_filter": 2, "layout": "NCW"}, "NCW"),
        ("Deconvolution", (2, 2, 4), {"kernel": (3,), "num_filter": 2, "adj": (1,)}, "less than"),
        (
            "Deconvolution",
            (2, 2, 4),
            {"kernel": (3,), "num_filter": 2, "target_shape": (9,)},
            "at most 6",
        ),
        ("Pooling", (2, 2, 4), {"kernel": (5,)}, "the kernel is 5"),
        ("Pooling", (2, 2, 4), {"kernel": (2, 2)}, "expected 4 axes"),
    ],
)
def test_mistakes_are_answered(name, shape, attrs, words):
    """Before anything is computed, with what was got and expected."""
    op = get_op(name)
    weight = (
        [] if name == "Pooling" else [jax.ShapeDtypeStruct((2, 2, 3, 3)[: len(shape)], "float32")]
    )
    with pytest.raises(ShapeError, match=words):
        parsed = op.parse(attrs | ({} if name == "Pooling" else {"no_bias": True}))
        jax.eval_shape(
            lambda *arrays: op.call(arrays, parsed)[0],
            jax.ShapeDtypeStruct(shape, "float32"),
            *weight,
        )


FILTERS = {"num_filter": 2}
UNFIT = [
    ("Convolution", {**FILTERS, "kernel": ()}, "expected 1, 2 or 3"),
    ("Convolution", {**FILTERS, "kernel": (1, 1, 1, 1)}, "expected 1, 2 or 3"),
    ("Convolution", {**FILTERS, "kernel": (2, 2), "stride": 1}, "stride: .* expected 2 values"),
    ("Convolution", {**FILTERS, "kernel": (2, 2), "dilate": (1,)}, "dilate: .* expected 2 values"),
    ("Deconvolution", {**FILTERS, "kernel": (2, 2), "adj": (1,)}, "adj: .* expected 2 values"),
    ("im2col", {"kernel": (2, 2), "pad": (1,)}, "pad: .* expected 2 values"),
    ("Pooling", {}, "expected 1, 2 or 3"),
    ("Pooling", {"kernel": (0, 0), "global_pool": True}, "expected 1 or more"),
    ("Pooling", {"kernel": (2, 2), "stride": (0, 0)}, "expected 1 or more"),
    ("Pooling_v1", {"kernel": (2, 0)}, "expected 1 or more"),
    *(
        (name, {"pooled_size": size, "spatial_scale": scale}, words)
        for name in ("ROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign")
        for size, scale, words in (
            ((2,), 1, r"\(height, width\)"),
            ((0, 2), 1, r"\(height, width\)"),
            ((2, 2), 2, "from 0 to 1"),
        )
    ),
    (
        "_contrib_PSROIPooling",
        {"pooled_size": 2, "spatial_scale": -1, "output_dim": 1},
        "spatial_scale: .* from 0 to 1",
    ),
    ("_contrib_quantized_pooling", {}, "expected 1, 2 or 3"),
    ("slice_axis", {"axis": 0, "begin": 0}, "'end' is missing"),
    ("cast_storage", {}, "'stype' is missing"),
    ("sum", {"axis": True}, "got 'True', expected a tuple"),
]


@pytest.mark.parametrize(("name", "attrs", "words"), UNFIT)
def test_parameters_are_refused_when_a_node_is_made(name, attrs, words):
    with pytest.raises(mx.MXNetError, match=words):
        getattr(mx.sym._internal if name[0] == "_" else mx.sym, name)(mx.sym.Variable("x"), **attrs)
