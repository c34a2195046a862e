"""Every row of every operator table, against what the reference recorded."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from case import RECORDED, Case, checksum, load

import modkit.ops  # noqa: F401 - registers every operator
from modkit.ndarray.storage import needs_x64, x64_scope
from modkit.ops.entry import Op
from modkit.ops.registry import OPS, get_op
from modkit.symbol.layout import Value, moved_form
from tests.xla_options import default_options
from tools import operator_rows

ROWS = [(family, case) for family, cases in load().items() for case in cases]
KEY_SEED = 7
TOGETHER = 8
"""Rows in one program: one of 32 takes longer to compile than four of 8, one a row longer still."""


class Group(NamedTuple):
    """Rows in one program.

    Args:
        rows: family and id of each.
        last: whether images have channels last.
        defaults: whether it compiles with XLA's default options, as users' programs do, in twice
            the time.
    """

    rows: tuple[tuple[str, str], ...]
    last: bool
    defaults: bool


TOLERANCE = {"float16": (1e-2, 1e-2), "float32": (1e-4, 1e-5), "float64": (1e-6, 1e-7)}

TESTED_ELSEWHERE: dict[str, str] = {
    "Custom": "../test_custom_operator.py",
    "IdentityAttachKLSparseReg": "test_losses.py",
    "_cond": "../symbol/test_control_flow.py",
    "_contrib_SparseEmbedding": "test_indexing.py",
    "_contrib_boolean_mask": "test_indexing.py",
    "_contrib_dgl_adjacency": "../ndarray/test_graphs.py",
    "_backward_gather_nd": "test_indexing.py",
    "_contrib_dgl_csr_neighbor_non_uniform_sample": "../ndarray/test_graphs.py",
    "_contrib_dgl_csr_neighbor_uniform_sample": "../ndarray/test_graphs.py",
    "_contrib_dgl_graph_compact": "../ndarray/test_graphs.py",
    "_contrib_dgl_subgraph": "../ndarray/test_graphs.py",
    "_contrib_edge_id": "../ndarray/test_sparse_values.py",
    "_contrib_getnnz": "../ndarray/test_sparse_values.py",
    "_contrib_quantized_batch_norm": "test_quantized.py",
    "_contrib_quantized_conv": "test_quantized.py",
    "_contrib_count_sketch": "test_transforms.py",
    "_contrib_fft": "test_transforms.py",
    "_foreach": "../symbol/test_control_flow.py",
    "_scatter_set_nd": "test_indexing.py",
    "_sparse_adagrad_update": "../ndarray/test_sparse_values.py",
    "_sparse_retain": "../ndarray/test_sparse_values.py",
    "_square_sum": "../ndarray/test_sparse_values.py",
    "_while_loop": "../symbol/test_control_flow.py",
    "fill_element_0index": "test_indexing.py",
    "_adamw_update": "test_update_ops.py",
    "_contrib_group_adagrad_update": "test_update_ops.py",
    "_contrib_ifft": "test_transforms.py",
    "_mp_adamw_update": "test_update_ops.py",
    "_multi_adamw_update": "test_update_ops.py",
    "_multi_lamb_update": "test_update_ops.py",
    "_multi_mp_adamw_update": "test_update_ops.py",
    "_multi_mp_lamb_update": "test_update_ops.py",
    "mp_lamb_update_phase2": "test_update_ops.py",
    "multi_mp_sgd_mom_update": "test_update_ops.py",
    "multi_mp_sgd_update": "test_update_ops.py",
    "multi_sgd_mom_update": "test_update_ops.py",
    "multi_sgd_update": "test_update_ops.py",
    "preloaded_multi_mp_sgd_mom_update": "test_update_ops.py",
    "preloaded_multi_mp_sgd_update": "test_update_ops.py",
    "preloaded_multi_sgd_mom_update": "test_update_ops.py",
    "preloaded_multi_sgd_update": "test_update_ops.py",
    "reset_arrays": "test_update_ops.py",
}
"""Operators that no row can hold, each with the file that tests it."""


def _has_gradient(case: Case) -> bool:
    return bool(case.differentiated([np.empty(0, x.dtype) for x in case.specs]))


def _one_of_each(table: list[tuple[str, Case]]) -> list[tuple[str, Case]]:
    """For each operator its first row with a gradient, or its first row."""
    chosen: dict[Op, tuple[str, Case]] = {}
    for family, case in sorted(table, key=lambda row: not _has_gradient(row[1])):
        chosen.setdefault(get_op(case.op), (family, case))
    return list(chosen.values())


def _over(table: list[tuple[str, Case]]) -> pytest.MarkDecorator:
    """Rows, of which one of each operator is quick."""
    quick, params = {(family, case.id) for family, case in _one_of_each(table)}, []
    for family, case in table:
        marks = [] if (family, case.id) in quick else [pytest.mark.slow]
        params.append(pytest.param(family, case, id=f"{family}:{case.id}", marks=marks))
    return pytest.mark.parametrize(("family", "case"), params)


def _in_groups(
    table: list[tuple[str, Case]], *, last: bool = False, defaults: bool = False
) -> pytest.MarkDecorator:
    """Rows with their group; one of each operator is quick, a sixth of the rest in `make test`."""
    quick, params = _one_of_each(table), []
    names = {(family, case.id) for family, case in quick}
    slow = [(family, case) for family, case in table if (family, case.id) not in names]
    for rows in (quick, slow):
        for start in range(0, len(rows), TOGETHER):
            marks = [] if rows is quick else [pytest.mark.slow]
            if marks and start // TOGETHER % 6:
                marks.append(pytest.mark.thorough)
            ids = ((family, case.id) for family, case in rows[start : start + TOGETHER])
            group = Group(tuple(ids), last, defaults)
            for family, case in rows[start : start + TOGETHER]:
                name = f"{family}:{case.id}"
                params.append(pytest.param(family, case, group, id=name, marks=marks))
    return pytest.mark.parametrize(("family", "case", "group"), params)


rows = _over(ROWS)
WITH_NUMBERS = [(family, case) for family, case in ROWS if not case.random]
BY_ID = {(family, case.id): case for family, case in ROWS}


@functools.cache
def _family(name: str) -> tuple[dict[str, Any], bytes]:
    path = RECORDED / f"{name}.npz"
    if not path.exists():
        return {}, b""
    with np.load(path) as kept:
        return json.loads(kept["index"].tobytes()), kept["data"].tobytes()


def _recorded(family: str, case: Case) -> tuple[dict[str, list[np.ndarray]], list[Any]]:
    """Arrays by kind (``out``, ``aux``, ``grad``), and dtype and shape of each output."""
    index, data = _family(family)
    if case.id not in index:
        pytest.fail(f"{case.id} is not recorded: run tools/record_ops.py {family}")
    entry = index[case.id]
    if entry["inputs"] != checksum(case.arrays()):
        pytest.fail(f"{case.id} has other inputs now: run tools/record_ops.py {family}")
    arrays: dict[str, list[np.ndarray]] = {"out": [], "aux": [], "grad": []}
    for kind, dtype, shape, offset in entry["arrays"]:
        count = int(np.prod(shape))
        array = np.frombuffer(data, dtype, count, offset).reshape(shape)
        arrays[kind].append(array)
    return arrays, entry["shapes"]


def _attrs(op: Op, case: Case) -> dict[str, Any]:
    given = dict(case.attrs)
    if op.variadic:
        given.setdefault(op.variadic, len(case.inputs))
    return op.parse(given)


def _call(op: Op, attrs: dict[str, Any], *, train: bool, last: bool = False) -> Any:
    """The operator as ``arrays -> (visible outputs, new aux in the order of its inputs)``.

    With ``last`` it is the form that computes on images with channels last, between two moves.
    """

    def run(arrays: list[Any]) -> Any:
        form, key = None, jax.random.key(KEY_SEED)
        values = [Value(a) for a in arrays]
        if last:
            _ = [value.last for value in values]
            form = moved_form(op, attrs, values)
            arrays = [value.last for value in values]
        outputs, aux = op.call(arrays, attrs, key=key, train=train, fn=form)
        outputs = [Value(y, last).plain for y in outputs]
        names = [n for n in op.input_names(attrs) if n in op.aux]
        old = dict(zip(op.input_names(attrs), arrays, strict=True))
        kept = [aux.get(n, old[n]) for n in names]
        return list(outputs[: op.visible_outputs(attrs)]), kept

    return run


def _has_wide_types(case: Case, shapes: list[Any]) -> bool:
    return needs_x64(*(x.dtype for x in case.specs), *(dtype for dtype, _ in shapes))


def _compare(case: Case, what: str, got: Any, want: np.ndarray) -> None:
    rtol, atol = TOLERANCE.get(str(want.dtype), (0, 0))
    rtol = rtol if case.rtol is None else case.rtol
    atol = atol if case.atol is None else case.atol
    got = np.asarray(got)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=f"{case.id}: {what}")


def _moves(case: Case) -> bool:
    """Whether there is a form of the operator for these images with channels last."""
    op, shapes = get_op(case.op), [jax.ShapeDtypeStruct(x.sizes, x.dtype) for x in case.specs]
    values = [Value(shape, moved=True) for shape in shapes]
    if not any(value.is_moved for value in values):
        return False
    return moved_form(op, _attrs(op, case), values) is not None


MOVED = [(family, case) for family, case in WITH_NUMBERS if _moves(case)]


@_in_groups(WITH_NUMBERS)
def test_numbers(family: str, case: Case, group: Group) -> None:
    """Outputs, auxiliary states and gradients."""
    _check_numbers(family, case, group)


@_in_groups(MOVED, last=True)
def test_numbers_with_channels_last(family: str, case: Case, group: Group) -> None:
    """The same, from the form that programs on CPUs run on images."""
    _check_numbers(family, case, group)


@pytest.mark.thorough
@_in_groups(_one_of_each(WITH_NUMBERS), defaults=True)
def test_numbers_as_users_compile_them(family: str, case: Case, group: Group) -> None:
    """A row of each operator with XLA's default options."""
    _check_numbers(family, case, group)


