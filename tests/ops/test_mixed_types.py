"""Operators that may read 16 bits beside float32: they run, differentiate, and give 16 bits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from case import load

import modkit.ops  # noqa: F401 - registers every operator
from modkit.ops.registry import OPS, get_op
from modkit.symbol.precision import read_as

LOW = "bfloat16"
DATA = {"where": (1, 2)}
"""Which inputs are the data, where it is not the first."""


def rows():
    """Two rows at most for each operator of the tables, in float32."""
    seen = {}
    for cases in load().values():
        for case in cases:
            op = get_op(case.op)
            if op.precision == "float32" or case.random:
                continue
            if any(x.dtype != "float32" or 0 in x.sizes for x in case.specs):
                continue
            if seen.setdefault(op.name, []) and len(seen[op.name]) == 2:
                continue
            seen[op.name].append(case)
    return seen


ROWS = rows()


def called(case, arrays):
    """All outputs, as a function of the arrays."""
    op = get_op(case.op)
    attrs = dict(case.attrs) | ({op.variadic: len(arrays)} if op.variadic else {})
    attrs = op.parse(attrs)
    read = read_as(op, attrs, list(arrays), LOW)
    return list(op.call(read, attrs, key=jax.random.key(1), train=True)[0])


SPARSE = {"_contrib_edge_id", "_contrib_getnnz", "_sparse_retain"}
"""Operators that read sparse arrays only, which are of 32 or 64 bits."""


def test_every_operator_of_the_tables_has_a_row():
    low = {op.name for op in OPS.values() if op.precision != "float32"}
    assert low - ROWS.keys() == SPARSE


@pytest.mark.parametrize("case", [c for cases in ROWS.values() for c in cases], ids=lambda c: c.id)
def test_16_bits_beside_float32(case):
    op = get_op(case.op)
    low = DATA.get(op.name, (0,))
    at = low[0]

    @jax.jit
    def both(arrays):
        """Outputs of float32 numbers that 16 bits hold, those of 16 bits, and their gradient."""
        rounded = [a.astype(LOW).astype("float32") for a in arrays]
        data = [a.astype(LOW) if i in low else a for i, a in enumerate(rounded)]
        got, pullback = jax.vjp(lambda x: called(case, [*data[:at], x, *data[at + 1 :]]), data[at])
        (grad,) = pullback([jnp.ones_like(y) for y in got])
        return called(case, rounded), got, grad

    arrays = [jnp.asarray(a) for a in case.arrays()]
    wanted, got, grad = both(arrays)
    widest = op.precision == "alike" and len(arrays) > 1
    assert got[0].dtype == ("float32" if widest else LOW)
    for mine, plain in zip(got, wanted, strict=True):
        plain, mine = np.asarray(plain, np.float64), np.asarray(mine, np.float64)
        finite = np.isfinite(plain)
        scale = np.abs(plain[finite]).max(initial=1)
        np.testing.assert_allclose(mine[finite], plain[finite], rtol=0.05, atol=0.03 * scale)
    assert (grad.dtype, grad.shape) == (LOW, arrays[at].shape)


@pytest.mark.parametrize(
    "name", sorted({op.name for op in OPS.values() if op.precision == "alike"})
)
def test_of_two_types_the_wider_wins(name):
    op, arrays = get_op(name), [jnp.ones((2, 2), LOW), jnp.full((2, 2), 1 + 2.0**-12)]
    attrs = op.parse({op.variadic: 2} if op.variadic else {})
    assert {a.dtype.name for a in read_as(op, attrs, arrays, LOW)} == {"float32"}
    assert {a.dtype.name for a in read_as(op, attrs, [arrays[0]] * 2, LOW)} == {LOW}


@pytest.mark.parametrize("name", ["softmax", "SoftmaxOutput", "sum", "exp", "Custom", "_power"])
def test_all_others_read_float32(name):
    arrays = [jnp.ones((2, 2), LOW), jnp.ones((2,), "float16")]
    got = read_as(get_op(name), {}, arrays, LOW)
    assert [a.dtype.name for a in got] == ["float32", "float16"]
