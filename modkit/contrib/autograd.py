"""``mx.contrib.autograd``: the gradient interface from before ``mx.autograd``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from modkit import autograd
from modkit.autograd.gradients import mark_variables as mark_variables
from modkit.errors import expect
from modkit.ndarray import NDArray, zeros_like


def set_is_training(is_train: bool) -> bool:
    """Switch recording and training mode together; returns the previous state."""
    before = autograd.set_recording(is_train)
    autograd.set_training(is_train)
    return before


def TrainingStateScope(enter_state: bool) -> Any:
    """A scope that records, in training mode, or one that does neither."""
    return autograd.record() if enter_state else autograd.pause()


def train_section() -> Any:
    """A scope that records, in training mode: ``mx.autograd.record()``."""
    return TrainingStateScope(True)


def test_section() -> Any:
    """A scope inside of `train_section` that does not record: ``mx.autograd.pause()``."""
    return TrainingStateScope(False)


def backward(
    outputs: Sequence[NDArray],
    out_grads: Sequence[NDArray | None] | None = None,
    retain_graph: bool = False,
) -> None:
    """Gradients of marked variables by ``outputs``: `mx.autograd.backward`.

    Args:
        outputs: computed while recording.
        out_grads: their cotangents; ``None`` for ones.
        retain_graph: keep the tape, so that `backward` can be called again.

    Raises:
        NotReadyError: an output was not computed from a variable, or its tape was freed.
    """
    autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """Gradients of marked variables by ``outputs``; `backward` has the same effect."""
    backward(outputs)


def grad_and_loss(
    func: Callable[..., Any], argnum: int | Sequence[int] | None = None
) -> Callable[..., tuple[list[NDArray], Any]]:
    """A function that returns the gradients of ``func`` by its arguments, and its result.

    Args:
        func: a function of NDArrays.
        argnum: the arguments to differentiate by; default all.

    Raises:
        ParameterError: at a call, an argument is not an NDArray.
    """

    @functools.wraps(func)
    def wrapped(*args: Any) -> tuple[list[NDArray], Any]:
        chosen = range(len(args)) if argnum is None else argnum
        variables = [args[i] for i in ([chosen] if isinstance(chosen, int) else chosen)]
        for each in variables:
            expect(isinstance(each, NDArray), "grad_and_loss", each, "an NDArray")
        grads = [zeros_like(each) for each in variables]
        mark_variables(variables, grads)
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, NDArray) else outputs)
        return grads, outputs

    return wrapped


def grad(
    func: Callable[..., Any], argnum: int | Sequence[int] | None = None
) -> Callable[..., list[NDArray]]:
    """A function that returns the gradients of ``func`` by its arguments; see `grad_and_loss`."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(func)
    def wrapped(*args: Any) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
