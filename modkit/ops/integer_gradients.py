"""Gradients through whole numbers, in their type and cut off towards zero, as MXNet computes them.

JAX differentiates with respect to floating point only. Where a gradient passes through whole
numbers their array is a `Whole`: beside it stands its twin, the same numbers in floating point,
which carries the derivative. An operator that reads one runs a second time on the twins, and its
derivative there is that of its result. XLA removes what only the values of that run need.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from modkit.errors import MXNetError
from modkit.interpreter.reverse import CustomJvp, CustomVjp
from modkit.ops.elementwise.arithmetic import convert, is_whole
from modkit.ops.own_gradient import refusing
from modkit.ops.registry import OPS

CASTS = ("Cast", "amp_cast")
"""Operators whose gradient is the cotangent, cast back."""

FLAT = ("_mod", "broadcast_mod", "_mod_scalar", "_rmod_scalar")
"""Operators whose gradient is that of a step function on whole numbers: 0."""

PLACES = {
    "Embedding": 0, "_contrib_SparseEmbedding": 0, "take": 1, "batch_take": 1, "pick": 1,
    "gather_nd": 1, "scatter_nd": 1, "_backward_gather_nd": 1, "_contrib_index_copy": 1,
}  # fmt: skip
"""By operator, the input that holds positions: it has no gradient, and its twin, of float32, would
not hold positions above 2**24."""


class Whole(NamedTuple):
    """An array of whole numbers that a gradient passes through."""

    value: Any
    twin: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self.value.shape

    @property
    def dtype(self) -> Any:
        """Element type of the whole numbers."""
        return self.value.dtype


def untwinned(array: Any) -> Any:
    """The numbers of an array, or of a `Whole`."""
    return array.value if isinstance(array, Whole) else array


def through(array: Any) -> Any:
    """The floating-point array that a reader of ``array`` differentiates by.

    Cotangents of a `Whole` are cut off to its type.
    """
    return _cut(array.twin, str(array.value.dtype)) if isinstance(array, Whole) else array


def with_derivative(value: Any, path: Any) -> Any:
    """The numbers ``value`` with the derivative of ``path``, an array of floating point."""
    if not is_whole(value.dtype):
        return _valued(path.astype(value.dtype), value)
    kind = twin_type(value.dtype)
    twin = _valued(path.astype(kind), value.astype(kind))
    return Whole(value, _cut(twin, str(value.dtype)))  # sums of cotangents are of its type too


def moving(array: Any) -> Any:
    """An array in floating point, to differentiate by; `with_derivative` joins both."""
    return array.astype(twin_type(array.dtype)) if is_whole(array.dtype) else array


def twin_type(dtype: Any) -> Any:
    """The floating-point type of the twin: one that holds the numbers of a product or sum."""
    return jnp.float64 if jnp.dtype(dtype).itemsize > 4 else jnp.float32


def outputs(
    fn: Callable[[list[Any]], Sequence[Any]], inputs: Sequence[Any], name: str = ""
) -> list[Any]:
    """The outputs of an operator, `Whole` where a gradient passes through them.

    Args:
        fn: the operator, a function of its inputs.
        inputs: arrays; a `Whole` where a gradient passes.
    """
    made = list(fn(list(map(untwinned, inputs))))
    if name in CASTS:
        path = through(inputs[0])
        casts = is_whole(made[0].dtype) or isinstance(inputs[0], Whole)
        return [with_derivative(made[0], path)] if casts and not is_whole(path.dtype) else made
    if name in OPS and OPS[name].gradient == "refused":
        return [_refusing(name, y, inputs) if is_whole(y.dtype) else y for y in made]
    places = PLACES.get(name)
    inputs = [untwinned(x) if at == places else x for at, x in enumerate(inputs)]
    if name in FLAT or not any(isinstance(x, Whole) for x in inputs):
        return made
    paths = _taken(fn, list(map(through, inputs)))
    if paths is None and places is None:  # one type for all
        paths = _taken(fn, [moving(through(x)) for x in inputs])
    if paths is None:
        return made  # it has just taken the whole numbers, so it takes no others: no gradient
    return [
        y if is_whole(path.dtype) else with_derivative(y, path)
        for y, path in zip(made, paths, strict=True)
    ]


def _refusing(name: str, value: Any, inputs: Sequence[Any]) -> Any:
    """Whole numbers with a derivative that raises an error; see `without_gradient`."""

    def twin(value: Any, inputs: Any) -> Any:
        return value.astype(twin_type(value.dtype))

    return with_derivative(value, refusing(name, twin, value, list(map(through, inputs))))


def _taken(fn: Callable[[list[Any]], Sequence[Any]], arrays: list[Any]) -> Sequence[Any] | None:
    """The outputs, or ``None`` where the operator refuses the types of the arrays."""
    try:
        return fn(arrays)
    except (MXNetError, TypeError, ValueError):
        return None


def cast(array: Any, types: Sequence[str]) -> Any:
    """An array, or a `Whole`, as each of several types, one after the other."""
    for dtype in types:
        (array,) = outputs(lambda xs, t=dtype: [convert(xs[0], t)], [array], "Cast")
    return array


@CustomJvp
def _valued(path: Any, value: Any) -> Any:
    return value


_valued.defjvp(lambda primals, tangents: (primals[1], tangents[0]))


@functools.partial(CustomVjp, nondiff_argnums=(1,))
def _cut(twin: Any, dtype: str) -> Any:
    """``twin``; its cotangent is cut off to a type. The cut has the derivative of the identity."""
    return twin


def _cut_fwd(twin: Any, dtype: str) -> tuple[Any, None]:
    return twin, None


def _cut_bwd(dtype: str, _: None, head: Any) -> tuple[Any]:
    return (_valued(_cut(head, dtype), convert(head, dtype).astype(head.dtype)),)


_cut.defvjp(_cut_fwd, _cut_bwd)
