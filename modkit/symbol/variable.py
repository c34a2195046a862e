"""Variables, the inputs of graphs, and groups of symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from modkit.attribute import AttrScope
from modkit.errors import DTypeError, NameNotFoundError, NotImplementedForSymbol, ParameterError
from modkit.ops.dtypes import CODE_OF_DTYPE, dtype_name
from modkit.symbol.attrs import check_strings, is_private, spell, stored_name
from modkit.symbol.graph import VARIABLE, Entry, Node
from modkit.symbol.stypes import STORAGE_CODES
from modkit.symbol.symbol import Symbol


def Variable(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Sequence[int] | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A named input of a graph: data, a label, a parameter.

    Args:
        attr: attributes, strings.
        shape: its shape, 0 where a size is unknown.
        lr_mult: factor of the learning rate.
        wd_mult: factor of the weight decay.
        init: an initializer, or the text of one.
        stype: storage type. A module keeps batches of a ``"csr"`` variable sparse; gradients of
            weights that are read by rows are row-sparse.
        **kwargs: more attributes, with names of the form ``__x__``.

    Raises:
        ParameterError: the name is not a string, or an attribute is not of that form.
    """
    if not isinstance(name, str):
        raise ParameterError(f"Variable: got name {name!r}, expected a string")
    if attr is not None:
        check_strings(attr)
    if stype is not None and stype not in STORAGE_CODES:
        raise NameNotFoundError(
            f"Variable {name!r}: got stype {stype!r}, expected one of {list(STORAGE_CODES)}"
        )
    attrs = {stored_name(n, v): v for n, v in AttrScope.current.get(attr).items()}
    given = {
        "__shape__": None if shape is None else spell(shape),
        "__lr_mult__": lr_mult,
        "__wd_mult__": wd_mult,
        "__dtype__": None if dtype is None else _dtype_code(name, dtype),
        "__init__": init if init is None or isinstance(init, str) else init.dumps(),
        "__storage_type__": None if stype is None else STORAGE_CODES[stype],
    }
    attrs.update({n: str(v) for n, v in given.items() if v is not None})
    for key, value in kwargs.items():
        if not is_private(key):
            raise ParameterError(
                f"Variable {name!r}: no argument {key!r}; an attribute of your own must have "
                f"underscores around: __{key.strip('_')}__"
            )
        attrs[key] = str(value)
    return Symbol([Entry(Node(VARIABLE, name, attrs))])


var = Variable


def _dtype_code(name: str, dtype: Any) -> int:
    try:
        return CODE_OF_DTYPE[dtype_name(dtype)]
    except DTypeError as error:
        raise ParameterError(f"Variable {name!r}: dtype: {error}") from error


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """One symbol of all outputs of several.

    Raises:
        ParameterError: there are none, or one of them is not a symbol.

    Differs: the gradient of an output that is listed twice is the sum of both head gradients; MXNet
    takes the last one alone.
    """
    if isinstance(symbols, Symbol):
        raise NotImplementedForSymbol("Group: got one symbol, expected a list of symbols")
    symbols = list(symbols)
    if not symbols or not all(isinstance(s, Symbol) for s in symbols):
        raise ParameterError(f"Group: got {symbols!r}, expected a list of symbols")
    return Symbol(h for s in symbols for h in s.heads)