@pytest.mark.thorough
@_in_groups(_one_of_each(MOVED), last=True, defaults=True)
def test_numbers_with_channels_last_as_users_compile_them(
    family: str, case: Case, group: Group
) -> None:
    """A row of each operator for images, likewise."""
    _check_numbers(family, case, group)


def _check_numbers(family: str, case: Case, group: Group) -> None:
    want, shapes = _recorded(family, case)
    try:
        got = _computed(group)[family, case.id]
    except (Exception, pytest.fail.Exception):  # of any of the rows: this one runs alone
        got = _computed(group._replace(rows=((family, case.id),)))[family, case.id]
    assert [[str(o.dtype), list(o.shape)] for o in got[0]] == shapes
    for kind, values in zip(("out", "aux", "grad"), got, strict=True):
        assert len(values) == len(want[kind]), f"{kind}: {len(values)}, expected {len(want[kind])}"
        for at, (value, expected) in enumerate(zip(values, want[kind], strict=True)):
            _compare(case, f"{kind} {at}", value, expected)


@functools.lru_cache(maxsize=1)
def _computed(group: Group) -> dict[tuple[str, str], Any]:
    """Outputs, new auxiliary states and gradients of each row of a group."""
    results = {}
    by_mode: dict[bool, list[tuple[str, str]]] = {}
    for family, case_id in group.rows:
        case = BY_ID[family, case_id]
        mode = _has_wide_types(case, _recorded(family, case)[1])
        by_mode.setdefault(mode, []).append((family, case_id))
    for wide, rows in by_mode.items():
        with x64_scope(wide):
            run, arguments = _together(rows, group.last)
            options = default_options() if group.defaults else {}
            program = jax.jit(run, compiler_options=options or None)
            results |= zip(rows, program(arguments), strict=True)
    return results


