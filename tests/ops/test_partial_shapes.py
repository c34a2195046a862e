"""Inference from partly known shapes: what MXNet tells, and nothing that is not so."""

import functools
import itertools
import zlib

import jax
import numpy as np
import pytest
from case import load

from modkit.errors import ShapeError
from modkit.ops.registry import get_op

CASES = [c for cases in load().values() for c in cases if get_op(c.op).partial]

# Of several shapes that their second input may have, MXNet takes the usual one if none is given.
GUESSED = {
    "LeakyReLU", "LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput",
    "SVMOutput", "SoftmaxOutput", "pick",
}  # fmt: skip

# Inputs, outputs, and what MXNet 1.9.1 makes of both (0 is a size not known, None a shape).
TOLD = [
    ("Reshape", {"shape": (0, -1)}, [(2, 0)], [None], [(2, 0)], [(2, 0)]),
    ("Reshape", {"shape": (-1,)}, [(2, 0)], [None], [(2, 0)], [(0,)]),
    ("Reshape", {"shape": (2, 3)}, [(6, 0)], [None], [(6, 1)], [(2, 3)]),
    ("Reshape", {"shape": (-2,)}, [(0, 3)], [None], [(0, 3)], [(0, 3)]),
    ("Reshape", {"shape": (-3, 0)}, [(0, 3, 4)], [None], [(0, 3, 4)], [(0, 4)]),
    ("Reshape", {"shape": (-4, 2, -1, 0)}, [(0, 3)], [None], [(0, 3)], [(2, 0, 3)]),
    ("Reshape", {"shape": (0, -1)}, [(0, 3, 4)], [(2, 12)], [(2, 3, 4)], [(2, 12)]),
    ("Reshape", {"shape": (-1, 4)}, [(0, 0, 4)], [(6, 4)], [(0, 0, 4)], [(6, 4)]),
    ("Reshape", {"shape": (2, 3)}, [None], [None], [None], [None]),
    ("transpose", {"axes": (1, 0, 2)}, [None], [(2, 3, 4)], [(3, 2, 4)], [(2, 3, 4)]),
    ("transpose", {"axes": (1, 0, 2)}, [(0, 0, 4)], [(2, 3, 4)], [(3, 2, 4)], [(2, 3, 4)]),
    ("transpose", {}, [(0, 0, 0)], [(2, 3, 4)], [(4, 3, 2)], [(2, 3, 4)]),
    ("transpose", {}, [(0, 3, 0)], [None], [(0, 3, 0)], [(0, 3, 0)]),
    ("expand_dims", {"axis": 1}, [None], [(2, 1, 4)], [(2, 4)], [(2, 1, 4)]),
    ("expand_dims", {"axis": 1}, [(0, 4)], [None], [(0, 4)], [(0, 1, 4)]),
    ("SwapAxis", {"dim1": 0, "dim2": 1}, [(0, 4)], [None], [(0, 4)], [(4, 0)]),
    ("Concat", {}, [(0, 2), (0, 0)], [(2, 5)], [(2, 2), (2, 3)], [(2, 5)]),
    ("Concat", {}, [(2, 3), None], [None], [(2, 3), (2, 0)], [(2, 0)]),
    ("Concat", {}, [(2, 0), (0, 3)], [None], [(2, 0), (2, 3)], [(2, 0)]),
    ("Concat", {"dim": 0}, [(2, 0), (0, 3)], [None], [(2, 3), (0, 3)], [(0, 3)]),
    ("stack", {"axis": 1}, [(3, 0), (0, 4)], [None], [(3, 4), (3, 4)], [(3, 2, 4)]),
    ("SliceChannel", {"num_outputs": 2}, [(0, 4)], [None] * 2, [(0, 4)], [(0, 2)] * 2),
    ("SliceChannel", {"num_outputs": 2}, [(0, 6)], [(2, 3), None], [(2, 6)], [(2, 3)] * 2),
    ("SliceChannel", {"num_outputs": 2, "squeeze_axis": True},
     [(0, 2)], [None] * 2, [(0, 2)], [(0,)] * 2),
    ("_split_v2", {"indices": (), "sections": 2}, [(0, 4)], [None] * 2, [(0, 4)], [(0, 2)] * 2),
    ("slice", {"begin": (None, 1), "end": (None, 3)}, [(0, 4)], [None], [(0, 4)], [(0, 2)]),
    ("slice_axis", {"axis": 1, "begin": 0, "end": 2}, [(0, 4)], [None], [(0, 4)], [(0, 2)]),
    ("Pad", {"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 1, 2, 2)},
     [(0, 4, 5, 5)], [None], [(0, 4, 5, 5)], [(0, 4, 7, 9)]),
    ("depth_to_space", {"block_size": 2}, [(0, 4, 2, 2)], [None], [(0, 4, 2, 2)], [(0, 1, 4, 4)]),
    ("where", {}, [(2, 3), (0, 3), (2, 0)], [None], [(2, 3)] * 3, [(2, 3)]),
    ("where", {}, [(2,), (2, 3), None], [None], [(2,), (2, 3), (2, 3)], [(2, 3)]),
    ("Embedding", {"input_dim": 5, "output_dim": 3},
     [(0, 2), None], [None], [(0, 2), (5, 3)], [(0, 2, 3)]),
    ("pick", {}, [(0, 3), None], [None], [(0, 3), (0,)], [(0,)]),
    ("pick", {"axis": 0}, [(2, 3), None], [None], [(2, 3), (3,)], [(3,)]),
    ("dot", {}, [(0, 3), (3, 4)], [None], [(0, 3), (3, 4)], [(0, 4)]),
    ("SequenceMask", {"use_sequence_length": True},
     [(4, 2, 3), None], [None], [(4, 2, 3), (2,)], [(4, 2, 3)]),
    ("SequenceMask", {}, [(0, 2, 3)], [None], [(0, 2, 3)], [(0, 2, 3)]),
    ("SequenceLast", {"use_sequence_length": True},
     [(0, 2, 3), None], [None], [(0, 2, 3), (2,)], [(2, 3)]),
    ("Crop", {}, [(0, 3, 4, 4), (0, 3, 2, 2)], [None],
     [(0, 3, 4, 4), (0, 3, 2, 2)], [(0, 3, 2, 2)]),
    ("cumsum", {"axis": 0}, [None], [(3, 4)], [(3, 4)], [(3, 4)]),
    ("linalg_gemm", {}, [(2, 3, 4), (2, 4, 5), None], [None],
     [(2, 3, 4), (2, 4, 5), (2, 3, 5)], [(2, 3, 5)]),
    ("linalg_gemm", {"axis": 0, "transpose_a": True}, [(2, 3, 4), (2, 3, 5), None], [None],
     [(2, 3, 4), (2, 3, 5), (4, 3, 5)], [(4, 3, 5)]),
    ("linalg_gemm", {}, [(2, 3, 4), None, None], [None], [(2, 3, 4), None, None], [None]),
    ("linalg_gemm", {}, [None, None, (2, 3, 5)], [None], [None, None, (2, 3, 5)], [(2, 3, 5)]),
    ("_linalg_trmm", {}, [None, None], [(2, 3, 4)], [(2, 3, 3), (2, 3, 4)], [(2, 3, 4)]),
    ("_linalg_trsm", {"rightside": True},
     [None, None], [(2, 3, 4)], [(2, 4, 4), (2, 3, 4)], [(2, 3, 4)]),
    ("_sparse_retain", {}, [None, None], [(4, 3)], [(4, 3), None], [(4, 3)]),
    ("_scatter_set_nd", {"shape": (4, 3)}, [None] * 3, [None], [(4, 3), None, None], [(4, 3)]),
    ("_ravel_multi_index", {"shape": (4, 3)}, [None], [(5,)], [(2, 5)], [(5,)]),
    ("_unravel_index", {"shape": (4, 3)}, [None], [(2, 5)], [(5,)], [(2, 5)]),
    ("all_finite", {}, [None], [None], [None], [(1,)]),
    ("multi_all_finite", {"num_arrays": 2}, [None, (2,)], [None], [None, (2,)], [(1,)]),
    ("_histogram", {"bin_cnt": 2, "range": (0, 1)}, [None], [None] * 2, [None], [(2,), (3,)]),
    ("_sample_gamma", {"shape": (4,)}, [None, (2, 3)], [None], [(2, 3)] * 2, [(2, 3, 4)]),
    ("_sample_uniform", {"shape": ()}, [None] * 2, [(2, 3)], [(2, 3)] * 2, [(2, 3)]),
    ("_sample_poisson", {"shape": (4,)}, [None], [(2, 3, 4)], [(2, 3)], [(2, 3, 4)]),
    ("_contrib_quantize", {}, [None] * 3, [None] * 3, [None, (1,), (1,)], [None, (1,), (1,)]),
    ("_contrib_quantize_v2", {}, [None], [None] * 3, [None], [None, (1,), (1,)]),
    ("_contrib_dequantize", {}, [None] * 3, [None], [None, (1,), (1,)], [None]),
    ("_contrib_requantize", {},
     [(2, 3), None, None], [None] * 3, [(2, 3), (1,), (1,)], [(2, 3), (1,), (1,)]),
    ("_contrib_calibrate_entropy", {}, [None] * 2, [None] * 2, [None] * 2, [(1,)] * 2),
]  # fmt: skip


def _refine(name, attrs, ins, outs):
    op = get_op(name)
    given = {op.variadic: len(ins)} if op.variadic else {}
    return op.partial(list(ins), list(outs), op.parse({**given, **attrs}))


def _id(row):
    return f"{row[0]}-{row[2]}-{row[3]}".replace(" ", "")


@pytest.mark.parametrize("row", TOLD, ids=map(_id, TOLD))
def test_sizes_are_told_as_by_mxnet(row):
    """Where MXNet says less than follows, the row says what follows."""
    name, attrs, ins, outs, want_ins, want_outs = row
    got_ins, got_outs = _refine(name, attrs, ins, outs)
    assert (list(got_ins), list(got_outs)) == (want_ins, want_outs)


@functools.cache
def _truth(at):
    """The operator, its attributes and all shapes of a row."""
    case = CASES[at]
    op = get_op(case.op)
    given = {op.variadic: len(case.inputs)} if op.variadic else {}
    attrs = op.parse({**given, **case.attrs})
    with jax.enable_x64(True):
        specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in case.arrays()]
        made = jax.eval_shape(
            lambda a: op.call(a, attrs, key=jax.random.key(0), train=True)[0], specs
        )
    return op, attrs, [s.shape for s in specs], [tuple(m.shape) for m in made]


