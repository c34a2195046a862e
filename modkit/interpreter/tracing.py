"""Traces that NumPy is to run."""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.core import ShapedArray, Trace, Tracer

from modkit.signals import DeferredReads


class _Trace(threading.local):
    for_numpy = False


_trace = _Trace()


@contextlib.contextmanager
def for_numpy(is_so: bool = True) -> Iterator[None]:
    """A block that traces functions under `jax.jit` as their primitives, operators in plain forms.

    With ``False``, a block of a trace for XLA, wherever it stands.

    A function of JAX's that is compiled by itself, such as `jax.numpy.where`, would be a jaxpr in
    the jaxpr: differentiating that takes twice the time, and JAX keeps each. `jax.disable_jit`
    also unrolls loops, except for those of `modkit.ops.loops`.
    """
    before, _trace.for_numpy = _trace.for_numpy, is_so
    try:
        with jax.disable_jit(is_so):
            yield
    finally:
        _trace.for_numpy = before


@functools.cache
def _extend() -> Any:
    """JAX's modules for extensions, which take 20 ms to import: not before the first trace."""
    return importlib.import_module("jax.extend")


def within(trace: Any) -> contextlib.AbstractContextManager[None]:
    """A block that runs primitives in a trace."""
    return _extend().core.set_current_trace(trace)


def outside() -> contextlib.AbstractContextManager[Any]:
    """A block outside of the present trace, which it yields."""
    return _extend().core.take_current_trace()


class Var:
    """A value of a listing."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = aval


class Literal(Var):
    """A known value: a number or an array."""

    __slots__ = ("val",)

    def __init__(self, val: Any, aval: Any = None):
        super().__init__(jax.typeof(val) if aval is None else aval)
        self.val = val


class Equation(NamedTuple):
    """A primitive with its operands and results."""

    primitive: Any
    invars: Sequence[Var]
    outvars: Sequence[Var]
    params: Any


class Listing(NamedTuple):
    """The primitives of a function, as JAX's jaxpr has them."""

    invars: Sequence[Var]
    eqns: Sequence[Equation]
    outvars: Sequence[Var]
    constvars: Sequence[Any] = ()
    consts: Sequence[Any] = ()

    @property
    def jaxpr(self) -> Listing:
        """Itself, as JAX's closed jaxprs have it."""
        return self

    def evaluated(self, *args: Any) -> list[Any]:
        """The results, of arrays or in the present trace."""
        values: dict[Any, Any] = dict(zip(self.invars, args, strict=True))

        def of(var: Var) -> Any:
            return var.val if isinstance(var, Literal) else values[var]

        for primitive, operands, results, params in self.eqns:
            made = primitive.bind(*map(of, operands), **params)
            values.update(zip(results, made if primitive.multiple_results else [made], strict=True))
        return list(map(of, self.outvars))


class _CallOfListing:
    """The primitive of a listing that is called in another."""

    name, multiple_results = "closed_call", True

    def bind(self, *args: Any, call_jaxpr: Listing) -> list[Any]:
        """The results in the present trace."""
        return call_jaxpr.evaluated(*args)


_CALL = _CallOfListing()

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_LARGEST = 1e38
"""`jax.numpy` converts Python's numbers beyond it."""


def _operator(name: str, function: Callable[..., Any], *, swapped: bool = False) -> Any:
    usual = getattr(Tracer, name)

    def run(self: Any, other: Any) -> Any:
        aval = self.aval
        if isinstance(other, Tracer):
            alike = aval.dtype.kind == "f" and other.aval == aval
            if not alike and (both := _broadcast(self, other)) is not None:
                return function(*both[::-1]) if swapped else function(*both)
        else:
            alike = type(other) in (int, float) and aval.dtype in _FLOATS and not aval.weak_type
            if alike and (alike := -_LARGEST < other < _LARGEST):
                other = aval.dtype.type(other)
        if not alike:
            return usual(self, other)
        return function(other, self) if swapped else function(self, other)

    return run


def _broadcast(one: Any, other: Any) -> tuple[Any, Any] | None:
    """Two arrays of one floating-point type and rank in one shape, if that is one of theirs."""
    first, second = one.aval, other.aval
    if first.dtype != second.dtype or first.dtype not in _FLOATS or first.ndim != second.ndim:
        return None
    if first.weak_type or second.weak_type:
        return None
    pairs = list(zip(first.shape, second.shape, strict=True))
    if all(b in (1, a) for a, b in pairs):
        return one, lax.broadcast_in_dim(other, first.shape, range(first.ndim))
    if all(a in (1, b) for a, b in pairs):
        return lax.broadcast_in_dim(one, second.shape, range(first.ndim)), other
    return None


