"""Checks of symbols: outputs and gradients against expected values or finite differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit import symbol
from modkit.context import Context
from modkit.errors import ParameterError, expect, wrong
from modkit.executor import Executor
from modkit.ndarray import NDArray, array, zeros
from modkit.ops.dtypes import dtype_name
from modkit.ops.registry import get_op
from modkit.symbol import Symbol
from modkit.test_utils.comparison import assert_almost_equal
from modkit.test_utils.defaults import (
    Tolerance,
    default_context,
    default_dtype,
    get_atol,
    get_rtol,
    step_of,
)

Arrays = Sequence[Any] | Mapping[str, Any]

_PROJECTION = "__random_proj"


def _named(
    names: Sequence[str], given: Any, what: str, may_be_fewer: bool = False
) -> dict[str, Any]:
    """Values by name, from a mapping or a sequence in the order of ``names``.

    Values of a sequence beyond the names are left out, as in MXNet.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise ParameterError(
                f"{what}: the symbol has {sorted(names)}, got values for {sorted(given)}"
            )
        return {name: given[name] for name in names}
    values = list(given)
    if len(values) < len(names) and not may_be_fewer:
        raise ParameterError(f"{what}: got {len(values)} values, expected one for each of {names}")
    return dict(zip(names, values, strict=False))


def _on_device(values: Mapping[str, Any], ctx: Context, dtype: Any) -> dict[str, NDArray]:
    """The values as NDArrays; an NDArray keeps its dtype, others are converted to ``dtype``."""
    return {
        name: array(v, ctx, dtype=v.dtype if isinstance(v, NDArray) else dtype)
        for name, v in values.items()
    }


def _parse_location(
    sym: Symbol, location: Arrays, ctx: Context, dtype: Any = np.float32
) -> dict[str, NDArray]:
    """Values of the arguments by name, on a device."""
    return _on_device(_named(sym.list_arguments(), location, "location"), ctx, dtype)


def _parsed(
    sym: Symbol, location: Arrays, aux_states: Arrays | None, ctx: Context | None, dtype: Any
) -> tuple[Context, dict[str, NDArray], dict[str, NDArray]]:
    """The device of a check, and the values of arguments and auxiliary states on it."""
    ctx = ctx or default_context()
    values = _parse_location(sym, location, ctx, dtype)
    return ctx, values, _parse_aux_states(sym, aux_states, ctx, dtype)


def _parse_aux_states(
    sym: Symbol, aux_states: Arrays | None, ctx: Context, dtype: Any = np.float32
) -> dict[str, NDArray]:
    """Values of the auxiliary states by name, on a device, in this dtype."""
    values = _named(sym.list_auxiliary_states(), aux_states, "aux_states")
    return {name: array(v, ctx, dtype=dtype) for name, v in values.items()}


