"""Traces for NumPy that programs share: of one function, on arrays of certain shapes and types.

An operator is traced to infer shapes, to run, to be differentiated, and in each program of an
executor. Here it is traced once, and a second time if it is differentiated; the traces of programs
call these listings, which `modkit.interpreter.program` inlines.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax

from modkit.interpreter.reverse import own_trace, recorded_vjp
from modkit.interpreter.tracing import Lister, Listing, Literal, is_x64, jaxpr_for_numpy, within

Function = Callable[[Sequence[Any]], Any]
"""A pure function of a list of arrays."""


def shared(fn: Function, make_key: Callable[[], Hashable], arrays: Sequence[Any]) -> Any:
    """The results of a function; in a trace for NumPy by a listing that other traces share.

    Args:
        fn: the function, which reads no other value of a trace.
        make_key: makes what is equal for equal functions; called in traces for NumPy. Functions
            whose key is not hashable are not shared.
    """
    trace = own_trace()
    if trace is None:
        return fn(arrays)
    try:
        traces = _traces_of(make_key(), is_x64(jax.config), tuple(map(jax.typeof, arrays)))
    except TypeError:
        return fn(arrays)
    if isinstance(trace, Lister):
        return traces.plain(fn).called(arrays)
    values, slots = trace.lowered(arrays)
    moving = tuple(at for at, slot in enumerate(slots) if slot is not None)
    parent = trace.parent_trace
    if moving and not isinstance(parent, Lister):
        return fn(arrays)  # derivatives of higher order are those of JAX's primitives
    with within(parent):
        if not moving:
            return shared(fn, make_key, values)
        derivative = traces.derivative(fn, moving)
        made, pull = derivative.called(values)
    made, shown = jax.tree.flatten(made)
    kept = jax.tree.leaves(pull)
    return shown.unflatten(trace.recorded(slots, made, derivative.pulled, kept, zeros=False))


def derivative_of(
    fn: Function, key: Hashable, avals: Sequence[Any], moving: tuple[int, ...]
) -> Derivative:
    """A function with its pullback, by the arguments at these positions."""
    return _traces_of(key, is_x64(jax.config), tuple(avals)).derivative(fn, moving)


class Called:
    """A function of a list of arrays as a listing, which traces may call.

    Attributes:
        shapes: the tree of its results' avals.
    """

    def __init__(self, fn: Function, avals: Sequence[Any]):
        self.listing, self.shapes = jaxpr_for_numpy(fn, list(avals))
        self.layout = jax.tree.structure(self.shapes)

    @functools.cached_property
    def _computed(self) -> Listing:
        """Its results once each, without arguments and known values."""
        inputs = set(self.listing.invars)
        computed = (
            v for v in self.listing.outvars if not isinstance(v, Literal) and v not in inputs
        )
        return self.listing._replace(outvars=tuple(dict.fromkeys(computed)))

    def called(self, arrays: Sequence[Any]) -> Any:
        """The results in the present trace."""
        trace, listing = own_trace(), self._computed
        call = trace.called if isinstance(trace, Lister) else type(listing).evaluated
        made = call(listing, *arrays)
        values: dict[Any, Any] = dict(zip(listing.invars, arrays, strict=True))
        values.update(zip(listing.outvars, made, strict=True))
        return self.layout.unflatten(
            [v.val if isinstance(v, Literal) else values[v] for v in self.listing.outvars]
        )


class Derivative(Called):
    """A function's results and their pullback, by the arguments at the positions ``moving``.

    Attributes:
        made: the tree of the results' avals.
        kept: the pullback, of avals.
    """

    def __init__(self, fn: Function, moving: Sequence[int], avals: Sequence[Any]):
        def run(arrays: Sequence[Any]) -> Any:
            def moved(values: Sequence[Any]) -> Any:
                full = list(arrays)
                for at, value in zip(moving, values, strict=True):
                    full[at] = value
                return fn(full)

            return recorded_vjp(moved, [arrays[at] for at in moving])

        super().__init__(run, avals)
        self._count, self._moving = len(avals), moving
        self._pulls: dict[Any, Called] = {}
        self.made, self.kept = self.shapes

    def pulled(self, kept: Sequence[Any], given: Sequence[Any]) -> Sequence[Any]:
        """The cotangents of the arguments from those of the results; ``None`` for zeros."""
        there = tuple(at for at, each in enumerate(given) if each is not None)
        arrays = [*kept, *(given[at] for at in there)]
        found: list[Any] = [None] * self._count
        for at, each in zip(self._moving, self.pull(there).called(arrays), strict=True):
            found[at] = each
        return found

    def pull(self, there: tuple[int, ...]) -> Called:
        """The cotangents of `moving`, ``None`` for zeros, from those of the results ``there``."""
        kept, layout = jax.tree.flatten(self.kept)
        made = jax.tree.leaves(self.made)

        def run(arrays: Sequence[Any]) -> Any:
            given: list[Any] = [None] * len(made)
            for at, value in zip(there, arrays[len(kept) :], strict=True):
                given[at] = value
            return layout.unflatten(arrays[: len(kept)]).sums(given)

        if there not in self._pulls:
            self._pulls[there] = Called(run, [*kept, *(made[at] for at in there)])
        return self._pulls[there]


class _Traces:
    """The listings of a function on arrays of certain shapes and types, each made when needed."""

    def __init__(self, avals: Sequence[Any]):
        self._avals = avals
        self._plain: Called | None = None
        self._derivatives: dict[tuple[int, ...], Derivative] = {}

    def plain(self, fn: Function) -> Called:
        """The function."""
        if self._plain is None:
            self._plain = Called(fn, self._avals)
        return self._plain

    def derivative(self, fn: Function, moving: tuple[int, ...]) -> Derivative:
        """The function with its pullback, by the arguments at these positions."""
        if moving not in self._derivatives:
            self._derivatives[moving] = Derivative(fn, moving, self._avals)
        return self._derivatives[moving]


@functools.lru_cache(maxsize=128)
def _traces_of(key: Hashable, x64: bool, avals: Sequence[Any]) -> _Traces:
    """Few are kept: programs that share one are made one after the other."""
    return _Traces(avals)
