"""The entry of an operator: all that graphs and calls read of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from modkit.interpreter.shared import shared
from modkit.interpreter.tracing import is_for_numpy
from modkit.ops.dtypes import WIDE
from modkit.ops.parameters import Attrs, Shape
from modkit.ops.partial_shapes import check_elements
from modkit.ops.schema import Schema
from modkit.ops.stype import DENSE, PLAIN, UNDEFINED, Storage

Precision = Literal["through", "alike", "float32"] | tuple[str, ...]
"""The element types that an operator reads under a 16-bit compute type.

``"through"``: inputs as they are, in 16 bits or in 32. ``"alike"``: 16 bits where all inputs have
them, else float32. ``"float32"``: float32 always, for losses, powers, exponentials, sums and
gathers (the gradient of a gather is a sum). A tuple: the inputs of these names in 16 bits, for
products.
"""

Gradient = Literal["derivative", "zero", "loss", "added", "refused"]
"""Kinds of gradients.

``"derivative"``: the cotangents of its outputs, times its derivative. ``"zero"``: 0 whatever they
are. ``"loss"``: one of its own whatever they are. ``"added"``: one of its own, and that of the
cotangents. Operators after a loss or an added gradient that stop gradients do not stop this one, as
in MXNet 1.9.1. ``"refused"``: MXNet 1.9.1 has none; a cotangent raises an error.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Op(Schema):
    """One operator: its arguments, its function, and all that a signature cannot say.

    Attributes:
        precision: the element types it reads in mixed precision; see `Precision`.
        params: ``params(data_shape, **attrs) -> {input name: shape}``, shapes of learnable
            inputs and labels from the first input's shape.
        aux: inputs that are auxiliary states (moving statistics), which training updates.
        rewrites: learnable inputs that training may overwrite (a fixed gamma, with 1).
        outputs: names of all outputs, or ``attrs -> names``.
        visible: the number of outputs that are shown, or ``attrs -> number``; default all.
        same_shape: all inputs and outputs have one shape (elementwise operators): inference
            fills any of them from any other, size by size.
        partial: ``partial(ins, outs, attrs) -> (ins, outs)`` refines partly known shapes in
            both directions; shapes are ``None`` or tuples in which 0 is unknown.
        partial_is_complete: sizes that ``partial`` leaves open stay unknown: inference does not
            evaluate the operator with stand-in sizes to find them.
        dtypes: ``dtypes(ins, attrs) -> (ins, outs)`` over dtype names or ``None``. The default
            rule: all inputs and outputs have one dtype, and a parameter called ``dtype`` sets
            the outputs'.
        gradient: its kind of gradient, or ``attrs -> kind``; see `Gradient`.
        elementwise: an element of the output depends on the inputs' elements at the same position
            only, so that any order of axes gives the same result.
        storage: storage types of its result and of gradients.
        channels_last: ``attrs -> function`` that takes and returns the same for arrays of 4 axes
            whose channels, MXNet's axis 1, come last, and is made for CPUs; or ``None``.
        costly: its results are kept for the backward pass where cheap ones are computed again.
        slow_in_loops: on CPUs it runs many times slower inside a loop of XLA's.
        sized_by_values: the size of its result may depend on values: where inference leaves it
            unknown, bound graphs run node by node.
        input_init: the ``__init__`` attribute of input variables, by input name.
        fits: ``fits(name, attrs)`` raises an error, which begins with the operator's name, for
            parameters that do not fit each other.
        drawn_on_host: eager calls on a CPU run the function itself, on NumPy arrays and with a
            NumPy generator as the key. Its derivative is 0.
        check_values: ``check_values(arrays, attrs)`` raises an error for values that eager
            calls refuse. It waits for the arrays that it reads; compiled graphs call it for the
            parameters of draws alone (``drawn_on_host``), at their first run.
        check_results: ``check_results(arrays, results, attrs)`` raises such an error of eager calls
            after the computation, where values that are refused show in its results.
    """

    fn: Callable[..., Any]
    precision: Precision
    params: Callable[..., Mapping[str, Shape]] | None = None
    aux: Sequence[str] = ()
    rewrites: Sequence[str] = ()
    outputs: Sequence[str] | Callable[[Attrs], Sequence[str]] = ("output",)
    visible: int | Callable[[Attrs], int] | None = None
    same_shape: bool = False
    partial: Callable[..., Any] | None = None
    partial_is_complete: bool = False
    dtypes: Callable[..., Any] | None = None
    gradient: Gradient | Callable[[Attrs], Gradient] = "derivative"
    elementwise: bool = False
    storage: Storage = PLAIN
    channels_last: Callable[[Attrs], Callable[..., Any] | None] | None = None
    costly: bool = False
    slow_in_loops: bool = False
    sized_by_values: bool = False
    input_init: Mapping[str, str] = field(default_factory=dict)
    fits: Callable[[str, Attrs], object] | None = None
    drawn_on_host: bool = False
    check_values: Callable[[Sequence[Any], Attrs], None] | None = None
    check_results: Callable[[Sequence[Any], Sequence[Any], Attrs], None] | None = None

    on_host = False
    """Whether the running program calls Python for this operator."""

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `Schema.parse`; it raises the errors of ``fits``, too."""
        parsed = super().parse(given)
        if self.fits:
            self.fits(self.name, parsed)
        return parsed

    @functools.cached_property
    def doc(self) -> str:
        """The operator's documentation."""
        return inspect.getdoc(self.fn) or ""

    def is_known(self, _attrs: Attrs) -> bool:
        """Whether a node with these attributes, as strings, can be run."""
        return True

    @property
    def bodies(self) -> int:
        """The number of graphs that a node has for the operator to run."""
        return 0

    def check(self, attrs: Attrs, count: int) -> None:
        """Check that parsed parameters fit the graphs of a node with ``count`` inputs."""

    def own(self, attrs: Attrs, name: str, stypes: Sequence[str]) -> Mapping[str, Any]:
        """The attributes for one node of one lowered graph, where running it keeps state.

        Args:
            attrs: parsed attributes, which all equal nodes share.
            name: the node's name, for error messages.
            stypes: storage types of its inputs; ``"undefined"`` where unknown.
        """
        return attrs

    def output_stypes(self, attrs: Attrs, stypes: Sequence[str]) -> Sequence[str]:
        """Storage types of the outputs, of which further ones are dense.

        Args:
            stypes: storage types of the inputs; ``"undefined"`` where unknown.
        """
        return [self.storage.result([DENSE if s == UNDEFINED else s for s in stypes], attrs)]

    def renew(self, attrs: Attrs) -> None:
        """Set the state that `own` made to that of a new node."""

    @property
    def may_have_aux(self) -> bool:
        """Whether there are auxiliary states for any parameters at all."""
        return bool(self.aux)

    def aux_names(self, _attrs: Attrs) -> Sequence[str]:
        """Names of the inputs that are auxiliary states for these parsed attributes."""
        return self.aux

    def ignores_cotangent(self, attrs: Attrs) -> bool:
        """Whether ``backward()`` needs no head gradient for it."""
        return self._gradient(attrs) in ("zero", "loss")

    def has_own_gradient(self, attrs: Attrs) -> bool:
        """Whether it has a gradient where the cotangents of its outputs are 0."""
        return self._gradient(attrs) in ("loss", "added")

    def _gradient(self, attrs: Attrs) -> Gradient:
        return self.gradient(attrs) if callable(self.gradient) else self.gradient

    def output_names(self, attrs: Attrs) -> Sequence[str]:
        """Names of all outputs, hidden ones too: ``("output",)`` for most."""
        return self.outputs(attrs) if callable(self.outputs) else self.outputs

    def visible_outputs(self, attrs: Attrs) -> int:
        """The number of outputs that composition and ``list_outputs`` show."""
        shown = self.visible(attrs) if callable(self.visible) else self.visible
        return len(self.output_names(attrs)) if shown is None else shown

    def makes_x64(self, attrs: Attrs, count: int) -> bool:
        """Whether it makes 64-bit values of ``count`` inputs, by its parameters or its nature."""
        if any(isinstance(v, str) and v in WIDE for v in attrs.values()):
            return True
        return self.dtypes is not None and any(
            t in WIDE for t in self.dtypes([None] * count, attrs)[1]
        )

    def call(
        self,
        arrays: Sequence[Any],
        attrs: Attrs,
        *,
        key: Any = None,
        train: bool = False,
        fn: Callable[..., Any] | None = None,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Run the pure function.

        Args:
            arrays: the inputs in the order of ``input_names(attrs)``.
            key: a JAX random key; used only where ``takes_key``.
            train: training mode; used only where ``takes_train``.
            fn: another form of the function, which takes and returns the same.

        Returns:
            All outputs, and the new auxiliary states by input name.
        """
        if fn is not None or not (is_for_numpy() and self.is_shared):
            return self._call(arrays, attrs, key, train, fn or self.fn)
        return shared(*self.as_function(attrs, train), arrays)

    @property
    def is_shared(self) -> bool:
        """Whether traces for NumPy share one trace of it; see `as_function`."""
        return not (self.takes_key or self.on_host or self.bodies)

    def as_function(
        self, attrs: Attrs, train: bool
    ) -> tuple[Callable[[Sequence[Any]], Any], Callable[[], Any]]:
        """`call` of arrays alone, and a function that makes its key: 0.0 and -0.0 differ in it."""

        def key() -> Any:
            items = tuple(sorted(attrs.items()))
            return self, items, repr(items), train and self.takes_train

        return lambda arrays: self._call(arrays, attrs, None, train, self.fn), key

    def _call(
        self, arrays: Sequence[Any], attrs: Attrs, key: Any, train: bool, fn: Callable[..., Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        kwargs = {n: v for n, v in attrs.items() if n not in self.inert}
        if self.takes_key:
            kwargs["key"] = key
        if self.takes_train:
            kwargs["train"] = train
        if self.variadic:
            kwargs.pop(self.variadic, None)
            result = fn(*arrays, **kwargs)
        else:
            result = fn(**dict(zip(self.input_names(attrs), arrays, strict=True)), **kwargs)
        new_aux: dict[str, Any] = {}
        if self.aux:
            result, new_aux = result
        outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
        for each in outputs:
            check_elements(f"{self.name}: output", np.shape(each))
        return outputs, new_aux


@functools.lru_cache(maxsize=64)
def numbered(count: int) -> tuple[str, ...]:
    """Names of outputs: ``output`` of a single one, else ``output0``, ``output1``, ..."""
    return ("output",) if count == 1 else tuple(f"output{i}" for i in range(count))
