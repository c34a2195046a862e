"""``mx.nd.random``, and with the seed ``mx.random``: arrays of random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import ShapeError
from modkit.lazy import dir_of
from modkit.ndarray.ndarray import NDArray, invoke
from modkit.ops.parameters import Shape, parse_value
from modkit.ops.random.frontend import RandomFunctions
from modkit.ops.registry import get_op
from modkit.stream import as_key as as_key
from modkit.stream import draw as draw
from modkit.stream import seed as seed
from modkit.util import is_np_shape

__dir__ = dir_of(__name__)


def _call(name: str, tensors: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    if not tensors and _has_no_sizes(keywords.get("shape")) and not is_np_shape():
        raise ShapeError(
            f"{name}: got no shape, expected one such as shape=(2, 3); `with mx.np_shape():` "
            "allows ()"
        )
    return invoke(get_op(name), tensors, keywords)


def _has_no_sizes(shape: Any) -> bool:
    """Whether it is (), in any form of a shape."""
    if isinstance(shape, (list, str, np.ndarray)):
        shape = parse_value(shape, Shape | None, where="shape")
    return isinstance(shape, tuple) and not shape


globals().update(RandomFunctions(_call, NDArray, shape=(1,), get_prob=False).functions())
