"""``all_finite`` and ``multi_all_finite``: whether gradients have overflowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from modkit.errors import NotSupportedError
from modkit.ops.inference_rules import float32_result
from modkit.ops.registry import op


def _finite(name: str, arrays: Sequence[Any], init_output: bool) -> Any:
    if not init_output:
        raise NotSupportedError(
            f"{name}: init_output=False, which adds to an older answer, is not supported; "
            "multiply the answers"
        )
    checks = [jnp.all(jnp.isfinite(a)) for a in arrays]
    return jnp.all(jnp.stack(checks)).astype(jnp.float32).reshape(1)


@op("all_finite", precision="float32", dtypes=float32_result)
def all_finite(data: Any, *, init_output: bool = True) -> Any:
    """1 if no element is infinite or NaN, else 0.

    Shapes:
        returns: (1,), of float32.
    """
    return _finite("all_finite", [data], init_output)


@op("multi_all_finite", precision="float32", variadic="num_arrays", dtypes=float32_result)
def multi_all_finite(*data: Any, init_output: bool = True) -> Any:
    """1 if no element of any array is infinite or NaN, else 0.

    Shapes:
        returns: (1,), of float32.
    """
    return _finite("multi_all_finite", data, init_output)
