"""One answer about whole arrays: whether gradients overflowed, and how large they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.errors import NotSupportedError
from modkit.ops.registry import op


def _float32(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    del attrs
    return list(ins), ["float32"]


def _finite(name: str, arrays: Sequence[Any], init_output: bool) -> Any:
    if not init_output:
        raise NotSupportedError(
            f"{name}: init_output=False, which adds to an older answer, is not supported; "
            "multiply the answers"
        )
    checks = [jnp.all(jnp.isfinite(a)) for a in arrays]
    return jnp.all(jnp.stack(checks)).astype(jnp.float32).reshape(1)


@op("all_finite", dtypes=_float32)
def all_finite(data: Any, *, init_output: bool = True) -> Any:
    """1 if no element is infinite or NaN, else 0.

    Shapes:
        returns: (1,), of float32.
    """
    return _finite("all_finite", [data], init_output)


@op("multi_all_finite", variadic="num_arrays", dtypes=_float32)
def multi_all_finite(*data: Any, init_output: bool = True) -> Any:
    """1 if no element of any array is infinite or NaN, else 0.

    Shapes:
        returns: (1,), of float32.
    """
    return _finite("multi_all_finite", data, init_output)


@op("multi_sum_sq", variadic="num_arrays", dtypes=_float32)
def multi_sum_sq(*data: Any) -> Any:
    """The sum of squares of each array.

    Shapes:
        returns: (number of arrays,), of float32.
    """
    return jnp.stack([jnp.sum(jnp.square(a.astype(jnp.float32))) for a in data])
