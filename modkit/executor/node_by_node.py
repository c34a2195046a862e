"""The executor of a graph whose sizes depend on values: its nodes run one by one, with a tape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from modkit import autograd
from modkit.context import Context
from modkit.errors import NotReadyError, NotSupportedError, ShapeError
from modkit.executor.executor import Executor, Handles
from modkit.ndarray.cached_op import CachedOp
from modkit.ndarray.ndarray import NDArray, array
from modkit.ops.parameters import Shape
from modkit.step.bound import require_heads
from modkit.symbol.lower import lower
from modkit.symbol.symbol import Symbol


class NodeByNode(Executor):
    """An executor without a program: `forward` calls the operators, `backward` runs the tape.

    It has no outputs before the first `forward`, and new arrays as outputs after each. Random
    numbers are those of eager calls. A user's operator is made once for each node, not in a
    body, and shape of its inputs. As in MXNet, `bind` makes it and `simple_bind` does not.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        args: Handles,
        grads: Mapping[str, NDArray | None],
        aux: Handles,
        grad_req: Mapping[str, str],
    ):
        self._hold(symbol, ctx, args, grads, aux, grad_req)
        self._lowered = lower(symbol)
        self._call = CachedOp(self._lowered)
        self._wanted = {n: g for n, g in grads.items() if g is not None and grad_req[n] != "null"}
        self._needed = self._lowered.needed_heads(self._wanted)
        self._outputs: list[NDArray] = []
        self._training = self._merges = False

    @property
    def output_dict(self) -> Handles:
        """The outputs by name. See `Executor.output_dict`.

        Raises:
            NotReadyError: there was no forward pass.
        """
        if not self._outputs:
            raise NotReadyError("output_dict needs forward() first: values decide sizes of outputs")
        return super().output_dict

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Run the graph. See `Executor.forward`."""
        self._write_arguments(kwargs)
        arrays = {**self.arg_dict, **self.aux_dict}
        # Other handles of the same cells: the user's own may be on the user's tape.
        given = {n: NDArray(each._cell, each.context) for n, each in arrays.items()}
        for name, grad in self._wanted.items():
            autograd.mark_variables(given[name], grad, self._grad_req[name])
        self._training = bool(is_train)
        scope = autograd.record if self._wanted else autograd.pause
        with scope(train_mode=self._training):
            made = self._call(*[given[name] for name in self._symbol.list_inputs()])
        self._outputs = made if isinstance(made, list) else [made]
        return self.outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Gradients of the last forward pass. See `Executor.backward`.

        Raises:
            NotReadyError: there was no forward pass.
        """
        if not self._outputs:
            raise NotReadyError("backward() needs forward(is_train=True) first")
        heads = self._given_heads(out_grads)
        require_heads(self._symbol.list_outputs(), self._needed, heads)
        for name, grad in self._wanted.items():
            if self._grad_req[name] != "add":
                grad[:] = 0  # if no output depends on it
        heads = [*heads, *[None] * len(self._outputs)][: len(self._outputs)]
        reached = [(o, h) for o, h in zip(self._outputs, heads, strict=True) if o._entry]
        if reached:
            given = [h if h is None or isinstance(h, NDArray) else array(h) for _, h in reached]
            autograd.backward(
                [output for output, _ in reached],
                given,
                retain_graph=True,
                train_mode=self._training,
            )

    def _new_shapes(self, given: Mapping[str, Any]) -> tuple[list[Shape], list[Shape]]:
        found = self._symbol.infer_shape_partial(**given)
        arg_shapes, aux_shapes = found[0] or [], found[2] or []
        names = [*self.arg_dict, *self.aux_dict]
        for name, shape in zip(names, [*arg_shapes, *aux_shapes], strict=True):
            if not shape or 0 in shape:
                raise ShapeError(
                    f"reshape: shapes {given} do not decide the shape of {name!r}: pass it, too"
                )
        return arg_shapes, aux_shapes

    def _on(self, args: Handles, grads: Mapping[str, NDArray | None], aux: Handles) -> Executor:
        return NodeByNode(self._symbol, self._ctx, args, grads, aux, self._grad_req)

    def set_monitor_callback(self, callback: Any, monitor_all: bool = False) -> None:
        """Raise: there is no monitor."""
        raise self._refused("set_monitor_callback")

    def debug_str(self) -> str:
        """Raise: no memory is planned."""
        raise self._refused("debug_str")

    def _refused(self, what: str) -> NotSupportedError:
        return NotSupportedError(
            f"{what}: got a graph with sizes that depend on values (contrib.boolean_mask, "
            "branches of contrib.cond), expected one whose sizes follow from those of its arguments"
        )