def where(which: Any, then: Any, otherwise: Any) -> Any:
    """`jax.numpy.where`, which takes ten times as long to trace for NumPy."""
    like = then if isinstance(then, Tracer) else otherwise
    if is_for_numpy() and isinstance(which, Tracer) and isinstance(like, Tracer):
        aval: Any = like.aval
        plain = aval.dtype in _FLOATS and not aval.weak_type and which.dtype == np.bool_
        plain = plain and _is_like(then, aval) and _is_like(otherwise, aval)
        if plain and which.shape == aval.shape:
            return lax.select(which, *(_filled(x, aval) for x in (then, otherwise)))
    return jax.numpy.where(which, then, otherwise)


def _is_like(value: Any, aval: Any) -> bool:
    """Whether a value is a number, or of the same shape and type."""
    return value.aval == aval if isinstance(value, Tracer) else type(value) in (int, float)


def _filled(value: Any, aval: Any) -> Any:
    """An array, or one that is filled with a number."""
    return value if isinstance(value, Tracer) else filled(aval.shape, value, aval.dtype)


def filled(shape: Sequence[int], value: float, dtype: Any) -> Any:
    """`jax.lax.full`, which takes three times as long to trace for NumPy."""
    return lax.broadcast_in_dim(np.array(value, dtype), shape, ())


def _reduction(
    name: str, function: Callable[..., Any], dtypes: Sequence[np.dtype[Any]] = _FLOATS
) -> Any:
    def run(self: Any, axis: Any = None, *args: Any, keepdims: bool = False, **options: Any) -> Any:
        aval = self.aval
        axes = axis if type(axis) is tuple else (axis,)
        plain = aval.dtype in dtypes and not aval.weak_type and 0 not in aval.shape
        if args or options or not plain or not _are_axes(axes, aval.ndim):
            return getattr(aval, name).fun(self, axis, *args, keepdims=keepdims, **options)
        axes = tuple(sorted([each % aval.ndim for each in axes]))
        made = function(self, axes)
        if not keepdims:
            return made
        rest = [at for at in range(aval.ndim) if at not in axes]
        shape = [aval.shape[at] if at in rest else 1 for at in range(aval.ndim)]
        return lax.broadcast_in_dim(made, shape, rest)

    return run


def _are_axes(axes: tuple[Any, ...], ndim: int) -> bool:
    """Whether axes are given one by one, and once each."""
    inside = all(type(each) is int and -ndim <= each < ndim for each in axes)
    return inside and len({each % ndim for each in axes}) == len(axes)


def _mean(array: Any, axes: tuple[int, ...]) -> Any:
    return lax.reduce_sum(array, axes) / math.prod(array.shape[axis] for axis in axes)


class Value(Tracer):
    """A value of a trace for NumPy, whose arithmetic and reductions are quick to trace.

    `jax.numpy` takes three times as long to find that nothing is to be converted or broadcast.
    """

    __slots__ = ()
    sum = _reduction("sum", lax.reduce_sum)
    mean = _reduction("mean", _mean)
    max = _reduction("max", lax.reduce_max)
    min = _reduction("min", lax.reduce_min)
    any = _reduction("any", lax.reduce_or, (np.dtype(np.bool_),))

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """See `jax.Array.astype`."""
        aval: Any = self.aval
        if dtype == aval.dtype and not aval.weak_type:
            return self
        return aval.astype.fun(self, dtype, *args, **options)


_ARITHMETIC = {"add": lax.add, "sub": lax.sub, "mul": lax.mul, "truediv": lax.div}
for _name, _function in _ARITHMETIC.items():
    setattr(Value, f"__{_name}__", _operator(f"__{_name}__", _function))
    setattr(Value, f"__r{_name}__", _operator(f"__r{_name}__", _function, swapped=True))
for _name in ("gt", "ge", "lt", "le", "eq", "ne"):
    setattr(Value, f"__{_name}__", _operator(f"__{_name}__", getattr(lax, _name)))


class _Listed(Value):
    """A value of a listing, while the function runs."""

    __slots__ = ("listed",)

    def __init__(self, trace: Any, listed: Var):
        super().__init__(trace, listed.aval)
        self.listed = listed


