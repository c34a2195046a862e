"""Reshape's codes, against shapes that are known by the way the codes were made."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modkit.errors import ShapeError
from modkit.ops.array.reshape import reshape_sizes
from modkit.ops.registry import get_op

SIZE = st.integers(1, 5)
SETTINGS = settings(derandomize=True, deadline=None, max_examples=200)


@st.composite
def coded(draw):
    """Sizes, codes, and the sizes that these codes must give."""
    sizes, codes, made, single = [], [], [], []
    for move in draw(st.lists(st.sampled_from(("keep", "say", "join", "split")), max_size=5)):
        a, b = draw(SIZE), draw(SIZE)
        if move == "join":
            sizes, codes, made = [*sizes, a, b], [*codes, -3], [*made, a * b]
        elif move == "split":
            pair = draw(st.sampled_from([(a, b), (-1, b), (a, -1)]))
            sizes, codes, made = [*sizes, a * b], [*codes, -4, *pair], [*made, a, b]
        else:
            single.append(len(codes))
            sizes, codes, made = [*sizes, a], [*codes, 0 if move == "keep" else a], [*made, a]
    if single and draw(st.booleans()):
        codes[draw(st.sampled_from(single))] = -1
    rest = draw(st.lists(SIZE, min_size=0 if codes else 1, max_size=3))
    if rest:
        sizes, codes, made = [*sizes, *rest], [*codes, -2], [*made, *rest]
    return tuple(sizes), tuple(codes), tuple(made)


@SETTINGS
@given(coded())
def test_codes_give_what_they_were_made_from(case):
    sizes, codes, made = case
    assert reshape_sizes(sizes, codes) == made


@SETTINGS
@given(coded())
def test_reversed_codes_are_read_from_the_right(case):
    sizes, codes, made = (part[::-1] for part in case)
    assert reshape_sizes(sizes, codes, reverse=True) == made


@settings(derandomize=True, deadline=None, max_examples=25)
@given(coded())
def test_elements_keep_their_order(case):
    sizes, codes, made = case
    data = np.arange(np.prod(sizes)).reshape(sizes)
    op = get_op("Reshape")
    (got,), _ = op.call([jnp.asarray(data, jnp.int32)], op.parse({"shape": codes}))
    np.testing.assert_array_equal(got, data.reshape(made))


@SETTINGS
@given(coded(), st.data())
def test_an_unknown_size_never_leads_to_a_wrong_one(case, data):
    sizes, codes, made = case
    hidden = data.draw(st.sets(st.integers(0, len(sizes) - 1)))
    partly = tuple(0 if i in hidden else s for i, s in enumerate(sizes))
    got = reshape_sizes(partly, codes)
    assert len(got) == len(made)
    assert all(g in (0, m) for g, m in zip(got, made, strict=True))


@SETTINGS
@given(st.lists(SIZE, min_size=1, max_size=4), st.data())
def test_the_one_unknown_size_of_the_input_follows_from_the_output(sizes, data):
    at = data.draw(st.integers(0, len(sizes) - 1))
    partly = tuple(0 if i == at else s for i, s in enumerate(sizes))
    attrs = get_op("Reshape").parse({"shape": (int(np.prod(sizes)),)})
    ins, outs = get_op("Reshape").partial([partly], [None], attrs)
    assert (ins, outs) == ([tuple(sizes)], [(int(np.prod(sizes)),)])


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ((0, 0), "got shape (0, 0), which makes (2, 3) = 6 elements; expected 24"),
        ((5,), "got shape (5,) = 5 elements; expected 24, as in (2, 3, 4)"),
        ((-1, -1), "expected -1 at most once"),
        ((-1, 5), "24 elements cannot be divided by 5"),
        ((0, 0, 0, 0), "does not fit (2, 3, 4)"),
        ((-3, -3), "does not fit (2, 3, 4)"),
        ((-4, 2), "does not fit (2, 3, 4)"),
        ((-4, 2, 2, -2), "got 2 * 2, expected a product of 2"),
        ((-4, -1, -1, -2), "at most one -1 after a -4"),
        ((-5,), "got -5 in shape (-5,), expected -4 or more"),
    ],
)
def test_codes_that_do_not_fit_are_refused(codes, words):
    with pytest.raises(ShapeError) as caught:
        reshape_sizes((2, 3, 4), codes)
    assert str(caught.value).startswith("Reshape: ")
    assert words in str(caught.value)