def _together(rows: Sequence[tuple[str, str]], last: bool) -> tuple[Any, list[Any]]:
    """Rows as one function, and its arguments."""
    parts = [_row_function(*row, last) for row in rows]

    def everything(arguments: list[tuple[list[Any], list[Any]]]) -> list[Any]:
        return [run(*each) for (run, _), each in zip(parts, arguments, strict=True)]

    return everything, [each for _, each in parts]


def _row_function(family: str, case_id: str, last: bool) -> tuple[Any, tuple[list[Any], list[Any]]]:
    """Outputs, new auxiliary states and gradients of a row as a function, and its arguments."""
    case = BY_ID[family, case_id]
    op, inputs = get_op(case.op), case.arrays()
    attrs, wanted = _attrs(op, case), case.differentiated(inputs)

    def everything(arrays: list[Any], heads: list[Any]) -> Any:
        if not wanted:
            return *_call(op, attrs, train=case.train, last=last)(arrays), ()

        def some(chosen: list[Any]) -> Any:
            full = list(arrays)
            for at, value in zip(wanted, chosen, strict=True):
                full[at] = value
            return _call(op, attrs, train=True, last=last)(full)

        made, pull, aux = jax.vjp(some, [arrays[i] for i in wanted], has_aux=True)
        cotangents = [
            h if jnp.issubdtype(m.dtype, jnp.inexact) else np.zeros(m.shape, jax.dtypes.float0)
            for m, h in zip(made, heads, strict=True)
        ]
        outputs = made
        if op.takes_train and not case.train:
            outputs, aux = _call(op, attrs, train=False, last=last)(arrays)
        return outputs, aux, pull(cotangents)[0]

    heads = case.heads(_recorded(family, case)[0]["out"])
    return everything, (inputs, heads)