class Lister(Trace):
    """Lists primitives, and those of functions as if they had no derivatives of their own.

    These are for differentiation, and what differentiates stands inside of this trace. JAX's own
    trace takes several times as long for each primitive.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requires_low = False
        self.equations: list[Equation] = []

    def var(self, value: Any) -> Var:
        """A value as an operand."""
        if isinstance(value, _Listed) and value._trace is self:
            return value.listed
        return Literal(value)

    def stage_value(self, val: Any) -> Any:
        """For JAX: a value as one of the trace."""
        return _Listed(self, self.var(val))

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: Any, /) -> Any:
        """For JAX: the result of a primitive."""
        operands = list(map(self.var, tracers))
        made = _avals(primitive, [each.aval for each in operands], params)
        if primitive.name == "convert_element_type":
            (operand,) = operands
            if isinstance(operand, Literal) and _is_number(operand.aval, made):
                return _Listed(self, Literal(np.asarray(operand.val, made.dtype), made))
        results = list(map(Var, made if primitive.multiple_results else [made]))
        self.equations.append(Equation(primitive, operands, results, params))
        values = [_Listed(self, each) for each in results]
        return values if primitive.multiple_results else values[0]

    def called(self, listing: Listing, *args: Any) -> list[Any]:
        """The results of a listing, which becomes one equation."""
        results = [Var(each.aval) for each in listing.outvars]
        params = {"call_jaxpr": listing}
        self.equations.append(Equation(_CALL, list(map(self.var, args)), results, params))
        return [_Listed(self, each) for each in results]

    def process_custom_jvp_call(self, primitive: Any, fun: Any, *rest: Any, **params: Any) -> Any:
        """For JAX: the results of a function with a derivative of its own."""
        with within(self):
            return fun.call_wrapped(*rest[-1])

    process_custom_vjp_call = process_custom_jvp_call


def _is_number(aval: Any, converted: Any) -> bool:
    """Whether a value is a number that NumPy converts as XLA does."""
    return aval.shape == () and aval.dtype.kind in "bif" and converted.dtype.kind == "f"


_ALIKE = frozenset({
    "abs", "add", "add_any", "atan2", "ceil", "cos", "div", "erf", "exp", "expm1", "floor", "log",
    "log1p", "logistic", "max", "min", "mul", "neg", "pow", "rem", "rsqrt", "sign", "sin", "sqrt",
    "square", "sub", "tan", "tanh",
})  # fmt: skip
"""Primitives whose result is like the operands, where these are alike and of floating point."""


def _avals(primitive: Any, avals: Sequence[Any], params: Any) -> Any:
    """Shape and type of a primitive's result, or of each of its results."""
    if primitive.name in _ALIKE and avals[0].dtype.kind == "f":
        first = avals[0]
        if all(each is first or each == first for each in avals):
            return first
    if primitive.name in _SHAPES and not avals[0].weak_type:
        shape = _SHAPES[primitive.name](avals[0].shape, params)
        if shape is not None:
            return _aval(shape, avals[0].dtype)
    try:
        key = primitive, tuple(avals), tuple(params.items()), is_x64(jax.config)
        return _cached_avals(*key)
    except TypeError:  # parameters that are not hashable, or operands that are refused
        return primitive.abstract_eval(*avals, **params)[0]


is_x64 = operator.attrgetter("jax_enable_x64")
"""Whether types have 64 bits, from ``jax.config``."""

_aval = functools.lru_cache(maxsize=4096)(ShapedArray)


def _reduced(shape: Sequence[int], params: Any) -> Sequence[int] | None:
    return tuple([n for at, n in enumerate(shape) if at not in params["axes"]])


def _reshaped(shape: Sequence[int], params: Any) -> Sequence[int] | None:
    made = params["new_sizes"]
    return made if math.prod(made) == math.prod(shape) else None


def _repeated(shape: Sequence[int], params: Any) -> Sequence[int] | None:
    made, axes = params["shape"], params["broadcast_dimensions"]
    fits = len(axes) == len(shape) and all(
        n in (1, made[axis]) for n, axis in zip(shape, axes, strict=True)
    )
    return made if fits else None


_SHAPES: dict[str, Callable[[Sequence[int], Any], Sequence[int] | None]] = {
    "broadcast_in_dim": _repeated, "reduce_max": _reduced, "reduce_min": _reduced,
    "reduce_sum": _reduced, "reshape": _reshaped,
}  # fmt: skip
"""Shapes of results of the operand's type; ``None`` where JAX's rule has to say what is wrong.

JAX's own rules look at shardings too, which takes a third of the time of a primitive.
"""


@functools.lru_cache(maxsize=4096)
def _cached_avals(primitive: Any, avals: Sequence[Any], params: Any, x64: bool) -> Any:
    del x64  # it decides the types of some results
    return primitive.abstract_eval(*avals, **dict(params))[0]


def jaxpr_for_numpy(fn: Callable[..., Any], *args: Any) -> Any:
    """The primitives of a function for NumPy, and the structure of its results with their avals."""
    leaves, layout = jax.tree.flatten(args)
    avals = [x if isinstance(x, ShapedArray) else jax.typeof(x) for x in leaves]
    lister, variables = Lister(), list(map(Var, avals))
    with DeferredReads(), for_numpy(), within(lister):  # a handler's own calls would be listed
        made = fn(*jax.tree.unflatten(layout, [_Listed(lister, each) for each in variables]))
    leaves, layout = jax.tree.flatten(made)
    results = list(map(lister.var, leaves))
    shapes = jax.tree.unflatten(layout, [each.aval for each in results])
    return Listing(variables, lister.equations, results), shapes


def is_for_numpy() -> bool:
    """Whether the present trace is one that NumPy is to run."""
    return _trace.for_numpy


def platform_dependent(*args: Any, cpu: Callable[..., Any], default: Callable[..., Any]) -> Any:
    """`jax.lax.platform_dependent`; in a trace for NumPy the form for CPUs alone."""
    if is_for_numpy():
        return cpu(*args)
    return jax.lax.platform_dependent(*args, cpu=cpu, default=default)
