"""Consistency checks over devices and dtypes, timing of symbols, comparison of optimizers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError, expect
from modkit.executor import Executor
from modkit.ndarray import NDArray, array
from modkit.optimizer import Optimizer
from modkit.symbol import Symbol
from modkit.test_utils.arrays import rand_ndarray
from modkit.test_utils.comparison import assert_almost_equal, compare_ndarray_tuple
from modkit.test_utils.defaults import Tolerance, default_context, default_rtols

_RTOLS = {"float16": 1e-1, "float32": 1e-3, "float64": 1e-5}
_ORDER = ("float64", "float32", "bfloat16", "float16", "int64", "int32", "uint8", "int8", "bool")


def check_consistency(
    sym: Symbol | Sequence[Symbol],
    ctx_list: Sequence[Mapping[str, Any]],
    scale: float = 1.0,
    grad_req: Any = "write",
    arg_params: Mapping[str, Any] | None = None,
    aux_params: Mapping[str, Any] | None = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    raise_on_err: bool = True,
    ground_truth: Mapping[str, Any] | None = None,
    equal_nan: bool = False,
    use_uniform: bool = False,
    rand_type: Any = np.float64,
) -> dict[str, NDArray]:
    """Raise an AssertionError unless a symbol computes the same in all runs.

    Args:
        sym: the symbol, or one for each of ``ctx_list``.
        ctx_list: the keyword arguments of ``simple_bind`` for each run: ``ctx``, shapes by name,
            ``type_dict``. At least two.
        scale: scale of the random arguments.
        grad_req: as in ``simple_bind``; with ``"null"`` only outputs are compared.
        arg_params: values of arguments that are not random.
        aux_params: values of auxiliary states; default 0.
        rtol: relative tolerance; default: by the less precise dtype.
        atol: absolute tolerance; default: by the less precise dtype.
        ground_truth: expected values; default: those of the most precise run.
        rand_type: dtype in which the arguments are sampled.

    Returns:
        The expected outputs and gradients by name, as NDArrays.

    Raises:
        AssertionError: a run differs; names the array and the elements with the largest errors.
        ParameterError: fewer than two runs.
    """
    symbols = [sym] * len(ctx_list) if isinstance(sym, Symbol) else list(sym)
    if len(ctx_list) < 2 or len(symbols) != len(ctx_list):
        raise ParameterError(
            f"check_consistency: got {len(symbols)} symbol(s) for {len(ctx_list)} run(s), "
            "expected at least two runs and a symbol for each"
        )
    executors = [
        s.simple_bind(grad_req=grad_req, **run) for s, run in zip(symbols, ctx_list, strict=True)
    ]
    args = _sample_arguments(executors[0], scale, arg_params or {}, use_uniform, rand_type)
    names = symbols[0].list_outputs()
    runs = [_run(e, names, args, aux_params or {}, grad_req) for e in executors]
    reference = min(range(len(runs)), key=lambda i: _rank(runs[i], names))
    truth = dict(ground_truth) if ground_truth is not None else runs[reference]
    tolerances = {**{d.name: t for d, t in default_rtols().items()}, **_RTOLS}
    for i, figures in enumerate(runs):
        if i == reference and ground_truth is None:
            continue
        for name, value in figures.items():
            if name in truth and raise_on_err:
                types = (np.asarray(a).dtype.name for a in (value, truth[name]))
                tolerance = max(tolerances.get(each, 0) for each in types)
                assert_almost_equal(
                    value, truth[name], tolerance if rtol is None else rtol,
                    tolerance if atol is None else atol,
                    (f"run {i}: {name}", f"run {reference}: {name}"), equal_nan=equal_nan,
                )  # fmt: skip
    return {n: v if isinstance(v, NDArray) else array(v, dtype=v.dtype) for n, v in truth.items()}


def _sample_arguments(
    executor: Executor, scale: float, given: Mapping[str, Any], uniform: bool, dtype: Any
) -> dict[str, np.ndarray]:
    """Values of the arguments, shared by all runs."""
    draw: Any = np.random
    values = {}
    for name, handle in executor.arg_dict.items():
        if name in given:
            values[name] = np.asarray(given[name])
        elif uniform:
            values[name] = draw.uniform(-0.92 * scale, 0.92 * scale, handle.shape).astype(dtype)
        else:
            values[name] = draw.normal(size=handle.shape, scale=scale).astype(dtype)
    return values


def _run(
    executor: Executor,
    names: Sequence[str],
    args: Mapping[str, np.ndarray],
    aux: Mapping[str, Any],
    grad_req: Any,
) -> dict[str, np.ndarray]:
    """Outputs and, unless ``grad_req`` is ``"null"``, gradients."""
    for name, value in args.items():
        executor.arg_dict[name][:] = value.astype(executor.arg_dict[name].dtype)
    for name, handle in executor.aux_dict.items():
        handle[:] = aux.get(name, 0)
    train = grad_req != "null"
    executor.forward(is_train=train)
    found = {n: o.asnumpy() for n, o in zip(names, executor.outputs, strict=True)}
    if train:
        executor.backward(executor.outputs)
        grads = executor.grad_dict.items()
        found.update((n, g.asnumpy()) for n, g in grads if g is not None)
    return found


def _rank(figures: Mapping[str, np.ndarray], names: Sequence[str]) -> int:
    return max(_ORDER.index(figures[n].dtype.name) for n in names)


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Context | None = None,
    N: int = 20,
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Mean seconds of a pass over ``N`` passes, after one that compiles.

    Args:
        location: values of the arguments; default: random, with the shapes in ``kwargs``.
        grad_req: as in ``simple_bind``; default ``"write"``.
        typ: ``"whole"`` for forward and backward, ``"forward"``.
        **kwargs: shapes by name.

    Raises:
        ParameterError: an unknown ``typ``.
    """
    expect(typ in ("whole", "forward"), "check_speed: typ", typ, "'whole' or 'forward'")
    shapes = kwargs if location is None else {n: v.shape for n, v in location.items()}
    executor = sym.simple_bind(
        ctx or default_context(), grad_req="write" if grad_req is None else grad_req, **shapes
    )
    for name, handle in executor.arg_dict.items():
        handle[:] = rand_ndarray(handle.shape) if location is None else location[name]

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        read: list[Any] = executor.outputs
        if typ == "whole":
            executor.backward(executor.outputs)
            read += executor.grad_dict.values()
        for each in read:
            if each is not None:
                each.wait_to_read()

    run()
    begin = time.perf_counter()
    for _ in range(N):
        run()
    return (time.perf_counter() - begin) / N


def compare_optimizer(
    opt1: Optimizer,
    opt2: Optimizer,
    shape: Any,
    dtype: Any,
    w_stype: str = "default",
    g_stype: str = "default",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    compare_states: bool = True,
    ntensors: int = 1,
) -> None:
    """Raise an AssertionError unless two optimizers compute the same update.

    Args:
        shape: shape of the weight; a list of shapes for several weights.
        w_stype: storage type of the weight; only ``"default"``.
        g_stype: storage type of the gradient; only ``"default"``.
    """
    shapes = shape if isinstance(shape, list) else [shape] * ntensors
    weights = [rand_ndarray(s, w_stype, dtype=dtype) for s in shapes]
    grads = [rand_ndarray(s, g_stype, dtype=dtype) for s in shapes]
    for i, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
        results = []
        for optimizer in (opt1, opt2):
            own, own_grad = weight.copy(), grad.copy()
            state = optimizer.create_state_multi_precision(i, own)
            optimizer.update_multi_precision(i, own, own_grad, state)
            results.append((own, state))
        if compare_states:
            compare_ndarray_tuple(results[0][1], results[1][1], rtol, atol)
        assert_almost_equal(results[0][0], results[1][0], rtol=rtol, atol=atol)
