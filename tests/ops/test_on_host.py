"""Every row of every operator table, run by NumPy, beside the reference; random ones beside XLA."""

import jax
import numpy as np
import pytest

from modkit.interpreter import program_of
from modkit.ndarray.storage import x64_scope
from modkit.ops.registry import get_op
from modkit.stream import as_key
from tests.ops.test_ops import ROWS, _attrs, _compare, _has_wide_types, _recorded

NOT_BY_NUMPY = {
    "ROIPooling", "_contrib_DeformablePSROIPooling", "_image_random_color_jitter", "col2im",
    "_linalg_gelqf", "_linalg_inverse", "_linalg_potrf", "_linalg_potri",
    "_linalg_slogdet", "_linalg_syevd", "_linalg_trsm",
}  # fmt: skip
"""Decompositions and long programs: XLA compiles them."""

NEWER = jax.__version_info__ >= (0, 11)
"""This JAX has primitives that are left to XLA."""

KEY_DATA = np.array([7, 5], np.uint32)
FAMILIES = sorted({family for family, _ in ROWS})


def _on_host(case, wide):
    """The NumPy program of a row, its results' layout, its inputs and the function."""
    op = get_op(case.op)
    attrs = _attrs(op, case)

    def run(arrays, key_data):
        key = as_key(key_data) if op.takes_key else None
        outputs, aux = op.call(arrays, attrs, key=key, train=case.train)
        old = dict(zip(op.input_names(attrs), arrays, strict=True))
        kept = [aux.get(n, old[n]) for n in op.input_names(attrs) if n in op.aux]
        return list(outputs[: op.visible_outputs(attrs)]), kept

    arrays = case.arrays()
    with x64_scope(wide):
        closed, shapes = jax.make_jaxpr(run, return_shape=True)(arrays, KEY_DATA)
        return op, program_of(closed), jax.tree.structure(shapes), arrays, run


@pytest.mark.parametrize("family", FAMILIES)
def test_like_the_reference(family):
    wrong = []
    for case in [case for name, case in ROWS if name == family]:
        recorded, shapes = ({}, []) if case.random else _recorded(family, case)
        wide = case.random or _has_wide_types(case, shapes)
        op, program, layout, arrays, _ = _on_host(case, wide)
        assert program is not None or op.name in NOT_BY_NUMPY or NEWER, case.id
        if program is None or case.random:
            continue
        before = [np.array(a) for a in arrays]
        outputs, aux = jax.tree.unflatten(layout, program(*arrays, KEY_DATA))
        assert [[str(o.dtype), list(o.shape)] for o in outputs] == shapes, case.id
        for old, new in zip(before, arrays, strict=True):
            np.testing.assert_array_equal(new, old, f"{case.id}: an input was written")
        try:
            for what, made, wanted in (
                ("output", outputs, recorded["out"]), ("aux", aux, recorded["aux"])
            ):  # fmt: skip
                for got, want in zip(made, wanted, strict=True):
                    _compare(case, what, got, want)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("family", "case"),
    [
        pytest.param(f, c, id=f"{f}:{c.id}")
        for f, c in ROWS
        if c.random and get_op(c.op).name not in NOT_BY_NUMPY
    ],
)
def test_random_numbers_are_those_of_xla(family, case):
    """The same bits, so the same numbers to rounding."""
    del family
    _, program, _, arrays, run = _on_host(case, wide=True)
    if program is None and NEWER:
        pytest.skip("a primitive of this JAX that is left to XLA")
    with x64_scope(True):
        wanted = jax.tree.leaves(jax.jit(run)(arrays, KEY_DATA))
    for got, want in zip(program(*arrays, KEY_DATA), map(np.asarray, wanted), strict=True):
        _compare(case, "output", got, want)