def simple_forward(
    sym: Symbol, ctx: Context | None = None, is_train: bool = False, **inputs: Any
) -> Any:
    """The outputs for these inputs as NumPy arrays: a list, or a single array."""
    ctx = ctx or default_context()
    executor = sym.bind(ctx, _on_device(inputs, ctx, default_dtype()))
    outputs = [o.asnumpy() for o in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def numeric_grad(
    executor: Executor,
    location: Mapping[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:
    """Central differences of the first output, for each element of each argument.

    Differences are taken for each output element, and summed in float64.

    Args:
        aux_states: values of the auxiliary states, restored before each pass.
        dtype: element type of the arguments.
    """
    values = {
        name: np.asarray(v, v.dtype if isinstance(v, NDArray | np.ndarray) else dtype_name(dtype))
        for name, v in location.items()
    }
    for name, value in values.items():
        executor.arg_dict[name][:] = value

    def output() -> np.ndarray:
        for name, value in (aux_states or {}).items():
            executor.aux_dict[name][:] = value
        executor.forward(is_train=use_forward_train)
        return executor.outputs[0].asnumpy().astype(np.float64)

    def slope(name: str, index: tuple[int, ...]) -> float:
        moved = values[name].copy()
        ends = []
        for step in (eps / 2, -eps):  # rounded one after the other, as in MXNet
            moved[index] += step
            executor.arg_dict[name][:] = moved
            ends.append(output())
        executor.arg_dict[name][:] = values[name]
        return float((ends[0] - ends[1]).sum() / eps)

    grads = {}
    for name, value in values.items():
        if value.dtype.kind != "f":
            continue
        grads[name] = np.zeros(value.shape, value.dtype)
        for index in np.ndindex(*value.shape):
            grads[name][index] = slope(name, index)
    return grads


def _requests(sym: Symbol, grad_nodes: Any) -> dict[str, str]:
    """The ``grad_req`` of each argument whose gradient is checked."""
    if grad_nodes is None:
        return dict.fromkeys(sym.list_arguments(), "write")
    if isinstance(grad_nodes, Mapping):
        return dict(grad_nodes)
    if isinstance(grad_nodes, str) or not isinstance(grad_nodes, Iterable):
        expected = "a list of names, or a dictionary of names and grad_req"
        raise wrong("check_numeric_gradient: grad_nodes", grad_nodes, expected)
    return dict.fromkeys(grad_nodes, "write")


def check_numeric_gradient(
    sym: Symbol,
    location: Arrays,
    aux_states: Arrays | None = None,
    numeric_eps: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Context | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = np.float32,
) -> None:
    """Raise an AssertionError unless gradients agree with finite differences.

    The output's elements have random weights in the sum that is differentiated.

    Args:
        sym: a symbol of one output.
        location: values of the arguments, in their order or by name.
        numeric_eps: step of the differences; default by element type.
        grad_nodes: names of the arguments to check, or a dictionary of them and ``"write"``,
            ``"add"`` or ``"null"``; default all.
        use_forward_train: training mode for the differences.
        grad_stype_dict: storage types of gradients, which do not change what is checked.

    Raises:
        AssertionError: a gradient is wrong; lists the elements with the largest errors.
        ParameterError: ``location`` does not fit the symbol, or it has several outputs; or
            ``dtype`` is of whole numbers.
    """
    _known_stypes(grad_stype_dict)
    expected = "a floating-point type, which takes the steps of finite differences"
    expect(np.dtype(dtype).kind not in "biu", "check_numeric_gradient: dtype", dtype, expected)
    ctx, values, aux = _parsed(sym, location, aux_states, ctx, dtype)
    eps, rtol, atol = step_of(numeric_eps, dtype), get_rtol(rtol, dtype), get_atol(atol, dtype)
    requests = {n: req for n, req in _requests(sym, grad_nodes).items() if req != "null"}
    if len(sym) != 1:
        raise ParameterError(
            f"check_numeric_gradient: the symbol has {len(sym)} outputs, expected 1; check each"
        )
    _, out_shapes, _ = sym.infer_shape(**{n: v.shape for n, v in values.items()})
    weights = np.random.uniform(0.1, 1.1, (out_shapes or [()])[0])  # noqa: NPY002
    weighted = sym * symbol.Variable(_PROJECTION)
    projected = symbol.invoke(get_op("make_loss"), [weighted], {})
    values[_PROJECTION] = array(weights, ctx, dtype=dtype)
    start = {n: _noise(values[n].shape) for n in (*requests, _PROJECTION)}
    executor = projected.bind(
        ctx,
        values,
        args_grad={n: array(v, ctx, dtype=values[n].dtype) for n, v in start.items()},
        grad_req={**requests, _PROJECTION: "write"},
        aux_states=aux,
    )
    at = {n: v.asnumpy() for n, v in values.items()}
    executor.forward(is_train=True)
    executor.backward()
    found = {n: g.asnumpy() for n, g in executor.grad_dict.items() if g is not None}
    expected = numeric_grad(
        executor,
        {n: v for n, v in at.items() if n in requests},
        {n: v.asnumpy() for n, v in aux.items()},
        eps=eps,
        use_forward_train=use_forward_train,
        dtype=dtype,
    )
    for name, slope in expected.items():
        got = found[name]
        if requests[name] == "add":
            got = got - start[name]
        names = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        assert_almost_equal(slope, got, rtol, atol, names)


def _noise(shape: Sequence[int]) -> np.ndarray:
    return np.random.normal(size=shape)  # noqa: NPY002 - tests seed the global generator


def _known_stypes(stypes: Any) -> None:
    for name, stype in (stypes or {}).items():
        if stype not in (None, "default", "row_sparse", "csr"):
            raise ParameterError(
                f"{name}: storage type {stype!r}, expected default, row_sparse or csr"
            )


def check_symbolic_forward(
    sym: Symbol,
    location: Arrays,
    expected: Arrays,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Arrays | None = None,
    ctx: Context | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> list[NDArray]:
    """Raise an AssertionError unless the outputs are as expected.

    Args:
        location: values of the arguments, in their order or by name.
        expected: the outputs, in their order or by name.
        rtol: relative tolerance; default by element type.
        atol: absolute tolerance; default by element type.
        dtype: element type of the arguments.

    Returns:
        The outputs.
    """
    ctx, values, aux = _parsed(sym, location, aux_states, ctx, dtype)
    wanted = _named(sym.list_outputs(), expected, "expected", may_be_fewer=True)
    executor = sym.bind(ctx, values, aux_states=aux)
    outputs = executor.forward(is_train=False)
    for (name, want), got in zip(wanted.items(), outputs, strict=False):
        names = (f"EXPECTED_{name}", f"FORWARD_{name}")
        assert_almost_equal(want, got, rtol, atol, names, equal_nan=equal_nan)
    return outputs


def check_symbolic_backward(
    sym: Symbol,
    location: Arrays,
    out_grads: Any,
    expected: Arrays,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Arrays | None = None,
    grad_req: Any = "write",
    ctx: Context | None = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: Any = np.float32,
) -> dict[str, NDArray | None]:
    """Raise an AssertionError unless the gradients are as expected.

    Args:
        location, rtol, atol, equal_nan, dtype: see `check_symbolic_forward`.
        out_grads: cotangents of the outputs, in their order or by name; ``None`` for losses.
        expected: the gradients, in the order of the arguments or, for some, by name.
        grad_req: ``"write"``, ``"add"`` or ``"null"``; or a list or a dictionary of them.
        grad_stypes: storage types of the returned gradients by name.

    Returns:
        The gradients by name.
    """
    _known_stypes(grad_stypes)
    ctx, values, aux = _parsed(sym, location, aux_states, ctx, dtype)
    names = sym.list_arguments()
    wanted = (
        dict(expected)
        if isinstance(expected, Mapping)
        else _named(names, expected, "expected", may_be_fewer=True)
    )
    given = _grad_requests(names, grad_req)
    start = {n: _noise(values[n].shape).astype(values[n].dtype) for n in wanted}
    grads = {n: array(v, ctx, dtype=v.dtype) for n, v in start.items()}
    requests = {n: given.get(n, "null") if n in grads else "null" for n in names}
    executor = sym.bind(ctx, values, args_grad=grads, grad_req=requests, aux_states=aux)
    executor.forward(is_train=True)
    executor.backward(_cotangents(sym, out_grads, executor, ctx))
    for name, want in wanted.items():
        change = {"write": 0, "add": start[name]}
        target = start[name] if requests[name] == "null" else want + change[requests[name]]
        labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        assert_almost_equal(target, grads[name], rtol, atol, labels, equal_nan=equal_nan)
    return {n: g.tostype((grad_stypes or {}).get(n) or "default") for n, g in grads.items()}


def _grad_requests(names: Sequence[str], grad_req: Any) -> dict[str, str]:
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, Mapping):
        return {name: grad_req.get(name, "null") for name in names}
    return _named(names, grad_req, "grad_req")


def _cotangents(sym: Symbol, out_grads: Any, executor: Executor, ctx: Context) -> Any:
    """Cotangents of the outputs in their order; zeros for outputs missing in a mapping."""
    if out_grads is None:
        return None
    if isinstance(out_grads, NDArray | np.ndarray):
        out_grads = [out_grads]
    if isinstance(out_grads, Mapping):
        pairs = zip(sym.list_outputs(), executor.outputs, strict=True)
        out_grads = [out_grads.get(n, zeros(o.shape, ctx, dtype=o.dtype)) for n, o in pairs]
    elif not isinstance(out_grads, Sequence):
        expected = "a list or a dictionary of arrays"
        raise wrong("check_symbolic_backward: out_grads", out_grads, expected)
    outputs = executor.outputs
    return [array(g, ctx, dtype=o.dtype) for g, o in zip(out_grads, outputs, strict=False)]
