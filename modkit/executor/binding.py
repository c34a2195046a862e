"""Binding: an Executor made of a symbol and arrays."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from modkit.context import Context
from modkit.errors import ParameterError, ShapeError, expect, wrong
from modkit.executor.avals import avals_of, may_be_sized_by_values, sized_by_values
from modkit.executor.executor import Executor, make_executor
from modkit.executor.node_by_node import NodeByNode
from modkit.executor.shared_arrays import SharedArrays
from modkit.ndarray.ndarray import NDArray
from modkit.ops.dtypes import dtype_name
from modkit.ops.partial_shapes import known_sizes
from modkit.ops.stype import CSR, DENSE, ROWS
from modkit.step.placement import contexts_of
from modkit.symbol.graph import joined_by_name
from modkit.symbol.graph_inference import infer_shapes
from modkit.symbol.lower import lower
from modkit.symbol.row_sparse import Lookups
from modkit.symbol.stypes import storage_of_gradients, storage_types
from modkit.symbol.symbol import Symbol

GRAD_REQS = ("write", "add", "null", "inplace")
GradReq = str | Sequence[str] | Mapping[str, str]


def grad_requests(grad_req: GradReq, names: Sequence[str]) -> dict[str, str]:
    """The gradient request of each argument, by name.

    Args:
        grad_req: one of ``"write"``, ``"add"``, ``"null"`` for all; a list in the order of
            ``names``; or a dictionary, in which names that are missing mean ``"null"``.

    Raises:
        ParameterError: an unknown request, or a list of another length.
    """
    if isinstance(grad_req, str):
        chosen = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        chosen = {n: grad_req.get(n, "null") for n in names}
    elif isinstance(grad_req, list | tuple) and len(grad_req) == len(names):
        chosen = dict(zip(names, grad_req, strict=True))
    else:
        raise ParameterError(
            f"grad_req: got {grad_req!r}, expected 'write', 'add' or 'null', a list of one for "
            f"each of {len(names)} arguments, or a dictionary by name"
        )
    for name, request in chosen.items():
        expect(request in GRAD_REQS, f"grad_req: {name!r}", request, "'write', 'add' or 'null'")
    return chosen


def bind(
    symbol: Symbol,
    ctx: Context,
    args: Sequence[NDArray] | Mapping[str, NDArray],
    args_grad: Sequence[NDArray | None] | Mapping[str, NDArray] | None = None,
    grad_req: GradReq = "write",
    aux_states: Sequence[NDArray] | Mapping[str, NDArray] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_exec: Executor | None = None,
) -> Executor:
    """Bind a symbol to arrays that the caller has.

    Args:
        args: arrays for all arguments, in order or by name.
        args_grad: arrays for their gradients; those that have none get no gradient.
        grad_req: see `grad_requests`.
        group2ctx: devices of ``ctx_group`` attributes.
        shared_exec: Ignored: equal graphs always share compiled programs.

    Arguments of one name are one variable, if they have one array and no gradient.

    Raises:
        ValueError: an array is missing, or of a shape that does not fit; or arguments of one name
            have several arrays, or a gradient.
    """
    _check_context(ctx)
    names, aux_names = symbol.list_arguments(), symbol.list_auxiliary_states()
    arguments = _by_name(args, names, "args")
    aux = _by_name(aux_states or {}, aux_names, "aux_states")
    grads = _by_name({} if args_grad is None else args_grad, names, "args_grad", allow_missing=True)
    requests = grad_requests(grad_req, names)
    requests = {n: "null" if grads.get(n) is None else r for n, r in requests.items()}
    for name, grad in grads.items():
        if grad is not None:
            _check_gradient(name, grad, arguments[name])
    apart = {n for n, request in requests.items() if request != "null"}
    if not isinstance(args, Mapping):
        apart |= {n for n, each in zip(names, args, strict=True) if each is not arguments[n]}
    joined = Symbol(joined_by_name(symbol.graph, apart))
    grads = {n: grads.get(n) for n in names}
    if _runs_node_by_node(joined, {**arguments, **aux}):
        made: Executor = NodeByNode(
            joined, ctx, arguments, grads, aux, requests, group2ctx=group2ctx
        )
    else:
        made = make_executor(joined, ctx, arguments, grads, aux, requests, group2ctx)
    made._argument_names, made._has_grads = names, args_grad is not None
    return made


def simple_bind(
    symbol: Symbol,
    /,
    ctx: Context,
    grad_req: GradReq | None = "write",
    type_dict: Mapping[str, Any] | None = None,
    stype_dict: Mapping[str, str] | None = None,
    group2ctx: Mapping[str, Context] | None = None,
    shared_arg_names: Sequence[str] | None = None,
    shared_exec: Executor | None = None,
    shared_buffer: MutableMapping[str, NDArray] | None = None,
    **kwargs: Any,
) -> Executor:
    """Bind a symbol to new arrays of zeros, whose shapes follow from those of the inputs.

    Args:
        grad_req: see `grad_requests`; ``None`` is ``"null"``.
        stype_dict: storage types by argument name; default those of ``Variable(stype=...)``.
            A weight of which a csr array names the rows has a row-sparse gradient.
        group2ctx: devices of ``ctx_group`` attributes.
        shared_arg_names: arguments that are those of ``shared_exec``, with their gradients.
        shared_exec: an executor whose auxiliary states and ``shared_arg_names`` are shared.
            As in MXNet 1.9.1, only beside a ``shared_buffer``, which may be ``{}``; equal graphs
            share compiled programs in any case.
        shared_buffer: arrays by name, and gradients as ``"grad of NAME"``, on whose first
            elements the other arguments are windows; what is missing or too small is replaced.
        **kwargs: input shapes by name; names that the graph lacks are ignored.

    Raises:
        RuntimeError: shapes or types do not fit, or do not decide all arguments.
        ParameterError: ``shared_exec`` lacks an argument of ``shared_arg_names``, or an array of
            ``shared_buffer`` has another dtype.
        ShapeError: an array of ``shared_exec`` has another shape, dtype or storage.
    """
    _check_context(ctx)
    stypes = {**storage_types(symbol.graph), **(stype_dict or {})}
    requests = grad_requests("null" if grad_req is None else grad_req, symbol.list_arguments())
    known = {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
    for name, shape in kwargs.items():
        fits = name not in known or isinstance(shape, tuple | list)
        expect(fits, f"simple_bind: {name!r}", shape, "a shape tuple")
    shapes = {name: shape for name, shape in kwargs.items() if isinstance(shape, tuple | list)}
    avals = avals_of(symbol, shapes, type_dict or {}, "simple_bind")
    contexts = contexts_of(symbol.graph, ctx, group2ctx)
    places = {n.name: c for n, c in zip(symbol.graph.nodes, contexts, strict=True)}
    pool = SharedArrays(places, shared_arg_names, shared_exec, shared_buffer)
    sparse_grads = {
        **(storage_of_gradients(symbol.graph, stypes) if stypes else {}),
        **dict.fromkeys(row_sparse_gradients(symbol, stypes), ROWS),
    }
    args = {n: pool.argument(n, a, stypes.get(n, DENSE)) for n, a in avals.args.items()}
    grads = {
        n: None if requests[n] == "null" else pool.gradient(n, a, sparse_grads.get(n, DENSE))
        for n, a in avals.args.items()
    }
    aux = {n: pool.auxiliary(n, a) for n, a in avals.aux.items()}
    return make_executor(symbol, ctx, args, grads, aux, requests, group2ctx)


def _runs_node_by_node(symbol: Symbol, arrays: Mapping[str, NDArray]) -> bool:
    """Whether sizes of a graph depend on values; ShapeError where the arrays' shapes do not fit."""
    if not may_be_sized_by_values(symbol.graph):
        return False
    found = infer_shapes(symbol.graph, {name: known_sizes(a.shape) for name, a in arrays.items()})
    return sized_by_values(symbol.graph, found) is not None


