"""Names, inputs, parameters and defaults of every operator, against the reference's own."""

import json
import re
import types
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from case import RECORDED

import modkit.ops  # noqa: F401 - registers every operator
from modkit.errors import ParameterError
from modkit.ops.entry import Op
from modkit.ops.parameters import Inert, Shape, Size, parse_value
from modkit.ops.registry import OPS
from modkit.ops.registry import op as register
from modkit.ops.schema import read_signature

REFERENCE: dict[str, dict[str, Any]] = json.loads((RECORDED / "schema.json").read_text())
GROUPS = {name: group for group in REFERENCE.values() for name in group["names"]}

WRONG_IN_REFERENCE = {
    "_linspace": "lists the parameters of _arange; it takes start, stop, num, endpoint",
    "Custom": "takes any parameter",
    "_contrib_SparseEmbedding": "lists sparse_grad, which it refuses",
    "_linalg_potrf": "does not list lower, which it takes",
    "_linalg_potri": "does not list lower, which it takes",
}
"""Operators whose arguments the reference reports wrongly, and how."""

MERGED = {"Convolution": {"Convolution_v1"}}
"""Operators that also go by the names of an older one, which had fewer parameters."""

operators = pytest.mark.parametrize(
    "op", sorted(set(OPS.values()), key=lambda op: op.name), ids=lambda op: op.name
)


def _is_tensor(kind: str) -> bool:
    return kind.startswith(("NDArray", "Symbol"))


def _arguments(op: Op) -> dict[str, str]:
    return {} if op.name in WRONG_IN_REFERENCE else dict(GROUPS[op.name]["arguments"])


@pytest.mark.parametrize("name", ["fn", "inputs", "takes_key", "costy"])
def test_op_takes_the_fields_of_an_entry_that_have_a_default(name: str) -> None:
    with pytest.raises(ParameterError, match=rf"no field '{name}'.* It takes: when, variadic"):
        register("_test_fields", precision="float32", **{name: None})


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value has a type, of whatever elements."""
    kind, of = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind is typing.Literal:
        return value in of
    if kind in (typing.Union, types.UnionType):
        return any(_is_a(value, each) for each in of)
    return isinstance(value, kind) and not (kind is Sequence and isinstance(value, str))


FIELDS = typing.get_type_hints(Op)


@operators
def test_fields_have_their_types(op: Op) -> None:
    """Type checkers do not see the fields that registrations pass on."""
    assert [n for n, hint in FIELDS.items() if not _is_a(getattr(op, n), hint)] == []


@operators
def test_names(op: Op) -> None:
    """All names are MXNet's, and all of MXNet's are there but those of its NumPy interface."""
    assert op.name in GROUPS
    ours = {name for name, other in OPS.items() if other is op}
    theirs = {name for name in GROUPS[op.name]["names"] if not name.startswith("_np")}
    assert ours == {op.name} | theirs | MERGED.get(op.name, set())


@operators
def test_inputs(op: Op) -> None:
    """Tensor inputs have MXNet's names, in its order."""
    if op.variadic or op.bodies or op.name in WRONG_IN_REFERENCE:
        return
    tensors = [name for name, kind in _arguments(op).items() if _is_tensor(kind)]
    assert list(op.inputs)[: len(tensors)] == tensors


@operators
def test_gradients(op: Op) -> None:
    """Operators that MXNet does not differentiate have no gradient."""
    wanted = GROUPS[op.name].get("differentiable", True)
    if wanted is not None:  # null: a call without variables, or without a kernel, does not say it
        assert (op.gradient != "refused") == wanted


@operators
def test_parameters(op: Op) -> None:
    """The same parameters with the same defaults, in the order of positional arguments."""
    theirs = {n: k for n, k in _arguments(op).items() if not _is_tensor(k)}
    if op.name in WRONG_IN_REFERENCE:
        return
    count = {op.variadic} if op.variadic and op.variadic not in theirs else set()
    order = sorted if op.variadic else list  # parameters go by name there
    assert order(set(op.types) - count if op.variadic else op.types) == order(theirs)
    for name, kind in theirs.items():
        match = re.search(r"optional, default=(.*)$", kind)
        if match is None or name == op.variadic:
            continue
        assert name in op.defaults, f"{name} is optional there: {kind}"
        text = match.group(1).strip("'\"")
        want = None if text in ("", "None") else parse_value(text, op.types[name], where=name)
        have = op.defaults[name]
        if not want and isinstance(have, str | tuple | None):
            assert not have, f"{name}: default {have!r}, expected none"
            continue
        close = pytest.approx(want, rel=1e-6) if isinstance(want, float) else want
        assert have == close, f"{name}: default {have!r}, expected {want!r}"


def test_inert_parameters_are_read_and_not_passed() -> None:
    """They stand in the signature, in MXNet's order, and their kind is that without the mark."""
    found: dict[str, Any] = {}

    def function(data: Any, *, kernel: Shape, workspace: Inert[Size] = 512, key: Inert[str] = ""):
        found.update(kernel=kernel, workspace=workspace, key=key)
        return data

    fields = read_signature(function)
    assert fields["types"] == {"kernel": Shape, "workspace": Size, "key": str}
    assert (fields["inert"], fields["takes_key"]) == (("workspace", "key"), False)
    entry = Op(name="mine", fn=function, precision="float32", **fields)
    attrs = entry.parse({"kernel": "(2,)", "workspace": "7"})
    entry.call([np.ones(2)], attrs)
    assert found == {"kernel": (2,), "workspace": 512, "key": ""}
    assert attrs == {"kernel": (2,), "workspace": 7, "key": ""}
    with pytest.raises(ParameterError, match="mine: workspace: got 0, expected an int of 1 or"):
        entry.parse({"kernel": (2,), "workspace": 0})


INTEGERS = [10, "10", " 10 ", "+10", "10L", np.int64(10), np.uint8(10), np.array(10)]
NO_INTEGERS = [
    10.0, np.float32(10), np.float64(2.5), np.float32(2.5), True, np.bool_(1), "10.0", "1e1", "",
    "True", None, [10], (10,), 1j, np.array([1.5]),
]  # fmt: skip
TUPLES = [(3, 3), [3, 3], "(3,3)", "[3, 3]", "( 3 , 3 )", "(3L, 3L)", (np.int64(3),) * 2]
NO_TUPLES = [
    (3.0, 3.0), "(3.0, 3.0)", (np.float32(3),) * 2, (3.5, 3), (True, True), (3, None), "(3, 3",
]  # fmt: skip


def test_integers_are_the_forms_that_mxnet_reads() -> None:
    """Of those that it refuses, a whole float is no integer; ``10L`` is in old files."""
    assert [parse_value(each, int, where="op: n") for each in INTEGERS] == [10] * len(INTEGERS)
    assert {parse_value(each, Shape, where="op: n") for each in TUPLES} == {(3, 3)}
    for each in NO_INTEGERS:
        with pytest.raises(ParameterError, match=r"op: n: got .*, expected int"):
            parse_value(each, int, where="op: n")
    for each in NO_TUPLES:
        with pytest.raises(ParameterError, match=r"op: n: got .*, expected a tuple of int"):
            parse_value(each, Shape, where="op: n")


def test_floats_of_files_may_end_as_those_of_c() -> None:
    texts = ["0.5f", "1f", "2e1", "inf", "-inf", ".5", "1."]
    numbers = [0.5, 1.0, 20.0, float("inf"), -float("inf"), 0.5, 1.0]
    assert [parse_value(each, float, where="op: x") for each in texts] == numbers
