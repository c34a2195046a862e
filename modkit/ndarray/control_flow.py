"""Eager loops and branches: ``mx.nd.contrib.foreach``, ``while_loop`` and ``cond``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from modkit.errors import ParameterError
from modkit.ndarray.creation import zeros
from modkit.ndarray.ndarray import NDArray, invoke
from modkit.ops.nested import arguments, check_functions, flatten, iterations, pair, regroup
from modkit.ops.registry import get_op


def foreach(body: Callable[[Any, Any], Any], data: Any, init_states: Any) -> tuple[Any, Any]:
    """A Python loop over the rows of arrays, which ``mx.autograd`` records as it runs.

    Args:
        body: ``body(row, states) -> (outputs, new states)``.
        data: an array or a nested list; the first array has the number of steps. Rows of one axis
            have the shape (1,).
        init_states: the states of the first step, an array or a nested list.

    Returns:
        The outputs of the steps, stacked along a new first axis, and the last states as the body
        returned them.

    Raises:
        ParameterError: an argument or a result is of another form, or there are no rows.
    """
    rows, row_form = flatten(data, NDArray, "foreach: data")
    flatten(init_states, NDArray, "foreach: init_states")
    if not all(x.ndim for x in rows) or not rows or not len(rows[0]):
        raise ParameterError("foreach: data: got no rows, expected one or more to loop over")
    check_functions("foreach", body=body)
    counts = [len(x) for x in rows]
    if min(counts) < counts[0]:
        raise ParameterError(f"foreach: data: got {counts} rows, expected {counts[0]} in each")
    states, steps, form = init_states, [], []
    for i in range(len(rows[0])):
        returned, states = pair(body(regroup([x[i] for x in rows], row_form), states), "foreach")
        outputs, form_now = flatten(returned, NDArray, "foreach: outputs of the body")
        form = _same_form(form_now, form, i, "foreach")
        steps.append(outputs)
    return regroup(_stacked(steps, len(steps)), form), states


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """A Python loop as long as a condition holds, which ``mx.autograd`` records as it runs.

    Args:
        cond: ``cond(*loop_vars)``, an array of one element or a number.
        func: ``func(*loop_vars) -> (outputs, new loop_vars)``; outputs may be ``None``.
        loop_vars: an array, or a nested list of one or more.
        max_iterations: the greatest number of steps, and the number of rows of the outputs.

    Returns:
        The outputs of the steps, stacked along a new first axis and filled up with zeros (an empty
        list without a step), and the last loop variables.

    Raises:
        ParameterError: an argument or a result is of another form.
        ValueError: the condition has several elements.

    Differs: rows of steps that were not run are 0; in MXNet 1.9.1 they are not initialised.
    """
    most = iterations(max_iterations)
    states, form = flatten(loop_vars, NDArray, "while_loop: loop_vars")
    if not states:
        raise ParameterError("while_loop: loop_vars: got none, expected one or more")
    check_functions("while_loop", cond=cond, func=func)
    steps, output_form = [], []
    while len(steps) < most and _truth(cond(*arguments(states, form))):
        returned, new = pair(func(*arguments(states, form)), "while_loop")
        returned = [] if returned is None else returned
        outputs, form_now = flatten(returned, NDArray, "while_loop: outputs of func")
        output_form = _same_form(form_now, output_form, len(steps), "while_loop")
        new, _ = flatten(new, NDArray, "while_loop: loop_vars of func")
        if len(new) != len(states):
            raise ParameterError(
                f"while_loop: func returned {len(new)} loop_vars, expected {len(states)}"
            )
        states = new
        steps.append(outputs)
    return regroup(_stacked(steps, most), output_form), regroup(states, form)


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """The result of one of two functions.

    Args:
        pred: an array of one element, or a number; 0 chooses the second.
        then_func, else_func: without arguments.

    Raises:
        ParameterError: ``then_func`` or ``else_func`` cannot be called.
        ValueError: the condition has several elements.
    """
    chosen = _truth(pred)
    check_functions("cond", then_func=then_func, else_func=else_func)
    return then_func() if chosen else else_func()


def _truth(value: Any) -> bool:
    return bool(value.asscalar() if isinstance(value, NDArray) else value)


def _same_form(form: Any, before: Any, step: int, where: str) -> Any:
    """The form of a step's outputs; ParameterError where it differs from the step before."""
    if step and form != before:
        raise ParameterError(
            f"{where}: step {step} returned outputs nested as {form}, expected {before}"
        )
    return form


def _stacked(steps: list[list[NDArray]], rows: int) -> list[NDArray]:
    """The outputs of the steps as arrays of so many rows; the rows after the last step are 0."""
    made = []
    for outputs in zip(*steps, strict=True):
        last = outputs[-1]
        blank = [zeros(last.shape, last.context, last.dtype)] * (rows - len(steps))
        made.append(invoke(get_op("stack"), [*outputs, *blank], {"axis": 0}))
    return made
