"""Checks of the arguments of modules: names, devices, inputs, callbacks, numbers of epochs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from modkit.callback import Callback
from modkit.callback.functions import is_of_epochs
from modkit.context import Context, cpu
from modkit.errors import ParameterError, nearest, typed, warn_caller, wrong
from modkit.module.typing import Functions
from modkit.symbol import Symbol
from modkit.symbol.roles import roles_of


def check_names(given: Any, symbol: Any, what: str, *, throw: bool = True) -> list[str]:
    """A list of names; ParameterError, or a warning unless ``throw``, for one that a symbol lacks.

    A string is refused, since its letters would be the names.
    """
    if isinstance(given, str):
        raise wrong(f"Module: {what}", given, f"a list of names: [{given!r}]")
    names, known = list(given or []), symbol.list_arguments()
    for name in names:
        if name in known:
            continue
        frozen, roles = what == "fixed_param_names", roles_of(symbol)
        alike = roles.parameters if frozen else (*roles.inputs, *roles.labels)
        message = (
            f"Module(..., {what}={names}): the symbol has no argument {name!r}."
            f"{nearest(name, known)} Its {'parameters' if frozen else 'inputs'}: {', '.join(alike)}"
        )
        if throw:
            raise ParameterError(message)
        warn_caller(message)
    return names


def listed_contexts(context: Any) -> list[Context]:
    """The devices of a module as a list; ParameterError for none, and for no Context."""
    if context is None:
        context = cpu()
    found = list(context) if isinstance(context, Iterable) else [context]
    if not found or not all(isinstance(ctx, Context) for ctx in found):
        expected = "a Context such as mx.cpu(), or a list of at least one"
        raise wrong("Module: context", context, expected)
    for ctx in found:
        ctx._check()  # an unknown device is an error here, not at the first batch
    return found


def check_bound_names(module: Any, data: Sequence[str], labels: Sequence[str]) -> None:
    """Compare the names in the arguments of `bind` with those of the module.

    Raises:
        ParameterError: other data inputs, or another label in place of the network's. Other
            differences of labels are a warning, except missing ones where nothing is trained.
    """
    data_names, label_names = module._data_names, module._label_names
    arguments = module._symbol.list_arguments()
    if sorted(data) != sorted(data_names):
        fix = f"make it with Module(..., data_names={data})"
        if not {*data_names} <= {*data} <= {*arguments}:
            arrays = ", ".join(f"{name!r}: array" for name in data_names)
            fix = f"give the iterator these names, as NDArrayIter({{{arrays}}}, ...)"
        raise ParameterError(
            f"bind: data_shapes: got {data}, but the module was made with data_names={data_names}; "
            f"{fix}"
        )
    left = [n for n in label_names if n in arguments and n not in labels]
    if left and not set(labels) <= {*arguments}:
        raise ParameterError(
            f"bind: label_shapes: got {labels}, but the network's label is {left[0]!r}, which "
            f"would be zeros; give the iterator label_name={left[0]!r}, or label_shapes=None "
            "to predict"
        )
    if sorted(labels) != sorted(label_names) and (labels or module.for_training):
        warn_caller(
            f"bind: label_shapes: got {labels}, but the module was made with "
            f"label_names={label_names}"
        )


def check_loaded(given: Iterable[Mapping[str, Any]], symbol: Symbol) -> None:
    """Refuse loaded parameters, or auxiliary states, that the network has not."""
    names = symbol.list_arguments(), symbol.list_auxiliary_states()
    for values, known in zip(given, names, strict=False):
        for name in values:
            if name not in known:
                raise ParameterError(
                    f"bind: {name!r} of the loaded parameters is not in the network."
                    f"{nearest(name, known)} Load the network that they were saved with, or "
                    "pass them to init_params, which passes over such names"
                )


def check_epochs(begin_epoch: Any, num_epoch: Any) -> None:
    """Refuse numbers of epochs that are none; warn where no epoch is trained."""
    for name, value in (("begin_epoch", begin_epoch), ("num_epoch", num_epoch)):
        if not isinstance(value, Integral):
            raise ParameterError(f"fit: {name}: got {typed(value)}, expected a whole number")
    if begin_epoch >= num_epoch:
        begin = f"begin_epoch={begin_epoch} and " if begin_epoch else ""
        warn_caller(
            f"fit: {begin}num_epoch={num_epoch}, so no epoch is trained; num_epoch is the number "
            "after the last epoch, counted from epoch 0, not how many to train"
        )


def check_functions(method: str, **given: Any) -> None:
    """Refuse callbacks that are classes, or that do not take the arguments of their event."""
    for name, value in given.items():
        of = ("epoch", "symbol", "arg_params", "aux_params") if "epoch" in name else ("param",)
        for each in as_list(value):
            got, do = repr(each), ""
            if isinstance(each, type):
                got, do = f"the class {each.__name__}", f"; make one: {each.__name__}(...)"
            elif callable(each):
                if is_of_epochs(each) and name != "epoch_end_callback":
                    got, do = "a function of epochs", "; it goes to epoch_end_callback"
                elif _takes(each, of):
                    continue
                else:
                    called = getattr(each, "__name__", type(each).__name__)
                    got = f"{called}({', '.join(inspect.signature(each).parameters)})"
                    if len(of) > 1 and _takes(each, ("param",)):
                        do = "; it goes to batch_end_callback"
            elif isinstance(each, Callback):
                do = "; objects go to callbacks=[...]"
            raise ParameterError(
                f"{method}: {name}: got {got}, expected a function of ({', '.join(of)}){do}"
            )


def _takes(function: Callable[..., Any], arguments: Sequence[Any]) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # some functions of C have no signature
        pass
    return True


def check_row_ids(rows: Any, symbol: Any) -> None:
    """Refuse a result of ``sparse_row_id_fn`` that is no dictionary by names of parameters."""
    if not isinstance(rows, Mapping):
        expected = "a dictionary of row numbers by name of the parameter"
        raise wrong("sparse_row_id_fn", type(rows), expected)
    known = [] if symbol is None else symbol.list_arguments()
    for name in rows:
        if name not in known:
            raise ParameterError(
                f"sparse_row_id_fn: {name!r} is no parameter.{nearest(name, known)}"
            )


def as_list(callbacks: Functions) -> list[Callable[..., Any]]:
    """A function, a list of them or ``None``, as a list."""
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]  # type: ignore[list-item]
