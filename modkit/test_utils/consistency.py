"""The same symbol on several devices and element types; its speed; optimizers side by side."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError
from modkit.executor import Executor
from modkit.ndarray import NDArray
from modkit.optimizer import Optimizer
from modkit.symbol import Symbol
from modkit.test_utils.comparing import assert_almost_equal, compare_ndarray_tuple
from modkit.test_utils.defaults import Tolerance, default_context, default_rtols
from modkit.test_utils.making import rand_ndarray

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
) -> dict[str, np.ndarray]:
    """Raise an AssertionError unless a symbol computes the same everywhere.

    Args:
        sym: the symbol, or one for each of ``ctx_list``.
        ctx_list: for each run the keywords of ``simple_bind``: ``ctx``, shapes by name, and
            ``type_dict``. At least two.
        scale: of the random arguments.
        grad_req: as in ``simple_bind``; with ``"null"`` only outputs are compared.
        arg_params: values of arguments that are not random.
        aux_params: values of auxiliary states; default 0.
        rtol: relative tolerance; default by the less exact element type.
        atol: absolute tolerance; default the same.
        raise_on_err: raise at once; otherwise differences are left to the caller.
        ground_truth: figures to compare with; default those of the most exact run.
        equal_nan: whether a NaN equals a NaN.
        use_uniform: uniform arguments instead of normal ones.
        rand_type: element type that the arguments are drawn in.

    Returns:
        The figures compared with: outputs, and gradients, by name.

    Raises:
        AssertionError: a run differs; names the array and the worst places.
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
    fill = _fill(executors[0], scale, arg_params or {}, use_uniform, rand_type)
    names = symbols[0].list_outputs()
    runs = [_figures(e, names, fill, aux_params or {}, grad_req) for e in executors]
    exact = min(range(len(runs)), key=lambda i: _rank(runs[i], names))
    truth = dict(ground_truth) if ground_truth is not None else runs[exact]
    for i, figures in enumerate(runs):
        if i == exact and ground_truth is None:
            continue
        for name, value in figures.items():
            if name in truth and raise_on_err:
                tolerance = _tolerance(value, truth[name])
                assert_almost_equal(
                    value, truth[name], tolerance if rtol is None else rtol,
                    tolerance if atol is None else atol,
                    (f"run {i}: {name}", f"run {exact}: {name}"), equal_nan=equal_nan,
                )  # fmt: skip
    return truth


def _fill(
    executor: Executor, scale: float, given: Mapping[str, Any], uniform: bool, dtype: Any
) -> dict[str, np.ndarray]:
    """Values of the arguments, the same for all runs."""
    draw: Any = np.random
    filled = {}
    for name, handle in executor.arg_dict.items():
        if name in given:
            value = given[name]
            filled[name] = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
        elif uniform:
            filled[name] = draw.uniform(-0.92 * scale, 0.92 * scale, handle.shape).astype(dtype)
        else:
            filled[name] = draw.normal(size=handle.shape, scale=scale).astype(dtype)
    return filled


def _figures(
    executor: Executor,
    names: Sequence[str],
    args: Mapping[str, np.ndarray],
    aux: Mapping[str, Any],
    grad_req: Any,
) -> dict[str, np.ndarray]:
    """Outputs and, unless ``grad_req`` is null, gradients."""
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


def _tolerance(*arrays: Any) -> float:
    table = {**{d.name: t for d, t in default_rtols().items()}, **_RTOLS}
    return max(table.get(np.asarray(a).dtype.name, 0) for a in arrays)


def check_speed(
    sym: Symbol,
    location: Mapping[str, Any] | None = None,
    ctx: Context | None = None,
    N: int = 20,
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Seconds for one pass, the mean of ``N``, after one that compiles.

    Args:
        sym: the symbol.
        location: values of the arguments; default random ones of the shapes in ``kwargs``.
        ctx: device.
        N: number of passes.
        grad_req: as in ``simple_bind``; default ``"write"``.
        typ: ``"whole"`` for forward and backward, ``"forward"``.
        **kwargs: shapes by name.

    Raises:
        ParameterError: another ``typ``.
    """
    if typ not in ("whole", "forward"):
        raise ParameterError(f"check_speed: typ: got {typ!r}, expected 'whole' or 'forward'")
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
            read += executor.grad_arrays
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
    """Raise an AssertionError unless two optimizers make the same step.

    Args:
        opt1: the first.
        opt2: the second.
        shape: of the weight; a list of shapes for several weights.
        dtype: element type.
        w_stype: storage type of the weight; only ``"default"``.
        g_stype: storage type of the gradient; only ``"default"``.
        rtol: relative tolerance.
        atol: absolute tolerance.
        compare_states: states, too.
        ntensors: how many weights.
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