def row_sparse_gradients(symbol: Symbol, stypes: Mapping[str, str]) -> set[str]:
    """The arguments of which a graph reads the rows that a csr array or row numbers name."""
    sources = lower(symbol).row_sources
    return {
        n
        for n, source in sources.items()
        if isinstance(source, Lookups) or stypes.get(source.name) == CSR
    }


def _by_name(
    given: Any, names: Sequence[str], what: str, allow_missing: bool = False
) -> dict[str, Any]:
    """Arrays by name, from a list in order or a dictionary."""
    if isinstance(given, Mapping):
        missing = [n for n in names if n not in given]
        if missing and not allow_missing:
            raise ParameterError(
                f"bind: {missing[0]!r} is missing in {what}; it has {', '.join(given) or 'none'}, "
                f"expected an array for each of: {', '.join(names)}"
            )
        chosen = {n: given[n] for n in names if n in given}
    else:
        if not isinstance(given, list | tuple):
            raise wrong(f"bind: {what}", type(given), "a list or a dictionary")
        if len(given) != len(names):
            raise ParameterError(
                f"bind: {what}: got {len(given)} arrays, expected {len(names)}: {', '.join(names)}"
            )
        chosen = dict(zip(names, given, strict=True))
    for name, value in chosen.items():
        if not isinstance(value, NDArray) and not (value is None and allow_missing):
            raise wrong(f"bind: {what}: {name!r}", type(value), "an NDArray")
    return chosen


def _check_gradient(name: str, grad: NDArray, argument: NDArray) -> None:
    """Raise a ShapeError for a gradient of another shape or element type than its argument."""
    got, wanted = ((a.shape, dtype_name(a.dtype)) for a in (grad, argument))
    if got != wanted:
        raise ShapeError(
            f"bind: the gradient of {name!r}: got shape {got[0]} of {got[1]}, "
            f"expected {wanted[0]} of {wanted[1]}"
        )


def _check_context(ctx: Any) -> None:
    expect(isinstance(ctx, Context), "bind: context", ctx, "a Context such as mx.cpu(0)")
    ctx._check()  # raises here, rather than at the first run, if there is no such device
