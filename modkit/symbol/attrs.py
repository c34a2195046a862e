"""Attributes of nodes: reserved names, and the text of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from modkit.errors import DTypeError, ParameterError, expect, not_taken, wrong
from modkit.ops.dtypes import dtype_name
from modkit.ops.entry import Op

HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")
"""Attributes that MXNet keeps with underscores around (``__lr_mult__``) and takes without."""


def is_private(name: str) -> bool:
    """True if a name is of the form ``__x__``, which any node may carry."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def stored_name(name: str, value: str) -> str:
    """The name that a node keeps an attribute under.

    Raises:
        ParameterError: the name is of MXNet's old form ``weight_lr_mult``, which was meant for
            an input.
    """
    if name in HIDDEN:
        return f"__{name}__"
    for hidden in HIDDEN:
        if name.endswith(f"_{hidden}"):
            which = name.removesuffix(f"_{hidden}")
            raise ParameterError(
                f"attribute {name!r} is for the input {which!r}, not for this node: make the "
                f"input yourself, {which} = Variable({which!r}, {hidden}={value}), and pass it"
            )
    return name


def shown(attrs: Mapping[str, str]) -> dict[str, str]:
    """A node's attributes as users see them: hidden ones under both names."""
    return {**attrs, **{n: attrs[f"__{n}__"] for n in HIDDEN if f"__{n}__" in attrs}}


def check_strings(attrs: Mapping[str, Any]) -> None:
    """Raise ParameterError for no dictionary, and for the first attribute that is no string."""
    expect(isinstance(attrs, Mapping), "attr", attrs, "a dictionary of names and strings")
    for name, value in attrs.items():
        if not isinstance(value, str):
            raise wrong(f"attribute {name!r}", value, f"a string such as {str(value)!r}")


def check_for_op(op: Op, attrs: Mapping[str, str]) -> None:
    """Refuse attributes that are neither the operator's nor of the form ``__x__``.

    Operators that ignore unknown parameters keep any attribute, as in MXNet.

    Raises:
        ParameterError: naming the first one.
    """
    for name in () if op.ignores_unknown else attrs:
        if not op.takes(name) and not is_private(name):
            raise ParameterError(
                f"{not_taken(op.name, name, op.types)}. An attribute of your own must have "
                f"underscores around: __{name.strip('_')}__"
            )


def spell(value: Any) -> str:
    """A parameter's value as JSON keeps it: MXNet's text.

    >>> import numpy as np
    >>> spell((np.int64(3), 3)), spell(np.float16), spell(True), spell(np.float32(0.1))
    ('(3, 3)', 'float16', 'True', '0.1')

    Raises:
        ParameterError: an element type that there is none of.
    """
    if isinstance(value, type | np.dtype):
        try:
            return dtype_name(value)
        except DTypeError as error:
            raise ParameterError(str(error)) from error
    return str(_plain(value))


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, which are spelled without their type."""
    if isinstance(value, np.floating):
        return float(str(value))  # the fewest digits that give the number in its type
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value)) if type(value) in (tuple, list) else tuple(value)
    return value
