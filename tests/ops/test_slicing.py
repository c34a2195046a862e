"""Slices against NumPy's, and the way back from parts to the whole."""

import jax
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from modkit.interpreter import program_of
from modkit.ops.registry import get_op

SETTINGS = settings(derandomize=True, deadline=None, max_examples=60)
SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def _numbers(sizes):
    return np.arange(1, np.prod(sizes) + 1, dtype=np.float32).reshape(sizes)


def _call(name, *arrays, **attrs):
    op = get_op(name)
    if op.variadic:
        attrs[op.variadic] = len(arrays)
    attrs = op.parse(attrs)
    traced = jax.make_jaxpr(lambda *arrays: op.call(arrays, attrs)[0])(*arrays)
    return program_of(traced)(*arrays)  # by NumPy: each call is another program to compile


@st.composite
def cut(draw):
    """An array, and where to cut it: begin, end, step."""
    data = _numbers(draw(SIZES))
    place, stride = st.none() | st.integers(-7, 7), st.none() | st.sampled_from((-2, -1, 1, 2))
    count = draw(st.integers(1, data.ndim))
    kinds = (place, place, stride)
    return data, [tuple(draw(kind) for _ in range(count)) for kind in kinds]


@SETTINGS
@given(cut())
def test_slice_is_numpys(case):
    data, (begin, end, step) = case
    want = data[tuple(slice(*bounds) for bounds in zip(begin, end, step, strict=True))]
    (got,) = _call("slice", data, begin=begin, end=end, step=step)
    np.testing.assert_array_equal(got, want)


@SETTINGS
@given(cut())
def test_a_slice_written_back_changes_nothing(case):
    data, (begin, end, step) = case
    how = {"begin": begin, "end": end, "step": step}
    (part,) = _call("slice", data, **how)
    (same,) = _call("_slice_assign", data, part, **how)
    np.testing.assert_array_equal(same, data)
    (marked,) = _call("_slice_assign_scalar", data, scalar=-1.0, **how)
    assert (marked == -1).sum() == part.size
    assert set(marked[marked != -1]) == set(data.ravel()) - set(part.ravel())


@SETTINGS
@given(SIZES, st.data())
def test_what_is_cut_apart_joins_again(sizes, data):
    whole = _numbers(sizes)
    axis = data.draw(st.integers(0, whole.ndim - 1))
    places = data.draw(st.sets(st.integers(1, whole.shape[axis])))
    parts = _call("_split_v2", whole, indices=(0, *sorted(places)), axis=axis)
    (joined,) = _call("Concat", *parts, dim=axis)
    np.testing.assert_array_equal(joined, whole)
    count = whole.shape[axis]
    parts = _call("SliceChannel", whole, num_outputs=count, axis=axis, squeeze_axis=True)
    (stacked,) = _call("stack", *parts, axis=axis)
    np.testing.assert_array_equal(stacked, whole)


@SETTINGS
@given(cut(), st.data())
def test_partly_known_sizes_lead_to_no_wrong_ones(case, data):
    array, (begin, end, step) = case
    op = get_op("slice")
    attrs = op.parse({"begin": begin, "end": end, "step": step})
    (part,) = _call("slice", array, begin=begin, end=end, step=step)
    hidden = data.draw(st.sets(st.integers(0, array.ndim - 1)))
    partly = tuple(0 if i in hidden else s for i, s in enumerate(array.shape))
    (got_in,), (got_out,) = op.partial([partly], [None], attrs)
    assert got_in == partly
    for i, size in enumerate(got_out):
        assert size == (0 if i in hidden else part.shape[i])
