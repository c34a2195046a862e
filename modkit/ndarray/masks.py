"""``mx.nd.contrib.boolean_mask``: the rows where a mask is not 0."""

from __future__ import annotations

import numpy as np

from modkit.errors import NotSupportedError, ParameterError, ShapeError
from modkit.ndarray.ndarray import NDArray, invoke, new
from modkit.ops.registry import get_op


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
        data: the rows.
        index: the mask, of any type.
        axis: 0.
        out: an array for the result.
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
    del name
    for what, given in (("data", data), ("index", index)):
        if not isinstance(given, NDArray):
            raise ParameterError(
                f"boolean_mask: {what}: got {type(given).__name__}, expected an NDArray; "
                "mx.nd.array(...) makes one"
            )
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
