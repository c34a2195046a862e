"""``mx.nd.contrib``: updates of AdamW and LAMB that take lists and numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from modkit.errors import ParameterError
from modkit.ndarray.creation import full
from modkit.ndarray.ndarray import NDArray, invoke
from modkit.ops.registry import get_op

Arrays = Sequence[NDArray]


def _scale(rescale_grad: NDArray | float, near: NDArray) -> NDArray:
    """The gradient's scale as an array."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad
    return full((1,), rescale_grad, ctx=near.context)


def _several(
    name: str,
    lists: Sequence[Arrays],
    params: dict[str, Any],
    rescale_grad: NDArray | float | None = None,
) -> Any:
    """An update of several weights, which takes all arrays of the first one, and so on.

    Raises:
        ParameterError: there are no weights, or the lists are not of one length.
    """
    counts = [len(each) for each in lists]
    if not counts[0] or len(set(counts)) > 1:
        raise ParameterError(f"{name}: got lists of {counts} arrays, expected as many in each")
    tensors = list(itertools.chain.from_iterable(zip(*lists, strict=True)))
    if rescale_grad is not None:
        tensors.append(_scale(rescale_grad, tensors[0]))
    return invoke(get_op(f"_{name}"), tensors, params)


def adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """One step of AdamW: ``w ← w − η·(lr·m / (√v + ε) + wd·w)``; ``mean`` and ``var`` change.

    Args:
        weight: any shape.
        grad: as the weight.
        mean: as the weight; changes in place.
        var: as the weight; changes in place.
        rescale_grad: a factor of the gradient, a number or an array of float32. The step is
            skipped where it is 0 or not finite.
        lr: the rate.
        eta: the schedule's factor.
        beta1: decay of ``mean``.
        beta2: decay of ``var``.
        epsilon: added to the root.
        wd: weight decay.
        clip_gradient: bound of the rescaled gradient's elements; none below 0.
        out: where the new weight goes.
        name: the name of the result.
        kwargs: more parameters of the operator.
    """
    tensors = (weight, grad, mean, var, _scale(rescale_grad, weight))
    params = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    params |= {"wd": wd, "clip_gradient": clip_gradient, "out": out, "name": name}
    return invoke(get_op("_adamw_update"), tensors, {**params, **kwargs})


def mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """`adamw_update` on ``weight32``, the float32 copy of a 16-bit weight, which changes too."""
    tensors = (weight, grad, mean, var, weight32, _scale(rescale_grad, weight))
    params = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    params |= {"wd": wd, "clip_gradient": clip_gradient, "out": out, "name": name}
    return invoke(get_op("_mp_adamw_update"), tensors, {**params, **kwargs})


def multi_adamw_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: Arrays | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> Any:
    """`adamw_update` of several weights, each with its own rate, decay and schedule.

    ``size`` is the number of weights, 0 for as many as there are.
    """
    params = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights)}
    lists = weights, grads, mean, var
    kwargs = {**params, "out": out, "name": name, **kwargs}
    return _several("multi_adamw_update", lists, kwargs, rescale_grad)


def multi_mp_adamw_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    weights32: Arrays,
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: Arrays | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: Any,
) -> Any:
    """`multi_adamw_update` on the float32 copies of 16-bit weights."""
    params = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights)}
    lists = weights, grads, mean, var, weights32
    kwargs = {**params, "out": out, "name": name, **kwargs}
    return _several("multi_mp_adamw_update", lists, kwargs, rescale_grad)


def multi_lamb_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: Arrays | None = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> Any:
    """Both phases of LAMB for several weights, each with its own rate, decay and update number.

    ``num_tensors`` is the number of weights, 0 for as many as there are. More parameters are
    those of `lamb_update_phase1` and `lamb_update_phase2`.
    """
    params = {"learning_rates": lrs, "wds": wds, "step_count": step_count, "out": out}
    params["num_tensors"] = num_tensors or len(weights)
    return _several("multi_lamb_update", (weights, grads, mean, var), {**params, **kwargs})


def multi_mp_lamb_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    weights32: Arrays,
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: Arrays | None = None,
    num_tensors: int = 0,
    **kwargs: Any,
) -> Any:
    """`multi_lamb_update` on the float32 copies of 16-bit weights."""
    params = {"learning_rates": lrs, "wds": wds, "step_count": step_count, "out": out}
    params["num_tensors"] = num_tensors or len(weights)
    lists = weights, grads, mean, var, weights32
    return _several("multi_mp_lamb_update", lists, {**params, **kwargs})