def _hide(shape, stream):
    """Some sizes of a shape made unknown, or all of it."""
    kind = stream.randint(4)
    if kind == 0:
        return None
    return tuple(0 if kind > 1 and stream.randint(2) else size for size in shape)


@pytest.mark.parametrize("at", range(len(CASES)), ids=[c.id for c in CASES])
def test_what_is_told_is_so(at):
    """The rule finds no size that the operator does not have, for any hidden sizes."""
    op, attrs, ins, outs = _truth(at)
    stream = np.random.RandomState(zlib.crc32(CASES[at].id.encode()))
    for _ in range(30):
        free = 1 if op.name in GUESSED else len(ins)
        hidden = (
            [_hide(s, stream) for s in ins[:free]] + ins[free:],
            [_hide(s, stream) for s in outs],
        )
        got = op.partial(*hidden, attrs)
        for told, true in zip(itertools.chain(*got), [*ins, *outs], strict=True):
            if told is not None:
                assert len(told) == len(true), (hidden, got)
                assert all(a in (0, b) for a, b in zip(told, true, strict=True)), (hidden, got)


@pytest.mark.parametrize(
    ("name", "attrs", "ins", "outs", "words"),
    [
        (
            "Concat",
            {},
            [(2, 3), (3, 3)],
            [None],
            "input 1: got shape (3, 3), expected that of input 0, (2, 3) except at axis 1",
        ),
        ("Concat", {}, [(2, 3), (2, 0)], [(2, 3)], "expected 3"),
        ("Concat", {}, [(2, 3), (2, 1)], [(2, 3)], "Concat: got 4 elements along axis 1"),
        ("transpose", {}, [(2, 3)], [(2, 3)], "transpose: got size"),
        ("transpose", {}, [(2, 3)], [(2, 3, 4)], "expected one with 2 axes"),
        ("where", {}, [None, (2, 3), (2, 4)], [None], "where: got shape (2, 3), expected (2, 4)"),
        ("Reshape", {"shape": (2, 3)}, [(5, 0)], [None], "expected 6 elements"),
    ],
)
def test_contradictions_are_refused(name, attrs, ins, outs, words):
    with pytest.raises(ShapeError) as caught:
        _refine(name, attrs, ins, outs)
    assert words in str(caught.value)
