"""Function: a part of the computation whose gradient is written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from modkit.autograd.scopes import pause
from modkit.errors import NotReadyError, ParameterError, ShapeError, expect
from modkit.ndarray import NDArray, from_jax
from modkit.ndarray.ndarray import require_array
from modkit.ndarray.tape import Host, depends, modes, put, uses_of
from modkit.ndarray.tape_gradients import kept_value


class Function:
    """A computation with a gradient of its own. A subclass has `forward` and `backward`.

    Each instance is called once.

    Differs:
        A gradient is added where the ``grad_req`` of its input is ``"add"``. MXNet 1.9.1 drops it.

    >>> class Sigmoid(mx.autograd.Function):
    ...     def forward(self, x):
    ...         y = 1 / (1 + (-x).exp())
    ...         self.save_for_backward(y)
    ...         return y
    ...     def backward(self, dy):
    ...         (y,) = self.saved_tensors
    ...         return dy * y * (1 - y)
    >>> x = mx.nd.array([0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Sigmoid()(x)
    >>> y.backward()
    >>> x.grad.asnumpy()
    array([0.25], dtype=float32)
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple[NDArray, ...] = ()

    def save_for_backward(self, *args: NDArray) -> None:
        """Keep arrays as ``saved_tensors``, for `backward`."""
        self.saved_tensors = args

    def forward(self, *inputs: NDArray) -> Any:
        """Compute the output, or a list or tuple of outputs, as new arrays. Not recorded."""
        raise NotImplementedError(f"{type(self).__name__}.forward is not defined")

    def backward(self, *output_grads: NDArray) -> Any:
        """Compute the gradients of the inputs, in their order. Not recorded."""
        raise NotImplementedError(f"{type(self).__name__}.backward is not defined")

    def __call__(self, *inputs: NDArray) -> Any:
        """Run `forward`, and record it where an input depends on a variable.

        Returns:
            What `forward` returned.

        Raises:
            NotReadyError: the instance was called before, or an output is an input.
            ParameterError: `forward` returned something else than arrays.
        """
        name = type(self).__name__
        if getattr(self, "_used", False):  # a subclass may leave out super().__init__()
            raise NotReadyError(f"{name}: this instance was called before; make a new one")
        self._used = True
        recorded = modes.recording and any(map(depends, inputs))
        values = list(map(kept_value, inputs)) if recorded else []
        with pause(modes.training):
            result = self.forward(*inputs)
        if recorded:
            self._record(inputs, values, self._outputs(result, inputs))
        return result

    def _outputs(self, result: Any, inputs: Sequence[NDArray]) -> list[NDArray]:
        outputs = list(result) if isinstance(result, list | tuple) else [result]
        for at, each in enumerate(outputs):
            require_array(f"{type(self).__name__}.forward: output {at}", each)
            if each._entry is not None or any(each is given for given in inputs):
                raise NotReadyError(
                    f"{type(self).__name__}.forward: output {at} is an input, or another array "
                    "that the tape refers to already: return a new one, such as x.copy()"
                )
        return outputs

    def _record(
        self, inputs: Sequence[NDArray], values: Sequence[Any], outputs: list[NDArray]
    ) -> None:
        ctx, training = inputs[0]._ctx, modes.training

        def pull(given: list[jax.Array]) -> Sequence[jax.Array | None]:
            with pause(training):
                return self._pulled(inputs, [from_jax(each, ctx) for each in given])

        made = list(map(kept_value, outputs))
        put(Host(type(self).__name__, made, pull, uses_of(inputs, values), ctx), outputs)

    def _pulled(
        self, inputs: Sequence[NDArray], given: Sequence[NDArray]
    ) -> Sequence[jax.Array | None]:
        result = self.backward(*given)
        grads = list(result) if isinstance(result, list | tuple) else [result]
        where = f"{type(self).__name__}.backward"
        if len(grads) != len(inputs):
            raise ParameterError(
                f"{where}: got {len(grads)} gradients, expected {len(inputs)}, one for each input"
            )
        return [
            _checked(f"{where}: gradient {at}", each, each_input)
            for at, (each, each_input) in enumerate(zip(grads, inputs, strict=True))
        ]


def _checked(where: str, grad: Any, given: NDArray) -> jax.Array:
    expect(isinstance(grad, NDArray), where, type(grad), "an NDArray")
    if grad.shape != given.shape:
        raise ShapeError(
            f"{where}: got shape {grad.shape}, expected that of its input, {given.shape}"
        )
    return grad.astype(given.dtype, copy=False).as_in_context(given._ctx)._cell.get()
