"""Functions of MXNet's ``module.base_module``, for programs with a copy of its Module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.errors import ParameterError, warn_caller
from modkit.io import DataDesc
from modkit.io.base import descriptions
from modkit.module.argument_checks import check_names
from modkit.module.split_batch import names_of


def check_input_names(symbol: Any, names: Sequence[str], typename: str, throw: bool) -> None:
    """`modkit.module.base_module.check_names` with MXNet's arguments."""
    check_names(names, symbol, f"{typename}_names", throw=throw)


def check_names_match(
    data_names: Sequence[str], data_shapes: Sequence[DataDesc], name: str, throw: bool
) -> None:
    """Raise ParameterError, or warn unless ``throw``, where a module's names differ."""
    given = names_of(data_shapes)
    if sorted(given) == sorted(data_names):
        return
    message = f"{name}_shapes: got {given}, but the module has {name}_names={list(data_names)}"
    if throw:
        raise ParameterError(message)
    warn_caller(message)


def parse_data_desc(
    data_names: Sequence[str], label_names: Sequence[str], data_shapes: Any, label_shapes: Any
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Descriptions of data and labels, whose names are checked.

    Raises:
        ParameterError: names of data that the module does not have. Those of labels are a warning.
    """
    data = descriptions(data_shapes)
    check_names_match(data_names, data, "data", True)
    labels = None if label_shapes is None else descriptions(label_shapes)
    check_names_match(label_names, labels or [], "label", False)
    return data, labels
