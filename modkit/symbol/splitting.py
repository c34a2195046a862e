"""How ``split_v2`` spells where to cut."""

from __future__ import annotations

from typing import Any

from modkit.errors import ParameterError


def split_params(
    indices_or_sections: int | tuple[int, ...], axis: int = 0, squeeze_axis: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:  # fmt: skip
    """The parameters of the operator ``_split_v2``.

    Args:
        indices_or_sections: the number of equal parts, or where to cut.
        axis: along which axis.
        squeeze_axis: drop that axis from the parts.
        **kwargs: ``name`` and ``attr``.

    Raises:
        ParameterError: neither an int nor a tuple.
    """
    if isinstance(indices_or_sections, int):
        indices, sections = [], indices_or_sections
    elif isinstance(indices_or_sections, tuple):
        indices, sections = [0, *indices_or_sections], 0
    else:
        raise ParameterError(
            f"split_v2: got {indices_or_sections!r}, expected an int or a tuple of ints"
        )
    cut = {"indices": indices, "axis": axis, "squeeze_axis": squeeze_axis, "sections": sections}
    return {**cut, **kwargs}
