"""Functions of ``mx.nd.contrib`` that are no single operator, other than control flow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.context import Context, current_context
from modkit.errors import NotSupportedError, ParameterError, ShapeError
from modkit.ndarray import random
from modkit.ndarray.creation import full
from modkit.ndarray.ndarray import NDArray, invoke, new, require_array
from modkit.ops.parameters import REQUIRED
from modkit.ops.random.frontend import zipfian
from modkit.ops.registry import get_op
from modkit.ops.update.frontend import adamw_functions, with_signature


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, else 0, in the type of ``data``."""
    return abs(data) == math.inf if np.issubdtype(data.dtype, np.inexact) else data * 0


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, else 0, in the type of ``data``."""
    return data != data


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0, in the type of ``data``."""
    return 1 - isinf(data) - isnan(data)


def boolean_mask(
    data: NDArray,
    index: NDArray,
    axis: int = 0,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """The rows of ``data`` whose mask is not 0.

    The call waits for the mask, which has no gradient.

    Args:
        index: the mask, of any type.
        axis: 0.
        name: ignored: eager calls have no names.

    Shapes:
        data: (N, ...).
        index: (N,).
        returns: (M, ...), with M the number of nonzero elements of ``index``, perhaps 0.

    Raises:
        ParameterError: ``data`` or ``index`` is no NDArray.
        ShapeError: ``index`` is not one element for each row.
        NotSupportedError: ``axis`` is another one, which MXNet 1.9.1 refuses, too.
    """
    for what, given in (("data", data), ("index", index)):
        require_array(f"boolean_mask: {what}", given)
    if int(axis) != 0:
        raise NotSupportedError(
            f"boolean_mask: axis: got {axis}, expected 0; swap axes before and after the call"
        )
    if index.shape != data.shape[:1]:
        raise ShapeError(
            f"boolean_mask: index: got shape {index.shape}, expected {data.shape[:1]}, one element "
            "for each row of data"
        )
    rows = np.flatnonzero(index.asnumpy()).astype(np.int32)
    return invoke(get_op("take"), [data, new(rows, data.context)], {"axis": 0, "out": out})


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw classes from an approximately log-uniform distribution, as candidates for a loss.

    ``P(class) = (log(class + 2) - log(class + 1)) / log(range_max + 1)``.

    Args:
        true_classes: class numbers.
        num_sampled: the number of draws, with replacement.
        range_max: the number of classes.
        ctx: where the draws are made; default the current context.

    Shapes:
        true_classes: (N,).
        returns: draws (num_sampled,) of int64; the expected number of occurrences of the true
            classes (N,) and of the drawn ones (num_sampled,), of float64.

    Raises:
        ParameterError: ``range_max`` or ``num_sampled`` is below 1.
    """

    def uniform(*args: Any, **kwargs: Any) -> NDArray:
        return random.uniform(*args, ctx=ctx, **kwargs)

    return zipfian(
        uniform, true_classes.as_in_context(ctx or current_context()), num_sampled, range_max
    )


# ── Updates of AdamW and LAMB, which take lists and numbers ─────────────────────────────────


def _scale(rescale_grad: NDArray | float, near: NDArray) -> NDArray:
    """The gradient's scale as an array."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad
    return full((1,), rescale_grad, ctx=near.context)


adamw_update, mp_adamw_update = adamw_functions(invoke, _scale)


_TYPES = {
    **dict.fromkeys(("weights", "grads", "mean", "var", "weights32"), Sequence[NDArray]),
    **dict.fromkeys(("lrs", "wds", "etas"), Sequence[float]),
    "rescale_grad": NDArray | float, "step_count": Sequence[int],
    "out": Sequence[NDArray] | None, "name": str | None, "size": int, "num_tensors": int,
}  # fmt: skip
"""Types of the parameters of updates of several weights."""


def _of_several(name: str, doc: str, defaults: Mapping[str, Any]) -> Callable[..., Any]:
    """An update of several weights, with a list for each kind of array.

    Args:
        name: of the function; that of the operator has a ``_`` before it.
        defaults: the parameters after the lists, in MXNet's order; one is the number of weights,
            0 for as many as there are.
    """
    lists = ("weights", "grads", "mean", "var", *(("weights32",) if "_mp_" in name else ()))
    adamw = "adamw" in name

    def update(given: dict[str, Any]) -> Any:
        arrays = [given.pop(n) for n in lists]
        counts = list(map(len, arrays))
        if not counts[0] or len(set(counts)) > 1:
            raise ParameterError(f"{name}: got lists of {counts} arrays, expected as many in each")
        tensors = list(itertools.chain.from_iterable(zip(*arrays, strict=True)))
        if adamw:
            given["num_weights"] = given.pop("size") or counts[0]
            tensors.append(_scale(given.pop("rescale_grad"), tensors[0]))
        else:
            given["learning_rates"] = given.pop("lrs")
            given["num_tensors"] = given["num_tensors"] or counts[0]
        return invoke(get_op(f"_{name}"), tensors, given)

    return with_signature(name, doc, {**dict.fromkeys(lists, REQUIRED), **defaults}, update, _TYPES)


_RATES = {"lrs": REQUIRED, "wds": REQUIRED}
_ADAMW = {
    "rescale_grad": REQUIRED,
    **_RATES,
    "etas": REQUIRED,
    "out": None,
    "name": None,
    "size": 0,
}
_LAMB = {"step_count": REQUIRED, **_RATES, "out": None, "num_tensors": 0}

multi_adamw_update = _of_several(
    "multi_adamw_update",
    """`adamw_update` of several weights, each with its own rate, decay and schedule.

    ``size`` is the number of weights, 0 for as many as there are.
    """,
    _ADAMW,
)
multi_mp_adamw_update = _of_several(
    "multi_mp_adamw_update",
    "`multi_adamw_update` on ``weights32``, the float32 copies of 16-bit weights.",
    _ADAMW,
)
multi_lamb_update = _of_several(
    "multi_lamb_update",
    """Both phases of LAMB for several weights, each with its own rate, decay and update number.

    ``num_tensors`` is the number of weights, 0 for as many as there are. More parameters are
    those of `lamb_update_phase1` and `lamb_update_phase2`.
    """,
    _LAMB,
)
multi_mp_lamb_update = _of_several(
    "multi_mp_lamb_update",
    "`multi_lamb_update` on ``weights32``, the float32 copies of 16-bit weights.",
    _LAMB,
)