@rows
def test_shapes(family: str, case: Case) -> None:
    """Shapes and dtypes from tracing, ``params`` and ``dtypes``; the same with 64-bit types on."""
    op = get_op(case.op)
    _, shapes = _recorded(family, case)
    attrs, inputs = _attrs(op, case), case.arrays()
    modes = {True}
    if case.random:  # else `test_numbers` compares them
        modes.add(_has_wide_types(case, shapes))
    for wide in modes:
        with x64_scope(wide):
            specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in inputs]
            outputs, _ = jax.eval_shape(_call(op, attrs, train=case.train), specs)
        assert [[str(o.dtype), list(o.shape)] for o in outputs] == shapes
    names = op.input_names(attrs)
    if op.params and inputs:
        inferred = op.params(inputs[0].shape, **attrs)
        for name, array in zip(names, inputs, strict=True):
            assert tuple(inferred.get(name, array.shape)) == array.shape, name
    if op.dtypes:
        _, inferred = op.dtypes([str(a.dtype) for a in inputs], attrs)
        assert [str(d) for d in inferred][: len(shapes)] == [dtype for dtype, _ in shapes]


@rows
def test_parameters_as_text(family: str, case: Case) -> None:
    """A parameter means the same as a value and as the text that symbol files hold."""
    del family
    op = get_op(case.op)
    text = {name: str(value) for name, value in case.attrs.items()}
    assert repr(op.parse(text)) == repr(op.parse(case.attrs))


def test_every_operator_has_a_row() -> None:
    """Under any of its names, or with a reason not to."""
    seen = {get_op(case.op) for _, case in ROWS if case.op in OPS}
    seen |= {get_op(name) for name in TESTED_ELSEWHERE}
    missing = sorted({op.name for op in OPS.values() if op not in seen})
    assert not missing, f"operators without a row in tests/ops/cases: {missing}"


def test_every_operator_is_drawn() -> None:
    """By the random cases of tools/compare_ops.py; those that it cannot run, with a reason."""
    rows = [*(case for _, case in ROWS), *operator_rows.ROWS]
    drawn = {get_op(row.op).name for row in rows if row.op in OPS}
    assert {op.name for op in OPS.values()} == drawn
    assert drawn.issuperset(operator_rows.INFERRED)
    for reason in operator_rows.INFERRED.values():
        assert Path(reason.split()[-1]).exists(), reason
